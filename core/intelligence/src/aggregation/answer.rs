//! How an aggregation is written, as JSON and as CSV.

use http::StatusCode;
use http::header::CONTENT_DISPOSITION;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::axis::{Axis, AxisValue};
use super::count::VoteCounts;
use super::gather::{Gathered, gather};
use super::question::AggregationQuestion;
use crate::analytics::tabular::MAX_AGE;
use crate::{Error, Result};
use engine::csv;
use engine::http::{Body, Cx, Response};
use facts::licence;
use facts::source::Source;

/// What the counts are.
pub const METHOD: &str = "Counts are votes of this service, made from its rules: they are not the flags that OONI gives \
    its measurements. Each measurement counts once, at the domain or service that it set out to measure. confirmed_count: \
    it votes blocked because a known block page was recognised. anomaly_count: it votes blocked by another rule. ok_count: \
    it votes accessible. failure_count: it has no vote (the site was down, a control was missing, or the probe failed). \
    The four sum to measurement_count.";
/// What the counts leave out.
pub const LEFT_OUT: &str = "Left out: counts of days that others summed up and published. They cannot be judged or told \
    apart by domain and network.";

/// What measurements vote. The other four sum to `measurement_count`.
#[derive(Debug, Default, Clone, Copy, Serialize, JsonSchema)]
pub struct AggregationCounts {
    /// Measurements that vote blocked without a known block page.
    anomaly_count: u64,
    /// Measurements that vote blocked because a known block page was recognised.
    confirmed_count: u64,
    /// Measurements without a vote.
    failure_count: u64,
    measurement_count: u64,
    /// Measurements that vote accessible.
    ok_count: u64,
}

/// One row: its values on the axes, and its counts.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct AggregationRow {
    #[serde(flatten)]
    counts: AggregationCounts,
    /// The beginning of a span of the grain: a day, or an hour such as `2023-11-08T11:00:00Z`.
    #[serde(skip_serializing_if = "Option::is_none")]
    measurement_start_day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe_cc: Option<String>,
    /// 0 if the network is withheld.
    #[serde(skip_serializing_if = "Option::is_none")]
    probe_asn: Option<u32>,
    /// A domain, or a role of a service such as `telegram/pool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<String>,
    /// Empty if no list has the domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    category_code: Option<String>,
    /// `dns`, `tcp_ip`, `tls`, `http-failure`, `http-diff`; `unknown` if nothing tells how it is blocked, empty if it is
    /// not blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocking_type: Option<&'static str>,
    /// Empty if nothing tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    test_name: Option<String>,
}

impl AggregationRow {
    fn new(counts: &VoteCounts) -> AggregationRow {
        let counts = AggregationCounts {
            anomaly_count: counts.anomaly,
            confirmed_count: counts.confirmed,
            failure_count: counts.failure,
            measurement_count: counts.sum(),
            ok_count: counts.ok,
        };
        AggregationRow { counts, ..AggregationRow::default() }
    }

    fn set(&mut self, axis: Axis, value: &AxisValue, question: &AggregationQuestion) {
        match (axis, value) {
            (Axis::Day, AxisValue::Begin(hour)) => self.measurement_start_day = Some(question.grain.write(*hour)),
            (Axis::Network, AxisValue::Number(asn)) => self.probe_asn = Some(*asn),
            (Axis::BlockingType, AxisValue::Blocking(kind)) => self.blocking_type = Some(kind.as_str()),
            (Axis::Country, AxisValue::Text(code)) => self.probe_cc = Some(code.clone()),
            (Axis::Domain, AxisValue::Text(domain)) => self.domain = Some(domain.clone()),
            (Axis::Category, AxisValue::Text(code)) => self.category_code = Some(code.clone()),
            (Axis::TestName, AxisValue::Text(test)) => self.test_name = Some(test.clone()),
            _ => {}
        }
    }

    /// The cell of a column.
    fn cell(&self, column: &str) -> String {
        let text = |text: &Option<String>| csv::harmless(text.as_deref().unwrap_or_default()).into_owned();
        match column {
            "anomaly_count" => self.counts.anomaly_count.to_string(),
            "confirmed_count" => self.counts.confirmed_count.to_string(),
            "failure_count" => self.counts.failure_count.to_string(),
            "measurement_count" => self.counts.measurement_count.to_string(),
            "ok_count" => self.counts.ok_count.to_string(),
            "measurement_start_day" => text(&self.measurement_start_day),
            "probe_cc" => text(&self.probe_cc),
            "probe_asn" => self.probe_asn.unwrap_or_default().to_string(),
            "domain" => text(&self.domain),
            "category_code" => text(&self.category_code),
            "test_name" => text(&self.test_name),
            _ => self.blocking_type.unwrap_or_default().to_owned(),
        }
    }
}

