//! The texts that a reader may see: the header `X-<brand>-Proof` proves that a request comes from a party (decision
//! ledger-texts-for-parties).

use super::act::{self, canonical, speakers};
use crate::ACTOR;
use crate::Result;
use crate::book::name_of;
use crate::envelope::{Content, Envelope};
use crate::json::{self, Json};
use crate::rows::Name;
use crate::submit::{Prepare, window};
use crypto::encoding::decode_base64;
use crypto::signing;
use engine::http::Cx;
use engine::runtime;
use engine::time::MINUTE;

/// Longest life of a proof, in microseconds.
const MAX_LIFE: i64 = MINUTE;

/// The reader of a request.
pub struct Reader {
    /// The name that the request proves to come from.
    prover: Option<Name>,
    /// The setting `ledger_reads` shows texts only to parties.
    parties_only: bool,
}

impl Reader {
    /// The reader of a request. A wrong proof counts as no proof.
    pub async fn of(cx: &Cx) -> Result<Reader> {
        Ok(Reader { prover: prover(cx).await?, parties_only: cx.settings().ledger_reads == "parties" })
    }

    /// Whether the reader is proved, so that some list may show texts.
    pub fn is_known(&self) -> bool {
        self.prover.is_some()
    }

    /// Whether the reader is one of these parties.
    pub fn is_one_of<'a>(&self, parties: impl IntoIterator<Item = &'a str>) -> bool {
        self.prover.as_deref().is_some_and(|prover| parties.into_iter().any(|party| party == prover))
    }
}

/// The place where texts of a row (memos, inputs, results, feedback, reasons) would be shown.
#[derive(Clone, Copy)]
pub enum Texts<'a> {
    /// The answer to the signer of the row.
    Signed,
    /// A read by id, or the list of work that comes to a provider. Existing clients read both without a proof.
    Open(&'a Reader),
    /// Any other list.
    Listed(&'a Reader),
}

impl Texts<'_> {
    /// Whether the texts of a row of these parties are shown.
    pub fn are_shown(self, parties: [&str; 2]) -> bool {
        match self {
            Texts::Signed => true,
            Texts::Open(reader) => !reader.parties_only || reader.is_one_of(parties),
            Texts::Listed(reader) => reader.is_one_of(parties),
        }
    }

    /// A hash or signature over the texts of a row, if it has any: it would confirm a guess of a text. It is shown with
    /// the texts, and also in lists if anybody may read the row by its id.
    pub fn over<T>(self, parties: [&str; 2], has_text: bool, value: T) -> Option<T> {
        let shown = match self {
            Texts::Signed => true,
            Texts::Open(reader) | Texts::Listed(reader) => !reader.parties_only || reader.is_one_of(parties),
        };
        (shown || !has_text).then_some(value)
    }
}

async fn prover(cx: &Cx) -> Result<Option<Name>> {
    let Some((canonical, signature)) = header(cx).and_then(|given| read(&given)) else { return Ok(None) };
    let brand = &cx.settings().brand;
    let Some(Envelope { common, content: Content::Read(read) }) = Envelope::read(brand, &canonical) else {
        return Ok(None);
    };
    let timely = window(cx.now(), &common).is_ok() && common.expires.since(common.issued) <= MAX_LIFE;
    let here = common.audience.is_none_or(|audience| audience == cx.rt.environment().deployment);
    let Some(name) = name_of(brand, &read.did).filter(|_| timely && here) else { return Ok(None) };
    let names: Vec<Name> = vec![name.to_owned()];
    let row = runtime::query(&*cx.rt, ACTOR, &Prepare { names }).await?.keys.into_iter().next().flatten();
    let keys = speakers(cx, name, row).await?.map(|speakers| speakers.keys).unwrap_or_default();
    Ok(keys.iter().any(|key| signing::verify(key, &canonical, &signature)).then(|| name.to_owned()))
}

/// The header, with the brand's prefix or the extra one.
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
