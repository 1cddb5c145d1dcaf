//! An incident: what happened, how it is known, who else reports it, its versions, and how to cite it. And the list of
//! all incidents.

use askama::Template;
use engine::http::{Cx, encoded, query};
use engine::time::DAY;
use engine::{Result, Timestamp};
use facts::reported::report::MAX_PROSE;
use facts::sentence::Language;

use crate::answer::{self, Answer, web_address};
use crate::country::known;
use crate::front::countries;
use crate::page::{Frame, Page};
use crate::range::{Moment, Range, Then};
use crate::words::Words;

/// Incidents on a page of the list, and rows of evidence that are shown.
const ON_A_PAGE: u64 = 50;
const EVIDENCE: &str = "50";

/// Other incidents that are asked for.
const OTHERS: u32 = 6;
/// Days from the beginning in which all measurements of the country are counted.
const COUNTED: i64 = 7;

/// A network that blocked.
struct Network {
    /// `AS<number>`.
    asn: String,
    name: String,
    /// The days of its first and last blocked vote.
    first: String,
    last: String,
    /// Blocked votes among the votes.
    votes: String,
}

/// An incident in a list.
pub struct Line {
    pub id: String,
    pub title: String,
    pub country: String,
    pub country_name: String,
    pub status: String,
    pub status_word: String,
    /// Whether its end is not known: it goes on, or nobody says that it ended.
    pub is_open: bool,
    pub start: String,
    pub end: String,
    pub summary: String,
}

impl Line {
    /// On a page about now, or about a moment at which the incident is as the answer says.
    pub fn new(incident: &Answer, then: &Then, w: Words) -> Line {
        Line { id: incident.text("readableId").to_owned(), ..Line::of_lead(incident, then, w) }
    }

    /// The lead of a check to its latest incident.
    pub fn of_lead(incident: &Answer, then: &Then, w: Words) -> Line {
        Line {
            id: incident.text("id").to_owned(),
            title: incident.said(w.0, "title"),
            country: incident.text("country").to_owned(),
            country_name: w.country(incident.text("country")),
            status: incident.text("status").to_owned(),
            status_word: match (incident.text("status"), incident.is("endUnknown")) {
                ("resolved", true) => w.t("incident.open").to_owned(),
                (status, _) => w.value("incident", status),
            },
            is_open: incident.is("endUnknown") || !incident.has("endTime"),
            start: started(incident, w),
            end: ended(incident, then, w),
            summary: incident.said(w.0, "summary"),
        }
    }
}

fn started(incident: &Answer, w: Words) -> String {
    let day = w.day(incident.text("startTime"));
    if incident.is("startUnknown") { w.with("incident.before", &[("day", day.into())]) } else { day }
}

fn ended(incident: &Answer, then: &Then, w: Words) -> String {
    if !incident.has("endTime") {
        return w.t(if then.is_now() { "incident.goes_on" } else { "incident.went_on" }).to_owned();
    }
    let day = w.day(incident.text("endTime"));
    if incident.is("endUnknown") { w.with("incident.end_unknown", &[("day", day.into())]) } else { day }
}

#[derive(Template)]
#[template(path = "incident.html")]
struct IncidentPage {
    frame: Frame,
    w: Words,
    line: Line,
    description: String,
    occasion: String,
    /// The days of the incident as a query of the page of a site.
    days: String,
    retracted: String,
    merged_into: String,
    facts: Vec<(String, String)>,
    not_known: Vec<String>,
    services: Vec<(String, String)>,
    networks: Vec<Network>,
    evidence: Vec<Evidence>,
    /// Votes and reports that it rests on.
    evidence_count: u64,
    /// How many of the rows that can be listed stand here, where that is not all.
    evidence_shown: String,
    independent: u64,
    other_sources: String,
    /// Incidents of the country in the same days.
    incidents: Vec<Line>,
    /// Whether the country's networks worked in these days.
    power: String,
    rules: Vec<(String, String)>,
    versions: Vec<(u64, String, String, String)>,
    cite_version: String,
    permalink: String,
    citations: Vec<(String, String)>,
    licence: String,
}

