//! The censorship index of a country (decision index-with-little-data).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::TargetSummary;
use crate::country::State;
use facts::reported::Scope;
use facts::sentence::Sentence;
use facts::starter::{self, categories::Focus};

/// `breadthList` if the sites are those of the imported global test list.
pub const GLOBAL_LIST: &str = "global_list";

/// Weights of the parts; absent parts are dropped and the rest renormalised.
pub const WEIGHTS: [(&str, f64); 4] =
    [("breadth", 0.45), ("political_focus", 0.20), ("depth", 0.15), ("shutdown_load", 0.20)];
/// Strength, in sites, of the prior that shrinks each part, and its mean for breadth.
pub const PRIOR_SITES: f64 = 4.0;
pub const PRIOR_BREADTH: f64 = 0.03;
/// Days that the shutdown load looks back over; the days in which the weight of a day halves; and the part of the
/// weight that a day has when no more than a region was off. Our choice.
pub const LOAD_DAYS: i64 = 365;
pub const LOAD_HALF_DAYS: f64 = 180.0;
pub const LOAD_REGIONAL: f64 = 0.5;
/// A score needs at least so many measurements and sites with a verdict. A site without a verdict does not count: a
/// block shows after fewer measurements than access does, so the first verdicts of a country are mostly blocks.
pub const MIN_SESSIONS: u64 = 200;
pub const MIN_SITES: usize = 20;
/// Grades: letter, least measurements, least networks.
pub const GRADES: [(&str, u64, u32); 3] = [("A", 2_000, 10), ("B", 500, 5), ("C", 200, 2)];
/// Lower ends of the levels on the 0-100 scale, with the risk tier (1 severe, 5 free).
pub const LEVELS: [(u32, &str, u8); 5] =
    [(80, "severe", 1), (60, "high", 2), (40, "medium", 3), (20, "low", 4), (0, "free", 5)];

/// One part of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Component {
    pub name: String,
    /// Weight before absent parts are dropped.
    pub weight: f64,
    /// 0-1; `None` when absent.
    pub value: Option<f64>,
    /// Why it is absent.
    pub missing: Option<String>,
}

impl Component {
    /// Why it is absent, as a sentence.
    pub fn why(&self) -> Option<Sentence> {
        self.missing.as_deref().map(Sentence::stored)
    }
}

/// The index of a country at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// 0-100, 100 = total; `None` when there is too little data.
    pub score: Option<u32>,
    /// 90% interval of the score.
    pub interval: Option<(u32, u32)>,
    /// Why there is no score.
    pub reason: Option<String>,
    pub grade: Option<String>,
    pub components: Vec<Component>,
    pub sessions: u64,
    /// Sites with a verdict.
    pub sites: u32,
    /// The list of sites for breadth: `global_list` or `basket`.
    pub breadth_list: String,
}

/// The inputs of the index.
pub struct Inputs<'a> {
    /// Measured rows of domains.
    pub rows: Vec<&'a TargetSummary>,
    /// Sites of the imported global list; empty when none is imported.
    pub global: &'a [String],
    /// Sites of imported lists whose category is political speech.
    pub political: &'a [String],
    /// Networks with votes.
    pub networks: u32,
    /// The result of [`shutdown_load`], or why there is none.
    pub shutdown_load: Result<f64, Sentence>,
}

/// The sites that the parts of the index are about.
pub struct IndexLists<'a> {
    /// The sites for breadth: the imported global list, otherwise the project's own basket.
    breadth: BTreeSet<&'a str>,
    is_imported: bool,
    political: &'a [String],
}

impl<'a> IndexLists<'a> {
    /// `global` and `political` as in [`Inputs`].
    pub fn new(global: &'a [String], political: &'a [String]) -> IndexLists<'a> {
        let is_imported = !global.is_empty();
        let breadth = match is_imported {
            true => global.iter().map(String::as_str).collect(),
            false => starter::basket::all().iter().map(|site| site.domain).collect(),
        };
        IndexLists { breadth, is_imported, political }
    }

    fn is_political(&self, target: &String) -> bool {
        self.political.binary_search(target).is_ok()
            || starter::basket::category(target).and_then(Focus::of) == Some(Focus::PoliticalSpeech)
    }
}

