//! Messages between agents of this library, and with agents whose keys the service holds, in every mode.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::time::Duration;

use common::{Server, session_modes};
use heliograph_client::relay::{Authentication, Options};
use heliograph_client::store::{FileStore, MemoryStore};
use heliograph_client::{Agent, Code, Draft, Filter, Message, Mode, Registration};

async fn only(agent: &Agent) -> Message {
    let inbox = agent.receive(&Filter::default()).await.unwrap();
    assert_eq!(inbox.messages.len(), 1, "{inbox:?}");
    inbox.messages.into_iter().next().unwrap()
}

/// Every way in which agents of this library can seal.
fn modes() -> Vec<Mode> {
    let prekeys = session_modes().filter(|options| options.double_ratchet).map(Mode::Prekeys);
    [Mode::Box].into_iter().chain(session_modes().map(Mode::Session)).chain(prekeys).collect()
}

async fn every_mode_is_opened_again_and_again_until_the_message_is_read(server: &Server) {
    let (ada, bob) = (server.agent().await, server.agent().await);
    for (n, mode) in modes().into_iter().enumerate() {
        let text = format!("Grüße {n} \u{1f600}");
        let draft = Draft::to(&bob.did(), &text).mode(mode).thread("t").message_type("note").ttl(600);
        let sent = ada.send(&draft).await.unwrap();
        for _ in 0..2 {
            let message = only(&bob).await;
            assert_eq!((&message.id, &message.from, &message.text), (&sent.id, &ada.did(), &text), "{mode:?}");
            assert_eq!((message.thread_id.as_deref(), message.message_type.as_str()), (Some("t"), "note"), "{mode:?}");
            let deniable = matches!(mode, Mode::Session(options) | Mode::Prekeys(options) if options.deniable);
            let expected = if deniable { Authentication::Deniable } else { Authentication::Signed };
            assert_eq!((message.authentication, message.problem), (expected, None), "{mode:?}");
        }
        bob.mark_read(&[&sent.id]).await.unwrap();
        assert!(bob.receive(&Filter::default()).await.unwrap().messages.is_empty());
    }
}

async fn an_agent_whose_keys_the_service_holds_reads_and_writes_with_all_others(server: &Server) {
    let ada = server.agent().await;
    let held = server.client().register(MemoryStore::default(), Registration::by_service()).await.unwrap();
    for mode in [Mode::Box, Mode::Session(Options::default())] {
        let sent = ada.send(&Draft::to(&held.did(), "to the held one").mode(mode)).await.unwrap();
        let message = only(&held).await;
        assert_eq!((message.text.as_str(), message.authentication), ("to the held one", Authentication::Signed));
        held.mark_read(&[&sent.id]).await.unwrap();
    }
    held.say(&ada.did(), "from the held one").await.unwrap();
    let message = only(&ada).await;
    assert_eq!((message.text.as_str(), message.authentication), ("from the held one", Authentication::Signed));
    // It has no keys here, so it cannot seal.
    assert!(held.send(&Draft::to(&ada.did(), "x").mode(Mode::Box)).await.is_err());
    // And it does not say that it opens sessions from prekeys.
    assert!(ada.send(&Draft::to(&held.did(), "x").from_prekeys()).await.is_err());
}

#[tokio::test]
async fn a_conversation_goes_on_after_both_programs_and_the_server_were_killed() {
    let mut server = Server::native();
    let folder = tempfile::tempdir().unwrap();
    let store = |name: &str| FileStore::new(folder.path().join(name)).unwrap();
    for turn in 0..3 {
        let client = server.client();
        let ada = client.open_or_register(store("ada"), Registration::default()).await.unwrap();
        let bob = client.open_or_register(store("bob"), Registration::default()).await.unwrap();
        for (from, to) in [(&ada, &bob), (&bob, &ada)] {
            for draft in [Draft::to(&to.did(), "public"), Draft::to(&to.did(), "prekeys").from_prekeys()] {
                from.send(&draft).await.unwrap();
            }
            let inbox = to.receive(&Filter::default()).await.unwrap();
            let texts: Vec<&str> = inbox.messages.iter().map(|message| message.text.as_str()).collect();
            assert_eq!(texts, ["public", "prekeys"], "turn {turn}: {inbox:?}");
            let ids: Vec<&str> = inbox.messages.iter().map(|message| message.id.as_str()).collect();
            to.mark_read(&ids).await.unwrap();
        }
        server.kill();
        server.run();
    }
}