struct Evidence {
    time: String,
    source: String,
    what: String,
    asn: String,
    link: String,
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let id = encoded(cx.path("id")?);
    let version = cx.query("version")?;
    let asked = query(&[("version", version.as_deref()), ("explain", Some("true"))]);
    let incident = answer::ask(cx, &format!("/data/incidents/{id}"), &asked).await?;
    let id = incident.text("readableId").to_owned();
    let of_version = query(&[("version", version.as_deref()), ("limit", Some(EVIDENCE))]);
    let evidence = answer::ask(cx, &format!("/data/incidents/{id}/evidence"), &of_version).await?;
    let line = Line::new(&incident, &Then::default(), w);
    let description = incident.text("description");
    let (list, services) = (evidence.list("evidence"), incident.texts("affectedServices"));
    let domains = incident.texts("affectedDomains");
    let explain = incident.part("explain");
    let (incidents, power) = beside(cx, &incident, w).await?;
    let query = if version.is_some() { format!("?{}", cx.request.query) } else { String::new() };
    let frame = Frame::new(cx, w, format!("/incident/{id}{query}"), line.title.clone());
    let page = IncidentPage {
        frame: frame.about(line.summary.clone()).unlisted(version.is_some()),
        w,
        description: if description == incident.text("summary") { String::new() } else { description.to_owned() },
        occasion: whole(incident.text("occasion")),
        days: days(&incident),
        retracted: incident.said(w.0, "retracted"),
        merged_into: incident.text("mergedInto").to_owned(),
        facts: facts(&incident, w),
        not_known: incident.all_said(w.0, "notKnown"),
        services: services.iter().chain(&domains).map(|name| (encoded(name), name.clone())).collect(),
        networks: incident.list("networks").iter().map(|row| Network::of(row, w)).collect(),
        evidence_count: evidence.count("evidenceCount"),
        evidence_shown: w.shown(list.len() as u64, evidence.count("listed")),
        independent: evidence.count("/corroboration/independentSources"),
        other_sources: w.sources(&evidence.texts("/corroboration/sources")),
        incidents,
        power,
        evidence: list.iter().map(|row| one_evidence(row, w)).collect(),
        rules: ["severityRule", "statusRule", "confidenceRule"]
            .iter()
            .map(|rule| (w.t(&format!("incident.{rule}")).to_owned(), explain.said(w.0, rule)))
            .collect(),
        versions: explain.list("history").iter().map(|row| one_version(row, w)).collect(),
        cite_version: w.with("incident.cite_version", &[("version", incident.count("version").into())]),
        permalink: incident.text("permalink").to_owned(),
        citations: citations(cx, &incident).await?,
        licence: incident.text("license").to_owned(),
        line,
    };
    Ok(Page::of(&page)?.computed(version.is_some()))
}

/// Was it a power cut? Other incidents of the country in the same days, and what was measured there of any site.
async fn beside(cx: &Cx, incident: &Answer<'_>, w: Words) -> Result<(Vec<Line>, String)> {
    let code = incident.text("country");
    let Some(start) = Timestamp::parse(incident.text("startTime")) else { return Ok(Default::default()) };
    let end = Timestamp::parse(incident.text("endTime")).unwrap_or(cx.now()).max(start);
    let between = [("since", start), ("until", end)].map(|(name, time)| format!("{name}={time}")).join("&");
    let wanted = format!("country={code}&limit={OTHERS}&{between}");
    let others = answer::ask_if_any(cx, "/data/incidents", &wanted).await?;
    let others = others.list("incidents").iter().map(|other| Line::new(other, &Then::default(), w)).collect::<Vec<_>>();
    let others = others.into_iter().filter(|other| other.id != incident.text("readableId")).collect();
    let days = Range::whole(start, end.min(start.plus(COUNTED * DAY)).plus(DAY));
    let wanted = format!("probe_cc={code}&{}", days.query());
    let counted = answer::ask_if_any(cx, "/api/v1/aggregation", &wanted).await?;
    let (all, worked) = (counted.count("/result/measurement_count"), counted.count("/result/ok_count"));
    let code = match (all, worked) {
        (0, _) => "incident.power_unmeasured",
        (_, 0) => "incident.power_none_worked",
        _ => "incident.power_worked",
    };
    let days = [("from", w.day(&days.first()).into()), ("to", w.day(&days.last_day()).into())];
    let counts = [("all", w.number(all).into()), ("worked", w.number(worked).into())];
    Ok((others, w.with(code, &[days, counts].concat())))
}

/// How the page of a site is asked about an incident: as of its last day if it is over, so that its networks and rules
/// are shown, with charts from a week before its beginning.
fn days(incident: &Answer) -> String {
    let time = |name: &str| Timestamp::parse(incident.text(name));
    let (Some(start), Some(end)) = (time("startTime"), time("endTime")) else { return String::new() };
    let (start, last) = (start.plus(-7 * DAY), end.to_date_text());
    let over = incident.text("status") != "active";
    let short = end.since(start) < 360 * DAY;
    match (over, short) {
        (true, true) => format!("?since={}&as_of={last}", start.to_date_text()),
        (true, false) => format!("?as_of={last}"),
        (false, true) => format!("?since={}", start.to_date_text()),
        (false, false) => String::new(),
    }
}

