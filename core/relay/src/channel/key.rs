//! A channel's key. The channel stores it sealed under the master key. Handlers open it and use it to seal and open
//! posts, so operations and rows contain only sealed values.
//!
//! The key is a key ring of its own. A sealed post has the format of every sealed value ([`crypto::sealing`])
//! and is bound to its channel and id, so it cannot be opened elsewhere. After a rotation of the master key only this
//! one value must move (decision master-key-file): natively the background task moves it, on the edge the next request
//! that opens it.

use serde::{Deserialize, Serialize};

use super::invites::{self, ResealTexts, TextsBehind};
use super::record::CHANNEL;
use crate::agent::custody;
use crate::agent::reseal::{Progress, SealedCounts};
use crate::{Error, Result};
use crypto::Secret;
use crypto::sealing::{self, KeyId, KeyRing, MasterKey};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::runtime::{self, Runtime};

/// The purpose for which the key is sealed.
const PURPOSE: &str = "channel-key/1";
/// How often resealing looks again when the key changed meanwhile.
const RACES: u32 = 8;

/// A new key for the channel `actor`, sealed.
pub fn fresh(rt: &dyn Runtime, actor: &str) -> Result<Vec<u8>> {
    custody::seal(rt, actor, PURPOSE, Secret::new(rt.random()).expose())
}

/// The key of one channel, opened.
pub struct ChannelKey {
    ring: KeyRing,
    actor: String,
}

impl ChannelKey {
    /// Opens the key. Where no maintenance task visits all channels, a key under an earlier master key moves now. A
    /// failure is no error, since earlier keys still open it.
    pub async fn open(rt: &dyn Runtime, actor: &str, sealed: &[u8]) -> Result<ChannelKey> {
        let master = rt.environment().secrets.sealing();
        let key = master.open_secret(actor, PURPOSE, sealed).map_err(Error::internal)?;
        if rt.maintenance().is_none() && sealing::key_id(sealed) != Some(master.current().id()) {
            let _ = Box::pin(reseal(rt, actor)).await;
        }
        Ok(ChannelKey { ring: KeyRing::new(MasterKey::new(key), Vec::new()), actor: actor.to_owned() })
    }

    /// Seals the text of the post `id`.
    pub fn seal(&self, rt: &dyn Runtime, id: &str, text: &str) -> Result<Vec<u8>> {
        self.ring.seal(&self.actor, id, &custody::nonce(rt), text.as_bytes()).map_err(Error::internal)
    }

    /// The text of the post `id`.
    pub fn text(&self, id: &str, sealed: &[u8]) -> Result<String> {
        let bytes = self.ring.open(&self.actor, id, sealed).map_err(Error::internal)?;
        String::from_utf8(bytes.to_vec()).map_err(Error::internal)
    }
}

/// Reads the sealed key; `None` when there is no such channel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadChannelKey;

impl Query for ReadChannelKey {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "key";
    type Reply = Option<Vec<u8>>;

    fn run(self, view: &View<'_>) -> Result<Option<Vec<u8>>> {
        Ok(CHANNEL.get(view, &())?.map(|channel| channel.key))
    }
}

/// Counts the sealed key of a channel and its sealed texts, for the operator.
pub fn counted(view: &View<'_>, current: KeyId) -> Result<SealedCounts> {
    let Some(channel) = CHANNEL.get(view, &())? else { return Ok(SealedCounts::default()) };
    let (texts, behind) = invites::count_texts(view, current)?;
    Ok(SealedCounts { all: 1 + texts, earlier: u64::from(sealing::key_id(&channel.key) != Some(current)) + behind })
}

/// Replaces the sealed key if it is still `old`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResealChannelKey {
    pub old: Vec<u8>,
    pub new: Vec<u8>,
}

impl Operation for ResealChannelKey {
    const ACTOR: Kind = Kind::Channel;
    /// The same name as the operation that reseals an agent's values: runtimes treat both as bulk work.
    const NAME: &'static str = "reseal";
    /// Whether it was replaced.
    type Reply = bool;

    fn run(self, turn: &mut Turn<'_>) -> Result<bool> {
        match CHANNEL.get(turn, &())? {
            Some(mut channel) if channel.key == self.old => {
                channel.key = self.new;
                CHANNEL.put(turn, &(), &channel)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Moves the key of a channel, and the texts of its invites, under the current master key.
pub async fn reseal(rt: &dyn Runtime, actor: &str) -> Result<Progress> {
    let (key, texts) = (reseal_key(rt, actor).await?, reseal_invites(rt, actor).await?);
    Ok(Progress {
        resealed: key.resealed + texts.resealed,
        unopened: key.unopened + texts.unopened,
        complete: key.complete && texts.complete,
    })
}

/// Invites whose texts move in one step.
const TEXTS: u32 = 200;

async fn reseal_invites(rt: &dyn Runtime, actor: &str) -> Result<Progress> {
    let mut progress = Progress { complete: true, ..Progress::default() };
    let ring = rt.environment().secrets.sealing();
    let look = TextsBehind { current: ring.current().id(), limit: TEXTS };
    loop {
        let found = runtime::query(rt, actor, &look).await?;
        let (mut values, all) = (Vec::new(), found.len() < TEXTS as usize);
        for (local, old) in found {
            match ring.reseal_text(actor, invites::PURPOSE, &custody::nonce(rt), &old) {
                Ok(Some(new)) => values.push((local, old, new)),
                Ok(None) => {}
                Err(_) => progress.unopened += 1,
            }
        }
        if !values.is_empty() {
            progress.resealed += u64::from(runtime::call(rt, actor, &ResealTexts { values }).await?);
        }
        // Texts that no key opens would be found again and again.
        if all || progress.unopened > 0 {
            return Ok(progress);
        }
    }
}

async fn reseal_key(rt: &dyn Runtime, actor: &str) -> Result<Progress> {
    let mut progress = Progress { complete: true, ..Progress::default() };
    for _ in 0..RACES {
        let Some(old) = runtime::query(rt, actor, &ReadChannelKey).await? else { return Ok(progress) };
        match rt.environment().secrets.sealing().reseal(actor, PURPOSE, &custody::nonce(rt), &old) {
            Ok(None) => return Ok(progress),
            Err(_) => {
                progress.unopened = 1;
                return Ok(progress);
            }
            Ok(Some(new)) => {
                progress.resealed += u64::from(runtime::call(rt, actor, &ResealChannelKey { old, new }).await?)
            }
        }
    }
    progress.complete = false;
    Ok(progress)
}
