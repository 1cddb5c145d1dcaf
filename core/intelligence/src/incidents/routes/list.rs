//! `GET /data/incidents`

use super::check;
use crate::analytics::tabular::{csv_answer, wants_csv};
use crate::analytics::{self, CategoriesChanged, CategoriesOf, FORMAT};
use crate::country::routes::input;
use crate::incidents::actor;
use crate::incidents::body::IncidentBody;
use crate::incidents::documents::{self, DEFAULT_LIMIT, generated};
use crate::incidents::model::{IncidentType, Severity, Status};
use crate::incidents::query::{Domains, Filter, LastChange, Listed, ReadListing, Select, Selected};
use crate::incidents::search::words::{self, ListingOf, Search, SelectedOf, Words};
use crate::incidents::tables::IdKey;
use crate::incidents::written::MANNER;
use crate::{Error, Result, Timestamp, reference, world};
use engine::actor::{decode, encode};
use engine::apart;
use engine::http::{Cx, Param, Response};
use engine::runtime;
use http::header::CACHE_CONTROL;

const AS_OF: Param = Param::optional(
    "as_of",
    "ISO 8601 time: incidents that had begun by then, with beginnings, ends and sentences as they were then. A day stands \
     for its end. Counts are those of the whole incident. Not together with `status`.",
)
.known_time();

/// Rows of a page, at most.
const MAX_LIMIT: u32 = 200;

pub const PARAMS: &[Param] = &[
    Param::optional(
        "q",
        "Words that must all stand in the incident, or begin words of it, without regard to case and accents: at most 10.",
    )
    .length(1, words::MAX_CHARACTERS as u32)
    .such_as("telegram nairobi"),
    Param::optional("limit", "Most entries of the answer: default 50, at most 200.").count(DEFAULT_LIMIT, MAX_LIMIT),
    Param::optional("offset", "How many of the first entries are passed over; default 0.").at_least(0).default("0"),
    Param::optional("country", "Code of a country, ISO 3166-1 alpha-2.").country(),
    Param::optional("status", "`active`, `resolved`, `suspected`, or `confirmed` for all but suspected ones.")
        .one_of(&["active", "resolved", "suspected", "confirmed"]),
    Param::optional("type", "`censorship`, `disruption` or `mixed`.").one_of(&["censorship", "disruption", "mixed"]),
    Param::optional("severity", "At least `low`, `medium`, `high` or `critical`.")
        .one_of(&["low", "medium", "high", "critical"]),
    Param::optional("topic", "A topic such as `news`, or a category code such as `NEWS`.").such_as("news"),
    Param::optional("citable", "`true`: only incidents that may be cited; `false`: only the others.").boolean(),
    Param::optional("min_sources", "At least so many independent sources.").at_least(0).default("0"),
    Param::optional("service", "A platform such as `telegram`, or a name as `affectedServices` has it.")
        .line()
        .such_as("telegram"),
    Param::optional("domain", "A domain; those of a platform mean the platform.").line().such_as("x.com"),
    Param::optional("since", "ISO 8601: still going on at that time or begun later.").date(),
    Param::optional("until", "Only incidents that had begun by then, ISO 8601.").date(),
    AS_OF,
    FORMAT,
];

pub async fn list(cx: Cx) -> Result<Response> {
    let asked = Select {
        filter: filter(&cx).await?,
        offset: cx.offset("offset")?,
        limit: cx.count("limit", DEFAULT_LIMIT, MAX_LIMIT)?,
    };
    let words = words(&cx)?;
    if let Some(at) = cx.as_of()? {
        return past(&cx, asked, words.as_ref(), at).await;
    }
    if wants_csv(&cx)? {
        let found = found(&cx, &asked, words.as_ref()).await?.incidents;
        let bodies = found.iter().map(|incident| IncidentBody::new(incident, cx.settings()));
        let response = csv_answer("incidents", country_of(&asked), super::export::csv(bodies));
        return cx.tagged(response, documents::MAX_AGE);
    }
    if asked == Select::default() && words.is_none() {
        return cx.document(documents::LIST).await;
    }
    let changed = runtime::query(&*cx.rt, actor().name, &LastChange).await?;
    let at = generated(cx.now(), changed);
    let page = async {
        let found = match &words {
            Some(words) => {
                let (total, keys) = page_of(&cx, &asked, words).await?;
                let incidents = runtime::query(&*cx.rt, actor().name, &ListingOf { keys }).await?;
                Listed { total, changed, incidents }
            }
            None => runtime::query(&*cx.rt, actor().name, &ReadListing(asked.clone())).await?,
        };
        Ok(Response::json_text(documents::list(&asked, &found, at)?))
    };
    cx.kept_by(&("incidents", MANNER, changed, at, &asked, &words), documents::MAX_AGE, page).await
}

