//! On how many networks a claim says that it was so: "all ISPs", "two of four operators", "at least ten networks".

use super::dates::{self, Reader};
use super::lexicon::Words;
use super::relative::quantity;
use super::words::Word;

/// What else is counted beside networks, where their number says as little of one of them.
const OTHERS: [&str; 5] = ["companies", "company", "services", "platforms", "regions"];

/// Whether a word is what a share is of: networks, or what else is counted like them.
fn is_counted(word: &str) -> bool {
    is_network(word) || OTHERS.contains(&word)
}

/// Of how many networks it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    All,
    Most,
    Some,
    One,
    /// "All mobile networks", "all three operators": so where all are, and unknown elsewhere.
    OfAKind,
    /// "On 7 networks", "at least ten".
    Count {
        least: u32,
        most: u32,
    },
    /// Another share, or all but some.
    Other,
}

const HOW_MANY: [(&str, Share); 23] = [
    ("dozen", Share::Other),
    ("dozens", Share::Other),
    ("scores", Share::Other),
    ("hundreds", Share::Other),
    ("third", Share::Other),
    ("thirds", Share::Other),
    ("quarter", Share::Other),
    ("quarters", Share::Other),
    ("handful", Share::Other),
    ("all", Share::All),
    ("every", Share::All),
    ("each", Share::All),
    ("most", Share::Most),
    ("majority", Share::Most),
    ("some", Share::Some),
    ("several", Share::Some),
    ("multiple", Share::Some),
    ("single", Share::One),
    ("one", Share::One),
    ("few", Share::Other),
    ("half", Share::Other),
    ("both", Share::Other),
    ("many", Share::Other),
];

/// What verdicts of networks count.
static NETWORKS: Words = Words::of("shares networks");

/// Whether a word is one for networks.
pub fn is_network(word: &str) -> bool {
    NETWORKS.contains(&word)
}

/// Networks that must be decided before they speak for all. Our choice.
pub const ENOUGH: usize = 3;

impl Share {
    /// Whether it is so of networks of which so many are decided and so many of those blocked.
    pub fn holds(self, blocked: usize, decided: usize) -> bool {
        match self {
            Share::All | Share::OfAKind => decided >= ENOUGH && blocked == decided,
            Share::Most => decided >= ENOUGH && blocked * 2 > decided,
            Share::Some => blocked >= 2,
            Share::One => decided >= ENOUGH && blocked == 1,
            Share::Count { least, most } => {
                u32::try_from(blocked).is_ok_and(|blocked| (least..=most).contains(&blocked))
            }
            Share::Other => false,
        }
    }

    /// Whether so few are blocked of those that are decided, or so many, that it cannot be so.
    pub fn is_opposed(self, blocked: usize, decided: usize) -> bool {
        match self {
            Share::All => blocked < decided,
            Share::Most => decided >= ENOUGH && blocked * 2 <= decided,
            Share::One => blocked > 1,
            // Fewer than are claimed, where as many were measured.
            Share::Count { least, most } => {
                let (least, most) = (least as usize, most as usize);
                decided >= ENOUGH && (blocked > most || blocked < least && least <= decided)
            }
            _ => false,
        }
    }
}

/// "Two of four operators", "10 Kenyan networks", "99 percent of networks": a number at a place, of networks.
fn counted(reader: &Reader<'_>, at: usize) -> Option<Share> {
    let network = |at: usize| reader.is(at, &NETWORKS);
    let (length, number) = quantity(reader, at)?;
    let exact = reader.is(at, &["a", "an", "few", "several", "couple"]) || reader.read(at, dates::year).is_some();
    let number = u32::try_from(number).ok().filter(|_| !exact)?;
    let behind = at + length;
    if reader.is(behind, &["percent", "per"]) {
        return (behind..behind + 6).any(network).then_some(Share::Other);
    }
    if reader.is(behind, &["of"]) {
        let of_all = (1..=2).any(|on| quantity(reader, behind + on).is_some());
        return (1..=4).any(|on| network(behind + on)).then(|| match number {
            1 => Share::One,
            // A percentage lost its sign.
            _ if !of_all && number > MOST_WITHOUT_ALL => Share::Other,
            _ => bounded(reader, at, number),
        });
    }
    let to = (behind..behind + 3).find(|at| network(*at))?;
    let between = |at: usize| {
        reader.month(at).is_none() && (reader.word(at).is_some_and(Word::is_capital) || reader.is(at, &KINDS))
    };
    let one = number == 1 && !matches!(reader.before(at, 1), "least" | "than");
    (behind..to).all(between).then(|| if one { Share::One } else { bounded(reader, at, number) })
}

