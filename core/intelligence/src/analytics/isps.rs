//! Ranks networks by how much they block (decision country-of-networks).

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::constants as c;
use super::facts::Isp;
use super::reports::{NOTHING, Notes, ReportQuestion, Table, WORST_DEFAULT, World, camel};
use super::store::Placed;
use crate::{Error, Result, Timestamp, world};
use engine::documents::Rendered;
use engine::number::round;
use engine::time::DAY;
use facts::sentence::{Sentence, Sentences};

pub const CAVEAT: Sentence = Sentence::new("report.networks");

/// The time that the numbers of a profile of the past are about.
pub fn window_then(until: Timestamp) -> Sentence {
    Sentence::new("report.window_then").with("until", until)
}

/// The same for a comparison with such profiles.
pub const WINDOW_OF_EACH: Sentence = Sentence::new("report.window_of_each");

/// Domains that a profile names, at most.
const TOP: usize = 20;

/// Whether a network has enough measurements for a score.
pub fn is_enough(isp: &Isp) -> bool {
    isp.measurements >= c::ISP_MIN_MEASUREMENTS
}

/// 0-100, from blocked votes, number of categories and number of methods. It is 0 without meaning when there are too
/// few measurements.
pub fn composite(isp: &Isp) -> f64 {
    if !is_enough(isp) {
        return 0.0;
    }
    let categories: BTreeSet<&str> = isp.blocks.iter().filter_map(|block| block.category.as_deref()).collect();
    let full = |n: usize, full: f64| (n as f64 / full).min(1.0);
    let score = c::ISP_WEIGHT_RATE * isp.rate
        + c::ISP_WEIGHT_CATEGORIES * full(categories.len(), c::ISP_FULL_CATEGORIES)
        + c::ISP_WEIGHT_METHODS * full(isp.methods.len(), c::ISP_FULL_METHODS);
    (score * 10_000.0).round() / 100.0
}

/// Whether a network is ranked worldwide: it blocks something, and has enough measurements.
pub fn is_ranked(isp: &Isp) -> bool {
    isp.blocked > 0 && is_enough(isp)
}

/// Worst first, and networks with too few measurements last. Among equals the lower number comes first.
pub fn order(a: &Isp, b: &Isp) -> std::cmp::Ordering {
    is_enough(b).cmp(&is_enough(a)).then(composite(b).total_cmp(&composite(a))).then(a.asn.cmp(&b.asn))
}

/// Reads `AS<digits>` in any case, or digits alone. The error is 400 for anything else.
pub fn number(text: &str) -> Result<u32> {
    let text = text.trim();
    let digits = match text.split_at_checked(2) {
        Some((head, rest)) if head.eq_ignore_ascii_case("as") => rest,
        _ => text,
    };
    let number = (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok());
    number
        .flatten()
        .filter(|number| *number > 0)
        .ok_or_else(|| Error::bad_request(format!("{text:?} is not a network number such as AS64500.")))
}

/// A network in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RankedIsp")]
pub struct IspRow {
    rank: usize,
    asn: u32,
    asn_label: String,
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    country_name: Option<String>,
    /// 0-100. It is 0 without meaning where `insufficientData` is true.
    composite_score: f64,
    /// Whether there are fewer measurements than a score needs.
    insufficient_data: bool,
    block_rate: f64,
    methods: Vec<String>,
    blocked_categories: Vec<String>,
    measurements: u32,
    targets: u32,
    blocked_domains: u32,
    last_seen: String,
}

