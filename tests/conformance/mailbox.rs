//! The mailbox: filters, pages, order, read marks, deletion (relay 5.3, 5.4, 5.9).

use std::collections::BTreeSet;

use heliograph_core::crypto::client::Options;
use heliograph_tests::relay::{Agent, SdkAgent, encode, letter, micros, text};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    each_filter_chooses_its_messages_on_both_routes,
    filters_combine,
    unread_only_is_the_default_and_a_get_marks_nothing,
    timestamps_have_six_digits_and_increase,
    messages_come_oldest_first_whoever_sent_them,
    since_is_exclusive_and_compared_as_a_number,
    a_page_holds_100_at_most_and_says_whether_there_is_more,
    a_limit_over_the_maximum_is_clamped,
    bad_filters_are_400,
    a_read_mark_is_idempotent_and_only_the_recipients,
    a_batch_of_read_marks_skips_what_it_does_not_know,
    a_batch_has_at_most_100_ids,
    the_unread_count_is_by_sender,
    sender_and_recipient_may_delete_and_nobody_else,
    an_unknown_message_id_is_404,
    empty_bodies_with_a_json_type_are_no_bodies,
    nobody_reads_the_mail_of_another,
    a_big_page_ends_early_and_says_so,
];

const BOTH: [&str; 2] = ["/v1/agent/receive", "/v1/agent/receive/raw"];

fn ids(items: &[Value]) -> Vec<String> {
    items.iter().map(|item| text(item, "id").to_owned()).collect()
}

fn send(from: &Agent, to: &Agent, extra: Value) -> String {
    let mut body = json!({ "to": to.did, "message": "x" });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    text(&from.client.post("/v1/agent/send", &body).expect(201), "id").to_owned()
}

fn agents<const N: usize>(suite: &Suite) -> [Agent; N] {
    let client = suite.client();
    std::array::from_fn(|_| Agent::server_side(&client))
}

fn each_filter_chooses_its_messages_on_both_routes(suite: &Suite) {
    let [a, b, reader] = agents(suite);
    let thread = "conv-1 /\u{e4}&=";
    let all = [
        send(&a, &reader, json!({ "thread_id": thread })),
        send(&b, &reader, json!({ "content_type": "application/json" })),
        send(&a, &reader, json!({ "message_type": "rpc-request" })),
        send(&b, &reader, json!({ "thread_id": thread, "message_type": "task" })),
    ];
    reader.mark_read(&all[1]);
    for (query, chosen) in [
        ("unread=false".to_owned(), vec![0, 1, 2, 3]),
        ("unread=true".to_owned(), vec![0, 2, 3]),
        (String::new(), vec![0, 2, 3]),
        ("unread=".to_owned(), vec![0, 2, 3]),
        (format!("unread=false&from={}", a.did), vec![0, 2]),
        (format!("unread=false&from={}", encode(&b.did)), vec![1, 3]),
        (format!("from={}", b.did), vec![3]),
        (format!("unread=false&from={}", reader.did), vec![]),
        (format!("unread=false&thread_id={}", encode(thread)), vec![0, 3]),
        ("unread=false&thread_id=conv-1".to_owned(), vec![]),
        (format!("unread=false&content_type={}", encode("application/json")), vec![1]),
        (format!("unread=false&content_type={}", encode("text/plain")), vec![0, 2, 3]),
        ("unread=false&message_type=rpc-request".to_owned(), vec![2]),
        ("unread=false&message_type=task".to_owned(), vec![3]),
        ("unread=false&message_type=text".to_owned(), vec![0, 1]),
        ("unread=false&message_type=nothing".to_owned(), vec![]),
        ("unread=false&unknown=1&limit=2".to_owned(), vec![0, 1]),
    ] {
        let expected: Vec<String> = chosen.into_iter().map(|at: usize| all[at].clone()).collect();
        for route in BOTH {
            assert_eq!(ids(&reader.items(&format!("{route}?{query}"))), expected, "{route}?{query}");
        }
    }
}

