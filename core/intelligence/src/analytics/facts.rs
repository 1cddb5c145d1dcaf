//! The facts about one country that rankings need. The country computes them from its verdicts whenever one of them
//! changed, and sends the changes to the world ([`super::tell`]). The world adds the categories ([`super::store`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::constants::{CO_BLOCKING_SESSIONS, CONFIRMED_NETWORKS};
use crate::Timestamp;
use crate::country::State;
use crate::world::{CountrySummary, NetworkSummary, SourceSummary, TargetSummary, block_rate};
use engine::kv::{Row, StoreError};
use engine::number::round;
use facts::starter::categories::Focus;
use facts::subject::is_role;
use facts::tracked::Tracked;
use facts::verdict::Technique;

/// Blocked domains that a country or a network lists, at most. All of them are counted.
const MOST_BLOCKS: usize = 3_000;

/// Circumvention tools and VPNs that are tested, by the name of the test.
pub const TOOLS: [&str; 5] = ["tor", "torsf", "psiphon", "openvpn", "riseupvpn"];

/// The tool that a series is about: the name before the slash. Tor over Snowflake is a tool of its own.
pub fn tool_of(series: &str) -> Option<&'static str> {
    let (name, role) = series.split_once('/')?;
    let name = if (name, role) == ("tor", "snowflake") { "torsf" } else { name };
    TOOLS.into_iter().find(|tool| *tool == name)
}

/// A decided domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedSite {
    pub domain: String,
    pub blocked: bool,
    /// Whether it was measured often enough to be compared between countries.
    pub often: bool,
    /// Added by the world.
    pub category: Option<String>,
}

/// A domain that is measured as blocked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub domain: String,
    /// Added by the world.
    pub category: Option<String>,
    pub networks_blocked: u32,
    pub networks_tested: u32,
    /// Blocked votes of the networks that count.
    pub observations: u32,
    /// Share of blocked votes in all votes.
    pub rate: f64,
    pub confidence: f64,
    pub last_checked: Timestamp,
}

impl Block {
    /// Whether the domain is nationally blocked.
    pub fn is_confirmed(&self) -> bool {
        self.networks_blocked >= CONFIRMED_NETWORKS
    }
}

/// Decided domains of one category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoryCount {
    pub code: String,
    pub decided: u32,
    pub blocked: u32,
}

/// A platform in the country, judged by its essential roles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlatformFacts {
    pub slug: String,
    pub state: State,
    pub confidence: f64,
    pub rate: f64,
    pub methods: Vec<String>,
    /// Measurements of the role that decides the state.
    pub evidence: u32,
    pub last_checked: Timestamp,
}

/// One series of a circumvention tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolFacts {
    /// `tool/role`
    pub key: String,
    pub measurements: u32,
    /// Measurements on networks with a verdict, and how many of these are on networks that block. A vote or two on each
    /// of many networks decide nothing (decisions two-blocked-hours and age-limit), so such measurements are in neither
    /// number.
    pub decided: u32,
    pub blocked: u32,
    /// Votes on the networks with a verdict, and how many of them say blocked.
    pub votes: u32,
    pub blocked_votes: u32,
    pub networks: u32,
    /// Block types, in the words of the interface.
    pub block_types: Vec<String>,
    pub last_checked: Timestamp,
    /// Hours with measurements in the last day before the facts were sent, and the number of measurements in each. The
    /// country adds them.
    pub hours: Vec<(i64, u32)>,
}

/// The facts of a country.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub country: String,
    /// Measurements within the age limit, and of all time; each is counted once.
    pub recent: u64,
    pub total: u64,
    pub networks: u32,
    /// Domains with measurements within the age limit.
    pub domains: u32,
    pub decided: u32,
    pub blocked: u32,
    pub newest: Option<Timestamp>,
    /// How well the votes on one network and target agree, 0-1; `None` without votes.
    pub stability: Option<f64>,
    pub sources: Vec<SourceSummary>,
    pub blocks: Vec<Block>,
    /// Blocked votes by dotted technique. Those on Tor stand under `tor`.
    pub techniques: Vec<(String, u32)>,
    pub platforms: Vec<PlatformFacts>,
    pub tools: Vec<ToolFacts>,
    /// Decided domains by category, and decided domains with any category. The world adds them.
    pub categories: Vec<CategoryCount>,
    pub tagged: u32,
}
impl Row for Facts {
    const VERSION: u8 = 3;
}

impl Facts {
    pub fn confirmed(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.is_confirmed())
    }

    /// Age of the newest measurement in days.
    pub fn age_days(&self, at: Timestamp) -> Option<f64> {
        self.newest.map(|newest| at.since(newest).max(0) as f64 / engine::time::DAY as f64)
    }
}

/// A domain that a network blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IspBlock {
    pub domain: String,
    /// Added by the world.
    pub category: Option<String>,
    pub rate: f64,
    pub measurements: u32,
    pub method: Option<String>,
}

