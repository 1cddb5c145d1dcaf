//! Measures searches among very many offers (decision offer-index), over HTTP.

use heliograph_tests::questions::QuestionRequest;
use serde_json::json;
use tokio::runtime::Runtime;

use super::people::{FILLERS, People, send_all, signed};
use crate::load::{Outcome, Plan};
use crate::service::now;

/// Offers signed and sent at a time.
const CHUNK: usize = 20_000;
/// Number of different searches.
const SEARCHES: usize = 4_000;
/// Number of slugs; each is shared by equally many offers.
const SLUGS: usize = 2_000;

/// A made-up word of syllables, so that words share parts as real ones do.
fn word(people: &mut People) -> String {
    const SYLLABLES: [&str; 40] = [
        "tra", "ns", "la", "ti", "on", "we", "ath", "er", "ne", "ws", "pro", "be", "re", "lay", "sco", "ut", "mar",
        "ket", "ar", "chi", "ve", "mir", "ror", "bea", "con", "pi", "lot", "cou", "ri", "an", "chor", "sen", "ti",
        "nel", "gate", "way", "fin", "der", "mo", "ni",
    ];
    let number = 2 + people.draw(3);
    (0..number).map(|_| SYLLABLES[people.draw(SYLLABLES.len())]).collect()
}

/// A vocabulary in which few words are common and most are rare.
struct Words(Vec<String>);

impl Words {
    fn new(people: &mut People) -> Words {
        Words((0..5_000).map(|_| word(people)).collect())
    }

    fn draw(&self, people: &mut People) -> &str {
        let end = 1 + people.draw(self.0.len());
        &self.0[people.draw(end)]
    }

    fn some(&self, people: &mut People, number: usize) -> String {
        (0..number).map(|_| self.draw(people)).collect::<Vec<_>>().join(" ")
    }
}

/// The results.
#[derive(Debug)]
pub struct Market {
    pub offers: usize,
    pub listed_per_second: f64,
    /// Searches on 1 and on 16 connections.
    pub searches: [Outcome; 2],
    /// Searches of each kind, on 1 connection.
    pub sorts: Vec<(&'static str, Outcome)>,
    pub stats: Outcome,
}

pub fn measure(runtime: &Runtime, base: &str, people: &mut People, offers: usize) -> Market {
    let words = Words::new(people);
    let started = std::time::Instant::now();
    for first in (0..offers).step_by(CHUNK) {
        let end = offers.min(first + CHUNK);
        let at = now();
        let bodies: Vec<String> = (first..end).map(|number| offer(people, &words, number, at)).collect();
        let plan = Plan::posts(base, "/v1/pay/capability/list", &[], bodies.into_iter());
        send_all(runtime, base, FILLERS, &plan);
        eprintln!("{end} offers, {:.0}/s", end as f64 / started.elapsed().as_secs_f64());
    }
    let listed_per_second = offers as f64 / started.elapsed().as_secs_f64();
    let mut sorts = Vec::new();
    let mut all = Vec::new();
    for (name, make) in SORTS {
        let asked: Vec<QuestionRequest> = (0..SEARCHES / SORTS.len())
            .map(|_| {
                let limit = [20, 50, 200][people.draw(3)];
                let query = make(people, &words);
                QuestionRequest {
                    path: format!("/v1/pay/capability/search?limit={limit}&{query}"),
                    body: String::new(),
                }
            })
            .collect();
        let plan = Plan::mixed(base, &asked, &[]);
        sorts.push((*name, send_all(runtime, base, 1, &plan)));
        all.extend(asked);
    }
    let plan = Plan::mixed(base, &all, &[]);
    let searches = [1, 16].map(|connections| send_all(runtime, base, connections, &plan));
    let again = |_| QuestionRequest { path: "/v1/pay/stats".to_owned(), body: String::new() };
    let stats = send_all(runtime, base, 1, &Plan::mixed(base, &(0..500).map(again).collect::<Vec<_>>(), &[]));
    Market { offers, listed_per_second, searches, sorts, stats }
}

fn slug(number: usize) -> String {
    format!("work{:04}.test", number % SLUGS)
}

fn offer(people: &mut People, words: &Words, number: usize, at: heliograph_core::Timestamp) -> String {
    let (name, description) = (words.some(people, 3), words.some(people, 12));
    let price = 1 + people.draw(1_000_000);
    let by = people.signers[number % people.signers.len()].clone();
    // A provider has at most a hundred offers, so its own slugs get different numbers.
    let slug = slug(number / people.signers.len() * 31 + number % SLUGS);
    let members = json!({ "provider_did": by.did, "capability": slug, "name": name, "description": description,
        "price_per_call_micro": price, "unit": "call", "sla_deadline_hours": 24, "active": true });
    signed(&by, "capability-list", at, members)
}

type Make = fn(&mut People, &Words) -> String;

/// Kinds of searches, in equal parts.
const SORTS: &[(&str, Make)] = &[
    ("everything, cheapest first", |people, _| format!("max_price_micro={}", 1 + people.draw(1_000_000))),
    ("a slug", |people, _| format!("capability={}", slug(people.draw(SLUGS)))),
    ("a word", |people, words| format!("q={}", words.draw(people))),
    ("a word and a slug", |people, words| format!("q={}&capability={}", words.draw(people), slug(people.draw(SLUGS)))),
    ("two words in a row", |people, words| format!("q={}", words.some(people, 2).replace(' ', "+"))),
    ("three letters", |people, words| {
        let word = words.draw(people);
        format!("q={}", word.get(..3).unwrap_or(word))
    }),
    ("what nobody offers", |people, _| format!("q=nobody{}", people.draw(1_000))),
    ("dear ones with a word", |people, words| {
        format!("q={}&before={}.0", words.draw(people), 500_000 + people.draw(500_000))
    }),
];
