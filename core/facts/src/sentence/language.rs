//! The languages that sentences can be said in.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::starter::{self, Country};

const FRENCH: &str = include_str!("french.tsv");
const ARABIC: &str = include_str!("arabic.tsv");
const FRENCH_COUNTRIES: &str = include_str!("french_countries.tsv");
const ARABIC_COUNTRIES: &str = include_str!("arabic_countries.tsv");

/// Around a name that keeps its own direction, in a text that runs from right to left.
pub const ISOLATE: char = '\u{2068}';
pub const END_OF_ISOLATE: char = '\u{2069}';

/// A language. All but English are translations that no native speaker has reviewed yet (decision languages).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    English,
    French,
    Arabic,
}

/// Templates by their codes.
type Templates = BTreeMap<&'static str, &'static str>;
/// A country's name, the name with its preposition ("au Kenya"), and the name with its article, by code.
type CountryNames = BTreeMap<&'static str, [&'static str; 3]>;

impl Language {
    pub const ALL: [Language; 3] = [Language::English, Language::French, Language::Arabic];

    /// The language tag (RFC 5646).
    pub const fn tag(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::French => "fr",
            Language::Arabic => "ar",
        }
    }

    /// The name of the language in itself.
    pub const fn name(self) -> &'static str {
        match self {
            Language::English => "English",
            Language::French => "Français",
            Language::Arabic => "العربية",
        }
    }

    /// The direction of its script, as HTML writes it.
    pub const fn direction(self) -> &'static str {
        match self {
            Language::Arabic => "rtl",
            Language::English | Language::French => "ltr",
        }
    }

    /// A name, a date or a figure as it stands in a text. Where the text runs from right to left, it keeps a direction of
    /// its own (FIRST STRONG ISOLATE), so that nothing beside it moves into it. Such signs of the name itself are left
    /// out: they would end the isolation too early.
    pub fn apart(self, name: &str) -> String {
        if self.direction() == "ltr" || name.is_empty() {
            return name.to_owned();
        }
        let plain: String = name.chars().filter(|letter| !matches!(letter, '\u{2066}'..='\u{2069}')).collect();
        format!("{ISOLATE}{plain}{END_OF_ISOLATE}")
    }

    /// Its plural form for a whole number (Unicode CLDR, cardinal rules).
    pub const fn plural(self, count: u64) -> &'static str {
        match (self, count) {
            (Language::English, 1) | (Language::French, 0 | 1) => "one",
            (Language::French, 1..) if count.is_multiple_of(1_000_000) => "many",
            (Language::English | Language::French, _) => "other",
            (Language::Arabic, 0) => "zero",
            (Language::Arabic, 1) => "one",
            (Language::Arabic, 2) => "two",
            (Language::Arabic, _) => match count % 100 {
                3..=10 => "few",
                11..=99 => "many",
                _ => "other",
            },
        }
    }

    /// The template of a code; `None` where English has none of its own here.
    pub fn template(self, code: &str) -> Option<&'static str> {
        static TABLES: [OnceLock<Templates>; 2] = [OnceLock::new(), OnceLock::new()];
        let read =
            |text: &'static str| starter::rows::<2>(text).map(|[code, text]| (code, text)).collect::<Templates>();
        let table = match self {
            Language::English => return super::table::text(code),
            Language::French => TABLES[0].get_or_init(|| read(FRENCH)),
            Language::Arabic => TABLES[1].get_or_init(|| read(ARABIC)),
        };
        table.get(code).copied().or_else(|| super::table::text(code))
    }

    /// Names of a country: plain, with the preposition that says "in", and with its article.
    fn country_names(self, code: &str) -> Option<[&'static str; 3]> {
        static TABLES: [OnceLock<CountryNames>; 2] = [OnceLock::new(), OnceLock::new()];
        let table = match self {
            Language::English => return None,
            Language::French => TABLES[0].get_or_init(|| {
                starter::rows::<4>(FRENCH_COUNTRIES)
                    .map(|[code, name, within, the]| (code, [name, within, the]))
                    .collect()
            }),
            Language::Arabic => TABLES[1].get_or_init(|| {
                starter::rows::<2>(ARABIC_COUNTRIES).map(|[code, name]| (code, [name, name, name])).collect()
            }),
        };
        table.get(code).copied()
    }

    /// The name of a country; the code if no country has it.
    pub fn country(self, code: &str) -> &str {
        match self.country_names(code) {
            Some([name, ..]) => name,
            None => Country::by_code(code).map_or(code, |country| country.name),
        }
    }

    /// The name of a country in the style of a template: `in` (with the preposition) or `the` (with the article).
    pub(super) fn country_styled(self, code: &str, style: &str) -> String {
        match (self.country_names(code), style) {
            (Some([_, within, _]), "in") => within.to_owned(),
            (Some([_, _, the]), "the") => the.to_owned(),
            (None, "the") => super::names::the_country(code),
            (None, "in") => format!("in {}", super::names::the_country(code)),
            _ => self.country(code).to_owned(),
        }
    }

    /// A date `2023-11-24` as the language writes it in short: `24 Nov 2023`.
    pub fn date(self, date: &str) -> String {
        const FRENCH: [&str; 12] =
            ["janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."];
        const ARABIC: [&str; 12] = [
            "يناير",
            "فبراير",
            "مارس",
            "أبريل",
            "مايو",
            "يونيو",
            "يوليو",
            "أغسطس",
            "سبتمبر",
            "أكتوبر",
            "نوفمبر",
            "ديسمبر",
        ];
        let months = match self {
            Language::English => return super::names::plain(date),
            Language::French => FRENCH,
            Language::Arabic => ARABIC,
        };
        let mut parts = date.split('-');
        let (year, month, day) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let month = month.parse::<usize>().ok().and_then(|n| months.get(n.checked_sub(1)?)).copied().unwrap_or("");
        let day = match (self, day.trim_start_matches('0')) {
            (Language::French, "1") => "1er",
            (_, day) => day,
        };
        format!("{day} {month} {year}")
    }

    /// The text between the last two of several, and between the others.
    pub(super) const fn joints(self) -> (&'static str, &'static str) {
        match self {
            Language::English => (" and ", ", "),
            Language::French => (" et ", ", "),
            Language::Arabic => (" و", "، "),
        }
    }

    /// A number as text, with the language's decimal sign.
    pub(super) fn decimal(self, number: &str) -> String {
        match self {
            Language::French => number.replace('.', ","),
            Language::English | Language::Arabic => number.to_owned(),
        }
    }

    /// A share in percent, from its figure.
    pub(super) fn percent(self, figure: &str) -> String {
        match self {
            Language::English | Language::Arabic => format!("{figure}%"),
            Language::French => format!("{figure}\u{a0}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::{table, template};

    #[test]
    fn every_sentence_is_in_every_language_with_parameters_that_english_has() {
        for language in [Language::French, Language::Arabic] {
            for (code, english) in table::all() {
                let translated = language.template(code).unwrap();
                let names = |text| template::parameters(text).into_iter().map(|known| known.name).collect::<Vec<_>>();
                let (ours, known) = (names(translated), names(english));
                let foreign: Vec<_> = ours.iter().filter(|name| !known.contains(name)).collect();
                assert!(foreign.is_empty(), "{code} in {language:?} has {foreign:?}");
                assert_eq!(translated.matches('{').count(), translated.matches('}').count(), "{code} in {language:?}");
            }
        }
        for (language, text) in [(Language::French, FRENCH), (Language::Arabic, ARABIC)] {
            let codes: Vec<&str> = starter::rows::<2>(text).map(|[code, _]| code).collect();
            let missing: Vec<&str> =
                table::all().iter().map(|(code, _)| *code).filter(|code| !codes.contains(code)).collect();
            assert!(missing.is_empty(), "{language:?}: {missing:?}");
            let unknown: Vec<_> = codes.iter().filter(|code| table::known(code).is_none()).collect();
            assert!(unknown.is_empty(), "{language:?}: {unknown:?}");
        }
    }

    /// A sign that stands after a space in French may not begin a line.
    #[test]
    fn french_signs_stand_after_spaces_that_do_not_break() {
        for [code, text] in starter::rows::<2>(FRENCH) {
            let breaks = [" ?", " !", " :", " ;", " »", "« "].iter().find(|sign| text.contains(**sign));
            assert_eq!(breaks, None, "{code}: {text}");
        }
    }

    #[test]
    fn every_country_has_a_name_in_every_language() {
        for country in Country::all() {
            assert!(Language::French.country_names(country.code).is_some(), "{}", country.code);
            assert!(Language::Arabic.country_names(country.code).is_some(), "{}", country.code);
        }
        assert_eq!(Language::French.country_styled("KE", "in"), "au Kenya");
        assert_eq!(Language::English.country_styled("US", "in"), "in the United States");
    }

    #[test]
    fn names_and_figures_in_arabic_keep_their_own_direction_and_cannot_end_it() {
        let sentence = |language| {
            let parameters = [
                ("sites", vec!["x.org".to_owned(), "a\u{2069}b.org".to_owned()].into()),
                ("day", "2023-11-24".into()),
                ("share", 0.4.into()),
                ("country", "KE".into()),
            ];
            template::fill(language, "{sites, subjects}: {country, country}, {day, date}, {share, share}", &parameters)
        };
        assert_eq!(
            sentence(Language::Arabic),
            "\u{2068}x.org\u{2069} و\u{2068}ab.org\u{2069}: كينيا, \u{2068}24 نوفمبر 2023\u{2069}, \u{2068}40%\u{2069}"
        );
        assert!(!sentence(Language::French).contains(ISOLATE));
    }

    #[test]
    fn plural_forms_are_those_of_cldr() {
        let forms = |language: Language| [0, 1, 2, 3, 10, 11, 99, 100, 103].map(|count| language.plural(count));
        assert_eq!(
            forms(Language::English),
            ["other", "one", "other", "other", "other", "other", "other", "other", "other"]
        );
        assert_eq!(
            forms(Language::French),
            ["one", "one", "other", "other", "other", "other", "other", "other", "other"]
        );
        assert_eq!(forms(Language::Arabic), ["zero", "one", "two", "few", "few", "many", "many", "other", "few"]);
        assert_eq!(Language::French.plural(1_000_000), "many");
    }
}
