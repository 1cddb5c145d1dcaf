//! Documents: immutable bodies that an actor publishes and many read, possibly a little late.
//!
//! The actor marks a document dirty with [`Turn::publish`](crate::actor::Turn::publish); the runtime renders it
//! at most once per `publish_interval` and stores it: Workers KV on the edge, a table and memory natively. A reader
//! that finds none asks the owner to render it, so no key is ever missing (decision published-documents). What was
//! rendered so is kept where the owner answers queries, until a row that it may rest on is another ([`kept`]).

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::actor::{ActorId, Call, Entry, Kind, Query, Turn, View, decode, encode, query};
use crate::http::Ready;
use crate::kv::{Direction, Key, Read, Row, Table};
use crate::program::Program;
use crate::time::SECOND;
use crate::{Error, Result, Timestamp};

pub mod kept;

use kept::Basis;

/// A published body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Where it is stored, and the path-like name it is known by.
    pub key: String,
    pub content_type: String,
    /// Shared, so that serving it copies nothing.
    pub body: Bytes,
    /// Validator in quotes, from the body; weak for JSON that says when it was made.
    pub etag: String,
    pub generated: Timestamp,
    /// Counts publications of this key; also a member of JSON bodies.
    pub generation: u64,
    /// Seconds a reader may take it for fresh.
    pub max_age: u32,
    /// `Content-Disposition`, for downloads.
    pub disposition: Option<String>,
}

/// Copies of published documents where reading each one costs a request and money: kept no longer than two publications
/// are apart, so that what a reader sees is at most that much older. A document that nobody published is never kept.
#[derive(Default)]
pub struct Recent {
    by_key: HashMap<String, (Timestamp, Arc<Ready>)>,
    bytes: usize,
}

impl Recent {
    /// Most bytes of bodies that are kept; then all are dropped, since any may be stale by then.
    const MAX_BYTES: usize = 8 * 1024 * 1024;

    /// The copy that was kept at most `seconds` ago.
    pub fn get(&self, key: &str, now: Timestamp, seconds: u32) -> Option<Arc<Ready>> {
        let (kept, document) = self.by_key.get(key)?;
        let age = now.since(*kept);
        (0..i64::from(seconds) * SECOND).contains(&age).then(|| document.clone())
    }

    pub fn keep(&mut self, key: &str, document: Arc<Ready>, now: Timestamp) {
        let size = document.size();
        if self.bytes + size > Self::MAX_BYTES {
            *self = Recent::default();
        }
        if size > Self::MAX_BYTES {
            return;
        }
        self.bytes += size;
        if let Some((_, old)) = self.by_key.insert(key.to_owned(), (now, document)) {
            self.bytes -= old.size();
        }
    }
}

const JSON: &str = "application/json";

/// What a renderer returns.
pub struct Rendered {
    pub content_type: &'static str,
    pub body: Vec<u8>,
    pub disposition: Option<String>,
}

impl Rendered {
    pub fn json(value: &impl Serialize) -> Result<Self> {
        Ok(Rendered::json_text(serde_json::to_vec(value).map_err(Error::internal)?))
    }

    /// What is JSON already.
    pub fn json_text(body: Vec<u8>) -> Self {
        Rendered { content_type: JSON, body, disposition: None }
    }

    pub fn csv(body: Vec<u8>, file: &str) -> Self {
        Rendered {
            content_type: "text/csv; charset=utf-8",
            body,
            disposition: Some(format!("attachment; filename=\"{file}\"")),
        }
    }
}

/// A family of documents.
pub struct Family {
    /// The key, or its beginning up to and including `/` when there is one document per name.
    pub prefix: &'static str,
    pub owner: Kind,
    /// Seconds a reader may take it for fresh.
    pub max_age: u32,
    /// Renders the document; the second argument is what follows the prefix, and names the owner where the kind has
    /// many actors.
    pub render: fn(&View<'_>, &str) -> Result<Rendered>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Published {
    at: Timestamp,
    generation: u64,
    /// Set while the document waits to be published again.
    due: Option<Timestamp>,
}
impl Row for Published {}

const STATE: Table<(String,), Published> = Table::new(8);
const BY_DUE: Table<(Timestamp, String), ()> = Table::new(9);

/// The family and the remaining name of a key.
pub fn family<'k>(program: &Program, key: &'k str) -> Result<(&'static Family, &'k str)> {
    program
        .families()
        .find_map(|family| {
            let rest = key.strip_prefix(family.prefix)?;
            (family.prefix.ends_with('/') != rest.is_empty()).then_some((family, rest))
        })
        .ok_or_else(|| Error::internal(format!("no document is named {key}")))
}

