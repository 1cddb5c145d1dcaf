//! A site in a country: the answer in one sentence, since when, on which networks, how it is known, and what is not.

use std::collections::BTreeMap;

use askama::Template;
use engine::http::{Cx, encoded, query};
use engine::{Result, Timestamp};
use facts::sentence::names::subject;

use crate::answer::{self, Answer, web_address};
use crate::behind::{self, Measurement, Network, Rule, Vote};
use crate::country::known;
use crate::image::NETWORKS;
use crate::incident::Line;
use crate::near;
use crate::page::{Frame, Page};
use crate::range::{Moment, Range, Then};
use crate::words::Words;

/// Days that a reader may choose.
const CHOICES: [u64; 3] = [30, 90, 365];

#[derive(Template)]
#[template(path = "check.html")]
struct CheckPage {
    frame: Frame,
    w: Words,
    address: String,
    code: String,
    name: String,
    then: Then,
    status: String,
    status_word: String,
    summary: String,
    facts: Vec<(String, String)>,
    platform: Option<(String, String, String)>,
    /// What may have been meant, of a site that nobody measured.
    meant: Option<(&'static str, String)>,
    lists: Vec<(String, String)>,
    networks: Vec<Network>,
    /// Which share of all networks is shown, where it is not all.
    networks_shown: String,
    rules: Vec<Rule>,
    votes: Vec<Vote>,
    witnesses: Vec<(String, String, String)>,
    not_known: Vec<String>,
    prior: String,
    nothing_measured: String,
    days_alt: String,
    elsewhere: String,
    /// The address of the badge.
    badge: String,
    range: Range,
    days: Vec<DayRow>,
    grid: Vec<GridRow>,
    measurements: Vec<Measurement>,
    incidents: Vec<Line>,
    licence: String,
    /// Whether the site is a service of several parts.
    has_parts: bool,
    cited: String,
    /// The address to cite: a page about now says another thing tomorrow, so it names the day.
    cited_address: String,
}

struct DayRow {
    date: String,
    measurements: u64,
    share: String,
}

/// A network in the table of the grid.
struct GridRow {
    asn: String,
    name: String,
    /// Days with votes, and those among them on which at least half of the votes say blocked.
    days: u64,
    blocked_days: u64,
    first: String,
    last: String,
    votes: u64,
    blocked: u64,
}

/// A row of a history by network: its date, network, votes and blocked ones among them.
pub struct NetworkDay {
    pub date: String,
    pub asn: String,
    pub name: String,
    pub measurements: u64,
    pub votes: u64,
    pub blocked: u64,
}

/// What was measured of a site in a country, by network and day.
pub async fn by_network(cx: &Cx, site: &str, country: &str, range: &Range) -> Result<Vec<NetworkDay>> {
    let query = format!("country={country}&by=network&{}", range.query());
    let history = answer::ask_if_any(cx, &format!("/data/domain/{}/history", encoded(site)), &query).await?;
    let row = |row: &Answer| NetworkDay {
        date: row.text("date").to_owned(),
        asn: row.text("asn").to_owned(),
        name: row.text("name").to_owned(),
        measurements: row.count("measurements"),
        votes: row.count("votes"),
        blocked: row.count("blocked"),
    };
    Ok(history.list("timeline").iter().map(row).collect())
}

/// What a page asks the program's routes.
struct Asked {
    moment: Option<Moment>,
    check: Answer<'static>,
    range: Range,
    history: Vec<NetworkDay>,
    measurements: Vec<Measurement>,
    incidents: Answer<'static>,
    /// Whether the query chooses a moment or a range.
    computed: bool,
}

async fn asked(cx: &Cx, site: &str, code: &str, w: Words) -> Result<Asked> {
    let moment = Moment::of(cx)?;
    let at = moment.as_ref().map(|moment| moment.at.as_str());
    let explained = query(&[("domain", Some(site)), ("country", Some(code)), ("explain", Some("true")), ("as_of", at)]);
    let check = answer::ask(cx, "/v1/accessibility/check", &explained).await?;
    let last = if is_measured(&check) { Timestamp::parse(check.text("lastChecked")) } else { None };
    let range = Range::shown(cx, moment.as_ref().and_then(Moment::time), last)?;
    let history = by_network(cx, site, code, &range).await?;
    let measurements = behind::newest(cx, (site, code), &history, moment.as_ref(), w).await?;
    let wanted = format!("country={code}&{}={}&limit=20&{}", about(site), encoded(site), query(&[("as_of", at)]));
    let incidents = answer::ask_if_any(cx, "/data/incidents", &wanted).await?;
    let computed = moment.is_some() || range.chosen || cx.query("days")?.is_some();
    Ok(Asked { moment, check, range, history, measurements, incidents, computed })
}

/// The parameter of lists of incidents that names a site or a service.
pub fn about(site: &str) -> &'static str {
    if site.contains('.') { "domain" } else { "service" }
}

