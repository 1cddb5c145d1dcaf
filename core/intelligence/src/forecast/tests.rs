//! Properties that every forecast must have, and the figures that the backtest must reach.

use std::sync::OnceLock;

use proptest::prelude::*;

use super::conformal::{Class, Conformal, GAMMA, TARGET_MISS};
use super::features;
use super::features::Family;
use super::history::{self, Beside, History, MeasuredDay, Start};
use super::learning::{self, Training, learn};
use super::logistic::{Sample, fit};
use super::metrics::{Figures, Scored};
use super::model::{HeldOut, Model, forecast};
use super::panel::{Horizon, Knowledge, countries, label, question};
use crate::Timestamp;
use engine::time::DAY;
use facts::source::Source;
use facts::starter::Country;

fn rows() -> impl Iterator<Item = ([f64; 3], bool, f64)> {
    (0..40u32).map(|i| {
        let row = [f64::from(i * 7 % 13) / 3.0, f64::from(i * 5 % 11) - 4.0, f64::from(i).ln_1p()];
        (row, (i * i * 3 + i) % 7 < 3, f64::from(1 + i % 3))
    })
}

#[test]
fn rows_of_one_kind_and_features_without_spread_break_no_fit() {
    let mut sample = Sample::new(2);
    (0..10).for_each(|at| sample.push(&[f64::from(at), 1.0], false, 1.0));
    assert_eq!(fit(&sample, 1.0), None);
    // With a perfect split the penalty keeps the coefficients finite.
    (10..20).for_each(|at| sample.push(&[f64::from(at), 1.0], true, 1.0));
    let fitted = fit(&sample, 1.0).unwrap();
    assert!(fitted.weights[0].is_finite() && fitted.weights[0] > 0.0 && fitted.weights[1].abs() < 1e-9, "{fitted:?}");
    assert_eq!(fit(&Sample::new(2), 1.0), None);
}

/// A row with the weight 3 equals three rows.
#[test]
fn weights_stand_for_rows() {
    let (mut weighted, mut repeated) = (Sample::new(3), Sample::new(3));
    for (row, label, weight) in rows() {
        weighted.push(&row, label, weight);
        (0..weight as u32).for_each(|_| repeated.push(&row, label, 1.0));
    }
    let (a, b) = (fit(&weighted, 1.0).unwrap(), fit(&repeated, 1.0).unwrap());
    assert!(a.weights.iter().zip(&b.weights).all(|(a, b)| (a - b).abs() < 1e-9));
    assert!((a.error(&[1.0, 2.0, 3.0]) - b.error(&[1.0, 2.0, 3.0])).abs() < 1e-9);
}

/// Gibbs and Candes 2021, proposition 4.1: in every case the share of misses is within (max(a1, 1 - a1) + gamma) /
/// (gamma T) of the target.
#[test]
fn adaptive_inference_keeps_its_promise_against_a_drifting_world() {
    let mut class = Class::new((0..500).map(|at| f64::from(at) / 500.0).collect());
    let (rounds, mut missed) = (4_000u32, 0u32);
    for round in 0..rounds {
        // The probabilities that the class gets fall to a tenth half way.
        let drift = if round < rounds / 2 { 1.0 } else { 0.1 };
        let probability = f64::from(round.wrapping_mul(2_654_435_761) % 1_000) / 1_000.0 * drift;
        let miss = !class.holds(probability);
        missed += u32::from(miss);
        class.learn(1, u64::from(miss));
    }
    let bound = (1.0 - TARGET_MISS + GAMMA) / (GAMMA * f64::from(rounds));
    let share = f64::from(missed) / f64::from(rounds);
    assert!((share - TARGET_MISS).abs() <= bound + 1e-9, "{share} {bound}");
    assert!((class.coverage().unwrap() - (1.0 - share)).abs() < 1e-12);
}