/// The actor that publishes a document.
pub fn owner(program: &Program, key: &str) -> Result<ActorId> {
    let (family, rest) = family(program, key)?;
    Ok(match family.owner {
        Kind::Country => ActorId::new(Kind::Country, rest),
        kind => ActorId::sole(kind),
    })
}

pub(crate) fn mark(turn: &mut Turn<'_>, key: &str) -> Result<()> {
    family(turn.program, key)?;
    let mut state = STATE.get(turn, &(key.to_owned(),))?.unwrap_or_default();
    if state.due.is_some() {
        return Ok(());
    }
    let interval = i64::from(turn.settings.publish_interval) * SECOND;
    let due = if state.generation == 0 { turn.now } else { turn.now.max(state.at.plus(interval)) };
    state.due = Some(due);
    BY_DUE.put(turn, &(due, key.to_owned()), &())?;
    STATE.put(turn, &(key.to_owned(),), &state)?;
    Ok(())
}

/// Marks the document whose row of [`STATE`] has this key; another key means nothing. A family that no longer is one is
/// passed over.
pub(crate) fn publish_again(turn: &mut Turn<'_>, row: &[u8]) -> Result<()> {
    if !STATE.range().contains(row) {
        return Ok(());
    }
    let Some((key,)) = row.get(1..).and_then(<(String,)>::read_key) else { return Ok(()) };
    match family(turn.program, &key) {
        Ok(_) => mark(turn, &key),
        Err(_) => Ok(()),
    }
}

pub(crate) fn earliest(view: &(impl Read + ?Sized)) -> Result<Option<Timestamp>> {
    Ok(BY_DUE.first(view, &BY_DUE.range())?.map(|((due, _), ())| due))
}

pub(crate) fn due(view: &(impl Read + ?Sized), now: Timestamp, limit: usize) -> Result<Vec<String>> {
    let due = BY_DUE.between(&(), &(now.plus(1),));
    Ok(BY_DUE.scan(view, &due, Direction::Ascending, limit)?.into_iter().map(|((_, key), ())| key).collect())
}

pub(crate) fn publish(turn: &mut Turn<'_>, key: &str) -> Result<Option<Document>> {
    let Some(mut state) = STATE.get(turn, &(key.to_owned(),))? else { return Ok(None) };
    let Some(due) = state.due.take() else { return Ok(None) };
    BY_DUE.delete(turn, &(due, key.to_owned()));
    state.generation += 1;
    state.at = turn.now;
    STATE.put(turn, &(key.to_owned(),), &state)?;
    render(&turn.view(), key, state.generation).map(Some)
}

fn render(view: &View<'_>, key: &str, generation: u64) -> Result<Document> {
    let (family, rest) = family(view.program, key)?;
    let mut rendered = (family.render)(view, rest)?;
    if rendered.content_type == JSON {
        say_generation(&mut rendered.body, generation);
    }
    let etag = match rendered.content_type {
        JSON => json_etag(&rendered.body),
        _ => etag(&rendered.body),
    };
    Ok(Document {
        key: key.to_owned(),
        content_type: rendered.content_type.to_owned(),
        body: rendered.body.into(),
        etag,
        generated: view.now,
        generation,
        max_age: family.max_age,
        disposition: rendered.disposition,
    })
}

/// Adds the generation to a JSON object, so that a reader can tell whether a change of its own is in it
/// (decision published-documents).
fn say_generation(body: &mut Vec<u8>, generation: u64) {
    if body.pop_if(|last| *last == b'}').is_some() {
        let comma = if body.ends_with(b"{") { "" } else { "," };
        body.extend_from_slice(format!("{comma}\"generation\":{generation}}}").as_bytes());
    }
}

/// Strong validator of a body, in quotes.
pub fn etag(body: &[u8]) -> String {
    in_quotes(&Sha256::digest(body))
}

/// Members that say when a JSON body was made, and nothing of what is in it.
const MADE: [&str; 6] = [
    "\"checkedAt\":\"",
    "\"generated\":\"",
    "\"generated_at\":\"",
    "\"generatedAt\":\"",
    "\"generated_at_utc\":\"",
    "\"generation\":",
];
/// What all of them begin with.
const MAKING: [&[u8]; 2] = [b"\"checkedAt", b"\"generat"];

