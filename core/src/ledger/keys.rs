//! Whose key counts: what agents tell the ledger of their keys (rulings ledger 2, 5 and 34).
//!
//! An agent tells of every rotation and of its end, in order and before it answers; the ledger takes a row of its own for
//! a signer that never told anything with the first envelope it verifies. A rotation that the key before it did not sign
//! changes no key here: whoever has only the API key of an agent cannot spend, and the wallet is frozen until an admin has
//! looked.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::book::{Books, key};
use super::log::{Note, What};
use super::reason::Reason;
use super::rows::{KEYS, KeyRow, Micro, Name, WALLETS, Wallet};
use super::{room, sweep};
use crate::actor::{Kind, Operation, Query, Turn, View};
use crate::crypto::signing::PublicKey;
use crate::{Result, Timestamp};

/// What is remembered of signers, so that a signature can be verified without asking the ledger first.
#[derive(Debug, Default)]
pub struct Signers {
    /// As they were read last. A row may be older than the ledger's: whoever submits under such a one is told to verify
    /// again.
    rows: Remembered<Name, KeyRow>,
    keys: Remembered<[u8; 32], PublicKey>,
}

impl Signers {
    pub fn get(&self, name: &Name) -> Option<KeyRow> {
        self.rows.get(name)
    }

    pub fn put(&self, name: &Name, row: &KeyRow) {
        self.rows.put(name, row);
    }

    /// The key of these bytes; `None` if it is none.
    pub fn key(&self, bytes: &[u8; 32]) -> Option<PublicKey> {
        self.keys.get(bytes).or_else(|| {
            let key = PublicKey::of(bytes)?;
            self.keys.put(bytes, &key);
            Some(key)
        })
    }
}

/// Entries of one generation of [`Remembered`].
const REMEMBERED: usize = 20_000;

/// What was looked up lately: between one and two generations of it.
#[derive(Debug)]
struct Remembered<K, V>(Mutex<Generations<K, V>>);

#[derive(Debug)]
struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Remembered(Mutex::new(Generations { young: HashMap::new(), old: HashMap::new() }))
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Remembered<K, V> {
    fn generations(&self) -> MutexGuard<'_, Generations<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: &K) -> Option<V> {
        let generations = self.generations();
        generations.young.get(key).or_else(|| generations.old.get(key)).cloned()
    }

    fn put(&self, key: &K, value: &V) {
        let mut generations = self.generations();
        if generations.young.len() >= REMEMBERED {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(key.clone(), value.clone());
    }
}

/// The keys of an agent changed, or it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetKey {
    pub name: Name,
    /// The generation this leads to; what is older than what is known changes nothing.
    pub version: u64,
    /// The last key that was signed for.
    pub proved: [u8; 32],
    /// The agent's present key is that one.
    pub current: bool,
    pub active: bool,
}

impl Operation for SetKey {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "set_key";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut books = Books::of(turn)?;
        let known = KEYS.get(books.space, &key(&self.name))?;
        // An agent's end does not raise its version, and nothing comes after it in the same generation.
        if known.is_some_and(|row| row.version > self.version || (row.version == self.version && !row.active)) {
            return Ok(());
        }
        // A freeze holds nothing that was due before it.
        sweep::catch_up(&mut books)?;
        let wallet = books.wallet(&self.name)?;
        let row = KeyRow {
            version: self.version,
            key: (self.current || wallet.is_some()).then_some(self.proved),
            active: self.active,
        };
        KEYS.put(books.space, &key(&self.name), &row)?;
        // Whoever can sign nothing can deliver nothing (rulings ledger 4 and 34).
        if row.in_force().is_none() {
            super::listing::pause_all(&mut books, &self.name)?;
        }
        if !self.current && self.active && wallet.is_some_and(|wallet| !wallet.frozen) {
            let at = books.stamp();
            books.rule(&self.name, at, |wallet| wallet.frozen = true)?;
            books.log(at, What::Freeze, "system:unproved_rotation", Note::default())?;
        }
        let due = books.close()?.due(turn)?;
        sweep::plan(turn, due)
    }
}

/// What the ledger knows of an agent.
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

/// Makes a wallet where there is room for more; an existing one stays as it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OpenWallet {
    pub name: Name,
    /// Its agent is registered, so it stays even if it never holds anything.
    pub registered: bool,
}

/// What became of [`OpenWallet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Opened {
    Now,
    Before,
    Refused(Reason),
}

impl Operation for OpenWallet {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "open_wallet";
    type Reply = Opened;

    fn run(self, turn: &mut Turn<'_>) -> Result<Opened> {
        let allowed = turn.settings.ledger_storage_bytes;
        let mut books = Books::of(turn)?;
        if let Some(wallet) = books.wallet(&self.name)? {
            if self.registered && !wallet.lasting {
                books.put(&self.name, &Wallet { lasting: true, ..wallet })?;
            }
            return Ok(Opened::Before);
        }
        sweep::catch_up(&mut books)?;
        if let Err(refusal) = room::for_more(books.space, allowed) {
            return Ok(Opened::Refused(refusal.reason()?));
        }
        let at = books.stamp();
        books.ensure(&self.name, at, self.registered)?;
        books.log(at, What::Wallet, "system:create", Note::default())?;
        let due = books.close()?.due(turn)?;
        sweep::plan(turn, due)?;
        Ok(Opened::Now)
    }
}

/// A wallet as it is now, with what left it in 24 hours.
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
