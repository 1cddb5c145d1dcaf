//! Settings and secrets from the Worker's bindings, built once per isolate, and the check at the start.
//!
//! A setting is a binding `HELIOGRAPH_<NAME>` (`[vars]` of `wrangler.toml`). The secrets (`npx wrangler secret put`)
//! are:
//!
//! | Secret | |
//! |---|---|
//! | `HELIOGRAPH_MASTER_KEY` | 64 hexadecimal digits; seals the values that the service keeps for others |
//! | `HELIOGRAPH_MASTER_KEYS_EARLIER` | optional: master keys before a rotation, separated by commas |
//! | `HELIOGRAPH_ADMIN_KEY` | the operator's key (`X-Admin-Key`) |
//! | `HELIOGRAPH_LEDGER_ADMIN_KEYS`, `LEDGER_ADMIN_KEYS` | optional: keys that sign admin actions of the ledger, with roles |

use std::cell::OnceCell;
use std::sync::Arc;

use heliograph_core::app::PROGRAM;
use heliograph_core::crypto::Secret;
use heliograph_core::crypto::sealing::{KeyRing, MasterKey};
use heliograph_core::engine::actor::{Call, decode};
use heliograph_core::engine::deployment::{self, Start};
use heliograph_core::engine::runtime::Environment;
use heliograph_core::engine::secrets::Secrets;
use heliograph_core::engine::settings::Settings;
use heliograph_core::{Error, Result};
use worker::Env;
use worker::js_sys::Object;
use worker::wasm_bindgen::JsCast;

use crate::errand;

thread_local! {
    static SETTINGS: OnceCell<Arc<Settings>> = const { OnceCell::new() };
    static STARTED: OnceCell<Arc<Environment>> = const { OnceCell::new() };
}

const PREFIX: &str = "HELIOGRAPH_";

/// Bindings with the prefix that are not settings.
const OTHERS: [&str; 3] = ["HELIOGRAPH_MASTER_KEY", "HELIOGRAPH_MASTER_KEYS_EARLIER", "HELIOGRAPH_REQUEST_LIMIT_MS"];

/// The settings of this isolate.
pub fn settings(env: &Env) -> Result<Arc<Settings>> {
    if let Some(settings) = SETTINGS.with(|cell| cell.get().cloned()) {
        return Ok(settings);
    }
    let settings = Arc::new(read_settings(env).map_err(refused)?);
    Ok(SETTINGS.with(|cell| cell.get_or_init(|| settings).clone()))
}

/// The environment, once the deployment has accepted brand and master key. After a failure the next request tries
/// again; the cause is logged for the operator.
pub async fn started(env: &Env) -> Result<Arc<Environment>> {
    if let Some(environment) = STARTED.with(|cell| cell.get().cloned()) {
        return Ok(environment);
    }
    let settings = settings(env)?;
    let secrets = read_secrets(env, &settings).map_err(refused)?;
    let start = Start { brand: settings.brand.clone(), key_checks: secrets.key_checks() };
    let call = Call::operation(deployment::actor().name, &start)?;
    let reply = errand::call(env, &call).await.map_err(|error| refused(error.to_string()))?;
    let identity: deployment::Identity = decode(&reply)?;
    let mut environment = Environment::new(&PROGRAM, Settings::clone(&settings), secrets, identity.id);
    environment.shares_reads = true;
    Ok(STARTED.with(|cell| cell.get_or_init(|| Arc::new(environment)).clone()))
}

/// The environment, if [`started`] succeeded in this isolate before.
pub fn present() -> Option<Arc<Environment>> {
    STARTED.with(|cell| cell.get().cloned())
}

fn refused(cause: String) -> Error {
    Error::unavailable(format!("the Worker cannot serve: {cause}"))
}

fn binding(env: &Env, name: &str) -> Option<String> {
    env.var(name).ok().map(|value| value.to_string())
}

fn read_settings(env: &Env) -> Result<Settings, String> {
    let mut settings = Settings::default();
    settings.archives_segments = true;
    // This is the only secret that also has a name without the prefix (decision operator-keys).
    if let Some(keys) = binding(env, "LEDGER_ADMIN_KEYS") {
        settings.set("ledger_admin_keys", &keys)?;
    }
    for setting in Settings::ALL {
        if let Some(text) = binding(env, &format!("{PREFIX}{}", setting.name.to_ascii_uppercase())) {
            settings.set(setting.name, &text)?;
        }
    }
    for name in Object::keys(env.unchecked_ref::<Object>()).iter().filter_map(|name| name.as_string()) {
        let is_setting =
            Settings::ALL.iter().any(|setting| name == format!("{PREFIX}{}", setting.name.to_ascii_uppercase()));
        if name.starts_with(PREFIX) && !is_setting && !OTHERS.contains(&name.as_str()) {
            worker::console_warn!("there is no setting named {name}");
        }
    }
    if !is_loopback(&settings.public_url) {
        settings.open_to_the_world();
    }
    Ok(settings)
}

/// True if the service's own address can only be reached from its own machine.
fn is_loopback(public_url: &str) -> bool {
    let host = public_url.split("://").nth(1).unwrap_or_default();
    ["127.", "localhost", "[::1]"].iter().any(|start| host.starts_with(start))
}

fn read_secrets(env: &Env, settings: &Settings) -> Result<Secrets, String> {
    let missing = |name: &str| format!("the secret {name} is not set; run `npx wrangler secret put {name}`");
    let name = "HELIOGRAPH_MASTER_KEY";
    let current = master_key(name, &binding(env, name).ok_or_else(|| missing(name))?)?;
    let name = "HELIOGRAPH_MASTER_KEYS_EARLIER";
    let earlier = binding(env, name).unwrap_or_default();
    let earlier = earlier.split(',').map(str::trim).filter(|text| !text.is_empty());
    let earlier = earlier.map(|text| master_key(name, text)).collect::<Result<Vec<_>, _>>()?;
    if settings.admin_key.is_empty() {
        return Err(missing("HELIOGRAPH_ADMIN_KEY"));
    }
    Ok(Secrets::new(KeyRing::new(current, earlier), settings.admin_key.clone()))
}

fn master_key(name: &str, text: &str) -> Result<MasterKey, String> {
    let text = text.trim();
    let byte = |index: usize| text.get(2 * index..2 * index + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = (0..32).map(byte).collect();
    bytes
        .filter(|_| text.len() == 64)
        .and_then(|bytes| Secret::from_slice(&bytes))
        .map(MasterKey::new)
        .ok_or_else(|| format!("{name} must be 64 hexadecimal digits (`openssl rand -hex 32` makes one)"))
}
