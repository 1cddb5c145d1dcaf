//! Pages for people (decision pages).

use std::collections::{BTreeSet, VecDeque};

use heliograph_tests::client::{Answer, Client};
use heliograph_tests::synthetic::{HALF_BLOCKED, INSIDE, SITE};

use crate::detect::with_blocked_site;
use crate::incidents::with_three;
use crate::{Suite, cases};

cases![
    the_form_of_the_first_page_leads_to_the_answer_without_scripts,
    the_page_of_a_site_in_a_country_says_what_the_interface_says,
    a_journalist_clicks_from_the_first_page_to_the_citation,
    every_page_that_pages_link_to_is_whole_in_every_language,
    pages_are_safe_to_open,
    a_country_a_site_and_an_incident_that_are_not_there_have_a_page_that_says_so,
    what_visitors_do_wrong_is_said_in_their_language_alone,
    incidents_on_pages_about_a_moment_are_as_they_were_then,
    no_sentence_is_about_a_part_that_the_page_has_not,
    a_moment_stays_with_the_reader_at_every_click,
    what_is_asked_of_the_past_is_not_kept_and_not_listed,
    images_and_badges_are_images,
    an_operation_of_the_interface_has_a_page_with_a_request_to_paste,
    the_form_for_a_key_gives_a_key_that_works,
    a_browser_is_led_from_the_address_of_an_incident_to_its_page_and_a_program_is_not,
    a_feed_about_a_country_or_a_site_has_its_incidents_alone_and_leads_to_pages,
    each_guide_has_requests_that_work,
];

#[track_caller]
fn page(client: &Client, path: &str) -> String {
    let answer = client.get(path);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/html; charset=utf-8")), "{path}");
    answer.text().to_owned()
}

