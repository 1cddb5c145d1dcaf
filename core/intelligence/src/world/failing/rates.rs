//! How often a target fails in the other countries, from what all of them count.

use serde::{Deserialize, Serialize};

use engine::time::HOUR;
use facts::change::constants::{BLOCK_DAYS, OUTAGE_ELSE, OUTAGE_HOURS, OUTAGE_SHARE};
use facts::change::series::{Failures, Spell, total};
use facts::verdict::constants::{DOWN_RATE_COUNTRIES, PEER_NETWORKS, PEER_SESSIONS, PEER_WINDOW, RATE_MEASUREMENTS};
use facts::verdict::down_or_blocked::down_in_others;
use facts::verdict::network::{down_rate, down_rate_but};

/// What a country is told about a target in the other countries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailuresElsewhere {
    /// Share of failures, percent.
    pub percent: u8,
    /// Spans in which the target was down, one bit each.
    pub out: u128,
    /// Spans in which the target worked, among those in which it fails in the country that is told.
    pub works: u128,
}

/// How often a target fails in all countries in a block of days. Each country asks for the rate of the others, so the
/// rates are sorted once.
pub struct FailureRates {
    /// Rates of the whole block of days, lowest first.
    all: Vec<f64>,
    /// Rates by span and by day, of countries where the target works in the rest of the block of days. A country where
    /// it is blocked all the time says nothing about an outage, however many countries block it.
    spans: Windows,
    days: Windows,
    /// Rates by span, whether they are usual or not.
    plain: Windows,
    /// By span: countries with a success within a day of it, and the number of successes.
    successes: Vec<(u32, u32)>,
}

impl FailureRates {
    pub fn of<'a>(countries: impl Iterator<Item = &'a Failures>) -> FailureRates {
        let windows = || Windows { rates: vec![Vec::new(); SPANS], medians: Vec::new() };
        let (spans, days, plain) = (windows(), windows(), windows());
        let mut rates = FailureRates { all: Vec::new(), spans, days, plain, successes: vec![(0, 0); SPANS] };
        for failures in countries {
            for ((countries, all), near) in rates.successes.iter_mut().zip(near(&failures.spells)) {
                (*countries, *all) = (*countries + u32::from(near > 0), all.saturating_add(near));
            }
            rates.all.extend(share(total(&failures.spells)));
            for window in by_window(failures, 1) {
                rates.spans.add(window.number, window.unusual());
                rates.plain.add(window.number, window.rate);
            }
            for window in by_window(failures, SPANS_OF_A_DAY) {
                rates.days.add(window.number, window.unusual());
            }
        }
        sort(&mut rates.all);
        [&mut rates.spans, &mut rates.days, &mut rates.plain].into_iter().for_each(Windows::sort);
        rates
    }

    /// What a country with these failures is told about the others.
    pub fn others(&self, own: &Failures) -> FailuresElsewhere {
        FailuresElsewhere { percent: self.percent(own), out: self.out(own), works: 0 }
    }

    /// The median failure rate of the other countries with enough measurements, in percent; 0 if they are too few. It
    /// goes in steps of five percent, so that one more measurement rarely changes it.
    fn percent(&self, own: &Failures) -> u8 {
        let steps = (median_but(&self.all, share(total(&own.spells))).unwrap_or(0.0) * 20.0).round().clamp(0.0, 20.0);
        5 * steps as u8
    }

    /// Spans in which the target was down, one bit each. The median of the other countries failed in the span or, where
    /// too few of them measured in it, on its day. The spans before and after, in which the outage begins and ends,
    /// need a lower rate.
    fn out(&self, own: &Failures) -> u128 {
        if !self.spans.reach(OUTAGE_SHARE) && !self.days.reach(OUTAGE_SHARE) {
            return 0;
        }
        let (own, own_days) = (by_window(own, 1), by_window(own, SPANS_OF_A_DAY));
        let spans = self.spans.medians_but(&own, Window::unusual);
        let plain = self.plain.medians_but(&own, |window| window.rate);
        let days = self.days.medians_but(&own_days, Window::unusual);
        let at = |of: &[Option<f64>], place: u8| of.get(usize::from(place)).copied().flatten();
        let median = |of, place| at(of, place).or_else(|| at(&days, place / SPANS_OF_A_DAY)).unwrap_or(0.0);
        let is_out = |place: u8| {
            let beside = [place.checked_sub(1), place.checked_add(1)].into_iter().flatten();
            let beside = beside.map(|place| median(&spans, place));
            down_in_others(median(&spans, place), median(&plain, place), beside)
        };
        (0..SPANS as u8).filter(|place| is_out(*place)).fold(0, |spans, place| spans | 1 << place)
    }

    /// Spans in which the target fails here while it worked in other countries within a day. It must have worked on as
    /// many networks and as often as decision controls-from-peers asks for; each country counts as another network.
    pub fn works(&self, own: &Failures) -> u128 {
        let near = near(&own.spells);
        let works = |place: u8| {
            let at = usize::from(place);
            let (Some((countries, all)), Some(near)) = (self.successes.get(at), near.get(at)) else { return false };
            let others = countries.saturating_sub(u32::from(*near > 0));
            others as usize >= PEER_NETWORKS && all.saturating_sub(*near) as usize >= PEER_SESSIONS
        };
        let failing = own.spells.iter().filter(|spell| spell.failed > 0).map(|spell| spell.place);
        failing.filter(|place| works(*place)).fold(0, |spans, place| spans | 1 << place)
    }
}

