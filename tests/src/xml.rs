//! A strict reader of small XML documents: it accepts only well-formed XML 1.0, and keeps namespaces as written.

/// An element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    /// Character data of the element itself, with references resolved.
    pub text: String,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Children with that name.
    pub fn all(&self, name: &str) -> Vec<&Element> {
        self.children.iter().filter(|child| child.name == name).collect()
    }

    /// The only child with that name.
    ///
    /// # Panics
    /// When there is none, or more than one.
    #[track_caller]
    pub fn only(&self, name: &str) -> &Element {
        match self.all(name)[..] {
            [child] => child,
            ref found => panic!("<{}> has {} <{name}>", self.name, found.len()),
        }
    }
}

/// Reads a whole document.
///
/// # Panics
/// When it is not well-formed.
pub fn parse(text: &str) -> Element {
    for c in text.chars() {
        let allowed = matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
        assert!(allowed, "{c:?} cannot stand in XML");
    }
    let rest = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").expect("a declaration");
    let (root, rest) = element(rest.trim_start());
    assert!(rest.trim().is_empty(), "after the root: {rest:?}");
    root
}

fn element(text: &str) -> (Element, &str) {
    let text = text.strip_prefix('<').unwrap_or_else(|| panic!("no tag at {:?}", head(text)));
    let (name, mut rest) = name(text);
    let mut found = Element { name: name.to_owned(), ..Element::default() };
    loop {
        let spaced = rest.trim_start();
        if let Some(after) = spaced.strip_prefix("/>") {
            return (found, after);
        }
        if let Some(after) = spaced.strip_prefix('>') {
            return content(found, after);
        }
        assert!(spaced.len() < rest.len(), "no space before an attribute at {:?}", head(rest));
        let (key, after) = self::name(spaced);
        let after = after.strip_prefix("=\"").unwrap_or_else(|| panic!("attribute {key} of <{name}> has no value"));
        let (value, after) = after.split_once('"').expect("a closing quote");
        assert!(found.attribute(key).is_none(), "attribute {key} twice");
        assert!(!value.contains('<'), "`<` in attribute {key}");
        found.attributes.push((key.to_owned(), resolve(value)));
        rest = after;
    }
}

fn content(mut found: Element, mut rest: &str) -> (Element, &str) {
    loop {
        let (data, after) = rest.split_at(rest.find('<').unwrap_or_else(|| panic!("<{}> is open", found.name)));
        assert!(!data.contains("]]>"), "`]]>` in text");
        found.text.push_str(&resolve(data));
        if let Some(closing) = after.strip_prefix("</") {
            let (name, after) = name(closing);
            assert_eq!(name, found.name, "closing tag");
            return (found, after.trim_start().strip_prefix('>').expect("`>`"));
        }
        let (child, after) = element(after);
        found.children.push(child);
        rest = after;
    }
}

fn name(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-' | '.')));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    assert!(name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'), "no name at {:?}", head(text));
    (name, rest)
}

fn resolve(text: &str) -> String {
    let mut found = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        found.push_str(before);
        let (entity, after) = after.split_once(';').unwrap_or_else(|| panic!("a bare `&` before {:?}", head(after)));
        found.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            number => {
                number.strip_prefix('#').and_then(|n| n.parse().ok()).and_then(char::from_u32).expect("an entity")
            }
        });
        rest = after;
    }
    found + rest
}

fn head(text: &str) -> String {
    text.chars().take(40).collect()
}