/// A text of a source, which imports cut where it is long: then it ends at a word, with an ellipsis.
fn whole(text: &str) -> String {
    let cut = text.chars().count() >= MAX_PROSE && !text.ends_with(['.', '!', '?', '…', '"', ')', '”']);
    match text.rsplit_once(' ') {
        Some((words, _)) if cut => format!("{words} …"),
        _ => text.to_owned(),
    }
}

impl Network {
    fn of(row: &Answer, w: Words) -> Network {
        let votes = match row.count("votes") {
            0 => "–".to_owned(),
            votes => format!("{} / {votes}", row.count("blocked")),
        };
        let text = |name: &str| row.text(name).to_owned();
        let day = |name: &str| if row.has(name) { w.day(row.text(name)) } else { "–".to_owned() };
        Network { asn: text("asn"), name: text("name"), first: day("first"), last: day("last"), votes }
    }
}

fn facts(incident: &Answer, w: Words) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            facts.push((w.t(name).to_owned(), value));
        }
    };
    add("incident.type", w.value("type", incident.text("incidentType")));
    add("incident.severity", w.value("severity", incident.text("severity")));
    add("incident.confidence", w.percent(incident.number("confidence").unwrap_or_default()));
    add("incident.start", started(incident, w));
    add("incident.end", ended(incident, &Then::default(), w));
    add("incident.confirmed", w.day(incident.text("lastConfirmedAt")));
    let tested = incident.count("networksTested");
    if tested > 0 {
        let networks = [("n", incident.count("networksBlocked").into()), ("tested", tested.into())];
        add("check.networks_blocked", w.with("check.of_networks", &networks));
    }
    add("incident.measurements", w.number(incident.count("measurementCount")));
    add("incident.networks", w.list(&incident.texts("affectedAsns")));
    add("incident.areas", w.list(&incident.texts("areas")));
    add("check.sources", w.sources(&incident.texts("sources")));
    // The longest stands last.
    add("check.methods", w.ways(&incident.texts("blockingMethods")));
    facts
}

fn one_evidence(row: &Answer, w: Words) -> Evidence {
    let link = [row.text("permalink"), row.text("sourceUrl")].map(web_address);
    let (kind, signal) = (row.text("kind"), row.text("signalType"));
    let said = w.value("evidence", kind);
    Evidence {
        time: w.day(row.text("observedAt")),
        source: w.source(row.text("source")),
        what: if signal.is_empty() || signal == kind {
            said
        } else {
            format!("{said}{}{}", w.colon(), w.value("evidence", signal))
        },
        asn: row.text("asn").to_owned(),
        link: link.into_iter().find(|link| !link.is_empty()).unwrap_or_default(),
    }
}

fn one_version(row: &Answer, w: Words) -> (u64, String, String, String) {
    (row.count("version"), w.day(row.text("at")), w.value("action", row.text("action")), row.said(w.0, "reason"))
}

/// The title with the years of the event: a place sees the same again.
fn titled(incident: &Answer) -> String {
    let year = |name: &str| incident.text(name).get(..4).unwrap_or_default().to_owned();
    let years = match (year("startTime"), year("endTime")) {
        (start, end) if end.is_empty() || start == end => start,
        (start, end) => format!("{start}\u{2013}{end}"),
    };
    format!("{}, {years}", incident.text("title"))
}

/// The incident in five formats of citation. The style of a citation is English everywhere.
async fn citations(cx: &Cx, incident: &Answer<'_>) -> Result<Vec<(String, String)>> {
    let text = |name: &str| incident.text(name).to_owned();
    let (title, id, url, version) =
        (titled(incident), text("readableId"), text("citationUrl"), incident.count("version"));
    let year = text("updatedAt").get(..4).unwrap_or_default().to_owned();
    let (updated, today) = (text("updatedAt").get(..10).unwrap_or_default().to_owned(), cx.now().to_date_text());
    let english = |date: &str| Language::English.date(date);
    let (updated, today) = (english(&updated), english(&today));
    let mut all = vec![
        ("APA".to_owned(), format!("Heliograph. ({year}). {title} ({id}, version {version}) [Data set]. {url}")),
        (
            "MLA".to_owned(),
            format!(
                "\u{201c}{title}.\u{201d} Heliograph, {id}, version {version}, {updated}, {url}. Accessed {today}."
            ),
        ),
        (
            "Chicago".to_owned(),
            format!("Heliograph. \u{201c}{title}.\u{201d} {id}, version {version}. Last modified {updated}. {url}."),
        ),
    ];
    for (name, format) in [("BibTeX", "bibtex"), ("RIS", "ris")] {
        let query = format!("version={version}&format={format}");
        let body = answer::text(cx, &format!("/data/incidents/{id}/report"), &query).await?;
        all.push((name.to_owned(), String::from_utf8_lossy(&body).into_owned()));
    }
    Ok(all)
}

