//! Budgets and quotas, with settings small enough to reach them.

use std::time::{Duration, Instant};

use heliograph_core::crypto::client::Options;
use heliograph_tests::client::Answer;
use heliograph_tests::relay::{Agent, SdkAgent, letter};
use heliograph_tests::target::Kind;
use serde_json::json;

use crate::{Suite, cases, websockets};

cases![
    an_agent_over_its_budget_is_429_with_the_headers_that_say_when,
    budgets_belong_to_each_agent,
    an_encrypted_message_is_delayed_and_never_429,
    a_sender_far_over_its_budget_gets_503_with_retry_after_1,
    opening_a_stream_is_never_429,
    a_full_mailbox_is_503_mailbox_full,
    a_mailbox_full_of_bytes_is_503_mailbox_full,
    a_first_hybrid_message_still_fits_a_nearly_full_mailbox,
    room_in_a_full_mailbox_comes_back,
    registrations_are_limited_by_address,
];

/// One request a second after a burst of three.
const SLOW: &[(&str, &str)] = &[("agent_per_second", "1"), ("agent_burst", "3")];

fn number(answer: &Answer, name: &str) -> u64 {
    let text = answer.header(name).unwrap_or_else(|| panic!("no {name}: {:?}", answer.headers));
    text.parse().unwrap_or_else(|_| panic!("{name}: {text} is no plain number"))
}

/// Uses up the whole budget; returns the refusal.
fn exhaust(agent: &Agent) -> Answer {
    (0..100)
        .map(|_| agent.client.get("/v1/agent/profile"))
        .find(|answer| answer.status != 200)
        .expect("the budget never ran out")
}

fn an_agent_over_its_budget_is_429_with_the_headers_that_say_when(suite: &Suite) {
    let target = suite.fresh(SLOW);
    let agent = Agent::server_side(&target.client());
    let first = agent.client.get("/v1/agent/profile");
    assert_eq!(first.status, 200);
    assert_eq!(number(&first, "x-ratelimit-limit"), 60, "the rate per minute");
    assert_eq!(number(&first, "x-ratelimit-remaining"), 2);
    let refused = exhaust(&agent);
    refused.expect_error(429, "RATE_LIMITED");
    assert_eq!(number(&refused, "retry-after"), 1);
    assert_eq!(number(&refused, "x-ratelimit-remaining"), 0);
    let now = target.client().now().seconds() as u64;
    let reset = number(&refused, "x-ratelimit-reset");
    assert!((now..=now + 5).contains(&reset), "full in 3 s: {reset} at {now}");
}

fn budgets_belong_to_each_agent(suite: &Suite) {
    let target = suite.fresh(SLOW);
    let client = target.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    assert_eq!(exhaust(&a).status, 429);
    assert_eq!(b.client.get("/v1/agent/profile").status, 200);
}

/// Decision patient-sends.
fn an_encrypted_message_is_delayed_and_never_429(suite: &Suite) {
    let target = suite.fresh(SLOW);
    let client = target.client();
    let (mut a, mut b) = (SdkAgent::new(&client, Options::default()), SdkAgent::new(&client, Options::default()));
    let bodies: Vec<_> = (0..3).map(|at| a.compose(&b.agent.did, &format!("{at}"), Default::default())).collect();
    assert_eq!(exhaust(&a.agent).status, 429);
    let started = client.now();
    for body in &bodies {
        a.post(body).expect(201);
    }
    let took = started.until(client.now());
    assert!(took > Duration::from_millis(1_500), "three messages at one a second took {took:?}");
    assert_eq!(b.texts(), ["0", "1", "2"]);
}

