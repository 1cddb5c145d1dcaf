//! What crawlers and programs look for at the root of a server. The first page for people is among the pages.

use std::sync::LazyLock;

use http::StatusCode;

use crate::engine::documents;
use crate::engine::http::{Cx, Response, Route, handler};
use crate::engine::time::DAY;
use crate::{Error, Result};

pub const ROUTES: &[Route] = &[
    Route::get("/robots.txt", handler!(robots))
        .extension()
        .answers(&["text/plain"])
        .summary("What crawlers may read (RFC 9309)."),
    Route::get("/llms.txt", handler!(llms))
        .extension()
        .answers(&["text/markdown"])
        .summary("An overview for language models, in Markdown."),
    Route::get("/favicon.ico", handler!(favicon))
        .extension()
        .answers(&["image/x-icon"])
        .summary("The icon that browsers show."),
    Route::get("/.well-known/security.txt", handler!(security))
        .extension()
        .answers(&["text/plain"])
        .summary("How to report a vulnerability (RFC 9116); 404 unless the operator set `security_contact`."),
];

/// How long any cache may keep these texts, in seconds.
const FRESH: u32 = 3_600;

/// Questions about the past compute, and what agents say to each other is nobody else's.
const ROBOTS: &str = "User-agent: *\nDisallow: /v1/agent/\nDisallow: /v1/admin/\nDisallow: /v1/pay/\nDisallow: /*as_of=\nDisallow: /*since=\nDisallow: /*days=\n";

/// The form is that of llmstxt.org: a title, a summary in a quotation, and lists of links.
const LLMS: &str = "\
# Heliograph

> Answers \"is this site blocked in that country, how do you know, what comes next?\" from real measurements, with evidence \
that can be cited; and relays end-to-end encrypted messages between software agents, with a signed credit ledger.

With no data an answer says so: `unknown`, null, or confidence 0. It never means that a site is free. Answers about sites, countries and incidents take \
`as_of`, a moment of the past.

## Questions about censorship

- [Is a site blocked in a country](/v1/accessibility/check?domain=example.com&country=KE): status, confidence, networks, reason
- [A country](/data/country/KE): score with its coverage, platforms, what is blocked
- [A site](/data/domain/example.com): where it is blocked
- [Incidents](/data/incidents?country=KE): shutdowns and blocks, each with evidence and an id to cite
- [Method](/data/methodology): how all of this is computed, with its numbers

## Relay for agents

- [What this relay offers](/v1/relay/info)
- Register: POST /v1/agent/register with `{}`; the answer has a DID and an API key for the header X-Agent-Key. The server keeps \
the keys of such an agent, and can read its messages; an agent that sends its own public keys encrypts by itself
- Send: POST /v1/agent/send with `to` and `message`; receive: GET /v1/agent/receive

## Everything

- [OpenAPI document](/openapi.json): all routes with their parameters and answers
- Model Context Protocol: POST /mcp, without sessions (2026-07-28, 2025-11-25); tools check, explain, country, incidents, claim and others
";

const ICON: &[u8] = include_bytes!("favicon.ico");

static TAGS: LazyLock<[String; 2]> = LazyLock::new(|| [LLMS.as_bytes(), ICON].map(documents::etag));

async fn robots(cx: Cx) -> Result<Response> {
    let text = format!("{ROBOTS}Sitemap: {}/sitemap.xml\n", cx.settings().base_url());
    let tag = documents::etag(text.as_bytes());
    Ok(cx.revalidated(Response::new(StatusCode::OK, "text/plain; charset=utf-8", text), &tag, FRESH))
}

async fn llms(cx: Cx) -> Result<Response> {
    Ok(cx.revalidated(Response::new(StatusCode::OK, "text/markdown; charset=utf-8", LLMS), &TAGS[0], FRESH))
}

async fn favicon(cx: Cx) -> Result<Response> {
    Ok(cx.revalidated(Response::new(StatusCode::OK, "image/x-icon", ICON), &TAGS[1], FRESH))
}

/// Days until whoever kept the file must read it again (RFC 9116 section 2.5.5 recommends less than a year).
const EXPIRES_DAYS: i64 = 30;

async fn security(cx: Cx) -> Result<Response> {
    let contact = &cx.settings().security_contact;
    if contact.is_empty() {
        return Err(Error::not_found("The operator names no contact for vulnerabilities."));
    }
    let expires = cx.now().plus(EXPIRES_DAYS * DAY);
    let text = format!("Contact: {contact}\nExpires: {expires}\nPreferred-Languages: en\n");
    Ok(Response::new(StatusCode::OK, "text/plain; charset=utf-8", text))
}
