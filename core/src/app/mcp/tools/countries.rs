//! `country` and `forecast`: what is blocked in a country, and what may come there.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::input::{Arguments, Input, Kind};
use super::told::{Told, joined, list, number, picked, shorten, text};
use super::{Tool, run};
use crate::app::mcp::asking::{Asking, Refusal, With};
use crate::engine::http::{encoded, query};

const COUNTRY: Input = Input::required("country", Kind::Country, "ISO 3166-1 alpha-2, such as KE.");

pub const TOOLS: &[Tool] = &[
    Tool {
        name: "country",
        title: "A country",
        about: "What is blocked in a country: score (0 to 100, higher is worse), sites, services, active incidents.",
        inputs: &[
            COUNTRY,
            Input::optional(
                "as_of",
                Kind::Text(40),
                "ISO 8601: the answer as of that time; a day stands for its end; default now.",
            ),
        ],
        for_agents: false,
        only_reads: true,
        run: run!(country),
    },
    Tool {
        name: "forecast",
        title: "Forecast of shutdowns",
        about: "The risk (0 to 1) that an internet shutdown begins in a country in the next seven days, and why.",
        inputs: &[COUNTRY],
        for_agents: false,
        only_reads: true,
        run: run!(forecast),
    },
];

/// Most sites, services and incidents of a country.
const SITES: usize = 10;
const INCIDENTS: usize = 5;

async fn country(asking: &Asking<'_>, arguments: &Arguments) -> Result<Told, Refusal> {
    let path = format!("/data/country/{}", encoded(&arguments.country("country").unwrap_or_default()));
    let asked = query(&[("as_of", arguments.optional("as_of"))]);
    let answer = asking.get(&path, &asked, With::Nothing).await?;
    let none = Value::Null;
    let data = answer.get("data").unwrap_or(&none);
    let mut members = picked(
        data,
        &[
            "country",
            "score",
            "grade",
            "level",
            "rank",
            "status",
            "domains",
            "domainsBlocked",
            "networks",
            "blockedDomains",
            "affectedServices",
            "topMethods",
            "listedCount",
            "lastChecked",
            "activeIncidents",
        ],
    );
    for (name, most) in [("blockedDomains", SITES), ("affectedServices", SITES), ("activeIncidents", INCIDENTS)] {
        shorten(&mut members, name, most);
    }
    members.extend(picked(&answer, &["reason", "staleSince", "as_of"]));
    Ok(Told::new(about_country(&answer, data), members).cited(&asking.address(&path, &asked)))
}

fn about_country(answer: &Value, data: &Value) -> String {
    let count = |name: &str| data.get(name).and_then(Value::as_u64).unwrap_or_default();
    let mut said = format!("{}: ", text(data, "country"));
    match number(data, "score") {
        Some(score) => {
            let grade = text(data, "grade");
            let _ = write!(said, "score {score} of 100 (grade {grade}), status {}.", text(data, "status"));
        }
        None => {
            let _ = write!(said, "no score, status {}.", text(data, "status"));
        }
    }
    let reason = text(answer, "reason");
    if !reason.is_empty() {
        let _ = write!(said, " {}.", reason.trim_end_matches('.'));
    }
    let _ = write!(
        said,
        " {} of {} measured sites are blocked, on {} networks.",
        count("domainsBlocked"),
        count("domains"),
        count("networks")
    );
    for (words, name) in [("Blocked", "blockedDomains"), ("Services", "affectedServices"), ("Methods", "topMethods")] {
        let names = joined(data, name, SITES);
        if !names.is_empty() {
            let _ = write!(said, " {words}: {names}.");
        }
    }
    if count("listedCount") > 0 {
        let _ = write!(said, " Lists and documented facts name {} more.", count("listedCount"));
    }
    for incident in list(data, "activeIncidents").iter().take(INCIDENTS) {
        let _ = write!(
            said,
            "\nActive: {} {} ({}).",
            text(incident, "id"),
            text(incident, "title"),
            text(incident, "severity")
        );
    }
    said
}

async fn forecast(asking: &Asking<'_>, arguments: &Arguments) -> Result<Told, Refusal> {
    let path = format!("/v1/forecast/{}/7day", encoded(&arguments.country("country").unwrap_or_default()));
    let answer = asking.get(&path, "", With::Nothing).await?;
    let none = Value::Null;
    let summary = answer.get("summary").unwrap_or(&none);
    let days = list(&answer, "forecast");
    let highest = summary.get("max_risk_day").and_then(Value::as_u64).unwrap_or_default();
    let date = days.iter().find(|day| day.get("day").and_then(Value::as_u64) == Some(highest));
    let figure = |from: &Value, name: &str| number(from, name).unwrap_or_else(|| "unknown".to_owned());
    let mut said = format!(
        "Risk that a shutdown begins in {} within seven days: {}; highest on {} ({}). Confidence {}.",
        text(&answer, "country_name"),
        figure(summary, "risk_7day"),
        date.map_or("no day", |day| text(day, "date")),
        figure(summary, "max_risk"),
        figure(&answer, "confidence")
    );
    let drivers = joined(summary, "key_drivers", SITES);
    if !drivers.is_empty() {
        let _ = write!(said, " Drivers: {drivers}.");
    }
    for caveat in list(&answer, "caveats").iter().filter_map(Value::as_str) {
        let _ = write!(said, " {caveat}");
    }
    let mut members: Map<String, Value> =
        picked(&answer, &["country", "country_name", "confidence", "history_until", "model_version", "caveats"]);
    members.extend(picked(summary, &["risk_7day", "max_risk", "max_risk_day", "avg_risk", "key_drivers"]));
    let days: Vec<_> = days.iter().map(|day| picked(day, &["date", "risk"])).collect();
    members.insert("days".into(), json!(days));
    Ok(Told::new(said, members).cited(&asking.address(&path, "")))
}