/// Of a larger number "of networks", and not "of twenty networks", nobody speaks but in percent.
const MOST_WITHOUT_ALL: u32 = 12;
/// Words between a number and the networks.
static KINDS: Words = Words::of("shares kinds");

/// A number as the words before it mean it.
fn bounded(reader: &Reader<'_>, at: usize, number: u32) -> Share {
    let (least, most) = match (reader.before(at, 2), reader.before(at, 1)) {
        ("at", "least") => (number, u32::MAX),
        ("more", "than") | (_, "over") => (number.saturating_add(1), u32::MAX),
        ("fewer" | "less", "than") | (_, "under") => (0, number.saturating_sub(1)),
        // Who says "up to fifteen" means that it was nearly so many.
        ("up", "to") => (number.div_ceil(2), number),
        (_, "about" | "around" | "nearly" | "almost" | "roughly" | "some") => {
            (number - number / 4, number.saturating_add(number / 4))
        }
        _ => (number, number),
    };
    Share::Count { least, most }
}

/// Words before "all" that take from it, and before networks that name some kinds of them.
const FEWER: [&str; 6] = ["not", "nearly", "almost", "virtually", "practically", "hardly"];
const SOME_KINDS: [&str; 10] =
    ["mobile", "major", "big", "large", "main", "fixed", "private", "other", "state", "cellular"];

/// "All Kenyan ISPs", "on a single network".
pub fn share(words: &[Word<'_>], at: usize) -> Option<Share> {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let reader = Reader { words, shouting: false };
    if let Some(share) = counted(&reader, at) {
        return Some(share);
    }
    let (_, share) = HOW_MANY.iter().find(|(word, _)| *word == lower(at))?;
    let one = *share == Share::One;
    // "One network" is one, "one Nigerian network" too, and "one activist's network" is none.
    let reach = if one { 1 + usize::from(words.get(at + 1).is_some_and(Word::is_capital)) } else { 4 };
    let of = (1..=reach).find(|on| is_counted(lower(at + on)))?;
    let counted = NETWORKS.contains(&lower(at + of));
    let excepted =
        words.iter().any(|word| matches!(word.lower.as_str(), "except" | "but" | "excluding" | "save" | "apart"));
    // "Not all", "nearly all", "all major networks", "all three operators": of fewer than all.
    let whole = matches!(share, Share::All | Share::Most);
    let fewer = whole && FEWER.contains(&reader.before(at, 1));
    let kind = (1..of).any(|on| reader.is(at + on, &SOME_KINDS) || quantity(&reader, at + on).is_some());
    (!one || counted).then_some(match counted && !excepted && !fewer {
        true if whole && kind => Share::OfAKind,
        true => *share,
        false => Share::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_networks_holds_for_as_many_and_for_no_others() {
        for (share, holds, fails) in [
            (Share::Count { least: 7, most: 7 }, 7, 3),
            (Share::Count { least: 10, most: u32::MAX }, 12, 4),
            (Share::Count { least: 0, most: 2 }, 1, 4),
            (Share::All, 9, 3),
            (Share::One, 1, 2),
        ] {
            assert!(share.holds(holds, 9), "{share:?}");
            assert!(!share.holds(fails, 9), "{share:?}");
        }
        for (share, blocked, opposed) in [
            (Share::All, 2, true),
            (Share::All, 6, false),
            (Share::Most, 3, true),
            (Share::Most, 4, false),
            (Share::OfAKind, 2, false),
            (Share::Some, 1, false),
        ] {
            assert_eq!(share.is_opposed(blocked, 6), opposed, "{share:?} of {blocked}");
        }
    }

    #[test]
    fn what_is_less_than_all_is_not_all() {
        for (text, expected) in [
            ("all Kenyan operators", Share::All),
            ("not all networks", Share::Other),
            ("nearly all networks", Share::Other),
            ("all mobile networks", Share::OfAKind),
            ("all three operators", Share::OfAKind),
        ] {
            let words = super::super::words::split(text);
            assert_eq!((0..words.len()).find_map(|at| share(&words, at)), Some(expected), "{text}");
        }
    }
}
