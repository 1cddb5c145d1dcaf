//! Counts of measurements by vote, made by the country that holds them, some blocks at a time.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::grain::Grain;
use crate::Result;
use crate::country::judged::{self, Blocks, VotedMeasurement};
use engine::actor::{Kind, Query, View};
use facts::change::series::bounds;
use facts::measurement::Service;
use facts::source::Source;
use facts::verdict::{Technique, Vote};

/// Series that one question names, at most.
pub const SERIES_AT_ONCE: usize = 200;
/// A page of counts ends with the block that brings it to so many measurements or to so many blocks.
const MEASUREMENTS_AT_ONCE: usize = 50_000;
const BLOCKS_AT_ONCE: usize = 1_000;
/// Series on a page of the list of series.
const LISTED_AT_ONCE: usize = 5_000;

/// The tests whose measurements can be told by the series where they are counted and by their source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TestName {
    WebConnectivity,
    FacebookMessenger,
    Signal,
    Telegram,
    Whatsapp,
}

impl TestName {
    pub const ALL: [TestName; 5] = [
        TestName::WebConnectivity,
        TestName::FacebookMessenger,
        TestName::Signal,
        TestName::Telegram,
        TestName::Whatsapp,
    ];

    /// The names of all tests.
    pub const NAMES: [&'static str; TestName::ALL.len()] = {
        let mut names = [""; TestName::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = TestName::ALL[at].as_str();
            at += 1;
        }
        names
    };

    pub const fn as_str(self) -> &'static str {
        match self {
            TestName::WebConnectivity => "web_connectivity",
            TestName::FacebookMessenger => Service::FacebookMessenger.name(),
            TestName::Signal => Service::Signal.name(),
            TestName::Telegram => Service::Telegram.name(),
            TestName::Whatsapp => Service::Whatsapp.name(),
        }
    }

    /// The test that counts its measurements at a series.
    pub fn of_series(series: &str) -> Option<TestName> {
        match series.split_once('/') {
            None => Some(TestName::WebConnectivity),
            Some((service, _)) => TestName::ALL.into_iter().find(|test| test.as_str() == service),
        }
    }

    /// The test that a measurement of a source was made with, if it is counted at this series.
    fn of(series: &str, source: u8) -> Option<TestName> {
        TestName::of_series(series).filter(|_| source == Source::Ooni.code())
    }
}

/// What a blocked measurement saw, in the words of the interface that this one follows where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BlockingType {
    /// It is not blocked.
    None,
    /// It is blocked, and nothing tells how.
    Unknown,
    Dns,
    Tcp,
    Tls,
    HttpFailure,
    HttpDiff,
}

impl BlockingType {
    fn of(measurement: &VotedMeasurement) -> BlockingType {
        if measurement.vote != Vote::Blocked {
            return BlockingType::None;
        }
        let Some(technique) = measurement.technique else { return BlockingType::Unknown };
        match (technique, technique.layer()) {
            (Technique::HttpBlockpage | Technique::Http451 | Technique::HttpRedirect, _) => BlockingType::HttpDiff,
            (_, "dns") => BlockingType::Dns,
            (_, "tcp") => BlockingType::Tcp,
            (_, "tls") => BlockingType::Tls,
            // A transfer that stalls fails at HTTP.
            _ => BlockingType::HttpFailure,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            BlockingType::None => "",
            BlockingType::Unknown => "unknown",
            BlockingType::Dns => "dns",
            BlockingType::Tcp => "tcp_ip",
            BlockingType::Tls => "tls",
            BlockingType::HttpFailure => "http-failure",
            BlockingType::HttpDiff => "http-diff",
        }
    }
}

/// Numbers of measurements. Each measurement is in exactly one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteCounts {
    /// They vote clear.
    pub ok: u64,
    /// They vote blocked by the rule of a known block page.
    pub confirmed: u64,
    /// They vote blocked by any other rule.
    pub anomaly: u64,
    /// They do not vote.
    pub failure: u64,
}

impl VoteCounts {
    fn note(&mut self, measurement: &VotedMeasurement) {
        let count = match measurement.vote {
            Vote::Clear => &mut self.ok,
            Vote::Blocked if measurement.rule.is_confirmed() => &mut self.confirmed,
            Vote::Blocked => &mut self.anomaly,
            Vote::NeedsControl | Vote::Down | Vote::Masked => &mut self.failure,
        };
        *count += 1;
    }

