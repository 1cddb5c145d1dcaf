//! The rows that the ledger stores, and how their ids are made.
//!
//! Table numbers: 16 [`BOOK`], 17 [`super::merkle`], 18 [`KEYS`], 19 [`EVENTS`], 20 [`WALLETS`] and [`INDEX`], 22
//! [`ESCROWS`], 23 [`ESCROWS_TO`], 24 [`BURNT`], 25 [`BURNT_UNTIL`], 26 [`DUE`], 27 [`FAUCET`], 28
//! [`FAUCET_BY_ADDRESS`], 29 [`EVENT_PARTS`], 30 [`ADMIN_KEYS`], 31 [`IDLE`], 32 [`MINUTES`], 33 [`FAILURES`], 34
//! [`FAUCET_UNTIL`]; 85 [`HELD`]; of the market: 35 to 38 [`super::receipt`], 39, 40 and 90 [`super::listing`], 43 to
//! 45, 91 and 92 [`super::hire`], 49 [`super::tally`]; 60 and 61 [`super::provider`], 62 and 63 [`super::idempotency`],
//! 64 [`super::notify`], 65 and 67 [`super::metrics`], 66 [`super::room`], 68 to 71 [`super::segment`]. 21, 41, 42 and
//! 46 to 48 were in use once.

use serde::{Deserialize, Serialize};

use super::log::{BytesPart, Event, What};
use super::reason::Reason;
use crate::Timestamp;
use crypto::hash::{sha256, sha256_of};
use engine::kv::{Desc, Head, Row, StoreError, Table, appended};

/// An amount of money in micro-credits: a credit has 1,000,000. All money that exists is at most 2^53 - 1 of them, so
/// no sum of existing amounts overflows (decision money-supply-bound).
pub type Micro = u64;

/// A DID without `did:<brand>:`.
pub type Name = String;

/// The 16 bytes of a UUID.
pub type Id = [u8; 16];

/// The kind of thing that an id names. The id is made from it.
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

/// The id of the thing that `name` signs with `nonce`, in the form of a random UUID. The nonce and the id are one key,
/// so a nonce can belong to one row only, and one read looks up both.
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
    let hex = crypto::encoding::encode_hex(id);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

/// What [`id_text`] writes looks like.
pub const ID_PATTERN: &str = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";

/// Reads the text that [`id_text`] writes, and accepts no other spelling.
pub fn parse_id(text: &str) -> Option<Id> {
    let id = crypto::encoding::decode_hex_array("id", &text.replace('-', "")).ok()?;
    (id_text(&id) == text).then_some(id)
}

/// Signed bytes as they came, so that an auditor can check the signature again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    #[serde(with = "engine::kv::bytes")]
    pub canonical: Vec<u8>,
    /// Ed25519, 64 bytes.
    #[serde(with = "engine::kv::bytes")]
    pub signature: Vec<u8>,
    pub key: [u8; 32],
}

impl Signed {
    /// SHA-256 of the signed bytes.
    pub fn hash(&self) -> [u8; 32] {
        sha256(&self.canonical)
    }
}

/// The state of the whole ledger. It is one row, so that operations that change only wallets still have one order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// Time of the last event. Events have distinct, increasing times, which order all lists (decision
    /// unique-event-times).
    pub last: Timestamp,
    /// Number of events in the log.
    pub events: u64,
    /// Secret from which the salts of hidden texts are made.
    pub salt: [u8; 32],
    /// All money that was ever granted, by admins and by the faucet.
    pub supply: Micro,
    pub wallets: u64,
    /// Start of the present freeze of the whole ledger, which stops every outflow; `None` without one.
    pub frozen_since: Option<Timestamp>,
    /// Length of all earlier freezes together, in microseconds.
    pub frozen_for: i64,
    pub faucet_disabled: bool,
    /// The day that `faucet_grants` counts, by its number.
    pub faucet_day: i64,
    pub faucet_grants: u32,
    /// The minute that `counts` is about; earlier minutes are in [`MINUTES`].
    pub minute: u32,
    pub counts: Counts,
    pub market: super::tally::Market,
    /// Sums over all wallets, as events changed them: money to spend (`held`), and money set aside (`locked`).
    pub held: Micro,
    pub locked: Micro,
    /// Sum of all open escrows.
    pub open: Micro,
    /// Number of events, from the first on, that lie in segments ([`super::segment`]).
    pub sealed: u64,
    /// Time of the last event of the run that is sealed next; `None` while the run is incomplete.
    pub whole: Option<Timestamp>,
}
impl Row for Book {}

