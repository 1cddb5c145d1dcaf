//! What is reached by a way around a block: "people used VPNs to reach Telegram" tells that it is blocked.

use super::lexicon::Words;
use super::words::Word;

/// Ways around.
pub static MEANS: Words = Words::of("means means");
/// Words before a way, or a service that is one, which people use.
pub static USING: Words = Words::of("means using");
/// Words between those and the way.
static BETWEEN: Words = Words::of("means between");
/// Nothing is got around "without a VPN", or where no VPN is needed.
static WITHOUT: Words = Words::of("means without");

/// Whether a clause says that something is reached by such a way.
pub fn reached_by(words: &[Word<'_>]) -> bool {
    let is = |at: usize, list: &[&str]| words.get(at).is_some_and(|word| list.contains(&word.lower.as_str()));
    let denied = (0..words.len()).any(|at| is(at, &WITHOUT));
    let used = |at: usize| {
        let before = (0..at).rev().find(|before| !is(*before, &BETWEEN) && !is(*before, &MEANS));
        let users = is(at + 1, &["user", "users"]) || words.get(at + 1).is_some_and(|word| word.lower == "can");
        users || before.is_some_and(|before| is(before, &USING))
    };
    !denied && (0..words.len()).any(|at| is(at, &MEANS) && used(at))
}
