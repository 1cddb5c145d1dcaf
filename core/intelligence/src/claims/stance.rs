//! What a claim says about its subject: blocked, slowed, cut off, or reachable.

use serde::Deserialize;

use super::*;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    #[default]
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

/// What a word or a phrase says: the lexicon has a list of them for each, "sense.bad_block" and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// Says by itself that nothing is done: "does nothing against".
    Spares,
    /// Holds a word of negation and negates nothing.
    Aside,
}

impl Sense {
    fn named(name: &str) -> Option<Sense> {
        match name.split_once('_') {
            Some(("bad", kind)) => lexicon::named(kind).map(Sense::Bad),
            Some(("fails", kind)) => lexicon::named(kind).map(Sense::Fails),
            _ => lexicon::named(name),
        }
    }

    fn is_bad(self) -> bool {
        matches!(self, Sense::Bad(_) | Sense::Fails(_))
    }

    /// Whether it says by itself how it is.
    fn matters(self) -> bool {
        self.is_bad() || matches!(self, Sense::Good | Sense::Over)
    }

    pub fn negates(self) -> bool {
        matches!(self, Sense::Not | Sense::Denies | Sense::Ceases)
    }
}

/// The words in any form of theirs ([`stem`]), and phrases of them.
static SENSES: LazyLock<Phrases<Sense>> = LazyLock::new(|| {
    let stems = |text: &str| text.split(' ').map(stem).collect::<Vec<String>>().join(" ");
    let all = lexicon::lists("sense.").filter_map(|(name, list)| Some((Sense::named(name)?, list)));
    Phrases::new(all.flat_map(|(sense, list)| list.items.iter().map(move |text| (stems(text), sense))))
});

