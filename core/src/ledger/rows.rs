//! What the ledger keeps, and the ids of it.
//!
//! Table numbers: 16 [`BOOK`], 17 [`super::merkle`], 18 [`KEYS`], 19 [`EVENTS`], 20 [`WALLETS`] and [`INDEX`], 22
//! [`ESCROWS`], 23 [`ESCROWS_TO`], 24 [`BURNT`], 25 [`BURNT_UNTIL`], 26 [`DUE`], 27 [`FAUCET`], 28
//! [`FAUCET_BY_ADDRESS`], 29 [`EVENT_PARTS`], 30
//! [`ADMIN_KEYS`], 31 [`IDLE`], 32 [`MINUTES`], 33 [`FAILURES`], 34
//! [`FAUCET_UNTIL`]; 85 [`HELD`]; of the market: 35 to 38 [`super::receipt`], 39, 40 and 90 [`super::listing`], 43 to
//! 45, 91 and 92 [`super::hire`], 49 [`super::tally`]; 60 and 61 [`super::provider`], 62 and 63 [`super::idempotency`],
//! 64 [`super::notify`], 65 and 67 [`super::metrics`], 66 [`super::room`], 68 to 71 [`super::segment`]. 21, 41, 42 and
//! 46 to 48 once were.

use serde::{Deserialize, Serialize};

use super::log::{Event, Part, What};
use super::reason::Reason;
use crate::Timestamp;
use crate::crypto::hash::{sha256, sha256_of};
use crate::engine::kv::{Desc, Head, Row, StoreError, Table, appended};

/// An amount of money in micro-credits: a credit has 1,000,000. All that exist are at most 2^53 - 1, so no sum of
/// amounts that exist overflows (decision money-supply-bound).
pub type Micro = u64;

/// A DID without `did:<brand>:`.
pub type Name = String;

/// The 16 bytes of a UUID.
pub type Id = [u8; 16];

/// What an id names; part of how it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    Transfer,
    Escrow,
    Hire,
    Claim,
    Listing,
    Faucet,
    Admin,
    Batch,
    Event,
}

/// The id of what `name` signs with `nonce`, in the form of a random UUID. Since nonce and id are one key, a nonce can
/// belong to one row only, and looking up either is one read.
pub fn id(space: Space, name: &str, nonce: &str) -> Id {
    let word = match space {
        Space::Transfer => "transfer",
        Space::Escrow => "escrow",
        Space::Hire => "hire",
        Space::Claim => "claim",
        Space::Listing => "listing",
        Space::Faucet => "faucet",
        Space::Admin => "admin",
        Space::Batch => "batch",
        Space::Event => "event",
    };
    let length = (name.len() as u64).to_be_bytes();
    let hash = sha256_of(&[b"ledger id/", word.as_bytes(), &length, name.as_bytes(), nonce.as_bytes()]);
    let mut id = [0; 16];
    id.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut id;
    *version = (*version & 0x0f) | 0x40;
    *variant = (*variant & 0x3f) | 0x80;
    id
}

/// Lower case with hyphens.
pub fn id_text(id: &Id) -> String {
    let hex = crate::crypto::encoding::encode_hex(id);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

/// Reads [`id_text`] back, and no other spelling.
pub fn parse_id(text: &str) -> Option<Id> {
    let id = crate::crypto::encoding::decode_hex_array("id", &text.replace('-', "")).ok()?;
    (id_text(&id) == text).then_some(id)
}

/// Something signed, as it came: what an auditor needs to check it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    #[serde(with = "crate::engine::kv::bytes")]
    pub canonical: Vec<u8>,
    /// Ed25519, 64 bytes.
    #[serde(with = "crate::engine::kv::bytes")]
    pub signature: Vec<u8>,
    pub key: [u8; 32],
}

impl Signed {
    /// SHA-256 of what was signed.
    pub fn hash(&self) -> [u8; 32] {
        sha256(&self.canonical)
    }
}

