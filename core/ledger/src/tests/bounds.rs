//! Operations and pages read a bounded part of many rows, and pages show each row once (decisions shared-market-reads,
//! offer-index, cap-window and unique-event-times).

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::{Party, World, hours, minutes, refused, text, with};
use crate::book;
use crate::keys::Signers;
use crate::rows::{BURNT, BURNT_UNTIL, WALLETS};
use crate::testing::PROGRAM;
use engine::actor::{ActorId, Kind};
use engine::kv::{Batch, Direction, MemoryStore, Pair, Range, Read, Store, StoreError};
use engine::runtime::Runtime;
use relay::testing::TestRuntime;

/// Counts the rows that scans return.
struct Counting(MemoryStore, Cell<usize>);

impl Read for Counting {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.get(key)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        let found = self.0.scan(range, direction, limit)?;
        self.1.set(self.1.get() + found.len());
        Ok(found)
    }
}

impl World {
    fn stored(&self) -> Counting {
        let mut batch = Batch::default();
        for (key, value) in self.rt.rows(&ActorId::sole(Kind::Ledger)) {
            batch.put(key, value);
        }
        let mut store = MemoryStore::default();
        store.apply(batch).unwrap();
        Counting(store, Cell::new(0))
    }

    /// Hires, and returns the id of the escrow.
    fn order(&self, by: &Party, listing: &Value) -> String {
        self.hire(by, listing).unwrap()["escrow_id"].as_str().unwrap().to_owned()
    }

    /// The ids on all pages of a list. Cursors are put into the address as they are.
    pub(super) fn pages(&self, path: &str, member: &str) -> Vec<String> {
        let (mut ids, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.get(&format!("{path}{cursor}"));
            let rows = page[member].as_array().unwrap();
            ids.extend(rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()));
            let Some(next) = page["next_cursor"].as_str() else { return ids };
            assert!(next.chars().all(|c| c.is_ascii_digit() || "T:.-Z".contains(c)), "{next}");
            cursor = format!("&before={next}");
        }
    }
}

#[track_caller]
fn once(ids: &[String], number: usize) {
    let different: BTreeSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), different.len()), (number, number));
}

/// Decision cap-window: however many payments a wallet made in a day, an operation reads those of one minute.
#[test]
fn an_operation_reads_one_boundary_minute() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000_000), world.party(2));
    let name = a.signer.did.strip_prefix("did:svc:").unwrap();
    let mut paid = Vec::new();
    for minute in 0..24 * 60 {
        for _ in 0..if minute % 60 == 0 { 9 } else { 1 } {
            world.pay(&a, &b, 7).unwrap();
            paid.push(world.rt.now());
        }
        world.wait(minutes(1));
    }
    for seconds in [0, 1, 30, 59, 60, 61, 90, 3_600] {
        let now = world.rt.now().plus(seconds * 1_000_000);
        let stored = world.stored();
        let wallet = WALLETS.get(&stored, &(name.to_owned(),)).unwrap().unwrap();
        assert!(wallet.flow.len() <= 1_441);
        let spent = book::spent(&stored, now, name, &wallet).unwrap();
        let counts = |at: &&crate::Timestamp| now.since(**at) <= engine::time::DAY;
        assert_eq!(spent, 7 * paid.iter().filter(counts).count() as u64, "{seconds} s later");
        assert!(stored.1.get() <= 9, "{} rows", stored.1.get());
    }
}

/// Decision unique-event-times: a thousand rows of one millisecond are on pages once, in every list.
#[test]
fn a_thousand_rows_of_one_millisecond_page_out_exactly_once() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000_000_000), world.party(2));
    let (from, to) = (a.signer.did.clone(), b.signer.did.clone());
    let listing = world.list(&b, "work", 1_000);
    let mut receipt = String::new();
    for _ in 0..1_000 {
        world.pay(&a, &b, 1).unwrap();
        let escrow = world.order(&a, &listing);
        receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    }
    let now = world.rt.now().to_millis_text();
    for (path, member, number) in [
        (format!("history/{from}?limit=7"), "transfers", 1_000),
        (format!("history/{to}?limit=200"), "transfers", 1_000),
        (format!("escrow/history/{from}?limit=199"), "escrows", 1_000),
        (format!("escrow/history/{to}?limit=150&role=to"), "escrows", 1_000),
        (format!("hire/incoming/{to}?limit=200"), "hires", 1_000),
        (format!("hire/incoming/{to}?limit=9&state=claimed"), "hires", 1_000),
        (format!("hire/outgoing/{from}?limit=77"), "hires", 1_000),
        (format!("receipt/did/{from}?limit=200"), "receipts", 1_000),
        (format!("receipt/did/{to}?limit=33&role=to"), "receipts", 1_000),
        (format!("history/{to}?limit=5&before={now}"), "transfers", 0),
    ] {
        once(&world.pages(&format!("/v1/pay/{path}"), member), number);
    }
    let escrow = world.receipt(&receipt)["escrow_id"].as_str().unwrap().to_owned();
    once(&world.pages(&format!("/v1/pay/receipt/escrow/{escrow}?limit=1"), "receipts"), 1);
}

