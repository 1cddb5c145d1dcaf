//! In how much of a country it is so: "nationwide", "on all networks".

use super::bearing;
use super::gather::Counted;
use super::on_network::Seen;
use super::shares::{ENOUGH, Share};
use crate::intelligence::country::State;
use crate::intelligence::incidents::Incident;

/// Share of the networks, or of their weight, that makes a country as a whole (decision weight-of-networks).
const NATIONAL: f64 = 0.6;

/// How far it is said to reach.
#[derive(Debug, Clone, Copy)]
pub enum Reach {
    Nationwide,
    Networks(Share),
}

/// What the data say to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    Agrees,
    Untold,
    Opposed,
}

/// Networks of which something is known.
#[derive(Debug, Clone, Copy)]
struct Spread {
    counted: Counted,
    /// Share of the weight of those that are decided.
    weight: f64,
}

impl Spread {
    fn fit(self, reach: Reach) -> Fit {
        let (Counted { blocked, decided }, weight) = (self.counted, self.weight);
        match reach {
            Reach::Networks(share) if share.holds(blocked, decided) => Fit::Agrees,
            Reach::Networks(share) if share.is_opposed(blocked, decided) => Fit::Opposed,
            Reach::Networks(_) => Fit::Untold,
            Reach::Nationwide if decided < ENOUGH => Fit::Untold,
            // Numbers of networks are far from the 2^52 that a double holds.
            Reach::Nationwide if blocked as f64 >= NATIONAL * decided as f64 || weight >= NATIONAL => Fit::Agrees,
            Reach::Nationwide => Fit::Opposed,
        }
    }
}

/// The networks of an incident, where they were measured.
fn of_incident(incident: &Incident) -> Option<Spread> {
    let (draft, tested) = (&incident.draft, usize::try_from(incident.draft.networks_tested).unwrap_or(usize::MAX));
    let blocked = draft.networks.len();
    let counted = Counted { blocked, decided: tested.max(blocked) };
    (blocked > 0 && tested > 0).then_some(Spread { counted, weight: draft.weight })
}

/// Those of a verdict on the country.
fn of_verdict((_, detection): &Seen) -> Option<Spread> {
    let count = |networks: u32| usize::try_from(networks).unwrap_or(usize::MAX);
    let counted = Counted { blocked: count(detection.networks_blocked), decided: count(detection.networks_tested) };
    let decided = detection.state != State::Unknown && detection.basis == "measured" && counted.decided > 0;
    decided.then_some(Spread { counted, weight: detection.blocked_weight })
}

/// Whether an incident that others report, and of which no networks were measured, is of the whole country.
fn is_reported(incident: &Incident) -> bool {
    let draft = &incident.draft;
    let unmeasured = draft.networks_tested == 0 && draft.networks.len() >= ENOUGH && draft.areas.is_empty();
    bearing::is_of_all_networks(incident) || unmeasured
}

/// What is known of how far it reaches, with the networks that say so.
pub fn fit(reach: Reach, incident: Option<&Incident>, seen: Option<&Seen>) -> (Fit, Option<Counted>) {
    let spreads: Vec<Spread> = seen.and_then(of_verdict).into_iter().chain(incident.and_then(of_incident)).collect();
    let with = |wanted: Fit| spreads.iter().find(|spread| spread.fit(reach) == wanted).map(|spread| spread.counted);
    let reported = matches!(reach, Reach::Nationwide) && incident.is_some_and(is_reported);
    match (with(Fit::Agrees), with(Fit::Opposed)) {
        (Some(counted), _) => (Fit::Agrees, Some(counted)),
        (None, _) if reported => (Fit::Agrees, None),
        (None, Some(counted)) => (Fit::Opposed, Some(counted)),
        (None, None) => (Fit::Untold, spreads.first().map(|spread| spread.counted)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_networks_or_most_of_their_weight_make_a_country() {
        let spread = |blocked, decided, weight| Spread { counted: Counted { blocked, decided }, weight };
        for (known, fit) in [
            (spread(2, 6, 0.3), Fit::Opposed),
            (spread(2, 6, 0.8), Fit::Agrees),
            (spread(4, 6, 0.3), Fit::Agrees),
            (spread(2, 2, 1.0), Fit::Untold),
            (spread(1, 2, 0.5), Fit::Untold),
        ] {
            assert_eq!(known.fit(Reach::Nationwide), fit, "{known:?}");
        }
        for (known, fit) in
            [(spread(6, 6, 1.0), Fit::Agrees), (spread(5, 6, 0.9), Fit::Opposed), (spread(2, 2, 1.0), Fit::Untold)]
        {
            assert_eq!(known.fit(Reach::Networks(Share::All)), fit, "{known:?}");
        }
    }
}
