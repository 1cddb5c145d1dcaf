//! Censored Planet: lines of Hyperquack v2 and of Satellite v2 in both layouts.
//!
//! Vantage points are servers and resolvers in data centres, measured from outside. Their addresses may still belong to
//! persons, so they are only hashed to tell measurements apart, and are not kept (decision addresses-discarded). A line
//! is unusable if its controls failed, its authors excluded it, or it has nothing to be compared with. A line without
//! an AS number speaks for the country, at half the weight of a network (decision country-of-networks).
//!
//! Every answer of a server is described as `stage/class`, the vocabulary of the source, and judged by that.

use std::borrow::Cow;
use std::io::BufRead;

use serde_json::Value;

use super::domain::TargetKey;
use super::failure::Failure;
use super::fingerprints::Fingerprints;
use super::guards;
use super::input::each_line;
use super::json::{self, number_of, text_of};
use super::ooni_fastpath::asn;
use super::ooni_observations::country;
use super::outcome::{Judgement, Outcome};
use super::page;
use super::types::{Contribution, Form, ImportCounts, ImportError, Parsed, Rejection, Witness, identity, vote_key};
use crate::Timestamp;
use crate::verdict::rules::RuleId;
use crate::verdict::technique::Technique;
use engine::bogon::is_bogon;
use engine::moment::go_time;

/// Reads a stream of lines; `sink` gets every usable one. `limit` bounds the inflated bytes.
pub fn import(
    reader: &mut dyn BufRead,
    limit: u64,
    fingerprints: &Fingerprints,
    sink: &mut dyn FnMut(Parsed),
) -> Result<ImportCounts, ImportError> {
    each_line(reader, limit, &mut |counts, line| match line.trim_ascii() {
        b"" => {}
        text => counts.take(parse(text, fingerprints), sink),
    })
}

/// The stage that an exchange reached, in the words of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Setup,
    Dial,
    Tls,
    Write,
    Read,
    Http,
    Content,
}

impl Stage {
    fn parse(text: &str) -> Option<Stage> {
        // Exports put a symbol before the word.
        let word = text.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        Some(match word {
            "setup" => Stage::Setup,
            "dial" => Stage::Dial,
            "tls" => Stage::Tls,
            "write" => Stage::Write,
            "read" => Stage::Read,
            "http" => Stage::Http,
            "content" => Stage::Content,
            _ => return None,
        })
    }
}

/// The end of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Match,
    Failed(Failure),
    /// The content differs from the template.
    Mismatch,
    /// A known block page of this country.
    Blockpage,
    /// A page that is known to be mistaken for a block page, or that is the site's own.
    Trusted,
    System,
}

impl Class {
    fn parse(text: &str) -> Class {
        match text.split(':').next().unwrap_or("") {
            "match" => Class::Match,
            "timeout" => Class::Failed(Failure::Timeout),
            "tcp.reset" => Class::Failed(Failure::Reset),
            "tcp.refused" => Class::Failed(Failure::Refused),
            "tls.failed" => Class::Failed(Failure::Handshake),
            "http.empty" | "http.truncated_response" | "http.invalid" => Class::Failed(Failure::Eof),
            "ip.network_unreachable" | "ip.host_no_route" => Class::Failed(Failure::Local),
            "blockpage" => Class::Blockpage,
            "trusted_host" => Class::Trusted,
            class if class.ends_with("mismatch") => Class::Mismatch,
            "system_failure" => Class::System,
            _ => Class::Failed(Failure::Other),
        }
    }
}

/// Judges the outcome of one measurement over a service.
fn judge(service: &str, stage: Stage, class: Class) -> Judgement {
    let judged = |rule, technique| Judgement { rule, technique };
    match (stage, class) {
        (_, Class::Match) => judged(RuleId::RemoteMatch, None),
        (_, Class::Trusted) => judged(RuleId::HttpChallenge, None),
        (_, Class::System) | (Stage::Setup | Stage::Dial, _) => judged(RuleId::LocalFault, None),
        (_, Class::Failed(Failure::Local | Failure::Other | Failure::SiteFault)) => judged(RuleId::LocalFault, None),
        (_, Class::Blockpage) => judged(RuleId::HttpFingerprint, Some(Technique::HttpBlockpage)),
        // Echo and discard servers have no pages of their own, so something on the path sent the answer.
        (_, Class::Mismatch) if matches!(service, "echo" | "discard") => {
            judged(RuleId::HttpDiff, Some(Technique::HttpBlockpage))
        }
        (_, Class::Mismatch) => judged(RuleId::HttpDiffUnchecked, Some(Technique::HttpBlockpage)),
        (_, Class::Failed(failure)) if stage == Stage::Tls || service == "https" => match failure {
            Failure::Reset => judged(RuleId::TlsReset, Some(Technique::TlsReset)),
            Failure::Timeout => judged(RuleId::TlsOther, Some(Technique::TlsTimeout)),
            Failure::Eof => judged(RuleId::TlsOther, Some(Technique::TlsEof)),
            _ => judged(RuleId::TlsOther, Some(Technique::Tls)),
        },
        (_, Class::Failed(failure)) => {
            let technique = match failure {
                Failure::Reset => Technique::HttpReset,
                Failure::Timeout => Technique::HttpTimeout,
                Failure::Eof => Technique::HttpEof,
                _ => Technique::Http,
            };
            judged(RuleId::HttpFailure, Some(technique))
        }
    }
}

