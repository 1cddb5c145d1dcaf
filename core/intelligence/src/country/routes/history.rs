//! `/data/domain/{domain}/history`.
//!
//! A popular site has thousands of days and countries. The answer is therefore written directly from the packed days
//! that the world keeps ([`crate::world::Chronicle`]), and its tag is a hash of these days. A year in all
//! countries takes megabytes; such an answer is written while it is sent.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::StatusCode;
use http::header::CACHE_CONTROL;
use schemars::JsonSchema;
use serde::Serialize;

use super::accessibility::{AT_ONCE, ask_all};
use super::answer::license;
use super::domain::{Freshness, Survey, status, subject, survey};
use super::input;
use crate::aggregation::history::{self, HistoryAbout};
use crate::analytics::tabular::{self, MAX_AGE};
use crate::country::{HistoryDay, MeasuredDays, ReadMeasuredDays, State};
use crate::world::{self, Chronicle};
use crate::{Error, ErrorCode, Result, Timestamp};
use engine::csv;
use engine::documents;
use engine::http::{Body, Cx, Response};
use engine::number::round;
use engine::runtime;
use engine::time::DAY;
use facts::subject::Subject;

/// Number of entries over which an answer is sent in pieces.
const WHOLE: usize = 10_000;
/// Bytes after which a piece ends. It ends with a whole day, so it may be longer.
const PIECE: usize = 64 << 10;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CountryDay {
    /// The verdict at the end of that day, by all measurements until then.
    status: &'static str,
    /// Share of that day's votes that say blocked, 0 to 1. Of a platform it is that of the essential part with the
    /// largest share, since that part decides.
    block_rate: f64,
    /// Measurements of that day; of a platform, of all its essential parts.
    measurements: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DomainDay")]
struct Day {
    date: String,
    /// By country code, those with measurements on that day.
    countries: BTreeMap<String, CountryDay>,
    total_measurements: u32,
    total_blocked: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HistorySummary {
    total_data_points: u64,
    countries_ever_blocked: usize,
    countries_currently_blocking: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DomainHistory")]
pub struct HistoryBody {
    domain: String,
    period: String,
    days: u32,
    current_status: &'static str,
    generated: String,
    #[serde(flatten)]
    freshness: Freshness,
    summary: HistorySummary,
    countries_blocking: Vec<String>,
    /// Newest first.
    timeline: Vec<Day>,
    license: String,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

/// The list that is empty in the body. Its days are written from a [`Timeline`].
const LIST: &str = "\"timeline\":[";

/// Days of a history of all countries, at most.
const MOST_DAYS: u32 = 366;

/// The days of a history, and the moment at whose end it is judged: the last `days`, or those from `since` to `until`.
fn days(cx: &Cx, everywhere: bool) -> Result<(u32, Option<Timestamp>)> {
    let Some(range) = history::days_asked(cx)? else { return Ok((cx.count("days", 30, 365)?, cx.as_of()?)) };
    let days = u32::try_from(range.hours() / 24).unwrap_or(u32::MAX);
    if everywhere && days > MOST_DAYS {
        let message = format!("A history of all countries has at most {MOST_DAYS} days. Name a `country`.");
        return Err(Error::new(ErrorCode::TooBroad, message));
    }
    // The last instant of the last day, so that this day belongs to the history and the next does not.
    let last = Timestamp(range.until().0 - 1);
    Ok((days, (last < cx.now()).then_some(last)))
}

pub async fn history(cx: Cx) -> Result<Response> {
    let subject = subject(&cx).await?;
    let country = input::query_country(&cx, "country")?;
    if history::is_by_network(&cx)? {
        let series = subject.roles.iter().map(|role| role.key.clone()).collect();
        let about = HistoryAbout { subject: Some((subject.name.clone(), series)), country, ..HistoryAbout::default() };
        return history::by_network(&cx, about).await;
    }
    let everywhere = country.is_none();
    let (days, at) = days(&cx, everywhere)?;
    let csv = tabular::wants_csv(&cx)?;
    let survey = match country {
        Some(country) => Survey::one(country.code),
        None => survey(&cx, &subject, at).await?,
    };
    let first = at.unwrap_or_else(|| cx.now()).day() + 1 - i64::from(days);
    let answers = ask_all(&cx, &subject, survey.suspects(), at, true).await?;
    let freshness = Freshness::new(&subject, survey.measured(), &answers, at.unwrap_or_else(|| cx.now()));
    let counts = survey.counts(&answers);
    let Survey { countries, licences, .. } = survey;
    let asked_now = everywhere && at.is_none();
    let countries = countries.into_iter().filter(|country| !asked_now || country.may_know_since(first));
    let codes: Vec<String> = countries.map(|country| country.code).collect();
    let mut licences: Vec<String> = licences.into_iter().collect();
    licences.extend(answers.iter().flat_map(|(_, answer)| answer.licences.clone()));
    let blocked = answers.iter().filter(|(_, answer)| answer.state == State::Blocked);
    let blocking: Vec<String> = blocked.map(|(question, _)| question.code.clone()).collect();
    let told = match (everywhere, at, subject.roles.as_slice()) {
        (true, None, [only]) => told(&cx, &only.key, codes, days).await?,
        _ => asked(&cx, &subject, codes, days, at).await?,
    };
    let timeline = Timeline::new(&told, u32::try_from(first).unwrap_or(0));
    let body = HistoryBody {
        domain: subject.name.clone(),
        period: format!("{days} days"),
        days,
        current_status: status(&counts),
        generated: tabular::generated(&cx, at).to_string(),
        freshness,
        summary: HistorySummary {
            total_data_points: timeline.days.iter().map(|day| u64::from(day.measurements)).sum(),
            // A country that blocks now counts as having blocked, even if only a list says so.
            countries_ever_blocked: timeline.ever_blocked.iter().chain(&blocking).collect::<BTreeSet<_>>().len(),
            countries_currently_blocking: blocking.len(),
        },
        countries_blocking: blocking,
        timeline: Vec::new(),
        license: license(&licences),
        as_of: at.map(|at| at.to_string()),
    };
    answer(&cx, &body, timeline, &told, csv)
}

/// The days in some countries as the world knows them. A country that has told the world none is asked.
async fn told(cx: &Cx, series: &str, codes: Vec<String>, days: u32) -> Result<Vec<(String, MeasuredDays)>> {
    let chronicle = Chronicle { target: series.to_owned() };
    let known = runtime::query(&*cx.rt, world::actor().name, &chronicle).await?;
    // Both are ordered by code.
    let mut known = known.into_iter().peekable();
    let (mut found, mut unknown) = (Vec::with_capacity(codes.len()), Vec::new());
    for code in codes {
        while known.next_if(|(other, _)| *other < code).is_some() {}
        match known.next_if(|(other, _)| *other == code) {
            Some(told) => found.push(told),
            None => unknown.push(code),
        }
    }
    if !unknown.is_empty() {
        found.extend(asked(cx, &Subject::series(series), unknown, days, None).await?);
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
    Ok(found)
}

/// The days as the countries compute them now.
async fn asked(
    cx: &Cx,
    subject: &Subject,
    codes: Vec<String>,
    days: u32,
    at: Option<Timestamp>,
) -> Result<Vec<(String, MeasuredDays)>> {
    let work = codes.into_iter().map(|code| async move {
        Ok((code.clone(), of_country(cx, subject, code, days, at).await?.into_iter().collect()))
    });
    let found: Vec<Result<_>> = stream::iter(work).buffered(AT_ONCE).collect().await;
    found.into_iter().collect()
}

/// The days of one country, asked for in pieces of a year, so that one operation stays bounded.
async fn of_country(
    cx: &Cx,
    subject: &Subject,
    code: String,
    days: u32,
    at: Option<Timestamp>,
) -> Result<Vec<HistoryDay>> {
    let (mut found, mut left, mut at) = (Vec::new(), days, at);
    loop {
        let piece = left.min(MOST_DAYS);
        let history = ReadMeasuredDays { subject: subject.clone(), days: piece, at };
        let mut earlier = runtime::query(&*cx.rt, code.clone(), &history).await?;
        earlier.append(&mut found);
        (found, left) = (earlier, left - piece);
        if left == 0 {
            return Ok(found);
        }
        let first = at.unwrap_or_else(|| cx.now()).day() + 1 - i64::from(piece);
        if first <= 0 {
            return Ok(found);
        }
        at = Some(Timestamp(first * DAY - 1));
    }
}

/// A day, and what each country says about it. A country is given by its place in the list of codes.
struct Row {
    day: u32,
    measurements: u32,
    blocked: u32,
    countries: Vec<(u16, HistoryDay)>,
}

/// The days with any measurement, newest first.
struct Timeline {
    days: Vec<Row>,
    entries: usize,
    /// Countries with a blocked day.
    ever_blocked: BTreeSet<String>,
    codes: Vec<String>,
}

impl Timeline {
    fn new(told: &[(String, MeasuredDays)], first: u32) -> Timeline {
        let mut rows: Vec<Row> = Vec::new();
        let (mut entries, mut ever_blocked) = (0, BTreeSet::new());
        for (place, (code, known)) in (0_u16..).zip(told) {
            // Both are ordered by day.
            let (mut blocked, mut at) = (false, 0);
            for day in known.iter().filter(|day| day.day >= first) {
                at += rows.iter().skip(at).take_while(|row| row.day < day.day).count();
                if rows.get(at).is_none_or(|row| row.day != day.day) {
                    let countries = Vec::with_capacity(told.len());
                    rows.insert(at, Row { day: day.day, measurements: 0, blocked: 0, countries });
                }
                let Some(row) = rows.get_mut(at) else { continue };
                row.measurements = row.measurements.saturating_add(day.measurements);
                row.blocked = row.blocked.saturating_add(day.blocked);
                blocked |= day.status == State::Blocked;
                row.countries.push((place, day));
                entries += 1;
            }
            ever_blocked.extend(blocked.then(|| code.clone()));
        }
        let codes = told.iter().map(|(code, _)| code.clone()).collect();
        rows.reverse();
        Timeline { days: rows, entries, ever_blocked, codes }
    }
}

/// The text around and between the days.
struct Frame {
    before: Vec<u8>,
    after: Vec<u8>,
    /// The licence as the last cell of each line, for CSV.
    line_end: Option<Vec<u8>>,
}

impl Frame {
    fn json(page: Vec<u8>) -> Result<Frame> {
        // Quotation marks inside of strings are escaped, so the first match is the list.
        let at = page.windows(LIST.len()).position(|part| part == LIST.as_bytes());
        let at = at.ok_or_else(|| Error::internal("a history without its days"))? + LIST.len();
        let (before, after) = page.split_at(at);
        Ok(Frame { before: before.to_vec(), after: after.to_vec(), line_end: None })
    }

    fn csv(license: &str) -> Frame {
        let license = format!(",{}\r\n", csv::field(license));
        let header = b"date,country,status,blockRate,measurements,license\r\n";
        Frame { before: header.to_vec(), after: Vec::new(), line_end: Some(license.into_bytes()) }
    }

    /// Writes one day. `first` is true for the first day of a JSON list.
    fn day(&self, out: &mut Vec<u8>, row: &Row, codes: &[String], first: bool) {
        let date = Timestamp(i64::from(row.day) * DAY).to_date_text();
        let code = |place: u16| codes.get(usize::from(place)).map_or("", String::as_str).as_bytes();
        if let Some(line_end) = &self.line_end {
            let date = [date.as_bytes(), b","].concat();
            for (place, day) in &row.countries {
                out.extend(&date);
                out.extend(code(*place));
                match (day.status, day.blocked) {
                    (State::Accessible, 0) => out.extend(b",accessible,0.0,"),
                    (status, _) => {
                        out.push(b',');
                        out.extend(status.as_str().as_bytes());
                        out.push(b',');
                        rate(out, day);
                        out.push(b',');
                    }
                }
                number(out, day.measurements);
                out.extend(line_end);
            }
            return;
        }
        out.extend(if first { &b"{\"date\":\""[..] } else { b",{\"date\":\"" });
        out.extend(date.as_bytes());
        out.extend(b"\",\"countries\":{");
        for (n, (place, day)) in row.countries.iter().enumerate() {
            out.extend(if n == 0 { &b"\""[..] } else { b",\"" });
            out.extend(code(*place));
            // Most entries are of this kind, and there are thousands.
            match (day.status, day.blocked) {
                (State::Accessible, 0) => {
                    out.extend(br#"":{"status":"accessible","blockRate":0.0,"measurements":"#);
                }
                (status, _) => {
                    out.extend(br#"":{"status":""#);
                    out.extend(status.as_str().as_bytes());
                    out.extend(br#"","blockRate":"#);
                    rate(out, day);
                    out.extend(br#","measurements":"#);
                }
            }
            number(out, day.measurements);
            out.push(b'}');
        }
        out.extend(b"},\"total_measurements\":");
        number(out, row.measurements);
        out.extend(b",\"total_blocked\":");
        number(out, row.blocked);
        out.push(b'}');
    }
}

fn rate(out: &mut Vec<u8>, day: &HistoryDay) {
    match day.blocked {
        0 => out.extend(b"0.0"),
        all if all == day.votes => out.extend(b"1.0"),
        _ => {
            let rate = round(f64::from(day.blocked) / f64::from(day.votes.max(1)));
            // A finite number always has a text.
            out.extend(serde_json::to_string(&rate).unwrap_or_default().as_bytes());
        }
    }
}

/// Writes a number in decimals. The general way takes several times as long, and there are thousands of numbers.
fn number(out: &mut Vec<u8>, number: u32) {
    let mut digits = [0; 10];
    let (mut rest, mut from) = (number, digits.len());
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        (rest, from) = (rest / 10, from - 1);
        if rest == 0 {
            break;
        }
    }
    out.extend(digits.get(from..).unwrap_or_default());
}

/// Sends a history. Its tag is a hash of what the answer is written from: some ten kilobytes, while the text has
/// hundreds.
fn answer(
    cx: &Cx,
    body: &HistoryBody,
    timeline: Timeline,
    told: &[(String, MeasuredDays)],
    csv: bool,
) -> Result<Response> {
    let page = serde_json::to_vec(body).map_err(Error::internal)?;
    let past = body.as_of.is_some();
    let mut response = match csv {
        true => tabular::csv_answer("history", &body.domain, Vec::new()),
        false => Response::json_text(Vec::new()),
    };
    if past {
        response.set(CACHE_CONTROL, "no-store");
    } else {
        // As for every answer, the tag leaves out the time at which it was made. Days are hashed as they are stored.
        let mut known = documents::json_etag(&page).into_bytes();
        known.extend([env!("CARGO_PKG_VERSION").as_bytes(), &[u8::from(csv)]].concat());
        for (code, days) in told {
            known.extend(code.as_bytes());
            known.extend(u32::try_from(days.as_bytes().len()).unwrap_or(u32::MAX).to_be_bytes());
            known.extend(days.as_bytes());
        }
        let tag = documents::etag(&known);
        let tag = if csv { tag } else { format!("W/{tag}") };
        response = cx.revalidated(response, &tag, MAX_AGE);
        if response.status == StatusCode::NOT_MODIFIED {
            return Ok(response);
        }
    }
    let frame = if csv { Frame::csv(&body.license) } else { Frame::json(page)? };
    response.body = match timeline.entries > WHOLE {
        true => Body::Stream(Box::pin(stream::iter(pieces(frame, timeline)))),
        false => {
            let mut out = Vec::with_capacity(frame.before.len() + frame.after.len() + timeline.entries * 64 + 4_096);
            out.extend(&frame.before);
            for (n, row) in timeline.days.iter().enumerate() {
                frame.day(&mut out, row, &timeline.codes, n == 0);
            }
            out.extend(&frame.after);
            Body::Bytes(out.into())
        }
    };
    Ok(response)
}

/// The same text in pieces of some days.
fn pieces(frame: Frame, timeline: Timeline) -> impl Iterator<Item = Bytes> {
    let Timeline { days, codes, .. } = timeline;
    let mut days = days.into_iter().enumerate();
    let mut next = Some(frame.before.clone());
    std::iter::from_fn(move || {
        let mut out = next.take()?;
        for (n, row) in days.by_ref() {
            frame.day(&mut out, &row, &codes, n == 0);
            if out.len() >= PIECE {
                next = Some(Vec::with_capacity(PIECE + PIECE / 2));
                return Some(Bytes::from(out));
            }
        }
        out.extend(&frame.after);
        Some(Bytes::from(out))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: u32, [measurements, votes, blocked]: [u32; 3], status: State) -> HistoryDay {
        HistoryDay { day, measurements, blocked, votes, status }
    }

    fn told() -> Vec<(String, MeasuredDays)> {
        let no = [day(1, [7, 7, 0], State::Accessible), day(20_000, [268_435_455, 3, 1], State::Unknown)];
        let se = [day(20_000, [9, 8, 8], State::Blocked), day(20_001, [10, 0, 0], State::Unknown)];
        vec![("NO".to_owned(), no.into_iter().collect()), ("SE".to_owned(), se.into_iter().collect())]
    }

    fn text(frame: &Frame, timeline: &Timeline) -> String {
        let mut out = frame.before.clone();
        for (n, row) in timeline.days.iter().enumerate() {
            frame.day(&mut out, row, &timeline.codes, n == 0);
        }
        out.extend(&frame.after);
        String::from_utf8(out).unwrap()
    }

    /// The written text is what the interface promises about the body, member for member.
    #[test]
    fn what_is_written_is_what_the_types_would_give() {
        let timeline = Timeline::new(&told(), 2);
        assert_eq!((timeline.entries, timeline.ever_blocked.len()), (3, 1));
        let entry = |status, block_rate, measurements| CountryDay { status, block_rate, measurements };
        let days = [
            Day {
                date: "2024-10-05".to_owned(),
                countries: BTreeMap::from([("SE".to_owned(), entry("unknown", 0.0, 10))]),
                total_measurements: 10,
                total_blocked: 0,
            },
            Day {
                date: "2024-10-04".to_owned(),
                countries: BTreeMap::from([
                    ("NO".to_owned(), entry("unknown", 0.3333, 268_435_455)),
                    ("SE".to_owned(), entry("blocked", 1.0, 9)),
                ]),
                total_measurements: 268_435_464,
                total_blocked: 9,
            },
        ];
        let frame = Frame::json(br#"{"a":"\"timeline\":[","timeline":[],"b":1}"#.to_vec()).unwrap();
        let expected =
            format!(r#"{{"a":"\"timeline\":[","timeline":{},"b":1}}"#, serde_json::to_string(&days).unwrap());
        assert_eq!(text(&frame, &timeline), expected);
        let lines = "date,country,status,blockRate,measurements,license\r\n\
                     2024-10-05,SE,unknown,0.0,10,\"a,\"\"b\"\r\n\
                     2024-10-04,NO,unknown,0.3333,268435455,\"a,\"\"b\"\r\n\
                     2024-10-04,SE,blocked,1.0,9,\"a,\"\"b\"\r\n";
        assert_eq!(text(&Frame::csv("a,\"b"), &timeline), lines);
    }

    #[test]
    fn numbers_have_their_decimals() {
        for n in [0, 7, 10, 99, 100, 4_294_967_295] {
            let mut out = Vec::new();
            number(&mut out, n);
            assert_eq!(String::from_utf8(out).unwrap(), n.to_string());
        }
    }

    #[test]
    fn an_answer_in_pieces_is_the_whole_one_and_no_piece_is_long() {
        let days: MeasuredDays = (1..=365).map(|n| day(n, [n, n, 0], State::Accessible)).collect();
        let told: Vec<(String, MeasuredDays)> = (0..200).map(|n| (format!("{n:03}"), days.clone())).collect();
        let frame = || Frame::json(br#"{"timeline":[],"license":"CC0"}"#.to_vec()).unwrap();
        let whole = text(&frame(), &Timeline::new(&told, 0));
        let pieces: Vec<Bytes> = pieces(frame(), Timeline::new(&told, 0)).collect();
        assert!(whole.len() > 1 << 20 && pieces.len() > 10 && pieces.iter().all(|piece| piece.len() < 2 * PIECE));
        assert_eq!(pieces.concat(), whole.into_bytes());
    }
}
