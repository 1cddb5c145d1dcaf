//! `incidents`, `incident`, `search` and `claim`: shutdowns and blocks that happened, and what is said of them.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::input::{Arguments, Input, Kind};
use super::told::{Told, joined, list, number, picked, shorten, text};
use super::{Tool, run};
use crate::app::mcp::asking::{Asking, Refusal, With};
use crate::engine::http::{encoded, query};

const COUNTRY: Input = Input::optional("country", Kind::Country, "ISO 3166-1 alpha-2.");
const MOMENT: Kind = Kind::Text(40);
/// Most incidents that one answer has.
const MOST: u32 = 20;
const FEW: u64 = 5;

pub const TOOLS: &[Tool] = &[
    Tool {
        name: "incidents",
        title: "Incidents",
        about: "Shutdowns and blocks, newest first, each with an id for `incident`.",
        inputs: &[
            COUNTRY,
            Input::optional("domain", Kind::Text(2_000), "A domain; those of a platform mean the platform."),
            Input::optional(
                "status",
                Kind::OneOf(&["active", "resolved", "suspected", "confirmed"]),
                "`confirmed`: all but suspected ones.",
            ),
            Input::optional("severity", Kind::OneOf(&["low", "medium", "high", "critical"]), "At least this."),
            Input::optional("since", MOMENT, "ISO 8601: still going on then, or begun later."),
            Input::optional("until", MOMENT, "ISO 8601: begun by then."),
            Input::optional("limit", Kind::Number(1, MOST), "Default 5."),
            Input::optional("offset", Kind::Number(0, 1_000_000), "How many to skip."),
        ],
        for_agents: false,
        only_reads: true,
        run: run!(incidents),
    },
    Tool {
        name: "incident",
        title: "One incident",
        about: "One incident: when, where, how, on which networks, evidence, and what is not known.",
        inputs: &[Input::required("id", Kind::Text(64), "Such as KE-2023-0001.")],
        for_agents: false,
        only_reads: true,
        run: run!(incident),
    },
    Tool {
        name: "search",
        title: "Search incidents",
        about: "Incidents that are like a description in words, best match first.",
        inputs: &[
            Input::required("text", Kind::Text(2_000), "What happened, in words."),
            COUNTRY,
            Input::optional("limit", Kind::Number(1, MOST), "Default 5."),
        ],
        for_agents: false,
        only_reads: true,
        run: run!(search),
    },
    Tool {
        name: "claim",
        title: "Check a claim",
        about: "Whether a claim about blocking or a shutdown agrees with measurements and incidents: confirmed, likely, \
                unconfirmed, or too little data. Name the country, what, and when.",
        inputs: &[Input::required("claim", Kind::Text(2_000), "One sentence in English.")],
        for_agents: false,
        only_reads: true,
        run: run!(claim),
    },
];

const LIST: &str = "/data/incidents";
const SIMILAR: &str = "/v1/incidents/similar";
/// Members of an incident in a list.
const SHORT: [&str; 7] = ["readableId", "summary", "severity", "status", "confidence", "startTime", "endTime"];
/// Most networks, and incidents of a claim.
const NETWORKS: usize = 10;
const INCIDENTS: usize = 3;

/// An incident in a list, with the address of the version that was read.
fn short(incident: &Value) -> Map<String, Value> {
    let mut members = picked(incident, &SHORT);
    members.insert("citation".into(), json!(text(incident, "citationUrl")));
    members
}

fn line(incident: &Value) -> String {
    let confidence = number(incident, "confidence").unwrap_or_default();
    let (id, summary) = (text(incident, "readableId"), text(incident, "summary"));
    format!(
        "\n{id}: {summary} {}, confidence {confidence}. Cite: {}",
        text(incident, "severity"),
        text(incident, "citationUrl")
    )
}

async fn incidents(asking: &Asking<'_>, arguments: &Arguments) -> Result<Told, Refusal> {
    let country = arguments.country("country");
    let limit = arguments.number("limit").unwrap_or(FEW).to_string();
    let offset = arguments.number("offset").map(|offset| offset.to_string());
    let asked = query(&[
        ("country", country.as_deref()),
        ("domain", arguments.optional("domain")),
        ("status", arguments.optional("status")),
        ("severity", arguments.optional("severity")),
        ("since", arguments.optional("since")),
        ("until", arguments.optional("until")),
        ("limit", Some(&limit)),
        ("offset", offset.as_deref()),
    ]);
    let answer = asking.get(LIST, &asked, With::Nothing).await?;
    let found = list(&answer, "incidents");
    let total = answer.get("total").and_then(Value::as_u64).unwrap_or_default();
    let mut said = match (total, found.len()) {
        (0, _) => "No incident is known that fits. That is no proof that nothing happened.".to_owned(),
        (1, _) => "1 incident.".to_owned(),
        (total, shown) => format!("{total} incidents, of which {shown} here."),
    };
    found.iter().for_each(|incident| said += &line(incident));
    let mut members = picked(&answer, &["total", "next_offset"]);
    members.insert("incidents".into(), json!(found.iter().map(short).collect::<Vec<_>>()));
    Ok(Told::new(said, members).cited(&asking.address(LIST, &asked)))
}

