//! The words that say that something is blocked, slowed, cut off or reachable.

use super::stance::Kind;
use super::words::{Lazy, Pause, Phrases, Word, stem};

/// The meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// Interference that somebody does.
    Bad(Kind),
    /// It does not work, whoever or whatever the cause.
    Fails(Kind),
    /// Forbids people to use a service, or an authority to interfere.
    Forbids,
    /// Ends a measure; says nothing without one.
    Ends,
    /// Blocks a service, but ends a measure.
    Suspends,
    /// It works.
    Good,
    /// It worked again: interference is over, so it had been there.
    Over,
    /// As [`Sense::Over`], but of a measure that it is there again: "reinstated the ban".
    Restores,
    /// Negates what follows.
    Not,
    /// Negates what stands in the same clause, before it or behind.
    Denies,
    /// As [`Sense::Denies`], of something that had been: "stopped", "no longer".
    Ceases,
    /// With a negation: that something had been.
    AnyMore,
    /// Holds a word of negation and negates nothing.
    Aside,
}

/// Words in any form of theirs ([`stem`]), and phrases of them.
const PHRASES: &[(Sense, &[&str])] = &[
    (
        Sense::Bad(Kind::Block),
        &[
            "limit",
            "poison",
            "hijack",
            "127.0.0.1",
            "0.0.0.0",
            "blockpage",
            "block page",
            "block pages",
            "dpi",
            "deep packet inspection",
            "reimpose",
            "reblock",
            "impose",
            "only with a vpn",
            "only through a vpn",
            "only via a vpn",
            "only over a vpn",
            "only via vpn",
            "only with vpn",
            "access denied",
            "denied access",
            "block",
            "blockage",
            "blacklist",
            "censor",
            "censorship",
            "restrict",
            "restriction",
            "suspension",
            "filter",
            "outlaw",
            "cut access",
            "interfere with",
            "dns tampering",
            "firewall",
        ],
    ),
    (
        Sense::Fails(Kind::Block),
        &[
            "down",
            "disrupt",
            "disruption",
            "interrupt",
            "interruption",
            "out of reach",
            "no access",
            "without access",
            "reset",
            "time out",
            "intermittent",
            "patchy",
            "spotty",
            "timeout",
            "error page",
            "dead",
            "need a vpn",
            "require a vpn",
            "vpn is needed",
            "vpn needed",
            "vpn is required",
        ],
    ),
    (
        Sense::Fails(Kind::Shutdown),
        &[
            "offline",
            "blackout",
            "outage",
            "collapse",
            "gone dark",
            "went dark",
            "go dark",
            "plunged into darkness",
            "is off",
            "was off",
            "were off",
            "are off",
            "intermittently off",
            "internet off",
            "been off",
            "went off",
            "off since",
            "off for",
            "off nationwide",
            "is dark",
            "go dark",
            "goes dark",
            "still off",
            "remain off",
            "stay off",
        ],
    ),
    (Sense::Forbids, &["bar", "forbid", "forbidden", "forbade", "prohibit", "ban"]),
    (
        Sense::Restores,
        &["restore", "reinstate", "resume", "return", "is back under", "are back under", "back under", "back behind"],
    ),
    (
        Sense::Denies,
        &[
            "deny",
            "false",
            "untrue",
            "myth",
            "fake",
            "hoax",
            "baseless",
            "unfounded",
            "groundless",
            "no truth",
            "never happen",
            "not happen",
            "didn't happen",
            "not real",
            "isn't real",
            "wasn't real",
            "never exist",
            "not exist",
            "doesn't exist",
            "didn't exist",
            "a rumour",
            "a rumor",
            "deny rumour",
            "deny rumor",
            "a lie",
            "reject",
            "veto",
            "throw out",
            "threw out",
            "hasn't taken effect",
            "not taken effect",
            "not take effect",
            "never took effect",
            "was refused",
            "were refused",
            "been refused",
            "debunk",
            "doubt that",
            "doubt whether",
            "not true",
            "isn't true",
            "wasn't true",
            "incorrect",
            "is wrong",
            "was wrong",
            "are wrong",
            "is a lie",
            "was a lie",
            "refute",
            "lose",
            "lost",
            "hard",
            "difficult",
            "trouble",
            "impossible",
            "prevent",
        ],
    ),
    (Sense::Ceases, &["stop", "cease", "quit", "halt", "no longer"]),
    (Sense::AnyMore, &["any more", "anymore", "any longer"]),
    (Sense::Bad(Kind::Throttling), &["throttle", "slow", "slower", "slowly", "slowdown", "degrade", "crawl"]),
    (
        Sense::Bad(Kind::Shutdown),
        &[
            "snap",
            "unplug",
            "pull the plug on",
            "cut",
            "black out",
            "jam",
            "shutdown",
            "curfew",
            "disable",
            "disconnect",
            "deactivate",
            "pull the plug",
            "kill switch",
            "sever",
        ],
    ),
    (
        Sense::Good,
        &[
            "operate",
            "allow",
            "permit",
            "no vpn is needed",
            "no vpn needed",
            "no vpn is required",
            "no vpn is necessary",
            "no need for a vpn",
            "access",
            "accessible",
            "reach",
            "reachable",
            "available",
            "work",
            "up",
            "open",
            "load",
            "use",
            "usable",
            "read",
            "watch",
            "visit",
            "browse",
            "connect",
            "get on",
            "log in",
            "possible",
            "online",
            "operable",
            "function",
            "fine",
            "unaffected",
        ],
    ),
    (
        Sense::Over,
        &[
            "regain",
            "free from",
            "free of restriction",
            "freed",
            "restoration",
            "back to normal",
            "internet back",
            "connectivity back",
            "access back",
            "back in service",
            "unblock",
            "unban",
            "lift",
            "is back",
            "are back",
            "was back",
            "were back",
            "come back",
            "came back",
            "been back",
            "is history",
            "thing of the past",
            "back on",
            "back online",
            "back up",
            "reconnect",
            "reopen",
        ],
    ),
    (
        Sense::Ends,
        &[
            "drop",
            "remove",
            "removal",
            "expire",
            "ease",
            "relax",
            "scrap",
            "repeal",
            "annul",
            "annull",
            "quash",
            "abolish",
            "terminate",
            "discontinue",
            "call off",
            "struck down",
            "was over",
            "is over",
            "were over",
            "are over",
            "end",
            "reverse",
            "revoke",
            "rescind",
            "withdraw",
            "withdrew",
            "overturn",
            "cancel",
            "cancelled",
        ],
    ),
    (Sense::Suspends, &["suspend"]),
    (
        Sense::Not,
        &[
            "hardly",
            "scarcely",
            "barely",
            "anything but",
            "yet to",
            "not yet",
            "refuse to",
            "decline to",
            "avoid",
            "refrain",
            "abstain",
            "decide against",
            "decided against",
            "ruled out",
            "rules out",
            "rule out",
            "escape",
            "spare",
            "exempt",
            "survive",
            "ain't",
            "aint",
            "wouldn't",
            "few can",
            "few could",
            "few in",
            "few people",
            "few users",
            "not",
            "isn't",
            "isnt",
            "arent",
            "wasnt",
            "werent",
            "dont",
            "doesnt",
            "didnt",
            "hasnt",
            "havent",
            "cant",
            "couldnt",
            "wont",
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
            "couldn't",
            "unable",
            "won't",
            "nobody",
            "nothing",
            "none",
            "neither",
            "fail to",
            "rather than",
            "instead of",
        ],
    ),
    (
        Sense::Aside,
        &[
            "access now",
            "crack down",
            "clamp down",
            "back down",
            "step down",
            "double down",
            "true or false",
            "hear a rumour",
            "hear a rumor",
            "no choice",
            "no option",
            "no alternative",
            "not sure",
            "reject an appeal",
            "reject the appeal",
            "reject a petition",
            "reject a challenge",
            "reject appeals",
            "no reason",
            "no explanation",
            "no warning",
            "without warning",
            "without explanation",
            "without notice",
            "without a court order",
            "unless they use a vpn",
            "no matter",
            "contrary to reports",
            "contrary to claims",
            "contrary to rumours",
            "a few",
            "last few",
            "past few",
            "uses a vpn",
            "use a vpn",
            "not only",
            "not just",
            "not merely",
            "not simply",
            "not solely",
            "nothing but",
            "didn't just",
            "didn't only",
            "didn't merely",
            "didn't simply",
            "doesn't just",
            "doesn't only",
            "doesn't merely",
            "nothing less than",
            "no one disputes",
            "nobody disputes",
            "no one denies",
            "nobody denies",
            "no one doubts",
            "nobody doubts",
            "cannot be denied",
            "not all",
            "not every",
            "not each",
            "no doubt",
            "whether or not",
            "no wonder",
            "without a vpn",
            "without vpn",
            "without any vpn",
            "without a proxy",
            "without problem",
            "without any problem",
            "without trouble",
            "without any trouble",
            "without issue",
            "no problem",
            "no trouble",
            "power outage",
            "power cut",
            "power blackout",
            "government shutdown",
        ],
    ),
];

