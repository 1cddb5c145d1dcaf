//! Requests of readers: every public endpoint of the intelligence side, with the variants whose costs differ.
//!
//! A test compares the list with the route table, so that every endpoint is measured.

use std::collections::{BTreeMap, BTreeSet};

use heliograph_core::app::PROGRAM;
use heliograph_core::engine::http::{Auth, Route};

use crate::simulation::Dice;

/// An endpoint with its request: `METHOD /path?query`, and a body for a POST. Words in braces stand for values of
/// [`WordValues`].
pub struct Question {
    /// Method and path of the route table.
    pub route: &'static str,
    /// Text after the path; if it begins with `/`, it replaces the path of the route.
    asked: &'static str,
    body: &'static str,
}

/// Values for each word in braces.
pub type WordValues = BTreeMap<&'static str, Vec<String>>;

/// A request of a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuestionRequest {
    pub path: String,
    /// Empty for a GET.
    pub body: String,
}

/// Most different requests of one question.
const MOST: u64 = 2_000;

const fn get(route: &'static str, asked: &'static str) -> Question {
    Question { route, asked, body: "" }
}

const fn post(route: &'static str, body: &'static str) -> Question {
    Question { route, asked: "", body }
}

impl Question {
    /// The question, in one line.
    pub fn name(&self) -> String {
        let route = if self.asked.starts_with('/') { "GET " } else { self.route };
        let batch = if self.body.contains("{site},") { ", 50 targets" } else { "" };
        format!("{route}{}{batch}", self.asked)
    }

    /// Different requests in random order: all of them, or [`MOST`].
    pub fn requests(&self, known: &WordValues) -> Vec<QuestionRequest> {
        let path = if self.asked.starts_with('/') { "" } else { self.route.split_once(' ').unwrap().1 };
        let path = format!("{path}{}", self.asked);
        let words: Vec<_> = known.iter().filter(|(word, _)| holds(&path, word) || holds(self.body, word)).collect();
        let all = words.iter().fold(1_u64, |all, (_, values)| all.saturating_mul(values.len() as u64));
        let mut dice = Dice::new(5);
        let mut found = BTreeSet::new();
        let mut order = Vec::new();
        // A value that was drawn already is drawn again, up to a limit.
        for _ in 0..all.min(MOST) * 8 {
            let mut asked = QuestionRequest { path: path.clone(), body: self.body.to_owned() };
            for (word, values) in &words {
                let brackets = format!("{{{word}}}");
                for text in [&mut asked.path, &mut asked.body] {
                    while text.contains(&brackets) {
                        *text = text.replacen(&brackets, &values[dice.below(values.len() as u64) as usize], 1);
                    }
                }
            }
            if found.insert(asked.clone()) {
                order.push(asked);
            }
            if order.len() as u64 >= all.min(MOST) {
                break;
            }
        }
        order
    }
}

fn holds(text: &str, word: &str) -> bool {
    text.contains(&format!("{{{word}}}"))
}

