//! The time that a claim speaks of: days and spans of days, in UTC.

use super::*;

/// How a claim stands to its days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        midnight(self.first)
    }

    /// The instant after the last day.
    pub fn end(self) -> Timestamp {
        midnight(self.last).plus(DAY)
    }
}

fn midnight(date: Date) -> Timestamp {
    Timestamp(date.days().saturating_mul(DAY))
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spoken {
    /// More than one where it lists them: "in 2022 and again in 2023".
    pub days: Vec<When>,
    /// Why a date that it names cannot be, as a sentence.
    pub unread: Option<&'static str>,
    pub later: Option<(Range<usize>, Later)>,
}

/// The calendar does not have a date, or it cannot be read.
pub const NO_SUCH_DATE: &str = "The claim names a date that does not exist or cannot be read.";
/// A date is another day of the week than the claim says.
pub const OTHER_WEEKDAY: &str = "The claim names a date that is another day of the week than it says.";

struct Named {
    at: usize,
    to: usize,
    days: Vec<Option<When>>,
    opens: bool,
    weekday: bool,
    /// It is said to be a day of the week that it is not.
    other_weekday: bool,
}

/// The days that a clause speaks of, as seen from `now`; `year` is the one that the rest of the sentence names.
pub fn when(words: &[Word<'_>], now: Timestamp, year: Option<i64>) -> Spoken {
    let (mut found, background, behind) = find(words, now, year);
    let reader = Reader { words, shouting: is_shouted(words) };
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
    if !spoken.days.iter().any(dated) && (0..words.len()).any(|at| dates::is_moving_feast(reader, at)) {
        return Spoken { unread: Some(NO_SUCH_DATE), ..Spoken::default() };
    }
    // "It deleted a tweet on 2 June 2021; three days later it was banned."
    if let ([day], Some((at, later)), Some(named)) = (spoken.days.as_mut_slice(), &behind, found.first()) {
        let stop = words.get(at.start).is_some_and(|word| word.pause == Pause::Stop);
        let apart = at.start > named.to && (stop || at.start > named.to + 1);
        *day = later.behind(*day).filter(|_| apart).unwrap_or(*day);
    }
    Spoken { later: behind, ..spoken }
}

/// The words that name times, and the days of each; of days that are counted from others there are none.
pub fn spans(words: &[Word<'_>], now: Timestamp, year: Option<i64>) -> Vec<(Range<usize>, Vec<When>)> {
    let (found, background, behind) = find(words, now, year);
    let dated = found.into_iter().chain(background);
    let dated = dated.map(|named| (named.at..named.to, named.days.into_iter().flatten().collect()));
    dated.chain(behind.map(|(range, _)| (range, Vec::new()))).collect()
}

/// Times of a sentence: those that it speaks of, one of what had been before, and how long after another clause it was.
type Found = (Vec<Named>, Option<Named>, Option<(Range<usize>, Later)>);

fn find(words: &[Word<'_>], now: Timestamp, year: Option<i64>) -> Found {
    let reader = Reader { words, shouting: is_shouted(words) };
    let ahead = reader.has("will|shall|plans|going");
    let times = Times { reader, today: Date::from_days(now.day()), ahead, year };
    let mut found: Vec<Named> = Vec::new();
    let (mut at, mut from, mut background, mut behind) = (0, 0, None, None);
    while at < words.len() {
        if let Some((length, found)) = later(reader, at) {
            behind = behind.or(Some((at..at + length, found)));
            at += length;
            continue;
        }
        let Some((length, days)) = times.at(at).or_else(|| Some((reader.unreadable(at)?, vec![None]))) else {
            at += 1;
            continue;
        };
        // "14 January 20211": a date with the figure behind it that was meant to be its year and is none.
        let near = |at: usize| reader.pause(at) == Pause::None || reader.month(at - length).is_some();
        let long = reader.is_overlong_year(at + length) && near(at + length);
        let (length, days) = if long { (length + 1, vec![None]) } else { (length, days) };
        let opens = times.lead(at).1 == "from";
        let other_weekday = is_other_weekday(reader, at, length, &days);
        let days = days.into_iter().map(|days| days.and_then(|days| times.seen_from_around(at, length, days)));
        let weekday = reader.read(at, weekday).is_some();
        let named = Named { at, to: at + length, days: days.collect(), opens, weekday, other_weekday };
        // What had been ("which had been blocked since 2018") is background, and "now" says less than a date.
        if reader.is(at, "now|currently") || (from..at).any(|at| reader.fits(at, "when.background")) {
            background = background.or(Some(named));
        } else {
            found.push(named);
        }
        at += length;
        from = at;
    }
    (found, background, behind)
}

/// "Tuesday, 13 November 2023", "13 November 2023 (Tuesday)": that was a Monday.
fn is_other_weekday(reader: Reader<'_>, at: usize, length: usize, days: &[Option<When>]) -> bool {
    let [Some(when)] = days else { return false };
    let dated = when.is_one_day() && reader.written(at).is_some_and(|(_, date)| date.is_day());
    let before = at.checked_sub(1 + usize::from(reader.was(at, 1, "the")));
    let behind = at + length + usize::from(reader.is(at + length, "a"));
    let beside = Some(behind).filter(|_| reader.pause(at + length) == Pause::Comma);
    let said = before.and_then(|at| reader.read(at, weekday)).or_else(|| reader.read(beside?, weekday));
    dated && said.is_some_and(|said| said != when.first.weekday())
}

/// The times that are claimed, of those that a clause names: the first, and those that are listed with it.
fn chosen(words: &[Word<'_>], found: &[Named]) -> Spoken {
    let none = found.iter().flat_map(|named| &named.days).any(Option::is_none);
    let other = found.iter().any(|named| named.other_weekday).then_some(OTHER_WEEKDAY);
    let unread = none.then_some(NO_SUCH_DATE).or(other);
    let Some(first) = found.first().filter(|_| unread.is_none()) else { return Spoken { unread, ..Spoken::default() } };
    let (mut days, mut to) = (first.days.clone(), first.to);
    for next in found.iter().skip(1) {
        let between = words.get(to..next.at).unwrap_or_default();
        let pause = words.get(next.at).is_some_and(|word| word.pause == Pause::Comma);
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
    Spoken { days, unread, later: None }
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

/// Lists of what stands before a time, and how it is meant then.
const SPANS: [(&str, Span); 6] = [
    ("spans.since", Span::Since),
    ("spans.throughout", Span::Throughout),
    ("spans.by", Span::By),
    ("spans.after", Span::After),
    ("spans.before", Span::Before),
    ("spans.until", Span::Until),
];

/// A date, or days that are counted from today.
#[derive(Clone, Copy)]
enum Time {
    Date(Written),
    Days(When),
}

struct Times<'a> {
    reader: Reader<'a>,
    today: Date,
    ahead: bool,
    year: Option<i64>,
}

impl<'a> Times<'a> {
    /// The times that are named at a place, ranges too, and the number of words; without days when the calendar has none.
    fn at(&self, at: usize) -> Option<(usize, Vec<Option<When>>)> {
        let reader = self.reader;
        if let Some((length, days)) = reader.days_of_a_month(at) {
            let joined = (at + 1..at + length).any(|at| reader.joined(at));
            let times: Vec<Time> = days.into_iter().map(Time::Date).collect();
            return Some((length, self.several(&times, at, length, joined)));
        }
        let (mut length, first) = self.single(at)?;
        // "The third term of 2023": divided by words that are not understood.
        if reader.fits(at, "dates.divided") && !matches!(first, Time::Date(date) if date.is_day()) {
            return Some((length, vec![None]));
        }
        let kind = |time: Time| if let Time::Date(date) = time { Some((date.is_day(), date.years > 0)) } else { None };
        let (mut times, mut linked, mut dash, mut ranged) = (vec![first], 1, false, false);
        let mut behind = length;
        loop {
            let next = at + behind;
            let link = reader.joined(next) || reader.is(next, dates::BETWEEN);
            // "From 2018 to 2020 and in 2022": a range has two ends.
            let goes_on = !(ranged && reader.is(next, "and|or")) && times.len() < linked + MOST_LISTED;
            let from = next + reader.matches(next, "times.between").unwrap_or(0);
            let Some((more, time)) = goes_on.then(|| self.single(from)).flatten() else { break };
            // "in May, June and July": those in the middle have nothing in between.
            if !link && (kind(first).is_none() || kind(first) != kind(time)) {
                break;
            }
            behind = from + more - at;
            times.push(time);
            if link {
                (length, linked) = (behind, times.len());
                dash |= reader.joined(next);
                ranged |= dash || !reader.is(next, "and|or");
            }
        }
        times.truncate(linked);
        Some((length, self.several(&times, at, length, dash)))
    }

    /// Times side by side: the ends of a range, or a list.
    fn several(&self, times: &[Time], at: usize, length: usize, dash: bool) -> Vec<Option<When>> {
        let [first, .., last] = times else { return times.iter().map(|time| self.resolve(*time)).collect() };
        let linked = |list: &str| self.reader.part(at..at + length).has(list);
        let lead = self.lead(at).1;
        if dash || linked("to|until|till|through|thru") || matches!(lead, "between" | "from") {
            let span = if lead == "between" { Span::Between } else { Span::Range };
            return vec![self.range(*first, *last).map(|when| When { span, ..when })];
        }
        let list = self.list(times);
        // "In May or June 2022": at some time of both.
        if linked("or") {
            let known = || list.iter().flatten();
            let hull = known().map(|when| when.first).min().zip(known().map(|when| when.last).max());
            return vec![hull.map(|(first, last)| When::new(first, last)).filter(|_| list.iter().all(Option::is_some))];
        }
        list
    }

    /// The times of a list; a year that one lacks is that of the next.
    fn list(&self, times: &[Time]) -> Vec<Option<When>> {
        let year = times.iter().find_map(|time| if let Time::Date(date) = time { date.year } else { None });
        let (mut list, mut next): (Vec<Option<When>>, Option<When>) = (Vec::new(), None);
        for time in times.iter().rev() {
            let when = match (time, next, year) {
                (Time::Date(date), None, Some(year)) if date.year.is_none() => date.in_year(year),
                (Time::Date(date), Some(next), _) if date.year.is_none() => {
                    let same = date.in_year(next.first.year);
                    let turned =
                        same.is_some_and(|when| when.first > next.first && when.first.month > next.first.month);
                    if turned { date.in_year(next.first.year - 1) } else { same }
                }
                _ => self.resolve(*time),
            };
            next = when.or(next);
            list.push(when);
        }
        list.reverse();
        list
    }

    fn single(&self, at: usize) -> Option<(usize, Time)> {
        let date = self.reader.written(at).map(|(length, date)| {
            // "In November of last year"
            let beside =
                |list: &str, back: i64| Some((self.reader.matches(at + length, list)?, self.today.year - back));
            let beside = beside("times.last_year", 1).or_else(|| beside("times.this_year", 0));
            match beside.filter(|_| date.year.is_none()) {
                Some((more, year)) => (length + more, Time::Date(Written { year: Some(year), ..date })),
                None => (length, Time::Date(date)),
            }
        });
        date.or_else(|| self.day_alone(at)).or_else(|| {
            let (length, days) = relative::relative(self.reader, at, self.today, self.ahead)?;
            Some((length, Time::Days(days)))
        })
    }

    /// "On the 9th", where nothing else names a month: the latest one.
    fn day_alone(&self, at: usize) -> Option<(usize, Time)> {
        let reader = self.reader;
        let word = reader.word(at).filter(|_| reader.was(at, 1, "the") && reader.was(at, 2, "on"))?;
        let ordinal = ["st", "nd", "rd", "th"].iter().any(|end| word.lower.ends_with(end));
        let day = dates::day(word).filter(|_| ordinal && (reader.ends(at + 1) || reader.is(at + 1, "in")))?;
        if self.year.is_some() || (0..reader.words.len()).any(|at| reader.month(at).is_some()) {
            return None;
        }
        let month = |back: i64| {
            let first = self.today.first_of_month().plus_months(-back);
            Date::new(first.year, first.month, day)
        };
        let latest = (0..4).filter_map(month).find(|date| *date <= self.today)?;
        Some((1, Time::Days(When::day(latest))))
    }

    fn resolve(&self, time: Time) -> Option<When> {
        match time {
            Time::Date(date) => Written { year: date.year.or(self.year), ..date }.resolve(self.today, self.ahead),
            Time::Days(when) => Some(when),
        }
    }

    /// From one time to another. Where the year turns, an end without one lies in the next.
    fn range(&self, first: Time, last: Time) -> Option<When> {
        let times = self.list(&[first, last]);
        let (Some(Some(from)), Some(Some(mut to))) = (times.first().copied(), times.last().copied()) else {
            return None;
        };
        let back = to.last < from.first;
        let from = match (first, last) {
            (_, Time::Date(date)) if back && date.year.is_none() => {
                to = date.in_year(to.first.year + 1)?;
                from
            }
            // "From Monday to Wednesday", said on a Tuesday.
            (Time::Days(_), Time::Days(_)) if back && from.is_one_day() => When::day(from.first.plus(-7)),
            _ => from,
        };
        (from.first <= to.last).then(|| When::range(from, to))
    }

    /// Where the word stands that says how the time at a place is meant, and the word.
    fn lead(&self, at: usize) -> (usize, &'a str) {
        let filler = |at: usize| self.reader.of_list(at, "times.fillers") || self.reader.read(at, weekday).is_some();
        let lead = (1..=7).find_map(|back| at.checked_sub(back).filter(|at| !filler(*at)));
        lead.map_or((at, ""), |lead| (lead, self.reader.lower(lead)))
    }

    /// Days that are counted from a date: "two days before polling on 14 January", "for six months from 5 June".
    fn counted(&self, at: usize, length: usize, found: When) -> Option<When> {
        let reader = self.reader;
        let counted = |from: usize| days_counted(reader, from).map(|(length, days)| (from + length, days));
        let ranged = |days: i64| When {
            span: Span::Range,
            named: found.named,
            closing: 1,
            ..When::new(found.first, found.first.plus(days))
        };
        if reader.is(at + length, "for")
            && found.is_one_day()
            && let Some((_, days)) = counted(at + length + 1)
        {
            return Some(ranged(days));
        }
        // "The day before the election of 14 January", "on the eve of".
        let day = |from: usize| reader.matches(from, "times.day_of").map(|_| (from + 1, 1));
        let (side, days) = (1..=MOST_COUNTED).find_map(|back| {
            let from = at.checked_sub(back)?;
            let (side, days) = counted(from).or_else(|| day(from))?;
            let near = side < at && (side + 1..=at).all(|at| !reader.ends(at));
            (near && !reader.was(from, 1, "than")).then_some((side, days))
        })?;
        let for_so_long = (2..=4).any(|back| reader.was(side, back, "for|lasting|lasted"));
        let from = reader.is(side, "from|starting|beginning|after|following|since");
        match reader.lower(side) {
            _ if !found.is_one_day() => None,
            _ if for_so_long => from.then(|| ranged(days)),
            "of" if !reader.was(side, 1, "eve") => None,
            "before" | "of" => Some(When::day(found.first.plus(-days))),
            "after" => Some(When::day(found.first.plus(days))),
            _ => None,
        }
    }

    fn seen_from_around(&self, at: usize, length: usize, found: When) -> Option<When> {
        if let Some(counted) = self.counted(at, length, found) {
            return Some(counted);
        }
        let reader = self.reader;
        let (lead, word) = self.lead(at);
        // "After the 2021 coup" tells when the coup was.
        let event = reader.fits(at, "times.event") && !found.is_one_day();
        let counted = days_counted(reader, at + 1).is_some();
        let past = counted || reader.is(at, "past") && unit(reader.lower(at + 1)).is_some();
        let within = matches!(word, "in" | "within" | "during" | "since" | "of");
        let up_to_now = reader.is(at, "last|past") && (word == "for" || past && !within);
        let found_by = || SPANS.iter().find(|(list, _)| reader.fits(lead, list)).map(|(_, span)| *span);
        let span = match word {
            // "Since 8 November until 24 November".
            "since" if found.span == Span::Range => return Some(found),
            _ if reader.is(at + length, "onward|onwards|forward") => Span::Since,
            // "For the last two weeks", "over the past month": up to now, from a day that is named.
            _ if up_to_now => {
                return Some(When { named: 1, ..self.spanned(found, Span::Since) });
            }
            "all" if lead + 1 < at => Span::Throughout,
            _ => match found_by() {
                Some(span) if !event || matches!(span, Span::Since | Span::Throughout) => span,
                _ => return Some(found),
            },
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
