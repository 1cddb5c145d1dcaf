//! RSS and Atom as a strict parser reads them (RSS 2.0, RFC 4287).

use std::collections::BTreeSet;

use heliograph_core::Timestamp;
use heliograph_tests::xml;
use serde_json::json;

use crate::incidents::{create, site, with_three};
use crate::incidents_served::{HOSTILE, until};
use crate::{Suite, cases};

cases![feeds_are_strict_rss_and_atom, feeds_of_an_empty_deployment_are_valid, hostile_text_stays_text_in_feeds];

/// Parses an RFC 822 date with a four-digit year; the weekday must match the date.
#[track_caller]
fn rss_date(text: &str) -> Timestamp {
    let parts: Vec<&str> = text.split(' ').collect();
    let [weekday, day, month, year, clock, "GMT"] = parts[..] else { panic!("{text:?} is no date of RSS") };
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = 1 + months.iter().position(|name| *name == month).unwrap_or_else(|| panic!("{text:?}"));
    assert!(day.len() == 2 && year.len() == 4 && clock.len() == 8, "{text:?}");
    let at = Timestamp::parse(&format!("{year}-{month:02}-{day}T{clock}Z")).unwrap_or_else(|| panic!("{text:?}"));
    let weekdays = ["Thu,", "Fri,", "Sat,", "Sun,", "Mon,", "Tue,", "Wed,"];
    assert_eq!(weekdays[at.day().rem_euclid(7) as usize], weekday, "{text:?}");
    at
}

/// Checks an address as a validator does: absolute, and only characters of RFC 3986.
#[track_caller]
fn is_address(text: &str) {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")).unwrap_or_default();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    assert!(!rest.is_empty() && rest.bytes().all(allowed), "{text:?} is no absolute address");
}

/// Checks every element by the rules of RSS 2.0: required elements, elements that may come once, no unknown ones.
/// Returns the ids in order.
fn check_rss(text: &str) -> Vec<String> {
    let root = xml::parse(text);
    assert_eq!((root.name.as_str(), root.attribute("version")), ("rss", Some("2.0")));
    assert_eq!(root.attribute("xmlns:atom"), Some("http://www.w3.org/2005/Atom"));
    assert_eq!(root.children.len(), 1);
    let channel = root.only("channel");
    assert_eq!(root.attribute("xmlns:dc"), Some("http://purl.org/dc/elements/1.1/"));
    let once = ["title", "link", "description", "language", "copyright", "lastBuildDate", "ttl", "atom:link"];
    once.iter().for_each(|name| assert!(*name == "atom:link" || !channel.only(name).text.is_empty(), "{name}"));
    assert!(channel.children.iter().all(|child| child.name == "item" || once.contains(&child.name.as_str())));
    is_address(&channel.only("link").text);
    let built = rss_date(&channel.only("lastBuildDate").text);
    let own = channel.only("atom:link");
    assert_eq!((own.attribute("rel"), own.attribute("type")), (Some("self"), Some("application/rss+xml")));
    is_address(own.attribute("href").unwrap());
    let items = channel.all("item");
    let mut dates = Vec::new();
    let mut guids = Vec::new();
    for item in items {
        let known = ["title", "link", "guid", "pubDate", "description", "dc:rights", "category"];
        assert!(item.children.iter().all(|child| known.contains(&child.name.as_str())), "{item:?}");
        assert!(!item.only("title").text.is_empty() && !item.only("description").text.is_empty());
        is_address(&item.only("link").text);
        assert!(!item.only("dc:rights").text.is_empty());
        dates.push(rss_date(&item.only("pubDate").text));
        assert_eq!(item.all("category").len(), 3);
        let guid = item.only("guid");
        assert_eq!(guid.attribute("isPermaLink"), Some("false"));
        guids.push(guid.text.clone());
    }
    assert!(dates.iter().all(|date| *date <= built), "built after its newest item");
    assert_eq!(guids.iter().collect::<BTreeSet<_>>().len(), guids.len(), "an id stands for one item");
    guids
}

