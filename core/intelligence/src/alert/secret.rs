//! The secret of a subscription: `whsec_` and the base64 of 48 bytes, which are 16 of the account, 24 random ones and 8
//! of a MAC.
//!
//! It signs deliveries: `X-Svc-Signature` is made with its whole text, the signature of Standard Webhooks with the
//! decoded bytes. Its text is also the subscriber key. It names the account that can tell whether the key is valid.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::subscription::{AccountText, Holds, Reseal, ResealTexts, Sealed, Texts};
use crate::{Error, Result};
use crypto::encoding::{actor_id, decode_base64, encode_base64, parse_actor_id};
use engine::actor::{ActorId, Kind};
use engine::runtime::{self, Runtime};
use engine::secrets::Secrets;
use relay::agent::custody;
use relay::agent::reseal::Progress;
use relay::keys;
use relay::webhook::{PURPOSE, SECRET, URL_PURPOSE, owner};

/// Bytes of the account and the random bytes together.
const NAMED: usize = 40;

/// A new secret of an account.
pub fn make(secrets: &Secrets, account: &str, random: [u8; 32]) -> Result<Zeroizing<String>> {
    let account = parse_actor_id(account).ok_or_else(|| Error::internal("an account has a name of another kind"))?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(NAMED + 8));
    bytes.extend_from_slice(&account);
    bytes.extend(random.iter().take(24));
    let mac = secrets.subscriber_macs(&bytes).into_iter().next();
    bytes.extend_from_slice(&mac.ok_or_else(|| Error::internal("there is no master key"))?);
    Ok(Zeroizing::new(format!("{SECRET}{}", encode_base64(&bytes))))
}

/// The hash that is stored to recognize a secret.
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The account named in a secret of this deployment; `None` for any other text.
fn account_of(secrets: &Secrets, secret: &str) -> Option<String> {
    let bytes = Zeroizing::new(decode_base64("secret", secret.strip_prefix(SECRET)?).ok()?);
    let (named, mac) = bytes.split_at_checked(NAMED)?;
    let right = secrets.subscriber_macs(named).iter().fold(false, |found, known| found | bool::from(known.ct_eq(mac)));
    let account: [u8; 16] = named.get(..16)?.try_into().ok()?;
    right.then(|| actor_id(&account))
}

/// The account of the subscription that has this secret, or had it before a rotation whose overlap is not over.
pub async fn subscriber(rt: &dyn Runtime, secret: &str) -> Result<Option<String>> {
    let Some(account) = account_of(&rt.environment().secrets, secret) else { return Ok(None) };
    let holds = runtime::query(rt, account.as_str(), &Holds { hash: hash(secret) }).await?;
    Ok(holds.then_some(account))
}

/// Moves the sealed values of an account under the current master key. It also seals texts from the time before texts
/// were sealed.
pub async fn reseal(rt: &dyn Runtime, account: &str) -> Result<Progress> {
    let (secrets, texts) = (reseal_secrets(rt, account).await?, reseal_texts(rt, account).await?);
    Ok(Progress {
        resealed: secrets.resealed + texts.resealed,
        unopened: secrets.unopened + texts.unopened,
        complete: secrets.complete && texts.complete,
    })
}

async fn reseal_texts(rt: &dyn Runtime, account: &str) -> Result<Progress> {
    let owner = ActorId::new(Kind::Account, account).to_string();
    let mut progress = Progress { complete: true, ..Progress::default() };
    let ring = rt.environment().secrets.sealing();
    let mut values = Vec::new();
    for (place, old) in runtime::query(rt, account, &Texts { current: ring.current().id() }).await? {
        let purpose = match place {
            AccountText::Url(_) => URL_PURPOSE,
            AccountText::Label => keys::LABEL_PURPOSE,
        };
        match ring.reseal_text(&owner, purpose, &custody::nonce(rt), &old) {
            Ok(Some(new)) => values.push((place, old, new)),
            Ok(None) => {}
            Err(_) => progress.unopened += 1,
        }
    }
    if !values.is_empty() {
        let wanted = values.len() as u64;
        progress.resealed = u64::from(runtime::call(rt, account, &ResealTexts { values }).await?);
        progress.complete = progress.resealed >= wanted;
    }
    Ok(progress)
}

async fn reseal_secrets(rt: &dyn Runtime, account: &str) -> Result<Progress> {
    let environment = rt.environment();
    let owner = owner(&environment.settings, &ActorId::new(Kind::Account, account))?;
    let mut progress = Progress { complete: true, ..Progress::default() };
    let ring = environment.secrets.sealing();
    let mut values = Vec::new();
    for old in runtime::query(rt, account, &Sealed { current: ring.current().id() }).await? {
        match ring.reseal(&owner, PURPOSE, &custody::nonce(rt), &old) {
            Ok(Some(new)) => values.push((old, new)),
            Ok(None) => {}
            Err(_) => progress.unopened += 1,
        }
    }
    if !values.is_empty() {
        let wanted = values.len() as u64;
        progress.resealed = u64::from(runtime::call(rt, account, &Reseal { values }).await?);
        // If a secret was rotated meanwhile, the next visit finds nothing left to do.
        progress.complete = progress.resealed >= wanted;
    }
    Ok(progress)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crypto::Secret;
    use crypto::sealing::{KeyRing, MasterKey};

    const ACCOUNT: &str = "AAAAAAAAAAAAAAAAAAAAAA";

    fn secrets(byte: u8) -> Secrets {
        Secrets::new(KeyRing::new(MasterKey::new(Secret::new([byte; 32])), Vec::new()), String::new())
    }

    /// `whsec_` and base64 of 48 bytes: 16 account id, 24 random, 8 MAC.
    #[test]
    fn a_secret_names_its_account_and_nobody_can_make_one_up() {
        let secrets_of_ours = secrets(1);
        let secret = make(&secrets_of_ours, ACCOUNT, [7; 32]).unwrap();
        assert_eq!(decode_base64("", secret.strip_prefix("whsec_").unwrap()).unwrap().len(), 48);
        assert_eq!(account_of(&secrets_of_ours, &secret).as_deref(), Some(ACCOUNT));
        assert_eq!(account_of(&secrets(2), &secret), None);
        for wrong in [secret.replace("whsec_A", "whsec_B"), secret.replace("whsec_", ""), format!("{}AAAA", *secret)] {
            assert_eq!(account_of(&secrets_of_ours, &wrong), None, "{wrong}");
        }
        for wrong in ["", "whsec_", "whsec_AAAA", "whsec_%"] {
            assert_eq!(account_of(&secrets_of_ours, wrong), None, "{wrong}");
        }
    }
}
