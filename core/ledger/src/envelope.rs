//! Envelopes: the texts that agents sign (decisions refusal-burns-nonce, envelope-audience, strict-ledger-json,
//! deadline-skew and ledger-for-clients).
//!
//! An envelope is read member by member, each once. A member that is left over was signed but would have no effect, so
//! the envelope is refused. Texts are counted in characters. Bounds of amounts, deadlines and hashes have reasons of
//! their own and are checked later, in a fixed order (decision reason-order).

use super::batch::MAX_ITEMS;
use super::json::{self, Json, Members};
use crate::Timestamp;
use engine::time::{MINUTE, SECOND};

/// Most characters of free text.
pub const MAX_TEXT: usize = 280;
/// Most characters of a DID (decision strict-ledger-json).
pub const MAX_DID: usize = 128;
/// Most characters of a nonce, and of a task's id.
pub const MAX_NONCE: usize = 128;
/// Most characters of a JSON schema, or of the input of a hire.
pub const MAX_DATA: usize = 2_048;
/// Longest life of an envelope, in microseconds; exact (decision deadline-skew).
pub const MAX_WINDOW: i64 = 60 * MINUTE;
/// How far clocks may be apart, in microseconds.
pub const SKEW: i64 = 30 * SECOND;

/// The members that every envelope has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Common {
    pub issued: Timestamp,
    pub expires: Timestamp,
    /// Times as they were signed.
    pub issued_at: String,
    pub expires_at: String,
    /// The deployment that the envelope is meant for, if it names one (decision envelope-audience).
    pub audience: Option<String>,
}

/// `<brand>-credit-transfer/v1`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    pub from: String,
    pub to: String,
    pub amount: i64,
    pub nonce: String,
    pub memo: Option<String>,
}

/// `<brand>-batch-transfer/v1`: transfers that settle together (decision batch-contract).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub from: String,
    pub batch_id: String,
    pub items: Vec<BatchItem>,
}

/// One transfer of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchItem {
    pub to: String,
    pub amount: i64,
    pub memo: Option<String>,
}

impl BatchItem {
    fn of(item: Json) -> Option<BatchItem> {
        let Json::Object(members) = item else { return None };
        let mut fields = Fields::new(members);
        let item = BatchItem {
            to: fields.did("to_did")?,
            amount: fields.integer("amount_micro")?,
            memo: fields.maybe("memo", MAX_TEXT)?,
        };
        fields.is_over().then_some(item)
    }
}

/// The place, from 0, of the first malformed item in what should be a batch.
pub fn malformed_item(batch: &Json) -> Option<u16> {
    let Json::Object(members) = batch else { return None };
    let Some(Json::List(items)) = members.get("items") else { return None };
    let wrong = |item: &Json| BatchItem::of(item.clone().without_nulls()).is_none();
    items.iter().position(wrong).and_then(|place| u16::try_from(place).ok())
}

/// `<brand>-escrow-open/v1`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EscrowOpening {
    pub from: String,
    pub to: String,
    pub amount: i64,
    pub nonce: String,
    pub deadline: Timestamp,
    pub memo: Option<String>,
}

/// `<brand>-escrow-release/v1` and `<brand>-escrow-refund/v1`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Close {
    pub escrow: String,
    pub signer: String,
    pub release: bool,
    pub reason: Option<String>,
}

/// `<brand>-capability-list/v1`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    pub provider: String,
    pub capability: String,
    pub name: String,
    pub description: String,
    pub price: i64,
    pub unit: String,
    pub sla_hours: i64,
    pub active: bool,
    pub nonce: String,
    pub input_schema: Option<String>,
    pub output_schema: Option<String>,
    pub tags: Option<String>,
}

/// `<brand>-hire-request/v1`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hire {
    pub capability_id: String,
    pub capability: String,
    pub requester: String,
    pub provider: String,
    pub price: i64,
    pub task: String,
    pub hours: i64,
    pub nonce: String,
    pub input: Option<String>,
}

/// `<brand>-work-claim/v1`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub task: String,
    pub requester: String,
    pub provider: String,
    pub work_hash: String,
    pub nonce: String,
    pub deadline: Timestamp,
    pub auto_accept: bool,
    pub escrow: Option<String>,
    pub summary: Option<String>,
}

