//! The endpoints. They read parameters and return a published document, or an answer that is computed about the past.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION};
use schemars::JsonSchema;
use serde::Serialize;

use super::facts::{DecidedSite, Facts, Isp, categorise};
use super::isps::LastPlace;
use super::reports::{self, MAX_AGE, Notes, ReportQuestion, Stamp, Table, World};
use super::store::{CategoriesOf, FactsAt, IspsByNumber, IspsOf, Placed};
use super::tabular::{self, generated, wants_csv};
use super::{constants, isps, measurement, platforms, tools, topics};
use crate::country::routes::{AT_ONCE, input, measured};
use crate::country::{self, Detect, Detection, LastHeard};
use crate::reference::{self, CountriesOf};
use crate::world::{self, LICENSE, SourceLicense, SourceSummary};
use crate::{Error, Result, Timestamp};
use engine::documents::Rendered;
use engine::http::{Cx, Response};
use engine::runtime;
use facts::licence;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;
use facts::starter::Country;
use facts::tracked::Tracked;

/// Networks in one comparison.
const COMPARED: std::ops::RangeInclusive<usize> = 2..=10;
/// Networks in the list of the worst, at most.
pub(super) const WORST_MOST: u32 = 500;

/// A report as published, or computed about the past.
async fn report(cx: &Cx, name: &str, parameter: Option<&str>) -> Result<Response> {
    let csv = wants_csv(cx)?;
    let Some(at) = cx.as_of()? else {
        return cx.document(&reports::key(name, parameter, csv)).await;
    };
    let world = Box::pin(past(cx, at)).await?;
    respond(cx, reports::make(&ReportQuestion { name, parameter, csv }, &world)?, Some(at))
}

/// An answer made for this request. Clients may keep it for a while if it is about the present.
fn respond(cx: &Cx, rendered: Rendered, at: Option<Timestamp>) -> Result<Response> {
    let mut response = Response::new(StatusCode::OK, rendered.content_type, rendered.body);
    if let Some(disposition) = &rendered.disposition {
        response.set(CONTENT_DISPOSITION, disposition);
    }
    match at {
        Some(_) => Ok(response.with(CACHE_CONTROL, "no-store")),
        None => cx.tagged(response, MAX_AGE),
    }
}

/// The facts, sites and networks of one country.
type CountryFacts = (Facts, Vec<DecidedSite>, Vec<Isp>);

async fn ask(cx: &Cx, codes: BTreeSet<String>, at: Timestamp) -> Result<Vec<CountryFacts>> {
    let work =
        codes.into_iter().map(|code| async move { runtime::query(&*cx.rt, code, &FactsAt { at: Some(at) }).await });
    let found: Vec<Result<CountryFacts>> = futures_util::stream::iter(work).buffered(AT_ONCE).collect().await;
    let mut found = found.into_iter().collect::<Result<Vec<CountryFacts>>>()?;
    // After the removal of a source a country may have no data left.
    found.retain(|(facts, ..)| facts.total > 0);
    let domains: BTreeSet<&String> = found
        .iter()
        .flat_map(|(facts, sites, isps)| {
            let blocks = facts.blocks.iter().map(|block| &block.domain);
            let networks = isps.iter().flat_map(|isp| &isp.blocks).map(|block| &block.domain);
            blocks.chain(sites.iter().map(|site| &site.domain)).chain(networks)
        })
        .collect();
    let domains: Vec<String> = domains.into_iter().cloned().collect();
    let codes = runtime::query(&*cx.rt, world::actor().name, &CategoriesOf { domains: domains.clone() }).await?;
    let categories: BTreeMap<String, Option<String>> = domains.into_iter().zip(codes).collect();
    let category = |domain: &str| categories.get(domain).cloned().flatten();
    for (facts, sites, isps) in &mut found {
        categorise(facts, sites, category);
        for block in isps.iter_mut().flat_map(|isp| &mut isp.blocks) {
            block.category = category(&block.domain);
        }
    }
    Ok(found)
}

/// The facts of the world at a time in the past.
async fn past(cx: &Cx, at: Timestamp) -> Result<World> {
    let platforms = reference::platforms(&*cx.rt).await?;
    let mut world = World { at, generated: cx.now(), as_of: Some(at), platforms, ..World::default() };
    for (facts, sites, isps) in ask(cx, measured(cx).await?, at).await? {
        world.sites.push((facts.country.clone(), sites));
        let ranked = isps.into_iter().filter(isps::is_ranked);
        world.worst.extend(ranked.map(|isp| (facts.country.clone(), isp)));
        world.facts.push(facts);
    }
    world.worst.sort_by(|(_, a), (_, b)| isps::order(a, b));
    Ok(world)
}

