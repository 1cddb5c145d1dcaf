//! Decides when two names count as the same, and which characters a name may have. The reasons are in
//! `docs/decisions/names.md`.

use icu_casemap::CaseMapper;
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, JoiningType};
use icu_properties::{CodePointMapData, CodePointSetData};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;
use unicode_security::skeleton;

use crate::{Error, Result};

/// Most characters that a name may have once compatibility characters are taken apart: one of them can stand for a
/// whole sentence.
const MAX_UNFOLDED: usize = 512;
/// The canonical combining class of the signs that remove the vowel from a letter.
const VIRAMA: u8 = 9;
const ZWNJ: char = '\u{200C}';
const ZWJ: char = '\u{200D}';
/// A blank that Unicode classes as a symbol.
const BRAILLE_BLANK: char = '\u{2800}';

/// The form in which two names are compared. Compatibility forms (NFKC), case (full folding), invisible characters, and
/// the amount of white space between words make no difference. The key of a key is itself.
pub fn key(name: &str) -> String {
    let mapper = CaseMapper::new();
    let fold = |text: &str| mapper.fold_string(text).into_owned();
    let seen = name.chars().filter(|c| !is_invisible(*c)).map(|c| if c == BRAILLE_BLANK { ' ' } else { c });
    // Folding can make taking apart necessary again, and the other way round, once each (Unicode, D146).
    let once = fold(&seen.nfkd().collect::<String>());
    let twice = fold(&once.nfkd().collect::<String>()).nfkc().collect::<String>();
    let words: Vec<&str> = twice.split_whitespace().collect();
    words.join(" ")
}

/// Whether a name may be mistaken for a reserved one: it is the same, or it looks the same (the skeleton of UTS 39), as
/// written or in small letters. It is also compared with the reserved name in capitals.
pub fn looks_like(name: &str, reserved: &str) -> bool {
    let look = |text: &str| key(&skeleton(text).collect::<String>());
    let looks = |text: &str| [look(text), look(&key(text))];
    let known = looks(reserved).into_iter().chain([look(&reserved.to_uppercase())]);
    let given = looks(name);
    key(name) == key(reserved) || known.into_iter().any(|known| given.contains(&known))
}

/// Refuses invisible characters in a name: control characters, characters that turn the direction of text, and others
/// without width. Joiners are allowed where they join or separate letters of scripts that need them (RFC 5892, A.1 and
/// A.2). `field` is the member in which the caller gave the name.
pub fn check(field: &str, name: &str) -> Result<()> {
    let chars: Vec<char> = name.chars().collect();
    let bad = chars.iter().enumerate().any(|(at, c)| match *c {
        ZWNJ | ZWJ => !joins(&chars, at),
        c => is_invisible(c) || is_control(c),
    });
    if bad {
        return Err(Error::bad_request(format!(
            "`{field}` must not contain control characters, nor characters that turn the direction of text or cannot be seen."
        )));
    }
    if name.nfkd().count() > MAX_UNFOLDED {
        return Err(Error::bad_request(format!("`{field}` has too many characters that stand for several others.")));
    }
    Ok(())
}

fn is_control(c: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    matches!(category, GeneralCategory::Control | GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator)
}

/// Whether a character has no width, or only gives instructions about other characters. Signs that come before a number
/// and enclose it are visible.
fn is_invisible(c: char) -> bool {
    let seen = matches!(c, '\u{600}'..='\u{605}' | '\u{6DD}' | '\u{70F}' | '\u{890}'..='\u{891}' | '\u{8E2}'
        | '\u{110BD}' | '\u{110CD}');
    let format = || CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::Format;
    CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c) || (!seen && format())
}

