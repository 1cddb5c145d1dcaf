//! What every page has: a language, a frame, headers, and a form for errors.

use askama::Template;
use engine::documents;
use engine::http::{Body, Cx, Response};
use engine::runtime::BoxFuture;
use engine::{Error, ErrorCode, Result};
use facts::sentence::Language;
use facts::sentence::language::{END_OF_ISOLATE, ISOLATE};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY};

use crate::answer::refusal;
use crate::country::known;
use crate::front::countries;
use crate::near;
use crate::range::{Moment, Then};
use crate::refused::Refusal;
use crate::style;
use crate::words::Words;

/// Nothing comes from elsewhere, nothing is inline, and no page is shown inside of another.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// Seconds for which any cache may keep a page.
const FRESH: u32 = 60;

/// How a page is made.
pub type Make = for<'a> fn(&'a Cx, Words) -> BoxFuture<'a, Result<Page>>;

/// A page, made.
pub struct Page {
    html: String,
    /// Computed for this question: not to be kept, nor to be listed.
    computed: bool,
}

impl Page {
    pub fn of(template: &impl Template) -> Result<Page> {
        Ok(Page { html: isolated(&template.render().map_err(Error::internal)?), computed: false })
    }

    /// A page about a moment or a range, which is made for each question.
    pub fn computed(self, computed: bool) -> Page {
        Page { computed, ..self }
    }
}

/// Elements that hold plain text alone.
const PLAIN: [&str; 2] = ["title", "option"];

/// A page with elements for the signs around names that keep their own direction, so that whoever copies a name copies
/// nothing else. Attributes and [`PLAIN`] elements can hold no elements: there the signs stay.
fn isolated(html: &str) -> String {
    if !html.contains(ISOLATE) {
        return html.to_owned();
    }
    let mut out = String::with_capacity(html.len() + html.len() / 8);
    // The text before the first tag, then each tag with the text behind it.
    for (at, piece) in html.split('<').enumerate() {
        let (tag, text) = if at == 0 { ("", piece) } else { piece.split_once('>').unwrap_or((piece, "")) };
        if at > 0 {
            out.extend(["<", tag, ">"]);
        }
        if PLAIN.iter().any(|plain| tag.split(' ').next() == Some(plain)) {
            out.push_str(text);
        } else {
            out.push_str(&text.replace(ISOLATE, "<bdi>").replace(END_OF_ISOLATE, "</bdi>"));
        }
    }
    out
}

/// What stands around a page.
pub struct Frame {
    pub w: Words,
    pub title: String,
    pub description: String,
    /// The address without language, with its query.
    pub path: String,
    /// The server's own address; empty for errors, which have no address to name.
    pub base: String,
    pub style: &'static str,
    /// Whether search engines may list it.
    pub listed: bool,
    /// Whether it is in every language; else in English alone.
    pub translated: bool,
    /// A feed about the same: title and address.
    pub feed: Option<(String, String)>,
}

impl Frame {
    pub fn new(cx: &Cx, w: Words, path: impl Into<String>, title: impl Into<String>) -> Frame {
        Frame::at(cx.settings().base_url(), w, path.into(), title.into())
    }

    fn at(base: String, w: Words, path: String, title: String) -> Frame {
        Frame {
            w,
            description: w.t("frame.description").to_owned(),
            path,
            base,
            style: style::address(),
            listed: true,
            translated: true,
            feed: None,
            title,
        }
    }

    #[must_use]
    pub fn about(self, description: impl Into<String>) -> Frame {
        Frame { description: description.into(), ..self }
    }

    #[must_use]
    pub fn unlisted(self, unlisted: bool) -> Frame {
        Frame { listed: !unlisted, ..self }
    }

    #[must_use]
    pub fn feed(self, title: String, address: String) -> Frame {
        Frame { feed: Some((title, address)), ..self }
    }

    /// A page in English alone.
    #[must_use]
    pub fn english_only(self) -> Frame {
        Frame { translated: false, ..self }
    }

