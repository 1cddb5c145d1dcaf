//! What OONI's own scores say of a measurement: the same in rows of the `fastpath` table and in answers of its interface,
//! which have no columns for what stands inside of the scores.
//!
//! A row votes for what its document would vote for, or not at all where it lacks what would tell.

use serde_json::Value;

use super::domain::{Service, TargetKey};
use super::failure::Failure;
use super::outcome::Judgement;
use super::services::{main_series, signal_failure};
use crate::facts::verdict::rules::RuleId;
use crate::facts::verdict::technique::Technique;

/// Score from which OONI calls a measurement anomalous.
const ANOMALY: f64 = 0.5;

/// The scores of one row.
pub struct Scores<'a> {
    pub all: &'a Value,
    /// `blocking_general`.
    pub score: f64,
    /// OONI found a fingerprint that confirms.
    pub confirmed: bool,
    /// What the client's comparison with its control blames; empty for nothing, or where there is none.
    pub kind: &'a str,
    pub country: [u8; 2],
}

/// The series of a measurement with what it says about each, the main one first.
pub type Found = Vec<(TargetKey, Judgement)>;

fn judged(rule: RuleId) -> Judgement {
    Judgement { rule, technique: None }
}

fn by_score(anomaly: bool) -> Judgement {
    judged(if anomaly { RuleId::FastpathServiceAnomaly } else { RuleId::FastpathClear })
}

