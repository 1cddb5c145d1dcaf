//! Judges a measurement by OONI's own scores. They are the same in rows of the `fastpath` table and in rows of the API,
//! which have no columns for content of the scores.
//!
//! A row votes like the document of its measurement. If the row lacks what decides, it does not vote.

use serde_json::Value;

use super::domain::{Service, TargetKey};
use super::failure::Failure;
use super::outcome::Judgement;
use super::services::{main_series, signal_failure};
use crate::verdict::rules::RuleId;
use crate::verdict::technique::Technique;

/// The score from which on OONI calls a measurement anomalous.
const ANOMALY: f64 = 0.5;

/// The scores of one row.
pub struct Scores<'a> {
    pub all: &'a Value,
    /// `blocking_general`.
    pub score: f64,
    /// OONI found a fingerprint that confirms.
    pub confirmed: bool,
    /// The layer that the client's comparison with its control blames; empty if it blames nothing or there is no
    /// comparison.
    pub kind: &'a str,
    pub country: [u8; 2],
}

/// The series of a measurement with the judgement about each, the main one first.
pub type SeriesJudgements = Vec<(TargetKey, Judgement)>;

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

    /// Judges a measurement of a site.
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

    /// Judges a confirmed row by the place of its fingerprint, in a DNS answer or in a page. Two kinds of match stay
    /// ambiguous, because the row holds no page to check them: words in a page that the client did not find to differ
    /// may be the site's own, and words of an institution's filter may be in a page that a content network delivered.
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

    /// Judges a measurement of a service. `certificates` is true if the client's check of certificates can be believed.
    pub fn service(&self, service: Service, test_name: &str, input: &str, certificates: bool) -> SeriesJudgements {
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

    /// Newer scores count endpoints and requests of the pool apart from the web site. Without these counts, only a
    /// score above 1 must include the pool, because the web site alone adds one.
    fn telegram(&self, main: TargetKey) -> SeriesJudgements {
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

    /// The score is one as soon as the web site or the registration fails. In that case the row says nothing about the
    /// single roles.
    fn whatsapp(&self, main: TargetKey) -> SeriesJudgements {
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
        // The flag is set without a failure, so nothing that was tried failed.
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

    /// The score adds up the client's findings about names and connections. Connections that work count more than the
    /// score.
    fn messenger(&self) -> Judgement {
        let said = |name: &str| self.all.get(name).and_then(Value::as_bool) == Some(false);
        let count = |what: &str| MESSENGER.iter().filter(|host| said(&format!("facebook_{host}_{what}"))).count();
        let (unnamed, unreached) = (count("dns_consistent"), count("reachable"));
        // The test does not connect to a name with a strange answer.
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

    /// The score is the share of all endpoints that fail, whatever their role. So it decides about each role only if
    /// all or none of them fail.
    fn tor(&self) -> SeriesJudgements {
        let judgement = match self.score {
            score if score <= 0.0 => judged(RuleId::FastpathClear),
            score if score >= 1.0 => judged(RuleId::FastpathServiceAnomaly),
            _ => judged(RuleId::FastpathAmbiguous),
        };
        let roles = ["or_port", "directory", "obfs4"];
        roles.into_iter().map(|role| (TargetKey::service(Service::Tor, role), judgement)).collect()
    }
}

/// The hosts that the Messenger test connects to.
const MESSENGER: [&str; 6] = ["b_api", "b_graph", "edge", "external_cdn", "scontent_cdn", "star"];
