//! The time that a claim speaks of: days and spans of days, in UTC.

use serde::Deserialize;

use super::*;

/// How a claim stands to its days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// At some time within them: "in 2023", "on 8 November".
    During,
    /// On all of them: "throughout 2023", "for all of May".
    Throughout,
    /// From a first day to a last one: "from 8 to 24 November".
    Range,
    /// At some time between two: "between May and June".
    Between,
    /// From the first of them until today: "since May", "from 8 November onwards".
    Since,
    /// At some time after an event or day; the first day is the one after it.
    After,
    /// At some time before a day that is no longer among them: the last is the one before it.
    Before,
    /// Up to the last of them, when it changed: "until 24 November".
    Until,
    /// Not later than the last of them, and so on that day: "by 26 November".
    By,
}

/// Whole days, both ends included. Spans that are open to the past begin [`OPEN`] days before their end; those that are
/// open to the future end today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When {
    pub first: Date,
    pub last: Date,
    pub span: Span,
    /// Days of the date that was named, of two the first: 30 of "until June".
    pub named: i64,
    /// Days of the last date that was named.
    pub closing: i64,
}

pub const OPEN: i64 = 365;

impl When {
    pub fn new(first: Date, last: Date) -> When {
        let named = last.days() - first.days() + 1;
        When { first, last, span: Span::During, named, closing: named }
    }

    pub fn range(from: When, to: When) -> When {
        When { span: Span::Range, named: from.named, closing: to.named, ..When::new(from.first, to.last) }
    }

    pub fn day(day: Date) -> When {
        When::new(day, day)
    }

    pub fn is_one_day(self) -> bool {
        self.first == self.last
    }

    /// Whether other days are some of these and not all.
    fn holds(self, other: When) -> bool {
        self.first <= other.first && other.last <= self.last && (self.first, self.last) != (other.first, other.last)
    }

    /// Whether it is a time through which something goes on.
    pub fn is_lasting(self) -> bool {
        matches!(self.span, Span::Since | Span::Throughout | Span::Range)
    }

    pub fn start(self) -> Timestamp {
        Timestamp(self.first.days().saturating_mul(DAY))
    }

