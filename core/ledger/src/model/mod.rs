//! A small model of the ledger's rules about money, which does not look at the ledger's rows. Tests do random
//! operations on a ledger and on the model, and compare both after every step (decision money-model).
//!
//! Signatures are checked before operations, so the model makes none. It still follows which key counts. A new kind of
//! operation needs one line in [`Model::ALL`].
//!
//! | Module | What |
//! |---|---|
//! | `steps` | the random steps |
#![allow(clippy::unwrap_used, clippy::panic)]

mod steps;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::admin::SetAdminKey;
use super::auditor::Auditor;
use super::book;
use super::client::Signer;
use super::envelope::{Content, Envelope};
use super::form::Form;
use super::hire::{HIRES, HireState};
use super::keys::SetKey;
use super::pay::GRANT;
use super::receipt::{RECEIPTS, ReceiptState};
use super::rows::{DUE, ESCROWS, EscrowState, HELD, Id, KEYS, KeyRow, Name, Role, WALLETS, Wallet};
use super::segment;
use super::submit::{Answer, SubmissionResult, Submit};
use super::sweep::{Sweep, Swept};
use crate::Timestamp;
use crypto::Secret;
use engine::actor::{ActorId, Call, Kind, Operation, decode, host};
use engine::kv::{Direction, Store};
use engine::settings::Settings;
use engine::testing::START;
use engine::time::{DAY, HOUR};

const AGENTS: usize = 12;
const ADMIN: [u8; 32] = [3; 32];
/// Number of steps between two audits of the whole store.
const AUDIT_EVERY: u64 = 2_000;

/// The money of an agent, by the rules.
struct Money {
    balance: u64,
    locked: u64,
    daily_cap: u64,
    per_tx_cap: u64,
    allowed: Option<Vec<usize>>,
    frozen: bool,
    /// Times and amounts of outflows.
    out: Vec<(Timestamp, u64)>,
}

/// The keys of an agent as its own actor has them, and its messages that are on their way to the ledger.
struct Keys {
    version: u64,
    proved: [u8; 32],
    current: bool,
    active: bool,
    told: VecDeque<SetKey>,
    /// The last version that the ledger acknowledged.
    heard: u64,
}

/// The weight of a step, and its function.
pub type Step<S> = (u64, fn(&mut Model<S>));

/// A ledger on a store, and the state that it must have.
pub struct Model<S> {
    rng: ChaCha20Rng,
    actor: ActorId,
    settings: Settings,
    store: Option<S>,
    reopen: Box<dyn FnMut(S) -> S>,
    now: Timestamp,
    /// The latest time so far; the clock can be set back.
    high: Timestamp,
    agents: Vec<Signer>,
    keys: Vec<Keys>,
    money: Vec<Money>,
    frozen: bool,
    faucet_disabled: bool,
    supply: u64,
    /// Open escrows: from, to, amount.
    open: BTreeMap<Id, (usize, usize, u64)>,
    receipts: Vec<(Id, usize)>,
    listings: Vec<(Id, usize)>,
    sent: Vec<Submit>,
    /// Verified envelopes that have not reached the ledger yet.
    waiting: Vec<Submit>,
    /// Transfers, batches and escrows so far.
    settled: BTreeSet<Id>,
    granted: BTreeSet<usize>,
    nonce: u64,
    steps: u64,
    /// Number of envelopes that were carried out.
    pub done: u64,
    /// Number of refusals for each reason.
    pub refused: BTreeMap<&'static str, u64>,
}

