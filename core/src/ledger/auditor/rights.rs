//! What gives an event its right: an envelope of its kind about this very thing, used once and inside its window, by
//! who may sign it; of an escrow's end also the claim, the answer or the deadline that led to it.

use super::{Auditor, Checked, Fields, Open, check, signer};
use crate::Timestamp;
use crate::crypto::hash::sha256_of;
use crate::engine::time::{DAY, HOUR};
use crate::ledger::batch::batch_id;
use crate::ledger::book::name_of;
use crate::ledger::envelope::{SKEW, time};
use crate::ledger::json::Json;
use crate::ledger::log::What;
use crate::ledger::rows::{Id, Space, id, id_text, parse_id};

/// How far after the end of its window an envelope's event may stand: events stay in order when the ledger's clock is
/// set back, and run ahead of it then. What is late by less is counted.
const LATE: i64 = DAY;

/// A claim of work on an open escrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Work {
    pub receipt: String,
    /// When silence decides: the claim's or the escrow's deadline, whichever is first.
    deadline: Timestamp,
    auto_accept: bool,
    /// What the requester said: accepted, or not.
    answer: Option<bool>,
}

impl Open {
    /// The escrow that an opening or a hire of `at` sets up.
    pub(super) fn read(what: What, form: &Fields<'_>, at: Timestamp) -> Checked<Open> {
        let [from, to, amount] = match what {
            What::Hire => ["requester_did", "provider_did", "price_micro"],
            _ => ["from_did", "to_did", "amount_micro"],
        };
        let amount = form.number(amount)?;
        check(amount > 0, || "it sets nothing or less aside".to_owned())?;
        let deadline = match what {
            What::Hire => at.plus(form.number("delivery_deadline_hours")?.saturating_mul(HOUR)),
            _ => moment(form, "deadline_at")?,
        };
        let (from, to) = (form.text(from)?.to_owned(), form.text(to)?.to_owned());
        Ok(Open { from, to, amount, deadline, works: Vec::new() })
    }

    fn work(&mut self, receipt: &str) -> Checked<&mut Work> {
        let found = self.works.iter_mut().find(|work| work.receipt == receipt);
        found.ok_or_else(|| format!("nobody claimed work on its escrow by {receipt}"))
    }
}

/// A time of an envelope; admin bodies may have milliseconds.
fn moment(form: &Fields<'_>, name: &str) -> Checked<Timestamp> {
    let moment = match form.0.get(name) {
        Some(Json::Integer(millis)) => Some(Timestamp::from_millis(*millis)),
        Some(Json::Text(text)) => time(text),
        _ => None,
    };
    moment.ok_or_else(|| format!("its `{name}` is no time"))
}

/// The kind of envelope that an event rests on, by who is said to have brought it about.
fn kind(what: What, actor: &str) -> Option<&'static str> {
    Some(match what {
        What::Transfer | What::TransferFailed => "credit-transfer",
        What::Batch => "batch-transfer",
        What::EscrowOpen => "escrow-open",
        What::Hire => "hire-request",
        What::Faucet => "pay-faucet",
        What::Claim => "work-claim",
        What::Accept | What::Dispute => "work-acceptance",
        What::Grant | What::Cap | What::Freeze | What::FreezeAll => "pay-admin-action",
        What::EscrowRelease | What::EscrowRefund if actor.starts_with("admin:") => "pay-admin-action",
        What::EscrowRelease if actor.starts_with("receipt:") => "work-acceptance",
        What::EscrowRelease if actor.starts_with("system:timeout:") => "work-claim",
        What::EscrowRelease if actor.starts_with("did:") => "escrow-release",
        What::EscrowRefund if actor.starts_with("did:") => "escrow-refund",
        _ => return None,
    })
}

impl Auditor {
    /// Checks all of that but the signature. Comes before the event is applied to escrows.
    pub(super) fn entitle(
        &mut self,
        what: What,
        event: &Fields<'_>,
        form: Option<&Fields<'_>>,
        at: Timestamp,
    ) -> Checked {
        let actor = event.text("actor")?;
        let Some(form) = form else {
            return if what == What::EscrowExpire { self.expires(event, at) } else { Ok(()) };
        };
        let expected = kind(what, actor).ok_or_else(|| format!("{actor} cannot bring it about"))?;
        let schema = format!("{}-{expected}/v1", self.brand);
        check(form.text("schema")? == schema, || format!("what was signed for it is no {schema}"))?;
        if expected == "pay-admin-action" {
            check(form.text("action")? == what.as_str(), || "its admin signed another action".to_owned())?;
        }
        // A claim that nobody answered was signed and used when it was filed, an acceptance may have waited for a
        // freeze to end.
        let waited = actor.starts_with("system:timeout:") || actor.starts_with("receipt:");
        if !waited {
            self.in_window(form, at)?;
            self.once(what, expected, event, form)?;
        }
        match what {
            What::Claim => self.claims(event, form),
            What::Accept | What::Dispute => self.answers(what == What::Accept, event, form),
            What::EscrowRelease | What::EscrowRefund => self.ends(what, event, form, at),
            _ => Ok(()),
        }
    }

    /// Envelopes speak inside their window.
    fn in_window(&mut self, form: &Fields<'_>, at: Timestamp) -> Checked {
        let end = if form.0.contains_key("valid_until_ts") { "valid_until_ts" } else { "expires_at" };
        let (issued, end) = (moment(form, "issued_at")?, moment(form, end)?);
        check(at >= issued.plus(-SKEW), || format!("it was signed later, at {issued}"))?;
        check(at <= end.plus(LATE), || format!("what was signed for it had ended at {end}"))?;
        self.late += u64::from(at > end.plus(SKEW));
        Ok(())
    }

