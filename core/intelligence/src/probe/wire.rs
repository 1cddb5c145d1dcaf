//! The rows that probes send, and how they are read.
//!
//! Two deployed clients use different types and words, so a row is read leniently: only a site and a time are required.
//! `isBlocked` and the flags beside it decide what a row means. `blockType` alone decides nothing, since clients also
//! send it with timeouts that they do not call blocking. The confidence and the free texts of the sender decide nothing
//! either.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MAX_ROWS, NODE_PATTERN};
use crate::Timestamp;
use crypto::hash::sha256_of;
use engine::time::{DAY, HOUR};
use facts::measurement::TargetKey;
use facts::measurement::outcome::{Judgement, Outcome};
use facts::measurement::types::{Contribution, Form, Parsed, Witness};
use facts::verdict::{RuleId, Technique};

/// How old a reading may be when it arrives. Clients keep readings for a day while they are offline.
const MAX_AGE: i64 = 2 * DAY;
/// How far ahead of our time the clock of a probe may be.
const CLOCK_AHEAD: i64 = HOUR;

/// Most bytes of the id of a submission.
pub const MAX_SUBMISSION_ID: usize = 128;

/// A submission. Unknown members are ignored.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Submission {
    #[schemars(regex(pattern = NODE_PATTERN))]
    pub node_id: String,
    /// ISO 3166 alpha-2; `XX` or absent when the node does not know.
    #[serde(default)]
    pub node_country: Option<String>,
    /// ISO 8601; for rows that have no time of their own.
    #[serde(default)]
    pub timestamp: Option<String>,
    /// Identifies the submission. A repeated submission with the same id is not stored again.
    #[schemars(length(min = 1, max = MAX_SUBMISSION_ID))]
    pub submission_id: String,
    /// At most 100 rows.
    #[schemars(with = "Vec<ResultRow>", length(max = MAX_ROWS))]
    pub results: Vec<Value>,
}

/// One measurement of a submission.
#[derive(Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResultRow {
    pub target_url: Option<String>,
    pub domain: Option<String>,
    pub success: Option<bool>,
    pub latency_ms: Option<f64>,
    pub http_status: Option<f64>,
    pub is_blocked: Option<bool>,
    /// One of the words that probes use, such as `tcp-reset`.
    pub block_type: Option<String>,
    pub blocking_entity: Option<String>,
    pub sni_blocked: Option<bool>,
    pub dns_poisoned: Option<bool>,
    /// ISO 8601.
    pub timestamp: Option<String>,
}

/// Entities that probes report, each with its class. Other names are not shown, so that our pages never show the text
/// of a stranger.
const ENTITIES: [(&str, &str); 13] = [
    ("Iran Telecommunications Company", "government-mandated"),
    ("Roskomnadzor", "government-direct"),
    ("Great Firewall of China", "government-firewall"),
    ("BTK (Turkey)", "government-mandated"),
    ("CITC (Saudi Arabia)", "government-mandated"),
    ("TRA (UAE)", "government-mandated"),
    ("PTA (Pakistan)", "government-mandated"),
    ("Kominfo (Indonesia)", "government-mandated"),
    ("DoT (India)", "government-mandated"),
    ("Fortinet FortiGuard", "isp-filter"),
    ("Netsweeper", "isp-filter"),
    ("Blue Coat Systems", "isp-filter"),
    ("Cisco Umbrella", "corporate-filter"),
];

/// The known entity with this name, and its class.
pub fn entity(name: &str) -> Option<(&'static str, &'static str)> {
    let own = || {
        let known = facts::starter::signatures::all().iter().find(|known| known.entity == name)?;
        let class = match known.scope {
            facts::starter::signatures::Scope::National => "government-mandated",
            _ => "isp-filter",
        };
        Some((known.entity, class))
    };
    ENTITIES.iter().copied().find(|(known, _)| *known == name).or_else(own)
}

