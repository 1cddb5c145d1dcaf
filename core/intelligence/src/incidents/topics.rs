//! The topics of incidents, by a documented method.
//!
//! Nothing is learned. The topic of an incident follows from the categories of the sites and platforms that it names,
//! so a topic keeps its number and meaning for ever. The words that mark a topic, and how well they go together, are
//! counted.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::body::IncidentBody;
use super::documents::MAX_AGE;
use super::model::Incident;
use super::query::{FindIncident, shown};
use super::search;
use super::tables::{INCIDENTS, Line};
use super::text::INTERNET;
use super::{actor, query};
use crate::country::routes::input;
use crate::{Error, Result};
use engine::actor::{Kind, View};
use engine::documents::{Family, Rendered};
use engine::http::{Cx, Limit, Response, Route, handler};
use engine::number::round;
use engine::runtime;
use facts::licence;
use facts::sentence::{Sentence, Sentences};

/// Names of the documents.
pub(super) const ALL: &str = "v1/atlas/topics";
const OF_COUNTRY: &str = "v1/atlas/topics/";
pub(super) const INFO: &str = "v1/atlas/topics-info";

pub const FAMILIES: &[Family] = &[
    Family { prefix: ALL, owner: Kind::Incidents, max_age: MAX_AGE, render: |view, _| render_all(view) },
    Family { prefix: INFO, owner: Kind::Incidents, max_age: MAX_AGE, render: |view, _| render_info(view) },
    Family { prefix: OF_COUNTRY, owner: Kind::Incidents, max_age: MAX_AGE, render: render_country },
];

pub const ROUTES: &[Route] = &[
    Route::get("/v1/atlas/topics", handler!(topics))
        .limit(Limit::Incidents)
        .returns::<TopicsBody>()
        .summary("What incidents are about, and the words that mark each topic."),
    Route::get("/v1/atlas/topics/info", handler!(info))
        .limit(Limit::Incidents)
        .returns::<InfoBody>()
        .summary("How topics are found, and how well their words go together."),
    Route::get("/v1/atlas/topics/{country}", handler!(of_country))
        .limit(Limit::Incidents)
        .returns::<CountryBody>()
        .summary("What the incidents of a country are about."),
    Route::get("/v1/atlas/incidents/{id}/topic", handler!(of_incident))
        .limit(Limit::Incidents)
        .returns::<IncidentTopic>()
        .summary("What an incident is about."),
];

/// The model and the version, stated in every answer.
const MODEL: &str = "subject-topics";
const VERSION: &str = "subject-topics/1";
/// Incidents that are considered, at most: those that began last.
const MOST: usize = 2_000;
/// Words that are stated for a topic, at most.
const TERMS: usize = 8;
/// Incidents that a topic needs for its words to mean something.
const LEAST_INCIDENTS: usize = 3;

/// A topic: its name, its label, and its categories. Its position in the list is its id, so topics are never
/// renumbered.
struct Topic {
    name: &'static str,
    label: &'static str,
    codes: &'static [&'static str],
}

/// Each category is in one topic. The grouping is our judgement.
const TOPICS: [Topic; 9] = [
    topic("connectivity", "Connectivity of a country or an area", &[]),
    topic("communication", "Messengers and social networks", &["COMT", "GRP"]),
    topic("news", "News and media", &["NEWS", "MMED"]),
    topic("politics", "Politics, human rights and government", &["POLR", "HUMR", "GOVT", "IGO", "MILX", "HATE"]),
    topic("circumvention", "Circumvention and anonymity", &["ANON", "HACK"]),
    topic("identity", "Gender, health and religion", &["LGBT", "PUBH", "XED", "REL"]),
    topic("morality", "Pornography, gambling, drugs and dating", &["PORN", "GMB", "ALDR", "DATE", "PROV"]),
    topic(
        "culture",
        "Culture, games, files, search, hosting and trade",
        &["CULTR", "ECON", "ENV", "FILE", "GAME", "HOST", "SRCH", "COMM"],
    ),
    topic("other", "Sites of no known category", &["MISC", "CTRL"]),
];

