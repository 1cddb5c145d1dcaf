//! What a claim says about its subject: blocked, slowed, cut off, or reachable.

use super::words::{Lazy, Phrases, Word};

/// Kind of interference that a claim speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Block,
    Throttling,
    Shutdown,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Block => "block",
            Kind::Throttling => "throttling",
            Kind::Shutdown => "shutdown",
        }
    }
}

/// The meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Bad(Kind),
    /// It works.
    Good,
    /// It worked again: interference is over, so it had been there.
    Over,
    Not,
}

const PHRASES: &[(Sense, &[&str])] = &[
    (
        Sense::Bad(Kind::Block),
        &[
            "block",
            "blocks",
            "blocked",
            "blocking",
            "ban",
            "bans",
            "banned",
            "banning",
            "censor",
            "censors",
            "censored",
            "censoring",
            "censorship",
            "restrict",
            "restricts",
            "restricted",
            "restricting",
            "restriction",
            "filter",
            "filters",
            "filtered",
            "filtering",
            "blacklisted",
            "blacklist",
            "prohibited",
            "outlawed",
            "suspend",
            "suspends",
            "suspended",
            "inaccessible",
            "unavailable",
            "unreachable",
            "access denied",
            "forbidden",
            "barred",
            "bars",
            "taken down",
            "denied access",
            "limited access",
            "cut access",
            "no access",
            "lost access",
            "without access",
            "blockage",
            "interfered with",
            "dns poisoning",
            "dns tampering",
            "firewalled",
            "disrupted",
            "disrupts",
            "disruption",
            "down",
        ],
    ),
    (
        Sense::Bad(Kind::Throttling),
        &[
            "throttle",
            "throttles",
            "throttled",
            "throttling",
            "slowed",
            "slows",
            "slow",
            "slowed down",
            "slowdown",
            "slowing",
            "degraded",
            "degrades",
        ],
    ),
    (
        Sense::Bad(Kind::Shutdown),
        &[
            "shut down",
            "shuts down",
            "shutting down",
            "shutdown",
            "shutdowns",
            "shut off",
            "switched off",
            "turned off",
            "cut",
            "cuts",
            "cut off",
            "cuts off",
            "cutting",
            "blackout",
            "offline",
            "outage",
            "disconnected",
            "disconnects",
            "pulled the plug",
            "kill switch",
            "severed",
            "plunged into darkness",
        ],
    ),
    (
        Sense::Good,
        &[
            "accessible",
            "reachable",
            "available",
            "works",
            "working",
            "up",
            "open",
            "loads",
            "can be reached",
            "can access",
            "can use",
            "can open",
            "online",
            "functioning",
            "fine",
            "unaffected",
            "uncensored",
            "usable",
        ],
    ),
    (
        Sense::Over,
        &[
            "unblock",
            "unblocks",
            "unblocked",
            "unblocking",
            "restore",
            "restores",
            "restored",
            "restoring",
            "reinstated",
            "lifted",
            "lifts",
            "lift the ban",
            "back online",
            "came back",
            "is back",
            "are back",
            "resumed",
            "reconnected",
            "access returned",
            "unbanned",
            "reopened",
            "ended the block",
            "ended its block",
            "no longer",
            "any more",
            "anymore",
            "any longer",
            "stopped blocking",
            "stops blocking",
        ],
    ),
    (
        Sense::Not,
        &[
            "not",
            "isn't",
            "isnt",
            "aren't",
            "wasn't",
            "weren't",
            "never",
            "no",
            "without",
            "hasn't",
            "haven't",
            "doesn't",
            "don't",
            "didn't",
            "can't",
            "cannot",
            "can not",
            "couldn't",
            "unable",
            "won't",
            "nobody",
            "no one",
            "none",
            "denies",
            "denied",
            "deny",
            "denying",
            "false",
            "untrue",
            "rumours",
            "rumors",
            "fake",
            "neither",
            "nor",
            "fails to",
            "failed to",
            "failing to",
            "stopped",
            "hoax",
        ],
    ),
];

