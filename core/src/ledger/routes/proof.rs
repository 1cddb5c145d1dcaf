//! Who reads: the header `X-<brand>-Proof` shows that a request comes from a party (ruling ledger 24).

use super::act::{self, canonical, known};
use crate::crypto::encoding::decode_base64;
use crate::crypto::signing;
use crate::http::Cx;
use crate::ledger::ACTOR;
use crate::ledger::book::name_of;
use crate::ledger::envelope::{Content, Envelope};
use crate::ledger::json::{self, Json};
use crate::ledger::rows::Name;
use crate::ledger::submit::{Prepare, window};
use crate::time::MINUTE;
use crate::{Result, runtime};

/// Longest life of a proof, in microseconds.
const MAX_LIFE: i64 = MINUTE;

/// Whether the request carries a proof by this name. A wrong one is like none.
pub async fn is_by(cx: &Cx, name: &str) -> Result<bool> {
    let Some(given) = header(cx) else { return Ok(false) };
    let Some((canonical, signature)) = read(&given) else { return Ok(false) };
    let brand = &cx.settings().brand;
    let Some(envelope) = Envelope::read(brand, &canonical) else { return Ok(false) };
    let common = &envelope.common;
    let timely = window(cx.now(), common).is_ok() && common.expires.since(common.issued) <= MAX_LIFE;
    let own = matches!(&envelope.content, Content::Read(read) if name_of(brand, &read.did) == Some(name));
    if !timely || !own {
        return Ok(false);
    }
    let names: Vec<Name> = vec![name.to_owned()];
    let row = runtime::query(&*cx.rt, ACTOR, &Prepare { names }).await?.keys.into_iter().next().flatten();
    let key = known(cx, name, row).await?.and_then(|row| row.in_force());
    Ok(key.is_some_and(|key| signing::verify(&key, &canonical, &signature)))
}

/// The header, in the brand's or the extra prefix.
fn header(cx: &Cx) -> Option<String> {
    let settings = cx.settings();
    let named = |prefix: &str| match prefix {
        "" => None,
        prefix => cx.request.header(&format!("x-{}-proof", prefix.to_ascii_lowercase())),
    };
    named(&settings.brand).or_else(|| named(&settings.extra_header_prefix)).map(str::to_owned)
}

/// Canonical bytes and signature out of base64 of `{envelope, signature}`.
fn read(text: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let body = decode_base64("proof", text).ok()?;
    let Json::Object(mut members) = json::parse(&body, json::MAX_DEPTH + 1)? else { return None };
    let signature = act::beside(&mut members, "signature")?;
    Some((canonical(&mut members, "envelope")?, decode_base64("signature", &signature).ok()?))
}
