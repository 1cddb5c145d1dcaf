//! `GET /data/incidents/feed.rss` and `GET /data/incidents/feed.atom`

use http::StatusCode;

use super::list;
use crate::incidents::actor;
use crate::incidents::documents::{ATOM, MAX_AGE, RSS};
use crate::incidents::feeds::{self, FeedAbout, FeedFormat};
use crate::incidents::query::{Filter, Select};
use crate::{Result, world};
use engine::http::{Cx, Param, Response, query};
use engine::runtime;
use facts::sentence::names::subject;

pub const PARAMS: &[Param] = &[
    Param::optional("country", "ISO 3166-1 alpha-2. The other filters of the list hold too.").country(),
    Param::optional("service", "A platform such as `telegram`, or a name as `affectedServices` has it.")
        .line()
        .such_as("telegram"),
    Param::optional("domain", "A domain; those of a platform mean the platform.").line().such_as("x.com"),
];

/// The filters of the list, by which a feed is about a part of the incidents.
const FILTERS: [&str; 11] =
    ["country", "status", "type", "severity", "topic", "citable", "min_sources", "service", "domain", "since", "until"];

pub async fn rss(cx: Cx) -> Result<Response> {
    feed(&cx, FeedFormat::Rss).await
}

pub async fn atom(cx: Cx) -> Result<Response> {
    feed(&cx, FeedFormat::Atom).await
}

async fn feed(cx: &Cx, format: FeedFormat) -> Result<Response> {
    let filter = list::filter(cx).await?;
    if filter == Filter::default() {
        return cx.document(if format == FeedFormat::Rss { RSS } else { ATOM }).await;
    }
    let about = about(cx, &filter)?;
    let asked = Select { filter, offset: 0, limit: feeds::ENTRIES };
    let found = runtime::query(&*cx.rt, actor().name, &asked).await?;
    let newest = found.incidents.iter().map(|incident| incident.updated).max();
    let changed = newest.or(found.changed).unwrap_or_else(|| cx.now());
    let feed = feeds::of(cx.settings(), format, &about, &found.incidents, changed);
    cx.tagged(Response::new(StatusCode::OK, feed.content_type, feed.body), MAX_AGE)
}

fn about(cx: &Cx, filter: &Filter) -> Result<FeedAbout> {
    let named = [filter.subject.as_deref().map(subject), filter.country.as_deref().map(world::name)];
    let given: Vec<(&str, Option<String>)> =
        FILTERS.iter().map(|name| Ok((*name, cx.query(name)?))).collect::<Result<_>>()?;
    let given: Vec<(&str, Option<&str>)> = given.iter().map(|(name, value)| (*name, value.as_deref())).collect();
    Ok(FeedAbout { title: named.into_iter().flatten().collect::<Vec<_>>().join(", "), query: query(&given) })
}
