//! `/v1/forecast/asn-gnn`: networks at risk.
//!
//! It is not a graph neural network. The exposure of a network is the share of its country's blocked targets that it
//! blocks too, shrunk towards the mean of the country's networks. Its risk is the country's seven-day risk times its
//! exposure. Neighbours are networks that block mostly the same targets; they are shown, but change no number. Leaving
//! out each target in turn measures how well exposure predicts which networks block a target.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WeekRisks;
use super::constants::{
    EXPOSURE_LEAST, EXPOSURE_LISTED, EXPOSURE_PRIOR, NEIGHBOUR_JACCARD, NEIGHBOUR_SHARED, NEIGHBOURS, NETWORKS_DEFAULT,
    NETWORKS_MOST,
};
use crate::anomaly::NetworksOf;
use crate::country::State;
use crate::country::routes::input;
use crate::world::TargetSummary;
use crate::{Error, Result, world};
use engine::http::{Cx, Response};
use engine::number::round;
use engine::runtime;
use facts::licence;
use facts::sentence::{Parameter, Sentence, Sentences};
use facts::source::Source;

/// The exposure of a network within its country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exposure {
    pub asn: u32,
    pub name: Option<String>,
    /// Of the country's blocked targets: how many the network has a verdict on, and how many it blocks.
    pub decided: u32,
    pub blocked: u32,
    /// 0 to 1.
    pub exposure: f64,
    pub neighbours: Vec<u32>,
}

/// Sums over (network, blocked target) for two predictions made without that target: the network's exposure, and the
/// country's mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    pub pairs: u64,
    pub squares: f64,
    pub squares_of_mean: f64,
}

/// The networks of a country.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Networks {
    /// Ordered by exposure, the greatest first.
    pub listed: Vec<Exposure>,
    /// Networks with enough verdicts, and pairs of neighbours among the listed ones.
    pub nodes: u32,
    pub edges: u32,
    pub left_out: LeftOut,
}

/// A network while the country's blocked targets are read.
#[derive(Default)]
struct Node<'a> {
    name: Option<&'a String>,
    decided: u32,
    blocked: BTreeSet<usize>,
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn shrunk(blocked: f64, decided: f64, mean: f64) -> f64 {
    (blocked + EXPOSURE_PRIOR * mean) / (decided + EXPOSURE_PRIOR)
}

/// The exposure of each network, from the summaries of a country's targets.
pub fn measured(rows: &[TargetSummary]) -> Networks {
    let mut nodes: BTreeMap<u32, Node<'_>> = BTreeMap::new();
    for (target, row) in rows.iter().filter(|row| row.is_measured_block()).enumerate() {
        for network in row.networks.iter().filter(|network| network.state != State::Unknown && network.asn != 0) {
            let node = nodes.entry(network.asn).or_default();
            node.name = node.name.or(network.name.as_ref());
            node.decided += 1;
            if network.state == State::Blocked {
                node.blocked.insert(target);
            }
        }
    }
    nodes.retain(|_, node| node.decided >= EXPOSURE_LEAST);
    let (decided, blocked) = nodes.values().fold((0.0, 0.0), |(decided, blocked), node| {
        (decided + f64::from(node.decided), blocked + node.blocked.len() as f64)
    });
    if decided == 0.0 {
        return Networks::default();
    }
    let mean = blocked / decided;
    let mut found = Networks { nodes: count(nodes.len()), ..Networks::default() };
    for (asn, node) in &nodes {
        left_out(node, (blocked, decided), &mut found.left_out);
        found.listed.push(Exposure {
            asn: *asn,
            name: node.name.cloned(),
            decided: node.decided,
            blocked: count(node.blocked.len()),
            exposure: round(shrunk(node.blocked.len() as f64, f64::from(node.decided), mean)),
            neighbours: Vec::new(),
        });
    }
    found
        .listed
        .sort_by(|a, b| b.exposure.total_cmp(&a.exposure).then(b.decided.cmp(&a.decided)).then(a.asn.cmp(&b.asn)));
    found.listed.truncate(EXPOSURE_LISTED as usize);
    found.edges = join(&mut found.listed, &nodes);
    found
}