/// What holds for the whole ledger. One row, so that operations that change only wallets still have one order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// Time of the last event. Events have distinct, increasing times, which order all lists (decision
    /// unique-event-times).
    pub last: Timestamp,
    /// How many events the log has.
    pub events: u64,
    /// Secret from which the salts of hidden texts are made.
    pub salt: [u8; 32],
    /// All that was ever granted, by admins and by the faucet.
    pub supply: Micro,
    pub wallets: u64,
    /// Since when every outflow is stopped, if it is.
    pub frozen_since: Option<Timestamp>,
    /// How long the system was frozen before, in microseconds.
    pub frozen_for: i64,
    pub faucet_disabled: bool,
    /// Grants of the faucet on the day of that number.
    pub faucet_day: i64,
    pub faucet_grants: u32,
    /// The minute that is being counted; earlier ones are in [`MINUTES`].
    pub minute: u32,
    pub counts: Counts,
    pub market: super::tally::Market,
    /// What all wallets have to spend and have set aside, by what events did to them.
    pub held: Micro,
    pub locked: Micro,
    /// What stands in open escrows.
    pub open: Micro,
    /// Events from the first on that lie in segments ([`super::segment`]).
    pub sealed: u64,
    /// Time of the last event of the run that is sealed next, once the run is whole.
    pub whole: Option<Timestamp>,
}
impl Row for Book {}

/// What happened in one minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub transfers: u64,
    pub hires: u64,
    /// What completed hires paid.
    pub value: Micro,
    /// Wallets of which nothing happened since.
    pub wallets: u64,
}
impl Row for Counts {}

/// A wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wallet {
    /// To spend.
    pub balance: Micro,
    /// In open escrows that this wallet pays.
    pub locked: Micro,
    pub daily_cap: Micro,
    pub per_tx_cap: Micro,
    pub frozen: bool,
    /// Whom it may pay; anybody when `None`.
    pub allowlist: Option<Vec<Name>>,
    /// What left it in the last 24 hours, by minute, ascending.
    pub flow: Vec<Minute>,
    /// It held credit once, or its DID was registered when it was made: it is never removed.
    pub lasting: bool,
    /// The minute in which something last happened with its money; 0 for never.
    pub seen: u32,
    pub created: Timestamp,
    pub updated: Timestamp,
}
impl Row for Wallet {}

/// What left a wallet in one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minute {
    /// Since the epoch.
    pub minute: u32,
    pub sum: Micro,
    /// When the last of it did, in microseconds since the minute began.
    pub last: u32,
}

/// The key that speaks for a DID, as its agent told (decision signer-key-table).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRow {
    /// The agent's generation of keys.
    pub version: u64,
    pub key: Option<[u8; 32]>,
    /// The agent is not deactivated.
    pub active: bool,
    /// The key verified an envelope here, or a rotation that was signed for named it. No registration changes it then:
    /// only another rotation that it signs for. Else any registered key from which the DID follows may be the one.
    pub settled: bool,
    /// The agent was told that the key signed.
    pub told: bool,
    /// A rotation that was not signed for froze the wallet, and no admin has looked since.
    pub froze: bool,
}

impl Row for KeyRow {
    const VERSION: u8 = 2;

    /// Version 1 ended before `settled`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        appended(version, 1, bytes, &[0; 3])
    }
}

impl KeyRow {
    /// What is known of a key that has signed nothing here.
    pub fn of(version: u64, key: Option<[u8; 32]>, active: bool) -> KeyRow {
        KeyRow { version, key, active, settled: false, told: false, froze: false }
    }

    /// The key with which signatures of this DID verify now.
    pub fn in_force(&self) -> Option<[u8; 32]> {
        self.key.filter(|_| self.active)
    }

