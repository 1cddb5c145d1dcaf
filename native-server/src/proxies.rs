//! Messages for the operator about proxies: which proxies are trusted, which headers are ignored, and whether all
//! requests seem to come from one client.

use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use heliograph_core::engine::http::{Origin, Unheard, neighbourhood};
use heliograph_core::engine::settings::Settings;

use crate::log;

/// If all of so many first requests come from one client, that is strange enough for a warning.
const MANY: u32 = 1_000;

/// The proxies that are trusted to say where a request comes from, as a line for the start.
pub fn in_force(settings: &Settings) -> String {
    let headers = match settings.client_address_header.as_str() {
        "" => "Forwarded or X-Forwarded-For",
        header => header,
    };
    match settings.trusted_proxies.trim() {
        "" => "proxies: none is trusted; headers that name a client are ignored".to_owned(),
        trusted => {
            format!("proxies: {trusted} may name the client in {headers}; these headers of other peers are ignored")
        }
    }
}

/// Looks at the client addresses of requests, and gives each warning once.
#[derive(Debug, Default)]
pub struct Watch {
    first: OnceLock<IpAddr>,
    /// Requests of one client so far, while it is the only one; stays at [`MANY`] from then on.
    alone: AtomicU32,
    warned_stranger: AtomicBool,
    warned_disagreeing: AtomicBool,
}

impl Watch {
    pub fn look(&self, peer: IpAddr, origin: &Origin) {
        for warning in self.warnings(peer, origin).into_iter().flatten() {
            log::warning!("{warning}");
        }
    }

    fn warnings(&self, peer: IpAddr, origin: &Origin) -> [Option<String>; 2] {
        let once = |warned: &AtomicBool| !warned.load(Ordering::Relaxed) && !warned.swap(true, Ordering::Relaxed);
        let unheard = match origin.unheard {
            Some(Unheard::Stranger) if once(&self.warned_stranger) => {
                Some(format!("{peer} names a client in a header, which is ignored: it is not among trusted_proxies"))
            }
            Some(Unheard::Disagreeing) if once(&self.warned_disagreeing) => Some(format!(
                "{peer} passed on Forwarded and X-Forwarded-For that name different clients, so neither counts; \
                 client_address_header says which one to read"
            )),
            _ => None,
        };
        [unheard, self.one_client(origin.client)]
    }

    fn one_client(&self, client: IpAddr) -> Option<String> {
        if self.alone.load(Ordering::Relaxed) >= MANY {
            return None;
        }
        let client = neighbourhood(client);
        if *self.first.get_or_init(|| client) != client {
            self.alone.store(MANY, Ordering::Relaxed);
            return None;
        }
        (self.alone.fetch_add(1, Ordering::Relaxed) + 1 == MANY).then(|| {
            format!(
                "the first {MANY} requests all came from {client} and share its budgets; if that is a proxy, it must be among \
                 trusted_proxies and name the client"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(watch: &Watch, client: &str, unheard: Option<Unheard>) -> usize {
        let client = client.parse().unwrap();
        let origin = Origin { client, forwarded: false, unheard };
        watch.warnings(client, &origin).into_iter().flatten().count()
    }

    #[test]
    fn each_warning_comes_once() {
        let watch = Watch::default();
        for unheard in [Unheard::Stranger, Unheard::Disagreeing] {
            assert_eq!(seen(&watch, "10.0.0.1", Some(unheard)), 1);
            assert_eq!(seen(&watch, "10.0.0.2", Some(unheard)), 0);
        }
    }

    #[test]
    fn that_everybody_is_one_client_is_said_after_many_requests_and_only_then() {
        let (one, several) = (Watch::default(), Watch::default());
        let counted: usize = (0..3 * MANY).map(|_| seen(&one, "10.0.0.1", None)).sum();
        assert_eq!(counted, 1);
        assert_eq!(seen(&several, "10.0.0.1", None) + seen(&several, "10.0.0.2", None), 0);
        let counted: usize = (0..3 * MANY).map(|_| seen(&several, "10.0.0.1", None)).sum();
        assert_eq!(counted, 0);
    }
}