async fn messages_of_before_a_rotation_open_and_so_do_those_after_it(server: &Server) {
    let (ada, bob) = (server.agent().await, server.agent().await);
    for mode in [Mode::Box, Mode::Session(Options::default()), Mode::Prekeys(Options::default())] {
        ada.send(&Draft::to(&bob.did(), "before").mode(mode)).await.unwrap();
    }
    let rotated = bob.rotate_keys().await.unwrap();
    assert!(rotated.rotation_proved);
    bob.publish_prekeys(5).await.unwrap();
    ada.forget_peer(&bob.did());
    for mode in [Mode::Box, Mode::Session(Options::default()), Mode::Prekeys(Options::default())] {
        ada.send(&Draft::to(&bob.did(), "after").mode(mode)).await.unwrap();
    }
    let inbox = bob.receive(&Filter::default()).await.unwrap();
    assert_eq!(inbox.messages.len(), 6);
    for (n, message) in inbox.messages.iter().enumerate() {
        let expected = if n < 3 { "before" } else { "after" };
        assert_eq!((message.text.as_str(), &message.problem), (expected, &None), "{n}: {message:?}");
    }
}

async fn a_session_from_prekeys_uses_each_one_time_prekey_once_and_works_without_any(server: &Server) {
    let registration = Registration { one_time_prekeys: 2, ..Registration::default() };
    let bob = server.client().register(MemoryStore::default(), registration).await.unwrap();
    for left in [1, 0, 0] {
        let ada = server.agent().await;
        let sent = ada.send(&Draft::to(&bob.did(), "hello").from_prekeys()).await.unwrap();
        assert_eq!(only(&bob).await.text, "hello");
        bob.mark_read(&[&sent.id]).await.unwrap();
        assert_eq!(bob.prekey_stock().await.unwrap().one_time_prekeys_remaining, left);
    }
}

async fn what_a_session_from_prekeys_carried_is_closed_once_it_is_read(server: &Server) {
    let (ada, bob) = (server.agent().await, server.agent().await);
    let sent = ada.send(&Draft::to(&bob.did(), "secret").from_prekeys()).await.unwrap();
    assert_eq!(only(&bob).await.text, "secret");
    bob.mark_read(&[&sent.id]).await.unwrap();
    let again = bob.receive(&Filter { read_too: true, ..Filter::default() }).await.unwrap();
    let message = again.messages.iter().find(|message| message.id == sent.id).unwrap();
    assert!(message.text.is_empty() && message.problem.is_some(), "{message:?}");
}

async fn a_text_that_padding_cannot_hold_is_refused_before_it_is_sent(server: &Server) {
    let (ada, bob) = (server.agent().await, server.agent().await);
    let long = "x".repeat(65_536);
    assert!(ada.send(&Draft::to(&bob.did(), &long)).await.is_err());
    assert!(ada.send(&Draft::to(&bob.did(), &long[1..])).await.is_ok());
    assert!(ada.send(&Draft::to(&bob.did(), &long[1..]).sealed()).await.is_err());
    ada.send(&Draft::to(&bob.did(), &long).unpadded()).await.unwrap();
    let inbox = bob.receive(&Filter::default()).await.unwrap();
    let lengths: Vec<usize> = inbox.messages.iter().map(|message| message.text.len()).collect();
    assert_eq!(lengths, [65_535, 65_536]);
}

#[tokio::test]
async fn a_stream_gives_every_message_once_over_breaks_of_the_connection() {
    let mut server = Server::native();
    let (ada, bob) = (server.agent().await, server.agent().await);
    let mut listener = bob.listen(None, None).unwrap();
    let mut texts = Vec::new();
    for round in 0..3 {
        for n in 0..5 {
            ada.say(&bob.did(), &format!("{round}.{n}")).await.unwrap();
        }
        for _ in 0..5 {
            let message = tokio::time::timeout(Duration::from_secs(60), listener.next()).await.unwrap().unwrap();
            texts.push(message.text);
        }
        server.kill();
        server.run();
    }
    let expected: Vec<String> = (0..3).flat_map(|round| (0..5).map(move |n| format!("{round}.{n}"))).collect();
    assert_eq!(texts, expected);
    // Nothing is marked read, so another listener gets all of it again.
    let mut second = bob.listen(Some(&ada.did()), None).unwrap();
    assert_eq!(second.next().await.unwrap().text, "0.0");
}

