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
    /// Ends a measure; says nothing without one.
    Ends,
    /// Blocks a service, but ends a measure.
    Suspends,
    /// It works.
    Good,
    /// It worked again: interference is over, so it had been there.
    Over,
    Not,
    /// Holds a word of negation and negates nothing.
    Aside,
}

/// Words in any form of theirs ([`stem`]), and phrases of them.
const PHRASES: &[(Sense, &[&str])] = &[
    (
        Sense::Bad(Kind::Block),
        &[
            "block",
            "blockage",
            "blacklist",
            "ban",
            "bar",
            "censor",
            "censorship",
            "restrict",
            "restriction",
            "suspension",
            "filter",
            "limit",
            "prohibit",
            "outlaw",
            "forbid",
            "forbidden",
            "denied access",
            "access denied",
            "cut access",
            "no access",
            "without access",
            "interfere with",
            "dns poisoning",
            "dns tampering",
            "firewall",
            "reset",
            "disrupt",
            "disruption",
            "down",
            "out of reach",
            "only with a vpn",
            "only through a vpn",
            "only via a vpn",
            "only over a vpn",
            "only via vpn",
            "only with vpn",
            "need a vpn",
            "require a vpn",
        ],
    ),
    (Sense::Bad(Kind::Throttling), &["throttle", "slow", "slowly", "slowdown", "degrade"]),
    (
        Sense::Bad(Kind::Shutdown),
        &[
            "cut",
            "offline",
            "shutdown",
            "blackout",
            "outage",
            "curfew",
            "disable",
            "disconnect",
            "deactivate",
            "pull the plug",
            "kill switch",
            "sever",
            "gone dark",
            "went dark",
            "go dark",
            "plunged into darkness",
        ],
    ),
    (
        Sense::Good,
        &[
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
            "unblock",
            "unban",
            "restore",
            "reinstate",
            "lift",
            "is back",
            "are back",
            "come back",
            "came back",
            "back on",
            "back online",
            "back up",
            "resume",
            "return",
            "reconnect",
            "reopen",
            "no longer",
            "any more",
            "anymore",
            "any longer",
            "stop blocking",
        ],
    ),
    (Sense::Ends, &["end", "reverse", "revoke", "rescind", "withdraw", "withdrew", "overturn", "cancel", "cancelled"]),
    (Sense::Suspends, &["suspend"]),
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
            "couldn't",
            "unable",
            "won't",
            "nobody",
            "nothing",
            "none",
            "deny",
            "false",
            "untrue",
            "myth",
            "rumour",
            "rumor",
            "fake",
            "hoax",
            "neither",
            "nor",
            "fail to",
            "stop",
            "prevent",
            "lose",
            "lost",
            "hard",
            "difficult",
            "trouble",
            "impossible",
        ],
    ),
    (
        Sense::Aside,
        &[
            "not only",
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

/// Measures by name: what ends one ends the interference.
const MEASURES: [&str; 13] = [
    "block",
    "blockage",
    "ban",
    "censorship",
    "restriction",
    "restrictions",
    "suspension",
    "shutdown",
    "blackout",
    "outage",
    "curfew",
    "throttling",
    "slowdown",
];
/// Before one of these words, "block" and "ban" are no names.
const BEFORE_A_VERB: [&str; 12] =
    ["to", "not", "and", "or", "will", "would", "can", "could", "did", "didn't", "does", "doesn't"];

/// Verbs that say what happens to a line together with "off", "down" or "on", which may stand behind the object.
const VERBS: [&str; 10] = ["shut", "turn", "switch", "cut", "take", "took", "taken", "knock", "keep", "kept"];
/// Words between such a verb and its particle.
const GAP: usize = 5;

fn senses() -> &'static Phrases<Sense> {
    static SENSES: Lazy<Sense> = Lazy::new();
    SENSES.get_or_init(|| {
        let stems = |text: &str| text.split(' ').map(stem).collect::<Vec<String>>().join(" ");
        Phrases::new(PHRASES.iter().flat_map(|(sense, list)| list.iter().map(move |text| (stems(text), *sense))))
    })
}

/// A verb or name without its ending: ban, bans, banned and banning are one. Not a linguist's stem, but the same for
/// sentences and phrases.
fn stem(word: &str) -> String {
    let long = |ending: &str| word.strip_suffix(ending).filter(|rest| rest.len() > 1);
    let mut base = if let Some(rest) = long("ies").or_else(|| long("ied")) {
        format!("{rest}y")
    } else if let Some(rest) = long("ing").or_else(|| long("ed")) {
        let mut ends = rest.chars().rev();
        let doubled = ends.next().zip(ends.next()).is_some_and(|(a, b)| a == b && !matches!(a, 'l' | 's' | 'z'));
        rest.get(..rest.len() - usize::from(doubled)).unwrap_or(rest).to_owned()
    } else if let Some(rest) = long("es").filter(|rest| ["s", "x", "z", "ch", "sh"].iter().any(|e| rest.ends_with(e))) {
        rest.to_owned()
    } else {
        long("s").filter(|rest| !rest.ends_with(['s', 'u', 'i'])).unwrap_or(word).to_owned()
    };
    if base.len() > 3 && base.ends_with('e') {
        base.pop();
    }
    // "used" is not "us".
    if base.len() < 3 && base.len() < word.len() { format!("{base}e") } else { base }
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

/// What each word or phrase of a sentence says, in its order.
fn meanings(words: &[Word<'_>]) -> Vec<Sense> {
    let stems: Vec<Word<'_>> = words.iter().map(|word| Word { lower: stem(&word.lower), ..word.clone() }).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(word) = stems.get(at) {
        let (length, sense) = match senses().at(&stems, at) {
            Some((length, sense)) => (length, Some(sense)),
            None => (1, particle(&stems, at).or_else(|| prefixed(word))),
        };
        found.extend(sense);
        at += length;
    }
    found
}

/// "shut TikTok down", "switch mobile data off", "turn the internet on".
fn particle(stems: &[Word<'_>], at: usize) -> Option<Sense> {
    let verb = stems.get(at).filter(|word| VERBS.contains(&word.lower.as_str()))?;
    let behind = stems.iter().skip(at + 1).take(GAP).map(|word| word.lower.as_str());
    let mut behind = behind.filter(|word| matches!(*word, "off" | "down" | "on" | "back"));
    match behind.next()? {
        "on" => matches!(verb.lower.as_str(), "turn" | "switch" | "keep" | "kept").then_some(Sense::Good),
        // "back on" is found where it stands.
        "back" => None,
        _ => Some(Sense::Bad(Kind::Shutdown)),
    }
}

/// "unusable", "inaccessible": a syllable turns what follows it round.
fn prefixed(stem: &Word<'_>) -> Option<Sense> {
    let rest = stem.lower.strip_prefix("un").or_else(|| stem.lower.strip_prefix("in"))?;
    let rest = [Word { lower: rest.to_owned(), ..stem.clone() }];
    match senses().at(&rest, 0)?.1 {
        Sense::Good => Some(Sense::Bad(Kind::Block)),
        Sense::Bad(_) => Some(Sense::Good),
        _ => None,
    }
}

/// Whether a sentence names a measure, as in "the ban" and unlike "to ban".
fn names_a_measure(words: &[Word<'_>]) -> bool {
    let verb = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        before.is_some_and(|word| BEFORE_A_VERB.contains(&word.lower.as_str()))
    };
    words.iter().enumerate().any(|(at, word)| MEASURES.contains(&word.lower.as_str()) && !verb(at))
}

/// Reads the stance; `None` when nothing in the sentence speaks of reachability.
pub fn stance(words: &[Word<'_>], internet: bool) -> Option<Stance> {
    let mut found = meanings(words);
    let measure = names_a_measure(words);
    for sense in &mut found {
        *sense = match *sense {
            Sense::Ends | Sense::Suspends if measure => Sense::Over,
            Sense::Suspends => Sense::Bad(Kind::Block),
            other => other,
        };
    }
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
        // "Russia stopped Telegram": a negation and nothing that says what is wrong.
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

    #[test]
    fn forms_of_a_word_have_one_stem_and_other_words_keep_theirs() {
        for (forms, expected) in [
            ("ban bans banned banning", "ban"),
            ("throttle throttles throttled throttling", "throttl"),
            ("deny denies denied denying", "deny"),
            ("switch switches switched switching", "switch"),
            ("use uses used using", "use"),
            ("pull pulls pulled pulling", "pull"),
            ("access", "access"),
            ("us", "us"),
            ("is", "is"),
            ("virus", "virus"),
        ] {
            for form in forms.split(' ') {
                assert_eq!(stem(form), expected, "{form}");
            }
        }
    }

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
            ("Telegram is unusable", (Kind::Block, false, false)),
            ("Telegram is unrestricted", (Kind::Block, true, false)),
            ("you can use Telegram without a VPN", (Kind::Block, true, false)),
            ("without a VPN you cannot use Telegram", (Kind::Block, false, false)),
            ("Telegram can be reached only with a VPN", (Kind::Block, false, false)),
            ("not only Telegram is blocked", (Kind::Block, false, false)),
            ("nothing prevents people from using Telegram", (Kind::Block, true, false)),
            ("the suspension of Telegram ended", (Kind::Block, true, true)),
            ("the suspension of Telegram has not ended", (Kind::Block, false, false)),
            ("they suspended Telegram", (Kind::Block, false, false)),
            ("Telegram's block in Brazil was suspended", (Kind::Block, true, true)),
            ("they did not suspend Telegram or block it", (Kind::Block, true, false)),
            ("they switched the internet off", (Kind::Shutdown, false, false)),
            ("they turned the internet back on", (Kind::Shutdown, true, true)),
            ("they kept the internet on", (Kind::Shutdown, true, false)),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        for text in ["Nairobi has nice weather", "there was a power outage in the US", "it was held from us"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