/// What incidents of a topic are about, as a part of a sentence.
fn topic_said(topic: usize) -> Sentence {
    Sentence::new("topics.topic").with("topic", TOPICS.get(topic).map(|topic| topic.name))
}

const fn topic(name: &'static str, label: &'static str, codes: &'static [&'static str]) -> Topic {
    Topic { name, label, codes }
}

/// The share of each topic in an incident, by number. Every category counts the same.
fn shares(subject: &str, categories: &[String]) -> [f64; TOPICS.len()] {
    let mut shares = [0.0; TOPICS.len()];
    if subject == INTERNET {
        let [connectivity, ..] = &mut shares;
        *connectivity = 1.0;
        return shares;
    }
    let known =
        TOPICS.iter().map(|topic| categories.iter().filter(|code| topic.codes.contains(&code.as_str())).count() as f64);
    shares.iter_mut().zip(known).for_each(|(share, count)| *share = count);
    let all: f64 = shares.iter().sum();
    let [.., other] = &mut shares;
    if all == 0.0 {
        *other = 1.0;
    } else {
        shares.iter_mut().for_each(|share| *share /= all);
    }
    shares
}

fn shares_of(incident: &Incident) -> [f64; TOPICS.len()] {
    shares(&incident.draft.subject, &Line::new(incident, &[]).topics)
}

