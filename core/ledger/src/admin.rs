//! Actions that operators sign: grants, freezes, caps and forced ends of escrows; and the keys that sign them
//! (decisions freeze-stops-clocks, money-supply-bound and operator-keys).

use serde::{Deserialize, Serialize};

use super::book::{self, Books, MAX_AMOUNT, key, name_of};
use super::envelope::{Fields, MAX_NONCE, MAX_TEXT, SKEW, time};
use super::escrow;
use super::json::{self, Json};
use super::log::{Note, What};
use super::reason::{Reason, Ruled, ensure};
use super::rows::{ADMIN_KEYS, AdminKey, KEYS, KeyRow, Micro, Name, Role, Signed, Space, id, parse_id};
use super::sweep;
use crate::{Error, Result, Timestamp};
use crypto::encoding::{encode_base64, encode_hex};
use crypto::hash::sha256;
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::Direction;
use engine::settings::{MAX_ADMIN_KEYS, Settings};
use engine::time::MINUTE;

/// Longest validity of an action, in microseconds.
pub const MAX_WINDOW: i64 = 10 * MINUTE;
/// Most recipients of an allowlist.
pub const MAX_ALLOWED: usize = 100;
/// Most admin keys, revoked ones too.
const MAX_KEYS: usize = MAX_ADMIN_KEYS;

/// The content of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    Grant { name: Name, amount: Micro },
    Freeze { name: Name, frozen: bool },
    Cap { name: Name, daily: Option<Micro>, per_tx: Option<Micro>, allowlist: Option<Option<Vec<Name>>> },
    FreezeAll { frozen: bool, faucet_disabled: Option<bool> },
    Escrow { id: super::rows::Id, release: bool },
}

/// A signed action that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The word of the action, which must be that of the route.
    pub action: String,
    pub audience: String,
    pub nonce: String,
    pub issued: Timestamp,
    pub until: Timestamp,
    pub reason: Option<String>,
    pub wish: Wish,
}

/// A time as ISO text or as whole Unix milliseconds.
fn text_or_millis(fields: &mut Fields, name: &'static str) -> Option<Timestamp> {
    match fields.peek(name) {
        Some(Json::Integer(_)) => fields.integer(name).map(Timestamp::from_millis),
        _ => time(&fields.text(name, 1, 40)?),
    }
}

impl Action {
    /// Reads the canonical bytes of an action of this brand.
    pub fn read(brand: &str, canonical: &[u8]) -> Option<Action> {
        let Json::Object(members) = json::parse(canonical, json::MAX_DEPTH)? else { return None };
        let mut fields = Fields::new(members);
        if fields.text("schema", 1, 64)? != format!("{brand}-pay-admin-action/v1") {
            return None;
        }
        let action = fields.text("action", 1, 32)?;
        let until = text_or_millis(&mut fields, "valid_until_ts")?;
        let read = Action {
            audience: fields.text("audience", 1, MAX_NONCE)?,
            nonce: fields.text("action_nonce", 1, MAX_NONCE)?,
            issued: text_or_millis(&mut fields, "issued_at")?,
            until,
            reason: fields.maybe("reason", MAX_TEXT)?,
            wish: fields.wish(brand, &action)?,
            action,
        };
        fields.is_over().then_some(read)
    }

    /// The role that may do it, besides `all`.
    fn role(&self) -> Role {
        match self.wish {
            Wish::Grant { .. } => Role::Grant,
            Wish::Cap { .. } => Role::Cap,
            Wish::Freeze { .. } | Wish::FreezeAll { .. } | Wish::Escrow { .. } => Role::Freeze,
        }
    }
}

impl Fields {
    fn name(&mut self, brand: &str) -> Option<Name> {
        let did = self.did("did")?;
        name_of(brand, &did).map(str::to_owned)
    }

