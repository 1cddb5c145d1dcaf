//! Every number of the verdict method, named, so that the methodology endpoint can print them.
//! Numbers without a source are our choice.

use crate::engine::time::{DAY, HOUR};

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
        pub const TABLE: &[$crate::facts::verdict::constants::Constant] =
            &[$($crate::facts::verdict::constants::Constant {
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

    /// A network or country is blocked at this probability of a block (decision one-probability) ...
    BLOCKED_PROBABILITY: f64 = 0.5;
    /// ... a network with blocked votes in so many distinct hours within the age limit (decision one-probability).
    BLOCKED_HOURS: usize = 2;
    /// A network or country is accessible at this probability or below (decision one-probability) ...
    ACCESSIBLE_PROBABILITY: f64 = 0.2;
    /// ... a network with so many clear votes within the age limit (decision one-probability).
    CLEAR_VOTES: usize = 3;
    /// A country is blocked only where the networks with a verdict have this share of the weight of those with votes.
    NATIONAL_COVERAGE: f64 = 0.3;

    /// Probability a day that a block begins on a network.
    BLOCK_BEGINS: f64 = 0.004;
    /// ... and that it comes with one that begins on all others: blocks come on many networks at once.
    BLOCK_SPREADS: f64 = 0.4;
    /// Probability a day that a block ends.
    BLOCK_ENDS: f64 = 0.08;
    /// Share of blocks that keep hours of the week.
    IN_HOURS: f64 = 0.1;
    /// Share of blocks of some sessions at all hours: on some routes, by some resolvers.
    IN_PART: f64 = 0.04;
    /// Share of sessions that fail under a block.
    FAILS_BLOCKED: f64 = 0.92;
    /// ... under one in part.
    FAILS_IN_PART: f64 = 0.40;
    /// A block that keeps hours of the week blocks for so many hours on end in the mean ...
    SPELL_HOURS: f64 = 5.0;
    /// ... and pauses for so many: nights and weekends together.
    PAUSE_HOURS: f64 = 12.0;
    /// Sessions fail where nobody blocks at least this often ...
    FREE_LEAST: f64 = 0.02;
    /// ... and at most this often.
    FREE_MOST: f64 = 0.98;
    /// A site counts as failing by itself at most this often: where more fails in the median of other countries, it may
    /// be blocked there too.
    SITE_MOST: f64 = 0.3;
    /// Rates of failures elsewhere count in steps of so much, so that a measurement more rarely changes a verdict.
    DOWN_RATE_STEP: f64 = 0.05;
    /// Sessions on a network at other sites count less by half after so many hours.
    NETWORK_HALF_LIFE: i64 = 6;
    /// What a network usually fails at other sites counts up to this share: more may be blocks.
    NETWORK_USUAL_MOST: f64 = 0.1;
    /// A network's own usual share stands for so many of its sessions.
    NETWORK_USUAL_WEIGHT: f64 = 20.0;
    /// Votes of a network beyond so many say nothing more; the newest count.
    MOST_VOTES: usize = 400;
    /// So many measurements at least make a rate of failures.
    RATE_MEASUREMENTS: usize = 5;

    /// No measured verdict without a vote this young, microseconds (decision age-limit).
    AGE_LIMIT: i64 = 30 * DAY;
    /// The same for messaging services (decision age-limit).
    AGE_LIMIT_MESSAGING: i64 = 14 * DAY;
    /// The evidence of one network and day is scaled down to so many votes (decision vote-per-hour).
    NETWORK_DAY_VOTES: f64 = 8.0;

    /// Peers are a control within this time, microseconds (decision controls-from-peers).
    PEER_WINDOW: i64 = 24 * HOUR;
    /// So many clear sessions on other networks (decision controls-from-peers).
    PEER_SESSIONS: usize = 3;
    /// ... on so many networks (decision controls-from-peers).
    PEER_NETWORKS: usize = 2;

    /// A network that fails more than this share of control sites decides nothing (decision failing-elsewhere).
    BROKEN_NETWORK_SHARE: f64 = 0.30;
    /// Prior failure rate of a target with too few other countries (decision failing-elsewhere).
    DEFAULT_DOWN_RATE: f64 = 0.03;
    /// The median over at least so many other countries is the prior failure rate (decision failing-elsewhere).
    DOWN_RATE_COUNTRIES: usize = 5;
    /// Strength of the prior, in votes.
    PRIOR_STRENGTH: f64 = 4.0;
    /// Credibility of the published interval.
    INTERVAL: f64 = 0.90;
    /// Half-life of a vote in the posterior, microseconds.
    HALF_LIFE: i64 = 14 * DAY;
    /// The same for messaging services.
    HALF_LIFE_MESSAGING: i64 = 7 * DAY;
    /// `evidenceStrength` is n / (n + this), n votes; our choice: 0.5 at 5 votes, 0.9 at 45.
    EVIDENCE_HALF: f64 = 5.0;

    /// A country is blocked at this share of weight (decision weight-of-networks).
    NATIONAL_SHARE: f64 = 0.50;
    /// ... or at this share over at least [`SEVERAL_NETWORKS`] networks: scope `several` (decision weight-of-networks).
    SEVERAL_SHARE: f64 = 0.25;
    /// The number of networks that goes with [`SEVERAL_SHARE`].
    SEVERAL_NETWORKS: usize = 2;
    /// A network weighs the square root of its IPv4 addresses, at least of so many (decision weight-of-networks).
    MIN_ADDRESSES: u64 = 256;
    /// What is seen of a country from outside, on no known network, weighs so much of the smallest network
    /// (decision country-of-networks).
    REMOTE_WEIGHT: f64 = 0.5;
    /// Scope `national`: so many networks with a verdict, at least [`NATIONAL_NETWORK_SHARE`] of them blocked.
    NATIONAL_NETWORKS: usize = 3;
    /// The share of networks that goes with [`NATIONAL_NETWORKS`].
    NATIONAL_NETWORK_SHARE: f64 = 0.60;

    /// Share of truly blocked measurements in the labelled corpus: the prior of the probability.
    LABEL_PREVALENCE: f64 = 0.0835;
    /// Cold-start calibration: log10 odds = intercept + slope * probability before calibration.
    COLD_START_INTERCEPT: f64 = -2.3424;
    /// Slope of the cold-start calibration.
    COLD_START_SLOPE: f64 = 4.5615;
    /// `confidence` of an answer that only a list supports never exceeds this (decision confidence-of-status).
    KNOWN_LIST_CONFIDENCE: f64 = 0.6;
    /// A list supports an answer for so long after its date, microseconds: 24 months (decision kinds-of-lists).
    KNOWN_LIST_AGE: i64 = 730 * DAY;

    /// Instrument fault: failing versions on at least so many networks.
    INSTRUMENT_NETWORKS: usize = 3;
    /// ... failing at this share or more. Our choice.
    INSTRUMENT_SHARE: f64 = 0.90;
    /// ... while other versions on the same networks fail at this share or less. Our choice.
    INSTRUMENT_OTHERS_SHARE: f64 = 0.20;
    /// ... within spans of so many hours, so that versions are compared under one state of the network. Our choice.
    INSTRUMENT_SPAN: i64 = 6;
    /// Sessions each side needs before the versions are compared. Our choice.
    INSTRUMENT_SESSIONS: usize = 5;

    /// Probes are compared within spans of so many hours (decision probes-confirm-probes).
    PROBE_SPAN: i64 = 6;
    /// What probes say is confirmed by so many independent voters. Our choice.
    PROBE_VOTERS: usize = 2;
    /// ... of so much weight together: two whose trust is not known yet. Our choice.
    PROBE_WEIGHT: f64 = 1.0;
    /// ... and by this share of all weight, above two of three (decision probes-confirm-probes).
    PROBE_MAJORITY: f64 = 0.75;
    /// A probe is measured by so many others, or by another source. Our choice: two may both lie.
    PROBE_REFERENCE_VOTERS: usize = 3;
    /// The trust at which a probe says nothing any more. Our choice.
    PROBE_FLOOR_TRUST: f64 = 0.25;
    /// The trust from which a probe speaks with full weight. Our choice.
    PROBE_FULL_TRUST: f64 = 0.75;
    /// A probe is fresh, and without weight, for so long, microseconds. Our choice.
    PROBE_FRESH: i64 = 3 * DAY;
    /// ... and until it measured on so many days. Our choice.
    PROBE_FRESH_DAYS: u32 = 3;
}
