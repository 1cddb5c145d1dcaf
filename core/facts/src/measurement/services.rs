//! Raw documents of the service tests: messengers, Tor, VPNs, Psiphon.
//!
//! If a document lists its attempts, they become endpoint facts, as from observation rows. If it holds only the test's
//! own conclusion, the conclusion counts. None of these tests has a control, so failures need peers (decision
//! controls-from-peers).

use std::collections::BTreeMap;

use serde_json::Value;

use super::domain::{Service, TargetKey, host_of, is_ip_literal, normal_host};
use super::facts::{Attempt, Step, telegram_bit};
use super::failure::Failure;
use super::instrument::Standing;
use super::ooni_document::Document;
use super::ooni_observations::service_role;
use super::outcome::{EndpointSet, Judgement, Outcome, flag};
use super::types::Contribution;
use super::web_document::{array, failure_at, port_at, text_at, url_port};
use crate::verdict::rules::RuleId;
use crate::verdict::technique::Technique;

/// True for a test that [`judge`] reads.
pub fn is_supported(test_name: &str) -> bool {
    service_of(test_name).is_some()
}

/// The service that a test is about.
pub fn service_of(test_name: &str) -> Option<Service> {
    match test_name {
        "vanilla_tor" | "torsf" => Some(Service::Tor),
        name => Service::from_name(name).filter(|service| service.name() == name),
    }
}

/// The series that a test of a service is about, if its source names no roles: the main one, or one that the test or
/// its input names.
pub fn main_series(service: Service, test_name: &str, input: &str) -> TargetKey {
    match test_name {
        "torsf" => TargetKey::service(Service::Tor, "snowflake"),
        // This test starts no client: it only connects.
        "tor" => TargetKey::service(Service::Tor, "or_port"),
        "openvpn" => openvpn_series(input.strip_prefix("vpn://").and_then(|rest| rest.split(['/', '?']).next())),
        _ => service.main_key(),
    }
}

/// `openvpn.riseup` and `riseup` are the same provider.
fn openvpn_series(provider: Option<&str>) -> TargetKey {
    let provider = provider.map_or("", |provider| provider.trim_start_matches("openvpn.").trim_end_matches(".corp"));
    let role = Service::Openvpn.endpoint_roles().iter().find(|role| provider.eq_ignore_ascii_case(role));
    role.map_or_else(|| Service::Openvpn.main_key(), |role| TargetKey::service(Service::Openvpn, role))
}

/// The statements of a document about the roles of its service; empty if it measured nothing.
pub fn judge(document: &Document) -> Vec<Contribution> {
    let keys = &document.test_keys;
    let service = match service_of(&document.test_name) {
        Some(service) => service,
        None => return Vec::new(),
    };
    match service {
        Service::Tor if document.test_name == "vanilla_tor" => vanilla_tor(keys),
        Service::Tor if document.test_name == "torsf" => torsf(keys),
        Service::Tor => tor(keys),
        Service::Openvpn => openvpn(document),
        Service::Riseupvpn => riseupvpn(keys),
        Service::Psiphon => psiphon(keys),
        _ => {
            let client = document.client();
            let standing = client.standing(service, document.time);
            let mut found = attempts(service, keys, standing);
            conclusions(service, keys, standing, &mut found);
            let found = found.into_iter().map(|(target, outcome)| {
                let outcome = client.fault(service, &target, document.time).unwrap_or(outcome);
                Contribution { target, outcome }
            });
            found.collect()
        }
    }
}

/// What was found about each series.
type SeriesOutcomes = BTreeMap<TargetKey, Outcome>;

fn judged(target: TargetKey, rule: RuleId) -> Vec<Contribution> {
    vec![Contribution { target, outcome: Outcome::Judged(Judgement { rule, technique: None }) }]
}

/// The series of a host in a service test, and whether it is a pool.
fn series(service: Service, host: &str) -> Option<(TargetKey, bool)> {
    let by_address = host.is_empty() || is_ip_literal(host);
    match service_role(service, host, by_address, false) {
        Some(role) => Some((TargetKey::service(service, role), true)),
        None => TargetKey::from_host(host).ok().map(|key| (key, false)),
    }
}

/// The facts of all attempts by series.
fn attempts(service: Service, keys: &Value, standing: Standing) -> SeriesOutcomes {
    let mut collector = Collector { service, standing, found: SeriesOutcomes::new(), names: BTreeMap::new() };
    collector.lookups(keys);
    collector.connects(keys);
    collector.handshakes(keys);
    collector.requests(keys);
    collector.found
}

struct Collector<'a> {
    service: Service,
    standing: Standing,
    found: SeriesOutcomes,
    /// For each address, the name that was looked up.
    names: BTreeMap<&'a str, String>,
}

