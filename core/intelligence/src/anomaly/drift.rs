//! `/v1/anomaly/domain-drift/leaderboard`: the domains whose blocking across countries changed most within a week.
//!
//! A domain is a vector of its blocked shares by country. Its drift is the distance (L2) between the vectors of this
//! week and of last week, over the countries with enough votes on it in both. Its cluster in a week is the set of
//! countries that block it, so domains under the same policy share a cluster.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::constants::{DRIFT_BLOCKED_SHARE, DRIFT_COUNTRY_VOTES, DRIFT_LEAST_VOTES, DRIFT_LISTED, WEEK_DAYS};
use super::store::Weeks;
use crate::Timestamp;
use engine::number::round;
use engine::time::DAY;
use facts::licence;
use facts::sentence::{Sentence, Sentences};

/// The cluster of domains that no country blocks.
const NOBODY: &str = "none";

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct DriftRow {
    rank: usize,
    domain: String,
    /// L2 distance between the blocked shares of this week and last week, over countries measured in both.
    drift: f64,
    /// Countries that block it, joined with `+`; `none` if no country blocks it; null where no country has enough votes
    /// in that week.
    cluster_this_week: Option<String>,
    cluster_last_week: Option<String>,
    /// Whether no domain was in this cluster last week.
    is_new_cluster: bool,
    n_countries_blocking: usize,
    /// Countries with enough votes in both weeks.
    n_countries_compared: usize,
    /// Mean of the blocked shares over the countries with enough votes this week; null if there are none.
    avg_block_rate: Option<f64>,
    /// Votes in 28 days, over all countries.
    n_measurements: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DriftBody {
    available: bool,
    reason: Option<Sentence>,
    /// The last day of this week; null without data.
    week_ending: Option<String>,
    /// Domains that are ranked.
    n_domains: usize,
    /// Clusters of this week that no domain was in last week.
    n_new_clusters: usize,
    n_countries: usize,
    n_returned: usize,
    n_total: usize,
    /// Greatest drift first.
    results: Vec<DriftRow>,
    method: Sentence,
    interpretation: Sentence,
    honest_caveats: [Sentence; 2],
    generated_at: String,
    license: String,
    sentences: Sentences,
}

const METHOD: Sentence = Sentence::new("drift.method");
const TOO_LITTLE: Sentence = Sentence::new("drift.too_little");

/// Sums of a domain over countries.
#[derive(Default)]
struct Domain<'a> {
    votes: u32,
    squares: f64,
    compared: usize,
    this: Vec<(&'a str, f64)>,
    last: Vec<(&'a str, f64)>,
}

impl<'a> Domain<'a> {
    fn add(&mut self, country: &'a str, weeks: &[(u32, u32)]) {
        self.votes += weeks.iter().map(|(votes, _)| votes).sum::<u32>();
        let share = |week: usize| {
            let (votes, blocked) = weeks.get(week)?;
            (*votes >= DRIFT_COUNTRY_VOTES).then(|| f64::from(*blocked) / f64::from(*votes))
        };
        let (this, last) = (share(0), share(1));
        self.this.extend(this.map(|share| (country, share)));
        self.last.extend(last.map(|share| (country, share)));
        if let Some((this, last)) = this.zip(last) {
            self.compared += 1;
            self.squares += (this - last) * (this - last);
        }
    }
}

fn blocking<'a>(shares: &'a [(&'a str, f64)]) -> impl Iterator<Item = &'a str> {
    shares.iter().filter(|(_, share)| *share >= DRIFT_BLOCKED_SHARE).map(|(country, _)| *country)
}

/// The name of a cluster. `shares` are in the order of country codes.
fn name(shares: &[(&str, f64)]) -> Option<String> {
    let countries: Vec<&str> = blocking(shares).collect();
    match (shares.is_empty(), countries.is_empty()) {
        (true, _) => None,
        (_, true) => Some(NOBODY.to_owned()),
        _ => Some(countries.join("+")),
    }
}

/// The rows of domains with enough votes, the one that changed most first, and the names of the new clusters.
fn ranked(domains: BTreeMap<&str, Domain<'_>>) -> (Vec<DriftRow>, BTreeSet<String>) {
    let known: BTreeSet<String> = domains.values().filter_map(|domain| name(&domain.last)).collect();
    let mut new = BTreeSet::new();
    let mut rows = Vec::new();
    for (text, domain) in domains {
        if domain.votes < DRIFT_LEAST_VOTES || domain.compared == 0 {
            continue;
        }
        let this = name(&domain.this);
        let is_new = this.as_ref().is_some_and(|this| this != NOBODY && !known.contains(this));
        if is_new {
            new.extend(this.clone());
        }
        let mean = domain.this.iter().map(|(_, share)| share).sum::<f64>() / domain.this.len().max(1) as f64;
        rows.push(DriftRow {
            rank: 0,
            domain: text.to_owned(),
            drift: round(domain.squares.sqrt()),
            n_countries_blocking: blocking(&domain.this).count(),
            n_countries_compared: domain.compared,
            avg_block_rate: (!domain.this.is_empty()).then(|| round(mean)),
            n_measurements: domain.votes,
            cluster_this_week: this,
            cluster_last_week: name(&domain.last),
            is_new_cluster: is_new,
        });
    }
    rows.sort_by(|a, b| {
        b.drift.total_cmp(&a.drift).then(b.n_measurements.cmp(&a.n_measurements)).then_with(|| a.domain.cmp(&b.domain))
    });
    (1..).zip(&mut rows).for_each(|(rank, row)| row.rank = rank);
    (rows, new)
}

/// Ranks the domains of all countries. A country is left out when its week ended more than a day before the newest one.
pub fn leaderboard(countries: &[(String, Weeks)], now: Timestamp) -> DriftBody {
    let until = countries.iter().map(|(_, weeks)| weeks.until).max();
    let current = || countries.iter().filter(|(_, weeks)| until.is_some_and(|until| weeks.until + 1 >= until));
    let mut domains: BTreeMap<&str, Domain<'_>> = BTreeMap::new();
    for (country, weeks) in current() {
        for row in &weeks.domains {
            domains.entry(&row.domain).or_default().add(country, &row.weeks);
        }
    }
    let (mut rows, new) = ranked(domains);
    let total = rows.len();
    rows.truncate(DRIFT_LISTED as usize);
    let interpretation = match rows.first() {
        Some(first) => Sentence::new("drift.most")
            .with("domains", total)
            .with("domain", &first.domain)
            .with("drift", first.drift)
            .with("clusters", new.len()),
        None => TOO_LITTLE,
    };
    let mut said = Sentences::new();
    DriftBody {
        available: total > 0,
        reason: said.add("reason", (total == 0).then_some(TOO_LITTLE)),
        week_ending: until.map(|day| Timestamp(i64::from(day) * DAY).to_date_text()),
        n_domains: total,
        n_new_clusters: new.len(),
        n_countries: current().count(),
        n_returned: rows.len(),
        n_total: total,
        results: rows,
        method: said.add("method", METHOD),
        interpretation: said.add("interpretation", interpretation),
        honest_caveats: said.add("honest_caveats", [Sentence::new("drift.measurers"), Sentence::new("drift.left_out")]),
        generated_at: now.to_string(),
        license: licence::effective(current().map(|(_, weeks)| weeks.license.as_str())),
        sentences: said,
    }
}

const _: () = assert!(WEEK_DAYS * 4 == 28, "the interface counts measurements of 28 days");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anomaly::digest::DomainWeeks;

    fn weeks(until: u32, rows: &[(&str, [(u32, u32); 4])]) -> Weeks {
        let domains = rows.iter().map(|(domain, weeks)| DomainWeeks { domain: (*domain).to_owned(), weeks: *weeks });
        Weeks { until, license: "CC-BY-4.0".to_owned(), domains: domains.collect() }
    }

    /// By hand: shares 0 to 1 in one country and 0.5 to 0.75 in the other, sqrt(1 + 1/16).
    #[test]
    fn drift_is_the_distance_between_two_weeks_over_countries_measured_in_both() {
        let a = weeks(
            100,
            &[("moved.example", [(4, 4), (4, 0), (0, 0), (0, 0)]), ("same.example", [(5, 5), (5, 5), (0, 0), (0, 0)])],
        );
        let b = weeks(
            99,
            &[("moved.example", [(4, 3), (4, 2), (0, 0), (0, 0)]), ("few.example", [(4, 4), (4, 0), (0, 0), (0, 0)])],
        );
        let c = weeks(100, &[("moved.example", [(2, 2), (9, 0), (1, 0), (0, 0)])]);
        let old = weeks(98, &[("same.example", [(90, 0), (90, 90), (0, 0), (0, 0)])]);
        let countries: Vec<(String, Weeks)> =
            [("AA", a), ("BB", b), ("CC", c), ("DD", old)].map(|(code, weeks)| (code.to_owned(), weeks)).into();
        let body = leaderboard(&countries, Timestamp::default());
        assert_eq!((body.n_domains, body.n_new_clusters, body.n_countries), (2, 1, 3), "{body:?}");
        let first = &body.results[0];
        assert_eq!(
            (first.domain.as_str(), first.drift, first.rank),
            ("moved.example", round((17.0f64 / 16.0).sqrt()), 1)
        );
        assert_eq!(
            (first.cluster_this_week.as_deref(), first.cluster_last_week.as_deref()),
            (Some("AA+BB"), Some("BB"))
        );
        assert_eq!((first.is_new_cluster, first.n_countries_blocking, first.n_countries_compared), (true, 2, 2));
        assert_eq!((first.avg_block_rate, first.n_measurements), (Some(0.875), 28));
        let second = &body.results[1];
        assert_eq!((second.domain.as_str(), second.drift, second.is_new_cluster), ("same.example", 0.0, false));
    }

    #[test]
    fn nothing_is_ranked_without_two_weeks_and_the_answer_says_so() {
        let body = leaderboard(&[], Timestamp::default());
        assert_eq!((body.available, body.week_ending.clone(), body.results.len()), (false, None, 0));
        let one = weeks(100, &[("new.example", [(50, 50), (0, 0), (0, 0), (0, 0)])]);
        let body = leaderboard(&[("AA".to_owned(), one)], Timestamp::default());
        assert_eq!((body.available, body.n_domains), (false, 0), "{body:?}");
        assert!(body.reason.is_some());
    }
}
