//! The deployment's own identity: made at first start, checked at every later one.

use serde::{Deserialize, Serialize};

use crate::crypto::hash::sha256;
use crate::engine::actor::{ActorId, Entry, Kind, Operation, Query, Turn, View, operation, query};
use crate::engine::kv::{Direction, Row, Table};
use crate::engine::settings::Settings;
use crate::engine::time::SECOND;
use crate::ledger::{provider, start};
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

/// What the ledger was made ready for last ([`start::run`]).
const READY: Table<(), Ready> = Table::new(19);

/// There once every text that is sealed now was looked at ([`SetTextsSealed`]).
const TEXTS_SEALED: Table<(), ()> = Table::new(150);

pub const ENTRIES: &[Entry] = &[
    operation::<SetTextsSealed>(),
    query::<TextsSealed>(),
    operation::<Start>(),
    operation::<ListKey>(),
    operation::<AskLedger>(),
    operation::<SetReady>(),
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
    /// Check values of the master keys at hand, current first ([`crate::engine::secrets::Secrets::key_checks`]).
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
            ask_ledger(turn)?;
            return Ok(identity);
        }
        const ALPHABET: &[u8; 32] = b"abcdefghijkmnopqrstuvwxyz0123456";
        let bytes: [u8; 22] = turn.random();
        let id = bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte % 32))).map(|c| *c as char).collect();
        let identity = Identity { id, brand: self.brand, key_check: current, created: turn.now };
        IDENTITY.put(turn, &(), &identity)?;
        ask_ledger(turn)?;
        Ok(identity)
    }
}

/// What settings ask of the ledger before it can serve.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The revision of the deployment's own services; 0 for none.
    pub services: u32,
    /// SHA-256 of the configured admin keys; zeros for none.
    pub keys: [u8; 32],
}
impl Row for Ready {}

impl Ready {
    /// What these settings ask for.
    pub fn wanted(settings: &Settings) -> Ready {
        let keys = settings.ledger_admin_keys.trim();
        Ready {
            services: if settings.first_party_services { provider::REVISION } else { 0 },
            keys: if keys.is_empty() { [0; 32] } else { sha256(keys.as_bytes()) },
        }
    }
}

/// How long one wish for the ledger stands before another is made, in microseconds.
const PATIENCE: i64 = 10 * SECOND;

/// Has the ledger made ready, where it was not for these settings. A wish may get lost, so a timer asks again;
/// meanwhile other starts, as each isolate of a Worker makes one, ask for nothing.
fn ask_ledger(turn: &mut Turn<'_>) -> Result<()> {
    if READY.get(turn, &())?.unwrap_or_default() == Ready::wanted(turn.settings) {
        return turn.cancel(start::WISH);
    }
    if turn.scheduled(start::WISH)?.is_some() {
        return Ok(());
    }
    turn.reach_out(start::WISH.to_owned());
    turn.schedule(start::WISH, turn.now.plus(PATIENCE), &AskLedger)
}

/// Asks again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AskLedger;

impl Operation for AskLedger {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "ask_ledger";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        ask_ledger(turn)
    }
}

/// The ledger was made ready for this.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetReady(pub Ready);

impl Operation for SetReady {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "set_ready";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        READY.put(turn, &(), &self.0)?;
        turn.cancel(start::WISH)
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::ErrorCode;
    use crate::app::testing::TestRuntime;
    use crate::engine::runtime::{self, Runtime};

    /// Decision brand-fixed: the word is inside of DIDs and signed bytes.
    #[test]
    fn the_brand_is_written_at_the_first_start_and_no_later_start_has_another() {
        let rt = TestRuntime::start(&[("brand", "acme2")]);
        let start = |brand: &str| {
            let start = Start { brand: brand.to_owned(), key_checks: rt.environment().secrets.key_checks() };
            runtime::call(&*rt, actor().name, &start).now_or_never().expect("nothing waits in tests")
        };
        assert_eq!(start("acme2").unwrap().brand, "acme2");
        assert_eq!(start("svc").unwrap_err().code, ErrorCode::Conflict);
        assert_eq!(start("acme2").unwrap().brand, "acme2");
        let mut settings = Settings::default();
        for bad in ["a", "2acme", "Acme", "ac-me", "acmeacmeacmeacme2", ""] {
            assert!(settings.set("brand", bad).is_err(), "{bad}");
        }
    }

    /// The wish for the ledger is there as long as it was not made ready for these settings.
    #[test]
    fn a_start_asks_for_what_settings_want_of_the_ledger_until_it_is_there() {
        let rt = TestRuntime::start(&[("first_party_services", "true")]);
        let ready = || {
            let rows = rt.rows(&actor());
            rows.iter().any(|(key, _)| key.starts_with(&READY.range().start))
        };
        assert!(!ready());
        rt.lose_outgoing();
        // A wish that was lost comes again by timer.
        rt.advance(std::time::Duration::from_secs(11));
        rt.reach_out().now_or_never().expect("nothing waits in tests");
        assert!(ready());
        rt.advance(std::time::Duration::from_secs(600));
        assert_eq!(rt.lose_outgoing(), 0);
    }
}
