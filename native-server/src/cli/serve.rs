//! `heliograph serve`: runs the server on the data file until it is told to stop.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use heliograph_core::engine::runtime::Runtime;
use heliograph_core::engine::settings::Settings;
use tokio::net::TcpListener;

use super::args::Common;
use crate::runtime::Native;
use crate::server::Deployment;
use crate::store::Options;
use crate::tls::Tls;
use crate::{config, log, metrics, proxies, redirect, reload, supervisor};

/// Descriptors that a server needs besides its connections: for files, but at most half of all descriptors, and for
/// requests to other hosts, but at most an eighth of all.
const OTHER_FILES: u64 = 64;
const OUTGOING: u64 = 1_024;

/// Requests that a thread answers before it looks for new events. Tokio's default of 61 is meant for work of a
/// microsecond. With requests that take half a millisecond, it would first answer thirty, and then take the next ones
/// in no order.
const REQUESTS_AT_ONCE: u32 = 8;

/// Where clients come in.
struct Entrance {
    listener: TcpListener,
    /// Such as `https://127.0.0.1:8787`.
    address: String,
}

pub fn run(common: &Common) -> Result<(), String> {
    // Before there are threads.
    let socket = supervisor::socket()?;
    let at = socket.as_ref().map(|socket| socket.local_addr().map_err(|error| error.to_string())).transpose()?;
    let config = common.config_at(at)?;
    log::begin(&config.settings);
    for told in config::strange_variables(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())) {
        log::warning!("{told}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .event_interval(REQUESTS_AT_ONCE)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(serve(common.clone(), at, config.settings, socket))
}

async fn serve(
    common: Common,
    at: Option<SocketAddr>,
    mut settings: Settings,
    socket: Option<std::net::TcpListener>,
) -> Result<(), String> {
    let hangup = Hangup::catch();
    if let Some(told) = config::same_address(&settings) {
        return Err(told);
    }
    let tls = Tls::of(&settings, &common.data)?;
    let Entrance { listener, address } = entrance(&settings.listen, socket, tls.is_some()).await?;
    if settings.public_url.is_empty() {
        settings.public_url.clone_from(&address);
    }
    let measuring = listen_beside(&settings.metrics_listen, "metrics_listen").await?;
    let redirecting = listen_beside(&settings.redirect_listen, "redirect_listen").await?;
    let hints = hints(&settings.public_url, &settings.demo_key);
    let deployment = Deployment::open(settings, Options::new(&common.data)).await?;
    let native = deployment.native().clone();
    // Continue a rotation that was interrupted.
    native.rotation.wake(&native);
    let descriptors = raise_descriptor_limit();
    log::info!("{}", proxies::in_force(&native.environment().settings));
    let cache = native.store.cache_bytes() >> 20;
    log::info!("data: {}, with up to {cache} MiB of memory for its pages", common.data.display());
    // A log has no use for them.
    if std::io::stderr().is_terminal() {
        eprint!("{hints}");
    }
    let mut beside = tokio::task::JoinSet::new();
    if let Some(tls) = tls {
        let _ = native.tls.set(tls.clone());
        beside.spawn(async move { tls.renew().await });
    }
    if let Some(listener) = measuring {
        beside.spawn(metrics::listener::run(listener, native.clone()));
    }
    if let Some(listener) = redirecting {
        beside.spawn(redirect::run(listener, native.clone()));
    }
    beside.spawn(hangup.reload(common, at, native.clone()));
    beside.spawn(supervisor::watchdog());
    // Whoever reads the next line may stop the server at once.
    let stop = stop_signal();
    say!("listening on {address}");
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    supervisor::ready();
    crate::serve::run((listener, at.is_some()), native, descriptors, stop).await;
    beside.shutdown().await;
    let began = Instant::now();
    deployment.close().await;
    // Clients in the queue of the socket wait for this, and for the start of the next process.
    log::info!("the data file is closed after {} ms", began.elapsed().as_millis());
    Ok(())
}

/// Listens on the address, or takes the socket that the service manager listens on.
async fn entrance(listen: &str, socket: Option<std::net::TcpListener>, tls: bool) -> Result<Entrance, String> {
    let refuse = |error: std::io::Error| format!("cannot listen on {listen}: {}", reason(&error));
    let listener = match socket {
        Some(socket) => TcpListener::from_std(socket),
        None => TcpListener::bind(listen).await,
    };
    let listener = listener.map_err(refuse)?;
    let scheme = if tls { "https" } else { "http" };
    let address = format!("{scheme}://{}", listener.local_addr().map_err(refuse)?);
    Ok(Entrance { listener, address })
}

/// The listener of a setting that names one more address, if it does.
async fn listen_beside(address: &str, setting: &str) -> Result<Option<TcpListener>, String> {
    if address.is_empty() {
        return Ok(None);
    }
    let refuse = |error: std::io::Error| format!("cannot listen on {address} ({setting}): {}", reason(&error));
    let listener = TcpListener::bind(address).await.map_err(refuse)?;
    log::info!("{setting}: http://{}", listener.local_addr().map_err(refuse)?);
    Ok(Some(listener))
}

/// Why an address cannot be listened on, with the next step.
fn reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    let known = match error.kind() {
        ErrorKind::AddrInUse => "another process listens there; stop it, or choose another port",
        ErrorKind::PermissionDenied => {
            "ports below 1024 need the capability CAP_NET_BIND_SERVICE; under systemd, AmbientCapabilities gives it"
        }
        ErrorKind::AddrNotAvailable => "this machine has no such address; 0.0.0.0 and [::] stand for all that it has",
        // It is no address, or has a name that nobody knows.
        _ => {
            return format!(
                "{error}; write an address of this machine and a port, such as 127.0.0.1:8787, 0.0.0.0:8787 or [::]:8787"
            );
        }
    };
    known.to_owned()
}

