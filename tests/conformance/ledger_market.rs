//! Listings, searches, hires, trust and stats of the ledger.

use heliograph_tests::client::Client;
use heliograph_tests::ledger::{Party, refused};
use heliograph_tests::relay::{text, unique};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_rating_after_a_release_by_hand_counts,
    a_receipt_that_an_admin_pays_is_not_called_unpaid,
    a_hire_goes_from_listing_to_payment,
    m13_listing_again_changes_the_same_listing,
    m4_to_m10_checks_of_a_hire,
    m12_the_same_hire_twice_is_one,
    m14_search_is_cheapest_first_and_filters_combine,
    a_free_listing_is_readable_but_found_by_nobody,
    a_hundred_listings_per_did,
    hires_are_listed_by_side_and_state,
    inputs_are_in_no_list_of_a_requester,
    bounds_of_listings,
    x1_x2_trust_of_an_unknown_did_divides_by_nothing,
    stats_count_what_happened,
];

/// A unique slug.
fn slug() -> String {
    format!("work{}.test", unique())
}

#[track_caller]
fn list(by: &Party, slug: &str, price: u64) -> Value {
    by.act("capability-list", by.listing(slug, price)).expect(200)["capability"].clone()
}

#[track_caller]
fn found(client: &Client, query: &str) -> Vec<Value> {
    client.get(&format!("/v1/pay/capability/search?{query}")).expect(200)["capabilities"].as_array().unwrap().clone()
}

fn a_hire_goes_from_listing_to_payment(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let listing = list(&b, &slug(), 1_000);
    let hired = a.act("hire-request", a.hire(&listing)).expect(200);
    assert_eq!((&hired["price_micro"], &hired["provider_did"]), (&json!(1_000), &json!(b.did())));
    assert_eq!((&hired["hire"]["id"], a.money()), (&hired["hire_id"], (9_999_000, 1_000)));
    let (hire, escrow) = (text(&hired, "hire_id"), text(&hired, "escrow_id"));
    let read = |hire: &str| client.get(&format!("/v1/pay/hire/{hire}")).expect(200)["hire"].clone();
    assert_eq!((text(&read(hire), "state"), text(&read(hire), "input")), ("requested", "{\"q\":1}"));
    let row = &client.get(&format!("/v1/pay/escrow/{escrow}")).expect(200)["escrow"];
    assert_eq!(text(row, "nonce"), format!("hire:{hire}"));
    assert_eq!(row["open_envelope_hash"], hired["envelope_hash"]);
    let receipt = b.act("work-claim", b.claim(a.did(), Some(escrow))).expect(200)["receipt_id"].clone();
    let claimed = read(hire);
    assert_eq!((text(&claimed, "state"), &claimed["receipt_id"]), ("claimed", &receipt));
    let accept = json!({ "receipt_id": receipt, "signer_did": a.did(), "action": "accept", "rating": 5 });
    a.act("work-acceptance", accept).expect(200);
    let completed = read(hire);
    assert_eq!(text(&completed, "state"), "completed");
    assert!(completed["completed_at"].is_string());
    assert_eq!((a.money(), b.money()), ((9_999_000, 0), (1_000, 0)));
    let row = &client.get(&format!("/v1/pay/capability/{}", text(&listing, "id"))).expect(200)["capability"];
    let counts =
        ["total_hires", "total_completed", "rating_sum", "rating_count"].map(|name| row[name].as_u64().unwrap());
    assert_eq!((counts, &row["rating_avg"]), ([1, 1, 5, 1], &json!(5.0)));
}

