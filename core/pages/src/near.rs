//! What a reader may have meant whose site is not known here: a service or a site of the facts in this program whose name
//! is nearly the same; and the one spelling of a name that addresses have.

use engine::http::encoded;
use facts::starter::{Platform, basket};
use strsim::damerau_levenshtein;

use crate::range::Then;
use crate::words::Words;

/// Letters that may be wrong, of a name of so many letters.
const fn wrong_letters(length: usize) -> usize {
    match length {
        0..=3 => 0,
        4..=6 => 1,
        _ => 2,
    }
}

/// The name that is nearest to what was written; `None` if that is a known name itself, or if none is near.
fn meant(written: &str) -> Option<&'static str> {
    let written = written.trim().to_lowercase();
    let length = written.chars().count();
    // Comparing takes time, and no name is nearly so long.
    if length > 40 {
        return None;
    }
    let platforms = Platform::all();
    let names = platforms.iter().flat_map(|platform| std::iter::once(platform.slug).chain(platform.aliases()));
    let hosts = platforms.iter().flat_map(Platform::domains).chain(basket::all().iter().map(|site| site.domain));
    // Much is near to a short name.
    let is_long = |name: &&str| name.split('.').next().is_some_and(|label| label.len() >= 4);
    let near = names.chain(hosts).filter(|name| name.contains('.') == written.contains('.')).filter(is_long);
    let (wrong, name) = near.map(|name| (damerau_levenshtein(&written, name), name)).min()?;
    (1..=wrong_letters(length)).contains(&wrong).then_some(name)
}

/// The name that may have been meant, and the address of its page: in a country, unless its code is empty.
pub fn lead(written: &str, country: &str, then: &Then, w: Words) -> Option<(&'static str, String)> {
    let page = |name| if country.is_empty() { w.site(name) } else { w.check(name, country) };
    meant(written).map(|name| (name, format!("{}{}", page(name), then.link)))
}

/// A site as addresses usually have it, so that search engines take all spellings for one page.
pub fn usual(site: &str) -> String {
    encoded(&site.trim_end_matches('.').to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_wrong_letter_leads_to_the_right_one() {
        for (written, name) in [
            ("telegrm", Some("telegram")),
            ("Telegarm", Some("telegram")),
            ("telegrm.org", Some("telegram.org")),
            ("watsapp", Some("whatsapp")),
            ("youtub.com", Some("youtube.com")),
        ] {
            assert_eq!(meant(written), name, "{written}");
        }
    }

    #[test]
    fn a_known_name_or_a_strange_one_leads_nowhere() {
        for written in ["telegram", "telegram.org", "x", "y.com", "example.org", "", "a.b", &"telegram".repeat(9)] {
            assert_eq!(meant(written), None, "{written}");
        }
    }
}
