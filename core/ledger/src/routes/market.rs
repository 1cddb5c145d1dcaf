//! Listings, searches and hires.

use crate::routes::pay_route;
use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::Serialize;

use super::act::{self, Act, did, path_name, refused, schema};
use super::envelopes::{HireEnvelope, ListingEnvelope, SignedBody};
use super::proof::{Reader, Texts};
use super::search::{CURSOR_PATTERN, SearchAnswer, search};
use crate::ACTOR;
use crate::envelope::{Content, Envelope};
use crate::hire::{Hire, HireState};
use crate::listing::Listing;
use crate::market::{HiresOf, ListingsOf, ReadHire, ReadListing};
use crate::reason::{Reason, Ruled};
use crate::rows::{Id, Micro, id_text, parse_id};
use crate::submit::SubmissionResult;
use crate::tally::rating;
use crate::{Error, Result, Timestamp};
use crypto::encoding::encode_hex;
use engine::http::{Auth, Cx, Limit, Param, Response, Route, handler};
use engine::runtime;

const HIRES_PAGE: &[Param] = &[
    Param::optional("state", "`requested`, `claimed`, `completed`, `disputed` or `expired`.").one_of(&[
        "requested",
        "claimed",
        "completed",
        "disputed",
        "expired",
    ]),
    Param::optional("limit", "Rows per page, at most 200; default 50.").rows("50"),
    Param::optional("before", "The `next_cursor` of the page before: only older rows.").date(),
];

pub const ROUTES: &[Route] = &[
    pay_route(Route::post("/v1/pay/capability/list", handler!(list)), Auth::Signed, Limit::PayWrite)
        .accepts::<SignedBody<ListingEnvelope>>()
        .returns::<Listed>()
        .summary("Offer a capability at a price, or change or pause the offer with the same slug."),
    pay_route(Route::get("/v1/pay/capability/search", handler!(search)), Auth::None, Limit::PayRead)
        .params(&[
            Param::optional("q", "Only offers with this text in slug, name or description."),
            Param::optional("capability", "Only offers with this slug, exactly."),
            Param::optional("max_price_micro", "Only offers up to this price, in millionths of a credit.").at_least(0),
            Param::optional("provider_did", "Only offers of the agent with this DID."),
            Param::optional("limit", "Rows per page, at most 200; default 50.").rows("50"),
            Param::optional("before", "The `next_cursor` of the page before.").like(CURSOR_PATTERN),
        ])
        .returns::<SearchAnswer>()
        .summary("Offers that can be hired, cheapest first."),
    pay_route(Route::get("/v1/pay/capability/{id}", handler!(read_listing)), Auth::None, Limit::PayRead)
        .returns::<ListingAnswer>()
        .summary("One offer: its price, its provider, and whether it is active."),
    pay_route(Route::get("/v1/pay/capability/did/{did}", handler!(listings_of)), Auth::None, Limit::PayRead)
        .params(&[
            Param::optional("limit", "Rows per page, at most 200; default 200.").rows("200"),
            Param::optional("before", "The `next_cursor` of the page before: only earlier listings.").date(),
        ])
        .returns::<ListingsAnswer>()
        .summary("All listings of a provider, paused ones too, the latest first."),
    pay_route(Route::post("/v1/pay/hire", handler!(hire)), Auth::Signed, Limit::PayWrite)
        .accepts::<SignedBody<HireEnvelope>>()
        .returns::<Hired>()
        .summary("Take an offer at its price; the money is set aside in the same step."),
    pay_route(Route::get("/v1/pay/hire/{id}", handler!(read_hire)), Auth::None, Limit::PayRead)
        .returns::<HireAnswer>()
        .summary("A hire as it is now."),
    pay_route(Route::get("/v1/pay/hire/incoming/{did}", handler!(incoming)), Auth::None, Limit::PayRead)
        .params(HIRES_PAGE)
        .returns::<HiresAnswer>()
        .summary("Hires of a provider, newest first."),
    pay_route(Route::get("/v1/pay/hire/outgoing/{did}", handler!(outgoing)), Auth::None, Limit::PayRead)
        .params(HIRES_PAGE)
        .returns::<HiresAnswer>()
        .summary("Hires by a requester, newest first. Inputs are shown to a reader that proves to be a party."),
];

#[derive(Serialize, JsonSchema)]
pub struct ListingBody {
    id: String,
    /// The provider.
    did: String,
    provider_did: String,
    /// The slug.
    capability: String,
    name: String,
    description: String,
    price_per_call_micro: Micro,
    unit: String,
    sla_deadline_hours: u32,
    /// 1 or 0.
    active: u8,
    /// JSON text of a list.
    tags_json: Option<String>,
    input_schema: Option<String>,
    output_schema: Option<String>,
    total_hires: u64,
    total_completed: u64,
    total_disputed: u64,
    rating_sum: u64,
    rating_count: u64,
    /// The mean rating; null when nobody rated.
    rating_avg: Option<f64>,
    listed_at: String,
    updated_at: String,
}

