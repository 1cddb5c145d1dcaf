//! The words of pages in every language, from one table.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::OnceLock;

use facts::sentence::{Language, Parameter, template};
use facts::starter;

const TEXT: &str = include_str!("words.tsv");

/// The texts of a code: English, French, Arabic.
type Row = [&'static str; 3];

fn table() -> &'static BTreeMap<&'static str, Row> {
    static TABLE: OnceLock<BTreeMap<&'static str, Row>> = OnceLock::new();
    TABLE.get_or_init(|| starter::rows::<4>(TEXT).map(|[code, en, fr, ar]| (code, [en, fr, ar])).collect())
}

/// The words of one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words(pub Language);

impl Words {
    /// The text of a code, as it stands in the table.
    pub fn t(self, code: &str) -> &'static str {
        let row = table().get(code);
        debug_assert!(row.is_some(), "no words for {code}");
        let [english, french, arabic] = row.copied().unwrap_or([""; 3]);
        match self.0 {
            Language::English => english,
            Language::French => french,
            Language::Arabic => arabic,
        }
    }

    /// Whether the table has a code.
    pub fn has(self, code: &str) -> bool {
        table().contains_key(code)
    }

    /// The text of a code, if the table has it.
    pub fn known(self, code: &str) -> Option<&'static str> {
        self.has(code).then(|| self.t(code))
    }

    /// Names, one after the other, each in its own direction.
    pub fn list(self, names: &[String]) -> String {
        let names: Vec<String> = names.iter().map(|name| self.apart(name)).collect();
        names.join(self.comma())
    }

    /// What stands between the parts of a list.
    pub const fn comma(self) -> &'static str {
        if matches!(self.0, Language::Arabic) { "، " } else { ", " }
    }

    /// What stands between a name and what it names.
    pub const fn colon(self) -> &'static str {
        if matches!(self.0, Language::French) { "\u{a0}: " } else { ": " }
    }

    /// The text of a code with its parameters filled in.
    pub fn with(self, code: &str, parameters: &[(&'static str, Parameter)]) -> String {
        template::fill(self.0, self.t(code), parameters)
    }

    /// The text of a code about a number `n`.
    pub fn count(self, code: &str, n: impl Borrow<u64>) -> String {
        self.with(code, &[("n", (*n.borrow()).into())])
    }

    /// A word for a value of the interface, such as a status; the value itself if the table has none.
    pub fn value(self, of: &str, value: &str) -> String {
        let code = format!("{of}.{value}");
        if self.has(&code) { self.t(&code).to_owned() } else { self.apart(&value.replace(['_', '-'], " ")) }
    }

    /// The name of a source of measurements or reports.
    pub fn source(self, id: &str) -> String {
        let code = format!("source.{id}");
        self.apart(self.known(&code).unwrap_or(id))
    }

    pub fn sources(self, ids: &[String]) -> String {
        ids.iter().map(|id| self.source(id)).collect::<Vec<_>>().join(self.comma())
    }

    /// How something is blocked, in words, with the name that the interface gives it.
    pub fn way(self, name: &str) -> String {
        let code = format!("way.{name}");
        if self.has(&code) { format!("{} ({})", self.t(&code), self.apart(name)) } else { self.apart(name) }
    }

    pub fn ways(self, names: &[String]) -> String {
        let between = match self.0 {
            Language::English => "; ",
            Language::French => "\u{a0}; ",
            Language::Arabic => "؛ ",
        };
        names.iter().map(|name| self.way(name)).collect::<Vec<_>>().join(between)
    }

    /// The day of a time of the interface.
    pub fn day(self, time: &str) -> String {
        time.get(..10).map_or_else(|| time.to_owned(), |day| self.0.date(day))
    }

    /// The minute of a time of the interface, such as `29 Nov 2023, 08:00`; in UTC.
    pub fn moment(self, time: &str) -> String {
        match time.get(11..16) {
            Some(minute) => format!("{}{}{minute}", self.day(time), self.comma()),
            None => self.day(time),
        }
    }

    /// A name, an address or a figure in a text: where the text runs from right to left, it keeps its own direction.
    pub fn apart(self, name: &str) -> String {
        self.0.apart(name)
    }

    /// The words of an image, which lead to the table below it if there is one.
    pub fn described(self, alt: String, has_table: bool) -> String {
        if has_table { format!("{alt} {}", self.t("word.in_table")) } else { alt }
    }

    /// How much of a list is shown; empty where it is all of it.
    pub fn shown(self, some: u64, all: u64) -> String {
        if some >= all {
            return String::new();
        }
        self.with("word.shown", &[("n", self.number(some).into()), ("all", self.number(all).into())])
    }

    pub fn country(self, code: &str) -> String {
        self.0.country(code).to_owned()
    }

    /// A share, 0 to 1, in percent.
    pub fn percent(self, share: f64) -> String {
        template::fill(self.0, "{x, share}", &[("x", share.into())])
    }

    /// A whole number, its thousands apart.
    pub fn number(self, number: impl Borrow<u64>) -> String {
        let digits = number.borrow().to_string();
        let apart = match self.0 {
            Language::English | Language::Arabic => ',',
            Language::French => '\u{202f}',
        };
        let mut out = String::with_capacity(digits.len() + digits.len() / 3);
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at) % 3 == 0 {
                out.push(apart);
            }
            out.push(digit);
        }
        out
    }

    /// The page of a site.
    pub fn site(self, site: &str) -> String {
        self.to(&format!("/site/{site}"))
    }

    /// The page of a site in a country.
    pub fn check(self, site: &str, country: &str) -> String {
        self.to(&format!("/site/{site}/{country}"))
    }

    /// The same with charts of so many days.
    pub fn check_days(self, site: &str, country: &str, days: impl Display) -> String {
        self.to(&format!("/site/{site}/{country}?days={days}"))
    }

    /// The page of a country.
    pub fn land(self, country: &str) -> String {
        self.to(&format!("/country/{country}"))
    }

    /// The guide of a reader.
    pub fn guide(self, reader: &str) -> String {
        self.to(&format!("/guide/{reader}"))
    }

    /// The page of an incident.
    pub fn incident(self, id: &str) -> String {
        self.to(&format!("/incident/{id}"))
    }

    /// The page of a version of an incident.
    pub fn incident_version(self, id: &str, version: impl Display) -> String {
        self.to(&format!("/incident/{id}?version={version}"))
    }

    /// The address of a page in this language.
    pub fn to(self, path: &str) -> String {
        match (self.0, path) {
            (Language::English, path) => path.to_owned(),
            // The first page has no slash behind the tag, with a query or without.
            (language, path) if path == "/" || path.starts_with("/?") => {
                format!("/{}{}", language.tag(), path.trim_start_matches('/'))
            }
            (language, path) => format!("/{}{path}", language.tag()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_language_lacks_a_word_and_all_have_the_same_parameters() {
        assert!(table().len() > 100, "{}", table().len());
        for (code, texts) in table() {
            let names = |text: &'static str| {
                let mut names: Vec<_> = template::parameters(text).into_iter().map(|known| known.name).collect();
                names.sort_unstable();
                names
            };
            for text in texts {
                assert!(!text.is_empty(), "{code}");
                assert_eq!(names(text), names(texts[0]), "{code}: {text}");
                assert_eq!(text.matches('{').count(), text.matches('}').count(), "{code}: {text}");
            }
        }
        let lines = TEXT.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        assert_eq!(lines.skip(1).count(), table().len(), "a row has not four columns, or is there twice");
    }

    /// A sign that stands after a space in French may not begin a line.
    #[test]
    fn french_signs_stand_after_spaces_that_do_not_break() {
        for (code, [_, text, _]) in table() {
            let breaks = [" ?", " !", " :", " ;", " »", "« "].iter().find(|sign| text.contains(**sign));
            assert_eq!(breaks, None, "{code}: {text}");
        }
    }

    #[test]
    fn numbers_are_written_as_the_language_does() {
        assert_eq!(Words(Language::English).number(1_234_567), "1,234,567");
        assert_eq!(Words(Language::French).number(1_234), "1\u{202f}234");
        assert_eq!(Words(Language::French).percent(0.5), "50\u{a0}%");
        assert_eq!(Words(Language::English).number(999), "999");
    }
}
