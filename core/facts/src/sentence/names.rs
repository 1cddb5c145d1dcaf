//! English names and dates for the data in sentences.

use crate::starter::{Country, Platform};

/// Abbreviations at the beginning of service names, whose capitals must stay.
const ABBREVIATIONS: [&str; 5] = ["VPN", "VPNs", "VoIP", "SMS", "IMO"];

/// The name of a subject for people.
pub fn subject(subject: &str) -> String {
    match Platform::by_slug(subject) {
        Some(platform) => platform.label.to_owned(),
        None if subject.contains('.') => subject.to_owned(),
        None if subject.contains('/') => match Platform::by_key(subject) {
            Some((platform, role)) => format!("{} ({})", platform.label, role.name),
            None => subject.to_owned(),
        },
        None => {
            let name = of_slug(subject);
            let (first, rest) = name.split_once(' ').unwrap_or((&name, ""));
            let known = ABBREVIATIONS.iter().find(|known| known.eq_ignore_ascii_case(first));
            known.map_or_else(|| name.clone(), |known| format!("{known} {rest}").trim_end().to_owned())
        }
    }
}

/// Turns a slug into a display name: `google_dns` becomes `Google dns`.
pub fn of_slug(slug: &str) -> String {
    let words = slug.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Countries whose names take an article, in addition to those that end in Islands or Republic.
const THE: [&str; 10] = ["AE", "BS", "CD", "GB", "GM", "KM", "MV", "NL", "PH", "US"];

/// The name of a country; the code if no country has it.
pub fn country(code: &str) -> &str {
    Country::by_code(code).map_or(code, |country| country.name)
}

/// The name of a country within a sentence.
pub fn the_country(code: &str) -> String {
    let name = country(code);
    let of_many = [" Islands", " Republic"].iter().any(|end| name.ends_with(end));
    if of_many || THE.contains(&code) { format!("the {name}") } else { name.to_owned() }
}

/// A date `2023-11-24` as `24 Nov 2023`.
pub fn plain(date: &str) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let month = month.parse::<usize>().ok().and_then(|n| MONTHS.get(n.checked_sub(1)?)).copied().unwrap_or("");
    format!("{} {month} {year}", day.trim_start_matches('0'))
}
