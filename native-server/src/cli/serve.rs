//! `heliograph serve`: runs the server on the data file until it is told to stop.

use std::io::Write;

use heliograph_core::engine::runtime::Runtime;
use tokio::net::TcpListener;

use super::args::Common;
use crate::proxies;
use crate::server::Deployment;
use crate::store::Options;

/// Descriptors that a server needs besides its connections: for files, but at most half of all descriptors, and for
/// requests to other hosts, but at most an eighth of all.
const OTHER_FILES: u64 = 64;
const OUTGOING: u64 = 1_024;

/// Requests that a thread answers before it looks for new events. Tokio's default of 61 is meant for work of a
/// microsecond. With requests that take half a millisecond, it would first answer thirty, and then take the next ones
/// in no order.
const REQUESTS_AT_ONCE: u32 = 8;

pub fn run(common: &Common) -> Result<(), String> {
    let config = common.config()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .event_interval(REQUESTS_AT_ONCE)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(async move {
        let mut settings = config.settings;
        let listener = TcpListener::bind(&settings.listen)
            .await
            .map_err(|error| format!("cannot listen on {}: {error}", settings.listen))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        if settings.public_url.is_empty() {
            settings.public_url = format!("http://{address}");
        }
        let hints = hints(&settings.public_url, &settings.demo_key);
        let deployment = Deployment::open(settings, Options::new(&common.data)).await?;
        // Continue a rotation that was interrupted.
        deployment.native().rotation.wake(deployment.native());
        let descriptors = raise_descriptor_limit();
        eprintln!("{}", proxies::in_force(&deployment.native().environment().settings));
        eprintln!("data: {}", common.data.display());
        eprint!("{hints}");
        say!("listening on http://{address}");
        std::io::stdout().flush().map_err(|error| error.to_string())?;
        crate::serve::run(listener, deployment.native().clone(), descriptors, stop_signal()).await;
        deployment.close().await;
        Ok(())
    })
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
            eprintln!("open files: {limit}, room for {room} connections");
            room
        }
        Err(error) => {
            eprintln!("warning: cannot raise the limit of open files: {error}");
            u64::MAX
        }
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
    eprintln!("stopping");
}