fn filters_combine(suite: &Suite) {
    let [a, b, reader] = agents(suite);
    let wanted = json!({ "thread_id": "t", "message_type": "m", "content_type": "c/d" });
    let mut expected = Vec::new();
    for round in 0..3 {
        send(&b, &reader, wanted.clone());
        send(&a, &reader, json!({ "thread_id": "t", "message_type": "m" }));
        let id = send(&a, &reader, wanted.clone());
        send(&a, &reader, json!({ "thread_id": "u", "message_type": "m", "content_type": "c/d" }));
        if round == 0 {
            reader.mark_read(&id);
        } else {
            expected.push(id);
        }
    }
    let query = format!("thread_id=t&message_type=m&content_type=c%2Fd&from={}", a.did);
    for route in BOTH {
        assert_eq!(ids(&reader.items(&format!("{route}?{query}"))), expected);
        let page = reader.client.get(&format!("{route}?{query}&limit=1")).expect(200);
        assert_eq!((&page["count"], &page["has_more"]), (&json!(1), &json!(true)));
        let since = encode(text(&page["messages"][0], "timestamp"));
        let rest = reader.client.get(&format!("{route}?{query}&limit=1&since={since}")).expect(200);
        assert_eq!((&rest["messages"][0]["id"], &rest["has_more"]), (&json!(expected[1]), &json!(false)));
    }
}

fn unread_only_is_the_default_and_a_get_marks_nothing(suite: &Suite) {
    let [a, reader] = agents(suite);
    let id = send(&a, &reader, json!({}));
    for route in BOTH {
        for _ in 0..2 {
            assert_eq!(ids(&reader.items(route)), [id.as_str()]);
        }
    }
    assert_eq!(reader.unread_count(), 1);
    reader.mark_read(&id);
    for route in BOTH {
        assert!(reader.items(route).is_empty());
        assert_eq!(ids(&reader.items(&format!("{route}?unread=false"))), [id.as_str()]);
    }
}

/// Decision message-stamps.
fn timestamps_have_six_digits_and_increase(suite: &Suite) {
    let [a, b, reader] = agents(suite);
    std::thread::scope(|scope| {
        for sender in [&a, &b] {
            let reader = &reader;
            scope.spawn(move || (0..20).for_each(|_| drop(send(sender, reader, json!({})))));
        }
    });
    let stamps: Vec<i64> = reader.everything().iter().map(|item| micros(&item["timestamp"])).collect();
    assert_eq!(stamps.len(), 40);
    assert!(stamps.windows(2).all(|pair| pair[0] < pair[1]), "{stamps:?}");
}

fn messages_come_oldest_first_whoever_sent_them(suite: &Suite) {
    let [a, b, reader] = agents(suite);
    let sent: Vec<String> = (0..12).map(|at| send(if at % 3 == 0 { &a } else { &b }, &reader, json!({}))).collect();
    for route in BOTH {
        assert_eq!(ids(&reader.items(route)), sent);
    }
}

/// Decision message-stamps.
fn since_is_exclusive_and_compared_as_a_number(suite: &Suite) {
    let [a, reader] = agents(suite);
    let sent: Vec<String> = (0..4).map(|_| send(&a, &reader, json!({}))).collect();
    let items = reader.raw();
    for route in BOTH {
        for (at, item) in items.iter().enumerate() {
            let stamp = text(item, "timestamp");
            let after = |since: &str| ids(&reader.items(&format!("{route}?since={}", encode(since))));
            assert_eq!(after(stamp), sent[at + 1..], "since {stamp}");
            // In milliseconds the stamp is before the message, unless it is a whole millisecond.
            let rounded = format!("{}Z", &stamp[..stamp.len() - 4]);
            let floor = micros(&item["timestamp"]) / 1_000 * 1_000;
            let expected: Vec<String> = items
                .iter()
                .filter(|item| micros(&item["timestamp"]) > floor)
                .map(|item| text(item, "id").into())
                .collect();
            assert_eq!(after(&rounded), expected, "since {rounded}");
        }
        // A colon and a plus sign need no encoding in a query, so clients do not encode them.
        let bare = text(&items[1], "timestamp");
        assert_eq!(ids(&reader.items(&format!("{route}?since={bare}"))), sent[2..]);
        assert_eq!(ids(&reader.items(&format!("{route}?since=1970-01-01T00:00:00.000Z"))), sent);
        assert!(reader.items(&format!("{route}?since=2999-01-01T00:00:00.000Z")).is_empty());
    }
}