/// Checks every element by RFC 4287 4.1: required elements, elements that may come once, no unknown ones. Returns ids
/// and times in order.
fn check_atom(text: &str) -> Vec<(String, Timestamp)> {
    let root = xml::parse(text);
    assert_eq!((root.name.as_str(), root.attribute("xmlns")), ("feed", Some("http://www.w3.org/2005/Atom")));
    // RFC 3339 with a capital T and Z.
    let time = |element: &xml::Element, name: &str| {
        let text = &element.only(name).text;
        assert!(text.contains('T') && text.ends_with('Z'), "{text:?}");
        Timestamp::parse(text).unwrap_or_else(|| panic!("{name} of {element:?}"))
    };
    let own = |element: &xml::Element| {
        assert!(!element.only("title").text.is_empty());
        is_address(&element.only("id").text);
        time(element, "updated")
    };
    let updated = own(&root);
    let known = ["title", "subtitle", "id", "updated", "rights", "author", "link", "entry"];
    assert!(root.children.iter().all(|child| known.contains(&child.name.as_str())), "{root:?}");
    assert!(!root.only("rights").text.is_empty());
    assert!(!root.only("author").only("name").text.is_empty(), "RFC 4287 4.1.1: an author for every entry");
    // RFC 4287 4.1.1: alternates differ in their type.
    let types = |element: &xml::Element, rel: &str| {
        let links = element.all("link").into_iter().filter(|link| link.attribute("rel") == Some(rel));
        links.map(|link| link.attribute("type").unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(types(&root, "self"), ["application/atom+xml"]);
    assert_eq!(types(&root, "alternate"), ["text/html", "application/json"]);
    root.all("link").iter().for_each(|link| is_address(link.attribute("href").unwrap()));
    let entry = |entry: &xml::Element| {
        let at = own(entry);
        let known = ["title", "id", "updated", "published", "link", "summary", "rights", "category"];
        assert!(entry.children.iter().all(|child| known.contains(&child.name.as_str())), "{entry:?}");
        assert!(at <= updated && time(entry, "published") <= at);
        assert_eq!(types(entry, "alternate"), ["text/html", "text/markdown"], "without content there is a link");
        entry.all("link").iter().for_each(|link| is_address(link.attribute("href").unwrap()));
        assert!(!entry.only("summary").text.is_empty() && !entry.only("rights").text.is_empty());
        assert_eq!(entry.all("category").len(), 3);
        assert!(entry.all("category").iter().all(|category| category.attribute("term").is_some()));
        (entry.only("id").text.clone(), at)
    };
    let entries: Vec<(String, Timestamp)> = root.all("entry").into_iter().map(entry).collect();
    assert_eq!(entries.iter().map(|(id, _)| id).collect::<BTreeSet<_>>().len(), entries.len());
    entries
}

fn feeds_are_strict_rss_and_atom(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    with_three(&client);
    let all = |text: &str| text.matches("KE-2024-0001").count() > 0 && text.contains("IR-2025-0001");
    let first: BTreeSet<String> = check_rss(&until(&client, "/data/incidents/feed.rss", all)).into_iter().collect();
    let atom_ids: BTreeSet<String> =
        check_atom(&until(&client, "/data/incidents/feed.atom", all)).into_iter().map(|(id, _)| id).collect();
    let change = json!({ "title": "Changed last", "reason": "x" });
    client.admin().patch("/v1/admin/incidents/KE-2023-0001", &change).expect(200);
    client.admin().post("/v1/admin/incidents/IR-2025-0001/retract", &json!({ "reason": "y" })).expect(200);
    let current = |text: &str| text.contains("Changed last") && !text.contains("IR-2025-0001");
    let rss = until(&client, "/data/incidents/feed.rss", current);
    assert_eq!(check_rss(&rss), ["KE-2024-0001", "KE-2023-0001"], "the last to begin first, whichever changed last");
    let strictest = xml::parse(&rss).only("channel").only("copyright").text.clone();
    assert_eq!(strictest, "CC-BY-NC-SA-4.0", "the licence of the entries");
    let atom = check_atom(&until(&client, "/data/incidents/feed.atom", current));
    assert_eq!(atom.len(), 2);
    assert!(check_rss(&rss).iter().all(|id| first.contains(id)), "a change keeps the id");
    assert!(atom.iter().all(|(id, _)| atom_ids.contains(id)), "a change keeps the id");
    assert!(atom[0].0.ends_with("/data/incidents/KE-2024-0001") && atom[0].1 < atom[1].1, "{atom:?}");
    for (path, content_type) in [("rss", "application/rss+xml"), ("atom", "application/atom+xml")] {
        let answer = client.get(&format!("/data/incidents/feed.{path}"));
        assert!(answer.header("content-type").unwrap().starts_with(content_type));
    }
    for n in 0..50 {
        create(&client, &site("NO", &format!("feed{n}.example.org"), "2024-01-01"));
    }
    let rss = until(&client, "/data/incidents/feed.rss", |text| text.contains("NO-2024-0050"));
    let guids = check_rss(&rss);
    assert_eq!(
        (guids.len(), guids[0].as_str(), guids[1].as_str()),
        (50, "KE-2024-0001", "NO-2024-0050"),
        "the last 50"
    );
}

fn feeds_of_an_empty_deployment_are_valid(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    assert!(check_rss(client.get("/data/incidents/feed.rss").text()).is_empty());
    assert!(check_atom(client.get("/data/incidents/feed.atom").text()).is_empty());
}

fn hostile_text_stays_text_in_feeds(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let mut wanted = site("KE", "hostile.example.org", "2024-01-01");
    wanted["title"] = json!(HOSTILE);
    wanted["description"] = json!(format!("{HOSTILE}\n<img src=x onerror=y>"));
    create(&client, &wanted);
    for path in ["/data/incidents/feed.rss", "/data/incidents/feed.atom"] {
        let feed = until(&client, path, |text| text.contains("hostile.example.org"));
        let root = xml::parse(&feed);
        let titles: Vec<String> = texts(&root, "title");
        assert!(titles.iter().any(|title| title == HOSTILE), "{titles:?}");
        // Texts that readers take for HTML contain no tag.
        let html = texts(&root, "description");
        assert!(html.iter().all(|text| !text.contains('<')), "{html:?}");
    }
}

/// The texts of all elements with that name.
fn texts(element: &xml::Element, name: &str) -> Vec<String> {
    let own = (element.name == name).then(|| element.text.clone());
    own.into_iter().chain(element.children.iter().flat_map(|child| texts(child, name))).collect()
}
