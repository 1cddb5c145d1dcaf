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

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    #[test]
    fn ways_around_a_block_are_told_from_their_absence() {
        for text in [
            "People used VPNs to reach Telegram",
            "they access Telegram via VPN",
            "it works with a VPN",
            "it can be opened only through proxies",
            "Chinese use free VPN apps to watch YouTube",
            "they turned to VPNs and Tor to read the BBC",
            "VPN users can open it",
            "thanks to it people reach Telegram over Tor",
            "they downloaded a VPN to open it",
        ] {
            assert!(reached_by(&split(text)), "{text}");
        }
        for text in [
            "you can open it without a VPN",
            "no VPN is needed to read it",
            "people do not need a VPN to use it",
            "VPN providers are fine",
            "it works",
            "Tor is reachable",
        ] {
            assert!(!reached_by(&split(text)), "{text}");
        }
    }
}
