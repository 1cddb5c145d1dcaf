//! Checks that an event was allowed. It needs an envelope of its kind about this very thing, used once, inside its
//! window, and signed by somebody who may sign it. The end of an escrow also needs the claim, the answer or the
//! deadline that led to it.

use super::{Auditor, Checked, Fields, OpenEscrow, check, signer};
use crate::Timestamp;
use crate::batch::batch_id;
use crate::book::name_of;
use crate::envelope::{SKEW, time};
use crate::json::Json;
use crate::log::What;
use crate::rows::{Id, Space, id, id_text, parse_id};
use crypto::hash::sha256_of;
use engine::time::{DAY, HOUR};

/// How long after the end of its envelope's window an event may come, in microseconds. When the ledger's clock is set
/// back, events stay in order, and so run ahead of the clock. Events that are late by less are only counted.
const LATE: i64 = DAY;

/// A claim of work on an open escrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Work {
    pub receipt: String,
    /// The time at which silence decides: the deadline of the claim or of the escrow, whichever is first.
    deadline: Timestamp,
    auto_accept: bool,
    /// The requester's answer: true for accepted, false for disputed.
    answer: Option<bool>,
}

impl OpenEscrow {
    /// The escrow that an opening or a hire at this time sets up.
    pub(super) fn read(what: What, form: &Fields<'_>, at: Timestamp) -> Checked<OpenEscrow> {
        let [from, to, amount] = match what {
            What::Hire => ["requester_did", "provider_did", "price_micro"],
            _ => ["from_did", "to_did", "amount_micro"],
        };
        let amount = form.number(amount)?;
        check(amount > 0, || "it sets aside an amount that is not above 0".to_owned())?;
        let deadline = match what {
            What::Hire => at.plus(form.number("delivery_deadline_hours")?.saturating_mul(HOUR)),
            _ => moment(form, "deadline_at")?,
        };
        let (from, to) = (form.text(from)?.to_owned(), form.text(to)?.to_owned());
        Ok(OpenEscrow { from, to, amount, deadline, works: Vec::new() })
    }

    fn work(&mut self, receipt: &str) -> Checked<&mut Work> {
        let found = self.works.iter_mut().find(|work| work.receipt == receipt);
        found.ok_or_else(|| format!("its escrow has no claim {receipt}"))
    }
}

/// A time of an envelope. In the body of an admin action it may be in milliseconds.
fn moment(form: &Fields<'_>, name: &str) -> Checked<Timestamp> {
    let moment = match form.0.get(name) {
        Some(Json::Integer(millis)) => Some(Timestamp::from_millis(*millis)),
        Some(Json::Text(text)) => time(text),
        _ => None,
    };
    moment.ok_or_else(|| format!("its `{name}` is not a time"))
}