/// `<brand>-work-acceptance/v1`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    pub receipt: String,
    pub signer: String,
    pub accept: bool,
    pub rating: Option<u8>,
    pub feedback: Option<String>,
    pub dispute_reason: Option<String>,
}

/// `<brand>-pay-faucet/v1`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faucet {
    pub did: String,
    pub nonce: String,
}

/// `<brand>-pay-history-read/v1`: proof that the reader is this DID (decision ledger-texts-for-parties).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRead {
    pub did: String,
}

/// The content of an envelope, by its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Transfer(Transfer),
    Batch(Batch),
    Open(EscrowOpening),
    Close(Close),
    List(List),
    Hire(Hire),
    Claim(Claim),
    Acceptance(Acceptance),
    Faucet(Faucet),
    Read(HistoryRead),
}

/// An envelope as it was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    pub common: Common,
    pub content: Content,
}

impl Envelope {
    /// Reads the canonical bytes of an envelope of this brand.
    pub fn read(brand: &str, canonical: &[u8]) -> Option<Envelope> {
        match json::parse(canonical, json::MAX_DEPTH)? {
            Json::Object(members) => Envelope::of(brand, members),
            _ => None,
        }
    }

    /// Reads an envelope whose null members were removed. `None`: no schema of this brand has these members.
    pub fn of(brand: &str, members: Members) -> Option<Envelope> {
        Envelope::from(brand, &mut Fields::new(members))
    }

    /// Says why these members are no envelope; `None` if they are one.
    pub fn fault(brand: &str, members: Members) -> Option<String> {
        let mut fields = Fields::new(members);
        match Envelope::from(brand, &mut fields) {
            Some(_) => None,
            None => Some(fields.fault()),
        }
    }

    fn from(brand: &str, fields: &mut Fields) -> Option<Envelope> {
        let schema = fields.text("schema", 1, 64)?;
        let kind = schema.strip_prefix(brand)?.strip_prefix('-')?.strip_suffix("/v1")?;
        let issued_at = fields.text("issued_at", 1, 40)?;
        let issued = time(&issued_at)?;
        let expires_at = fields.text("expires_at", 1, 40)?;
        let expires = time(&expires_at)?;
        let common = Common { issued, expires, issued_at, expires_at, audience: fields.maybe("aud", MAX_NONCE)? };
        let content = match kind {
            "credit-transfer" => fields.transfer().map(Content::Transfer),
            "batch-transfer" => fields.batch().map(Content::Batch),
            "escrow-open" => fields.open().map(Content::Open),
            "escrow-release" => fields.close(true).map(Content::Close),
            "escrow-refund" => fields.close(false).map(Content::Close),
            "capability-list" => fields.list().map(Content::List),
            "hire-request" => fields.hire().map(Content::Hire),
            "work-claim" => fields.claim().map(Content::Claim),
            "work-acceptance" => fields.acceptance().map(Content::Acceptance),
            "pay-faucet" => fields.faucet().map(Content::Faucet),
            "pay-history-read" => fields.read().map(Content::Read),
            _ => {
                fields.last = Some("schema");
                None
            }
        }?;
        // A member that nobody reads was signed without effect.
        fields.is_over().then_some(Envelope { common, content })
    }

    /// The DID whose key must have signed it.
    pub fn signer(&self) -> &str {
        match &self.content {
            Content::Transfer(transfer) => &transfer.from,
            Content::Batch(batch) => &batch.from,
            Content::Open(open) => &open.from,
            Content::Close(close) => &close.signer,
            Content::List(list) => &list.provider,
            Content::Hire(hire) => &hire.requester,
            Content::Claim(claim) => &claim.provider,
            Content::Acceptance(acceptance) => &acceptance.signer,
            Content::Faucet(faucet) => &faucet.did,
            Content::Read(read) => &read.did,
        }
    }

    /// The other DIDs that it names, each once.
    pub fn others(&self) -> Vec<&str> {
        match &self.content {
            Content::Transfer(transfer) => vec![&transfer.to],
            Content::Batch(batch) => {
                let mut all: Vec<&str> = batch.items.iter().map(|item| item.to.as_str()).collect();
                all.sort_by_key(|to| *to);
                all.dedup();
                all
            }
            Content::Open(open) => vec![&open.to],
            Content::Hire(hire) => vec![&hire.provider],
            Content::Claim(claim) => vec![&claim.requester],
            _ => Vec::new(),
        }
    }
}

