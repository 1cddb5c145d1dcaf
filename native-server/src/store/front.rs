//! The journal, the rows in memory behind it, and the thread that folds these rows into the tree.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use heliograph_core::engine::kv::{Batch, Change};

use super::folding::{self, Folded};
use super::journal::{FileId, Header, Journal};
use super::recent::{ChangedRows, Generation};
use super::replay::{FoldedState, Loaded, ReplayError};
use super::view::View;
use super::{Fault, Store};

use crate::log;

/// After so long without a commit the rows in memory are folded, so that a quiet server has one file.
const REST: Duration = Duration::from_secs(1);
/// Most time that a commit waits while two generations are nearly full.
const SLOWEST: Duration = Duration::from_millis(20);
/// Shortest and longest wait between attempts to fold.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Called when the tree has what it was to wait for, or never will.
pub type WhenFolded = Box<dyn FnOnce(bool) + Send>;

/// Owned by the writer thread.
pub struct Front {
    store: Arc<Store>,
    /// `None` after a failed append, until another journal has begun.
    journal: Option<Journal>,
    active: Arc<Generation>,
    file: FileId,
    /// See [`Folded::second`].
    second: bool,
    generation: u64,
    /// Number of the last durable commit.
    last: u64,
    /// Memory of a generation from which on it is folded.
    limit: usize,
    committed: Instant,
    /// Nothing but rows that the tree did not take is in memory.
    only_carried: bool,
    folds: Arc<Folds>,
    thread: Option<JoinHandle<()>>,
}

/// What the writer and the folding thread share.
#[derive(Default)]
struct Folds {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    /// The fold that waits or is under way.
    job: Option<Arc<Fold>>,
    /// Rows that the tree does not take, because it is damaged where they belong; until the writer has them in its
    /// journal.
    refused: Option<ChangedRows>,
    /// The writer has them, so the fold can end.
    carried: bool,
    /// Why the last attempt failed.
    stuck: Option<String>,
    ending: bool,
}

/// A generation on its way into the tree.
struct Fold {
    generation: Arc<Generation>,
    folded: Folded,
    /// Generations whose journals are not needed afterwards.
    journals: Vec<u64>,
    waiting: Mutex<Vec<WhenFolded>>,
}

impl Fold {
    fn new(generation: Arc<Generation>, folded: Folded, journals: Vec<u64>, waiting: Vec<WhenFolded>) -> Arc<Fold> {
        Arc::new(Fold { generation, folded, journals, waiting: Mutex::new(waiting) })
    }

    /// Tells those who wait whether the tree has everything.
    fn ends(&self, whole: bool) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.into_iter().for_each(|when| when(whole));
    }
}

impl Folds {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_idle(&self) -> bool {
        self.lock().job.is_none()
    }
}

impl Front {
    /// Reads the journals of the data file, and begins a new one.
    pub fn open(store: Arc<Store>, limit: usize) -> Result<Front, ReplayError> {
        let folder = store.folder();
        let known = store.folded()?;
        let loaded = Loaded::read(&folder, known)?;
        let before = match (known, &loaded) {
            (FoldedState::Folded(before), _) => before,
            (_, Some(loaded)) => loaded.folded,
            (FoldedState::Never, None) => store.found(false)?,
            (FoldedState::Damaged, None) => store.found(true)?,
        };
        let folded = loaded.as_ref().map_or(before, |loaded| loaded.folded);
        if store.was_open() && loaded.as_ref().is_none_or(|loaded| loaded.journals.is_empty()) {
            log::warning!(
                "{} was not closed cleanly, and no journal is beside it. If a server wrote to it last, what was only in \
                 its journal is missing: stop, and put {}-N back beside it",
                store.path().display(),
                store.path().with_added_extension("journal").display()
            );
        }
        let seen = folder.generations()?.into_iter().max().unwrap_or(0);
        let folds = Arc::new(Folds::default());
        let active = Arc::new(Generation::default());
        let mut front = Front {
            journal: None,
            active: active.clone(),
            file: folded.file,
            second: folded.second,
            generation: seen.max(folded.generation),
            last: folded.commit,
            limit,
            committed: Instant::now(),
            only_carried: false,
            thread: None,
            folds: folds.clone(),
            store: store.clone(),
        };
        front.begin()?;
        let older = loaded.map(|Loaded { generation, folded, journals, needless, .. }| {
            let generation = Arc::new(generation);
            let journals = [needless, journals].concat();
            folds.lock().job = Some(Fold::new(generation.clone(), folded, journals, Vec::new()));
            generation
        });
        let tree = store.tree_to_share().map_err(|error| ReplayError::Failed(error.to_string()))?;
        store.publish(View { tree, generations: [Some(active), older], seen: folded.commit });
        let thread = std::thread::Builder::new().name("fold".into()).spawn(move || run(&store, &folds));
        front.thread = Some(thread.map_err(ReplayError::from)?);
        Ok(front)
    }