    fn wish(&mut self, brand: &str, action: &str) -> Option<Wish> {
        Some(match action {
            "grant" => {
                let amount = Micro::try_from(self.integer("amount_micro")?).ok()?;
                Wish::Grant {
                    name: self.name(brand)?,
                    amount: Some(amount).filter(|amount| (1..=MAX_AMOUNT).contains(amount))?,
                }
            }
            "freeze" => Wish::Freeze { name: self.name(brand)?, frozen: self.flag("frozen")? },
            "cap" => {
                let (daily, per_tx) = (self.cap("daily_cap_micro")?, self.cap("per_tx_cap_micro")?);
                let (name, allowlist) = (self.name(brand)?, self.allowlist(brand)?);
                // A null is in no signed text, so a cap with only nulls says nothing. Its sender must not believe that
                // it was done.
                (daily.is_some() || per_tx.is_some() || allowlist.is_some()).then_some(())?;
                Wish::Cap { name, daily, per_tx, allowlist }
            }
            "freeze_all" => {
                let faucet = self.has("faucet_disabled");
                Wish::FreezeAll {
                    frozen: self.flag("frozen")?,
                    faucet_disabled: if faucet { Some(self.flag("faucet_disabled")?) } else { None },
                }
            }
            "escrow_release" | "escrow_refund" => Wish::Escrow {
                id: parse_id(&self.text("escrow_id", 1, MAX_NONCE)?)?,
                release: action == "escrow_release",
            },
            _ => return None,
        })
    }

    #[allow(clippy::option_option)]
    fn cap(&mut self, name: &'static str) -> Option<Option<Micro>> {
        match self.has(name) {
            true => {
                let cap = Micro::try_from(self.integer(name)?).ok()?;
                (cap <= MAX_AMOUNT).then_some(Some(cap))
            }
            false => Some(None),
        }
    }

    /// A list of DIDs. The word `none` lifts the restriction, since a null is in no signed text.
    #[allow(clippy::option_option)]
    fn allowlist(&mut self, brand: &str) -> Option<Option<Option<Vec<Name>>>> {
        match self.take("allowlist") {
            None => Some(None),
            Some(Json::Text(word)) if word == "none" => Some(Some(None)),
            Some(Json::List(items)) if items.len() <= MAX_ALLOWED => {
                let name = |item: Json| match item {
                    Json::Text(did) => name_of(brand, &did).map(str::to_owned),
                    _ => None,
                };
                Some(Some(Some(items.into_iter().map(name).collect::<Option<_>>()?)))
            }
            Some(_) => None,
        }
    }
}

/// What ids of admin keys look like.
pub const KEYID_PATTERN: &str = "^[0-9a-f]{16}$";

/// The id of an admin key: the first 16 hexadecimal digits of its SHA-256.
pub fn keyid(key: &[u8; 32]) -> String {
    let mut id = encode_hex(&sha256(key));
    id.truncate(16);
    id
}

/// Reads the active key of an id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindKey {
    pub keyid: String,
}

impl Query for FindKey {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "admin_key";
    type Reply = Option<[u8; 32]>;

    fn run(self, view: &View<'_>) -> Result<Option<[u8; 32]>> {
        Ok(ADMIN_KEYS.get(view, &(self.keyid,))?.filter(|key| key.active).map(|key| key.key))
    }
}

/// Reads all admin keys, revoked ones too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadKeys;

impl Query for ReadKeys {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "admin_keys";
    type Reply = Vec<(String, AdminKey)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let rows = ADMIN_KEYS.scan(view, &ADMIN_KEYS.range(), Direction::Ascending, MAX_KEYS)?;
        Ok(rows.into_iter().map(|((keyid,), key)| (keyid, key)).collect())
    }
}

/// Adds an admin key, or ends one; only the operator's own routes do this (decision operator-keys).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetAdminKey {
    pub key: [u8; 32],
    pub role: Role,
    pub active: bool,
}

/// Writes the new state of a key. Each change is an event.
fn put_key(books: &mut Books<'_>, key: [u8; 32], role: Role, active: bool, configured: bool) -> Result<()> {
    let (keyid, since) = (keyid(&key), books.stamp());
    ADMIN_KEYS.put(books.space, &(keyid.clone(),), &AdminKey { key, role, active, since, configured })?;
    let detail = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let details = vec![
        detail("keyid", &keyid),
        detail("public_key", &encode_base64(&key)),
        detail("role", role.as_str()),
        detail("active", if active { "true" } else { "false" }),
    ];
    books.log(since, What::AdminKey, "operator", Note { details, ..Note::default() }).map(|_| ())
}

