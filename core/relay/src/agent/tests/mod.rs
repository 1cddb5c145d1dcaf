//! Whole requests through the router, on a deployment in memory. Each module is about the part of an agent that its name
//! says; `malformed` is about all routes, `repeats` about repeated requests, `standings` about agents that are not
//! trusted yet.

mod channels;
mod consents;
mod delivery;
mod earlier_rows;
mod erasing;
mod identities;
mod keys;
mod lifetimes;
mod mailboxes;
mod malformed;
mod memories;
mod names;
mod pinning;
mod prekeys;
mod presences;
mod repeats;
mod resealing;
mod sealing;
mod sessions;
mod standings;
mod streams;
mod tasks;
mod trust;
mod webhooks;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};

use crate::testing::PROGRAM;
use crate::testing::TestRuntime;
use crypto::client::{Client, Options, Peer, Raw};
use crypto::encoding::{decode_base64, decode_base64_array};
use engine::http::{Body, Request, Response, serve};
use engine::runtime::ByteStream;

/// An answer, read to its end.
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl Answer {
    #[track_caller]
    fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    #[track_caller]
    fn refused(self, status: u16, code: &str) {
        assert_eq!(self.expect(status)["error"], code);
    }
}

/// A deployment.
struct World {
    rt: Arc<TestRuntime>,
}

impl World {
    fn new() -> World {
        World::with(&[])
    }

    /// With budgets that no test uses up.
    fn patient() -> World {
        World::with(&[("agent_burst", "1000000"), ("agent_per_second", "100000")])
    }

    fn with(settings: &[(&str, &str)]) -> World {
        World { rt: TestRuntime::start(&PROGRAM, settings) }
    }

    /// Another relay: signatures for [`World::new`] are not valid for it.
    fn at_another_relay() -> World {
        World { rt: TestRuntime::start_as(&PROGRAM, 1, &[]) }
    }

    fn response(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        let request = Request {
            method: Method::from_bytes(method.as_bytes()).unwrap(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: map,
            body: Bytes::copy_from_slice(body),
            client: Some([127, 0, 0, 1].into()),
            ..Request::default()
        };
        serve(self.rt.clone(), request).now_or_never().expect("the runtime of tests never waits")
    }

    fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let response = self.response(method, path, headers, body);
        let bytes = match response.body {
            Body::Bytes(bytes) => bytes.to_vec(),
            // An export ends by itself; a stream of events does not.
            Body::Stream(pieces) => {
                let pieces = pieces.collect::<Vec<Bytes>>().now_or_never();
                pieces.unwrap_or_else(|| panic!("{path} answered with an endless stream")).concat()
            }
        };
        let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
        Answer { status: response.status.as_u16(), headers: response.headers, body }
    }

    fn call(&self, method: &str, path: &str, key: &str, body: Value) -> Answer {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let headers = [("x-agent-key", key), ("content-type", "application/json")];
        self.raw(method, path, &headers, &body)
    }

    fn get(&self, path: &str, key: &str) -> Answer {
        self.call("GET", path, key, Value::Null)
    }

    fn post(&self, path: &str, key: &str, body: Value) -> Answer {
        self.call("POST", path, key, body)
    }

    /// Registers an agent whose keys the server holds.
    fn server_agent(&self, name: &str) -> Agent {
        let made = self.post("/v1/agent/register", "", json!({ "name": name })).expect(201);
        Agent::of(&made)
    }

    /// Registers a client like the one of the public SDK.
    fn client(&self, seed: u8, options: Options) -> (Client, Agent) {
        let client = Client::new("svc", [seed; 32], options);
        let made = self.post("/v1/agent/register", "", client.key_body(None, 1)).expect(201);
        assert_eq!(made["did"], client.did);
        (client, Agent::of(&made))
    }

    fn peer(&self, did: &str) -> Peer {
        let found = self.get(&format!("/v1/agent/identity/{did}"), "").expect(200);
        let key = |name: &str| decode_base64_array("key", found[name].as_str().unwrap()).unwrap();
        Peer {
            did: did.to_owned(),
            signing_key: key("signing_public_key"),
            encryption_key: key("encryption_public_key"),
            kem_key: found["mlkem_public_key"].as_str().map(|text| decode_base64("k", text).unwrap()),
        }
    }

    fn send(&self, from: &Agent, to: &str, text: &str) -> Value {
        self.post("/v1/agent/send", &from.key, json!({ "to": to, "message": text })).expect(201)
    }

    fn messages(&self, agent: &Agent, query: &str) -> Vec<Value> {
        let page = self.get(&format!("/v1/agent/receive/raw?{query}"), &agent.key).expect(200);
        assert_eq!(page["count"], page["messages"].as_array().unwrap().len());
        page["messages"].as_array().unwrap().clone()
    }

    fn texts(&self, agent: &Agent) -> Vec<String> {
        let page = self.get("/v1/agent/receive?limit=100", &agent.key).expect(200);
        page["messages"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap().to_owned()).collect()
    }

    fn events(&self, agent: &Agent, query: &str, last: Option<&str>) -> Events {
        let mut headers = vec![("x-agent-key", agent.key.as_str())];
        headers.extend(last.map(|last| ("last-event-id", last)));
        let response = self.response("GET", &format!("/v1/agent/receive/sse?{query}"), &headers, b"");
        assert_eq!(response.status, 200);
        assert_eq!(response.headers["content-type"], "text/event-stream");
        let Body::Stream(stream) = response.body else { panic!("no stream") };
        Events { stream }
    }

    fn wait(&self, seconds: u64) {
        self.rt.advance(std::time::Duration::from_secs(seconds));
    }
}

#[derive(Clone)]
struct Agent {
    did: String,
    key: String,
}

impl Agent {
    fn of(made: &Value) -> Agent {
        Agent { did: made["did"].as_str().unwrap().to_owned(), key: made["api_key"].as_str().unwrap().to_owned() }
    }
}

/// An event stream.
struct Events {
    stream: ByteStream,
}

/// The present state of a stream.
#[derive(Debug, PartialEq)]
enum Next {
    Piece(String),
    Nothing,
    End,
}

impl Events {
    fn next(&mut self) -> Next {
        match self.stream.next().now_or_never() {
            Some(Some(bytes)) => Next::Piece(String::from_utf8(bytes.to_vec()).unwrap()),
            Some(None) => Next::End,
            None => Next::Nothing,
        }
    }

    /// Cursor and message of every event that has arrived.
    fn drain(&mut self) -> Vec<(String, Value)> {
        let mut found = Vec::new();
        while let Next::Piece(text) = self.next() {
            for event in text.split_terminator("\n\n") {
                let lines: Vec<&str> = event.split('\n').collect();
                let [kind, data, id] = lines[..] else { panic!("{event:?}") };
                assert_eq!(kind, "event: message");
                let data = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
                found.push((id.strip_prefix("id: ").unwrap().to_owned(), data));
            }
        }
        found
    }
}

fn raw_of(message: &Value) -> Raw {
    let text = |name: &str| message[name].as_str().unwrap().to_owned();
    let key = |name: &str| decode_base64_array("key", message[name].as_str().unwrap()).unwrap();
    Raw {
        from: text("from"),
        to: text("to"),
        ciphertext: text("ciphertext"),
        nonce: text("nonce"),
        signature: text("signature"),
        envelope: message["envelope"].as_str().map(str::to_owned),
        timestamp: text("timestamp"),
        sender_signing_key: key("sender_signing_key"),
        sender_encryption_key: key("sender_encryption_key"),
    }
}
