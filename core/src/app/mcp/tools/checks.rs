//! `check`, `explain` and `compare`: whether sites can be reached.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::input::{Arguments, Input, Kind};
use super::told::{Told, list, number, picked, shorten, text};
use super::{Tool, run};
use crate::app::mcp::asking::{Asking, Refusal, With};
use crate::engine::http::{encoded, query};

const DOMAIN: Input =
    Input::required("domain", Kind::Text(2_000), "A domain, URL or service, such as bbc.com or telegram.");
const COUNTRY: Input = Input::required("country", Kind::Country, "ISO 3166-1 alpha-2, such as KE.");
const AS_OF: Input = Input::optional(
    "as_of",
    Kind::Text(40),
    "ISO 8601: the answer as of that time; a day stands for its end; default now.",
);

pub const TOOLS: &[Tool] = &[
    Tool {
        name: "check",
        title: "Is a site blocked?",
        about: "Whether a site or service can be reached in a country, with confidence, networks and date.",
        inputs: &[DOMAIN, COUNTRY, AS_OF],
        for_agents: false,
        only_reads: true,
        run: run!(check),
    },
    Tool {
        name: "explain",
        title: "How is that known?",
        about: "What an answer of `check` rests on: networks with their votes, the rules that decided, measurements to \
                look up, and what is not known.",
        inputs: &[DOMAIN, COUNTRY, AS_OF],
        for_agents: false,
        only_reads: true,
        run: run!(explain),
    },
    Tool {
        name: "compare",
        title: "Compare countries",
        about: "Countries side by side: for one site with `domain`, else by their censorship scores (0 to 100, higher is \
                worse).",
        inputs: &[
            Input::required("countries", Kind::List(&Kind::Country, 2, 5), "ISO 3166-1 alpha-2."),
            Input::optional("domain", Kind::Text(2_000), "A domain, URL or service."),
            AS_OF,
        ],
        for_agents: false,
        only_reads: true,
        run: run!(compare),
    },
];

const CHECK: &str = "/v1/accessibility/check";
/// The same question by who has an API key, whose rate then counts in place of the address's.
const DETECT: &str = "/hydra/v1/detect";

/// Members of a check that a program would want.
const MEMBERS: [&str; 13] = [
    "country",
    "status",
    "confidence",
    "basis",
    "evidenceCount",
    "networksTested",
    "networksBlocked",
    "blockingMethod",
    "lastChecked",
    "staleSince",
    "as_of",
    "reason",
    "sources",
];
/// Those of them that are compared.
const COMPARED: [&str; 7] =
    ["country", "status", "confidence", "basis", "networksTested", "networksBlocked", "lastChecked"];
/// Most networks, rules and measurements of an explanation.
const NETWORKS: usize = 8;
const RULES: usize = 4;
const WITNESSES: usize = 3;

/// What is known of a site in a country, and where that stands.
async fn ask(
    asking: &Asking<'_>,
    domain: &str,
    country: &str,
    as_of: Option<&str>,
    explain: bool,
) -> Result<(Value, String), Refusal> {
    let mut members = vec![("domain", Some(domain)), ("country", Some(country)), ("as_of", as_of)];
    if explain {
        members.push(("explain", Some("true")));
    }
    let asked = query(&members);
    let answer = match asking.has_api_key() {
        true => {
            let mut body = json!({ "target": domain, "country": country, "explain": explain });
            if let Some(time) = as_of {
                body["as_of"] = json!(time);
            }
            asking.post(DETECT, &body, With::Api, None).await?
        }
        false => asking.get(CHECK, &asked, With::Nothing).await?,
    };
    Ok((answer, asking.address(CHECK, &asked)))
}

/// Whether somebody measured it, or a list names it. Otherwise `lastChecked` is the time of the question, since the
/// interface demands a time there: no model should take that for a time when somebody looked.
fn was_checked(answer: &Value) -> bool {
    text(answer, "basis") != "unmeasured" || !text(answer, "staleSince").is_empty()
}

/// These members of a check, without a time of checking where there was none.
fn told_of(answer: &Value, names: &[&str]) -> Map<String, Value> {
    let mut members = picked(answer, names);
    if !was_checked(answer) {
        members.remove("lastChecked");
    }
    members
}

fn members(answer: &Value, domain: &str) -> Map<String, Value> {
    let mut members = told_of(answer, &MEMBERS);
    members.insert("domain".into(), json!(domain));
    if let Some(incident) = answer.get("latestIncident").filter(|incident| !incident.is_null()) {
        members.insert("latestIncident".into(), Value::Object(picked(incident, &["id", "title", "url"])));
    }
    members
}

/// The summary of the answer, and how sure it is.
fn sentence(answer: &Value) -> String {
    let mut said = text(answer, "summary").to_owned();
    if !was_checked(answer) {
        said += " So there is no time at which it was last checked.";
    }
    if let Some(confidence) = number(answer, "confidence").filter(|_| text(answer, "status") != "unknown") {
        let _ = write!(said, " Confidence {confidence}.");
    }
    said
}