    /// Begins the journal of the next generation.
    fn begin(&mut self) -> std::io::Result<()> {
        let generation = self.generation + 1;
        let journal = self.store.folder().begin(Header { file: self.file, generation, first: self.last + 1 })?;
        self.generation = generation;
        self.journal = Some(journal);
        Ok(())
    }

    /// Makes a commit durable, and then visible. After a fault nothing of it counts.
    pub fn commit(&mut self, changed: ChangedRows) -> Result<(), Fault> {
        self.carry_over()?;
        // Where no other journal can begin, this one goes on as long as there is room in memory.
        if self.active.bytes() >= self.limit && !self.rotate().unwrap_or(false) {
            self.slow_down()?;
        }
        self.append(changed)?;
        self.only_carried = false;
        Ok(())
    }

    fn append(&mut self, changed: ChangedRows) -> Result<(), Fault> {
        let journal = self.journal.as_mut().ok_or(Fault::Earlier)?;
        if let Err(error) = journal.append(&changed) {
            // Nothing may stand behind what this left.
            self.journal = None;
            return Err(Fault::System(error.to_string()));
        }
        self.last += 1;
        self.active.add(self.last, changed);
        self.committed = Instant::now();
        self.store.see(self.last);
        Ok(())
    }

    /// Rows that the tree does not take stay in the journal: they are part of the next generation too, unless a later
    /// commit has changed them again.
    fn carry_over(&mut self) -> Result<(), Fault> {
        let Some(mut refused) = self.folds.lock().refused.take() else { return Ok(()) };
        for (space, batch) in &mut refused {
            let Some(changes) = self.active.space(space) else { continue };
            let newer = |key: &[u8]| changes.get(key, u64::MAX).is_some();
            let mut left = Batch::default();
            for (key, change) in std::mem::take(batch).into_iter().filter(|(key, _)| !newer(key)) {
                match change {
                    Change::Put(value) => left.put(key, value),
                    Change::Delete => left.delete(key),
                }
            }
            *batch = left;
        }
        let only_carried = self.active.is_empty();
        let carried = self.append(refused.clone());
        let mut state = self.folds.lock();
        match &carried {
            Ok(()) => (state.carried, self.only_carried) = (true, only_carried),
            Err(_) => state.refused = Some(refused),
        }
        self.folds.news.notify_all();
        carried
    }

    /// Lets the active rows be folded, and begins another generation. False while a fold is under way.
    fn rotate(&mut self) -> Result<bool, Fault> {
        if !self.folds.is_idle() {
            return Ok(false);
        }
        self.turn(Vec::new())?;
        Ok(true)
    }

