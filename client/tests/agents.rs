//! What agents do besides messages: channels, tasks, memory, pins, attestations, capabilities, webhooks, trust.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::io::{Read, Write};
use std::net::TcpListener;

use common::{Server, unique};
use heliograph_client::relay::attestations::{Claim, ClaimFilter, is_signed};
use heliograph_client::relay::capabilities::NewCapability;
use heliograph_client::relay::channels::{ChannelKey, NewChannel, Page};
use heliograph_client::relay::consent::List;
use heliograph_client::relay::identity::ProfileChange;
use heliograph_client::relay::tasks::{NewBroadcast, NewTask, TaskFilter};
use heliograph_client::store::MemoryStore;
use heliograph_client::{Code, Filter, Registration};
use serde_json::{Value, json};

async fn a_registration_is_proved_and_a_profile_changes(server: &Server) {
    let name = unique("ada");
    let ada = server.client().register(MemoryStore::default(), Registration::named(&name)).await.unwrap();
    let profile = ada.profile().await.unwrap();
    assert_eq!((profile.standing.as_str(), profile.client_side), ("proved", true));
    let change = ProfileChange { capabilities: Some(vec!["x.test".into()]), ..ProfileChange::default() };
    assert_eq!(ada.change_profile(&change).await.unwrap().capabilities, ["x.test"]);
    let shown = server.client().identity(&ada.did()).await.unwrap();
    assert_eq!((shown.name, shown.standing.as_str()), (Some(name.clone()), "proved"));
    let found = server.client().discover(Some(&name), None, 5).await.unwrap();
    assert!(found.agents.iter().any(|agent| agent.did == ada.did()));
    let before = ada.api_key();
    ada.renew_api_key(true).await.unwrap();
    assert_ne!(ada.api_key(), before);
    ada.ping().await.unwrap();
    assert_eq!(server.client().presence(&ada.did()).await.unwrap().online_status, "online");
    assert!(ada.analytics("7d").await.unwrap().tasks.created == 0);
    ada.deactivate().await.unwrap();
    assert_eq!(ada.profile().await.unwrap_err().code(), Some(&Code::Unauthorized));
}

async fn members_of_a_channel_read_what_others_and_the_service_cannot(server: &Server) {
    let (ada, bob) = (server.agent().await, server.agent().await);
    let channel = NewChannel { name: unique("c"), private: true, ..NewChannel::default() };
    let channel = ada.create_channel(&channel).await.unwrap();
    assert!(bob.join(&channel.id).await.is_err());
    let invite = ada.invite(&channel.id, &bob.did(), Some("come in"), None).await.unwrap();
    assert!(bob.invites("pending").await.unwrap().invites.iter().any(|given| given.id == invite.id));
    assert!(bob.respond(&invite.id, true).await.unwrap().joined);
    let key = ChannelKey::generate().unwrap();
    ada.post_to(&channel.id, "in the open", None).await.unwrap();
    ada.post_sealed(&channel.id, &key, "closed").await.unwrap();
    let posts = bob.posts(&channel.id, &Page::default()).await.unwrap().messages;
    assert_eq!(posts[0].content, "in the open");
    assert!(!posts[1].content.contains("closed"));
    let key = ChannelKey::from_text(&key.expose()).unwrap();
    assert_eq!(bob.open_post(&key, &posts[1]).await.unwrap().as_deref(), Some("closed"));
    assert_eq!(bob.open_post(&key, &posts[0]).await.unwrap(), None);
    assert_eq!(bob.open_post(&ChannelKey::generate().unwrap(), &posts[1]).await.unwrap(), None);
    assert!(bob.my_channels().await.unwrap().channels.iter().any(|mine| mine.id == channel.id));
    bob.leave(&channel.id).await.unwrap();
}

