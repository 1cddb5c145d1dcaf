//! Tells whether the beginning of a block was measured, or the block was already there when the data begin.

use super::merge::{BlockingEvent, Series};
use super::series::Span;

/// True if one of the blocked networks had a clear vote on one of the blocked series before the first blocked vote of
/// all. Otherwise the block may have begun earlier.
pub fn is_seen(found: &BlockingEvent, series: &[Series]) -> bool {
    let blocked = series.iter().filter(|series| found.targets.contains(&series.key));
    let mut spans = blocked.flat_map(Series::spans);
    let takes_part = |asn: u32| found.networks.iter().any(|network| network.asn == asn);
    spans.any(|span| takes_part(span.asn) && is_clear_before(span, found.start))
}

/// True if a network has a clear vote before an hour. Where the hours of a day are not kept, the whole day must lie
/// before it.
fn is_clear_before(span: &Span, hour: i64) -> bool {
    let hours = span.hours.iter().any(|count| count.hour < hour && count.clear > 0);
    let day = hour.div_euclid(24);
    let mut days = span.days.iter().filter(|_| span.hours.is_empty());
    hours || days.any(|count| i64::from(count.day) < day && count.votes > count.blocked)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::merge::Affected;
    use super::super::series::{Block, DayCount, HourCount};
    use super::*;

    /// An hour in the middle of a day; a block of one site begins in it on networks 1 and 2.
    const START: i64 = 24 * 20_000 + 10;

    fn found() -> BlockingEvent {
        let network = |asn| Affected {
            asn,
            first: START,
            last: START + 90,
            blocked: 9,
            votes: 9,
            probability: 0.9,
            techniques: BTreeMap::new(),
            targets: BTreeSet::from(["a.example".to_owned()]),
        };
        BlockingEvent {
            start: START,
            end: START + 90,
            declared: START + 2,
            resolved: None,
            last_vote: START + 90,
            networks: vec![network(1), network(2)],
            tested: BTreeMap::new(),
            targets: BTreeSet::from(["a.example".to_owned()]),
            essential: true,
            sources: BTreeSet::from([1]),
            measurements: 9,
            votes: 18,
            blocked: 18,
            intermittent: false,
            schedule: None,
            start_unknown: false,
        }
    }

    fn seen(key: &str, asn: u32, days: Vec<DayCount>, hours: Vec<HourCount>) -> bool {
        let (techniques, sources) = (BTreeMap::new(), BTreeSet::new());
        let span = Span { asn, days, hours, techniques, sources };
        let block = Block { spans: vec![span], ..Block::default() };
        is_seen(&found(), &[Series::new(key.to_owned(), true, vec![(0, block)], 720)])
    }

    #[test]
    fn only_a_clear_vote_of_a_network_that_takes_part_before_the_first_hour_shows_the_beginning() {
        let hour = |hour, blocked, clear| vec![HourCount { hour, blocked, clear, fails: 0 }];
        assert!(seen("a.example", 2, Vec::new(), hour(START - 1, 0, 1)));
        assert!(
            seen("a.example", 1, Vec::new(), hour(START - 9_000, 3, 1)),
            "however long before, whatever failed too"
        );
        assert!(!seen("a.example", 3, Vec::new(), hour(START - 1, 0, 1)), "another network");
        assert!(!seen("b.example", 1, Vec::new(), hour(START - 1, 0, 1)), "another site");
        assert!(!seen("a.example", 1, Vec::new(), hour(START, 1, 1)), "in the same hour");
        assert!(!seen("a.example", 1, Vec::new(), hour(START - 1, 2, 0)), "a failure");
    }

    #[test]
    fn a_day_whose_hours_are_not_kept_lies_before_as_a_whole_or_not_at_all() {
        let day = |day, votes, blocked| vec![DayCount { day, votes, blocked, measurements: votes }];
        assert!(seen("a.example", 1, day(19_999, 1, 0), Vec::new()));
        assert!(!seen("a.example", 1, day(20_000, 1, 0), Vec::new()));
        assert!(!seen("a.example", 1, day(19_999, 1, 1), Vec::new()));
        // Where hours are kept, they decide.
        let later = vec![HourCount { hour: START + 5, blocked: 0, clear: 1, fails: 0 }];
        assert!(!seen("a.example", 1, day(19_999, 1, 0), later));
    }

    /// Rows of an earlier program lack the answer. They count as beginnings that were seen, until the series changes.
    #[test]
    fn rows_from_before_it_was_asked_are_read() {
        use engine::kv::{decode_row, encode_row};
        let mut old = encode_row(&found()).unwrap();
        old[0] = 1;
        assert_eq!(old.pop(), Some(0));
        let mut expected = found();
        expected.networks.iter_mut().for_each(|network| network.probability = 0.5);
        assert_eq!(decode_row::<BlockingEvent>(&old).unwrap(), expected);
    }

    #[test]
    fn short_failures_of_several_networks_at_once_are_likelier_a_block_than_those_of_one() {
        let short = |probability: f64, tested: u32| {
            let mut found = found();
            (found.end, found.tested) = (found.start + 6, (1..=tested).map(|asn| (asn, 9)).collect());
            found.networks.iter_mut().for_each(|network| network.probability = probability);
            found.spread();
            found.probability()
        };
        assert!(short(0.1, 2) > 0.9);
        assert!(short(0.1, 20) < 0.3, "two of twenty are chance");
        assert!(short(0.9, 20) >= 0.99, "who is sure stays so");
    }
}
