//! `heliograph serve`: runs the server on the data file until it is told to stop.

use std::io::{IsTerminal, Write};

use heliograph_core::engine::runtime::Runtime;
use heliograph_core::engine::settings::Settings;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::args::Common;
use crate::proxies;
use crate::server::Deployment;
use crate::store::Options;
use crate::{log, metrics};

/// Descriptors that a server needs besides its connections: for files, but at most half of all descriptors, and for
/// requests to other hosts, but at most an eighth of all.
const OTHER_FILES: u64 = 64;
const OUTGOING: u64 = 1_024;

/// Requests that a thread answers before it looks for new events. Tokio's default of 61 is meant for work of a
/// microsecond. With requests that take half a millisecond, it would first answer thirty, and then take the next ones
/// in no order.
const REQUESTS_AT_ONCE: u32 = 8;

/// Settings that SIGHUP puts in force.
#[cfg(unix)]
const RELOADED: [&str; 2] = ["log_level", "access_log"];

pub fn run(common: &Common) -> Result<(), String> {
    let config = common.config()?;
    log::begin(&config.settings);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .event_interval(REQUESTS_AT_ONCE)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(async move {
        listen_for_reload(common.clone(), config.settings.clone());
        let mut settings = config.settings;
        let listener = TcpListener::bind(&settings.listen)
            .await
            .map_err(|error| format!("cannot listen on {}: {error}", settings.listen))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        if settings.public_url.is_empty() {
            settings.public_url = format!("http://{address}");
        }
        let measuring = listen_for_metrics(&settings.metrics_listen).await?;
        let hints = hints(&settings.public_url, &settings.demo_key);
        let deployment = Deployment::open(settings, Options::new(&common.data)).await?;
        // Continue a rotation that was interrupted.
        deployment.native().rotation.wake(deployment.native());
        let descriptors = raise_descriptor_limit();
        log::info!("{}", proxies::in_force(&deployment.native().environment().settings));
        log::info!("data: {}", common.data.display());
        // A log has no use for them.
        if std::io::stderr().is_terminal() {
            eprint!("{hints}");
        }
        let measured =
            measuring.map(|listener| tokio::spawn(metrics::listener::run(listener, deployment.native().clone())));
        say!("listening on http://{address}");
        std::io::stdout().flush().map_err(|error| error.to_string())?;
        crate::serve::run(listener, deployment.native().clone(), descriptors, stop_signal()).await;
        measured.iter().for_each(JoinHandle::abort);
        deployment.close().await;
        Ok(())
    })
}

/// The listener of the setting `metrics_listen`, if there is one.
async fn listen_for_metrics(address: &str) -> Result<Option<TcpListener>, String> {
    if address.is_empty() {
        return Ok(None);
    }
    let refuse = |error: std::io::Error| format!("cannot listen on {address} for metrics: {error}");
    let listener = TcpListener::bind(address).await.map_err(refuse)?;
    log::info!("metrics on http://{}{}", listener.local_addr().map_err(refuse)?, metrics::PATH);
    Ok(Some(listener))
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

/// Reads the settings again at each SIGHUP, which would end the process otherwise (decision hangup-reloads).
#[cfg(unix)]
fn listen_for_reload(common: Common, running: Settings) {
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()) {
        Ok(mut hangup) => drop(tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                reload(&common, &running);
            }
        })),
        Err(error) => log::warning!("SIGHUP will end the server: {error}"),
    }
}

#[cfg(not(unix))]
fn listen_for_reload(_common: Common, _running: Settings) {}

/// Takes over what can change while the server runs, and says which settings wait for the next start.
#[cfg(unix)]
fn reload(common: &Common, running: &Settings) {
    let settings = match common.config() {
        Ok(config) => config.settings,
        Err(error) => return log::error!("the settings stay as they are: {error}"),
    };
    log::begin(&settings);
    let waits = |name: &str| !RELOADED.contains(&name) && settings.get(name) != running.get(name);
    let waiting: Vec<&str> = Settings::ALL.iter().map(|setting| setting.name).filter(|name| waits(name)).collect();
    let (level, requests) = (&settings.log_level, settings.access_log);
    log::info!("settings read again: log_level is {level}, access_log is {requests}");
    if !waiting.is_empty() {
        log::warning!("these settings have changed and wait for the next start: {}", waiting.join(", "));
    }
}

/// Ends at Ctrl-C or SIGTERM.
async fn stop_signal() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = interrupt => {}
                    _ = terminate.recv() => {}
                }
            }
            Err(_) => drop(interrupt.await),
        }
    }
    #[cfg(not(unix))]
    drop(interrupt.await);
    log::info!("stopping");
}