/// The values of an attribute in a page.
fn attributes<'p>(page: &'p str, name: &str) -> Vec<&'p str> {
    let begin = format!(" {name}=\"");
    page.split(begin.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Addresses of this server that a page links to or shows, without those of the interface and without fragments.
fn pages_of(page: &str) -> BTreeSet<String> {
    let all = attributes(page, "href").into_iter().chain(attributes(page, "src"));
    let own = all
        .filter(|address| address.starts_with('/'))
        .map(|address| address.replace("&#38;", "&").replace("&amp;", "&"));
    own.map(|address| address.split('#').next().unwrap().to_owned()).collect()
}

fn the_form_of_the_first_page_leads_to_the_answer_without_scripts(suite: &Suite) {
    let client = suite.client();
    let front = page(&client, "/");
    assert!(front.contains("action=\"/is-it-blocked\"") && front.contains("name=\"site\""), "{front}");
    for (query, to) in [
        ("site=https%3A%2F%2Ftelegram.org%2Fpath&country=KE", "/site/telegram.org/KE"),
        ("site=telegram&country=", "/site/telegram"),
        ("site=&country=KE", "/country/KE"),
        ("site=&country=", "/"),
        ("site=a%2F..%2Fb&country=KE", "/site/a/KE"),
    ] {
        let answer = client.get(&format!("/is-it-blocked?{query}"));
        assert_eq!((answer.status, answer.header("location")), (303, Some(to)), "{query}");
    }
    for site in ["..", "%2F%2F%2F", "https%3A%2F%2F"] {
        let asked_again = client.get(&format!("/fr/is-it-blocked?site={site}&country=KE"));
        expect_page(&asked_again, 400, "fr");
        assert!(asked_again.text().contains("action=\"/fr/is-it-blocked\""), "{site}: {}", asked_again.text());
    }
    let french = client.get("/fr/is-it-blocked?site=telegram&country=KE");
    assert_eq!(french.header("location"), Some("/fr/site/telegram/KE"));
}

fn the_page_of_a_site_in_a_country_says_what_the_interface_says(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let asked = format!("/v1/accessibility/check?domain={SITE}&country={HALF_BLOCKED}&as_of={INSIDE}");
    let check = client.get(&asked).expect(200);
    assert_eq!(check["status"], "blocked");
    let english =
        page(&client, &format!("/site/{SITE}/{HALF_BLOCKED}?as_of={INSIDE}&since=2024-03-01&until=2024-03-13"));
    assert!(english.contains(check["summary"].as_str().unwrap()), "{}\n{english}", check["summary"]);
    assert!(english.contains("class=\"status blocked\"") && english.contains("tls-reset"), "{english}");
    let french = page(&client, &format!("/fr/site/{SITE}/{HALF_BLOCKED}?as_of={INSIDE}"));
    assert!(french.contains("lang=\"fr\" dir=\"ltr\"") && french.contains("Finlande"), "{french}");
    let arabic = page(&client, &format!("/ar/site/{SITE}/{HALF_BLOCKED}"));
    assert!(arabic.contains("lang=\"ar\" dir=\"rtl\"") && arabic.contains("فنلندا"), "{arabic}");
}

/// Follows a link of a page whose address contains this text.
#[track_caller]
fn follow(client: &Client, from: &str, part: &str) -> (String, String) {
    let links = pages_of(from);
    let to = links.iter().find(|to| to.contains(part)).unwrap_or_else(|| panic!("no link to {part} in {links:?}"));
    (to.clone(), page(client, to))
}

fn a_journalist_clicks_from_the_first_page_to_the_citation(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let asked = client.get("/is-it-blocked?site=telegram.org&country=KE");
    let answer = page(&client, asked.header("location").unwrap());
    // It says that it is a part of a platform, that nobody measured lately, and that there was a block.
    assert!(answer.contains("Telegram") && answer.contains("KE-2023-0001"), "{answer}");
    let (_, incident) = follow(&client, &answer, "/incident/KE-2023-0001");
    for text in ["APA", "MLA", "Chicago", "BibTeX", "RIS", "Affected networks", "AS33771", "version"] {
        assert!(incident.contains(text), "{text}\n{incident}");
    }
    let csv = pages_of(&incident).into_iter().find(|address| address.contains("format=csv")).unwrap();
    assert_eq!(client.get(&csv).status, 200, "{csv}");
}

/// Walks all pages that can be reached from the first one, and looks at each. Countries are many and alike: a few do.
fn every_page_that_pages_link_to_is_whole_in_every_language(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let few = |path: &str| {
        let country = path.split("/country/").nth(1).or_else(|| path.split("/image/country/").nth(1));
        let docs = path.strip_prefix("/docs/");
        country.is_none_or(|code| ["KE", "IR"].iter().any(|known| code.starts_with(known)))
            && docs.is_none_or(|operation| operation.starts_with("get"))
            && path.matches("/site/").count() <= 1
    };
    let starts = ["/", "/fr", "/ar", "/country/KE", "/site/telegram", "/site/telegram/KE", "/ar/site/telegram/KE"];
    let mut waiting: VecDeque<String> = starts.map(str::to_owned).into();
    let mut seen: BTreeSet<String> = waiting.iter().cloned().collect();
    let mut pages = 0;
    while let Some(path) = waiting.pop_front() {
        let answer = client.get(&path);
        assert!(answer.status == 200, "{path}: {} {}", answer.status, answer.text());
        if !answer.header("content-type").unwrap().starts_with("text/html") {
            continue;
        }
        pages += 1;
        check_form(&path, answer.text());
        let links = pages_of(answer.text());
        for link in links.into_iter().filter(|link| few(link)) {
            if seen.len() < 220 && seen.insert(link.clone()) {
                waiting.push_back(link);
            }
        }
    }
    assert!(pages > 40, "{pages}");
}

/// What every page must have.
#[track_caller]
fn check_form(path: &str, page: &str) {
    for part in ["<!doctype html>", "<html lang=\"", "<title>", "<main id=\"main\">", "<h1>", "</html>"] {
        assert!(page.contains(part), "{path} lacks {part}");
    }
    for part in ["<script", "<svg", " style=\"", "<style", " onclick", "javascript:", "http://127.0.0.1:8787http"] {
        assert!(!page.contains(part), "{path} has {part}");
    }
    check_mentions(path, page);
    // No code of a word, nor a gap in a sentence, is shown.
    for part in ["{n}", "{day", "{country", "{site", "word.", "check.title"] {
        assert!(path.starts_with("/docs") || !page.contains(part), "{path} shows {part}");
    }
    if page.contains("<html lang=\"ar\"") {
        let foreign = untranslated(page);
        assert!(foreign.is_empty(), "{path} says in Latin letters: {foreign:?}");
    }
    let ids = attributes(page, "id");
    assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "{path} has an id twice: {ids:?}");
    assert_eq!(page.matches("<img ").count(), page.matches(" alt=\"").count(), "{path} has an image without words");
}