    fn turn(&mut self, waiting: Vec<WhenFolded>) -> Result<(), Fault> {
        let folded = Folded { file: self.file, commit: self.last, generation: self.generation, second: self.second };
        self.begin().map_err(|error| Fault::System(error.to_string()))?;
        let older = std::mem::take(&mut self.active);
        self.store.turn(self.active.clone(), older.clone());
        self.folds.lock().job = Some(Fold::new(older, folded, vec![folded.generation], waiting));
        self.folds.news.notify_all();
        Ok(())
    }

    /// Waits the longer the fuller the second generation is; refuses when both are full.
    fn slow_down(&mut self) -> Result<(), Fault> {
        let over = self.active.bytes().saturating_sub(self.limit);
        if over < self.limit {
            std::thread::sleep(SLOWEST.mul_f64(over as f64 / self.limit as f64));
            return Ok(());
        }
        self.wait()?;
        self.rotate().map(|_| ())
    }

    /// False after a failed append, until [`Front::heal`].
    fn takes_commits(&self) -> bool {
        self.journal.is_some()
    }

    /// Whether the journal takes commits, and the tree takes folds.
    pub fn is_sound(&self) -> bool {
        self.takes_commits() && self.folds.lock().stuck.is_none()
    }

    /// After a fault: begins another journal, and waits until the tree has what is in the one before. A disk that takes
    /// only the one or the other would fail again at once.
    pub fn heal(&mut self) -> Result<(), Fault> {
        if !self.takes_commits() && !self.rotate()? {
            return Err(Fault::Earlier);
        }
        self.wait()
    }

    /// When to call [`Front::rest`] again; `None` while nothing is in memory.
    pub fn rests_in(&self) -> Option<Duration> {
        // The tree would not take them now either.
        let waits = !self.active.is_empty() && !self.only_carried;
        waits.then(|| REST.saturating_sub(self.committed.elapsed()))
    }

    /// Folds what is in memory after a time without commits.
    pub fn rest(&mut self) {
        if self.rests_in().is_some_and(|left| left.is_zero()) {
            // What cannot be folded now is folded later.
            let _ = self.carry_over().and_then(|()| self.rotate());
            self.committed = Instant::now();
        }
    }

    /// Calls `when` once the tree has every commit so far, or when it does not take all of them.
    pub fn fold(&mut self, when: WhenFolded) -> Result<(), Fault> {
        self.wait()?;
        match self.active.is_empty() {
            true => when(true),
            false => self.turn(vec![when])?,
        }
        Ok(())
    }

    /// Waits until everything that the tree takes is in it.
    fn settle(&mut self) -> Result<(), Fault> {
        self.wait()?;
        if !self.active.is_empty() {
            self.rotate()?;
            self.wait()?;
        }
        Ok(())
    }

    /// Waits for the fold that is under way.
    fn wait(&mut self) -> Result<(), Fault> {
        loop {
            self.carry_over()?;
            let state = self.folds.lock();
            if state.job.is_none() {
                return Ok(());
            }
            if let Some(reason) = &state.stuck {
                return Err(Fault::System(reason.clone()));
            }
            drop(self.folds.news.wait_timeout(state, PAUSES.0));
        }
    }

    /// Folds everything and removes the journals, so that the data is one file.
    pub fn end(mut self) {
        let folded = self.settle();
        self.folds.lock().ending = true;
        self.folds.news.notify_all();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the folding thread ended in a panic");
        }
        let why = match &folded {
            Err(fault) => fault.reason(),
            Ok(()) if !self.active.is_empty() => "it is damaged where they belong",
            Ok(()) => {
                self.journal = None;
                let folder = self.store.folder();
                // An empty journal or a spare file does no harm.
                let _ = folder.remove(self.generation).and_then(|()| folder.remove_spare());
                return;
            }
        };
        log::warning!(
            "{} keeps a journal beside it, because its last changes could not be put into it: {why}",
            self.store.path().display()
        );
    }
}