impl<S: Store + 'static> Model<S> {
    /// A new ledger on an empty store. `reopen` returns the store as a process finds it that starts on the same file.
    pub fn new(seed: u64, store: S, reopen: impl FnMut(S) -> S + 'static) -> Self {
        let agents = (1..=AGENTS as u8).map(|n| Signer::new("svc", Secret::new([n; 32]))).collect();
        let keys = (0..AGENTS as u8).map(|agent| Keys {
            version: 1,
            proved: key_of(agent, 1),
            current: true,
            active: true,
            told: VecDeque::new(),
            heard: 0,
        });
        let money = (0..AGENTS).map(|_| Money {
            balance: 0,
            locked: 0,
            daily_cap: book::DAILY_CAP,
            per_tx_cap: book::PER_TX_CAP,
            allowed: None,
            frozen: false,
            out: Vec::new(),
        });
        let mut model = Model {
            rng: ChaCha20Rng::seed_from_u64(seed),
            actor: ActorId::sole(Kind::Ledger),
            settings: Settings::default(),
            store: Some(store),
            reopen: Box::new(reopen),
            now: START,
            high: START,
            agents,
            keys: keys.collect(),
            money: money.collect(),
            frozen: false,
            faucet_disabled: false,
            supply: 0,
            open: BTreeMap::new(),
            receipts: Vec::new(),
            listings: Vec::new(),
            sent: Vec::new(),
            waiting: Vec::new(),
            settled: BTreeSet::new(),
            granted: BTreeSet::new(),
            nonce: 0,
            steps: 0,
            done: 0,
            refused: BTreeMap::new(),
        };
        model.run(&SetAdminKey { key: ADMIN, role: Role::All, active: true });
        model
    }

    /// Takes `count` random steps out of `steps`, and compares after each.
    pub fn walk(&mut self, steps: &[Step<S>], count: u64) {
        let all: u64 = steps.iter().map(|(weight, _)| weight).sum();
        for _ in 0..count {
            self.pass_time();
            let mut place = self.below(all);
            let step = steps.iter().find(|(weight, _)| {
                let here = place < *weight;
                place = place.saturating_sub(*weight);
                here
            });
            if let Some((_, step)) = step {
                step(self);
            }
            self.forget_old();
            self.follow(None);
            self.check();
            self.steps += 1;
            if self.steps.is_multiple_of(AUDIT_EVERY) {
                self.audit();
            }
        }
    }

    /// Lets time pass until nothing is due any more. Then no escrow is open, and no money is locked.
    ///
    /// # Panics
    /// If an escrow is still open, money is still locked, or something is still due.
    pub fn end(&mut self) {
        self.thaw();
        for _ in 0..20 {
            self.now = self.high.plus(8 * DAY);
            self.high = self.now;
            while self.sweep().more {}
            self.follow(None);
            self.check();
        }
        self.audit();
        assert!(self.open.is_empty(), "{} escrows never end", self.open.len());
        assert!(self.money.iter().all(|money| money.locked == 0));
        let store = self.store();
        let waiting = DUE.scan(store, &DUE.range(), Direction::Ascending, usize::MAX).unwrap();
        assert!(waiting.is_empty(), "something is due for ever");
    }

    fn store(&self) -> &S {
        self.store.as_ref().unwrap()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.rng.next_u64() % end
    }

    fn agent(&mut self) -> usize {
        self.below(AGENTS as u64) as usize
    }

    fn name(&self, agent: usize) -> String {
        self.agents[agent].did.strip_prefix("did:svc:").unwrap().to_owned()
    }

    /// Runs an operation. Sometimes the process dies before the batch is written, and the operation runs again.
    /// Sometimes it dies afterwards and the answer is lost; then the second value is true.
    fn run_once<O: Operation>(&mut self, operation: &O) -> (O::Reply, bool) {
        let call = Call::operation("main", operation).unwrap();
        loop {
            let mut seed = [0; 32];
            self.rng.fill_bytes(&mut seed);
            let rows = self.store.as_ref().unwrap();
            let space = host::Space {
                program: &crate::testing::PROGRAM,
                actor: &self.actor,
                rows,
                now: self.now,
                seed,
                settings: &self.settings,
            };
            let outcome = host::perform(&space, &call);
            let reply = outcome.reply.unwrap();
            let fate = self.below(100);
            if fate < 2 {
                self.restart();
                continue;
            }
            self.store.as_mut().unwrap().apply(outcome.batch).unwrap();
            if fate == 2 {
                self.restart();
            }
            return (decode(&reply).unwrap(), fate == 2);
        }
    }

    fn run<O: Operation>(&mut self, operation: &O) -> O::Reply {
        self.run_once(operation).0
    }

    fn restart(&mut self) {
        let store = self.store.take().unwrap();
        self.store = Some((self.reopen)(store));
    }

    /// The key row under which an envelope of an agent is verified: the ledger's row, or else the agent's own answer.
    fn known(&self, agent: usize) -> KeyRow {
        let told = &self.keys[agent];
        let own = KeyRow::of(told.version, Some(told.proved), told.active);
        KEYS.get(self.store(), &(self.name(agent),)).unwrap().unwrap_or(own)
    }

    fn send(&mut self, submit: &Submit) {
        let envelope = Envelope::read("svc", &submit.canonical).unwrap();
        let agent = |did: &str| self.agents.iter().position(|agent| agent.did == did).unwrap();
        let (by, other) = (agent(envelope.signer()), envelope.others().first().map(|other| agent(other)));
        let (answer, lost) = self.run_once(submit);
        match answer {
            Answer::Done(done) => {
                assert!(submit.signer.row.version >= self.keys[by].heard, "a key that was replaced moved money");
                assert!(self.known(by).agrees(&submit.signer.row), "under a key that is not the signer's");
                self.done += 1;
                // The ledger did what was due before it took the envelope.
                self.follow(Some(by));
                self.follow_done(done, by, other, &envelope);
            }
            Answer::Refused(reason, _) | Answer::Untaken(reason) => {
                *self.refused.entry(reason.as_str()).or_default() += 1
            }
            Answer::Reverify => {
                *self.refused.entry("reverify").or_default() += 1;
                let row = self.known(by);
                assert!(!row.agrees(&submit.signer.row));
                // In half of the cases the envelope is verified again under the present key.
                if row.in_force().is_some() && self.below(2) == 0 {
                    let mut submit = submit.clone();
                    submit.signer.row = row;
                    self.send(&submit);
                }
                return;
            }
        }
        if lost {
            // A sender that got no answer sends the envelope again.
            self.follow(None);
            self.send(submit);
        }
    }

    /// Follows what an envelope did. Each thing is done once, however often its envelope is sent.
    fn follow_done(&mut self, done: SubmissionResult, by: usize, other: Option<usize>, envelope: &Envelope) {
        assert!(!self.frozen, "something was done in a freeze");
        match done {
            SubmissionResult::Transfer(id, row) => {
                assert!(self.settled.insert(id), "settled twice");
                let to = other.unwrap();
                self.pay(by, to, row.at, row.amount);
            }
            SubmissionResult::Batch(settled) => {
                assert!(self.settled.insert(settled.id), "settled twice");
                let Content::Batch(batch) = &envelope.content else { panic!("no batch") };
                for item in &batch.items {
                    let to = self.agents.iter().position(|agent| agent.did == item.to).unwrap();
                    self.pay(by, to, settled.at, item.amount);
                }
            }
            SubmissionResult::Escrow(stand) if stand.escrow.closed.is_none() => {
                self.lock(stand.id, by, other.unwrap(), stand.escrow.amount, stand.escrow.opened);
            }
            SubmissionResult::Hire(_, hire) => self.lock(hire.escrow, by, other.unwrap(), hire.price, hire.created),
            SubmissionResult::Grant { .. } => {
                assert!(self.granted.insert(by), "granted twice");
                assert!(!self.faucet_disabled && !self.money[by].frozen);
                self.money[by].balance += GRANT;
                self.supply += GRANT;
            }
            SubmissionResult::Receipt(id, receipt) if receipt.answer.is_none() => {
                self.receipts.push((id, other.unwrap()))
            }
            SubmissionResult::Listing(id, ..) if !self.listings.contains(&(id, by)) => self.listings.push((id, by)),
            SubmissionResult::Escrow(_) | SubmissionResult::Receipt(..) | SubmissionResult::Listing(..) => {}
        }
    }

    fn pay(&mut self, from: usize, to: usize, at: Timestamp, amount: i64) {
        let amount = u64::try_from(amount).unwrap();
        self.leave(from, to, at, amount);
        self.money[to].balance += amount;
    }

    fn lock(&mut self, id: Id, from: usize, to: usize, amount: u64, at: Timestamp) {
        assert!(self.settled.insert(id), "opened twice");
        self.leave(from, to, at, amount);
        self.money[from].locked += amount;
        self.open.insert(id, (from, to, amount));
    }

    /// Takes money out of a wallet. Whether it may leave, the model checks by its own rules.
    fn leave(&mut self, from: usize, to: usize, at: Timestamp, amount: u64) {
        // Outflows that were forgotten before the clock was set back stay forgotten.
        let (now, money) = (self.high, &mut self.money[from]);
        assert!(!money.frozen && from != to && money.allowed.as_ref().is_none_or(|allowed| allowed.contains(&to)));
        assert!(amount > 0 && amount <= money.balance && amount <= money.per_tx_cap);
        money.out.retain(|(at, _)| *at >= now.plus(-3 * DAY));
        let spent: u64 = money.out.iter().filter(|(at, _)| *at >= now.plus(-DAY)).map(|(_, amount)| amount).sum();
        assert!(spent + amount <= money.daily_cap);
        money.balance -= amount;
        money.out.push((at, amount));
    }

    fn pass_time(&mut self) {
        let micros = match self.below(60) {
            // The clock is set back.
            0 => -(self.below(HOUR as u64) as i64),
            1 | 2 => self.below(2 * DAY as u64) as i64,
            3..=9 => self.below(HOUR as u64) as i64,
            _ => self.below(engine::time::SECOND as u64) as i64,
        };
        self.now = self.now.plus(micros);
        self.high = self.high.max(self.now);
    }

    fn sweep(&mut self) -> Swept {
        self.run(&Sweep)
    }

    fn forget_old(&mut self) {
        self.sent.drain(..self.sent.len().saturating_sub(40));
        self.receipts.drain(..self.receipts.len().saturating_sub(40));
    }

    fn wallet(&self, agent: usize) -> Option<Wallet> {
        WALLETS.get(self.store(), &(self.name(agent),)).unwrap()
    }

    fn wallet_of(&self, name: &str) -> Wallet {
        WALLETS.get(self.store(), &(name.to_owned(),)).unwrap().unwrap()
    }

    /// Moves the money of escrows that ended, by the state in which each ended. Each end changes the locked amount of
    /// its sender, unless `by` opened another escrow in the same step.
    fn follow(&mut self, by: Option<usize>) {
        let locked: Vec<u64> = (0..AGENTS).map(|agent| self.wallet(agent).map_or(0, |wallet| wallet.locked)).collect();
        let changed = |from: usize| by == Some(from) || locked[from] != self.money[from].locked;
        let ended = self.open.iter().filter(|(_, (from, ..))| changed(*from)).filter_map(|(id, _)| {
            let id = *id;
            let state = ESCROWS.get(self.store(), &(id,)).unwrap().unwrap().state;
            (state != EscrowState::Open).then_some((id, state))
        });
        for (id, state) in ended.collect::<Vec<_>>() {
            let (from, to, amount) = self.open.remove(&id).unwrap();
            self.money[from].locked -= amount;
            self.money[if state == EscrowState::Released { to } else { from }].balance += amount;
        }
    }

    /// Checks after each step: sum(balance + locked) = grants + faucet, and locked = open escrows per wallet.
    fn check(&self) {
        let mut locked = [0; AGENTS];
        self.open.values().for_each(|(from, _, amount)| locked[*from] += amount);
        let mut sum = 0;
        for (agent, money) in self.money.iter().enumerate() {
            let wallet = self.wallet(agent);
            let found = wallet.as_ref().map_or((0, 0), |wallet| (wallet.balance, wallet.locked));
            assert_eq!(found, (money.balance, money.locked), "wallet {agent}");
            assert_eq!(money.locked, locked[agent], "locked of {agent}");
            sum += money.balance + money.locked;
            if let Some(wallet) = wallet.filter(|_| agent as u64 == self.done % AGENTS as u64) {
                assert_eq!(wallet.frozen, money.frozen, "freeze of {agent}");
                let since = |now: Timestamp| {
                    let day = money.out.iter().filter(|(at, _)| *at >= now.plus(-DAY));
                    day.map(|(_, amount)| amount).sum::<u64>()
                };
                let spent = book::spent(self.store(), self.now, &self.name(agent), &wallet).unwrap();
                // The sum is exact, unless the clock was set back: then forgotten outflows may be missing.
                assert!((since(self.high)..=since(self.now)).contains(&spent), "outflow of {agent}: {spent}");
            }
        }
        assert_eq!(sum, self.supply);
        let book = book::read(self.store()).unwrap();
        let open: u64 = locked.iter().sum();
        assert_eq!((book.supply, book.held, book.locked, book.open), (self.supply, self.supply - open, open, open));
    }

    /// Checks the whole store: no row is an orphan, hires follow their escrows, and everything open is due some day.
    fn audit(&self) {
        let store = self.store();
        let wallets = WALLETS.page(store, None, usize::MAX).unwrap();
        assert_eq!(wallets.len() as u64, book::read(store).unwrap().wallets);
        // All balances follow from the log alone (decision ledger-log).
        let mut logged: BTreeMap<Name, [i64; 2]> = BTreeMap::new();
        let (mut auditor, salt) = (Auditor::without_signatures("svc"), book::read(store).unwrap().salt);
        for (_, event) in segment::open::all(store).unwrap() {
            let form = Form::new("svc", &salt, &event).unwrap();
            auditor.take(&form.bytes, &form.hidden).unwrap_or_else(|flaw| panic!("event {}: {flaw}", event.seq));
            for change in event.changes {
                let [balance, locked] = logged.entry(change.name).or_default();
                *balance += change.balance;
                *locked += change.locked;
            }
        }
        for (name, wallet) in wallets {
            let sums = logged.remove(&name).unwrap_or_default();
            assert_eq!(sums.map(|sum| u64::try_from(sum).unwrap()), [wallet.balance, wallet.locked], "log of {name}");
        }
        auditor.balance().unwrap();
        assert!(logged.into_values().all(|sums| sums == [0, 0]), "the log has money that no wallet has");
        let due = DUE.scan(store, &DUE.range(), Direction::Ascending, usize::MAX).unwrap();
        let mut due: BTreeSet<Id> = due.into_iter().map(|((_, id), ())| id).collect();
        let escrows = ESCROWS.scan(store, &ESCROWS.range(), Direction::Ascending, usize::MAX).unwrap();
        let open: Vec<_> = escrows.iter().filter(|(_, escrow)| escrow.state == EscrowState::Open).collect();
        assert_eq!(open.len(), self.open.len());
        let held = HELD.scan(store, &HELD.range(), Direction::Ascending, usize::MAX).unwrap();
        for ((name, id), ()) in held {
            // After the freeze of a wallet ends, its held escrows fall due one after another.
            let next = || open.iter().any(|((id,), escrow)| escrow.from == name && due.contains(id));
            if self.wallet_of(&name).frozen || next() {
                due.insert(id);
            }
        }
        assert!(open.iter().all(|((id,), _)| due.contains(id)), "an open escrow that nobody looks at");
        for (_, hire) in HIRES.scan(store, &HIRES.range(), Direction::Ascending, usize::MAX).unwrap() {
            let escrow = ESCROWS.get(store, &(hire.escrow,)).unwrap().unwrap().state;
            let agrees = match hire.state {
                HireState::Requested | HireState::Claimed => escrow == EscrowState::Open,
                HireState::Expired => matches!(escrow, EscrowState::Refunded | EscrowState::Expired),
                // A release may have to wait, and the escrow of a disputed hire may end in any way.
                HireState::Completed | HireState::Disputed => true,
            };
            assert!(agrees, "{:?} with {escrow:?}", hire.state);
        }
        for ((id,), receipt) in RECEIPTS.scan(store, &RECEIPTS.range(), Direction::Ascending, usize::MAX).unwrap() {
            assert!(!receipt.released || receipt.state == ReceiptState::Accepted);
            assert!(
                receipt.state != ReceiptState::Pending || due.contains(&id),
                "a pending receipt that nobody looks at"
            );
        }
    }
}

