//! The project's own basket of sites (decision starter-data).

use std::sync::OnceLock;

pub(super) const TEXT: &str = include_str!("basket.tsv");

/// One site of the basket.
#[derive(Debug, PartialEq, Eq)]
pub struct BasketSite {
    /// Host without leading `www.`.
    pub domain: &'static str,
    /// Category code, see [`super::categories`].
    pub category: &'static str,
    /// True if volunteers are asked to test the site.
    pub probe: bool,
    /// The reason why the site is in the basket.
    pub why: &'static str,
}

/// The sites, in the order of the file.
pub fn all() -> &'static [BasketSite] {
    static ALL: OnceLock<Vec<BasketSite>> = OnceLock::new();
    ALL.get_or_init(|| {
        super::rows(TEXT)
            .map(|[domain, category, probe, why]| BasketSite { domain, category, probe: probe == "yes", why })
            .collect()
    })
}

/// The sites that volunteers are asked to test.
pub fn probe_targets() -> impl Iterator<Item = &'static BasketSite> {
    all().iter().filter(|s| s.probe)
}

/// The category of a site of the basket.
pub fn category(domain: &str) -> Option<&'static str> {
    all().iter().find(|s| s.domain == domain).map(|s| s.category)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::starter::categories;

    #[test]
    fn the_basket_has_60_different_sites_with_live_categories() {
        assert_eq!(all().len(), 60);
        let mut domains: Vec<_> = all().iter().map(|s| s.domain).collect();
        domains.sort_unstable();
        domains.dedup();
        assert_eq!(domains.len(), 60);
        for site in all() {
            assert!(categories::Category::by_code(site.category).is_some(), "{}", site.domain);
            assert_eq!(categories::current_code(site.category), Some(site.category), "{}", site.domain);
            assert!(!site.why.is_empty());
        }
        assert!(super::super::rows::<4>(TEXT).all(|row| matches!(row[2], "yes" | "no")));
        assert_eq!(category("torproject.org"), Some("ANON"));
    }

    #[test]
    fn probes_get_the_40_targets_they_need_and_none_that_endangers_a_volunteer() {
        assert!(probe_targets().count() >= 40);
        for site in probe_targets() {
            assert!(
                !matches!(site.category, "PORN" | "GMB" | "LGBT" | "REL" | "XED" | "ALDR" | "MILX"),
                "{}",
                site.domain
            );
        }
    }
}
