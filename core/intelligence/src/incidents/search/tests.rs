//! Quality of the ranks on the shutdown table, where the table is available.

use std::collections::BTreeSet;
use std::io::Read;

use super::index::{Index, Text};
use super::rank::{Method, search};
use super::tokens::tokens;
use super::vectors::Vectors;
use engine::actor::{decode, encode};
use facts::starter::Country;

/// A labelled text.
struct Labelled {
    cause: String,
    text: Text,
}

/// The usable rows of the table: a text and a cause, no text twice, without names of countries.
fn corpus() -> Option<Vec<Labelled>> {
    let bytes = engine::testing::real_data("shutdowns/stop_2016_2024.csv.gz")?;
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|column| column == name).unwrap();
    let (country, cause, event) = (column("country"), column("actual_cause"), column("event"));
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    for record in reader.records().map(Result::unwrap) {
        let field = |at: usize| record.get(at).unwrap_or_default().trim();
        let (country, cause) = (field(country), field(cause));
        let text = without_countries(field(event), country);
        if text.is_empty() || cause.is_empty() || cause == "Unknown" || !seen.insert(tokens(&text).join(" ")) {
            continue;
        }
        let text = Text {
            id: rows.len().to_string(),
            country: country.to_owned(),
            kind: "censorship".into(),
            confidence: 1.0,
            text,
        };
        rows.push(Labelled { cause: cause.to_owned(), text });
    }
    Some(rows)
}

/// Removes every country name, so that texts are not found by place.
fn without_countries(text: &str, own: &str) -> String {
    let mut text = text.to_owned();
    let names = Country::all().iter().flat_map(Country::names).map(str::to_owned).chain([own.to_owned()]);
    for name in names.filter(|name| name.len() > 3) {
        text = text.replace(&name, " ");
    }
    text
}

/// Share of hits with the same cause among the first five from other countries, averaged over all texts.
fn precision(index: &Index, rows: &[Labelled], methods: &[Method]) -> f64 {
    let mut sum = 0.0;
    for row in rows {
        let hits = search(index, None, &row.text.text, methods, 5, &|_, entry| entry.country != row.text.country);
        let right = hits.iter().filter(|hit| rows[hit.at].cause == row.cause).count();
        sum += right as f64 / 5.0;
    }
    sum / rows.len() as f64
}

/// The precision of drawing at random among the texts of other countries.
fn chance(rows: &[Labelled]) -> f64 {
    let share = |row: &Labelled| {
        let others = rows.iter().filter(|other| other.text.country != row.text.country);
        let (all, same) =
            others.fold((0, 0), |(all, same), other| (all + 1, same + i32::from(other.cause == row.cause)));
        f64::from(same) / f64::from(all)
    };
    rows.iter().map(share).sum::<f64>() / rows.len() as f64
}

/// Fused ranks are at least as good as BM25 alone and 2.3 times as good as chance (decision similar-incidents). The
/// corpus has no repetitions and no names of countries, and hits of the same country are left out.
#[test]
fn fused_ranks_are_at_least_as_good_as_bm25_and_far_over_chance() {
    let Some(rows) = corpus() else { return };
    let texts: Vec<Text> = rows.iter().map(|row| row.text.clone()).collect();
    let index = Index::build(&texts);
    let random = chance(&rows);
    let bm25 = precision(&index, &rows, &[Method::Bm25]);
    let lsa = precision(&index, &rows, &[Method::Lsa]);
    let fused = precision(&index, &rows, &[Method::Bm25, Method::Lsa]);
    eprintln!("{} texts, precision@5: random {random:.3}, BM25 {bm25:.3}, LSA {lsa:.3}, fused {fused:.3}", rows.len());
    assert!(fused >= bm25, "fused {fused} under BM25 {bm25}");
    assert!(fused >= 2.3 * random, "fused {fused} under 2.3 times {random}");
}

