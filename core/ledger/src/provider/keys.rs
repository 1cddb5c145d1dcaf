//! The provider's agent and its keys.

use super::services::SERVICES;
use super::{Adopt, ReadOwn};
use crate::ACTOR;
use crate::book::{did_of, name_of, own_name};
use crate::json::{Json, Members};
use crate::rows::{KeyRow, Name};
use crate::submit::{Answer, NamedKey, Submit};
use crate::{Error, ErrorCode, Result};
use crypto::encoding::{self, encode_hex};
use crypto::{sealing, signing};
use engine::runtime::{self, Runtime};
use engine::settings::Settings;
use engine::time::MINUTE;
use relay::agent::create::CreateAgent;
use relay::agent::custody::HeldKeys;
use relay::agent::deactivate::Deactivate;
use relay::agent::record::{ReadKeys, Update};
use relay::agent::{reseal, wire};
use relay::directory::{self, Did, Reserve, likeness};

/// Life of the provider's envelopes, in microseconds.
const LIFE: i64 = 10 * MINUTE;

/// The provider with its keys open. Never stored, never logged.
pub struct ProviderKeys {
    pub name: Name,
    pub did: String,
    /// Name of the agent's actor.
    actor: String,
    /// Generation of the keys.
    version: u64,
    pub signing: [u8; 32],
    pub encryption: [u8; 32],
    pub held: HeldKeys,
}

/// The name of the provider's agent. Nobody else may have it.
pub fn agent_name(brand: &str) -> String {
    format!("{brand} services")
}

/// Refuses the provider's name to others, and every name that looks like it.
pub fn check_free(settings: &Settings, name: &str) -> Result<()> {
    if likeness::looks_like(name, &agent_name(&settings.brand)) {
        return Err(Error::conflict("This name is taken."));
    }
    Ok(())
}

/// Whether a DID is the provider's.
pub async fn is_own_agent(rt: &dyn Runtime, did: &str) -> Result<bool> {
    let own = runtime::query(rt, ACTOR, &ReadOwn).await?;
    Ok(own.is_some() && own.as_deref() == name_of(&rt.environment().settings.brand, did))
}

/// A nonce that nobody used.
pub(super) fn nonce(rt: &dyn Runtime) -> String {
    let random = rt.random();
    format!("fp:{}", encode_hex(random.get(..16).unwrap_or_default()))
}

/// The provider; `None` before there is one.
pub async fn own(rt: &dyn Runtime) -> Result<Option<ProviderKeys>> {
    let Some(name) = runtime::query(rt, ACTOR, &ReadOwn).await? else { return Ok(None) };
    open(rt, name).await.map(Some)
}

async fn open(rt: &dyn Runtime, name: Name) -> Result<ProviderKeys> {
    let environment = rt.environment();
    let gone = || Error::internal("the provider's agent is gone");
    let did = did_of(&environment.settings.brand, &name);
    let actor = wire::actor_of(&environment.settings, &did).ok_or_else(gone)?;
    let (keys, _) = runtime::query(rt, actor.as_str(), &ReadKeys).await?.ok_or_else(gone)?;
    let sealed = keys.sealed.as_ref().ok_or_else(gone)?;
    let held = HeldKeys::open(&environment.secrets, &did, sealed)?;
    // Where no task visits all agents, keys under an earlier master key are sealed anew when they are used. It is no
    // error if that fails.
    let current = environment.secrets.sealing().current().id();
    if rt.maintenance().is_none() && sealing::key_id(sealed) != Some(current) {
        let _ = Box::pin(reseal::reseal(rt, &actor, 1)).await;
    }
    Ok(ProviderKeys {
        name,
        did,
        actor,
        version: keys.version,
        signing: keys.signing,
        encryption: keys.encryption,
        held,
    })
}

/// Makes the provider's agent. Of several that were made at once one becomes the provider, and the others end.
pub(super) async fn make(rt: &dyn Runtime) -> Result<ProviderKeys> {
    let settings = &rt.environment().settings;
    let held = HeldKeys::generate(rt);
    let public = held.public();
    let id = encoding::did_bytes(&public.signing);
    let (did, actor) = (wire::did_text(settings, &id), encoding::actor_id(&id));
    let create = CreateAgent {
        name: None,
        capabilities: SERVICES.iter().map(|service| service.slug(&settings.brand)).collect(),
        metadata: "{}".to_owned(),
        client_side: false,
        standing: relay::agent::standing::Standing::Proved,
        signing: public.signing,
        encryption: public.encryption,
        mlkem: Some(public.mlkem),
        sealed: Some(held.seal(rt, &did)?),
        signed_prekey: None,
        // The hash is random, so no API key has it.
        api_key_hash: rt.random(),
        proof: None,
    };
    runtime::call(rt, actor.as_str(), &create).await?;
    let name = own_name(&settings.brand, &did)?;
    let adopted = runtime::call(rt, ACTOR, &Adopt { name: name.clone() }).await?;
    if adopted != name {
        runtime::call(rt, actor, &Deactivate).await?;
    }
    open(rt, adopted).await
}

impl ProviderKeys {
    fn id(&self) -> Result<Did> {
        relay::agent::record::did_of(&self.actor)
    }

    /// Gives the provider its name. An agent that had the name before it was reserved keeps it.
    pub(super) async fn take_name(&self, rt: &dyn Runtime) -> Result<()> {
        let name = agent_name(&rt.environment().settings.brand);
        let reserve = Reserve { name: name.clone(), did: self.id()? };
        match runtime::call(rt, directory::shard(&name), &reserve).await {
            Err(error) if error.code == ErrorCode::Conflict => return Ok(()),
            reserved => reserved.map(|_| ())?,
        }
        let update = Update { name: Some(name), capabilities: None, metadata: None, presence: None };
        runtime::call(rt, self.actor.as_str(), &update).await.map(|_| ())
    }

    /// Signs an envelope with these members, and submits it to the ledger.
    pub(super) async fn submit<const N: usize>(
        &self,
        rt: &dyn Runtime,
        schema: &str,
        members: [(&'static str, Json); N],
    ) -> Result<Answer> {
        let environment = rt.environment();
        let now = rt.now();
        let common = [
            ("schema", format!("{}-{schema}/v1", environment.settings.brand)),
            ("issued_at", now.to_millis_text()),
            ("expires_at", now.plus(LIFE).to_millis_text()),
            ("aud", environment.deployment.clone()),
        ];
        let mut all: Members = common.into_iter().map(|(name, text)| (name.to_owned(), Json::Text(text))).collect();
        all.extend(members.into_iter().map(|(name, value)| (name.to_owned(), value)));
        let canonical = Json::Object(all).canonical().ok_or_else(|| Error::internal("an envelope without a form"))?;
        let signature = signing::sign(&self.held.signing, &canonical).to_vec();
        let row = KeyRow::of(self.version, Some(self.signing), true);
        let signer = NamedKey { name: self.name.clone(), row };
        let submit = Submit { canonical, signature, signer, others: Vec::new(), claimant: None, repeat: None };
        runtime::call(rt, ACTOR, &submit).await
    }
}
