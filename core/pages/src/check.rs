//! A site in a country: the answer in one sentence, since when, on which networks, how it is known, and what is not.

use std::collections::BTreeMap;

use askama::Template;
use engine::http::{Cx, encoded, query};
use engine::time::DAY;
use engine::{Error, Result, Timestamp};
use facts::sentence::names::subject;
use facts::sentence::{Sentence, table};

use crate::answer::{self, Answer, web_address};
use crate::country::known;
use crate::incident::Line;
use crate::page::{Frame, Page};
use crate::words::Words;

/// Days that the charts show at first, and those that a reader may choose.
const DAYS: i64 = 90;
const CHOICES: [u64; 3] = [30, 90, 365];
/// Networks, votes and measurements that are shown.
const NETWORKS: usize = 30;
const VOTES: usize = 60;
const MEASUREMENTS: &str = "20";

#[derive(Template)]
#[template(path = "check.html")]
struct CheckPage {
    frame: Frame,
    w: Words,
    address: String,
    code: String,
    name: String,
    as_of: String,
    as_of_value: String,
    status: String,
    status_word: String,
    summary: String,
    facts: Vec<(String, String)>,
    platform: Option<(String, String, String)>,
    lists: Vec<(String, String)>,
    networks: Vec<Network>,
    rules: Vec<(String, String, u64, String)>,
    votes: Vec<Vote>,
    witnesses: Vec<(String, String, String)>,
    not_known: Vec<String>,
    prior: String,
    nothing_measured: String,
    days_alt: String,
    elsewhere: String,
    range: Range,
    days: Vec<DayRow>,
    measurements: Vec<Measurement>,
    incidents: Vec<Line>,
    licence: String,
    cited: String,
}

struct Network {
    /// The part of the service, where it has several.
    part: String,
    asn: u64,
    name: String,
    status: String,
    word: String,
    votes: u64,
    blocked: u64,
    probability: String,
    carries: bool,
}

/// A vote, and what it did to the probability of a block on its network.
struct Vote {
    hour: String,
    asn: u64,
    word: String,
    weight: String,
    probability: String,
}

struct DayRow {
    date: String,
    measurements: u64,
    share: String,
}

struct Measurement {
    time: String,
    asn: String,
    rule: String,
    vote: String,
    link: String,
}

/// The days that charts are about.
pub struct Range {
    /// Days, the first included and the last not.
    pub since: Timestamp,
    pub until: Timestamp,
    /// Whether the reader chose dates.
    pub chosen: bool,
}

impl Range {
    /// As the query says: `since` and `until`, or `days`, which end at `now`.
    pub fn of(cx: &Cx, now: Timestamp) -> Result<Range> {
        let day = |name: &str| -> Result<Option<Timestamp>> {
            let Some(text) = cx.query(name)? else { return Ok(None) };
            let time = Timestamp::parse(&format!("{}T00:00:00Z", text.trim()));
            time.map(Some).ok_or_else(|| Error::bad_request(format!("`{name}` must be a day such as 2023-11-08.")))
        };
        let (since, until) = (day("since")?, day("until")?);
        let end = until.unwrap_or_else(|| Range::last(1, now).until);
        let days = match cx.query("days")? {
            None => DAYS,
            Some(text) => text
                .parse()
                .ok()
                .filter(|days| (1..=366).contains(days))
                .ok_or_else(|| Error::bad_request("`days` must be a whole number from 1 to 366."))?,
        };
        let begin = since.unwrap_or_else(|| end.plus(-days * DAY));
        if begin >= end || end.since(begin) > 366 * DAY {
            return Err(Error::bad_request("`since` must lie before `until`, by at most 366 days."));
        }
        Ok(Range { since: begin, until: end, chosen: since.is_some() || until.is_some() })
    }

    /// The last days, today among them.
    pub fn last(days: i64, now: Timestamp) -> Range {
        let end = now.plus(DAY);
        Range::whole(end.plus(-days * DAY), end)
    }

    /// Whole days: from that of the one time to that of the other, which is not in it.
    pub fn whole(since: Timestamp, until: Timestamp) -> Range {
        let day = |time: Timestamp| Timestamp(time.0.div_euclid(DAY) * DAY);
        Range { since: day(since), until: day(until), chosen: false }
    }

    /// What the charts of a page show: what the query says, else the days before the moment; or before the last
    /// measurement, where nothing newer was measured.
    fn shown(cx: &Cx, moment: Option<Timestamp>, last: Option<Timestamp>) -> Result<Range> {
        let range = Range::of(cx, moment.unwrap_or_else(|| cx.now()))?;
        match last {
            Some(last) if last < range.since && !range.chosen && cx.query("days")?.is_none() => {
                Ok(Range::last(DAYS, last))
            }
            _ => Ok(range),
        }
    }

    /// The query of routes that answer about the range.
    pub fn query(&self) -> String {
        format!("since={}&until={}", self.since.to_date_text(), self.until.to_date_text())
    }

    pub fn first(&self) -> String {
        self.since.to_date_text()
    }

    pub fn end(&self) -> String {
        self.until.to_date_text()
    }