/// Counts without axes, else a list of rows.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum AggregationResult {
    One(AggregationCounts),
    Many(Vec<AggregationRow>),
}

/// What an answer took.
#[derive(Debug, Serialize, JsonSchema)]
struct DbStats {
    /// Measurements that were read.
    row_count: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AggregationBody {
    /// 0
    v: u8,
    /// Number of axes.
    dimension_count: usize,
    result: AggregationResult,
    db_stats: DbStats,
    /// The first moment of the range, and the first after it.
    since: String,
    until: String,
    /// The grain of `measurement_start_day`: `hour`, `day`, `week` (from Sunday on), `month` or `year`.
    time_grain: &'static str,
    /// What the counts are.
    method: &'static str,
    /// What they leave out.
    left_out: &'static str,
    license: String,
}

pub async fn aggregation(cx: Cx) -> Result<Response> {
    let question = AggregationQuestion::read(&cx).await?;
    let gathered = gather(&cx, &question).await?;
    let license = license(&cx, &gathered);
    let rows = rows(&question, &gathered);
    let response = match question.csv {
        // The columns are those of the interface that this one follows, so what every other table says in a column of its
        // own is in a header.
        true => {
            Response::new(StatusCode::OK, "text/csv; charset=utf-8", text(&question, &rows)).with("x-license", &license)
        }
        false => Response::json(&body(&question, rows, gathered.read, license))?,
    };
    let response = match question.download {
        true => {
            let extension = if question.csv { "csv" } else { "json" };
            response.with(CONTENT_DISPOSITION, &format!("attachment; filename=\"aggregation.{extension}\""))
        }
        false => response,
    };
    cx.tagged(response, MAX_AGE)
}

/// The licence under which the sources of an answer may be used.
pub fn license(cx: &Cx, gathered: &Gathered) -> String {
    let sources = gathered.sources.iter().filter_map(|code| Source::from_code(*code));
    let licences: Vec<&str> = sources.map(|source| source.licence_under(cx.settings())).collect();
    licence::effective(licences)
}

/// The rows of an answer; without axes there is always one.
fn rows(question: &AggregationQuestion, gathered: &Gathered) -> Vec<AggregationRow> {
    let row = |(key, counts): (&Vec<AxisValue>, &VoteCounts)| {
        let mut row = AggregationRow::new(counts);
        question.axes.iter().zip(key).for_each(|(axis, value)| row.set(*axis, value, question));
        row
    };
    let mut rows: Vec<AggregationRow> = gathered.rows.iter().map(row).collect();
    if question.axes.is_empty() && rows.is_empty() {
        rows.push(AggregationRow::default());
    }
    rows
}

fn body(question: &AggregationQuestion, mut rows: Vec<AggregationRow>, read: u64, license: String) -> AggregationBody {
    AggregationBody {
        v: 0,
        dimension_count: question.axes.len(),
        result: match question.axes.is_empty() {
            true => AggregationResult::One(rows.pop().unwrap_or_default().counts),
            false => AggregationResult::Many(rows),
        },
        db_stats: DbStats { row_count: read },
        since: question.range.since().to_string(),
        until: question.range.until().to_string(),
        time_grain: question.grain.as_str(),
        method: METHOD,
        left_out: LEFT_OUT,
        license,
    }
}

/// The table: all columns in the order of their names.
fn text(question: &AggregationQuestion, rows: &[AggregationRow]) -> Vec<u8> {
    let counts = ["anomaly_count", "confirmed_count", "failure_count", "measurement_count", "ok_count"];
    let mut columns: Vec<&str> = counts.into_iter().chain(question.axes.iter().map(|axis| axis.as_str())).collect();
    columns.sort_unstable();
    let mut out = Vec::new();
    csv::record(&mut out, &columns);
    for row in rows {
        csv::record(&mut out, columns.iter().map(|column| row.cell(column)));
    }
    out
}

/// Adds to an error what clients of this interface read: `msg` says what `message` says.
pub fn dress(response: &mut Response, _: &str) {
    if response.status.is_success() || response.status == StatusCode::NOT_MODIFIED {
        return;
    }
    let Body::Bytes(bytes) = &response.body else { return };
    let Ok(Value::Object(mut body)) = serde_json::from_slice(bytes) else { return };
    body.insert("msg".into(), body.get("message").cloned().unwrap_or(Value::Null));
    body.insert("v".into(), 0.into());
    // What was read as JSON can be written.
    if let Ok(bytes) = serde_json::to_vec(&body).map_err(Error::internal) {
        response.body = Body::Bytes(bytes.into());
    }
}