fn a_page_holds_100_at_most_and_says_whether_there_is_more(suite: &Suite) {
    let [a, reader] = agents(suite);
    let sent: Vec<String> = (0..130).map(|_| send(&a, &reader, json!({}))).collect();
    for route in BOTH {
        for (query, count, more) in
            [("", 50, true), ("?limit=129", 100, true), ("?limit=100", 100, true), ("?limit=1", 1, true)]
        {
            let page = reader.client.get(&format!("{route}{query}")).expect(200);
            assert_eq!((&page["count"], &page["has_more"]), (&json!(count), &json!(more)), "{route}{query}");
            assert_eq!(page["limit"], json!(count), "the limit in force is echoed: {route}{query}");
            assert_eq!(ids(page["messages"].as_array().unwrap()), sent[..count]);
        }
        let mut paged: Vec<Value> = Vec::new();
        loop {
            let since =
                paged.last().map_or(String::new(), |item: &Value| format!("&since={}", text(item, "timestamp")));
            let page = reader.client.get(&format!("{route}?limit=26{since}")).expect(200);
            paged.extend(page["messages"].as_array().unwrap().clone());
            assert_eq!(page["has_more"], json!(paged.len() < 130), "130 = 5 pages of 26, the last is full");
            if page["has_more"] == false {
                break;
            }
        }
        assert_eq!(ids(&paged), sent);
    }
}

/// Decision request-size-limits.
fn a_limit_over_the_maximum_is_clamped(suite: &Suite) {
    let [a, reader] = agents(suite);
    send(&a, &reader, json!({}));
    for route in BOTH {
        for limit in ["101", "1000", "4294967296", "99999999999999999999999999"] {
            assert_eq!(reader.items(&format!("{route}?limit={limit}")).len(), 1, "{limit}");
        }
    }
}

fn bad_filters_are_400(suite: &Suite) {
    let [reader] = agents(suite);
    for route in BOTH {
        for query in [
            "limit=0",
            "limit=-1",
            "limit=x",
            "limit=1.5",
            "limit=1e2",
            "limit=%2B5",
            "since=yesterday",
            "since=2026-13-01T00:00:00Z",
            "since=%00",
            "since=%ff",
            "unread=maybe",
            "thread_id=%ff",
        ] {
            reader.client.get(&format!("{route}?{query}")).expect_error(400, "BAD_REQUEST");
        }
    }
}

fn a_read_mark_is_idempotent_and_only_the_recipients(suite: &Suite) {
    let [a, stranger, reader] = agents(suite);
    let id = send(&a, &reader, json!({}));
    let path = format!("/v1/agent/messages/{id}/read");
    for other in [&a, &stranger] {
        other.client.send("POST", &path, None, b"").expect_error(404, "NOT_FOUND");
    }
    assert_eq!(reader.unread_count(), 1);
    let first = reader.mark_read(&id);
    assert_eq!((&first["read"], &first["already_read"]), (&json!(true), &json!(false)));
    assert!(heliograph_core::Timestamp::parse(text(&first, "read_at")).is_some());
    let second = reader.mark_read(&id);
    assert_eq!((&second["read"], &second["already_read"]), (&json!(true), &json!(true)));
    assert_eq!(second["read_at"], first["read_at"]);
    assert_eq!(reader.unread_count(), 0);
}