fn m13_listing_again_changes_the_same_listing(suite: &Suite) {
    let client = suite.client();
    let (b, slug) = (Party::new(&client), slug());
    let first = b.act("capability-list", b.listing(&slug, 1_000)).expect(200);
    assert_eq!(first["created"], true);
    let body = b.body("capability-list", b.listing(&slug, 900));
    let second = client.post("/v1/pay/capability/list", &body).expect(200);
    assert_eq!((&second["created"], &second["capability_id"]), (&json!(false), &first["capability_id"]));
    assert_eq!(second["capability"]["listed_at"], first["capability"]["listed_at"]);
    refused(&client.post("/v1/pay/capability/list", &body), 409, "nonce_seen");
    assert_eq!(found(&client, &format!("capability={slug}"))[0]["price_per_call_micro"], 900);
    let mut paused = b.listing(&slug, 900);
    paused["active"] = json!(false);
    b.act("capability-list", paused).expect(200);
    assert!(found(&client, &format!("capability={slug}")).is_empty());
    let own = client.get(&format!("/v1/pay/capability/did/{}", b.did())).expect(200);
    assert_eq!((&own["capabilities"][0]["active"], own["capabilities"].as_array().unwrap().len()), (&json!(0), 1));
    list(&b, &slug, 800);
    assert_eq!(found(&client, &format!("capability={slug}")).len(), 1);
}

fn m4_to_m10_checks_of_a_hire(suite: &Suite) {
    let client = suite.client();
    let (a, b, poor) = (Party::funded(&client), Party::funded(&client), Party::new(&client));
    let listing = list(&b, &slug(), 1_000);
    let try_with = |by: &Party, changes: Value, status: u16, reason: &str| {
        let mut members = by.hire(&listing);
        members.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        refused(&by.act("hire-request", members), status, reason);
    };
    try_with(&a, json!({ "capability_id": "undefined" }), 404, "capability_not_found");
    try_with(&a, json!({ "capability": "other.slug" }), 400, "capability_mismatch");
    try_with(&a, json!({ "provider_did": a.did() }), 400, "provider_did_mismatch");
    try_with(&b, json!({}), 400, "self_hire_not_allowed");
    try_with(&a, json!({ "price_micro": 999 }), 400, "price_mismatch");
    try_with(&poor, json!({}), 404, "sender_not_found");
    try_with(&a, json!({ "delivery_deadline_hours": 169 }), 400, "deadline_exceeds_escrow_max");
    try_with(&a, json!({ "delivery_deadline_hours": 0 }), 400, "invalid_envelope");
    try_with(&a, json!({ "input_json": "x".repeat(2_049) }), 400, "invalid_envelope");
    let ghost = heliograph_tests::ledger::Signer::new(
        "svc",
        heliograph_core::crypto::Secret::new(heliograph_tests::relay::seed()),
    );
    let mut members = a.hire(&listing);
    members["requester_did"] = json!(ghost.did);
    members["nonce"] = json!("a-nonce-of-nobody");
    refused(
        &client.post("/v1/pay/hire", &ghost.signed("hire-request", client.now(), members)),
        404,
        "requester_pubkey_not_found",
    );
    assert_eq!(a.money(), (10_000_000, 0));
    let mut paused = b.listing(text(&listing, "capability"), 1_000);
    paused["active"] = json!(false);
    b.act("capability-list", paused).expect(200);
    try_with(&a, json!({}), 409, "capability_inactive");
    let dear = list(&b, &slug(), 50_000_000);
    refused(&a.act("hire-request", a.hire(&dear)), 402, "insufficient_balance");
}

fn m12_the_same_hire_twice_is_one(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let listing = list(&b, &slug(), 1_000);
    let body = a.body("hire-request", a.hire(&listing));
    client.post("/v1/pay/hire", &body).expect(200);
    refused(&client.post("/v1/pay/hire", &body), 409, "nonce_seen");
    assert_eq!(a.money(), (9_999_000, 1_000));
}

