//! The random steps.

use serde_json::{Value, json};

use super::{ADMIN, AGENTS, Keys, Model, Step, key_of};
use crate::admin::{Direct, Directed, keyid};
use crate::escrow::MAX_HOLD;
use crate::keys::{How, OpenWallet, SetKey};
use crate::listing::LISTINGS;
use crate::pay::Claimant;
use crate::rows::{Id, KEYS, Signed, id_text};
use crate::submit::{NamedKey, Submit};
use engine::kv::Store;
use engine::time::{HOUR, MINUTE};

impl<S: Store + 'static> Model<S> {
    /// Every kind of operation that the ledger has.
    pub const ALL: &'static [Step<S>] = &[
        (22, Model::transfer),
        (3, Model::batch),
        (15, Model::open),
        (15, Model::close),
        (12, Model::claim),
        (10, Model::accept),
        (3, Model::list),
        (10, Model::hire),
        (1, Model::faucet),
        (4, Model::admin),
        (3, Model::send_again),
        (6, Model::send_waiting),
        (2, Model::change_key),
        (3, Model::tell),
        (1, Model::make_wallet),
        (3, Model::sweep_once),
    ];

    /// Opens, releases, refunds and expiries of escrows, with grants that give them money.
    pub const ESCROWS: &'static [Step<S>] =
        &[(2, Model::grant), (40, Model::open), (40, Model::close), (5, Model::send_again), (13, Model::sweep_once)];

    fn nonce(&mut self) -> String {
        self.nonce += 1;
        format!("model-{}", self.nonce)
    }

    fn did(&self, agent: usize) -> String {
        self.agents[agent].did.clone()
    }

    /// Verifies an envelope, and sends it now or later.
    fn submit(&mut self, by: usize, other: Option<usize>, schema: &str, members: Value) {
        let signer = NamedKey { name: self.name(by), row: self.known(by) };
        if signer.row.in_force().is_none() {
            *self.refused.entry("pubkey_not_found").or_default() += 1;
            return;
        }
        let envelope = self.agents[by].envelope(schema, self.now, members);
        let others = other.map(|other| NamedKey { name: self.name(other), row: self.known(other) });
        let submit = Submit {
            canonical: envelope.to_string().into_bytes(),
            signature: vec![0; 64],
            signer,
            others: others.into_iter().collect(),
            claimant: Some(Claimant { addresses: Vec::new(), per_address: 3, per_day: 1_000 }),
            repeat: None,
        };
        self.sent.push(submit.clone());
        if self.below(12) == 0 {
            self.waiting.push(submit);
        } else {
            self.send(&submit);
        }
    }

    fn amount(&mut self) -> u64 {
        match self.below(20) {
            0 => 0,
            1 => self.below(1 << 52),
            2 => 100_000_001,
            _ => 1 + self.below(3_000_000),
        }
    }

    fn transfer(&mut self) {
        let (from, to, amount, nonce) = (self.agent(), self.agent(), self.amount(), self.nonce());
        let members =
            json!({ "from_did": self.did(from), "to_did": self.did(to), "amount_micro": amount, "nonce": nonce });
        self.submit(from, Some(to), "credit-transfer", members);
    }

    /// Some transfers under one signature; often one of them must be refused.
    fn batch(&mut self) {
        let (from, batch_id) = (self.agent(), self.nonce());
        let items = (0..1 + self.below(6)).map(|_| {
            let (to, amount) = (self.agent(), self.amount());
            json!({ "to_did": self.did(to), "amount_micro": amount })
        });
        let items: Vec<Value> = items.collect();
        let members = json!({ "from_did": self.did(from), "batch_id": batch_id, "items": items });
        self.submit(from, None, "batch-transfer", members);
    }

    fn open(&mut self) {
        let (from, to, amount, nonce) = (self.agent(), self.agent(), self.amount(), self.nonce());
        let hold = self.below(MAX_HOLD as u64 + HOUR as u64) as i64;
        let hold = if self.below(2) == 0 { hold / 300 } else { hold };
        let deadline = self.now.plus(hold).to_micros_text();
        let members = json!({ "from_did": self.did(from), "to_did": self.did(to), "amount_micro": amount, "nonce": nonce,
            "deadline_at": deadline });
        self.submit(from, Some(to), "escrow-open", members);
    }

    /// Some open escrow, with its sender and recipient.
    fn some_escrow(&mut self) -> Option<(Id, usize, usize)> {
        let place = self.below(self.open.len().max(1) as u64) as usize;
        self.open.iter().nth(place).map(|(id, (from, to, _))| (*id, *from, *to))
    }

    fn close(&mut self) {
        let Some((id, from, _)) = self.some_escrow() else { return };
        let by = if self.below(8) == 0 { self.agent() } else { from };
        let schema = if self.below(2) == 0 { "escrow-release" } else { "escrow-refund" };
        let members = json!({ "escrow_id": id_text(&id), "signer_did": self.did(by), "action_nonce": "n" });
        self.submit(by, None, schema, members);
    }

    fn claim(&mut self) {
        let Some((id, from, to)) = self.some_escrow() else { return };
        let by = if self.below(8) == 0 { self.agent() } else { to };
        let window = 4 * MINUTE + self.below(2 * HOUR as u64) as i64;
        let (deadline, nonce, auto) = (self.now.plus(window).to_micros_text(), self.nonce(), self.below(2) == 0);
        let mut members = json!({ "task_id": "t", "from_did": self.did(from), "to_did": self.did(by), "nonce": nonce,
            "work_hash": "00".repeat(32), "acceptance_deadline_at": deadline, "auto_accept_on_timeout": auto });
        if self.below(10) > 0 {
            members["escrow_id"] = json!(id_text(&id));
        }
        self.submit(by, Some(from), "work-claim", members);
    }

    fn accept(&mut self) {
        if self.receipts.is_empty() {
            return;
        }
        let place = self.receipts.len().saturating_sub(1 + self.below(20) as usize);
        let (id, from) = self.receipts[place];
        let by = if self.below(8) == 0 { self.agent() } else { from };
        let mut members = json!({ "receipt_id": id_text(&id), "signer_did": self.did(by), "action_nonce": "n",
            "action": "accept", "rating": 1 + self.below(5) });
        if self.below(3) == 0 {
            members["action"] = json!("dispute");
            members["dispute_reason"] = json!("no");
        }
        self.submit(by, None, "work-acceptance", members);
    }

    fn list(&mut self) {
        let (by, nonce) = (self.agent(), self.nonce());
        let (slug, price) = (format!("slug{}", self.below(3)), self.below(500_000));
        let members = json!({ "provider_did": self.did(by), "capability": slug, "name": "n", "description": "",
            "price_per_call_micro": price, "unit": "call", "sla_deadline_hours": 1, "active": self.below(9) > 0,
            "nonce": nonce });
        self.submit(by, None, "capability-list", members);
    }

    fn hire(&mut self) {
        if self.listings.is_empty() {
            return;
        }
        let place = self.below(self.listings.len() as u64) as usize;
        let ((listing, to), from, nonce) = (self.listings[place], self.agent(), self.nonce());
        let row = LISTINGS.get(self.store(), &(listing,)).unwrap().unwrap();
        let members = json!({ "capability_id": id_text(&listing), "capability": row.capability,
            "requester_did": self.did(from), "provider_did": self.did(to), "price_micro": row.price, "task_id": "t",
            "delivery_deadline_hours": 1 + self.below(170), "nonce": nonce });
        self.submit(from, Some(to), "hire-request", members);
    }

    fn faucet(&mut self) {
        let (by, nonce) = (self.agent(), self.nonce());
        let members = json!({ "did": self.did(by), "nonce": nonce });
        self.submit(by, None, "pay-faucet", members);
    }

    /// Sends an envelope again, as an impatient client does.
    fn send_again(&mut self) {
        let place = self.sent.len().saturating_sub(1 + self.below(30) as usize);
        if let Some(again) = self.sent.get(place).cloned() {
            self.send(&again);
        }
    }

    /// An envelope that was verified some time ago arrives, in any order.
    fn send_waiting(&mut self) {
        if !self.waiting.is_empty() {
            let place = self.below(self.waiting.len() as u64) as usize;
            let submit = self.waiting.swap_remove(place);
            self.send(&submit);
        }
    }

    fn sweep_once(&mut self) {
        self.sweep();
    }

    fn make_wallet(&mut self) {
        let (agent, registered) = (self.agent(), self.below(2) == 0);
        self.run(&OpenWallet { name: self.name(agent), registered });
    }

    /// An agent rotates its keys, with or without a signature, or ends, or begins anew. Its message to the ledger is
    /// queued.
    fn change_key(&mut self) {
        let (agent, kind) = (self.agent(), self.below(8));
        let name = self.name(agent);
        let (keys, mut how): (&mut Keys, How) = (&mut self.keys[agent], How::default());
        match kind {
            0 if keys.active => keys.active = false,
            // After a rotation without a signature, the agent comes back with a signed one.
            _ => {
                keys.version += 1;
                keys.active = true;
                keys.current = kind > 1;
                if keys.current {
                    how.signer = Some(keys.proved);
                    keys.proved = key_of(agent as u8, keys.version);
                }
            }
        }
        let Keys { version, proved, current, active, .. } = *keys;
        keys.told.push_back(SetKey { name, version, proved, current, active, how });
    }

    /// One message of an agent arrives, perhaps twice.
    fn tell(&mut self) {
        let agent = self.agent();
        let Some(message) = self.keys[agent].told.pop_front() else { return };
        // The ledger may know more already, from the agent's answer to a question.
        let known = KEYS.get(self.store(), &(self.name(agent),)).unwrap();
        let old =
            known.is_some_and(|row| row.version > message.version || (row.version == message.version && !row.active));
        let has_wallet = self.wallet(agent).is_some();
        let keys = &mut self.keys[agent];
        keys.heard = keys.heard.max(message.version);
        if !old && !message.current && message.active && has_wallet {
            self.money[agent].frozen = true;
        }
        for _ in 0..1 + self.below(2) {
            self.run(&message);
        }
    }

    fn admin(&mut self) {
        let kind = self.below(14);
        self.direct(kind);
    }

    fn grant(&mut self) {
        self.direct(0);
    }

    /// Ends all freezes.
    pub(super) fn thaw(&mut self) {
        self.act(&json!({ "action": "freeze_all", "frozen": false }));
        self.frozen = false;
        for agent in 0..AGENTS {
            if let Directed::Wallet { .. } =
                self.act(&json!({ "action": "freeze", "did": self.did(agent), "frozen": false }))
            {
                self.money[agent].frozen = false;
            }
        }
    }

    /// Does an action of the operator.
    fn act(&mut self, members: &Value) -> Directed {
        let nonce = self.nonce();
        let mut body = json!({ "schema": "svc-pay-admin-action/v1", "audience": "x", "action_nonce": nonce,
            "issued_at": self.now.to_micros_text(), "valid_until_ts": self.now.plus(MINUTE).to_micros_text() });
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let signed = Signed { canonical: body.to_string().into_bytes(), signature: vec![0; 64], key: ADMIN };
        self.run(&Direct { keyid: keyid(&ADMIN), signed })
    }

    fn direct(&mut self, kind: u64) {
        let (agent, other, amount) = (self.agent(), self.agent(), 1 + self.below(50_000_000));
        let did = self.did(agent);
        let frozen = matches!(kind, 4 | 6) && self.below(6) == 0;
        let allowed = (kind == 12 && self.below(2) == 0).then(|| vec![other]);
        let members = match kind {
            0..=3 => json!({ "action": "grant", "did": did, "amount_micro": amount }),
            4 | 5 => json!({ "action": "freeze", "did": did, "frozen": frozen }),
            6 | 7 => json!({ "action": "freeze_all", "frozen": frozen, "faucet_disabled": frozen }),
            10 => json!({ "action": "cap", "did": did, "daily_cap_micro": amount / 2 }),
            11 => json!({ "action": "cap", "did": did, "per_tx_cap_micro": amount, "daily_cap_micro": amount * 3 }),
            12 | 13 => {
                let list = allowed.as_ref().map(|_| json!([self.did(other)]));
                json!({ "action": "cap", "did": did, "allowlist": list.unwrap_or(json!("none")) })
            }
            _ => match self.some_escrow() {
                Some((id, ..)) => {
                    let action = if kind == 8 { "escrow_release" } else { "escrow_refund" };
                    json!({ "action": action, "escrow_id": id_text(&id) })
                }
                None => return,
            },
        };
        let money = match self.act(&members) {
            Directed::Wallet { .. } => &mut self.money[agent],
            Directed::System { .. } => {
                (self.frozen, self.faucet_disabled) = (frozen, frozen);
                return;
            }
            Directed::Escrow(_) | Directed::Refused(_) => return,
        };
        match kind {
            0..=3 => {
                money.balance += amount;
                self.supply += amount;
            }
            4 | 5 => money.frozen = frozen,
            10 => money.daily_cap = amount / 2,
            11 => (money.per_tx_cap, money.daily_cap) = (amount, amount * 3),
            _ => money.allowed = allowed,
        }
    }
}