async fn a_task_is_boxed_for_its_assignee_and_its_output_for_its_requester(server: &Server) {
    let own = server.agent().await;
    for assignee in [
        server.agent().await,
        server.client().register(MemoryStore::default(), Registration::by_service()).await.unwrap(),
    ] {
        let input = json!({ "pages": [1, 2], "text": "é" });
        let task = NewTask {
            to: assignee.did(),
            capability: Some("translate".into()),
            input: input.clone(),
            priority: None,
            expires_in: None,
        };
        let given = own.give_task(&task).await.unwrap();
        let mine = assignee.tasks(&TaskFilter::default()).await.unwrap().tasks;
        assert_eq!(mine[0].id, given.id);
        let got = assignee.task(&given.id).await.unwrap();
        assert_eq!(assignee.task_input(&got).await.unwrap(), Some(input));
        assignee.set_task(&given.id, "accepted").await.unwrap();
        assignee.finish_task(&got, true, &json!({ "done": 2 })).await.unwrap();
        let done = own.task(&given.id).await.unwrap();
        assert_eq!(done.status, "completed");
        assert_eq!(own.task_output(&done).await.unwrap(), Some(json!({ "done": 2 })));
        own.rate_task(&given.id, 5, Some("good")).await.unwrap();
    }
    let broadcast = NewBroadcast { capability: "none.such".into(), input: json!("x"), ..NewBroadcast::default() };
    let broadcast = own.broadcast(&broadcast).await.unwrap();
    assert_eq!(own.broadcast_detail(&broadcast.broadcast_id).await.unwrap().tasks.len(), 0);
}

async fn memory_is_unreadable_for_the_service_and_gives_back_what_was_put(server: &Server) {
    let held = server.client().register(MemoryStore::default(), Registration::by_service()).await.unwrap();
    for agent in [server.agent().await, held] {
        for value in [json!(null), json!("text"), json!({ "a": [1, 2.5] }), json!(true)] {
            agent.remember("notes", "a/b", &value, None).await.unwrap();
            assert_eq!(agent.recall("notes", "a/b").await.unwrap(), Some(value));
        }
        let shown = agent.memory_keys("notes", Some("a")).await.unwrap();
        assert_eq!(shown.keys[0].key, "a/b");
        agent.forget("notes", "a/b").await.unwrap();
        assert_eq!(agent.recall("notes", "a/b").await.unwrap(), None);
    }
    let own = server.agent().await;
    own.remember("n", "k", &json!("secret words"), None).await.unwrap();
    let raw = own.request(heliograph_client::http::Method::Get, "/v1/agent/memory/n/k", None).await.unwrap();
    assert!(!raw.to_string().contains("secret words"));
    own.rotate_keys().await.unwrap();
    assert_eq!(own.recall("n", "k").await.unwrap(), Some(json!("secret words")), "after a rotation");
}

async fn a_statement_is_signed_voted_on_and_checked_from_outside(server: &Server) {
    let (ada, bob) = (server.agent().await, server.agent().await);
    let domain = format!("{}.example", unique("d"));
    let data = json!({ "z": 1, "a": "ü", "n": [true, null] });
    let Value::Object(claim_data) = data else { unreachable!() };
    let claim = Claim {
        claim_type: "domain-blocked".into(),
        claim_data,
        country: Some("DE".into()),
        domain: Some(domain.clone()),
        ..Claim::default()
    };
    let made = ada.attest(&claim).await.unwrap();
    let voted = bob.vote(&made.id, true, Some("seen too")).await.unwrap();
    assert_eq!(voted.corroboration_count, 1);
    let filter = ClaimFilter { domain: Some(domain), ..ClaimFilter::default() };
    let listed = server.client().attestations(&filter).await.unwrap().attestations;
    assert_eq!(listed.len(), 1);
    assert!(is_signed(&listed[0]));
    let mut forged = listed[0].clone();
    forged.claim_data["z"] = 2.into();
    assert!(!is_signed(&forged));
    assert_eq!(server.client().attestation(&made.id).await.unwrap().corroborations.len(), 1);
    server.client().consensus(Some("DE"), None, None).await.unwrap();
}

async fn pins_notice_changed_keys(server: &Server) {
    let (ada, bob) = (server.agent().await, server.agent().await);
    assert!(ada.pin(&bob.did(), false).await.unwrap().pinned);
    assert!(ada.check_pin(&bob.did()).await.unwrap().verified);
    bob.rotate_keys().await.unwrap();
    assert!(!ada.check_pin(&bob.did()).await.unwrap().verified);
    assert!(ada.pin(&bob.did(), true).await.is_ok());
    assert!(ada.check_pin(&bob.did()).await.unwrap().verified);
    assert_eq!(ada.pins().await.unwrap().pins.len(), 1);
}

