//! Times that are counted: from today ("last Tuesday", "three weeks ago", "next month"), or from the days of the clause
//! before ("five days later", "the day before"). The lexicon has their forms ("relative", "later"), which name a unit
//! by its days.

use super::*;

/// A number of days, weeks, months or years at a place, in days, with how many words it is.
pub fn days_counted(text: Reader<'_>, at: usize) -> Option<(usize, i64)> {
    let taken = text.take(at, "units.counted")?;
    let days = taken.number("number")? * taken.number("unit")?;
    (days < 4_000).then_some((taken.length, days))
}

/// The calendar day, week, weekend, month or year that lies so many before or after the one of a day.
fn period(today: Date, unit: i64, away: i64) -> Option<When> {
    let (monday, month) = (today.plus(away * 7 - today.weekday()), today.first_of_month().plus_months(away));
    Some(match unit {
        1 => When::day(today.plus(away)),
        2 => When::new(monday.plus(5), monday.plus(6)),
        7 => When::new(monday, monday.plus(6)),
        30 => When::new(month, month.last_of_month()),
        _ => Written::years(today.year, 1).in_year(today.year + away)?,
    })
}

/// A time that begins at a place and is counted from today, with its number of words.
pub fn relative(text: Reader<'_>, at: usize, today: Date, ahead: bool) -> Option<(usize, When)> {
    let taken = text.take(at, "relative")?;
    let number = |name: &str| taken.number(name).unwrap_or(0);
    let (count, unit, side) = (number("number"), number("unit"), number("side"));
    let from = |days: i64, to: i64| When::new(today.plus(days), today.plus(to));
    // Those days up to today, or from tomorrow on.
    let around = |days: i64| if days < 0 { from(days, 0) } else { from(1, days) };
    let when = match taken.says {
        "hours ago" => from(-(count + 23) / 24, 0),
        "ago" if unit < 30 && (unit == 7 || count < 30) => When::day(today.plus(-unit * count)),
        // Of months and years the whole one.
        "ago" => period(today, unit, -count)?,
        "since" => from(-unit * count, 0),
        "around" => around(side * unit * count.max(1)),
        "weekday" => {
            // "Wednesday 15 November": the date says more.
            let next = at + 1 + usize::from(text.is(at + 1, "the"));
            let dated = text.written(next).is_some_and(|(_, date)| date.is_day());
            let day = (!dated && text.days_of_a_month(next).is_none()).then(|| number("weekday"))?;
            let since = (today.weekday() - day).rem_euclid(7);
            When::day(today.plus(if ahead { (7 - since) % 7 } else { -since }))
        }
        "weekday beside" => {
            let away = number("weekday") - today.weekday();
            // The nearest one on that side.
            When::day(today.plus(if side == 0 { away } else { side * ((side * away - 1).rem_euclid(7) + 1) }))
        }
        // "This month" ends today, and "later this month" begins tomorrow.
        "period" => match period(today, unit, side)? {
            when if side == 0 && text.was(at, 1, "later") => When::new(today.plus(1).min(when.last), when.last),
            when if side == 0 && when.first <= today => When::new(when.first, when.last.min(today)),
            when => when,
        },
        "months" => {
            let month = taken.number("month").map(|month| (month, month));
            let named = Written::months(None, month.or(taken.pair("part"))?);
            let mut years = (0..=2).filter_map(|on| named.in_year(today.year + side * on));
            years.find(|when| side == 0 || if side > 0 { when.first > today } else { when.last < today })?
        }
        days => lexicon::pair(days).map(|(first, last)| from(first, last))?,
    };
    YEARS.contains(&when.first.year).then_some((taken.length, when))
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
    /// The calendar's one of so many days that lies so many after it, or before.
    Next(i64, i64),
}

/// A time that is counted from those of the clause before, with its number of words; "next week" is one of today's.
pub fn later(text: Reader<'_>, at: usize) -> Option<(usize, Later)> {
    let taken = text.take(at, "later")?;
    let by = match lexicon::pair(taken.says) {
        Some((unit, away)) => By::Next(unit, away),
        None => {
            let vague = taken.number("vague");
            let count = vague.or(taken.number("number"))? * if taken.says == "earlier" { -1 } else { 1 };
            distance(count, taken.number("unit")?, vague.is_some())?
        }
    };
    Some((taken.length, Later { by, counted: !taken.says.is_empty() }))
}

fn distance(count: i64, unit: i64, vague: bool) -> Option<By> {
    let days = unit * count;
    // People round to months and to years. Our choice.
    let round = match unit {
        // Hours are parts of a day.
        0 => return (count.abs() < 1_000).then_some(By::Days(count.div_euclid(24), (count + 23).div_euclid(24))),
        30 => 15,
        365 => 60,
        _ if vague => days.abs() / 2,
        _ => 0,
    };
    (days.abs() < 4_000).then_some(By::Days(days - round, days + round))
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
            By::Next(unit, away) => period(if away < 0 { first } else { last }, unit, away),
        }
    }
}