/// The parts of a usable line.
struct UsableLine {
    /// `hyperquack-http`, `satellite`.
    test: String,
    start: Timestamp,
    judgement: Judgement,
}

fn flag(value: &Value, name: &str) -> Option<bool> {
    value.get(name).and_then(Value::as_bool)
}

fn parse(line: &[u8], fingerprints: &Fingerprints) -> Result<Parsed, Rejection> {
    let value = json::parse(line).ok_or(Rejection::Refused("bad_json"))?;
    if !value.is_object() {
        return Err(Rejection::Refused("not_an_object"));
    }
    if ["vp", "test_url", "location"].iter().any(|name| value.get(name).is_none()) {
        // Pages, controls and tags are in files of their own.
        let others = ["keyword", "fetched", "asnum", "resolver", "name", "ip", "location", "passed_control"];
        let known = others.iter().any(|name| value.get(name).is_some());
        return Err(if known { Rejection::Unsupported("not_a_result") } else { Rejection::Refused("no_target") });
    }
    let location = value.get("location").unwrap_or(&Value::Null);
    let country = country(text_of(location, "country_code"))?;
    let said = if value.get("service").is_some() || value.get("controls_failed").is_some() {
        hyperquack(&value, country, fingerprints)?
    } else {
        satellite(&value, country, fingerprints)?
    };
    let url = text_of(&value, "test_url");
    let target = TargetKey::from_url(url).map_err(|error| Rejection::Unusable(error.reason()))?;
    let vantage = text_of(&value, "vp");
    let network = ["asn", "asnum"].iter().map(|name| location.get(name).map_or(0, asn)).find(|asn| *asn != 0);
    let mut hidden = Vec::from(vantage.as_bytes());
    hidden.extend(said.test.as_bytes());
    Ok(Parsed {
        country,
        asn: network,
        time: said.start,
        identity: identity(said.test.as_bytes(), &hidden, url.as_bytes(), said.start),
        form: Form::Raw,
        // Each vantage point votes for itself; the source names no software.
        vote_key: vote_key(crc32fast::hash(vantage.as_bytes()).max(1), b"", b""),
        row_hash: crc32fast::hash(line),
        contributions: vec![Contribution { target, outcome: Outcome::Judged(said.judgement) }],
        primary: Some(0),
        witness: Witness::Report {
            report_id: format!("censoredplanet-{}-{}", said.test, said.start.to_date_text()),
            input: Some(url.to_owned()),
        },
    })
}

fn hyperquack(value: &Value, country: [u8; 2], fingerprints: &Fingerprints) -> Result<UsableLine, Rejection> {
    let service = text_of(value, "service");
    if flag(value, "controls_failed") == Some(true) {
        return Err(Rejection::Unusable("controls_failed"));
    }
    let responses = || value.get("response").and_then(Value::as_array).into_iter().flatten();
    let start = responses().map(|response| text_of(response, "start_time")).find(|time| !time.is_empty());
    let start = go_time(start.unwrap_or_else(|| text_of(value, "tag"))).ok_or(Rejection::Refused("bad_time"))?;
    let said = |judgement| UsableLine { test: format!("hyperquack-{service}"), start, judgement };
    if let Some((stage, class)) = text_of(value, "outcome").split_once('/') {
        let stage = Stage::parse(stage).ok_or(Rejection::Unusable("unknown_outcome"))?;
        return Ok(said(judge(service, stage, Class::parse(class))));
    }
    let tests: Vec<&Value> = responses().filter(|response| text_of(response, "control_url").is_empty()).collect();
    if tests.is_empty() {
        return Err(Rejection::Unusable("nothing_measured"));
    }
    // The source tries again until an answer matches, so one match means that the site itself answered.
    if tests.iter().any(|test| flag(test, "matches_template") == Some(true)) {
        return Ok(said(judge(service, Stage::Content, Class::Match)));
    }
    let outcomes: Vec<Judgement> = tests
        .iter()
        .map(|test| {
            let (stage, class) = exchange(test, country, fingerprints);
            judge(service, stage, class)
        })
        .collect();
    // The strongest try counts, so that their order does not matter.
    let strongest = outcomes.into_iter().max_by(|a, b| {
        let rank = |judgement: &Judgement| (judgement.rule.rule().log10_lr, judgement.rule.code());
        rank(a).0.total_cmp(&rank(b).0).then(rank(a).1.cmp(&rank(b).1))
    });
    strongest.map(said).ok_or(Rejection::Unusable("nothing_measured"))
}

