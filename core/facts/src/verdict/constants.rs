//! All numbers of the verdict method, each with a name, so that the methodology endpoint can print them. A number
//! without a source is our choice.

use engine::time::{DAY, HOUR};

/// One number of the method, for the methodology endpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant {
    pub name: &'static str,
    pub value: f64,
    pub meaning: &'static str,
}

macro_rules! constants {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ty = $value:expr;)+) => {
        $($(#[doc = $doc])+ pub const $name: $kind = $value;)+

        /// Every number, in the order of this file. Durations are in microseconds.
        pub const TABLE: &[$crate::verdict::constants::Constant] =
            &[$($crate::verdict::constants::Constant {
                name: stringify!($name),
                value: $name as f64,
                meaning: concat!($($doc),+),
            },)+];
    };
}
pub(crate) use constants;

constants! {
    /// A vote is blocked at this log10 likelihood ratio or above (decision one-rule-one-vote).
    BLOCKED_AT: f64 = 1.0;
    /// A vote is clear at this log10 likelihood ratio or below (decision one-rule-one-vote).
    CLEAR_AT: f64 = -0.2;

    /// A network or country can be blocked at this probability of a block or above (decision one-probability).
    BLOCKED_PROBABILITY: f64 = 0.5;
    /// A blocked network needs blocked votes in so many distinct hours within the age limit (decision one-probability).
    BLOCKED_HOURS: usize = 2;
    /// A network or country can be accessible at this probability of a block or below (decision one-probability).
    ACCESSIBLE_PROBABILITY: f64 = 0.2;
    /// An accessible network needs so many clear votes within the age limit (decision one-probability).
    CLEAR_VOTES: usize = 3;
    /// A country can be blocked only if its networks with a verdict have this share of the weight of all networks with
    /// votes.
    NATIONAL_COVERAGE: f64 = 0.3;

    /// Probability per day that a block begins on a network.
    BLOCK_BEGINS: f64 = 0.004;
    /// Probability that a block which begins on all other networks comes to this one too: blocks often reach many at
    /// once.
    BLOCK_SPREADS: f64 = 0.4;
    /// Probability per day that a block ends.
    BLOCK_ENDS: f64 = 0.08;
    /// Share of blocks that are in force only in some hours of the week.
    IN_HOURS: f64 = 0.1;
    /// Share of blocks that hit some sessions at all hours, for example on some routes or by some resolvers.
    IN_PART: f64 = 0.04;
    /// Share of sessions that fail under a block.
    FAILS_BLOCKED: f64 = 0.92;
    /// Share of sessions that fail under a block in part.
    FAILS_IN_PART: f64 = 0.40;
    /// A block that keeps hours of the week blocks for so many hours on end, in the mean.
    SPELL_HOURS: f64 = 5.0;
    /// A block that keeps hours of the week pauses for so many hours on end, in the mean of nights and weekends.
    PAUSE_HOURS: f64 = 12.0;
    /// The rate at which blocks are in force elsewhere counts as much as so many sites of a kind in the country (decision
    /// rate-of-a-kind). Our choice.
    KIND_SITES: f64 = 20.0;
    /// The rate of a kind is the usual one, doubled at most so often (decision rate-of-a-kind). Our choice.
    KIND_DOUBLINGS: u8 = 3;
    /// The lowest rate at which sessions are taken to fail where nobody blocks.
    FREE_LEAST: f64 = 0.02;
    /// The highest rate at which sessions are taken to fail where nobody blocks.
    FREE_MOST: f64 = 0.98;
    /// The highest rate at which a site is taken to fail by itself because it is the median of other countries. Where
    /// the median is higher, the site may be blocked there too.
    SITE_MOST: f64 = 0.3;
    /// A site that fails at least as often in this share of the other countries fails everywhere: hardly any site is
    /// blocked in so many.
    EVERYWHERE_SHARE: f64 = 0.75;
    /// The highest rate at which a site is taken to fail everywhere by itself. What always fails may be blocked
    /// everywhere.
    EVERYWHERE_MOST: f64 = 0.7;
    /// Rates of failures elsewhere are rounded to steps of this size, so that a single measurement seldom changes a
    /// verdict.
    DOWN_RATE_STEP: f64 = 0.05;
    /// Sessions on a network at other sites count half after so many hours.
    NETWORK_HALF_LIFE: i64 = 6;
    /// A network's usual share of failures at other sites counts up to this share; failures above it may be blocks.
    NETWORK_USUAL_MOST: f64 = 0.1;
    /// The usual share of failures of a network counts as much as so many of its sessions.
    NETWORK_USUAL_WEIGHT: f64 = 20.0;
    /// The number of votes of a network that count: the newest ones.
    MOST_VOTES: usize = 400;
    /// A rate of failures needs at least so many measurements.
    RATE_MEASUREMENTS: usize = 5;

    /// A measured verdict needs a vote that is no older than this, microseconds (decision age-limit).
    AGE_LIMIT: i64 = 30 * DAY;
    /// The age limit for messaging services, microseconds (decision age-limit).
    AGE_LIMIT_MESSAGING: i64 = 14 * DAY;
    /// The evidence of one network and day is scaled down to so many votes (decision vote-per-hour).
    NETWORK_DAY_VOTES: f64 = 8.0;

    /// Sessions on other networks are a control within this time, microseconds (decision controls-from-peers).
    PEER_WINDOW: i64 = 24 * HOUR;
    /// A control by peers needs so many clear sessions on other networks (decision controls-from-peers).
    PEER_SESSIONS: usize = 3;
    /// A control by peers needs clear sessions on so many networks (decision controls-from-peers).
    PEER_NETWORKS: usize = 2;

    /// A network that fails more than this share of control sites decides nothing (decision failing-elsewhere).
    BROKEN_NETWORK_SHARE: f64 = 0.30;
    /// Prior failure rate of a target that has a rate in too few other countries (decision failing-elsewhere).
    DEFAULT_DOWN_RATE: f64 = 0.03;
    /// From so many other countries on, the median of their rates is the prior failure rate (decision
    /// failing-elsewhere).
    DOWN_RATE_COUNTRIES: usize = 5;
    /// Strength of the prior, in votes.
    PRIOR_STRENGTH: f64 = 4.0;
    /// Credibility of the published interval.
    INTERVAL: f64 = 0.90;
    /// Half-life of a vote in the posterior, microseconds.
    HALF_LIFE: i64 = 14 * DAY;
    /// Half-life of a vote in the posterior for messaging services, microseconds.
    HALF_LIFE_MESSAGING: i64 = 7 * DAY;
    /// `evidenceStrength` is n / (n + this) for n votes: 0.5 at 5 votes, 0.9 at 45. Our choice.
    EVIDENCE_HALF: f64 = 5.0;

    /// A country is blocked when the blocked networks have this share of the weight (decision weight-of-networks).
    NATIONAL_SHARE: f64 = 0.50;
    /// A country is also blocked at this share on at least [`SEVERAL_NETWORKS`] networks (decision weight-of-networks).
    SEVERAL_SHARE: f64 = 0.25;
    /// The number of networks that goes with [`SEVERAL_SHARE`].
    SEVERAL_NETWORKS: usize = 2;
    /// A network weighs the square root of its IPv4 addresses, but of at least so many (decision weight-of-networks).
    MIN_ADDRESSES: u64 = 256;
    /// Measurements of a country from outside, on no known network, weigh this share of the smallest network (decision
    /// country-of-networks).
    REMOTE_WEIGHT: f64 = 0.5;
    /// Scope `national` needs so many networks with a verdict, at least [`NATIONAL_NETWORK_SHARE`] of them blocked.
    NATIONAL_NETWORKS: usize = 3;
    /// The share of networks that goes with [`NATIONAL_NETWORKS`].
    NATIONAL_NETWORK_SHARE: f64 = 0.60;

    /// Share of truly blocked measurements in the labelled corpus: the prior of the probability.
    LABEL_PREVALENCE: f64 = 0.0835;
    /// Cold-start calibration: log10 odds = intercept + slope * probability before calibration.
    COLD_START_INTERCEPT: f64 = -2.3424;
    /// Slope of the cold-start calibration.
    COLD_START_SLOPE: f64 = 4.5615;
    /// The `confidence` of an answer that only a list supports (decision confidence-of-status).
    KNOWN_LIST_CONFIDENCE: f64 = 0.6;
    /// A list supports an answer for so long after its date, microseconds: 24 months (decision kinds-of-lists).
    KNOWN_LIST_AGE: i64 = 730 * DAY;

    /// Instrument fault: a software version must fail on at least so many networks.
    INSTRUMENT_NETWORKS: usize = 3;
    /// Instrument fault: the version must fail in this share of sessions or more. Our choice.
    INSTRUMENT_SHARE: f64 = 0.90;
    /// Instrument fault: other versions on the same networks must fail in this share or less. Our choice.
    INSTRUMENT_OTHERS_SHARE: f64 = 0.20;
    /// Versions are compared within spans of so many hours, so that the network is in one state. Our choice.
    INSTRUMENT_SPAN: i64 = 6;
    /// Each side needs so many sessions before versions are compared. Our choice.
    INSTRUMENT_SESSIONS: usize = 5;

    /// Probes are compared within spans of so many hours (decision probes-confirm-probes).
    PROBE_SPAN: i64 = 6;
    /// The statement of probes is confirmed by at least so many independent voters. Our choice.
    PROBE_VOTERS: usize = 2;
    /// The confirming voters together need this weight: that of two probes without a history. Our choice.
    PROBE_WEIGHT: f64 = 1.0;
    /// The confirming voters need this share of all weight, more than two of three (decision probes-confirm-probes).
    PROBE_MAJORITY: f64 = 0.75;
    /// A probe is compared with at least so many others, or with another source. Two may both lie. Our choice.
    PROBE_REFERENCE_VOTERS: usize = 3;
    /// A probe has no weight at this trust or below. Our choice.
    PROBE_FLOOR_TRUST: f64 = 0.25;
    /// A probe has full weight at this trust or above. Our choice.
    PROBE_FULL_TRUST: f64 = 0.75;
    /// A probe is fresh, and has no weight, for so long, microseconds. Our choice.
    PROBE_FRESH: i64 = 3 * DAY;
    /// A probe also stays fresh until it has measured on so many days. Our choice.
    PROBE_FRESH_DAYS: u32 = 3;
}