/// Validator of a JSON body, in quotes: the same for bodies that say the same and were made at different times,
/// therefore weak (RFC 9110 section 8.8.1). One measurement more must not make every reader fetch what did not change.
/// Quotation marks inside of texts are escaped, so none of these members is found there.
pub fn json_etag(body: &[u8]) -> String {
    let mut places: Vec<usize> = MAKING.iter().flat_map(|name| memchr::memmem::find_iter(body, name)).collect();
    places.sort_unstable();
    let mut kept = Sha256::new();
    let mut from = 0;
    for at in places {
        let rest = body.get(at..).unwrap_or_default();
        let Some(name) = MADE.iter().find(|name| rest.starts_with(name.as_bytes())) else { continue };
        let value = rest.get(name.len()..).unwrap_or_default();
        let length = memchr::memchr3(b'"', b',', b'}', value).unwrap_or(value.len());
        kept.update(body.get(from..at).unwrap_or_default());
        from = at + name.len() + length;
    }
    if from == 0 {
        return etag(body);
    }
    kept.update(body.get(from..).unwrap_or_default());
    format!("W/{}", in_quotes(&kept.finalize()))
}

fn in_quotes(digest: &[u8]) -> String {
    format!("\"{}\"", crypto::encoding::encode_hex(digest.get(..16).unwrap_or_default()))
}

/// Renders a document from the owner's present rows, for a reader that found none published.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Render<const KIND: u8> {
    pub key: String,
}

/// Name of the query. It may take long, unless its reply is [`remembered`].
pub const RENDER: &str = "render";

/// The reply to a [`RENDER`] call, when it is kept and still the right one.
pub fn remembered(view: &View<'_>, call: &Call) -> Option<Vec<u8>> {
    let Render::<0> { key } = decode(&call.arguments).ok()?;
    let basis = basis(view, &key).ok()??;
    Some(view.memo()?.documents().get(&key, &basis)?.to_vec())
}

/// All that the document depends on; `None` where the owner does not count its changes.
fn basis(view: &View<'_>, key: &str) -> Result<Option<Basis>> {
    if !view.actor().kind.counts_revisions() {
        return Ok(None);
    }
    let (generation, at) = as_of(view, key)?;
    Ok(Some(Basis { rows: view.basis()?, generation, at }))
}

/// The generation and the time that a reader is shown, as if it had been published at the last whole period: readers of
/// one period get one body and one tag, so that `If-None-Match` works on documents that nothing has published yet.
fn as_of(view: &View<'_>, key: &str) -> Result<(u64, Timestamp)> {
    let generation = STATE.get(view, &(key.to_owned(),))?.map_or(0, |state| state.generation);
    let period = i64::from(family(view.program, key)?.0.max_age.max(1)) * SECOND;
    Ok((generation, Timestamp(view.now.0 - view.now.0.rem_euclid(period))))
}

/// What [`Render`] replies, encoded.
fn rendered(view: &View<'_>, key: &str) -> Result<Bytes> {
    let make = |(generation, at): (u64, Timestamp)| {
        let document = render(&view.as_of(at), key, generation)?;
        Ok(Bytes::from(encode(&document)?.into_boxed_slice()))
    };
    match (view.memo(), basis(view, key)?) {
        (Some(memo), Some(basis)) => memo.documents().once(key, &basis, || make((basis.generation, basis.at))),
        _ => make(as_of(view, key)?),
    }
}

macro_rules! render_queries {
    ($($number:literal => $kind:ident;)+) => {
        $(impl Query for Render<$number> {
            const ACTOR: Kind = Kind::$kind;
            const NAME: &'static str = RENDER;
            type Reply = Document;
            fn run(self, view: &View<'_>) -> Result<Document> {
                decode(&rendered(view, &self.key)?)
            }
        })+
        pub const ENTRIES: &[Entry] = &[$(query::<Render<$number>>().keeping(remembered),)+];
    };
}

render_queries! {
    0 => Country;
    1 => World;
    2 => Reference;
    3 => Deployment;
    4 => Incidents;
    5 => Directory;
    6 => Alert;
    7 => Probe;
}

/// The call that renders `key` at its owner.
pub fn render_call(program: &Program, key: &str) -> Result<Call> {
    Ok(Call {
        actor: owner(program, key)?,
        name: RENDER.to_owned(),
        arguments: encode(&Render::<0> { key: key.to_owned() })?,
    })
}

