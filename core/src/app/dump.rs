//! Moves a whole deployment: `dump` and `load` (decision dump-and-load).
//!
//! A dump is JSON lines: a header with the version of the format, then rows of actors as they are stored, then a line
//! that counts them. It knows actors and rows, but not their meaning, so it moves later features too, and it moves
//! between a data file and the edge in both directions. Sealed values stay sealed: a dump is useful only with its
//! master keys, and a deployment with other master keys refuses it. Both deployments must be closed meanwhile (setting
//! `closed`), so that no message between actors is under way and no timer runs. Published bodies are not moved, but
//! made again.

use std::pin::pin;

use futures_util::stream::{self, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crypto::encoding::{BASE64_PATTERN, decode_base64, encode_base64, encode_hex};
use crate::engine::actor::rows::{self, Page, ReadRows};
use crate::engine::actor::{ActorId, Call, Kind, decode, encode, schema};
use crate::engine::deployment::{self, WhoAmI};
use crate::engine::http::LARGEST_BODY;
use crate::engine::http::{Cx, Param, Response, Route, handler};
use crate::engine::kv::Pair;
use crate::engine::roster::{self, Enrol, Listed};
use crate::engine::runtime::{self, Runtime};
use crate::engine::settings::BRAND_PATTERN;
use crate::ledger::segment::keep;
use crate::{Error, Result};

/// The version of the format. Another one is refused.
pub const FORMAT: u32 = 1;
/// Actors in one answer. Each of them is asked, and on the edge one request may ask only a few.
const ACTORS: usize = 32;
/// An answer that has so many bytes of rows takes no further actor.
const BYTES: usize = 1 << 20;
/// Most bytes in one request of a load.
pub const MAX_LOAD: usize = LARGEST_BODY;
/// Lines of a load that are written at the same time, so that they share commits.
const AT_ONCE: usize = 32;
/// Kinds whose actors come from use. A deployment without any of them is empty.
const USED: [Kind; 7] =
    [Kind::Agent, Kind::Account, Kind::Country, Kind::Channel, Kind::Attestation, Kind::Relay, Kind::Probe];

pub const ROUTES: &[Route] = &[
    Route::get("/v1/admin/dump/header", handler!(header))
        .admin()
        .extension()
        .returns::<Header>()
        .summary("Get the first line of a dump. The deployment must be closed."),
    Route::get("/v1/admin/dump", handler!(dump))
        .admin()
        .extension()
        .params(&[
            Param::optional("actor", "The `next.actor` of the previous answer."),
            Param::optional("row", "The `next.row` of the previous answer."),
        ])
        .returns::<DumpPage>()
        .summary("Get the rows of actors, one actor after the other. The deployment must be closed."),
    Route::post("/v1/admin/load/check", handler!(check))
        .admin()
        .extension()
        .accepts::<Check>()
        .returns::<Checked>()
        .summary("Check that a dump with this header can be loaded here."),
    Route::post("/v1/admin/load", handler!(load))
        .admin()
        .extension()
        .max_body(MAX_LOAD)
        .accepts::<Load>()
        .returns::<Loaded>()
        .summary("Load rows of a dump. The first line of an actor replaces all of its rows."),
];

/// The first line of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DumpHeader")]
pub struct Header {
    /// The version of the format.
    pub heliograph_dump: u32,
    /// The version of the program's rows.
    pub schema: u64,
    pub deployment: String,
    #[schemars(regex(pattern = BRAND_PATTERN))]
    pub brand: String,
    /// Identifies the master key of the sealed values without revealing it; hexadecimal.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub key_check: String,
    /// The start of the deployment, ISO 8601.
    pub created_at: String,
    /// ISO 8601.
    pub dumped_at: String,
}

/// Base64.
#[derive(JsonSchema)]
#[schemars(inline)]
#[allow(dead_code)]
struct Base64(#[schemars(regex(pattern = BASE64_PATTERN))] String);

/// Rows of one actor: one line of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActorRows {
    /// Kind and name.
    #[schemars(regex(pattern = r"^[a-z]+/[\s\S]"))]
    pub actor: String,
    /// True for the first line of an actor, which replaces all rows that the actor had.
    pub first: bool,
    /// Keys and values, base64.
    #[schemars(with = "Vec<(Base64, Base64)>")]
    pub rows: Vec<(String, String)>,
}

/// The last line of a dump. Another dump of the same data has the same totals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    pub actors: u64,
    /// Number of rows, without the internal rows of actors such as undelivered messages.
    pub rows: u64,
}