/// How much the folding thread gives way to threads that serve clients. Not more, because it holds locks of the engine
/// that readers wait for.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// The work of the folding thread.
fn run(store: &Store, folds: &Folds) {
    // Elsewhere this would be about the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
    let (mut pause, mut failing) = (Duration::ZERO, false);
    loop {
        let mut state = folds.lock();
        while state.job.is_none() || state.refused.is_some() {
            if state.ending {
                return;
            }
            state = folds.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let (ending, carried) = (state.ending, state.carried);
        let Some(fold) = state.job.clone() else { continue };
        drop(state);
        let started = Instant::now();
        match attempt(store, &fold, carried) {
            Ok(refused) => {
                store.counts().folds.took(started.elapsed());
                pause = Duration::ZERO;
                if std::mem::take(&mut failing) {
                    store.condition().recovers();
                    log::info!("{} takes what is in its journal again", store.path().display());
                }
                fold.ends(refused.is_none() && !carried);
                let mut state = folds.lock();
                (state.carried, state.stuck) = (false, None);
                match refused {
                    Some(refused) => state.refused = Some(refused),
                    None => state.job = None,
                }
                folds.news.notify_all();
            }
            Err(fault) => {
                failing = true;
                tell(store, &fault);
                fold.ends(false);
                folds.lock().stuck = store.condition().failing();
                folds.news.notify_all();
                if ending {
                    return;
                }
                pause = (pause * 2).clamp(PAUSES.0, PAUSES.1);
                std::thread::sleep(pause);
                if let Err(error) = store.reopen_tree() {
                    tell(store, &Fault::System(error.reason()));
                }
            }
        }
    }
}

fn tell(store: &Store, fault: &Fault) {
    // The engine no longer knows why, and this does.
    if *fault == Fault::Earlier && store.condition().failing().is_some() {
        return;
    }
    if store.condition().fails(fault.public_reason()) {
        log::error!("{} does not take what is in its journal: {}", store.path().display(), fault.reason());
    }
}

/// Puts a generation into the tree; if the writer has carried over what the tree did not take, only notes that. Returns
/// the rows that the tree does not take.
fn attempt(store: &Store, fold: &Fold, carried: bool) -> Result<Option<ChangedRows>, Fault> {
    let nothing = Generation::default();
    let refused = match whole(store, if carried { &nothing } else { &fold.generation }, fold.folded) {
        Err(Fault::Damaged(cause)) if carried => return Err(Fault::Engine(cause)),
        Err(Fault::Damaged(_)) => Some(around_damage(store, fold)?),
        done => done.map(|()| None)?,
    };
    store.folded_to(refused.is_none())?;
    if refused.is_none() {
        let folder = store.folder();
        for generation in &fold.journals {
            // A journal that stays is passed over at the next start.
            let _ = folder.keep(*generation);
        }
    }
    Ok(refused)
}

fn whole(store: &Store, generation: &Generation, folded: Folded) -> Result<(), Fault> {
    let mut transaction = store.begin_write()?;
    transaction.set_quick_repair(true);
    folding::fold(&transaction, generation, folded)?;
    transaction.commit().map_err(Fault::of)
}

/// Puts what the tree takes into it, piece by piece.
fn around_damage(store: &Store, fold: &Fold) -> Result<ChangedRows, Fault> {
    let mut refused = ChangedRows::new();
    let mut pieces = vec![fold.generation.rows()];
    while let Some(piece) = pieces.pop() {
        match folding::put(store, &piece) {
            Ok(()) => {}
            Err(Fault::Damaged(_)) if piece.len() > 1 => pieces.extend(halves(piece)),
            Err(Fault::Damaged(_)) => {
                for (space, key, change) in piece {
                    let batch = refused.entry(space).or_default();
                    match change {
                        Some(value) => batch.put(key, value),
                        None => batch.delete(key),
                    }
                }
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(refused)
}

fn halves<T>(mut all: Vec<T>) -> [Vec<T>; 2] {
    let second = all.split_off(all.len() / 2);
    [all, second]
}