#[test]
fn a_class_with_hardly_any_cases_is_in_every_set() {
    let few = Conformal::new((0..10).map(|at| Scored { probability: f64::from(at) / 10.0, happened: true }));
    assert_eq!(few.set(0.0).names(), ["event", "quiet"]);
}

/// Three countries. In one of them the network is cut every June because of exams.
fn made_up(until: i32) -> History {
    History::new(made_up_starts().filter(|(_, start)| start.day <= until), until).unwrap()
}

fn made_up_starts() -> impl Iterator<Item = (String, Start)> {
    let from = i32::try_from(Timestamp::parse("2016-01-01T00:00:00Z").unwrap().day()).unwrap();
    let start = |day, exams, place| Start { day, place, exams, national: false };
    let often = (0..1_500)
        .filter(|at| at % 9 == 0 || at % 50 < 3)
        .map(move |at| ("IN".to_owned(), start(from + at * 2, false, 1)));
    let rare = (0..30).map(move |at| ("KE".to_owned(), start(from + at * 97, false, 2)));
    let exams = (0..8).flat_map(|year| (0..5).map(move |day| (year, day)));
    let exams = exams.map(move |(year, day)| ("IQ".to_owned(), start(from + year * 365 + 160 + day, true, 3)));
    often.chain(rare).chain(exams)
}

fn place(code: &str) -> usize {
    Country::all().iter().position(|country| country.code == code).unwrap()
}

#[test]
fn nothing_that_was_not_known_enters_a_feature() {
    let day = 18_600;
    let (short, long) = (made_up(day), made_up(day + 400));
    for code in ["IN", "KE", "IQ", "SE"] {
        for knowledge in [Knowledge::Days(0), Knowledge::Days(200), Knowledge::Frozen] {
            let asked = question(place(code), day, Horizon::WEEK, knowledge);
            assert_eq!(features::features(&short, asked), features::features(&long, asked), "{code} {knowledge:?}");
        }
    }
}

/// The panel has 242 codes (decision forecast-panel).
#[test]
fn the_panel_has_242_codes() {
    assert_eq!(countries().count(), 242);
}

#[test]
fn a_history_of_a_handful_of_events_is_none() {
    let start = Start { day: 18_000, place: 0, exams: false, national: false };
    assert!(History::new([("KE".to_owned(), start)], 18_100).is_none());
    assert!(History::new([], 18_100).is_none());
}

/// The risks of days are hazards, and the seven-day risk is learned separately (decision hazard-and-week-risk).
#[test]
fn forecasts_are_probabilities_and_know_their_reasons() {
    let until = 18_900;
    let history = made_up(until);
    let now = Timestamp(i64::from(until) * DAY);
    let model = learn(&history, now, 1, None).unwrap();
    assert_eq!(model.version(), "hazard-logistic/1");
    for at in 0..Country::all().len() {
        let found = forecast(&model, &history, at, now);
        assert_eq!(found.days.len(), 8);
        assert!(found.days.iter().all(|day| day.risk > 0.0 && day.risk < 1.0));
        for risk in &found.horizons {
            assert!(0.0 < risk.low && risk.low <= risk.probability && risk.probability <= risk.high && risk.high < 1.0);
        }
    }
    let of = |code| forecast(&model, &history, place(code), now);
    assert!(of("IN").risk(1) > of("KE").risk(1) && of("KE").risk(1) > of("SE").risk(1));
    assert!(!of("IN").drivers.is_empty() && of("SE").drivers.is_empty(), "{:?}", of("SE").drivers);
}

