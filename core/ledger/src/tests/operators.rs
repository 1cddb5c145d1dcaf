//! Keys of operators, and the effects of their actions.

use futures_util::FutureExt;
use serde_json::json;

use super::{World, refused};
use crate::ACTOR;
use crate::admin::{SetAdminKey, SyncAdminKeys};
use crate::client::Signer;
use crate::rows::Role;
use crypto::encoding::decode_base64_array;
use engine::runtime;

impl World {
    /// Starts with these keys in the settings.
    fn configured(&self, keys: &[&Signer]) {
        let keys = keys.iter().map(|key| (public(key), Role::All)).collect();
        runtime::call(&*self.rt, ACTOR, &SyncAdminKeys { keys }).now_or_never().unwrap().unwrap();
    }

    fn set_key(&self, key: &Signer, active: bool) {
        let set = SetAdminKey { key: public(key), role: Role::All, active };
        runtime::call(&*self.rt, ACTOR, &set).now_or_never().unwrap().unwrap();
    }

    fn works(&self, key: &Signer) -> bool {
        let keyid = crate::admin::keyid(&public(key));
        self.admin_by(key, &keyid, "grant", json!({ "did": "did:svc:x", "amount_micro": 1 })).is_ok()
    }
}

fn public(key: &Signer) -> [u8; 32] {
    decode_base64_array("key", &key.public_key()).unwrap()
}

/// Decision operator-keys: a key that is revoked stays revoked, although the settings name it.
#[test]
fn a_revoked_key_does_not_come_back_with_a_start() {
    let world = World::new();
    let [one, two] = [21, 22].map(|seed| Signer::new("svc", crypto::Secret::new([seed; 32])));
    world.configured(&[&one]);
    assert!(world.works(&one) && !world.works(&two));
    world.set_key(&one, false);
    world.configured(&[&one, &two]);
    assert!(!world.works(&one) && world.works(&two));
    // The operator can make it active again, and so can removing it from the settings and naming it again.
    world.set_key(&one, true);
    world.configured(&[&one, &two]);
    assert!(world.works(&one));
    world.set_key(&one, false);
    world.configured(&[&two]);
    assert!(!world.works(&one));
    world.configured(&[&one]);
    assert!(world.works(&one) && !world.works(&two));
}

/// A null is in no signed text, so it cannot lift a list, and must not look as if it did.
#[test]
fn a_cap_that_says_nothing_is_no_action() {
    let world = World::new();
    let a = world.rich(1, 10);
    for nothing in [json!({ "did": a.did() }), json!({ "did": a.did(), "allowlist": null })] {
        refused(world.admin("cap", nothing), "admin_invalid_body");
    }
    let answer = world.admin("cap", json!({ "did": a.did(), "allowlist": "none" })).unwrap();
    assert!(answer.get("allowlist").is_none(), "{answer}");
}

/// Settled transfers, escrows and hires make a wallet active.
#[test]
fn a_wallet_that_is_only_granted_frozen_or_capped_is_not_active() {
    let world = World::new();
    let (a, b) = (world.rich(1, 10), world.party(2));
    let active = || world.get("/v1/pay/stats")["wallets"]["active_24h"].clone();
    assert_eq!(active(), 0);
    for frozen in [true, false] {
        world.admin("freeze", json!({ "did": a.did(), "frozen": frozen })).unwrap();
    }
    world.admin("cap", json!({ "did": a.did(), "daily_cap_micro": 100 })).unwrap();
    assert_eq!(active(), 0);
    world.pay(&a, &b, 1).unwrap();
    assert_eq!(active(), 2);
}

/// The settings name the roles in a closed list (decision closed-lists).
#[test]
fn the_roles_are_those_that_the_settings_take() {
    for role in engine::settings::ADMIN_ROLES {
        assert_eq!(Role::parse(role).map(Role::as_str), Some(role));
    }
}

/// The deployment's own provider has a name that nobody else may have.
#[test]
fn no_agent_registers_a_name_that_looks_like_the_provider() {
    let world = World::new();
    for fake in ["services", "SERVICES", "servi\u{441}es", " services"] {
        let body = json!({ "name": format!("svc {fake}") });
        assert_eq!(world.send("POST", "/v1/agent/register", None, &body).0, 409, "{fake}");
    }
    assert_eq!(world.send("POST", "/v1/agent/register", None, &json!({ "name": "svc server" })).0, 201);
}