fn a_batch_of_read_marks_skips_what_it_does_not_know(suite: &Suite) {
    let [a, stranger, reader] = agents(suite);
    let sent: Vec<String> = (0..4).map(|_| send(&a, &reader, json!({}))).collect();
    let foreign = send(&reader, &a, json!({}));
    let batch = |agent: &Agent, ids: Value| {
        agent.client.post("/v1/agent/messages/read-batch", &json!({ "message_ids": ids })).expect(200)
    };
    let unknown = format!("{}AAAAAAAAAAAAAAAA", &sent[0][..23]);
    let answer = batch(&reader, json!([sent[0], unknown, "x", "", sent[2], foreign, "\u{1f600}"]));
    assert_eq!((&answer["updated"], &answer["total_requested"]), (&json!(2), &json!(7)));
    assert_eq!(answer["marked"], answer["updated"]);
    assert_eq!(ids(&reader.raw()), [sent[1].as_str(), &sent[3]]);
    assert_eq!(a.unread_count(), 1, "the message of another stays unread");
    assert_eq!(batch(&stranger, json!(sent))["updated"], 0);
    assert_eq!(batch(&reader, json!([]))["total_requested"], 0);
    assert_eq!(reader.unread_count(), 2);
}

fn a_batch_has_at_most_100_ids(suite: &Suite) {
    let [a, reader] = agents(suite);
    let id = send(&a, &reader, json!({}));
    let batch = |count: usize| {
        let ids: Vec<String> = (1..count).map(|at| format!("unknown-{at}")).chain([id.clone()]).collect();
        reader.client.post("/v1/agent/messages/read-batch", &json!({ "message_ids": ids }))
    };
    batch(101).expect_error(400, "BAD_REQUEST");
    assert_eq!(reader.unread_count(), 1);
    assert_eq!(batch(100).expect(200)["updated"], 1);
    for body in [json!({}), json!({ "message_ids": "x" }), json!({ "message_ids": [1] }), json!([])] {
        reader.client.post("/v1/agent/messages/read-batch", &body).expect_error(400, "BAD_REQUEST");
    }
}

