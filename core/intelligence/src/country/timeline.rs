//! Verdicts on a series at the end of each of many days, from one read of its measurements.

use std::collections::BTreeMap;

use super::course::MomentVerdict;
use super::evidence::{Failing, NameAndAddresses, Surroundings};
use super::votes::Votes;
use crate::{Result, Timestamp};
use engine::actor::View;
use engine::time::DAY;
use facts::subject::is_messaging;
use facts::verdict::Vote;
use facts::verdict::belief::Filter;
use facts::verdict::national::{self, CountryVerdict, Member};
use facts::verdict::network::NetworkVerdict;
use facts::verdict::window::Ageing;

/// The measurements of a series on a day.
#[derive(Default)]
pub struct DayOf {
    /// Identities of the measurements.
    pub identities: Vec<u64>,
    /// Measurements among them that are counted at this series and at no other.
    pub counted: u32,
    /// Measurements that say blocked or clear, and those that say blocked.
    pub votes: u32,
    pub blocked: u32,
}

/// One day of a series.
pub struct SeriesDay {
    pub day: u32,
    pub of: DayOf,
    /// The country's verdict at the end of the day.
    pub verdict: CountryVerdict,
}

/// A series over some time: its days, and the votes of its networks for verdicts at any moment of that time. Peers are
/// those known at its end.
pub struct Timeline {
    pub days: BTreeMap<u32, DayOf>,
    votes: Votes,
    /// Goes on from one moment to the next one, so ask for moments in order of time.
    filter: Filter,
    /// IPv4 addresses of each voter.
    addresses: Vec<Option<u64>>,
    /// The end of the time.
    at: Timestamp,
}

/// How far back votes count at a moment. The newest vote may be as old as the age limit, and then votes count that are
/// older than it by the age limit again. A peer may be a day older than the vote that it controls.
pub fn reach(ageing: Ageing) -> i64 {
    2 * ageing.limit + DAY
}

impl Timeline {
    /// Reads the time `[from, at)`. A verdict also needs the time before it, as far as [`reach`] says.
    pub fn read(view: &View<'_>, key: &str, from: Timestamp, surroundings: &Surroundings) -> Result<Timeline> {
        let votes = Votes::read(view, key, from, surroundings.rates.ageing(view, key)?, surroundings)?;
        let mut days: BTreeMap<u32, DayOf> = BTreeMap::new();
        for seen in &votes.seen {
            let vote = votes.peers.vote(&seen.session);
            let day = days.entry(seen.day).or_default();
            day.identities.push(seen.identity);
            day.counted += u32::from(seen.primary);
            day.votes += u32::from(matches!(vote, Vote::Blocked | Vote::Clear));
            day.blocked += u32::from(vote == Vote::Blocked);
        }
        let named: Result<Vec<NameAndAddresses>> =
            votes.voters.iter().map(|voter| surroundings.network(view, voter.asn)).collect();
        let addresses = named?.into_iter().map(|(_, addresses)| addresses).collect();
        Ok(Timeline { days, votes, filter: Filter::default(), addresses, at: surroundings.at })
    }

    /// The country's verdict at the end of a day. `control` is the share of failing control sites then.
    pub fn verdict(&mut self, day: u32, control: &Failing) -> CountryVerdict {
        // Use the last instant of the day, because votes count by the hour that `now` is in.
        self.verdict_at(Timestamp::end_of_day(day).min(self.at), control).0
    }

    /// The verdicts on the country and its networks at a moment.
    pub fn standing(&mut self, at: Timestamp, control: &Failing) -> MomentVerdict {
        let (verdict, networks) = self.verdict_at(at, control);
        let networks = self.votes.voters.iter().zip(networks).filter(|(voter, _)| voter.counts());
        let networks = networks.map(|(voter, verdict)| (voter.asn, verdict.status.into())).collect();
        MomentVerdict { status: verdict.status.into(), p_blocked: verdict.p_blocked, networks }
    }

    fn verdict_at(&mut self, at: Timestamp, control: &Failing) -> (CountryVerdict, Vec<NetworkVerdict>) {
        let verdicts = self.votes.filtered(&mut self.filter, at, control, |_, _| {});
        let voters = self.votes.voters.iter().zip(&self.addresses).zip(&verdicts);
        let members: Vec<Member<'_>> = voters
            .filter(|((voter, _), _)| voter.counts())
            .map(|((voter, addresses), verdict)| Member {
                asn: voter.asn,
                addresses: *addresses,
                remote: voter.remote,
                verdict,
            })
            .collect();
        (national::verdict(&members), verdicts)
    }
}

/// The days of `[from, at)` on which a series was measured, oldest first. Peers are those known at `at`.
pub fn days(view: &View<'_>, key: &str, from: Timestamp, surroundings: &Surroundings) -> Result<Vec<SeriesDay>> {
    let reach = reach(Ageing::of(is_messaging(key)));
    let mut timeline = Timeline::read(view, key, from.plus(-reach), surroundings)?;
    let days = timeline.days.split_off(&u32::try_from(from.day()).unwrap_or(0));
    Ok(days
        .into_iter()
        .map(|(day, of)| SeriesDay { day, of, verdict: timeline.verdict(day, &surroundings.control) })
        .collect())
}
