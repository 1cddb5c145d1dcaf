//! Converts the schedule of a block into local time.

use facts::change::schedule::Schedule;
use facts::sentence::Sentence;

/// So many networks that do not keep a schedule are named; more are counted.
const MOST_NAMED: usize = 3;

/// Offsets from UTC in minutes, for countries that have a single time zone, and since 2016 no summer time and no other
/// change of clocks.
const OFFSETS: &[(i32, &str)] = &[
    (-360, "BZ CR GT HN NI SV"),
    (-300, "CO JM PA PE"),
    (-240, "BO DO GY TT"),
    (-180, "AR SR UY"),
    (0, "BF CI GH GM GN GW IS LR ML MR SL SN TG"),
    (60, "AO BJ CF CG CM DZ GA GQ NE NG TD TN"),
    (120, "BI BW LS LY MW MZ RW SZ ZA ZM ZW"),
    (180, "BH BY DJ ER ET IQ KE KM KW MG QA SA SO TZ UG YE"),
    (240, "AE AM GE MU OM SC"),
    (270, "AF"),
    (300, "MV PK TJ TM UZ"),
    (330, "IN LK"),
    (345, "NP"),
    (360, "BD BT KG"),
    (390, "MM"),
    (420, "KH LA TH VN"),
    (480, "BN CN HK MO MY PH SG TW"),
    (540, "JP KR"),
];

/// Minutes that local time is ahead of UTC, where the whole country has the same time all year.
pub fn offset(country: &str) -> Option<i32> {
    OFFSETS.iter().find(|(_, countries)| countries.split(' ').any(|code| code == country)).map(|(minutes, _)| *minutes)
}

/// The words of a schedule as a sentence, in UTC alone.
pub fn in_utc(words: &str) -> Sentence {
    said(words, utc)
}

/// The words of a schedule as a sentence, with `hours` for its days and hours.
fn said(words: &str, hours: impl Fn(&Schedule) -> Sentence) -> Sentence {
    match Schedule::parse(words) {
        Some(schedule) => with_exceptions(hours(&schedule), &schedule),
        None => Sentence::new("schedule.other").with("words", words),
    }
}

fn utc(schedule: &Schedule) -> Sentence {
    match schedule.hours {
        Some((from, to)) => {
            let sentence = Sentence::new("schedule.utc").with("days", schedule.days);
            sentence.with("from", format!("{from:02}")).with("to", format!("{to:02}"))
        }
        None => Sentence::new("schedule.weekdays"),
    }
}

/// The same as "weekdays 07-17 local time (04-14 UTC)" where the whole country has one local time; otherwise in UTC.
/// Days are not shifted, so a schedule that crosses local midnight is left in UTC.
pub fn local(words: &str, country: &str) -> Sentence {
    let shifted = |schedule: &Schedule| {
        let (from, to) = schedule.hours.map(|(from, to)| (i32::from(from) * 60, i32::from(to) * 60))?;
        let by = offset(country)?;
        let same_day = (0..=24 * 60).contains(&(from + by)) && (0..=24 * 60).contains(&(to + by)) && from < to;
        let clock = |minutes: i32| match (minutes / 60, minutes % 60) {
            (hour, 0) => format!("{hour:02}"),
            (hour, minute) => format!("{hour:02}:{minute:02}"),
        };
        let local = Sentence::new("schedule.local").with("days", schedule.days);
        let local = local.with("local_from", clock(from + by)).with("local_to", clock(to + by));
        same_day.then(|| local.with("from", clock(from)).with("to", clock(to)))
    };
    said(words, |schedule| shifted(schedule).unwrap_or_else(|| utc(schedule)))
}

/// Adds the networks that do not keep it.
fn with_exceptions(sentence: Sentence, schedule: &Schedule) -> Sentence {
    if schedule.except.is_empty() {
        return sentence;
    }
    let names: Vec<String> = schedule.except.iter().map(|asn| format!("AS{asn}")).collect();
    let named = Some(names).filter(|names| names.len() <= MOST_NAMED);
    let apart = Sentence::new("schedule.except").with("schedule", sentence).with("networks", named);
    apart.with("number_of_networks", schedule.except.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::starter::Country;

    /// Schedules are stated as "weekdays 07-17 local time" (decision plain-sentences-and-disputes).
    #[test]
    fn schedules_are_told_in_local_time_where_there_is_one() {
        assert_eq!(local("weekdays 04-14 UTC", "KE").english(), "weekdays 07-17 local time (04-14 UTC)");
        assert_eq!(
            local("weekdays 04-14 UTC except AS1, AS22", "KE").english(),
            "weekdays 07-17 local time (04-14 UTC), but at other times too on AS1, AS22"
        );
        assert_eq!(
            in_utc("daily 21-04 UTC except AS1, AS2, AS3, AS4").english(),
            "daily 21-04 UTC, but at other times too on 4 networks"
        );
        assert_eq!(local("04-14 UTC", "IN").english(), "09:30-19:30 local time (04-14 UTC)");
        for (words, country) in [
            ("weekdays 04-14 UTC", "RU"),
            ("weekdays 20-23 UTC", "KE"),
            ("weekdays 22-04 UTC", "KE"),
            ("in the mornings", "KE"),
            ("weekdays 04-x UTC", "KE"),
        ] {
            assert_eq!(local(words, country).english(), words, "{country}");
        }
    }

    #[test]
    fn each_country_has_one_offset() {
        let mut codes: Vec<&str> = OFFSETS.iter().flat_map(|(_, countries)| countries.split(' ')).collect();
        assert!(codes.iter().all(|code| Country::by_code(code).is_some()), "{codes:?}");
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }
}