fn senses() -> &'static Phrases<Sense> {
    static SENSES: Lazy<Sense> = Lazy::new();
    SENSES.get_or_init(|| {
        Phrases::new(PHRASES.iter().flat_map(|(sense, list)| list.iter().map(|text| ((*text).to_owned(), *sense))))
    })
}

/// What a claim states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stance {
    pub kind: Kind,
    /// The claim is that there is no interference: it works, it is not blocked, it is over.
    pub negated: bool,
    /// ... because it is over.
    pub over: bool,
}

/// Reads the stance; `None` when nothing in the sentence speaks of reachability.
pub fn stance(words: &[Word<'_>], internet: bool) -> Option<Stance> {
    let found: Vec<Sense> = senses().all(words).into_iter().map(|(_, _, sense)| sense).collect();
    let bad: Vec<Kind> = found
        .iter()
        .filter_map(|sense| match sense {
            Sense::Bad(kind) => Some(*kind),
            _ => None,
        })
        .collect();
    let has = |sense: Sense| found.contains(&sense);
    let negations = found.iter().filter(|sense| **sense == Sense::Not).count() % 2 == 1;
    let over = has(Sense::Over);
    let good = has(Sense::Good);
    if bad.is_empty() && !good && !over {
        // "Users cannot open Telegram": a negation and nothing that says what is wrong.
        return negations.then_some(Stance { kind: kind(&bad, internet), negated: false, over: false });
    }
    let negated = match (bad.is_empty(), over) {
        // "no longer blocked", "unblocked", "the ban was lifted" against "the ban was not lifted".
        (_, true) => !negations || no_longer(words),
        (false, false) => negations,
        // "works" against "does not work".
        (true, false) => !negations,
    };
    Some(Stance { kind: kind(&bad, internet), negated, over: over && negated })
}

/// "no longer" holds its own negation; another one ("not any more") does too.
fn no_longer(words: &[Word<'_>]) -> bool {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.lower.as_str()));
    has(&["more", "anymore", "longer"])
}

fn kind(bad: &[Kind], internet: bool) -> Kind {
    if bad.contains(&Kind::Throttling) {
        return Kind::Throttling;
    }
    // A service that is "shut down" or "cut" is blocked; only connectivity is shut down.
    if internet { Kind::Shutdown } else { Kind::Block }
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    fn read(text: &str) -> Option<(Kind, bool, bool)> {
        stance(&split(text), text.to_lowercase().contains("internet")).map(|s| (s.kind, s.negated, s.over))
    }

    #[test]
    fn negation_and_the_end_of_a_block_are_understood() {
        for (text, expected) in [
            ("Telegram is blocked", (Kind::Block, false, false)),
            ("Telegram is not blocked", (Kind::Block, true, false)),
            ("Telegram isn't blocked", (Kind::Block, true, false)),
            ("Telegram was never blocked", (Kind::Block, true, false)),
            ("Telegram is no longer blocked", (Kind::Block, true, true)),
            ("Telegram is not blocked any more", (Kind::Block, true, true)),
            ("Telegram isn't blocked anymore", (Kind::Block, true, true)),
            ("Telegram was unblocked", (Kind::Block, true, true)),
            ("they lifted the ban on Telegram", (Kind::Block, true, true)),
            ("the ban has not been lifted", (Kind::Block, false, false)),
            ("Telegram is accessible", (Kind::Block, true, false)),
            ("Telegram is not accessible", (Kind::Block, false, false)),
            ("Telegram is inaccessible", (Kind::Block, false, false)),
            ("users cannot open Telegram", (Kind::Block, false, false)),
            ("users can access Telegram", (Kind::Block, true, false)),
            ("the government denied blocking Telegram", (Kind::Block, true, false)),
            ("it is false that Telegram is not blocked", (Kind::Block, false, false)),
            ("Telegram is throttled", (Kind::Throttling, false, false)),
            ("the internet was shut down", (Kind::Shutdown, false, false)),
            ("internet access restored", (Kind::Shutdown, true, true)),
            ("Telegram was shut down", (Kind::Block, false, false)),
            ("Telegram works", (Kind::Block, true, false)),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        assert_eq!(read("Nairobi has nice weather"), None);
    }
}
