//! The account actor: one for each API key.

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::Tier;
use crate::above::Subscriptions;
use crate::{Error, Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::deployment::{ListKey, ListedKey};
use engine::kv::{Read, Row, Table};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Account {
    secret_hash: [u8; 32],
    tier: Tier,
    /// Sealed for [`super::LABEL_PURPOSE`]; empty when the holder wrote nothing. A label from before labels were sealed
    /// is plain.
    label: String,
    created: Timestamp,
    revoked: Option<Timestamp>,
}
impl Row for Account {}

const ACCOUNT: Table<(), Account> = Table::new(16);

pub const ENTRIES: &[Entry] = &[operation::<CreateAccount>(), operation::<RevokeAccount>(), query::<Admit>()];

/// Stores a new key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CreateAccount {
    pub secret_hash: [u8; 32],
    pub tier: Tier,
    /// The holder's text about themselves, for the operator's list; sealed.
    pub label: String,
}

impl Operation for CreateAccount {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "create";
    type Reply = Timestamp;

    fn run(self, turn: &mut Turn<'_>) -> Result<Timestamp> {
        if ACCOUNT.contains(turn, &())? {
            return Err(Error::conflict("This account exists already."));
        }
        let account = Account {
            secret_hash: self.secret_hash,
            tier: self.tier,
            label: self.label,
            created: turn.now,
            revoked: None,
        };
        ACCOUNT.put(turn, &(), &account)?;
        list(turn, &account)?;
        Ok(turn.now)
    }
}

/// Ends a key at once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RevokeAccount;

impl Operation for RevokeAccount {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "revoke";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut account = ACCOUNT.get(turn, &())?.ok_or_else(|| Error::not_found("There is no such key."))?;
        if account.revoked.is_none() {
            account.revoked = Some(turn.now);
            ACCOUNT.put(turn, &(), &account)?;
            list(turn, &account)?;
            (Subscriptions::of(turn.program).account_ended)(turn)?;
        }
        Ok(())
    }
}

/// Whether the key of this actor was revoked, or never existed.
pub fn is_revoked(view: &(impl Read + ?Sized)) -> Result<bool> {
    Ok(ACCOUNT.get(view, &())?.is_none_or(|account| account.revoked.is_some()))
}

/// The holder's text about themselves, as it is stored.
pub fn label(view: &(impl Read + ?Sized)) -> Result<Option<String>> {
    Ok(ACCOUNT.get(view, &())?.map(|account| account.label))
}

/// Replaces a label if it is still `old`, here and in the operator's list; true when it was.
pub fn reseal_label(turn: &mut Turn<'_>, old: &str, new: String) -> Result<bool> {
    match ACCOUNT.get(turn, &())?.filter(|account| account.label == old) {
        Some(account) => {
            let account = Account { label: new, ..account };
            ACCOUNT.put(turn, &(), &account)?;
            list(turn, &account)?;
            Ok(true)
        }
        None => Ok(false),
    }
}

fn list(turn: &mut Turn<'_>, account: &Account) -> Result<()> {
    let listed = ListedKey {
        account: turn.actor().name.clone(),
        tier: account.tier.as_str().to_owned(),
        label: account.label.clone(),
        created: account.created,
        revoked: account.revoked.is_some(),
    };
    turn.send(engine::deployment::actor().name, &ListKey(listed))
}

/// Returns the tier of a key, if its secret is right and it is not revoked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Admit {
    pub secret_hash: [u8; 32],
}

impl Query for Admit {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "admit";
    type Reply = Option<Tier>;

    fn run(self, view: &View<'_>) -> Result<Option<Tier>> {
        let Some(account) = ACCOUNT.get(view, &())? else { return Ok(None) };
        let right = bool::from(account.secret_hash.ct_eq(&self.secret_hash));
        Ok((right && account.revoked.is_none()).then_some(account.tier))
    }
}