/// The incidents as they were at a moment.
async fn past(cx: &Cx, mut asked: Select, words: Option<&Words>, at: Timestamp) -> Result<Response> {
    if asked.filter.status.is_some() {
        return Err(Error::bad_request("Query parameter `status` is about now, and cannot stand beside `as_of`."));
    }
    apart::room().await;
    asked.filter.until = Some(asked.filter.until.map_or(at, |until| until.min(at)));
    let found = found(cx, &asked, words).await?;
    let bodies = found.incidents.iter().filter_map(|incident| IncidentBody::at(incident, at, cx.settings()));
    if wants_csv(cx)? {
        return Ok(
            csv_answer("incidents", country_of(&asked), super::export::csv(bodies)).with(CACHE_CONTROL, "no-store")
        );
    }
    Response::uncached(&documents::past(&asked, bodies.collect(), (found.total, found.changed), at, cx.now()))
}

fn country_of(asked: &Select) -> &str {
    asked.filter.country.as_deref().unwrap_or_default()
}

/// A page of the incidents that pass a filter and hold the words, if there are any.
async fn found(cx: &Cx, asked: &Select, words: Option<&Words>) -> Result<Selected> {
    let Some(words) = words else { return runtime::query(&*cx.rt, actor().name, asked).await };
    let (total, keys) = page_of(cx, asked, words).await?;
    let changed = runtime::query(&*cx.rt, actor().name, &LastChange).await?;
    Ok(Selected { incidents: runtime::query(&*cx.rt, actor().name, &SelectedOf { keys }).await?, total, changed })
}

/// The words that incidents must hold.
pub fn words(cx: &Cx) -> Result<Option<Words>> {
    cx.query("q")?.map(|text| Words::parse(&text)).transpose()
}

/// How many incidents pass a filter and hold some words, and those of the page.
async fn page_of(cx: &Cx, asked: &Select, words: &Words) -> Result<(u64, Vec<IdKey>)> {
    let (mut keys, mut read) = (Vec::new(), 0);
    loop {
        let search = Search { filter: asked.filter.clone(), words: words.clone(), read };
        let (found, next) = runtime::query(&*cx.rt, actor().name, &search).await?;
        keys.extend(found);
        match next {
            Some(next) => read = next,
            None => break,
        }
    }
    let total = keys.len() as u64;
    let offset = usize::try_from(asked.offset).unwrap_or(usize::MAX);
    Ok((total, keys.into_iter().skip(offset).take(asked.limit as usize).collect()))
}

/// The filter of a list or an export. Unknown parameters are ignored.
pub async fn filter(cx: &Cx) -> Result<Filter> {
    let one_of = |name: &str, words: &str| Error::bad_request(format!("`{name}` must be one of {words}."));
    let statuses = |text: String| match Status::parse(&text) {
        Some(status) => Ok(vec![status]),
        None if text.eq_ignore_ascii_case("confirmed") => Ok(vec![Status::Active, Status::Resolved]),
        None => Err(one_of("status", "active, resolved, suspected, confirmed")),
    };
    // Some clients send `type` under two other names.
    let kind = first(cx, &["type", "incident_type", "incidentType"])?;
    let subject = match (cx.query("service")?, cx.query("domain")?) {
        (Some(name), domain) => {
            // The service decides; a domain that is none is refused all the same.
            if let Some(domain) = domain {
                check::subject(cx, &domain).await?;
            }
            Some(check::service(cx, &name).await?)
        }
        (None, Some(domain)) => Some(check::subject(cx, &domain).await?),
        (None, None) => None,
    };
    let country = input::query_country(cx, "country")?.map(|country| country.code.to_owned());
    let topics = cx.query("topic")?.map(|topic| codes(&topic));
    let listed = match &topics {
        Some(codes) => listed(cx, codes).await?,
        None => Vec::new(),
    };
    let (since, until) = (cx.time("since")?, cx.time("until")?);
    if since.zip(until).is_some_and(|(since, until)| since > until) {
        return Err(Error::bad_request("Query parameter `since` must not be after `until`."));
    }
    Ok(Filter {
        country,
        status: cx.query("status")?.map(statuses).transpose()?,
        kind: kind
            .map(|text| IncidentType::parse(&text).ok_or_else(|| one_of("type", "censorship, disruption, mixed")))
            .transpose()?,
        severity: cx
            .query("severity")?
            .map(|text| Severity::parse(&text).ok_or_else(|| one_of("severity", "low, medium, high, critical")))
            .transpose()?,
        topics,
        listed,
        citable: cx.flag("citable")?,
        min_sources: usize::try_from(cx.offset("min_sources")?).unwrap_or(usize::MAX),
        subject,
        since,
        until,
        begun_since: None,
    })
}

