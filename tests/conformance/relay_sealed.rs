//! Data at rest: texts that agents and holders of keys give to the service are not readable in its storage.

use heliograph_tests::relay::{Agent, text, unique};
use heliograph_tests::target::{Kind, Target};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    texts_at_rest_are_in_no_byte_that_is_stored,
    texts_from_before_they_were_sealed_are_read_and_sealed,
    sealed_texts_move_under_a_new_master_key,
];

/// A deployment with a text in every place that is sealed.
struct Scene {
    target: Target,
    ada: Agent,
    bob: Agent,
    key: heliograph_tests::client::Client,
    /// The texts to look for, by the place where each was written.
    canaries: [(&'static str, String); 7],
    /// A text that is stored unsealed, to show that the search finds something.
    seen: String,
}

fn canary(what: &str) -> String {
    format!("canary-{what}-{}", unique())
}

impl Scene {
    fn new(suite: &Suite) -> Scene {
        let target = suite.fresh(&[]);
        let client = target.client();
        let canaries =
            ["memory", "post", "invite", "webhook", "alert", "mail", "label"].map(|what| (what, canary(what)));
        let [memory, post, invite, webhook, alert, mail, label] = canaries.clone().map(|(_, text)| text);
        let seen = canary("name");
        let ada = Agent::register(&client, &json!({ "name": seen }));
        let bob = Agent::server_side(&client);
        let value = json!({ "value": { "text": memory } }).to_string();
        let json = Some("application/json");
        ada.client.send("PUT", "/v1/agent/memory/notes/plan", json, value.as_bytes()).expect(200);
        let made = ada.client.post("/v1/agent/channels", &json!({ "name": "abc", "private": true })).expect(201);
        let channel = format!("/v1/agent/channels/{}", text(&made, "id"));
        ada.client.post(&format!("{channel}/messages"), &json!({ "message": post })).expect(201);
        let invited = json!({ "did": bob.did, "message": invite });
        ada.client.post(&format!("{channel}/invite"), &invited).expect(201);
        let hook = json!({ "webhook_url": format!("https://example.org/{webhook}") });
        ada.client.post("/v1/agent/webhooks", &hook).expect(201);
        let signed = client.post("/api-keys/signup", &json!({ "email": format!("{mail}@example.org") })).expect(201);
        let key = client.key(text(&signed, "api_key"));
        let hook = json!({ "webhook_url": format!("https://example.org/{alert}") });
        key.post("/api/alerts/subscribe", &hook).expect(201);
        client.admin().post("/v1/admin/keys", &json!({ "tier": "research", "label": label })).expect(201);
        Scene { target, ada, bob, key, canaries, seen }
    }

    /// Every text, as its owner reads it.
    fn read(&self) -> [(&'static str, String); 7] {
        let value = self.ada.client.get("/v1/agent/memory/notes/plan").expect(200)["value"]["text"].clone();
        let channels = self.ada.client.get("/v1/agent/channels?mine=true").expect(200);
        let path = format!("/v1/agent/channels/{}/messages", text(&channels["channels"][0], "id"));
        let post = self.ada.client.get(&path).expect(200)["messages"][0]["content"].clone();
        let invite = self.bob.client.get("/v1/agent/invites").expect(200)["invites"][0]["message"].clone();
        let hook = self.ada.client.get("/v1/agent/webhooks").expect(200)["webhooks"][0]["webhook_url"].clone();
        let alert = self.key.get("/api/alerts/subscriptions").expect(200)["subscriptions"][0]["webhook_url"].clone();
        let keys = self.target.client().admin().get("/v1/admin/keys").expect(200);
        let labels: Vec<&Value> = keys["keys"].as_array().unwrap().iter().map(|key| &key["label"]).collect();
        let labelled =
            |with: &str| labels.iter().find(|label| label.as_str().unwrap().contains(with)).unwrap().to_string();
        let (mail, label) = (labelled("mail"), labelled("label"));
        let shown = |value: &Value| value.as_str().unwrap().trim_start_matches("https://example.org/").to_owned();
        let plain = |text: String| text.trim_matches('"').trim_end_matches("@example.org").to_owned();
        [
            ("memory", shown(&value)),
            ("post", shown(&post)),
            ("invite", shown(&invite)),
            ("webhook", shown(&hook)),
            ("alert", shown(&alert)),
            ("mail", plain(mail)),
            ("label", plain(label)),
        ]
    }

    fn is_stored(&self, text: &str) -> bool {
        let stored = self.target.stored();
        stored.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

fn texts_at_rest_are_in_no_byte_that_is_stored(suite: &Suite) {
    let mut scene = Scene::new(suite);
    assert_eq!(scene.read(), scene.canaries);
    assert!(
        scene.is_stored(&scene.seen),
        "nothing can be found in what is stored, so nothing is shown by not finding it"
    );
    for (place, text) in &scene.canaries {
        assert!(!scene.is_stored(text), "{place} is stored as it was written");
    }
    // The owner's copy on the edge is the same after a start.
    scene.target = scene.target.restart(&[]);
    let base = scene.target.client();
    let again = |agent: &Agent| Agent { client: base.agent(&agent.api_key), ..agent.clone() };
    (scene.ada, scene.bob) = (again(&scene.ada), again(&scene.bob));
    assert!(!scene.is_stored(&scene.canaries[0].1));
    let value = scene.ada.client.get("/v1/agent/memory/notes/plan").expect(200);
    assert_eq!(value["value"]["text"], json!(scene.canaries[0].1));
}

/// The number of values under the master keys, and of those that are under an earlier one or not sealed yet.
fn sealed(target: &Target) -> (u64, u64) {
    let info = target.client().admin().get("/v1/admin/db").expect(200);
    (info["sealed_values"].as_u64().unwrap(), info["sealed_under_earlier_keys"].as_u64().unwrap())
}

/// The recorded data file of the first version has a memory value that is not sealed.
fn texts_from_before_they_were_sealed_are_read_and_sealed(suite: &Suite) {
    if suite.kind != Kind::Native {
        return; // The recorded file is one of the native server; the others are tested in core.
    }
    let (known, data) = crate::dump_and_load::earlier_file();
    let target = Target::on_file(&data, &[]);
    let bob = target.client().agent(text(&known["bob"], "api_key"));
    let read = || assert_eq!(bob.get("/v1/agent/memory/notes/one").expect(200)["value"], json!({ "kept": true }));
    read();
    // Nobody asked for a rotation: the first start of this version seals the values.
    target.until(|| (sealed(&target).1 == 0).then_some(()));
    read();
    let target = target.restart(&[]);
    let bob = target.client().agent(text(&known["bob"], "api_key"));
    assert_eq!(
        bob.get("/v1/agent/memory/notes/one").expect(200)["size_bytes"],
        json!({ "kept": true }).to_string().len()
    );
}

/// Only the native server changes its master key itself; the core tests the others.
fn sealed_texts_move_under_a_new_master_key(suite: &Suite) {
    if suite.kind != Kind::Native {
        return;
    }
    let scene = Scene::new(suite);
    let before = sealed(&scene.target);
    // The keys of two agents; of one agent a value, a webhook's secret and address, an invite at both ends and a
    // channel's key; of API keys two labels, a secret and an address.
    assert_eq!(before, (2 + 1 + 2 + 2 + 1 + 4, 0));
    scene.target.client().admin().send("POST", "/v1/admin/master-key", None, b"").expect(201);
    scene.target.until(|| (sealed(&scene.target) == before).then_some(()));
    assert_eq!(scene.read(), scene.canaries);
}