/// A network as a country has measured it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Isp {
    pub asn: u32,
    pub name: Option<String>,
    /// Share of blocked votes in all votes, over all targets of the network.
    pub rate: f64,
    /// Measurements within the age limit, each counted once.
    pub measurements: u32,
    pub targets: u32,
    pub blocked: u32,
    /// The blocked domains, worst first.
    pub blocks: Vec<IspBlock>,
    /// Blocked targets by method, most first.
    pub methods: Vec<(String, u32)>,
    pub last_checked: Timestamp,
    /// Day of its first measurement; `None` in rows of version 1. It must stay the last member.
    pub first_day: Option<u32>,
}
impl Row for Isp {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        engine::kv::appended(version, 1, bytes, &[0])
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn is_domain(row: &&TargetSummary) -> bool {
    !row.target.contains('/')
}

/// The facts of a country, and its decided domains. `listed` are platforms that are tracked in addition to the
/// project's own.
pub fn facts(rows: &[TargetSummary], summary: &CountrySummary, listed: &[Tracked]) -> (Facts, Vec<DecidedSite>) {
    let domains = || rows.iter().filter(is_domain);
    let decided = || domains().filter(|row| row.is_decided());
    let mut blocks: Vec<Block> = domains().filter(|row| row.is_measured_block()).map(block).collect();
    let sites = decided().map(|row| DecidedSite {
        domain: row.target.clone(),
        blocked: row.is_measured_block(),
        often: row.evidence >= CO_BLOCKING_SESSIONS,
        category: None,
    });
    let sites = sites.collect();
    blocks.sort_by(|a, b| b.networks_blocked.cmp(&a.networks_blocked).then(b.observations.cmp(&a.observations)));
    let blocked = count(blocks.len());
    blocks.truncate(MOST_BLOCKS);
    let facts = Facts {
        country: summary.country.clone(),
        recent: summary.recent,
        total: summary.total,
        networks: summary.networks,
        domains: count(domains().filter(|row| row.evidence > 0).count()),
        decided: count(decided().count()),
        blocked,
        newest: summary.newest,
        stability: stability(rows),
        sources: summary.sources.clone(),
        blocks,
        techniques: techniques(rows),
        platforms: Tracked::own().iter().chain(listed).filter_map(|platform| platform_facts(platform, rows)).collect(),
        tools: rows.iter().filter_map(tool).collect(),
        categories: Vec::new(),
        tagged: 0,
    };
    (facts, sites)
}

fn block(row: &TargetSummary) -> Block {
    Block {
        domain: row.target.clone(),
        category: None,
        networks_blocked: row.networks_blocked,
        networks_tested: row.networks_tested,
        observations: row.networks.iter().map(|network| network.blocked).sum(),
        rate: round(row.block_rate()),
        confidence: row.confidence,
        last_checked: row.last_checked,
    }
}

/// 1 when the votes on each network agree, 0 when they are split in half.
fn stability(rows: &[TargetSummary]) -> Option<f64> {
    let (mut sum, mut weight) = (0.0, 0.0);
    for network in rows.iter().flat_map(|row| &row.networks).filter(|network| network.state != State::Unknown) {
        let (votes, rate) = (f64::from(network.votes), network.block_rate());
        sum += votes * (1.0 - 4.0 * rate * (1.0 - rate));
        weight += votes;
    }
    (weight > 0.0).then(|| round(sum / weight))
}

fn techniques(rows: &[TargetSummary]) -> Vec<(String, u32)> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for row in rows {
        for (network, detail) in row.detailed().filter(|(network, _)| network.state == State::Blocked) {
            let technique = match row.target.starts_with("tor/") {
                true => Some("tor"),
                false => detail.and_then(|detail| detail.technique.as_deref()),
            };
            *counts.entry(technique.unwrap_or("unknown")).or_default() += network.blocked;
        }
    }
    counts.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_owned(), n)).collect()
}

fn platform_facts(platform: &Tracked, rows: &[TargetSummary]) -> Option<PlatformFacts> {
    let roles: Vec<&TargetSummary> = platform
        .roles
        .iter()
        .filter(|role| role.essential)
        .filter_map(|role| rows.iter().find(|row| row.target == role.key))
        .filter(|row| row.evidence > 0)
        .collect();
    // The platform is blocked when one of its roles is. The role with the most evidence gives the numbers.
    let rank = |row: &&&TargetSummary| (row.is_measured_block(), row.is_decided(), row.evidence);
    let first = roles.iter().max_by_key(rank)?;
    Some(PlatformFacts {
        slug: platform.slug.clone(),
        state: if first.is_decided() { first.state } else { State::Unknown },
        confidence: first.confidence,
        rate: round(rate_over(&roles)),
        methods: first.methods.clone(),
        evidence: first.evidence,
        last_checked: roles.iter().map(|row| row.last_checked).max()?,
    })
}

