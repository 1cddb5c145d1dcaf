//! Histories over a range of days, by network: of a site, a country or a network.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::answer::{LEFT_OUT, METHOD, license};
use super::axis::{Axis, AxisValue};
use super::count::VoteCounts;
use super::gather::gather;
use super::grain::Grain;
use super::question::{AggregationQuestion, HourRange};
use crate::analytics::network_number;
use crate::analytics::tabular::{MAX_AGE, Tabular, as_csv, wants_csv};
use crate::country::routes::input;
use crate::reference::{self, CountriesOf, Names};
use crate::{Error, Result};
use engine::http::{Cx, Param, Response};
use engine::number::round;
use engine::runtime;
use facts::starter::Country;

pub const SINCE_DAY: Param =
    Param::optional("since", "A day, included: the first of the history. Instead of `days`.").day();
pub const UNTIL_DAY: Param = Param::optional("until", "A day, not included; without it the history ends now.").day();
pub const BY: Param = Param::optional(
    "by",
    "`network` gives a row for each day, country and network, in the form of `/data/network/{asn}/history`.",
)
.one_of(&["day", "network"])
.default("day");

/// A day of a network in a country.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NetworkDay {
    date: String,
    country: String,
    /// `AS` and the number; null if the network is withheld.
    asn: Option<String>,
    /// Measurements, each counted once.
    measurements: u64,
    /// Measurements among them that vote blocked or accessible.
    votes: u64,
    /// Measurements among them that vote blocked.
    blocked: u64,
    /// Measurements among those whose block page is known.
    confirmed: u64,
    /// Share of the votes that say blocked, 0 to 1; null without votes.
    block_rate: Option<f64>,
    /// What the network is called; null where no imported table says it.
    name: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct NetworkHistoryBody {
    /// What the history is about: the site or service, the country, the network. Null where it is about all of them.
    domain: Option<String>,
    country: Option<String>,
    asn: Option<String>,
    /// The first day, and the first day after the last.
    since: String,
    until: String,
    /// Newest first. A day on which nothing was measured has no row.
    timeline: Vec<NetworkDay>,
    /// What the counts are, and what they leave out.
    method: &'static str,
    left_out: &'static str,
    license: String,
}

const TABLE: Tabular = Tabular {
    name: "network-history",
    list: "timeline",
    inner: None,
    columns: &["date", "country", "asn", "measurements", "votes", "blocked", "confirmed", "blockRate", "name"],
};

/// What a history is about.
#[derive(Debug, Default)]
pub struct HistoryAbout {
    /// The name of a site or service, and its series.
    pub subject: Option<(String, Vec<String>)>,
    /// One country.
    pub country: Option<&'static Country>,
    pub asn: Option<u32>,
    /// The countries to ask, if it is about none; all that know the site, if there are none.
    pub among: Vec<&'static Country>,
}

/// Whether a history by network is asked for.
pub fn is_by_network(cx: &Cx) -> Result<bool> {
    match cx.query("by")?.as_deref() {
        None | Some("day") => Ok(false),
        Some("network") => Ok(true),
        Some(_) => Err(Error::bad_request("Query parameter `by` must be day or network.")),
    }
}

/// The days from `since` to `until`, if the question has one of the two.
pub fn days_asked(cx: &Cx) -> Result<Option<HourRange>> {
    if cx.query("since")?.is_none() && cx.query("until")?.is_none() {
        return Ok(None);
    }
    for name in ["days", "as_of"] {
        if cx.query(name)?.is_some() {
            return Err(Error::bad_request(format!("`{name}` goes without `since` and `until`.")));
        }
    }
    let mut range = HourRange::read(cx)?;
    let whole = |hour: i64| hour % 24 == 0;
    if cx.query("until")?.is_none() {
        range.end = (cx.now().day() + 1) * 24;
    }
    match whole(range.from) && whole(range.end) {
        true => Ok(Some(range)),
        false => Err(Error::bad_request("`since` and `until` of a history must be days.")),
    }
}

/// The days of a history: from `since` to `until`, or the last `days`.
fn range(cx: &Cx) -> Result<HourRange> {
    if let Some(range) = days_asked(cx)? {
        return Ok(range);
    }
    let days = cx.count("days", 30, 365)?;
    let end = (cx.now().day() + 1) * 24;
    Ok(HourRange { from: end - i64::from(days) * 24, end })
}

