//! Every word of a claim is in a slot, in the table of harmless words, or left over. What is left over may change what
//! the claim says, so nobody has checked the claim as a whole while something is.
//!
//! A slot is filled by what reads it: where (`places`), what (`subjects`), by whom (`networks`), when (`when`), how and
//! whether (`stance`). Details (`beyond`) fill their words only where the data bear them out.

use super::*;

/// Most harmless words inside of what is left over.
const MOST_BETWEEN: usize = 3;

/// Which words of a claim are left over: in no slot, and not harmless.
pub fn left(sentence: &Sentence<'_>, mentions: &[Mention], named: &[NamedTopic], readings: &[Reading]) -> Vec<bool> {
    let words = sentence.words;
    // "Blocked on mobile networks" is less than blocked.
    let of_a_service = readings.iter().flat_map(|reading| &reading.topics).any(|topic| *topic != Topic::Internet);
    let mut slots = Slots { text: Reader::of(words), filled: vec![false; words.len()], of_a_service };
    slots.asides(named);
    let compared = slots.filled.clone();
    let mut names = subjects::general(slots.text);
    names.retain(|(at, _)| !(of_a_service && slots.text.is(*at, "mobile|cellular|phone")));
    names.extend(named.iter().map(|named| (named.at, named.length)));
    names.extend(networks::placed(slots.text).iter().map(|(at, length, _)| (*at, *length)));
    names.into_iter().for_each(|(at, length)| slots.fill(at, length));
    slots.times(&when::spans(words, sentence.now, sentence.year), readings);
    slots.senses();
    slots.harmless(readings);
    slots.names();
    slots.places(mentions, readings, &compared);
    // "Blocked by Telegram": what a service does is no part of what is done to it.
    for named in named.iter().filter(|named| Reader::of(words).fits(named.at, "slots.acting")) {
        slots.set(named.at, named.length, false);
    }
    slots.filled.iter().map(|filled| !filled).collect()
}

struct Slots<'a> {
    text: Reader<'a>,
    filled: Vec<bool>,
    of_a_service: bool,
}