/// A model that was stored before the last feature existed still makes the same forecasts, from the features that it
/// knows.
#[test]
fn a_stored_model_of_fewer_features_forecasts_on() {
    let history = made_up(18_900);
    let now = Timestamp(18_900 * DAY);
    let mut without = learned().clone();
    let mut earlier = without.clone();
    for (without, earlier) in without.horizons.iter_mut().zip(&mut earlier.horizons) {
        // The last feature has no effect.
        let width = without.scales.len() + 1;
        *without.weights.last_mut().unwrap() = 0.0;
        for (at, cell) in without.covariance.iter_mut().enumerate() {
            if at / width == width - 1 || at % width == width - 1 {
                *cell = 0.0;
            }
        }
        // The last feature is unknown.
        earlier.weights.pop();
        earlier.scales.pop();
        let known = without.covariance.chunks(width).take(width - 1);
        earlier.covariance = known.flat_map(|line| line[..width - 1].to_vec()).collect();
    }
    for at in 0..Country::all().len() {
        let [mut without, earlier] = [&without, &earlier].map(|model| forecast(model, &history, at, now));
        for day in &mut without.days {
            day.contributions.pop();
        }
        for risk in &mut without.horizons {
            risk.contributions.pop();
        }
        assert_eq!(without, earlier);
    }
}

/// A model is trained for a history that is as late as the one it is served with (decision late-history).
#[test]
fn a_late_history_makes_a_model_for_late_histories() {
    let until = 18_900;
    let history = made_up(until);
    let newest = history.newest().unwrap();
    let now = Timestamp(i64::from(newest + 300) * DAY);
    let model = learn(&history, now, 1, None).unwrap();
    assert_eq!((model.delay, learning::delay(&history, newest + 3)), (300, 0));
}

/// A served model is replaced only by a better one, and only when there are new days to compare them on.
#[test]
fn nothing_is_promoted_without_news() {
    let history = made_up(18_900);
    let now = Timestamp(18_900 * DAY);
    let first = learn(&history, now, 1, None).unwrap();
    let again = learn(&history, now, 2, Some(&first)).unwrap_err();
    assert!(again.contains("hardly newer"), "{again}");
}

/// A new model is promoted only when it beats the served one on a temporal hold-out. The served model here has seen the
/// hold-out, although it says otherwise, so a candidate that has not seen it cannot be better.
#[test]
fn a_candidate_that_is_no_better_on_the_hold_out_is_not_promoted() {
    let history = made_up(18_900);
    let now = Timestamp(18_900 * DAY);
    let mut served = learn(&history, now, 1, None).unwrap();
    served.until -= 400;
    let reason = learn(&history, now, 2, Some(&served)).unwrap_err();
    assert!(reason.contains("no better"), "{reason}");
}

/// Base rates are served without a model, so a first model must beat them. A later one must beat the model before it.
#[test]
fn a_first_model_is_held_against_base_rates_and_a_later_one_against_the_served() {
    let figures = |brier: f64| Figures { base_rate: Some(0.01), brier: Some(brier), ..Figures::default() };
    let held = HeldOut { candidate: figures(0.008), country_rate: figures(0.0075), ..HeldOut::default() };
    let (name, brier) = held.rival().unwrap();
    assert_eq!((name, held.better_rate()), ("base rates", Some((0.0075, 0.008))));
    assert!((brier - 0.0099).abs() < 1e-12, "{brier}");
    let later = HeldOut { served: Some(figures(0.0078)), country_rate: figures(0.0081), ..held };
    assert_eq!((later.rival(), later.better_rate()), (Some(("the served model", 0.0078)), None));
}

/// With the real table, two years after its last day, the history is late, but the model is far better than one rate
/// for all.
#[test]
fn the_table_of_real_shutdowns_makes_a_model_two_years_late() {
    let Some(text) = engine::testing::real_data("shutdowns/stop_2016_2024.csv.gz") else { return };
    let now = Timestamp::parse("2026-11-23T00:00:00Z").unwrap();
    let (_, told) = facts::reported::read(Source::AccessNow, &mut text.as_slice(), u64::MAX, None, now).unwrap();
    let marks = told.iter().map(|told| (told.event.country.clone(), crate::world::EventMark::of(&told.event)));
    let source = Source::AccessNow.code();
    let starts: Vec<_> = marks.filter_map(|(country, mark)| Some((country, history::start(source, &mark)?))).collect();
    let history = History::new(starts, i32::try_from(now.day()).unwrap()).unwrap();
    let model = learn(&history, now, 1, None).unwrap();
    assert!(model.delay > 600 && model.held_out.candidate.brier_skill.unwrap() > 0.1, "{:?}", model.held_out);
    let risk = |code: &str| forecast(&model, &history, place(code), now).risk(1);
    assert!(risk("IN") > risk("SE"));
}