/// Verbs that say what happens to a line together with "off", "down" or "on", which may stand behind the object.
const VERBS: [&str; 12] =
    ["shut", "clos", "kill", "turn", "switch", "cut", "take", "took", "taken", "knock", "keep", "kept"];
/// Those that need no particle when they are said of a line.
const CLOSE: [&str; 3] = ["shut", "clos", "kill"];
/// Words between such a verb and its particle.
const GAP: usize = 5;

fn senses() -> &'static Phrases<Sense> {
    static SENSES: Lazy<Sense> = Lazy::new();
    SENSES.get_or_init(|| {
        let stems = |text: &str| text.split(' ').map(stem).collect::<Vec<String>>().join(" ");
        Phrases::new(PHRASES.iter().flat_map(|(sense, list)| list.iter().map(move |text| (stems(text), *sense))))
    })
}

/// What each word or phrase of a sentence says, with its place, in order.
pub fn meanings(words: &[Word<'_>]) -> Vec<(usize, Sense)> {
    let stems: Vec<Word<'_>> = words.iter().map(|word| Word { lower: stem(&word.lower), ..word.clone() }).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(word) = stems.get(at) {
        let (length, sense) = match senses().at(&stems, at) {
            Some((length, sense)) => (length, Some(sense)),
            None => (1, particle(&stems, at).or_else(|| prefixed(word)).or_else(|| missed(&stems, at))),
        };
        // "No, it is not blocked" answers a question, and negates once.
        let answers = at == 0 && word.lower == "no" && stems.get(1).is_some_and(|next| next.pause != Pause::None);
        // "Isn't Telegram blocked?" asks whether it is.
        let inverted = at == 0
            && matches!(
                word.lower.as_str(),
                "isn't" | "wasn't" | "aren't" | "weren't" | "didn't" | "doesn't" | "hasn't"
            )
            && words.get(1).is_some_and(|next| next.is_capital() || next.lower == "the");
        // "Fined" is not "fine".
        let fined = words.get(at).is_some_and(|word| matches!(word.lower.as_str(), "fined" | "fines" | "fining"));
        found.extend(sense.filter(|_| !answers && !inverted && !fined).map(|sense| (at, sense)));
        at += length;
    }
    found
}

