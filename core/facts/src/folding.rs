//! Folding text for searches: without case, without accents, word by word.

/// Letters with marks, and what stands for them. Letters that are not here stand for themselves.
const LETTERS: &[(&str, &str)] = &[
    ("àáâãäåāăąǎạảấầẩẫậắằẳẵặ", "a"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęěẹẻẽếềểễệə", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįıỉị", "i"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņňŋ", "n"),
    ("òóôõöøōŏőọỏốồổỗộơớờởỡợ", "o"),
    ("ŕŗř", "r"),
    ("śŝşšș", "s"),
    ("ţťŧț", "t"),
    ("ùúûüũūŭůűųụủưứừửữự", "u"),
    ("ŵ", "w"),
    ("ýÿŷỳỵỷỹ", "y"),
    ("źżž", "z"),
    ("ß", "ss"),
    ("æ", "ae"),
    ("œ", "oe"),
    ("þ", "th"),
    ("ά", "α"),
    ("έ", "ε"),
    ("ή", "η"),
    ("ίϊΐ", "ι"),
    ("ό", "ο"),
    ("ύϋΰ", "υ"),
    ("ώ", "ω"),
    ("ς", "σ"),
    ("ё", "е"),
    ("أإآٱ", "ا"),
    ("ىيئ", "ی"),
    ("ك", "ک"),
    ("ؤ", "و"),
    ("ةۀ", "ه"),
];

/// Marks that are written after a letter or over it, and say nothing alone: accents, Arabic vowels, the tatweel, Hebrew
/// points, and the joiners.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{200c}' | '\u{200d}')
}

/// A text in lower case, without accents and other marks.
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars().flat_map(char::to_lowercase) {
        if letter.is_ascii() {
            out.push(letter);
        } else if !is_mark(letter) {
            match LETTERS.iter().find(|(letters, _)| letters.contains(letter)) {
                Some((_, plain)) => out.push_str(plain),
                None => out.push(letter),
            }
        }
    }
    out
}

/// The words of a text: its letters and digits without all that stands between, each folded.
pub fn words(text: &str) -> Vec<String> {
    let folded = fold(text);
    let words = folded.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_accents_make_no_difference() {
        for (one, other) in [
            ("Élections à São Tomé", "elections a sao tome"),
            ("TÜRKİYE", "turkiye"),
            ("Côte d’Ivoire", "cote d’ivoire"),
            // Composed and decomposed.
            ("Caf\u{e9}", "cafe\u{301}"),
            ("Straße", "STRASSE"),
            ("Việt Nam", "viet nam"),
            ("Ёлка", "елка"),
            ("Αθήνα", "ΑΘΗΝΑ"),
            ("تلگرام", "تلگـرام"),
            ("إيران", "ایران"),
        ] {
            assert_eq!(fold(one), fold(other), "{one} {other}");
        }
        assert_ne!(fold("Иран"), fold("Ирак"));
    }

    #[test]
    fn words_are_what_stands_between_other_signs() {
        assert_eq!(words("Telegram: blocked (AS33771), t.me!"), ["telegram", "blocked", "as33771", "t", "me"]);
        assert_eq!(words(" … –"), [""; 0]);
    }

    /// A folded text is its own folded text, so what is stored folded may be folded again.
    #[test]
    fn folding_twice_changes_nothing() {
        for (letters, plain) in LETTERS {
            assert_eq!(fold(plain), *plain);
            for letter in letters.chars() {
                assert_eq!(fold(&letter.to_string()), *plain, "{letter}");
            }
        }
    }
}