/// The same for listings that many providers offer at one price.
#[test]
fn listings_of_one_price_and_moment_page_out_exactly_once() {
    let world = World::new();
    let providers: Vec<Party> = (1..=10).map(|seed| world.party(seed)).collect();
    for provider in &providers {
        (0..30).for_each(|number| drop(world.list(provider, &format!("work{number}"), 500)));
    }
    let search = |query: &str| world.pages(&format!("/v1/pay/capability/search?{query}"), "capabilities");
    once(&search("limit=7"), 300);
    once(&search("limit=200&q=ork"), 300);
    once(&search("limit=3&capability=work7"), 10);
    once(&search(&format!("limit=4&provider_did={}", providers[3].signer.did)), 30);
    once(&world.pages(&format!("/v1/pay/capability/did/{}?limit=7", providers[3].signer.did), "capabilities"), 30);
    assert_eq!(search("limit=7"), search("limit=200"), "the same order on pages of every size");
}

/// Decision shared-market-reads: where reads are shared, answers about the market may be 30 s late and no later;
/// answers about money or a freeze are never late.
#[test]
fn shared_reads_are_late_by_at_most_thirty_seconds_and_a_freeze_shows_at_once() {
    let world =
        World::on(TestRuntime::start_sharing(&PROGRAM, &[("admin_key", "operator"), ("pay_writes_per_minute", "0")]));
    let (a, b) = (world.rich(1, 1_000_000), world.party(2));
    let asked = |path: &str| {
        world.rt.calls();
        world.get(path);
        world.rt.calls().len()
    };
    let did = &b.signer.did;
    let found = || world.get("/v1/pay/capability/search?q=work")["capabilities"].as_array().unwrap().len();
    assert_eq!(found(), 0);
    let listing = world.list(&b, "work", 1_000);
    assert_eq!(found(), 0, "kept");
    world.wait(minutes(0) + std::time::Duration::from_secs(30));
    assert_eq!(found(), 1, "30 s later");
    let shared = [
        "/v1/pay/capability/search?q=work".to_owned(),
        format!("/v1/pay/capability/search?provider_did={did}"),
        format!("/v1/pay/capability/did/{did}"),
        format!("/v1/pay/trust/{did}"),
        "/v1/pay/stats".to_owned(),
        "/v1/pay/manifest.json".to_owned(),
    ];
    for path in &shared {
        asked(path);
        assert_eq!(asked(path), 0, "{path}");
    }
    // One question remains: whether the system is frozen.
    asked("/v1/pay/health");
    assert_eq!(asked("/v1/pay/health"), 1);
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    assert_eq!(world.get("/v1/pay/health")["system_frozen"], true);
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    assert_eq!(world.get("/v1/pay/health")["system_frozen"], false);
    // Answers about money or work in progress are not kept.
    let hired = world.hire(&a, &listing).unwrap();
    let (hire, escrow) = (text(&hired, "hire_id"), text(&hired, "escrow_id"));
    let transfer = world.pay(&a, &b, 5).unwrap()["transfer_id"].as_str().unwrap().to_owned();
    let receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    for path in [
        format!("wallet/{did}"),
        format!("transfer/{transfer}"),
        format!("escrow/{escrow}"),
        format!("receipt/{receipt}"),
        format!("history/{did}"),
        format!("escrow/history/{did}"),
        format!("receipt/escrow/{escrow}"),
        format!("receipt/did/{did}"),
        format!("hire/{hire}"),
        format!("hire/incoming/{did}?state=claimed"),
        format!("hire/outgoing/{}", a.signer.did),
        format!("capability/{}", listing["id"].as_str().unwrap()),
    ] {
        let path = format!("/v1/pay/{path}");
        asked(&path);
        assert!(asked(&path) > 0, "{path}");
    }
}

/// Without sharing, as natively, every read is exact.
#[test]
fn natively_a_search_shows_what_is_there_at_once() {
    let world = World::new();
    let b = world.party(2);
    let found = |query: &str| world.get(&format!("/v1/pay/capability/search?{query}"))["capabilities"].clone();
    assert_eq!(found("q=work"), json!([]));
    world.list(&b, "work", 1_000);
    assert_eq!(found("q=work")[0]["price_per_call_micro"], 1_000);
    world.list(&b, "work", 900);
    assert_eq!(found("q=work&max_price_micro=900")[0]["price_per_call_micro"], 900);
    assert_eq!(found("capability=work&max_price_micro=899"), json!([]));
}

