//! Answers a hire: does the work, and claims it.

use std::sync::Arc;

use super::{ReadTask, Task, answers, own};
use crate::ACTOR;
use crate::book::did_of;
use crate::json::Json;
use crate::reason::Reason;
use crate::rows::{id_text, parse_id};
use crate::submit::Answer;
use crate::{Error, Result, Timestamp};
use crypto::encoding::encode_hex;
use crypto::hash::sha256;
use engine::runtime::{self, Runtime};
use engine::time::{HOUR, MINUTE};

/// Longest and shortest time for the requester to look at the answer, and how long before the end of the escrow this
/// time ends, in microseconds.
const WINDOW: i64 = HOUR;
const LEAST: i64 = 6 * MINUTE;
const BEFORE_END: i64 = MINUTE;

/// The end of the requester's time to look at work that is delivered now.
fn acceptance(now: Timestamp, deadline: Timestamp) -> Timestamp {
    now.plus(WINDOW).min(deadline.plus(-BEFORE_END)).max(now.plus(LEAST))
}

/// Answers a hire of the provider and claims it. A hire that is already claimed counts as done. After any failure the
/// timer tries again.
pub async fn fulfil(rt: Arc<dyn Runtime>, hire: &str) -> Result<()> {
    let Some(id) = parse_id(hire) else { return Ok(()) };
    let Some(task) = runtime::query(&*rt, ACTOR, &ReadTask { id }).await? else { return Ok(()) };
    let Some(own) = own(&*rt).await? else { return Ok(()) };
    let Task { capability, requester, escrow, input, deadline } = task;
    let summary = answers::answer(&rt, &capability, input.as_deref()).await?;
    let text = |text: &str| Json::Text(text.to_owned());
    let members = [
        ("task_id", text(hire)),
        ("from_did", Json::Text(did_of(&rt.environment().settings.brand, &requester))),
        ("to_did", Json::Text(own.did.clone())),
        ("escrow_id", Json::Text(id_text(&escrow))),
        ("work_hash", Json::Text(encode_hex(&sha256(summary.as_bytes())))),
        ("summary", Json::Text(summary)),
        ("nonce", Json::Text(format!("fp:{hire}"))),
        ("acceptance_deadline_at", Json::Text(acceptance(rt.now(), deadline).to_millis_text())),
        ("auto_accept_on_timeout", Json::Bool(true)),
    ];
    match own.submit(&*rt, "work-claim", members).await? {
        Answer::Done(_) | Answer::Refused(Reason::NonceSeen | Reason::EscrowNotOpen, _) => Ok(()),
        Answer::Refused(reason, _) | Answer::Untaken(reason) => {
            Err(Error::unavailable(format!("hire {hire} is not claimed: {}", reason.as_str())))
        }
        Answer::Reverify => Err(Error::unavailable("the provider's keys changed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_window_ends_a_minute_before_the_escrow_after_an_hour_and_never_before_six_minutes() {
        let now = Timestamp::from_seconds(1_800_000_000);
        for (left, window) in [(24 * HOUR, HOUR), (HOUR, 59 * MINUTE), (30 * MINUTE, 29 * MINUTE), (0, 6 * MINUTE)] {
            assert_eq!(acceptance(now, now.plus(left)), now.plus(window), "{left}");
        }
    }
}