/// All questions. A word in braces without a value in [`WordValues`] is sent as it is, which no endpoint answers with
/// 200.
pub const QUESTIONS: &[Question] = &[
    get("GET /robots.txt", ""),
    get("GET /llms.txt", ""),
    get("GET /favicon.ico", ""),
    get("GET /health", ""),
    get("GET /healthz", ""),
    get("GET /readyz", ""),
    get("GET /hydra/v1/health", ""),
    get("GET /openapi.json", ""),
    get("GET /data/censorship-index.json", ""),
    get("GET /data/censorship-index.csv", ""),
    get("GET /v1/censorship-index", ""),
    get("GET /v1/censorship-index", "?format=csv"),
    get("GET /v1/censorship-index/{code}", "/v1/censorship-index/{country}"),
    get("GET /data/methodology", ""),
    get("GET /data/sentences", ""),
    get("GET /data/sources", ""),
    get("GET /data/country/{code}", "/data/country/{country}"),
    get("GET /data/country/{code}/history", "/data/country/{country}/history?days=60"),
    get("GET /data/country/{code}/history", "/data/country/{country}/history?format=csv"),
    get("GET /data/country/{code}/history", "/data/country/{country}/history?by=network"),
    get("GET /data/country/{code}/isps", "/data/country/{country}/isps"),
    get("GET /data/country/{code}/isps", "/data/country/{country}/isps?format=csv"),
    get("GET /data/domain/{domain}", "/data/domain/{site}"),
    get("GET /data/domain/{domain}", "/data/domain/{site}?format=csv"),
    get("GET /data/domain/{domain}", "/data/domain/{site}?explain=true"),
    get("GET /data/domain/{domain}/history", "/data/domain/{site}/history"),
    get("GET /data/domain/{domain}/history", "/data/domain/{site}/history?days=365&format=csv"),
    get("GET /data/domain/{domain}/history", "/data/domain/{site}/history?country={country}"),
    get("GET /data/domain/{domain}/history", "/data/domain/{site}/history?country={country}&by=network"),
    get("GET /api/v1/aggregation", "?probe_cc={country}&axis_x=measurement_start_day"),
    get("GET /api/v1/aggregation", "?domain={site}&axis_x=probe_cc&axis_y=probe_asn&format=CSV"),
    get("GET /data/network/{asn}/history", "/data/network/{asn}/history?days=90"),
    get("GET /data/measurements", "?country={country}&target={site}"),
    get("GET /data/measurements", "?country={country}&target={site}&limit=5000&format=csv"),
    get("GET /data/dumps", ""),
    get("GET /data/dumps", "?country={country}"),
    get("GET /v1/accessibility/check", "?domain={site}&country={country}"),
    get("GET /v1/accessibility/check", "?domain={site}&country={country}&explain=true"),
    get("GET /v1/accessibility/check", "?domain={site}&country={country}&as_of={time}"),
    get("GET /v1/accessibility/country/{country}/summary", ""),
    get("GET /v1/accessibility/country/{country}/summary", "?format=csv"),
    get("GET /v1/accessibility/service/{service}", "/v1/accessibility/service/{platform}"),
    post("POST /v1/accessibility/batch", BATCH_DOMAINS),
    post("POST /hydra/v1/detect", r#"{"country":"{country}","target":"{site}"}"#),
    post("POST /hydra/v1/detect/batch", BATCH_TARGETS),
    post("POST /hydra/v1/predict", r#"{"country":"{country}","target":"{site}"}"#),
    post("POST /hydra/v1/predict", r#"{"country":"{country}"}"#),
    get("GET /v1/forecast/{country}/7day", ""),
    get("GET /v1/forecast/{country}/multi-horizon", ""),
    get("GET /v1/forecast/high-risk", ""),
    get("GET /v1/forecast/high-risk", "?threshold=0.1"),
    post("POST /v1/forecast/batch", r#"{"countries":["{country}"]}"#),
    get("GET /v1/atlas/changelog", ""),
    get("GET /v1/elections/upcoming", ""),
    get("GET /v1/elections/calendar", ""),
    get("GET /v1/elections/{country}/briefing", ""),
    get("GET /v1/sentinel/current_risk/{country}", ""),
    post("POST /v1/sentinel/current_risk/batch", r#"{"countries":["{country}","{country}"]}"#),
    get("GET /v1/sentinel/global_heatmap", ""),
    get("GET /v1/sentinel/active-learning-queue", ""),
    get("GET /v1/sentinel/active-learning-queue", "?country={country}&rank_by=uncertainty"),
    get("GET /v1/sentinel/manifest.json", ""),
    get("GET /v1/sentinel/health", ""),
    get("GET /v1/sentinel/attribute", "?country={country}&date=2026-01-{day}"),
    get("GET /v1/anomaly/dbscan/{country}", ""),
    get("GET /v1/anomaly/domain-drift/leaderboard", ""),
    get("GET /v1/classifier/score/{country}", ""),
    get("GET /v1/classifier/info", ""),
    get("GET /v1/classifier/corroborate/info", ""),
    get("GET /v1/atlas/score-v2", ""),
    get("GET /v1/atlas/score-v2/{country}", ""),
    get("GET /v1/atlas/topics", ""),
    get("GET /v1/atlas/topics/info", ""),
    get("GET /v1/atlas/topics/{country}", ""),
    get("GET /v1/atlas/incidents/{id}/topic", "/v1/atlas/incidents/{incident}/topic"),
    get("GET /v1/forecast/asn-gnn", ""),
    get("GET /v1/forecast/asn-gnn", "?country={country}"),
    get("GET /v1/forecast/asn-gnn", "?asn={asn}"),
    get("GET /v1/forecast/asn-gnn/info", ""),
    get("GET /v1/shutdown-risk/{country}", ""),
    get("GET /v1/atlas/prediction-track-record", ""),
    get("GET /v1/sentinel/accuracy", ""),
    get("GET /v1/sentinel/accuracy", "?window_days=365"),
    get("GET /v1/sentinel/calibration/history", ""),
    get("GET /hydra/v1/threat-level/{country}", ""),
    get("GET /hydra/v1/threat-level/{country}", "?includeHistory=true"),
    get("GET /hydra/v1/scores", ""),
    get("GET /hydra/v1/scores", "?limit=300&minConfidence=0"),
    get("GET /hydra/v1/model/info", ""),
    get("GET /v1/measurement/summary", ""),
    get("GET /v1/measurement/summary", "?format=csv"),
    get("GET /v1/measurement/intent-profile", ""),
    get("GET /v1/measurement/intent-profile", "?country={country}"),
    get("GET /v1/measurement/category-leaders", "?category={category}"),
    get("GET /v1/measurement/co-blocking", ""),
    get("GET /v1/measurement/co-blocking", "?format=csv"),
    get("GET /v1/measurement/most-blocked-domains", ""),
    get("GET /v1/measurement/most-blocked-domains", "?category={category}"),
    get("GET /v1/measurement/network-depth", ""),
    get("GET /v1/measurement/network-depth", "?country={country}"),
    get("GET /v1/measurement/quality", ""),
    get("GET /v1/measurement/techniques", ""),
    get("GET /v1/measurement/techniques", "?country={country}"),
    get("GET /v1/measurement/by-region", ""),
    get("GET /v1/measurement/by-region", "?level=subregion"),
    get("GET /v1/measurement/info", ""),
    get("GET /v1/topic-censorship-index", "?topic={topic}"),
    get("GET /v1/topic-censorship-index", "?topic={category}"),
    get("GET /v1/vpn-accessibility", ""),
    get("GET /v1/vpn-accessibility", "?country={country}"),
    get("GET /v1/platforms/scores", ""),
    get("GET /v1/platforms/country/{country}", ""),
    get("GET /v1/platform/{platform}/risk", ""),
    get("GET /v1/platform/{platform}/risk/{country}", ""),
    get("GET /v1/isp/index", "?country={country}"),
    get("GET /v1/isp/index", "?country={country}&format=csv"),
    get("GET /v1/isp/{asn}/profile", ""),
    get("GET /v1/isp/worst", ""),
    get("GET /v1/isp/worst", "?limit={limit}"),
    get("GET /v1/isp/compare", "?asns={asn},{asn},{asn},{asn},{asn},{asn},{asn},{asn}"),
    post(
        "POST /verify-claim",
        r#"{"claim":"{site} was blocked in {place} in {month} {year}","require_evidence":true}"#,
    ),
    post("POST /verify-claim", r#"{"claim":"{place} shut down the internet on {day} {month} {year}"}"#),
    get("GET /v1/probe/network", ""),
    get("GET /v1/probe/stats", ""),
    get("GET /v1/probe/domains", ""),
    get("GET /v1/probe/domains", "?country={country}"),
    get("GET /v1/probe/domain/{domain}", "/v1/probe/domain/{site}"),
    get("GET /v1/probe/domain/{domain}/history", "/v1/probe/domain/{site}/history?days=365"),
    get("GET /v1/community/nodes", ""),
    get("GET /v1/community/leaderboard", ""),
    get("GET /data/incidents", ""),
    get("GET /data/incidents", "?limit={limit}&offset={offset}"),
    get("GET /data/incidents", "?country={country}"),
    get("GET /data/incidents", "?country={country}&status={status}&severity={severity}"),
    get("GET /data/incidents", "?status={status}&severity={severity}&limit={limit}"),
    get("GET /data/incidents", "?since={year}-01-{day}&until=2026-06-{day}"),
    get("GET /data/incidents", "?domain={site}"),
    get("GET /data/incidents", "?q={occasion}&limit={limit}"),
    get("GET /v1/suggest", "?q={place}"),
    get("GET /v1/suggest", "?q={site}"),
    get("GET /data/incidents", "?service={platform}&limit={limit}"),
    get("GET /data/incidents", "?topic={topic}&limit={limit}"),
    get("GET /data/incidents", "?type=disruption&min_sources=2&offset={offset}"),
    get("GET /data/incidents/stats", ""),
    get("GET /api/alerts/stats", ""),
    get("GET /v1/censorship-index/incidents/stats", ""),
    get("GET /data/incidents/feed.rss", ""),
    get("GET /data/incidents/feed.atom", ""),
    get("GET /data/incidents/delta", "?since={cursor}&limit=100"),
    get("GET /data/incidents/delta", "?since={late_cursor}"),
    get("GET /data/incidents/{id}", "/data/incidents/{incident}"),
    get("GET /data/incidents/{id}", "/data/incidents/{incident}?explain=true"),
    get("GET /data/incidents/{id}/evidence", "/data/incidents/{incident}/evidence"),
    get("GET /data/incidents/{id}/report", "/data/incidents/{incident}/report"),
    get("GET /data/incidents/{id}/report", "/data/incidents/{incident}/report?format=bibtex"),
    get("GET /data/evidence/{id}", "/data/evidence/{evidence}"),
    get("GET /v1/incidents/similar", "?query={occasion}+word{number}+word{number}&k=50"),
    get("GET /v1/incidents/similar", "?query={occasion}+word{number}&country={country}"),
    post("POST /v1/incidents/similar", r#"{"query":"{occasion} word{number} word{number}","k":20}"#),
    post("POST /mcp", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
    post("POST /mcp", MODEL_CHECKS),
];

const MODEL_CHECKS: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"#,
    r#"{"name":"check","arguments":{"domain":"{site}","country":"{country}"}}}"#
);

const BATCH_TARGETS: &str = concat!(
    r#"{"country":"{country}","targets":["{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","#,
    r#""{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","#,
    r#""{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","#,
    r#""{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","#,
    r#""{site}","{site}","{site}","{site}","{site}","{site}"]}"#
);
const BATCH_DOMAINS: &str = concat!(
    r#"{"country":"{country}","domains":["{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","#,
    r#""{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","#,
    r#""{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","#,
    r#""{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","{site}","#,
    r#""{site}","{site}","{site}","{site}","{site}","{site}"]}"#
);

/// Routes that the load does not ask, with the reason.
const APART: &[(&str, &str)] = &[
    ("GET /data/incidents/export", "one stream of everything; measured as throughput and memory"),
    ("GET /data/dumps/{file}", "one stream of a month; measured as throughput and memory"),
    ("POST /data/incidents/{id}/dispute", "writes"),
    ("POST /api-keys/signup", "writes"),
    ("POST /v1/community/register", "writes"),
    ("POST /v1/probe/community/register", "writes"),
    ("GET /v1/community/nodes/{nodeId}", "needs a node; one read of one row, as every list makes many"),
    ("POST /v1/measurement/classify", "judges the document that is sent and reads nothing"),
];

/// True if a route is public and of the intelligence side.
fn is_public(route: &Route) -> bool {
    let others = ["/v1/agent/", "/v1/relay/", "/v1/pay/", "/api/alerts/", "/.well-known/"];
    matches!(route.auth, Auth::None | Auth::Key) && !others.iter().any(|prefix| route.path.starts_with(prefix))
}

/// Routes that [`QUESTIONS`] should ask but does not.
pub fn unasked() -> Vec<String> {
    let asked = |name: &str| QUESTIONS.iter().any(|question| question.route == name);
    let apart = |name: &str| APART.iter().any(|(other, _)| *other == name);
    let names =
        PROGRAM.interface().filter(|route| is_public(route)).map(|route| format!("{} {}", route.method, route.path));
    names.filter(|name| !asked(name) && !apart(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A latency that is promised for any endpoint must be measured at every one.
    #[test]
    fn every_public_endpoint_is_asked_under_load() {
        assert_eq!(unasked(), Vec::<String>::new());
        let known: BTreeSet<String> =
            PROGRAM.interface().map(|route| format!("{} {}", route.method, route.path)).collect();
        let named = QUESTIONS.iter().map(|question| question.route).chain(APART.iter().map(|(route, _)| *route));
        for route in named {
            assert!(known.contains(route), "{route} is no route");
        }
    }

    #[test]
    fn requests_of_a_question_differ_and_are_as_many_as_there_are() {
        let known = WordValues::from([
            ("country", ["KE", "DE", "FR"].map(str::to_owned).to_vec()),
            ("site", (0..5_000).map(|n| format!("site-{n}.example")).collect()),
        ]);
        let question = get("GET /data/country/{code}", "/data/country/{country}");
        let paths: BTreeSet<String> = question.requests(&known).into_iter().map(|asked| asked.path).collect();
        assert_eq!(paths.len(), 3);
        assert!(paths.contains("/data/country/KE"));
        let many = post("POST /hydra/v1/detect", r#"{"country":"{country}","target":"{site}"}"#).requests(&known);
        assert_eq!(many.len() as u64, MOST);
        assert!(many.iter().all(|asked| asked.path == "/hydra/v1/detect" && !asked.body.contains("{site}")));
    }
}
