//! Asks every question of a list on 32 connections: first each request once, before anybody asked it, then again and
//! again.

use std::fmt::Write as _;
use std::time::Duration;

use heliograph_core::facts::starter::Country;
use heliograph_tests::client::Client;
use heliograph_tests::process::Server;
use heliograph_tests::questions::{Question, QuestionRequest, WordValues};
use serde_json::{Value, json};

use crate::{load, machine};

const CONNECTIONS: usize = 32;
/// Target for the p99, in milliseconds.
const TARGET: f64 = 20.0;
/// A question that needs no work besides answering.
const BARE: &str = "GET /health";

/// The cost of one question.
#[derive(Debug)]
pub struct Measured {
    pub name: String,
    /// Number of different requests that were sent.
    pub different: usize,
    /// Bytes of the longest of a few answers.
    pub bytes: usize,
    /// Each request once, in a server where nobody asked it before.
    pub first: load::Outcome,
    pub again: load::Outcome,
    /// The same as `again`, but after all the other questions, for a question that missed the target. By then other
    /// work on the machine may be over, while work of the server would remain.
    pub once_more: Option<load::Outcome>,
    /// CPU time of the server per request, in microseconds; `None` if it is not known.
    pub cpu: [Option<f64>; 2],
}

impl Measured {
    /// p99 in milliseconds: of the first requests, of the repeated ones, and of the last repetition.
    fn p99(&self) -> [f64; 3] {
        [self.first, self.again, self.once_more.unwrap_or(self.again)].map(|outcome| f64::from(outcome.p99) / 1e3)
    }

    /// CPU time of one request divided by that of `bare`, the cheapest question. Unlike a time, this does not depend on
    /// the speed of the machine and on other work on it.
    fn by(&self, bare: &Measured) -> Option<f64> {
        Some(self.cpu[1]? / bare.cpu[1]?)
    }
}

/// Asks the questions whose names contain a text of `chosen` (all if it is empty), each for `window`.
pub fn run(
    server: &Server,
    questions: impl Iterator<Item = &'static Question>,
    known: &WordValues,
    window: Duration,
) -> Vec<Measured> {
    let client = Client::http(&server.base);
    let key = client.admin().post("/v1/admin/keys", &json!({ "tier": "bench" })).expect(201);
    let key = key["api_key"].as_str().unwrap().to_owned();
    let chosen = std::env::var("HELIOGRAPH_BENCH_ONLY").unwrap_or_default();
    let mut all: Vec<(&Question, Measured)> = questions
        .filter(|question| question.name().contains(&chosen))
        .map(|question| (question, one(server, &key, question, known, window)))
        .collect();
    for (question, measured) in all.iter_mut().filter(|(_, measured)| measured.p99()[1] >= TARGET) {
        let requests = question.requests(known);
        measured.once_more = Some(timed(server, &key, &requests, load::Ends::After(window)).0);
        eprintln!("once more: {}", line(measured, None));
    }
    all.into_iter().map(|(_, measured)| measured).collect()
}

/// The results, and the server's CPU time per answer in microseconds.
fn timed(server: &Server, key: &str, requests: &[QuestionRequest], ends: load::Ends) -> (load::Outcome, Option<f64>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let plan = load::Plan::mixed(&server.base, requests, &[("x-api-key", key)]);
    let before = machine::cpu_seconds(server.id());
    let outcome = runtime.block_on(load::run_until(&server.base, CONNECTIONS, ends, &plan, 1));
    let cpu = machine::cpu_seconds(server.id()).zip(before).map(|(after, before)| after - before);
    (outcome, cpu.map(|seconds| seconds * 1e6 / outcome.answers as f64))
}

fn one(server: &Server, key: &str, question: &Question, known: &WordValues, window: Duration) -> Measured {
    let requests = question.requests(known);
    assert!(!requests.is_empty(), "{}: nothing to ask", question.name());
    let (first, first_cpu) = timed(server, key, &requests, load::Ends::Asked);
    let (again, again_cpu) = timed(server, key, &requests, load::Ends::After(window));
    let client = Client::http(&server.base).key(key);
    let answer = |asked: &QuestionRequest| match asked.body.is_empty() {
        true => client.get(&asked.path),
        false => client.post(&asked.path, &serde_json::from_str::<Value>(&asked.body).unwrap()),
    };
    let bytes = requests.iter().take(20).map(|asked| answer(asked).body.len()).max().unwrap_or(0);
    let cpu = [first_cpu, again_cpu];
    let (name, different, once_more) = (question.name(), requests.len(), None);
    let measured = Measured { name, different, bytes, first, again, once_more, cpu };
    eprintln!("{}", line(&measured, None));
    measured
}

fn line(measured: &Measured, bare: Option<&Measured>) -> String {
    let Measured { name, different, bytes, first, again, once_more, cpu } = measured;
    let ms = |us: u32| f64::from(us) / 1e3;
    let [first_cpu, again_cpu] = cpu.map(|us| us.map_or("?".to_owned(), |us| format!("{us:.0}")));
    let ratio = bare.and_then(|bare| measured.by(bare)).map_or("-".to_owned(), |ratio| format!("{ratio:.1}"));
    let last = once_more.map_or(String::new(), |outcome| format!("{:.2}", ms(outcome.p99)));
    // A pipe would end the cell of the table.
    format!(
        "| `{}` | {different} | {:.1} | {first_cpu} | {:.2} | {:.2} | {:.0} | {again_cpu} | {ratio} | {:.2} | {:.2} | {last} |",
        name.replace('|', "\\|"),
        *bytes as f64 / 1e3,
        ms(first.p50),
        ms(first.p99),
        again.rate,
        ms(again.p50),
        ms(again.p99),
    )
}

