//! `heliograph probe`: runs a measuring probe.

use std::io::{BufRead, IsTerminal, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::args::Probe;
use crate::probe::session::{Sent, consent_text};
use crate::probe::{Measurer, Session, Settings};

pub fn run(command: &Probe) -> Result<(), String> {
    let country = command.country.to_ascii_uppercase();
    let server = command.server.trim_end_matches('/').to_owned();
    let mut settings = Settings {
        folder: command.state.clone(),
        city: command.city.clone(),
        asn: command.asn,
        brand: command.header.to_ascii_lowercase(),
        consent: command.consent,
        metered: command.metered,
        allow_metered: command.allow_metered,
        interval: Duration::from_secs(command.interval),
        sites_per_cycle: command.sites,
        pause: Duration::from_millis(command.pause),
        server,
        country,
    };
    settings.check()?;
    eprint!("{}", consent_text(&settings.server, &settings.country));
    settings.consent = settings.consent || agreed()?;
    let local = match &command.resolver {
        Some(text) => address(text)?,
        None => system_resolver()?,
    };
    let patience = Duration::from_millis(command.patience.max(1));
    let measurer = Measurer::new(local, address(&command.public_resolver)?, patience, Measurer::public_roots());
    let mut session = Session::begin(settings, measurer)?;
    eprintln!("node {}", session.node());
    let told = |sent: &Sent| match sent {
        Sent::Taken => eprintln!("measured and sent"),
        Sent::Waits => eprintln!("measured; the server cannot be reached, so it waits on disk"),
        Sent::Refused(status) => eprintln!("measured; the server refuses it with {status}"),
    };
    match command.once {
        true => session.cycle().map(|sent| told(&sent)),
        false => session.run(told),
    }
}

/// Asks for consent on a terminal. Without a terminal the flag is needed, unless the probe has registered before.
fn agreed() -> Result<bool, String> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    eprint!("Do you agree? Type yes: ");
    std::io::stderr().flush().map_err(|error| error.to_string())?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
    Ok(line.trim() == "yes")
}

/// An address with or without a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    let bare = text.parse::<IpAddr>().map(|address| SocketAddr::new(address, 53));
    bare.or_else(|_| text.parse()).map_err(|_| format!("{text:?} is not the address of a resolver"))
}

fn system_resolver() -> Result<SocketAddr, String> {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let mut named = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver")?.trim().parse().ok());
    let first = named.next().ok_or("no resolver in /etc/resolv.conf; give one with --resolver")?;
    Ok(SocketAddr::new(first, 53))
}
