//! `heliograph evaluate`: measures how well the classifier does on labelled measurements (decision labels-and-bars).
//!
//! A label is a JSON object with `label`, `superseded_by` and the raw document as `measurement`, one a line or in a
//! list `labels`. Only rows with a document can be judged; all others are counted by the reason why not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::args::{Common, Evaluate};
use super::classify::{self, Batch, Documents};
use super::client::Client;
use crate::evaluate::{Case, ClassifierAnswer, Evaluation, Share, evaluate};
use crate::files::Tried;

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Report {
    files: usize,
    rows: u64,
    /// Rows that were not judged, by reason.
    skipped: BTreeMap<String, u64>,
    /// Judged rows by label.
    by_label: BTreeMap<&'static str, u64>,
    classifier: Option<String>,
    #[serde(flatten)]
    evaluation: Evaluation,
}

pub fn run(common: &Common, command: &Evaluate) -> Result<(), String> {
    if command.world {
        return super::world::run(common, command);
    }
    let (client, _folder) = classify::open(common)?;
    let mut found = EvaluationTally::default();
    for file in &command.files {
        one_file(&client, file, &mut found).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    if found.rows == 0 {
        return Err("nothing could be read".to_owned());
    }
    if found.cases.is_empty() {
        // Labels without documents are no error of the caller: there are too few labels (decision labels-and-bars).
        eprintln!("no row can be judged. {FORM}");
    }
    let report = Report {
        files: command.files.len(),
        rows: found.rows,
        skipped: found.skipped,
        by_label: found.by_label,
        classifier: found.classifier,
        evaluation: evaluate(&found.cases),
    };
    if command.json {
        say!("{}", serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?);
    } else {
        print(&report);
    }
    Ok(())
}

/// The format of a file of labels, for a caller who gave another one.
const FORM: &str = "Labels are JSON objects, one a line or in a list `labels`, with `label` (blocked, down or ok) and the raw document as \
    `measurement`.";

/// The rows so far, and the results of those that were judged.
#[derive(Default)]
struct EvaluationTally {
    rows: u64,
    skipped: BTreeMap<String, u64>,
    by_label: BTreeMap<&'static str, u64>,
    classifier: Option<String>,
    cases: Vec<Case>,
    /// Ids of labels so far, so that a repeat counts once.
    ids: BTreeSet<String>,
}

/// The label and the document of a row, or the reason why it cannot be judged.
fn read(row: Value) -> Result<(&'static str, Option<String>, Value), &'static str> {
    let Value::Object(mut row) = row else { return Err("no_label") };
    let label = match row.get("label").and_then(Value::as_str) {
        Some("blocked") => "blocked",
        Some("down") => "down",
        Some("ok") => "ok",
        Some("unadjudicated") => return Err("unadjudicated"),
        Some("unusable") => return Err("unusable"),
        _ => return Err("no_label"),
    };
    let id = match row.get("label_id") {
        Some(Value::String(id)) => Some(id.clone()),
        Some(Value::Number(id)) => Some(id.to_string()),
        _ => None,
    };
    match row.remove("measurement").filter(Value::is_object) {
        Some(document) => Ok((label, id, document)),
        None => Err("no_measurement"),
    }
}

/// True if a later label replaces this one.
fn superseded(row: &Value) -> bool {
    match row.get("superseded_by") {
        None | Some(Value::Null) => false,
        Some(Value::String(by)) => !by.is_empty(),
        Some(_) => true,
    }
}

fn one_file(client: &Client, file: &Path, found: &mut EvaluationTally) -> Result<(), String> {
    let why = |error: std::io::Error| Tried::Read.why(file, &error);
    let mut rows = Documents::open(file).map_err(why)?;
    let mut batch = Batch::default();
    let strange =
        |found: &EvaluationTally| ["no_json", "no_label"].iter().filter_map(|r| found.skipped.get(*r)).sum::<u64>();
    let (rows_before, strange_before) = (found.rows, strange(found));
    while let Some(row) = rows.next().map_err(why)? {
        for row in labels(row) {
            one_row(client, row, &mut batch, found)?;
        }
    }
    batch.send(client, &mut |result| found.judged(result))?;
    let rows = found.rows - rows_before;
    if rows > 0 && strange(found) - strange_before == rows {
        return Err(format!("none of its {rows} rows is a label. {FORM}"));
    }
    Ok(())
}

/// The labels of a row: the row itself, or its list `labels`, as in exports of a whole set.
fn labels(row: Option<Value>) -> Vec<Option<Value>> {
    match row {
        Some(Value::Object(mut row)) if row.get("labels").is_some_and(Value::is_array) => match row.remove("labels") {
            Some(Value::Array(labels)) => labels.into_iter().map(Some).collect(),
            _ => Vec::new(),
        },
        row => vec![row],
    }
}

/// Reads one label; `None` is a row that is not JSON.
fn one_row(client: &Client, row: Option<Value>, batch: &mut Batch, found: &mut EvaluationTally) -> Result<(), String> {
    found.rows += 1;
    let read = match row {
        None => Err("no_json"),
        Some(row) if superseded(&row) => Err("superseded"),
        Some(row) => read(row),
    };
    match read {
        Ok((_, Some(id), _)) if !found.ids.insert(id.clone()) => found.skip("repeated"),
        Ok((label, _, document)) => {
            batch.add(client, document, json!({ "truth": label }), &mut |result| found.judged(result))?;
        }
        Err(reason) => found.skip(reason),
    }
    Ok(())
}

impl EvaluationTally {
    /// Counts a row that is not judged.
    fn skip(&mut self, reason: &str) {
        *self.skipped.entry(reason.to_owned()).or_default() += 1;
    }

    /// Counts the classifier's result for a labelled document.
    fn judged(&mut self, result: &Value) -> Result<(), String> {
        let text = |name: &str| result.get(name).and_then(Value::as_str);
        let truth = match text("truth") {
            Some("blocked") => "blocked",
            Some("down") => "down",
            _ => "ok",
        };
        let said = match text("label") {
            Some("blocked") => ClassifierAnswer::Blocked,
            Some("accessible" | "down") => ClassifierAnswer::NotBlocked,
            _ => ClassifierAnswer::Unknown,
        };
        let Some(probability) = result.get("probability").and_then(Value::as_f64) else {
            self.skip(text("reason").unwrap_or("not_judged"));
            return Ok(());
        };
        *self.by_label.entry(truth).or_default() += 1;
        self.classifier = text("model_version").map(str::to_owned);
        self.cases.push(Case { blocked: truth == "blocked", said, probability });
        Ok(())
    }
}

fn print(report: &Report) {
    let found = &report.evaluation;
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    say!("rows         {:>10}", report.rows);
    say!("judged       {:>10}  by {}", found.labels, report.classifier.as_deref().unwrap_or("nothing"));
    for (label, count) in &report.by_label {
        say!("  {count:>10}  {label}");
    }
    for (reason, count) in &report.skipped {
        say!("  {count:>10}  skipped: {reason}");
    }
    say!("Brier        {:>10}  skill {}", number(found.brier), number(found.brier_skill));
    say!("ECE          {:>10}  ten bins of equal mass", number(found.ece));
    let share = |name: &str, share: &Share| {
        let Share { hits, of, low, high, .. } = share;
        say!("{name:<12} {:>10}  {hits} of {of}, 95% interval {low:.4} to {high:.4}", number(share.point));
    };
    share("sensitivity", &found.sensitivity);
    share("specificity", &found.specificity);
    share("abstention", &found.abstention);
    say!("\n{:>8} {:>17} {:>8} {:>8}", "cases", "probability", "mean", "observed");
    for bin in &found.reliability {
        let (from, to) = (bin.from, bin.to);
        say!("{:>8} {from:>8.4} {to:>8.4} {:>8.4} {:>8.4}", bin.cases, bin.mean_probability, bin.observed);
    }
    say!();
    for bar in &found.bars {
        let met = bar.met.map_or("-", |met| if met { "met" } else { "not met" });
        say!("bar {:<12} {:>6}  {met}", bar.name, bar.goal);
    }
    say!("{}", found.result);
}