fn the_unread_count_is_by_sender(suite: &Suite) {
    let [a, b, c, reader] = agents(suite);
    assert_eq!(reader.client.get("/v1/agent/messages/unread-count").expect(200)["by_sender"], json!([]));
    for (sender, count) in [(&a, 3), (&b, 1), (&c, 1)] {
        (0..count).for_each(|_| drop(send(sender, &reader, json!({}))));
    }
    let read = send(&c, &reader, json!({}));
    reader.mark_read(&read);
    let body = reader.client.send("GET", "/v1/agent/messages/unread-count", Some("application/json"), b"").expect(200);
    assert_eq!(body["unread_count"], 5);
    let counts: BTreeSet<(String, u64)> = body["by_sender"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (text(row, "from").to_owned(), row["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [(a.did.clone(), 3), (b.did.clone(), 1), (c.did.clone(), 1)].into());
    for (sender, count) in [(&a, 3), (&c, 1), (&reader, 0)] {
        let path = format!("/v1/agent/messages/unread-count?from={}", encode(&sender.did));
        assert_eq!(reader.client.get(&path).expect(200)["unread_count"], count);
    }
}

fn sender_and_recipient_may_delete_and_nobody_else(suite: &Suite) {
    let [a, stranger, reader] = agents(suite);
    let sent: Vec<String> = (0..3).map(|_| send(&a, &reader, json!({}))).collect();
    let path = |at: usize| format!("/v1/agent/messages/{}", sent[at]);
    stranger.client.delete(&path(0)).expect_error(404, "NOT_FOUND");
    assert_eq!(a.client.delete(&path(0)).expect(200)["deleted"], true);
    assert_eq!(reader.client.delete(&path(1)).expect(200)["deleted"], true);
    for agent in [&a, &reader] {
        agent.client.delete(&path(0)).expect_error(404, "NOT_FOUND");
    }
    assert_eq!(ids(&reader.everything()), [sent[2].as_str()]);
    assert_eq!(reader.unread_count(), 1);
    reader.mark_read(&sent[2]);
    assert_eq!(a.client.delete(&path(2)).expect(200)["deleted"], true);
    assert!(reader.everything().is_empty());
    assert_eq!(reader.unread_count(), 0);
}

fn an_unknown_message_id_is_404(suite: &Suite) {
    let [a, reader] = agents(suite);
    let real = send(&a, &reader, json!({}));
    let others = [
        "x".to_owned(),
        "%2F".to_owned(),
        "00000000-0000-0000-0000-000000000000".to_owned(),
        real[..38].to_owned(),
        format!("{real}A"),
        format!("{}{}", "A".repeat(22), &real[22..]),
        format!("{}{}", &real[..23], "A".repeat(16)),
    ];
    for id in others {
        reader.client.delete(&format!("/v1/agent/messages/{id}")).expect_error(404, "NOT_FOUND");
        let path = format!("/v1/agent/messages/{id}/read");
        reader.client.send("POST", &path, None, b"").expect_error(404, "NOT_FOUND");
    }
    assert_eq!(reader.unread_count(), 1);
}

fn empty_bodies_with_a_json_type_are_no_bodies(suite: &Suite) {
    let [a, reader] = agents(suite);
    let id = send(&a, &reader, json!({}));
    let did = reader.did.clone();
    for (method, path) in [
        ("GET", "/v1/agent/receive".to_owned()),
        ("GET", "/v1/agent/receive/raw".to_owned()),
        ("GET", "/v1/agent/messages/unread-count".to_owned()),
        ("GET", "/v1/agent/profile".to_owned()),
        ("GET", "/v1/agent/keys/pins".to_owned()),
        ("GET", format!("/v1/agent/identity/{did}")),
        ("POST", format!("/v1/agent/messages/{id}/read")),
        ("DELETE", format!("/v1/agent/messages/{id}")),
        ("PATCH", "/v1/agent/profile".to_owned()),
        ("DELETE", "/v1/agent/deactivate".to_owned()),
    ] {
        let answer = reader.client.send(method, &path, Some("application/json"), b"");
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
        assert!(answer.json().is_object());
    }
}

fn nobody_reads_the_mail_of_another(suite: &Suite) {
    let [a, stranger, reader] = agents(suite);
    send(&a, &reader, json!({}));
    for route in BOTH {
        for agent in [&a, &stranger] {
            assert!(agent.items(&format!("{route}?unread=false")).is_empty());
        }
        suite.client().get(route).expect_error(401, "UNAUTHORIZED");
    }
}

/// Decision mailbox-pages.
fn a_big_page_ends_early_and_says_so(suite: &Suite) {
    // 40 messages of 175 kB are 7 MB: more than one answer may have.
    let client = suite.client();
    let (a, reader) = (SdkAgent::new(&client, Options::default()).agent, Agent::server_side(&client));
    let sent: Vec<String> = (0..40)
        .map(|_| {
            let mut body = letter(&reader.did, "x");
            body["ciphertext"] = json!("QUJD".repeat(43_698));
            text(&a.client.post("/v1/agent/send/encrypted", &body).expect(201), "id").to_owned()
        })
        .collect();
    let answer = reader.client.get("/v1/agent/receive/raw?limit=100");
    assert!(answer.body.len() < 5 * 1024 * 1024, "{} bytes", answer.body.len());
    let page = answer.expect(200);
    assert_eq!(page["has_more"], true);
    assert!(page["count"].as_u64().unwrap() >= 20, "{}", page["count"]);
    assert_eq!(ids(&reader.everything()), sent);
}
