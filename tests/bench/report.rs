//! The table of results of a run.

use std::fmt::Write;

use crate::Round;
use crate::edge::Edge;
use crate::imports::Imports;
use crate::load::Outcome;

/// The fdatasync rate for which the durable target was set (decision fair-benches).
const REFERENCE_FSYNC: f64 = 7_000.0;

/// One target with its worst and best round.
struct Line {
    what: &'static str,
    target: String,
    worst: String,
    rounds: Vec<f64>,
    met: bool,
}

fn lines(rounds: &[Round]) -> Vec<Line> {
    let each = |value: &dyn Fn(&Round) -> f64| rounds.iter().map(value).collect::<Vec<f64>>();
    let fsync = |round: &Round| (round.fsync[0].rate + round.fsync[1].rate) / 2.0;
    let at_least = |what, goal: f64, values: Vec<f64>| {
        let worst = values.iter().copied().fold(f64::INFINITY, f64::min);
        Line { what, target: format!(">= {goal:.2}"), worst: format!("{worst:.2}"), rounds: values, met: worst >= goal }
    };
    let detect = each(&|round| f64::from(round.detect.p50) / 1_000.0);
    let slowest = detect.iter().copied().fold(0.0, f64::max);
    vec![
        at_least("cached lookup / bare axum handler, 64 connections", 0.8, each(&|r| r.lookup.rate / r.bare.rate)),
        at_least(
            "304 / bare axum handler, 64 connections (aim: above the lookup)",
            0.8,
            each(&|r| r.not_modified.rate / r.bare.rate),
        ),
        Line {
            what: "detection from stored aggregates, p50 at 16 connections, ms",
            target: "< 1.00".to_owned(),
            worst: format!("{slowest:.2}"),
            met: slowest < 1.0,
            rounds: detect,
        },
        at_least(
            "durable send at 64 connections / (5,000/s x fdatasync rate / 7,000/s)",
            1.0,
            each(&|r| r.send[2].rate / (5_000.0 * fsync(r) / REFERENCE_FSYNC)),
        ),
        at_least("durable send at 1 connection / fdatasync rate (aim)", 0.75, each(&|r| r.send[0].rate / fsync(r))),
    ]
}

/// The whole report.
pub fn render(machine: &[String], rounds: &[Round], imports: &Imports, edge: &Result<Edge, String>) -> String {
    let mut out = String::from(
        "# Measurements\n\nWritten by `cargo xtask bench`; do not edit. Rates depend on the machine, so every target is \
         a ratio of two\nrates of the same round, and the worst round counts.\n\n## Machine\n\n",
    );
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    out.push_str("\n## Targets\n\n| What | Target | Worst round | All rounds | Met |\n|---|---|---|---|---|\n");
    for line in lines(rounds) {
        let all: Vec<_> = line.rounds.iter().map(|value| format!("{value:.2}")).collect();
        row(&mut out, &[line.what, &line.target, &line.worst, &all.join(", "), yes(line.met)]);
    }
    import_targets(&mut out, imports);
    edge_targets(&mut out, edge);
    raw(&mut out, rounds);
    import_table(&mut out, imports);
    out.push_str(NOTES);
    out
}

fn row(out: &mut String, cells: &[&str]) {
    writeln!(out, "| {} |", cells.join(" | ")).unwrap();
}

fn yes(met: bool) -> &'static str {
    if met { "yes" } else { "**no**" }
}

fn import_targets(out: &mut String, imports: &Imports) {
    if let Some(error) = &imports.error {
        row(out, &["import", "", &format!("not measured: {error}"), "", "**no**"]);
    }
    let rates: Vec<f64> = imports.made_up.iter().map(|import| import.rate()).collect();
    if let Some(worst) = rates.iter().copied().reduce(f64::min) {
        let all: Vec<_> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
        let what = "observation rows imported per second";
        row(out, &[what, ">= 100000", &format!("{worst:.0}"), &all.join(", "), yes(worst >= 100_000.0)]);
    }
    let all = || imports.made_up.iter().chain(&imports.real);
    if let Some(peak) = all().filter_map(|import| import.peak).max() {
        let what =
            if imports.real.is_empty() { "peak memory of the imports, MB" } else { "peak memory of all imports, MB" };
        let mb = peak as f64 / 1e6;
        row(out, &[what, "< 200", &format!("{mb:.0}"), "", yes(mb < 200.0)]);
    }
}

