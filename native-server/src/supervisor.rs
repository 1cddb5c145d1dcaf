//! What a service manager such as systemd hands to the server, and what it is told (decision service-manager).
//!
//! Without one, nothing here does anything.

use std::net::TcpListener;

/// The socket that the service manager listens on for this server. To be asked before there are threads, since the
/// variables that name it are removed.
#[cfg(unix)]
pub fn socket() -> Result<Option<TcpListener>, String> {
    let mut sockets = listenfd::ListenFd::from_env();
    match sockets.len() {
        0 => return Ok(None),
        1 => {}
        many => return Err(format!("the service manager hands over {many} sockets, and the server takes one")),
    }
    let socket = sockets.take_tcp_listener(0).and_then(|socket| {
        socket.iter().try_for_each(|socket| socket.set_nonblocking(true))?;
        Ok(socket)
    });
    socket.map_err(|error| format!("the service manager hands over a socket that the server cannot use: {error}"))
}

#[cfg(not(unix))]
pub fn socket() -> Result<Option<TcpListener>, String> {
    Ok(None)
}

#[cfg(unix)]
mod told {
    use std::time::Duration;

    use sd_notify::NotifyState;

    use crate::log;

    fn tell(state: &[NotifyState<'_>]) {
        if let Err(error) = sd_notify::notify(state) {
            log::warning!("the service manager cannot be told: {error}");
        }
    }

    /// Requests are answered from here on.
    pub fn ready() {
        tell(&[NotifyState::Ready]);
    }

    /// The settings are being read again, until [`ready`] is told.
    pub fn reloading() {
        // The time says which of two reloads this is about.
        match NotifyState::monotonic_usec_now() {
            Ok(now) => tell(&[NotifyState::Reloading, now]),
            Err(_) => tell(&[NotifyState::Reloading]),
        }
    }

    pub fn stopping() {
        tell(&[NotifyState::Stopping]);
    }

    /// Says twice in each period of the watchdog that requests can still be answered: this task runs on the threads
    /// that answer them. Does nothing when the service manager has no watchdog.
    pub async fn watchdog() {
        let Some(period) = sd_notify::watchdog_enabled().filter(|period| !period.is_zero()) else { return };
        let mut beat = tokio::time::interval((period / 2).max(Duration::from_millis(1)));
        loop {
            beat.tick().await;
            tell(&[NotifyState::Watchdog]);
        }
    }
}

#[cfg(not(unix))]
mod told {
    pub fn ready() {}
    pub fn reloading() {}
    pub fn stopping() {}
    pub async fn watchdog() {}
}

pub use told::{ready, reloading, stopping, watchdog};
