//! `heliograph keys`.

use std::time::Duration;

use heliograph_core::app::admin::{DbInfo, MasterKeys};
use heliograph_core::relay::agent::api_key::{NewKey as AgentKey, OperatorRequest};
use heliograph_core::relay::keys::Tier;
use heliograph_core::relay::keys::admin::{KeyPage, NewKey, Revoked};
use serde_json::Value;

use super::args::{Common, KeysCommand};
use super::client::Client;
use crate::keyfile;

/// Time between two looks at the progress of re-sealing.
const LOOK: Duration = Duration::from_millis(200);

pub fn run(common: &Common, command: &KeysCommand) -> Result<(), String> {
    match command {
        KeysCommand::Create { tier, label } => create(&Client::open(common, true)?, tier, label),
        KeysCommand::List => list(&Client::open(common, false)?),
        KeysCommand::Agent { did, revoke } => agent(&Client::open(common, false)?, did, *revoke),
        KeysCommand::RotateMaster => rotate_master(common, &Client::open(common, false)?),
        KeysCommand::Revoke { key } => {
            let revoked: Revoked = Client::open(common, false)?.delete(&format!("/v1/admin/keys/{key}"))?;
            say!("revoked {}", revoked.account);
            Ok(())
        }
    }
}

/// Only the key goes to standard output, so that scripts can read it there.
fn create(client: &Client, tier: &str, label: &str) -> Result<(), String> {
    let tier = Tier::parse(tier).ok_or_else(|| format!("there is no tier {tier:?}"))?;
    let created: Value = client.post("/v1/admin/keys", &NewKey { tier, label: label.to_owned() })?;
    let key = created.get("api_key").and_then(Value::as_str).ok_or("the answer has no key")?;
    say!("{key}");
    eprintln!("tier {}; the key is shown only now", tier.as_str());
    Ok(())
}

/// Only the key goes to standard output, as in [`create`].
fn agent(client: &Client, did: &str, revoke: bool) -> Result<(), String> {
    let made: AgentKey =
        client.post(&format!("/v1/admin/agents/{did}/api-key"), &OperatorRequest { revoke: Some(revoke) })?;
    say!("{}", made.api_key);
    match made.previous_key_valid_until {
        Some(until) => eprintln!("{}; the key is shown only now, and the one before works until {until}", made.did),
        None => eprintln!("{}; the key is shown only now, and every earlier one ended", made.did),
    }
    Ok(())
}

fn list(client: &Client) -> Result<(), String> {
    let mut after = String::new();
    loop {
        let page: KeyPage = client.get(&format!("/v1/admin/keys?limit=1000&after={after}"))?;
        for key in page.keys {
            let state = if key.revoked { "revoked" } else { "active" };
            // One line per key, also when a label has line breaks.
            let label: String = key.label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            say!("{}\t{}\t{state}\t{}\t{label}", key.account, key.tier, key.created_at);
        }
        match page.next {
            Some(next) => after = next,
            None => return Ok(()),
        }
    }
}

/// On a file the command stays until all values are moved; a server continues by itself.
fn rotate_master(common: &Common, client: &Client) -> Result<(), String> {
    let made: MasterKeys = client.post("/v1/admin/master-key", &())?;
    say!("current master key {}, {} earlier", made.key_id, made.earlier_keys);
    let file = match &common.to {
        Some(_) => "the key file beside the server's data file".to_owned(),
        None => keyfile::path_for(&common.data).display().to_string(),
    };
    eprintln!("copy {file} to your backups now: the data can no longer be read without the new key");
    let mut info: DbInfo = client.get("/v1/admin/db")?;
    while common.to.is_none() && info.file.resealing {
        std::thread::sleep(LOOK);
        info = client.get("/v1/admin/db")?;
    }
    let (all, earlier) = (info.file.sealed_values, info.file.sealed_under_earlier_keys);
    match earlier {
        0 => eprintln!("all {all} sealed values are under the current master key"),
        _ if info.file.resealing => {
            eprintln!("the server is moving {earlier} of {all} sealed values; `db info` shows how far it is");
        }
        _ => eprintln!("warning: {earlier} of {all} sealed values could not be moved; the next start tries again"),
    }
    eprintln!(
        "the earlier master keys stay in the key file: the API keys of agents and users that were made under them are \
         checked with them and would be refused without them; older copies of the data need them too"
    );
    Ok(())
}
