//! Tasks that agents give each other, one by one or to all that can do them.

use crypto::encoding::{decode_base64, decode_base64_array, encode_base64};
use crypto::{boxes, signing};
use serde::Serialize;
use serde_json::{Value, json};

use super::agent::Agent;
use super::answers::{BroadcastDetail, BroadcastList, Task, TaskBroadcasted, TaskDetail, TaskList, TaskUpdated};
use crate::http::Method;
use crate::{Error, Result, platform};

/// A task to be given.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    /// The DID of the agent that is to do it.
    pub to: String,
    pub capability: Option<String>,
    /// Any JSON. Boxed for the assignee, if this agent holds its keys.
    pub input: Value,
    /// `low`, `normal`, `high` or `urgent`.
    pub priority: Option<String>,
    /// Seconds.
    pub expires_in: Option<u32>,
}

/// A task for several agents that have a capability.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NewBroadcast {
    pub capability: String,
    /// Any JSON. If the service holds the agent's keys, the assignees and the service read it. Otherwise only this agent
    /// can read it again, since one box has one reader: send the assignees what they need.
    #[serde(skip)]
    pub input: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// 1 to 50; 10 without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_agents: Option<u32>,
    /// `new`, `low`, `medium`, `high` or `verified`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_trust_level: Option<String>,
    /// Seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u32>,
}

/// Which tasks are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Tasks that this agent gave, instead of those that it got.
    pub given: bool,
    pub status: Option<String>,
    pub capability: Option<String>,
    pub limit: Option<u32>,
}

/// A box of JSON text between two agents, in base64.
struct Boxed {
    ciphertext: String,
    nonce: String,
    /// Over the text.
    signature: String,
}

impl Agent {
    async fn boxed(&self, did: &str, value: &Value) -> Result<Boxed> {
        let (keys, peer) = (self.keys()?, self.peer(did).await?.peer);
        let (text, nonce) = (value.to_string(), platform::random_bytes::<24>()?);
        let sealed = boxes::box_seal(&peer.encryption_key, &keys.encryption, &nonce, text.as_bytes())?;
        Ok(Boxed {
            ciphertext: encode_base64(&sealed),
            nonce: encode_base64(&nonce),
            signature: encode_base64(&signing::sign(&keys.signing, text.as_bytes())),
        })
    }

    /// Opens a box with any generation of own keys and the other side's key at that time, else its present one.
    async fn unboxed(&self, did: &str, ciphertext: &str, nonce: &str, key: Option<&str>) -> Result<Value> {
        let other = match key {
            Some(text) => decode_base64_array("sender_encryption_key", text)?,
            None => self.peer(did).await?.peer.encryption_key,
        };
        let (sealed, nonce) = (decode_base64("ciphertext", ciphertext)?, decode_base64_array("nonce", nonce)?);
        let generations = self.with_keyring(|keyring| keyring.generations.clone());
        let opened = generations.iter().find_map(|own| boxes::box_open(&other, &own.encryption, &nonce, &sealed).ok());
        let text = opened.ok_or(crypto::CryptoError::Undecryptable)?;
        serde_json::from_slice(&text).map_err(|error| Error::Answer(format!("the box holds no JSON: {error}")))
    }

    /// Gives a task to an agent.
    pub async fn give_task(&self, task: &NewTask) -> Result<Task> {
        let mut body = json!({
            "to": task.to, "capability": task.capability, "priority": task.priority, "expires_in": task.expires_in,
        });
        if self.holds_keys() {
            let boxed = self.boxed(&task.to, &task.input).await?;
            body["encrypted_input"] = boxed.ciphertext.into();
            body["input_nonce"] = boxed.nonce.into();
            body["input_signature"] = boxed.signature.into();
        } else {
            body["input"] = task.input.clone();
        }
        self.call(Method::Post, &["tasks"]).json(&body).once().send().await
    }

    /// Tasks that this agent got or gave.
    pub async fn tasks(&self, filter: &TaskFilter) -> Result<TaskList> {
        let role = if filter.given { "requester" } else { "assignee" };
        let call = self.call(Method::Get, &["tasks"]).query("role", Some(role));
        let call = call.query("status", filter.status.as_deref()).query("capability", filter.capability.as_deref());
        call.query("limit", filter.limit).send().await
    }

