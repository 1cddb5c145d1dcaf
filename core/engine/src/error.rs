//! The closed list of error codes and the error every operation returns.

use std::borrow::Cow;

use crypto::CryptoError;
use http::StatusCode;
use serde::{Deserialize, Serialize};

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $wire:literal => $status:ident;)+) => {
        /// The value of `error` in an error body. The list is closed: `docs/errors.md` is written from it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum ErrorCode { $($(#[doc = $doc])+ $name,)+ }

        impl ErrorCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name,)+];

            /// The string on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$name => $wire,)+ }
            }

            /// The one HTTP status that goes with the code.
            pub const fn status(self) -> StatusCode {
                match self { $(ErrorCode::$name => StatusCode::$status,)+ }
            }

            /// What it means, for the published list.
            pub const fn meaning(self) -> &'static str {
                match self { $(ErrorCode::$name => concat!($($doc),+),)+ }
            }
        }
    };
}

error_codes! {
    /// A parameter or a body member is missing, has the wrong type or is out of range.
    BadRequest = "BAD_REQUEST" => BAD_REQUEST;
    /// The question is about more than one answer may read or hold; `message` says the limit and what narrows it.
    TooBroad = "TOO_BROAD" => BAD_REQUEST;
    /// The key for this route is missing, unknown, expired or revoked.
    Unauthorized = "UNAUTHORIZED" => UNAUTHORIZED;
    /// The thing exists and the caller may know it, but may not do this to it.
    Forbidden = "FORBIDDEN" => FORBIDDEN;
    /// There is no such thing, or it belongs to somebody else.
    NotFound = "NOT_FOUND" => NOT_FOUND;
    /// No route of this service has that path.
    NoRoute = "NO_ROUTE" => NOT_FOUND;
    /// The path exists with other methods; `Allow` lists them.
    MethodNotAllowed = "METHOD_NOT_ALLOWED" => METHOD_NOT_ALLOWED;
    /// The request contradicts the present state: a name taken, an identity collision, a wrong state.
    Conflict = "CONFLICT" => CONFLICT;
    /// The registration waits for its DID, which another one holds; signing something or proving its keys takes the
    /// DID.
    IdentityWaiting = "IDENTITY_WAITING" => CONFLICT;
    /// The body, or one value inside it, is larger than its limit.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE" => PAYLOAD_TOO_LARGE;
    /// The body is of a media type that the route does not read.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE" => UNSUPPORTED_MEDIA_TYPE;
    /// Too many requests; `Retry-After` says how many seconds to wait.
    RateLimited = "RATE_LIMITED" => TOO_MANY_REQUESTS;
    /// A fault of the service. Retry with backoff.
    Internal = "INTERNAL" => INTERNAL_SERVER_ERROR;
    /// Temporarily unable to serve this; `Retry-After` says when to retry.
    Unavailable = "UNAVAILABLE" => SERVICE_UNAVAILABLE;
    /// A budget of the server is used up: connections, streams, bodies on their way, questions that compute;
    /// `Retry-After` says when to retry.
    Busy = "BUSY" => SERVICE_UNAVAILABLE;
    /// The recipient's mailbox is at its quota; `Retry-After` says when to retry.
    MailboxFull = "MAILBOX_FULL" => SERVICE_UNAVAILABLE;
    /// The wallet has too little; `reason` says so too.
    PaymentRequired = "PAYMENT_REQUIRED" => PAYMENT_REQUIRED;
    /// The same idempotency key came with another request.
    Unprocessable = "UNPROCESSABLE" => UNPROCESSABLE_ENTITY;
    /// The recipient's keys do not follow from those that the caller pinned.
    KeyChanged = "KEY_CHANGED" => CONFLICT;
    /// What is stored for this answer is damaged, and is not used. The operator is told where.
    Damaged = "DAMAGED" => SERVICE_UNAVAILABLE;
    /// The `Idempotency-Key` was used for this route with another body in the last 24 hours. Nothing was done.
    IdempotencyMismatch = "IDEMPOTENCY_MISMATCH" => UNPROCESSABLE_ENTITY;
}

/// What an operation or a handler fails with: [`Details`] in a box, because nearly every function returns one, and code
/// that moves one pointer is smaller and faster than code that moves nine words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error(Box<Details>);