/// Runs of more than three words in Latin letters in the text of an Arabic page and in what its attributes say. A name has
/// signs or an element around it that say where it begins and ends, or its element says that it is English or code.
fn untranslated(page: &str) -> Vec<String> {
    const EMPTY: [&str; 5] = ["meta", "link", "img", "input", "br"];
    let mut open: Vec<(&str, bool)> = Vec::new();
    let mut found = Vec::new();
    for piece in page.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap();
        let name = tag.split_whitespace().next().unwrap().trim_start_matches('/');
        if tag.starts_with('/') {
            while open.pop().is_some_and(|(opened, _)| opened != name) {}
        } else if !EMPTY.contains(&name) && !tag.starts_with('!') {
            let apart = ["bdi", "code", "pre"].contains(&name)
                || [" lang=\"en\"", " dir=\"auto\""].iter().any(|marked| tag.contains(marked));
            open.push((name, apart || open.last().is_some_and(|(_, apart)| *apart)));
        }
        let told = ["alt", "title", "aria-label", "content"].into_iter().flat_map(|name| attributes(piece, name));
        let texts = told.chain((!open.last().is_some_and(|(_, apart)| *apart)).then_some(text));
        found.extend(texts.filter_map(long_run));
    }
    found
}

/// The first run of more than three Latin words, without what stands between signs of isolation.
fn long_run(text: &str) -> Option<String> {
    let outside = text.split('\u{2068}').map(|part| part.rsplit('\u{2069}').next().unwrap());
    let outside: Vec<&str> = outside.collect();
    let words = outside.iter().flat_map(|part| part.split_whitespace().chain(["|"]));
    let mut run: Vec<&str> = Vec::new();
    for word in words {
        if word.chars().any(|letter| letter.is_ascii_alphabetic()) && !word.starts_with('&') {
            run.push(word);
        } else {
            run.clear();
        }
        if run.len() > 3 {
            return Some(run.join(" "));
        }
    }
    None
}