/// A course that is stored between its steps learns the same as a single run, and no step fits more than one model.
#[test]
fn learning_in_steps_is_learning_at_once() {
    let history = made_up(18_900);
    let now = Timestamp(18_900 * DAY);
    let mut course = Training::begin(&history, now, 1, None).unwrap();
    let (mut steps, mut learned) = (0, None);
    while learned.is_none() {
        course = engine::actor::decode(&engine::actor::encode(&course).unwrap()).unwrap();
        learned = course.step(&history, None).unwrap();
        steps += 1;
    }
    assert_eq!((learned, steps), (Some(learn(&history, now, 1, None).unwrap()), 5));
}

/// The work of one event of a Worker is bounded. A step of a course makes at most one fit or one hold-out, and today's
/// forecasts take eleven questions per country. Every code of the panel has a start here, so no rows are joined and
/// there cannot be more of them.
#[test]
fn no_step_fits_more_than_one_model_or_looks_at_more_than_one_panel() {
    let until = 17_481;
    let first = i32::try_from(Timestamp::parse("2016-01-01T00:00:00Z").unwrap().day()).unwrap();
    let every = countries().map(|at| of(Country::all()[at].code, first));
    // Times of unrest, which the rate of the country cannot know.
    let unrest = (0..until - first).filter(|day| day / 45 % 4 == 0 && day % 2 == 0).map(|day| of("PK", first + day));
    let starts = every.chain(unrest).chain(made_up_starts()).filter(|(_, start)| start.day <= until);
    let history = History::new(starts, until).unwrap();
    let now = Timestamp(i64::from(until) * DAY);
    let codes = countries().count() as u64;
    let days = |days: i32| u64::try_from(days).unwrap();
    // A row every third day, and the hold-out of a first model: every day of a year.
    let (panel, hold_out) = ((days(until - first) / 3 + 1) * codes, 365 * codes);
    let mut course = Training::begin(&history, now, 1, None).unwrap();
    let (mut learned, mut all) = (None, Vec::new());
    while learned.is_none() {
        let (step, work) = super::work::of(|| course.step(&history, None));
        learned = step.unwrap();
        assert!(work.fits <= 1 && work.passes <= 40, "{work:?}");
        assert!(work.rows <= if work.fits == 0 { hold_out } else { panel }, "{work:?}");
        all.push(work);
    }
    assert_eq!((all.len(), all.iter().map(|work| work.fits).sum::<u64>()), (5, 4), "{all:?}");
    let model = learned.unwrap();
    let every = 0..Country::all().len();
    let (_, work) = super::work::of(|| every.clone().for_each(|at| drop(forecast(&model, &history, at, now))));
    assert_eq!((work.rows, work.fits), (11 * every.len() as u64, 0));
}

fn of(code: &str, day: i32) -> (String, Start) {
    (code.to_owned(), Start { day, place: 1, exams: false, national: false })
}

