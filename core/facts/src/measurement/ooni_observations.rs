//! Rows of the `obs_web` table as CSV: one row per measurement and endpoint, columns by header.
//!
//! The rows of one measurement are neither together nor unique. Each row becomes the facts of one attempt, and the fold
//! merges them later. The parser keeps only its buffers between rows.

use std::io::BufRead;

use csv::ByteRecord;

use super::domain::{Service, TargetKey, host_of, is_ip_literal, port_of};
use super::facts::{Attempt, Step, telegram_bit};
use super::failure::Failure;
use super::fingerprints::Fingerprints;
use super::instrument::{Client, Standing};
use super::outcome::{Outcome, flag};
use super::rows::Rows;
use super::services::main_series;
use super::types::{Contribution, Form, ImportCounts, ImportError, Parsed, Rejection, Witness, identity, vote_key};
use crate::Timestamp;

/// Reads a stream of rows; `sink` gets every usable one. `limit` bounds the inflated bytes.
pub fn import(
    reader: &mut dyn BufRead,
    limit: u64,
    fingerprints: &Fingerprints,
    sink: &mut dyn FnMut(Parsed),
) -> Result<ImportCounts, ImportError> {
    let mut counts = ImportCounts::default();
    let mut rows = Rows::open(reader, limit)?;
    let mut record = ByteRecord::new();
    if !rows.next(&mut record, &mut counts)? {
        return Ok(counts);
    }
    let columns = Columns::resolve(&record)?;
    while rows.next(&mut record, &mut counts)? {
        counts.take(columns.parse(&record, fingerprints), sink);
    }
    Ok(counts)
}

macro_rules! columns {
    ($($name:ident),+ $(,)?) => {
        /// Positions of the columns that are read; `usize::MAX` for one that the file lacks.
        struct Columns { $($name: usize,)+ }

        impl Columns {
            fn from_header(header: &ByteRecord) -> Columns {
                let mut columns = Columns { $($name: usize::MAX,)+ };
                for (index, name) in header.iter().enumerate() {
                    match super::input::strip_bom(name).trim_ascii() {
                        $(name if name.eq_ignore_ascii_case(stringify!($name).as_bytes()) => columns.$name = index,)+
                        _ => {}
                    }
                }
                columns
            }
        }
    };
}

columns!(
    test_name,
    report_id,
    input,
    measurement_uid,
    measurement_start_time,
    probe_cc,
    probe_asn,
    resolver_asn,
    platform,
    test_version,
    engine_version,
    software_name,
    software_version,
    hostname,
    tls_server_name,
    ip,
    port,
    dns_engine,
    dns_failure,
    dns_answer,
    tcp_success,
    tcp_failure,
    tls_success,
    tls_failure,
    tls_is_certificate_valid,
    http_request_url,
    http_failure,
    probe_analysis,
);

impl Columns {
    fn resolve(header: &ByteRecord) -> Result<Columns, ImportError> {
        let columns = Columns::from_header(header);
        let required = [
            ("test_name", columns.test_name),
            ("report_id", columns.report_id),
            ("measurement_start_time", columns.measurement_start_time),
            ("probe_cc", columns.probe_cc),
        ];
        let missing: Vec<&'static str> =
            required.iter().filter(|(_, index)| *index == usize::MAX).map(|(name, _)| *name).collect();
        if missing.is_empty() { Ok(columns) } else { Err(ImportError::MissingColumns(missing)) }
    }

