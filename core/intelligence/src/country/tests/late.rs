//! Answers that may be late where many readers ask (decision late-answers).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, Method, StatusCode};

use super::{ADMIN, HEADER, rows};
use crate::testing::PROGRAM;
use engine::http::{Body, Request, Response, serve};
use relay::testing::{Place, TestRuntime};

struct Edge(Arc<TestRuntime>);

impl Edge {
    fn start() -> Edge {
        Edge(TestRuntime::start_sharing(&PROGRAM, &[("admin_key", ADMIN), ("publish_interval", "10")]))
    }

    fn ask(&self, target: &str, headers: &[(&'static str, &str)]) -> (StatusCode, String, Response) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut map = HeaderMap::new();
        headers
            .iter()
            .for_each(|(name, value)| drop(map.insert(HeaderName::from_static(name), value.parse().unwrap())));
        let request = Request { path: path.into(), query: query.into(), headers: map, ..Request::default() };
        let response = serve(self.0.clone(), request).now_or_never().expect("nothing waits in memory");
        let Body::Bytes(bytes) = &response.body else { panic!("a stream") };
        (response.status, String::from_utf8(bytes.to_vec()).unwrap(), response)
    }

    fn page(&self, target: &str) -> String {
        let (status, body, _) = self.ask(target, &[]);
        assert_eq!(status, StatusCode::OK, "{target}: {body}");
        body
    }

    /// What follows from an import is done in turns, some at moments that are drawn at random.
    fn settle(&self) {
        self.0.advance(Duration::from_secs(600));
    }

    /// Imports a block in a country.
    fn import(&self, country: &str) {
        let data: String = (1..4).map(|asn| rows(country, asn, "example.org", "2025-12-20", 0..48, true)).collect();
        let mut map = HeaderMap::new();
        map.insert("x-admin-key", ADMIN.parse().unwrap());
        let request = Request {
            method: Method::POST,
            path: "/v1/admin/import/ooni-observations".into(),
            headers: map,
            body: format!("{HEADER}{data}").into(),
            ..Request::default()
        };
        let response = serve(self.0.clone(), request).now_or_never().expect("nothing waits in memory");
        assert_eq!(response.status, StatusCode::OK);
    }
}

const LIST: &str = "/data/incidents?country=it&limit=5";

#[test]
fn a_list_is_as_old_as_the_interval_at_most_and_a_key_or_a_moment_makes_it_exact() {
    let edge = Edge::start();
    edge.import("IT");
    edge.settle();
    let sources = |headers: &[(&'static str, &str)]| edge.ask("/data/sources", headers).1;
    let before = sources(&[]);
    edge.import("ES");
    assert_eq!(sources(&[]), before, "kept");
    let exact = sources(&[("x-api-key", ADMIN)]);
    assert_ne!(exact, before, "a key asks the object");
    edge.0.advance(Duration::from_secs(10));
    assert_eq!(sources(&[]), sources(&[("x-api-key", ADMIN)]), "the interval is over");
}

#[test]
fn a_kept_answer_has_the_tag_of_the_first_and_is_one_for_any_order_of_parameters() {
    let edge = Edge::start();
    edge.import("IT");
    edge.settle();
    let (_, body, first) = edge.ask(LIST, &[]);
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    let (_, other, kept) = edge.ask("/data/incidents?limit=5&country=it", &[]);
    assert_eq!(other, body);
    assert_eq!(kept.headers["cache-control"], first.headers["cache-control"]);
    let (status, nothing, unchanged) = edge.ask(LIST, &[("if-none-match", &tag)]);
    assert_eq!((status, nothing.as_str()), (StatusCode::NOT_MODIFIED, ""));
    assert_eq!(unchanged.headers["etag"], tag.as_str());
    assert!(!unchanged.headers.contains_key("content-type"));
    // Another form is another answer.
    let csv = edge.page("/data/incidents?country=it&limit=5&format=csv");
    assert_ne!(csv, body);
    // Errors are made for every request.
    for _ in 0..2 {
        assert_eq!(edge.ask("/data/incidents?limit=x", &[]).0, StatusCode::BAD_REQUEST);
    }
}

#[test]
fn an_answer_that_another_process_of_the_place_made_is_given_again_and_one_that_is_damaged_is_made_anew() {
    let (first, second, third) = (Edge::start(), Edge::start(), Edge::start());
    let place = Arc::new(Place::default());
    for edge in [&first, &second, &third] {
        edge.0.share_answers(&place);
    }
    first.import("IT");
    for edge in [&first, &second, &third] {
        edge.settle();
    }
    let (_, body, made) = first.ask(LIST, &[]);
    assert!(body.contains("\"total\":1") && place.len() == 1, "{body}");
    second.0.calls();
    let (_, other, kept) = second.ask(LIST, &[]);
    assert_eq!((other, &kept.headers["etag"]), (body, &made.headers["etag"]));
    assert_eq!(second.0.calls(), [], "no object was asked");
    place.spoil();
    assert!(third.page(LIST).contains("\"total\":0"), "it has no incident of its own");
    // What is exact is not shared.
    first.ask(LIST, &[("x-api-key", ADMIN)]);
    first.ask("/data/incidents/delta", &[]);
    assert_eq!(place.len(), 1);
}