/// Decision shared-market-reads: if storage cannot answer, reads and writes get 503 with a time to come back.
#[test]
fn overload_is_503_with_retry_after() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let members =
        json!({ "from_did": a.signer.did, "to_did": b.signer.did, "amount_micro": 1, "nonce": "a-nonce-of-a" });
    let body = a.signer.signed("credit-transfer", world.rt.now(), members).to_string();
    world.rt.close(true);
    let ask = |method: http::Method, path: &str, body: &str| {
        let request = engine::http::Request {
            method,
            path: path.to_owned(),
            headers: http::HeaderMap::new(),
            body: body.to_owned().into(),
            ..engine::http::Request::default()
        };
        let response = engine::http::serve(world.rt.clone(), request).now_or_never().unwrap();
        (response.status.as_u16(), response.headers.get("retry-after").map(|value| value.to_str().unwrap().to_owned()))
    };
    for path in ["/v1/pay/stats", "/v1/pay/capability/search", "/v1/pay/wallet/did:svc:a"] {
        assert_eq!(ask(http::Method::GET, path, ""), (503, Some("1".to_owned())), "{path}");
    }
    assert_eq!(ask(http::Method::POST, "/v1/pay/transfer", &body), (503, Some("1".to_owned())));
    world.rt.close(false);
    // Nothing was burnt.
    assert_eq!(ask(http::Method::POST, "/v1/pay/transfer", &body).0, 200);
}

/// A remembered key saves the question before a submission, and decides nothing.
#[test]
fn a_second_envelope_costs_one_call_and_a_bad_signature_is_looked_at_anew() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000_000), world.party(2));
    world.pay(&a, &b, 1).unwrap();
    world.rt.calls();
    world.pay(&a, &b, 1).unwrap();
    let calls: Vec<String> = world.rt.calls().into_iter().map(|(_, name)| name).collect();
    assert_eq!(calls, ["submit"]);
    let members =
        json!({ "from_did": a.signer.did, "to_did": b.signer.did, "amount_micro": 1, "nonce": "a-nonce-of-a" });
    let mut body = a.signer.signed("credit-transfer", world.rt.now(), members);
    body["signature"] = json!(b.signer.sign(&body["envelope"]));
    let (status, answer) = world.send("POST", "/v1/pay/transfer", None, &body);
    assert_eq!((status, &answer["reason"]), (400, &json!("invalid_signature")));
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    let (_, answer) = world.send("POST", "/v1/pay/transfer", None, &body);
    assert_eq!(answer["reason"], "system_frozen", "the first check, whatever the signature is");
    let rt: &Arc<TestRuntime> = &world.rt;
    assert!(Signers::of(rt.environment()).get(&a.name()).is_some());
}

/// Decision refusal-burns-nonce: outside its window a claim burns nothing, even if its requester is unknown.
#[test]
fn a_claim_outside_its_window_burns_and_stores_nothing() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let at = |seconds: i64| world.rt.now().plus(seconds * 1_000_000).to_millis_text();
    let claim = world.claim_of(&b, &a, None, hours(1));
    let burnt = || (world.rows(&BURNT), world.rows(&BURNT_UNTIL));
    let before = burnt();
    let of_nobody = with(&claim, json!({ "from_did": "did:svc:nobody", "nonce": "the-nonce-of-it" }));
    for window in [
        json!({ "expires_at": at(7_200) }),
        json!({ "issued_at": at(-900), "expires_at": at(-600) }),
        json!({ "expires_at": "9999-01-01T00:00:00.000Z" }),
    ] {
        refused(world.act(&b, "work-claim", with(&of_nobody, window)), "requester_pubkey_not_found");
    }
    assert_eq!(burnt(), before);
    world.act(&b, "work-claim", with(&claim, json!({ "nonce": "the-nonce-of-it" }))).unwrap();
}

/// Clients read the tags of every offer as a JSON array.
#[test]
fn tags_are_a_json_array_of_texts() {
    let world = World::new();
    let b = world.party(2);
    let list =
        |tags: &str| world.act(&b, "capability-list", with(&world.listing_of(&b, "work", 1), json!({ "tags": tags })));
    for wrong in ["", "a,b", "[", "{}", "[1]", "[null]", "[[\"a\"]]", "\"a\"", "null"] {
        refused(list(wrong), "invalid_envelope");
    }
    for right in ["[]", "[\"a\", \"b\"]", " [ \"\\u00e4\" ] "] {
        list(right).unwrap();
    }
}
#[test]
fn lists_take_a_limit_below_one_as_one() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    (0..3).for_each(|_| drop(world.pay(&a, &b, 1).unwrap()));
    for limit in ["0", "-3", "1"] {
        let page = world.get(&format!("/v1/pay/history/{}?limit={limit}", a.did()));
        assert_eq!(page["transfers"].as_array().unwrap().len(), 1, "{limit}");
        world.get(&format!("/v1/pay/capability/search?limit={limit}"));
    }
    assert_eq!(world.send("GET", &format!("/v1/pay/history/{}?limit=x", a.did()), None, &Value::Null).0, 400);
}