/// Adds the errors of the predictions that leave out one target. They are the same for all targets that the network
/// blocks, and the same for all others.
fn left_out(node: &Node<'_>, (blocked, decided): (f64, f64), sums: &mut LeftOut) {
    let (own, all) = (node.blocked.len() as f64, f64::from(node.decided));
    for (truth, cases) in [(1.0, own), (0.0, all - own)] {
        if cases == 0.0 || decided < 2.0 {
            continue;
        }
        let mean = (blocked - truth) / (decided - 1.0);
        let said = shrunk(own - truth, all - 1.0, mean);
        sums.pairs += cases as u64;
        sums.squares += cases * (said - truth) * (said - truth);
        sums.squares_of_mean += cases * (mean - truth) * (mean - truth);
    }
}

/// Enters the neighbours of listed networks. Returns the number of pairs.
fn join(listed: &mut [Exposure], nodes: &BTreeMap<u32, Node<'_>>) -> u32 {
    let mut near: BTreeMap<u32, Vec<(f64, u32)>> = BTreeMap::new();
    let mut edges = 0;
    let sets: Vec<(u32, &BTreeSet<usize>)> =
        listed.iter().filter_map(|row| Some((row.asn, &nodes.get(&row.asn)?.blocked))).collect();
    for (at, (a, own)) in sets.iter().enumerate() {
        for (b, other) in sets.iter().skip(at + 1) {
            let shared = own.intersection(other).count();
            let jaccard = shared as f64 / (own.len() + other.len() - shared).max(1) as f64;
            if shared >= NEIGHBOUR_SHARED as usize && jaccard >= NEIGHBOUR_JACCARD {
                edges += 1;
                near.entry(*a).or_default().push((jaccard, *b));
                near.entry(*b).or_default().push((jaccard, *a));
            }
        }
    }
    for row in listed {
        let mut neighbours = near.remove(&row.asn).unwrap_or_default();
        neighbours.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        row.neighbours = neighbours.into_iter().take(NEIGHBOURS as usize).map(|(_, asn)| asn).collect();
    }
    edges
}

/// The model, the version and the horizon of every answer.
const MODEL: &str = "network-exposure";
const VERSION: &str = "network-exposure/1";
const HORIZON: u32 = 7;
const METHOD: Sentence = Sentence::new("networks.method");
const CAVEATS: [Sentence; 4] = [
    Sentence::new("networks.no_graph"),
    Sentence::new("networks.assumed"),
    Sentence::new("networks.left_out"),
    Sentence::new("networks.country_risk"),
];

