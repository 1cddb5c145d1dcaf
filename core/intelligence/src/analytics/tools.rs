//! Reachability of circumvention tools and VPNs.
//!
//! The numbers come from tests of Tor, Tor over Snowflake, Psiphon, OpenVPN and Riseup VPN. The provider slugs of older
//! clients are accepted too, but their answers are empty, since nothing here tests those services.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::constants::WINDOW_DAYS;
use super::facts::{TOOLS, ToolFacts, tool_of};
use super::reports::{NOTHING, ReportQuestion, Stamp, Table, World, caveat, finish};
use crate::world::SourceLicense;
use crate::{Error, Result};
use engine::documents::Rendered;
use engine::number::round;
use engine::time::{DAY, HOUR};
use facts::sentence::{self, Sentence, Sentences};

/// Providers that clients ask for but that no test measures.
const PROVIDERS: [&str; 4] = ["svc", "nordvpn", "protonvpn", "mullvad"];

/// All that may be asked for.
pub const NAMES: [&str; PROVIDERS.len() + TOOLS.len()] = {
    let mut names = [""; PROVIDERS.len() + TOOLS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = if at < PROVIDERS.len() { PROVIDERS[at] } else { TOOLS[at - PROVIDERS.len()] };
        at += 1;
    }
    names
};

/// The normal form of a provider. The error is 400 for one that is not known.
pub fn provider(text: &str) -> Result<&'static str> {
    NAMES
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(text.trim()))
        .ok_or_else(|| Error::bad_request(format!("`provider` must be one of {}.", NAMES.join(", "))))
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ToolFilter")]
struct Asking {
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "ToolStats")]
struct Stats {
    /// Measurements of the last 24 hours, including those of undecided targets.
    total_probes: u64,
    /// The same for the whole window. All other numbers are about the window.
    window_probes: u64,
    /// Networks that measured: in each country the most of any target, summed over countries.
    probe_nodes: u64,
    targets_tested: usize,
    /// Tested targets on which no network has a verdict. They have no row.
    targets_undecided: usize,
    total_accessible: u64,
    total_blocked: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ToolTarget")]
struct TargetRow {
    /// The provider and the role, as one name.
    host: String,
    /// The place of the other end. These tests use many relays.
    location: &'static str,
    accessible_rate: f64,
    blocked_rate: f64,
    block_types: Vec<String>,
    measurements: u64,
    /// Countries where it was tested.
    countries: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ToolProvider")]
struct ProviderRow {
    provider: &'static str,
    total_probes: u64,
    accessible: u64,
    blocked: u64,
    /// Measurements on networks without a verdict. The rate does not include them.
    undecided: u64,
    /// Share of clear votes in all votes on networks with a verdict. A probe that measures more often does not count
    /// more.
    accessibility_rate: f64,
    targets: Vec<TargetRow>,
}

/// `/v1/vpn-accessibility`
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "VpnAccessibility")]
pub struct ToolsBody {
    query: Asking,
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Sentence>,
    window_days: u32,
    stats: Stats,
    by_provider: Vec<ProviderRow>,
    caveat: String,
    license: String,
    source_licenses: Vec<SourceLicense>,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
    sentences: Sentences,
}