/// With past elections a model learns their effect; with coming elections alone nothing changes.
#[test]
fn elections_move_a_risk_only_where_training_knew_some() {
    let until = 18_900;
    let from = until - 5 * 365;
    let elections: Vec<(String, i32)> = Country::all()
        .iter()
        .enumerate()
        .flat_map(|(at, country)| (0..5).map(move |year| (country.code.to_owned(), from + year * 365 + at as i32)))
        .collect();
    // Every fourth country has a shutdown at its elections, and a few others have some at any time.
    let at_elections =
        elections.iter().enumerate().filter(|(at, _)| at / 5 % 4 == 0).map(|(_, (code, day))| of(code, *day));
    let others = (0..200).map(|at| of(["IN", "KE", "PK"][at % 3], from + at as i32 * 9));
    let starts: Vec<_> = at_elections.chain(others).filter(|(_, start)| start.day <= until).collect();
    let now = Timestamp(i64::from(until) * DAY);
    let coming = ("IN".to_owned(), until + 3);
    let with = |elections: Vec<(String, i32)>| {
        let beside = Beside { elections, ..Beside::default() };
        History::new(starts.clone(), until).unwrap().with(beside)
    };
    let risk = |model: &Model, history: &History| forecast(model, history, place("IN"), now).risk(1);
    let (none, ahead) = (with(Vec::new()), with(vec![coming.clone()]));
    let unaware = learn(&none, now, 1, None).unwrap();
    assert!(!unaware.learned(Family::Elections));
    assert_eq!(risk(&unaware, &ahead), risk(&unaware, &none));
    let known = forecast(&unaware, &ahead, place("IN"), now).calendar;
    assert_eq!((known.known, known.learned, known.next), (true, false, Some(until + 3)));
    let (past, both) = (with(elections.clone()), with([elections, vec![coming]].concat()));
    let aware = learn(&past, now, 1, None).unwrap();
    assert!(aware.learned(Family::Elections) && risk(&aware, &both) > 2.0 * risk(&aware, &past));
    let drivers = forecast(&aware, &both, place("IN"), now).drivers;
    assert!(
        drivers.iter().any(|(family, words)| *family == Family::Elections && words.contains("election")),
        "{drivers:?}"
    );
}

#[test]
fn drift_is_known_only_where_four_weeks_were_measured() {
    let until = 18_900;
    let day = |at: i32, blocked, week| MeasuredDay { day: at as u32, blocked, week };
    let with = |days: Vec<MeasuredDay>| {
        let beside = Beside { measured: vec![("KE".to_owned(), days)], ..Beside::default() };
        made_up(until).with(beside)
    };
    let steady = (until - 40..until).map(|at| day(at, 1_000, 700));
    let found = with(steady.clone().chain([day(until, 3_000, 1_401)]).collect()).drift(place("KE"), until).unwrap();
    assert!((found.blocked - 0.2).abs() < 1e-12 && (found.volume - 2.0f64.ln()).abs() < 1e-2, "{found:?}");
    // A gap, too few days, another country, and a day long after the last measurement.
    let gap = steady.clone().filter(|of| !(until - 20..until - 12).contains(&(of.day as i32)));
    assert_eq!(with(gap.collect()).drift(place("KE"), until), None);
    assert_eq!(with((until - 10..=until).map(|at| day(at, 0, 1)).collect()).drift(place("KE"), until), None);
    assert_eq!(with(steady.clone().collect()).drift(place("SE"), until), None);
    assert_eq!(with(steady.collect()).drift(place("KE"), until + 30), None);
}

#[test]
fn what_people_report_goes_before_what_is_listed() {
    let until = 18_900;
    let day = until - 100;
    let beside = Beside { reported: vec![("SE".to_owned(), day, true)], ..Beside::default() };
    let (plain, told) = (made_up(until), made_up(until).with(beside));
    let asked = |history: &History, horizon| label(history, place("SE"), day, horizon);
    assert!(!asked(&plain, Horizon::WEEK) && asked(&told, Horizon::WEEK));
    assert!(!asked(&told, Horizon::MONTH), "a report speaks of a week");
    let positives =
        |history: &History| super::panel::sample(history, until, Horizon::WEEK, Knowledge::Days(0)).positives();
    assert_eq!(positives(&told), positives(&plain) + 1.0);
    assert_ne!(learning::identity(&told), learning::identity(&plain));
}

/// Starts that an operator recorded later do not make the table newer.
#[test]
fn a_history_is_as_new_as_its_table() {
    let until = 18_900;
    let newer = made_up(until - 300);
    let table = newer.newest().unwrap();
    let beside = Beside { listed_until: Some(table), ..Beside::default() };
    let history = History::new([of("KE", until - 1)].into_iter().chain((0..40).map(|at| of("IN", table - at))), until);
    let history = history.unwrap();
    assert_eq!(history.newest(), Some(until - 1));
    assert_eq!(history.with(beside).newest(), Some(table));
}