/// `GET /data/network/{asn}/history`
pub async fn network(cx: Cx) -> Result<Response> {
    let asn = network_number(cx.path("asn")?)?;
    if let Some(code) = cx.query("country")? {
        let country = Some(input::known(&code)?);
        return by_network(&cx, HistoryAbout { country, asn: Some(asn), ..HistoryAbout::default() }).await;
    }
    let codes = runtime::query(&*cx.rt, reference::actor().name, &CountriesOf { asn }).await?;
    let among = codes.iter().filter_map(|code| Country::by_code(code)).collect();
    by_network(&cx, HistoryAbout { asn: Some(asn), among, ..HistoryAbout::default() }).await
}

/// A question about days of some countries or series.
fn question(about: &HistoryAbout, range: HourRange, axes: Vec<Axis>, csv: bool) -> AggregationQuestion {
    AggregationQuestion {
        countries: about.country.into_iter().chain(about.among.iter().copied()).collect(),
        series: about.subject.as_ref().map(|(_, series)| series.clone()).unwrap_or_default(),
        networks: about.asn.into_iter().collect(),
        tests: Vec::new(),
        categories: Vec::new(),
        range,
        grain: Grain::Day,
        axes,
        csv,
        download: false,
    }
}

/// The counts of a country by day since the epoch, over all networks.
pub async fn by_day(cx: &Cx, country: &'static Country, range: HourRange) -> Result<Vec<(i64, VoteCounts)>> {
    let about = HistoryAbout { country: Some(country), ..HistoryAbout::default() };
    let gathered = gather(cx, &question(&about, range, vec![Axis::Day], false)).await?;
    let day = |(key, counts): (Vec<AxisValue>, VoteCounts)| match key.as_slice() {
        [AxisValue::Begin(hour)] => Some((hour / 24, counts)),
        _ => None,
    };
    Ok(gathered.rows.into_iter().filter_map(day).collect())
}

/// The history of a subject by day, country and network.
pub async fn by_network(cx: &Cx, about: HistoryAbout) -> Result<Response> {
    if cx.query("as_of")?.is_some() {
        return Err(Error::bad_request("`as_of` goes without `by=network`: these are counts of what is stored now."));
    }
    let csv = wants_csv(cx)?;
    let range = range(cx)?;
    let question = question(&about, range, vec![Axis::Day, Axis::Country, Axis::Network], csv);
    let gathered = gather(cx, &question).await?;
    let license = license(cx, &gathered);
    let names = names(cx, &gathered.rows).await?;
    let mut timeline: Vec<NetworkDay> =
        gathered.rows.iter().filter_map(|(key, counts)| day(key, counts, &names)).collect();
    timeline.sort_by(|a, b| b.date.cmp(&a.date));
    let body = NetworkHistoryBody {
        domain: about.subject.map(|(name, _)| name),
        country: about.country.map(|country| country.code.to_owned()),
        asn: about.asn.map(|asn| format!("AS{asn}")),
        since: range.since().to_date_text(),
        until: range.until().to_date_text(),
        timeline,
        method: METHOD,
        left_out: LEFT_OUT,
        license,
    };
    let mut response = Response::json(&body)?;
    if csv {
        let names = [body.domain.as_deref(), body.country.as_deref(), body.asn.as_deref()];
        let about = names.into_iter().flatten().collect::<Vec<_>>().join("-");
        response = as_csv(&TABLE, &about, &response)?;
    }
    cx.tagged(response, MAX_AGE)
}

/// The names of the networks of some rows, by their numbers.
async fn names(cx: &Cx, rows: &BTreeMap<Vec<AxisValue>, VoteCounts>) -> Result<BTreeMap<u32, String>> {
    let number = |key: &Vec<AxisValue>| match key.last() {
        Some(AxisValue::Number(asn)) if *asn != 0 => Some(*asn),
        _ => None,
    };
    let networks: BTreeSet<u32> = rows.keys().filter_map(number).collect();
    if networks.is_empty() {
        return Ok(BTreeMap::new());
    }
    let question = Names { networks: networks.into_iter().collect() };
    let found = runtime::query(&*cx.rt, reference::actor().name, &question).await?;
    Ok(found.into_iter().map(|(asn, entry)| (asn, entry.name)).collect())
}

fn day(key: &[AxisValue], counts: &VoteCounts, names: &BTreeMap<u32, String>) -> Option<NetworkDay> {
    let [AxisValue::Begin(hour), AxisValue::Text(country), AxisValue::Number(asn)] = key else { return None };
    let blocked = counts.confirmed + counts.anomaly;
    let votes = blocked + counts.ok;
    Some(NetworkDay {
        date: Grain::Day.write(*hour),
        country: country.clone(),
        asn: (*asn != 0).then(|| format!("AS{asn}")),
        measurements: counts.sum(),
        votes,
        blocked,
        confirmed: counts.confirmed,
        name: names.get(asn).cloned(),
        block_rate: (votes > 0).then(|| round(blocked as f64 / votes as f64)),
    })
}
