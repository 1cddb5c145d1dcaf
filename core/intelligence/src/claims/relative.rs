//! Times that are counted: from today ("last Tuesday", "three weeks ago", "next month"), or from the days of the clause before
//! ("five days later", "the day before").

use super::*;

/// Days since Monday of a day of the week. Short forms need a capital; "Sat", "Sun" and "Mon" are other words too often.
pub fn weekday(word: &Word<'_>) -> Option<i64> {
    let name = word.lower.as_str();
    let short = word.is_capital() && word.is("tue|tues|wed|thu|thur|thurs|fri");
    lexicon::place("weekdays", |full| full == name || (short && full.starts_with(name)))
}

/// Small numbers in words, for "two weeks ago", with how many words they are. Vague ones are what most people mean.
pub fn quantity(text: Reader<'_>, at: usize) -> Option<(usize, i64)> {
    let of = |at: usize| usize::from(text.is(at, "couple") && text.is(at + 1, "of"));
    let few = |at: usize| Some((1 + of(at), lexicon::value("numbers.vague", text.lower(at))?.parse().ok()?));
    if text.is(at, "a|an") {
        return few(at + 1).map(|(length, count)| (length + 1, count)).or(Some((1, 1)));
    }
    let word = text.word(at)?;
    let named = lexicon::place("numbers", |name| name == word.lower).map(|before| before + 1);
    named.or_else(|| dates::number(word)).map(|count| (1, count)).or_else(|| few(at))
}

pub fn unit(word: &str) -> Option<i64> {
    lexicon::value("units", word.trim_end_matches('s'))?.parse().ok()
}

/// A number of units of time at a place, in days, with how many words it is.
pub fn days_counted(text: Reader<'_>, at: usize) -> Option<(usize, i64)> {
    let (length, count) = quantity(text, at)?;
    let days = unit(text.lower(at + length))?.checked_mul(count).filter(|days| *days < 4_000)?;
    Some((length + 1, days))
}

/// The calendar week, month or year that lies so many before or after the one of a day.
pub fn period(today: Date, unit: &str, away: i64) -> Option<When> {
    let (monday, month) = (today.plus(away * 7 - today.weekday()), today.first_of_month().plus_months(away));
    Some(match unit.trim_end_matches('s') {
        "day" => When::day(today.plus(away)),
        "week" => When::new(monday, monday.plus(6)),
        "weekend" => When::new(monday.plus(5), monday.plus(6)),
        "month" => When::new(month, month.last_of_month()),
        "year" => Written::years(today.year, 1).in_year(today.year + away)?,
        _ => return None,
    })
}

/// A time that begins at `at` and is counted from today, with its number of words.
pub fn relative(text: Reader<'_>, at: usize, today: Date, ahead: bool) -> Option<(usize, When)> {
    // "The next day" is none of today's.
    if text.is(at, "next|following|previous|day") && later(text, at).is_some() {
        return None;
    }
    let days = |from: i64, to: i64| When::new(today.plus(from), today.plus(to));
    let named = lexicon::list("days").items.iter().filter_map(|item| item.split_once(' ')).find_map(|(name, _)| {
        let length = text.matches(at, &format!("days.{name}"))?;
        dates::span("days", name).map(|(from, to)| (length, days(from, to)))
    });
    if named.is_some() {
        return named;
    }
    if text.is(at, "this|last|past|previous|recent|next|coming|following") {
        return beside(text, at, today);
    }
    ago(text, at, today).filter(|(_, when)| YEARS.contains(&when.first.year)).or_else(|| {
        let weekday = text.read(at, weekday)?;
        // "Wednesday 15 November": the date says more.
        let next = at + 1 + usize::from(text.is(at + 1, "the"));
        let dated = text.written(next).is_some_and(|(_, date)| date.is_day());
        let since = (today.weekday() - weekday).rem_euclid(7);
        let away = if ahead { (weekday - today.weekday()).rem_euclid(7) } else { -since };
        (!dated && text.days_of_a_month(next).is_none()).then(|| (1, days(away, away)))
    })
}

/// "Three days ago": that day; of months and years the whole one.
fn ago(text: Reader<'_>, at: usize, today: Date) -> Option<(usize, When)> {
    let (length, count) = quantity(text, at)?;
    let (name, ago) = (text.lower(at + length), text.is(at + length + 1, "ago"));
    if text.is(at + length, "hour|hours|minute|minutes") && ago {
        let back = if name.starts_with('h') { (count + 23) / 24 } else { 1 };
        return Some((length + 2, When::new(today.plus(-back), today)));
    }
    let days = unit(name)?.checked_mul(count)?;
    // "Since 3 days" is how many say "for 3 days".
    if text.was(at, 1, "since") && !text.is(at + length + 1, "ago|after|before") {
        return Some((length + 1, When::new(today.plus(-days), today)));
    }
    let by_day = days < 30 || name.starts_with("week");
    let when = if by_day { When::day(today.plus(-days)) } else { period(today, name, -count)? };
    ago.then_some((length + 2, when))
}

