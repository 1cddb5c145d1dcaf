//! All numbers of change detection, each with a name, so that the methodology endpoint can print them. A number without
//! a source is our choice. Durations are in hours.

use crate::verdict::constants::constants;

constants! {
    /// Blocked votes of a subject that are less than so many hours apart belong to one incident. An incident is
    /// resolved after so many hours of measurements without a blocked vote (decision incident-dates).
    MERGE_GAP: i64 = 96;
    /// An episode is over after so many hours without a blocked vote, measured or not, because no verdict lasts that
    /// long (decision age-limit).
    SILENT_GAP: i64 = 720;
    /// Days in one stored block of a series. It is as long as the age limit, so that the control failures of a network
    /// (decision failing-elsewhere) are those of the block.
    BLOCK_DAYS: u32 = 30;

    /// Factor of the confidence of an incident with one source and one network (decision incident-grades).
    CONFIDENCE_SINGLE: f64 = 0.7;
    /// Factor of the confidence of an incident with one source and several networks (decision incident-grades).
    CONFIDENCE_NETWORKS: f64 = 0.85;
    /// An incident is critical if a platform is blocked on this share of weight (decision incident-grades).
    CRITICAL_WEIGHT: f64 = 0.50;
    /// An incident of a messenger, social or news platform is high at this share of weight (decision incident-grades).
    HIGH_WEIGHT: f64 = 0.25;
    /// An incident of a messenger, social or news platform is also high on so many networks (decision incident-grades).
    HIGH_NETWORKS: usize = 2;
    /// An incident of a domain that is no platform is medium on so many networks (decision incident-grades).
    MEDIUM_NETWORKS: usize = 3;
    /// A block is intermittent if more than this share of the votes of the blocked networks is clear (decision
    /// two-blocked-hours).
    INTERMITTENT_SHARE: f64 = 0.30;

    /// The hours of a schedule are the shortest span of the day that holds this share of blocked votes.
    SCHEDULE_SHARE: f64 = 0.90;
    /// A schedule has at most so many hours of the day.
    SCHEDULE_HOURS: usize = 16;
    /// Outside of the hours of a schedule at most this share of votes is blocked.
    SCHEDULE_OUTSIDE: f64 = 0.20;
    /// A network does not keep a schedule if it has so many blocked votes outside of it, and a greater share of them than
    /// [`SCHEDULE_OUTSIDE`].
    SCHEDULE_BROKEN: u32 = 2;
    /// A schedule keeps to weekdays only if the blocked share of weekends is at most this part of the blocked share of
    /// weekdays.
    SCHEDULE_WEEKEND: f64 = 0.50;
    /// A schedule needs so many blocked votes, and so many votes outside of its hours.
    SCHEDULE_VOTES: u32 = 10;
    /// A schedule repeats: no single day has more than this share of the blocked votes.
    SCHEDULE_DAY: f64 = 0.50;

    /// Domains are one incident only if they are blocked within so many hours of the first.
    SIMILAR_HOURS: i64 = 24;
    /// Domains are one incident only if they end within so many hours of each other, which is how exactly dates are
    /// known (decision incident-dates).
    SIMILAR_END: i64 = 48;
    /// Domains are one incident only if their networks are this similar (Jaccard index).
    SIMILAR_NETWORKS: f64 = 0.5;

    /// Reports and measurements of the same incident may be so many hours apart.
    EVENT_SLACK: i64 = 6;
    /// A report without an end is taken to last so many hours.
    EVENT_HOURS: i64 = 24;

    /// Silence: so many votes must be expected in the window (decision silence-of-measurements).
    SILENCE_EXPECTED: f64 = 20.0;
    /// Silence: the count must be this improbable (decision silence-of-measurements).
    SILENCE_TAIL: f64 = 1e-4;
    /// Silence: it must last so many hours (decision silence-of-measurements).
    SILENCE_HOURS: i64 = 6;
    /// Silence: it must cover this share of weight (decision silence-of-measurements).
    SILENCE_WEIGHT: f64 = 0.50;
    /// Silence: the window reaches back until enough votes are expected, but at most so many hours.
    SILENCE_WINDOW: i64 = 96;
    /// The profile of weekdays and hours comes from so many days.
    PROFILE_DAYS: i64 = 28;
    /// The profile ends so many days before, so that a silence does not soon become the expected volume.
    PROFILE_LAG: i64 = 5;
    /// The profile of a new network comes from the days since its first measurement, but at least so many days.
    PROFILE_LEAST: i64 = 14;
    /// The counts of hours and weekdays in the profile are smoothed with so many measurements of the average.
    PROFILE_SMOOTHING: f64 = 10.0;
    /// A silence ends when a day's volume reaches this share of the volume that was expected when it began.
    SILENCE_RETURN: f64 = 0.25;
    /// A silence lasts at most so many days; after that nobody measures any more.
    SILENCE_DAYS: i64 = 60;
    /// Length of the spans, in hours, in which failures of a target are counted in all countries, to tell a target that
    /// is down from a block.
    OUTAGE_HOURS: i64 = 6;
    /// A target is down in a span if this share of measurements fails in the median of the other countries, and at most
    /// half of that share in the rest of the block. The median needs the number of countries of decision
    /// failing-elsewhere; if too few measured in the span, those that measured on its day count.
    OUTAGE_SHARE: f64 = 0.25;
    /// Only countries count in which less than this share fails in the rest of the block.
    OUTAGE_ELSE: f64 = 0.50;
    /// A target is also down in the span before and after if this share fails there, because it may go down or come
    /// back inside of a span.
    OUTAGE_EDGE_SHARE: f64 = 0.10;
    /// A source is normal elsewhere only if so many other countries measured with it.
    ELSEWHERE_COUNTRIES: u32 = 3;
    /// A source is normal elsewhere only if at most this share of the countries has less than half of its own average.
    ELSEWHERE_REDUCED: f64 = 0.20;
}
