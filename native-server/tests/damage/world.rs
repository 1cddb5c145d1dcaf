//! Agents, messages, wallets and incidents, and questions about them.

use heliograph_tests::client::{Answer, Client};
use heliograph_tests::ledger::{Party, path_of};
use heliograph_tests::relay::Agent;
use heliograph_tests::target::ADMIN_KEY;
use serde_json::{Value, json};

/// A question, and its answer before the damage.
pub struct Question {
    headers: Vec<(&'static str, String)>,
    path: String,
    status: u16,
    body: Value,
}

pub struct World {
    pub questions: Vec<Question>,
    /// Payers with the whole amount that each owns.
    pub parties: Vec<(Party, u64)>,
    /// An envelope that was settled, and the index of its payer.
    pub settled: Value,
    pub suspended: Agent,
}

const AGENTS: usize = 10;

impl World {
    pub fn make(client: &Client) -> World {
        let agents: Vec<Agent> = (0..AGENTS).map(|_| Agent::server_side(client)).collect();
        for (n, from) in agents.iter().enumerate() {
            for step in 1..5 {
                from.say(&agents[(n + step) % AGENTS].did, &format!("{step} {}", "words ".repeat(60)));
            }
        }
        let parties: Vec<Party> = (0..6).map(|_| Party::funded(client)).collect();
        for (n, party) in parties.iter().enumerate() {
            for step in 1..4 {
                party.pay(parties[(n + step) % parties.len()].did(), 100 + step as u64).expect(200);
            }
            party.open(parties[(n + 1) % parties.len()].did(), 50);
        }
        let settled = parties[0].body("credit-transfer", parties[0].transfer(parties[1].did(), 77));
        client.post(path_of("credit-transfer"), &settled).expect(200);
        for (n, country) in ["KE", "IR", "UG", "MM", "IN", "TR"].into_iter().enumerate() {
            let incident = json!({
                "country": country, "subject": format!("site-{n}.example.org"), "reason": "seen by several",
                "start": "2024-03-01", "severity": "low", "type": "censorship", "confidence": 0.6
            });
            client.admin().post("/v1/admin/incidents", &incident).expect(201);
        }
        let suspended = Agent::server_side(client);
        client.admin().post(&format!("/v1/admin/agents/{}/suspend", suspended.did), &json!({})).expect(200);
        let mut world = World { questions: Vec::new(), parties: Vec::new(), settled, suspended };
        world.ask(client, &agents, &parties);
        world
    }

    fn ask(&mut self, client: &Client, agents: &[Agent], parties: &[Party]) {
        let nobody = || Vec::new();
        for agent in agents {
            let own = || vec![("x-agent-key", agent.api_key.clone())];
            self.add(client, own(), "/v1/agent/receive/raw?unread=false&limit=100");
            self.add(client, own(), "/v1/agent/messages/unread-count");
            self.add(client, own(), "/v1/agent/profile");
            self.add(client, nobody(), &format!("/v1/agent/identity/{}", agent.did));
        }
        for party in parties {
            self.add(client, nobody(), &format!("/v1/pay/wallet/{}", party.did()));
            let history = format!("/v1/pay/history/{}", party.did());
            self.add(client, vec![("x-agent-key", party.agent.api_key.clone())], &history);
            let (free, locked) = party.money();
            self.parties.push((party.clone(), free + locked));
        }
        self.add(client, nobody(), &format!("/v1/agent/identity/{}", self.suspended.did));
        self.add(client, vec![("x-agent-key", self.suspended.api_key.clone())], "/v1/agent/profile");
        let list = "/data/incidents?limit=100";
        self.add(client, nobody(), list);
        for incident in client.get(list).expect(200)["incidents"].as_array().into_iter().flatten() {
            let id = incident["readableId"].as_str().unwrap();
            self.add(client, nobody(), &format!("/data/incidents/{id}"));
        }
        self.add(client, vec![("x-admin-key", ADMIN_KEY.to_owned())], "/v1/admin/keys");
    }

    fn add(&mut self, client: &Client, headers: Vec<(&'static str, String)>, path: &str) {
        let mut question = Question { headers, path: path.to_owned(), status: 0, body: Value::Null };
        // The first read marks messages as read.
        question.ask(client);
        let answer = question.ask(client);
        (question.status, question.body) = (answer.status, stable(answer.json()));
        // The question is used only if its answer stays the same when it is asked again.
        if stable(question.ask(client).json()) == question.body {
            self.questions.push(question);
        }
    }

    /// Asks everything. Panics at an answer that is neither right nor 503; returns the number of 503 answers.
    pub fn check(&self, client: &Client, what: &str) -> usize {
        self.questions_of(client, what, |_| true) + self.pay(client, what)
    }

    /// Asks the questions whose answers payments do not change.
    pub fn check_reads(&self, client: &Client, what: &str) -> usize {
        self.questions_of(client, what, |path| !path.starts_with("/v1/pay/"))
    }

    fn questions_of(&self, client: &Client, what: &str, wanted: impl Fn(&str) -> bool) -> usize {
        let mut refused = 0;
        for question in self.questions.iter().filter(|question| wanted(&question.path)) {
            let answer = question.ask(client);
            if answer.status == 503 {
                let code = answer.json()["error"].clone();
                assert!(code == "DAMAGED" || code == "UNAVAILABLE", "{what}: {}: {code}", question.path);
                refused += 1;
                continue;
            }
            assert_eq!(
                (answer.status, &stable(answer.json())),
                (question.status, &question.body),
                "{what}: {}",
                question.path
            );
        }
        refused
    }

    /// A payment that was made is not made again, and a new payment leaves the wallet.
    fn pay(&self, client: &Client, what: &str) -> usize {
        let mut refused = 0;
        let of = |party: &Party| {
            let answer = client.get(&format!("/v1/pay/wallet/{}", party.did()));
            (answer.status == 200).then(|| answer.json()["wallet"]["balance_micro"].as_u64().unwrap())
        };
        let (first, second) = (&self.parties[0].0, &self.parties[1].0);
        let before = (of(first), of(second));
        let again = client.post(path_of("credit-transfer"), &self.settled);
        assert!([200, 409, 503].contains(&again.status), "{what}: {}", again.text());
        refused += usize::from(again.status == 503);
        for (then, now) in [(before.0, of(first)), (before.1, of(second))] {
            assert!(then.is_none() || now.is_none() || then == now, "{what}: settled twice");
        }
        let paid =
            client.post(path_of("credit-transfer"), &first.body("credit-transfer", first.transfer(second.did(), 1)));
        assert!([200, 503].contains(&paid.status), "{what}: {}", paid.text());
        refused += usize::from(paid.status == 503);
        if let (Some(then), Some(now)) = (before.0, of(first)) {
            assert_eq!(then - now, u64::from(paid.status == 200), "{what}: {}", paid.text());
        }
        refused
    }
}

impl Question {
    fn ask(&self, client: &Client) -> Answer {
        let client = self.headers.iter().fold(client.clone(), |client, (name, value)| client.with(name, value));
        client.get(&self.path)
    }
}

/// Removes times, and counters that a crash may set back by a minute.
fn stable(mut body: Value) -> Value {
    fn clean(value: &mut Value) {
        match value {
            Value::Object(members) => {
                let told = |name: &str| ["as_of", "last_seen", "message_count", "now", "time"].contains(&name);
                members.retain(|name, _| !told(name) && !name.starts_with("generated"));
                members.values_mut().for_each(clean);
            }
            Value::Array(items) => items.iter_mut().for_each(clean),
            _ => {}
        }
    }
    clean(&mut body);
    body
}
