//! Whether the file accepts writes, and what the engine's errors mean for callers.

use std::sync::{PoisonError, RwLock};

use heliograph_core::Error;

/// The reason why the file accepts no writes; `None` while it does. The log gets it once when it begins and once when
/// it ends.
#[derive(Debug, Default)]
pub struct Condition(RwLock<Option<String>>);

impl Condition {
    /// The reason, in the system's words.
    pub fn failing(&self) -> Option<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a failure. True if nothing was failing before, or something else.
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

    /// The error for callers that cannot be served meanwhile.
    pub(crate) fn refusal(&self) -> Error {
        let failing = self.failing();
        Error::storage(failing.as_deref().unwrap_or("the data file is being opened again"))
    }
}

/// The storage engine failed: nothing of the present transaction counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The system refused a read or a write; its words are kept. The engine answers nothing more until the file is
    /// opened again.
    System(String),
    /// The engine stopped at an earlier failure and no longer knows the reason.
    Earlier,
    /// Stored data is damaged. Everything else can still be answered.
    Damaged(String),
    /// Anything else, such as a panic of the engine.
    Engine(String),
}

impl Fault {
    pub(crate) fn of(error: impl Into<redb::Error>) -> Fault {
        match error.into() {
            redb::Error::Io(error) => Fault::System(error.to_string()),
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => Fault::Earlier,
            // The engine reports this for a page that stands for a damaged one.
            redb::Error::Corrupted(cause) if cause.contains("has order greater than") => {
                Fault::Damaged("a page of the data file is not what was written".to_owned())
            }
            redb::Error::Corrupted(cause) => Fault::Damaged(cause),
            other => Fault::Engine(other.to_string()),
        }
    }

    /// The reason, for the operator.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Fault::System(reason) | Fault::Engine(reason) | Fault::Damaged(reason) => reason,
            Fault::Earlier => "an earlier failure of the disk",
        }
    }

    /// The reason, for callers.
    pub(crate) fn public_reason(&self) -> &str {
        match self {
            Fault::Engine(_) => "the storage engine stopped",
            fault => fault.reason(),
        }
    }
}

impl From<redb::StorageError> for Fault {
    fn from(error: redb::StorageError) -> Self {
        Fault::of(error)
    }
}

impl From<redb::TableError> for Fault {
    fn from(error: redb::TableError) -> Self {
        Fault::of(error)
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

/// The error for the caller when a read of the engine failed.
pub(crate) fn refused(error: impl Into<redb::Error>) -> Error {
    Fault::of(error).into()
}