    /// One task of this agent.
    pub async fn task(&self, id: &str) -> Result<TaskDetail> {
        self.call(Method::Get, &["tasks", id]).send().await
    }

    /// The input of a task that this agent got; `None` if it has none.
    pub async fn task_input(&self, task: &TaskDetail) -> Result<Option<Value>> {
        match (self.holds_keys(), &task.encrypted_input, &task.input_nonce) {
            (true, Some(ciphertext), Some(nonce)) => {
                let key = task.input_sender_encryption_key.as_deref();
                self.unboxed(&task.from, ciphertext, nonce, key).await.map(Some)
            }
            _ => Ok(Some(task.input.clone()).filter(|input| !input.is_null())),
        }
    }

    /// The output of a task that this agent gave; `None` if there is none yet.
    pub async fn task_output(&self, task: &TaskDetail) -> Result<Option<Value>> {
        match (self.holds_keys(), &task.encrypted_output, &task.output_nonce) {
            (true, Some(ciphertext), Some(nonce)) => {
                let key = task.output_sender_encryption_key.as_deref();
                self.unboxed(&task.to, ciphertext, nonce, key).await.map(Some)
            }
            _ => Ok(Some(task.output.clone()).filter(|output| !output.is_null())),
        }
    }

    /// Changes the status of a task: `accepted`, `in_progress`, `completed`, `failed` or `cancelled`.
    pub async fn set_task(&self, id: &str, status: &str) -> Result<TaskUpdated> {
        self.call(Method::Patch, &["tasks", id]).json(&json!({ "status": status })).send().await
    }

    /// Hands in the output of a task and completes it, or fails it.
    pub async fn finish_task(&self, task: &TaskDetail, done: bool, output: &Value) -> Result<TaskUpdated> {
        let status = if done { "completed" } else { "failed" };
        let body = if self.holds_keys() {
            let boxed = self.boxed(&task.from, output).await?;
            json!({
                "status": status,
                "encrypted_output": boxed.ciphertext,
                "output_nonce": boxed.nonce,
                "output_signature": boxed.signature,
            })
        } else {
            json!({ "status": status, "output": output })
        };
        self.call(Method::Patch, &["tasks", &task.id]).json(&body).send().await
    }

    /// Rates a task that this agent gave, 1 to 5.
    pub async fn rate_task(&self, id: &str, rating: u8, comment: Option<&str>) -> Result<TaskUpdated> {
        let body = json!({ "rating": rating, "rating_comment": comment });
        self.call(Method::Patch, &["tasks", id]).json(&body).send().await
    }

    /// Gives a task to all agents that fit.
    pub async fn broadcast(&self, broadcast: &NewBroadcast) -> Result<TaskBroadcasted> {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(flatten)]
            broadcast: &'a NewBroadcast,
            #[serde(flatten)]
            input: Value,
        }
        let input = match self.keys() {
            Ok(keys) => {
                let (text, nonce) = (broadcast.input.to_string(), platform::random_bytes::<24>()?);
                let own = boxes::box_public_key(&keys.encryption);
                let sealed = boxes::box_seal(&own, &keys.encryption, &nonce, text.as_bytes())?;
                json!({
                    "encrypted_input": encode_base64(&sealed),
                    "input_nonce": encode_base64(&nonce),
                    "input_signature": encode_base64(&signing::sign(&keys.signing, text.as_bytes())),
                })
            }
            Err(_) => json!({ "input": broadcast.input }),
        };
        self.call(Method::Post, &["tasks", "broadcast"]).json(&Body { broadcast, input }).once().send().await
    }

    /// Broadcasts of this agent: `active`, `completed` or all.
    pub async fn broadcasts(&self, status: Option<&str>) -> Result<BroadcastList> {
        self.call(Method::Get, &["tasks", "broadcasts"]).query("status", status).send().await
    }

    /// One broadcast with its tasks.
    pub async fn broadcast_detail(&self, id: &str) -> Result<BroadcastDetail> {
        self.call(Method::Get, &["tasks", "broadcasts", id]).send().await
    }
}