/// The part of a domain's measured verdict that the index needs.
pub struct IndexSite<'a> {
    pub target: &'a String,
    pub state: State,
    /// Whether any measurement is young enough to count, and how many count at this domain.
    pub is_measured: bool,
    pub counted: u32,
    /// Share of weight of the blocked networks, 0-1.
    pub blocked_weight: f64,
}

/// Sums over the verdicts of domains: all that the index needs of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IndexSums {
    sessions: u64,
    /// Measured sites with a verdict.
    sites: u32,
    /// Sites of the breadth list with a verdict, and the sum of their blocked weights.
    listed: u32,
    share: f64,
    /// Blocked sites, blocked sites of political speech, and the sum of the blocked weights of all blocked sites.
    blocked: u32,
    political: u32,
    depth: f64,
}

impl IndexSums {
    pub fn add(&mut self, site: &IndexSite<'_>, lists: &IndexLists<'_>) {
        self.sessions += u64::from(site.counted);
        self.sites += u32::from(site.is_measured && site.state != State::Unknown);
        if site.state != State::Unknown && lists.breadth.contains(site.target.as_str()) {
            self.listed += 1;
            self.share += site.blocked_weight;
        }
        if site.state == State::Blocked {
            self.blocked += 1;
            self.political += u32::from(lists.is_political(site.target));
            self.depth += site.blocked_weight;
        }
    }
}

/// The share of the last year in which a country was off; recent days weigh more. It is 1 when all of the country was
/// off every day. A span is (first day, last day, scope), in days since the epoch. A day that several spans cover
/// counts once, with the widest scope.
pub fn shutdown_load(spans: &[(i64, i64, Scope)], today: i64) -> f64 {
    let (mut load, mut all) = (0.0, 0.0);
    for back in 0..LOAD_DAYS {
        let weight = (-(back as f64) / LOAD_HALF_DAYS).exp2();
        let day = today - back;
        let of_day = spans.iter().filter(|(first, last, _)| (*first..=*last).contains(&day));
        let part = of_day.map(|(.., scope)| if *scope == Scope::National { 1.0 } else { LOAD_REGIONAL });
        load += weight * part.fold(0.0, f64::max);
        all += weight;
    }
    load / all
}

/// Level and risk tier of a score.
pub fn level(score: u32) -> (&'static str, u8) {
    LEVELS.iter().find(|(from, ..)| score >= *from).map_or(("free", 5), |(_, name, tier)| (name, *tier))
}

/// Computes the index. The rows are measured; known lists never enter.
pub fn compute(inputs: &Inputs<'_>) -> Index {
    let lists = IndexLists::new(inputs.global, inputs.political);
    let mut tally = IndexSums::default();
    for row in &inputs.rows {
        let TargetSummary { target, state, counted, blocked_weight, .. } = row;
        let site = IndexSite {
            target,
            state: *state,
            is_measured: row.evidence > 0,
            counted: *counted,
            blocked_weight: *blocked_weight,
        };
        tally.add(&site, &lists);
    }
    of(&tally, &lists, inputs.networks, inputs.shutdown_load.clone())
}

/// The index of a tally. The tally must be made with these lists.
pub fn of(tally: &IndexSums, lists: &IndexLists<'_>, networks: u32, shutdown_load: Result<f64, Sentence>) -> Index {
    let IndexSums { sessions, sites, listed, share, blocked, political, depth } = *tally;
    let shrunk = |sum: f64, n: u32, mean: f64| (sum + mean * PRIOR_SITES) / (f64::from(n) + PRIOR_SITES);
    let any = |value: f64| (blocked > 0).then_some(value);
    let no_blocks = Sentence::new("index.no_blocks");
    let (load, no_load) = match shutdown_load {
        Ok(load) => (Some(load), no_blocks.clone()),
        Err(missing) => (None, missing),
    };
    let values = [
        ((listed > 0).then(|| shrunk(share, listed, PRIOR_BREADTH)), Sentence::new("index.no_site")),
        (any(shrunk(f64::from(political), blocked, 0.0)), no_blocks.clone()),
        (any(shrunk(depth, blocked, 0.0)), no_blocks),
        (load, no_load),
    ];
    let components: Vec<Component> = WEIGHTS
        .iter()
        .zip(values)
        .map(|((name, weight), (value, missing))| Component {
            name: (*name).to_owned(),
            weight: *weight,
            value: value.map(engine::number::round),
            missing: value.is_none().then(|| missing.english()),
        })
        .collect();
    let enough = sessions >= MIN_SESSIONS && sites as usize >= MIN_SITES;
    let score = score(&components).filter(|_| enough);
    let breadth_list = if lists.is_imported { GLOBAL_LIST } else { "basket" };
    Index {
        score: score.map(percent),
        interval: score.map(|score| interval(score, &components, listed, blocked)),
        reason: score.is_none().then(|| reason(sessions, sites, breadth_list).english()),
        grade: GRADES
            .iter()
            .find(|(_, least, of_networks)| score.is_some() && sessions >= *least && networks >= *of_networks)
            .map(|(grade, ..)| (*grade).to_owned()),
        components,
        sessions,
        sites,
        breadth_list: breadth_list.to_owned(),
    }
}

