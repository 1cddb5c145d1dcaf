//! The yardstick of reads: the smallest JSON handler that axum can serve, in a process of its own, on the runtime that the
//! server runs on (tokio's default, a worker per core): so that the ratio is of handlers, not of schedulers.

use std::process::Command;

use axum::serve::ListenerExt;
use axum::{Json, Router, routing::get};
use heliograph_tests::process::Server;

use crate::machine::Cores;

#[derive(serde::Serialize)]
struct Hello {
    message: &'static str,
}

/// Starts this program again as the bare server.
pub fn start(cores: &Cores) -> Server {
    let mut command = cores.server(&std::env::current_exe().unwrap());
    command.arg("--bare-handler");
    Server::start(command)
}

/// What the started process does.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening on http://{}", listener.local_addr().unwrap());
        let hello = || async { Json(Hello { message: "Hello, World!" }) };
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        axum::serve(listener, Router::new().route("/", get(hello))).await.unwrap();
    });
}

/// A program pinned by `taskset` where that is there.
pub fn pinned(core: Option<&str>, program: &std::path::Path) -> Command {
    match core {
        None => Command::new(program),
        Some(core) => {
            let mut command = Command::new("taskset");
            command.args(["-c", core]).arg(program);
            command
        }
    }
}