fn m14_search_is_cheapest_first_and_filters_combine(suite: &Suite) {
    let client = suite.client();
    let (b, c, slug) = (Party::new(&client), Party::new(&client), slug());
    list(&b, &slug, 500);
    list(&c, &slug, 300);
    let mut named = c.listing(&format!("{slug}.more"), 100);
    named["description"] = json!(format!("Finds ÄPFEL for {slug}"));
    c.act("capability-list", named).expect(200);
    let prices = |query: &str| {
        let rows = found(&client, query);
        rows.iter().map(|row| row["price_per_call_micro"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(prices(&format!("capability={slug}")), [300, 500]);
    assert_eq!(prices(&format!("q={}", slug.to_uppercase())), [100, 300, 500]);
    assert_eq!(prices(&format!("q=%C3%A4pfel+for+{slug}")), [100]);
    assert_eq!(prices(&format!("q={slug}&max_price_micro=300")), [100, 300]);
    assert_eq!(prices(&format!("q={slug}&provider_did={}", b.did())), [500]);
    assert_eq!(prices(&format!("provider_did={}", c.did())), [100, 300]);
    assert_eq!(prices("capability=nothing.here"), [] as [u64; 0]);
    assert_eq!(prices("provider_did=did:svc:nobody"), [] as [u64; 0]);
    let page = client.get(&format!("/v1/pay/capability/search?q={slug}&limit=2&unknown=1")).expect(200);
    assert_eq!((page["capabilities"].as_array().unwrap().len(), &page["query"]["limit"]), (2, &json!(2)));
    let cursor = text(&page, "next_cursor");
    assert_eq!(prices(&format!("q={slug}&limit=2&before={cursor}")), [500]);
    assert!(client.get("/v1/pay/capability/search?limit=1000").expect(200)["query"]["limit"] == 200);
}

fn a_free_listing_is_readable_but_found_by_nobody(suite: &Suite) {
    let client = suite.client();
    let (a, b, slug) = (Party::funded(&client), Party::new(&client), slug());
    let free = list(&b, &slug, 0);
    assert!(found(&client, &format!("capability={slug}")).is_empty());
    assert_eq!(client.get(&format!("/v1/pay/capability/{}", text(&free, "id"))).expect(200)["capability"], free);
    assert_eq!(client.get(&format!("/v1/pay/capability/did/{}", b.did())).expect(200)["capabilities"], json!([free]));
    let trust = &client.get(&format!("/v1/pay/trust/{}", b.did())).expect(200)["as_provider"];
    assert_eq!((&trust["total_capabilities"], &trust["active_capabilities"]), (&json!(1), &json!(0)));
    refused(&a.act("hire-request", a.hire(&free)), 400, "amount_out_of_range");
}

fn a_hundred_listings_per_did(suite: &Suite) {
    let target = suite.fresh(&[("pay_writes_per_minute", "0")]);
    let client = target.client();
    let b = Party::new(&client);
    for n in 0..100 {
        list(&b, &format!("slug{n}"), 1);
    }
    refused(&b.act("capability-list", b.listing("one.more", 1)), 409, "listing_limit");
    list(&b, "slug7", 2);
}

fn hires_are_listed_by_side_and_state(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let listing = list(&b, &slug(), 10);
    let hires: Vec<Value> = (0..4).map(|_| a.act("hire-request", a.hire(&listing)).expect(200)).collect();
    b.act("work-claim", b.claim(a.did(), Some(text(&hires[1], "escrow_id")))).expect(200);
    let ids = |side: &str, of: &Party, query: &str| {
        let page = client.get(&format!("/v1/pay/hire/{side}/{}?{query}", of.did())).expect(200);
        let rows = page["hires"].as_array().unwrap().clone();
        (rows.iter().map(|row| row["id"].clone()).collect::<Vec<_>>(), page["next_cursor"].clone())
    };
    let id = |n: usize| hires[n]["hire_id"].clone();
    let all = [id(3), id(2), id(1), id(0)];
    assert_eq!(ids("incoming", &b, "").0, all);
    assert_eq!(ids("outgoing", &a, "").0, all);
    assert_eq!(ids("incoming", &b, "state=requested").0, [id(3), id(2), id(0)]);
    assert_eq!(ids("outgoing", &a, "state=claimed").0, [id(1)]);
    assert!(ids("incoming", &a, "").0.is_empty());
    let (first, cursor) = ids("incoming", &b, "limit=3");
    let (rest, end) = ids("incoming", &b, &format!("limit=3&before={}", cursor.as_str().unwrap()));
    assert_eq!(([first, rest].concat(), end), (all.to_vec(), Value::Null));
    refused(&client.get(&format!("/v1/pay/hire/incoming/{}?state=done", b.did())), 400, "bad_request");
}

fn inputs_are_in_no_list_of_a_requester(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let listing = list(&b, &slug(), 10);
    a.act("hire-request", a.hire(&listing)).expect(200);
    let input = |side: &str, of: &Party| {
        let page = client.get(&format!("/v1/pay/hire/{side}/{}", of.did())).expect(200);
        (page["hires"][0]["input_json"].clone(), page["hires"][0]["input"].clone())
    };
    assert_eq!(input("outgoing", &a), (Value::Null, Value::Null));
    assert_eq!(input("incoming", &b), (json!("{\"q\":1}"), json!("{\"q\":1}")));
}

fn bounds_of_listings(suite: &Suite) {
    let client = suite.client();
    let (b, slug) = (Party::new(&client), slug());
    let try_with = |changes: Value, reason: &str| {
        let mut members = b.listing(&slug, 1);
        members.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        refused(&b.act("capability-list", members), 400, reason);
    };
    for wrong in [
        json!({ "capability": "UPPER" }),
        json!({ "capability": ".dot" }),
        json!({ "capability": "x".repeat(65) }),
        json!({ "name": "" }),
        json!({ "name": "x".repeat(81) }),
        json!({ "description": "x".repeat(561) }),
        json!({ "unit": "x".repeat(25) }),
        json!({ "sla_deadline_hours": 0 }),
        json!({ "sla_deadline_hours": 169 }),
        json!({ "sla_deadline_hours": 1.5 }),
        json!({ "tags": ["a"] }),
        json!({ "tags": "x".repeat(513) }),
        json!({ "input_schema": "x".repeat(2_049) }),
        json!({ "active": 1 }),
    ] {
        try_with(wrong, "invalid_envelope");
    }
    try_with(json!({ "price_per_call_micro": -1 }), "amount_out_of_range");
    try_with(json!({ "price_per_call_micro": 100_000_000_001_u64 }), "amount_out_of_range");
    let mut most = b.listing(&slug, 100_000_000_000);
    most["name"] = json!("é".repeat(80));
    b.act("capability-list", most).expect(200);
}

fn x1_x2_trust_of_an_unknown_did_divides_by_nothing(suite: &Suite) {
    let client = suite.client();
    for did in ["did:svc:nobody-at-all", "undefined"] {
        let answer = client.get(&format!("/v1/pay/trust/{did}"));
        assert_eq!(answer.header("cache-control"), Some("public, max-age=30"));
        let trust = answer.expect(200);
        assert_eq!((text(&trust, "schema"), text(&trust, "did")), ("svc-pay-trust/v1", did));
        assert_eq!(
            (&trust["as_provider"]["completion_rate"], &trust["as_provider"]["rating_avg"]),
            (&json!(1.0), &Value::Null)
        );
        assert_eq!((&trust["wallet"]["exists"], trust["notes"].is_array()), (&json!(false), true));
    }
}

fn stats_count_what_happened(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let empty = client.get("/v1/pay/stats").expect(200);
    assert_eq!(empty["wallets"], json!({ "total": 0, "active_24h": 0 }));
    assert_eq!(empty["value_settled"], json!({ "total_micro": 0, "last_24h_micro": 0 }));
    for name in ["top_capabilities", "top_providers_by_earnings", "recent_hires"] {
        assert_eq!(empty[name], json!([]), "{name}");
    }
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let listing = list(&b, "hash.sha256", 1_000);
    list(&b, "free.of.charge", 0);
    let hired = a.act("hire-request", a.hire(&listing)).expect(200);
    a.act("hire-request", a.hire(&listing)).expect(200);
    let claim = b.act("work-claim", b.claim(a.did(), Some(text(&hired, "escrow_id")))).expect(200);
    let accept = json!({ "receipt_id": claim["receipt_id"], "signer_did": a.did(), "action": "accept" });
    a.act("work-acceptance", accept).expect(200);
    let stats = client.get("/v1/pay/stats").expect(200);
    assert_eq!(stats["wallets"], json!({ "total": 2, "active_24h": 2 }));
    assert_eq!(stats["capabilities"], json!({ "total": 2, "active": 1, "distinct_providers": 1 }));
    let hires = json!({ "total": 2, "total_completed": 1, "total_disputed": 0, "total_in_flight": 1, "last_24h": 2, "last_1h": 2 });
    assert_eq!(stats["hires"], hires);
    assert_eq!(stats["value_settled"], json!({ "total_micro": 1_000, "last_24h_micro": 1_000 }));
    assert_eq!(stats["top_capabilities"][0]["id"], listing["id"]);
    let top = json!([{ "did": b.did(), "total_earned_micro": 1_000, "total_completed": 1, "active_capabilities": 1 }]);
    assert_eq!(stats["top_providers_by_earnings"], top);
    assert_eq!(stats["recent_hires"].as_array().unwrap().len(), 2);
    assert_eq!(
        (text(&stats["recent_hires"][1], "state"), text(&stats["recent_hires"][1], "capability")),
        ("completed", "hash.sha256")
    );
}

/// An acceptance gives a rating even if the requester had paid before.
fn a_rating_after_a_release_by_hand_counts(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let listing = b.act("capability-list", b.listing(&slug(), 1_000)).expect(200)["capability"].clone();
    let hired = a.act("hire-request", a.hire(&listing)).expect(200);
    let escrow = text(&hired, "escrow_id");
    let receipt = b.act("work-claim", b.claim(a.did(), Some(escrow))).expect(200)["receipt_id"].clone();
    a.close("escrow-release", escrow).expect(200);
    a.act("work-acceptance", json!({ "receipt_id": receipt, "signer_did": a.did(), "action": "accept", "rating": 4 }))
        .expect(200);
    let row = &client.get(&format!("/v1/pay/capability/{}", text(&listing, "id"))).expect(200)["capability"];
    let counts = ["total_completed", "rating_sum", "rating_count"].map(|name| row[name].as_u64().unwrap());
    assert_eq!(counts, [1, 4, 1], "{row}");
}

/// The receipt's statement about its escrow follows a release by anybody.
fn a_receipt_that_an_admin_pays_is_not_called_unpaid(suite: &Suite) {
    let client = suite.client();
    let operator = heliograph_tests::ledger::Operator::new(&client, "all");
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let escrow = a.open(b.did(), 7);
    let receipt = b.act("work-claim", b.claim(a.did(), Some(&escrow))).expect(200)["receipt_id"].clone();
    operator.act("freeze", json!({ "did": a.did(), "frozen": true })).expect(200);
    a.act("work-acceptance", json!({ "receipt_id": receipt, "signer_did": a.did(), "action": "accept" })).expect(200);
    let read = || {
        let row = client.get(&format!("/v1/pay/receipt/{}", receipt.as_str().unwrap())).expect(200)["receipt"].clone();
        (row["escrow_released"].clone(), row["escrow_release_error"].clone())
    };
    assert_eq!(read(), (json!(0), json!("sender_frozen")));
    operator.act("escrow_release", json!({ "escrow_id": escrow })).expect(200);
    assert_eq!(read(), (json!(1), Value::Null));
}
