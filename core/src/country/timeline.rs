//! Verdicts about a series at the end of each of many days, from one read of its measurements.

use std::collections::BTreeMap;

use super::changes::outages;
use super::course::Standing;
use super::evidence::{self, Failing, Surroundings, is_remote, peers, read_of};
use super::instrument;
use super::noise::Free;
use super::subject::is_messaging;
use crate::actor::View;
use crate::time::DAY;
use crate::verdict::Vote;
use crate::verdict::belief::{self, Track, Voice};
use crate::verdict::national::{self, CountryVerdict, Member};
use crate::verdict::network::{self, Context, NetworkVerdict};
use crate::verdict::posterior::Calibration;
use crate::verdict::window::{self, Ageing, HourVote, Session};
use crate::{Result, Timestamp};

/// What was measured of a series on a day.
#[derive(Default)]
pub struct DayOf {
    /// Identities of its measurements.
    pub identities: Vec<u64>,
    /// Those that are counted at this series, and at no other.
    pub counted: u32,
    /// Measurements that say blocked or clear, and those that say blocked.
    pub votes: u32,
    pub blocked: u32,
}

/// One day of a series.
pub struct Day {
    pub day: u32,
    pub of: DayOf,
    /// The country's verdict at the end of the day.
    pub verdict: CountryVerdict,
}

/// Networks (number, addresses, votes) with their verdicts at some time.
fn members_of<'a>(networks: &[(u32, Option<u64>, Vec<HourVote>)], verdicts: &'a [NetworkVerdict]) -> Vec<Member<'a>> {
    let networks = networks.iter().zip(verdicts);
    let member = |((asn, addresses, _), verdict): (&(u32, _, _), _)| {
        // No network has the number 0.
        Member { asn: *asn, addresses: *addresses, remote: *asn == 0, verdict }
    };
    networks.map(member).collect()
}

/// A series over some time: its days, and the votes of its networks for verdicts at any moment of it. Peers are
/// those known at the end.
pub struct Timeline {
    pub days: BTreeMap<u32, DayOf>,
    /// Number, addresses, votes.
    networks: Vec<(u32, Option<u64>, Vec<HourVote>)>,
    ageing: Ageing,
    /// The rate at which it fails where nobody blocks it.
    down_rate: f64,
    /// Its end.
    at: Timestamp,
}

impl Timeline {
    /// The time is `[from, at)`. For a verdict the time before it must be there, as long as a measurement counts and a day
    /// more: a peer may be that much older than the vote it controls.
    pub fn read(view: &View<'_>, key: &str, from: Timestamp, surroundings: &Surroundings) -> Result<Timeline> {
        let at = surroundings.at;
        let mut all = read_of(view, key, from, at, &surroundings.rolled)?;
        instrument::mask(&mut all);
        outages::mask(view, key, &mut all)?;
        let peers = peers(view, key, &all, at)?;
        let mut by_network: BTreeMap<u32, Vec<Session>> = BTreeMap::new();
        let mut days: BTreeMap<u32, DayOf> = BTreeMap::new();
        for seen in &all {
            let session = seen.session;
            let vote = peers.vote(&session);
            let day = days.entry(seen.day).or_default();
            day.identities.push(seen.identity);
            day.counted += u32::from(seen.primary);
            day.votes += u32::from(matches!(vote, Vote::Blocked | Vote::Clear));
            day.blocked += u32::from(vote == Vote::Blocked);
            if session.asn.is_some() || is_remote(seen) {
                by_network.entry(session.asn.unwrap_or(0)).or_default().push(session);
            }
        }
        let mut networks = Vec::with_capacity(by_network.len());
        for (asn, sessions) in &by_network {
            let (_, addresses) = surroundings.network(view, *asn)?;
            networks.push((*asn, addresses, window::votes(sessions, &peers)));
        }
        let down_rate = evidence::down_rate(view, key)?;
        Ok(Timeline { days, networks, ageing: Ageing::of(is_messaging(key)), down_rate, at })
    }

    fn verdicts(&self, at: Timestamp, control: &Failing) -> Vec<NetworkVerdict> {
        let context = |asn: u32| Context {
            ageing: self.ageing,
            control_failures: control.get(&asn).copied(),
            down_rate: self.down_rate,
            calibration: Calibration::cold_start(),
        };
        self.networks.iter().map(|(asn, _, votes)| network::verdict(votes, at, &context(*asn))).collect()
    }

    /// The country's verdict at the end of a day, where control sites failed so.
    pub fn verdict(&self, day: u32, control: &Failing) -> CountryVerdict {
        // The last instant of the day: the window takes the hour that `now` is in.
        self.verdict_at(Timestamp::end_of_day(day).min(self.at), control).0
    }

    /// The country and its networks at a moment.
    pub fn standing(&self, at: Timestamp, control: &Failing) -> Standing {
        let (verdict, networks) = self.verdict_at(at, control);
        let networks = self.networks.iter().zip(networks).map(|((asn, ..), verdict)| (*asn, verdict.status.into()));
        Standing { status: verdict.status.into(), p_blocked: verdict.p_blocked, networks: networks.collect() }
    }

    /// The same by a filter over votes.
    pub fn believed(&self, at: Timestamp, free: &Free) -> Standing {
        let votes: Vec<&[HourVote]> =
            self.networks.iter().map(|(_, _, votes)| belief::counting(votes, at, self.ageing)).collect();
        let rates: Vec<Vec<f64>> = self
            .networks
            .iter()
            .zip(&votes)
            .map(|((asn, ..), votes)| votes.iter().map(|vote| free.at(*asn, vote.hour)).collect())
            .collect();
        let tracks: Vec<Track<'_>> = votes.iter().zip(&rates).map(|(votes, free)| Track { votes, free }).collect();
        let beliefs = belief::beliefs(&tracks, at.hour());
        let (mut voices, mut networks) = (Vec::new(), Vec::new());
        for (((asn, addresses, _), votes), belief) in self.networks.iter().zip(&votes).zip(beliefs) {
            let (p_blocked, status) = (belief.blocked(), belief::status(votes, belief.blocked()));
            networks.push((*asn, status.into()));
            if !votes.is_empty() {
                voices.push(Voice { addresses: *addresses, remote: *asn == 0, status, p_blocked });
            }
        }
        let (status, p_blocked) = belief::country(&voices);
        Standing { status: status.into(), p_blocked, networks }
    }

    fn verdict_at(&self, end: Timestamp, control: &Failing) -> (CountryVerdict, Vec<NetworkVerdict>) {
        let now = self.verdicts(end, control);
        let verdict = national::verdict(&members_of(&self.networks, &now));
        let verdict = match verdict.blocked_since_evidence(end) {
            Some(then)
                if !national::is_block_of(
                    &members_of(&self.networks, &self.verdicts(then, control)),
                    &members_of(&self.networks, &now),
                ) =>
            {
                verdict.undecided()
            }
            _ => verdict,
        };
        (verdict, now)
    }
}

/// The days of `[from, at)` on which a series was measured, oldest first. Peers are those known at `at`.
pub fn days(view: &View<'_>, key: &str, from: Timestamp, surroundings: &Surroundings) -> Result<Vec<Day>> {
    let ageing = Ageing::of(is_messaging(key));
    let mut timeline = Timeline::read(view, key, from.plus(-ageing.limit - DAY), surroundings)?;
    let days = timeline.days.split_off(&u32::try_from(from.day()).unwrap_or(0));
    Ok(days
        .into_iter()
        .map(|(day, of)| Day { day, of, verdict: timeline.verdict(day, &surroundings.control) })
        .collect())
}
