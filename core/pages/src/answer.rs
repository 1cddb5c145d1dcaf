//! What the program's own routes answer, read by name.

use std::borrow::Cow;

use bytes::Bytes;
use engine::http::{Body, Cx, Response};
use engine::{Error, ErrorCode, Result};
use facts::sentence::{Language, Sentence};
use serde_json::Value;

/// JSON of an answer, or a part of it, which is borrowed.
#[derive(Debug, Clone, Default)]
pub struct Answer<'a>(pub Cow<'a, Value>);

/// Asks one of the program's routes, on behalf of nobody and out of no budget: the page itself drew on one.
pub async fn ask(cx: &Cx, path: &str, query: &str) -> Result<Answer<'static>> {
    let body = text(cx, path, query).await?;
    serde_json::from_slice(&body).map(Answer::whole).map_err(Error::internal)
}

/// As [`ask`], but what there is not is empty.
pub async fn ask_if_any(cx: &Cx, path: &str, query: &str) -> Result<Answer<'static>> {
    match ask(cx, path, query).await {
        Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::BadRequest | ErrorCode::TooBroad) => {
            Ok(Answer::default())
        }
        answer => answer,
    }
}

/// The body that a route answers.
pub async fn text(cx: &Cx, path: &str, query: &str) -> Result<Bytes> {
    body(path, Cx::ask_ourselves(cx.rt.clone(), path, query).await?)
}

/// The body of an answer; what it refuses is an error with the same code and words.
pub fn body(path: &str, response: Response) -> Result<Bytes> {
    let Body::Bytes(body) = response.body else {
        return Err(Error::internal(format!("{path} is a stream")));
    };
    if response.status.is_success() {
        return Ok(body);
    }
    Err(refusal(&body).unwrap_or_else(|| Error::internal(format!("{path} is refused without a code"))))
}

/// The error that a body of the interface says.
pub fn refusal(body: &[u8]) -> Option<Error> {
    let said = Answer::whole(serde_json::from_slice(body).ok()?);
    let code = ErrorCode::ALL.iter().copied().find(|code| code.as_str() == said.text("error"))?;
    Some(Error::new(code, said.text("message").to_owned()))
}

/// An address of data, if it is one that a browser may follow.
pub fn web_address(text: &str) -> String {
    let is_web = ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
    if is_web { text.to_owned() } else { String::new() }
}

/// A text for visitors: without sentences that name a command of the program, which are for operators, and without the
/// signs of code.
pub fn for_visitors(text: &str) -> String {
    let said = text.split_inclusive(". ").filter(|sentence| !sentence.contains("`heliograph "));
    said.collect::<String>().trim().replace('`', "")
}

impl Answer<'static> {
    pub fn whole(value: Value) -> Self {
        Answer(Cow::Owned(value))
    }
}

impl Answer<'_> {
    fn at(&self, pointer: &str) -> Option<&Value> {
        if pointer.starts_with('/') { self.0.pointer(pointer) } else { self.0.get(pointer) }
    }

    /// A member by its name or JSON Pointer; empty if it is no text.
    pub fn text(&self, pointer: &str) -> &str {
        self.at(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn number(&self, pointer: &str) -> Option<f64> {
        self.at(pointer)?.as_f64()
    }

    /// A decimal logarithm with its sign.
    pub fn weight(&self, pointer: &str) -> String {
        format!("{:+.2}", self.number(pointer).unwrap_or_default())
    }

    pub fn count(&self, pointer: &str) -> u64 {
        self.at(pointer).and_then(Value::as_u64).unwrap_or_default()
    }

    pub fn is(&self, pointer: &str) -> bool {
        self.at(pointer).and_then(Value::as_bool).unwrap_or_default()
    }

    pub fn has(&self, pointer: &str) -> bool {
        self.at(pointer).is_some_and(|value| !value.is_null())
    }

    pub fn part(&self, pointer: &str) -> Answer<'_> {
        self.at(pointer).map(|value| Answer(Cow::Borrowed(value))).unwrap_or_default()
    }

    fn values(&self, pointer: &str) -> &[Value] {
        self.at(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The parts of a list.
    pub fn list(&self, pointer: &str) -> Vec<Answer<'_>> {
        self.values(pointer).iter().map(|value| Answer(Cow::Borrowed(value))).collect()
    }

    /// The interval of a score, such as `12–34`; empty without a score.
    pub fn interval(&self) -> String {
        match self.values("confidenceInterval") {
            [low, high] => format!("{low}–{high}"),
            _ => String::new(),
        }
    }

    /// The texts of a list.
    pub fn texts(&self, pointer: &str) -> Vec<String> {
        self.values(pointer).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The text of a member in a language: its sentences if they have codes, else as somebody wrote it.
    pub fn said(&self, language: Language, member: &str) -> String {
        let pointer = format!("/{member}");
        let sentences = self.list("sentences");
        let coded = sentences.iter().filter(|sentence| sentence.text("text") == pointer);
        let said: Option<Vec<String>> =
            coded.map(|sentence| Some(Sentence::from_json(&sentence.0)?.text_in(language))).collect();
        match said {
            Some(said) if !said.is_empty() => said.join(" "),
            _ => language.apart(self.text(&pointer)),
        }
    }

    /// The texts of a list in a language.
    pub fn all_said(&self, language: Language, member: &str) -> Vec<String> {
        (0..self.values(member).len()).map(|at| self.said(language, &format!("{member}/{at}"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn visitors_are_told_no_commands() {
        let text = "Nothing is measured. Newer ones are imported: `heliograph import x`. Ask with `as_of`.";
        assert_eq!(for_visitors(text), "Nothing is measured. Ask with as_of.");
        assert_eq!(for_visitors("All is well."), "All is well.");
    }

    #[test]
    fn a_text_with_a_code_is_said_in_the_language_and_another_as_it_was_written() {
        let answer = Answer::whole(json!({
            "summary": "x.org has not been measured in Kenya.", "title": "Written by an operator",
            "sentences": [{ "text": "/summary", "code": "check.unmeasured",
                "parameters": { "country": "KE", "list": null, "subject": "x.org" } }],
        }));
        assert!(
            answer.said(Language::French, "summary").contains("Kenya"),
            "{}",
            answer.said(Language::French, "summary")
        );
        assert_ne!(answer.said(Language::French, "summary"), answer.said(Language::English, "summary"));
        assert_eq!(answer.said(Language::French, "title"), "Written by an operator");
        assert_eq!(answer.said(Language::Arabic, "title"), "\u{2068}Written by an operator\u{2069}");
    }
}
