//! Which request an event belongs to, in the form of W3C Trace Context (decision traces-of-requests).
//!
//! A request that names a trace in the header `traceparent` becomes a part of it; any other one begins a trace. What is
//! written to the log while a request is answered has its id, and so have the requests that it makes to other hosts.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// The header that names a trace.
pub const HEADER: HeaderName = HeaderName::from_static("traceparent");

/// The flag that says that whoever asks keeps this trace.
const SAMPLED: u8 = 1;

/// One request in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    trace: u128,
    /// The id of this request in it.
    span: u64,
    flags: u8,
    /// Whether the request named the trace.
    pub given: bool,
}

tokio::task_local! {
    static TRACE: Trace;
}

/// The request that is being answered; `None` in work that no request waits for.
pub fn current() -> Option<Trace> {
    TRACE.try_with(|trace| *trace).ok()
}

/// Does the work as a part of this request.
pub fn within<F: Future>(trace: Trace, work: F) -> impl Future<Output = F::Output> {
    TRACE.scope(trace, work)
}

impl Trace {
    /// The request with these headers.
    pub fn of(headers: &HeaderMap) -> Trace {
        let mut stated = headers.get_all(&HEADER).iter();
        match (stated.next().and_then(|value| parent(value.as_bytes())), stated.next()) {
            (Some((trace, flags)), None) => Trace { trace, span: fresh().1, flags, given: true },
            _ => Trace::new(),
        }
    }

    /// A trace that begins here.
    pub fn new() -> Trace {
        let (trace, span) = fresh();
        Trace { trace, span, flags: 0, given: false }
    }

    /// A request that this one makes.
    pub fn child(self) -> Trace {
        Trace { span: fresh().1, ..self }
    }

    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace)
    }

    pub fn span_id(self) -> String {
        format!("{:016x}", self.span)
    }

    /// What the log calls the request: no other one has the same.
    pub fn request(self) -> String {
        format!("{:032x}-{:016x}", self.trace, self.span)
    }

    /// The value of the header.
    pub fn text(self) -> String {
        format!("00-{}-{:02x}", self.request(), self.flags)
    }

    pub fn header(self) -> Option<HeaderValue> {
        HeaderValue::try_from(self.text()).ok()
    }
}

/// Ids that no other request of any process has: a number under a key that each process draws. They are no secrets.
fn fresh() -> (u128, u64) {
    static KEY: LazyLock<u64> = LazyLock::new(|| {
        let mut key = [0; 8];
        // Without randomness ids are those of another process, which harms nobody.
        let _ = getrandom::fill(&mut key);
        u64::from_le_bytes(key)
    });
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed).to_le_bytes();
    // Zero means that there is none.
    (xxh3_128_with_seed(&number, *KEY).max(1), xxh3_64_with_seed(&number, *KEY).max(1))
}

/// Trace and flags of a `traceparent`; `None` of one that is malformed and counts for nothing. A later version may have
/// more behind the flags.
fn parent(text: &[u8]) -> Option<(u128, u8)> {
    let (head, rest) = (text.get(..55)?, text.get(55..)?);
    let text = std::str::from_utf8(head).ok()?;
    let mut parts = text.split('-');
    let mut number = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        let is_lower = part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        is_lower.then(|| u128::from_str_radix(part, 16).ok())?
    };
    let (version, trace, span, flags) = (number(2)?, number(32)?, number(16)?, number(2)?);
    let ends = match version {
        0 => rest.is_empty(),
        0xff => false,
        _ => rest.is_empty() || rest.starts_with(b"-"),
    };
    (ends && trace != 0 && span != 0).then_some((trace, u8::try_from(flags).unwrap_or(0) & SAMPLED))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn of(values: &[&str]) -> Trace {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, HeaderValue::from_str(value).unwrap());
        }
        Trace::of(&headers)
    }

    #[test]
    fn a_request_joins_the_trace_that_it_names_with_a_span_of_its_own() {
        for given in [
            format!("00-{TRACE_ID}-00f067aa0ba902b7-01"),
            format!("cc-{TRACE_ID}-00f067aa0ba902b7-01"),
            format!("cc-{TRACE_ID}-00f067aa0ba902b7-01-what-the-future-will-be-like"),
        ] {
            let trace = of(&[&given]);
            assert!(trace.given, "{given}");
            assert_eq!(trace.trace_id(), TRACE_ID);
            assert_ne!(trace.span_id(), "00f067aa0ba902b7");
            let child = trace.child();
            assert_eq!(child.trace_id(), TRACE_ID);
            assert_eq!(child.text(), format!("00-{TRACE_ID}-{}-01", child.span_id()));
            assert_ne!(child.span_id(), trace.span_id());
        }
    }

    #[test]
    fn a_malformed_or_doubled_header_begins_a_trace() {
        let good = format!("00-{TRACE_ID}-00f067aa0ba902b7-01");
        for given in [
            &[][..],
            &[good.as_str(), good.as_str()],
            &["00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"],
            &["00-00000000000000000000000000000000-00f067aa0ba902b7-01"],
            &["00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"],
            &["ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
            &["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"],
            &["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01."],
            &["00-4bf92f3577b34da6a3ce929d0e0e47360-0f067aa0ba902b7-01"],
            &["00-4bf92f3577b34da6a3ce929d0e0e4736-+0f067aa0ba902b7-01"],
            &["00"],
            &["\u{fc}"],
        ] {
            let trace = of(given);
            assert!(!trace.given, "{given:?}");
            assert_ne!(trace.trace_id(), TRACE_ID);
        }
        assert_ne!(of(&[]).trace_id(), of(&[]).trace_id());
    }
}