    pub fn add(&mut self, more: &VoteCounts) {
        self.ok += more.ok;
        self.confirmed += more.confirmed;
        self.anomaly += more.anomaly;
        self.failure += more.failure;
    }

    /// All measurements.
    pub fn sum(&self) -> u64 {
        self.ok + self.confirmed + self.anomaly + self.failure
    }
}

/// What measurements are counted by, apart from their country.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountBy {
    pub grain: Option<Grain>,
    pub network: bool,
    pub series: bool,
    pub blocking: bool,
    pub test: bool,
}

/// Measurements that are counted together. What they are not counted by has its first value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Group {
    /// The hour, since the epoch, in which their span begins.
    pub begin: i64,
    /// 0 if the network is withheld.
    pub asn: u32,
    /// The place of their series in the question.
    pub series: u32,
    pub blocking: BlockingType,
    /// `None` if nothing tells it.
    pub test: Option<TestName>,
}

/// Where a page begins: the place of a series in the question, and a day.
pub type CountPlace = (u32, u32);

/// Counts the measurements of some series, each at the series where it is counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountVotes {
    /// At most [`SERIES_AT_ONCE`].
    pub series: Vec<String>,
    /// Hours since the epoch: the first, and the first that is too late.
    pub from: i64,
    pub end: i64,
    /// Only these networks; all if there are none.
    pub networks: Vec<u32>,
    /// Only these tests; all if there are none.
    pub tests: Vec<TestName>,
    pub by: CountBy,
    pub place: Option<CountPlace>,
}

/// A page of counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VotePage {
    /// Each group once, in order.
    pub groups: Vec<(Group, VoteCounts)>,
    /// Where the next page begins; `None` on the last page.
    pub next: Option<CountPlace>,
    /// Measurements that were read.
    pub read: u64,
    /// Codes of the sources of what was counted.
    pub sources: BTreeSet<u8>,
}

impl Query for CountVotes {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "count_votes";
    type Reply = VotePage;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<VotePage> {
        let (blocks, mut counted) = (Blocks::default(), Counted::default());
        let (first, end) = days(self.from, self.end);
        let (from, mut day) = self.place.map_or((0, first), |(at, day)| (at, day.max(first)));
        let (mut read, mut visited) = (0, 0);
        for (at, series) in (0..).zip(&self.series).skip(from as usize).take(SERIES_AT_ONCE) {
            while let Some(block) = blocks.next(view, series, day, end)? {
                if read >= MEASUREMENTS_AT_ONCE || visited >= BLOCKS_AT_ONCE {
                    return Ok(counted.page(Some((at, day)), read));
                }
                let (measurements, all) = blocks.read(view, series, block)?;
                (read, visited) = (read + all, visited + 1);
                measurements.iter().for_each(|measurement| self.count(at, series, measurement, &mut counted));
                day = day_of(bounds(block).1.hour());
            }
            day = first;
        }
        Ok(counted.page(None, read))
    }
}

impl CountVotes {
    fn count(&self, at: u32, series: &str, measurement: &VotedMeasurement, counted: &mut Counted) {
        let VotedMeasurement { hour, asn, source, primary, .. } = *measurement;
        let test = TestName::of(series, source);
        let asked = primary
            && (self.from..self.end).contains(&hour)
            && (self.networks.is_empty() || self.networks.contains(&asn))
            && (self.tests.is_empty() || test.is_some_and(|test| self.tests.contains(&test)));
        if !asked {
            return;
        }
        let group = Group {
            begin: self.by.grain.map_or(0, |grain| grain.begin(hour)),
            asn: if self.by.network { asn } else { 0 },
            series: if self.by.series { at } else { 0 },
            blocking: if self.by.blocking { BlockingType::of(measurement) } else { BlockingType::None },
            test: test.filter(|_| self.by.test),
        };
        counted.groups.entry(group).or_default().note(measurement);
        counted.sources.insert(source);
    }
}

#[derive(Default)]
struct Counted {
    groups: BTreeMap<Group, VoteCounts>,
    sources: BTreeSet<u8>,
}