impl Totals {
    /// Counts a line. An error means that a key in it is not base64.
    pub fn count(&mut self, line: &ActorRows) -> Result<()> {
        self.actors += u64::from(line.first);
        for (key, _) in &line.rows {
            self.rows += u64::from(rows::is_own(&decode_base64("key", key)?));
        }
        Ok(())
    }
}

/// The place where a dump continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DumpPlace")]
pub struct Next {
    /// The last actor so far.
    pub actor: String,
    /// The place where its rows continue, base64, if it has more.
    pub row: Option<String>,
}

/// A part of a dump.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DumpPage {
    pub lines: Vec<ActorRows>,
    /// Null at the end.
    pub next: Option<Next>,
}

/// The question whether a dump can be loaded.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DumpCheck")]
pub struct Check {
    pub header: Header,
    /// Load even if the deployment is not empty: actors of the dump replace those here, and others stay.
    #[serde(default)]
    pub replace: bool,
}

/// The answer that a dump can be loaded.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DumpChecked")]
pub struct Checked {
    /// True if the deployment is empty.
    pub empty: bool,
}

/// Some lines of a dump.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DumpLoad")]
pub struct Load {
    pub lines: Vec<ActorRows>,
}

/// The lines and rows that were loaded.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DumpLoaded")]
pub struct Loaded {
    pub lines: u64,
    pub rows: u64,
}

fn must_be_closed(cx: &Cx) -> Result<()> {
    match cx.settings().closed {
        true => Ok(()),
        false => Err(Error::conflict(
            "Close this deployment first: start it with the setting `closed` (HELIOGRAPH_CLOSED=true), so that nothing \
             changes while it is moved.",
        )),
    }
}

async fn header(cx: Cx) -> Result<Response> {
    must_be_closed(&cx)?;
    let known = runtime::query(&*cx.rt, deployment::actor().name, &WhoAmI).await?;
    let known = known.ok_or_else(|| Error::internal("the running deployment has no identity"))?;
    Response::json(&Header {
        heliograph_dump: FORMAT,
        schema: schema::VERSION,
        deployment: known.id,
        brand: known.brand,
        key_check: encode_hex(&known.key_check),
        created_at: known.created.to_string(),
        dumped_at: cx.now().to_string(),
    })
}

/// Up to `limit` actors after a given one.
async fn listed(rt: &dyn Runtime, after: Option<ActorId>, limit: usize) -> Result<Vec<ActorId>> {
    match rt.maintenance() {
        // A data file knows all its actors, including those from before there was a list.
        Some(maintenance) => maintenance.actors(after, limit).await,
        None => {
            let limit = u32::try_from(limit).unwrap_or(u32::MAX);
            runtime::query(rt, roster::NAME, &Listed { after, limit }).await
        }
    }
}

/// The rows of an actor after a given one, and the place where the next page continues. Rows in an archive come last.
async fn page_of(rt: &dyn Runtime, actor: &ActorId, after: Option<Vec<u8>>) -> Result<(Vec<Pair>, Option<Vec<u8>>)> {
    let arguments = encode(&ReadRows { after: after.clone() })?;
    let call = Call { actor: actor.clone(), name: rows::READ.to_owned(), arguments };
    let Page { mut rows, more } = decode(&rt.query(call).await?)?;
    let mut next = rows.last().filter(|_| more).map(|(key, _)| key.clone());
    if !more && let Some((place, archived)) = keep::dumped(rt, actor, after.as_deref()).await? {
        rows.extend(archived);
        next = Some(place);
    }
    Ok((rows, next))
}

fn parse_actor(text: &str) -> Result<ActorId> {
    ActorId::parse(text).ok_or_else(|| Error::bad_request(format!("{text:?} is not an actor; give `kind/name`.")))
}