impl<'a> Collector<'a> {
    fn add(&mut self, host: &str, attempt: Attempt<'_>) {
        if let Some((target, pool)) = series(self.service, host) {
            let mut facts = attempt.facts();
            facts.flags |= if pool { flag::POOL } else { 0 };
            let known = self.found.entry(target).or_insert(Outcome::Endpoints(EndpointSet::default()));
            *known = known.merge(Outcome::Endpoints(facts));
        }
    }

    /// The fixed bit of an endpoint, if the service has a list of endpoints.
    fn bit(&self, ip: &str, port: u16) -> Option<u16> {
        if self.service == Service::Telegram { telegram_bit(ip, port) } else { None }
    }

    fn lookups(&mut self, keys: &'a Value) {
        for query in array(keys, "queries") {
            let Ok(host) = normal_host(text_at(query, "hostname")) else { continue };
            let mut answers = 0;
            for answer in array(query, "answers") {
                for ip in [text_at(answer, "ipv4"), text_at(answer, "ipv6")].into_iter().filter(|ip| !ip.is_empty()) {
                    answers += 1;
                    self.names.insert(ip, host.clone().into_owned());
                    self.add(&host, Attempt { dns: Step::Ok, dns_answer: ip, ..Attempt::default() });
                }
            }
            // One address family without an answer is no failure of the name.
            if let (0, Some(failure)) = (answers, failure_at(query, "failure"))
                && failure != Failure::NoAnswer
            {
                self.add(&host, Attempt { dns: Step::Failed(failure), ..Attempt::default() });
            }
        }
    }

    fn connects(&mut self, keys: &'a Value) {
        for connect in array(keys, "tcp_connect") {
            let (ip, port) = (text_at(connect, "ip"), port_at(connect));
            let status = connect.get("status").unwrap_or(&Value::Null);
            let success = status.get("success").and_then(Value::as_bool) == Some(true);
            let tcp = match failure_at(status, "failure") {
                Some(failure) => Step::Failed(failure),
                // If there was a handshake with the same endpoint, it shows more than the connection.
                None if success && !shaken(keys, ip, port) => Step::Ok,
                None => continue,
            };
            let bit = self.bit(ip, port);
            // Old documents have no lookups. A Telegram address outside of the pool then belongs to the web site.
            let host = match self.names.get(ip) {
                Some(host) => host.clone(),
                None if self.service == Service::Telegram && bit.is_none() => "web.telegram.org".to_owned(),
                None => String::new(),
            };
            self.add(&host, Attempt { ip, port, tcp, bit, ..Attempt::default() });
        }
    }

    fn handshakes(&mut self, keys: &'a Value) {
        for tls in array(keys, "tls_handshakes") {
            let host = normal_host(text_at(tls, "server_name")).unwrap_or_default();
            let address = text_at(tls, "address");
            let ip = address.rsplit_once(':').map_or(host.as_ref(), |(ip, _)| ip.trim_matches(['[', ']']));
            let step = failure_at(tls, "failure").map_or(Step::Ok, |failure| self.failed(failure));
            // A handshake that does not verify the certificate proves nothing.
            let unproven = tls.get("no_tls_verify").and_then(Value::as_bool) == Some(true) && step == Step::Ok;
            if !(host.is_empty() || unproven) {
                self.add(&host, Attempt { ip, port: 443, name: &host, tls: step, ..Attempt::default() });
            }
        }
    }

    fn requests(&mut self, keys: &'a Value) {
        for entry in array(keys, "requests") {
            let url = entry.get("request").map_or("", |request| text_at(request, "url"));
            let host = host_of(url);
            if host.is_empty() {
                continue;
            }
            let http = failure_at(entry, "failure").map_or(Step::Ok, |failure| self.failed(failure));
            let bit = self.bit(host, url_port(url));
            self.add(host, Attempt { url, http, bit, ..Attempt::default() });
        }
    }

    fn failed(&self, failure: Failure) -> Step {
        Step::Failed(self.standing.believed(failure))
    }
}

/// True if the document lists a handshake with an endpoint.
fn shaken(keys: &Value, ip: &str, port: u16) -> bool {
    let address = if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") };
    array(keys, "tls_handshakes").any(|tls| text_at(tls, "address") == address)
}