async fn a_message_that_is_damaged_on_the_way_damages_no_session(server: &Server) {
    let (ada, bob) = (server.agent().await, server.agent().await);
    for draft in [Draft::to(&bob.did(), "one"), Draft::to(&bob.did(), "two").from_prekeys()] {
        let sent = ada.send(&draft).await.unwrap();
        let path = format!("/v1/agent/messages/{}", sent.id);
        let raw = bob.request(heliograph_client::http::Method::Get, &path, None).await.unwrap();
        let mut bad = raw.clone();
        let damaged = raw["ciphertext"].as_str().unwrap().replacen(['a', 'b', 'c', 'd', 'e'], "Z", 1);
        bad["ciphertext"] = damaged.into();
        let message = bob.open_message(serde_json::from_value(bad).unwrap()).await.unwrap();
        assert!(message.problem.is_some() && message.text.is_empty());
        let message = bob.open_message(serde_json::from_value(raw).unwrap()).await.unwrap();
        assert_eq!(message.problem, None);
    }
}

async fn messages_open_in_any_order(server: &Server) {
    let (ada, bob) = (server.agent().await, server.agent().await);
    for prekeys in [false, true] {
        let mut raws = Vec::new();
        for n in 0..6 {
            let draft = Draft::to(&bob.did(), &n.to_string());
            let sent = ada.send(&if prekeys { draft.from_prekeys() } else { draft }).await.unwrap();
            let path = format!("/v1/agent/messages/{}", sent.id);
            raws.push(bob.request(heliograph_client::http::Method::Get, &path, None).await.unwrap());
        }
        // In the public protocol only the first message of a session begins it.
        for n in if prekeys { [4, 1, 5, 0, 3, 2] } else { [0, 4, 1, 5, 3, 2] } {
            let message = bob.open_message(serde_json::from_value(raws[n].clone()).unwrap()).await.unwrap();
            assert_eq!((message.text, message.problem), (n.to_string(), None));
        }
    }
}

async fn refusals_have_their_codes(server: &Server) {
    let ada = server.agent().await;
    let nobody = "did:svc:SzW383y2F1hUUW5tt2vBi";
    assert_eq!(ada.say(nobody, "x").await.unwrap_err().code(), Some(&Code::NotFound));
    for path in ["@evil.example/x", ".evil.example/x", "//evil.example/x"] {
        let led = ada.request(heliograph_client::http::Method::Get, path, None).await.unwrap_err();
        assert!(matches!(led, heliograph_client::Error::Usage(_)), "{path}: {led}");
    }
    for draft in [Draft::sealed, Draft::deniable, Draft::from_prekeys, Draft::classical, Draft::unpadded] {
        let boxed = ada.send(&draft(Draft::to(&ada.did(), "x").mode(Mode::Box))).await.unwrap_err();
        assert!(matches!(boxed, heliograph_client::Error::Usage(_)), "{boxed}");
    }
    let name = common::unique("named");
    let client = server.client();
    client.register(MemoryStore::default(), Registration::named(&name)).await.unwrap();
    let taken = client.register(MemoryStore::default(), Registration::named(&name)).await.unwrap_err();
    assert_eq!(taken.code(), Some(&Code::Conflict), "{taken}");
    assert!(matches!(client.open(MemoryStore::default()).await, Err(heliograph_client::Error::Store(_))));
}

async fn no_debug_output_holds_a_key(server: &Server) {
    let ada = server.agent().await;
    let shown = format!("{ada:?} {:?} {:?}", ada.client(), ada.api_key());
    assert!(!shown.contains(ada.api_key().expose()), "{shown}");
}

on_both_runtimes! {
    every_mode_is_opened_again_and_again_until_the_message_is_read,
    an_agent_whose_keys_the_service_holds_reads_and_writes_with_all_others,
    messages_of_before_a_rotation_open_and_so_do_those_after_it,
    a_session_from_prekeys_uses_each_one_time_prekey_once_and_works_without_any,
    what_a_session_from_prekeys_carried_is_closed_once_it_is_read,
    a_text_that_padding_cannot_hold_is_refused_before_it_is_sent,
    a_message_that_is_damaged_on_the_way_damages_no_session,
    messages_open_in_any_order,
    refusals_have_their_codes,
    no_debug_output_holds_a_key,
}