    fn parse(&self, row: &ByteRecord, fingerprints: &Fingerprints) -> Result<Parsed, Rejection> {
        let text = |index: usize| text_at(row, index);
        let test = text(self.test_name);
        let test = Test::from_name(test).ok_or(if test.is_empty() {
            Rejection::Refused("no_test_name")
        } else {
            Rejection::Unsupported("unsupported_test")
        })?;
        let time = Timestamp::parse(text(self.measurement_start_time)).ok_or(Rejection::Refused("bad_time"))?;
        let country = country(text(self.probe_cc))?;
        let report_id = text(self.report_id);
        if report_id.is_empty() {
            return Err(Rejection::Unusable("no_report_id"));
        }
        let input = text(self.input);
        let client = self.client(row);
        let (target, mut attempt, pool) =
            self.attempt(test, test.service().map_or(Standing::Sound, |service| client.standing(service, time)), row)?;
        attempt.dns_fingerprint = fingerprints.confirms_answer(attempt.dns_answer, country);
        let mut facts = attempt.facts();
        facts.flags |= analysis_flag(text(self.probe_analysis)) | if pool { flag::POOL } else { 0 };
        let primary = test.is_primary(&target, input).then_some(0);
        let fault = test.service().and_then(|service| client.fault(service, &target, time));
        let uid = text(self.measurement_uid);
        Ok(Parsed {
            country,
            asn: Some(number(text(self.probe_asn))).filter(|asn| *asn != 0),
            time,
            identity: identity(test.name().as_bytes(), report_id.as_bytes(), input.as_bytes(), time),
            form: Form::Observation,
            vote_key: vote_key(
                number(text(self.resolver_asn)),
                text(self.platform).as_bytes(),
                text(self.software_version).as_bytes(),
            ),
            row_hash: row_hash(row),
            contributions: vec![Contribution { target, outcome: fault.unwrap_or(Outcome::Endpoints(facts)) }],
            primary,
            witness: if uid.is_empty() {
                Witness::Report {
                    report_id: report_id.to_owned(),
                    input: (!input.is_empty()).then(|| input.to_owned()),
                }
            } else {
                Witness::Uid(uid.to_owned())
            },
        })
    }

    fn client<'r>(&self, row: &'r ByteRecord) -> Client<'r> {
        Client {
            test_version: text_at(row, self.test_version),
            engine_version: text_at(row, self.engine_version),
            software_name: text_at(row, self.software_name),
            software_version: text_at(row, self.software_version),
        }
    }

    /// The target of a row, the attempt it describes, and whether the target is a pool.
    fn attempt<'r>(
        &self,
        test: Test,
        standing: Standing,
        row: &'r ByteRecord,
    ) -> Result<(TargetKey, Attempt<'r>, bool), Rejection> {
        let text = |index: usize| text_at(row, index);
        let url = text(self.http_request_url);
        let (ip, hostname) = (text(self.ip), text(self.hostname));
        let host = if hostname.is_empty() { host_of(url) } else { hostname };
        // A request to an address instead of a name is a request to that endpoint.
        let by_address = host.is_empty() || is_ip_literal(host);
        let endpoint = if ip.is_empty() && by_address { host } else { ip };
        let port = match number(text(self.port)) {
            0 => port_of(url).unwrap_or(0),
            port => u16::try_from(port).unwrap_or(0),
        };
        let (target, pool) = test.target(host, by_address, !url.is_empty())?;
        let dns_answer = text(self.dns_answer);
        let resolved = !dns_answer.is_empty() || (!ip.is_empty() && !text(self.dns_engine).is_empty());
        let tls = match Step::from_columns(is_true(text(self.tls_success)), text(self.tls_failure)) {
            Step::Ok if is_false(text(self.tls_is_certificate_valid)) => Step::Failed(Failure::Certificate),
            step => believed(standing, step),
        };
        let server = text(self.tls_server_name);
        let attempt = Attempt {
            ip: endpoint,
            port,
            name: if !pool {
                ""
            } else if server.is_empty() {
                host
            } else {
                server
            },
            url,
            dns: Step::from_columns(resolved, text(self.dns_failure)),
            dns_answer,
            dns_fingerprint: false,
            tcp: Step::from_columns(is_true(text(self.tcp_success)), text(self.tcp_failure)),
            tls,
            http: believed(standing, Step::from_columns(!url.is_empty(), text(self.http_failure))),
            bit: if test == Test::Service(Service::Telegram) && pool { telegram_bit(endpoint, port) } else { None },
        };
        Ok((target, attempt, pool))
    }
}

/// A test whose rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    WebConnectivity,
    Service(Service),
}

impl Test {
    fn from_name(name: &str) -> Option<Test> {
        match name {
            "web_connectivity" => Some(Test::WebConnectivity),
            "telegram" => Some(Test::Service(Service::Telegram)),
            "whatsapp" => Some(Test::Service(Service::Whatsapp)),
            "signal" => Some(Test::Service(Service::Signal)),
            "facebook_messenger" => Some(Test::Service(Service::FacebookMessenger)),
            "tor" => Some(Test::Service(Service::Tor)),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Test::WebConnectivity => "web_connectivity",
            Test::Service(service) => service.name(),
        }
    }