fn all_keys(books: &Books<'_>) -> Result<Vec<AdminKey>> {
    let rows = ADMIN_KEYS.scan(books.space, &ADMIN_KEYS.range(), Direction::Ascending, MAX_KEYS)?;
    Ok(rows.into_iter().map(|(_, key)| key).collect())
}

/// Reads keys with their roles from the setting `ledger_admin_keys`; `None` if the text has another form.
pub fn configured(settings: &Settings) -> Option<Vec<([u8; 32], Role)>> {
    settings.admin_keys()?.into_iter().map(|(key, role)| Some((key, Role::parse(role)?))).collect()
}

/// Makes the keys of the settings active, beside keys that were added otherwise. A key that was revoked stays revoked,
/// until [`SetAdminKey`] adds it again, or the settings drop it and name it again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SyncAdminKeys {
    pub keys: Vec<([u8; 32], Role)>,
}

impl Operation for SyncAdminKeys {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "sync_admin_keys";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut books = Books::of(turn)?;
        let known = all_keys(&books)?;
        for gone in known.iter().filter(|key| key.configured && self.keys.iter().all(|(kept, _)| *kept != key.key)) {
            match gone.active {
                true => put_key(&mut books, gone.key, gone.role, false, false)?,
                // The key was revoked before. Now the settings may name it again.
                false => {
                    let row = AdminKey { configured: false, ..gone.clone() };
                    ADMIN_KEYS.put(books.space, &(keyid(&gone.key),), &row)?;
                }
            }
        }
        for (key, role) in self.keys {
            let same = |known: &AdminKey| known.role == role && known.active && known.configured;
            // A revoked key stays revoked, even if the settings still name it.
            let revoked = |known: &AdminKey| known.configured && !known.active;
            if !known.iter().any(|known| known.key == key && (same(known) || revoked(known))) {
                put_key(&mut books, key, role, true, true)?;
            }
        }
        books.close().map(|_| ())
    }
}

impl Operation for SetAdminKey {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "set_admin_key";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut books = Books::of(turn)?;
        let keys = all_keys(&books)?;
        let known = keys.iter().find(|key| key.key == self.key);
        match known {
            None if !self.active => return Err(Error::not_found("There is no admin key with this public key.")),
            None if keys.len() == MAX_KEYS => {
                return Err(Error::conflict(
                    "No admin key can be added: there are 100 already, revoked ones included.",
                ));
            }
            _ => {}
        }
        put_key(&mut books, self.key, self.role, self.active, known.is_some_and(|known| known.configured))?;
        books.close().map(|_| ())
    }
}

/// An action whose signature was verified under an admin key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Direct {
    pub keyid: String,
    pub signed: Signed,
}

/// The outcome of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Directed {
    Refused(Reason),
    Wallet { name: Name, wallet: Box<super::rows::Wallet>, spent: Micro, at: Timestamp },
    System { frozen: bool, faucet_disabled: bool, at: Timestamp },
    Escrow(Box<escrow::Stand>),
}

impl Operation for Direct {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "direct";
    type Reply = Directed;

    fn run(self, turn: &mut Turn<'_>) -> Result<Directed> {
        let settings = turn.settings;
        let action =
            Action::read(&settings.brand, &self.signed.canonical).ok_or_else(|| Error::internal("no action"))?;
        let mut books = Books::of(turn)?;
        // A freeze does not hold what was due before it.
        sweep::catch_up(&mut books)?;
        let directed = match direct(&mut books, &self, &action) {
            Ok(directed) => directed,
            Err(refusal) => Directed::Refused(refusal.reason()?),
        };
        let due = books.close()?.due(turn)?;
        sweep::plan(turn, due)?;
        Ok(directed)
    }
}