    /// The last day in it.
    pub fn last_day(&self) -> String {
        self.until.plus(-DAY).to_date_text()
    }

    /// The days as dates, oldest first.
    pub fn dates(&self) -> Vec<String> {
        let days = self.until.since(self.since) / DAY;
        (0..days).map(|day| self.since.plus(day * DAY).to_date_text()).collect()
    }
}

/// A row of a history by network: its date, network, votes and blocked ones among them.
pub struct NetworkDay {
    pub date: String,
    pub asn: String,
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
        measurements: row.count("measurements"),
        votes: row.count("votes"),
        blocked: row.count("blocked"),
    };
    Ok(history.list("timeline").iter().map(row).collect())
}

/// What a page asks the program's routes.
struct Asked {
    /// The moment that the query names.
    moment: Option<String>,
    check: Answer<'static>,
    range: Range,
    history: Vec<NetworkDay>,
    measurements: Answer<'static>,
    incidents: Answer<'static>,
    /// Whether the query chooses a moment or a range.
    computed: bool,
}

async fn asked(cx: &Cx, site: &str, code: &str) -> Result<Asked> {
    let moment = cx.query("as_of")?.map(|text| end_of_day(&text, cx.now()));
    let explained = query(&[
        ("domain", Some(site)),
        ("country", Some(code)),
        ("explain", Some("true")),
        ("as_of", moment.as_deref()),
    ]);
    let check = answer::ask(cx, "/v1/accessibility/check", &explained).await?;
    let last = Timestamp::parse(check.text("lastChecked"));
    let range = Range::shown(cx, moment.as_deref().and_then(Timestamp::parse), last)?;
    let history = by_network(cx, site, code, &range).await?;
    let address = encoded(site);
    // Those of the newest day that was measured.
    let newest =
        history.iter().map(|row| row.date.as_str()).max().and_then(|day| Timestamp::parse(&format!("{day}T00:00:00Z")));
    let of_day = newest.map_or_else(|| range.query(), |day| Range::whole(day, day.plus(DAY)).query());
    let wanted = format!("country={code}&target={address}&limit={MEASUREMENTS}&{of_day}");
    let measurements = answer::ask_if_any(cx, "/data/measurements", &wanted).await?;
    let about = if site.contains('.') { "domain" } else { "service" };
    let begun = query(&[("until", moment.as_deref())]);
    let wanted = format!("country={code}&{about}={address}&limit=20&{begun}");
    let incidents = answer::ask_if_any(cx, "/data/incidents", &wanted).await?;
    let computed = moment.is_some() || range.chosen || cx.query("days")?.is_some();
    Ok(Asked { moment, check, range, history, measurements, incidents, computed })
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let site = cx.path("domain")?.to_owned();
    let code = known(cx.path("country")?)?;
    let Asked { moment, check, range, history, measurements, incidents, computed } = asked(cx, &site, code).await?;
    let address = encoded(&site);
    let named = [("site", subject(&site).into()), ("country", code.into())];
    let summary = check.said(w.0, "summary");
    let shown = if computed { format!("?{}", cx.request.query) } else { String::new() };
    let frame = Frame::new(cx, w, format!("/site/{address}/{code}{shown}"), w.with("check.title", &named));
    let days = days(&history, w);
    let page = CheckPage {
        frame: frame.about(summary.clone()).unlisted(computed),
        w,
        code: code.to_owned(),
        name: w.country(code),
        as_of: moment.as_deref().map(|time| w.with("check.as_of", &[("day", w.day(time).into())])).unwrap_or_default(),
        as_of_value: moment.as_deref().and_then(|time| time.get(..10)).unwrap_or_default().to_owned(),
        status: check.text("status").to_owned(),
        status_word: w.value("status", check.text("status")),
        summary,
        facts: facts(&check, w),
        platform: platform(&check, w),
        lists: check.list("lists").iter().map(|list| listed(list, w)).collect(),
        networks: networks(&check, w),
        rules: rules(&check, w),
        votes: votes(&check, w),
        witnesses: witnesses(&check, w),
        not_known: check.part("explanation").all_said(w.0, "not_known"),
        prior: {
            let prior = w.percent(check.number("/explanation/prior").unwrap_or_default());
            w.with("check.prior", &[("prior", prior.into())])
        },
        nothing_measured: w.with(
            "check.nothing_measured",
            &[("from", w.day(&range.first()).into()), ("to", w.day(&range.end()).into())],
        ),
        elsewhere: w.with("check.elsewhere", &named[..1]),
        days_alt: w.count("check.days_alt", days.len() as u64),
        days,
        measurements: measurements.list("measurements").iter().map(|row| measurement(row, w)).collect(),
        incidents: lines(&incidents, &check, w),
        licence: check.text("license").to_owned(),
        cited: w.day(&cx.now().to_string()),
        address,
        range,
    };
    Ok(Page::of(&page)?.computed(computed))
}

/// The platform that the site is a role of: its name in addresses, its label, and how it is.
fn platform(check: &Answer, w: Words) -> Option<(String, String, String)> {
    let platform = check.part("platform");
    let text = |name: &str| platform.text(name).to_owned();
    check.has("platform").then(|| (text("slug"), text("label"), platform.said(w.0, "summary")))
}

