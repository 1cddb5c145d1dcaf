//! `aggregate`: counts of measurements over any range of time.

use serde_json::{Map, Value, json};

use super::input::{Arguments, Input, Kind};
use super::told::{Told, picked, shorten, text};
use super::{Tool, run};
use crate::app::mcp::asking::{Asking, Refusal, With};
use crate::engine::http::query;

/// Most rows of one answer; those with the most measurements, where there are more.
const ROWS: usize = 30;
/// Most rows that the text has.
const LINES: usize = 10;

const AXES: Kind = Kind::OneOf(&[
    "measurement_start_day",
    "probe_cc",
    "probe_asn",
    "domain",
    "category_code",
    "blocking_type",
    "test_name",
]);

pub const TOOLS: &[Tool] = &[Tool {
    name: "aggregate",
    title: "Count measurements",
    about: "Counts of measurements by their votes, over any time, along up to two axes. Needs a country or a domain.",
    inputs: &[
        Input::optional("probe_cc", Kind::List(&Kind::Country, 1, 20), "Countries."),
        Input::optional("domain", Kind::List(&Kind::Text(253), 1, 20), "Domains or services."),
        Input::optional("probe_asn", Kind::List(&Kind::Text(16), 1, 20), "Networks, such as AS33771."),
        Input::optional("since", Kind::Text(40), "A day, included; default half a year ago."),
        Input::optional("until", Kind::Text(40), "A day, not included; default now."),
        Input::optional("axis_x", AXES, "What rows stand for; without it one row."),
        Input::optional("axis_y", AXES, "A second axis."),
        Input::optional("time_grain", Kind::OneOf(&["hour", "day", "week", "month", "year", "auto"]), "Default auto."),
    ],
    for_agents: false,
    only_reads: true,
    run: run!(aggregate),
}];

const PATH: &str = "/api/v1/aggregation";
const COUNTS: [&str; 5] = ["measurement_count", "ok_count", "confirmed_count", "anomaly_count", "failure_count"];

async fn aggregate(asking: &Asking<'_>, arguments: &Arguments) -> Result<Told, Refusal> {
    let joined = |name: &str| Some(arguments.list(name).join(",")).filter(|list| !list.is_empty());
    let countries = joined("probe_cc").map(|list| list.to_ascii_uppercase());
    let (domains, networks) = (joined("domain"), joined("probe_asn"));
    let asked = query(&[
        ("probe_cc", countries.as_deref()),
        ("domain", domains.as_deref()),
        ("probe_asn", networks.as_deref()),
        ("since", arguments.optional("since")),
        ("until", arguments.optional("until")),
        ("axis_x", arguments.optional("axis_x")),
        ("axis_y", arguments.optional("axis_y")),
        ("time_grain", arguments.optional("time_grain")),
    ]);
    let answer = asking.get(PATH, &asked, With::Nothing).await?;
    let mut rows = match answer.get("result") {
        Some(Value::Array(rows)) => rows.clone(),
        Some(row) => vec![row.clone()],
        None => Vec::new(),
    };
    let sums = COUNTS.map(|name| (name, rows.iter().map(|row| count(row, name)).sum::<u64>()));
    let mut said = format!("{} to {}: {}.", text(&answer, "since"), text(&answer, "until"), counts(&sums));
    // The order of the answer says something; what is left out should say little.
    let fewest = least_of(&rows);
    rows.retain(|row| count(row, "measurement_count") >= fewest);
    let left_out = match answer.get("result") {
        Some(Value::Array(all)) => all.len().saturating_sub(rows.len().min(ROWS)),
        _ => 0,
    };
    let axes: Vec<&str> = ["axis_x", "axis_y"].iter().filter_map(|name| arguments.optional(name)).collect();
    for row in rows.iter().take(LINES).filter(|_| !axes.is_empty()) {
        let place: Vec<String> = axes.iter().map(|axis| written(row.get(*axis))).collect();
        let figures = COUNTS.map(|name| (name, count(row, name)));
        said += &format!("\n{}: {}.", place.join(", "), counts(&figures));
    }
    let mut members = picked(&answer, &["since", "until", "time_grain", "license"]);
    members.extend(sums.iter().map(|(name, sum)| ((*name).to_owned(), json!(sum))));
    if !axes.is_empty() {
        let mut list = Map::from_iter([("rows".to_owned(), Value::Array(rows))]);
        shorten(&mut list, "rows", ROWS);
        if left_out > 0 {
            list.insert("rowsLeftOut".into(), json!(left_out));
            said += &format!("\n{left_out} rows with the fewest measurements are left out; all are at the address.");
        }
        members.extend(list);
    }
    said += " The counts are votes of this service, not flags of OONI.";
    Ok(Told::new(said, members).cited(&asking.address(PATH, &asked)))
}

fn count(row: &Value, name: &str) -> u64 {
    row.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// The number of measurements below which rows are left out.
fn least_of(rows: &[Value]) -> u64 {
    let mut sizes: Vec<u64> = rows.iter().map(|row| count(row, "measurement_count")).collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    sizes.get(ROWS.saturating_sub(1)).copied().unwrap_or_default()
}

/// "120 measurements: 80 ok, 30 confirmed, 5 anomaly, 5 failure".
fn counts(figures: &[(&str, u64); 5]) -> String {
    let [(_, all), (_, ok), (_, confirmed), (_, anomaly), (_, failure)] = figures;
    format!(
        "{all} measurements, of which {ok} reached the site, {confirmed} met a known block page, {anomaly} were blocked \
         otherwise, {failure} say nothing"
    )
}

fn written(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) if text.is_empty() => "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_rows_are_kept_in_their_order() {
        let rows: Vec<Value> = (0..40).map(|number| json!({ "measurement_count": number % 8 })).collect();
        let fewest = least_of(&rows);
        assert_eq!(fewest, 2);
        assert_eq!(least_of(&rows[..5]), 0);
    }
}
