//! `heliograph ledger verify`: checks the whole log of events, and the wallets against it.

use heliograph_core::crypto::encoding::{decode_base64, decode_base64_array, decode_hex_array, encode_hex};
use heliograph_core::crypto::signing;
use heliograph_core::ledger::auditor::{Auditor, head_bytes};
use heliograph_core::ledger::form::Hidden;
use heliograph_core::ledger::json;
use heliograph_core::ledger::merkle::leaf_hash;
use serde::Deserialize;
use serde_json::Value;

use crate::cli::args::Common;
use crate::cli::client::Client;

/// Events or wallets of one page.
const PAGE: u32 = 1_000;

#[derive(Deserialize)]
struct Head {
    schema: String,
    deployment: String,
    size: u64,
    root: String,
    time: String,
    key: String,
    signature: String,
}

#[derive(Deserialize)]
struct Log {
    events: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    leaf: String,
    event: Value,
    #[serde(default)]
    texts: Vec<Text>,
}

#[derive(Deserialize)]
struct Text {
    path: String,
    salt: String,
    text: String,
}

#[derive(Deserialize)]
struct Balances {
    size: u64,
    wallets: Vec<Balance>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Balance {
    did: String,
    balance_micro: u64,
    locked_micro: u64,
}

/// Checks the ledger at `url`, otherwise at `--to`, otherwise in the data file.
pub fn run(common: &Common, url: Option<&str>, head_key: Option<&str>) -> Result<(), String> {
    let client = match url {
        Some(url) => Client::public(url)?,
        None => Client::open(common, false)?,
    };
    let head: Head = client.get("/v1/pay/audit/head")?;
    let auditor = audit(&client, &head, head_key)?;
    say!("deployment      {}", head.deployment);
    say!("events          {}", auditor.size());
    say!("root            {}", encode_hex(&auditor.root()));
    say!("wallets         {}", auditor.wallets().len());
    say!("supply          {} micro-credits, all from grants and the faucet", auditor.supply());
    say!("signatures      {} verified, {} by rotated keys", auditor.verified, auditor.rotated);
    if auditor.late > 0 {
        say!("late            {} events, by up to a day: the server's clock was set back, or they were", auditor.late);
    }
    if auditor.hidden > 0 {
        say!("not checked     {} signatures over texts that only the operator is shown (--to)", auditor.hidden);
    }
    say!("the log is sound");
    Ok(())
}

fn audit(client: &Client, head: &Head, head_key: Option<&str>) -> Result<Auditor, String> {
    signed(head, head_key)?;
    let brand = head.schema.split('-').next().unwrap_or_default();
    let mut auditor = Auditor::new(brand);
    read_to(client, &mut auditor, head.size)?;
    let root = encode_hex(&auditor.root());
    if root != head.root {
        return Err(format!("the {} events have the root {root}, the signed head says {}", head.size, head.root));
    }
    auditor.balance()?;
    compare(client, &mut auditor)?;
    auditor.balance()?;
    Ok(auditor)
}

/// Checks the signature of the head.
fn signed(head: &Head, head_key: Option<&str>) -> Result<(), String> {
    if head_key.is_some_and(|key| key != head.key) {
        return Err(format!("the head is signed by {}", head.key));
    }
    let key = decode_base64_array("key", &head.key).map_err(|error| error.to_string())?;
    let signature = decode_base64("signature", &head.signature).map_err(|error| error.to_string())?;
    let bytes = head_bytes(&head.schema, &head.deployment, head.size, &head.root, &head.time);
    match signing::verify(&key, &bytes, &signature) {
        true => Ok(()),
        false => Err("the signature of the head does not verify".to_owned()),
    }
}

/// Gives the auditor all events before `size`.
fn read_to(client: &Client, auditor: &mut Auditor, size: u64) -> Result<(), String> {
    while auditor.size() < size {
        let limit = (size - auditor.size()).min(u64::from(PAGE));
        let page: Log = client.get(&format!("/v1/pay/audit/log?from={}&limit={limit}", auditor.size()))?;
        if page.events.is_empty() {
            return Err(format!("the log ends before event {} of {size}", auditor.size()));
        }
        for entry in page.events {
            let seq = auditor.size();
            take(auditor, entry).map_err(|flaw| format!("event {seq}: {flaw}"))?;
        }
    }
    Ok(())
}

fn take(auditor: &mut Auditor, entry: Entry) -> Result<(), String> {
    let value = json::parse(entry.event.to_string().as_bytes(), json::MAX_DEPTH + 2);
    let form = value.and_then(|value| value.canonical()).ok_or("it has no canonical form")?;
    if encode_hex(&leaf_hash(&form)) != entry.leaf {
        return Err("its leaf is not the hash of this event".to_owned());
    }
    let hidden = |text: Text| {
        let salt = decode_hex_array("salt", &text.salt).map_err(|error| error.to_string())?;
        Ok(Hidden { path: text.path, salt, text: text.text })
    };
    let texts = entry.texts.into_iter().map(hidden).collect::<Result<Vec<_>, String>>()?;
    auditor.take(&form, &texts)
}

/// Compares the present wallets with those that follow from the log. If the log grows meanwhile, the new events are
/// read too.
fn compare(client: &Client, auditor: &mut Auditor) -> Result<(), String> {
    let (mut after, mut passed, mut began) = (String::new(), 0, None);
    loop {
        let page: Balances = client.get(&format!("/v1/pay/audit/balances?limit={PAGE}&after={after}"))?;
        read_to(client, auditor, page.size)?;
        for wallet in &page.wallets {
            let expected = auditor.wallets().get(&wallet.did).copied();
            let found = (wallet.balance_micro, wallet.locked_micro);
            if expected != Some(found) {
                let words = |(balance, locked): (u64, u64)| format!("{balance} and {locked} locked");
                let expected = expected.map_or_else(|| "no wallet".to_owned(), words);
                return Err(format!("{} has {}, by the log it should have {expected}", wallet.did, words(found)));
            }
        }
        passed += page.wallets.len();
        let began = *began.get_or_insert(page.size);
        match page.next {
            Some(next) => after = next,
            // While the log grew, new wallets may have been added before the present position.
            None if began != page.size || passed == auditor.wallets().len() => return Ok(()),
            None => return Err(format!("there are {passed} wallets, the log knows {}", auditor.wallets().len())),
        }
    }
}