/// Decision patient-sends.
fn a_sender_far_over_its_budget_gets_503_with_retry_after_1(suite: &Suite) {
    if suite.kind == Kind::Memory {
        // In memory requests come one after the other, so none is ever far over the budget.
        return;
    }
    let target = suite.fresh(SLOW);
    let client = target.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    exhaust(&a);
    let bodies: Vec<_> = (0..16).map(|at| letter(&b.did, &at.to_string())).collect();
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let threads: Vec<_> = bodies
            .iter()
            .map(|body| {
                let a = &a;
                scope.spawn(move || {
                    let started = Instant::now();
                    let answer = a.client.post("/v1/agent/send/encrypted", body);
                    assert!(started.elapsed() < Duration::from_secs(20));
                    answer
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut accepted = 0;
    for answer in &answers {
        match answer.status {
            201 => accepted += 1,
            _ => {
                answer.expect_error(503, "UNAVAILABLE");
                assert_eq!(number(answer, "retry-after"), 1);
            }
        }
    }
    assert!((1..16).contains(&accepted), "{accepted} of 16 at one a second within 5 s");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(b.unread_count(), accepted);
}

/// Decision stream-lifetimes.
fn opening_a_stream_is_never_429(suite: &Suite) {
    let target = suite.fresh(&[("agent_per_second", "1"), ("agent_burst", "3"), ("stream_seconds", "1")]);
    let agent = Agent::server_side(&target.client());
    exhaust(&agent);
    for _ in 0..5 {
        drop(agent.client.events("/v1/agent/receive/sse"));
    }
    // WebSocket connects follow the same rule; in memory there is no socket.
    if let Some(address) = target.base().and_then(|base| base.strip_prefix("http://")) {
        Agent::server_side(&target.client()).say(&agent.did, "for every socket");
        for _ in 0..5 {
            let mut socket = websockets::connect(address, "/v1/agent/receive/ws", Some(&agent.api_key)).unwrap();
            assert!(websockets::next(&mut socket).is_some());
        }
    }
}

/// Fills a mailbox from many senders until every message is refused; returns the number of accepted ones and the last
/// refusal.
fn fill(senders: &[Agent], reader: &Agent, text: &str) -> (u64, Answer) {
    let mut accepted = 0;
    let mut refusal = None;
    for sender in senders {
        for _ in 0..100 {
            let answer = sender.client.post("/v1/agent/send/encrypted", &letter(&reader.did, text));
            if answer.status != 201 {
                refusal = Some(answer);
                break;
            }
            accepted += 1;
        }
    }
    (accepted, refusal.expect("the mailbox never was full"))
}

/// Decision foreign-is-404.
fn a_full_mailbox_is_503_mailbox_full(suite: &Suite) {
    let target = suite.fresh(&[("mailbox_messages", "40")]);
    let client = target.client();
    let senders: Vec<Agent> = (0..30).map(|_| Agent::server_side(&client)).collect();
    let reader = Agent::server_side(&client);
    let (accepted, refusal) = fill(&senders, &reader, "x");
    // Strangers may use half of the mailbox.
    assert!((15..=20).contains(&accepted), "{accepted} of 40");
    refusal.expect_error(503, "MAILBOX_FULL");
    assert!(number(&refusal, "retry-after") > 0);
    let body = json!({ "to": reader.did, "message": "x" });
    senders[0].client.post("/v1/agent/send", &body).expect_error(503, "MAILBOX_FULL");
    assert_eq!(reader.unread_count(), accepted);
    // Other mailboxes are not affected.
    senders[0].say(&senders[1].did, "x");
}

/// Decision foreign-is-404.
fn a_mailbox_full_of_bytes_is_503_mailbox_full(suite: &Suite) {
    let target = suite.fresh(&[("mailbox_bytes", "1000000")]);
    let client = target.client();
    let senders: Vec<Agent> = (0..30).map(|_| Agent::server_side(&client)).collect();
    let reader = Agent::server_side(&client);
    let (accepted, refusal) = fill(&senders, &reader, &"x".repeat(20_000));
    refusal.expect_error(503, "MAILBOX_FULL");
    assert!((15..=50).contains(&accepted), "{accepted} of 20 kB each in 1 MB");
}

/// Decision patient-sends.
fn a_first_hybrid_message_still_fits_a_nearly_full_mailbox(suite: &Suite) {
    let target = suite.fresh(&[("mailbox_messages", "40")]);
    let client = target.client();
    let senders: Vec<Agent> = (0..30).map(|_| Agent::server_side(&client)).collect();
    let (mut a, mut b) = (SdkAgent::new(&client, Options::default()), SdkAgent::new(&client, Options::default()));
    let (accepted, _) = fill(&senders, &b.agent, "x");
    assert!(accepted <= 19, "5% of the half for strangers stay free, {accepted} of 20 are taken");
    let first = a.compose(&b.agent.did, "the session starts", Default::default());
    assert!(first.envelope.contains("pq_ciphertext"));
    a.post(&first).expect(201);
    // The next message may not use the headroom.
    let second = a.compose(&b.agent.did, "and goes on", Default::default());
    assert!(!second.envelope.contains("pq_ciphertext"));
    a.post(&second).expect_error(503, "MAILBOX_FULL");
    let query = format!("/v1/agent/receive/raw?from={}", a.agent.did);
    let item = b.agent.items(&query).remove(0);
    let opened = b.sdk.receive(&heliograph_tests::relay::to_raw(&item)).unwrap();
    assert_eq!(opened.payload.content, "the session starts");
}

fn room_in_a_full_mailbox_comes_back(suite: &Suite) {
    let target = suite.fresh(&[("mailbox_messages", "40")]);
    let client = target.client();
    let senders: Vec<Agent> = (0..30).map(|_| Agent::server_side(&client)).collect();
    let reader = Agent::server_side(&client);
    fill(&senders, &reader, "x");
    for item in reader.everything() {
        reader.client.delete(&format!("/v1/agent/messages/{}", item["id"].as_str().unwrap())).expect(200);
    }
    senders[0].say(&reader.did, "there is room again");
    assert_eq!(reader.unread_count(), 1);
}

fn registrations_are_limited_by_address(suite: &Suite) {
    let target = suite.fresh(&[("registrations_per_hour", "3")]);
    let client = target.client();
    let refused = (0..20)
        .map(|_| client.post("/v1/agent/register", &json!({})))
        .find(|answer| answer.status != 201)
        .expect("20 registrations at 3 an hour");
    refused.expect_error(429, "RATE_LIMITED");
    assert!(number(&refused, "retry-after") >= 1);
}