/// Counts of one minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub transfers: u64,
    pub hires: u64,
    /// Sum of the prices of completed hires.
    pub value: Micro,
    /// Wallets whose money last moved in this minute.
    pub wallets: u64,
}
impl Row for Counts {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wallet {
    /// Money to spend.
    pub balance: Micro,
    /// Money in open escrows that this wallet pays.
    pub locked: Micro,
    pub daily_cap: Micro,
    pub per_tx_cap: Micro,
    pub frozen: bool,
    /// The names that it may pay; `None` for all.
    pub allowlist: Option<Vec<Name>>,
    /// Sums that left the wallet in the last 24 hours, by minute, ascending.
    pub flow: Vec<Minute>,
    /// The wallet is never removed, since it held credit once, or its DID was registered when it was made.
    pub lasting: bool,
    /// The minute in which its money last moved; 0 for never.
    pub seen: u32,
    pub created: Timestamp,
    pub updated: Timestamp,
}
impl Row for Wallet {}

/// The sum that left a wallet in one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minute {
    /// Minutes since the epoch.
    pub minute: u32,
    pub sum: Micro,
    /// Time of the last payment in this minute, in microseconds since the minute began.
    pub last: u32,
}

/// The key that speaks for a DID, as its agent reported it (decision signer-key-table).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRow {
    /// Generation of the agent's keys.
    pub version: u64,
    pub key: Option<[u8; 32]>,
    /// The agent is not deactivated.
    pub active: bool,
    /// The key verified an envelope here, or a signed rotation named it. From then on no registration changes the key,
    /// only another rotation that it signs. Until then any registered key from which the DID follows may be the right
    /// one.
    pub settled: bool,
    /// The agent was told that the key signed an envelope.
    pub told: bool,
    /// A rotation without a signature froze the wallet, and no admin has frozen or unfrozen it since.
    pub froze: bool,
}

impl Row for KeyRow {
    const VERSION: u8 = 2;

    /// A row of version 1 ends before `settled`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        appended(version, 1, bytes, &[0; 3])
    }
}

impl KeyRow {
    /// The row of a key that has signed nothing here.
    pub fn of(version: u64, key: Option<[u8; 32]>, active: bool) -> KeyRow {
        KeyRow { version, key, active, settled: false, told: false, froze: false }
    }

    /// The key with which signatures of this DID verify now.
    pub fn in_force(&self) -> Option<[u8; 32]> {
        self.key.filter(|_| self.active)
    }

    /// Whether a verification under `other` still counts. `other` is of the same generation, or of a later one that the
    /// agent answered with while its report to the ledger is under way. A settled key is the same in both.
    pub fn agrees(&self, other: &KeyRow) -> bool {
        let newer = (other.version, other.active) == (self.version, self.active) || other.version > self.version;
        newer && (!self.settled || self.key == other.key)
    }

    /// Takes a later generation over from the agent's report, and keeps what the ledger knows about the key.
    pub fn with(&self, told: &KeyRow) -> KeyRow {
        match told.version > self.version {
            true => KeyRow { version: told.version, active: told.active, ..self.clone() },
            false => self.clone(),
        }
    }
}

/// A settled or refused transfer as it is shown. In the log it is an event or, in a batch, part of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// DIDs as they were signed.
    pub from: String,
    pub to: String,
    pub amount: i64,
    /// For a transfer of a batch, the `batch_id` of the batch.
    pub nonce: String,
    pub memo: Option<String>,
    /// Whether the signed envelope has any text; in a batch this may be the text of another transfer.
    pub has_text: bool,
    pub at: Timestamp,
    pub outcome: Settlement,
    /// SHA-256 of the signed bytes.
    pub hash: [u8; 32],
    #[serde(with = "engine::kv::bytes")]
    pub signature: Vec<u8>,
    /// Times as they were signed.
    pub issued_at: String,
    pub expires_at: String,
    /// The batch it is part of, and its place in it.
    pub batch: Option<(Id, u16)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Settlement {
    /// The balances after it are kept, so that the first answer can be given again.
    Settled {
        sender: Micro,
        recipient: Micro,
    },
    Failed(Reason),
}

