//! Finds countries that block the same domains more often than chance would explain (decision shared-block-lists).
//!
//! Under the null hypothesis the probability that a country blocks a domain depends only on the domain's rate over all
//! countries and on the number of blocks in the country. So domains that everybody blocks (gambling, piracy) make no
//! pair significant.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::constants::FALSE_DISCOVERY_RATE;
use super::facts::DecidedSite;
use super::statistics::{benjamini_hochberg, fixed_margin, tail};
use engine::number::round;
use facts::starter::categories::Focus;

/// Domains that are named as examples of a pair.
const EXAMPLES: usize = 5;

/// Two countries that both block at least one domain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CountryPair")]
pub struct Pair {
    pub rank: usize,
    pub country_a: String,
    pub country_b: String,
    /// Domains that both block, among those tested in both.
    pub shared: usize,
    pub shared_political: usize,
    pub shared_tooling: usize,
    /// Domains that were tested in both and are blocked somewhere.
    pub tested_in_both: usize,
    /// Shared domains divided by the domains that either of the two blocks.
    pub jaccard: f64,
    /// Shared domains that the null hypothesis predicts.
    pub expected: f64,
    /// Probability of at least so many shared domains under the null hypothesis.
    pub p_value: f64,
    /// The p-value corrected for the number of pairs.
    pub q_value: f64,
    pub significant: bool,
    pub example_domains: Vec<String>,
}

struct Row<'a> {
    country: &'a str,
    /// (number of the domain, site), in the order of numbers.
    sites: Vec<(usize, &'a DecidedSite)>,
    /// For each of `sites`, the probability of a block under the null hypothesis.
    chances: Vec<f64>,
}

/// The pairs, most significant first, and the number of pairs that were tested.
pub fn pairs(countries: &[(String, Vec<DecidedSite>)]) -> (Vec<Pair>, usize) {
    let rows = rows(countries);
    let mut found: Vec<Pair> = Vec::new();
    let mut tests = 0;
    for (at, a) in rows.iter().enumerate() {
        for b in rows.iter().skip(at + 1) {
            tests += 1;
            found.extend(pair(a, b));
        }
    }
    let p_values: Vec<f64> = found.iter().map(|pair| pair.p_value).collect();
    for (pair, q) in found.iter_mut().zip(benjamini_hochberg(&p_values, tests)) {
        pair.q_value = q;
        pair.significant = q <= FALSE_DISCOVERY_RATE;
    }
    found.sort_by(|a, b| {
        a.p_value
            .total_cmp(&b.p_value)
            .then(b.shared.cmp(&a.shared))
            .then_with(|| (&a.country_a, &a.country_b).cmp(&(&b.country_a, &b.country_b)))
    });
    for (rank, pair) in (1..).zip(&mut found) {
        pair.rank = rank;
        pair.p_value = significant_digits(pair.p_value);
        pair.q_value = significant_digits(pair.q_value);
    }
    (found, tests)
}

/// The countries that block something, with the probability of each domain under the null hypothesis.
fn rows(countries: &[(String, Vec<DecidedSite>)]) -> Vec<Row<'_>> {
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for site in countries.iter().flat_map(|(_, sites)| sites).filter(|site| site.often) {
        let count = counts.entry(site.domain.as_str()).or_default();
        *count = (count.0 + u32::from(site.blocked), count.1 + 1);
    }
    // Domains that nobody blocks contribute nothing to any pair.
    counts.retain(|_, (blocked, _)| *blocked > 0);
    let numbers: BTreeMap<&str, (usize, f64)> = counts
        .into_iter()
        .enumerate()
        .map(|(number, (domain, (blocked, tested)))| (domain, (number, f64::from(blocked) / f64::from(tested))))
        .collect();
    countries.iter().filter_map(|(country, sites)| one_row(country, sites, &numbers)).collect()
}

fn one_row<'a>(country: &'a str, sites: &'a [DecidedSite], numbers: &BTreeMap<&str, (usize, f64)>) -> Option<Row<'a>> {
    let often = sites.iter().filter(|site| site.often);
    let mut known: Vec<(usize, f64, &DecidedSite)> =
        often.filter_map(|site| numbers.get(site.domain.as_str()).map(|(n, rate)| (*n, *rate, site))).collect();
    known.sort_by_key(|(number, ..)| *number);
    known.dedup_by_key(|(number, ..)| *number);
    let blocked = known.iter().filter(|(_, _, site)| site.blocked).count();
    let rates: Vec<f64> = known.iter().map(|(_, rate, _)| *rate).collect();
    (blocked > 0).then(|| Row {
        country,
        sites: known.into_iter().map(|(number, _, site)| (number, site)).collect(),
        chances: fixed_margin(&rates, blocked),
    })
}