/// The table, followed by the number of questions that meet the target.
pub fn render(all: &[Measured]) -> String {
    let mut out = String::new();
    let said = |which: usize| {
        let slowest = all.iter().map(|measured| measured.p99()[which]).fold(0.0, f64::max);
        let late = all.iter().filter(|measured| measured.p99()[which] >= TARGET).count();
        format!("slowest {slowest:.1} ms, {late} of {} above", all.len())
    };
    writeln!(
        out,
        "\np99 of every public endpoint at {CONNECTIONS} connections, target < {TARGET} ms: {}; with the \
         last repetition for those that were repeated at the end: {}; for first answers: {}.\n\n\
         \"First\" means each request once, before anybody asked it. CPU is the server's CPU time in microseconds per \
         request, times are in ms; \"by /health\" is that CPU time divided by that of `/health` in the same run.\n",
        said(1),
        said(2),
        said(0)
    )
    .unwrap();
    out.push_str(
        "| Question | different | kB | first: CPU | p50 | p99 | again: per second | CPU | by /health | p50 | p99 | once more: p99 |\n",
    );
    out.push_str("|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    let bare = all.iter().find(|measured| measured.name == BARE);
    all.iter().for_each(|measured| writeln!(out, "{}", line(measured, bare)).unwrap());
    out
}

/// Values for the questions, in a deployment of [`crate::large`] and [`crate::incidents`].
pub fn known(client: &Client, countries: usize, sites: usize, asns: Vec<String>) -> WordValues {
    let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let numbers = |range: std::ops::RangeInclusive<usize>| range.map(|n| n.to_string()).collect::<Vec<String>>();
    let all = || Country::all().iter().take(countries);
    let mut incidents = Vec::new();
    let mut evidence = Vec::new();
    for page in 0..8 {
        let rows = client.get(&format!("/data/incidents?limit=200&offset={}", page * 200)).expect(200);
        incidents.extend(rows["incidents"].as_array().unwrap().iter().map(|row| word(&row["readableId"])));
    }
    for id in incidents.iter().step_by(8) {
        let rows = client.get(&format!("/data/incidents/{id}/evidence")).expect(200);
        evidence.extend(rows["evidence"].as_array().unwrap().iter().map(|row| word(&row["id"])));
    }
    let now = client.get("/data/incidents/stats").expect(200);
    let now = word(&now["generated_at_utc"]);
    let day = |n: usize| format!("{}T{:02}:00:00Z", now.get(..10).unwrap_or("2026-01-01"), n);
    WordValues::from([
        ("country", all().map(|country| country.code.to_owned()).collect()),
        ("place", all().map(|country| country.name.to_owned()).collect()),
        ("site", (0..sites).map(|n| format!("site-{n}.example")).collect()),
        ("platform", text(&["telegram", "whatsapp", "signal", "youtube", "facebook", "x", "instagram", "tiktok"])),
        ("category", text(&CATEGORIES)),
        ("topic", text(&["news", "lgbtq", "human-rights", "gambling", "media", "circumvention"])),
        ("asn", asns),
        ("limit", numbers(1..=200)),
        ("offset", numbers(0..=15_000)),
        ("number", numbers(0..=900)),
        ("day", (1..=28).map(|n| format!("{n:02}")).collect()),
        ("month", text(&["January", "March", "May", "June", "August", "November"])),
        ("year", numbers(2016..=2025)),
        ("time", (0..24).map(day).collect()),
        ("status", text(&["active", "resolved", "suspected", "confirmed"])),
        ("severity", text(&["low", "medium", "high", "critical"])),
        (
            "occasion",
            crate::incidents::OCCASIONS.iter().map(|text| text.replace(' ', "+").replace(',', "%2C")).collect(),
        ),
        ("incident", incidents),
        ("evidence", evidence),
        ("late_cursor", vec![late_cursor(client)]),
        ("cursor", numbers(2_000..=2_020).into_iter().map(|year| format!("{year}-01-01")).collect()),
    ])
}

/// Categories of the sites, in turn.
pub const CATEGORIES: [&str; 8] = ["NEWS", "POLR", "HUMR", "LGBT", "GMB", "COMT", "GRP", "CULTR"];

fn word(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A cursor after which there are 20 changes.
fn late_cursor(client: &Client) -> String {
    let mut cursor = "2000-01-01".to_owned();
    loop {
        let next = client.get(&format!("/data/incidents/delta?since={cursor}&limit=1000")).expect(200);
        if next["has_more"] == false {
            let rows = next["incidents"].as_array().unwrap();
            let before = rows.len().saturating_sub(20);
            return rows.get(before).map_or(cursor, |row| word(&row["updatedAt"]));
        }
        cursor = word(&next["next_since"]);
    }
}
