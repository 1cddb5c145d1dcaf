//! `heliograph serve`.

use std::io::Write;

use heliograph_core::engine::runtime::Runtime;
use tokio::net::TcpListener;

use super::args::Common;
use crate::proxies;
use crate::server::Deployment;
use crate::store::Options;

/// Descriptors a server needs besides its connections: for files, and for requests to others, of which there may be as many
/// as this or an eighth of all, whichever is less.
const OTHER_FILES: u64 = 64;
const OUTGOING: u64 = 1_024;

/// Requests that a thread answers before it looks who else has come. Tokio's own 61 are meant for work of a microsecond: of
/// requests that take half a millisecond it would first answer thirty, and then take the next ones in no order.
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
        // What an interrupted rotation left is taken up again.
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

/// Three requests that work at once on a fresh server.
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
         curl {base}/v1/agent/register {JSON} -d '{{\"name\":\"first-agent\"}}'\n"
    ));
    text
}

/// Every stream holds a descriptor; the usual soft limit of 1,024 would end there. Says how many
/// there are for connections.
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