/// Why there is no score.
fn reason(sessions: u64, sites: u32, breadth_list: &str) -> Sentence {
    match sessions >= MIN_SESSIONS && sites as usize >= MIN_SITES {
        false => Sentence::new("index.too_little")
            .with("measurements", sessions)
            .with("sites", sites)
            .with("least_measurements", MIN_SESSIONS)
            .with("least_sites", MIN_SITES),
        true => Sentence::new("index.no_breadth").with("sites", sites).with("list", breadth_list),
    }
}

impl Index {
    /// Why there is no score, as a sentence. It is made from the numbers, since rows hold the text alone.
    pub fn why(&self) -> Option<Sentence> {
        let text = self.reason.as_deref()?;
        let made = reason(self.sessions, self.sites, &self.breadth_list);
        // The text of a row may be older than this program.
        Some(if made.english() == text { made } else { Sentence::written(text) })
    }
}

fn score(components: &[Component]) -> Option<f64> {
    let present = components.iter().filter_map(|part| Some((part.weight, part.value?)));
    let (weight, sum) = present.fold((0.0, 0.0), |(weight, sum), (w, value)| (weight + w, sum + w * value));
    let breadth = components.first().is_some_and(|part| part.value.is_some());
    (breadth && weight > 0.0).then(|| sum / weight)
}

fn percent(score: f64) -> u32 {
    // Clamped to 0-100 before the cast.
    (score * 100.0).round().clamp(0.0, 100.0) as u32
}