async fn check(asking: &Asking<'_>, arguments: &Arguments) -> Result<Told, Refusal> {
    let (domain, country) = (arguments.text("domain"), arguments.country("country").unwrap_or_default());
    let (answer, address) = ask(asking, domain, &country, arguments.optional("as_of"), false).await?;
    Ok(Told::new(sentence(&answer), members(&answer, domain)).cited(&address))
}

async fn explain(asking: &Asking<'_>, arguments: &Arguments) -> Result<Told, Refusal> {
    let (domain, country) = (arguments.text("domain"), arguments.country("country").unwrap_or_default());
    let (answer, address) = ask(asking, domain, &country, arguments.optional("as_of"), true).await?;
    let (mut said, mut members) = (sentence(&answer), members(&answer, domain));
    let why = answer.get("explanation").unwrap_or(&Value::Null);
    // Of a service, the part that says most clearly what the whole is.
    let surer = |role: &&Value| {
        let probability = role.get("p_blocked").and_then(Value::as_f64).unwrap_or_default();
        (role.get("essential").and_then(Value::as_bool).unwrap_or_default(), (probability * 1e6) as i64)
    };
    if let Some(role) = list(why, "roles").iter().max_by_key(surer) {
        let networks = networks(role);
        for network in networks.iter().take(NETWORKS) {
            let name = match text(network, "name") {
                "" => String::new(),
                name => format!(" {name}"),
            };
            let count = |name: &str| network.get(name).and_then(Value::as_u64).unwrap_or_default();
            let (status, blocked, votes) = (text(network, "status"), count("blocked_votes"), count("votes"));
            let _ = write!(said, "\nAS{}{name}: {status}, {blocked} of {votes} votes blocked.", count("asn"));
        }
        for rule in list(role, "rules").iter().take(RULES) {
            let count = rule.get("count").and_then(Value::as_u64).unwrap_or_default();
            let meaning = text(rule, "meaning").trim_end_matches('.');
            let _ = write!(said, "\nRule {}: {meaning} ({count} measurements).", text(rule, "rule"));
        }
        let mut more = Map::new();
        more.insert("networks".into(), json!(networks));
        let rules = list(role, "rules").iter().map(|rule| picked(rule, &["rule", "meaning", "count"]));
        more.insert("rules".into(), json!(rules.collect::<Vec<_>>()));
        let links = list(role, "witnesses").iter().filter_map(|witness| witness.get("link"));
        more.insert("measurements".into(), json!(links.collect::<Vec<_>>()));
        for (name, most) in [("networks", NETWORKS), ("rules", RULES), ("measurements", WITNESSES)] {
            shorten(&mut more, name, most);
        }
        members.extend(more);
    }
    members.extend(picked(why, &["not_known", "rules_version"]));
    for unknown in list(why, "not_known").iter().filter_map(Value::as_str) {
        let _ = write!(said, "\nNot known: {unknown}");
    }
    Ok(Told::new(said, members).cited(&address))
}

/// The networks of a role, those that say most about the country first.
fn networks(role: &Value) -> Vec<Value> {
    let mut networks: Vec<&Value> = list(role, "networks").iter().collect();
    let weight = |network: &Value| network.get("weight").and_then(Value::as_f64).unwrap_or_default();
    networks.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    let members = ["asn", "name", "status", "p_blocked", "votes", "blocked_votes"];
    networks.into_iter().map(|network| Value::Object(picked(network, &members))).collect()
}

async fn compare(asking: &Asking<'_>, arguments: &Arguments) -> Result<Told, Refusal> {
    let (domain, as_of) = (arguments.optional("domain"), arguments.optional("as_of"));
    let (mut said, mut rows) = (Vec::new(), Vec::new());
    for country in arguments.list("countries") {
        let country = country.to_ascii_uppercase();
        let (line, mut row, address) = match domain {
            Some(domain) => {
                let (answer, address) = ask(asking, domain, &country, as_of, false).await?;
                (sentence(&answer), told_of(&answer, &COMPARED), address)
            }
            None => {
                let (path, asked) = (format!("/v1/censorship-index/{}", encoded(&country)), query(&[("as_of", as_of)]));
                let answer = asking.get(&path, &asked, With::Nothing).await?;
                let score = number(&answer, "score").map_or("no score".to_owned(), |score| format!("score {score}"));
                let (incidents, status) = (list(&answer, "activeIncidents").len(), text(&answer, "status"));
                let line = format!("{}: {score}, {status}, {incidents} active incidents.", text(&answer, "name"));
                let mut row = picked(&answer, &["country", "name", "score", "status", "lastChecked", "staleSince"]);
                row.insert("activeIncidents".into(), json!(incidents));
                (line, row, asking.address(&path, &asked))
            }
        };
        row.insert("citation".into(), json!(address));
        said.push(format!("{line}\nCite: {address}"));
        rows.push(row);
    }
    let mut members = Map::from_iter([("countries".to_owned(), json!(rows))]);
    if let Some(domain) = domain {
        members.insert("domain".into(), json!(domain));
    }
    Ok(Told::new(said.join("\n"), members))
}