/// State of an escrow.
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
    /// Reason for its end, in the words of whoever ended it.
    pub reason: Option<String>,
    pub open: Signed,
    /// The hire that it pays.
    pub hire: Option<Id>,
    pub opened: Timestamp,
    pub deadline: Timestamp,
    /// Length of all freezes before the escrow was opened, in microseconds. The escrow's clock stands still in a freeze
    /// (decision freeze-stops-clocks).
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

/// The change that an event made to a wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Id of the transfer, batch or escrow; for other events, the id of the event's row.
    pub id: Id,
    pub seq: u64,
    pub what: What,
    pub balance: i64,
    pub locked: i64,
    pub balance_after: Micro,
    pub locked_after: Micro,
    /// For an outflow: time of the outflow before it in the same minute, in microseconds since the minute began.
    pub before: Option<u32>,
}
impl Row for Entry {}

impl Entry {
    /// The amount that counts against caps, in micro-credits.
    pub fn outflow(&self) -> Micro {
        if self.what.is_outflow() { Micro::try_from(self.balance.saturating_neg()).unwrap_or_default() } else { 0 }
    }
}

/// A row that only names another row by its id.
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
    /// The key comes from the settings of the deployment, and ends when it is removed there.
    pub configured: bool,
}

impl Row for AdminKey {
    const VERSION: u8 = 2;

    /// A row of version 1 ends before `configured`.
    fn upgrade(version: u8, bytes: &[u8]) -> crate::Result<Self, StoreError> {
        appended(version, 1, bytes, &[0])
    }
}

/// The actions that an admin key may sign.
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

/// A list of the rows of a name, newest first.
pub type ByTime = Table<(Name, Desc<Timestamp>), Ref>;

pub const BOOK: Table<(), Book> = Table::new(16);
/// Each wallet lies right before its entries in [`INDEX`], because a payment changes both.
pub const WALLETS: Head<Name, Wallet> = Head::of(INDEX.number());
pub const KEYS: Table<(Name,), KeyRow> = Table::new(18);
/// Events by id. An event that begins a transfer, batch or escrow has the id of that; every other event has its own.
pub const EVENTS: Table<(Id,), Event> = Table::new(19);
/// The signed bytes of an event, where they are long.
pub const EVENT_PARTS: Table<(Id, u8), BytesPart> = Table::new(29);
/// Events of a wallet, newest first.
pub const INDEX: Table<(Name, Desc<Timestamp>), Entry> = Table::new(20);
pub const ESCROWS: Table<(Id,), Escrow> = Table::new(22);
pub const ESCROWS_TO: ByTime = Table::new(23);
/// Used nonces of envelopes that left no row of their own. Each is kept until its envelope can no longer be sent.
pub const BURNT: Table<(Id,), Timestamp> = Table::new(24);
pub const BURNT_UNTIL: Table<(Timestamp, Id), ()> = Table::new(25);
/// Deadlines of escrows and receipts, in the time of [`super::book::Books::clock`].
pub const DUE: Table<(Timestamp, Id), ()> = Table::new(26);
/// Escrows that could not end because their sender's wallet is frozen, by sender. They stay here until the freeze ends.
pub const HELD: Table<(Name, Id), ()> = Table::new(85);
pub const FAUCET: Table<(Name,), Grant> = Table::new(27);
pub const FAUCET_BY_ADDRESS: Table<([u8; 16], Timestamp), ()> = Table::new(28);
/// The times from which rows of [`FAUCET_BY_ADDRESS`] no longer count.
pub const FAUCET_UNTIL: Table<(Timestamp, [u8; 16]), ()> = Table::new(34);
pub const ADMIN_KEYS: Table<(String,), AdminKey> = Table::new(30);
/// Wallets that are removed at this time if they never held anything (decision registered-recipients).
pub const IDLE: Table<(Timestamp, Name), ()> = Table::new(31);
pub const MINUTES: Table<(u32,), Counts> = Table::new(32);
/// Number of refused transfers and batches, by the number of the day and by name (decision ledger-room).
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
