//! Deliveries and answers, on a clock that moves only when a test moves it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Value;

use super::peers::{Ask, DidHolder, Learn, LookUpDid, Peer, PinOf, PutPeer, PutPeerPin, ReadPeers};
use super::queue::{DeliveryState, Queue, ReadDelivery};
use super::{PATIENCE, PeerId, actor, key};
use crate::agent::deactivate::Deactivate;
use crate::agent::record::Public;
use crate::testing::PROGRAM;
use crate::testing::TestRuntime;
use crate::{ErrorCode, Result, Timestamp};
use crypto::Secret;
use crypto::sealing::{KeyRing, MasterKey};
use engine::actor::Operation;
use engine::http::{Body, Request, serve};
use engine::runtime::{self, Runtime};
use engine::testing::START;
use engine::time::{DAY, MINUTE, SECOND};
use engine::web::Incoming;

const URL: &str = "https://relay.example.org";

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing waits in tests")
}

/// A deployment with one peer and one agent, and the times at which the peer was asked.
struct Scene {
    rt: Arc<TestRuntime>,
    agent: String,
    peer: PeerId,
    asked: Arc<Mutex<Vec<(Timestamp, Bytes)>>>,
}

impl Scene {
    /// `answer` gives the status for the attempt with that number, from 0; `None` means no answer.
    fn new(answer: impl Fn(usize) -> Option<u16> + Send + Sync + 'static) -> Scene {
        let rt = TestRuntime::start(&PROGRAM, &[]);
        let (peer, _) = call(&rt, &PutPeer { url: URL.to_owned(), name: "far".to_owned(), key: [1; 32] }).unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (told, clock) = (asked.clone(), Arc::downgrade(&rt));
        rt.connect(Box::new(move |request| {
            let mut asked = told.lock().unwrap();
            assert_eq!(request.url, format!("{URL}/v1/relay/deliver"));
            asked.push((clock.upgrade().unwrap().now(), request.body.clone().unwrap()));
            match answer(asked.len() - 1) {
                Some(status) => Ok(Incoming { status, retry_after: None, body: Bytes::new() }),
                None => Err(crate::Error::unavailable("no answer")),
            }
        }));
        let agent = register(&rt);
        Scene { rt, agent, peer, asked }
    }

    fn queue(&self, number: u32) -> Result<super::queue::Delivery> {
        let body = number.to_string().into_bytes();
        let id = super::wire::delivery_id(&body);
        let queue = Queue { id, peer: self.peer, to: [9; 16], destination: URL.to_owned(), body };
        now(runtime::call(&*self.rt, self.agent.as_str(), &queue))
    }

    fn state(&self, number: u32) -> Option<super::queue::Delivery> {
        let id = super::wire::delivery_id(number.to_string().as_bytes());
        now(runtime::query(&*self.rt, self.agent.as_str(), &ReadDelivery { id })).unwrap()
    }

