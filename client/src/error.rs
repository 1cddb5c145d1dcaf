//! What can go wrong, with the codes of the service.

use std::fmt;
use std::time::Duration;

use crypto::CryptoError;

pub type Result<T> = std::result::Result<T, Error>;

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No answer came: no connection, or it broke. A write may have been done.
    #[error("the deployment gave no answer: {0}")]
    Unreachable(String),
    /// The answer took longer than the time-out. A write may have been done.
    #[error("no answer came within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    /// The service refused the request. Nothing was done.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The answer does not have the form that this version of the client knows.
    #[error("the answer cannot be read: {0}")]
    Answer(String),
    /// The arguments of the call contradict each other or the state of the agent.
    #[error("{0}")]
    Usage(String),
    /// A key, a signature or a ciphertext is not what it should be.
    #[error(transparent)]
    Crypto(#[from] CryptoError),
    /// What the agent keeps cannot be read or written.
    #[error("the store of the agent failed: {0}")]
    Store(String),
    /// The operating system gave no random bytes.
    #[error("the system gives no random bytes")]
    Random,
    /// A proof from the audit log does not hold.
    #[error("the proof does not hold: {0}")]
    Proof(&'static str),
}

impl Error {
    /// The code of a refusal.
    pub fn code(&self) -> Option<&Code> {
        match self {
            Error::Refused(refusal) => Some(&refusal.code),
            _ => None,
        }
    }

    /// The reason of a refusal by the ledger, such as `insufficient_balance`.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Error::Refused(refusal) => refusal.reason.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn usage(text: impl Into<String>) -> Error {
        Error::Usage(text.into())
    }

    pub(crate) fn store(error: impl fmt::Display) -> Error {
        Error::Store(error.to_string())
    }

    /// What a store that is written in JavaScript threw.
    #[cfg(target_arch = "wasm32")]
    pub fn thrown_by_store(error: &wasm_bindgen::JsValue) -> Error {
        Error::Store(crate::platform::thrown(error))
    }
}

/// An error answer of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    pub code: Code,
    /// A reason of the ledger.
    pub reason: Option<String>,
    /// A sentence for people.
    pub message: String,
    /// How long to wait before the next try, if the service says so.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.message, self.code)?;
        if let Some(reason) = &self.reason {
            write!(f, ", {reason}")?;
        }
        write!(f, ", status {})", self.status)
    }
}

macro_rules! codes {
    ($($name:ident = $wire:literal;)+) => {
        /// The code of an error answer; `docs/errors.md` says what each means.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!("`", $wire, "`")] $name,)+
            /// A code that this version of the client does not know.
            Other(String),
        }

        impl Code {
            /// Every code that this version knows.
            pub const ALL: &'static [&'static str] = &[$($wire,)+];

            /// Reads the text on the wire. The ledger writes some codes in small letters.
            pub fn of(text: &str) -> Code {
                match text.to_ascii_uppercase().as_str() {
                    $($wire => Code::$name,)+
                    _ => Code::Other(text.to_owned()),
                }
            }

            /// The text on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Code::$name => $wire,)+
                    Code::Other(text) => text,
                }
            }
        }
    };
}

codes! {
    BadRequest = "BAD_REQUEST";
    TooBroad = "TOO_BROAD";
    Unauthorized = "UNAUTHORIZED";
    Forbidden = "FORBIDDEN";
    NotFound = "NOT_FOUND";
    NoRoute = "NO_ROUTE";
    MethodNotAllowed = "METHOD_NOT_ALLOWED";
    Conflict = "CONFLICT";
    IdentityWaiting = "IDENTITY_WAITING";
    PayloadTooLarge = "PAYLOAD_TOO_LARGE";
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE";
    RateLimited = "RATE_LIMITED";
    Internal = "INTERNAL";
    Unavailable = "UNAVAILABLE";
    Busy = "BUSY";
    MailboxFull = "MAILBOX_FULL";
    PaymentRequired = "PAYMENT_REQUIRED";
    Unprocessable = "UNPROCESSABLE";
    KeyChanged = "KEY_CHANGED";
    Damaged = "DAMAGED";
    IdempotencyMismatch = "IDEMPOTENCY_MISMATCH";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_documentation_is_known() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/errors.md")).unwrap();
        let table = text.split("## Reasons").next().unwrap();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let documented: Vec<&str> = rows.filter(|code| *code != "error").collect();
        assert_eq!(documented, Code::ALL);
        for code in documented {
            assert_eq!(Code::of(code).as_str(), code);
            assert_eq!(Code::of(&code.to_lowercase()), Code::of(code));
        }
        assert_eq!(Code::of("NEW_ONE"), Code::Other("NEW_ONE".to_owned()));
    }
}
