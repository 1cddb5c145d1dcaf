//! The deployment's own identity: made at first start, checked at every later one.

use serde::{Deserialize, Serialize};

use crate::actor::{ActorId, Entry, Kind, Operation, Query, Turn, View, operation, query};
use crate::kv::{Direction, Row, Table};
use crate::{Error, Result, Timestamp};

/// What a deployment is, for its whole life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// 22 random characters; names this deployment in signed text.
    pub id: String,
    pub brand: String,
    /// Proves that a later start holds the same master key, without revealing it.
    pub key_check: [u8; 32],
    pub created: Timestamp,
}
impl Row for Identity {}

/// A listed API key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedKey {
    pub account: String,
    pub tier: String,
    pub label: String,
    pub created: Timestamp,
    pub revoked: bool,
}
impl Row for ListedKey {}

const IDENTITY: Table<(), Identity> = Table::new(16);
const KEYS: Table<(String,), ListedKey> = Table::new(17);

/// There once every text that is sealed now was looked at ([`SetTextsSealed`]).
const TEXTS_SEALED: Table<(), ()> = Table::new(150);

pub const ENTRIES: &[Entry] = &[
    operation::<SetTextsSealed>(),
    query::<TextsSealed>(),
    operation::<Start>(),
    operation::<ListKey>(),
    query::<WhoAmI>(),
    query::<Keys>(),
];

/// The name of the one deployment actor.
pub fn actor() -> ActorId {
    ActorId::sole(Kind::Deployment)
}

/// Makes the identity at first start; afterwards refuses a start that contradicts it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Start {
    pub brand: String,
    /// Check values of the master keys at hand, current first ([`crate::secrets::Secrets::key_checks`]).
    pub key_checks: Vec<[u8; 32]>,
}

impl Operation for Start {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "start";
    type Reply = Identity;

    fn run(self, turn: &mut Turn<'_>) -> Result<Identity> {
        let current = *self.key_checks.first().ok_or_else(|| Error::internal("a start without a master key"))?;
        if let Some(mut identity) = IDENTITY.get(turn, &())? {
            if identity.brand != self.brand {
                return Err(Error::conflict(format!(
                    "this deployment was started with brand {:?}; its DIDs carry that word, so it cannot become {:?}",
                    identity.brand, self.brand
                )));
            }
            if !self.key_checks.contains(&identity.key_check) {
                return Err(Error::conflict(
                    "the master key does not belong to this data; restore the key file that was kept with it",
                ));
            }
            if identity.key_check != current {
                identity.key_check = current;
                IDENTITY.put(turn, &(), &identity)?;
            }
            turn.program.started(turn)?;
            return Ok(identity);
        }
        const ALPHABET: &[u8; 32] = b"abcdefghijkmnopqrstuvwxyz0123456";
        let bytes: [u8; 22] = turn.random();
        let id = bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte % 32))).map(|c| *c as char).collect();
        let identity = Identity { id, brand: self.brand, key_check: current, created: turn.now };
        IDENTITY.put(turn, &(), &identity)?;
        turn.program.started(turn)?;
        Ok(identity)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WhoAmI;

impl Query for WhoAmI {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "who_am_i";
    type Reply = Option<Identity>;

    fn run(self, view: &View<'_>) -> Result<Option<Identity>> {
        Ok(IDENTITY.get(view, &())?)
    }
}

/// Enters or updates a key in the operator's list; sent by account actors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ListKey(pub ListedKey);

impl Operation for ListKey {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "list_key";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        Ok(KEYS.put(turn, &(self.0.account.clone(),), &self.0)?)
    }
}

/// Whether nothing is left from before texts were sealed at rest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TextsSealed;

impl Query for TextsSealed {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "texts_sealed";
    type Reply = bool;

    fn run(self, view: &View<'_>) -> Result<bool> {
        Ok(TEXTS_SEALED.contains(view, &())?)
    }
}

/// Everything was gone through: no text is left as it was written.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetTextsSealed;

impl Operation for SetTextsSealed {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "set_texts_sealed";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        Ok(TEXTS_SEALED.put(turn, &(), &())?)
    }
}

/// All keys, after an account name for paging.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Keys {
    pub after: Option<String>,
    pub limit: u32,
}

impl Query for Keys {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "keys";
    type Reply = Vec<ListedKey>;

    fn run(self, view: &View<'_>) -> Result<Vec<ListedKey>> {
        let mut range = KEYS.range();
        if let Some(after) = self.after {
            range.start = KEYS.prefix(&(after,)).end.unwrap_or_default();
        }
        let rows = KEYS.scan(view, &range, Direction::Ascending, self.limit as usize)?;
        Ok(rows.into_iter().map(|(_, key)| key).collect())
    }
}
