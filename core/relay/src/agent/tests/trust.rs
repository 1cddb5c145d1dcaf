//! Attestations and trust by whole requests, also with many agents of one owner.

use serde_json::json;

use super::*;
use crate::agent::trust::{Level, Settle};
use crypto::encoding::{actor_id, encode_base64, parse_did};
use crypto::signing;
use engine::runtime::Runtime;

const ATTEST: &str = "/v1/agent/attestations";

impl World {
    fn attest(&self, agent: &Agent, domain: &str) -> String {
        let body = json!({ "claim_type": "domain-blocked", "claim_data": {}, "domain": domain, "country": "KE" });
        self.post(ATTEST, &agent.key, body).expect(201)["id"].as_str().unwrap().to_owned()
    }

    fn vote(&self, agent: &Agent, id: &str, vote: &str) -> Answer {
        self.post(&format!("{ATTEST}/{id}/corroborate"), &agent.key, json!({ "vote": vote }))
    }

    fn trust(&self, agent: &Agent) -> Value {
        self.get(&format!("/v1/agent/trust/{}", agent.did), "").expect(200)
    }

    fn earn(&self, agent: &Agent, earned: f64) {
        let actor = actor_id(&parse_did("svc", &agent.did).unwrap());
        let settle = Settle { at: self.rt.now(), agreed: true, earned };
        engine::runtime::call(&*self.rt, actor, &settle).now_or_never().unwrap().unwrap();
    }
}

/// Decision anchored-weight: a hundred new agents that vouch for each other do not reach `medium`, and their votes do
/// not move any score.
#[test]
fn a_hundred_fresh_agents_vouching_for_each_other_stay_below_medium() {
    let world = World::with(&[("agent_burst", "1000000"), ("registrations_per_hour", "1000000")]);
    let agents: Vec<Agent> = (0..100).map(|n| world.server_agent(&format!("sybil {n}"))).collect();
    let ids: Vec<String> = agents.iter().map(|agent| world.attest(agent, "example.org")).collect();
    for (n, agent) in agents.iter().enumerate() {
        for step in 1..=20 {
            let vote = world.vote(agent, &ids[(n + step) % agents.len()], "corroborate").expect(200);
            assert_eq!(vote["new_consensus_score"], 0.5);
        }
    }
    world.wait(8 * 24 * 3600);
    for (agent, id) in agents.iter().zip(&ids) {
        let trust = world.trust(agent);
        assert!(["new", "low"].contains(&trust["trust_level"].as_str().unwrap()), "{trust}");
        assert_eq!((&trust["anchored_weight"], &trust["activity"]["attestations_made"]), (&json!(0.0), &json!(1)));
        let seen = world.get(&format!("{ATTEST}/{id}"), "").expect(200);
        assert_eq!((&seen["corroboration_count"], &seen["consensus_score"]), (&json!(20), &json!(0.5)));
    }
    let above = world.get("/v1/agent/trust/leaderboard?min_level=medium", "").expect(200);
    assert_eq!(above["count"], 0);
}

/// Decision anchored-weight: votes count by the voter's anchored weight at the time.
#[test]
fn a_vote_counts_by_the_anchored_weight_of_its_time() {
    let world = World::new();
    let [ada, bob, eve] = ["ada", "bob", "eve"].map(|name| world.server_agent(name));
    let first = world.attest(&ada, "example.org");
    world.earn(&bob, 3.0);
    let voted = world.vote(&bob, &first, "corroborate").expect(200);
    // (1 + 0.5) / (2 + 0.5): an anchored weight of three gives half a vote.
    assert_eq!(voted["new_consensus_score"], 0.6);
    assert_eq!(world.vote(&eve, &first, "refute").expect(200)["new_consensus_score"], 0.6);
    world.earn(&eve, 100.0);
    assert_eq!(
        world.get(&format!("{ATTEST}/{first}"), "").expect(200)["consensus_score"],
        0.6,
        "eve's vote is of before"
    );
    assert_eq!(
        world.vote(&bob, &first, "corroborate").expect(200)["corroboration_count"],
        1,
        "a repeat is no second vote"
    );
    world.vote(&bob, &first, "refute").refused(409, "CONFLICT");
    world.vote(&ada, &first, "corroborate").refused(403, "FORBIDDEN");
}

/// Decisions anchored-weight and one-deciding-operation: the leaderboard and the search follow by effects, and an agent
/// that ends leaves both.
#[test]
fn the_leaderboard_follows_trust_and_forgets_agents_that_end() {
    let world = World::new();
    let [ada, bob] = ["ada", "bob"].map(|name| world.server_agent(name));
    world.earn(&ada, 3.0);
    world.earn(&bob, 10.0);
    let names = |query: &str| -> Vec<String> {
        let page = world.get(&format!("/v1/agent/trust/leaderboard?{query}"), "").expect(200);
        page["leaderboard"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("min_level=low"), ["bob", "ada"]);
    assert_eq!(names("min_level=high"), ["bob"]);
    world.wait(120);
    assert_eq!(names(""), ["bob", "ada"], "the document follows");
    let found = world.get("/v1/agent/discover?limit=10", "").expect(200);
    let order: Vec<&str> = found["agents"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    assert_eq!(order, ["bob", "ada"]);
    world.call("DELETE", "/v1/agent/deactivate", &bob.key, Value::Null).expect(200);
    assert_eq!(names("min_level=low"), ["ada"]);
    assert_eq!(world.trust(&bob)["trust_level"], Level::New.as_str());
}

/// Decision signed-registrations: an attestation signed by its signing key proves a registration; a signature by
/// another key is 400.
#[test]
fn a_fresh_attestation_proves_whose_key_it_is() {
    let world = World::new();
    let client = Client::new("svc", [7; 32], Options::default());
    let mut body = client.key_body(None, 1);
    for prekey in ["signed_prekey_public", "signed_prekey_signature", "signed_prekey_id"] {
        body.as_object_mut().unwrap().remove(prekey);
    }
    let agent = Agent::of(&world.post("/v1/agent/register", "", body).expect(201));
    let at = world.rt.now().to_string();
    let text = format!("domain-blocked{{}}{at}");
    let signature = encode_base64(&signing::sign(&client.keys.signing, text.as_bytes()));
    let attestation =
        json!({ "claim_type": "domain-blocked", "claim_data": {}, "timestamp": at, "signature": signature });
    world.post(ATTEST, &agent.key, attestation).expect(201);
    let keys = world.post("/v1/agent/register", "", client.key_body(None, 1));
    keys.refused(409, "CONFLICT");
}
