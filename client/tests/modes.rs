//! Agents of this library and agents that others could have written (`tests/interop`, in JavaScript on other cryptography,
//! from the wire contract alone) write to each other: in every mode, in both directions, on both runtimes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use common::{Server, session_modes};
use heliograph_client::relay::{Authentication, Options};
use heliograph_client::{Agent, Draft, Filter, Mode};
use serde_json::{Value, json};

/// Text that is empty, longer than a block of padding, or looks like the header of a session.
fn texts() -> Vec<String> {
    vec!["first".into(), String::new(), "V\0 \u{1f980} é".into(), "x".repeat(1_000)]
}

/// An agent in a process of its own.
struct Peer {
    child: Child,
    commands: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    did: String,
}

impl Peer {
    /// On tweetnacl, on noble, or with keys that the service holds.
    fn start(server: &Server, kind: &str) -> Option<Peer> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/interop");
        if !folder.join("node_modules").exists() {
            println!("skipped: `cargo xtask test` installs what {} needs", folder.display());
            return None;
        }
        let mut node = Command::new("node");
        node.arg("peer.mjs").args([&server.base, kind]).current_dir(folder);
        let mut child = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let commands = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut peer = Peer { child, commands, answers, did: String::new() };
        peer.did = peer.answer().as_str().unwrap().to_owned();
        Some(peer)
    }

    fn answer(&mut self) -> Value {
        let line = self.answers.next().expect("the peer answers").unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, command: &Value) -> Value {
        writeln!(self.commands, "{command}").unwrap();
        self.answer()
    }

    /// What came for it since the last time.
    fn heard(&mut self) -> Value {
        self.ask(&json!({ "receive": true }))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The names that `tests/interop/formats.mjs` gives to the options.
fn named(options: Options) -> Value {
    json!({
        "hybrid": options.post_quantum, "doubleRatchet": options.double_ratchet, "padded": options.padding,
        "sealed": options.sealed, "deniable": options.deniable,
    })
}

async fn send_all(agent: &Agent, to: &str, mode: Mode) {
    for text in texts() {
        agent.send(&Draft::to(to, &text).mode(mode)).await.unwrap();
    }
}

/// What came for an agent of this library, in the form of `Peer::heard`. Each message opens twice before it is read.
async fn heard(agent: &Agent, authentication: Authentication) -> Value {
    let mut told = Vec::new();
    for _ in 0..2 {
        let messages = agent.receive(&Filter::default()).await.unwrap().messages;
        for message in &messages {
            assert_eq!(message.problem, None);
        }
        let form = |text: &str, from: &str, genuine| json!({ "text": text, "from": from, "genuine": genuine });
        told.push(Value::Array(
            messages.iter().map(|it| form(&it.text, &it.from, it.authentication == authentication)).collect(),
        ));
        if told.len() == 2 {
            let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
            agent.mark_read(&ids).await.unwrap();
        }
    }
    assert_eq!(told[0], told[1]);
    told.swap_remove(1)
}

fn expected(from: &str) -> Value {
    texts().into_iter().map(|text| json!({ "text": text, "from": from, "genuine": true })).collect()
}

fn authentication(options: Options) -> Authentication {
    if options.deniable { Authentication::Deniable } else { Authentication::Signed }
}

async fn every_session_goes_both_ways(server: &Server) {
    for kind in ["nacl", "noble"] {
        let Some(mut peer) = Peer::start(server, kind) else { return };
        let own = server.agent().await;
        for options in session_modes() {
            send_all(&own, &peer.did, Mode::Session(options)).await;
            assert_eq!(peer.heard(), expected(&own.did()), "to {kind}, {options:?}");
            peer.ask(&json!({ "send": own.did(), "texts": texts(), "mode": named(options) }));
            assert_eq!(heard(&own, authentication(options)).await, expected(&peer.did), "from {kind}, {options:?}");
        }
    }
}

async fn a_plain_box_goes_both_ways(server: &Server) {
    for kind in ["nacl", "noble"] {
        let Some(mut peer) = Peer::start(server, kind) else { return };
        let own = server.agent().await;
        send_all(&own, &peer.did, Mode::Box).await;
        assert_eq!(peer.heard(), expected(&own.did()), "to {kind}");
        // Without a header, a text that begins like one is taken for one by every client.
        let texts: Vec<String> = texts().into_iter().filter(|text| !text.starts_with('V')).collect();
        peer.ask(&json!({ "route": own.did(), "texts": texts }));
        let told = heard(&own, Authentication::Signed).await;
        let told: Vec<&str> =
            told.as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap()).collect();
        assert_eq!(told, texts, "from {kind}");
    }
}

/// The service opens every mode for those whose keys it holds, and writes in one.
async fn an_agent_whose_keys_the_service_holds_reads_every_mode(server: &Server) {
    let Some(mut held) = Peer::start(server, "service") else { return };
    let own = server.agent().await;
    let modes = session_modes().filter(|options| !options.deniable).map(Mode::Session);
    for mode in std::iter::once(Mode::Box).chain(modes) {
        send_all(&own, &held.did, mode).await;
        assert_eq!(held.heard(), expected(&own.did()), "{mode:?}");
    }
    held.ask(&json!({ "send": own.did(), "texts": texts() }));
    assert_eq!(heard(&own, Authentication::Signed).await, expected(&held.did));
}

/// A client that knows nothing of sessions from prekeys gets none: such a message is refused before it is sent.
async fn nobody_gets_a_session_that_he_cannot_open(server: &Server) {
    for kind in ["nacl", "noble", "service"] {
        let Some(mut peer) = Peer::start(server, kind) else { return };
        let own = server.agent().await;
        own.send(&Draft::to(&peer.did, "x").from_prekeys()).await.unwrap_err();
        assert_eq!(peer.heard(), json!([]), "{kind}");
    }
}

on_both_runtimes! {
    every_session_goes_both_ways,
    a_plain_box_goes_both_ways,
    an_agent_whose_keys_the_service_holds_reads_every_mode,
    nobody_gets_a_session_that_he_cannot_open,
}
