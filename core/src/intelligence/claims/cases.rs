//! What each part of the reader makes of a text by itself.

use super::clauses::Piece;
use super::dates::Reader;
use super::networks::Network;
use super::subjects::{Listed, Topic, named, topics};
use super::when::{Spoken, Unread, When};
use super::words::{Word, split};
use super::{ahead, aside, clauses, later, means, networks, objects, places, stance, when};
use crate::engine::time::Date;
use crate::{Timestamp, facts::starter};

fn said(text: &str, now: &str) -> Spoken {
    when::when(&split(text), Timestamp::parse(now).unwrap(), None)
}

fn names(topics: &[Topic]) -> String {
    topics.iter().map(Topic::name).collect::<Vec<_>>().join(", ")
}

fn days(when: &When) -> String {
    format!("{}/{}", when.first, when.last)
}

/// What is claimed of, without those who report it.
fn claimed(words: &mut [Word<'_>]) -> String {
    let found = named(words, &Listed::new(&[]), |_| false);
    aside::mark(words, &found);
    names(&topics(words, &Listed::new(&[]), |_| false))
}

fn is_something_else(words: &[Word<'_>]) -> bool {
    let named = named(words, &Listed::new(&[]), |_| false);
    objects::are_others(words, |at| named.iter().any(|named| (named.at..named.at + named.length).contains(&at)))
}

fn stance(text: &str, words: &[Word<'_>]) -> Option<String> {
    let read = stance::read(words, text.to_lowercase().contains("internet"))?.stance;
    let (not, over) = (if read.negated { " not" } else { "" }, if read.over { " over" } else { "" });
    Some(format!("{}{not}{over}", read.kind.as_str()))
}

fn after_a_day(words: &[Word<'_>]) -> Option<String> {
    let reader = Reader { words, shouting: false };
    let (_, found) = (0..words.len()).find_map(|at| later::later(&reader, at))?;
    found.behind(When::day(Date::new(2021, 1, 12)?)).map(|when| days(&when))
}

fn pieces(words: &[Word<'_>]) -> String {
    let text = |piece: Piece| {
        let words = words[piece.range].iter().map(|word| word.text).collect::<Vec<_>>();
        format!("{:?}: {}", piece.link, words.join(" "))
    };
    clauses::pieces(words).into_iter().map(text).collect::<Vec<_>>().join(" | ")
}

fn found(what: &str, text: &str) -> String {
    const FRIDAY: &str = "2026-11-20T09:00:00Z";
    let mut words = split(text);
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    match what {
        "topics" => names(&topics(&words, &Listed::new(&[]), |_| false)),
        "claimed" => claimed(&mut words),
        "something else" => yes(is_something_else(&words)),
        "way around" => yes(means::reached_by(&words)),
        "supposed" => yes(ahead::is_supposed(&words, false)),
        "country" => places::choose(&places::mentions(&words)).map_or("", |country| country.code).to_owned(),
        "networks" => networks::named(&words, |_| false).iter().map(Network::label).collect::<Vec<_>>().join(", "),
        "stance" => stance(text, &words).unwrap_or_default(),
        "days" => said(text, FRIDAY).days.iter().map(days).collect::<Vec<_>>().join(" "),
        "span" => said(text, "2026-11-24T09:00:00Z")
            .days
            .first()
            .map_or(String::new(), |when| format!("{} {:?}", days(when), when.span).to_lowercase()),
        "unread" => match said(text, FRIDAY).unread {
            Some(Unread::NoSuchDate) => "no such date".to_owned(),
            Some(Unread::OtherWeekday) => "other weekday".to_owned(),
            None => String::new(),
        },
        "pieces" => pieces(&words),
        "mood" => format!("{:?}", clauses::mood(&words, false, true)).to_lowercase(),
        "mood of what works" => format!("{:?}", clauses::mood(&words, true, false)).to_lowercase(),
        "later than 12 January 2021" => after_a_day(&words).unwrap_or_default(),
        other => panic!("{other}"),
    }
}

#[test]
fn each_part_of_the_reader_takes_a_text_as_a_careful_reader_would() {
    let (mut count, mut wrong) = (0, Vec::new());
    for [what, text, expected] in starter::rows::<3>(include_str!("cases.tsv")) {
        let found = found(what, text);
        if found != expected && !(found.is_empty() && expected == "-") {
            wrong.push(format!("{what}: {text}: {found} and not {expected}"));
        }
        count += 1;
    }
    assert!(count > 500 && wrong.is_empty(), "{count}:\n{}", wrong.join("\n"));
}

#[test]
fn a_long_list_is_cut_into_so_many_pieces_and_no_more() {
    assert_eq!(clauses::pieces(&split(&"x, ".repeat(900))).len(), clauses::MOST_PIECES + 1);
}
