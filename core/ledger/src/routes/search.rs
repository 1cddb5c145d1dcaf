//! Searches for offers (decisions hireable-offers, shared-market-reads, offer-index and unique-event-times).

use schemars::JsonSchema;
use serde::Serialize;

use super::act::{self, schema};
use super::market::{ListingBody, listing_body};
use crate::ACTOR;
use crate::book::name_of;
use crate::index::{self, Find, Offer, OfferPlace};
use crate::listing::Listing;
use crate::market::{ListingsOf, ReadListings};
use crate::rows::{Id, Micro, Name};
use crate::{Error, Result, Timestamp};
use engine::http::{Cx, Response};
use engine::runtime;
use relay::directory::fold;

#[derive(Serialize, JsonSchema)]
pub struct SearchAnswer {
    schema: String,
    capabilities: Vec<ListingBody>,
    /// The search as it was read.
    query: SearchTerms,
    /// The search stopped at its limit, so there may be more offers; `next_cursor` goes on from there.
    truncated: bool,
    /// The `before` of the next page; null at the end.
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct SearchTerms {
    q: Option<String>,
    capability: Option<String>,
    max_price_micro: Option<Micro>,
    provider_did: Option<String>,
    limit: u32,
}

/// Writes a cursor: the price, a point, and the time of listing in microseconds.
fn write(place: &OfferPlace) -> String {
    format!("{}.{}", place.price, place.listed.0)
}

/// What the text of a place looks like: a price and a time.
pub const CURSOR_PATTERN: &str = "^[0-9]{1,19}[.][0-9]{1,18}$";

fn read(text: &str) -> Result<OfferPlace> {
    let place = text.split_once('.').and_then(|(price, listed)| {
        Some(OfferPlace { price: price.parse().ok()?, listed: Timestamp(listed.parse().ok()?) })
    });
    place.ok_or_else(|| Error::bad_request("Query parameter `before` must be the `next_cursor` of a search."))
}

/// Listings, whether there may be more, and where to go on.
type Page = (Vec<(Id, Listing)>, bool, Option<OfferPlace>);

pub async fn search(cx: Cx) -> Result<Response> {
    let max_price = cx.query("max_price_micro")?.map(|_| cx.offset("max_price_micro")).transpose()?;
    let asked = SearchTerms {
        q: cx.query("q")?,
        capability: cx.query("capability")?,
        max_price_micro: max_price,
        provider_did: cx.query("provider_did")?,
        limit: act::page_size(&cx, 50, 200)?,
    };
    let find = Find {
        text: asked.q.as_deref().map(fold),
        slug: asked.capability.clone(),
        max_price,
        after: cx.query("before")?.map(|text| read(&text)).transpose()?,
        limit: asked.limit as usize,
    };
    let (listings, truncated, next) = match asked.provider_did.as_deref() {
        Some(did) => of_one(&cx, &find, name_of(&cx.settings().brand, did).unwrap_or_default().to_owned()).await?,
        None => of_all(&cx, &find).await?,
    };
    Response::json(&SearchAnswer {
        schema: schema(&cx, "capability-search"),
        capabilities: listings.iter().map(|(id, listing)| listing_body(&cx, id, listing)).collect(),
        query: asked,
        truncated,
        next_cursor: next.as_ref().map(write),
    })
}

async fn of_all(cx: &Cx, find: &Find) -> Result<Page> {
    let found = runtime::late(&*cx.rt, index::ACTOR, find).await?.value;
    if found.ids.is_empty() {
        return Ok((Vec::new(), found.truncated, found.next));
    }
    let listings = runtime::late(&*cx.rt, ACTOR, &ReadListings { ids: found.ids }).await?.value;
    Ok((listings, found.truncated, found.next))
}

/// Searches the offers of one provider. It has few, and the ledger knows them all.
async fn of_one(cx: &Cx, find: &Find, name: Name) -> Result<Page> {
    let rows = runtime::late(&*cx.rt, ACTOR, &ListingsOf { name }).await?.value;
    let place = |listing: &Listing| OfferPlace { price: listing.price, listed: listing.listed };
    let mut fitting: Vec<_> = rows.into_iter().filter(|(_, listing)| find.fits(&Offer::of(listing))).collect();
    fitting.sort_by_key(|(_, listing)| place(listing));
    let more = fitting.len() > find.limit;
    fitting.truncate(find.limit);
    let next = fitting.last().map(|(_, listing)| place(listing)).filter(|_| more);
    Ok((fitting, false, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decision unique-event-times: clients put cursors into addresses as they are.
    #[test]
    fn a_cursor_needs_no_encoding_and_nothing_else_is_one() {
        let place = OfferPlace { price: 100_000_000_000, listed: Timestamp(1_767_225_600_000_001) };
        assert_eq!(write(&place), "100000000000.1767225600000001");
        assert_eq!(read(&write(&place)).unwrap(), place);
        for bad in ["", "1", "1.", ".1", "x.1", "1.x", "-1.2", "1.2.3", "2026-01-01T00:00:00.000000Z"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