    fn service(self) -> Option<Service> {
        match self {
            Test::WebConnectivity => None,
            Test::Service(service) => Some(service),
        }
    }

    /// True if a series is the one that the test set out to measure.
    fn is_primary(self, target: &TargetKey, input: &str) -> bool {
        match self {
            Test::WebConnectivity => TargetKey::from_url(input).is_ok_and(|key| key == *target),
            Test::Service(service) => *target == main_series(service, service.name(), input),
        }
    }

    /// The series of a row, and whether it is a pool of equal endpoints.
    fn target(self, host: &str, by_address: bool, http: bool) -> Result<(TargetKey, bool), Rejection> {
        let domain = |host: &str| TargetKey::from_host(host).map_err(|error| Rejection::Unusable(error.reason()));
        match self {
            Test::WebConnectivity => domain(host).map(|key| (key, false)),
            Test::Service(service) => match service_role(service, host, by_address, http) {
                Some(role) => Ok((TargetKey::service(service, role), true)),
                None => domain(host).map(|key| (key, false)),
            },
        }
    }
}

fn believed(standing: Standing, step: Step) -> Step {
    match step {
        Step::Failed(failure) => Step::Failed(standing.believed(failure)),
        step => step,
    }
}

/// The role of a host in a service test; `None` for the web site of the service.
pub fn service_role(service: Service, host: &str, by_address: bool, http: bool) -> Option<&'static str> {
    match service {
        Service::Telegram if by_address => Some("pool"),
        Service::Whatsapp if host == "v.whatsapp.net" => Some("registration"),
        Service::Whatsapp if by_address || host.ends_with(".whatsapp.net") => Some("pool"),
        Service::Signal if by_address || host.ends_with(".signal.org") || host.ends_with(".whispersystems.org") => {
            Some("backend")
        }
        Service::FacebookMessenger => Some("endpoints"),
        Service::Tor if http => Some("directory"),
        Service::Tor => Some("or_port"),
        _ => None,
    }
}

/// OONI's own comparison as a flag (`probe_analysis`, or `blocking` of the test).
fn analysis_flag(analysis: &str) -> u32 {
    match analysis {
        "false" | "False" => flag::ANALYSIS_CLEAR,
        "dns" => flag::ANALYSIS_DNS,
        "tcp_ip" => flag::ANALYSIS_TCP,
        "http-diff" => flag::ANALYSIS_HTTP_DIFF,
        "http-failure" => flag::ANALYSIS_HTTP_FAILURE,
        _ => 0,
    }
}

/// A country code, or the reason why the row is of no use.
pub fn country(text: &str) -> Result<[u8; 2], Rejection> {
    match text.as_bytes() {
        [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => {
            let code = [a.to_ascii_uppercase(), b.to_ascii_uppercase()];
            if &code == b"ZZ" { Err(Rejection::Unusable("country_withheld")) } else { Ok(code) }
        }
        _ => Err(Rejection::Refused("bad_country")),
    }
}

/// A non-negative integer: plain, with a fraction ("443.0") or after "AS"; 0 for anything else.
pub fn number(text: &str) -> u32 {
    let digits = text.strip_prefix("AS").unwrap_or(text);
    digits.split('.').next().and_then(|whole| whole.parse().ok()).unwrap_or(0)
}

fn is_true(text: &str) -> bool {
    matches!(text, "1" | "1.0" | "true" | "True" | "t")
}

fn is_false(text: &str) -> bool {
    matches!(text, "0" | "0.0" | "false" | "False" | "f")
}

fn text_at(row: &ByteRecord, index: usize) -> &str {
    row.get(index).and_then(|bytes| std::str::from_utf8(bytes).ok()).map_or("", str::trim)
}

/// Hash of all fields. It includes the lengths of the fields, so that a moved border changes it.
fn row_hash(row: &ByteRecord) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(row.as_slice());
    for field in row {
        hash.update(&u32::try_from(field.len()).unwrap_or(u32::MAX).to_le_bytes());
    }
    hash.finalize()
}
