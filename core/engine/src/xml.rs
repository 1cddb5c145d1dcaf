//! Text within XML.

/// Escapes text for use between tags or in an attribute. Characters that XML cannot contain are left out.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{FFFE}' | '\u{FFFF}' => {}
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_open_a_tag_or_end_an_attribute() {
        assert_eq!(escaped("<a href=\"x\">'&\u{0}\u{B}\u{FFFF}"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
    }
}
