//! The public form of an event: canonical JSON in which free texts are replaced by hashes. Hashes and signatures over
//! such a text are replaced too, because they would confirm a guess of it.
//!
//! Each of these hashes has a salt of its own, made from a secret of the ledger. So nobody can guess a text from the
//! log, and a reader that may see the text can get its salt, to check that the text is in the log.

use serde::{Deserialize, Serialize};

use super::book::did_of;
use super::json::{self, Json, Members};
use super::log::{Change, Event};
use super::merkle::Hash;
use super::rows::{Micro, id_text};
use crate::{Error, Result};
use crypto::encoding::{encode_base64, encode_hex};
use crypto::hash::{hmac_sha256, sha256_of};

/// Members of signed texts that hold free text.
const TEXTS: [&str; 6] = ["memo", "reason", "summary", "feedback", "dispute_reason", "input_json"];

/// A text that the public form does not show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    /// Its place in the signed text: names and places in lists, with `/` between them, or [`HASH`] or [`SIGNATURE`].
    pub path: String,
    pub salt: Hash,
    pub text: String,
}

/// Paths of the hash and the signature, which are hidden together with a text.
pub const HASH: &str = "../hash";
pub const SIGNATURE: &str = "../signature";

/// The member that stands in the place of a hidden text.
pub const HASHED: &str = "salted_sha256";

/// The hash that stands in the place of a text.
pub fn text_hash(salt: &Hash, text: &str) -> Hash {
    sha256_of(&[salt, text.as_bytes()])
}

/// The public form of an event.
pub struct Form {
    /// Canonical JSON. The leaf is the hash of these bytes.
    pub bytes: Vec<u8>,
    pub hidden: Vec<Hidden>,
}

/// Replaces free texts by their hashes.
struct Hiding<'a> {
    salt: &'a Hash,
    seq: u64,
    hidden: Vec<Hidden>,
}

impl Hiding<'_> {
    fn hide(&mut self, path: String, text: &mut String) -> Json {
        let text = std::mem::take(text);
        let salt = hmac_sha256(self.salt, format!("ledger text/{}/{path}", self.seq).as_bytes());
        let hash = Json::Text(encode_hex(&text_hash(&salt, &text)));
        self.hidden.push(Hidden { path, salt, text });
        Json::Object(Members::from([(HASHED.to_owned(), hash)]))
    }

    fn walk(&mut self, path: &str, value: &mut Json) {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        match value {
            Json::Object(members) => {
                // The hash of the work is the hash of the summary, where there is one.
                let summed_up = members.contains_key("summary");
                let is_text = |name: &str| TEXTS.contains(&name) || (summed_up && name == "work_hash");
                for (name, value) in members {
                    match value {
                        Json::Text(text) if is_text(name) => *value = self.hide(below(name), text),
                        Json::Object(_) | Json::List(_) => self.walk(&below(name), value),
                        _ => {}
                    }
                }
            }
            Json::List(items) => {
                for (n, item) in items.iter_mut().enumerate() {
                    self.walk(&below(&n.to_string()), item);
                }
            }
            _ => {}
        }
    }
}

fn text(text: impl Into<String>) -> Json {
    Json::Text(text.into())
}

/// JavaScript counts all amounts exactly, so they are numbers.
fn micro(amount: Micro) -> Json {
    Json::Integer(i64::try_from(amount).unwrap_or(i64::MAX))
}

impl Change {
    fn form(&self, brand: &str) -> Json {
        let mut members = Members::from([
            ("did".to_owned(), text(did_of(brand, &self.name))),
            ("balance_micro".to_owned(), Json::Integer(self.balance)),
            ("locked_micro".to_owned(), Json::Integer(self.locked)),
            ("balance_after_micro".to_owned(), micro(self.balance_after)),
            ("locked_after_micro".to_owned(), micro(self.locked_after)),
        ]);
        if self.created {
            members.insert("created".to_owned(), Json::Bool(true));
        }
        Json::Object(members)
    }
}

impl Form {
    /// The form of an event that has all its signed bytes.
    pub fn new(brand: &str, salt: &Hash, event: &Event) -> Result<Form> {
        let broken = || Error::internal("an event has no public form");
        let mut hiding = Hiding { salt, seq: event.seq, hidden: Vec::new() };
        let changes = event.changes.iter().map(|change| change.form(brand)).collect();
        let mut members = Members::from([
            ("seq".to_owned(), micro(event.seq)),
            ("time".to_owned(), text(event.at.to_micros_text())),
            ("kind".to_owned(), text(event.what.as_str())),
            ("actor".to_owned(), text(actor(brand, &event.actor))),
            ("changes".to_owned(), Json::List(changes)),
        ]);
        if let Some(subject) = &event.subject {
            members.insert("id".to_owned(), text(id_text(subject)));
        }
        if let Some(reason) = event.reason {
            members.insert("reason".to_owned(), text(reason.as_str()));
        }
        if !event.details.is_empty() {
            let details = event.details.iter().map(|(name, value)| (name.clone(), text(value.as_str())));
            members.insert("details".to_owned(), Json::Object(details.collect()));
        }
        if let Some(signed) = &event.signed {
            let mut value = json::parse(&signed.canonical, json::MAX_DEPTH).ok_or_else(broken)?;
            hiding.walk("", &mut value);
            let (mut hash, mut signature) = (encode_hex(&event.hash()), encode_base64(&signed.signature));
            let (hash, signature) = match hiding.hidden.is_empty() {
                true => (text(hash), text(signature)),
                false => (hiding.hide(HASH.to_owned(), &mut hash), hiding.hide(SIGNATURE.to_owned(), &mut signature)),
            };
            let form = Members::from([
                ("form".to_owned(), value),
                ("hash".to_owned(), hash),
                ("key".to_owned(), text(encode_base64(&signed.key))),
                ("signature".to_owned(), signature),
            ]);
            members.insert("signed".to_owned(), Json::Object(form));
        }
        let bytes = Json::Object(members).canonical().ok_or_else(broken)?;
        Ok(Form { bytes, hidden: hiding.hidden })
    }
}

/// The actor of an event on the wire. A name becomes its DID; other actors have a colon, or are `operator`.
pub fn actor(brand: &str, actor: &str) -> String {
    if actor.contains(':') || actor == "operator" { actor.to_owned() } else { did_of(brand, actor) }
}
