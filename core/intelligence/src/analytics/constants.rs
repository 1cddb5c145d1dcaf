//! Every number of the analytics, named, so that the methodology endpoint can print them. Numbers without a source are
//! our choice.

macro_rules! constants {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ty = $value:expr;)+) => {
        $($(#[doc = $doc])+ pub const $name: $kind = $value;)+

        /// Every number with its name, in the order of this file.
        pub const TABLE: &[(&str, f64)] = &[$((stringify!($name), $name as f64),)+];
    };
}
pub(crate) use constants;

constants! {
    /// A domain is nationally blocked when at least this many networks block it.
    CONFIRMED_NETWORKS: u32 = 3;
    /// Days that an answer looks back: the age limit of measurements (decision age-limit; messengers have 14).
    WINDOW_DAYS: u32 = 30;

    /// Sessions on a domain that each of two countries needs for the domain to be compared.
    CO_BLOCKING_SESSIONS: u32 = 3;
    /// False discovery rate up to which a shared block list is significant (decision shared-block-lists).
    FALSE_DISCOVERY_RATE: f64 = 0.05;
    /// Pairs of countries per second of waiting between two publications of all pairs.
    PAIRS_PER_SECOND: u64 = 30;

    /// Days in which the weight of an observation in a domain's importance falls to 1/e.
    RECENCY_DAYS: f64 = 30.0;

    /// Weight of the share of blocked votes in a network's score.
    ISP_WEIGHT_RATE: f64 = 0.60;
    /// Weight of the number of blocked categories.
    ISP_WEIGHT_CATEGORIES: f64 = 0.25;
    /// Weight of the number of methods.
    ISP_WEIGHT_METHODS: f64 = 0.15;
    /// Number of blocked categories that gives the whole weight.
    ISP_FULL_CATEGORIES: f64 = 10.0;
    /// Number of methods that gives the whole weight.
    ISP_FULL_METHODS: f64 = 5.0;
    /// Measurements that a network needs to be ranked worldwide.
    ISP_MIN_MEASUREMENTS: u32 = 10;

    /// A network's threat level is critical above this share of blocked votes.
    ISP_CRITICAL_RATE: f64 = 0.70;
    /// It is high above this share.
    ISP_HIGH_RATE: f64 = 0.50;
    /// It is medium from this share.
    ISP_MEDIUM_RATE: f64 = 0.30;
    /// The overview calls a country degraded above this share of blocked votes, where no incident says something worse.
    DEGRADED_RATE: f64 = 0.50;

    /// A platform's global score is the mean over its countries, shrunk by this many countries without a block.
    PLATFORM_PRIOR_COUNTRIES: f64 = 4.0;

    /// Weight of freshness in the quality of a country's data.
    QUALITY_WEIGHT_FRESHNESS: f64 = 0.30;
    /// Weight of volume in the quality.
    QUALITY_WEIGHT_VOLUME: f64 = 0.30;
    /// Weight of stability in the quality.
    QUALITY_WEIGHT_STABILITY: f64 = 0.20;
    /// Weight of source diversity in the quality.
    QUALITY_WEIGHT_DIVERSITY: f64 = 0.20;
    /// Days in which freshness falls by half.
    QUALITY_HALF_DAYS: f64 = 7.0;
    /// Measurements that give full volume, on a logarithmic scale.
    QUALITY_FULL_MEASUREMENTS: f64 = 2_000.0;
    /// Sources that give half of full diversity.
    QUALITY_FULL_SOURCES: f64 = 3.0;
    /// Networks that give the other half.
    QUALITY_FULL_NETWORKS: f64 = 10.0;
    /// Quality is high from this score.
    QUALITY_HIGH: f64 = 70.0;
    /// Quality is medium from this score.
    QUALITY_MEDIUM: f64 = 40.0;

    /// Data are live up to this age in days.
    FRESH_LIVE_DAYS: f64 = 1.0;
    /// Data are recent up to this age in days.
    FRESH_RECENT_DAYS: f64 = 7.0;
    /// Data are ageing up to this age in days, and stale beyond it.
    FRESH_AGING_DAYS: f64 = 30.0;

    /// Networks from which on the depth of a country's data is called deep.
    DEPTH_DEEP: u32 = 10;

    /// Decided sites of a topic that a country needs for a topic score.
    TOPIC_MIN_SITES: u32 = 3;
}