fn pages_are_safe_to_open(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    for path in ["/", "/site/telegram/KE", "/incident/KE-2023-0001", "/docs", "/country/KE"] {
        let answer = client.get(path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(
            (answer.header("set-cookie"), answer.header("referrer-policy")),
            (None, Some("no-referrer")),
            "{path}"
        );
        assert!(answer.header("etag").is_some(), "{path}");
        let again = client.with("if-none-match", answer.header("etag").unwrap()).get(path);
        assert_eq!(again.status, 304, "{path}");
    }
    // What somebody writes is text.
    let answer = client.get("/site/%3Cscript%3Ealert(1)%3C%2Fscript%3E/KE");
    assert!(!answer.text().contains("<script"), "{}", answer.text());
    let answer = client.get("/incidents?q=%22%3E%3Cscript%3E");
    assert!(answer.status == 200 && !answer.text().contains("<script"), "{}", answer.text());
}

#[track_caller]
fn expect_page(answer: &Answer, status: u16, language: &str) {
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (status, Some("text/html; charset=utf-8")),
        "{}",
        answer.text()
    );
    assert!(answer.text().contains(&format!("<html lang=\"{language}\"")), "{}", answer.text());
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

fn a_country_a_site_and_an_incident_that_are_not_there_have_a_page_that_says_so(suite: &Suite) {
    let client = suite.client();
    for (path, status, language) in [
        ("/country/ZZ", 404, "en"),
        ("/fr/country/ZZ", 404, "fr"),
        ("/ar/incident/KE-1999-9999", 404, "ar"),
        ("/site/telegram/ZZ", 404, "en"),
        ("/site/telegram/KE?days=0", 400, "en"),
        ("/site/telegram/KE?since=yesterday", 400, "en"),
        ("/site/telegram/KE?as_of=never", 400, "en"),
        ("/docs/noSuchOperation", 404, "en"),
    ] {
        expect_page(&client.get(path), status, language);
    }
    // What lies beside the pages has a page too, or leads to one, also for a program that reads JSON.
    for (path, language) in [
        ("/fr/nothing", "fr"),
        ("/ar/country", "ar"),
        ("/country", "en"),
        ("/site", "en"),
        ("/incident", "en"),
        ("/country/KE/x", "en"),
        ("/country/K%FF", "en"),
        ("/site/telegram/KE/x/y", "en"),
        ("/fr/site/telegram/KE/x", "fr"),
        ("/ar/%FF", "ar"),
        ("/incident/KE-2023-0001/x", "en"),
        ("/guide/journalist/x", "en"),
        ("/docs/a/b", "en"),
        ("/incidents/x", "en"),
        ("/about/x", "en"),
    ] {
        let answer = client.with("accept", "application/json").get(path);
        expect_page(&answer, 404, language);
        assert!(answer.text().contains("name=\"site\""), "{path} asks no further: {}", answer.text());
    }
    for (path, to) in [
        ("/fr/", "/fr"),
        ("/country/KE/", "/country/KE"),
        ("/fr/site/telegram/KE/?days=30", "/fr/site/telegram/KE?days=30"),
        ("/incidents/", "/incidents"),
        ("/docs/", "/docs"),
        ("//fr//x.example/", "/fr//x.example"),
    ] {
        let answer = client.get(path);
        assert_eq!((answer.status, answer.header("location")), (308, Some(to)), "{path}");
    }
    // Elsewhere errors are as they were.
    client.get("/index.html").expect_error(404, "NO_ROUTE");
    let posted = client.send("POST", "/", Some("application/json"), b"{}");
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET, HEAD, OPTIONS")));
}

fn what_visitors_do_wrong_is_said_in_their_language_alone(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let long = "x".repeat(300);
    for (path, status) in [
        ("/nothing", 404),
        ("/country/ZZ", 404),
        ("/guide/nobody", 404),
        ("/incident/KE-1999-9999", 404),
        ("/incident/KE-2023-0001?version=99", 404),
        ("/incident/KE-2023-0001?version=x", 400),
        ("/incidents?country=ZZ", 404),
        ("/incidents?q=-", 400),
        ("/incidents?q=a+b+c+d+e+f+g+h+i+j+k+l", 400),
        (&format!("/incidents?q={long}"), 400),
        ("/incidents?q=%FF", 400),
        ("/?as_of=never", 400),
        ("/country/KE?as_of=1960-01-01", 400),
        ("/site/a%20b/KE", 400),
        ("/site/a%20b", 400),
        ("/site/telegrm/KE", 400),
        ("/site/localhost", 400),
        ("/site/1.2.3.4/KE", 400),
        ("/site/telegram/KE?days=0", 400),
        ("/site/telegram/KE?since=yesterday", 400),
        ("/site/telegram/KE?since=2024-01-01&to=2023-01-01", 400),
        ("/is-it-blocked?site=..&country=KE", 400),
    ] {
        for (language, other) in [("fr", "Code"), ("ar", "الرمز")] {
            // The first page has no slash behind its language.
            let path = format!("/{language}{}", if path.starts_with("/?") { &path[1..] } else { path });
            let answer = client.get(&path);
            expect_page(&answer, status, language);
            let text = answer.text();
            assert!(text.contains(&format!("{other} {status}")) && !text.contains(ENGLISH), "{path}: {text}");
        }
        assert!(!client.get(path).text().contains(ENGLISH), "{path}: an English page marks English");
    }
    // Who mistypes a name keeps what was written, and is led to the name that is nearly the same.
    for (path, asked) in [("/site/telegrm/KE", "value=\"telegrm\""), ("/site/telegrm.org/KE", "telegrm.org")] {
        let text = client.get(path).text().to_owned();
        assert!(text.contains("href=\"/site/telegram") && text.contains(asked), "{path}: {text}");
    }
    // The country and the moment of the question stay.
    for (path, there) in [
        ("/site/telegrm/ke?as_of=2024-03-12", "href=\"/site/telegram/KE?as_of=2024-03-12\""),
        ("/fr/site/telegrm/KE", "value=\"KE\" selected"),
        ("/fr/site/telegrm/KE", "href=\"/fr/site/telegram/KE\""),
        ("/site/telegrm", "href=\"/site/telegram\""),
    ] {
        let answer = client.get(path);
        assert!(answer.status == 400 && answer.text().contains(there), "{path}: {}", answer.text());
    }
    let form = Some("application/x-www-form-urlencoded");
    let refused = client.send("POST", "/ar/api-key", form, b"email=nobody");
    expect_page(&refused, 400, "ar");
    assert!(!refused.text().contains(ENGLISH), "{}", refused.text());
}

/// How a page marks a message that it can say in English alone.
const ENGLISH: &str = "class=\"note\" lang=\"en\"";

/// Telegram was blocked in Kenya from 8 to 24 November 2023; in June 2024 there was an outage.
fn incidents_on_pages_about_a_moment_are_as_they_were_then(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let pages = ["/", "/country/KE", "/site/telegram", "/site/telegram/KE", "/incidents", "/incidents?q=telegram"];
    for path in pages {
        let asked = |day: &str| {
            let sign = if path.contains('?') { '&' } else { '?' };
            page(&client, &format!("{path}{sign}as_of={day}"))
        };
        let before = asked("2023-11-07");
        assert!(!before.contains("KE-2023-0001"), "{path}: {before}");
        let then = asked("2023-11-12");
        let line = then.split("<li>").find(|line| line.contains("<bdi>KE-2023-0001</bdi>")).unwrap_or_default();
        assert!(line.contains("class=\"tag active\"") && line.contains("went on then"), "{path}: {then}");
        assert!(!then.contains("24 Nov") && !then.contains("KE-2024-0001"), "{path}: {then}");
        let after = asked("2023-12-12");
        let line = after.split("<li>").find(|line| line.contains("<bdi>KE-2023-0001</bdi>")).unwrap_or_default();
        assert!(line.contains("class=\"tag resolved\"") && line.contains("24 Nov 2023"), "{path}: {after}");
    }
}

/// Data of two countries that are too few for a score.
fn no_sentence_is_about_a_part_that_the_page_has_not(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    for query in ["", "?as_of=2024-03-12", "?as_of=2019-01-01"] {
        for path in ["/".to_owned(), format!("/country/{HALF_BLOCKED}"), format!("/site/{SITE}/{HALF_BLOCKED}")] {
            let path = format!("{path}{query}");
            check_mentions(&path, &page(&client, &path));
        }
    }
    let country = page(&client, &format!("/country/{HALF_BLOCKED}?as_of=2024-03-12"));
    assert!(country.contains("There is no score") && country.contains("There is no chart"), "{country}");
}

/// Sentences in English that point at a part of their page, and what the page has then: before the sentence, or behind it in
/// the same section.
#[track_caller]
fn check_mentions(path: &str, page: &str) {
    for (sentence, before, behind) in [
        ("score above", "</strong>/100", ""),
        ("What the score is made of", "</strong>/100", ""),
        ("table below", "", "<table>"),
        ("These networks carry", " *</td>", ""),
        ("* required", "</code> *</th>", ""),
        ("Before any vote, a network blocks with a probability of 0%", "never", ""),
    ] {
        let Some((head, rest)) = page.split_once(sentence) else { continue };
        let section = rest.split("</section>").next().unwrap();
        // The page about the method has the table alone.
        let there = path.contains("/method") || (head.contains(before) && section.contains(behind));
        assert!(there, "{path} says \"{sentence}\" of what it has not: {page}");
    }
}

fn a_moment_stays_with_the_reader_at_every_click(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let then = "as_of=2024-03-12";
    let site = page(&client, &format!("/site/{SITE}/{HALF_BLOCKED}?{then}"));
    for part in ["?days=30&", "/country/", "/badge/", "/v1/accessibility/check"] {
        let links = pages_of(&site);
        assert!(links.iter().any(|to| to.contains(part) && to.contains(then)), "{part}: {links:?}");
    }
    let form = "type=\"hidden\" name=\"as_of\" value=\"2024-03-12\"";
    let cited = format!("/site/{SITE}/{HALF_BLOCKED}?{then}</bdi>");
    assert!(site.contains(form) && site.contains(&cited), "{site}");
    // A page about now says another thing tomorrow, so what is cited names the day, and the usual spelling.
    let now = page(&client, &format!("/site/{}/{HALF_BLOCKED}", SITE.to_uppercase()));
    let cited = now.split_once("class=\"cite\"").and_then(|(_, rest)| rest.split("</p>").next()).unwrap();
    assert!(cited.contains(&format!("/site/{SITE}/{HALF_BLOCKED}?as_of=20")), "{cited}");
    let country = page(&client, &format!("/country/{HALF_BLOCKED}?{then}"));
    let of_all = page(&client, &format!("/site/{SITE}?{then}"));
    let front = page(&client, &format!("/fr?{then}"));
    let list = page(&client, &format!("/incidents?country={HALF_BLOCKED}&{then}"));
    for shown in [&site, &country, &of_all, &front, &list] {
        let links = pages_of(shown);
        let about_states =
            |to: &&String| ["/site/", "/country/", "/badge/", "/data/domain/"].iter().any(|of| to.contains(of));
        let newer: Vec<_> =
            links.iter().filter(about_states).filter(|to| !to.contains("as_of=") && !to.contains("until=")).collect();
        assert!(newer.is_empty(), "{newer:?}");
        assert!(shown.contains("name=\"as_of\"") && shown.contains("noindex"), "{shown}");
    }
    let incidents = "&format=csv&as_of=2024-03-12";
    assert!(pages_of(&country).iter().any(|to| to.contains(incidents)), "{:?}", pages_of(&country));
    let asked = client.get(&format!("/is-it-blocked?site={SITE}&country={HALF_BLOCKED}&{then}"));
    assert_eq!(asked.header("location"), Some(format!("/site/{SITE}/{HALF_BLOCKED}?{then}").as_str()));
    assert!(!country.contains("id=\"forecast\""), "a forecast of today stands on a page of the past");
    // A range on the page has its last day in it.
    let range = page(&client, &format!("/site/{SITE}/{HALF_BLOCKED}?since=2024-03-01&to=2024-03-12"));
    assert!(
        range.contains("since=2024-03-01&#38;until=2024-03-13") || range.contains("since=2024-03-01&until=2024-03-13")
    );
}

fn what_is_asked_of_the_past_is_not_kept_and_not_listed(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let now = client.get(&format!("/site/{SITE}/{HALF_BLOCKED}"));
    assert!(now.header("cache-control").unwrap().contains("max-age") && !now.text().contains("noindex"));
    for query in ["as_of=2024-03-12", "days=30", "since=2024-03-01&until=2024-03-13"] {
        let then = client.get(&format!("/site/{SITE}/{HALF_BLOCKED}?{query}"));
        assert_eq!((then.status, then.header("cache-control")), (200, Some("no-store")), "{query}: {}", then.text());
        assert!(then.text().contains("noindex"), "{query}");
    }
    let robots = client.get("/robots.txt");
    assert!(robots.text().contains("/sitemap.xml\n"), "{}", robots.text());
    assert!(robots.text().contains("as_of="), "{}", robots.text());
}

fn images_and_badges_are_images(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let range = "since=2024-03-01&until=2024-03-13";
    for path in [
        "/image/world.svg".to_owned(),
        format!("/image/country/{HALF_BLOCKED}.svg"),
        format!("/image/site/{HALF_BLOCKED}/{SITE}.svg?{range}"),
        format!("/image/networks/{HALF_BLOCKED}/{SITE}.svg?{range}"),
        format!("/badge/{HALF_BLOCKED}/{SITE}.svg"),
        format!("/ar/badge/{HALF_BLOCKED}/{SITE}.svg"),
        "/image/world.svg?as_of=2024-03-12".to_owned(),
    ] {
        let answer = client.get(&path);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("image/svg+xml; charset=utf-8")),
            "{path}"
        );
        assert!(answer.text().starts_with("<svg xmlns=") && answer.text().ends_with("</svg>"), "{path}");
    }
    let days = client.get(&format!("/image/site/{HALF_BLOCKED}/{SITE}.svg?{range}"));
    assert!(days.text().contains("class=\"blocked\"") && days.text().contains("class=\"sx\""), "{}", days.text());
    let french = client.get(&format!("/fr/badge/{HALF_BLOCKED}/{SITE}.svg?as_of=2024-03-12"));
    assert!(french.text().contains("bloqué"), "{}", french.text());
    assert_eq!(client.get("/badge/FI/x.png").status, 404);
}

