//! The votes of a series by network, from what is stored, and the verdicts that they make.

use std::collections::BTreeMap;

use super::changes::outages;
use super::evidence::{Failing, Seen, Surroundings, is_broken, is_remote, peers, read_of};
use super::instrument::{self, InstrumentFault};
use super::noise::{Free, Own, is_failure};
use crate::engine::actor::View;
use crate::engine::time::{DAY, HOUR};
use crate::facts::verdict::belief::Step;
use crate::facts::verdict::network::{self, Heard, NetworkVerdict};
use crate::facts::verdict::window::{self, Ageing, HourVote, Peers, Session};
use crate::{Result, Timestamp};

/// A network of a series.
pub struct Voter {
    /// 0 for what is no network: withheld, or seen from outside.
    pub asn: u32,
    /// The country as seen from outside, by sources that name no network (decision country-of-networks).
    pub remote: bool,
    /// Oldest first.
    pub votes: Vec<HourVote>,
}

impl Voter {
    /// What withheld its network counts as evidence of the country's data, never as a vote of a network.
    pub fn counts(&self) -> bool {
        self.asn != 0 || self.remote
    }

    fn heard(&self, control: &Failing) -> Heard<'_> {
        Heard { asn: self.asn, votes: &self.votes, broken: is_broken(control, self.asn) }
    }
}

/// A series over some time.
pub struct Votes {
    /// All that was measured, in the order of days; what is left out is masked.
    pub seen: Vec<Seen>,
    pub peers: Peers,
    /// Failures that follow a software version and not a network, which are left out.
    pub instrument: Option<InstrumentFault>,
    /// In the order of their numbers.
    pub voters: Vec<Voter>,
    free: Free,
    ageing: Ageing,
}

impl Votes {
    /// Of `[from, at)`, `at` that of the surroundings. A peer may be a day older than the vote it controls, so the
    /// votes of the first day may lack some.
    pub fn read(
        view: &View<'_>,
        key: &str,
        from: Timestamp,
        ageing: Ageing,
        surroundings: &Surroundings,
    ) -> Result<Votes> {
        let at = surroundings.at;
        let mut seen = read_of(view, key, from, at, &surroundings.rolled)?;
        let mut own = Own::default();
        // Before anything is masked, as networks count it.
        if seen.iter().any(|seen| is_failure(seen.session.evaluated.vote)) {
            own.add(&seen);
        }
        let instrument = instrument::mask(&mut seen);
        outages::mask(view, key, &mut seen)?;
        let peers = peers(view, key, &seen, at)?;
        let mut sessions: BTreeMap<(u32, bool), Vec<Session>> = BTreeMap::new();
        for seen in &seen {
            let network = (seen.session.asn.unwrap_or(0), is_remote(seen));
            sessions.entry(network).or_default().push(seen.session);
        }
        let voters: Vec<Voter> = sessions
            .into_iter()
            .map(|((asn, remote), sessions)| Voter { asn, remote, votes: window::votes(&sessions, &peers) })
            .collect();
        if voters.iter().flat_map(|voter| &voter.votes).any(|vote| vote.blocked) {
            own.add_siblings(view, key, (from, at), &surroundings.rolled)?;
        }
        let votes = voters.iter().flat_map(|voter| voter.votes.iter().map(move |vote| (voter.asn, vote)));
        let blocked = votes.filter(|(_, vote)| vote.blocked).map(|(asn, vote)| (asn, vote.hour));
        let free = Free::of(view, key, &own, blocked, surroundings)?;
        Ok(Votes { seen, peers, instrument, voters, free, ageing })
    }

    /// All that counts at the time of the surroundings; when the newest vote is older than a day, what counted then.
    pub fn counting(view: &View<'_>, key: &str, ageing: Ageing, surroundings: &Surroundings) -> Result<Votes> {
        let yesterday = surroundings.at.plus(-DAY);
        let read = |newest: Timestamp| Votes::read(view, key, newest.plus(-ageing.limit - DAY), ageing, surroundings);
        let votes = read(yesterday)?;
        let newest = votes.voters.iter().filter(|voter| voter.counts()).filter_map(|voter| voter.votes.last());
        match newest.map(|vote| Timestamp(vote.hour * HOUR)).max() {
            Some(newest) if newest < yesterday => read(newest),
            _ => Ok(votes),
        }
    }

    /// The verdict of each voter at a moment, where control sites failed so. What is no network is judged for itself.
    pub fn verdicts(&self, now: Timestamp, control: &Failing) -> Vec<NetworkVerdict> {
        self.traced(now, control, |_, _| {})
    }

    /// The same, with what each vote did, by the number of the voter's network.
    pub fn traced(&self, now: Timestamp, control: &Failing, mut note: impl FnMut(u32, Step)) -> Vec<NetworkVerdict> {
        let free = |asn: u32, hour: i64| self.free.at(asn, hour);
        let counting: Vec<Heard<'_>> =
            self.voters.iter().filter(|voter| voter.counts()).map(|voter| voter.heard(control)).collect();
        let step = |place: usize, step| {
            if let Some(heard) = counting.get(place) {
                note(heard.asn, step);
            }
        };
        let mut judged = network::traced(&counting, now, self.ageing, &free, step).into_iter();
        let verdict = |voter: &Voter| match voter.counts() {
            true => judged.next(),
            false => network::verdicts(&[voter.heard(control)], now, self.ageing, &free).pop(),
        };
        self.voters.iter().filter_map(verdict).collect()
    }
}
