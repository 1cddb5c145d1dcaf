//! Which key speaks for a DID: agents report their keys to the ledger (decisions money-key-settled, signer-key-table
//! and deactivated-wallets).
//!
//! An agent reports every rotation and its own end, in order and before it answers. A signer that never reported
//! anything gets a row with its first verified envelope. A rotation counts as signed if the key before it signed it. A
//! rotation without a signature changes no key here, so an API key alone cannot spend. It freezes the wallet, until an
//! admin unfreezes it or the holder of the key proves the registration.
//!
//! Anybody can register the public key of somebody else, or a key that was made up to give the DID of somebody else. So
//! a key is settled only by an act of its holder: an envelope that verifies, or a signed rotation. Until then each
//! registered key from which the DID follows is tried. Nothing that a registration does, or that is done to it, changes
//! a settled key.

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::book::{Books, did_of, key};
use super::log::{Note, What};
use super::reason::Reason;
use super::rows::{KEYS, KeyRow, Micro, Name, WALLETS, Wallet};
use super::{room, sweep};
use crate::{Result, Timestamp};
use crypto::encoding::{did_bytes, parse_did};
use crypto::signing::PublicKey;
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::generations::Generations;
use engine::runtime::Environment;

/// Remembered rows and keys of signers, so that a signature can be verified without asking the ledger first.
#[derive(Debug)]
pub struct Signers {
    /// Rows as they were read last. A row may be older than the ledger's; an envelope that was verified under such a
    /// row must be verified again.
    rows: Mutex<Generations<Name, KeyRow>>,
    keys: Mutex<Generations<[u8; 32], PublicKey>>,
}

impl Signers {
    /// The one of this process.
    pub fn of(environment: &Environment) -> Arc<Signers> {
        environment.shared()
    }

    pub fn get(&self, name: &Name) -> Option<KeyRow> {
        locked(&self.rows).get(name)
    }

    pub fn put(&self, name: &Name, row: &KeyRow) {
        keep(&self.rows, name.clone(), row.clone());
    }

    /// The key of these bytes; `None` if they are no key.
    pub fn key(&self, bytes: &[u8; 32]) -> Option<PublicKey> {
        let known = locked(&self.keys).get(bytes);
        known.or_else(|| {
            let key = PublicKey::of(bytes)?;
            keep(&self.keys, *bytes, key.clone());
            Some(key)
        })
    }
}

/// Most bytes of each of the two, as [`keep`] counts them: some 40,000 entries.
const MAX_BYTES: usize = 8 << 20;

impl Default for Signers {
    fn default() -> Self {
        Signers {
            rows: Mutex::new(Generations::of_bytes(MAX_BYTES)),
            keys: Mutex::new(Generations::of_bytes(MAX_BYTES)),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep<K: Hash + Eq, V: Clone>(all: &Mutex<Generations<K, V>>, key: K, value: V) {
    // With the room that a table takes for an entry.
    locked(all).keep(key, value, 2 * size_of::<(K, V)>());
}

/// The keys of an agent changed, or it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetKey {
    pub name: Name,
    /// The generation after the change; one that is older than the known generation changes nothing.
    pub version: u64,
    /// The registered key, or the last one that a signed rotation named.
    pub proved: [u8; 32],
    /// The agent's present key is `proved`, or the agent has ended and rotates no more.
    pub current: bool,
    pub active: bool,
    /// A message that an earlier version left in the outbox ends before this member.
    #[serde(deserialize_with = "engine::kv::bytes::last_or_default")]
    pub how: How,
}

/// How an agent came to the keys that it reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct How {
    /// The key that signed the rotation, if one did.
    pub signer: Option<[u8; 32]>,
    /// The registration has signed nothing here, so nothing that it does freezes the wallet.
    pub silent: bool,
    /// The holder of the signing key signed these keys for this deployment.
    pub proved: bool,
}

impl SetKey {
    /// The row of the key after this change.
    fn row(&self, brand: &str, known: Option<&KeyRow>) -> KeyRow {
        let settled = known.filter(|row| row.settled).and_then(|row| row.key);
        let key = match settled {
            Some(settled) if self.how.signer != Some(settled) => settled,
            _ => self.proved,
        };
        KeyRow {
            version: self.version,
            key: Some(key),
            active: self.active,
            // A key from which the DID does not follow was named by a signed rotation.
            settled: settled.is_some() || self.how.signer.is_some() || !gives(brand, &self.name, &key),
            told: known.is_some_and(|row| row.told) && !self.how.silent,
            froze: known.is_some_and(|row| row.froze),
        }
    }
}

/// Whether the DID of this name follows from a key.
fn gives(brand: &str, name: &str, key: &[u8; 32]) -> bool {
    parse_did(brand, &did_of(brand, name)).is_ok_and(|did| did == did_bytes(key))
}

impl Operation for SetKey {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "set_key";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let brand = &turn.settings.brand;
        let mut books = Books::of(turn)?;
        let known = KEYS.get(books.space, &key(&self.name))?;
        // An agent's end does not raise its version, and nothing comes after it in the same generation.
        if known.as_ref().is_some_and(|row| row.version > self.version || (row.version == self.version && !row.active))
        {
            return Ok(());
        }
        // A freeze does not hold what was due before it.
        sweep::catch_up(&mut books)?;
        let frozen = books.wallet(&self.name)?.map(|wallet| wallet.frozen);
        let mut row = self.row(brand, known.as_ref());
        // The ledger's message that the key signed here may still be on its way to the agent.
        let silent = self.how.silent && !known.as_ref().is_some_and(|row| row.told);
        let freeze = match frozen {
            Some(false) if !self.current && self.active && !silent => Some(true),
            Some(true) if row.froze && self.how.proved => Some(false),
            _ => None,
        };
        row.froze = freeze.unwrap_or(row.froze);
        KEYS.put(books.space, &key(&self.name), &row)?;
        // An agent that cannot sign cannot deliver either (decisions hireable-offers and deactivated-wallets).
        if row.in_force().is_none() {
            super::listing::pause_all(&mut books, &self.name)?;
        }
        if let Some(freeze) = freeze {
            let at = books.stamp();
            books.rule(&self.name, at, |wallet| wallet.frozen = freeze)?;
            let by = if freeze { "system:unproved_rotation" } else { "system:proved_keys" };
            books.log(at, What::Freeze, by, Note::default())?;
        }
        let due = books.close()?.due(turn)?;
        sweep::plan(turn, due)
    }
}

