//! What the record says to the details of a claim: in how much of a country it was so, for how long, by which method.

use super::*;

/// Share of the networks, or of their weight, that makes a country as a whole (decision weight-of-networks).
const NATIONAL: f64 = 0.6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    Agrees,
    Untold,
    Opposed,
}

impl Fit {
    pub const fn of(agrees: bool, opposed: bool) -> Fit {
        match (agrees, opposed) {
            (true, _) => Fit::Agrees,
            (false, true) => Fit::Opposed,
            (false, false) => Fit::Untold,
        }
    }
}

impl CheckedClaim<'_> {
    /// The verdicts of the networks, where the claim says on how many it was so.
    pub async fn count_networks(&mut self) -> Result<()> {
        if let (Some(_), Topic::Subject(subject), Some((at, _))) = (self.share(), self.claim.topic, &self.detection) {
            let networks = self.claim.detect(subject, *at, false).await?.networks;
            let count = |wanted: State| networks.iter().filter(|network| network.state == wanted).count();
            let blocked = count(State::Blocked);
            let decided = blocked + count(State::Accessible);
            self.networks = (decided > 0).then_some(BlockedOfDecided { blocked, decided });
        }
        Ok(())
    }

    /// Compares the details of the claim, with and without those that nothing tells.
    pub fn compare(&mut self) {
        let (stance, reading) = (self.claim.stance, self.claim.reading);
        let fits: Vec<(Beyond, Fit)> = reading.beyond.iter().map(|beyond| (*beyond, self.fit(*beyond))).collect();
        let of = |wanted: Fit| fits.iter().filter(move |(_, fit)| *fit == wanted).map(|(beyond, _)| *beyond);
        let untold = fits.iter().filter(|(_, fit)| *fit != Fit::Agrees);
        let mut untold: Vec<Beyond> = untold.map(|(beyond, _)| *beyond).collect();
        // Lists and verdicts of days do not tell when it began or ended.
        let dated = reading.when.is_some_and(|when| matches!(when.span, Span::Since | Span::Range | Span::Until));
        if dated && !stance.negated && self.bearing.surest.is_none() && !untold.contains(&Beyond::Beginning) {
            untold.push(Beyond::Beginning);
        }
        let mut core = self.judgement;
        // "One network of four" is so, where most of the country can reach it.
        let holds = || self.share().zip(self.networks).is_some_and(|(share, known)| share.holds(known));
        if core.why == Why::Partly && !stance.negated && untold.is_empty() && holds() {
            core.verdict = Verdict::Likely;
        }
        // The detail of which the data say the opposite, where they support the rest.
        let interference =
            core.verdict < Verdict::Unconfirmed || matches!(core.why, Why::Partly | Why::Doubtful | Why::Sporadic);
        // That it is over says how long it was, where it was so.
        let said = |one: &Beyond| !stance.negated || stance.over && matches!(one, Beyond::HowLong(_));
        let opposed = of(Fit::Opposed).find(said).filter(|_| interference);
        let mut judgement = core;
        // "Not on all networks", where it is so on some.
        if stance.denies() && core.verdict == Verdict::Unconfirmed && of(Fit::Opposed).next().is_some() {
            judgement.verdict = Verdict::Likely;
        }
        judgement.contradicted &= !stance.denies() || untold.is_empty();
        // No surer than what is known of all that the claim says.
        let supported = judgement.verdict < Verdict::Unconfirmed;
        let capped = opposed.is_none() && !stance.denies() && !untold.is_empty() && supported;
        if opposed.is_some() || capped {
            (judgement.verdict, judgement.contradicted) = (Verdict::Unconfirmed, opposed.is_some());
        }
        let first = untold.first().copied().filter(|_| capped || judgement.verdict == Verdict::Likely);
        self.core = if opposed.is_some() { judgement } else { core.against(judgement.contradicted) };
        self.told = of(Fit::Agrees).chain(of(Fit::Opposed)).collect();
        (self.judgement, self.beyond) = (judgement, opposed.or(first));
        self.untold = if capped { untold } else { Vec::new() };
        // The networks that the reason tells of.
        let nationwide = self.network.is_none() && reading.nationwide && reading.beyond.contains(&Beyond::Nationwide);
        let national = nationwide.then(|| self.spread(None).1).flatten();
        self.networks = self.networks.or(national).or_else(|| self.spread(Some(self.share()?)).1);
    }

    /// On how many networks the claim says that it was so.
    fn share(&self) -> Option<Share> {
        let of_all = self.claim.reading.beyond.iter().filter(|_| self.network.is_none());
        of_all.into_iter().find_map(|beyond| if let Beyond::HowMany(share) = beyond { Some(*share) } else { None })
    }

    /// The surest incident, or the surest of those that are suspected.
    pub fn deciding(&self) -> Option<&Incident> {
        self.bearing.surest.as_ref().or(self.bearing.suspected.as_ref())
    }

    fn fit(&self, beyond: Beyond) -> Fit {
        let (reading, surest) = (self.claim.reading, self.bearing.surest.as_ref());
        match beyond {
            Beyond::Beginning => {
                let began = |one: &Incident| reading.when.map_or(Fit::Opposed, |when| bearing::begins(one, when));
                let has = |wanted: Fit| self.bearing.fitting.iter().any(|one| began(one) == wanted);
                Fit::of(has(Fit::Agrees), !self.bearing.fitting.is_empty() && !has(Fit::Untold))
            }
            Beyond::Hours(hours) => {
                let schedule = self.deciding().and_then(|incident| incident.draft.schedule.as_deref());
                hours.fit(schedule, self.claim.country.code)
            }
            Beyond::HowLong(length) => {
                // What is said of the past, and goes on, has no length yet.
                let ended = |incident: &&Incident| incident.end().is_some() || !reading.past;
                let took = surest.filter(ended).and_then(|incident| bearing::took(incident, self.claim.now));
                Fit::of(took.is_some_and(|days| length.holds(days)), self.is_of_another_length(length))
            }
            Beyond::HowMany(share) => {
                let recorded = surest.map_or(0, |incident| incident.draft.networks.len());
                let recorded = BlockedOfDecided { blocked: recorded, decided: recorded };
                let counts = matches!(share, Share::Count(..) | Share::Some) && recorded.blocked > 0;
                let counted = self.networks.is_some_and(|known| share.holds(known));
                let spread = if self.network.is_none() { self.spread(Some(share)).0 } else { Fit::Untold };
                let agrees = spread == Fit::Agrees || counts && share.holds(recorded) || counted;
                Fit::of(agrees, spread == Fit::Opposed)
            }
            Beyond::Nationwide if self.network.is_none() && reading.nationwide => self.spread(None).0,
            Beyond::Nationwide => Fit::Agrees,
            Beyond::Method(claimed) => {
                let methods = self.methods();
                Fit::of(claimed.are_among(&methods), claimed.are_opposed_by(&methods))
            }
            Beyond::Occasion(claimed) => {
                let occasion = surest.and_then(|incident| incident.draft.occasion.as_deref());
                Fit::of(occasion.is_some_and(|told| claimed.are(told)), false)
            }
        }
    }

    /// What is known of how far it reaches, with the networks that say so: over the whole country unless a share is
    /// given.
    fn spread(&self, share: Option<Share>) -> (Fit, Option<BlockedOfDecided>) {
        let seen = self.detection.as_ref();
        let measured = seen.filter(|(_, found)| found.state != State::Unknown && found.basis == "measured");
        let measured = measured.and_then(|(_, found)| {
            of_tested(usize::try_from(found.networks_blocked).ok()?, found.networks_tested, found.blocked_weight)
        });
        let recorded = self.deciding().map(|incident| &incident.draft).filter(|draft| !draft.networks.is_empty());
        let recorded = recorded.and_then(|draft| of_tested(draft.networks.len(), draft.networks_tested, draft.weight));
        let spreads: Vec<Spread> = measured.into_iter().chain(recorded).collect();
        let with =
            |wanted: Fit| spreads.iter().find(|spread| fit(**spread, share) == wanted).map(|(counted, _)| *counted);
        // An incident that others report, and of which no networks were measured, may be of the whole country.
        let reported = |incident: &Incident| {
            let draft = &incident.draft;
            let unmeasured = draft.networks_tested == 0 && draft.networks.len() >= ENOUGH && draft.areas.is_empty();
            bearing::is_of_all_networks(incident) || unmeasured
        };
        let reported = share.is_none() && self.deciding().is_some_and(reported);
        match (with(Fit::Agrees), with(Fit::Opposed)) {
            (Some(counted), _) => (Fit::Agrees, Some(counted)),
            (None, _) if reported => (Fit::Agrees, None),
            (None, Some(counted)) => (Fit::Opposed, Some(counted)),
            (None, None) => (Fit::Untold, spreads.first().map(|(counted, _)| *counted)),
        }
    }

    /// Whether all that is known of it is over and took clearly longer or shorter, each by itself and all together.
    fn is_of_another_length(&self, claimed: Length) -> bool {
        let ended = |incident: &Incident| {
            let end = incident.known_end().filter(|end| *end <= self.claim.now && !incident.is_start_unknown());
            end.map(|end| (incident.start(), end))
        };
        let spans: Vec<(Timestamp, Timestamp)> = self.bearing.fitting.iter().filter_map(ended).collect();
        let all = spans.iter().map(|span| span.0).min().zip(spans.iter().map(|span| span.1).max());
        let days = |(start, end): (Timestamp, Timestamp)| (end.0 - start.0).max(0) as f64 / DAY as f64;
        // What comes and goes is shorter each time than all of it.
        let broken = |incident: &Incident| incident.draft.pattern.is_some() || incident.draft.schedule.is_some();
        let shorter =
            !self.bearing.fitting.iter().any(broken) && spans.iter().all(|span| claimed.is_shorter_than(days(*span)));
        spans.len() == self.bearing.fitting.len() && all.is_some_and(|all| claimed.is_longer_than(days(all)) || shorter)
    }

    /// The methods by which it was blocked, as an incident and a verdict name them.
    pub fn methods(&self) -> Vec<&str> {
        let measured = self.detection.iter().flat_map(|(_, detection)| &detection.methods);
        let recorded = self.bearing.surest.iter().flat_map(|incident| &incident.draft.methods);
        each_once(recorded.chain(measured).map(String::as_str), PartialEq::eq)
    }
}

/// Networks of which something is known, and the share of the weight of those that are decided.
pub type Spread = (BlockedOfDecided, f64);

/// Whether it is so on a share of them, or in the whole country.
pub fn fit((counted, weight): Spread, share: Option<Share>) -> Fit {
    if let Some(share) = share {
        return Fit::of(share.holds(counted), share.is_opposed(counted));
    }
    let most = counted.blocked as f64 >= NATIONAL * counted.decided as f64 || weight >= NATIONAL;
    Fit::of(counted.decided >= ENOUGH && most, counted.decided >= ENOUGH)
}

/// What was found where so many networks were tested.
fn of_tested(blocked: usize, tested: u32, weight: f64) -> Option<Spread> {
    let decided = usize::try_from(tested).unwrap_or(usize::MAX).max(blocked);
    (tested > 0).then_some((BlockedOfDecided { blocked, decided }, weight))
}