/// Whether the day of an answer is that of a measurement: not that of a list, nor today where nobody measured.
pub fn is_measured(answer: &Answer) -> bool {
    match answer.text("basis") {
        "known_list" => false,
        "unmeasured" => answer.has("staleSince"),
        _ => true,
    }
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let site = cx.path("domain")?.to_owned();
    let code = known(cx.path("country")?)?;
    let Asked { moment, check, range, history, measurements, incidents, computed } = asked(cx, &site, code, w).await?;
    let address = encoded(&site);
    let named = [("site", subject(&site).into()), ("country", code.into())];
    let summary = check.said(w.0, "summary");
    let shown = if computed { format!("?{}", cx.request.query) } else { String::new() };
    let frame = Frame::new(cx, w, format!("/site/{}/{code}{shown}", near::usual(&site)), w.with("check.title", &named));
    let feed = format!("/data/incidents/feed.atom?country={code}&{}={address}", about(&site));
    let days = days(&history, w);
    let (networks, all_networks) = behind::networks(&check, w);
    let then = Then::new(moment.as_ref(), w);
    let unknown = check.text("basis") == "unmeasured" && !is_measured(&check);
    let today = cx.now().to_date_text();
    let cited_at = if then.is_now() { format!("?as_of={today}") } else { then.link.clone() };
    let page = CheckPage {
        frame: frame.about(summary.clone()).unlisted(computed).feed(w.with("feed.check", &named), feed),
        w,
        badge: w.to(&format!("/badge/{code}/{address}.svg{}", then.link)),
        code: code.to_owned(),
        name: w.country(code),
        status: check.text("status").to_owned(),
        status_word: w.value("status", check.text("status")),
        facts: facts(&check, w),
        platform: platform(&check, w, &summary),
        meant: unknown.then(|| near::lead(&site, code, &then, w)).flatten(),
        summary,
        lists: check.list("lists").iter().map(|list| listed(list, w)).collect(),
        networks_shown: w.shown(networks.len() as u64, all_networks as u64),
        networks,
        rules: behind::rules(&check, w),
        votes: behind::votes(&check, w),
        witnesses: behind::witnesses(&check, w),
        not_known: check.part("explanation").all_said(w.0, "not_known"),
        prior: prior(&check, w),
        nothing_measured: w.with(
            "check.nothing_measured",
            &[("from", w.day(&range.first()).into()), ("to", w.day(&range.last_day()).into())],
        ),
        elsewhere: w.with("check.elsewhere", &named[..1]),
        days_alt: w.described(w.count("check.days_alt", days.len() as u64), !days.is_empty()),
        days,
        grid: grid(&history, w),
        measurements,
        incidents: lines(&incidents, &check, &then, w),
        licence: check.text("license").to_owned(),
        has_parts: check.list("/explanation/roles").len() > 1,
        cited: w.day(&today),
        cited_address: format!("{}{cited_at}", w.check(&near::usual(&site), code)),
        then,
        address,
        range,
    };
    Ok(Page::of(&page)?.computed(computed))
}

/// The platform that the site is a role of, with its sentence where the answer's own does not say it already.
fn platform(check: &Answer, w: Words, summary: &str) -> Option<(String, String, String)> {
    let platform = check.part("platform");
    let text = |name: &str| platform.text(name).to_owned();
    let said = Some(platform.said(w.0, "summary")).filter(|said| !summary.contains(said.as_str()));
    check.has("platform").then(|| (text("slug"), text("label"), said.unwrap_or_default()))
}

/// What is held of a network before any vote; empty where no explanation says it.
fn prior(check: &Answer, w: Words) -> String {
    let said = |prior| w.with("check.prior", &[("prior", w.percent(prior).into())]);
    check.number("/explanation/prior").map(said).unwrap_or_default()
}

/// A list that names the site, and its address.
fn listed(list: &Answer, w: Words) -> (String, String) {
    let (kind, day) = (w.value("list", list.text("kind")), w.day(list.text("date")));
    (w.with("check.listed", &[("kind", kind.into()), ("day", day.into())]), web_address(list.text("source")))
}

