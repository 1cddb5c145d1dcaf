//! Counts by day: from measurements to the page of unusual days.

use http::Method;
use serde_json::{Value, json};

use super::{ADMIN, HEADER, Server, rows};

/// Two sites on three networks from 1 November on, in pieces that overlap.
fn pieces() -> Vec<String> {
    let piece = |asn, host, hours, blocked| format!("{HEADER}{}", rows("IT", asn, host, "2025-11-01", hours, blocked));
    vec![
        piece(1, "first.example", 0..900, false),
        piece(1, "first.example", 700..1_430, false),
        piece(2, "first.example", 0..1_430, true),
        piece(3, "first.example", 0..1_400, false),
        piece(3, "second.example", 300..1_430, false),
    ]
}

fn settle(server: &Server) {
    for _ in 0..40 {
        server.settle();
    }
}

fn page(server: &Server) -> Value {
    let mut body = server.ok("/v1/anomaly/dbscan/it");
    body["generated_at"] = Value::Null;
    body
}

fn filled(pieces: &[String]) -> Server {
    let server = Server::start();
    for piece in pieces {
        let (status, body) = server.upload("ooni-observations", piece.as_bytes());
        assert_eq!(status, 200, "{body}");
        settle(&server);
    }
    server
}

/// Decision order-of-data: any permutation, split or repeat of the same input yields the same counts.
#[test]
fn days_are_the_same_in_whatever_order_and_however_often_their_measurements_come() {
    let mut pieces = pieces();
    let expected = page(&filled(&pieces));
    assert_eq!(expected["available"], json!(true), "{expected}");
    // On 30 December, fourteen hours of three networks, one of which resets its site.
    assert_eq!((&expected["date"], &expected["block_rate"]), (&json!("2025-12-30"), &json!(0.3333)), "{expected}");
    assert_eq!(expected["n_measurements"], json!(42), "{expected}");
    assert_eq!(expected["features"]["networks"], json!(3.0), "{expected}");
    pieces.reverse();
    pieces.extend_from_within(1..3);
    assert_eq!(page(&filled(&pieces)), expected);
}

/// Decision licence-and-removal: removing a source leaves nothing of it in the counts.
#[test]
fn nothing_of_a_removed_source_is_left_in_the_days() {
    let server = filled(&pieces());
    let answer = server.request(Method::DELETE, "/v1/admin/sources/ooni", &[("x-admin-key", ADMIN)], b"");
    assert_eq!(answer.status, 200);
    settle(&server);
    settle(&server);
    let body = page(&server);
    assert_eq!(
        (&body["available"], &body["n_days"], &body["date"]),
        (&json!(false), &json!(0), &Value::Null),
        "{body}"
    );
    let drift = server.ok("/v1/anomaly/domain-drift/leaderboard");
    assert_eq!((&drift["n_countries"], &drift["week_ending"]), (&json!(0), &Value::Null), "{drift}");
}
