//! `Idempotency-Key`: the first final answer to an envelope is given again to its exact repeat, for 24 hours (decision
//! ledger-idempotency).
//!
//! A key counts per route and signer, so nobody takes a key of somebody else or reads an answer with it. The answer
//! itself is kept, with the balances of that moment, since rows change. An answer that this version of the program
//! cannot read is ignored, so its repeat is refused for the used nonce.
//!
//! Table numbers: 62 and 63.

use serde::{Deserialize, Serialize};

use super::book::Books;
use super::rows::Id;
use super::submit::Answer;
use crate::{Result, Timestamp};
use crypto::hash::sha256_of;
use engine::actor::{decode, encode};
use engine::kv::{Row, Table};
use engine::time::DAY;

/// Most characters of a key.
pub const MAX_KEY: usize = 128;
/// How long an answer is given again, in microseconds.
const LIFE: i64 = DAY;

/// The answer to an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptAnswer {
    /// SHA-256 of the envelope.
    hash: [u8; 32],
    until: Timestamp,
    /// An [`Answer`].
    #[serde(with = "engine::kv::bytes")]
    answer: Vec<u8>,
}
impl Row for KeptAnswer {}

pub const KEPT: Table<(Id,), KeptAnswer> = Table::new(62);
pub const KEPT_UNTIL: Table<(Timestamp, Id), ()> = Table::new(63);

/// The id of a key, which counts for one route and one signer.
pub fn id(route: &str, signer: &str, key: &str) -> Id {
    let lengths = [route.len() as u64, signer.len() as u64].map(u64::to_be_bytes);
    let [of_route, of_signer] = &lengths;
    let parts: [&[u8]; 6] = [b"idempotency/", of_route, route.as_bytes(), of_signer, signer.as_bytes(), key.as_bytes()];
    let mut id = Id::default();
    id.iter_mut().zip(sha256_of(&parts)).for_each(|(to, from)| *to = from);
    id
}

/// What is known about a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyUse {
    Nothing,
    /// The same envelope had this answer.
    Answered(Box<Answer>),
    /// The key was used with another envelope.
    Taken,
}

/// Looks up a key for the envelope with that hash.
pub fn find(books: &Books<'_>, id: Option<&Id>, hash: &[u8; 32]) -> Result<KeyUse> {
    let Some(id) = id else { return Ok(KeyUse::Nothing) };
    Ok(match KEPT.get(books.space, &(*id,))?.filter(|kept| kept.until > books.now) {
        None => KeyUse::Nothing,
        Some(kept) if kept.hash != *hash => KeyUse::Taken,
        Some(kept) => decode(&kept.answer).map_or(KeyUse::Nothing, |answer| KeyUse::Answered(Box::new(answer))),
    })
}

/// Keeps a final answer. A temporary refusal is not final.
pub fn keep(books: &mut Books<'_>, id: Option<&Id>, hash: &[u8; 32], answer: &Answer) -> Result<()> {
    let is_final = match answer {
        Answer::Reverify | Answer::Untaken(_) => false,
        Answer::Refused(reason, _) => !reason.is_temporary(),
        Answer::Done(_) => true,
    };
    let Some(id) = id.filter(|_| is_final) else { return Ok(()) };
    let until = books.now.plus(LIFE);
    if let Some(before) = KEPT.get(books.space, &(*id,))? {
        KEPT_UNTIL.delete(books.space, &(before.until, *id));
    }
    KEPT.put(books.space, &(*id,), &KeptAnswer { hash: *hash, until, answer: encode(answer)? })?;
    Ok(KEPT_UNTIL.put(books.space, &(until, *id), &())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::Reason;
    use crate::submit;
    use engine::kv::{MemoryStore, Overlay};

    /// Decision ledger-idempotency.
    #[test]
    fn final_answers_are_given_again_for_a_day_and_others_are_not_kept() {
        let store = MemoryStore::default();
        let mut space = Overlay::new(&store);
        let mut books = Books::open(&mut space, Timestamp::from_seconds(1_800_000_000), "svc").unwrap();
        let (id, hash, refused) = ([1; 16], [2; 32], |reason| Answer::Refused(reason, submit::RefusalFacts::default()));
        for passing in [refused(Reason::SystemFrozen), refused(Reason::RateLimited), Answer::Reverify] {
            keep(&mut books, Some(&id), &hash, &passing).unwrap();
            assert_eq!(find(&books, Some(&id), &hash).unwrap(), KeyUse::Nothing);
        }
        let answer = refused(Reason::InsufficientBalance);
        keep(&mut books, Some(&id), &hash, &answer).unwrap();
        assert_eq!(find(&books, None, &hash).unwrap(), KeyUse::Nothing);
        assert_eq!(find(&books, Some(&id), &[3; 32]).unwrap(), KeyUse::Taken);
        assert_eq!(find(&books, Some(&id), &hash).unwrap(), KeyUse::Answered(Box::new(answer.clone())));
        books.now = books.now.plus(LIFE - 1);
        assert_eq!(find(&books, Some(&id), &hash).unwrap(), KeyUse::Answered(Box::new(answer.clone())));
        books.now = books.now.plus(1);
        for hash in [hash, [3; 32]] {
            assert_eq!(find(&books, Some(&id), &hash).unwrap(), KeyUse::Nothing);
        }
        // An answer of another version is ignored.
        let kept = KeptAnswer { hash, until: books.now.plus(LIFE), answer: vec![250] };
        KEPT.put(books.space, &(id,), &kept).unwrap();
        assert_eq!(find(&books, Some(&id), &hash).unwrap(), KeyUse::Nothing);
    }

    #[test]
    fn a_key_counts_per_route_and_signer() {
        let one = id("/a", "b", "c");
        assert_eq!(one, id("/a", "b", "c"));
        for other in
            [id("/ab", "", "c"), id("/a", "bc", ""), id("/a", "b", "d"), id("/b", "b", "c"), id("/a", "c", "c")]
        {
            assert_ne!(one, other);
        }
    }
}