/// The topic with the greatest share; among equals the first one.
fn greatest(shares: &[f64; TOPICS.len()]) -> usize {
    let best = shares
        .iter()
        .enumerate()
        .fold((0, -1.0), |best, (at, share)| if *share > best.1 { (at, *share) } else { best });
    best.0
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncidentTopicBody")]
struct TopicBody {
    /// It never changes.
    topic_id: usize,
    name: &'static str,
    label: &'static str,
    /// Category codes that make up the topic.
    categories: &'static [&'static str],
    /// Words that occur in more of its incidents than of the others; empty with too few incidents.
    top_terms: Vec<String>,
    /// Incidents in which it has the greatest share.
    n_incidents: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TopicsBody {
    n_topics: usize,
    topics: Vec<TopicBody>,
    /// Incidents that were considered: at most the newest 2,000.
    n_incidents: usize,
    model: &'static str,
    version: &'static str,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

const CAVEATS: [Sentence; 3] =
    [Sentence::new("topics.not_learned"), Sentence::new("topics.categories"), Sentence::new("topics.several")];

const NONE_HERE: Sentence = Sentence::new("topics.none_here");

/// The incidents that were considered: their words, their topics, and the licence.
struct ConsideredIncidents {
    words: Vec<BTreeSet<String>>,
    topics: Vec<usize>,
    license: String,
}

fn read(view: &View<'_>) -> Result<ConsideredIncidents> {
    let incidents = shown(view, MOST)?;
    let words = |incident: &Incident| {
        let text = search::text(&IncidentBody::new(incident, view.settings)).text;
        search::tokens(&text).into_iter().filter(|word| !word.bytes().any(|byte| byte.is_ascii_digit())).collect()
    };
    Ok(ConsideredIncidents {
        words: incidents.iter().map(words).collect(),
        topics: incidents.iter().map(|incident| greatest(&shares_of(incident))).collect(),
        license: licence::effective(incidents.iter().map(|incident| incident.draft.licence.as_str())),
    })
}

impl ConsideredIncidents {
    fn interpretation(&self) -> Sentence {
        let most = (0..TOPICS.len()).max_by_key(|topic| (self.count(*topic), std::cmp::Reverse(*topic)));
        match most.map(|topic| (topic, self.count(topic))) {
            Some((topic, count)) if count > 0 => {
                let most = Sentence::new("topics.most").with("incidents", self.topics.len()).with("count", count);
                most.with("topic", topic_said(topic))
            }
            _ => Sentence::new("topics.none"),
        }
    }

    /// For each word, the number of incidents that contain it.
    fn frequencies(&self, wanted: impl Fn(usize) -> bool) -> BTreeMap<&str, u32> {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for (words, _) in self.words.iter().zip(&self.topics).filter(|(_, topic)| wanted(**topic)) {
            for word in words {
                *counts.entry(word).or_default() += 1;
            }
        }
        counts
    }

    fn count(&self, topic: usize) -> usize {
        self.topics.iter().filter(|of| **of == topic).count()
    }

    /// The words that mark a topic, ordered by the share of its incidents with the word minus the share of the other
    /// incidents.
    fn terms(&self, topic: usize) -> Vec<String> {
        let own = self.count(topic);
        if own < LEAST_INCIDENTS {
            return Vec::new();
        }
        let others = (self.topics.len() - own).max(1) as f64;
        let elsewhere = self.frequencies(|of| of != topic);
        let share = |(word, count): (&str, u32)| {
            let there = f64::from(elsewhere.get(word).copied().unwrap_or_default());
            (word.to_owned(), f64::from(count) / own as f64 - there / others)
        };
        let mut marked: Vec<(String, f64)> = self.frequencies(|of| of == topic).into_iter().map(share).collect();
        marked.retain(|(_, more)| *more > 0.0);
        marked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        marked.truncate(TERMS);
        marked.into_iter().map(|(word, _)| word).collect()
    }

    /// Mean normalised pointwise mutual information over all pairs of these words, -1 to 1; `None` without a pair.
    fn coherence(&self, terms: &[String]) -> Option<f64> {
        let all = self.words.len() as f64;
        let share = |wanted: &[&String]| {
            self.words.iter().filter(|words| wanted.iter().all(|word| words.contains(*word))).count() as f64 / all
        };
        let (mut sum, mut pairs) = (0.0, 0.0);
        for (at, a) in terms.iter().enumerate() {
            for b in terms.iter().skip(at + 1) {
                let both = share(&[a, b]);
                pairs += 1.0;
                sum += match both {
                    both if both <= 0.0 => -1.0,
                    both if both >= 1.0 => 1.0,
                    both => (both / (share(&[a]) * share(&[b]))).ln() / -both.ln(),
                };
            }
        }
        (pairs > 0.0).then(|| sum / pairs)
    }
}

fn render_all(view: &View<'_>) -> Result<Rendered> {
    let read = read(view)?;
    let body = |(topic_id, topic): (usize, &Topic)| TopicBody {
        topic_id,
        name: topic.name,
        label: topic.label,
        categories: topic.codes,
        top_terms: read.terms(topic_id),
        n_incidents: read.count(topic_id) as u64,
    };
    let mut said = Sentences::new();
    Rendered::json(&TopicsBody {
        n_topics: TOPICS.len(),
        topics: TOPICS.iter().enumerate().map(body).collect(),
        n_incidents: read.topics.len(),
        model: MODEL,
        version: VERSION,
        interpretation: said.add("interpretation", read.interpretation()),
        honest_caveats: said.add("honest_caveats", CAVEATS.to_vec()),
        generated_at: view.now.to_string(),
        license: read.license.clone(),
        sentences: said,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopicMethod")]
pub struct InfoBody {
    model: &'static str,
    version: &'static str,
    /// Always null, since nothing is trained.
    trained_at: Option<String>,
    method: &'static str,
    n_topics: usize,
    n_incidents: usize,
    /// Mean over the topics that have words; null while there are too few incidents.
    coherence: Option<f64>,
    coherence_measure: &'static str,
    /// By the name of the topic; null for a topic with too few incidents.
    coherence_by_topic: BTreeMap<&'static str, Option<f64>>,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

fn render_info(view: &View<'_>) -> Result<Rendered> {
    let read = read(view)?;
    let coherence: Vec<Option<f64>> = (0..TOPICS.len()).map(|topic| read.coherence(&read.terms(topic))).collect();
    let known: Vec<f64> = coherence.iter().copied().flatten().collect();
    let names = TOPICS.iter().map(|topic| topic.name);
    let mut said = Sentences::new();
    Rendered::json(&InfoBody {
        model: MODEL,
        version: VERSION,
        trained_at: None,
        method: "The share of a topic in an incident is the share of its categories among the categories of the sites and \
                 platforms that the incident names; lost connectivity is a topic of its own. Words mark a topic by the \
                 share of its incidents that have them less the share of all others.",
        n_topics: TOPICS.len(),
        n_incidents: read.topics.len(),
        coherence: (!known.is_empty()).then(|| round(known.iter().sum::<f64>() / known.len() as f64)),
        coherence_measure: "normalised pointwise mutual information of the pairs of marking words over incidents, -1 to 1",
        coherence_by_topic: names.zip(coherence.into_iter().map(|value| value.map(round))).collect(),
        interpretation: said.add("interpretation", read.interpretation()),
        honest_caveats: said.add("honest_caveats", CAVEATS.to_vec()),
        generated_at: view.now.to_string(),
        license: read.license,
        sentences: said,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
struct ShareBody {
    topic_id: usize,
    name: &'static str,
    label: &'static str,
    /// Share of the country's incidents, 0 to 1; all shares add up to 1.
    share: f64,
    /// Incidents in which it has the greatest share.
    n_incidents: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CountryTopics")]
pub struct CountryBody {
    country: String,
    country_name: String,
    available: bool,
    reason: Option<Sentence>,
    /// At most the newest 2,000.
    n_incidents: usize,
    /// Greatest share first; topics without a share are left out.
    topics: Vec<ShareBody>,
    version: &'static str,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

fn render_country(view: &View<'_>, code: &str) -> Result<Rendered> {
    let mut keys = Vec::new();
    query::lines(view, Some(code), |key, _| {
        keys.push(key);
        Ok(keys.len() < MOST)
    })?;
    let mut sums = [(0.0, 0u64); TOPICS.len()];
    let mut licences = BTreeSet::new();
    for key in &keys {
        let Some(incident) = INCIDENTS.get(view, key)? else { continue };
        let shares = shares_of(&incident);
        let first = greatest(&shares);
        for (at, (sum, share)) in sums.iter_mut().zip(shares).enumerate() {
            *sum = (sum.0 + share, sum.1 + u64::from(at == first));
        }
        licences.insert(incident.draft.licence);
    }
    let all = keys.len();
    let mut topics: Vec<ShareBody> = TOPICS
        .iter()
        .zip(sums)
        .enumerate()
        .filter(|(_, (_, (sum, _)))| *sum > 0.0)
        .map(|(topic_id, (topic, (sum, n_incidents)))| ShareBody {
            topic_id,
            name: topic.name,
            label: topic.label,
            share: round(sum / all.max(1) as f64),
            n_incidents,
        })
        .collect();
    topics.sort_by(|a, b| b.share.total_cmp(&a.share));
    let interpretation = match topics.first() {
        Some(first) => Sentence::new("topics.share")
            .with("share", first.share)
            .with("incidents", all)
            .with("topic", topic_said(first.topic_id)),
        None => NONE_HERE,
    };
    let mut said = Sentences::new();
    Rendered::json(&CountryBody {
        country: code.to_owned(),
        country_name: crate::world::name(code),
        available: all > 0,
        reason: said.add("reason", (all == 0).then_some(NONE_HERE)),
        n_incidents: all,
        topics,
        version: VERSION,
        interpretation: said.add("interpretation", interpretation),
        honest_caveats: said.add("honest_caveats", CAVEATS.to_vec()),
        generated_at: view.now.to_string(),
        license: licence::effective(licences.iter().map(String::as_str)),
        sentences: said,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopicOther")]
struct Other {
    topic_id: usize,
    label: &'static str,
    probability: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct IncidentTopic {
    /// The readable id.
    incident_id: String,
    topic_id: usize,
    label: &'static str,
    /// The share of the topic in the incident, 0 to 1.
    probability: f64,
    /// The other topics with a share.
    others: Vec<Other>,
    version: &'static str,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

async fn topics(cx: Cx) -> Result<Response> {
    cx.document(ALL).await
}

async fn info(cx: Cx) -> Result<Response> {
    cx.document(INFO).await
}

async fn of_country(cx: Cx) -> Result<Response> {
    let country = input::path_country(&cx, "country")?;
    cx.document(&[OF_COUNTRY, country.code].concat()).await
}

async fn of_incident(cx: Cx) -> Result<Response> {
    cx.kept(incident_page(&cx)).await
}

async fn incident_page(cx: &Cx) -> Result<Response> {
    let asked = FindIncident { id: cx.path("id")?.to_owned(), follow: true };
    let found = runtime::query(&*cx.rt, actor().name, &asked).await?.filter(Incident::is_shown);
    let incident = found.ok_or_else(|| Error::not_found("There is no such incident."))?;
    let shares = shares_of(&incident);
    let first = greatest(&shares);
    let mut named: Vec<Other> = TOPICS
        .iter()
        .zip(shares)
        .enumerate()
        .filter(|(at, (_, share))| *share > 0.0 && *at != first)
        .map(|(topic_id, (topic, share))| Other { topic_id, label: topic.label, probability: round(share) })
        .collect();
    named.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let (label, share) =
        (TOPICS.get(first).map_or("", |topic| topic.label), shares.get(first).copied().unwrap_or_default());
    let mut said = Sentences::new();
    Response::json(&IncidentTopic {
        interpretation: said.add(
            "interpretation",
            Sentence::new("topics.incident")
                .with("share", share)
                .with("incident", incident.id.to_string())
                .with("topic", topic_said(first)),
        ),
        incident_id: incident.id.to_string(),
        topic_id: first,
        label,
        probability: round(share),
        others: named,
        version: VERSION,
        honest_caveats: said.add("honest_caveats", CAVEATS.to_vec()),
        generated_at: cx.now().to_string(),
        license: incident.draft.licence.clone(),
        sentences: said,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::starter::categories::CATEGORIES;

    #[test]
    fn every_category_is_in_exactly_one_topic() {
        for category in CATEGORIES {
            let of = TOPICS.iter().filter(|topic| topic.codes.contains(&category.code)).count();
            assert_eq!(of, 1, "{}", category.code);
        }
        let named: usize = TOPICS.iter().map(|topic| topic.codes.len()).sum();
        assert_eq!(named, CATEGORIES.len());
    }

    #[test]
    fn shares_add_up_to_one_whatever_an_incident_names() {
        let codes = |codes: &[&str]| codes.iter().map(|code| (*code).to_owned()).collect::<Vec<_>>();
        for (subject, categories, first) in [
            (INTERNET, codes(&["NEWS"]), 0),
            ("telegram", codes(&["COMT"]), 1),
            ("x.example", codes(&["NEWS", "MMED", "HUMR"]), 2),
            ("x.example", codes(&[]), 8),
        ] {
            let shares = shares(subject, &categories);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{subject}");
            assert_eq!(greatest(&shares), first, "{subject} {categories:?}");
        }
    }

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// By hand: each word is in three of six incidents, and both together in three, so ln(0.5 / 0.25) / -ln(0.5) = 1.
    /// Words that never occur together give -1.
    #[test]
    fn words_mark_the_topic_they_are_more_common_in_and_cohere_by_hand() {
        let read = ConsideredIncidents {
            words: vec![
                set(&["vpn", "tor", "all"]),
                set(&["vpn", "tor", "all"]),
                set(&["vpn", "tor"]),
                set(&["exam", "all"]),
                set(&["exam"]),
                set(&["cut"]),
            ],
            topics: vec![4, 4, 4, 0, 0, 0],
            license: String::new(),
        };
        assert_eq!(read.terms(4), ["tor", "vpn", "all"]);
        assert_eq!(read.terms(1), Vec::<String>::new());
        let close = |terms: &[&str], value: f64| {
            let terms: Vec<String> = terms.iter().map(|term| (*term).to_owned()).collect();
            assert!((read.coherence(&terms).unwrap() - value).abs() < 1e-12, "{terms:?}");
        };
        close(&["tor", "vpn"], 1.0);
        close(&["tor", "exam"], -1.0);
        assert_eq!(read.coherence(&[]), None);
    }
}