#[derive(Debug, Serialize, JsonSchema)]
struct RiskRow {
    asn: u32,
    name: Option<String>,
    country: String,
    /// Probability that an event begins within seven days and this network takes part, 0 to 1.
    risk: f64,
    /// Networks that block mostly the same targets.
    neighbors: Vec<u32>,
    /// Share of the network's own verdicts in its exposure, 0 to 1; 0 with a base rate.
    confidence: f64,
    /// 0 to 1.
    exposure: f64,
    /// Risk of the country, 0 to 1.
    country_risk: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NetworkForecast")]
pub struct ForecastBody {
    available: bool,
    reason: Option<Sentence>,
    /// Version of the exposure, followed by that of the country's risk.
    model_version: String,
    method: Sentence,
    generated_at: String,
    horizon_days: u32,
    /// Greatest risk first.
    results: Vec<RiskRow>,
    n_returned: usize,
    n_total: usize,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    license: String,
    sentences: Sentences,
}

const NOTHING: Sentence = Sentence::new("networks.nothing");

fn number(text: &str) -> Result<u32> {
    let text = text.trim();
    let digits = text.strip_prefix("AS").or_else(|| text.strip_prefix("as")).unwrap_or(text);
    let refuse = |_| Error::bad_request("Query parameter `asn` must be the number of a network, with or without `AS`.");
    digits.parse().map_err(refuse)
}

pub async fn forecast(cx: Cx) -> Result<Response> {
    cx.kept(forecast_page(&cx)).await
}

async fn forecast_page(cx: &Cx) -> Result<Response> {
    let country = match cx.query("country")? {
        None => None,
        Some(text) => {
            let unknown = |code| Error::not_found(format!("{code} is not an ISO 3166-1 country code."));
            Some(input::country(&text)?.map_err(unknown)?.code.to_owned())
        }
    };
    let asn = cx.query("asn")?.map(|text| number(&text)).transpose()?;
    let limit = cx.count("limit", NETWORKS_DEFAULT, NETWORKS_MOST)? as usize;
    let risks = WeekRisks::read(cx, country.as_deref()).await?;
    let rows = runtime::query(&*cx.rt, world::actor().name, &NetworksOf { country, asn }).await?;
    let mut licences: BTreeSet<String> = BTreeSet::from([Source::AccessNow.licence_under(cx.settings()).to_owned()]);
    let mut results = Vec::new();
    for (country, exposed) in rows {
        let Some(country_risk) = risks.of(&country) else { continue };
        licences.insert(exposed.license);
        for row in exposed.networks.listed {
            let own = f64::from(row.decided) / (f64::from(row.decided) + EXPOSURE_PRIOR);
            results.push(RiskRow {
                asn: row.asn,
                name: row.name,
                country: country.clone(),
                risk: round(country_risk * row.exposure),
                neighbors: row.neighbours,
                confidence: if risks.base.is_none() { round(own) } else { 0.0 },
                exposure: row.exposure,
                country_risk: round(country_risk),
            });
        }
    }
    let total = results.len();
    results.sort_by(|a, b| b.risk.total_cmp(&a.risk).then(b.exposure.total_cmp(&a.exposure)).then(a.asn.cmp(&b.asn)));
    results.truncate(limit);
    let interpretation = match results.first() {
        Some(first) => Sentence::new("networks.most_at_risk")
            .with("networks", total)
            .with("asn", Parameter::network(first.asn))
            .with("country", &first.country)
            .with("risk", first.risk),
        None => NOTHING,
    };
    let mut said = Sentences::new();
    Response::json(&ForecastBody {
        available: total > 0,
        reason: said.add("reason", (total == 0).then_some(NOTHING)),
        model_version: format!("{VERSION} {}", risks.version),
        method: said.add("method", METHOD),
        generated_at: cx.now().to_string(),
        horizon_days: HORIZON,
        n_returned: results.len(),
        n_total: total,
        results,
        interpretation: said.add("interpretation", interpretation),
        honest_caveats: said.add("honest_caveats", CAVEATS.to_vec()),
        license: licence::effective(licences.iter().map(String::as_str)),
        sentences: said,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NetworkForecastMetrics")]
struct Metrics {
    /// Pairs of a network and a blocked target that it has a verdict on.
    n_pairs: u64,
    /// Mean squared error of the exposure that leaves out the target; null without pairs.
    brier: Option<f64>,
    /// The same of the country's mean that leaves out the target.
    brier_country_mean: Option<f64>,
    /// 1 - brier / brier_country_mean; null where the latter is 0.
    brier_skill: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NetworkForecastMethod")]
pub struct InfoBody {
    model: &'static str,
    version: &'static str,
    method: Sentence,
    /// Always null, since nothing is trained.
    trained_at: Option<String>,
    metrics: Metrics,
    interpretation: Sentence,
    n_nodes: u64,
    n_edges: u64,
    n_countries: usize,
    /// Always false, since there is no graph network that could be promoted.
    promoted: bool,
    honest_caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

pub async fn info(cx: Cx) -> Result<Response> {
    cx.kept(info_page(&cx)).await
}

async fn info_page(cx: &Cx) -> Result<Response> {
    let rows = runtime::query(&*cx.rt, world::actor().name, &NetworksOf { country: None, asn: None }).await?;
    let sums = rows.iter().fold(LeftOut::default(), |sums, (_, exposed)| {
        let LeftOut { pairs, squares, squares_of_mean } = exposed.networks.left_out;
        LeftOut {
            pairs: sums.pairs + pairs,
            squares: sums.squares + squares,
            squares_of_mean: sums.squares_of_mean + squares_of_mean,
        }
    });
    let some = sums.pairs > 0;
    let mean = |squares: f64| some.then(|| round(squares / sums.pairs as f64));
    let skill = 1.0 - sums.squares / sums.squares_of_mean;
    let mut said = Sentences::new();
    Response::json(&InfoBody {
        model: MODEL,
        version: VERSION,
        method: said.add("method", METHOD),
        trained_at: None,
        metrics: Metrics {
            n_pairs: sums.pairs,
            brier: mean(sums.squares),
            brier_country_mean: mean(sums.squares_of_mean),
            brier_skill: (some && sums.squares_of_mean > 0.0).then(|| round(skill)),
        },
        interpretation: said.add("interpretation", Sentence::new("networks.each_left_out")),
        n_nodes: rows.iter().map(|(_, exposed)| u64::from(exposed.networks.nodes)).sum(),
        n_edges: rows.iter().map(|(_, exposed)| u64::from(exposed.networks.edges)).sum(),
        n_countries: rows.iter().filter(|(_, exposed)| exposed.networks.nodes > 0).count(),
        promoted: false,
        honest_caveats: said.add("honest_caveats", CAVEATS.to_vec()),
        generated_at: cx.now().to_string(),
        license: licence::effective(rows.iter().map(|(_, exposed)| exposed.license.as_str())),
        sentences: said,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use crate::world::NetworkSummary;

    fn target(name: &str, networks: &[(u32, State)]) -> TargetSummary {
        let network = |(asn, state): &(u32, State)| NetworkSummary {
            asn: *asn,
            name: None,
            measurements: 10,
            counted: 10,
            votes: 10,
            blocked: 0,
            state: *state,
        };
        TargetSummary {
            target: name.to_owned(),
            state: State::Blocked,
            basis: "measured".to_owned(),
            confidence: 0.9,
            evidence: 30,
            counted: 30,
            of_week: 30,
            blocked_weight: 1.0,
            networks_blocked: 1,
            networks_tested: 3,
            methods: Vec::new(),
            technique: None,
            networks: networks.iter().map(network).collect(),
            last_checked: Timestamp::default(),
            failure_rate: None,
            sources: Vec::new(),
            details: Vec::new(),
        }
    }

    /// Four targets. Network 1 and 2 block all, 3 blocks one of four, 4 has too few verdicts. Mean 9/12; (4 + 3) / 8,
    /// (1 + 3) / 8.
    #[test]
    fn exposure_is_the_share_of_blocked_targets_shrunk_to_the_mean_and_neighbours_block_alike() {
        use State::{Accessible as A, Blocked as B};
        let rows: Vec<TargetSummary> = (0..4)
            .map(|n| {
                target(
                    &format!("{n}.example"),
                    &[(1, B), (2, B), (3, if n == 0 { B } else { A }), (4, if n < 2 { B } else { State::Unknown })],
                )
            })
            .collect();
        let found = measured(&rows);
        let listed: Vec<(u32, f64)> = found.listed.iter().map(|row| (row.asn, row.exposure)).collect();
        assert_eq!(listed, [(1, 0.875), (2, 0.875), (3, 0.5)]);
        assert_eq!((found.nodes, found.edges), (3, 1));
        assert_eq!((found.listed[0].neighbours.as_slice(), found.listed[2].neighbours.len()), ([2].as_slice(), 0));
        assert_eq!(found.left_out.pairs, 12);
        assert!(found.left_out.squares < found.left_out.squares_of_mean, "{:?}", found.left_out);
    }

    #[test]
    fn nothing_blocked_makes_no_network_and_no_number() {
        assert_eq!(measured(&[]), Networks::default());
        let mut row = target("x.example", &[(1, State::Blocked)]);
        assert_eq!(measured(std::slice::from_ref(&row)).nodes, 0, "one verdict is too few");
        row.basis = "known_list".to_owned();
        assert_eq!(measured(&[row.clone(), row.clone(), row]).nodes, 0, "lists are no measurements");
    }
}