/// A time with `Z`, with or without a fraction.
pub fn time(text: &str) -> Option<Timestamp> {
    let civil = text.get(10..11) == Some("T") && text.ends_with('Z');
    civil.then(|| Timestamp::parse(text)).flatten()
}

/// What a slug looks like.
pub const SLUG: &str = "^[a-z0-9][a-z0-9._-]{0,63}$";

/// Whether a text is a [`SLUG`].
pub fn is_slug(text: &str) -> bool {
    let inside = |c: u8| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(inside) && !text.starts_with(['.', '_', '-'])
}

/// Whether a text is a JSON array of texts. Clients parse the tags of every offer that they find as one.
fn is_tags(text: &str) -> bool {
    match json::parse(text.as_bytes(), 1) {
        Some(Json::List(tags)) => tags.iter().all(|tag| matches!(tag, Json::Text(_))),
        _ => false,
    }
}

/// Members that are not read yet.
pub(super) struct Fields {
    members: Members,
    /// The member that was looked up last; `None` after the last member of the schema.
    last: Option<&'static str>,
}

impl Fields {
    pub fn new(members: Members) -> Fields {
        Fields { members, last: None }
    }

    /// The member, which stays to be read.
    pub fn peek(&self, name: &str) -> Option<&Json> {
        self.members.get(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    pub fn take(&mut self, name: &'static str) -> Option<Json> {
        self.last = Some(name);
        self.members.remove(name)
    }

    /// Called after the last member of a schema: tells whether no member is left over.
    pub fn is_over(&mut self) -> bool {
        self.last = None;
        self.members.is_empty()
    }

    /// Says why the reading stopped.
    fn fault(&self) -> String {
        let left = || self.members.keys().next().map(|name| name.chars().take(MAX_NONCE).collect::<String>());
        match self.last {
            Some(last) => format!("`{last}` is missing from the envelope, or has the wrong type, form or length."),
            None => format!("`{}` is not a member of this schema.", left().unwrap_or_default()),
        }
    }

    /// A text of `min` to `max` characters.
    pub fn text(&mut self, name: &'static str, min: usize, max: usize) -> Option<String> {
        match self.take(name)? {
            Json::Text(text) if (min..=max).contains(&text.chars().count()) => Some(text),
            _ => None,
        }
    }

    /// Like [`Fields::text`], but optional: the inner `None` means that the member is absent.
    #[allow(clippy::option_option)]
    pub fn maybe(&mut self, name: &'static str, max: usize) -> Option<Option<String>> {
        match self.has(name) {
            true => self.text(name, 0, max).map(Some),
            false => Some(None),
        }
    }

    pub fn integer(&mut self, name: &'static str) -> Option<i64> {
        match self.take(name)? {
            Json::Integer(number) => Some(number),
            _ => None,
        }
    }

    pub fn flag(&mut self, name: &'static str) -> Option<bool> {
        match self.take(name)? {
            Json::Bool(flag) => Some(flag),
            _ => None,
        }
    }

    pub fn did(&mut self, name: &'static str) -> Option<String> {
        self.text(name, 1, MAX_DID)
    }

    fn nonce(&mut self, name: &'static str) -> Option<String> {
        self.text(name, 1, MAX_NONCE)
    }

    fn moment(&mut self, name: &'static str) -> Option<Timestamp> {
        time(&self.text(name, 1, 40)?)
    }

    fn transfer(&mut self) -> Option<Transfer> {
        Some(Transfer {
            from: self.did("from_did")?,
            to: self.did("to_did")?,
            amount: self.integer("amount_micro")?,
            nonce: self.nonce("nonce")?,
            memo: self.maybe("memo", MAX_TEXT)?,
        })
    }

    fn batch(&mut self) -> Option<Batch> {
        let Json::List(items) = self.take("items")? else { return None };
        if !(1..=MAX_ITEMS).contains(&items.len()) {
            return None;
        }
        Some(Batch {
            from: self.did("from_did")?,
            batch_id: self.nonce("batch_id")?,
            items: items.into_iter().map(BatchItem::of).collect::<Option<_>>()?,
        })
    }

    fn open(&mut self) -> Option<EscrowOpening> {
        Some(EscrowOpening {
            from: self.did("from_did")?,
            to: self.did("to_did")?,
            amount: self.integer("amount_micro")?,
            nonce: self.nonce("nonce")?,
            deadline: self.moment("deadline_at")?,
            memo: self.maybe("memo", MAX_TEXT)?,
        })
    }

    fn close(&mut self, release: bool) -> Option<Close> {
        // Newer clients use other names for signer and nonce (decision ledger-for-clients). An incomplete set of names
        // is refused.
        let newer = self.has("actor_did");
        let (signer, nonce) = if newer { ("actor_did", "nonce") } else { ("signer_did", "action_nonce") };
        self.nonce(nonce)?;
        Some(Close {
            escrow: self.text("escrow_id", 1, MAX_NONCE)?,
            signer: self.did(signer)?,
            release,
            reason: if release { None } else { self.maybe("reason", MAX_TEXT)? },
        })
    }

    fn list(&mut self) -> Option<List> {
        Some(List {
            provider: self.did("provider_did")?,
            capability: self.text("capability", 1, 64).filter(|slug| is_slug(slug))?,
            name: self.text("name", 1, 80)?,
            description: self.text("description", 0, 560)?,
            price: self.integer("price_per_call_micro")?,
            unit: self.text("unit", 1, 24)?,
            sla_hours: self.integer("sla_deadline_hours").filter(|hours| (1..=168).contains(hours))?,
            active: self.flag("active")?,
            nonce: self.nonce("nonce")?,
            input_schema: self.maybe("input_schema", MAX_DATA)?,
            output_schema: self.maybe("output_schema", MAX_DATA)?,
            tags: self.tags()?,
        })
    }

    #[allow(clippy::option_option)]
    fn tags(&mut self) -> Option<Option<String>> {
        let tags = self.maybe("tags", 512)?;
        tags.as_deref().is_none_or(is_tags).then_some(tags)
    }

    fn hire(&mut self) -> Option<Hire> {
        Some(Hire {
            capability_id: self.text("capability_id", 1, MAX_NONCE)?,
            capability: self.text("capability", 1, 64).filter(|slug| is_slug(slug))?,
            requester: self.did("requester_did")?,
            provider: self.did("provider_did")?,
            price: self.integer("price_micro")?,
            task: self.text("task_id", 1, MAX_NONCE)?,
            hours: self.integer("delivery_deadline_hours").filter(|hours| *hours >= 1)?,
            nonce: self.nonce("nonce")?,
            input: self.maybe("input_json", MAX_DATA)?,
        })
    }

    fn claim(&mut self) -> Option<Claim> {
        Some(Claim {
            task: self.text("task_id", 1, MAX_NONCE)?,
            requester: self.did("from_did")?,
            provider: self.did("to_did")?,
            work_hash: self.text("work_hash", 0, MAX_TEXT)?,
            nonce: self.nonce("nonce")?,
            deadline: self.moment("acceptance_deadline_at")?,
            auto_accept: self.flag("auto_accept_on_timeout")?,
            escrow: self.maybe("escrow_id", MAX_NONCE)?,
            summary: self.maybe("summary", MAX_TEXT)?,
        })
    }

    fn acceptance(&mut self) -> Option<Acceptance> {
        let accept = match self.text("action", 1, 16)?.as_str() {
            "accept" => true,
            "dispute" => false,
            _ => return None,
        };
        // The nonce is checked for its form and kept with the envelope; the state stops replays (decision
        // action-nonce-repeats).
        self.nonce("action_nonce")?;
        let rating = match self.has("rating") {
            true => Some(self.integer("rating").filter(|rating| (1..=5).contains(rating))?),
            false => None,
        };
        Some(Acceptance {
            receipt: self.text("receipt_id", 1, MAX_NONCE)?,
            signer: self.did("signer_did")?,
            accept,
            rating: rating.and_then(|rating| u8::try_from(rating).ok()),
            feedback: self.maybe("feedback", MAX_TEXT)?,
            dispute_reason: self.maybe("dispute_reason", MAX_TEXT)?,
        })
    }

    fn faucet(&mut self) -> Option<Faucet> {
        Some(Faucet { did: self.did("did")?, nonce: self.nonce("nonce")? })
    }

    fn read(&mut self) -> Option<HistoryRead> {
        self.nonce("nonce")?;
        Some(HistoryRead { did: self.did("did")? })
    }
}