fn text(id: &str, country: &str, text: &str) -> Text {
    Text { id: id.into(), country: country.into(), kind: "censorship".into(), confidence: 0.5, text: text.into() }
}

#[test]
fn an_index_that_was_stored_answers_as_the_one_that_was_built() {
    let words = ["exam cheating mobile", "election social media blocked", "coup army", "election day exam"];
    let texts: Vec<Text> = words.iter().map(|words| text(words, "UG", words)).collect();
    let built = Index::build(&texts);
    let stored = decode::<Index>(&encode(&built).unwrap()).unwrap().open();
    for query in ["exam", "election exam", "media army coup", "exam exam exam exam"] {
        let methods = [Method::Bm25, Method::Lsa];
        let hits = |index: &Index| search(index, None, query, &methods, 5, &|_, _| true);
        assert!(!hits(&built).is_empty());
        assert_eq!(hits(&built), hits(&stored));
        let scores = built.scores(&built.known(query), 1.0);
        for (score, words) in scores.iter().zip(words) {
            let found = words.split(' ').any(|word| query.contains(word));
            assert_eq!(score.bm25 > 0.0, found, "{query}: {words}");
        }
    }
    let once = built.scores(&built.known("exam"), 1.0)[0].bm25;
    assert_eq!(built.scores(&built.known("exam exam exam exam"), 1.0)[0].bm25, 3.0 * once);
}

#[test]
fn what_shares_words_comes_first_and_what_shares_nothing_not_at_all() {
    let index = Index::build(&[
        text("exam", "IQ", "Mobile internet was shut down during national school exams against cheating"),
        text("vote", "UG", "Social media was blocked on the day of the election"),
        text("coup", "MM", "The army cut all connections after the coup"),
    ]);
    let both = [Method::Bm25, Method::Lsa];
    let hits = search(&index, None, "exam cheating", &both, 5, &|_, _| true);
    assert_eq!(index.entries[hits[0].at].id, "exam");
    assert!(hits[0].score > 0.0 && hits[0].score <= 1.0);
    assert!(search(&index, None, "zebra", &both, 5, &|_, _| true).is_empty());
    assert!(search(&index, None, "", &both, 5, &|_, _| true).is_empty());
    assert!(search(&index, None, "exam", &both, 5, &|_, entry| entry.country != "IQ").iter().all(|hit| hit.at != 0));
    assert!(search(&Index::build(&[]), None, "exam", &both, 5, &|_, _| true).is_empty());
}

/// Ranks alone would give the best of several unrelated entries a third of the full score (decision what-numbers-mean).
#[test]
fn what_has_nothing_to_do_with_the_question_is_left_out_and_a_likeness_scores_by_its_share() {
    let mut texts: Vec<Text> = (0..40)
        .map(|n| text(&format!("site{n}"), "IQ", &format!("Site number{n} was blocked in Iraq by the ministry")))
        .collect();
    texts.push(text("exam", "SY", "Mobile internet was shut down during national school exams against cheating"));
    let index = Index::build(&texts);
    let both = [Method::Bm25, Method::Lsa];
    let find = |query: &str| search(&index, None, query, &both, 50, &|_, _| true);
    for query in
        ["zebra giraffe elephant blocked", "best recipe for apple pie was", "quantum chromodynamics by the lattice"]
    {
        let hits = find(query);
        assert!(hits.is_empty(), "{query}: {hits:?}");
    }
    let whole = find("school exams cheating");
    assert_eq!((index.entries[whole[0].at].id.as_str(), whole.len()), ("exam", 1));
    assert!(whole[0].score > 0.9, "{whole:?}");
    let part = find("school exams zebra giraffe");
    assert!(part[0].score < 0.7 * whole[0].score, "{part:?}");
    assert!(part.is_sorted_by(|a, b| a.score >= b.score));
}

