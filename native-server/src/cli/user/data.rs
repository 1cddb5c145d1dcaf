//! `heliograph check`, `country`, `claim` and `aggregate`.

use heliograph_client::data::Counting;
use heliograph_client::data::answers::{Check as Checked, ClaimEvidence};
use serde_json::Value;

use super::ask;
use super::output::{Fields, minute};
use crate::cli::args::user::{AXES, Aggregate, Check, Claim, Country};
use crate::cli::exit::{BLOCKED, Failure, NOT_KNOWN};

pub fn check(check: &Check) -> Result<(), Failure> {
    let form = check.ask.form;
    if let ([first], true) = (check.targets.as_slice(), check.country.len() > 2)
        && first.len() == 2
    {
        let text = format!("the country comes last: heliograph check {} {first}", check.country);
        return Err(Failure::usage(text));
    }
    ask::run(&check.ask, |asked| async move {
        let country = country_code(&check.country);
        let mut answers = Vec::with_capacity(check.targets.len());
        for target in &check.targets {
            answers.push(asked.client.check(target, &country, check.as_of.as_deref()).await?);
        }
        match answers.as_slice() {
            [answer] => form.one(answer, &answer.summary, &fields(answer))?,
            several => {
                let heads: Vec<&str> =
                    several.first().map(row).unwrap_or_default().iter().map(|(head, _)| *head).collect();
                form.list(several, &heads, "", |answer| row(answer).into_iter().map(|(_, value)| value).collect())?;
            }
        }
        if !check.exit_code {
            return Ok(());
        }
        let any = |wanted: &str| answers.iter().any(|answer| answer.status == wanted);
        match () {
            () if any("blocked") => Err(Failure::silent(BLOCKED)),
            () if answers.iter().all(|answer| answer.status == "accessible") => Ok(()),
            () => Err(Failure::silent(NOT_KNOWN)),
        }
    })
}

/// Countries are written in capitals; people write them as they like.
pub fn country_code(text: &str) -> String {
    text.trim().to_uppercase()
}

/// An answer in a table of answers.
fn row(answer: &Checked) -> Fields {
    // Where nobody ever measured, the answer has the time of the question.
    let ever = answer.basis != "unmeasured" || answer.stale_since.is_some();
    vec![
        ("target", answer.domain.clone()),
        ("country", answer.country.clone()),
        ("status", answer.status.clone()),
        ("confidence", format!("{:.2}", answer.confidence)),
        ("basis", answer.basis.clone()),
        ("networks blocked", answer.networks_blocked.to_string()),
        ("networks tested", answer.networks_tested.to_string()),
        ("samples", answer.samples.to_string()),
        ("last checked", if ever { minute(&answer.last_checked) } else { String::new() }),
    ]
}

/// An answer by itself.
pub fn fields(answer: &Checked) -> Fields {
    let mut fields = row(answer);
    fields.extend([
        ("method", answer.methods.join(", ")),
        ("as of", answer.as_of.clone().unwrap_or_default()),
        ("latest incident", answer.latest_incident.as_ref().map(|lead| lead.id.clone()).unwrap_or_default()),
        ("sources", answer.sources.join(", ")),
        ("license", answer.license.clone()),
    ]);
    fields
}

pub fn country(country: &Country) -> Result<(), Failure> {
    let form = country.ask.form;
    ask::run(&country.ask, |asked| async move {
        let answer = asked.client.country(&country_code(&country.country), country.as_of.as_deref()).await?;
        let ids: Vec<&str> = answer.active_incidents.iter().map(|incident| incident.id.as_str()).collect();
        let mut fields = vec![
            ("country", answer.country.clone()),
            ("name", answer.name.clone()),
            ("score", answer.score.map(|score| score.to_string()).unwrap_or_default()),
            ("status", answer.status.clone()),
            ("last checked", minute(answer.last_checked.as_deref().unwrap_or_default())),
            ("stale since", minute(answer.stale_since.as_deref().unwrap_or_default())),
            ("active incidents", ids.join(" ")),
            ("license", answer.effective_license.clone()),
        ];
        if !form.is_for_people() {
            return form.one(&answer, "", &fields);
        }
        fields.retain(|(name, _)| *name != "active incidents");
        form.one(&answer, "", &fields)?;
        say!();
        form.list(
            &answer.active_incidents,
            &["incident", "type", "severity", "title"],
            "No incident is active.",
            |row| vec![row.id.clone(), row.kind.clone(), row.severity.clone(), row.title.clone()],
        )
    })
}