pub async fn summary(cx: Cx) -> Result<Response> {
    report(&cx, "summary", None).await
}

pub async fn intent_profile(cx: Cx) -> Result<Response> {
    report(&cx, "intent-profile", input::query_country(&cx, "country")?.map(|country| country.code)).await
}

pub async fn category_leaders(cx: Cx) -> Result<Response> {
    let category = measurement::category(&cx.required("category")?)?;
    report(&cx, "category-leaders", Some(category.code)).await
}

pub async fn co_blocking(cx: Cx) -> Result<Response> {
    if wants_csv(&cx)? && cx.as_of()?.is_none() {
        let key = reports::key(reports::CO_BLOCKING, None, false);
        return tabular::of_document(&cx, &measurement::PAIRS, "", &key).await;
    }
    report(&cx, reports::CO_BLOCKING, None).await
}

pub async fn most_blocked(cx: Cx) -> Result<Response> {
    let category = cx.query("category")?.map(|text| measurement::category(&text)).transpose()?;
    report(&cx, "most-blocked-domains", category.map(|category| category.code)).await
}

pub async fn network_depth(cx: Cx) -> Result<Response> {
    report(&cx, "network-depth", input::query_country(&cx, "country")?.map(|country| country.code)).await
}

pub async fn quality(cx: Cx) -> Result<Response> {
    report(&cx, "quality", None).await
}

pub async fn techniques(cx: Cx) -> Result<Response> {
    let chosen = match input::query_country(&cx, "country")? {
        None => input::query_country(&cx, "country_code")?,
        chosen => chosen,
    };
    report(&cx, "techniques", chosen.map(|country| country.code)).await
}