impl Scores<'_> {
    fn is_anomaly(&self) -> bool {
        self.score >= ANOMALY
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.all.get(name).and_then(Value::as_f64)
    }

    fn analysis(&self, name: &str) -> Option<&Value> {
        self.all.get("analysis")?.get(name)
    }

    /// A measurement of a site.
    pub fn web(&self) -> Judgement {
        let named = match self.kind {
            "dns" => Some(Technique::Dns),
            "tcp_ip" => Some(Technique::Tcp),
            "http-diff" => Some(Technique::HttpBlockpage),
            "http-failure" => Some(Technique::Http),
            _ => None,
        };
        if self.confirmed {
            return self.confirmed(named);
        }
        match (self.is_anomaly(), named) {
            (false, _) => judged(RuleId::FastpathClear),
            (true, Some(Technique::HttpBlockpage)) => Judgement { rule: RuleId::HttpDiffUnchecked, technique: named },
            (true, technique) => Judgement { rule: RuleId::FastpathAnomaly, technique },
        }
    }

    /// How a confirmed row was told: by where its fingerprint stood, in an answer of DNS or in a page. Words in a page that the
    /// client did not find to differ may stand in the site's own, and those of an institution's filter in one that a content
    /// network delivered: the row holds nothing that would tell.
    fn confirmed(&self, named: Option<Technique>) -> Judgement {
        let all = self.all.get("fingerprints").and_then(Value::as_array).into_iter().flatten();
        let text = |one: &Value, name: &str| one.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        let confirming = all.filter(|one| {
            let countries = one.get("expected_countries").and_then(Value::as_array).into_iter().flatten();
            let mut countries = countries.filter_map(Value::as_str);
            matches!(text(one, "scope").as_str(), "nat" | "isp" | "")
                || countries.any(|code| code.as_bytes() == self.country)
        });
        let found: Vec<(String, String)> =
            confirming.map(|one| (text(one, "scope"), text(one, "location_found"))).collect();
        let every = |wanted: &dyn Fn(&(String, String)) -> bool| !found.is_empty() && found.iter().all(wanted);
        let own = self.kind.is_empty() && every(&|(_, place)| place == "body");
        if own || every(&|(scope, _)| scope == "inst") {
            return judged(RuleId::FastpathAmbiguous);
        }
        let places = || found.iter().map(|(_, place)| place.as_str()).filter(|place| !place.is_empty());
        let technique = match places().next() {
            _ if places().any(|place| place == "dns") => Some(Technique::DnsInjectionBlockpage),
            Some(_) => Some(Technique::HttpBlockpage),
            None => named,
        };
        Judgement { rule: RuleId::FastpathConfirmed, technique }
    }

    /// A measurement of a service.
    pub fn service(&self, service: Service, test_name: &str, input: &str, certificates: bool) -> Found {
        let main = main_series(service, test_name, input);
        match service {
            Service::Telegram => self.telegram(main),
            Service::Whatsapp => self.whatsapp(main),
            Service::Signal => vec![(main, self.signal(certificates))],
            Service::FacebookMessenger => vec![(main, self.messenger())],
            Service::Tor if test_name == "tor" => self.tor(),
            _ => vec![(main, by_score(self.is_anomaly()))],
        }
    }

    /// Newer scores count endpoints and requests of the pool apart from the web site. Without the counts only a score above 1
    /// must include the pool: the web site alone adds one.
    fn telegram(&self, main: TargetKey) -> Found {
        let names = ["accessible_endpoints", "unreachable_endpoints", "http_success_cnt", "http_failure_cnt"];
        let [Some(connected), Some(unreached), Some(answered), Some(failed)] = names.map(|name| self.number(name))
        else {
            let rule = match self.score {
                score if score < ANOMALY => RuleId::FastpathClear,
                score if score <= 1.0 => RuleId::FastpathAmbiguous,
                _ => RuleId::FastpathServiceAnomaly,
            };
            return vec![(main, judged(rule))];
        };
        let half = |lost: f64, works: f64| lost > 0.0 && lost >= works;
        let (no_answer, no_connection) = (half(failed, answered), half(unreached, connected));
        let pool = match (no_answer, no_connection) {
            (true, true) => Judgement { rule: RuleId::FastpathServiceAnomaly, technique: Some(Technique::Tcp) },
            (true, false) => Judgement { rule: RuleId::FastpathServiceAnomaly, technique: Some(Technique::Http) },
            (false, true) if answered == 0.0 => {
                Judgement { rule: RuleId::FastpathServiceAnomaly, technique: Some(Technique::Tcp) }
            }
            (false, _) if answered + connected > 0.0 => judged(RuleId::FastpathClear),
            _ => judged(RuleId::NoEvidence),
        };
        let web = match self.all.get("web_failure").and_then(Value::as_str).and_then(Failure::parse) {
            None => judged(RuleId::FastpathClear),
            Some(Failure::Local | Failure::SiteFault) => judged(RuleId::LocalFault),
            Some(_) => judged(RuleId::FastpathServiceAnomaly),
        };
        vec![(main, pool), (TargetKey::from_stored("web.telegram.org"), web)]
    }

    /// The score is one as soon as the web site or the registration fails; only then nothing is said of each.
    fn whatsapp(&self, main: TargetKey) -> Found {
        let works = |name: &str| self.analysis(name).and_then(Value::as_bool);
        let Some(endpoints) = works("whatsapp_endpoints_accessible") else {
            let rule = if self.is_anomaly() { RuleId::FastpathAmbiguous } else { RuleId::FastpathClear };
            return vec![(main, judged(rule))];
        };
        let mut found = vec![(main, by_score(!endpoints))];
        let roles = [
            ("registration_server_accessible", "whatsapp/registration"),
            ("whatsapp_web_accessible", "web.whatsapp.com"),
        ];
        found.extend(
            roles
                .into_iter()
                .filter_map(|(name, target)| Some((TargetKey::from_stored(target), by_score(!works(name)?)))),
        );
        found
    }

    fn signal(&self, certificates: bool) -> Judgement {
        if !self.is_anomaly() {
            return judged(RuleId::FastpathClear);
        }
        let failure = self.analysis("signal_backend_failure");
        // A flag without any failure: nothing that was tried failed.
        if failure.is_some_and(Value::is_null) {
            return judged(RuleId::FastpathAmbiguous);
        }
        match failure.and_then(Value::as_str).and_then(Failure::parse).map(signal_failure) {
            Some(judgement) if judgement.rule == RuleId::TlsIntercepted && !certificates => {
                judged(RuleId::InstrumentFault)
            }
            Some(judgement) if judgement.rule != RuleId::ServiceBlocked => judgement,
            _ => judged(RuleId::FastpathServiceAnomaly),
        }
    }

    /// The score adds up what the client says of names and of connections; connections that work are believed before it.
    fn messenger(&self) -> Judgement {
        let said = |name: &str| self.all.get(name).and_then(Value::as_bool) == Some(false);
        let count = |what: &str| MESSENGER.iter().filter(|host| said(&format!("facebook_{host}_{what}"))).count();
        let (unnamed, unreached) = (count("dns_consistent"), count("reachable"));
        // A name with a strange answer is not connected to.
        let tried = MESSENGER.len() - unnamed;
        match tried {
            _ if !self.is_anomaly() => judged(RuleId::FastpathClear),
            0 => Judgement { rule: RuleId::FastpathServiceAnomaly, technique: Some(Technique::Dns) },
            tried if 2 * unreached >= tried => {
                Judgement { rule: RuleId::FastpathServiceAnomaly, technique: Some(Technique::Tcp) }
            }
            _ => judged(RuleId::FastpathClear),
        }
    }

    /// The score is the share of all endpoints that fail, whatever their role: only all or none of them tells each.
    fn tor(&self) -> Found {
        let judgement = match self.score {
            score if score <= 0.0 => judged(RuleId::FastpathClear),
            score if score >= 1.0 => judged(RuleId::FastpathServiceAnomaly),
            _ => judged(RuleId::FastpathAmbiguous),
        };
        let roles = ["or_port", "directory", "obfs4"];
        roles.into_iter().map(|role| (TargetKey::service(Service::Tor, role), judgement)).collect()
    }
}

/// The hosts of the Messenger test that it connects to.
const MESSENGER: [&str; 6] = ["b_api", "b_graph", "edge", "external_cdn", "scontent_cdn", "star"];
