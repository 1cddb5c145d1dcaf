//! Every number of change detection, named, so that the methodology can print them. Numbers without a source are our
//! choice. Durations are in hours.

use crate::facts::verdict::constants::constants;

constants! {
    /// Blocked votes of a subject closer than this belong to one incident; so long measured without one resolves it
    /// (decision incident-dates).
    MERGE_GAP: i64 = 96;
    /// Without a blocked vote for so long an episode is over, measured or not: no verdict stands that long
    /// (decision age-limit).
    SILENT_GAP: i64 = 720;
    /// Days of one stored block of a series. As long as the age limit, so that a network's control failures (decision
    /// failing-elsewhere) are those of the block.
    BLOCK_DAYS: u32 = 30;

    /// One source and one network: factor of the confidence (decision incident-grades).
    CONFIDENCE_SINGLE: f64 = 0.7;
    /// One source and several networks (decision incident-grades).
    CONFIDENCE_NETWORKS: f64 = 0.85;
    /// A platform blocked on this share of weight is critical (decision incident-grades).
    CRITICAL_WEIGHT: f64 = 0.50;
    /// ... on this share is high (decision incident-grades).
    HIGH_WEIGHT: f64 = 0.25;
    /// ... or on so many networks (decision incident-grades).
    HIGH_NETWORKS: usize = 2;
    /// Other domains on so many networks are medium (decision incident-grades).
    MEDIUM_NETWORKS: usize = 3;
    /// More than this share of clear votes of the blocked networks is an intermittent pattern (decision
    /// two-blocked-hours).
    INTERMITTENT_SHARE: f64 = 0.30;

    /// A schedule is named when the shortest span of hours that holds this share of blocked votes ...
    SCHEDULE_SHARE: f64 = 0.90;
    /// ... is at most so long ...
    SCHEDULE_HOURS: usize = 16;
    /// ... and at most this share of the votes outside is blocked ...
    SCHEDULE_OUTSIDE: f64 = 0.20;
    /// ... (weekends keep out of it also only where they have at most this part of the share of weekdays) ...
    SCHEDULE_WEEKEND: f64 = 0.50;
    /// ... of which there are so many, as there are blocked votes ...
    SCHEDULE_VOTES: u32 = 10;
    /// ... and it comes back: no day has more than this share of the blocked votes.
    SCHEDULE_DAY: f64 = 0.50;

    /// Domains blocked within so many hours of the first are one incident ...
    SIMILAR_HOURS: i64 = 24;
    /// ... when they end within so many hours of each other, as exactly as dates are known (decision incident-dates)
    /// ...
    SIMILAR_END: i64 = 48;
    /// ... and the networks are this alike (Jaccard index).
    SIMILAR_NETWORKS: f64 = 0.5;

    /// Reports and measurements of one thing may miss each other by so many hours.
    EVENT_SLACK: i64 = 6;
    /// A report without an end is compared as if it lasted so many hours.
    EVENT_HOURS: i64 = 24;

    /// Volume collapse: expected votes in a window (decision silence-of-measurements).
    SILENCE_EXPECTED: f64 = 20.0;
    /// ... whose count is this improbable (decision silence-of-measurements).
    SILENCE_TAIL: f64 = 1e-4;
    /// ... for so long (decision silence-of-measurements).
    SILENCE_HOURS: i64 = 6;
    /// ... on this share of weight (decision silence-of-measurements).
    SILENCE_WEIGHT: f64 = 0.50;
    /// The window reaches back until enough is expected, at most so far.
    SILENCE_WINDOW: i64 = 96;
    /// The weekday-hour profile is that of so many days ...
    PROFILE_DAYS: i64 = 28;
    /// ... that end so many days before, so that a silence does not soon become what is expected.
    PROFILE_LAG: i64 = 5;
    /// Of a network that is new it is that of the days since, and of so many at least.
    PROFILE_LEAST: i64 = 14;
    /// Votes of every hour of day and weekday are smoothed by so many of the average.
    PROFILE_SMOOTHING: f64 = 10.0;
    /// A silence lasts until a day's volume exceeds this share of what was expected when it began ...
    SILENCE_RETURN: f64 = 0.25;
    /// ... at most so many days: then nobody measures any more.
    SILENCE_DAYS: i64 = 60;
    /// Where a block seems to begin in a country, failures of the target are counted in all of them, in spans of so
    /// many hours, to tell a target that is out of order from a block.
    OUTAGE_HOURS: i64 = 6;
    /// A target is out of order in a span when, in the median of the other countries, this share of measurements fails
    /// and at most half as large a share in the rest of the block (the countries are as many as decision
    /// failing-elsewhere asks for a rate; where fewer measured in the span, those that did on its day) ...
    OUTAGE_SHARE: f64 = 0.25;
    /// ... of those countries where less than this share fails in the rest of the block ...
    OUTAGE_ELSE: f64 = 0.50;
    /// ... and in the span before and after, this share: an outage begins and ends inside of a span.
    OUTAGE_EDGE_SHARE: f64 = 0.10;
    /// A source is normal elsewhere when of so many other countries ...
    ELSEWHERE_COUNTRIES: u32 = 3;
    /// ... at most this share has less than half of its own average.
    ELSEWHERE_REDUCED: f64 = 0.20;
}