    /// The instant after the last day.
    pub fn end(self) -> Timestamp {
        Timestamp(self.last.days().saturating_mul(DAY)).plus(DAY)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClauseDays {
    /// More than one where it lists them: "in 2022 and again in 2023".
    pub days: Vec<When>,
    /// Why a date that it names cannot be, as a sentence.
    pub unread: Option<&'static str>,
    pub later: Option<(Range<usize>, Later)>,
}

/// The calendar does not have a date, or it cannot be read.
pub const NO_SUCH_DATE: &str = "claim.no_such_date";
/// A date is another day of the week than the claim says.
pub const OTHER_WEEKDAY: &str = "claim.other_weekday";

struct NamedDays {
    at: usize,
    to: usize,
    days: Vec<Option<When>>,
    opens: bool,
    weekday: bool,
    /// It is said to be a day of the week that it is not.
    other_weekday: bool,
}

/// The days that a clause speaks of, as seen from `now`; `year` is the one that the rest of the sentence names.
pub fn when(words: &[Word<'_>], now: Timestamp, year: Option<i64>) -> ClauseDays {
    let SentenceTimes { mut found, background, later } = find(words, now, year);
    if found.is_empty() {
        found.extend(background);
    }
    // "The Easter Sunday attacks in April 2019": a date says more than a day of the week.
    if found.iter().any(|named| !named.weekday) {
        found.retain(|named| !named.weekday);
    }
    let mut spoken = chosen(words, &found);
    // Of a feast whose day is not known the year says too little.
    let dated = |when: &When| when.last.days() - when.first.days() < 31;
    if !spoken.days.iter().any(dated) && Reader::of(words).says("feasts.unknown") {
        return ClauseDays { unread: Some(NO_SUCH_DATE), ..ClauseDays::default() };
    }
    // "It deleted a tweet on 2 June 2021; three days later it was banned."
    if let ([day], Some((at, later)), Some(named)) = (spoken.days.as_mut_slice(), &later, found.first()) {
        let stop = words.get(at.start).is_some_and(|word| word.pause == Pause::Stop);
        let apart = at.start > named.to && (stop || at.start > named.to + 1);
        *day = later.behind(*day).filter(|_| apart).unwrap_or(*day);
    }
    ClauseDays { later, ..spoken }
}

/// The words that name times, and the days of each; of days that are counted from others there are none.
pub fn spans(words: &[Word<'_>], now: Timestamp, year: Option<i64>) -> Vec<(Range<usize>, Vec<When>)> {
    let SentenceTimes { found, background, later } = find(words, now, year);
    let dated = found.into_iter().chain(background);
    let dated = dated.map(|named| (named.at..named.to, named.days.into_iter().flatten().collect()));
    dated.chain(later.map(|(range, _)| (range, Vec::new()))).collect()
}

/// Times of a sentence: those that it speaks of, one of what had been before, and how long after another clause it was.
#[derive(Default)]
struct SentenceTimes {
    found: Vec<NamedDays>,
    background: Option<NamedDays>,
    later: Option<(Range<usize>, Later)>,
}

fn find(words: &[Word<'_>], now: Timestamp, year: Option<i64>) -> SentenceTimes {
    let text = Reader::of(words);
    let times = Times { text, today: Date::from_days(now.day()), ahead: text.says("when.ahead"), year };
    let mut all = SentenceTimes::default();
    let (mut at, mut from) = (0, 0);
    while at < words.len() {
        if let Some((length, later)) = later(text, at) {
            all.later = all.later.or(Some((at..at + length, later)));
            at += length;
            continue;
        }
        let Some((length, days)) = times.at(at).or_else(|| Some((text.unreadable(at)?, vec![None]))) else {
            at += 1;
            continue;
        };
        // "14 January 20211": a date with the figure behind it that was meant to be its year and is none.
        let near = |at: usize| text.pause(at) == Pause::None || text.month(at - length).is_some();
        let long = text.is_overlong_year(at + length) && near(at + length);
        let (length, days) = if long { (length + 1, vec![None]) } else { (length, days) };
        let opens = text.fits(at, "times.from");
        let other_weekday = is_other_weekday(text, at, length, &days);
        let days = days.into_iter().map(|days| days.and_then(|days| times.seen_from_around(at, length, days)));
        let weekday = text.read(at, weekday).is_some();
        let named = NamedDays { at, to: at + length, days: days.collect(), opens, weekday, other_weekday };
        // What had been ("which had been blocked since 2018") is background, and "now" says less than a date.
        if text.is(at, "now|currently") || (from..at).any(|at| text.fits(at, "when.background")) {
            all.background = all.background.or(Some(named));
        } else {
            all.found.push(named);
        }
        at += length;
        from = at;
    }
    all
}

/// "Tuesday, 13 November 2023", "13 November 2023 (Tuesday)": that was a Monday.
fn is_other_weekday(text: Reader<'_>, at: usize, length: usize, days: &[Option<When>]) -> bool {
    let [Some(when)] = days else { return false };
    let dated = when.is_one_day() && text.written(at).is_some_and(|(_, date)| date.is_day());
    let before = at.checked_sub(1 + usize::from(text.was(at, 1, "the"))).and_then(|at| text.read(at, weekday));
    let said = before.or_else(|| text.take(at + length, "when.weekday_behind")?.number("weekday"));
    dated && said.is_some_and(|said| said != when.first.weekday())
}

/// The times that are claimed, of those that a clause names: the first, and those that are listed with it.
fn chosen(words: &[Word<'_>], found: &[NamedDays]) -> ClauseDays {
    let none = found.iter().flat_map(|named| &named.days).any(Option::is_none);
    let other = found.iter().any(|named| named.other_weekday).then_some(OTHER_WEEKDAY);
    let unread = none.then_some(NO_SUCH_DATE).or(other);
    let Some(first) = found.first().filter(|_| unread.is_none()) else {
        return ClauseDays { unread, ..ClauseDays::default() };
    };
    let (mut days, mut to) = (first.days.clone(), first.to);
    for next in found.iter().skip(1) {
        let between = words.get(to..next.at).unwrap_or_default();
        let pause = words.get(next.at).is_some_and(|word| matches!(word.pause, Pause::Comma | Pause::Bracket));
        let listed = pause || between.iter().any(|word| word.is("and|again|well"));
        if !(listed && between.iter().all(|word| word.is_of("when.listing"))) {
            break;
        }
        days.extend(&next.days);
        to = next.to;
    }
    let mut days: Vec<When> = days.into_iter().flatten().collect();
    let next = found.get(1).and_then(|named| named.days.first().copied().flatten());
    if let ([one], Some(next)) = (days.as_mut_slice(), next) {
        let opens = one.span == Span::Since || first.opens;
        if one.span == Span::During && one.holds(next) {
            *one = next;
        } else if opens && next.span == Span::Until && one.first <= next.last {
            // "From 8 November Kenya blocked it, until 24 November."
            *one = When::range(*one, next);
        }
    }
    // "In 2023 and in November 2023" says no more than the month does.
    let all = days.clone();
    days.retain(|when| !(when.span == Span::During && all.iter().any(|other| when.holds(*other))));
    days.dedup();
    ClauseDays { days, unread, later: None }
}

/// The year that a sentence names, when all its dates are of one.
pub fn only_year(words: &[Word<'_>]) -> Option<i64> {
    let mut years = words.iter().filter_map(dates::year);
    let first = years.next()?;
    years.all(|year| year == first).then_some(first)
}

/// Words between a number of days and the date that they are counted from. Our choice.
const MOST_COUNTED: usize = 9;

/// Dates side by side without a word between them that are read as one list. Our choice: each is looked at for each.
const MOST_LISTED: usize = 8;

struct Times<'a> {
    text: Reader<'a>,
    today: Date,
    ahead: bool,
    year: Option<i64>,
}

impl Times<'_> {
    /// The times that are named at a place, ranges too, and the number of words; without days when the calendar has
    /// none.
    fn at(&self, at: usize) -> Option<(usize, Vec<Option<When>>)> {
        let text = self.text;
        if let Some((length, days)) = text.days_of_a_month(at) {
            let joined = (at + 1..at + length).any(|at| text.joined(at));
            return Some((length, self.several(&days, at, length, joined)));
        }
        let (mut length, first) = self.single(at)?;
        // "The third term of 2023": divided by words that are not understood.
        if text.fits(at, "dates.divided") && (first.counted || !first.is_day()) {
            return Some((length, vec![None]));
        }
        let kind = |date: Written| (date.is_day(), date.years > 0);
        let (mut times, mut linked, mut dash, mut ranged) = (vec![first], 1, false, false);
        let mut behind = length;
        loop {
            let next = at + behind;
            let link = text.joined(next) || text.fits(next, "dates.between");
            // "From 2018 to 2020 and in 2022": a range has two ends.
            let goes_on = !(ranged && text.is(next, "and|or")) && times.len() < linked + MOST_LISTED;
            let from = next + text.matches(next, "times.between").unwrap_or(0);
            let Some((more, time)) = goes_on.then(|| self.single(from)).flatten() else { break };
            // "in May, June and July": those in the middle have nothing in between.
            if !link && (first.counted || time.counted || kind(first) != kind(time)) {
                break;
            }
            behind = from + more - at;
            times.push(time);
            if link {
                (length, linked) = (behind, times.len());
                dash |= text.joined(next);
                ranged |= dash || !text.is(next, "and|or");
            }
        }
        times.truncate(linked);
        Some((length, self.several(&times, at, length, dash)))
    }

    /// Times side by side: the ends of a range, or a list.
    fn several(&self, times: &[Written], at: usize, length: usize, dash: bool) -> Vec<Option<When>> {
        let [first, .., last] = times else { return times.iter().map(|time| self.resolve(*time)).collect() };
        let linked = |list: &str| self.text.part(at..at + length).has(list);
        let between = self.text.fits(at, "times.between_two");
        if dash || linked("to|until|till|through|thru") || between || self.text.fits(at, "times.from") {
            let span = if between { Span::Between } else { Span::Range };
            return vec![self.range(*first, *last).map(|when| When { span, ..when })];
        }
        let list = self.list(times);
        // "In May or June 2022": at some time of both.
        if linked("or") {
            let all: Option<Vec<When>> = list.into_iter().collect();
            let ends = all.as_ref().map(|all| (all.iter().map(|when| when.first), all.iter().map(|when| when.last)));
            return vec![ends.and_then(|(first, last)| Some(When::new(first.min()?, last.max()?)))];
        }
        list
    }

    /// The times of a list; a year that one lacks is that of the next.
    fn list(&self, times: &[Written]) -> Vec<Option<When>> {
        let year = times.iter().filter(|date| !date.counted).find_map(|date| date.year);
        let (mut list, mut next): (Vec<Option<When>>, Option<When>) = (Vec::new(), None);
        for date in times.iter().rev() {
            let when = match (date.year, next, year) {
                (None, None, Some(year)) => date.in_year(year),
                (None, Some(next), _) => {
                    let same = date.in_year(next.first.year);
                    let later = |when: When| when.first > next.first && when.first.month > next.first.month;
                    if same.is_some_and(later) { date.in_year(next.first.year - 1) } else { same }
                }
                _ => self.resolve(*date),
            };
            next = when.or(next);
            list.push(when);
        }
        list.reverse();
        list
    }

    fn single(&self, at: usize) -> Option<(usize, Written)> {
        let date = self.text.written(at).map(|(length, date)| {
            // "In November of last year"
            let beside = self.text.take(at + length, "times.beside_year").filter(|_| date.year.is_none());
            let year = beside.as_ref().and_then(|beside| beside.number("side")).map(|side| self.today.year + side);
            (length + beside.map_or(0, |beside| beside.length), Written { year: date.year.or(year), ..date })
        });
        let counted = || {
            let (length, days) = relative::relative(self.text, at, self.today, self.ahead)?;
            Some((length, Written::counted(days)))
        };
        date.or_else(|| Some((1, Written::counted(When::day(self.day_alone(at)?))))).or_else(counted)
    }

    /// "On the 9th", where nothing else names a month: the latest one.
    fn day_alone(&self, at: usize) -> Option<Date> {
        let day = self.text.take(at, "times.day_alone")?.number("day")?;
        let alone = self.year.is_none() && !self.text.says("dates.month");
        let month = |back: i64| {
            let first = self.today.first_of_month().plus_months(-back);
            Date::new(first.year, first.month, day)
        };
        (0..4).filter(|_| alone).filter_map(month).find(|date| *date <= self.today)
    }

    fn resolve(&self, date: Written) -> Option<When> {
        Written { year: date.year.or(self.year), ..date }.resolve(self.today, self.ahead)
    }

    /// From one time to another. Where the year turns, an end without one lies in the next.
    fn range(&self, first: Written, last: Written) -> Option<When> {
        let [Some(mut from), Some(mut to)] = *self.list(&[first, last]).as_slice() else { return None };
        if to.last < from.first && last.year.is_none() {
            to = last.in_year(to.first.year + 1)?;
        } else if to.last < from.first && first.counted && last.counted && from.is_one_day() {
            // "From Monday to Wednesday", said on a Tuesday.
            from = When::day(from.first.plus(-7));
        }
        (from.first <= to.last).then(|| When::range(from, to))
    }

    /// Days that are counted from a day: "two days before polling on 14 January", "for six months from 5 June".
    fn counted(&self, at: usize, length: usize, found: When) -> Option<When> {
        let (text, day) = (self.text, Some(found.first).filter(|_| found.is_one_day())?);
        let ranged = |days: i64| {
            let all = When::new(day, day.plus(days));
            Some(When { span: Span::Range, named: found.named, closing: 1, ..all })
        };
        if text.is(at + length, "for")
            && let Some((_, days)) = days_counted(text, at + length + 1)
        {
            return ranged(days);
        }
        // "The day before the election of 14 January", "on the eve of".
        let (side, days) = (1..=MOST_COUNTED).find_map(|back| {
            let from = at.checked_sub(back)?;
            let (length, days) =
                days_counted(text, from).or_else(|| text.fits(from, "times.day_of").then_some((1, 1)))?;
            let side = from + length;
            let near = side < at && (side + 1..=at).all(|at| !text.ends(at));
            (near && !text.was(from, 1, "than")).then_some((side, days))
        })?;
        match text.take(side, "times.counted")?.says {
            "range" => ranged(days),
            "before" => Some(When::day(day.plus(-days))),
            "after" => Some(When::day(day.plus(days))),
            _ => None,
        }
    }

    fn seen_from_around(&self, at: usize, length: usize, found: When) -> Option<When> {
        if let Some(counted) = self.counted(at, length, found) {
            return Some(counted);
        }
        let text = self.text;
        // "After the 2021 coup" tells when the coup was.
        let event = text.fits(at, "times.event") && !found.is_one_day();
        let said = text.take(at, "spans").and_then(|taken| lexicon::named(taken.says));
        let span = match said {
            _ if text.fits(at + length, "times.onwards") => Span::Since,
            // "For the last two weeks", "over the past month": up to now, from a day that is named.
            _ if text.fits(at, "times.up_to_now") => {
                return Some(When { named: 1, ..self.spanned(found, Span::Since) });
            }
            // "Since 8 November until 24 November".
            Some(Span::Since) if found.span == Span::Range && text.fits(at, "times.since") => return Some(found),
            Some(span) if !event || matches!(span, Span::Since | Span::Throughout) => span,
            _ => return Some(found),
        };
        Some(self.spanned(found, span))
    }

    fn spanned(&self, found: When, span: Span) -> When {
        let today = self.today;
        let (first, last) = match span {
            Span::Since => (found.first, today.max(found.last)),
            Span::After => (found.last.plus(1), today.max(found.last.plus(1))),
            Span::Before | Span::Until | Span::By => {
                let last = if span == Span::Before { found.first.plus(-1) } else { found.last };
                let first = if self.ahead && last > today { today.plus(1) } else { last.min(today).plus(-OPEN) };
                (first, last)
            }
            Span::During | Span::Throughout | Span::Range | Span::Between => (found.first, found.last),
        };
        When { first, last, span, named: found.named, closing: found.named }
    }
}