/// The words that probes use for methods of blocking: the word itself, its normal form, its rule and its technique.
/// Where two words mean the same, the first one is the normal form.
const METHODS: [(&str, &str, RuleId, Technique); 19] = [
    ("dns-poison", "dns-poison", RuleId::ProbeDnsDiffers, Technique::DnsInjection),
    ("dns-poisoned", "dns-poison", RuleId::ProbeDnsDiffers, Technique::DnsInjection),
    ("dns-nxdomain", "dns-nxdomain", RuleId::DnsFailureNoControl, Technique::DnsNxdomain),
    ("nxdomain", "dns-nxdomain", RuleId::DnsFailureNoControl, Technique::DnsNxdomain),
    ("dns-timeout", "dns-timeout", RuleId::DnsFailureNoControl, Technique::DnsTimeout),
    ("tcp-reset", "tcp-reset", RuleId::TcpFailureNoControl, Technique::TcpReset),
    ("tcp-refused", "tcp-refused", RuleId::TcpFailureNoControl, Technique::TcpRefused),
    ("tcp-timeout", "tcp-timeout", RuleId::TcpFailureNoControl, Technique::TcpTimeout),
    ("tls-reset", "tls-reset", RuleId::TlsFailureNoControl, Technique::TlsReset),
    ("tls-timeout", "tls-timeout", RuleId::TlsFailureNoControl, Technique::TlsTimeout),
    ("tls-cert-invalid", "tls-cert-invalid", RuleId::TlsFailureNoControl, Technique::TlsMitm),
    ("sni-filtering", "sni-filtering", RuleId::ProbeSni, Technique::TlsResetSni),
    ("http-451", "http-451", RuleId::Http451, Technique::Http451),
    ("http-reset", "http-reset", RuleId::HttpFailureNoControl, Technique::HttpReset),
    ("http-timeout", "http-timeout", RuleId::HttpFailureNoControl, Technique::HttpTimeout),
    ("http-redirect", "http-redirect", RuleId::ProbeRedirect, Technique::HttpRedirect),
    ("redirect", "http-redirect", RuleId::ProbeRedirect, Technique::HttpRedirect),
    ("blockpage", "blockpage", RuleId::ProbeRedirect, Technique::HttpRedirect),
    ("throttling", "throttling", RuleId::NoEvidence, Technique::Throttling),
];

fn method(word: &str) -> Option<usize> {
    METHODS.iter().position(|(known, ..)| *known == word)
}

/// The result of a reading, as lists show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadingStatus {
    Accessible,
    Blocked,
    Other,
}

impl ReadingStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            ReadingStatus::Accessible => "accessible",
            ReadingStatus::Blocked => "blocked",
            ReadingStatus::Other => "unknown",
        }
    }
}

/// One row in normal form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The key of the site.
    pub target: String,
    pub at: Timestamp,
    pub status: ReadingStatus,
    /// Codes of the rule and the technique; technique 0 means none.
    rule: u8,
    technique: u8,
    /// Place of the blocking method in the table of methods, counted from 1; 0 means none.
    method: u8,
    pub latency_ms: Option<u32>,
    pub entity: Option<String>,
    pub sni: bool,
    pub dns: bool,
    pub certificate: bool,
    /// Hash of the row as it was read.
    hash: u32,
}

/// A row that is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

impl Reading {
    /// Reads a row. A row without a time gets `otherwise`, the time of its submission.
    pub fn of(row: &Value, otherwise: Option<Timestamp>, now: Timestamp) -> Result<Reading, Refused> {
        let read = ResultRow::deserialize(row).map_err(|_| Refused)?;
        let url = read.target_url.as_deref().filter(|url| !url.is_empty());
        let named = read.domain.as_deref().filter(|domain| !domain.is_empty());
        let key = |text: &str| TargetKey::from_url(text).map_err(|_| Refused);
        let target = key(named.or(url).ok_or(Refused)?)?;
        if url.is_some_and(|url| key(url).as_ref() != Ok(&target)) {
            return Err(Refused);
        }
        let at = match &read.timestamp {
            Some(text) => Some(Timestamp::parse(text).ok_or(Refused)?),
            None => otherwise,
        };
        let at = at.filter(|at| (-CLOCK_AHEAD..=MAX_AGE).contains(&now.since(*at))).ok_or(Refused)?;
        let https = url.is_none_or(|url| !url.to_ascii_lowercase().starts_with("http://"));
        let (status, rule, technique, method) = judge(&read, https);
        let whole = |value: Option<f64>| value.filter(|n| (0.0..1e9).contains(n)).map(|n| n as u32);
        let [a, b, c, d, ..] = sha256_of(&[row.to_string().as_bytes()]);
        Ok(Reading {
            target: target.as_str().to_owned(),
            at,
            status,
            rule: rule.code(),
            technique: technique.map_or(0, Technique::code),
            method: method.and_then(|place| u8::try_from(place + 1).ok()).unwrap_or(0),
            latency_ms: whole(read.latency_ms),
            entity: read.blocking_entity.as_deref().and_then(entity).map(|(name, _)| name.to_owned()),
            sni: read.sni_blocked == Some(true) || technique == Some(Technique::TlsResetSni),
            dns: read.dns_poisoned == Some(true),
            certificate: technique == Some(Technique::TlsMitm),
            hash: u32::from_be_bytes([a, b, c, d]),
        })
    }

