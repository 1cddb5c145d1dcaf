//! What a claim says about its subject: blocked, slowed, cut off, or reachable.

use super::lexicon::Words;
use super::means;
use super::measures::{measure, names_a_measure};
use super::senses::{Sense, meanings};
use super::words::{Word, stem};

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

    /// What was done to a service.
    pub const fn done(self) -> &'static str {
        match self {
            Kind::Block => "blocked",
            Kind::Throttling => "throttled",
            Kind::Shutdown => "shut down",
        }
    }
}

/// What a claim states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stance {
    pub kind: Kind,
    /// The claim is that there is no interference: it works, it is not blocked, it is over.
    pub negated: bool,
    /// ... because it is over.
    pub over: bool,
    /// Somebody is said to do it, and not only that it does not work.
    pub deliberate: bool,
    /// It is said of all times.
    pub never: bool,
    /// Its words fit any interference: "restricted", "disrupted".
    pub any_kind: bool,
}

/// What the words of a clause say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub stance: Stance,
    /// The same without its negations: what "but Russia does" repeats.
    pub bare: Stance,
    /// It names something bad, or says only that something works; neither where there is no more than a negation.
    pub bad: bool,
    pub works: bool,
}

impl Reading {
    /// Whether it has more than a negation.
    pub fn has_verb(&self) -> bool {
        self.bad || self.works || self.bare.over
    }
}

