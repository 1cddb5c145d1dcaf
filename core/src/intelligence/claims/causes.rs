//! For what occasions a claim says that it was so: elections, exams, protests. Incidents have the occasion that their source
//! gives.

use super::dates::Reader;
use super::words::Word;

/// Events that shutdowns are made for, and that claims give as their time: words for one kind in a row.
const OCCASIONS: [&[&str]; 7] = [
    &["election", "elections", "vote", "votes", "poll", "polls", "referendum"],
    &["exam", "exams", "examination", "examinations", "baccalaureate", "cheating"],
    &["protest", "protests", "demonstrations", "strike", "strikes", "unrest", "riots"],
    &["clashes", "violence", "war", "conflict", "crackdown"],
    &["coup"],
    &["flood", "floods", "earthquake", "quake", "storm", "cyclone", "hurricane", "drought", "fire"],
    &[
        "holiday",
        "holidays",
        "anniversary",
        "birthday",
        "cup",
        "olympics",
        "festival",
        "tournament",
        "crisis",
        "summit",
        "pandemic",
        "lockdown",
    ],
];

/// Kinds of [`OCCASIONS`], one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occasions(u8);

impl Occasions {
    pub const fn is_any(self) -> bool {
        self.0 != 0
    }

    /// Whether the occasion that a source gives is all that is said.
    pub fn are(self, told: &str) -> bool {
        self.is_any() && kinds(told.split(|letter: char| !letter.is_alphabetic())).0 & self.0 == self.0
    }
}

fn kinds<'w>(words: impl Iterator<Item = &'w str>) -> Occasions {
    let of = |word: &str| {
        let word = word.to_lowercase();
        OCCASIONS.iter().position(|names| names.contains(&word.as_str())).map_or(0, |kind| 1 << kind)
    };
    Occasions(words.fold(0, |kinds, word| kinds | of(word)))
}

/// Whether a word at a place is one of [`OCCASIONS`].
pub fn is_occasion(reader: &Reader<'_>, at: usize) -> bool {
    OCCASIONS.iter().any(|names| reader.is(at, names))
}

/// The occasions that a clause names.
pub fn occasions(words: &[Word<'_>]) -> Occasions {
    kinds(words.iter().map(|word| word.lower.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    #[test]
    fn an_occasion_is_compared_with_that_of_a_source() {
        for (text, source, are) in [
            ("cut because of the national exams", "Exam: National exams", true),
            ("cut for school exams", "Elections", false),
            ("cut during the protests", "Protests", true),
            ("cut because of elections and protests", "Elections", false),
            ("a court ordered it because of exams", "Exam", true),
            ("cut due to a technical fault", "Exam", false),
            ("cut because of exams", "Information control", false),
        ] {
            assert_eq!(occasions(&split(text)).are(source), are, "{text}: {source}");
        }
    }
}