    pub fn blocked(&self) -> bool {
        self.status == ReadingStatus::Blocked
    }

    /// The method of blocking, as a word.
    pub fn method(&self) -> Option<&'static str> {
        let place = usize::from(self.method).checked_sub(1).filter(|_| self.blocked())?;
        METHODS.get(place).map(|(_, normal, ..)| *normal)
    }

    /// The kinds of finding in this reading: SNI, DNS, TCP, TLS, HTTP, certificate.
    pub fn found(&self) -> [bool; 6] {
        let layer = self.method().and_then(|word| word.split('-').next()).unwrap_or_default();
        let is = |name: &str| self.blocked() && layer == name;
        let page = ["blockpage", "throttling"].iter().any(|name| is(name));
        [self.sni, self.dns || is("dns"), is("tcp"), is("tls"), is("http") || page, self.certificate]
    }

    /// The reading as a measurement for its country.
    pub fn parsed(&self, node: &str, country: &str, asn: Option<u32>) -> Option<Parsed> {
        let judgement =
            Judgement { rule: RuleId::from_code(self.rule)?, technique: Technique::from_code(self.technique) };
        let [a, b, ..] = country.as_bytes() else { return None };
        let identity =
            sha256_of(&[b"probe\0", node.as_bytes(), b"\0", self.target.as_bytes(), &self.at.seconds().to_be_bytes()]);
        Some(Parsed {
            country: [*a, *b],
            asn,
            time: self.at,
            identity: *identity.first_chunk()?,
            form: Form::Raw,
            vote_key: super::vote_key(node),
            row_hash: self.hash,
            contributions: vec![Contribution {
                target: TargetKey::from_stored(self.target.clone()),
                outcome: Outcome::Judged(judgement),
            }],
            primary: Some(0),
            // No page shows single measurements of volunteers.
            witness: Witness::Report { report_id: String::new(), input: None },
        })
    }
}

type RowJudgement = (ReadingStatus, RuleId, Option<Technique>, Option<usize>);

fn judge(row: &ResultRow, https: bool) -> RowJudgement {
    let (sni, dns) = (row.sni_blocked == Some(true), row.dns_poisoned == Some(true));
    if row.is_blocked == Some(true) || sni || dns {
        return blocked(row, https, sni, dns);
    }
    let answered = row.http_status.is_some_and(|status| (100.0..600.0).contains(&status));
    // The row names a method but does not claim a block: a timeout of a slow site rather than blocking.
    if row.block_type.is_some() || !(row.success == Some(true) || answered) {
        return (ReadingStatus::Other, RuleId::NoEvidence, None, None);
    }
    let rule = if https { RuleId::TlsValid } else { RuleId::HttpAnswered };
    (ReadingStatus::Accessible, rule, None, None)
}

fn blocked(row: &ResultRow, https: bool, sni: bool, dns: bool) -> RowJudgement {
    let said = row.block_type.as_deref().and_then(method);
    let place =
        if sni { method("sni-filtering") } else { said.or_else(|| dns.then(|| method("dns-poison")).flatten()) };
    if row.blocking_entity.as_deref().and_then(entity).is_some() {
        // The entity that blocks is known. The technique is known where the probe states it.
        let said = place.and_then(|place| METHODS.get(place)).map(|(.., technique)| *technique);
        let technique = said.unwrap_or(Technique::HttpBlockpage);
        return (ReadingStatus::Blocked, RuleId::ProbeBlockpage, Some(technique), place.or(method("blockpage")));
    }
    let Some((.., rule, technique)) = place.and_then(|place| METHODS.get(place)) else {
        return (ReadingStatus::Blocked, RuleId::NoEvidence, None, None);
    };
    match rule {
        // With a valid certificate the site itself gives this answer.
        RuleId::Http451 if https => (ReadingStatus::Blocked, RuleId::HttpChallenge, None, place),
        rule => (ReadingStatus::Blocked, *rule, Some(*technique), place),
    }
}