impl Counted {
    fn page(self, next: Option<CountPlace>, read: usize) -> VotePage {
        VotePage { groups: self.groups.into_iter().collect(), next, read: read as u64, sources: self.sources }
    }
}

fn day_of(hour: i64) -> u32 {
    u32::try_from(hour.div_euclid(24)).unwrap_or(0)
}

/// The first day of a range of hours, and the first day after it.
pub fn days(from: i64, end: i64) -> (u32, u32) {
    (day_of(from), day_of(end.saturating_add(23)))
}

/// Lists the series that were measured between two days, both included, with about how many measurements that is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MeasuredSeries {
    /// Only these, as far as they were measured.
    pub of: Option<Vec<String>>,
    pub first: u32,
    pub last: u32,
    /// The last series of the page before.
    pub after: Option<String>,
}

impl Query for MeasuredSeries {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "measured_series";
    /// A page, and whether there may be more.
    type Reply = (Vec<(String, u64)>, bool);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let days = (self.first, self.last);
        let Some(asked) = self.of else {
            let found = judged::measured(view, days, self.after.as_deref(), LISTED_AT_ONCE)?;
            let more = found.len() == LISTED_AT_ONCE;
            return Ok((found, more));
        };
        let mut found = Vec::new();
        for series in asked {
            found.extend(judged::expected_of(view, &series, days)?.map(|measurements| (series, measurements)));
        }
        Ok((found, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::verdict::RuleId;

    #[test]
    fn a_test_is_told_only_where_the_series_and_the_source_tell_it() {
        let ooni = Source::Ooni.code();
        assert_eq!(TestName::of("a.example", ooni), Some(TestName::WebConnectivity));
        assert_eq!(TestName::of("telegram/pool", ooni), Some(TestName::Telegram));
        for (series, source) in [
            ("a.example", Source::CensoredPlanet.code()),
            ("a.example", Source::Probe.code()),
            ("tor/or_port", ooni),
            ("openvpn/riseup", ooni),
        ] {
            assert_eq!(TestName::of(series, source), None, "{series}");
        }
    }

    #[test]
    fn every_vote_is_in_one_count_and_only_known_block_pages_are_confirmed() {
        let measurement = |rule, vote, technique| VotedMeasurement {
            identity: 1,
            hour: 0,
            asn: 1,
            source: 1,
            rule,
            technique,
            vote,
            primary: true,
        };
        let mut counts = VoteCounts::default();
        let page = Some(Technique::HttpBlockpage);
        for (rule, vote) in [
            (RuleId::HttpSame, Vote::Clear),
            (RuleId::HttpFingerprint, Vote::Blocked),
            (RuleId::DnsFingerprint, Vote::Blocked),
            (RuleId::FastpathConfirmed, Vote::Blocked),
            // The page differs, but it is no known block page.
            (RuleId::HttpDiff, Vote::Blocked),
            (RuleId::TlsReset, Vote::Blocked),
            (RuleId::DnsBothFail, Vote::Down),
            (RuleId::NoEvidence, Vote::Masked),
        ] {
            counts.note(&measurement(rule, vote, None));
        }
        assert_eq!(counts, VoteCounts { ok: 1, confirmed: 3, anomaly: 2, failure: 2 });
        assert_eq!(counts.sum(), 8);
        for (vote, technique, expected) in [
            (Vote::Clear, page, ""),
            (Vote::Down, Some(Technique::Dns), ""),
            (Vote::Blocked, None, "unknown"),
            (Vote::Blocked, Some(Technique::DnsInjectionBogon), "dns"),
            (Vote::Blocked, Some(Technique::TcpReset), "tcp_ip"),
            (Vote::Blocked, Some(Technique::TlsResetSni), "tls"),
            (Vote::Blocked, Some(Technique::HttpReset), "http-failure"),
            (Vote::Blocked, Some(Technique::Throttling), "http-failure"),
            (Vote::Blocked, page, "http-diff"),
        ] {
            let found = BlockingType::of(&measurement(RuleId::NoEvidence, vote, technique));
            assert_eq!(found.as_str(), expected, "{vote:?} {technique:?}");
        }
    }

    #[test]
    fn a_range_ends_with_the_day_of_its_last_hour() {
        assert_eq!(days(0, 24), (0, 1));
        assert_eq!(days(23, 25), (0, 2));
        assert_eq!(days(48, 49), (2, 3));
    }
}
