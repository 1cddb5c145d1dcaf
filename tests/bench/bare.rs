//! The baselines: the smallest JSON handler and the smallest echo over server-sent events that axum can serve. They run
//! in a process of their own on the same runtime as the server (tokio's default, a worker per core), so that the ratio
//! compares handlers and not schedulers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use futures_util::stream::{self, Stream};
use heliograph_tests::process::Server;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

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

/// The work of the started process.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening on http://{}", listener.local_addr().unwrap());
        let hello = || async { Json(Hello { message: "Hello, World!" }) };
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let router = Router::new().route("/", get(hello)).merge(echo());
        axum::serve(listener, router).await.unwrap();
    });
}

/// Listeners by number, and the number of messages that came.
#[derive(Default)]
struct Echo {
    listeners: Mutex<HashMap<usize, UnboundedSender<Event>>>,
    messages: AtomicU64,
}

/// `GET /listen/{n}` streams what `POST /send/{n}` brings; nothing is stored, and there is no authentication.
fn echo() -> Router {
    let router = Router::new().route("/listen/{n}", get(listen)).route("/send/{n}", post(send));
    router.with_state(Arc::new(Echo::default()))
}

async fn listen(
    State(echo): State<Arc<Echo>>,
    Path(number): Path<usize>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sender, receiver) = unbounded_channel();
    echo.listeners.lock().unwrap().insert(number, sender);
    Sse::new(stream::unfold(receiver, async |mut receiver| Some((Ok(receiver.recv().await?), receiver))))
}

async fn send(State(echo): State<Arc<Echo>>, Path(number): Path<usize>, body: String) -> StatusCode {
    let id = echo.messages.fetch_add(1, Ordering::Relaxed).to_string();
    let listeners = echo.listeners.lock().unwrap();
    let event = Event::default().event("message").data(body).id(id);
    match listeners.get(&number).map(|listener| listener.send(event)) {
        Some(Ok(())) => StatusCode::CREATED,
        _ => StatusCode::NOT_FOUND,
    }
}

/// A command that is pinned by `taskset`, if that is installed.
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