/// Classifies one exchange that did not match.
fn exchange(test: &Value, country: [u8; 2], fingerprints: &Fingerprints) -> (Stage, Class) {
    let error = text_of(test, "error");
    if !error.is_empty() && error != "null" {
        let stage = match error.split([' ', ':']).next() {
            Some("dial") => Stage::Dial,
            Some("write") => Stage::Write,
            _ if error.contains("tls") || error.contains("x509") => Stage::Tls,
            _ => Stage::Read,
        };
        return (stage, Class::Failed(Failure::parse(error).unwrap_or(Failure::Other)));
    }
    let response = test.get("response").unwrap_or(&Value::Null);
    let headers = page::headers(response);
    let header = |name: &str| {
        headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_ref())
    };
    let whole = match response {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        response => {
            let body = response.get("body").unwrap_or(&Value::Null);
            page::text(body, header("content-type")).unwrap_or_default()
        }
    };
    let found = fingerprints.page(&whole, &header, country);
    let guarded = guards::look(&header, &whole);
    let nothing = match response {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    let class = match nothing {
        true => Class::Failed(Failure::Eof),
        false if found.false_positive => Class::Trusted,
        false if found.confirms(guarded, false) => Class::Blockpage,
        false if guarded.said || found.confirmed.is_some() => Class::Trusted,
        false => Class::Mismatch,
    };
    (Stage::Content, class)
}

fn satellite(value: &Value, country: [u8; 2], fingerprints: &Fingerprints) -> Result<UsableLine, Rejection> {
    let start = go_time(text_of(value, "start_time")).ok_or(Rejection::Refused("bad_time"))?;
    if flag(value, "excluded") == Some(true) {
        return Err(Rejection::Unusable("excluded"));
    }
    let passed = flag(value, "passed_liveness").or(flag(value, "passed_control"));
    if passed == Some(false) {
        return Err(Rejection::Unusable("controls_failed"));
    }
    if flag(value, "connect_error") == Some(true) {
        return Err(Rejection::Unusable("connect_error"));
    }
    let confidence = value.get("confidence").unwrap_or(&Value::Null);
    if flag(value, "in_control_group") == Some(false) || flag(confidence, "untagged_controls") == Some(true) {
        return Err(Rejection::Unusable("no_control"));
    }
    let said = |rule, technique| {
        Ok(UsableLine { test: "satellite".to_owned(), start, judgement: Judgement { rule, technique } })
    };
    let answer = ResolverAnswer::read(value);
    let confirmed = answer.addresses.iter().any(|address| fingerprints.confirms_answer(address, country));
    match flag(value, "anomaly") {
        None => Err(Rejection::Unusable("nothing_measured")),
        Some(false) => said(RuleId::RemoteMatch, None),
        Some(true) if confirmed => said(RuleId::DnsFingerprint, Some(Technique::DnsInjectionBlockpage)),
        Some(true) if answer.addresses.iter().any(|address| is_bogon(address)) => {
            said(RuleId::DnsBogon, Some(Technique::DnsInjectionBogon))
        }
        Some(true) if !answer.addresses.is_empty() => said(RuleId::DnsUnmatched, Some(Technique::DnsInjection)),
        Some(true) => match answer.rcode {
            Some(3) => said(RuleId::DnsFailure, Some(Technique::DnsNxdomain)),
            Some(0) => said(RuleId::DnsFailure, Some(Technique::DnsNoAnswer)),
            Some(code) if code > 0 => said(RuleId::DnsFailure, Some(Technique::DnsRefused)),
            Some(_) => said(RuleId::DnsFailure, Some(Technique::DnsTimeout)),
            None => Err(Rejection::Unusable("nothing_measured")),
        },
    }
}

/// The final answer of the resolver.
#[derive(Default)]
struct ResolverAnswer {
    addresses: Vec<String>,
    /// -1 if the resolver did not answer.
    rcode: Option<i64>,
}

impl ResolverAnswer {
    fn read(value: &Value) -> ResolverAnswer {
        let mut answer = ResolverAnswer::default();
        match value.get("response") {
            // Newer layout: one object per try.
            Some(Value::Array(tries)) => {
                let of_target = tries.iter().filter(|one| text_of(one, "url") == text_of(value, "test_url"));
                for one in of_target {
                    answer.rcode = number_of(one, "rcode").map(|code| code as i64).max(answer.rcode);
                    let members = one.get("response").and_then(Value::as_object).into_iter().flatten();
                    answer.addresses.extend(members.map(|(address, _)| address.clone()));
                }
            }
            // Older layout: addresses, errors and codes side by side.
            Some(Value::Object(members)) => {
                for (name, inside) in members {
                    match name.as_str() {
                        "error" => {}
                        "rcode" => {
                            let codes = inside.as_array().into_iter().flatten();
                            let number = |code: &Value| code.as_i64().or_else(|| code.as_str()?.parse().ok());
                            answer.rcode = codes.filter_map(number).max();
                        }
                        address => answer.addresses.push(address.to_owned()),
                    }
                }
            }
            _ => {}
        }
        answer
    }
}