    /// Whether what was verified under `other` still counts: the same generation, or a later one that the agent told of
    /// while its word to the ledger is under way.
    pub fn agrees(&self, other: &KeyRow) -> bool {
        let newer = (other.version, other.active) == (self.version, self.active) || other.version > self.version;
        newer && (!self.settled || self.key == other.key)
    }

    /// What the agent tells, with what the ledger knows of the key.
    pub fn with(&self, told: &KeyRow) -> KeyRow {
        match told.version > self.version {
            true => KeyRow { version: told.version, active: told.active, ..self.clone() },
            false => self.clone(),
        }
    }
}

/// A transfer, or a refused one, as it is shown; in the log it is an event, or part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// DIDs as they were signed.
    pub from: String,
    pub to: String,
    pub amount: i64,
    /// Of a batch its id.
    pub nonce: String,
    pub memo: Option<String>,
    /// Whether what was signed has any text: of a batch, also that of another transfer.
    pub has_text: bool,
    pub at: Timestamp,
    pub outcome: Outcome,
    /// SHA-256 of what was signed.
    pub hash: [u8; 32],
    #[serde(with = "crate::engine::kv::bytes")]
    pub signature: Vec<u8>,
    /// As they were signed.
    pub issued_at: String,
    pub expires_at: String,
    /// The batch it is part of, and its place in it.
    pub batch: Option<(Id, u16)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// With the balances after it, so that the first answer can be given again.
    Settled {
        sender: Micro,
        recipient: Micro,
    },
    Failed(Reason),
}

/// Where an escrow stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EscrowState {
    Open,
    Released,
    Refunded,
    Expired,
}

impl EscrowState {
    pub const fn as_str(self) -> &'static str {
        match self {
            EscrowState::Open => "open",
            EscrowState::Released => "released",
            EscrowState::Refunded => "refunded",
            EscrowState::Expired => "expired",
        }
    }
}

/// Money set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escrow {
    pub from: Name,
    pub to: Name,
    pub nonce: String,
    pub amount: Micro,
    pub memo: Option<String>,
    pub state: EscrowState,
    /// Why it was given back, in the words of whoever did.
    pub reason: Option<String>,
    pub open: Signed,
    /// The hire that it pays.
    pub hire: Option<Id>,
    pub opened: Timestamp,
    pub deadline: Timestamp,
    /// How long the system had been frozen when it was opened: its clock stands still in a freeze (decision
    /// freeze-stops-clocks).
    pub frozen_before: i64,
    /// How it ended.
    pub closed: Option<Closed>,
}
impl Row for Escrow {}

/// The end of an escrow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub at: Timestamp,
    /// A DID's name, or `admin:<keyid>`, `system:expire`, `receipt:<id>`, `system:timeout:<id>`.
    pub actor: String,
    pub signed: Option<Signed>,
}

/// What an event did to a wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The transfer, batch or escrow; of what is none of them the row of the event.
    pub id: Id,
    pub seq: u64,
    pub what: What,
    pub balance: i64,
    pub locked: i64,
    pub balance_after: Micro,
    pub locked_after: Micro,
    /// Of what left the wallet: when something left it before in the same minute, in microseconds since that began.
    pub before: Option<u32>,
}
impl Row for Entry {}

impl Entry {
    /// What counts against caps, in micro-credits.
    pub fn outflow(&self) -> Micro {
        if self.what.is_outflow() { Micro::try_from(self.balance.saturating_neg()).unwrap_or_default() } else { 0 }
    }
}

/// A row by id alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ref(pub Id);
impl Row for Ref {}

/// A grant of the faucet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub signed: Signed,
    pub amount: Micro,
    pub at: Timestamp,
}
impl Row for Grant {}

/// A key of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminKey {
    pub key: [u8; 32],
    pub role: Role,
    pub active: bool,
    pub since: Timestamp,
    /// It stands in the settings of the deployment, and goes when it goes there.
    pub configured: bool,
}

impl Row for AdminKey {
    const VERSION: u8 = 2;

