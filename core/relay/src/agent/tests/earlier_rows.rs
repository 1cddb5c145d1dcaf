//! A mailbox that schema 3 wrote does what one of today does (decision rows-of-a-message).

use super::*;
use crate::agent::mailbox::earlier;
use crypto::encoding::encode_base64;
use engine::actor::{ActorId, Kind};

/// A message that a client encrypted. Every ninth one is large.
fn message(to: &Agent, n: u8) -> Value {
    let ciphertext = vec![n; if n % 9 == 8 { 6_000 } else { 100 }];
    json!({ "to": to.did, "ciphertext": encode_base64(&ciphertext), "nonce": encode_base64(&[n; 24]),
        "signature": encode_base64(&[n; 64]), "content_type": "text/plain", "ttl": 3_600 })
}

struct Scene {
    world: World,
    ada: Agent,
    bob: Agent,
    /// What was answered so far.
    answers: Vec<Value>,
}

impl Scene {
    fn send(&mut self, from: &Agent, n: u8) {
        let sent = self.world.post("/v1/agent/send/encrypted", &from.key, message(&self.bob, n)).expect(201);
        self.answers.push(sent);
    }

    fn id(&self, at: usize) -> String {
        self.answers[at]["id"].as_str().unwrap().to_owned()
    }

    fn ask(&mut self, path: &str) {
        let answer = self.world.get(path, &self.bob.key).expect(200);
        self.answers.push(answer);
    }

    fn actor(&self) -> ActorId {
        let name = crate::agent::wire::actor_of(&engine::settings::Settings::default(), &self.bob.did);
        ActorId::new(Kind::Agent, name.unwrap())
    }

    fn look(&mut self) {
        let from = self.ada.did.clone();
        for query in [
            "unread=true&limit=100".to_owned(),
            "unread=false&limit=100".to_owned(),
            format!("unread=true&from={from}&limit=7"),
            format!("unread=true&from={from}&limit=100"),
        ] {
            self.ask(&format!("/v1/agent/receive/raw?{query}"));
        }
        self.ask("/v1/agent/messages/unread-count");
    }
}

/// Sends, marks, deletes, counts and lets expire, and returns every answer. In between, `between` changes the rows.
fn play(between: impl Fn(&World, &ActorId)) -> Vec<Value> {
    let world = World::patient();
    let [ada, eve, bob] = ["Ada", "Eve", "Bob"].map(|name| world.server_agent(name));
    let mut scene = Scene { world, ada: ada.clone(), bob, answers: Vec::new() };
    for n in 0..45 {
        scene.send(if n % 10 == 3 { &eve } else { &ada }, n);
    }
    let mark = |scene: &mut Scene, at: usize| {
        let path = format!("/v1/agent/messages/{}/read", scene.id(at));
        let marked = scene.world.post(&path, &scene.bob.key, Value::Null).expect(200);
        scene.answers.push(marked);
    };
    let delete = |scene: &mut Scene, at: usize| {
        let path = format!("/v1/agent/messages/{}", scene.id(at));
        let deleted = scene.world.call("DELETE", &path, &scene.bob.key, Value::Null);
        scene.answers.push(json!([deleted.status, deleted.body]));
    };
    for at in [0, 8, 20, 44] {
        mark(&mut scene, at);
    }
    delete(&mut scene, 1);
    between(&scene.world, &scene.actor());
    scene.look();
    for n in 45..90 {
        scene.send(&ada, n);
    }
    // An exact repeat of a message of before, there or gone, is not stored again.
    scene.send(&ada, 4);
    scene.send(&ada, 1);
    for at in [2, 5, 8, 17, 30] {
        mark(&mut scene, at);
    }
    for at in [0, 6, 7, 8, 26, 1] {
        delete(&mut scene, at);
    }
    scene.look();
    let dropped = scene.world.call("DELETE", "/v1/agent/consent/strangers/unread", &scene.bob.key, Value::Null);
    scene.answers.push(dropped.expect(200));
    scene.look();
    scene.send(&eve, 200);
    scene.world.wait(3_700);
    scene.look();
    scene.world.wait(2 * 86_400);
    let left = scene.world.rt.rows(&scene.actor());
    let tables: Vec<u8> = left.iter().map(|(key, _)| key[0]).filter(|table| (32..41).contains(table)).collect();
    assert_eq!(tables, [35], "only the counters are left");
    scene.answers
}

#[test]
fn a_mailbox_that_an_earlier_version_wrote_answers_like_one_of_today() {
    let today = play(|_, _| {});
    let earlier = play(|world, actor| {
        let rows = world.rt.rows(actor);
        world.rt.edit(actor, earlier::downgrade(&rows));
        let index = world.rt.rows(actor).iter().filter(|(key, _)| key[0] == 36).count();
        assert_eq!(index, 40, "a row for each unread message");
    });
    for (at, (today, earlier)) in today.iter().zip(&earlier).enumerate() {
        assert_eq!(today, earlier, "{at}");
    }
    assert_eq!(today.len(), earlier.len());
}
