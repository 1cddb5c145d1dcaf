//! `heliograph keys`.

use heliograph_core::admin::{KeyPage, NewKey, Revoked};
use heliograph_core::keys::Tier;
use serde_json::Value;

use super::args::{Common, KeysCommand};
use super::client::Client;

pub fn run(common: &Common, command: &KeysCommand) -> Result<(), String> {
    match command {
        KeysCommand::Create { tier, label } => create(&Client::open(common, true)?, tier, label),
        KeysCommand::List => list(&Client::open(common, false)?),
        KeysCommand::Revoke { key } => {
            let revoked: Revoked = Client::open(common, false)?.delete(&format!("/v1/admin/keys/{key}"))?;
            println!("revoked {}", revoked.account);
            Ok(())
        }
    }
}

/// The key alone goes to standard output, so that scripts can take it from there.
fn create(client: &Client, tier: &str, label: &str) -> Result<(), String> {
    let tier = Tier::parse(tier).ok_or_else(|| format!("there is no tier {tier:?}"))?;
    let created: Value = client.post("/v1/admin/keys", &NewKey { tier, label: label.to_owned() })?;
    let key = created.get("api_key").and_then(Value::as_str).ok_or("the answer has no key")?;
    println!("{key}");
    eprintln!("tier {}; the key is shown only now", tier.as_str());
    Ok(())
}

fn list(client: &Client) -> Result<(), String> {
    let mut after = String::new();
    loop {
        let page: KeyPage = client.get(&format!("/v1/admin/keys?limit=1000&after={after}"))?;
        for key in page.keys {
            let state = if key.revoked { "revoked" } else { "active" };
            // One line per key, whatever a holder wrote about themselves.
            let label: String = key.label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            println!("{}\t{}\t{state}\t{}\t{label}", key.account, key.tier, key.created_at);
        }
        match page.next {
            Some(next) => after = next,
            None => return Ok(()),
        }
    }
}
