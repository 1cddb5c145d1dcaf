//! Reads countries, targets and times. A country may be in lower case; a text that is not two letters is 400. Two
//! letters that are no country code are 404, but a question about a site in such a country is answered with unknown.

use crate::{Error, Result, Timestamp, reference};
use engine::http::{Cx, known_time};
use facts::starter::Country;
use facts::subject::Subject;

/// A country in a body or query. `Err` holds the upper-case letters of a code that no country has.
pub fn country(text: &str) -> Result<Result<&'static Country, String>> {
    let text = text.trim();
    if text.len() != 2 || !text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Err(Error::bad_request("`country` must be two letters, an ISO 3166-1 alpha-2 code."));
    }
    Ok(Country::by_code(text).ok_or_else(|| text.to_ascii_uppercase()))
}

/// A country that must exist: 404 if the code is not assigned.
pub fn known(text: &str) -> Result<&'static Country> {
    country(text)?.map_err(|code| Error::not_found(format!("{code} is not an ISO 3166-1 country code.")))
}

/// A country in a path.
pub fn path_country(cx: &Cx, name: &str) -> Result<&'static Country> {
    known(cx.path(name)?)
}

/// A country in the query, if there is one.
pub fn query_country(cx: &Cx, name: &str) -> Result<Option<&'static Country>> {
    cx.query(name)?.map(|text| known(&text)).transpose()
}

/// A required text member.
pub fn required<'a>(name: &str, value: &'a Option<String>) -> Result<&'a str> {
    match value.as_deref().map(str::trim) {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(Error::bad_request(format!("`{name}` is required."))),
    }
}

/// The time that a question in a body is about.
pub fn as_of(cx: &Cx, value: Option<&str>) -> Result<Option<Timestamp>> {
    let time = value
        .map(|text| {
            Timestamp::parse_moment(text, cx.now())
                .ok_or_else(|| Error::bad_request("`as_of` must be an ISO 8601 time."))
        })
        .transpose()?;
    known_time("as_of", time)
}

/// A target of a batch, with the different words in which it was asked for.
pub type NamedSubject = (Vec<String>, Subject);

/// The targets of a batch, each once. At most 50 may be asked for.
pub async fn subjects(cx: &Cx, texts: &[String], field: &str) -> Result<Vec<NamedSubject>> {
    if texts.is_empty() {
        return Err(Error::bad_request(format!("`{field}` must have at least one entry.")));
    }
    if texts.len() > crate::country::MAX_SUBJECTS {
        return Err(Error::bad_request(format!("`{field}` takes at most {} entries.", crate::country::MAX_SUBJECTS)));
    }
    let mut subjects: Vec<NamedSubject> = Vec::with_capacity(texts.len());
    for text in texts {
        let subject = reference::subject(&*cx.rt, text).await?;
        let name = text.trim().to_owned();
        match subjects.iter_mut().find(|(_, known)| *known == subject) {
            Some((names, _)) if names.contains(&name) => {}
            Some((names, _)) => names.push(name),
            None => subjects.push((vec![name], subject)),
        }
    }
    Ok(subjects)
}
