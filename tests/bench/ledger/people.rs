//! Agents with keys and credit, and the envelopes that they sign.

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_core::engine::time::Timestamp;
use heliograph_core::ledger::client::Signer;
use heliograph_tests::client::Client;
use heliograph_tests::ledger::{Operator, nonce};
use heliograph_tests::simulation::Dice;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::load::{self, Ends, Plan};
use crate::service::now;

/// The grant of each agent, in micro-credits.
const GRANT: u64 = 10_000_000;
/// Agents that are registered at a time, because their keys take memory.
const STEP: usize = 20_000;
/// Connections for the preparation.
pub const FILLERS: usize = 64;

/// Agents, and a random generator.
pub struct People {
    pub signers: Vec<Signer>,
    dice: Dice,
}

/// Sends each request once; all must be answered with the plan's status.
pub fn send_all(runtime: &Runtime, base: &str, connections: usize, plan: &Plan) -> load::Outcome {
    runtime.block_on(load::run_until(base, connections, Ends::Asked, plan, 1))
}

impl People {
    /// Registers `number` agents.
    pub fn register(runtime: &Runtime, base: &str, number: usize) -> People {
        let sdk = |number: u64| {
            let mut seed = [0xb5; 32];
            seed[..8].copy_from_slice(&number.to_be_bytes());
            Sdk::new("svc", seed, Options::default())
        };
        let mut signers = Vec::with_capacity(number);
        while signers.len() < number {
            let next = (number - signers.len()).min(STEP);
            let all: Vec<Sdk> = (signers.len()..signers.len() + next).map(|n| sdk(n as u64)).collect();
            let bodies = all.iter().map(|sdk| sdk.key_body(None, 1).to_string());
            let plan = Plan::posts(base, "/v1/agent/register", &[], bodies).expecting(b"201");
            send_all(runtime, base, FILLERS, &plan);
            signers.extend(all.iter().map(|sdk| Signer::new("svc", sdk.keys.signing.clone())));
        }
        People { signers, dice: Dice::new(8) }
    }

    /// Grants credit to all agents.
    pub fn grant(&self, runtime: &Runtime, base: &str) {
        let operator = Operator::new(&Client::http(base), "all");
        let body = |signer: &Signer| {
            let members = json!({ "action": "grant", "did": signer.did, "amount_micro": GRANT });
            operator.body(members).to_string()
        };
        let plan = Plan::posts(base, "/v1/pay/admin/grant", &[], self.signers.iter().map(body));
        send_all(runtime, base, FILLERS, &plan);
    }

    pub fn draw(&mut self, below: usize) -> usize {
        (self.dice.draw() >> 33) as usize % below
    }

    fn other(&mut self, than: usize) -> usize {
        let number = self.signers.len();
        (than + 1 + self.draw(number - 1)) % number
    }

    /// Signed transfers; the agents take turns.
    pub fn transfers(&mut self, base: &str, first: usize, number: usize) -> Plan {
        let at = now();
        let bodies: Vec<String> = (first..first + number)
            .map(|turn| {
                let by = turn % self.signers.len();
                let (to, amount) = (self.other(by), 1 + self.draw(100));
                let (by, to) = (&self.signers[by], &self.signers[to].did);
                signed(by, "credit-transfer", at, json!({ "from_did": by.did, "to_did": to, "amount_micro": amount }))
            })
            .collect();
        Plan::posts(base, "/v1/pay/transfer", &[], bodies.into_iter())
    }

    /// Batches of `items` transfers to `distinct` recipients; the agents take turns.
    pub fn batches(&mut self, base: &str, number: usize, items: usize, distinct: usize) -> Plan {
        let at = now();
        let bodies: Vec<String> = (0..number)
            .map(|turn| {
                let by = turn % self.signers.len();
                let to: Vec<usize> = (0..distinct).map(|_| self.other(by)).collect();
                let item = |n: usize| json!({ "to_did": self.signers[to[n % distinct]].did, "amount_micro": 1 });
                let items: Vec<Value> = (0..items).map(item).collect();
                let by = &self.signers[by];
                let members = json!({ "from_did": by.did, "batch_id": nonce(), "items": items });
                by.signed("batch-transfer", at, members).to_string()
            })
            .collect();
        Plan::posts(base, "/v1/pay/batch", &[], bodies.into_iter())
    }
}

/// A body with a signed envelope that has a unique nonce.
pub fn signed(by: &Signer, schema: &str, at: Timestamp, mut members: Value) -> String {
    members["nonce"] = json!(nonce());
    by.signed(schema, at, members).to_string()
}