fn direct(books: &mut Books<'_>, by: &Direct, action: &Action) -> Ruled<Directed> {
    let key = ADMIN_KEYS.get(books.space, &(by.keyid.clone(),))?.filter(|key| key.active && key.key == by.signed.key);
    let key = key.ok_or(Reason::AdminKeyNotFound)?;
    ensure(books.now <= action.until && action.until > action.issued, Reason::AdminExpired)?;
    let ahead = action.until.since(books.now) <= MAX_WINDOW + SKEW;
    ensure(ahead && action.until.since(action.issued) <= MAX_WINDOW, Reason::AdminWindowTooLong)?;
    ensure(key.role == Role::All || key.role == action.role(), Reason::AdminRoleNotAuthorized)?;
    let nonce = id(Space::Admin, &by.keyid, &action.nonce);
    ensure(!books.is_burnt(&nonce)?, Reason::AdminNonceSeen)?;
    let directed = act(books, by, action)?;
    books.burn(&nonce, action.until.plus(SKEW))?;
    Ok(directed)
}

/// Carries out an action, and writes its event.
fn act(books: &mut Books<'_>, by: &Direct, action: &Action) -> Ruled<Directed> {
    let at = books.stamp();
    let what = match &action.wish {
        Wish::Grant { name, amount } => {
            books.grant(name, at, *amount)?;
            What::Grant
        }
        Wish::Freeze { name, frozen } => {
            ensure(books.wallet(name)?.is_some(), Reason::WalletNotFound)?;
            books.rule(name, at, |wallet| wallet.frozen = *frozen)?;
            // From now on the freeze is the admin's decision.
            if let Some(row) = KEYS.get(books.space, &key(name))?.filter(|row| row.froze) {
                KEYS.put(books.space, &key(name), &KeyRow { froze: false, ..row })?;
            }
            What::Freeze
        }
        Wish::Cap { name, daily, per_tx, allowlist } => {
            ensure(books.wallet(name)?.is_some(), Reason::WalletNotFound)?;
            books.rule(name, at, |wallet| {
                wallet.daily_cap = daily.unwrap_or(wallet.daily_cap);
                wallet.per_tx_cap = per_tx.unwrap_or(wallet.per_tx_cap);
                if let Some(allowlist) = allowlist {
                    wallet.allowlist = allowlist.clone();
                }
            })?;
            What::Cap
        }
        Wish::FreezeAll { frozen, faucet_disabled } => {
            books.book.frozen_for = book::frozen_for(&books.book, books.now);
            books.book.frozen_since = frozen.then_some(books.now);
            books.book.faucet_disabled = faucet_disabled.unwrap_or(books.book.faucet_disabled);
            What::FreezeAll
        }
        Wish::Escrow { id, release } => {
            let stand = escrow::force(books, id, &by.keyid, *release, action.reason.clone(), &by.signed)?;
            // The end of the escrow is already an event.
            return Ok(Directed::Escrow(Box::new(stand)));
        }
    };
    books.log(at, what, &format!("admin:{}", by.keyid), Note::signed(&by.signed))?;
    if let Wish::Freeze { name, frozen: false } = &action.wish {
        // Escrows that waited for the end of the freeze end with it (decisions due-before-anything and
        // freeze-stops-clocks).
        escrow::thaw(books, name, sweep::ESCROWS_AT_ONCE)?;
        sweep::catch_up(books)?;
    }
    match &action.wish {
        Wish::Grant { name, .. } | Wish::Freeze { name, .. } | Wish::Cap { name, .. } => {
            let wallet = books.wallet(name)?.ok_or(Reason::WalletNotFound)?;
            let spent = books.spent(name, &wallet)?;
            Ok(Directed::Wallet { name: name.clone(), wallet: Box::new(wallet), spent, at })
        }
        Wish::FreezeAll { .. } | Wish::Escrow { .. } => {
            let faucet_disabled = books.book.faucet_disabled;
            Ok(Directed::System { frozen: books.is_frozen(), faucet_disabled, at })
        }
    }
}
