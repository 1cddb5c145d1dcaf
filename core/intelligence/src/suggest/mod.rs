//! `GET /v1/suggest`: what a reader may mean who has typed the beginning of a name.
//!
//! Countries, platforms, sites and incidents take turns, so that none of the kinds hides the others.

use http::header::CACHE_CONTROL;
use schemars::JsonSchema;
use serde::Serialize;

use crate::incidents::{self, Titled};
use crate::reference;
use crate::world::{self, SitesBeginning};
use crate::{Error, Result};
use engine::http::{Cx, Limit, Param, Response, Route, handler};
use engine::runtime;
use facts::folding::{fold, words};
use facts::measurement::domain::host_of;
use facts::starter::{Country, Platform};

/// Suggestions of an answer, at most.
const MOST: usize = 10;
/// Characters of what was typed, at most.
const MAX_TYPED: usize = 100;
/// Seconds for which a reader may keep an answer.
const MAX_AGE: u32 = 60;

pub const ROUTES: &[Route] = &[Route::get("/v1/suggest", handler!(suggest))
    .late()
    .limit(Limit::Accessibility)
    .extension()
    .params(&[Param::required("q", "The beginning of a name, at most 100 characters.").length(1, 100)])
    .returns::<SuggestBody>()
    .summary("Countries, platforms, sites and incidents whose names begin so: at most 10.")];

/// What a suggestion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SuggestedKind {
    Country,
    Platform,
    Site,
    Incident,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct Suggestion {
    kind: SuggestedKind,
    /// A country code, the slug of a platform, a domain, or the readable id of an incident.
    id: String,
    /// What to show.
    label: String,
    /// Where its data are.
    path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SuggestBody {
    /// What was typed.
    q: String,
    suggestions: Vec<Suggestion>,
}

async fn suggest(cx: Cx) -> Result<Response> {
    let typed = cx.required("q")?.trim().to_owned();
    if typed.is_empty() || typed.chars().count() > MAX_TYPED {
        return Err(Error::bad_request(format!("`q` has 1 to {MAX_TYPED} characters.")));
    }
    let response = cx.kept(body(&cx, &typed)).await?;
    Ok(response.with(CACHE_CONTROL, &format!("public, max-age={MAX_AGE}")))
}

async fn body(cx: &Cx, typed: &str) -> Result<Response> {
    let kinds = [countries(typed), platforms(cx, typed).await?, sites(cx, typed).await?, incidents(cx, typed).await?];
    Response::json(&SuggestBody { q: typed.to_owned(), suggestions: in_turns(kinds) })
}

/// The first of each kind, then the second of each, until there are enough.
fn in_turns<const KINDS: usize>(kinds: [Vec<Suggestion>; KINDS]) -> Vec<Suggestion> {
    let mut kinds = kinds.map(Vec::into_iter);
    let mut found = Vec::new();
    for _ in 0..MOST {
        found.extend(kinds.iter_mut().filter_map(Iterator::next));
    }
    found.truncate(MOST);
    found
}

/// Whether each word of what was typed begins a word of a name.
fn begins(typed: &[String], name: &str) -> bool {
    let known = words(name);
    !typed.is_empty() && typed.iter().all(|word| known.iter().any(|known| known.starts_with(word.as_str())))
}

fn countries(typed: &str) -> Vec<Suggestion> {
    let typed_words = words(typed);
    let by_code = Country::by_code(typed).filter(|_| typed.len() == 2);
    let by_name = Country::all().iter().filter(|country| country.names().any(|name| begins(&typed_words, name)));
    let mut found: Vec<&Country> = by_code.into_iter().chain(by_name).collect();
    // A name that begins with what was typed comes before one that has it as a later word.
    let later = |country: &&Country| !fold(country.name).starts_with(&fold(typed));
    found.sort_by_key(|country| (by_code != Some(*country), later(country)));
    found.dedup();
    found.truncate(MOST);
    let suggestion = |country: &Country| Suggestion {
        kind: SuggestedKind::Country,
        id: country.code.to_owned(),
        label: country.name.to_owned(),
        path: format!("/data/country/{}", country.code),
    };
    found.into_iter().map(suggestion).collect()
}

async fn platforms(cx: &Cx, typed: &str) -> Result<Vec<Suggestion>> {
    let typed_words = words(typed);
    let mut found = Vec::new();
    for platform in reference::platforms(&*cx.rt).await? {
        let aliases = Platform::by_slug(&platform.slug).into_iter().flat_map(Platform::aliases);
        let fits = [platform.slug.as_str(), platform.label.as_str()].iter().any(|name| begins(&typed_words, name))
            || aliases.into_iter().any(|name| begins(&typed_words, name));
        if fits {
            found.push(Suggestion {
                kind: SuggestedKind::Platform,
                path: format!("/v1/platform/{}/risk", platform.slug),
                id: platform.slug,
                label: platform.label,
            });
        }
        if found.len() == MOST {
            break;
        }
    }
    Ok(found)
}

async fn sites(cx: &Cx, typed: &str) -> Result<Vec<Suggestion>> {
    let host = host_of(typed).to_ascii_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    if host.is_empty() || !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)) {
        return Ok(Vec::new());
    }
    let asked = SitesBeginning { typed: host.to_owned(), most: MOST as u32 };
    let found = runtime::query(&*cx.rt, world::actor().name, &asked).await?;
    let suggestion = |site: String| Suggestion {
        kind: SuggestedKind::Site,
        path: format!("/data/domain/{site}"),
        label: site.clone(),
        id: site,
    };
    Ok(found.into_iter().map(suggestion).collect())
}