/// The kind of envelope that an event needs, by its kind and actor; `None` if no envelope allows such an event.
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
    /// Checks that an event was allowed, except for the signature. This runs before the event is applied to escrows.
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
        let expected = kind(what, actor).ok_or_else(|| format!("{actor} cannot cause such an event"))?;
        let schema = format!("{}-{expected}/v1", self.brand);
        check(form.text("schema")? == schema, || format!("its signed text is not a {schema}"))?;
        if expected == "pay-admin-action" {
            check(form.text("action")? == what.as_str(), || "its admin signed another action".to_owned())?;
        }
        // A claim that nobody answered was signed and used when it was filed, and an acceptance may have waited for a
        // freeze to end. So their windows and nonces are not checked here.
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

    /// Checks that the event is inside the window of its envelope.
    fn in_window(&mut self, form: &Fields<'_>, at: Timestamp) -> Checked {
        let end = if form.0.contains_key("valid_until_ts") { "valid_until_ts" } else { "expires_at" };
        let (issued, end) = (moment(form, "issued_at")?, moment(form, end)?);
        check(at >= issued.plus(-SKEW), || format!("its envelope was signed later, at {issued}"))?;
        check(at <= end.plus(LATE), || format!("its envelope had ended at {end}"))?;
        self.late += u64::from(at > end.plus(SKEW));
        Ok(())
    }

    /// Checks that an envelope is used once, also by a refused transfer, and that the id of the event follows from it.
    fn once(&mut self, what: What, kind: &str, event: &Fields<'_>, form: &Fields<'_>) -> Checked {
        let (who, member) = match kind {
            "pay-admin-action" => (event.text("actor")?, "action_nonce"),
            "batch-transfer" => (signer(form)?, "batch_id"),
            // These are guarded by the state that they change (decision action-nonce-repeats).
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
        check(event.text("id")? == id_text(&named), || "its id does not follow from its envelope".to_owned())
    }

    fn open(&mut self, escrow: &str) -> Checked<&mut OpenEscrow> {
        self.escrows.get_mut(escrow).ok_or_else(|| "no such escrow is open".to_owned())
    }

    fn claims(&mut self, event: &Fields<'_>, form: &Fields<'_>) -> Checked {
        let escrow = parse_id(form.text("escrow_id")?).ok_or("its `escrow_id` is not an id")?;
        let open = self.open(&id_text(&escrow))?;
        let parties = (form.text("from_did")?, form.text("to_did")?);
        check(parties == (open.from.as_str(), open.to.as_str()), || "its escrow is between other parties".to_owned())?;
        let deadline = moment(form, "acceptance_deadline_at")?.min(open.deadline);
        let auto_accept = form.0.get("auto_accept_on_timeout") == Some(&Json::Bool(true));
        let receipt = event.text("id")?.to_owned();
        open.works.push(Work { receipt, deadline, auto_accept, answer: None });
        Ok(())
    }

    /// Checks an answer that paid nothing: a dispute, or an acceptance while the money could not move.
    fn answers(&mut self, accepts: bool, event: &Fields<'_>, form: &Fields<'_>) -> Checked {
        let receipt = event.text("id")?;
        check(is_same(form.text("receipt_id")?, receipt), || "its answer is about another receipt".to_owned())?;
        check(says_yes(form)? == accepts, || "its signer said the opposite".to_owned())?;
        // An escrow that was closed by hand is no longer open, and the answer changes nothing.
        let work = |open: &OpenEscrow| open.works.iter().any(|work| work.receipt == receipt);
        let Some(open) = self.escrows.values_mut().find(|open| work(open)) else { return Ok(()) };
        check(signer(form)? == open.from, || "only the requester may answer".to_owned())?;
        let work = open.work(receipt)?;
        check(work.answer.is_none(), || "it was answered before".to_owned())?;
        work.answer = Some(accepts);
        Ok(())
    }

    /// Checks the end of an escrow that somebody signed for.
    fn ends(&mut self, what: What, event: &Fields<'_>, form: &Fields<'_>, at: Timestamp) -> Checked {
        let (actor, escrow) = (event.text("actor")?, event.text("id")?);
        let open = self.open(escrow)?;
        if let Some(receipt) = actor.strip_prefix("receipt:") {
            check(is_same(form.text("receipt_id")?, receipt), || "its signer accepted another receipt".to_owned())?;
            check(says_yes(form)? && signer(form)? == open.from, || "the requester did not accept it".to_owned())?;
            let work = open.work(receipt)?;
            return check(work.answer != Some(false), || "it was disputed".to_owned());
        }
        check(is_same(form.text("escrow_id")?, escrow), || "its signed text is about another escrow".to_owned())?;
        if let Some(receipt) = actor.strip_prefix("system:timeout:") {
            let work = open.work(receipt)?;
            check(work.auto_accept && work.answer.is_none(), || "silence does not pay this claim".to_owned())?;
            return check(at > work.deadline, || format!("there was time to answer until {}", work.deadline));
        }
        if actor.starts_with("admin:") {
            return Ok(());
        }
        check(signer(form)? == open.from, || "only the sender of the escrow may end it".to_owned())?;
        let waits = |work: &Work| work.answer == Some(true) || (work.answer.is_none() && at < work.deadline);
        let free = what == What::EscrowRelease || !open.works.iter().any(waits);
        check(free, || "a claim on the escrow waits or was accepted".to_owned())
    }

    fn expires(&mut self, event: &Fields<'_>, at: Timestamp) -> Checked {
        let open = self.open(event.text("id")?)?;
        check(at > open.deadline, || format!("the escrow stays open until {}", open.deadline))
    }
}

/// Whether a written id is the id of an event.
fn is_same(written: &str, id: &str) -> bool {
    parse_id(written).is_some_and(|written| id_text(&written) == id)
}

fn says_yes(form: &Fields<'_>) -> Checked<bool> {
    match form.text("action")? {
        "accept" => Ok(true),
        "dispute" => Ok(false),
        _ => Err("its `action` is neither accept nor dispute".to_owned()),
    }
}