fn one_decimal(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn categories(isp: &Isp) -> BTreeMap<&str, (u32, f64)> {
    let mut found: BTreeMap<&str, (u32, f64)> = BTreeMap::new();
    for block in &isp.blocks {
        let entry = found.entry(block.category.as_deref().unwrap_or("untagged")).or_default();
        *entry = (entry.0 + 1, entry.1 + block.rate);
    }
    found
}

fn row(rank: usize, country: Option<&str>, isp: &Isp) -> IspRow {
    IspRow {
        rank,
        asn: isp.asn,
        asn_label: format!("AS{}", isp.asn),
        name: isp.name.clone(),
        country: country.map(str::to_owned),
        country_name: country.map(world::name),
        composite_score: one_decimal(composite(isp)),
        insufficient_data: !is_enough(isp),
        block_rate: isp.rate,
        methods: isp.methods.iter().map(|(method, _)| method.clone()).collect(),
        blocked_categories: categories(isp).into_keys().filter(|code| *code != "untagged").map(str::to_owned).collect(),
        measurements: isp.measurements,
        targets: isp.targets,
        blocked_domains: isp.blocked,
        last_seen: isp.last_checked.to_string(),
    }
}

/// Columns of a list of networks.
const COLUMNS: &[&str] = &[
    "rank",
    "asn",
    "name",
    "country",
    "countryName",
    "compositeScore",
    "blockRate",
    "methods",
    "blockedCategories",
    "measurements",
    "targets",
    "blockedDomains",
    "lastSeen",
];

pub const TABLE: Table = Table { list: "isps", columns: COLUMNS };

/// The CSV of a profile lists its blocked domains.
pub const PROFILE_TABLE: Table =
    Table { list: "topBlockedDomains", columns: &["domain", "category", "blockRate", "measurements", "method"] };

/// Columns of a comparison as CSV.
pub const COMPARE_TABLE: Table = Table {
    list: "isps",
    columns: &[
        "asn",
        "name",
        "country",
        "compositeScore",
        "rankInCountry",
        "blockRate",
        "measurements",
        "blockedDomainCount",
        "lastSeen",
    ],
};

/// `/v1/isp/index`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IspIndex {
    country: String,
    country_name: String,
    isp_count: usize,
    /// False when there are no measurements inside the window.
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Sentence>,
    /// Time of the newest measurement of the country; null if there is none.
    last_checked: Option<String>,
    /// When the newest measurement became too old to count; absent while any counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
    isps: Vec<IspRow>,
}

/// The networks of a country, worst first, with the time of its newest measurement and its number of measurements
/// within the age limit.
pub fn index(country: &str, mut isps: Vec<Isp>, (newest, recent): (Option<Timestamp>, u64), at: Timestamp) -> IspIndex {
    isps.sort_by(order);
    IspIndex {
        country: country.to_owned(),
        country_name: world::name(country),
        isp_count: isps.len(),
        available: !isps.is_empty(),
        reason: isps.is_empty().then_some(NOTHING),
        last_checked: newest.map(|newest| newest.to_string()),
        stale_since: world::stale_since(newest, recent, at).map(|since| since.to_string()),
        isps: (1..).zip(&isps).map(|(rank, isp)| row(rank, Some(country), isp)).collect(),
    }
}

/// Stated when no network is ranked.
const NO_NETWORK: Sentence = Sentence::new("report.no_network");

/// `/v1/isp/worst`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorstBody {
    count: usize,
    limit: u32,
    /// Networks with fewer measurements are not ranked.
    min_measurements: u32,
    /// False when no network is ranked.
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Sentence>,
    isps: Vec<IspRow>,
}

/// The networks of the world, worst first.
pub fn worst(limit: u32, isps: &[(String, Isp)]) -> WorstBody {
    WorstBody {
        count: isps.len(),
        limit,
        min_measurements: c::ISP_MIN_MEASUREMENTS,
        available: !isps.is_empty(),
        reason: isps.is_empty().then_some(NO_NETWORK),
        isps: (1..).zip(isps).map(|(rank, (country, isp))| row(rank, Some(country), isp)).collect(),
    }
}

/// The number of networks that this parameter asks for.
pub fn limit(parameter: Option<&str>) -> u32 {
    parameter.and_then(|limit| limit.parse().ok()).unwrap_or(WORST_DEFAULT)
}