/// Whether the joiner at this place changes how letters are written.
fn joins(chars: &[char], at: usize) -> bool {
    let (before, after) = (chars.get(..at).unwrap_or_default(), chars.get(at + 1..).unwrap_or_default());
    let follows_virama = before.last().is_some_and(|c| canonical_combining_class(*c) == VIRAMA);
    if follows_virama && after.first().is_some_and(|c| c.is_alphabetic()) {
        return true;
    }
    let kind = |c: &char| CodePointMapData::<JoiningType>::new().get(*c);
    let opaque = |c: &&char| kind(c) != JoiningType::Transparent;
    let joins_next = before.iter().rev().find(opaque).map(kind);
    let joins_last = after.iter().find(opaque).map(kind);
    chars.get(at) == Some(&ZWNJ)
        && matches!(joins_next, Some(JoiningType::LeftJoining | JoiningType::DualJoining))
        && matches!(joins_last, Some(JoiningType::RightJoining | JoiningType::DualJoining))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn same(one: &str, other: &str) -> bool {
        key(one) == key(other)
    }

    #[test]
    fn names_that_only_look_different_to_a_machine_are_one() {
        for (one, other) in [
            ("Ada", "ADA"),
            ("Ada", "\u{FF21}\u{FF44}\u{FF41}"),
            ("Caf\u{E9}", "Cafe\u{301}"),
            ("Stra\u{DF}e", "STRASSE"),
            ("\u{1E9E}", "ss"),
            ("\u{3A3}\u{3AF}\u{3C3}\u{3C5}\u{3C6}\u{3BF}\u{3C2}", "\u{3C3}\u{3AF}\u{3C3}\u{3C5}\u{3C6}\u{3BF}\u{3C3}"),
            ("\u{FB01}ne", "fine"),
            ("\u{2460}", "1"),
            ("Ada\u{200B}", "Ada"),
            ("A\u{AD}da", "Ada"),
            ("Ada\u{202E}", "ada"),
            ("Ada\u{E0061}", "ada"),
            ("Ada\u{FE0F}", "ada"),
            ("Ada  Lovelace ", "ada lovelace"),
            ("Ada\u{A0}Lovelace", "ada\u{3000}lovelace"),
            ("a\u{2800}b", "a b"),
            ("\u{915}\u{94D}\u{200D}\u{937}", "\u{915}\u{94D}\u{937}"),
        ] {
            assert!(same(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn names_that_differ_to_the_eye_stay_two() {
        // Names that look alike across scripts are compared only with reserved names, since whole scripts share
        // letters.
        for (one, other) in
            [("Ada", "Adb"), ("ab", "a b"), ("a", "\u{E4}"), ("ada", "\u{430}da"), ("i", "\u{131}"), ("o", "0")]
        {
            assert!(!same(one, other), "{one:?} {other:?}");
        }
        // The form in which usernames are stored: see `agent::username`.
        assert_eq!(key("\u{1}ada_1"), "\u{1}ada_1");
    }

    #[test]
    fn what_cannot_be_seen_is_refused_and_named() {
        for bad in [
            "a\u{0}",
            "a\tb",
            "a\nb",
            "a\u{7F}",
            "a\u{85}",
            "a\u{AD}b",
            "a\u{34F}b",
            "a\u{61C}b",
            "a\u{180E}",
            "a\u{200B}b",
            "a\u{200E}",
            "a\u{202A}b",
            "a\u{202E}b",
            "a\u{2060}b",
            "a\u{2066}b",
            "a\u{2069}",
            "\u{FEFF}a",
            "a\u{2028}b",
            "a\u{2029}",
            "\u{115F}",
            "\u{3164}",
            "\u{FFA0}",
            "a\u{FE0F}",
            "a\u{FFF9}",
            "a\u{E0001}",
            "a\u{E0101}",
            "\u{13430}",
            "\u{1D173}",
        ] {
            let error = check("name", bad).unwrap_err();
            assert_eq!(error.code, crate::ErrorCode::BadRequest);
            assert!(error.message.starts_with("`name`"), "{bad:?}");
        }
        for good in ["Ada", "\u{1F916}", "\u{600}12", "\u{5E9}\u{5DC}\u{5D5}\u{5DD}", "a\u{301}\u{323}", "1/2 \u{BD}"] {
            check("name", good).unwrap_or_else(|_| panic!("{good:?}"));
        }
        // One character can stand for eighteen.
        assert!(check("name", &"\u{FDFA}".repeat(28)).is_ok());
        assert!(check("name", &"\u{FDFA}".repeat(29)).is_err());
    }

    /// RFC 5892, appendix A.1 and A.2.
    #[test]
    fn joiners_stay_where_letters_need_them_and_nowhere_else() {
        for good in [
            // Persian: two words that are written as one.
            "\u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645}",
            "\u{646}\u{627}\u{645}\u{647}\u{650}\u{200C}\u{627}\u{6CC}",
            // Devanagari and Sinhala, after the sign that removes the vowel.
            "\u{915}\u{94D}\u{200D}\u{937}",
            "\u{915}\u{94D}\u{200C}\u{937}",
            "\u{DC1}\u{DCA}\u{200D}\u{DBB}\u{DD3}",
        ] {
            assert!(check("name", good).is_ok(), "{good:?}");
        }
        for bad in [
            "a\u{200C}b",
            "a\u{200D}b",
            "\u{200C}",
            "\u{200D}a",
            "\u{645}\u{200C}",
            "\u{200C}\u{645}",
            "\u{645}\u{200D}\u{645}",
            "\u{627}\u{200C}\u{645}",
            "\u{645}\u{200C}\u{200C}\u{645}",
            "\u{915}\u{94D}\u{200D}",
            "\u{915}\u{200D}\u{937}",
            "\u{1F469}\u{200D}\u{1F4BB}",
        ] {
            assert!(check("name", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_reserved_name_is_reserved_in_every_look() {
        let reserved = "svc services";
        for fake in [
            "svc services",
            "SVC Services",
            " svc  services ",
            "\u{455}vc services",
            "svc s\u{435}rvic\u{435}s",
            "\u{FF53}vc services",
            "SVC SERVlCES",
            "svc serv\u{456}ces",
            "\u{405}VC SERVICES",
            "s\u{2C7D}c services",
            "svc\u{2800}services",
            "s\u{475}c services",
            "svc\u{200B} services",
            "SVC SERV|CES",
        ] {
            assert!(looks_like(fake, reserved), "{fake:?}");
        }
        for other in ["svc", "services", "svc service", "my svc services", "Ada", "svc_services"] {
            assert!(!looks_like(other, reserved), "{other:?}");
        }
        assert!(looks_like("HeIi0graph", "heliograph") && looks_like("He1iograph", "heliograph"));
        assert!(looks_like("HELI0GRAPH", "heliograph") && looks_like("\u{397}eliograph", "heliograph"));
    }

    proptest! {
        #[test]
        fn the_key_of_a_key_is_itself(name in "\\PC{0,24}", odd in proptest::collection::vec(any::<char>(), 0..12)) {
            for text in [name, odd.into_iter().collect()] {
                let once = key(&text);
                prop_assert_eq!(key(&once), once);
            }
        }

        #[test]
        fn upper_and_lower_case_are_one_name(name in "\\PC{0,24}") {
            prop_assert_eq!(key(&name.to_lowercase().to_uppercase()), key(&name.to_lowercase().to_uppercase().to_lowercase()));
        }
    }
}
