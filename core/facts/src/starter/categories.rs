//! Content category codes of the Citizen Lab test lists, retired codes, and the three focus groups.
//!
//! The API uses these codes (`category=NEWS`). The codes of single sites are imported data.

/// One category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Category {
    /// Upper-case code.
    pub code: &'static str,
    /// Name for display.
    pub name: &'static str,
}

const fn category(code: &'static str, name: &'static str) -> Category {
    Category { code, name }
}

/// Every code in use, ordered by code.
pub const CATEGORIES: [Category; 31] = [
    category("ALDR", "Alcohol and drugs"),
    category("ANON", "Anonymization and circumvention"),
    category("COMM", "E-commerce"),
    category("COMT", "Communication tools"),
    category("CTRL", "Control content"),
    category("CULTR", "Culture"),
    category("DATE", "Online dating"),
    category("ECON", "Economics"),
    category("ENV", "Environment"),
    category("FILE", "File sharing"),
    category("GAME", "Gaming"),
    category("GMB", "Gambling"),
    category("GOVT", "Government"),
    category("GRP", "Social networking"),
    category("HACK", "Hacking tools"),
    category("HATE", "Hate speech"),
    category("HOST", "Hosting and blogging"),
    category("HUMR", "Human rights"),
    category("IGO", "Intergovernmental organizations"),
    category("LGBT", "LGBT"),
    category("MILX", "Terrorism and militants"),
    category("MISC", "Miscellaneous"),
    category("MMED", "Media sharing"),
    category("NEWS", "News media"),
    category("POLR", "Political criticism"),
    category("PORN", "Pornography"),
    category("PROV", "Provocative attire"),
    category("PUBH", "Public health"),
    category("REL", "Religion"),
    category("SRCH", "Search engines"),
    category("XED", "Sex education"),
];

/// Retired codes that lists still contain, and the code that replaced each. They are mapped, never dropped. The pairs
/// follow the changes that the lists themselves made. `MSG` is a code of clients for what the lists call COMT.
const RETIRED: [(&str, &str); 22] = [
    ("BLGSERV", "HOST"),
    ("CACH", "CTRL"),
    ("CLOUD", "HOST"),
    ("DEV", "ECON"),
    ("EMAIL", "COMT"),
    ("FEXP", "NEWS"),
    ("FREL", "GOVT"),
    ("GAYL", "LGBT"),
    ("HAL", "CULTR"),
    ("KWRD", "MISC"),
    ("MINF", "HUMR"),
    ("MINR", "HUMR"),
    ("MSG", "COMT"),
    ("P2P", "FILE"),
    ("POLT", "POLR"),
    ("SELFHARM", "PUBH"),
    ("SFTWR", "FILE"),
    ("TRNS", "COMT"),
    ("USMIL", "GOVT"),
    ("VOIP", "COMT"),
    ("WOMR", "HUMR"),
    ("WRZ", "FILE"),
];

/// Focus group "political speech" of the intent profile. Our judgement decides which codes belong to a focus group; it
/// is published with the methodology. Culture is left out, because most of it is not political.
pub const POLITICAL_SPEECH: [&str; 9] = ["POLR", "HUMR", "NEWS", "LGBT", "REL", "HATE", "MILX", "IGO", "GOVT"];

/// Focus group "regulated morality".
pub const REGULATED_MORALITY: [&str; 6] = ["PORN", "GMB", "ALDR", "DATE", "PROV", "XED"];

/// Focus group "circumvention tooling".
pub const CIRCUMVENTION_TOOLING: [&str; 4] = ["ANON", "HACK", "COMT", "FILE"];

/// Code of sites that must never be blocked. Failures on them give an estimate of the false-positive rate.
pub const CONTROL: &str = "CTRL";

/// The three focus groups of the intent profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    PoliticalSpeech,
    RegulatedMorality,
    CircumventionTooling,
}

impl Focus {
    /// The group of a current code; most codes have none.
    pub fn of(code: &str) -> Option<Focus> {
        match code {
            c if POLITICAL_SPEECH.contains(&c) => Some(Focus::PoliticalSpeech),
            c if REGULATED_MORALITY.contains(&c) => Some(Focus::RegulatedMorality),
            c if CIRCUMVENTION_TOOLING.contains(&c) => Some(Focus::CircumventionTooling),
            _ => None,
        }
    }
}

impl Category {
    /// The category of a code in use, upper case.
    pub fn by_code(code: &str) -> Option<&'static Category> {
        CATEGORIES.iter().find(|c| c.code == code)
    }
}

/// What codes of categories look like, current and retired ones, in any case.
pub const CODE_PATTERN: &str = "^[A-Za-z0-9]{3,8}$";

/// The current code for a current or retired code, in any case; `None` for a code that no list ever had.
pub fn current_code(code: &str) -> Option<&'static str> {
    let code = code.trim().to_ascii_uppercase();
    let retired = || RETIRED.iter().find(|(old, _)| *old == code).map(|(_, new)| *new);
    Category::by_code(&code).map(|c| c.code).or_else(retired)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_groups_are_disjoint() {
        assert!(CATEGORIES.is_sorted_by(|a, b| a.code < b.code));
        let groups = [&POLITICAL_SPEECH[..], &REGULATED_MORALITY, &CIRCUMVENTION_TOOLING].concat();
        for code in &groups {
            assert!(Category::by_code(code).is_some(), "{code}");
            assert_eq!(groups.iter().filter(|c| *c == code).count(), 1, "{code}");
            assert!(Focus::of(code).is_some());
        }
        assert_eq!(Focus::of("CULTR"), None);
        assert!(Category::by_code(CONTROL).is_some());
    }

    #[test]
    fn all_codes_fit_their_pattern() {
        let pattern = regex_lite::Regex::new(CODE_PATTERN).unwrap();
        for code in CATEGORIES.iter().map(|category| category.code).chain(RETIRED.map(|(old, _)| old)) {
            assert!(pattern.is_match(code), "{code}");
        }
    }

    #[test]
    fn retired_codes_are_mapped_to_codes_in_use_and_never_dropped() {
        for (old, new) in RETIRED {
            assert!(Category::by_code(old).is_none(), "{old} is in use");
            assert_eq!(current_code(old), Category::by_code(new).map(|c| c.code), "{old}");
        }
        assert_eq!(current_code("p2p"), Some("FILE"));
        assert_eq!(current_code(" FEXP"), Some("NEWS"));
        assert_eq!(current_code("DEV"), Some("ECON"));
        assert_eq!(current_code("NEWS"), Some("NEWS"));
        assert_eq!(current_code(""), None);
        assert_eq!(current_code("NOPE"), None);
    }

    #[test]
    fn every_code_of_the_published_test_lists_is_known() {
        let folder = engine::testing::real_data_folder().join("test-lists");
        let Ok(entries) = std::fs::read_dir(&folder) else {
            println!("skipped: {} is not here", folder.display());
            return;
        };
        let mut seen = 0;
        for path in entries.flatten().map(|e| e.path()) {
            if path.to_string_lossy().contains("LEGEND") {
                continue;
            }
            let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(&path).unwrap();
            let column = reader.headers().unwrap().iter().position(|h| h.contains("category_code")).unwrap();
            for row in reader.records().flatten() {
                let Some(code) = row.get(column).filter(|c| !c.is_empty()) else { continue };
                assert!(current_code(code).is_some(), "{}: {code}", path.display());
                seen += 1;
            }
        }
        assert!(seen > 40_000, "{seen}");
    }
}