fn edge_targets(out: &mut String, edge: &Result<Edge, String>) {
    match edge {
        Err(error) => row(out, &["Worker", "", &format!("not measured: {error}"), "", "**no**"]),
        Ok(edge) => {
            let differences: Vec<f64> = edge.starts.iter().map(|(worker, bare)| worker - bare).collect();
            let worst = differences.iter().copied().fold(f64::MIN, f64::max);
            let all: Vec<_> = differences.iter().map(|ms| format!("{ms:.0}")).collect();
            let what = "first answer of the Worker in a new workerd, minus that of a bare Worker, ms";
            row(out, &[what, "< 100", &format!("{worst:.0}"), &all.join(", "), yes(worst < 100.0)]);
            let size = edge.gzip as f64 / 1e6;
            row(out, &["bundle of the Worker, MB of gzip", "<= 5.00", &format!("{size:.3}"), "", yes(size <= 5.0)]);
        }
    }
}

fn raw(out: &mut String, rounds: &[Round]) {
    out.push_str("\n## Rates\n\nPer second, with p50 / p99 in microseconds, round by round.\n\n");
    let heads: Vec<_> = (1..=rounds.len()).map(|round| format!("Round {round}")).collect();
    row(out, &["What", "Connections", &heads.join(" | ")]);
    row(out, &["---", "---", &vec!["---"; rounds.len()].join(" | ")]);
    for (at, name) in ["append 512 B + fdatasync, before", "append 512 B + fdatasync, after"].iter().enumerate() {
        let cell = |round: &Round| {
            let probe = round.fsync[at];
            format!("{:.0} ({} / {})", probe.rate, probe.p50, probe.p99)
        };
        row(out, &[name, "-", &rounds.iter().map(cell).collect::<Vec<_>>().join(" | ")]);
    }
    type Series = (&'static str, fn(&Round) -> Option<Outcome>);
    let series: [Series; 8] = [
        ("bare axum handler, `{\"message\":...}`", |round| Some(round.bare)),
        ("`GET /data/censorship-index.json`", |round| Some(round.lookup)),
        ("the same, `If-None-Match`, 304", |round| Some(round.not_modified)),
        ("`POST /hydra/v1/detect`", |round| Some(round.detect)),
        ("the same, Telegram in Kenya, 2023 (real data)", |round| round.busy),
        ("`POST /v1/agent/send/encrypted`, 1 KiB", |round| Some(round.send[0])),
        ("`POST /v1/agent/send/encrypted`, 1 KiB", |round| Some(round.send[1])),
        ("`POST /v1/agent/send/encrypted`, 1 KiB", |round| Some(round.send[2])),
    ];
    for (name, pick) in series {
        // Without the real data this row is missing.
        let outcomes: Vec<Outcome> = rounds.iter().filter_map(pick).collect();
        let Some(first) = outcomes.first() else { continue };
        let cell = |outcome: &Outcome| format!("{:.0} ({} / {})", outcome.rate, outcome.p50, outcome.p99);
        let connections = first.connections.to_string();
        row(out, &[name, &connections, &outcomes.iter().map(cell).collect::<Vec<_>>().join(" | ")]);
    }
}

fn import_table(out: &mut String, imports: &Imports) {
    out.push_str(
        "\n## Imports\n\n| What | Lines | Seconds | Lines per second | Peak memory, MB |\n|---|---|---|---|---|\n",
    );
    for import in imports.made_up.iter().chain(&imports.real) {
        let peak = import.peak.map_or("-".to_owned(), |bytes| format!("{:.0}", bytes as f64 / 1e6));
        let (lines, seconds, rate) =
            (import.lines.to_string(), format!("{:.2}", import.seconds), format!("{:.0}", import.rate()));
        row(out, &[&import.name, &lines, &seconds, &rate, &peak]);
    }
    if imports.real.is_empty() {
        out.push_str("\nThe real data was not available.\n");
    }
}

const NOTES: &str = "
## How

- Closed loop over HTTP/1.1 keep-alive: each connection sends its next request when the last answer is complete.
- The server answers a send after the commit that holds it is on disk (fdatasync). Every sender authenticates with its
  agent key; nonce and signature differ from message to message, so nothing is answered as a repeat.
- Detection asks for 1,000 (country, site) pairs in turn, over 50,000 stored sessions, with a key of tier `bench`.
  The server keeps answers for the hour they are about, so most of them are computed once.
- Each import runs `heliograph import` on a new data file, and the start of the process is included. Memory is the
  peak resident size of the process.
- The access log is off and budgets are generous, so that no limiter is measured.
";
