//! Clients that are known to fail by themselves. Their sessions do not count for a service, in whatever form they come.
//!
//! Signal's test pins the certificate authority of the service, which changed several times; a client with the old one
//! fails everywhere. The desktop client of 2016 and 2017 sent no user agent to WhatsApp's web site and got its page for
//! unsupported browsers. OONI's pipeline leaves out the same versions.

use super::domain::{Service, TargetKey};
use super::failure::Failure;
use super::outcome::{Judgement, Outcome};
use crate::Timestamp;
use crate::verdict::rules::RuleId;

/// The client that made a row or document; a field is empty where the row or document does not name it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Client<'a> {
    pub test_version: &'a str,
    pub engine_version: &'a str,
    pub software_name: &'a str,
    pub software_version: &'a str,
}

/// How far a client is believed about a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The version is known to fail by itself at that time.
    Broken,
    /// The version is not known to fail by itself.
    Sound,
    /// The version is not known.
    Unknown,
}

impl Standing {
    /// The failure as far as it is believed. If the version is unknown, a failed certificate check may be the fault of
    /// the client, so it counts as local.
    pub fn believed(self, failure: Failure) -> Failure {
        match (self, failure) {
            (Standing::Unknown, Failure::Certificate) => Failure::Local,
            _ => failure,
        }
    }
}

impl Client<'_> {
    /// The standing of a session that began at `time`, about a whole service.
    pub fn standing(&self, service: Service, time: Timestamp) -> Standing {
        if service != Service::Signal {
            return Standing::Sound;
        }
        let Some(test) = version(self.test_version) else { return Standing::Unknown };
        let old_engine = version(self.engine_version).is_some_and(|engine| engine < [3, 17, 2]);
        let broken = test == [0, 2, 4]
            || (test <= [0, 2, 3] && time >= SIGNAL_3)
            || (test < [0, 2, 2] && time >= SIGNAL_1)
            || (old_engine && time >= SIGNAL_2);
        if broken { Standing::Broken } else { Standing::Sound }
    }

    /// The outcome that replaces every statement of a broken client about a series of a service.
    pub fn fault(&self, service: Service, target: &TargetKey, time: Timestamp) -> Option<Outcome> {
        let broken = self.standing(service, time) == Standing::Broken
            || (target.as_str() == WHATSAPP_WEB && self.is_unsupported_browser(service));
        let judgement = Judgement { rule: RuleId::InstrumentFault, technique: None };
        broken.then_some(Outcome::Judged(judgement))
    }

    fn is_unsupported_browser(&self, service: Service) -> bool {
        service == Service::Whatsapp
            && matches!(self.software_name, "ooniprobe" | "ooniprobe-cli")
            && matches!(self.software_version, "2.1.0" | "2.2.0" | "2.3.0")
    }
}

/// The series of WhatsApp's web site.
pub const WHATSAPP_WEB: &str = "web.whatsapp.com";

/// 19 October 2022, 2 May 2023, 7 November 2023: from these days on the service showed certificates that older clients
/// refuse.
const SIGNAL_1: Timestamp = Timestamp::from_seconds(1_666_137_600);
const SIGNAL_2: Timestamp = Timestamp::from_seconds(1_682_985_600);
const SIGNAL_3: Timestamp = Timestamp::from_seconds(1_699_315_200);

/// The first three numbers of a version: `3.19.0-alpha` is `3.19.0`, and `0.2` is `0.2.0`.
fn version(text: &str) -> Option<[u32; 3]> {
    let plain = text.trim().trim_start_matches('v');
    let plain = plain.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or("");
    let mut numbers = plain.split('.').filter(|part| !part.is_empty()).map(str::parse::<u32>);
    let first = numbers.next()?.ok()?;
    let mut next = || numbers.next().map_or(Some(0), Result::ok);
    Some([first, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: &str) -> Timestamp {
        Timestamp::parse(day).unwrap()
    }

    #[test]
    fn only_versions_that_are_known_to_be_broken_at_that_time_are_left_out() {
        use Standing::{Broken, Sound, Unknown};
        for (test, engine, day, standing) in [
            ("0.2.4", "3.19.1", "2020-01-01", Broken),
            ("0.2.4", "", "2026-11-25", Broken),
            ("0.2.3", "3.19.0", "2023-11-06T23:59:59Z", Sound),
            ("0.2.3", "3.19.0", "2023-11-07T00:00:00Z", Broken),
            ("0.2.2", "3.17.5", "2023-11-07", Broken),
            ("0.2.5", "3.20.0", "2023-11-07", Sound),
            ("0.2.1", "3.16.0", "2022-10-18T23:59:59Z", Sound),
            ("0.2.1", "3.16.0", "2022-10-19T00:00:00Z", Broken),
            ("0.2.2", "3.16.0", "2022-10-19T00:00:00Z", Sound),
            ("0.2.2", "3.17.1", "2023-05-01T23:59:59Z", Sound),
            ("0.2.2", "3.17.1", "2023-05-02T00:00:00Z", Broken),
            ("0.2.3", "3.17.2", "2023-05-02T00:00:00Z", Sound),
            ("0.2.5", "3.9.1", "2026-11-25", Broken),
            ("0.5.28", "3.24.0-alpha", "2026-11-25", Sound),
            ("0.10.0", "3.24.0", "2026-11-25", Sound),
            ("", "3.24.0", "2026-11-25", Unknown),
            ("next", "", "2026-11-25", Unknown),
        ] {
            let client = Client { test_version: test, engine_version: engine, ..Client::default() };
            assert_eq!(client.standing(Service::Signal, at(day)), standing, "{test} {engine} {day}");
            assert_eq!(client.standing(Service::Telegram, at(day)), Sound);
        }
    }

    #[test]
    fn a_client_without_a_user_agent_says_nothing_of_the_web_site_alone() {
        for (name, number, broken) in [
            ("ooniprobe", "2.1.0", true),
            ("ooniprobe", "2.2.0", true),
            ("ooniprobe", "2.3.0", true),
            ("ooniprobe", "2.0.2", false),
            ("ooniprobe", "2.10.0", false),
            ("ooniprobe-android", "2.2.0", false),
            ("ooniprobe-cli", "5.0.0", false),
        ] {
            let client = Client { software_name: name, software_version: number, ..Client::default() };
            let of = |target: &str, service| {
                client.fault(service, &TargetKey::from_stored(target), at("2026-11-25")).is_some()
            };
            assert_eq!(of(WHATSAPP_WEB, Service::Whatsapp), broken, "{name} {number}");
            assert!(!of("whatsapp/pool", Service::Whatsapp) && !of(WHATSAPP_WEB, Service::Telegram));
        }
    }
}