async fn incidents(cx: &Cx, typed: &str) -> Result<Vec<Suggestion>> {
    let asked = Titled { typed: typed.to_owned(), most: MOST as u32 };
    let found = runtime::query(&*cx.rt, incidents::actor().name, &asked).await?;
    let suggestion = |(id, label): (String, String)| Suggestion {
        kind: SuggestedKind::Incident,
        path: format!("/data/incidents/{id}"),
        id,
        label,
    };
    Ok(found.into_iter().map(suggestion).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::country::tests::{HEADER, Server, rows};
    use crate::import::{ImportKind, Options};

    fn ids(found: &[Suggestion]) -> Vec<&str> {
        found.iter().map(|one| one.id.as_str()).collect()
    }

    #[test]
    fn a_country_is_found_by_any_beginning_and_by_its_code() {
        assert_eq!(ids(&countries("ken")), ["KE"]);
        assert_eq!(ids(&countries("KE"))[0], "KE");
        assert!(ids(&countries("cote")).contains(&"CI"), "{:?}", countries("cote"));
        assert!(ids(&countries("TÜRK")).contains(&"TR"), "{:?}", countries("TÜRK"));
        assert_eq!(ids(&countries("guinea"))[0], "GN", "the name itself comes first");
        assert!(countries("xyz").is_empty() && countries("-").is_empty());
    }

    #[test]
    fn kinds_take_turns() {
        let of = |kind, n: usize| -> Vec<Suggestion> {
            (0..n).map(|n| Suggestion { kind, id: n.to_string(), label: String::new(), path: String::new() }).collect()
        };
        let found = in_turns([of(SuggestedKind::Country, 10), of(SuggestedKind::Site, 2), Vec::new()]);
        let sites = found.iter().filter(|one| one.kind == SuggestedKind::Site).count();
        assert_eq!((found.len(), sites, found[1].kind), (10, 2, SuggestedKind::Site));
    }

    #[test]
    fn sites_are_found_by_their_beginning_each_once() {
        let server = Server::start();
        let mut text = HEADER.to_owned();
        for country in ["IT", "FR"] {
            for site in ["news.example", "newspaper.example", "new.example", "old.example"] {
                text += &rows(country, 1, site, "2025-12-30", 0..4, false);
            }
        }
        server.import(ImportKind::OoniObservations, Options::default(), text.as_bytes());
        (0..5).for_each(|_| server.settle());
        let sites = |typed: &str| -> Vec<String> {
            let body = server.ok(&format!("/v1/suggest?q={typed}"));
            let found = body["suggestions"].as_array().unwrap().iter().filter(|one| one["kind"] == "site");
            found.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(sites("news"), ["news.example", "newspaper.example"]);
        assert_eq!(sites("https://www.News.ex"), ["news.example"]);
        assert_eq!(sites("nothing"), [""; 0]);
        for (typed, kind, id) in [("Teleg", "platform", "telegram"), ("ital", "country", "IT")] {
            let body = server.ok(&format!("/v1/suggest?q={typed}"));
            let first = &body["suggestions"][0];
            assert_eq!((&first["kind"], &first["id"]), (&kind.into(), &id.into()), "{body}");
            assert_eq!(server.get(first["path"].as_str().unwrap()).0, 200, "{body}");
        }
        for query in ["", "?q=", "?q=%20", &format!("?q={}", "x".repeat(101))] {
            assert_eq!(server.get(&format!("/v1/suggest{query}")).0, 400, "{query}");
        }
    }
}
