//! A form for an API key.

use askama::Template;
use engine::http::{Cx, Request, Response};
use engine::{Error, Result};
use facts::sentence::Language;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use percent_encoding::percent_decode_str;
use serde_json::json;

use crate::answer::{self, Answer};
use crate::page::{self, Frame, Page};
use crate::words::Words;

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    frame: Frame,
    w: Words,
    /// The new key; empty before.
    key: String,
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let frame = Frame::new(cx, w, "/api-key", w.t("key.title"));
    Page::of(&KeyPage { frame, w, key: String::new() })
}

/// What the form sends: the new key is shown on the page that answers, and nowhere else.
pub async fn form(cx: Cx, language: Language) -> Result<Response> {
    let response = page::answer(cx, language, |cx, w| Box::pin(made(cx, w))).await?;
    Ok(response.with(CACHE_CONTROL, "no-store"))
}

async fn made(cx: &Cx, w: Words) -> Result<Page> {
    let body = String::from_utf8_lossy(&cx.request.body).into_owned();
    let email = field(&body, "email").unwrap_or_default();
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let body = json!({ "email": email }).to_string().into();
    let (method, path) = (Method::POST, "/api-keys/signup".to_owned());
    let response = cx.pass_on(Request { method, path, headers, body, ..Request::default() }).await;
    let body = answer::body("/api-keys/signup", response)?;
    let said = Answer::whole(serde_json::from_slice(&body).map_err(Error::internal)?);
    let frame = Frame::new(cx, w, "/api-key", w.t("key.title")).unlisted(true);
    Page::of(&KeyPage { frame, w, key: said.text("api_key").to_owned() })
}

/// A field of a form (`application/x-www-form-urlencoded`).
fn field(body: &str, name: &str) -> Option<String> {
    let value = body.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    Some(percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_a_form_is_read_as_browsers_write_it() {
        assert_eq!(field("x=1&email=ada%2Bnews%40example.org", "email").as_deref(), Some("ada+news@example.org"));
        assert_eq!(field("email=+a+b", "email").as_deref(), Some("a b"));
        assert_eq!(field("emails=a", "email"), None);
    }
}