/// A list that names the site, and its address.
fn listed(list: &Answer, w: Words) -> (String, String) {
    let (kind, day) = (w.value("list", list.text("kind")), w.day(list.text("date")));
    (w.with("check.listed", &[("kind", kind.into()), ("day", day.into())]), web_address(list.text("source")))
}

/// Incidents about the site; without any, the one that the answer leads to.
fn lines(incidents: &Answer, check: &Answer, w: Words) -> Vec<Line> {
    let found: Vec<Line> = incidents.list("incidents").iter().map(|incident| Line::new(incident, w)).collect();
    if found.is_empty() && check.has("latestIncident") {
        return vec![Line::of_lead(&check.part("latestIncident"), w)];
    }
    found
}

/// A day stands for its end, or for now if that is still to come. Other texts are times, which the route reads.
fn end_of_day(text: &str, now: Timestamp) -> String {
    let end = format!("{text}T23:59:59Z");
    match Timestamp::parse(&end) {
        Some(time) if time > now => now.to_string(),
        Some(_) => end,
        None => text.to_owned(),
    }
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
    add("check.last", w.day(check.text("lastChecked")));
    add("check.stale", w.day(check.text("staleSince")));
    add("check.methods", check.texts("methods").join(", "));
    add(
        "check.reason",
        if check.text("reason") == "site_down" { w.t("reason.site_down").to_owned() } else { String::new() },
    );
    add("check.sources", check.texts("sources").join(", "));
    facts
}

fn networks(check: &Answer, w: Words) -> Vec<Network> {
    let roles = check.list("/explanation/roles");
    // A site with one part has no need to name it.
    let several = roles.len() > 1;
    let part = |role: &Answer| if several { role.text("key").to_owned() } else { String::new() };
    let all = roles
        .iter()
        .flat_map(|role| role.list("networks").into_iter().map(|network| (part(role), network)).collect::<Vec<_>>());
    let mut networks: Vec<Network> = all
        .map(|(part, network)| Network {
            part,
            asn: network.count("asn"),
            name: network.text("name").to_owned(),
            status: network.text("status").to_owned(),
            word: w.value("status", network.text("status")),
            votes: network.count("votes"),
            blocked: network.count("blocked_votes"),
            probability: w.percent(network.number("p_blocked").unwrap_or_default()),
            carries: network.is("carries"),
        })
        .collect();
    networks.sort_by_key(|network| (std::cmp::Reverse(network.blocked), std::cmp::Reverse(network.votes)));
    networks.truncate(NETWORKS);
    networks
}

fn rules(check: &Answer, w: Words) -> Vec<(String, String, u64, String)> {
    let roles = check.list("/explanation/roles");
    let all = roles.iter().flat_map(|role| role.list("rules"));
    all.map(|rule| {
        let name = rule.text("rule");
        (name.to_owned(), meaning(name, w), rule.count("count"), rule.weight("log10_lr"))
    })
    .collect()
}

/// What a rule means; its name if nothing says so.
fn meaning(rule: &str, w: Words) -> String {
    let sentence = table::known(&format!("rule.{rule}")).map(Sentence::new);
    sentence.map_or_else(|| rule.to_owned(), |sentence| sentence.text_in(w.0))
}

/// The newest votes of all networks, newest first.
fn votes(check: &Answer, w: Words) -> Vec<Vote> {
    let roles = check.list("/explanation/roles");
    let mut votes = Vec::new();
    for network in roles.iter().flat_map(|role| role.list("networks")) {
        votes.extend(network.list("newest_votes").iter().map(|vote| Vote {
            hour: vote.text("hour").get(..16).unwrap_or_default().replace('T', " "),
            asn: network.count("asn"),
            word: w.value("vote", if vote.is("failed") { "blocked" } else { "clear" }),
            weight: vote.weight("log10_weight"),
            probability: w.percent(vote.number("p_blocked").unwrap_or_default()),
        }));
    }
    votes.sort_by(|one, other| other.hour.cmp(&one.hour).then(one.asn.cmp(&other.asn)));
    votes.truncate(VOTES);
    votes
}

fn witnesses(check: &Answer, w: Words) -> Vec<(String, String, String)> {
    let roles = check.list("/explanation/roles");
    let all = roles.iter().flat_map(|role| role.list("witnesses"));
    all.map(|witness| {
        (w.day(witness.text("day")), format!("AS{}", witness.count("asn")), web_address(witness.text("link")))
    })
    .filter(|(_, _, link)| !link.is_empty())
    .take(20)
    .collect()
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

fn measurement(row: &Answer, w: Words) -> Measurement {
    Measurement {
        time: row.text("time").to_owned(),
        asn: row.text("asn").to_owned(),
        rule: row.text("rule").to_owned(),
        vote: w.value("vote", row.text("vote")),
        link: web_address(row.text("link")),
    }
}

impl CheckPage {
    fn choices(&self) -> [u64; 3] {
        CHOICES
    }
}
