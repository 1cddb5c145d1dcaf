//! `heliograph admin ledger admin-key`, and the files of such keys: 64 bytes in base64, the Ed25519 seed and its public key,
//! as clients of the ledger keep theirs.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use heliograph_core::crypto::encoding::{decode_base64, encode_base64};
use heliograph_core::crypto::{Secret, signing};
use serde_json::{Value, json};

use crate::cli::args::Common;
use crate::cli::client::Client;
use crate::clock;
use crate::files::{self, Tried};

/// The route at which the operator adds, ends and lists keys.
const KEYS: &str = "/v1/admin/ledger/keys";

#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Allow a key to sign; its id is printed. Needs the operator key of the server.
    Add {
        /// File of the key; if the file does not exist, a new key is written to it.
        #[arg(long, value_name = "FILE", required_unless_present = "public")]
        key: Option<PathBuf>,
        /// Only the public key in base64, if the key itself is elsewhere.
        #[arg(long, value_name = "BASE64", conflicts_with = "key")]
        public: Option<String>,
        /// Actions that the key may sign: `freeze` also stops all outflows and ends escrows.
        #[arg(long, value_parser = ["all", "grant", "freeze", "cap"])]
        role: String,
    },
    /// End a key at once.
    Revoke {
        /// Id or public key of the key.
        key: String,
    },
    /// List keys: id, role, state, since when, public key.
    List,
}

pub fn run(common: &Common, command: &KeyCommand) -> Result<(), String> {
    match command {
        KeyCommand::Add { key, public, role } => {
            let client = Client::open(common, true)?;
            let public = match (public, key) {
                (Some(public), _) => public.clone(),
                (None, Some(file)) => AdminKey::load_or_create(file)?.public(),
                (None, None) => return Err("give --key or --public".to_owned()),
            };
            let added: Value = client.post(KEYS, &json!({ "public_key": public, "role": role }))?;
            say!("{}", text(&added, "keyid"));
        }
        KeyCommand::Revoke { key } => {
            let client = Client::open(common, false)?;
            let list = list(&client)?;
            let named = |known: &&Value| [text(known, "keyid"), text(known, "public_key")].contains(&key.as_str());
            let known = list.iter().find(named).ok_or_else(|| format!("there is no admin key {key}"))?;
            let end = json!({ "public_key": known["public_key"], "role": known["role"], "active": false });
            let ended: Value = client.post(KEYS, &end)?;
            say!("revoked {}", text(&ended, "keyid"));
        }
        KeyCommand::List => {
            for key in list(&Client::open(common, false)?)? {
                let state = if key["active"] == true { "active" } else { "revoked" };
                let [id, role, since, public] = ["keyid", "role", "since", "public_key"].map(|name| text(&key, name));
                say!("{id}\t{role}\t{state}\t{since}\t{public}");
            }
        }
    }
    Ok(())
}

fn list(client: &Client) -> Result<Vec<Value>, String> {
    let list: Value = client.get(KEYS)?;
    Ok(list["keys"].as_array().cloned().unwrap_or_default())
}

/// A text member; empty when it is missing.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A key that signs actions.
pub(super) struct AdminKey(Secret<32>);

impl AdminKey {
    /// Reads a file: 64 bytes in base64, or only the seed.
    pub fn load(file: &Path) -> Result<AdminKey, String> {
        let refuse = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
        let text = std::fs::read_to_string(file).map_err(|error| Tried::Read.cannot(file, &error))?;
        let bytes = decode_base64("key", text.trim()).map_err(|_| refuse(&"this is no base64"))?;
        let seed = bytes.get(..32).filter(|_| matches!(bytes.len(), 32 | 64)).and_then(Secret::from_slice);
        let key = AdminKey(seed.ok_or_else(|| refuse(&"this is no key of 32 or 64 bytes"))?);
        match bytes.get(32..) {
            Some(public) if !public.is_empty() && encode_base64(public) != key.public() => {
                Err(refuse(&"the two halves of the key do not belong together"))
            }
            _ => Ok(key),
        }
    }

    fn load_or_create(file: &Path) -> Result<AdminKey, String> {
        if file.exists() {
            return AdminKey::load(file);
        }
        let key = AdminKey(Secret::new(clock::random()?));
        let both = [key.0.expose().as_slice(), &signing::signing_public_key(&key.0)].concat();
        let write = || {
            let mut target = files::create_new(file)?;
            writeln!(target, "{}", encode_base64(&both))?;
            target.sync_all()
        };
        write().map_err(|error: std::io::Error| Tried::Write.cannot(file, &error))?;
        eprintln!("a new key is in {}; keep it from everybody else", file.display());
        Ok(key)
    }

    /// The public key in base64.
    fn public(&self) -> String {
        encode_base64(&signing::signing_public_key(&self.0))
    }

    /// The id under which the server knows the key.
    pub fn id(&self) -> String {
        heliograph_core::ledger::admin::keyid(&signing::signing_public_key(&self.0))
    }

    /// Signs a message; base64.
    pub fn sign(&self, message: &[u8]) -> String {
        encode_base64(&signing::sign(&self.0, message))
    }
}