impl Slots<'_> {
    fn set(&mut self, at: usize, length: usize, to: bool) {
        self.filled.iter_mut().skip(at).take(length).for_each(|filled| *filled = to);
    }

    fn fill(&mut self, at: usize, length: usize) {
        self.set(at, length, true);
    }

    /// Countries that the readings are of, that a service comes from, or that the claim compares with; others are left
    /// over.
    fn places(&mut self, mentions: &[Mention], readings: &[Reading], compared: &[bool]) {
        for mention in mentions {
            let checked = readings.iter().flat_map(|reading| &reading.countries).any(|c| c.code == mention.code);
            let of = mention.at + mention.length;
            let origin =
                mention.how == How::Adjective && (of..of + 3).any(|at| self.text.of_list(at, "slots.of_an_origin"));
            let beside = compared.get(mention.at).copied().unwrap_or(false);
            self.set(mention.at, mention.length, checked || origin || beside);
        }
    }

    fn times(&mut self, times: &[(Range<usize>, Vec<When>)], readings: &[Reading]) {
        let holds = |a: &When, b: &When| a.first <= b.first && b.last <= a.last;
        // "Of June 2021 ... lifted seven months later": the first is what the second is counted from.
        let counted = times.iter().any(|(_, days)| days.is_empty());
        let alone = times.iter().all(|(_, days)| days.is_empty());
        let text = self.text;
        for (range, days) in times.iter().filter(|_| !alone) {
            let checked = |days: &When| {
                let mut all = readings.iter().filter_map(|reading| reading.when);
                all.any(|when| holds(&when, days) || holds(days, &when))
            };
            let now = range.len() == 1 && text.is(range.start, "now|currently|today");
            if !days.iter().all(checked) && !now && !counted {
                continue;
            }
            self.fill(range.start, range.len());
            // "Throughout 2021", "for all of May": looked at as a whole.
            if days.iter().any(|when| when.span == Span::Throughout) {
                let before = range.start.saturating_sub(4)..range.start;
                before.filter(|at| text.is(*at, "throughout|all|whole|entire|through")).for_each(|at| self.fill(at, 1));
            }
            // "Wednesday, 15 November": compared with the date where that was read.
            let beside = (range.start.saturating_sub(2)..range.start).chain(range.end..range.end + 2);
            let day = |at: &usize| text.read(*at, weekday).is_some() && !text.was(*at, 1, "since|until|till|from|by");
            beside.filter(day).for_each(|at| self.fill(at, 1));
        }
    }

    fn senses(&mut self) {
        let text = self.text;
        let senses = stance::spans(text.words);
        for (at, length, sense) in senses.iter().copied() {
            // "At work" is a place; beside some words a denial says how many or why.
            let place = text.is(at, "work") && text.was(at, 1, "at");
            let telling = sense == Sense::Aside && (at..at + length).any(|at| text.of_list(at, "slots.telling"));
            // "..., said nobody": a denial with nothing behind it that it denies. It may be of all that was said.
            let denied = || senses.iter().any(|(other, _, sense)| *other > at && !sense.negates());
            let alone = sense == Sense::Not && text.matches(at, "slots.nobody").is_some() && !denied();
            if !(place || telling || alone) {
                self.fill(at, length);
            }
        }
    }

    fn harmless(&mut self, readings: &[Reading]) {
        let said = |is: fn(Stance) -> bool| readings.iter().any(|reading| reading.stance.is_some_and(is));
        let (text, denied) = (self.text, said(Stance::denies));
        let lists = [
            Some("slots.phrases"),
            // "Law 50", "B2B"
            Some("slots.number"),
            Some(if self.of_a_service { "slots.of_a_service" } else { "slots.plain" }),
            said(|stance| stance.negated || stance.over).then_some("slots.over"),
            // "Did not block it, only slowed it"; "everywhere in Africa except Kenya".
            denied.then_some("slots.denied"),
            (denied && text.has("except")).then_some("slots.exceptions"),
        ];
        for at in 0..text.words.len() {
            let length = lists.iter().flatten().filter_map(|list| text.matches(at, list)).max();
            self.fill(at, length.unwrap_or(0));
        }
    }

    /// Whom a claim compares with, and what is said of a service beside: it changes nothing, unless it tells of a
    /// block.
    fn asides(&mut self, named: &[NamedTopic]) {
        let text = self.text;
        for piece in clauses::pieces(text).into_iter().filter(|piece| piece.link == Link::Aside) {
            let start = piece.range.start;
            let relative = text.was(start, 1, "which|who|whose");
            let of_a_service = named.iter().any(|named| named.at + named.length + 1 == start);
            let tells = |(.., sense): &(usize, usize, Sense)| !matches!(sense, Sense::Aside | Sense::Good);
            let said = stance::spans(text.part(piece.range.clone()).words);
            if !relative || of_a_service && !said.iter().any(tells) {
                self.fill(start.saturating_sub(1), piece.range.len() + 1);
            }
        }
    }

    /// Names of those who order and of those who report.
    fn names(&mut self) {
        let mut at = 0;
        while at < self.text.words.len() {
            let length = self.text.matches(at, "slots.name").unwrap_or(0);
            if self.text.fits(at, "slots.known_name") {
                self.fill(at, length);
            }
            at += length.max(1);
        }
    }
}

/// What is left over of a claim, behind details that were borne out and names of networks that only measurements know.
pub fn left_over(claim: &Claim, counted: &[usize], told: &[Beyond], networks: &[String]) -> Vec<String> {
    let words = dates::in_figures(split(&claim.text));
    let text = Reader::of(&words);
    let fills = |at: usize| counted.contains(&at) || told.iter().any(|detail| fills(*detail, text, at));
    let is_left = |at: usize| {
        let named = || text.word(at).is_some_and(|word| networks.contains(&word.lower));
        claim.left.get(at).copied().unwrap_or(false) && !named() && !fills(at)
    };
    let near = |at: usize| (at..at + MOST_BETWEEN).find(|next| is_left(*next));
    let apart = |at: usize, next: usize| (at..=next).any(|at| text.ends(at));
    let (mut phrases, mut at) = (Vec::new(), 0);
    while let Some(from) = (at..words.len()).find(|at| is_left(*at)) {
        at = from + 1;
        while let Some(next) = near(at).filter(|next| !apart(at, *next)) {
            at = next + 1;
        }
        // Words that belong to what is behind them: "at weekends".
        let led = from > 0 && text.of_list(from - 1, "slots.leads") && !text.ends(from);
        phrases.push(text.quote(from - usize::from(led)..at));
    }
    phrases
}

fn fills(detail: Beyond, text: Reader<'_>, at: usize) -> bool {
    let hours = || {
        let covers = |first: usize| hours(text, first).is_some_and(|(length, _)| first + length > at);
        let only = text.is(at, "only") && (1..=3).any(|on| hours(text, at + on).is_some());
        only || (at.saturating_sub(5)..=at).any(covers)
    };
    text.fits(at, detail.texts().1) || matches!(detail, Beyond::Hours(_)) && hours()
}
