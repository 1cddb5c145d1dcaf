//! The votes on a series by network, made from the stored entries, and the verdicts that follow from them.

use std::collections::BTreeMap;

use super::changes::down_elsewhere;
use super::evidence::{Failing, JudgedMeasurement, Surroundings, is_broken, is_remote, peers, read_of};
use super::instrument::{self, InstrumentFault};
use super::noise::{Free, OwnMeasurements, is_failure};
use crate::{Result, Timestamp};
use engine::actor::View;
use engine::time::{DAY, HOUR};
use facts::verdict::belief::{Filter, Step};
use facts::verdict::network::{self, NetworkVerdict, NetworkVotes};
use facts::verdict::window::{self, Ageing, HourVote, Peers, Session};

/// A network of a series.
pub struct Voter {
    /// 0 if there is no network: it is withheld, or the country was measured from outside.
    pub asn: u32,
    /// The country as seen from outside, by sources that name no network (decision country-of-networks).
    pub remote: bool,
    /// Oldest first.
    pub votes: Vec<HourVote>,
}

impl Voter {
    /// Whether it votes. Measurements with a withheld network are evidence of the country, never votes of a network.
    pub fn counts(&self) -> bool {
        self.asn != 0 || self.remote
    }

    fn heard(&self, control: &Failing) -> NetworkVotes<'_> {
        NetworkVotes { asn: self.asn, votes: &self.votes, broken: is_broken(control, self.asn) }
    }
}

/// A series over some time.
pub struct Votes {
    /// All measurements, ordered by day. Those that are left out are masked.
    pub seen: Vec<JudgedMeasurement>,
    pub peers: Peers,
    /// Failures that follow a software version and not a network. They are left out.
    pub instrument: Option<InstrumentFault>,
    /// Ordered by number of the network.
    pub voters: Vec<Voter>,
    free: Free,
    ageing: Ageing,
}

impl Votes {
    /// Reads the time `[from, at)`, with `at` from the surroundings. A peer may be a day older than the vote that it
    /// controls, so the votes of the first day may lack some peers.
    pub fn read(
        view: &View<'_>,
        key: &str,
        from: Timestamp,
        ageing: Ageing,
        surroundings: &Surroundings,
    ) -> Result<Votes> {
        let at = surroundings.at;
        let mut seen = read_of(view, key, from, at, &surroundings.rolled)?;
        let mut own = OwnMeasurements::default();
        // Count before anything is masked, as the counts of networks do.
        if seen.iter().any(|seen| is_failure(seen.session.evaluated.vote)) {
            own.add(&seen);
        }
        let instrument = instrument::mask(&mut seen);
        down_elsewhere::mask(view, key, &mut seen)?;
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

    /// All votes that count at the time of the surroundings. If the newest vote is older than a day, those that counted
    /// at its time.
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

    /// The verdict on each voter at a moment. `control` is the share of failing control sites then. A voter without a
    /// network is judged on its own.
    pub fn verdicts(&self, now: Timestamp, control: &Failing) -> Vec<NetworkVerdict> {
        self.filtered(&mut Filter::default(), now, control, |_, _| {})
    }

    /// Like [`Votes::verdicts`], by a filter that goes on from the moment before. `note` gets what each vote that the
    /// filter reads did, with the number of the voter's network.
    pub fn filtered(
        &self,
        filter: &mut Filter,
        now: Timestamp,
        control: &Failing,
        mut note: impl FnMut(u32, Step),
    ) -> Vec<NetworkVerdict> {
        let free = |asn: u32, hour: i64| self.free.at(asn, hour);
        let counting: Vec<NetworkVotes<'_>> =
            self.voters.iter().filter(|voter| voter.counts()).map(|voter| voter.heard(control)).collect();
        let step = |place: usize, step| {
            if let Some(heard) = counting.get(place) {
                note(heard.asn, step);
            }
        };
        let mut judged = network::filtered(filter, &counting, (now, self.ageing), &free, step).into_iter();
        let verdict = |voter: &Voter| match voter.counts() {
            true => judged.next(),
            false => network::verdicts(&[voter.heard(control)], now, self.ageing, &free).pop(),
        };
        self.voters.iter().filter_map(verdict).collect()
    }
}