#[derive(Template)]
#[template(path = "incidents.html")]
struct ListPage {
    frame: Frame,
    w: Words,
    then: Then,
    words: String,
    /// The country that is chosen, and all to choose from.
    country: String,
    countries: Vec<(String, String)>,
    total: u64,
    incidents: Vec<Line>,
    next: String,
    before: String,
}

/// All incidents, newest first, or those of a country, or those that some words find.
pub async fn list(cx: &Cx, w: Words) -> Result<Page> {
    let words = cx.query("q")?.unwrap_or_default();
    let from: u64 = cx.query("from")?.and_then(|text| text.parse().ok()).unwrap_or_default();
    let country = cx.query("country")?.unwrap_or_default();
    let searched = Some(words.as_str()).filter(|words| !words.is_empty());
    let chosen = Some(country.as_str()).filter(|code| !code.is_empty()).map(known).transpose()?;
    let (limit, offset) = (ON_A_PAGE.to_string(), from.to_string());
    let asked = query(&[("q", searched), ("country", chosen), ("limit", Some(&limit)), ("offset", Some(&offset))]);
    let then = Then::new(Moment::of(cx)?.as_ref(), w);
    let found = answer::ask(cx, "/data/incidents", &format!("{asked}{}", then.at)).await?;
    let at = |from: u64| {
        let from = from.to_string();
        let asked = query(&[("q", searched), ("country", chosen), ("from", Some(&from))]);
        format!("{}?{asked}{}", w.to("/incidents"), then.further)
    };
    let total = found.count("total");
    let feed = (w.t("feed.all").to_owned(), "/data/incidents/feed.atom".to_owned());
    let given = &cx.request.query;
    let path = if given.is_empty() { "/incidents".to_owned() } else { format!("/incidents?{given}") };
    let title = match chosen {
        Some(code) => w.with("feed.country", &[("country", code.into())]),
        None => w.t("incidents.title").to_owned(),
    };
    let page = ListPage {
        frame: Frame::new(cx, w, path, title).unlisted(!given.is_empty()).feed(feed.0, feed.1),
        w,
        total,
        incidents: found.list("incidents").iter().map(|incident| Line::new(incident, &then, w)).collect(),
        next: if from + ON_A_PAGE < total { at(from + ON_A_PAGE) } else { String::new() },
        before: if from > 0 { at(from.saturating_sub(ON_A_PAGE)) } else { String::new() },
        country: chosen.unwrap_or_default().to_owned(),
        countries: countries(w),
        words,
        then,
    };
    Ok(Page::of(&page)?.computed(!given.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_that_was_cut_ends_at_a_word() {
        let long = "word ".repeat(MAX_PROSE / 5);
        assert!(whole(&format!("{long}hal")).ends_with("word …"));
        assert!(whole(&format!("{long}whole.")).ends_with("whole."));
        assert_eq!(whole("short tex"), "short tex");
    }

    #[test]
    fn a_site_is_asked_about_an_incident_as_of_its_last_day() {
        let incident = |status: &str, start: &str, end: Option<&str>| {
            Answer::whole(json!({ "status": status, "startTime": start, "endTime": end, "title": "T" }))
        };
        let over = incident("resolved", "2023-11-08T00:00:00.000Z", Some("2023-11-24T00:00:00.000Z"));
        assert_eq!(days(&over), "?since=2023-11-01&as_of=2023-11-24");
        let long = incident("resolved", "2021-11-08T00:00:00.000Z", Some("2023-11-24T00:00:00.000Z"));
        assert_eq!(days(&long), "?as_of=2023-11-24");
        assert_eq!(days(&incident("active", "2023-11-08T00:00:00.000Z", None)), "");
        assert_eq!((titled(&over).as_str(), titled(&long).as_str()), ("T, 2023", "T, 2021–2023"));
    }
}