    /// The same page in each language: language, address, whether it is this one.
    pub fn languages(&self) -> Vec<(Language, String, bool)> {
        let all = if self.translated { &Language::ALL[..] } else { &Language::ALL[..1] };
        all.iter().map(|of| (*of, Words(*of).to(&self.path), *of == self.w.0)).collect()
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    frame: Frame,
    w: Words,
    status: u16,
    refusal: Refusal,
    /// Countries to choose from, where another question helps.
    countries: Vec<(String, String)>,
    /// What the form begins with.
    asked: String,
    code: &'static str,
    /// The name that may have been meant, and the address of its page.
    meant: Option<(&'static str, String)>,
    then: Then,
}

/// Runs the maker of a page. [`dress`] shows what it refuses.
pub async fn answer(cx: Cx, language: Language, make: Make) -> Result<Response> {
    let w = Words(language);
    let page = match make(&cx, w).await {
        Err(error) if !Refusal::of(&error, w).site.is_empty() => {
            // Who mistyped a site asked about a country and a moment all the same.
            let country = cx.path("country").ok().and_then(|code| known(code).ok()).unwrap_or_default();
            let then = Then::new(Moment::of(&cx)?.as_ref(), w);
            let page = error_page(w, &error, country, then)?;
            return Ok(html(error.code.status(), language, page).with(CACHE_CONTROL, "no-store"));
        }
        made => made?,
    };
    let computed = page.computed;
    let response = html(StatusCode::OK, language, page);
    if computed {
        return Ok(response.with(CACHE_CONTROL, "no-store"));
    }
    let Body::Bytes(body) = &response.body else { return Ok(response) };
    let etag = documents::etag(body);
    Ok(cx.revalidated(response, &etag, FRESH))
}

/// An address beside those of pages: one with a slash at the end leads to the same without; any other is no page.
pub async fn beside(cx: Cx, _: Language) -> Result<Response> {
    let Some(path) = cx.request.path.strip_suffix('/') else {
        return Err(Error::not_found("No page has this address."));
    };
    // One slash at the beginning: two would name another server.
    let path = format!("/{}", path.trim_matches('/'));
    let query = &cx.request.query;
    let to = if query.is_empty() { path } else { format!("{path}?{query}") };
    Ok(Response::new(StatusCode::PERMANENT_REDIRECT, "text/plain; charset=utf-8", "").with(LOCATION, &to))
}

/// Shows errors as pages, also those of what is refused before a page is made, such as too many requests.
pub fn dress(response: &mut Response, language: Language) {
    if response.status.is_success() || response.headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/json")
    {
        return;
    }
    let Body::Bytes(body) = &response.body else { return };
    let Some(error) = refusal(body) else { return };
    if let Ok(page) = error_page(Words(language), &error, "", Then::default()) {
        let page = html(response.status, language, page).with(CACHE_CONTROL, "no-store");
        response.headers.extend(page.headers);
        response.body = page.body;
    }
}

fn html(status: StatusCode, language: Language, page: Page) -> Response {
    let response = Response::new(status, "text/html; charset=utf-8", page.html.into_bytes());
    let response = response.with(CONTENT_SECURITY_POLICY, POLICY).with(REFERRER_POLICY, "no-referrer");
    response.with(CONTENT_LANGUAGE, language.tag())
}

/// `country` is the code of the one that was asked about, if any, and `then` the moment.
fn error_page(w: Words, error: &Error, country: &'static str, then: Then) -> Result<Page> {
    let title = match error.code {
        ErrorCode::NotFound | ErrorCode::NoRoute => "error.not_found",
        ErrorCode::RateLimited | ErrorCode::Busy | ErrorCode::Unavailable => "error.busy",
        code if code.status().is_client_error() => "error.bad_request",
        _ => "error.internal",
    };
    let frame = Frame::at(String::new(), w, "/".to_owned(), w.t(title).to_owned()).unlisted(true);
    let status = error.code.status();
    let countries = match status {
        StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST => countries(w),
        _ => Vec::new(),
    };
    let refusal = Refusal::of(error, w);
    Page::of(&ErrorPage {
        frame,
        w,
        status: status.as_u16(),
        asked: refusal.site.clone(),
        code: country,
        meant: near::lead(&refusal.site, country, &then, w),
        refusal,
        countries,
        then,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_text_have_elements_and_those_in_attributes_have_signs() {
        let named = "\u{2068}x.org\u{2069}";
        let html =
            format!("<title>{named}</title><p title=\"{named}\">a {named} b</p><option value=\"1\">{named}</option>");
        assert_eq!(
            isolated(&html),
            format!(
                "<title>{named}</title><p title=\"{named}\">a <bdi>x.org</bdi> b</p><option value=\"1\">{named}</option>"
            )
        );
        assert_eq!(isolated("<p>x"), "<p>x");
    }

    #[test]
    fn errors_are_shown_as_pages_whoever_refuses() {
        let refused = || Response::error(Error::new(ErrorCode::RateLimited, "Too many <requests>; wait."));
        let mut response = refused().with(http::header::RETRY_AFTER, "7");
        dress(&mut response, Language::French);
        let Body::Bytes(body) = &response.body else { panic!("a stream") };
        let text = String::from_utf8_lossy(body);
        assert!(text.contains("Trop de questions") && !text.contains("requests"), "{text}");
        assert!(text.contains("429") && !text.contains("canonical"), "{text}");
        assert_eq!(response.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers[CONTENT_TYPE], "text/html; charset=utf-8");
        assert_eq!(
            (&response.headers["retry-after"], response.headers.get_all(CONTENT_TYPE).iter().count()),
            (&"7".parse().unwrap(), 1)
        );
        // What somebody wrote is text, in whichever language.
        let mut response = Response::error(Error::bad_request("`<x>` is odd."));
        dress(&mut response, Language::Arabic);
        let Body::Bytes(body) = &response.body else { panic!("a stream") };
        let text = String::from_utf8_lossy(body);
        assert!(text.contains("lang=\"en\" dir=\"ltr\">`&#60;x&#62;` is odd."), "{text}");
        // What is no refusal stays as it is.
        let mut image = Response::new(StatusCode::OK, "image/svg+xml", "<svg/>".to_owned());
        dress(&mut image, Language::French);
        assert_eq!(image.headers[CONTENT_TYPE], "image/svg+xml");
    }
}