async fn incident(asking: &Asking<'_>, arguments: &Arguments) -> Result<Told, Refusal> {
    let path = format!("{LIST}/{}", encoded(arguments.text("id")));
    let answer = asking.get(&path, "", With::Nothing).await?;
    let mut members = picked(
        &answer,
        &[
            "readableId",
            "summary",
            "country",
            "incidentType",
            "severity",
            "status",
            "confidence",
            "startTime",
            "startUnknown",
            "endTime",
            "endUnknown",
            "affectedDomains",
            "affectedServices",
            "blockingMethods",
            "occasion",
            "networksBlocked",
            "networksTested",
            "networks",
            "sources",
            "evidenceCount",
            "notKnown",
            "retracted",
            "license",
            "reportUrl",
        ],
    );
    for name in ["networks", "affectedDomains", "affectedServices"] {
        shorten(&mut members, name, NETWORKS);
    }
    let evidence = answer.get("evidenceCount").and_then(Value::as_u64).unwrap_or_default();
    let mut said = format!(
        "{}: {} {}, {}, confidence {}. {evidence} pieces of evidence, of {}.",
        text(&answer, "readableId"),
        text(&answer, "summary"),
        text(&answer, "severity"),
        text(&answer, "status"),
        number(&answer, "confidence").unwrap_or_default(),
        joined(&answer, "sources", NETWORKS)
    );
    let retracted = text(&answer, "retracted");
    if !retracted.is_empty() {
        said = format!("WITHDRAWN: {retracted} {said}");
    }
    for network in list(&answer, "networks").iter().take(NETWORKS) {
        let count = |name: &str| network.get(name).and_then(Value::as_u64).unwrap_or_default();
        let name = text(network, "name");
        let (asn, space) = (text(network, "asn"), if name.is_empty() { "" } else { " " });
        let _ = write!(said, "\n{asn}{space}{name}: {} of {} votes blocked.", count("blocked"), count("votes"));
    }
    for unknown in list(&answer, "notKnown").iter().filter_map(Value::as_str) {
        let _ = write!(said, "\nNot known: {unknown}");
    }
    Ok(Told::new(said, members).cited(text(&answer, "citationUrl")))
}

async fn search(asking: &Asking<'_>, arguments: &Arguments) -> Result<Told, Refusal> {
    let country = arguments.country("country");
    let limit = arguments.number("limit").unwrap_or(FEW).to_string();
    let asked = query(&[("query", arguments.optional("text")), ("k", Some(&limit)), ("country", country.as_deref())]);
    let answer = asking.get(SIMILAR, &asked, With::Nothing).await?;
    let (mut said, mut rows) = (String::new(), Vec::new());
    for result in list(&answer, "results") {
        let Some(incident) = result.get("incident") else { continue };
        said += &line(incident);
        let mut row = short(incident);
        row.extend(picked(result, &["score"]));
        rows.push(row);
    }
    let said = match rows.len() {
        0 => "No incident is like that.".to_owned(),
        1 => format!("1 incident is like that.{said}"),
        count => format!("{count} incidents are like that, best match first.{said}"),
    };
    let members = Map::from_iter([("incidents".to_owned(), json!(rows))]);
    Ok(Told::new(said, members).cited(&asking.address(SIMILAR, &asked)))
}

async fn claim(asking: &Asking<'_>, arguments: &Arguments) -> Result<Told, Refusal> {
    let answer =
        asking.post("/verify-claim", &json!({ "claim": arguments.text("claim") }), With::Nothing, None).await?;
    let mut said = format!(
        "{}{} (confidence {}): {}",
        text(&answer, "verdict").replace('_', " "),
        if answer.get("contradicted") == Some(&json!(true)) { ", contradicted" } else { "" },
        number(&answer, "confidence").unwrap_or_default(),
        text(&answer, "reason")
    );
    let unchecked = joined(&answer, "unchecked", INCIDENTS);
    if !unchecked.is_empty() {
        let _ = write!(said, " Nobody checked: {unchecked}.");
    }
    let mut members =
        picked(&answer, &["claim", "verdict", "confidence", "contradicted", "reason", "unchecked", "core", "license"]);
    let incidents = list(&answer, "incidents").iter().take(INCIDENTS);
    for incident in incidents.clone() {
        let _ = write!(said, "\n{}: {}", text(incident, "id"), text(incident, "title"));
    }
    let rows: Vec<_> =
        incidents.map(|incident| picked(incident, &["id", "title", "startTime", "status", "permalink"])).collect();
    members.insert("incidents".into(), json!(rows));
    // A claim that names no country is about nothing that could be cited.
    let told = Told::new(said, members);
    Ok(match text(&answer, "citation") {
        "" => told,
        address => told.cited(address),
    })
}