/// "Almost blocked" is not blocked.
fn missed(stems: &[Word<'_>], at: usize) -> Option<Sense> {
    let nearly = stems.get(at).is_some_and(|word| matches!(word.lower.as_str(), "almost" | "nearly"));
    let next = senses().at(stems, at + 1).map(|(_, sense)| sense).or_else(|| particle(stems, at + 1));
    (nearly && matches!(next, Some(Sense::Bad(_) | Sense::Forbids | Sense::Suspends))).then_some(Sense::Not)
}

/// "shut TikTok down", "switch mobile data off", "turn the internet on".
fn particle(stems: &[Word<'_>], at: usize) -> Option<Sense> {
    let verb = stems.get(at).filter(|word| VERBS.contains(&word.lower.as_str()))?;
    let behind = stems.iter().skip(at + 1).take(GAP).map(|word| word.lower.as_str());
    let mut behind = behind.filter(|word| matches!(*word, "off" | "down" | "on" | "back"));
    match behind.next() {
        Some("on") if matches!(verb.lower.as_str(), "turn" | "switch" | "keep" | "kept") => Some(Sense::Good),
        Some("off" | "down") => Some(Sense::Bad(Kind::Shutdown)),
        // "back on" is found where it stands, and "on" may belong to a date.
        _ => closes(stems, at),
    }
}

/// "shut the internet", "mobile data was shut", "shut TikTok".
fn closes(stems: &[Word<'_>], at: usize) -> Option<Sense> {
    const LINES: [&str; 11] = [
        "internet",
        "web",
        "net",
        "network",
        "connectivity",
        "data",
        "broadband",
        "access",
        "telecom",
        "communication",
        "line",
    ];
    let lower = |word: &Word<'_>| word.lower.clone();
    let line = |word: &Word<'_>| LINES.contains(&lower(word).as_str());
    let around = stems.get(at.saturating_sub(3)..stems.len().min(at + GAP + 1)).unwrap_or_default();
    let name = stems.get(at + 1).is_some_and(|word| word.is_capital() && !word.aside);
    let shuts = CLOSE.contains(&stems.get(at)?.lower.as_str()) && (around.iter().any(line) || name);
    shuts.then_some(Sense::Bad(Kind::Shutdown))
}

/// "unusable", "inaccessible": a syllable turns what follows it round.
fn prefixed(stem: &Word<'_>) -> Option<Sense> {
    let rest = stem.lower.strip_prefix("un").or_else(|| stem.lower.strip_prefix("in"))?;
    let rest = [Word { lower: rest.to_owned(), ..stem.clone() }];
    match senses().at(&rest, 0)?.1 {
        Sense::Good => Some(Sense::Fails(Kind::Block)),
        Sense::Bad(_) | Sense::Fails(_) => Some(Sense::Good),
        _ => None,
    }
}
