//! What every page has: a language, a frame, headers, and a form for errors.

use askama::Template;
use engine::documents;
use engine::http::{Cx, Response};
use engine::runtime::BoxFuture;
use engine::{Error, ErrorCode, Result};
use facts::sentence::Language;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, REFERRER_POLICY};

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
        Ok(Page { html: template.render().map_err(Error::internal)?, computed: false })
    }

    /// A page about a moment or a range, which is made for each question.
    pub fn computed(self, computed: bool) -> Page {
        Page { computed, ..self }
    }
}

/// What stands around a page.
pub struct Frame {
    pub w: Words,
    pub title: String,
    pub description: String,
    /// The address without language, with its query.
    pub path: String,
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
        let title = title.into();
        Frame {
            w,
            description: w.t("frame.description").to_owned(),
            path: path.into(),
            base: cx.settings().base_url(),
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
    status: u16,
    message: String,
}

/// Runs the maker of a page, and answers errors as pages too.
pub async fn answer(cx: Cx, language: Language, make: Make) -> Result<Response> {
    let w = Words(language);
    let (status, page, failure) = match make(&cx, w).await {
        Ok(page) => (StatusCode::OK, page, None),
        Err(error) => (error.code.status(), error_page(&cx, w, &error)?, Some(error)),
    };
    let mut response = Response::new(status, "text/html; charset=utf-8", page.html.into_bytes());
    response = response.with(CONTENT_SECURITY_POLICY, POLICY).with(REFERRER_POLICY, "no-referrer");
    response = response.with(CONTENT_LANGUAGE, language.tag());
    if let Some(error) = failure {
        response.cause = error.cause.clone();
        return Ok(response.with(CACHE_CONTROL, "no-store"));
    }
    if page.computed {
        return Ok(response.with(CACHE_CONTROL, "no-store"));
    }
    let engine::http::Body::Bytes(body) = &response.body else { return Ok(response) };
    let etag = documents::etag(body);
    Ok(cx.revalidated(response, &etag, FRESH))
}

fn error_page(cx: &Cx, w: Words, error: &Error) -> Result<Page> {
    let code = match error.code {
        ErrorCode::NotFound | ErrorCode::NoRoute => "error.not_found",
        ErrorCode::BadRequest | ErrorCode::TooBroad => "error.bad_request",
        ErrorCode::RateLimited | ErrorCode::Busy | ErrorCode::Unavailable => "error.busy",
        _ => "error.internal",
    };
    let frame = Frame::new(cx, w, "/", w.t(code)).unlisted(true);
    Page::of(&ErrorPage { frame, status: error.code.status().as_u16(), message: error.message.to_string() })
}