/// The parameter is `country~provider`. Either part may be empty.
pub fn accessibility(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let (country, provider) = asked.parameter.and_then(|parameter| parameter.split_once('~')).unwrap_or_default();
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mut by_key: BTreeMap<&str, Vec<(&str, &ToolFacts)>> = BTreeMap::new();
    let mut stats = Stats::default();
    for facts in world.facts.iter().filter(|facts| country.is_empty() || facts.country == country) {
        let wanted = |tool: &ToolFacts| provider.is_empty() || tool_of(&tool.key) == Some(provider);
        let tools = || facts.tools.iter().filter(|tool| wanted(tool));
        let last_day = tools()
            .flat_map(|tool| &tool.hours)
            .filter(|(hour, _)| hour * HOUR >= world.at.0 - DAY && hour * HOUR <= world.at.0);
        stats.total_probes += last_day.map(|(_, n)| u64::from(*n)).sum::<u64>();
        stats.probe_nodes += tools().map(|tool| u64::from(tool.networks)).max().unwrap_or(0);
        tools().for_each(|tool| by_key.entry(&tool.key).or_default().push((&facts.country, tool)));
    }
    stats.targets_tested = by_key.len();
    stats.window_probes = by_key.values().flatten().map(|(_, tool)| u64::from(tool.measurements)).sum();
    // A rate is a number in every answer. A target without any verdict has no row, because a rate of 0 would claim that
    // it is blocked.
    by_key.retain(|_, facts| facts.iter().any(|(_, tool)| tool.votes > 0));
    stats.targets_undecided = stats.targets_tested - by_key.len();
    let mut by_provider: Vec<ProviderRow> = Vec::new();
    for tool in TOOLS {
        let rows: Vec<_> = by_key.iter().filter(|(key, _)| tool_of(key) == Some(tool)).collect();
        if !rows.is_empty() {
            by_provider.push(provider_row(tool, &rows));
        }
    }
    for row in &by_provider {
        stats.total_accessible += row.accessible;
        stats.total_blocked += row.blocked;
    }
    let Stamp { license, source_licenses, as_of, .. } = world.stamp();
    let reason = by_provider.is_empty().then_some(match PROVIDERS.contains(&provider) {
        _ if stats.targets_undecided > 0 => Sentence::new("report.tools.undecided"),
        true => Sentence::new("report.tools.untested"),
        false if world.facts.iter().all(|facts| facts.recent == 0) => NOTHING,
        false => Sentence::new("report.tools.none"),
    });
    let said = caveat(Sentence::new("report.tools"));
    let body = ToolsBody {
        query: Asking { country: given(country), provider: given(provider) },
        available: !by_provider.is_empty(),
        sentences: Sentences::new().with("reason", &reason).with_text("caveat", &said),
        reason,
        window_days: WINDOW_DAYS,
        stats,
        by_provider,
        caveat: sentence::text(&said),
        license: license.clone(),
        source_licenses,
        updated_at: world.facts.iter().filter_map(|facts| facts.newest).max().unwrap_or(world.at).to_string(),
        as_of: as_of.map(|at| at.to_string()),
    };
    let columns = &["provider", "total_probes", "accessible", "blocked", "undecided", "accessibility_rate"];
    finish(asked, &Table { list: "by_provider", columns }, &license, &body)
}