    /// Version 1 ended before `configured`.
    fn upgrade(version: u8, bytes: &[u8]) -> crate::Result<Self, StoreError> {
        appended(version, 1, bytes, &[0])
    }
}

/// What an admin key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    All,
    Grant,
    Freeze,
    Cap,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::All => "all",
            Role::Grant => "grant",
            Role::Freeze => "freeze",
            Role::Cap => "cap",
        }
    }

    pub fn parse(text: &str) -> Option<Role> {
        [Role::All, Role::Grant, Role::Freeze, Role::Cap].into_iter().find(|role| role.as_str() == text)
    }
}

/// A list of a name, newest first.
pub type ByTime = Table<(Name, Desc<Timestamp>), Ref>;

pub const BOOK: Table<(), Book> = Table::new(16);
/// Each right before its entries in [`INDEX`]: a payment changes both.
pub const WALLETS: Head<Name, Wallet> = Head::of(INDEX.number());
pub const KEYS: Table<(Name,), KeyRow> = Table::new(18);
/// Events by the id of the transfer, batch or escrow that begins with them, others by an id of their own.
pub const EVENTS: Table<(Id,), Event> = Table::new(19);
/// What was signed for an event, where it is long.
pub const EVENT_PARTS: Table<(Id, u8), Part> = Table::new(29);
/// Events of a wallet, newest first.
pub const INDEX: Table<(Name, Desc<Timestamp>), Entry> = Table::new(20);
pub const ESCROWS: Table<(Id,), Escrow> = Table::new(22);
pub const ESCROWS_TO: ByTime = Table::new(23);
/// Nonces whose submission left no row of its own, until nobody could send it again.
pub const BURNT: Table<(Id,), Timestamp> = Table::new(24);
pub const BURNT_UNTIL: Table<(Timestamp, Id), ()> = Table::new(25);
/// What happens to escrows by time, in the time of [`super::book::Books::clock`].
pub const DUE: Table<(Timestamp, Id), ()> = Table::new(26);
/// Escrows that could not end because their sender's wallet is frozen, by sender, until that ends.
pub const HELD: Table<(Name, Id), ()> = Table::new(85);
pub const FAUCET: Table<(Name,), Grant> = Table::new(27);
pub const FAUCET_BY_ADDRESS: Table<([u8; 16], Timestamp), ()> = Table::new(28);
/// When a row of [`FAUCET_BY_ADDRESS`] counts no more.
pub const FAUCET_UNTIL: Table<(Timestamp, [u8; 16]), ()> = Table::new(34);
pub const ADMIN_KEYS: Table<(String,), AdminKey> = Table::new(30);
/// Wallets that go unless they come to hold something (decision registered-recipients).
pub const IDLE: Table<(Timestamp, Name), ()> = Table::new(31);
pub const MINUTES: Table<(u32,), Counts> = Table::new(32);
/// Refused transfers on the day of that number, by DID (decision ledger-room).
pub const FAILURES: Table<(u32, Name), u64> = Table::new(33);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_form_of_random_uuids_and_follow_from_space_name_and_nonce() {
        let one = id(Space::Transfer, "ab", "c");
        assert_eq!(id_text(&one), id_text(&id(Space::Transfer, "ab", "c")));
        for other in [id(Space::Escrow, "ab", "c"), id(Space::Transfer, "a", "bc"), id(Space::Transfer, "ab", "d")] {
            assert_ne!(one, other);
        }
        let text = id_text(&one);
        assert_eq!(parse_id(&text), Some(one));
        assert_eq!((text.len(), &text[14..15]), (36, "4"));
        assert!(matches!(&text[19..20], "8" | "9" | "a" | "b"));
        for bad in ["", "undefined", &text.to_uppercase(), &text.replace('-', ""), &format!("{text}0"), &text[..35]] {
            assert_eq!(parse_id(bad), None, "{bad}");
        }
    }
}