/// What each word or phrase of a sentence says, with its place, in order.
pub fn meanings(words: &[Word<'_>]) -> Vec<(usize, Sense)> {
    spans(words).into_iter().map(|(at, _, sense)| (at, sense)).collect()
}

/// The same with the number of words.
pub fn spans(words: &[Word<'_>]) -> Vec<(usize, usize, Sense)> {
    let stems: Vec<Word<'_>> = words.iter().map(|word| Word { lower: stem(&word.lower), ..word.clone() }).collect();
    let (text, stems) = (Reader::of(words), Reader::of(&stems));
    let (mut found, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let (length, sense) = match SENSES.at(stems.words, at) {
            Some((length, sense)) => (length, Some(sense)),
            None => (1, particle(text, at).or_else(|| prefixed(stems, at)).or_else(|| missed(text, stems, at))),
        };
        // "... - NOT", "..., they say. Wrong.": one word that takes back what stands before it.
        let sense = if text.fits(at, "senses.verdict") { Some(Sense::Denies) } else { sense };
        let sense = sense.filter(|_| !text.fits(at, "senses.none"));
        found.extend(sense.map(|sense| (at, length, sense)));
        at += length;
    }
    found
}

/// "Almost blocked" is not blocked.
fn missed(text: Reader<'_>, stems: Reader<'_>, at: usize) -> Option<Sense> {
    let next = SENSES.at(stems.words, at + 1).map(|(_, sense)| sense).or_else(|| particle(text, at + 1));
    let bad = matches!(next, Some(Sense::Bad(_) | Sense::Forbids | Sense::Suspends));
    (bad && text.is(at, "almost|nearly")).then_some(Sense::Not)
}

/// "Shut TikTok down", "switch mobile data off", "turn the internet on"; and "shut the internet", "mobile data was
/// shut".
fn particle(text: Reader<'_>, at: usize) -> Option<Sense> {
    Sense::named(text.take(at, "senses.particle")?.says)
}

/// "Unusable", "inaccessible": a syllable turns what follows it round.
fn prefixed(stems: Reader<'_>, at: usize) -> Option<Sense> {
    let word = stems.word(at)?;
    let rest = word.lower.strip_prefix("un").or_else(|| word.lower.strip_prefix("in"))?;
    match SENSES.at(&[Word { lower: rest.to_owned(), ..word.clone() }], 0)?.1 {
        Sense::Good => Some(Sense::Fails(Kind::Block)),
        Sense::Bad(_) | Sense::Fails(_) => Some(Sense::Good),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

impl Stance {
    /// Whether it denies that something was so, and not only that it still is.
    pub const fn denies(self) -> bool {
        self.negated && !self.over
    }
}

/// What the words of a clause say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClauseStance {
    pub stance: Stance,
    /// The same without its negations: what "but Russia does" repeats.
    pub bare: Stance,
    /// It names something bad, or says only that something works; neither where there is no more than a negation.
    pub bad: bool,
    pub works: bool,
}

impl ClauseStance {
    /// Whether it has more than a negation.
    pub fn has_verb(&self) -> bool {
        self.bad || self.works || self.bare.over
    }
}

/// Whether a clause says that something is reached by a way around a block: "people used VPNs to reach Telegram".
pub fn is_way_around(text: Reader<'_>) -> bool {
    text.says("means.used") && !text.says("means.without")
}

/// Reads a clause; `None` when nothing in it speaks of reachability.
pub fn read(text: Reader<'_>, internet: bool) -> Option<ClauseStance> {
    let senses = resolved(text);
    let bare = |(_, sense): &(usize, Sense)| !sense.negates() && *sense != Sense::AnyMore;
    let without: Vec<(usize, Sense)> = senses.iter().copied().filter(bare).collect();
    let mut stance = weigh(&senses, text, internet)?;
    let has = |wanted: &dyn Fn(Sense) -> bool| senses.iter().any(|(_, sense)| wanted(*sense));
    let bad = has(&Sense::is_bad);
    let works = has(&|sense| sense == Sense::Good) && !bad && !has(&|sense| sense == Sense::Over);
    let mut bare = weigh(&without, text, internet).unwrap_or(stance);
    // What works by a way around does not work without one.
    if works && stance.negated && is_way_around(text) {
        for stance in [&mut stance, &mut bare] {
            (stance.negated, stance.over, stance.kind) = (false, false, Kind::Block);
        }
    }
    Some(ClauseStance { stance, bare, bad, works })
}

/// The senses of a clause, those decided that depend on what stands beside them.
fn resolved(text: Reader<'_>) -> Vec<(usize, Sense)> {
    let found = meanings(text.words);
    let has_measure = text.says("measure");
    let one = |(number, (at, sense)): (usize, &(usize, Sense))| {
        let at = *at;
        let next = found.get(number + 1).filter(|(_, sense)| sense.is_bad() || *sense == Sense::Forbids);
        let next = next.map(|(to, _)| *to);
        let before_next = |list: &str| next.is_some_and(|to| (at + 1..to).any(|at| text.is(at, list)));
        let resolved = match sense {
            Sense::Ends => has_measure.then_some(Sense::Over),
            // An order to suspend a service is none of it.
            Sense::Suspends if text.fits(at, "stance.suspends_a_measure") => Some(Sense::Over),
            Sense::Suspends => Some(Sense::Bad(Kind::Block)),
            // "Barred the government from interfering" against "bars people from using".
            Sense::Forbids if before_next("from|to") => Some(Sense::Denies),
            Sense::Forbids => Some(Sense::Bad(Kind::Block)),
            // "A judge stopped Kenya from blocking it": it was not done, and did not end.
            Sense::Ceases if before_next("from") => Some(Sense::Denies),
            // "The block of X does not work": of a measure by name, and not of a service that is blocked.
            Sense::Good if text.fits(at, "stance.without_effect") => Some(Sense::Denies),
            // "Blocked the ban", "blocked the government from banning it".
            _ if text.fits(at, "stance.block") && next.is_some_and(|to| undoes(text, at, to)) => Some(Sense::Denies),
            // "Restored the ban", "the ban on Telegram was reinstated", unlike "after the ban Telegram was reinstated"
            Sense::Restores
                if next.is_some_and(|to| (at + 1..to).all(|at| text.of_list(at, "stance.of_a_measure")))
                    || text.fits(at, "stance.of_a_ban") =>
            {
                None
            }
            Sense::Restores => Some(Sense::Over),
            other => Some(*other),
        };
        resolved.map(|sense| (at, sense))
    };
    found.iter().enumerate().filter_map(one).collect()
}

/// Whether a verb of blocking keeps somebody from another, or is said of a measure and not of a service.
fn undoes(text: Reader<'_>, verb: usize, next: usize) -> bool {
    let from = (verb + 1..next).any(|at| text.is(at, "from")) && text.lower(next).ends_with("ing");
    from || text.matches(verb, "stance.undone_measure") == Some(next + 1 - verb)
}

/// The stance that senses add up to.
fn weigh(senses: &[(usize, Sense)], text: Reader<'_>, internet: bool) -> Option<Stance> {
    let has = |wanted: Sense| senses.iter().any(|(_, sense)| *sense == wanted);
    let said = senses.iter().filter(|(_, sense)| sense.matters());
    let said: Vec<(Sense, bool)> = said.map(|found| (found.1, is_negated(senses, text, *found))).collect();
    let of = |wanted: &dyn Fn(Sense) -> bool| -> Vec<bool> {
        said.iter().filter(|(sense, _)| wanted(*sense)).map(|(_, negated)| *negated).collect()
    };
    let (over, bad, good) = (of(&|sense| sense == Sense::Over), of(&Sense::is_bad), of(&|sense| sense == Sense::Good));
    let mut bad_places = senses.iter().filter(|(_, sense)| sense.is_bad()).map(|(at, _)| *at);
    let any_kind = bad_places.all(|at| text.fits(at, "stance.of_any_kind"));
    let stance = |negated: bool, is_over: bool| Stance {
        kind: kind(&said, internet, negated),
        negated,
        over: is_over && negated,
        deliberate: senses.iter().any(|(_, sense)| matches!(sense, Sense::Bad(_))),
        // "Never lifted" is said of now, and so is "ever since".
        never: (negated || over.is_empty()) && text.has("never") || text.says("stance.ever"),
        any_kind,
    };
    Some(if let Some(negated) = over.first() {
        stance(!negated, true)
    } else if !bad.is_empty() {
        stance(bad.iter().all(|negated| *negated), has(Sense::Ceases) || has(Sense::AnyMore))
    } else if !good.is_empty() {
        stance(!good.contains(&true), text.has("again"))
    } else if has(Sense::Spares) || senses.iter().any(|(at, _)| text.fits(*at, "stance.it_spares")) {
        stance(true, false)
    } else if has(Sense::Denies)
        || has(Sense::Ceases)
        || senses.iter().any(|(at, sense)| *sense == Sense::Not && !text.is(*at, "not"))
    {
        // "Russia stopped Telegram": a negation and nothing that says what is wrong; "hardly anyone lost it" has two.
        let twice = senses.iter().filter(|(_, sense)| sense.negates()).count() == 2 && has(Sense::Not);
        stance(twice && !has(Sense::Good), false)
    } else {
        return None;
    })
}

/// Whether an odd number of negations reaches a word.
fn is_negated(senses: &[(usize, Sense)], text: Reader<'_>, (target, sense): (usize, Sense)) -> bool {
    let last = senses.iter().filter(|(_, sense)| sense.matters()).map(|(at, _)| *at).max();
    // The nearest of what ends a negation: a sentence of many must not be read once for each two of them.
    let before = |wanted: &dyn Fn(usize, Sense) -> bool| {
        senses.iter().rev().find(|(at, sense)| *at < target && wanted(*at, *sense)).map(|(at, _)| *at)
    };
    // "Access to it is blocked": what is blocked, and not that it works.
    let noun = |at: usize| text.fits(at, "stance.access");
    let works = before(&|at, sense| sense == Sense::Good && !noun(at));
    let bad = before(&|_, sense| sense.is_bad());
    let reason = (0..target).rev().find(|at| text.of_list(*at, "stance.reasons"));
    let reaches = |(at, negation): &(usize, Sense)| match negation {
        _ if negation.negates() && *at < target => {
            // Of what is said, and not of what people can do.
            let told = *negation == Sense::Denies && !text.of_list(*at, "stance.refusals");
            // "Instead of blocking it they slowed it": the next alone.
            let nearest = bad.is_some_and(|bad| *at < bad) && text.is(*at, "instead|rather");
            let works = works.is_some_and(|works| *at < works);
            reason.is_none_or(|reason| reason < *at) && !nearest && (told || !sense.is_bad() || !works)
        }
        // "It blocked neither of them": right behind what it negates.
        Sense::Not => text.is(*at, "neither") && sense.is_bad() && (target + 1..target + 3).contains(at),
        // Behind everything: "reports that it is blocked are false", "access was lost".
        // ... and not what it was done for: "blocked to stop cheating".
        Sense::Denies | Sense::Ceases => last.is_some_and(|last| *at > last) && !text.was(*at, 1, "to"),
        _ => false,
    };
    // "Denied rumours", "a false claim, debunked": who says twice that it is untrue says it once.
    let untrue = |(at, sense): &&(usize, Sense)| *sense == Sense::Denies && text.fits(*at, "stance.is_untrue");
    let told = senses.iter().filter(|found| reaches(found)).filter(untrue).count();
    let mut count = senses.iter().filter(|found| reaches(found)).count() - told.saturating_sub(1);
    // "Neither blocked nor throttled" negates each of them once.
    let earlier = |word: &str| senses.iter().filter(|(at, _)| *at < target && text.is(*at, word)).count();
    if earlier("neither") > 0 && count > 1 {
        count -= earlier("nor");
    }
    count % 2 == 1
}

/// The kind of what is said, where each sense tells whether it is negated.
fn kind(said: &[(Sense, bool)], internet: bool, negated: bool) -> Kind {
    let throttling = |sense: Sense| matches!(sense, Sense::Bad(Kind::Throttling));
    // "Blocked, not throttled": of what is denied the claim has no kind.
    let is = |wanted: &dyn Fn(Sense) -> bool| said.iter().any(|(sense, denied)| (negated || !denied) && wanted(*sense));
    // "Neither blocked nor throttled" denies more than throttling.
    let blocked = negated && is(&|sense| matches!(sense, Sense::Bad(_)) && !throttling(sense));
    match is(&throttling) && !blocked {
        true => Kind::Throttling,
        // A service that is "shut down" or "cut" is blocked; only connectivity is shut down.
        false if internet => Kind::Shutdown,
        false => Kind::Block,
    }
}