/// Incidents in the words that reports use: the cause, the country, what happened.
const REPORTED: [(&str, &str, &str); 24] = [
    (
        "exams",
        "IQ",
        "Mobile internet was shut down during national school exams against cheating, each morning for four hours",
    ),
    ("election", "UG", "Social media was blocked on the day of the presidential election, and results were delayed"),
    ("coup", "MM", "The military cut all connections after the coup, and soldiers stood in the data centres"),
    ("telegram", "KE", "Telegram was blocked on several networks while exams were written, after papers had leaked"),
    ("cable", "TZ", "An undersea cable was cut by a ship near the port, repair took days in bad weather"),
    ("power", "VE", "A power outage left most of the country without internet, and pumps in every town stood still"),
    ("protest", "IR", "Mobile data was cut in the evening while protesters marched through the city after a death"),
    ("riot", "IN", "Internet was suspended in the district after a video of a fight had been passed on by new groups"),
    ("video", "PK", "YouTube was blocked over a video that the court called an insult to religion"),
    ("football", "CI", "Connections failed during a football match, the reason is not known"),
    ("train", "IN", "Protests over recruitment, trains were set on fire, internet suspended in several districts"),
    ("whatsapp", "TD", "WhatsApp and Facebook were throttled for months after a vote about the constitution"),
    ("twitter", "NG", "Twitter was banned by the government after it had removed a post of the president"),
    ("cyclone", "MZ", "A cyclone damaged towers, and mobile service was lost along the coast"),
    ("quake", "TR", "An earthquake destroyed masts; later Twitter was slowed down for hours"),
    ("ddos", "LR", "A DDoS attack on the only operator made connections unusable"),
    ("holiday", "IN", "Internet was suspended for a religious holiday, the golden temple was closed to visitors"),
    ("visit", "BY", "Connections were cut on the morning of a visit, people used what worked"),
    ("vpn", "RU", "VPN services were blocked by deep packet inspection, as a new law demands"),
    ("news", "RU", "News sites were blocked by order of the prosecutor after reports about the war"),
    ("kashmir", "IN", "All communication in Kashmir was cut when its status changed, for more than a hundred days"),
    ("signal", "VE", "Signal was unreachable by TLS resets on the state operator after the disputed election"),
    ("dress", "AF", "Internet was cut after protests of women over rules of dress, cooks and shop keepers joined"),
    ("fibre", "AM", "A fire burned a fibre, the train of thought of the operator is that it means sabotage"),
];

/// Questions about incidents, each with one that must be among the first three.
const ASKED: [(&str, &str); 24] = [
    ("internet shutdown during exams", "exams"),
    ("school exam cheating", "exams"),
    ("social media blocked on election day", "election"),
    ("military coup", "coup"),
    ("telegram blocked in Kenya", "telegram"),
    ("undersea cable cut", "cable"),
    ("power outage Venezuela", "power"),
    ("protests mobile data cut", "protest"),
    ("YouTube video religion", "video"),
    ("connections failed during a football match", "football"),
    ("protest recruitment trains", "train"),
    ("whatsapp throttled", "whatsapp"),
    ("twitter ban", "twitter"),
    ("cyclone", "cyclone"),
    ("earthquake", "quake"),
    ("DDoS attack on an operator", "ddos"),
    ("religious holiday", "holiday"),
    ("VPN blocked by deep packet inspection", "vpn"),
    ("news sites blocked after reports about the war", "news"),
    ("Kashmir", "kashmir"),
    ("signal TLS reset", "signal"),
    ("women protest rules of dress", "dress"),
    ("fire burned a fibre", "fibre"),
    ("what did the president do about twitter after his post was removed", "twitter"),
];

/// Questions about something else. Most have a word that stands in an incident by chance.
const ELSEWHERE: [&str; 25] = [
    "cat videos",
    "banana smoothie recipe",
    "my favourite guitar chords",
    "purple elephant dance",
    "best pizza in town",
    "quantum chromodynamics lattice",
    "knitting patterns for beginners",
    "football boots discount yesterday",
    "weather tomorrow afternoon",
    "asdf qwerty zxcv",
    "how to cook rice",
    "cheap flights to paradise",
    "romantic dinner ideas",
    "dog training tips",
    "used cars for sale",
    "the meaning of life",
    "homework help algebra",
    "golden retriever puppies",
    "haircut near me",
    "chess openings sicilian",
    "wedding dress white",
    "mountain bike repair",
    "video games console",
    "new shoes red",
    "star wars movie",
];