/// Spans of a day, and of a block.
const SPANS_OF_A_DAY: u8 = (24 / OUTAGE_HOURS) as u8;
const SPANS: usize = SPANS_OF_A_DAY as usize * BLOCK_DAYS as usize;
/// Spans before and after a span that are within [`PEER_WINDOW`] of it.
const REACH: usize = (PEER_WINDOW / HOUR / OUTAGE_HOURS) as usize - 1;

/// A country's successes within a day of each span.
fn near(spells: &[Spell]) -> Vec<u32> {
    let mut near = vec![0_u32; SPANS];
    for spell in spells {
        let place = usize::from(spell.place);
        let around = near.iter_mut().take(place + REACH + 1).skip(place.saturating_sub(REACH));
        around.for_each(|sum| *sum = sum.saturating_add(spell.said.saturating_sub(spell.failed)));
    }
    near
}

/// Rates of countries by window of the block of days.
struct Windows {
    /// Lowest first, once sorted.
    rates: Vec<Vec<f64>>,
    /// The medians of all countries. Most countries measured in few windows, so most of these medians also hold for the
    /// others.
    medians: Vec<Option<f64>>,
}

impl Windows {
    fn add(&mut self, window: u8, rate: f64) {
        if let Some(rates) = self.rates.get_mut(usize::from(window)) {
            rates.push(rate);
        }
    }

    fn sort(&mut self) {
        self.rates.iter_mut().for_each(|rates| sort(rates));
        self.medians = self.rates.iter().map(|rates| median_but(rates, None)).collect();
    }

    /// Whether the median of the others may reach this rate in any window. Without one lower rate, the median is at
    /// most the rate after the middle.
    fn reach(&self, rate: f64) -> bool {
        let upper = |rates: &Vec<f64>| rates.get(rates.len() / 2 + 1).or(rates.last()).copied();
        self.rates.iter().filter_map(upper).any(|upper| upper >= rate)
    }

    /// The medians of the other countries.
    fn medians_but(&self, own: &[Window], rate: impl Fn(&Window) -> f64) -> Vec<Option<f64>> {
        let mut medians = self.medians.clone();
        for window in own {
            let at = usize::from(window.number);
            if let (Some(median), Some(rates)) = (medians.get_mut(at), self.rates.get(at)) {
                *median = median_but(rates, Some(rate(window)));
            }
        }
        medians
    }
}

/// Uses the sort of the standard library, because nowhere else are so many numbers sorted.
fn sort(rates: &mut [f64]) {
    rates.sort_unstable_by(f64::total_cmp);
}

/// The median of the rates without a country's own; `None` if they are of too few countries.
fn median_but(sorted: &[f64], own: Option<f64>) -> Option<f64> {
    let others = sorted.len() - usize::from(own.is_some());
    (others >= DOWN_RATE_COUNTRIES).then(|| own.map_or_else(|| down_rate(sorted), |own| down_rate_but(sorted, own)))
}

/// The rates of a country in a window in which it measured. The target works there at other times. One measurement says
/// little, but the median of many countries is enough.
struct Window {
    number: u8,
    /// The share that fails in the window, and outside of it.
    rate: f64,
    rest: f64,
}

impl Window {
    /// The rate, or 0 if it is not at least twice the rate outside of the window: a target that fails as often as ever
    /// is not down.
    fn unusual(&self) -> f64 {
        if 2.0 * self.rest <= self.rate { self.rate } else { 0.0 }
    }
}

/// The windows of so many spans. The usual rate comes from the rest of the block of days and from the block before,
/// because a block may be young.
fn by_window(failures: &Failures, width: u8) -> Vec<Window> {
    let (in_block, before) = (total(&failures.spells), failures.before);
    let all = (in_block.0.saturating_add(before.0), in_block.1.saturating_add(before.1));
    let rate = |failed: u32, said: u32| (said > 0).then(|| f64::from(failed) / f64::from(said));
    let windows = failures.spells.chunk_by(|a, b| a.place / width == b.place / width);
    let of = |window: &[Spell]| {
        let (failed, said) = total(window);
        let rest = rate(all.0.saturating_sub(failed), all.1.saturating_sub(said)).filter(|rest| *rest < OUTAGE_ELSE)?;
        Some(Window { number: window.first()?.place / width, rate: rate(failed, said)?, rest })
    };
    windows.filter_map(of).collect()
}