async fn dump(cx: Cx) -> Result<Response> {
    must_be_closed(&cx)?;
    let mut last = cx.query("actor")?.as_deref().map(parse_actor).transpose()?;
    let mut row = cx.query("row")?.as_deref().map(|row| decode_base64("row", row)).transpose()?;
    let mut waiting = match (&last, &row) {
        (Some(actor), Some(_)) => vec![actor.clone()],
        _ => Vec::new(),
    };
    waiting.extend(listed(&*cx.rt, last.clone(), ACTORS).await?);
    let ended = waiting.len() < ACTORS;
    let (mut lines, mut bytes) = (Vec::new(), 0);
    for actor in waiting {
        loop {
            let (rows, next) = page_of(&*cx.rt, &actor, row.clone()).await?;
            if !rows.is_empty() {
                bytes += rows.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
                let rows = rows.iter().map(|(key, value)| (encode_base64(key), encode_base64(value))).collect();
                lines.push(ActorRows { actor: actor.to_string(), first: row.is_none(), rows });
            }
            row = next;
            let next = || Next { actor: actor.to_string(), row: row.as_deref().map(encode_base64) };
            if bytes >= BYTES {
                return Response::json(&DumpPage { next: Some(next()), lines });
            }
            if row.is_none() {
                break;
            }
        }
        last = Some(actor);
    }
    let next = last.filter(|_| !ended).map(|actor| Next { actor: actor.to_string(), row: None });
    Response::json(&DumpPage { lines, next })
}

async fn check(cx: Cx) -> Result<Response> {
    must_be_closed(&cx)?;
    let Check { header, replace } = cx.json()?;
    if header.heliograph_dump != FORMAT {
        return Err(Error::bad_request(format!(
            "The dump has version {} of the format; this program knows {FORMAT}.",
            header.heliograph_dump
        )));
    }
    if header.schema > schema::VERSION {
        return Err(Error::conflict(format!(
            "The dump was written by a newer version of the program (schema {}; this one knows {}).",
            header.schema,
            schema::VERSION
        )));
    }
    let environment = cx.rt.environment();
    if header.brand != environment.settings.brand {
        return Err(Error::conflict(format!(
            "The dump is of a deployment with brand {:?}, which is a part of its DIDs. The brand here is {:?}.",
            header.brand, environment.settings.brand
        )));
    }
    if !environment.secrets.key_checks().iter().any(|check| encode_hex(check) == header.key_check) {
        return Err(Error::conflict(
            "This deployment does not have the master key of the dump, so it could not open the sealed values. Bring \
             the key file, or the secrets, of that deployment first.",
        ));
    }
    let mut empty = true;
    let mut after = None;
    while empty {
        let page = listed(&*cx.rt, after, 1_000).await?;
        empty = !page.iter().any(|actor| USED.contains(&actor.kind));
        after = page.last().filter(|_| page.len() == 1_000).cloned();
        if after.is_none() {
            break;
        }
    }
    if !empty && !replace {
        return Err(Error::conflict("This deployment is not empty. Load into a new one, or set `replace`."));
    }
    Response::json(&Checked { empty })
}

async fn load(cx: Cx) -> Result<Response> {
    must_be_closed(&cx)?;
    let Load { lines } = cx.json()?;
    let actors = lines.iter().filter(|line| line.first).map(|line| parse_actor(&line.actor));
    let actors = actors.collect::<Result<Vec<ActorId>>>()?;
    // Each line is an operation of its own. Lines that replace an actor go before its other lines.
    let (first, more): (Vec<ActorRows>, Vec<ActorRows>) = lines.into_iter().partition(|line| line.first);
    let mut done = Loaded { lines: 0, rows: 0 };
    for lines in [first, more] {
        let rt = &*cx.rt;
        let work = stream::iter(lines).map(|line| take(rt, line)).buffer_unordered(AT_ONCE);
        let mut work = pin!(work);
        while let Some(rows) = work.next().await {
            done.rows += rows?;
            done.lines += 1;
        }
    }
    // The actors are listed after their rows were written. So where the list is the only one, every listed actor has
    // rows.
    if !actors.is_empty() {
        runtime::call(&*cx.rt, roster::NAME, &Enrol { actors }).await?;
    }
    Response::json(&done)
}

/// Stores the rows of a line with their actor, and returns their number.
async fn take(rt: &dyn Runtime, line: ActorRows) -> Result<u64> {
    let actor = parse_actor(&line.actor)?;
    let pairs = line.rows.iter().map(|(key, value)| Ok((decode_base64("key", key)?, decode_base64("value", value)?)));
    let pairs = pairs.collect::<Result<Vec<(Vec<u8>, Vec<u8>)>>>()?;
    let call = |name: &str, arguments| Call { actor: actor.clone(), name: name.to_owned(), arguments };
    // The list here may name actors that the dump does not have.
    let keeps = actor.kind == Kind::Deployment && actor.name == roster::NAME;
    if line.first && !keeps {
        while decode::<bool>(&rt.call(call(rows::CLEAR, Vec::new())).await?)? {}
    }
    let count = pairs.len() as u64;
    rt.call(call(rows::PUT, encode(&pairs)?)).await?;
    Ok(count)
}