/// Reads what the ledger knows about an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Standing {
    pub name: Name,
}

/// The answer to [`Standing`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stands {
    pub key: Option<KeyRow>,
    /// Balance of the wallet and whether it is frozen, if there is one.
    pub wallet: Option<(Micro, bool)>,
}

impl Query for Standing {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "standing";
    type Reply = Stands;

    fn run(self, view: &View<'_>) -> Result<Stands> {
        let wallet = WALLETS.get(view, &key(&self.name))?;
        Ok(Stands {
            key: KEYS.get(view, &key(&self.name))?,
            wallet: wallet.map(|wallet| (wallet.balance, wallet.frozen)),
        })
    }
}

/// Makes a wallet if there is room for more. An existing wallet stays as it is, but becomes lasting if its agent is
/// registered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OpenWallet {
    pub name: Name,
    /// The agent is registered, so the wallet stays even if it never holds anything.
    pub registered: bool,
}

/// The answer to [`OpenWallet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpenedWallet {
    Now,
    Before,
    Refused(Reason),
}

impl Operation for OpenWallet {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "open_wallet";
    type Reply = OpenedWallet;

    fn run(self, turn: &mut Turn<'_>) -> Result<OpenedWallet> {
        let allowed = turn.settings.ledger_storage_bytes;
        let mut books = Books::of(turn)?;
        if let Some(wallet) = books.wallet(&self.name)? {
            if self.registered && !wallet.lasting {
                books.put(&self.name, &Wallet { lasting: true, ..wallet })?;
            }
            return Ok(OpenedWallet::Before);
        }
        sweep::catch_up(&mut books)?;
        if let Err(refusal) = room::for_more(books.space, allowed) {
            return Ok(OpenedWallet::Refused(refusal.reason()?));
        }
        let at = books.stamp();
        books.ensure(&self.name, at, self.registered)?;
        books.log(at, What::Wallet, "system:create", Note::default())?;
        let due = books.close()?.due(turn)?;
        sweep::plan(turn, due)?;
        Ok(OpenedWallet::Now)
    }
}

/// Reads a wallet as it is now, with its outflow in 24 hours.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadWallet {
    pub name: Name,
}

/// The answer to [`ReadWallet`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalletView {
    pub wallet: super::rows::Wallet,
    pub spent: Micro,
    pub at: Timestamp,
}

impl Query for ReadWallet {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "wallet";
    type Reply = Option<WalletView>;

    fn run(self, view: &View<'_>) -> Result<Option<WalletView>> {
        sweep::as_of_now(view, |books| {
            let Some(wallet) = books.wallet(&self.name)? else { return Ok(None) };
            let spent = books.spent(&self.name, &wallet)?;
            Ok(Some(WalletView { wallet, spent, at: view.now }))
        })
    }
}
