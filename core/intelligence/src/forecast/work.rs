//! Counts the work of estimators, so that tests bound the work of one step by numbers and not by time.

use std::cell::Cell;

/// Work that was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkDone {
    /// Questions whose features were computed.
    pub rows: u64,
    /// Fits, and passes over the rows in them.
    pub fits: u64,
    pub passes: u64,
}

thread_local! {
    static DONE: Cell<WorkDone> = const { Cell::new(WorkDone { rows: 0, fits: 0, passes: 0 }) };
}

fn count(change: impl FnOnce(&mut WorkDone)) {
    DONE.with(|done| {
        let mut work = done.get();
        change(&mut work);
        done.set(work);
    });
}

pub fn row() {
    count(|work| work.rows += 1);
}

pub fn fit() {
    count(|work| work.fits += 1);
}

pub fn pass() {
    count(|work| work.passes += 1);
}

/// The result of a function, and the work that it did.
pub fn of<T>(run: impl FnOnce() -> T) -> (T, WorkDone) {
    DONE.with(|done| done.set(WorkDone::default()));
    let result = run();
    (result, DONE.with(Cell::get))
}