/// A listing's JSON.
pub fn listing_body(cx: &Cx, id: &Id, listing: &Listing) -> ListingBody {
    let listing = listing.clone();
    ListingBody {
        id: id_text(id),
        did: did(cx, &listing.provider),
        provider_did: did(cx, &listing.provider),
        capability: listing.capability,
        name: listing.name,
        description: listing.description,
        price_per_call_micro: listing.price,
        unit: listing.unit,
        sla_deadline_hours: listing.sla_hours,
        active: u8::from(listing.active),
        tags_json: listing.tags,
        input_schema: listing.input_schema,
        output_schema: listing.output_schema,
        total_hires: listing.hires,
        total_completed: listing.completed,
        total_disputed: listing.disputed,
        rating_sum: listing.rating_sum,
        rating_count: listing.rating_count,
        rating_avg: rating(listing.rating_sum, listing.rating_count),
        listed_at: listing.listed.to_micros_text(),
        updated_at: listing.updated.to_micros_text(),
    }
}

/// Lets the ledger decide about an envelope of a fitting kind.
pub async fn decided(cx: &Cx, fits: impl Fn(&Content) -> bool) -> Ruled<SubmissionResult> {
    let act = act::members(cx).and_then(|members| Act::read(cx, members, fits)).ok_or(Reason::InvalidEnvelope)?;
    match act.submit(cx, None).await? {
        Ok(done) => Ok(done),
        Err((reason, _)) => Err(reason.into()),
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ListingMade")]
pub struct Listed {
    ok: bool,
    schema: String,
    capability_id: String,
    /// False when a listing of this slug was changed.
    created: bool,
    envelope_hash: String,
    capability: ListingBody,
}

async fn list(cx: Cx) -> Result<Response> {
    match decided(&cx, |content| matches!(content, Content::List(_))).await {
        Ok(SubmissionResult::Listing(id, listing, created)) => Response::json(&Listed {
            ok: true,
            schema: schema(&cx, "capability"),
            capability_id: id_text(&id),
            created,
            envelope_hash: encode_hex(&listing.signed.hash()),
            capability: listing_body(&cx, &id, &listing),
        }),
        Ok(_) => Err(Error::internal("a listing became something else")),
        Err(refusal) => refused(&cx, refusal),
    }
}

#[derive(Serialize, JsonSchema)]
pub struct ListingAnswer {
    schema: String,
    capability: ListingBody,
}

async fn read_listing(cx: Cx) -> Result<Response> {
    let unknown = || refused(&cx, Reason::CapabilityNotFound.into());
    let Some(id) = parse_id(cx.path("id")?) else { return unknown() };
    let Some(listing) = runtime::query(&*cx.rt, ACTOR, &ReadListing { id }).await? else { return unknown() };
    Response::json(&ListingAnswer { schema: schema(&cx, "capability"), capability: listing_body(&cx, &id, &listing) })
}

#[derive(Serialize, JsonSchema)]
pub struct ListingsAnswer {
    schema: String,
    did: String,
    capabilities: Vec<ListingBody>,
    /// The `before` of the next page; null at the end.
    next_cursor: Option<String>,
}

async fn listings_of(cx: Cx) -> Result<Response> {
    let (limit, before) = (act::page_size(&cx, 200, 200)? as usize, cx.time("before")?);
    let asked = cx.path("did")?.to_owned();
    let mut rows = Vec::new();
    if let Some(name) = path_name(&cx)? {
        rows = runtime::late(&*cx.rt, ACTOR, &ListingsOf { name }).await?.value;
    }
    rows.retain(|(_, listing)| before.is_none_or(|before| listing.listed < before));
    rows.sort_by_key(|(_, listing)| Reverse(listing.listed));
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().map(|(_, listing)| listing.listed).filter(|_| more);
    let capabilities = rows.iter().map(|(id, listing)| listing_body(&cx, id, listing)).collect();
    let (schema, next_cursor) = (schema(&cx, "capability-list"), next.map(Timestamp::to_micros_text));
    Response::json(&ListingsAnswer { schema, did: asked, capabilities, next_cursor })
}

#[derive(Serialize, JsonSchema)]
pub struct HireBody {
    id: String,
    capability_id: String,
    capability: String,
    requester_did: String,
    provider_did: String,
    escrow_id: String,
    price_micro: Micro,
    task_id: String,
    /// Null in lists of a requester unless the reader proved to be a party.
    input_json: Option<String>,
    /// The same text as `input_json`.
    input: Option<String>,
    delivery_deadline_at: String,
    /// `requested`, `claimed`, `completed`, `disputed` or `expired`
    state: &'static str,
    receipt_id: Option<String>,
    created_at: String,
    claimed_at: Option<String>,
    completed_at: Option<String>,
}

fn hire_body(cx: &Cx, id: &Id, hire: &Hire, texts: Texts<'_>, in_list: bool) -> Result<HireBody> {
    let envelope = Envelope::read(&cx.settings().brand, &hire.request.canonical);
    let Some(Content::Hire(request)) = envelope.map(|envelope| envelope.content) else {
        return Err(Error::internal("a stored hire cannot be read"));
    };
    // No list shows what the deployment's own services were asked.
    let shown = texts.are_shown([&hire.requester, &hire.provider]) && !(in_list && hire.own);
    let input = request.input.filter(|_| shown);
    Ok(HireBody {
        id: id_text(id),
        capability_id: id_text(&hire.listing),
        capability: request.capability,
        requester_did: did(cx, &hire.requester),
        provider_did: did(cx, &hire.provider),
        escrow_id: id_text(&hire.escrow),
        price_micro: hire.price,
        task_id: request.task,
        input_json: input.clone(),
        input,
        delivery_deadline_at: hire.deadline.to_micros_text(),
        state: hire.state.as_str(),
        receipt_id: hire.receipt.as_ref().map(id_text),
        created_at: hire.created.to_micros_text(),
        claimed_at: hire.claimed.map(Timestamp::to_micros_text),
        completed_at: hire.completed.map(Timestamp::to_micros_text),
    })
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HireMade")]
pub struct Hired {
    ok: bool,
    schema: String,
    hire_id: String,
    escrow_id: String,
    capability_id: String,
    provider_did: String,
    price_micro: Micro,
    delivery_deadline_at: String,
    created_at: String,
    envelope_hash: String,
    hire: HireBody,
}

async fn hire(cx: Cx) -> Result<Response> {
    match decided(&cx, |content| matches!(content, Content::Hire(_))).await {
        Ok(SubmissionResult::Hire(id, hire)) => {
            let body = hire_body(&cx, &id, &hire, Texts::Signed, false)?;
            Response::json(&Hired {
                ok: true,
                schema: schema(&cx, "hire"),
                hire_id: body.id.clone(),
                escrow_id: body.escrow_id.clone(),
                capability_id: body.capability_id.clone(),
                provider_did: body.provider_did.clone(),
                price_micro: body.price_micro,
                delivery_deadline_at: body.delivery_deadline_at.clone(),
                created_at: body.created_at.clone(),
                envelope_hash: encode_hex(&hire.request.hash()),
                hire: body,
            })
        }
        Ok(_) => Err(Error::internal("a hire became something else")),
        Err(refusal) => refused(&cx, refusal),
    }
}

#[derive(Serialize, JsonSchema)]
pub struct HireAnswer {
    schema: String,
    hire: HireBody,
}

async fn read_hire(cx: Cx) -> Result<Response> {
    let unknown = || refused(&cx, Reason::HireNotFound.into());
    let Some(id) = parse_id(cx.path("id")?) else { return unknown() };
    let Some(hire) = runtime::query(&*cx.rt, ACTOR, &ReadHire { id }).await? else { return unknown() };
    let hire = hire_body(&cx, &id, &hire, Texts::Open(&Reader::of(&cx).await?), false)?;
    Response::json(&HireAnswer { schema: schema(&cx, "hire"), hire })
}

#[derive(Serialize, JsonSchema)]
pub struct HiresAnswer {
    schema: String,
    did: String,
    hires: Vec<HireBody>,
    /// The `before` of the next page; null at the end.
    next_cursor: Option<String>,
}

async fn hires(cx: &Cx, incoming: bool) -> Result<Response> {
    let (limit, before) = (act::page_size(cx, 50, 200)?, cx.time("before")?);
    let named = |text: String| HireState::ALL.into_iter().find(|state| state.as_str() == text).ok_or(text);
    let state = cx.query("state")?.map(named).transpose().map_err(|text| {
        Error::bad_request(format!("Query parameter `state` must be a state of a hire, not {text}."))
    })?;
    let asked = cx.path("did")?.to_owned();
    let (mut hires, mut next) = (Vec::new(), None);
    if let Some(name) = path_name(cx)? {
        let reader = Reader::of(cx).await?;
        let texts = if incoming { Texts::Open(&reader) } else { Texts::Listed(&reader) };
        let page = runtime::query(&*cx.rt, ACTOR, &HiresOf { name, incoming, state, before, limit }).await?;
        hires = page.rows.iter().map(|(id, hire)| hire_body(cx, id, hire, texts, true)).collect::<Result<_>>()?;
        next = page.next.map(Timestamp::to_micros_text);
    }
    Response::json(&HiresAnswer { schema: schema(cx, "hire-list"), did: asked, hires, next_cursor: next })
}

async fn incoming(cx: Cx) -> Result<Response> {
    hires(&cx, true).await
}

async fn outgoing(cx: Cx) -> Result<Response> {
    hires(&cx, false).await
}
