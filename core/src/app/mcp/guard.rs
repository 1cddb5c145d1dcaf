//! Which hosts and web pages may ask (decision mcp-hosts-and-origins).
//!
//! A web page can have a name of its own lead to this machine (DNS rebinding), and its requests then count as requests to
//! its own server. The browser still says both names: `Host` has the page's name, and so has `Origin`.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};

use crate::engine::http::{Cx, PageOrigin, host_name, is_this_machine};
use crate::engine::settings::Settings;
use crate::{Error, ErrorCode, Result};

/// Refuses what came under a name that is not ours, or from a page that may not ask.
pub fn check(cx: &Cx) -> Result<()> {
    // The settings as they were set, not those for what a proxy passed on: both are about the same server.
    let settings = cx.settings();
    let text = |name| cx.request.headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(host) = text(HOST).filter(|host| !is_ours(settings, host)) {
        let message = format!(
            "{} is no name of this server; its operator sets `public_url` to the address that people use.",
            shown(host)
        );
        return Err(Error::new(ErrorCode::Forbidden, message));
    }
    if let Some(origin) = text(ORIGIN).filter(|origin| !may_ask(settings, origin)) {
        let message =
            format!("Pages of {} may not ask this server; its operator sets `allowed_origins`.", shown(origin));
        return Err(Error::new(ErrorCode::Forbidden, message));
    }
    Ok(())
}

/// What a message repeats of a header.
fn shown(header: &str) -> String {
    header.chars().take(100).collect()
}

/// Whether a host is the one of `public_url`, this machine, or an address: a page that was rebound has a name.
fn is_ours(settings: &Settings, host: &str) -> bool {
    let Some(name) = host_name(host) else { return false };
    let public = PageOrigin::of(&settings.base_url());
    let allowed = settings.origins().filter_map(PageOrigin::parse);
    is_this_machine(&name)
        || name.parse::<IpAddr>().is_ok()
        || public.into_iter().chain(allowed).any(|origin| origin.host == name)
}

fn may_ask(settings: &Settings, origin: &str) -> bool {
    let page = PageOrigin::parse(origin);
    let ours = PageOrigin::of(&settings.base_url());
    if page.is_some() && page == ours {
        return true;
    }
    if settings.origins().next().is_none() {
        let is_public = settings.is_chosen("public_url") && ours.is_some_and(|ours| !is_this_machine(&ours.host));
        return is_public || page.is_some_and(|page| is_this_machine(&page.host));
    }
    settings.origins().any(|allowed| allowed == "*" || page.is_some() && page == PageOrigin::parse(allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(set: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        set.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
        settings
    }

    #[test]
    fn a_name_that_was_made_to_lead_here_is_not_ours() {
        let local = settings(&[]);
        for host in ["localhost:8787", "127.0.0.1", "[::1]:8787", "192.168.1.5:8787", "LOCALHOST"] {
            assert!(is_ours(&local, host), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example:8787", "localhost@evil.example", "", "?"] {
            assert!(!is_ours(&local, host), "{host}");
        }
        let public = settings(&[("public_url", "https://relay.example/"), ("allowed_origins", "https://app.example")]);
        for host in ["relay.example", "Relay.Example:443", "app.example", "127.0.0.1:8787"] {
            assert!(is_ours(&public, host), "{host}");
        }
        assert!(!is_ours(&public, "other.example"));
    }

    #[test]
    fn pages_ask_a_server_of_the_world_and_only_those_of_this_machine_ask_its_own() {
        let local = settings(&[]);
        for origin in ["http://localhost:6274", "https://127.0.0.1", "http://[::1]:3000"] {
            assert!(may_ask(&local, origin), "{origin}");
        }
        for origin in ["https://evil.example", "null", "http://localhost.evil.example", "", "file://"] {
            assert!(!may_ask(&local, origin), "{origin}");
        }
        let public = settings(&[("public_url", "https://relay.example")]);
        assert!(may_ask(&public, "https://anything.example") && may_ask(&public, "null"));
        // An address of this machine makes no server of the world.
        let named = settings(&[("public_url", "http://localhost:8787")]);
        assert!(!may_ask(&named, "https://anything.example"));
    }

    #[test]
    fn a_list_of_origins_is_the_whole_list_beside_the_servers_own() {
        let listed = settings(&[("public_url", "https://relay.example"), ("allowed_origins", "https://app.example")]);
        assert!(may_ask(&listed, "https://app.example") && may_ask(&listed, "https://relay.example:443"));
        for origin in ["http://app.example", "https://app.example.evil.example", "http://localhost:1", "null"] {
            assert!(!may_ask(&listed, origin), "{origin}");
        }
        assert!(may_ask(&settings(&[("allowed_origins", "*")]), "null"));
    }
}
