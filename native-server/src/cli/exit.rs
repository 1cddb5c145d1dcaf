//! How a command ends: the numbers that scripts may rely on (decision exit-codes).

use heliograph_client::Error;

/// The command failed.
pub const FAILED: u8 = 1;
/// The command was not understood; nothing was done. clap ends with the same number.
pub const USAGE: u8 = 2;
/// No answer came from the server, so it may be tried again.
pub const NO_ANSWER: u8 = 3;
/// The server refused it.
pub const REFUSED: u8 = 4;
/// `check --exit-code`: at least one target is blocked.
pub const BLOCKED: u8 = 10;
/// `check --exit-code`: at least one is down or unknown, and none is blocked.
pub const NOT_KNOWN: u8 = 11;

/// The numbers in words, for the help, the manual and the documentation.
pub const CODES: [(u8, &str); 7] = [
    (0, "done"),
    (FAILED, "failed, for example because a file cannot be written"),
    (USAGE, "the command was not understood, and nothing was done"),
    (NO_ANSWER, "no answer came from the server; try again"),
    (REFUSED, "the server refused it"),
    (BLOCKED, "`check --exit-code`: at least one target is blocked"),
    (NOT_KNOWN, "`check --exit-code`: none is blocked, but at least one is down or unknown"),
];

/// Why a command ended early.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: u8,
    /// Empty where everything was said.
    pub text: String,
}

impl Failure {
    pub fn usage(text: impl Into<String>) -> Failure {
        Failure { code: USAGE, text: text.into() }
    }

    /// Ends with a number that is itself the answer.
    pub fn silent(code: u8) -> Failure {
        Failure { code, text: String::new() }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure { code: FAILED, text }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let code = match &error {
            Error::Unreachable(_) | Error::TimedOut(_) => NO_ANSWER,
            Error::Refused(_) => REFUSED,
            Error::Usage(_) => USAGE,
            _ => FAILED,
        };
        let text = match &error {
            Error::Refused(refusal) if refusal.retry_after.is_some() => {
                let seconds = refusal.retry_after.unwrap_or_default().as_secs();
                format!("{error}; the server asks to wait {seconds} seconds")
            }
            _ => error.to_string(),
        };
        Failure { code, text }
    }
}