/// Adds the test's own conclusions where the document has no attempts to judge by.
fn conclusions(service: Service, keys: &Value, standing: Standing, found: &mut SeriesOutcomes) {
    match service {
        Service::Telegram => {
            pool_conclusion(keys, found);
            status_conclusion(keys, "telegram_web_status", "web.telegram.org", found);
        }
        Service::Whatsapp => {
            status_conclusion(keys, "whatsapp_endpoints_status", "whatsapp/pool", found);
            status_conclusion(keys, "registration_server_status", "whatsapp/registration", found);
            status_conclusion(keys, "whatsapp_web_status", "web.whatsapp.com", found);
        }
        Service::Signal => {
            status_conclusion(keys, "signal_backend_status", "signal/backend", found);
            let target = Service::Signal.main_key();
            if let Some(Outcome::Judged(judgement)) = found.get_mut(&target)
                && judgement.rule == RuleId::ServiceBlocked
                && let Some(failure) = failure_at(keys, "signal_backend_failure")
            {
                *judgement = signal_failure(standing.believed(failure));
            }
        }
        Service::FacebookMessenger => messenger_conclusion(keys, found),
        Service::Tor | Service::Psiphon | Service::Openvpn | Service::Riseupvpn => {}
    }
}

/// The judgement of the first failure of Signal's hosts, if nothing else is known about them.
pub fn signal_failure(failure: Failure) -> Judgement {
    match failure {
        Failure::Certificate => Judgement { rule: RuleId::TlsIntercepted, technique: None },
        Failure::Local => Judgement { rule: RuleId::InstrumentFault, technique: None },
        _ => Judgement { rule: RuleId::ServiceBlocked, technique: None },
    }
}

/// Documents of 2019 list requests without their URLs, so the flag decides for every endpoint that was tried.
fn pool_conclusion(keys: &Value, found: &mut SeriesOutcomes) {
    let Some(Outcome::Endpoints(pool)) = found.get_mut(&Service::Telegram.main_key()) else { return };
    let seen = pool.connect_ok | pool.connect_failed;
    if pool.http_ok | pool.http_failed != 0 {
        return;
    }
    match keys.get("telegram_http_blocking").and_then(Value::as_bool) {
        Some(true) => {
            pool.http_failed = seen;
            pool.flags |= flag::HTTP_OTHER;
        }
        Some(false) => pool.http_ok = pool.connect_ok,
        None => {}
    }
}

/// Adds the status of a role ("ok" or "blocked"), unless attempts already decide. For endpoints that the test only
/// connects to, a connection decides; for others it does not show what came after it.
fn status_conclusion(keys: &Value, name: &str, target: &str, found: &mut SeriesOutcomes) {
    let only_connects = target == "whatsapp/pool";
    let target = TargetKey::from_stored(target);
    if let Some(Outcome::Endpoints(set)) = found.get(&target)
        && (set.http_ok | set.http_failed != 0
            || set.has(flag::TLS_OK | flag::LOCAL_FAULT)
            || set.connect_failed != 0
            || (only_connects && set.connect_ok != 0))
    {
        return;
    }
    let rule = match text_at(keys, name) {
        "ok" => RuleId::ServiceOk,
        "blocked" => RuleId::ServiceBlocked,
        _ => return,
    };
    found.insert(target, Outcome::Judged(Judgement { rule, technique: None }));
}

/// Adds Messenger's conclusions, unless connections decide. Its conclusion about names is weak: the test compares the
/// networks of addresses, and the service has many networks.
fn messenger_conclusion(keys: &Value, found: &mut SeriesOutcomes) {
    let target = Service::FacebookMessenger.main_key();
    if let Some(Outcome::Endpoints(set)) = found.get(&target)
        && (set.connect_ok | set.connect_failed != 0)
    {
        return;
    }
    let flagged = |name: &str| keys.get(name).and_then(Value::as_bool);
    if flagged("facebook_dns_blocking") == Some(true) {
        let judgement = Judgement { rule: RuleId::ServiceBlocked, technique: Some(Technique::Dns) };
        found.insert(target, Outcome::Judged(judgement));
        return;
    }
    let rule = match flagged("facebook_tcp_blocking") {
        Some(true) => RuleId::ServiceBlocked,
        Some(false) => RuleId::ServiceOk,
        None => return,
    };
    found.insert(target, Outcome::Judged(Judgement { rule, technique: None }));
}

/// Every relay, authority and bridge is an endpoint of its role.
fn tor(keys: &Value) -> Vec<Contribution> {
    let mut roles: BTreeMap<&str, EndpointSet> = BTreeMap::new();
    let targets = keys.get("targets").and_then(Value::as_object).into_iter().flatten();
    for (name, target) in targets {
        let role = match text_at(target, "target_protocol") {
            "dir_port" => "directory",
            "or_port" | "or_port_dirauth" => "or_port",
            "obfs4" => "obfs4",
            _ => continue,
        };
        let step = failure_at(target, "failure").map_or(Step::Ok, Step::Failed);
        // The name is the address, or for bridges a hash of it. Both tell endpoints apart.
        let attempt = Attempt { ip: "", url: name, http: step, ..Attempt::default() };
        let mut facts = attempt.facts();
        let connect =
            Attempt { url: name, tcp: step, bit: Some(facts.http_ok | facts.http_failed), ..Attempt::default() };
        facts = facts.merge(if matches!(attempt.http, Step::Failed(Failure::Local)) {
            EndpointSet::default()
        } else {
            connect.facts()
        });
        facts.flags |= flag::POOL;
        let known = roles.entry(role).or_default();
        *known = known.merge(facts);
    }
    let contribution =
        |(role, set)| Contribution { target: TargetKey::service(Service::Tor, role), outcome: Outcome::Endpoints(set) };
    roles.into_iter().map(contribution).collect()
}