/// Three requests that work at once on a new server.
fn hints(base: &str, demo_key: &str) -> String {
    const JSON: &str = "-H 'Content-Type: application/json'";
    let mut text = String::from("try:\n");
    if !demo_key.is_empty() {
        text.push_str(&format!(
            "  curl {base}/hydra/v1/detect -H 'X-API-Key: {demo_key}' {JSON} -d '{{\"country\":\"CN\",\"target\":\"youtube.com\"}}'\n"
        ));
    }
    text.push_str(&format!(
        "  curl '{base}/v1/accessibility/check?domain=youtube.com&country=CN'\n  \
         curl {base}/v1/agent/register {JSON} -d '{{}}'\n"
    ));
    text
}

/// Raises the limit of open files, because every stream holds a descriptor and the usual soft limit is 1,024. Returns
/// the number of descriptors for connections.
fn raise_descriptor_limit() -> u64 {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(limit) => {
            let room = limit.saturating_sub(OTHER_FILES.min(limit / 2) + OUTGOING.min(limit / 8));
            log::info!("open files: {limit}, room for {room} connections");
            room
        }
        Err(error) => {
            log::warning!("cannot raise the limit of open files: {error}");
            u64::MAX
        }
    }
}

/// The signal SIGHUP, which would end the process if it were not caught (decision hangup-reloads).
struct Hangup(#[cfg(unix)] Option<tokio::signal::unix::Signal>);

impl Hangup {
    #[cfg(unix)]
    fn catch() -> Hangup {
        let caught = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup());
        if let Err(error) = &caught {
            log::warning!("SIGHUP will end the server: {error}");
        }
        Hangup(caught.ok())
    }

    #[cfg(not(unix))]
    fn catch() -> Hangup {
        Hangup()
    }

    /// Reads the settings again at each signal.
    #[cfg(unix)]
    async fn reload(self, common: Common, at: Option<SocketAddr>, native: Arc<Native>) {
        let Some(mut signal) = self.0 else { return };
        while signal.recv().await.is_some() {
            supervisor::reloading();
            let listens = native.environment().settings.listen.clone();
            let read = common.config_again(at, &listens).and_then(|config| {
                let outcome = native.put_in_force(&config.settings)?;
                log::begin(&native.environment().settings);
                Ok(outcome)
            });
            match read {
                Ok(outcome) => reload::tell(&outcome),
                Err(error) => log::error!("the settings stay as they are: {error}"),
            }
            // Timers that rested because the deployment was closed are looked at with the next commit.
            let _ = native.writer.write_check().await;
            supervisor::ready();
        }
    }

    #[cfg(not(unix))]
    async fn reload(self, _common: Common, _at: Option<SocketAddr>, _native: Arc<Native>) {}
}

/// Catches Ctrl-C and SIGTERM from now on. The future ends at the first of them.
fn stop_signal() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let caught = {
        use tokio::signal::unix::{SignalKind, signal};
        [SignalKind::interrupt(), SignalKind::terminate()].map(signal)
    };
    async move {
        #[cfg(unix)]
        {
            let [interrupt, terminate] = caught;
            tokio::select! {
                () = arrives(interrupt) => {}
                () = arrives(terminate) => {}
            }
        }
        #[cfg(not(unix))]
        drop(tokio::signal::ctrl_c().await);
        supervisor::stopping();
        log::info!("stopping");
    }
}

/// Ends when the signal comes; never for one that could not be caught, which ends the process by itself.
#[cfg(unix)]
async fn arrives(signal: std::io::Result<tokio::signal::unix::Signal>) {
    match signal {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}