/// `message` is for the caller; `cause` is for the operator's log and never leaves the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    pub code: ErrorCode,
    pub message: Cow<'static, str>,
    /// Whole seconds for `Retry-After`.
    pub retry_after: Option<u32>,
    pub cause: Option<String>,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Error(Box::new(Details { code, message: message.into(), retry_after: None, cause: None }))
    }

    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Error::new(ErrorCode::BadRequest, message)
    }

    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Error::new(ErrorCode::NotFound, message)
    }

    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Error::new(ErrorCode::Conflict, message)
    }

    pub fn unauthorized(message: impl Into<Cow<'static, str>>) -> Self {
        Error::new(ErrorCode::Unauthorized, message)
    }

    /// A fault of ours: the caller sees a fixed sentence, the operator sees `cause`.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        let message = "The service failed to handle this request; retry with backoff.";
        Error::new(ErrorCode::Internal, message).cause(cause.to_string())
    }

    /// Something that must hold does not. See [`invariant!`](crate::invariant).
    #[cold]
    pub fn broken(what: String) -> Self {
        debug_assert!(false, "broken invariant: {what}");
        Error::internal(format!("broken invariant: {what}"))
    }

    /// Storage or a peer object cannot answer now.
    pub fn unavailable(cause: impl std::fmt::Display) -> Self {
        let message = "Temporarily unavailable; retry after the stated time.";
        Error::new(ErrorCode::Unavailable, message).retry_after(1).cause(cause.to_string())
    }

    /// Storage fails, for a reason that the system gave ("No space left on device"). The caller sees the reason, and
    /// the operator's log gets nothing more: it has it already, once and not for each request.
    pub fn storage(reason: &str) -> Self {
        let message = format!("Storage fails at present: {reason}. Retry after the stated time.");
        Error::new(ErrorCode::Unavailable, message).retry_after(1)
    }

    /// What is stored is not what was written: no answer is made of it.
    pub fn damaged(cause: impl std::fmt::Display) -> Self {
        let message = "What is stored for this answer is damaged; the operator has to mend it.";
        Error::new(ErrorCode::Damaged, message).retry_after(600).cause(cause.to_string())
    }

    /// A budget of the server is used up.
    pub fn busy(message: impl Into<Cow<'static, str>>) -> Self {
        Error::new(ErrorCode::Busy, message).retry_after(2)
    }

    /// Replaces the cause.
    pub fn cause(mut self, cause: String) -> Self {
        self.0.cause = Some(cause);
        self
    }

    pub fn into_details(self) -> Details {
        *self.0
    }

    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.0.retry_after = Some(seconds);
        self
    }
}

impl std::ops::Deref for Error {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)?;
        if let Some(cause) = &self.cause {
            write!(f, " ({cause})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<CryptoError> for Error {
    /// All errors come from a caller's input, except [`CryptoError::UnknownMasterKey`], which comes from a stored
    /// value.
    fn from(error: CryptoError) -> Self {
        match error {
            CryptoError::UnknownMasterKey => Self::internal(error),
            CryptoError::ApiKey => Self::unauthorized("The API key is not valid."),
            other => Self::bad_request(other.to_string()),
        }
    }
}

impl From<crate::kv::StoreError> for Error {
    fn from(error: crate::kv::StoreError) -> Self {
        match error {
            crate::kv::StoreError::Unavailable(cause) => Error::unavailable(cause),
            crate::kv::StoreError::Corrupt(cause) => Error::damaged(cause),
            crate::kv::StoreError::Refused(cause) => Error::internal(cause),
        }
    }
}

/// Holds what must be true whatever callers do. Where it is not, a test panics; in production the operation fails with
/// `INTERNAL` and changes nothing, and the log tells what was broken. Use it where a silent default would hide the fault.
#[macro_export]
macro_rules! invariant {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err($crate::error::Error::broken(format!($($what)+)));
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_cryptographic_input_is_the_callers_fault_and_an_unknown_master_key_is_ours() {
        assert_eq!(Error::from(CryptoError::Signature).code, ErrorCode::BadRequest);
        assert_eq!(Error::from(CryptoError::ApiKey).code, ErrorCode::Unauthorized);
        assert_eq!(Error::from(CryptoError::UnknownMasterKey).code, ErrorCode::Internal);
    }

    #[test]
    fn the_cause_of_a_failure_is_never_part_of_the_answer() {
        let response = crate::http::Response::error(Error::internal("disk 7 is on fire"));
        match response.body {
            crate::http::Body::Bytes(body) => assert!(!String::from_utf8_lossy(&body).contains("disk")),
            crate::http::Body::Stream(_) => panic!("an error is no stream"),
        }
        assert_eq!(response.cause.as_deref(), Some("disk 7 is on fire"));
    }

    #[test]
    #[should_panic(expected = "broken invariant: 1 is not 2")]
    fn a_broken_invariant_stops_a_test() {
        fn check(one: u8) -> crate::Result<()> {
            crate::invariant!(one == 2, "{one} is not 2");
            Ok(())
        }
        let _ = check(1);
    }
}