fn pair(a: &Row<'_>, b: &Row<'_>) -> Option<Pair> {
    let mut right = b.sites.iter().zip(&b.chances).peekable();
    let mut chances = Vec::new();
    let mut either = 0;
    let mut shared: Vec<&DecidedSite> = Vec::new();
    for ((number, site), chance) in a.sites.iter().zip(&a.chances) {
        while right.next_if(|((other, _), _)| other < number).is_some() {}
        let Some(((_, other), other_chance)) = right.next_if(|((other, _), _)| other == number) else { continue };
        chances.push(chance * other_chance);
        either += usize::from(site.blocked || other.blocked);
        if site.blocked && other.blocked {
            shared.push(site);
        }
    }
    let focus = |wanted: Focus| {
        shared.iter().filter(|site| site.category.as_deref().and_then(Focus::of) == Some(wanted)).count()
    };
    (!shared.is_empty()).then(|| Pair {
        rank: 0,
        country_a: a.country.to_owned(),
        country_b: b.country.to_owned(),
        shared: shared.len(),
        shared_political: focus(Focus::PoliticalSpeech),
        shared_tooling: focus(Focus::CircumventionTooling),
        tested_in_both: chances.len(),
        jaccard: round(shared.len() as f64 / either as f64),
        expected: round(chances.iter().sum()),
        p_value: tail(&chances, shared.len()),
        q_value: 1.0,
        significant: false,
        example_domains: shared.iter().take(EXAMPLES).map(|site| site.domain.clone()).collect(),
    })
}

/// Rounds to three significant digits, however small the value is.
fn significant_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(domain: &str, blocked: bool, category: &str) -> DecidedSite {
        DecidedSite { domain: domain.to_owned(), blocked, often: true, category: Some(category.to_owned()) }
    }

    /// 30 countries that all block the same gambling sites. Two of them share ten news sites that no other country
    /// blocks.
    fn countries() -> Vec<(String, Vec<DecidedSite>)> {
        let name = |n: usize| format!("{}{}", char::from(b'A' + (n / 26) as u8), char::from(b'A' + (n % 26) as u8));
        let country = |n: usize| {
            let mut sites: Vec<DecidedSite> = (0..20).map(|d| site(&format!("bet{d}.example"), true, "GMB")).collect();
            // Each country blocks ten sites of its own.
            let own = (0..300).map(|d| site(&format!("own{d}.example"), d / 10 == n && n > 1, "MISC"));
            sites.extend(own);
            sites.extend((0..10).map(|d| site(&format!("news{d}.example"), n < 2, "NEWS")));
            (name(n), sites)
        };
        (0..30).map(country).collect()
    }

    /// Domains that everybody blocks make no pair significant (decision shared-block-lists).
    #[test]
    fn popular_blocks_make_no_pair_and_a_rare_shared_list_does() {
        let (pairs, tests) = pairs(&countries());
        assert_eq!(tests, 30 * 29 / 2);
        assert_eq!(pairs.len(), tests, "all share the gambling sites");
        let first = &pairs[0];
        assert_eq!((first.country_a.as_str(), first.country_b.as_str()), ("AA", "AB"));
        assert_eq!((first.shared, first.shared_political, first.shared_tooling), (30, 10, 0));
        assert!(first.significant && first.p_value < 1e-6, "{first:?}");
        assert!((first.expected - 20.0).abs() < 3.0, "{first:?}");
        for pair in pairs.iter().skip(1) {
            assert!(!pair.significant, "{pair:?}");
            assert!(pair.expected >= 20.0 && pair.shared == 20, "{pair:?}");
        }
    }

    /// A domain that only one of two countries tested is no difference between them.
    #[test]
    fn only_domains_tested_in_both_are_compared() {
        let a = ("AA".to_owned(), vec![site("x.example", true, "NEWS"), site("only-a.example", true, "NEWS")]);
        let b = ("BB".to_owned(), vec![site("x.example", true, "NEWS"), site("y.example", true, "ANON")]);
        let c = ("CC".to_owned(), vec![site("x.example", false, "NEWS"), site("y.example", false, "ANON")]);
        let (pairs, tests) = pairs(&[a, b, c]);
        assert_eq!((pairs.len(), tests), (1, 1), "the third blocks nothing");
        assert_eq!((pairs[0].shared, pairs[0].tested_in_both, pairs[0].jaccard), (1, 1, 1.0));
        assert!(!pairs[0].significant);
    }

    #[test]
    fn nothing_leads_to_no_pair() {
        assert_eq!(pairs(&[]), (Vec::new(), 0));
    }

    /// A domain that was measured only once or twice in a country is not compared.
    #[test]
    fn what_is_measured_seldom_is_in_no_pair() {
        let all = pairs(&countries()).0;
        let mut some = countries();
        some.iter_mut().flat_map(|(_, sites)| sites).for_each(|site| site.often = false);
        assert!(!all.is_empty() && pairs(&some).0.is_empty());
    }
}