/// A key that no other agent or generation has.
fn key_of(agent: u8, version: u64) -> [u8; 32] {
    let mut key = [agent; 32];
    key[..8].copy_from_slice(&version.to_be_bytes());
    key
}

/// Walks `count` steps for each seed, on models made by `fresh`. Returns the number of refusals for each reason. A
/// failure names its seed.
pub fn walk_seeds<S: Store + 'static>(
    seeds: std::ops::Range<u64>,
    count: u64,
    steps: &[Step<S>],
    mut fresh: impl FnMut(u64) -> Model<S>,
) -> BTreeMap<&'static str, u64> {
    let mut refused = BTreeMap::new();
    let (mut walked, mut done) = (0, 0);
    for seed in seeds {
        let mut model = fresh(seed);
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            model.walk(steps, count);
            model.end();
        }));
        if let Err(cause) = run {
            eprintln!("seed {seed} fails; HELIOGRAPH_LEDGER_SEED={seed} HELIOGRAPH_LEDGER_STEPS={count} replays it");
            std::panic::resume_unwind(cause);
        }
        (walked, done) = (walked + count, done + model.done);
        model.refused.into_iter().for_each(|(reason, count)| *refused.entry(reason).or_insert(0) += count);
    }
    // Counted over all seeds together, because in a single one a freeze may last for long.
    assert!(walked < 1_000 || done > walked / 8, "only {done} of {walked} steps did something");
    println!("{done} of {walked} steps did something");
    refused
}
