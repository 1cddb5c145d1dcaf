//! Costly requests of one client must not delay cheap requests of others. The tests count, and measure no time.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::mpsc;
use std::time::Duration;

use common::server::Server;
use common::until;
use heliograph::testing::folder;
use heliograph_core::engine::apart::Asker;
use heliograph_core::engine::runtime::Runtime;
use heliograph_core::engine::settings::Settings;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest time for an answer that must wait for nothing.
const SOON: Duration = Duration::from_secs(20);
const QUEUE: usize = 64;

fn settings() -> Settings {
    let mut settings = Settings::default();
    for (name, value) in [("computing_threads", "1"), ("first_party_services", "false"), ("publish_interval", "3600")] {
        settings.set(name, value).unwrap();
    }
    settings
}

/// A request that ends its connection.
fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
}

/// A question about the past of a site that was not asked before.
fn cold(number: usize) -> String {
    get(&format!("/v1/accessibility/check?domain=site-{number}.example&country=NO&as_of=2024-03-10T00:00:00Z"))
}

async fn read(mut socket: TcpStream) -> String {
    let mut answer = String::new();
    timeout(SOON, socket.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

async fn ask(server: &Server, request: &str) -> String {
    read(server.connect(request).await).await
}

/// Occupies the only computing thread until it is released.
async fn fill(server: &Server) -> (mpsc::Sender<()>, tokio::task::JoinHandle<()>) {
    let native = server.deployment.native().clone();
    let (go, wait) = mpsc::channel::<()>();
    let (begin, begun) = tokio::sync::oneshot::channel();
    let work = Box::pin(async move {
        let _ = begin.send(());
        let _ = wait.recv();
    });
    let filling = tokio::spawn(async move { native.apart(&Asker::new("filler"), work).await.unwrap() });
    begun.await.unwrap();
    (go, filling)
}

fn inside(server: &Server) -> usize {
    server.deployment.native().pool.inside()
}

fn answered(socket: &TcpStream) -> bool {
    socket.try_read(&mut [0; 1]).is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn little_is_answered_while_every_place_of_what_computes_is_taken() {
    let folder = folder("computing");
    let server = Server::start(&folder.file("h.redb"), settings()).await;
    let (_, sender) = server.agent("sender").await;
    let (recipient, _) = server.agent("recipient").await;
    let check = get("/v1/accessibility/check?domain=a.example&country=NO");
    let page = get("/v1/accessibility/service/telegram");
    let (kept, list) = (cold(1_000), get("/data/dumps?country=NO"));
    for request in [&check, &page, &kept, &list] {
        assert!(ask(&server, request).await.starts_with("HTTP/1.1 200"), "{request}");
    }

    let (go, filling) = fill(&server).await;
    let mut waiting = Vec::new();
    for number in 0..QUEUE {
        waiting.push(server.connect(&cold(number)).await);
    }
    until("all questions wait", || inside(&server) == 1 + QUEUE).await;

    let refused = ask(&server, &cold(QUEUE)).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("\"error\":\"BUSY\"") && refused.contains("retry-after: 5"), "{refused}");

    for request in [get("/health"), check, page, kept, list] {
        let answer = ask(&server, &request).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{request}: {answer}");
    }
    for number in 0..3 {
        let message = json!({ "to": recipient, "message": format!("number {number}") });
        timeout(SOON, server.post("/v1/agent/send", &sender, message)).await.unwrap();
    }
    assert!(!waiting.iter().any(answered), "nothing of what waits has ended");
    assert_eq!(inside(&server), 1 + QUEUE);

    // A client that leaves makes room.
    drop(waiting.remove(7));
    until("its place is free", || inside(&server) == QUEUE).await;
    waiting.push(server.connect(&cold(QUEUE + 1)).await);
    until("another one has it", || inside(&server) == 1 + QUEUE).await;
    assert!(ask(&server, &cold(QUEUE + 2)).await.starts_with("HTTP/1.1 503"));

    go.send(()).unwrap();
    filling.await.unwrap();
    for socket in waiting {
        assert!(read(socket).await.starts_with("HTTP/1.1 200"));
    }
    until("every place is free", || inside(&server) == 0).await;
    server.stop().await.close().await;
}

/// An export is made page by page. Others have their turn between two pages, and an export that nobody reads holds no
/// thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_waits_its_turn_and_is_whole() {
    let folder = folder("computing-export");
    let server = Server::start(&folder.file("h.redb"), settings()).await;
    let (go, filling) = fill(&server).await;
    let export = server.connect(&get("/data/incidents/export?format=json")).await;
    until("the export waits", || inside(&server) == 2).await;
    assert!(!answered(&export));
    go.send(()).unwrap();
    filling.await.unwrap();
    let whole = read(export).await;
    assert!(whole.starts_with("HTTP/1.1 200") && whole.contains("\"count\":0"), "{whole}");
    server.stop().await.close().await;
}