#[test]
fn questions_about_something_else_find_nothing_and_those_about_incidents_do() {
    let index = Index::build(&REPORTED.map(|(id, country, words)| text(id, country, words)));
    let methods = [Method::Bm25, Method::Lsa, Method::Vectors, Method::Place];
    let find = |query: &str| search(&index, None, query, &methods, 3, &|_, _| true);
    for query in ELSEWHERE {
        let hits = find(query);
        assert!(hits.is_empty(), "{query}: {} {hits:?}", index.entries[hits[0].at].id);
    }
    for (query, wanted) in ASKED {
        let hits = find(query);
        let found: Vec<&str> = hits.iter().map(|hit| index.entries[hit.at].id.as_str()).collect();
        assert!(found.contains(&wanted), "{query}: {found:?}");
    }
}

#[test]
fn a_country_that_the_query_names_comes_before_like_causes_elsewhere() {
    let mut texts: Vec<Text> =
        (0..30).map(|n| text(&format!("other{n}"), "IQ", "Telegram was blocked in Iraq during exams")).collect();
    texts.push(text("here", "KE", "Telegram was blocked in Kenya"));
    let index = Index::build(&texts);
    let first = |query: &str| {
        let methods = [Method::Bm25, Method::Lsa, Method::Place];
        let hits = search(&index, None, query, &methods, 3, &|_, _| true);
        index.entries[hits[0].at].id.clone()
    };
    assert_eq!(first("telegram exams Kenya"), "here");
    assert_eq!(first("telegram exams Nairobi"), "here");
    assert!(first("telegram exams").starts_with("other"));
}

#[test]
fn equal_corpora_give_equal_indexes() {
    let texts = [text("a", "KE", "telegram blocked exams"), text("b", "IQ", "internet exams shutdown")];
    let bytes = || engine::actor::encode(&Index::build(&texts)).unwrap();
    assert_eq!(bytes(), bytes());
}

fn vector_file(words: &[(&str, [i8; 2])]) -> Vec<u8> {
    let mut file = b"HELIOVEC1\n".to_vec();
    file.extend(2u32.to_le_bytes());
    file.extend((words.len() as u32).to_le_bytes());
    for (word, vector) in words {
        file.extend((word.len() as u16).to_le_bytes());
        file.extend(word.as_bytes());
        file.extend(vector.map(|part| part as u8));
    }
    file
}

#[test]
fn vectors_of_words_find_what_shares_no_word() {
    let file = vector_file(&[("exams", [100, 0]), ("school", [90, 10]), ("coup", [0, 100])]);
    let vectors = Vectors::parse(&file).unwrap();
    assert_eq!(vectors.len(), 3);
    let mut index = Index::build(&[text("coup", "MM", "coup school school"), text("exam", "IQ", "exams")]);
    index.near = vectors.places(&index);
    let find = |index: &Index, query: &str| {
        let hits = search(index, Some(&vectors), query, &[Method::Vectors], 5, &|_, _| true);
        hits.iter().map(|hit| hit.at).collect::<Vec<_>>()
    };
    assert_eq!(find(&index, "exam"), [1, 0]);
    // The corpus does not contain these words at all.
    let mut other = Index::build(&[text("coup", "MM", "coup"), text("school", "IQ", "school")]);
    other.near = vectors.places(&other);
    assert_eq!(find(&other, "exams"), [1]);
    for end in 0..file.len() {
        assert!(Vectors::parse(&file[..end]).is_err(), "cut at {end}");
    }
    assert!(Vectors::parse(&[&file[..], b"x"].concat()).is_err());
}