/// Reads a clause; `None` when nothing in it speaks of reachability.
pub fn read(words: &[Word<'_>], internet: bool) -> Option<Reading> {
    let senses = resolved(words);
    let negations = |sense: Sense| matches!(sense, Sense::Not | Sense::Denies | Sense::Ceases | Sense::AnyMore);
    let without: Vec<(usize, Sense)> = senses.iter().copied().filter(|(_, sense)| !negations(*sense)).collect();
    let mut stance = weigh(&senses, words, internet)?;
    let has = |wanted: &dyn Fn(Sense) -> bool| senses.iter().any(|(_, sense)| wanted(*sense));
    let bad = has(&|sense| matches!(sense, Sense::Bad(_) | Sense::Fails(_)));
    let works = has(&|sense| sense == Sense::Good) && !bad && !has(&|sense| sense == Sense::Over);
    let mut bare = weigh(&without, words, internet).unwrap_or(stance);
    // What works by a way around does not work without one.
    if works && stance.negated && means::reached_by(words) {
        for stance in [&mut stance, &mut bare] {
            (stance.negated, stance.over, stance.kind) = (false, false, Kind::Block);
        }
    }
    Some(Reading { stance, bare, bad, works })
}

/// The senses of a clause, those decided that depend on what stands beside them.
fn resolved(words: &[Word<'_>]) -> Vec<(usize, Sense)> {
    let found = meanings(words);
    let has_measure = names_a_measure(words);
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let mut senses = Vec::with_capacity(found.len());
    for (number, (at, sense)) in found.iter().enumerate() {
        let next = found.get(number + 1);
        let bad_next = next.filter(|(_, sense)| matches!(sense, Sense::Bad(_) | Sense::Fails(_) | Sense::Forbids));
        let resolved = match sense {
            Sense::Ends if has_measure => Some(Sense::Over),
            Sense::Suspends if suspends_a_measure(words, *at) => Some(Sense::Over),
            Sense::Suspends => Some(Sense::Bad(Kind::Block)),
            Sense::Ends => None,
            // "barred the government from interfering" against "bars people from using".
            Sense::Forbids => Some(match bad_next {
                Some((to, _)) if (*at + 1..*to).any(|at| matches!(lower(at), "from" | "to")) => Sense::Denies,
                _ => Sense::Bad(Kind::Block),
            }),
            // "A judge stopped Kenya from blocking it": it was not done, and did not end.
            Sense::Ceases => Some(match bad_next {
                Some((to, _)) if (*at + 1..*to).any(|at| lower(at) == "from") => Sense::Denies,
                _ => *sense,
            }),
            // "The block of X does not work"
            Sense::Good if is_without_effect(words, *at) => Some(Sense::Denies),
            // "Blocked the ban", "blocked the government from banning it".
            Sense::Bad(Kind::Block) if stem(lower(*at)) == "block" => Some(match bad_next {
                Some((to, _)) if undoes(words, *at, *to) => Sense::Denies,
                _ => *sense,
            }),
            Sense::Restores => match bad_next {
                Some((to, _)) if (*at + 1..*to).all(|at| DETERMINERS.contains(&lower(at))) => None,
                _ if measure_before(words, *at) => None,
                _ => Some(Sense::Over),
            },
            other => Some(*other),
        };
        senses.extend(resolved.map(|sense| (*at, sense)));
    }
    senses
}

/// "The block of X does not work": of a measure by name, and not of a service that is blocked.
fn is_without_effect(words: &[Word<'_>], at: usize) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let not = at.checked_sub(1).is_some_and(|at| matches!(lower(at), "not" | "doesn't" | "didn't" | "isn't"));
    let before = words.get(..at).unwrap_or_default();
    let done = before.iter().any(|word| word.lower.ends_with("ed"));
    not && stem(lower(at)) == "work"
        && !done
        && measure(before).is_some_and(|found| before.len() - found <= MOST_OF_A_MEASURE)
}

/// Most words from a measure to what is said of it.
const MOST_OF_A_MEASURE: usize = 8;

/// "Suspended the ban", "the ban was suspended"; an order to suspend a service is none of it.
fn suspends_a_measure(words: &[Word<'_>], at: usize) -> bool {
    const ORDERS: [&str; 4] = ["order", "ruling", "decision", "suspension"];
    let named = |range: std::ops::Range<usize>| {
        let part = words.get(range).unwrap_or_default();
        measure(part).and_then(|found| part.get(found)).map(|word| word.lower.as_str())
    };
    let is = |at: usize, list: &[&str]| words.get(at).is_some_and(|word| list.contains(&word.lower.as_str()));
    let passive = (1..=2).any(|back| at.checked_sub(back).is_some_and(|at| is(at, &["was", "were", "been", "is"])));
    let behind = named(at + 1..(at + 5).min(words.len())).is_some();
    behind || passive && named(0..at).is_some_and(|measure| !ORDERS.contains(&measure))
}

/// Whether a verb of blocking is said of a measure, and not of a service.
fn undoes(words: &[Word<'_>], verb: usize, measure: usize) -> bool {
    static BEFORE: Words = Words::of("stance before");
    let between = words.get(verb + 1..measure).unwrap_or_default();
    let doing = words.get(measure).is_some_and(|word| word.lower.ends_with("ing"));
    let from = doing && between.iter().any(|word| word.lower == "from");
    let article = !between.is_empty() && between.iter().all(|word| BEFORE.contains(&word.lower.as_str()));
    from || article && names_a_measure(words.get(measure..=measure).unwrap_or_default())
}

/// Words between "restored" and the measure that is meant.
const DETERMINERS: [&str; 15] =
    ["back", "behind", "its", "the", "a", "an", "their", "his", "that", "this", "full", "partial", "under", "to", "of"];

/// "The ban on Telegram was reinstated", unlike "after the ban Telegram was reinstated".
fn measure_before(words: &[Word<'_>], at: usize) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let before = words.get(..at).unwrap_or_default();
    let measure =
        before.iter().position(|word| matches!(word.lower.as_str(), "ban" | "block" | "restrictions" | "restriction"));
    measure.is_some_and(|found| {
        let apart = (found.saturating_sub(2)..found).any(|at| matches!(lower(at), "after" | "following" | "since"));
        !apart && before.iter().any(|word| matches!(word.lower.as_str(), "was" | "were" | "been"))
    })
}

/// Words that end what a negation reaches: a reason follows.
const REASONS: [&str; 9] = ["because", "due", "owing", "after", "following", "despite", "amid", "thanks", "since"];

/// The stance that senses add up to.
fn weigh(senses: &[(usize, Sense)], words: &[Word<'_>], internet: bool) -> Option<Stance> {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let has = |wanted: Sense| senses.iter().any(|(_, sense)| *sense == wanted);
    let matters = |sense: Sense| is_bad(sense) || matches!(sense, Sense::Good | Sense::Over);
    let said: Vec<(usize, Sense, bool)> = senses
        .iter()
        .filter(|(_, sense)| matters(*sense))
        .map(|(at, sense)| (*at, *sense, is_negated(senses, words, (*at, *sense))))
        .collect();
    let of = |wanted: &dyn Fn(Sense) -> bool| -> Vec<bool> {
        said.iter().filter(|(_, sense, _)| wanted(*sense)).map(|(.., negated)| *negated).collect()
    };
    let (over, bad, good) = (of(&|sense| sense == Sense::Over), of(&is_bad), of(&|sense| sense == Sense::Good));
    let stance = |negated: bool, is_over: bool| Stance {
        kind: kind(&said, internet, negated),
        negated,
        over: is_over && negated,
        deliberate: senses.iter().any(|(_, sense)| matches!(sense, Sense::Bad(_))),
        never: is_of_all_times(words, negated || over.is_empty()),
        any_kind: bad_places(senses).all(|at| ANY_KIND.contains(&stem(lower(at)).as_str())),
    };
    let ceased = has(Sense::Ceases) || has(Sense::AnyMore);
    Some(if let Some(negated) = over.first() {
        stance(!negated, true)
    } else if !bad.is_empty() {
        stance(bad.iter().all(|negated| *negated), ceased)
    } else if !good.is_empty() {
        let fails = good.contains(&true);
        stance(!fails, words.iter().any(|word| word.lower == "again"))
    } else if has(Sense::Spares) || senses.iter().any(|(at, _)| SPARES.contains(&stem(lower(*at)).as_str())) {
        stance(true, false)
    } else if has(Sense::Denies)
        || has(Sense::Ceases)
        || senses.iter().any(|(at, sense)| *sense == Sense::Not && lower(*at) != "not")
    {
        // "Russia stopped Telegram": a negation and nothing that says what is wrong; "hardly anyone lost it" has two.
        let negations = |sense: Sense| matches!(sense, Sense::Not | Sense::Denies | Sense::Ceases);
        let twice = senses.iter().filter(|(_, sense)| negations(*sense)).count() == 2 && has(Sense::Not);
        stance(twice && !has(Sense::Good), false)
    } else {
        return None;
    })
}

fn is_bad(sense: Sense) -> bool {
    matches!(sense, Sense::Bad(_) | Sense::Fails(_))
}

/// Whether an odd number of negations reaches a word.
fn is_negated(senses: &[(usize, Sense)], words: &[Word<'_>], (target, sense): (usize, Sense)) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    // "access to it is blocked": what is blocked, and not that it works.
    let noun =
        |at: usize| lower(at) == "access" && matches!(lower(at + 1), "to" | "from" | "in" | "is" | "was" | "has");
    let last =
        senses.iter().filter(|(_, s)| is_bad(*s) || matches!(s, Sense::Good | Sense::Over)).map(|(at, _)| *at).max();
    // The nearest of what ends a negation: a sentence of many must not be read once for each two of them.
    let before = |wanted: &dyn Fn(usize, Sense) -> bool| {
        senses.iter().rev().find(|(at, sense)| *at < target && wanted(*at, *sense)).map(|(at, _)| *at)
    };
    let works = before(&|at, sense| sense == Sense::Good && !noun(at));
    let bad = before(&|_, sense| matches!(sense, Sense::Bad(_) | Sense::Fails(_)));
    let reason = (0..target).rev().find(|at| REASONS.contains(&lower(*at)));
    let reaches = |(at, negation): &(usize, Sense)| match negation {
        Sense::Not | Sense::Denies | Sense::Ceases if *at < target => {
            let told = *negation == Sense::Denies && !REFUSALS.contains(&lower(*at));
            // "Instead of blocking it they slowed it": the next alone.
            let nearest = bad.is_some_and(|bad| *at < bad) && matches!(lower(*at), "instead" | "rather");
            let works = works.is_some_and(|works| *at < works);
            reason.is_none_or(|reason| reason < *at) && !nearest && (told || !is_bad(sense) || !works)
        }
        // "It blocked neither of them": right behind what it negates.
        Sense::Not => lower(*at) == "neither" && is_bad(sense) && (target + 1..target + 3).contains(at),
        // Behind everything: "reports that it is blocked are false", "access was lost".
        // ... and not what it was done for: "blocked to stop cheating".
        Sense::Denies | Sense::Ceases => {
            last.is_some_and(|last| *at > last) && at.checked_sub(1).is_none_or(|at| lower(at) != "to")
        }
        _ => false,
    };
    // "Denied rumours", "a false claim, debunked": who says twice that it is untrue says it once.
    let untrue = |found: &&(usize, Sense)| found.1 == Sense::Denies && UNTRUE.contains(&stem(lower(found.0)).as_str());
    let told = senses.iter().filter(|found| reaches(found)).filter(untrue).count();
    let mut count = senses.iter().filter(|found| reaches(found)).count() - told.saturating_sub(1);
    // "Neither blocked nor throttled" negates each of them once.
    if senses.iter().any(|(at, _)| *at < target && lower(*at) == "neither") && count > 1 {
        count -= senses.iter().filter(|(at, _)| *at < target && lower(*at) == "nor").count();
    }
    count % 2 == 1
}

/// Words, without their endings, for what is said and untrue, and for saying so.
static UNTRUE: Words = Words::of("stance untrue");

/// Verbs, without their endings, of what is not blocked while other things are.
const SPARES: [&str; 3] = ["spar", "exempt", "surviv"];

/// [`Sense::Denies`] that speak of what people can do, and not of what is said.
const REFUSALS: [&str; 10] =
    ["lose", "lost", "loses", "losing", "hard", "difficult", "trouble", "impossible", "was", "were"];

/// Words, without their endings, for interference of any kind.
const ANY_KIND: [&str; 8] =
    ["restrict", "restriction", "limit", "disrupt", "disruption", "interrupt", "interruption", "interfer"];

/// "Never", "ever"; but "never lifted" is said of now, and so is "ever since".
fn is_of_all_times(words: &[Word<'_>], begun: bool) -> bool {
    words.iter().enumerate().any(|(at, word)| match word.lower.as_str() {
        "never" => begun,
        "ever" => words.get(at + 1).is_none_or(|next| next.lower != "since"),
        _ => false,
    })
}

/// Where something bad is said.
fn bad_places(senses: &[(usize, Sense)]) -> impl Iterator<Item = usize> {
    senses.iter().filter(|(_, sense)| matches!(sense, Sense::Bad(_) | Sense::Fails(_))).map(|(at, _)| *at)
}

/// The kind of what is said, where each sense tells whether it is negated.
fn kind(said: &[(usize, Sense, bool)], internet: bool, negated: bool) -> Kind {
    let throttling = |sense: Sense| matches!(sense, Sense::Bad(Kind::Throttling));
    // "Blocked, not throttled": of what is denied the claim has no kind.
    let counts = |denied: bool| negated || !denied;
    let is = |wanted: &dyn Fn(Sense) -> bool| said.iter().any(|(_, sense, denied)| counts(*denied) && wanted(*sense));
    // "Neither blocked nor throttled" denies more than throttling.
    let blocked = negated && is(&|sense| matches!(sense, Sense::Bad(_)) && !throttling(sense));
    if is(&throttling) && !blocked {
        return Kind::Throttling;
    }
    // A service that is "shut down" or "cut" is blocked; only connectivity is shut down.
    if internet { Kind::Shutdown } else { Kind::Block }
}

static DONE: Words = Words::of("stance done");
static ENDED: Words = Words::of("stance ended");

/// "Kenya blocked Telegram": somebody did it, at some time that is past. "Telegram blocked in Kenya" and "Kenya has blocked
/// Telegram" tell of now.
pub fn was_done(words: &[Word<'_>]) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let object = |at: usize| {
        let name = words.get(at).is_some_and(|word| word.pause == super::words::Pause::None && word.is_capital());
        name || OBJECTS.contains(&lower(at))
    };
    let helped = |at: usize| (1..=2).any(|back| at.checked_sub(back).is_some_and(|at| HELPERS.contains(&lower(at))));
    (1..words.len()).any(|at| DONE.contains(&lower(at)) && object(at + 1) && !helped(at))
}

/// What begins an object.
const OBJECTS: [&str; 13] =
    ["the", "its", "all", "access", "internet", "mobile", "social", "several", "both", "down", "off", "a", "an"];
/// Before a participle that is no verb of the past.
const HELPERS: [&str; 13] =
    ["is", "are", "be", "been", "being", "has", "have", "having", "hasn't", "haven't", "gets", "remains", "to"];

/// "Lifted the ban", "came back": an end as something that happened, unlike "is accessible again".
pub fn tells_an_end(words: &[Word<'_>]) -> bool {
    words.iter().any(|word| ENDED.contains(&word.lower.as_str()))
}