/// What follows "this", "last" or "next".
fn beside(text: Reader<'_>, at: usize, today: Date) -> Option<(usize, When)> {
    let ahead = text.is(at, "next|coming|following");
    let side = if text.is(at, "this") { 0 } else { i64::from(ahead) * 2 - 1 };
    // "The last three days of May" are none of today's.
    let of = |at: usize| text.is(at, "of");
    if let Some((length, count)) = quantity(text, at + 1).filter(|_| side != 0) {
        let days = unit(text.lower(at + 1 + length))?.checked_mul(count)?;
        return (!of(at + 2 + length)).then(|| (length + 2, around(today, side * days)));
    }
    let name = text.lower(at + 1);
    if of(at + 2) {
        return None;
    }
    // "The past week" and "recent weeks" end today, "last week" on its Sunday.
    if text.is(at, "past|recent|coming") && unit(name).is_some() {
        let days = lexicon::value("units.several", name).and_then(|days| days.parse().ok()).or_else(|| unit(name))?;
        return Some((2, around(today, side * days)));
    }
    if let Some(weekday) = text.read(at + 1, weekday) {
        let away = weekday - today.weekday();
        // The nearest one on that side.
        let away = if side == 0 { away } else { side * ((side * away - 1).rem_euclid(7) + 1) };
        return Some((2, When::day(today.plus(away))));
    }
    if let Some(when) = period(today, name, side).filter(|_| unit(name).is_none() || !name.ends_with('s')) {
        // "This month" ends today, and "later this month" begins tomorrow.
        let when = match side {
            0 if text.was(at, 1, "later") => When::new(today.plus(1).min(when.last), when.last),
            0 if when.first <= today => When::new(when.first, when.last.min(today)),
            _ => when,
        };
        return Some((2, when));
    }
    let month = text.month(at + 1).map(|month| (month, month));
    let named = Written::months(None, month.or_else(|| dates::span("dates.seasons", name))?);
    let years = |is: &dyn Fn(&When) -> bool| (0..=2).filter_map(|on| named.in_year(today.year + side * on)).find(is);
    let when = match side {
        1 => years(&|when| when.first > today)?,
        0 => named.in_year(today.year)?,
        _ => years(&|when| when.last < today)?,
    };
    Some((2, when))
}

fn around(today: Date, days: i64) -> When {
    if days < 0 { When::new(today.plus(days), today) } else { When::new(today.plus(1), today.plus(days)) }
}

/// How long behind other days, or before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Later {
    by: By,
    /// It is a time only with those days: "five days later", and unlike "after five days".
    pub counted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Days(i64, i64),
    /// The calendar's one that lies so many after it, or before.
    Next(&'static str, i64),
}

/// A time that is counted from those of the clause before, with its number of words; "next week" is one of today's.
pub fn later(text: Reader<'_>, at: usize) -> Option<(usize, Later)> {
    let next = |name, away| Some((2, Later { by: By::Next(name, away), counted: true }));
    let led = || text.fits(at, "later.next");
    match () {
        () if text.fits(at, "later.day_before") => next("day", -1),
        () if text.fits(at, "later.next_day") => next("day", 1),
        () if led() => next(["week", "month", "year"].into_iter().find(|name| text.is(at + 1, name))?, 1),
        () => counted(text, at),
    }
}

/// "Five days later", "36 hours after", "after two weeks", "a week earlier".
fn counted(text: Reader<'_>, at: usize) -> Option<(usize, Later)> {
    let after = usize::from(text.is(at, "after"));
    let (length, count) = quantity(text, at + after)?;
    let name_at = at + after + length;
    let end = name_at + 1;
    let (ahead, vague) = (text.fits(end, "later.ahead"), text.part(at..name_at).has("few|several|couple"));
    let by = distance(if ahead { -count } else { count }, text.lower(name_at), vague)?;
    if after == 1 && !ahead {
        // "After a 10-day shutdown", "after two weeks of protests" are no distance from other days.
        let bare = !text.joined(name_at) && text.fits(end, "later.bare");
        return bare.then_some((end - at, Later { by, counted: false }));
    }
    let behind = text.fits(end, "later.behind");
    (ahead || behind).then_some((end + 1 - at, Later { by, counted: true }))
}

fn distance(count: i64, name: &str, vague: bool) -> Option<By> {
    if matches!(name, "hour" | "hours") {
        let (least, most) = (count.div_euclid(24), (count + 23).div_euclid(24));
        return (count.abs() < 1_000).then_some(By::Days(least, most));
    }
    let days = unit(name)?.checked_mul(count).filter(|days| days.abs() < 4_000)?;
    // People round to months and to years. Our choice.
    let round = match name.trim_end_matches('s') {
        "month" => 15,
        "year" => 60,
        _ if vague => days.abs() / 2,
        _ => 0,
    };
    Some(By::Days(days - round, days + round))
}

impl Later {
    /// The days so long behind others: behind the beginning of what goes on since, and the end of what ended.
    pub fn behind(self, base: When) -> Option<When> {
        let (first, last) = match base.span {
            Span::Since | Span::After => (base.first, base.first.plus(base.named - 1)),
            Span::Range | Span::Until | Span::By | Span::Throughout => (base.last, base.last),
            Span::During | Span::Between | Span::Before => (base.first, base.last),
        };
        match self.by {
            By::Days(least, most) => Some(When::new(first.plus(least), last.plus(most))),
            By::Next(name, away) => period(if away < 0 { first } else { last }, name, away),
        }
    }
}