/// A document for tests of runtimes.
#[cfg(any(test, feature = "conformance"))]
pub mod counter {
    use super::*;

    pub const FAMILIES: &[Family] = &[Family {
        prefix: "probe",
        owner: Kind::Deployment,
        max_age: 10,
        render: |view, _| {
            let (count, _) = crate::actor::host::counter::ReadCounter.run(view)?;
            Rendered::json(&serde_json::json!({ "count": count }))
        },
    }];
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_700_000_000);

    fn document(bytes: usize) -> Arc<Ready> {
        let document = Document {
            key: String::new(),
            content_type: String::new(),
            body: vec![0; bytes].into(),
            etag: String::new(),
            generated: NOW,
            generation: 1,
            max_age: 60,
            disposition: None,
        };
        Arc::new(document.into())
    }

    /// Decision published-documents: a reader sees a new generation within the time that is promised.
    #[test]
    fn the_time_of_making_alone_makes_no_other_tag() {
        let tag = |body: &str| json_etag(body.as_bytes());
        let body = r#"{"generated_at":"2026-01-01T00:00:00Z","n":1,"generation":7}"#;
        assert!(tag(body).starts_with("W/\""));
        assert_eq!(tag(body), tag(r#"{"generated_at":"2026-01-02T00:00:00Z","n":1,"generation":12}"#));
        assert_eq!(
            tag(r#"{"checkedAt":"1","n":1,"generated":"2"}"#),
            tag(r#"{"checkedAt":"3","n":1,"generated":"4"}"#)
        );
        assert_ne!(tag(body), tag(r#"{"generated_at":"2026-01-01T00:00:00Z","n":2,"generation":7}"#));
        assert_ne!(tag(body), tag(r#"{"generated_at":"2026-01-01T00:00:00Z","n":1,"generation":7,"m":1}"#));
        // Neither a text that quotes one nor a member of nearly that name is left out.
        for (a, b) in [
            (r#"{"t":"\"generated\":\"1\""}"#, r#"{"t":"\"generated\":\"2\""}"#),
            (r#"{"generators":"1"}"#, r#"{"generators":"2"}"#),
        ] {
            assert_ne!(tag(a), tag(b));
            assert_eq!(tag(a), etag(a.as_bytes()));
        }
        assert_eq!(tag(r#"{"generated":"1"#), tag(r#"{"generated":"22"#), "cut off");
    }

    #[test]
    fn a_copy_is_kept_for_one_interval_and_no_longer() {
        let mut recent = Recent::default();
        recent.keep("a", document(1), NOW);
        let seen = |recent: &Recent, after: i64, seconds| {
            recent.get("a", NOW.plus(after), seconds).map(|document| document.size())
        };
        assert_eq!(seen(&recent, 10 * SECOND - 1, 10), Some(1));
        assert_eq!(seen(&recent, 10 * SECOND, 10), None);
        assert_eq!(seen(&recent, 0, 0), None, "an interval of 0 keeps nothing");
        assert_eq!(seen(&recent, -1, 10), None, "a clock that goes back makes nothing fresh");
        recent.keep("a", document(2), NOW.plus(11 * SECOND));
        assert_eq!(seen(&recent, 12 * SECOND, 10), Some(2));
        assert_eq!((recent.bytes, recent.by_key.len()), (2, 1));
    }

    /// Decision published-documents.
    #[test]
    fn a_json_document_says_its_generation() {
        for (body, expected) in
            [(r#"{"a":{}}"#, r#"{"a":{},"generation":7}"#), ("{}", r#"{"generation":7}"#), ("[1]", "[1]")]
        {
            let mut body = body.as_bytes().to_vec();
            say_generation(&mut body, 7);
            assert_eq!(body, expected.as_bytes());
        }
    }

    #[test]
    fn copies_are_bounded_in_bytes() {
        let mut recent = Recent::default();
        for n in 0..100 {
            recent.keep(&n.to_string(), document(1024 * 1024), NOW);
            assert!(recent.bytes <= Recent::MAX_BYTES);
            assert_eq!(recent.bytes, recent.by_key.values().map(|(_, document)| document.size()).sum::<usize>());
        }
        recent.keep("huge", document(Recent::MAX_BYTES + 1), NOW);
        assert!(recent.get("huge", NOW, 10).is_none());
    }
}