fn an_operation_of_the_interface_has_a_page_with_a_request_to_paste(suite: &Suite) {
    let client = suite.client();
    let all = page(&client, "/docs");
    let (path, operation) = follow(&client, &all, "/docs/");
    assert!(operation.contains("curl") && operation.contains("200"), "{path}\n{operation}");
    assert!(all.matches("/docs/").count() > 250, "{}", all.matches("/docs/").count());
    let body = page(&client, "/docs/createChannel");
    assert!(body.contains("string, 3 to 64 characters"), "{body}");
}

fn the_form_for_a_key_gives_a_key_that_works(suite: &Suite) {
    let client = suite.client();
    let form = Some("application/x-www-form-urlencoded");
    let made = client.send("POST", "/api-key", form, b"email=ada%40example.org");
    assert_eq!((made.status, made.header("cache-control")), (200, Some("no-store")), "{}", made.text());
    let key = made.text().split("tabindex=\"0\">").nth(1).unwrap().split('<').next().unwrap().to_owned();
    assert_eq!(client.key(&key).get("/hydra/v1/model/info").status, 200, "{key}");
    let refused = client.send("POST", "/fr/api-key", form, b"email=nobody");
    expect_page(&refused, 400, "fr");
}

fn a_browser_is_led_from_the_address_of_an_incident_to_its_page_and_a_program_is_not(suite: &Suite) {
    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let client = suite.prepared("incidents", with_three);
    let id = client.get("/data/incidents?limit=1").json()["incidents"][0]["readableId"].as_str().unwrap().to_owned();
    let path = format!("/data/incidents/{id}");
    let browser = client.with("accept", BROWSER);
    let led = browser.get(&format!("{path}?version=1"));
    let to = format!("/incident/{id}?version=1");
    assert_eq!((led.status, led.header("location")), (303, Some(to.as_str())), "{}", led.text());
    assert_eq!(led.header("cache-control"), Some("no-store"));
    assert!(led.header("vary").is_some_and(|vary| vary.contains("Accept")), "{:?}", led.header("vary"));
    assert!(page(&browser, &to).contains(&id));
    for accept in ["*/*", "application/json", "text/html", "application/json, text/html, application/xhtml+xml;q=0.9"] {
        let answer = client.with("accept", accept).get(&path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{accept}");
        assert!(answer.header("vary").is_some_and(|vary| vary.contains("Accept")), "{accept}");
    }
    assert_eq!(browser.get(&format!("{path}?format=json")).status, 200);
    assert_eq!(browser.get("/data/incidents?limit=1").header("content-type"), Some("application/json"));
}

fn a_feed_about_a_country_or_a_site_has_its_incidents_alone_and_leads_to_pages(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    with_three(&client);
    for (query, wanted) in [
        ("country=KE", &["KE-2023-0001", "KE-2024-0001"][..]),
        ("domain=nytimes.com", &["IR-2025-0001"]),
        ("service=telegram", &["KE-2023-0001"]),
        ("country=KE&type=disruption", &["KE-2024-0001"]),
        ("country=ZW", &[]),
    ] {
        for format in ["rss", "atom"] {
            let feed = client.get(&format!("/data/incidents/feed.{format}?{query}"));
            assert_eq!(feed.status, 200, "{query}: {}", feed.text());
            let text = feed.text();
            let shown = ["IR-2025-0001", "KE-2023-0001", "KE-2024-0001"];
            let shown = shown
                .into_iter()
                .filter(|id| text.contains(&format!("/incident/{id}<")) || text.contains(&format!("/incident/{id}\"")));
            assert_eq!(shown.collect::<Vec<_>>(), wanted, "{format} {query}: {text}");
            let itself = format!("/data/incidents/feed.{format}?{}\"", query.replace('&', "&amp;"));
            assert!(text.contains(&itself), "{itself}: {text}");
        }
    }
    let path = "/data/incidents/feed.atom?country=KE";
    let tag = client.get(path).header("etag").unwrap().to_owned();
    assert_eq!(client.with("if-none-match", &tag).get(path).status, 304);
}

/// What a guide says can be pasted, if it needs no key of the reader's own.
fn each_guide_has_requests_that_work(suite: &Suite) {
    let client = suite.client();
    for reader in ["journalist", "researcher", "agent"] {
        for language in ["", "/fr", "/ar"] {
            let guide = page(&client, &format!("{language}/guide/{reader}"));
            let requests = guide.split("<pre").skip(1).filter_map(|rest| rest.split("</pre>").next());
            for request in requests.filter(|request| !request.contains("YOUR_KEY") && !request.contains("-X POST")) {
                let request = request.replace("&#38;", "&").replace("&#39;", "'").replace("&#61;", "=");
                for address in request.split("http").skip(1) {
                    let path = address.split_once("://").unwrap().1.split_once('/').unwrap().1;
                    let path = path.split(['\'', '\n', ' ']).next().unwrap();
                    let status = client.get(&format!("/{path}")).status;
                    // Model clients post to their address.
                    assert!(status == 200 || path == "mcp" && status == 405, "{path}: {status}");
                }
            }
        }
    }
    assert_eq!(client.get("/guide/nobody").status, 404);
}