fn provider_row(provider: &'static str, rows: &[(&&str, &Vec<(&str, &ToolFacts)>)]) -> ProviderRow {
    let mut row = ProviderRow {
        provider,
        total_probes: 0,
        accessible: 0,
        blocked: 0,
        undecided: 0,
        accessibility_rate: 0.0,
        targets: Vec::new(),
    };
    let (mut votes, mut blocked_votes) = (0, 0);
    for (key, facts) in rows {
        let sum = |of: fn(&ToolFacts) -> u32| facts.iter().map(|(_, tool)| u64::from(of(tool))).sum::<u64>();
        let types: BTreeSet<String> = facts.iter().flat_map(|(_, tool)| tool.block_types.iter().cloned()).collect();
        let (all, decided, blocked) =
            (sum(|tool| tool.measurements), sum(|tool| tool.decided), sum(|tool| tool.blocked));
        let (target_votes, target_blocked) = (sum(|tool| tool.votes), sum(|tool| tool.blocked_votes));
        row.total_probes += all;
        row.blocked += blocked;
        row.accessible += decided.saturating_sub(blocked);
        row.undecided += all.saturating_sub(decided);
        votes += target_votes;
        blocked_votes += target_blocked;
        let share = target_blocked as f64 / target_votes.max(1) as f64;
        row.targets.push(TargetRow {
            host: (**key).to_owned(),
            location: "many",
            accessible_rate: round(1.0 - share),
            blocked_rate: round(share),
            block_types: types.into_iter().collect(),
            measurements: all,
            countries: facts.iter().map(|(country, _)| (*country).to_owned()).collect(),
        });
    }
    row.accessibility_rate = round(1.0 - blocked_votes as f64 / votes.max(1) as f64);
    row
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::facts::Facts;
    use super::*;
    use crate::Timestamp;

    fn tool(key: &str, measurements: u32, rate: Option<f64>, types: &[&str]) -> ToolFacts {
        ToolFacts {
            key: key.to_owned(),
            measurements,
            decided: if rate.is_some() { measurements } else { 0 },
            blocked: (rate.unwrap_or(0.0) * f64::from(measurements)) as u32,
            votes: if rate.is_some() { measurements } else { 0 },
            blocked_votes: (rate.unwrap_or(0.0) * f64::from(measurements)) as u32,
            networks: 2,
            block_types: types.iter().map(|name| (*name).to_owned()).collect(),
            last_checked: Timestamp(0),
            // Three measurements within the last hour, and four of two days ago.
            hours: vec![(-48, 4), (-1, 3)],
        }
    }

    fn answer(parameter: Option<&str>) -> Value {
        let facts = |country: &str, tools: Vec<ToolFacts>| Facts {
            country: country.to_owned(),
            recent: 1,
            tools,
            ..Facts::default()
        };
        let iran = vec![
            tool("tor/bootstrap", 10, Some(0.8), &["tcp-timeout"]),
            tool("tor/obfs4", 10, Some(0.5), &["tls-reset"]),
            tool("psiphon/bootstrap", 30, None, &[]),
        ];
        let world = World {
            facts: vec![facts("IR", iran), facts("NO", vec![tool("tor/bootstrap", 10, Some(0.0), &[])])],
            ..World::default()
        };
        let rendered = accessibility(&ReportQuestion { name: "tools", parameter, csv: false }, &world).unwrap();
        serde_json::from_slice(&rendered.body).unwrap()
    }

    /// Clients read these members without checking them. By hand: 10 of 30 measurements of Tor in Iran and Norway do
    /// not count as blocked: 8 + 5 + 0 do.
    #[test]
    fn every_member_that_a_client_reads_is_there_and_of_its_type() {
        let body = answer(None);
        let counts = ["total_probes", "probe_nodes", "targets_tested", "total_accessible", "total_blocked"];
        assert_eq!(
            counts.map(|name| body["stats"][name].as_u64().unwrap()),
            [12, 4, 3, 17, 13],
            "of the last day: {body}"
        );
        assert_eq!(body["stats"]["window_probes"], 60, "{body}");
        assert_eq!(body["stats"]["targets_undecided"], 1, "{body}");
        let providers = body["by_provider"].as_array().unwrap();
        assert_eq!(providers.len(), 1, "no measurement of Psiphon says anything: a rate of 0 would read as blocked");
        let tor = &providers[0];
        assert_eq!((&tor["provider"], &tor["total_probes"]), (&json!("tor"), &json!(30)), "{body}");
        assert_eq!(
            (&tor["accessible"], &tor["blocked"], &tor["undecided"]),
            (&json!(17), &json!(13), &json!(0)),
            "{body}"
        );
        assert_eq!(tor["accessibility_rate"], 0.5667, "{body}");
        for target in tor["targets"].as_array().unwrap() {
            assert!(target["host"].is_string() && target["location"].is_string(), "{target}");
            assert!(target["block_types"].as_array().unwrap().iter().all(Value::is_string), "{target}");
            let share = |name: &str| target[name].as_f64().unwrap();
            assert!((share("accessible_rate") + share("blocked_rate") - 1.0).abs() < 1e-9, "{target}");
        }
        assert!(body["updated_at"].is_string(), "{body}");
        let norway = answer(Some("NO~tor"));
        assert_eq!(norway["by_provider"][0]["accessibility_rate"], 1.0, "{norway}");
        assert_eq!(norway["stats"]["total_probes"], 3, "{norway}");
        let psiphon = answer(Some("~psiphon"));
        assert_eq!((&psiphon["available"], &psiphon["by_provider"]), (&json!(false), &json!([])), "{psiphon}");
        assert!(psiphon["reason"].as_str().unwrap().starts_with("Tested, but on no network"), "{psiphon}");
    }

    #[test]
    fn providers_are_those_of_clients_and_those_that_are_tested() {
        assert_eq!(provider("Mullvad").unwrap(), "mullvad");
        assert_eq!(provider("tor").unwrap(), "tor");
        assert_eq!(provider("other").unwrap_err().code, crate::ErrorCode::BadRequest);
    }
}