/// Normal approximation: each part is a mean over its sites, with variance p(1-p)/(n + prior + 1).
fn interval(score: f64, components: &[Component], listed: u32, blocked: u32) -> (u32, u32) {
    const Z: f64 = 1.645;
    let total: f64 = components.iter().filter(|part| part.value.is_some()).map(|part| part.weight).sum();
    let variance: f64 = components
        .iter()
        .zip([listed, blocked, blocked, LOAD_DAYS as u32])
        .filter_map(|(part, n)| {
            let p = part.value?;
            let weight = part.weight / total;
            Some(weight * weight * p * (1.0 - p) / (f64::from(n) + PRIOR_SITES + 1.0))
        })
        .sum();
    let half = Z * variance.sqrt();
    (percent(score - half), percent(score + half))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn row(target: &str, state: State, evidence: u32) -> TargetSummary {
        TargetSummary {
            target: target.into(),
            state,
            basis: "measured".into(),
            confidence: 0.9,
            evidence,
            counted: evidence,
            of_week: 0,
            blocked_weight: if state == State::Blocked { 1.0 } else { 0.0 },
            networks_blocked: 1,
            networks_tested: 1,
            methods: vec![],
            technique: None,
            networks: vec![],
            last_checked: Timestamp::MIN,
            failure_rate: None,
            sources: vec![],
            details: Vec::new(),
        }
    }

    fn index(blocked: usize, accessible: usize, evidence: u32) -> Index {
        let sites = starter::basket::all();
        let rows: Vec<TargetSummary> = sites
            .iter()
            .take(blocked + accessible)
            .enumerate()
            .map(|(n, site)| row(site.domain, if n < blocked { State::Blocked } else { State::Accessible }, evidence))
            .collect();
        compute(&inputs(&rows))
    }

    fn inputs(rows: &[TargetSummary]) -> Inputs<'_> {
        let shutdown_load = Err(Sentence::new("index.no_table"));
        Inputs { rows: rows.iter().collect(), global: &[], political: &[], networks: 6, shutdown_load }
    }

    fn basket(blocked: usize, all: usize) -> Vec<TargetSummary> {
        let state = |n: usize| if n < blocked { State::Blocked } else { State::Accessible };
        let sites = starter::basket::all().iter().take(all).enumerate();
        sites.map(|(n, site)| row(site.domain, state(n), 20)).collect()
    }

    /// Decision index-with-little-data: having no table is not the same as having no shutdown. Computed by hand, with
    /// breadth b and nothing blocked: (0.45 b + 0.20 x load) / 0.65.
    #[test]
    fn a_shutdown_load_of_zero_is_a_part_and_no_table_is_none() {
        let rows = basket(0, 40);
        let with = |shutdown_load| compute(&Inputs { shutdown_load, ..inputs(&rows) });
        let (none, zero, half) = (with(Err(Sentence::new("index.no_table"))), with(Ok(0.0)), with(Ok(0.5)));
        assert_eq!(none.components[3].missing.as_deref(), Some("no shutdown table is imported"));
        assert_eq!((zero.components[3].value, zero.components[3].missing.as_ref()), (Some(0.0), None));
        let breadth = half.components[0].value.unwrap();
        assert_eq!(half.score, Some(percent((0.45 * breadth + 0.20 * 0.5) / 0.65)));
        assert!(zero.score <= none.score && none.score < half.score);
        let (low, high) = half.interval.unwrap();
        assert!(low < half.score.unwrap() && half.score.unwrap() < high);
    }

    /// The methodology publishes the numbers that the code computes with. The published levels, minimums, grades and
    /// weights give the scores that the code gives, on both sides of every limit.
    #[test]
    fn the_published_numbers_are_those_that_decide() {
        let settings = engine::settings::Settings::default();
        let body =
            serde_json::to_value(crate::world::methodology(&[], &[], None, &settings, crate::Timestamp(0))).unwrap();
        let scoring = &body["methodology"]["scoring"];
        let number = |name: &str| scoring[name].as_u64().unwrap();
        for (name, from) in scoring["levels"].as_object().unwrap() {
            let from = u32::try_from(from.as_u64().unwrap()).unwrap();
            assert_eq!(
                (level(from).0, level(from).1),
                (name.as_str(), scoring["riskTiers"][name].as_u64().unwrap() as u8)
            );
            assert!(from == 0 || level(from - 1).0 != name);
        }
        let (sites, sessions) = (number("minimumSites") as usize, number("minimumMeasurements"));
        let mut rows = basket(0, sites);
        let set = |rows: &mut Vec<TargetSummary>, all: u64| {
            rows.iter_mut().for_each(|row| row.counted = 0);
            rows[0].counted = u32::try_from(all).unwrap();
        };
        set(&mut rows, sessions);
        assert!(compute(&inputs(&rows)).score.is_some());
        assert_eq!(compute(&inputs(&rows[..sites - 1])).score, None, "one site less");
        set(&mut rows, sessions - 1);
        assert_eq!(compute(&inputs(&rows)).score, None, "one measurement less");
        for grade in scoring["grades"].as_array().unwrap() {
            let (least, networks) =
                (grade["measurements"].as_u64().unwrap(), grade["networks"].as_u64().unwrap() as u32);
            let mut of = |all: u64, networks: u32| {
                set(&mut rows, all);
                compute(&Inputs { networks, ..inputs(&rows) }).grade
            };
            assert_eq!(of(least, networks).as_deref(), grade["grade"].as_str());
            assert_ne!(of(least - 1, networks).as_deref(), grade["grade"].as_str());
            assert_ne!(of(least, networks - 1).as_deref(), grade["grade"].as_str());
        }
        let rows = basket(30, 40);
        let found = compute(&Inputs { shutdown_load: Ok(0.25), ..inputs(&rows) });
        let weight = |name: &str| scoring["weights"][name].as_f64().unwrap();
        let sum: f64 = found.components.iter().map(|part| weight(&part.name) * part.value.unwrap()).sum();
        assert_eq!(found.score, Some(percent(sum)));
        let total: f64 = WEIGHTS.iter().map(|(name, _)| weight(name)).sum();
        assert!((total - 1.0).abs() < 1e-12);
        let prior = (30.0 + scoring["priorBreadth"].as_f64().unwrap() * scoring["priorSites"].as_f64().unwrap())
            / (40.0 + scoring["priorSites"].as_f64().unwrap());
        assert_eq!(found.components[0].value, Some(engine::number::round(prior)));
    }

    #[test]
    fn a_shutdown_load_weighs_recent_days_wide_shutdowns_and_no_day_twice() {
        let today = 20_000;
        assert_eq!(shutdown_load(&[], today), 0.0);
        let every_day = [(today - 500, today, Scope::National)];
        assert!((shutdown_load(&every_day, today) - 1.0).abs() < 1e-12);
        let regional = [(today - 500, today, Scope::Regional), (today - 500, today, Scope::Network)];
        assert!((shutdown_load(&regional, today) - LOAD_REGIONAL).abs() < 1e-12, "covered twice, counted once");
        let day = |back| shutdown_load(&[(today - back, today - back, Scope::National)], today);
        assert!((day(0) / day(180) - 2.0).abs() < 1e-9, "half the weight after 180 days");
        assert!(day(364) > 0.0 && day(365) == 0.0 && day(-1) == 0.0);
    }

    #[test]
    fn too_little_data_gives_no_score_and_says_why() {
        let refused = index(3, 10, 100);
        assert_eq!((refused.score, refused.grade), (None, None));
        assert!(refused.reason.unwrap().contains("13 sites"));
        assert_eq!(index(0, 30, 6).score, None);
        assert!(index(0, 30, 7).score.is_some());
    }

    /// Blocks show first: when only 3 of 30 measured sites have a verdict and all 3 are blocked, nothing is known of
    /// the other 27.
    #[test]
    fn the_first_blocks_of_a_country_without_other_verdicts_give_no_score() {
        let mut rows = basket(3, 30);
        rows.iter_mut().skip(3).for_each(|row| row.state = State::Unknown);
        let refused = compute(&inputs(&rows));
        assert_eq!((refused.score, refused.sites), (None, 3));
        assert!(refused.reason.unwrap().contains("3 sites with a verdict"));
    }

    /// With many measurements of sites that are not in the list, there is enough data but no score, and no grade
    /// without a score.
    #[test]
    fn what_has_no_breadth_says_so_and_has_no_grade() {
        let rows: Vec<TargetSummary> =
            (0..82).map(|n| row(&format!("site-{n}.example"), State::Accessible, 20)).collect();
        let refused = compute(&inputs(&rows));
        assert_eq!((refused.score, refused.grade), (None, None));
        let reason = refused.reason.unwrap();
        assert!(reason.contains("breadth") && reason.contains("heliograph import test-list"), "{reason}");
        let global = ["elsewhere.example".to_owned()];
        let reason = compute(&Inputs { global: &global, ..inputs(&rows) }).reason.unwrap();
        assert!(reason.contains("imported global list"), "{reason}");
    }

    #[test]
    fn absent_parts_are_named_and_their_weight_is_given_to_the_others() {
        let clean = index(0, 40, 20);
        let missing: Vec<&str> =
            clean.components.iter().filter(|part| part.missing.is_some()).map(|part| part.name.as_str()).collect();
        assert_eq!(missing, ["political_focus", "depth", "shutdown_load"]);
        assert_eq!(clean.score, Some(0));
        assert_eq!(clean.grade.as_deref(), Some("B"));
        let total = index(50, 0, 50);
        assert!(total.score.unwrap() > 60, "{total:?}");
        let (low, high) = total.interval.unwrap();
        assert!(low <= total.score.unwrap() && total.score.unwrap() <= high && low < high);
        assert_eq!(total.breadth_list, "basket");
    }

    #[test]
    fn levels_and_tiers_follow_the_cut_points() {
        let cases =
            [(0, "free", 5), (19, "free", 5), (20, "low", 4), (59, "medium", 3), (60, "high", 2), (100, "severe", 1)];
        for (score, name, tier) in cases {
            assert_eq!(level(score), (name, tier));
        }
    }
}