/// Domains of incidents that imported lists put under one of these categories. The world knows the lists. The result is
/// kept until either changes, since there are thousands of domains and categories to compare.
async fn listed(cx: &Cx, codes: &[String]) -> Result<Vec<String>> {
    if codes.is_empty() {
        return Ok(Vec::new());
    }
    let changed = runtime::query(&*cx.rt, actor().name, &LastChange).await?;
    let categories = runtime::query(&*cx.rt, world::actor().name, &CategoriesChanged).await?;
    let key = encode(&("domains under", codes, changed, categories))?;
    let pages = &cx.rt.environment().pages;
    if let Some(known) = pages.get(&key) {
        return decode(&known);
    }
    let mut domains = runtime::query(&*cx.rt, actor().name, &Domains).await?;
    let found = runtime::query(&*cx.rt, world::actor().name, &CategoriesOf { domains: domains.clone() }).await?;
    let mut found = found.into_iter();
    domains.retain(|_| found.next().flatten().is_some_and(|code| codes.contains(&code)));
    pages.put(key, encode(&domains)?.into_boxed_slice().into());
    Ok(domains)
}

fn first(cx: &Cx, names: &[&str]) -> Result<Option<String>> {
    for name in names {
        if let Some(text) = cx.query(name)? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// A platform by its slug or any of its domains, or else the domain (decision incident-grades).
pub async fn subject_of(cx: &Cx, text: &str) -> Result<String> {
    let name = reference::subject(&*cx.rt, text).await?.name;
    Ok(facts::starter::Platform::by_domain(&name).map_or(name, |platform| platform.slug.to_owned()))
}

/// Other words that clients use for topics and categories.
const ALSO: [(&str, &str); 6] = [
    ("health", "women-health"),
    ("rights", "human-rights"),
    ("messaging", "comt"),
    ("privacy", "anon"),
    ("search", "srch"),
    ("social", "social-media"),
];

/// The category codes of a topic of the topic index, or of another word for it. An unknown topic has none, so it
/// matches no incident.
fn codes(topic: &str) -> Vec<String> {
    let known = analytics::topic(topic).or_else(|unknown| {
        let other = ALSO.iter().find(|(word, _)| word.eq_ignore_ascii_case(topic.trim()));
        analytics::topic(other.ok_or(unknown)?.1)
    });
    known.map_or_else(|_| Vec::new(), |(_, codes)| codes.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{ALSO, analytics, codes};

    /// A topic means the same as in the topic index, in any spelling.
    #[test]
    fn topics_of_the_list_are_those_of_the_topic_index() {
        for (topic, categories) in analytics::TOPICS {
            assert_eq!(codes(topic), categories, "{topic}");
            assert_eq!(codes(&topic.to_uppercase().replace('-', "_")), categories, "{topic}");
        }
        for (word, topic) in ALSO {
            assert!(!codes(word).is_empty() && codes(word) == codes(topic), "{word}");
        }
        assert_eq!((codes("NEWS"), codes("p2p"), codes("weather")), (vec!["NEWS".into()], vec!["FILE".into()], vec![]));
    }
}
