//! Converts the schedule of a block into local time.

use facts::sentence::Sentence;

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

/// The days of a schedule, and its first and last hour in UTC.
type Parts<'w> = (Option<&'static str>, Option<(&'w str, &'w str)>);

/// The parts of a schedule such as "weekdays 04-14 UTC". `None` where it has another form.
fn parts(words: &str) -> Option<Parts<'_>> {
    if words == "weekdays" {
        return Some((Some("weekdays"), None));
    }
    let rest = words.strip_suffix(" UTC")?;
    let (days, hours) = rest.rsplit_once(' ').unwrap_or(("", rest));
    let days = match days {
        "" => None,
        "weekdays" => Some("weekdays"),
        "daily" => Some("daily"),
        _ => return None,
    };
    let (from, to) = hours.split_once('-')?;
    let is_hour = |text: &str| text.len() == 2 && text.parse::<u8>().is_ok();
    (is_hour(from) && is_hour(to)).then_some((days, Some((from, to))))
}

/// "weekdays 04-14 UTC" as a sentence, in UTC alone.
pub fn in_utc(words: &str) -> Sentence {
    match parts(words) {
        Some((days, Some((from, to)))) => {
            Sentence::new("schedule.utc").with("days", days).with("from", from).with("to", to)
        }
        Some((_, None)) => Sentence::new("schedule.weekdays"),
        None => Sentence::new("schedule.other").with("words", words),
    }
}

/// The same as "weekdays 07-17 local time (04-14 UTC)" where the whole country has one local time; otherwise in UTC.
/// Days are not shifted, so a schedule that crosses local midnight is left in UTC.
pub fn local(words: &str, country: &str) -> Sentence {
    let shifted = || {
        let (days, hours) = parts(words)?;
        let (utc_from, utc_to) = hours?;
        let (from, to) = (utc_from.parse::<i32>().ok()? * 60, utc_to.parse::<i32>().ok()? * 60);
        let by = offset(country)?;
        let same_day = (0..=24 * 60).contains(&(from + by)) && (0..=24 * 60).contains(&(to + by)) && from < to;
        let clock = |minutes: i32| match (minutes / 60, minutes % 60) {
            (hour, 0) => format!("{hour:02}"),
            (hour, minute) => format!("{hour:02}:{minute:02}"),
        };
        let local = Sentence::new("schedule.local").with("days", days);
        let local = local.with("local_from", clock(from + by)).with("local_to", clock(to + by));
        same_day.then(|| local.with("from", utc_from).with("to", utc_to))
    };
    shifted().unwrap_or_else(|| in_utc(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::starter::Country;

    /// Schedules are stated as "weekdays 07-17 local time" (decision plain-sentences-and-disputes).
    #[test]
    fn schedules_are_told_in_local_time_where_there_is_one() {
        assert_eq!(local("weekdays 04-14 UTC", "KE").english(), "weekdays 07-17 local time (04-14 UTC)");
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