/// Incidents about the site; without any, the one that the answer leads to.
fn lines(incidents: &Answer, check: &Answer, then: &Then, w: Words) -> Vec<Line> {
    let found: Vec<Line> = incidents.list("incidents").iter().map(|incident| Line::new(incident, then, w)).collect();
    if found.is_empty() && check.has("latestIncident") {
        return vec![Line::of_lead(&check.part("latestIncident"), then, w)];
    }
    found
}

/// The figures of an answer, each with its name.
fn facts(check: &Answer, w: Words) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            facts.push((w.t(name).to_owned(), value));
        }
    };
    if check.text("status") != "unknown" {
        add("check.confidence", w.percent(check.number("confidence").unwrap_or_default()));
    }
    add("check.basis", w.value("basis", check.text("basis")));
    let tested = check.count("networksTested");
    if tested > 0 {
        let networks = [("n", check.count("networksBlocked").into()), ("tested", tested.into())];
        add("check.networks_blocked", w.with("check.of_networks", &networks));
    }
    add("check.measurements", w.number(check.count("evidenceCount")));
    let last = w.day(check.text("lastChecked"));
    match check.text("basis") {
        "known_list" => add("check.list_date", last),
        _ if is_measured(check) => add("check.last", last),
        _ => {}
    }
    add("check.stale", w.day(check.text("staleSince")));
    add(
        "check.reason",
        if check.text("reason") == "site_down" { w.t("reason.site_down").to_owned() } else { String::new() },
    );
    add("check.sources", w.sources(&check.texts("sources")));
    // The longest stands last.
    add("check.methods", w.ways(&check.texts("methods")));
    facts
}

/// Measurements, votes and blocked ones among these, by day.
pub fn by_day(history: &[NetworkDay]) -> BTreeMap<&str, (u64, u64, u64)> {
    let mut sums: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    for row in history {
        let sum = sums.entry(&row.date).or_default();
        *sum = (sum.0 + row.measurements, sum.1 + row.votes, sum.2 + row.blocked);
    }
    sums
}

/// Days with measurements, newest first.
fn days(history: &[NetworkDay], w: Words) -> Vec<DayRow> {
    let row = |(date, (measurements, votes, blocked)): (&&str, &(u64, u64, u64))| DayRow {
        date: (*date).to_owned(),
        measurements: *measurements,
        share: if *votes == 0 { String::new() } else { w.percent(*blocked as f64 / *votes as f64) },
    };
    by_day(history).iter().rev().map(row).collect()
}

/// The networks of a history, the most measured ones first, as the chart has them.
fn grid(history: &[NetworkDay], w: Words) -> Vec<GridRow> {
    let mut found: BTreeMap<&str, Vec<&NetworkDay>> = BTreeMap::new();
    history.iter().for_each(|row| found.entry(&row.asn).or_default().push(row));
    let mut all: Vec<(u64, GridRow)> = Vec::new();
    for (asn, rows) in found {
        let sum = |number: fn(&NetworkDay) -> u64| rows.iter().map(|row| number(row)).sum::<u64>();
        let blocked = || rows.iter().filter(|row| row.blocked > 0).map(|row| row.date.as_str());
        let day = |date: Option<&str>| date.map(|date| w.day(date)).unwrap_or_default();
        let row = GridRow {
            asn: if asn.is_empty() { "–".to_owned() } else { asn.to_owned() },
            name: rows.first().map(|row| row.name.clone()).unwrap_or_default(),
            days: sum(|row| u64::from(row.votes > 0)),
            blocked_days: sum(|row| u64::from(row.votes > 0 && row.blocked * 2 >= row.votes)),
            first: day(blocked().min()),
            last: day(blocked().max()),
            votes: sum(|row| row.votes),
            blocked: sum(|row| row.blocked),
        };
        all.push((sum(|row| row.measurements), row));
    }
    all.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    all.into_iter().map(|(_, row)| row).take(NETWORKS).collect()
}

impl CheckPage {
    /// Whether a network in the table is marked as one that carries the answer.
    fn is_carried(&self) -> bool {
        self.networks.iter().any(|network| network.carries)
    }

    /// Whether the page says accessible beside an incident that goes on.
    fn is_beside_incident(&self) -> bool {
        self.status == "accessible" && self.incidents.iter().any(|line| line.is_open)
    }

    fn choices(&self) -> [u64; 3] {
        CHOICES
    }
}
