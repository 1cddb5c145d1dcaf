//! Splits a text into the words that the search compares.

/// Words that tell nothing about the topic of a text.
const STOP: &[&str] = &[
    "a", "about", "after", "all", "also", "an", "and", "are", "as", "at", "be", "been", "but", "by", "for", "from",
    "had", "has", "have", "in", "into", "is", "it", "its", "no", "not", "of", "on", "or", "other", "that", "the",
    "their", "they", "this", "to", "was", "were", "when", "which", "while", "who", "will", "with",
];

/// Words of one text that count, at most.
const MAX_WORDS: usize = 2_000;

/// The words of a text in order, in lower case, with two or more letters or digits, without grammatical endings.
pub fn tokens(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .filter(|word| word.chars().nth(1).is_some() && !STOP.contains(&word.as_str()))
        .take(MAX_WORDS)
        .map(|word| stem(&word))
        .collect()
}

/// Removes common English endings from words that stay long enough.
fn stem(word: &str) -> String {
    const ENDINGS: [(&str, &str); 8] =
        [("ies", "y"), ("sses", "ss"), ("ing", ""), ("edly", ""), ("ed", ""), ("ly", ""), ("es", ""), ("s", "")];
    if !word.is_ascii()
        || word.ends_with("ss")
        || word.ends_with("us")
        || word.bytes().any(|byte| byte.is_ascii_digit())
    {
        return word.to_owned();
    }
    let fitting = ENDINGS.iter().find_map(|(ending, instead)| {
        let root = word.strip_suffix(ending)?;
        (root.len() >= 4).then(|| format!("{root}{instead}"))
    });
    let root = fitting.unwrap_or_else(|| word.to_owned());
    // Also joins "blocked" and "block", "shutting" and "shut", "protested" and "proteste".
    match root.as_bytes() {
        [.., a, b] if a == b && !matches!(b, b'l' | b's' | b'e') => {
            root.get(..root.len() - 1).unwrap_or(&root).to_owned()
        }
        [.., b'e'] if root.len() > 4 => root.get(..root.len() - 1).unwrap_or(&root).to_owned(),
        _ => root,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one_word() {
        for forms in [
            &["blocked", "blocks", "blocking", "Block"][..],
            &["protests", "protested", "PROTEST"],
            &["election", "elections"],
            &["exams", "exam"],
            &["outage", "outages"],
        ] {
            let stems: Vec<_> = forms.iter().flat_map(|form| tokens(form)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
        }
        assert_eq!(tokens("The exam of 2023, in: AS33771!"), ["exam", "2023", "as33771"]);
        assert!(tokens(" ... a é ").is_empty());
        assert_eq!(tokens("Телеграм"), ["телеграм"]);
    }
}