pub async fn by_region(cx: Cx) -> Result<Response> {
    let level = match cx.query("level")?.as_deref() {
        None | Some("continent") => None,
        Some("subregion") => Some("subregion"),
        Some(_) => return Err(Error::bad_request("Query parameter `level` must be continent or subregion.")),
    };
    report(&cx, "by-region", level).await
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MeasurementInfo")]
pub struct InfoBody {
    schema: &'static str,
    endpoints: Vec<&'static str>,
    definitions: BTreeMap<&'static str, Sentence>,
    confirmation_rule: String,
    category_source: &'static str,
    /// Every number behind these answers, by name.
    constants: BTreeMap<&'static str, f64>,
    window_days: u32,
    caveats: [Sentence; 4],
    formats: [&'static str; 2],
    license: &'static str,
    generated_at: String,
    sentences: Sentences,
}

/// Apart from the handler, since the table of routes names the handler.
fn endpoints() -> Vec<&'static str> {
    let routes = super::ROUTES.iter().chain(country::ROUTES);
    routes.map(|route| route.path).filter(|path| path.starts_with("/v1/measurement/")).collect()
}

pub async fn info(cx: Cx) -> Result<Response> {
    let definitions = [
        ("nationally blocked", Sentence::new("report.definition.nationally_blocked")),
        ("decided", Sentence::new("report.definition.decided")),
        ("importance", Sentence::new("report.definition.importance")),
        ("window", reports::WINDOW),
        ("expected", Sentence::new("report.definition.expected")),
        ("block_fraction", Sentence::new("report.definition.block_fraction")),
    ];
    let caveats = [measurement::TESTED_ONLY, isps::CAVEAT, platforms::CAVEAT, reports::WINDOW];
    let body = InfoBody {
        schema: "heliograph.measurement.info/1",
        endpoints: endpoints(),
        definitions: definitions.iter().cloned().collect(),
        confirmation_rule: format!("{} networks", constants::CONFIRMED_NETWORKS),
        category_source: "imported test lists, the global one first, else the basket of this project",
        constants: constants::TABLE.iter().copied().collect(),
        window_days: constants::WINDOW_DAYS,
        sentences: Sentences::new().with("caveats", caveats.as_slice()).with_named("definitions", &definitions),
        caveats,
        formats: ["json", "csv (?format=csv)"],
        license: LICENSE,
        generated_at: generated(&cx, None).to_string(),
    };
    cx.tagged(Response::json(&body)?, MAX_AGE)
}

pub async fn platform_scores(cx: Cx) -> Result<Response> {
    report(&cx, "platforms", None).await
}

pub async fn platform_risk(cx: Cx) -> Result<Response> {
    let platform = platforms::platform(&cx).await?;
    report(&cx, "platform", Some(&platform.slug)).await
}

/// Answers about some platforms in a country, with the licences of the data behind them.
async fn in_country(
    cx: &Cx,
    country: &'static Country,
    chosen: &[Tracked],
) -> Result<(Vec<platforms::CountryRiskBody>, Stamp)> {
    let at = cx.as_of()?;
    let subjects = chosen.iter().map(Tracked::subject).collect();
    let answers = runtime::query(&*cx.rt, country.code, &Detect { subjects, at, explain: false, brief: false }).await?;
    let license = licence::effective(answers.iter().flat_map(|answer| &answer.licences).map(String::as_str));
    let licensed = |source: &String, answer: &Detection| {
        let known = Source::by_id(source).map(|source| source.licence_under(cx.settings()).to_owned());
        known.unwrap_or_else(|| licence::effective(answer.licences.iter().map(String::as_str)))
    };
    let sources: BTreeMap<String, String> = answers
        .iter()
        .flat_map(|answer| answer.sources.iter().map(|source| (source.clone(), licensed(source, answer))))
        .collect();
    let stamp = Stamp {
        license,
        source_licenses: sources.into_iter().map(|(source, license)| SourceLicense { source, license }).collect(),
        generated: generated(cx, at),
        as_of: at,
    };
    let rows = chosen.iter().zip(&answers).map(|(platform, answer)| platforms::in_country(platform, country, answer));
    Ok((rows.collect(), stamp))
}

pub async fn platform_country(cx: Cx) -> Result<Response> {
    let platform = platforms::platform(&cx).await?;
    let country = input::path_country(&cx, "country")?;
    let (mut rows, stamp) = in_country(&cx, country, std::slice::from_ref(&platform)).await?;
    let body = rows.pop().ok_or_else(|| Error::internal("no answer to one question"))?;
    let asked = ReportQuestion { name: "platform", parameter: Some(&platform.slug), csv: false };
    let at = stamp.as_of;
    respond(&cx, reports::camel(&asked, stamp, platforms::CAVEAT, &platforms::COUNTRY_TABLE, body)?, at)
}

pub async fn platforms_of_country(cx: Cx) -> Result<Response> {
    let country = input::path_country(&cx, "country")?;
    let all = reference::platforms(&*cx.rt).await?;
    let (rows, stamp) = in_country(&cx, country, &all).await?;
    let asked = ReportQuestion { name: "platforms", parameter: Some(country.code), csv: wants_csv(&cx)? };
    let body = platforms::of_country(country, rows);
    let at = stamp.as_of;
    respond(&cx, reports::camel(&asked, stamp, platforms::CAVEAT, &platforms::COUNTRY_TABLE, body)?, at)
}

/// Renders a list or a profile of networks.
fn networks<T: Serialize>(
    cx: &Cx,
    asked: &ReportQuestion<'_>,
    sources: Vec<SourceSummary>,
    table: &Table,
    body: T,
    notes: Notes,
) -> Result<Response> {
    let at = cx.as_of()?;
    let stamp = Stamp::new(sources, generated(cx, at), at);
    respond(cx, reports::camel(asked, stamp, notes, table, body)?, at)
}

pub async fn isp_index(cx: Cx) -> Result<Response> {
    cx.required("country")?;
    let country = input::known(&cx.required("country")?)?;
    let asked = ReportQuestion { name: "isps", parameter: Some(country.code), csv: wants_csv(&cx)? };
    let at = cx.as_of()?;
    let (facts, isps) = match at {
        None => {
            let query = IspsOf { country: country.code.to_owned() };
            runtime::query(&*cx.rt, world::actor().name, &query).await?
        }
        Some(at) => match ask(&cx, BTreeSet::from([country.code.to_owned()]), at).await?.pop() {
            Some((facts, _, isps)) => (Some(facts), isps),
            None => (None, Vec::new()),
        },
    };
    let Facts { sources, newest, recent, .. } = facts.unwrap_or_default();
    let body = isps::index(country.code, isps, (newest, recent), at.unwrap_or(cx.now()));
    let said = Sentences::new().with("reason", &body.reason);
    networks(&cx, &asked, sources, &isps::TABLE, body, Notes::new(isps::CAVEAT, said))
}

/// Networks with these numbers, in every country where they were measured.
async fn places(cx: &Cx, asns: &[u32]) -> Result<(Vec<SourceSummary>, Vec<Placed>)> {
    let Some(at) = cx.as_of()? else {
        return runtime::query(&*cx.rt, world::actor().name, &IspsByNumber { asns: asns.to_vec() }).await;
    };
    let (mut sources, mut found) = (Vec::new(), Vec::new());
    for (facts, _, mut isps) in ask(cx, measured(cx).await?, at).await? {
        isps.sort_by(isps::order);
        let ranked: Vec<u32> = isps.iter().map(|isp| isp.asn).collect();
        for isp in isps.into_iter().filter(|isp| asns.contains(&isp.asn)) {
            found.push(Placed::among(&facts.country, isp, &ranked));
            sources.extend(facts.sources.clone());
        }
    }
    Ok((sources, found))
}

/// For a network without measurements inside the window: the place where it was measured last, as it was at the end of
/// that day. It is computed as the index with `as_of` of that time is.
async fn last_place(cx: &Cx, asn: u32) -> Result<Option<(Vec<SourceSummary>, LastPlace)>> {
    let codes = runtime::query(&*cx.rt, reference::actor().name, &CountriesOf { asn }).await?;
    let until = cx.as_of()?;
    let mut last: Option<(u32, String)> = None;
    for code in codes {
        let heard = runtime::query(&*cx.rt, code.clone(), &LastHeard { asn, until }).await?;
        last = last.max(heard.map(|day| (day, code)));
    }
    let Some((day, code)) = last else { return Ok(None) };
    // Of a day that is not over when the question is, only what came before counts.
    let end = Timestamp::end_of_day(day);
    let until = until.map_or(end, |until| until.min(end));
    let Some((facts, _, mut isps)) = ask(cx, BTreeSet::from([code]), until).await?.pop() else { return Ok(None) };
    isps.sort_by(isps::order);
    let ranked: Vec<u32> = isps.iter().map(|isp| isp.asn).collect();
    let of = isps.into_iter().find(|isp| isp.asn == asn);
    Ok(of.map(|isp| (facts.sources, LastPlace { until, place: Placed::among(&facts.country, isp, &ranked) })))
}

pub async fn isp_profile(cx: Cx) -> Result<Response> {
    let asn = isps::number(cx.path("asn")?)?;
    let label = format!("AS{asn}");
    let asked = ReportQuestion { name: "isp", parameter: Some(&label), csv: wants_csv(&cx)? };
    let (sources, found) = Box::pin(places(&cx, &[asn])).await?;
    let places: Vec<&Placed> = found.iter().collect();
    if let Some(body) = isps::profile(&places, true) {
        return networks(&cx, &asked, sources, &isps::PROFILE_TABLE, body, Notes::from(isps::CAVEAT));
    }
    let nothing = || Error::not_found(format!("Nothing was ever measured on AS{asn} before the time of this answer."));
    let (sources, last) = Box::pin(last_place(&cx, asn)).await?.ok_or_else(nothing)?;
    let body = last.profile(true, cx.as_of()?.unwrap_or_else(|| cx.now())).ok_or_else(nothing)?;
    let notes = Notes::from(isps::CAVEAT).about(isps::window_then(last.until));
    networks(&cx, &asked, sources, &isps::PROFILE_TABLE, body, notes)
}

pub async fn isp_worst(cx: Cx) -> Result<Response> {
    let limit = cx.count("limit", reports::WORST_DEFAULT, WORST_MOST)?;
    let limit = (limit != reports::WORST_DEFAULT).then(|| limit.to_string());
    report(&cx, reports::WORST, limit.as_deref()).await
}

pub async fn isp_compare(cx: Cx) -> Result<Response> {
    let text = cx.required("asns")?;
    let mut asns: Vec<u32> = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let asn = isps::number(part)?;
        if !asns.contains(&asn) {
            asns.push(asn);
        }
    }
    if !COMPARED.contains(&asns.len()) {
        let (least, most) = (COMPARED.start(), COMPARED.end());
        return Err(Error::bad_request(format!("`asns` takes {least} to {most} different networks.")));
    }
    let (mut sources, found) = Box::pin(places(&cx, &asns)).await?;
    let asked = ReportQuestion { name: "isps", parameter: None, csv: wants_csv(&cx)? };
    let mut last = Vec::new();
    for asn in asns.iter().filter(|asn| !found.iter().any(|placed| placed.isp.asn == **asn)) {
        if let Some((of, place)) = Box::pin(last_place(&cx, *asn)).await? {
            sources.extend(of);
            last.push(place);
        }
    }
    let body = isps::compare(&asns, &found, &last, cx.as_of()?.unwrap_or_else(|| cx.now()));
    let notes = Notes::from(isps::CAVEAT);
    let notes = if last.is_empty() { notes } else { notes.about(isps::WINDOW_OF_EACH) };
    networks(&cx, &asked, sources, &isps::COMPARE_TABLE, body, notes)
}

pub async fn topic_index(cx: Cx) -> Result<Response> {
    let (topic, _) = topics::topic(&cx.required("topic")?)?;
    report(&cx, "topic", Some(&topic)).await
}

pub async fn vpn_accessibility(cx: Cx) -> Result<Response> {
    let country = input::query_country(&cx, "country")?.map(|country| country.code);
    let provider = cx.query("provider")?.map(|text| tools::provider(&text)).transpose()?;
    let parameter = format!("{}~{}", country.unwrap_or_default(), provider.unwrap_or_default());
    report(&cx, "tools", Some(parameter.as_str()).filter(|text| *text != "~")).await
}