pub fn worst_report(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let limit = limit(asked.parameter);
    let isps = world.worst.get(..usize::try_from(limit).unwrap_or(usize::MAX)).unwrap_or(&world.worst);
    let body = worst(limit, isps);
    let notes = Notes::new(CAVEAT, Sentences::new().with("reason", &body.reason));
    camel(asked, world.stamp(), notes, &TABLE, body)
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TopDomain {
    domain: String,
    category: Option<String>,
    block_rate: f64,
    measurements: u32,
    method: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MethodShare {
    method: String,
    /// Share of the blocked domains with a known method.
    share: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CategoryRow {
    category: String,
    domains: u32,
    block_rate: f64,
}

/// `/v1/isp/{asn}/profile`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IspProfile {
    asn: u32,
    asn_label: String,
    name: Option<String>,
    /// The country with most of its measurements.
    country: String,
    country_name: String,
    /// All countries in which it was measured.
    countries: Vec<String>,
    composite_score: f64,
    /// Whether there are fewer measurements than a score needs. If so, the score is 0.
    insufficient_data: bool,
    rank_in_country: u32,
    isps_in_country: u32,
    block_rate: f64,
    measurements: u32,
    targets: u32,
    blocked_domain_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_blocked_domains: Option<Vec<TopDomain>>,
    methods: Vec<MethodShare>,
    blocked_categories: Vec<CategoryRow>,
    /// The day on which it was first measured in that country.
    first_seen: Option<String>,
    last_seen: String,
    /// When the newest measurement became too old to count, in which case the profile is that of its last day. Absent
    /// while any counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
    /// Where `staleSince` is, the end of that last day: all numbers, the rank too, are of the window before it, and the
    /// index with `as_of` of this time has the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers_as_of: Option<String>,
}

/// The profile of a network, from the places where it was measured; `None` if there are none.
pub fn profile(places: &[&Placed], with_domains: bool) -> Option<IspProfile> {
    let main = places.iter().max_by_key(|placed| (placed.isp.measurements, std::cmp::Reverse(&placed.country)))?;
    let isp = &main.isp;
    let known: u32 = isp.methods.iter().map(|(_, n)| n).sum();
    let top = isp.blocks.iter().take(TOP).map(|block| TopDomain {
        domain: block.domain.clone(),
        category: block.category.clone(),
        block_rate: block.rate,
        measurements: block.measurements,
        method: block.method.clone(),
    });
    Some(IspProfile {
        asn: isp.asn,
        asn_label: format!("AS{}", isp.asn),
        name: isp.name.clone(),
        country: main.country.clone(),
        country_name: world::name(&main.country),
        countries: places.iter().map(|placed| placed.country.clone()).collect(),
        composite_score: one_decimal(composite(isp)),
        insufficient_data: !is_enough(isp),
        rank_in_country: main.rank,
        isps_in_country: main.of,
        block_rate: isp.rate,
        measurements: isp.measurements,
        targets: isp.targets,
        blocked_domain_count: isp.blocked,
        top_blocked_domains: with_domains.then(|| top.collect()),
        methods: isp
            .methods
            .iter()
            .map(|(method, n)| MethodShare { method: method.clone(), share: round(f64::from(*n) / f64::from(known)) })
            .collect(),
        blocked_categories: categories(isp)
            .into_iter()
            .map(|(category, (domains, rates))| CategoryRow {
                category: category.to_owned(),
                domains,
                block_rate: round(rates / f64::from(domains)),
            })
            .collect(),
        first_seen: isp.first_day.map(|day| Timestamp(i64::from(day) * DAY).to_string()),
        last_seen: isp.last_checked.to_string(),
        stale_since: None,
        numbers_as_of: None,
    })
}

impl IspProfile {
    /// Marks the profile as that of the last day with measurements, whose end is given.
    pub fn of_the_past(mut self, last: Timestamp, until: Timestamp, at: Timestamp) -> IspProfile {
        self.stale_since = world::stale_since(Some(last), 0, at).map(|since| since.to_string());
        self.numbers_as_of = Some(until.to_string());
        self
    }
}

/// The place where a network was measured last, as it was at the end of that day.
pub struct LastPlace {
    pub until: Timestamp,
    pub place: Placed,
}

impl LastPlace {
    pub fn profile(&self, with_domains: bool, at: Timestamp) -> Option<IspProfile> {
        let profile = profile(&[&self.place], with_domains)?;
        Some(profile.of_the_past(self.place.isp.last_checked, self.until, at))
    }
}

/// `/v1/isp/compare`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    count: usize,
    asns: Vec<String>,
    isps: Vec<IspProfile>,
    /// Requested networks that were never measured.
    missing: Vec<String>,
    /// Domains that all networks block on which anything is measured of late; empty with fewer than two of these.
    shared_blocked_domains: Vec<String>,
}

/// Compares networks, in the order of the request. `last` has those that are measured no more.
pub fn compare(asns: &[u32], places: &[Placed], last: &[LastPlace], at: Timestamp) -> Comparison {
    let label = |asn: &u32| format!("AS{asn}");
    let of = |asn: u32| places.iter().filter(move |placed| placed.isp.asn == asn).collect::<Vec<&Placed>>();
    let present: Vec<u32> = asns.iter().copied().filter(|asn| !of(*asn).is_empty()).collect();
    let past = |asn: &u32| last.iter().find(|last| last.place.isp.asn == *asn);
    let mut shared: Option<BTreeSet<String>> = None;
    // A single network shares nothing.
    for asn in present.iter().filter(|_| present.len() > 1) {
        let blocked: BTreeSet<String> =
            of(*asn).iter().flat_map(|placed| &placed.isp.blocks).map(|block| block.domain.clone()).collect();
        shared = Some(shared.map_or(blocked.clone(), |before| &before & &blocked));
    }
    let one = |asn: &u32| profile(&of(*asn), false).or_else(|| past(asn)?.profile(false, at));
    let isps: Vec<IspProfile> = asns.iter().filter_map(one).collect();
    let is_known = |asn: &&u32| present.contains(asn) || past(asn).is_some();
    Comparison {
        count: isps.len(),
        asns: asns.iter().map(label).collect(),
        isps,
        missing: asns.iter().filter(|asn| !is_known(asn)).map(label).collect(),
        shared_blocked_domains: shared.unwrap_or_default().into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::IspBlock;
    use super::*;

    fn isp(asn: u32, rate: f64, blocks: &[(&str, &str)]) -> Isp {
        let block = |(domain, code): &(&str, &str)| IspBlock {
            domain: (*domain).to_owned(),
            category: Some((*code).to_owned()),
            rate,
            measurements: 10,
            method: Some("tls-reset".to_owned()),
        };
        let blocked = blocks.len() as u32;
        let methods = if blocked > 0 { vec![("tls-reset".to_owned(), blocked)] } else { Vec::new() };
        let blocks = blocks.iter().map(block).collect();
        Isp { asn, rate, measurements: 10, targets: 2, blocked, blocks, methods, ..Isp::default() }
    }

    /// 100 x (0.6 rate + 0.25 categories / 10 + 0.15 methods / 5).
    #[test]
    fn the_score_of_a_network_follows_its_formula() {
        assert_eq!(composite(&isp(1, 0.0, &[])), 0.0);
        let two = isp(1, 0.5, &[("a.example", "NEWS"), ("b.example", "HUMR"), ("c.example", "NEWS")]);
        assert!((composite(&two) - (30.0 + 5.0 + 3.0)).abs() < 1e-9);
        let many: Vec<(String, String)> = (0..20).map(|n| (format!("{n}.example"), format!("C{n}"))).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert!((composite(&isp(1, 1.0, &many)) - 88.0).abs() < 1e-9, "the breadth is capped");
        assert!(order(&two, &isp(2, 0.1, &[])).is_lt() && order(&two, &two).is_eq());
    }

    #[test]
    fn numbers_are_read_with_and_without_prefix() {
        for (text, asn) in [("AS64500", 64_500), ("as1", 1), (" 4294967295 ", u32::MAX)] {
            assert_eq!(number(text).unwrap(), asn);
        }
        for text in ["", "AS", "AS0", "ASx", "AS-1", "4294967296", "AS1.2", "\u{e9}\u{e9}"] {
            assert_eq!(number(text).unwrap_err().code, crate::ErrorCode::BadRequest, "{text}");
        }
    }

    #[test]
    fn a_comparison_names_what_all_block_and_what_is_not_measured() {
        let place = |isp: Isp| Placed::among("NO", isp.clone(), &[isp.asn]);
        let a = place(isp(1, 1.0, &[("a.example", "NEWS"), ("b.example", "NEWS")]));
        let b = place(isp(2, 1.0, &[("b.example", "NEWS"), ("c.example", "NEWS")]));
        let both = compare(&[2, 3, 1], &[a, b], &[], Timestamp(0));
        assert_eq!(
            (both.count, both.missing, both.shared_blocked_domains),
            (2, vec!["AS3".into()], vec!["b.example".into()])
        );
        assert_eq!(both.isps.iter().map(|isp| isp.asn).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn a_network_of_the_past_is_compared_as_of_its_last_day_and_shares_nothing_now() {
        let place = |isp: Isp| Placed::among("NO", isp.clone(), &[isp.asn]);
        let now = [1, 2].map(|asn| place(isp(asn, 1.0, &[("a.example", "NEWS"), ("b.example", "NEWS")])));
        let until = Timestamp::end_of_day(19_000);
        let then = LastPlace { until, place: place(isp(3, 1.0, &[("c.example", "NEWS")])) };
        let all = compare(&[3, 1, 2, 4], &now, &[then], Timestamp::end_of_day(20_000));
        assert_eq!((all.count, all.missing), (3, vec!["AS4".to_owned()]));
        assert_eq!(all.shared_blocked_domains, ["a.example", "b.example"]);
        let told: Vec<_> = all.isps.iter().map(|isp| (isp.asn, isp.numbers_as_of.clone())).collect();
        assert_eq!(told, [(3, Some(until.to_string())), (1, None), (2, None)]);
        assert!(all.isps.iter().all(|isp| isp.numbers_as_of.is_some() == isp.stale_since.is_some()));
    }
}
