//! `heliograph admin incidents`: lists, creates and changes incidents.

use heliograph_core::intelligence::incidents::admin::{
    Amendment, Merging, NewEvidence, NewIncident, Restoration, Retraction, VersionsBody,
};
use heliograph_core::intelligence::incidents::dispute::{DisputeBody, DisputePage};
use serde_json::Value;

use super::args::{Common, IncidentsCommand, NewIncidentArgs};
use super::client::Client;
use crate::files::Tried;

pub fn run(common: &Common, command: &IncidentsCommand) -> Result<(), String> {
    let client = Client::open(common, matches!(command, IncidentsCommand::Create(_)))?;
    match command {
        IncidentsCommand::List { country, json } => list(&client, country.as_deref(), *json),
        IncidentsCommand::Create(args) => show(client.post("/v1/admin/incidents", &new_incident(args)?)?),
        IncidentsCommand::Amend { id, start, changes, reason } => {
            let amendment = Amendment {
                reason: reason.clone(),
                version: None,
                title: changes.title.clone(),
                description: changes.description.clone(),
                kind: word(changes.kind.as_deref())?,
                severity: word(changes.severity.as_deref())?,
                status: word(changes.status.as_deref())?,
                confidence: changes.confidence,
                start: start.clone(),
                end: changes.end.clone(),
            };
            show(client.patch(&format!("/v1/admin/incidents/{id}"), &amendment)?)
        }
        IncidentsCommand::Restore { id, field, reason } => {
            let fields = field.iter().map(|name| word(Some(name))).collect::<Result<Vec<_>, _>>()?;
            let fields = fields.into_iter().flatten().collect();
            let body = Restoration { reason: reason.clone(), version: None, fields };
            show(client.post(&format!("/v1/admin/incidents/{id}/restore"), &body)?)
        }
        IncidentsCommand::Merge { id, into, reason } => {
            let body = Merging { reason: reason.clone(), version: None, into: into.clone() };
            show(client.post(&format!("/v1/admin/incidents/{id}/merge"), &body)?)
        }
        IncidentsCommand::Retract { id, reason } => {
            let body = Retraction { reason: reason.clone(), version: None };
            show(client.post(&format!("/v1/admin/incidents/{id}/retract"), &body)?)
        }
        IncidentsCommand::Versions { id } => {
            let history: VersionsBody = client.get(&format!("/v1/admin/incidents/{id}/versions"))?;
            for row in history.versions {
                let (by, reason) = (row.by.as_deref().unwrap_or("data"), row.reason.unwrap_or_default());
                say!("{}\t{}\t{}\t{by}\t{}", row.version, row.at, row.action, one_line(&reason));
            }
            Ok(())
        }
        IncidentsCommand::Disputes { resolved, json } => disputes(&client, *resolved, *json),
        IncidentsCommand::Resolve { id, outcome, note } => {
            let body = serde_json::json!({ "outcome": outcome, "note": note });
            let ended: DisputeBody = client.post(&format!("/v1/admin/disputes/{id}/resolve"), &body)?;
            say!("{}", ended.status);
            Ok(())
        }
    }
}

fn new_incident(args: &NewIncidentArgs) -> Result<NewIncident, String> {
    let changes = &args.changes;
    Ok(NewIncident {
        country: args.country.clone(),
        subject: args.subject.clone(),
        reason: args.reason.clone(),
        title: changes.title.clone(),
        description: changes.description.clone(),
        kind: word(changes.kind.as_deref())?,
        severity: word(changes.severity.as_deref())?,
        status: word(changes.status.as_deref())?,
        confidence: changes.confidence,
        start: args.start.clone(),
        end: changes.end.clone(),
        asns: args.asn.clone(),
        domains: args.domain.clone(),
        methods: args.method.clone(),
        areas: args.area.clone(),
        occasion: args.occasion.clone(),
        evidence: args.evidence.as_deref().map(rows).transpose()?.unwrap_or_default(),
        ..NewIncident::default()
    })
}

/// Makes a text fit into a line of a table.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn disputes(client: &Client, resolved: bool, json: bool) -> Result<(), String> {
    let status = if resolved { "resolved" } else { "open" };
    let mut after = String::new();
    loop {
        let page: DisputePage = client.get(&format!("/v1/admin/disputes?status={status}&limit=1000{after}"))?;
        for row in page.disputes {
            if json {
                say!("{}", serde_json::to_string(&row).map_err(|error| error.to_string())?);
                continue;
            }
            let DisputeBody { id, incident_id, version, created_at, status, reason, .. } = row;
            say!("{id}\t{incident_id}\t{version}\t{created_at}\t{status}\t{}", one_line(&reason));
        }
        match page.next {
            Some(next) => after = format!("&after={}", next.replace(' ', "%20")),
            None => return Ok(()),
        }
    }
}

/// Parses a word of a closed list, as requests do.
fn word<T: serde::de::DeserializeOwned>(text: Option<&str>) -> Result<Option<T>, String> {
    text.map(|text| serde_json::from_value(Value::String(text.to_owned())).map_err(|error| error.to_string()))
        .transpose()
}

/// Reads evidence from a file with a JSON list of rows.
fn rows(file: &std::path::Path) -> Result<Vec<NewEvidence>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| Tried::Read.cannot(file, &error))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Only the readable id goes to standard output, so that scripts can read it there.
fn show(incident: Value) -> Result<(), String> {
    let text = |name: &str| incident.get(name).and_then(Value::as_str).unwrap_or_default();
    say!("{}", text("readableId"));
    let version = incident.get("version").and_then(Value::as_u64).unwrap_or_default();
    eprintln!("version {version}: {}", text("title"));
    Ok(())
}

fn list(client: &Client, country: Option<&str>, json: bool) -> Result<(), String> {
    let mut offset = Some(0);
    while let Some(from) = offset {
        let country = country.map(|country| format!("&country={country}")).unwrap_or_default();
        let page: Value = client.get(&format!("/data/incidents?limit=200&offset={from}{country}"))?;
        for incident in page.get("incidents").and_then(Value::as_array).into_iter().flatten() {
            if json {
                say!("{incident}");
                continue;
            }
            let text = |name: &str| incident.get(name).and_then(Value::as_str).unwrap_or_default();
            let day = |name: &str| text(name).get(..10).unwrap_or("-").to_owned();
            let (start, end) = (day("startTime"), day("endTime"));
            say!("{}\t{start}\t{end}\t{}\t{}\t{}", text("readableId"), text("severity"), text("status"), text("title"));
        }
        offset = page.get("next_offset").and_then(Value::as_u64);
    }
    Ok(())
}
