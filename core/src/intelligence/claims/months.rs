//! Months by name, as they are written and miswritten.

const NAMES: [(&str, i64); 24] = [
    ("january", 1),
    ("jan", 1),
    ("february", 2),
    ("feb", 2),
    ("march", 3),
    ("mar", 3),
    ("april", 4),
    ("apr", 4),
    ("may", 5),
    ("june", 6),
    ("jun", 6),
    ("july", 7),
    ("jul", 7),
    ("august", 8),
    ("aug", 8),
    ("september", 9),
    ("sep", 9),
    ("sept", 9),
    ("october", 10),
    ("oct", 10),
    ("november", 11),
    ("nov", 11),
    ("december", 12),
    ("dec", 12),
];
/// Letters of the shortest name that may be miswritten.
const LONG: usize = 5;
/// Words that are one letter from a month and mean something else.
const OTHERS: [&str; 4] = ["match", "marsh", "marche", "larch"];

/// A month by its name or short form, in lower case.
pub fn named(name: &str) -> Option<i64> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, month)| *month)
}

/// A month whose long name differs from a word by one letter, or by two that changed places: "janury", "septembre".
pub fn misspelt(word: &str) -> Option<i64> {
    let near = |name: &str| name.len() >= LONG && is_one_slip(word.as_bytes(), name.as_bytes());
    let plain = word.is_ascii() && !OTHERS.contains(&word);
    NAMES.iter().find(|(name, _)| plain && near(name)).map(|(_, month)| *month)
}

/// Whether one letter was left out, added or changed, or two that stand side by side changed places.
fn is_one_slip(a: &[u8], b: &[u8]) -> bool {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(same..).unwrap_or_default(), b.get(same..).unwrap_or_default());
    let rest = |of: &[u8], from: usize| of.get(from..).unwrap_or_default().to_vec();
    match (a, b) {
        ([first, second, ..], [other, next, ..]) if first == next && second == other && rest(a, 2) == rest(b, 2) => {
            true
        }
        ([], []) => false,
        _ => rest(a, 1) == rest(b, 1) || rest(a, 1) == b || a == rest(b, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_is_known_with_one_slip_of_the_pen() {
        for (word, month) in [
            ("janury", 1),
            ("janaury", 1),
            ("feburary", 2),
            ("febuary", 2),
            ("marhc", 3),
            ("agust", 8),
            ("septembre", 9),
            ("oktober", 10),
            ("novmber", 11),
            ("decembber", 12),
        ] {
            assert_eq!(misspelt(word), Some(month), "{word}");
        }
        for word in ["january", "match", "member", "jun", "mai", "octopus", "augury", "aprés"] {
            assert_eq!(misspelt(word), None, "{word}");
        }
    }
}