    fn reach_out(&self) {
        now(self.rt.reach_out());
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn call<O: Operation>(rt: &TestRuntime, operation: &O) -> Result<O::Reply> {
    now(runtime::call(rt, actor().name, operation))
}

/// The actor of a new agent.
fn register(rt: &Arc<TestRuntime>) -> String {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let (path, body) = ("/v1/agent/register".to_owned(), Bytes::from_static(b"{}"));
    let request = Request { method: Method::POST, path, headers, body, ..Request::default() };
    let response = now(serve(rt.clone(), request));
    let Body::Bytes(body) = response.body else { panic!("an answer is no stream") };
    let body: Value = serde_json::from_slice(&body).unwrap();
    crate::agent::wire::actor_of(&rt.environment().settings, body["did"].as_str().unwrap()).unwrap()
}

#[test]
fn a_wish_that_was_lost_is_made_again_when_its_lease_ends() {
    let scene = Scene::new(|_| Some(201));
    scene.queue(1).unwrap();
    assert_eq!(scene.rt.lose_outgoing(), 1, "the wish was only in memory");
    scene.rt.advance(Duration::from_secs(59));
    scene.reach_out();
    assert_eq!(scene.asked(), 0);
    scene.rt.advance(Duration::from_secs(2));
    scene.reach_out();
    assert_eq!((scene.asked(), scene.state(1).unwrap().attempts), (1, 1));
    assert!(matches!(scene.state(1).unwrap().state, DeliveryState::Delivered(_)));
}

#[test]
fn a_delivery_is_tried_by_the_schedule_then_every_32_minutes_for_a_day() {
    let scene = Scene::new(|_| None);
    scene.queue(1).unwrap();
    scene.reach_out();
    for _ in 0..60 * 26 {
        scene.rt.advance(Duration::from_secs(60));
        scene.reach_out();
    }
    let asked = scene.asked.lock().unwrap().clone();
    let waits: Vec<i64> = asked.windows(2).map(|pair| pair[1].0.since(pair[0].0) / MINUTE).collect();
    assert_eq!(waits[..7], [2, 4, 8, 16, 32, 32, 32]);
    assert!(asked.iter().all(|(_, body)| *body == asked[0].1), "one body");
    let last = asked.last().unwrap().0.since(START);
    assert!(last < PATIENCE && last > PATIENCE - 40 * MINUTE, "{last}");
    assert!(matches!(scene.state(1).unwrap().state, DeliveryState::Expired(_)));
}

#[test]
fn a_peer_that_is_slow_for_one_agent_holds_up_no_other() {
    let scene = Scene::new(|_| Some(201));
    let other =
        Scene { agent: register(&scene.rt), rt: scene.rt.clone(), peer: scene.peer, asked: scene.asked.clone() };
    scene.queue(1).unwrap();
    scene.queue(2).unwrap();
    scene.rt.lose_outgoing();
    other.queue(3).unwrap();
    other.reach_out();
    assert!(matches!(other.state(3).unwrap().state, DeliveryState::Delivered(_)));
    assert_eq!(scene.state(2).unwrap().state, DeliveryState::Waiting, "one at a time");
    scene.rt.advance(Duration::from_secs(61));
    scene.reach_out();
    assert!(matches!(scene.state(2).unwrap().state, DeliveryState::Delivered(_)));
}

#[test]
fn what_waits_and_what_is_kept_is_bounded() {
    let scene = Scene::new(|_| Some(404));
    for number in 0..1_000 {
        scene.queue(number).unwrap();
    }
    let refused = scene.queue(1_000).unwrap_err();
    assert_eq!((refused.code, refused.retry_after), (ErrorCode::Unavailable, Some(60)));
    let again = scene.queue(5).unwrap();
    assert_eq!(again.state, DeliveryState::Waiting, "a repeat needs no room");
    scene.reach_out();
    assert_eq!(scene.asked(), 1_000);
    assert!(matches!(scene.state(999).unwrap().state, DeliveryState::Refused(_)));
    scene.rt.advance(Duration::from_secs(86_400 + 60));
    for number in 2_000..2_400 {
        scene.queue(number).unwrap();
        scene.reach_out();
    }
    assert_eq!((scene.state(0), scene.state(999)), (None, None), "forgotten after a day");
    assert!(scene.state(2_399).is_some());
}

#[test]
fn an_agent_that_ended_sends_nothing_more() {
    let scene = Scene::new(|_| None);
    for number in 0..250 {
        scene.queue(number).unwrap();
    }
    scene.reach_out();
    assert_eq!(scene.asked(), 250);
    now(runtime::call(&*scene.rt, scene.agent.as_str(), &Deactivate)).unwrap();
    scene.rt.advance(Duration::from_secs(3_600));
    scene.reach_out();
    assert_eq!((scene.asked(), scene.state(0), scene.state(249)), (250, None, None));
    assert_eq!(scene.queue(1).unwrap_err().code, ErrorCode::Unauthorized);
}

fn public(signing: [u8; 32]) -> Public {
    Public {
        did: String::new(),
        name: None,
        capabilities: Vec::new(),
        metadata: "{}".to_owned(),
        active: true,
        created: START,
        version: 0,
        signing,
        encryption: [2; 32],
        mlkem: None,
        signed_prekey: None,
        standing: crate::agent::standing::Standing::Silent,
        proof: None,
    }
}

#[test]
fn answers_are_bounded_and_end() {
    let scene = Scene::new(|_| None);
    let did = |number: u32| {
        let mut did = [0; 16];
        did[..4].copy_from_slice(&number.to_be_bytes());
        did
    };
    let look = |number| now(runtime::query(&*scene.rt, actor().name, &LookUpDid { did: did(number) })).unwrap();
    for number in 0..20_010 {
        let until = START.plus(5 * MINUTE + i64::from(number));
        call(&scene.rt, &Learn { did: did(number), until, heard: DidHolder::Nobody }).unwrap();
    }
    assert_eq!(
        (look(0).answer, look(9).answer, look(10).answer),
        (None, None, Some(DidHolder::Nobody)),
        "the first to end went"
    );
    let rows = scene.rt.rows(&actor()).len();
    assert!(rows < 40_100, "{rows}");
    scene.rt.advance(Duration::from_secs(301));
    assert_eq!(look(20_009).answer, None);
    // Each new answer drops some that are over.
    for number in 0..10_000 {
        let until = scene.rt.now().plus(5 * MINUTE);
        call(&scene.rt, &Learn { did: did(50_000 + number), until, heard: DidHolder::Nobody }).unwrap();
    }
    assert!(scene.rt.rows(&actor()).len() < 20_100);
}

#[test]
fn one_request_asks_the_peers_until_it_tells_or_its_time_is_over() {
    let scene = Scene::new(|_| None);
    let did = [5; 16];
    let look = || now(runtime::query(&*scene.rt, actor().name, &LookUpDid { did })).unwrap();
    let ask = || call(&scene.rt, &Ask { did, until: scene.rt.now().plus(7 * SECOND) }).unwrap();
    assert!(ask());
    assert!(!ask(), "somebody does");
    assert_eq!((look().answer, look().asking), (None, true));
    scene.rt.advance(Duration::from_secs(8));
    assert_eq!((look().answer, look().asking), (None, false), "it never told");
    assert!(ask());
    let heard = DidHolder::At(scene.peer, Box::new(public([7; 32])));
    call(&scene.rt, &Learn { did, until: scene.rt.now().plus(MINUTE), heard: heard.clone() }).unwrap();
    assert_eq!((look().answer, look().asking), (Some(heard), false));
    assert!(!ask(), "it is known");
}

fn peers(rt: &TestRuntime) -> Vec<(PeerId, Peer)> {
    now(runtime::query(rt, actor().name, &ReadPeers)).unwrap()
}

#[test]
fn a_pin_gives_way_only_to_a_stronger_one_or_when_its_peer_is_gone() {
    let scene = Scene::new(|_| None);
    let (first, did) = (scene.peer, [5; 16]);
    let put = PutPeer { url: "https://other.example.org".to_owned(), name: "other".to_owned(), key: [2; 32] };
    let (second, _) = call(&scene.rt, &put).unwrap();
    let pin = |peer, byte: u8, strong| call(&scene.rt, &PutPeerPin { did, peer, signing: [byte; 32], strong }).unwrap();
    let held =
        || now(runtime::query(&*scene.rt, actor().name, &PinOf { did })).unwrap().map(|pin| (pin.peer, pin.signing[0]));
    let learn = |peer| {
        let heard = DidHolder::At(peer, Box::new(public([7; 32])));
        call(&scene.rt, &Learn { did, until: START.plus(DAY), heard }).unwrap()
    };
    learn(first);
    assert_eq!(held(), Some((first, 7)));
    learn(second);
    pin(first, 8, false);
    assert_eq!(held(), Some((first, 7)), "a claim moves nothing");
    pin(second, 9, true);
    assert_eq!(held(), Some((second, 9)));
    learn(first);
    assert_eq!(held(), Some((second, 9)));
    let agents: Vec<u64> = peers(&scene.rt).into_iter().map(|(_, peer)| peer.agents).collect();
    assert_eq!(agents, [0, 1]);
    assert!(call(&scene.rt, &super::peers::RemovePeer { id: second }).unwrap());
    learn(first);
    assert_eq!(held(), Some((first, 7)));
    assert_eq!(peers(&scene.rt).len(), 1);
    pin(second, 9, true);
    assert_eq!(held(), Some((first, 7)), "nobody is at who is no peer");
}

#[test]
fn there_are_at_most_32_peers() {
    let scene = Scene::new(|_| None);
    let put = |number: u8| {
        let peer = PutPeer { url: format!("https://r{number}.example.org"), name: String::new(), key: [number; 32] };
        call(&scene.rt, &peer).map(|_| ())
    };
    for number in 2..33 {
        put(number).unwrap();
    }
    assert_eq!(put(33).unwrap_err().code, ErrorCode::Conflict);
    put(7).unwrap();
}

/// Decision master-key-file.
#[test]
fn the_relays_key_moves_under_a_new_master_key() {
    let scene = Scene::new(|_| Some(201));
    let before = now(key::own(&*scene.rt, false)).unwrap();
    let master = |byte| MasterKey::new(Secret::new([byte; 32]));
    scene.rt.environment().secrets.replace(KeyRing::new(master(43), vec![master(42)]));
    scene.queue(1).unwrap();
    scene.reach_out();
    let after = now(key::own(&*scene.rt, false)).unwrap();
    assert_eq!((before.public, scene.asked()), (after.public, 1));
    assert_ne!(before.sealed, after.sealed, "moved when it was used");
    scene.rt.environment().secrets.replace(KeyRing::new(master(43), Vec::new()));
    after.open(&*scene.rt).unwrap();
    let stored = format!("{:?}", scene.rt.rows(&actor()));
    let seed = after.open(&*scene.rt).unwrap();
    assert!(!stored.contains(&format!("{:?}", seed.expose()).replace(['[', ']'], "")), "sealed at rest");
}
