//! Whether the file takes writes, and what the engine's errors mean to who asked.

use std::sync::{PoisonError, RwLock};

use heliograph_core::Error;

/// Why the file takes no writes; nothing while it does. Told to the log once, when it begins and when it ends.
#[derive(Debug, Default)]
pub struct Condition(RwLock<Option<String>>);

impl Condition {
    /// The reason, in the words of the system.
    pub fn failing(&self) -> Option<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a failure. True when nothing was failing, or for another reason.
    pub(crate) fn fails(&self, reason: &str) -> bool {
        let mut failing = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let news = failing.as_deref() != Some(reason);
        *failing = Some(reason.to_owned());
        news
    }

    /// Notes that writes succeed again.
    pub(crate) fn recovers(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What to answer who cannot be served meanwhile.
    pub(crate) fn refusal(&self) -> Error {
        let failing = self.failing();
        Error::storage(failing.as_deref().unwrap_or("the data file is being opened again"))
    }
}

/// The storage engine failed: nothing of the present transaction counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The system refused a read or a write, in its words. The engine answers nothing more until the file is opened again.
    System(String),
    /// The engine stopped at an earlier failure, whose reason it no longer knows.
    Earlier,
    /// What is stored is damaged. Everything else can still be answered.
    Damaged(String),
    /// Anything else, such as a panic of the engine.
    Engine(String),
}

impl Fault {
    pub(crate) fn of(error: impl Into<redb::Error>) -> Fault {
        match error.into() {
            redb::Error::Io(error) => Fault::System(error.to_string()),
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => Fault::Earlier,
            // What the engine says of a page that stands for a damaged one.
            redb::Error::Corrupted(cause) if cause.contains("has order greater than") => {
                Fault::Damaged("a page of the data file is not what was written".to_owned())
            }
            redb::Error::Corrupted(cause) => Fault::Damaged(cause),
            other => Fault::Engine(other.to_string()),
        }
    }

    /// The reason, for people.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Fault::System(reason) | Fault::Engine(reason) | Fault::Damaged(reason) => reason,
            Fault::Earlier => "an earlier failure of the disk",
        }
    }

    /// The reason, for everybody.
    pub(crate) fn public_reason(&self) -> &str {
        match self {
            Fault::Engine(_) => "the storage engine stopped",
            fault => fault.reason(),
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        match fault {
            Fault::Damaged(cause) => Error::damaged(cause),
            Fault::Engine(cause) => Error::unavailable(cause),
            Fault::System(_) | Fault::Earlier => Error::storage(fault.reason()),
        }
    }
}

/// What a failed read of the engine is to who asked.
pub(crate) fn refused(error: impl Into<redb::Error>) -> Error {
    Fault::of(error).into()
}