pub fn claim(claim: &Claim) -> Result<(), Failure> {
    let form = claim.ask.form;
    ask::run(&claim.ask, |asked| async move {
        let answer = asked.client.verify_claim(&claim.words.join(" ")).await?;
        let ids: Vec<&str> = answer.incidents.iter().map(|incident| incident.id.as_str()).collect();
        let fields = vec![
            ("verdict", answer.verdict.clone()),
            ("confidence", format!("{:.2}", answer.confidence)),
            ("not checked", answer.unchecked.join("; ")),
            ("incidents", ids.join(" ")),
            ("cite as", answer.citation.clone().unwrap_or_default()),
            ("license", answer.license.clone()),
        ];
        if form.csv {
            let reason = [("reason", answer.reason.clone())];
            return form.one(&answer, "", &fields.into_iter().chain(reason).collect());
        }
        form.one(&answer, &answer.reason, &fields)?;
        let evidence = answer.evidence.as_deref().unwrap_or_default();
        if form.json || evidence.is_empty() {
            return Ok(());
        }
        say!();
        form.list(evidence, &["observed", "source", "what"], "", |row: &ClaimEvidence| {
            vec![minute(&row.observed_at), row.source.clone(), row.claim.clone()]
        })
    })
}

/// The counts of a row, each with its name in the interface.
const COUNTS: [(&str, &str); 5] = [
    ("measured", "measurement_count"),
    ("ok", "ok_count"),
    ("anomaly", "anomaly_count"),
    ("confirmed", "confirmed_count"),
    ("failure", "failure_count"),
];

pub fn aggregate(wanted: &Aggregate) -> Result<(), Failure> {
    let form = wanted.ask.form;
    let axis = |name: &String| AXES.iter().find(|(axis, _)| axis == name).map(|(_, wire)| (*wire).to_owned());
    if wanted.by.len() > 2 {
        return Err(Failure::usage("--by may be given twice, not more often"));
    }
    ask::run(&wanted.ask, |asked| async move {
        let counting = Counting {
            countries: wanted.country.as_deref().map(country_code),
            domains: wanted.domain.clone(),
            networks: wanted.network.clone(),
            category: wanted.category.clone(),
            test_name: wanted.test.clone(),
            since: wanted.since.clone(),
            until: wanted.until.clone(),
            grain: wanted.grain.clone(),
            axis_x: wanted.by.first().and_then(axis),
            axis_y: wanted.by.get(1).and_then(axis),
        };
        let answer = asked.client.aggregate(&counting).await?;
        let rows = match answer.result {
            Value::Array(rows) => rows,
            Value::Null => Vec::new(),
            one => vec![one],
        };
        let axes = wanted.by.iter().filter_map(|name| AXES.iter().find(|(axis, _)| axis == name));
        let columns: Vec<(&str, &str)> = axes.chain(&COUNTS).copied().collect();
        // Programs get the names of the interface.
        let heads: Vec<&str> = columns.iter().map(|(name, wire)| if form.csv { *wire } else { *name }).collect();
        form.list(&rows, &heads, "Nobody measured that.", |row| {
            let cell = |(name, wire): &(&str, &str)| match (*name, plain(&row[*wire])) {
                ("network", number) if !form.csv && number.bytes().all(|byte| byte.is_ascii_digit()) => {
                    format!("AS{number}")
                }
                ("day", time) if !form.csv => minute(time.strip_suffix("T00:00:00Z").unwrap_or(&time)),
                (_, text) => text,
            };
            columns.iter().map(cell).collect()
        })
    })
}

/// A value of a row as people write it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
