//! What each part of the reader makes of a text by itself.

use super::beyond::{self, Occasions};
use super::check::{Findings, judge};
use super::clauses::Piece;
use super::counts::Kind;
use super::details::Fit;
use super::gather::BlockedOfDecided;
use super::networks::Network;
use super::stance::Stance;
use super::subjects::{Topic, listed, mark_asides, named, topics};
use super::when::{ClauseDays, When};
use super::words::{Name, Reader, Word, mark, split, stem};
use super::{bearing, clauses, dates, details, hours, lexicon, networks, places, relative, sources, stance, when};
use crate::Timestamp;
use crate::country::State;
use engine::time::Date;
use facts::starter;
use facts::{brands, tracked::Tracked};

const FRIDAY: &str = "2026-11-20T09:00:00Z";
const TUESDAY: &str = "2026-11-24T09:00:00Z";

fn said(text: &str, now: &str) -> ClauseDays {
    when::when(&split(text), Timestamp::parse(now).unwrap(), None)
}

fn of_topics(words: &[Word<'_>]) -> Vec<Topic> {
    topics(Reader::of(words), &named(words, &listed(&[])))
}

fn joined<T>(parts: impl IntoIterator<Item = T>, name: impl Fn(T) -> String, by: &str) -> String {
    parts.into_iter().map(name).collect::<Vec<_>>().join(by)
}

fn days(when: &When) -> String {
    format!("{}/{}", when.first, when.last)
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

/// What is claimed of, without those who report it.
fn claimed(mut words: Vec<Word<'_>>) -> Vec<Topic> {
    let found = named(&words, &listed(&[]));
    mark_asides(&mut words, &found);
    of_topics(&words)
}

fn is_something_else(mut words: Vec<Word<'_>>) -> bool {
    places::marked(&mut words);
    for named in named(&words.clone(), &listed(&[])) {
        mark(&mut words, (named.at, named.length), Name::Service);
    }
    clauses::are_others(Reader::of(&words))
}

fn stance(text: Reader<'_>) -> Option<String> {
    let read = stance::read(text, text.has("internet"))?.stance;
    let (not, over) = (if read.negated { " not" } else { "" }, if read.over { " over" } else { "" });
    Some(format!("{}{not}{over}", read.kind.as_str()))
}

fn after_a_day(text: Reader<'_>) -> Option<String> {
    let (_, found) = (0..text.words.len()).find_map(|at| relative::later(text, at))?;
    found.behind(When::day(Date::new(2021, 1, 12)?)).map(|when| days(&when))
}

fn pieces(mut words: Vec<Word<'_>>) -> String {
    places::marked(&mut words);
    let text = Reader::of(&words);
    let one =
        |piece: Piece| format!("{:?}: {}", piece.link, joined(text.part(piece.range).words, |w| w.text.into(), " "));
    joined(clauses::pieces(text), one, " | ")
}

fn detail(text: &str, words: &[Word<'_>]) -> Option<String> {
    let stance = Stance { deliberate: true, ..Stance::default() };
    let found = beyond::beyond(words, &said(text, TUESDAY).days, stance);
    Some(facts::sentence::Sentence::new(found.first()?.code()).english())
}

fn counted(text: &str) -> Option<String> {
    let counting = super::parse(text, Timestamp::parse(FRIDAY).unwrap(), &[]).count?;
    let kind = match counting.kind {
        Kind::Number(least, most) => format!("{least}..{most}"),
        Kind::Than(other, more) => format!("{} {}", if more { ">" } else { "<" }, other.code),
        Kind::Most(continent) => format!("most {}", continent.unwrap_or("of all")),
    };
    Some(format!("{} {kind}", counting.country.code))
}

fn areas(words: &[Word<'_>]) -> String {
    let mentions = places::mentions(words);
    let code = places::choose(&mentions).map_or("", |country| country.code);
    let name = |area: places::Area| area.region.map_or(area.name.into(), |region| format!("{}<{region}", area.name));
    joined(places::areas(&mentions, code), name, ", ")
}

/// What is asked of a text with something that it is compared with.
fn compared(what: &str, with: &'static str, text: Reader<'_>) -> Option<String> {
    let places = || 0..text.words.len();
    let numbers = || with.split(' ').filter_map(|word| word.parse::<f64>().ok()).collect::<Vec<_>>();
    let count = |number: usize| numbers()[number] as usize;
    let share = || places().find_map(|at| beyond::share(text, at));
    let measured = || with.split(' ').filter(|name| !name.is_empty()).collect::<Vec<_>>();
    Some(match what {
        "pattern" => yes(lexicon::List::of(with).take(text, 0).is_some()),
        "lasts days" => yes(places().find_map(|at| beyond::duration(text, at))?.holds(numbers()[0])),
        "occasion is" => yes(Occasions::of(text).are(with)),
        "by methods" => yes(beyond::methods(text)?.are_among(&measured())),
        "against methods" => yes(beyond::methods(text)?.are_opposed_by(&measured())),
        "blocked of" => yes(share()?.holds(BlockedOfDecided { blocked: count(0), decided: count(1) })),
        "against blocked of" => yes(share()?.is_opposed(BlockedOfDecided { blocked: count(0), decided: count(1) })),
        "operator is" => {
            let name = joined(text.words, |word| word.text.into(), " ");
            let (number, name) =
                name.split_once(" is ").map_or((None, name.as_str()), |(asn, name)| (asn.parse().ok(), name));
            let network = Network { asn: number, name: Some(name.to_owned()), country: None };
            let (asn, known) = with.split_once(' ').unwrap_or((with, ""));
            yes(network.is(asn.parse().unwrap(), Some(known).filter(|known| !known.is_empty())))
        }
        "hours in" => {
            let found = places().find_map(|at| hours::hours(text, at))?.1;
            assert_eq!(found.fit(None, with), Fit::Untold);
            format!("{:?}", found.fit(Some("weekdays 04-14 UTC"), with)).to_lowercase()
        }
        "incident of areas" => {
            let areas: Vec<String> = with.split(" / ").filter(|area| !area.is_empty()).map(str::to_owned).collect();
            let mentions = places::mentions(text.words);
            let code = places::choose(&mentions)?.code;
            yes(bearing::fits(&areas, &places::areas(&mentions, code), places::is_nationwide(text.words, &mentions)))
        }
        "networks and weight" => {
            let spread = (BlockedOfDecided { blocked: count(0), decided: count(1) }, numbers()[2]);
            format!("{:?}", details::fit(spread, share())).to_lowercase()
        }
        "platforms of" => {
            let one = |state| Findings { state, confidence: 0.95, measured: true, evidence: 20, ..Findings::default() };
            let mut found = vec![one(Some(State::Blocked)); count(0)];
            found.extend(vec![one(Some(State::Accessible)); count(1) - count(0)]);
            found.push(Findings { evidence: 1, ..Findings::default() });
            let stance = Stance { negated: text.has("not"), deliberate: true, ..Stance::default() };
            let judgement = judge(stance, &sources::together(&found).0);
            let contradicted = if judgement.contradicted { " contradicted" } else { "" };
            format!("{}{contradicted}", judgement.verdict.as_str())
        }
        other => panic!("{other}"),
    })
}

fn found(what: &'static str, sentence: &str) -> String {
    let words = split(sentence);
    let text = Reader::of(&words);
    if let Some((what, with)) = what.split_once(": ") {
        return compared(what, with, text).unwrap_or_default();
    }
    match what {
        "words" => joined(&words, |word| word.text.to_owned(), " "),
        "pauses" => joined(&words, |word| format!("{:?}", word.pause).to_lowercase(), " "),
        "joined" => joined(&words, |word| yes(word.joined), " "),
        "stem" => joined(&words, |word| stem(&word.lower), " "),
        "misspelt month" => dates::month_misspelt(sentence).map_or(String::new(), |month| month.to_string()),
        "years" => joined(dates::in_figures(words), |word| word.lower, " "),
        "topics" => joined(of_topics(&words), |topic| topic.name().to_owned(), ", "),
        "all names" => joined(of_topics(&words), |topic| topic.names().join(" "), ", "),
        "claimed" => joined(claimed(words), |topic| topic.name().to_owned(), ", "),
        "something else" => yes(is_something_else(words)),
        "way around" => yes(stance::is_way_around(text)),
        "supposed" => yes(clauses::is_ahead(text, false)),
        "country" => places::choose(&places::mentions(&words)).map_or("", |country| country.code).to_owned(),
        "areas" => areas(&words),
        "networks" => joined(networks::named(text), |network| network.said().english(), ", "),
        "home" => networks::home(sentence).map_or("", |country| country.code).to_owned(),
        "called" => networks::called(sentence).unwrap_or_default(),
        "stance" => stance(text).unwrap_or_default(),
        "measure" => text.find("measure").map_or(String::new(), |at| words[at].lower.clone()),
        "days" => joined(&said(sentence, FRIDAY).days, days, " "),
        "span" => joined(said(sentence, TUESDAY).days.first(), |when| format!("{} {:?}", days(when), when.span), " ")
            .to_lowercase(),
        "unread" => match said(sentence, FRIDAY).unread {
            Some(when::NO_SUCH_DATE) => "no such date".to_owned(),
            Some(_) => "other weekday".to_owned(),
            None => String::new(),
        },
        "pieces" => pieces(words),
        "later than 12 January 2021" => after_a_day(text).unwrap_or_default(),
        "mood" => format!("{:?}", clauses::mood(text, false, true)).to_lowercase(),
        "mood of what works" => format!("{:?}", clauses::mood(text, true, false)).to_lowercase(),
        "share" => joined((0..words.len()).find_map(|at| beyond::share(text, at)), |share| format!("{share:?}"), ""),
        "detail" => detail(sentence, &words).unwrap_or_default(),
        "count" => counted(sentence).unwrap_or_default(),
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
    assert!(count > 700 && wrong.is_empty(), "{count}:\n{}", wrong.join("\n"));
}

#[test]
fn a_long_list_is_cut_into_so_many_pieces_and_no_more() {
    let list = "x, ".repeat(900);
    assert_eq!(clauses::pieces(Reader::of(&split(&list))).len(), clauses::MOST_PIECES + 1);
}

/// Platforms of a target list are named like those of the project; an ordinary word is none.
#[test]
fn platforms_of_target_lists_are_named_too() {
    let role = |key: &str| facts::subject::Role { key: key.to_owned(), essential: true };
    let tracked = |slug: &str, label: &str, key: &str| Tracked {
        slug: slug.to_owned(),
        label: label.to_owned(),
        roles: vec![role(key)],
    };
    let platforms = [tracked("hub", "The Hub", "hub.example"), tracked("github", "Github", "github.com")];
    let found = |text: &str| topics(Reader::of(&split(text)), &named(&split(text), &listed(&platforms)));
    let names = |text: &str| joined(found(text), |topic| topic.name().to_owned(), " ");
    assert_eq!(names("The Hub is blocked"), "hub");
    assert_eq!(names("Hub and Telegram are blocked"), "hub telegram");
    assert_eq!(names("GitHub is blocked"), "github", "and not the host alone");
    assert_eq!(names("a hub of trade, and Telegram"), "telegram");
    let Some(Topic::Subject(subject)) = found("Hub").pop() else { panic!() };
    assert_eq!(subject.roles, [role("hub.example")]);
    let slug = facts::subject::Subject { name: "discord".to_owned(), service: true, roles: Vec::new() };
    assert_eq!(Topic::Subject(slug).names(), ["discord", "discord.com"]);
}

/// Tables name what there is, and each name once.
#[test]
fn every_row_of_a_table_is_of_a_country_or_service() {
    let mut seen = std::collections::BTreeMap::new();
    for [code, adjectives, places] in starter::rows::<3>(include_str!("places.tsv")) {
        assert!(starter::Country::is_valid_code(code), "{code}");
        let names = adjectives.split('|').chain(places.split('|')).filter(|name| !name.is_empty());
        for name in names.map(|name| name.trim_start_matches('*').split('<').next().unwrap()) {
            assert_eq!(seen.insert(name.to_lowercase(), code), None, "{name}");
        }
    }
    for (name, domain) in brands::sites() {
        assert!(facts::subject::Subject::parse(domain).is_ok(), "{name}");
    }
}
