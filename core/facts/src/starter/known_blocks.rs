//! Documented national blocks. Until measurements decide, they give answers with basis `known_list`.

use std::sync::OnceLock;

use super::{Country, Platform};
use engine::time::Timestamp;

pub(super) const TEXT: &str = include_str!("known_blocks.tsv");

/// Months after `confirmed_on` for which a row sets a status (decision kinds-of-lists).
pub const VALID_MONTHS: i64 = 24;

/// One documented block. Its kind of list is `documented`.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownBlock {
    pub country: &'static str,
    /// A host, or the slug of a platform. A row with a slug holds for the platform and its essential hosts.
    pub target: &'static str,
    /// Dotted name of the technique, if it is documented for this target.
    pub technique: Option<&'static str>,
    /// Year, month or day of the start (`2022`, `2022-03`, `2022-03-04`), when known.
    pub since: Option<&'static str>,
    /// The last day that the source reports about, midnight UTC. Answers give it as the date of the list.
    pub confirmed_on: Timestamp,
    /// The time from which the row no longer sets a status.
    pub expires: Timestamp,
    pub source: &'static str,
}

impl KnownBlock {
    /// True if the row may set a status at that time (decision kinds-of-lists).
    pub fn sets_status(&self, now: Timestamp) -> bool {
        now < self.expires
    }

    fn from_row([country, target, technique, since, confirmed_on, source]: [&'static str; 6]) -> Option<KnownBlock> {
        let confirmed_on = super::date(confirmed_on)?;
        Some(KnownBlock {
            country: Country::by_code(country)?.code,
            target,
            technique: super::optional(technique),
            since: super::optional(since),
            confirmed_on,
            expires: confirmed_on.plus_months(VALID_MONTHS),
            source,
        })
    }
}

/// All rows, ordered by country and target.
pub fn all() -> &'static [KnownBlock] {
    static ALL: OnceLock<Vec<KnownBlock>> = OnceLock::new();
    ALL.get_or_init(|| super::rows(TEXT).filter_map(KnownBlock::from_row).collect())
}

/// The rows of one country, by upper-case code.
pub fn of_country(code: &str) -> &'static [KnownBlock] {
    let all = all();
    let start = all.partition_point(|b| b.country < code);
    let end = all.partition_point(|b| b.country <= code);
    all.get(start..end).unwrap_or_default()
}

/// The row that answers for a target key: a host in normal form, a platform slug or a role key. A row of a platform
/// also answers for its essential roles, and a row of an essential host for its platform (decision keys-and-roles). If
/// several rows answer, the one that was confirmed last counts.
pub fn find(country: &str, key: &str) -> Option<&'static KnownBlock> {
    // Most countries have no rows, and looking up the platform of a key takes longer than this check.
    let rows = of_country(country);
    if rows.is_empty() {
        return None;
    }
    let exact = |name: &str| rows.iter().find(|row| row.target == name);
    names(key).into_iter().filter_map(exact).max_by_key(|row| row.confirmed_on)
}

/// The row that answers for any of these keys. If several do, the one that was confirmed last counts.
pub fn find_any<'a>(country: &str, keys: impl IntoIterator<Item = &'a str>) -> Option<&'static KnownBlock> {
    keys.into_iter().filter_map(|key| find(country, key)).max_by_key(|row| row.confirmed_on)
}

/// The countries for which [`find`] has a row.
pub fn countries(key: &str) -> impl Iterator<Item = &'static str> {
    let names = names(key);
    all().iter().filter(move |row| names.contains(&row.target)).map(|row| row.country)
}

/// The targets of rows that can answer for a key.
fn names(key: &str) -> Vec<&str> {
    let owner = Platform::by_key(key).filter(|(_, role)| role.essential).map(|(platform, _)| platform.slug);
    let parts = Platform::by_slug(key).into_iter().flat_map(|platform| {
        let roles = platform.essential_roles().map(|role| role.key);
        std::iter::once(platform.slug).chain(roles)
    });
    std::iter::once(key).chain(owner).chain(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: &str = "2026-11-20";

    fn now() -> Timestamp {
        Timestamp::parse(TODAY).unwrap()
    }

    #[test]
    fn a_row_sets_a_status_for_24_months_after_its_date() {
        let row = KnownBlock::from_row(["CN", "example.org", "", "", "2024-02-29", "https://example.org/"]).unwrap();
        assert_eq!(row.expires, Timestamp::parse("2026-02-28").unwrap());
        assert!(row.sets_status(Timestamp::parse("2026-02-27T23:59:59Z").unwrap()));
        assert!(!row.sets_status(row.expires));
        assert!(all().iter().any(|b| b.sets_status(now())), "nothing at all is in force");
        assert!(all().iter().any(|b| !b.sets_status(now())), "old rows ship as a record");
    }

    #[test]
    fn a_platform_row_answers_for_its_essential_hosts_and_for_its_names() {
        for key in ["facebook", "facebook.com", "fb"] {
            assert_eq!(find("CN", key).map(|b| b.target), Some("facebook"), "{key}");
        }
        assert_eq!(find("MM", "signal/backend").map(|b| b.target), Some("signal"));
        for key in ["t.co", "m.facebook.com", "a.facebook.com", ""] {
            assert_eq!(find("CN", key), None, "{key}");
            assert!(!countries(key).any(|country| country == "CN"), "{key}");
        }
        assert!(countries("facebook.com").any(|country| country == "CN"));
        assert_eq!(find("US", "facebook.com"), None);
        let iran = Country::by_code("IR").unwrap();
        assert_eq!(Platform::by_slug("telegram").unwrap().known_block(iran).unwrap().since, Some("2018-04"));
    }

    #[test]
    fn rows_are_unique_ordered_and_about_targets_that_exist() {
        assert_eq!(all().len(), super::super::lines(TEXT).count(), "a row does not parse");
        assert!(all().is_sorted_by(|a, b| (a.country, a.target) < (b.country, b.target)));
        assert!(all().len() >= 80);
        for b in all() {
            assert!(b.target.contains('.') || Platform::by_slug(b.target).is_some_and(|p| p.slug == b.target));
            // A host that decides for a platform is written as the platform. Otherwise one answer would have two rows.
            assert!(Platform::by_key(b.target).is_none_or(|(_, role)| !role.essential), "{}", b.target);
        }
    }

    #[test]
    fn a_start_is_a_date_not_after_the_confirmation() {
        for b in all() {
            let Some(since) = b.since else { continue };
            let full = format!("{since}{}", &"0000-01-01"[since.len()..]);
            let start = super::super::date(&full).unwrap_or_else(|| panic!("{}/{}: {since}", b.country, b.target));
            assert!(start <= b.confirmed_on, "{}/{}", b.country, b.target);
        }
    }
}