/// Share of blocked votes in all votes. Each network counts once: of several roles it counts with the one that says
/// most, as in the answer about the platform.
fn rate_over(roles: &[&TargetSummary]) -> f64 {
    let rank =
        |network: &NetworkSummary| (network.state == State::Blocked, network.state == State::Accessible, network.votes);
    let mut networks: BTreeMap<u32, &NetworkSummary> = BTreeMap::new();
    for network in roles.iter().flat_map(|row| &row.networks).filter(|network| network.asn != 0) {
        let known = networks.entry(network.asn).or_insert(network);
        if rank(network) > rank(known) {
            *known = network;
        }
    }
    block_rate(networks.into_values()).unwrap_or(0.0)
}

fn tool(row: &TargetSummary) -> Option<ToolFacts> {
    tool_of(&row.target).filter(|_| row.evidence > 0)?;
    let decided: Vec<&NetworkSummary> = row.networks.iter().filter(|network| network.state != State::Unknown).collect();
    let sum = |of: &dyn Fn(&NetworkSummary) -> u32| decided.iter().map(|network| of(network)).sum();
    Some(ToolFacts {
        key: row.target.clone(),
        measurements: row.evidence,
        decided: sum(&|network| network.measurements),
        blocked: sum(&|network| network.blocked_part(network.measurements)),
        votes: sum(&|network| network.votes),
        blocked_votes: sum(&|network| network.blocked),
        networks: count(row.networks.len()),
        block_types: row
            .technique
            .as_deref()
            .and_then(Technique::from_dotted)
            .map(|technique| technique.method().to_owned())
            .into_iter()
            .collect(),
        last_checked: row.last_checked,
        hours: Vec::new(),
    })
}

/// The networks on which a country was measured, by number, with their first days (decision country-of-networks).
pub fn isps(rows: &[TargetSummary], first_days: &BTreeMap<u32, u32>) -> Vec<Isp> {
    let mut found: BTreeMap<u32, (Isp, Vec<&NetworkSummary>)> = BTreeMap::new();
    for row in rows {
        for (network, detail) in row.detailed() {
            let (isp, seen) = found.entry(network.asn).or_default();
            isp.asn = network.asn;
            isp.first_day = first_days.get(&network.asn).copied();
            isp.name = isp.name.take().or_else(|| network.name.clone());
            isp.measurements += network.counted;
            isp.targets += 1;
            isp.last_checked = isp.last_checked.max(detail.map_or(row.last_checked, |detail| detail.last_checked));
            seen.push(network);
            if network.state == State::Blocked {
                let technique = detail.and_then(|detail| detail.technique.as_deref());
                isp.blocks.push(IspBlock {
                    domain: row.target.clone(),
                    category: None,
                    rate: network.block_rate(),
                    measurements: network.measurements,
                    method: technique.and_then(Technique::from_dotted).map(|found| found.method().to_owned()),
                });
            }
        }
    }
    found.into_values().map(|(isp, seen)| finish(isp, &seen)).collect()
}

fn finish(mut isp: Isp, seen: &[&NetworkSummary]) -> Isp {
    isp.rate = block_rate(seen.iter().copied()).map_or(0.0, round);
    let mut methods: BTreeMap<String, u32> = BTreeMap::new();
    for method in isp.blocks.iter().filter_map(|block| block.method.clone()) {
        *methods.entry(method).or_default() += 1;
    }
    isp.methods = methods.into_iter().collect();
    isp.methods.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    // A role that is measured by address has a method but no domain.
    isp.blocks.retain(|block| !is_role(&block.domain));
    isp.blocked = count(isp.blocks.len());
    isp.blocks.sort_by(|a, b| b.rate.total_cmp(&a.rate).then(b.measurements.cmp(&a.measurements)));
    isp.blocks.truncate(MOST_BLOCKS);
    isp
}

/// Adds the categories of domains.
pub fn categorise(facts: &mut Facts, sites: &mut [DecidedSite], mut category: impl FnMut(&str) -> Option<String>) {
    for block in &mut facts.blocks {
        block.category = category(&block.domain);
    }
    let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for site in sites {
        site.category = category(&site.domain);
        if let Some(code) = &site.category {
            let count = counts.entry(code.clone()).or_default();
            *count = (count.0 + 1, count.1 + u32::from(site.blocked));
        }
    }
    facts.tagged = counts.values().map(|(decided, _)| decided).sum();
    facts.categories =
        counts.into_iter().map(|(code, (decided, blocked))| CategoryCount { code, decided, blocked }).collect();
}

/// Shares of the focus groups among domains with these categories, in the order of the interface.
pub fn focus_shares<'a>(categories: impl Iterator<Item = Option<&'a str>>) -> [f64; 3] {
    let mut counts = [0.0; 3];
    let mut all = 0.0;
    for category in categories {
        all += 1.0;
        let [speech, morality, tooling] = &mut counts;
        match category.and_then(Focus::of) {
            Some(Focus::PoliticalSpeech) => *speech += 1.0,
            Some(Focus::RegulatedMorality) => *morality += 1.0,
            Some(Focus::CircumventionTooling) => *tooling += 1.0,
            None => {}
        }
    }
    if all == 0.0 { counts } else { counts.map(|n| round(n / all)) }
}