fn learned() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| learn(&made_up(18_900), Timestamp(18_900 * DAY), 1, None).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever began anywhere, risks are probabilities, and the probability that something has begun never falls from
    /// day to day (decision hazard-and-week-risk).
    #[test]
    fn risks_are_probabilities_and_the_curve_never_falls(
        starts in prop::collection::vec((0usize..250, 0i32..1_400, 0u32..4, any::<bool>(), any::<bool>()), 60..300),
        elections in prop::collection::vec((0usize..250, 1_300i32..1_500), 0..50),
        ahead in 0i32..400,
    ) {
        let first = 17_000;
        let code = |at: usize| Country::all()[at % Country::all().len()].code.to_owned();
        let start = |(at, day, place, exams, national)| (code(at), Start { day: first + day, place, exams, national });
        let today = first + 1_400 + ahead;
        let elections = elections.into_iter().map(|(at, day)| (code(at), first + day)).collect();
        let history = History::new(starts.into_iter().map(start), today);
        prop_assume!(history.is_some());
        let history = history.unwrap().with(Beside { elections, ..Beside::default() });
        for at in (0..Country::all().len()).step_by(7) {
            let found = forecast(learned(), &history, at, Timestamp(i64::from(today) * DAY));
            let daily: Vec<f64> = found.days.iter().map(|day| day.risk).collect();
            prop_assert!(daily.iter().all(|risk| (0.0..=1.0).contains(risk)), "{daily:?}");
            let curve = crate::risk::cumulative(&daily);
            prop_assert!(curve.is_sorted() && curve.iter().all(|risk| (0.0..=1.0).contains(risk)), "{curve:?}");
            prop_assert!(found.horizons.is_sorted_by(|a, b| a.probability <= b.probability), "{:?}", found.horizons);
            for risk in &found.horizons {
                prop_assert!(0.0 <= risk.low && risk.low <= risk.probability, "{risk:?}");
                prop_assert!(risk.probability <= risk.high && risk.high <= 1.0, "{risk:?}");
                prop_assert!(risk.contributions.iter().all(|part| part.is_finite()), "{risk:?}");
            }
        }
    }
}

/// Days counted from the end of an old table must not read like days before today (decision what-numbers-mean).
#[test]
fn the_drivers_of_a_stale_history_name_dates() {
    let until = 18_900;
    let today = until + 200;
    let history = History::new(made_up_starts().filter(|(_, start)| start.day <= until), today).unwrap();
    let now = Timestamp(i64::from(today) * DAY);
    let model = learn(&history, now, 1, None).unwrap();
    assert!(model.delay >= 200, "{}", model.delay);
    let table = facts::sentence::names::plain(&super::model::date(history.newest().unwrap()));
    let mut dated = 0;
    for code in ["IN", "KE", "IQ"] {
        for (family, words) in forecast(&model, &history, place(code), now).drivers {
            assert!(!words.contains("known days") && !words.contains("days before"), "{words}");
            if matches!(family, Family::Recent | Family::National) {
                assert!(words.contains(&format!("the table ends on {table}")), "{words}");
                dated += 1;
            }
        }
    }
    assert!(dated > 0, "no driver that counts days");
    let first = super::routes::late(&model, today).unwrap().english();
    assert!(first.contains(&table) && first.contains("days ago"), "{first}");
    // With a history that is not late, days are counted from today.
    let fresh = made_up(until);
    let model = learn(&fresh, Timestamp(i64::from(until) * DAY), 1, None).unwrap();
    let drivers = forecast(&model, &fresh, place("IN"), Timestamp(i64::from(until) * DAY)).drivers;
    assert!(model.delay > 0 || drivers.iter().all(|(_, words)| !words.contains("table ends")), "{drivers:?}");
}