/// The share of failures; `None` if there are too few measurements.
fn share((failed, said): (u32, u32)) -> Option<f64> {
    (said as usize >= RATE_MEASUREMENTS).then(|| f64::from(failed) / f64::from(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six countries with ten measurements in each of 20 spans. In the first `failing` of them, the measurements of
    /// `out` fail.
    fn rows(failing: usize, out: &[(u8, u32)]) -> Vec<Failures> {
        let spell = |country: usize, place: u8| {
            let failed = out.iter().find(|(of, _)| *of == place && country < failing).map_or(0, |(_, failed)| *failed);
            Spell { place, failed, said: 10 }
        };
        let spells = |country| (0..20).map(|place| spell(country, place)).collect();
        (0..6).map(|country| Failures { spells: spells(country), before: (0, 0) }).collect()
    }

    #[test]
    fn a_service_is_out_of_order_where_most_countries_fail_at_once_and_at_the_edges_of_that() {
        let first = |rows: &[Failures]| FailureRates::of(rows.iter()).others(&rows[0]).out;
        let spans = |failing, out: &[(u8, u32)]| first(&rows(failing, out));
        let day = [(3, 2), (4, 10), (5, 9), (6, 3), (8, 3)];
        assert_eq!(spans(6, &day), 0b1_0111_1000);
        assert_eq!(spans(6, &[(3, 2), (4, 10), (6, 2)]), 0b1_1000, "the last one lies apart");
        assert_eq!(spans(6, &[(4, 4)]), 0b1_0000, "in part");
        assert_eq!(spans(3, &day), 0, "two of five others are no median");
        assert_eq!(first(&rows(6, &day)[..5]), 0, "four others are too few");
        // A target that is blocked or shaky everywhere all the time has no outage.
        for failed in [10, 4] {
            let always: Vec<(u8, u32)> = (0..20).map(|place| (place, failed)).collect();
            assert_eq!(spans(6, &always), 0);
        }
    }

    #[test]
    fn where_a_country_measures_once_a_day_or_less_many_of_them_tell() {
        // Each country measures at another time of the day, or only on some days. The target is down for two days.
        let countries = |count: u8, every: u8, fails: &dyn Fn(u8, u8) -> bool| -> Vec<Failures> {
            let spell = |place, failed| Spell { place, failed: u32::from(failed), said: 1 };
            let places = |country: u8| {
                (0..30).filter(move |day| (day + country).is_multiple_of(every)).map(move |day| 4 * day + country % 4)
            };
            let spells = |country| places(country).map(|place| spell(place, fails(country, place))).collect();
            (0..count).map(|country| Failures { spells: spells(country), before: (0, 0) }).collect()
        };
        let out = |rows: &[Failures]| FailureRates::of(rows.iter()).others(&rows[0]).out;
        let two_days = |_: u8, place: u8| (40..48).contains(&place);
        let bits = |places: std::ops::Range<u8>| places.fold(0_u128, |spans, place| spans | 1 << place);
        assert_eq!(out(&countries(7, 1, &two_days)), bits(40..48));
        assert_eq!(out(&countries(60, 1, &two_days)), bits(40..48), "enough in each span");
        assert_eq!(out(&countries(24, 3, &two_days)), bits(40..48));
        assert_eq!(out(&countries(5, 1, &two_days)), 0, "four others");
        assert_eq!(
            out(&countries(7, 1, &|country, place| country < 3 && two_days(country, place))),
            0,
            "two of six others"
        );
        // One measurement in ten fails anyway, but there is no day on which most of them do.
        let mut dice = engine::testing::Dice(5);
        let flaky: Vec<bool> = (0..9_000).map(|_| dice.share() < 0.1).collect();
        let out = out(&countries(30, 1, &|country, place| flaky[usize::from(country) * 128 + usize::from(place)]));
        assert!(out.count_ones() <= 2, "{out:b}");
    }

    /// An outage that fills the first days of a block is not the usual rate. The block before says what is usual.
    #[test]
    fn while_a_block_is_young_the_one_before_says_what_is_usual() {
        let out = |before: (u32, u32)| {
            let spells = |fails: u8| {
                (0..12).map(|place| Spell { place, failed: u32::from(place >= fails) * 6, said: 6 }).collect()
            };
            let rows: Vec<Failures> = (0..7).map(|_| Failures { spells: spells(2), before }).collect();
            FailureRates::of(rows.iter()).others(&rows[0]).out
        };
        assert_eq!(out((3, 200)), 0b1111_1111_1100);
        assert_eq!(out((0, 0)), 0, "for all that is known it may be blocked everywhere");
        assert_eq!(out((190, 200)), 0, "it is");
    }
}
