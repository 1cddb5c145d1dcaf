//! Puts other settings in force while the server runs (decision hangup-reloads).

use heliograph_core::Timestamp;
use heliograph_core::engine::runtime::Runtime;
use heliograph_core::engine::settings::Settings;

use crate::keyfile;
use crate::log;
use crate::runtime::Native;

/// Settings that are parts of what is running: they wait for the next start.
pub const WAITS: [&str; 17] = [
    "listen",
    "metrics_listen",
    "redirect_listen",
    "vectors_file",
    "computing_threads",
    "computing_queue",
    "streams",
    "streams_waiting",
    "streams_bytes",
    "cache_bytes",
    "journal_bytes",
    "answer_cache_bytes",
    "acme_domains",
    "acme_contact",
    "acme_directory",
    "acme_roots",
    "first_party_services",
];

/// What a change of the settings does, in words.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Each with its value before and now; secrets by their names.
    pub changed: Vec<String>,
    /// Names of those that wait for the next start.
    pub waits: Vec<&'static str>,
}

/// The settings that can be in force from here on, when these are wanted.
fn in_force(wanted: &Settings, running: &Settings) -> (Settings, Reloaded) {
    let (mut settings, mut outcome) = (wanted.clone(), Reloaded::default());
    // Whether connections have TLS is a part of the listener; which certificate it shows is none.
    let encrypts = |settings: &Settings| !settings.tls_certificate.is_empty();
    let turns = encrypts(wanted) != encrypts(running);
    let waits = |name: &str| WAITS.contains(&name) || (turns && ["tls_certificate", "tls_key"].contains(&name));
    if settings.public_url.is_empty() {
        settings.adopt("public_url", running);
    }
    for setting in Settings::ALL.iter().filter(|setting| !settings.agrees(setting.name, running)) {
        let name = setting.name;
        if waits(name) {
            outcome.waits.push(name);
        } else if setting.secret {
            outcome.changed.push(name.to_owned());
        } else {
            let value = |settings: &Settings| settings.get(name).unwrap_or_default();
            outcome.changed.push(format!("{name} from {:?} to {:?}", value(running), value(wanted)));
        }
    }
    outcome.waits.iter().for_each(|name| settings.adopt(name, running));
    (settings, outcome)
}

impl Native {
    /// Puts settings in force that are right. The error is for the operator, and then nothing has changed.
    pub fn put_in_force(&self, wanted: &Settings) -> Result<Reloaded, String> {
        let running = &self.environment().settings;
        if wanted.brand != running.brand {
            return Err(format!(
                "brand cannot change from {} to {}: DIDs, headers and keys have it",
                running.brand, wanted.brand
            ));
        }
        let (settings, mut outcome) = in_force(wanted, running);
        let admin_key = match settings.admin_key.as_str() {
            "" => keyfile::read(self.store.path())?.admin_key,
            chosen => chosen.to_owned(),
        };
        if let Some(tls) = self.tls.get() {
            let before = tls.ends();
            tls.read_again(&settings)?;
            if let Some(ends) = tls.ends().filter(|ends| Some(*ends) != before) {
                outcome.changed.push(format!("the certificate, which ends at {}", Timestamp::from_seconds(ends)));
            }
        }
        self.change(settings, admin_key);
        Ok(outcome)
    }
}

/// Says in the log what a change of the settings did.
pub fn tell(outcome: &Reloaded) {
    match outcome.changed.is_empty() {
        true => log::info!("settings read again; nothing has changed"),
        false => log::info!("settings read again; changed: {}", outcome.changed.join(", ")),
    }
    if !outcome.waits.is_empty() {
        log::warning!("these settings have changed and wait for the next start: {}", outcome.waits.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_part_of_the_running_server_keeps_its_value_and_is_named() {
        let mut running = Settings::default();
        running.public_url = "http://127.0.0.1:1".to_owned();
        let mut wanted = Settings::default();
        for (name, value) in
            [("agent_burst", "7"), ("cache_bytes", "1"), ("admin_key", "hunter2"), ("tls_certificate", "/x.pem")]
        {
            wanted.set(name, value).unwrap();
        }
        let (settings, outcome) = in_force(&wanted, &running);
        assert_eq!(outcome.waits, ["cache_bytes", "tls_certificate"]);
        assert_eq!(outcome.changed, ["admin_key", "agent_burst from \"200\" to \"7\""]);
        assert_eq!((settings.agent_burst, settings.cache_bytes), (7, running.cache_bytes));
        assert_eq!((settings.public_url.as_str(), settings.tls_certificate.as_str()), ("http://127.0.0.1:1", ""));
        running.tls_certificate = "/old.pem".to_owned();
        assert_eq!(in_force(&wanted, &running).0.tls_certificate, "/x.pem");
    }

    #[test]
    fn only_settings_wait() {
        for name in WAITS {
            assert!(Settings::ALL.iter().any(|setting| setting.name == name), "{name}");
        }
    }
}
