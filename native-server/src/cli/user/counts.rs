//! `heliograph aggregate`: counts of measurements.

use heliograph_client::Error;
use heliograph_client::data::Counting;
use heliograph_client::data::answers::Aggregation;
use serde_json::Value;

use super::ask;
use super::data::country_code;
use super::output::{Fields, minute};
use crate::cli::args::user::{AXES, Aggregate, Form};
use crate::cli::exit::Failure;

/// The counts of a row, each with its name in the interface.
const COUNTS: [(&str, &str); 5] = [
    ("measured", "measurement_count"),
    ("ok", "ok_count"),
    ("anomaly", "anomaly_count"),
    ("confirmed", "confirmed_count"),
    ("failure", "failure_count"),
];

/// How refusals name what was asked, and the flag that asked it.
const FLAGS: [(&str, &str); 8] = [
    ("`probe_cc`", "--country"),
    ("`domain`", "--domain"),
    ("`probe_asn`", "--network"),
    ("`category_code`", "--category"),
    ("`test_name`", "--test"),
    ("`since`", "--since"),
    ("`until`", "--until"),
    ("`time_grain`", "--grain"),
];

/// The grain where none is named. The service would take hours for a range of a few days.
const GRAIN: &str = "day";

pub fn aggregate(wanted: &Aggregate) -> Result<(), Failure> {
    let form = wanted.ask.form;
    match wanted.by.as_slice() {
        [_, _, _, ..] => return Err(Failure::usage("--by may be given twice, not more often")),
        [one, two] if one == two => return Err(Failure::usage("the two --by must differ")),
        _ => {}
    }
    ask::run(&wanted.ask, |asked| async move {
        let answer = asked.client.aggregate(&counting(wanted)).await.map_err(in_flags)?;
        if form.json {
            return form.one(&answer, "", &Vec::new());
        }
        table(wanted, &answer)?;
        if form.is_for_people() {
            say!();
            form.one(&answer, "", &about(&answer))?;
        }
        Ok(())
    })
}

fn counting(wanted: &Aggregate) -> Counting {
    let axis = |name: &String| AXES.iter().find(|(axis, _)| axis == name).map(|(_, wire)| (*wire).to_owned());
    let by_day = wanted.by.iter().any(|name| name == "day");
    Counting {
        countries: wanted.country.as_deref().map(country_code),
        domains: wanted.domain.clone(),
        networks: wanted.network.clone(),
        category: wanted.category.clone(),
        test_name: wanted.test.clone(),
        since: wanted.since.clone(),
        until: wanted.until.clone(),
        grain: wanted.grain.clone().or_else(|| by_day.then(|| GRAIN.to_owned())),
        axis_x: wanted.by.first().and_then(axis),
        axis_y: wanted.by.get(1).and_then(axis),
    }
}

/// A refusal names the parameters of the interface; whoever asks here knows the flags.
fn in_flags(mut error: Error) -> Error {
    if let Error::Refused(refusal) = &mut error {
        let message = std::mem::take(&mut refusal.message);
        refusal.message = FLAGS.iter().fold(message, |message, (name, flag)| message.replace(name, flag));
    }
    error
}

fn table(wanted: &Aggregate, answer: &Aggregation) -> Result<(), Failure> {
    let form = wanted.ask.form;
    // A table looks cells up by the names of the interface.
    let rows = match serde_json::to_value(&answer.result).unwrap_or_default() {
        Value::Array(rows) => rows,
        one => vec![one],
    };
    let axes = wanted.by.iter().filter_map(|name| AXES.iter().find(|(axis, _)| axis == name));
    let columns: Vec<(&str, &str)> = axes.chain(&COUNTS).copied().collect();
    // Programs get the names of the interface.
    let heads: Vec<&str> = columns.iter().map(|(name, wire)| if form.csv { *wire } else { *name }).collect();
    form.list(&rows, &heads, "Nobody measured that.", |row| {
        columns.iter().map(|(name, wire)| cell(form, name, &row[*wire])).collect()
    })
}

/// A value of a row as people write it.
fn cell(form: Form, name: &str, value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    match name {
        _ if form.csv => text,
        "network" if text.bytes().all(|byte| byte.is_ascii_digit()) => format!("AS{text}"),
        "day" => minute(text.strip_suffix("T00:00:00Z").unwrap_or(&text)),
        _ => text,
    }
}

/// What the counts are, for whoever passes them on.
fn about(answer: &Aggregation) -> Fields {
    vec![
        ("range", format!("{} to {} (UTC)", minute(&answer.since), minute(&answer.until))),
        ("license", answer.license.clone()),
        ("method", answer.method.clone()),
        ("left out", answer.left_out.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use heliograph_client::{Code, Refusal};

    use super::*;

    #[test]
    fn refusals_name_the_flags() {
        let message = "`probe_cc` takes ISO 3166-1 codes; name a domain (`domain`) or another `time_grain`.".to_owned();
        let refusal = Refusal { status: 400, code: Code::BadRequest, reason: None, message, retry_after: None };
        let said = in_flags(Error::Refused(Box::new(refusal))).to_string();
        assert!(said.contains("--country takes") && said.contains("(--domain) or another --grain."), "{said}");
        assert_eq!(in_flags(Error::Random), Error::Random);
    }
}