fn vanilla_tor(keys: &Value) -> Vec<Contribution> {
    let success = keys.get("success").and_then(Value::as_bool);
    let progress = keys.get("tor_progress").and_then(Value::as_u64);
    let rule = match (success, progress) {
        (Some(true), _) | (None, Some(100)) => RuleId::ServiceOk,
        (None, None) => return Vec::new(),
        // Any error other than a timeout means that the client failed to start.
        _ => match text_at(keys, "error") {
            "" | "timeout-reached" => RuleId::ServiceBlocked,
            _ => RuleId::InstrumentFault,
        },
    };
    judged(TargetKey::service(Service::Tor, "bootstrap"), rule)
}

/// Tor over Snowflake: it started, or it failed with a cause.
fn torsf(keys: &Value) -> Vec<Contribution> {
    let started = keys.get("bootstrap_time").and_then(Value::as_f64).is_some_and(|seconds| seconds > 0.0);
    let done = keys.get("success").and_then(Value::as_bool).unwrap_or(started);
    let rule = match failure_at(keys, "failure") {
        None if done => RuleId::ServiceOk,
        Some(Failure::Timeout) => RuleId::ServiceBlocked,
        // Any failure other than a timeout means that the client failed to start.
        Some(_) => RuleId::InstrumentFault,
        None => return Vec::new(),
    };
    judged(TargetKey::service(Service::Tor, "snowflake"), rule)
}

/// One endpoint of a provider: its handshake worked or failed.
fn openvpn(document: &Document) -> Vec<Contribution> {
    let keys = &document.test_keys;
    let series = match text_at(keys, "provider") {
        "" => main_series(Service::Openvpn, "openvpn", document.url()),
        provider => openvpn_series(Some(provider)),
    };
    let flagged = |name: &str| keys.get(name).and_then(Value::as_bool);
    let rule = match (failure_at(keys, "failure"), flagged("success_handshake").or(flagged("success"))) {
        (_, Some(true)) => RuleId::ServiceOk,
        (Some(Failure::Local), _) => RuleId::LocalFault,
        (Some(_), _) | (None, Some(false)) => RuleId::ServiceBlocked,
        // Later versions list the handshakes instead.
        (None, None) => match array(keys, "openvpn_handshake")
            .map(|handshake| failure_at(handshake, "failure"))
            .max_by_key(Option::is_none)
        {
            Some(None) => RuleId::ServiceOk,
            Some(Some(Failure::Local)) => RuleId::LocalFault,
            Some(Some(_)) => RuleId::ServiceBlocked,
            None => return Vec::new(),
        },
    };
    judged(series, rule)
}

/// The provider's API and its gateways, each of them a role.
fn riseupvpn(keys: &Value) -> Vec<Contribution> {
    let mut found = Vec::new();
    let mut add = |role: &str, works: bool| {
        let rule = if works { RuleId::ServiceOk } else { RuleId::ServiceBlocked };
        found.extend(judged(TargetKey::service(Service::Riseupvpn, role), rule));
    };
    let transports = keys.get("transport_status").and_then(Value::as_object).into_iter().flatten();
    let statuses: Vec<&str> = transports.filter_map(|(_, status)| status.as_str()).collect();
    if statuses.iter().any(|status| matches!(*status, "ok" | "blocked")) {
        // One working transport is enough to get in.
        add("gateways", statuses.contains(&"ok"));
    }
    let failures = array(keys, "api_failures").count();
    match (text_at(keys, "api_status"), failure_at(keys, "api_failure"), keys.get("api_failures")) {
        ("ok", ..) => add("api", true),
        ("blocked", ..) | (_, Some(_), _) => add("api", false),
        (_, None, Some(_)) => add("api", failures == 0),
        _ => {}
    }
    found
}

/// A run without a failure counts only if it took time to start.
fn psiphon(keys: &Value) -> Vec<Contribution> {
    let started = keys.get("bootstrap_time").and_then(Value::as_f64).is_some_and(|seconds| seconds > 0.0);
    let rule = match failure_at(keys, "failure") {
        Some(Failure::Local) => RuleId::LocalFault,
        Some(_) => RuleId::ServiceBlocked,
        None if started => RuleId::ServiceOk,
        None => return Vec::new(),
    };
    judged(Service::Psiphon.main_key(), rule)
}
