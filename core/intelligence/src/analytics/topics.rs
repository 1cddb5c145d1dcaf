//! The index of one topic: the share of a country's tested sites in some categories that it blocks.

use schemars::JsonSchema;
use serde::Serialize;

use super::constants::TOPIC_MIN_SITES;
use super::facts::Facts;
use super::measurement::TESTED_ONLY;
use super::reports::{Notes, ReportQuestion, Table, World, camel};
use crate::world::index::{PRIOR_BREADTH, PRIOR_SITES, level};
use crate::{Error, Result, world};
use engine::documents::Rendered;
use engine::number::round;
use facts::sentence::{Sentence, Sentences};
use facts::starter::categories::{CIRCUMVENTION_TOOLING, POLITICAL_SPEECH, REGULATED_MORALITY, current_code};

/// Topics and the categories that make them up. The grouping is our judgement. Each category code is a topic too.
pub const TOPICS: [(&str, &[&str]); 12] = [
    ("circumvention", &CIRCUMVENTION_TOOLING),
    ("gambling", &["GMB"]),
    ("human-rights", &["HUMR"]),
    ("lgbtq", &["LGBT"]),
    ("media", &["NEWS", "MMED"]),
    ("morality", &REGULATED_MORALITY),
    ("news", &["NEWS"]),
    ("political-speech", &POLITICAL_SPEECH),
    ("politics", &["POLR"]),
    ("religion", &["REL"]),
    ("social-media", &["GRP", "COMT"]),
    ("women-health", &["PUBH", "XED"]),
];

/// What topics look like, in any case and with any of three signs between words.
pub const PATTERN: &str = "^[A-Za-z]+([ _-][A-Za-z]+)*$";

/// The normal form of a topic, and its categories. The error is 400 for one that is not known.
pub fn topic(text: &str) -> Result<(String, Vec<&'static str>)> {
    let name = text.trim().to_ascii_lowercase().replace(['_', ' '], "-");
    if let Some((name, codes)) = TOPICS.iter().find(|(known, _)| *known == name) {
        return Ok(((*name).to_owned(), codes.to_vec()));
    }
    let code = current_code(&name).ok_or_else(|| {
        let known: Vec<&str> = TOPICS.iter().map(|(name, _)| *name).collect();
        Error::bad_request(format!("{text:?} is not a topic; topics are {} and category codes.", known.join(", ")))
    })?;
    Ok((code.to_ascii_lowercase(), vec![code]))
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TopicRow {
    rank: u32,
    /// Name of the country for display.
    country: String,
    code: String,
    /// 0-100; 100 means that all tested sites of the topic are blocked.
    score: u32,
    level: &'static str,
    risk_tier: u8,
    confidence_interval: [u32; 2],
    /// Decided sites of the topic.
    samples: u32,
    blocked: Vec<String>,
    block_rate: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TopicMetadata {
    total_countries: usize,
    /// Countries with too few decided sites of the topic.
    insufficient_data: usize,
    minimum_sites: u32,
    /// Decided sites with any category and without one, over all countries.
    tagged_sites: u64,
    untagged_sites: u64,
}

/// `/v1/topic-censorship-index`
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopicIndex")]
pub struct TopicBody {
    topic: String,
    categories: Vec<&'static str>,
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Sentence>,
    metadata: TopicMetadata,
    countries: Vec<TopicRow>,
}

pub fn index(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let (topic, categories) = topic(asked.parameter.unwrap_or_default())?;
    let mut countries: Vec<TopicRow> = world.facts.iter().filter_map(|facts| row(facts, &categories)).collect();
    countries.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.code.cmp(&b.code)));
    (1..).zip(&mut countries).for_each(|(rank, row)| row.rank = rank);
    let sum = |of: fn(&Facts) -> u32| world.facts.iter().map(|facts| u64::from(of(facts))).sum::<u64>();
    let tagged = sum(|facts| facts.tagged);
    let body = TopicBody {
        topic,
        categories,
        available: !countries.is_empty(),
        reason: countries.is_empty().then_some(Sentence::new("report.no_topic")),
        metadata: TopicMetadata {
            total_countries: countries.len(),
            insufficient_data: world.facts.iter().filter(|facts| facts.recent > 0).count() - countries.len(),
            minimum_sites: TOPIC_MIN_SITES,
            tagged_sites: tagged,
            untagged_sites: sum(|facts| facts.decided).saturating_sub(tagged),
        },
        countries,
    };
    let columns = &[
        "rank",
        "country",
        "code",
        "score",
        "level",
        "riskTier",
        "confidenceInterval",
        "samples",
        "blocked",
        "blockRate",
    ];
    let notes = Notes::new(TESTED_ONLY, Sentences::new().with("reason", &body.reason));
    camel(asked, world.stamp(), notes, &Table { list: "countries", columns }, body)
}

fn row(facts: &Facts, categories: &[&str]) -> Option<TopicRow> {
    let wanted = |code: &str| categories.contains(&code);
    let counts = facts.categories.iter().filter(|count| wanted(&count.code));
    let (decided, blocked) = counts.fold((0, 0), |(d, b), count| (d + count.decided, b + count.blocked));
    if decided < TOPIC_MIN_SITES || facts.recent == 0 {
        return None;
    }
    let n = f64::from(decided) + PRIOR_SITES;
    let share = (f64::from(blocked) + PRIOR_BREADTH * PRIOR_SITES) / n;
    // As in the index: a 90% interval from the normal approximation.
    let half = 1.645 * (share * (1.0 - share) / (n + 1.0)).sqrt();
    // Clamped so that the cast is safe.
    let percent = |share: f64| (share * 100.0).round().clamp(0.0, 100.0) as u32;
    let score = percent(share);
    let (level, risk_tier) = level(score);
    let named = facts.blocks.iter().filter(|block| block.category.as_deref().is_some_and(wanted));
    Some(TopicRow {
        rank: 0,
        country: world::name(&facts.country),
        code: facts.country.clone(),
        score,
        level,
        risk_tier,
        confidence_interval: [percent(share - half), percent(share + half)],
        samples: decided,
        blocked: named.map(|block| block.domain.clone()).collect(),
        block_rate: round(f64::from(blocked) / f64::from(decided)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::starter::categories::Category;

    #[test]
    fn topics_are_read_in_any_spelling_and_lead_to_live_categories() {
        for (_, codes) in TOPICS {
            assert!(codes.iter().all(|code| Category::by_code(code).is_some()), "{codes:?}");
        }
        assert_eq!(topic(" Women_Health").unwrap(), ("women-health".to_owned(), vec!["PUBH", "XED"]));
        assert_eq!(topic("ANON").unwrap(), ("anon".to_owned(), vec!["ANON"]));
        assert_eq!(topic("p2p").unwrap().1, ["FILE"]);
        for text in ["", "weather", "women/health"] {
            assert_eq!(topic(text).unwrap_err().code, crate::ErrorCode::BadRequest, "{text}");
        }
    }
}
