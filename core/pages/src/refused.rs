//! What pages say of errors, in every language.
//!
//! The interface says errors in English. A page has a sentence of its own for what visitors may do wrong, and one for every
//! code (decision errors-in-every-language).

use engine::{Error, ErrorCode};
use facts::sentence::Language;

use crate::words::Words;

/// Messages of the interface that page addresses answer, with a star for what varies, and the sentence that says the same.
/// The first star is its `value`, where it has one.
const KNOWN: [(&str, &str); 20] = [
    ("No page has this address.", "refused.address"),
    ("There is no such guide.", "refused.guide"),
    ("There is no such incident.", "refused.incident"),
    ("There is no such version of this incident.", "refused.version"),
    ("No country has the code `*`.", "refused.country"),
    ("* is not an ISO 3166-1 country code.", "refused.country"),
    ("What was asked about names no site or service.", "refused.site"),
    (NO_SUBJECT, "refused.subject"),
    ("`days` must be a whole number from 1 to 366.", "refused.days"),
    ("`since` must not lie after `to`, and before it by at most 366 days.", "refused.range"),
    ("`*` must be a day such as 2023-11-08.", "refused.day"),
    ("Query parameter `*` must be an ISO 8601 time.", "refused.time"),
    ("`*` lies before 1970: nothing is known of that time.", "refused.before_1970"),
    ("Query parameter `*` must be a whole number from 1.", "refused.whole"),
    ("Query parameter `*` must be a whole number from 0.", "refused.whole"),
    ("Query parameter `*` is not valid UTF-8.", "refused.letters"),
    ("`q` has at most * characters.", "refused.long_words"),
    ("`q` has no word.", "refused.no_word"),
    ("`q` has at most * different words.", "refused.many_words"),
    ("`email` must be an address such as name@example.org.", "refused.email"),
];

/// The message about what is neither a domain nor a service.
const NO_SUBJECT: &str = "\"*\" names no domain or service: *.";

/// A sentence for visitors, and the English message beside it where that says more.
pub struct Refusal {
    pub said: String,
    pub english: String,
    /// What was asked about, where that names no site.
    pub site: String,
}

impl Refusal {
    pub fn of(error: &Error, w: Words) -> Refusal {
        let site = matched(NO_SUBJECT, &error.message).unwrap_or_default().to_owned();
        if let Some(said) = known(&error.message, w) {
            return Refusal { said, english: String::new(), site };
        }
        if w.0 == Language::English {
            return Refusal { said: error.message.to_string(), english: String::new(), site };
        }
        let english = if says_more(error.code) { error.message.to_string() } else { String::new() };
        Refusal { said: w.t(general(error.code)).to_owned(), english, site }
    }
}

/// The sentence for a message of which there is one.
fn known(message: &str, w: Words) -> Option<String> {
    KNOWN.iter().find_map(|(pattern, code)| {
        let value = matched(pattern, message)?;
        Some(w.with(code, &[("value", value.into())]))
    })
}

/// What the first star of a pattern stands for, if a text is as the pattern says; empty without a star.
fn matched<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
    let mut parts = pattern.split('*');
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut value = "";
    let mut parts = parts.enumerate().peekable();
    while let Some((at, part)) = parts.next() {
        // What stands at the end is looked for there, since it may stand before too.
        let is_last = parts.peek().is_none();
        let ends = if is_last { rest.strip_suffix(part)?.len() } else { rest.find(part)? };
        if at == 0 {
            value = rest.get(..ends)?;
        }
        rest = rest.get(ends + part.len()..)?;
    }
    rest.is_empty().then_some(value)
}

/// Whether the message of an error may say what its code does not: which part of a question is wrong, and how.
const fn says_more(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::BadRequest | ErrorCode::TooBroad | ErrorCode::Conflict)
}

/// The sentence for all errors with a code.
const fn general(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::BadRequest => "refused.bad_request",
        ErrorCode::TooBroad => "refused.too_broad",
        ErrorCode::NotFound | ErrorCode::NoRoute => "refused.not_found",
        ErrorCode::MethodNotAllowed => "refused.method",
        ErrorCode::PayloadTooLarge => "refused.too_large",
        ErrorCode::UnsupportedMediaType => "refused.media",
        ErrorCode::Unauthorized | ErrorCode::Forbidden | ErrorCode::PaymentRequired => "refused.not_allowed",
        ErrorCode::Conflict
        | ErrorCode::IdentityWaiting
        | ErrorCode::KeyChanged
        | ErrorCode::Unprocessable
        | ErrorCode::IdempotencyMismatch => "refused.conflict",
        ErrorCode::RateLimited => "refused.rate_limited",
        ErrorCode::Busy => "refused.busy",
        ErrorCode::Unavailable | ErrorCode::MailboxFull => "refused.unavailable",
        ErrorCode::Damaged => "refused.damaged",
        ErrorCode::Internal => "refused.internal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHERS: [Words; 2] = [Words(Language::French), Words(Language::Arabic)];

    #[test]
    fn every_error_has_a_sentence_in_every_language() {
        for code in ErrorCode::ALL {
            let error = Error::new(*code, "Said in English alone.");
            for w in OTHERS {
                let refusal = Refusal::of(&error, w);
                assert!(!refusal.said.is_empty() && !refusal.said.contains("English"), "{code:?}: {}", refusal.said);
                assert_ne!(refusal.said, Words(Language::English).t(general(*code)), "{code:?}");
                assert_eq!(refusal.english.is_empty(), !says_more(*code), "{code:?}");
            }
            assert_eq!(Refusal::of(&error, Words(Language::English)).said, "Said in English alone.");
        }
    }

    #[test]
    fn what_visitors_do_wrong_is_said_in_their_language_alone_and_names_what_they_wrote() {
        for (pattern, code) in KNOWN {
            let message = pattern.replacen('*', "zz9", 1).replace('*', "why");
            for w in OTHERS {
                let refusal = Refusal::of(&Error::bad_request(message.clone()), w);
                assert!(refusal.english.is_empty() && refusal.said != message, "{message}: {}", refusal.said);
                assert_eq!(refusal.said.contains("zz9"), w.t(code).contains("{value}"), "{message}: {}", refusal.said);
            }
        }
    }

    #[test]
    fn a_pattern_fits_the_whole_of_a_message_or_not_at_all() {
        assert_eq!(matched("a `*` b: *.", "a `x` b: y."), Some("x"));
        assert_eq!(matched("a.", "a."), Some(""));
        assert_eq!(matched("`*`: *.", "`x`: at least two, such as example.org."), Some("x"));
        for other in ["a `x` b", "b `x` b: y.", "a `x` b: y. And more", ""] {
            assert_eq!(matched("a `*` b: *.", other), None, "{other}");
        }
    }
}
