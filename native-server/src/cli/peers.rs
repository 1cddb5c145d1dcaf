//! `heliograph peers`: adds, lists and removes peers of the relay.

use heliograph_core::relay::federation::operate::{
    AdminPeer, AdminPeers, MadePin, NewPeer, NewPin, RelayKey, RemovedPeer,
};
use serde_json::Value;

use super::args::{Common, PeersCommand};
use super::client::Client;

pub fn run(common: &Common, command: &PeersCommand) -> Result<(), String> {
    match command {
        PeersCommand::Add { url, key, name } => {
            let wanted = NewPeer { url: url.clone(), public_key: key.clone(), name: name.clone() };
            let made: AdminPeer = Client::open(common, true)?.post("/v1/admin/peers", &wanted)?;
            say!("{}", made.id);
            eprintln!("{} is a peer; its operator must make this relay one too", made.url);
        }
        PeersCommand::List => {
            let list: AdminPeers = Client::open(common, false)?.get("/v1/admin/peers")?;
            for peer in list.peers {
                let AdminPeer { id, url, name, public_key, status, agents_synced, messages_routed, .. } = peer;
                say!("{id}\t{url}\t{name}\t{status}\t{agents_synced}\t{messages_routed}\t{public_key}");
            }
        }
        PeersCommand::Remove { peer } => {
            let removed: RemovedPeer =
                Client::open(common, false)?.delete(&format!("/v1/admin/peers/{}", segment(peer)))?;
            say!("removed {}", removed.id);
        }
        PeersCommand::Pin { peer, did, key } => {
            let wanted = NewPin { did: did.clone(), signing_public_key: key.clone() };
            let path = format!("/v1/admin/peers/{}/pins", segment(peer));
            let made: MadePin = Client::open(common, false)?.post(&path, &wanted)?;
            say!("{} is known to be at {}", made.did, made.peer);
        }
        PeersCommand::Key { rotate } => say!("{}", key(&Client::open(common, true)?, *rotate)?),
    }
    Ok(())
}

fn key(client: &Client, rotate: bool) -> Result<String, String> {
    if rotate {
        return Ok(client.post::<RelayKey>("/v1/admin/relay-key", &())?.public_key);
    }
    let info: Value = client.get("/v1/relay/info")?;
    let key = info.pointer("/relay/public_key").and_then(Value::as_str).ok_or("the answer has no key")?;
    Ok(key.to_owned())
}

/// Encodes an address as one segment of a path.
fn segment(peer: &str) -> String {
    peer.replace('%', "%25").replace('/', "%2F").replace('?', "%3F").replace('#', "%23")
}