    /// An envelope is used once, also by a transfer that was refused, and its event is named after it.
    fn once(&mut self, what: What, kind: &str, event: &Fields<'_>, form: &Fields<'_>) -> Checked {
        let (who, member) = match kind {
            "pay-admin-action" => (event.text("actor")?, "action_nonce"),
            "batch-transfer" => (signer(form)?, "batch_id"),
            // What these do is guarded by the state that they change (decision action-nonce-repeats).
            "escrow-release" | "escrow-refund" | "work-acceptance" => return Ok(()),
            _ => (signer(form)?, "nonce"),
        };
        let nonce = form.text(member)?;
        let [a, b, c, d, e, f, g, h, ..] =
            sha256_of(&[kind.as_bytes(), b"\n", who.as_bytes(), b"\n", nonce.as_bytes()]);
        let key = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        check(self.used.insert(key), || format!("its `{member}` was used before"))?;
        let name = name_of(&self.brand, who).unwrap_or_default();
        let named: Id = match what {
            What::Transfer | What::TransferFailed => id(Space::Transfer, name, nonce),
            What::Batch => batch_id(name, nonce),
            What::EscrowOpen => id(Space::Escrow, name, nonce),
            What::Hire => id(Space::Escrow, name, &format!("hire:{}", id_text(&id(Space::Hire, name, nonce)))),
            What::Claim => id(Space::Claim, name, nonce),
            What::Faucet => {
                let first = self.claimants.insert(name.to_owned());
                return check(first, || format!("{who} had its grant before"));
            }
            _ => return Ok(()),
        };
        check(event.text("id")? == id_text(&named), || "its id is not that of what was signed".to_owned())
    }

    fn open(&mut self, escrow: &str) -> Checked<&mut Open> {
        self.escrows.get_mut(escrow).ok_or_else(|| "no such escrow is open".to_owned())
    }

    fn claims(&mut self, event: &Fields<'_>, form: &Fields<'_>) -> Checked {
        let escrow = parse_id(form.text("escrow_id")?).ok_or("its escrow is none")?;
        let open = self.open(&id_text(&escrow))?;
        let parties = (form.text("from_did")?, form.text("to_did")?);
        check(parties == (open.from.as_str(), open.to.as_str()), || "its escrow is between others".to_owned())?;
        let deadline = moment(form, "acceptance_deadline_at")?.min(open.deadline);
        let auto_accept = form.0.get("auto_accept_on_timeout") == Some(&Json::Bool(true));
        let receipt = event.text("id")?.to_owned();
        open.works.push(Work { receipt, deadline, auto_accept, answer: None });
        Ok(())
    }

    /// An answer that paid nothing: no, or yes while the money could not move.
    fn answers(&mut self, accepts: bool, event: &Fields<'_>, form: &Fields<'_>) -> Checked {
        let receipt = event.text("id")?;
        check(is_same(form.text("receipt_id")?, receipt), || "its answer is about another receipt".to_owned())?;
        check(says_yes(form)? == accepts, || "its signer said the opposite".to_owned())?;
        // An escrow that was closed by hand has no more to do with it.
        let work = |open: &Open| open.works.iter().any(|work| work.receipt == receipt);
        let Some(open) = self.escrows.values_mut().find(|open| work(open)) else { return Ok(()) };
        check(signer(form)? == open.from, || "only who hired may answer".to_owned())?;
        let work = open.work(receipt)?;
        check(work.answer.is_none(), || "it was answered before".to_owned())?;
        work.answer = Some(accepts);
        Ok(())
    }

    /// How an escrow ends by what somebody signed.
    fn ends(&mut self, what: What, event: &Fields<'_>, form: &Fields<'_>, at: Timestamp) -> Checked {
        let (actor, escrow) = (event.text("actor")?, event.text("id")?);
        let open = self.open(escrow)?;
        if let Some(receipt) = actor.strip_prefix("receipt:") {
            check(is_same(form.text("receipt_id")?, receipt), || "what was accepted is another receipt".to_owned())?;
            check(says_yes(form)? && signer(form)? == open.from, || "who hired did not accept it".to_owned())?;
            let work = open.work(receipt)?;
            return check(work.answer != Some(false), || "it was disputed".to_owned());
        }
        check(is_same(form.text("escrow_id")?, escrow), || "what was signed is about another escrow".to_owned())?;
        if let Some(receipt) = actor.strip_prefix("system:timeout:") {
            let work = open.work(receipt)?;
            check(work.auto_accept && work.answer.is_none(), || "silence was not to pay it".to_owned())?;
            return check(at > work.deadline, || format!("there was time to answer until {}", work.deadline));
        }
        if actor.starts_with("admin:") {
            return Ok(());
        }
        check(signer(form)? == open.from, || "only who set it aside may end it".to_owned())?;
        let waits = |work: &Work| work.answer == Some(true) || (work.answer.is_none() && at < work.deadline);
        let free = what == What::EscrowRelease || !open.works.iter().any(waits);
        check(free, || "there is a claim on it".to_owned())
    }

    fn expires(&mut self, event: &Fields<'_>, at: Timestamp) -> Checked {
        let open = self.open(event.text("id")?)?;
        check(at > open.deadline, || format!("it was to stay open until {}", open.deadline))
    }
}

/// Whether an id that somebody wrote is that of an event.
fn is_same(written: &str, id: &str) -> bool {
    parse_id(written).is_some_and(|written| id_text(&written) == id)
}

fn says_yes(form: &Fields<'_>) -> Checked<bool> {
    match form.text("action")? {
        "accept" => Ok(true),
        "dispute" => Ok(false),
        _ => Err("its answer is neither yes nor no".to_owned()),
    }
}
