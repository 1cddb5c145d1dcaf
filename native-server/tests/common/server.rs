//! A server in this process, reached over sockets.

use std::path::Path;
use std::time::Duration;

use heliograph::server::Deployment;
use heliograph::store::Options;
use heliograph_core::engine::settings::Settings;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub struct Server {
    pub deployment: Deployment,
    pub address: String,
    stop: tokio::sync::oneshot::Sender<()>,
    serving: tokio::task::JoinHandle<()>,
}

impl Server {
    pub async fn start(data: &Path, settings: Settings) -> Server {
        let deployment = Deployment::open(settings, Options::new(data)).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let shutdown = async move { drop(stopped.await) };
        let serving =
            tokio::spawn(heliograph::serve::run((listener, false), deployment.native().clone(), 1_000, shutdown));
        Server { deployment, address, stop, serving }
    }

    /// A connection on which `text` was written.
    pub async fn connect(&self, text: &str) -> TcpStream {
        let mut socket = TcpStream::connect(&self.address).await.unwrap();
        socket.write_all(text.as_bytes()).await.unwrap();
        socket
    }

    pub async fn post(&self, path: &str, key: &str, body: Value) -> Value {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nx-agent-key: {key}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut answer = String::new();
        self.connect(&request).await.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 201"), "{path}: {answer}");
        serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    }

    /// DID and key of a new agent.
    pub async fn agent(&self, name: &str) -> (String, String) {
        let made = self.post("/v1/agent/register", "", json!({ "name": name })).await;
        (made["did"].as_str().unwrap().to_owned(), made["api_key"].as_str().unwrap().to_owned())
    }

    /// Asks the server to stop and waits until it has. Its data file stays open.
    pub async fn stop(self) -> Deployment {
        self.stop.send(()).unwrap();
        tokio::time::timeout(Duration::from_secs(30), self.serving).await.unwrap().unwrap();
        self.deployment
    }
}