async fn capabilities_trust_consent_and_exports_are_read_as_they_are_documented(server: &Server) {
    let (ada, bob) = (server.agent().await, server.agent().await);
    let name = unique("cap");
    let made = ada.offer(&NewCapability { name: name.clone(), ..NewCapability::default() }).await.unwrap();
    assert_eq!(ada.capabilities().await.unwrap().capabilities[0].id, made.id);
    assert!(ada.withdraw_capability(&made.id).await.unwrap().deleted);
    server.client().search_capabilities(Some("cap"), None).await.unwrap();
    let trust = server.client().trust(&ada.did()).await.unwrap();
    assert!((0.0..=1.0).contains(&trust.trust_score));
    server.client().leaderboard(None, 5).await.unwrap();
    server.client().relay_stats().await.unwrap();
    server.client().relay_peers().await.unwrap();
    ada.list_agent(List::Blocked, &bob.did()).await.unwrap();
    assert_eq!(bob.say(&ada.did(), "x").await.unwrap_err().code(), Some(&Code::NotFound));
    assert_eq!(ada.listed_agents(List::Blocked, None).await.unwrap().agents.len(), 1);
    ada.unlist_agent(List::Blocked, &bob.did()).await.unwrap();
    bob.say(&ada.did(), "x").await.unwrap();
    assert_eq!(ada.accept_from("listed").await.unwrap().accept_from, "listed");
    assert_eq!(ada.unread(None).await.unwrap().unread_count, 1);
    let id = &ada.receive(&Filter::default()).await.unwrap().messages[0].id;
    assert!(ada.delete_message(id).await.unwrap().deleted);
    assert!(ada.export(&["memory"]).await.unwrap()["export_id"].is_string());
    ada.exports().await.unwrap();
}

async fn what_a_webhook_delivers_is_checked_and_opened(server: &Server) {
    let (ada, bob) = (server.agent().await, server.agent().await);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let hook = bob.add_webhook(&url, &[]).await.unwrap();
    let taken = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            let read = stream.read(&mut piece).unwrap();
            bytes.extend_from_slice(&piece[..read]);
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let value = |name: &str| {
                let line = head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:"))).unwrap();
                line.split_once(':').unwrap().1.trim().to_owned()
            };
            if bytes.len() - end - 4 == value("content-length").parse::<usize>().unwrap() {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                return (value("x-svc-signature"), bytes[end + 4..].to_vec());
            }
        }
    });
    ada.say(&bob.did(), "by webhook").await.unwrap();
    let (signature, body) = tokio::task::spawn_blocking(move || taken.join().unwrap()).await.unwrap();
    assert!(hook.secret.verify(&body, &signature));
    assert!(!hook.secret.verify(&body[1..], &signature));
    let delivered: Value = serde_json::from_slice(&body).unwrap();
    let raw = serde_json::from_value(delivered["message"].clone()).unwrap();
    assert_eq!(bob.open_message(raw).await.unwrap().text, "by webhook");
    assert_ne!(bob.rotate_webhook_secret(&hook.id).await.unwrap().secret, hook.secret);
    assert!(bob.remove_webhook(&hook.id).await.unwrap().deleted);
    assert!(bob.webhooks().await.unwrap().webhooks.is_empty());
}

on_both_runtimes! {
    a_registration_is_proved_and_a_profile_changes,
    members_of_a_channel_read_what_others_and_the_service_cannot,
    a_task_is_boxed_for_its_assignee_and_its_output_for_its_requester,
    memory_is_unreadable_for_the_service_and_gives_back_what_was_put,
    a_statement_is_signed_voted_on_and_checked_from_outside,
    pins_notice_changed_keys,
    capabilities_trust_consent_and_exports_are_read_as_they_are_documented,
    what_a_webhook_delivers_is_checked_and_opened,
}
