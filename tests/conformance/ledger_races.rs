//! Many requests at once: in any order, money moves once and all of it is there afterwards.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use heliograph_tests::client::{Answer, Client};
use heliograph_tests::ledger::{Operator, Party, refused};
use heliograph_tests::relay::{text, unique};
use heliograph_tests::target::Kind;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    t12_a_hundred_identical_transfers_settle_once,
    g4_of_a_hundred_double_spends_one_settles,
    f6_a_hundred_claims_of_the_faucet_are_one_grant,
    two_hires_against_one_balance_are_one,
    m13_listing_at_once_makes_one_listing,
    refund_against_accept_pays_the_provider,
    refund_against_claim_lets_one_of_them_win,
    accept_against_dispute_ends_in_one_of_them,
    e15_release_against_expiry_moves_the_money_once,
    r17_accept_against_the_sweep_ends_in_one_state,
    after_the_answer_to_a_freeze_nothing_settles_that_64_connections_send,
];

/// A hundred requests of one agent at once are more than it may send in a minute.
const UNLIMITED: &[(&str, &str)] = &[("pay_writes_per_minute", "0")];

/// Time until the deadlines of a race: longer than its preparation takes.
const SOON: Duration = Duration::from_secs(12);

/// A request: path and body.
type Post = (&'static str, Value);

/// Sends all of them over separate connections that start together.
fn at_once(client: &Client, posts: &[Post]) -> Vec<Answer> {
    let barrier = Barrier::new(posts.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = posts
            .iter()
            .map(|(path, body)| {
                let (client, barrier) = (client.clone(), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    client.post(path, body)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// How many succeeded; all others must be refused for this reason.
#[track_caller]
fn settled(answers: &[Answer], status: u16, reason: &str) -> usize {
    let (settled, refusals): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    refusals.into_iter().for_each(|answer| refused(answer, status, reason));
    settled.len()
}

fn t12_a_hundred_identical_transfers_settle_once(suite: &Suite) {
    let target = suite.fresh(UNLIMITED);
    let client = target.client();
    for times in [1, 10, 100] {
        let (a, b) = (Party::funded(&client), Party::new(&client));
        let body = a.body("credit-transfer", a.transfer(b.did(), 5));
        let answers = at_once(&client, &vec![("/v1/pay/transfer", body); times]);
        assert_eq!(settled(&answers, 409, "nonce_seen"), 1);
        assert_eq!((a.money(), b.money()), ((9_999_995, 0), (5, 0)));
    }
}

fn g4_of_a_hundred_double_spends_one_settles(suite: &Suite) {
    let target = suite.fresh(UNLIMITED);
    let client = target.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let one = |_| ("/v1/pay/transfer", a.body("credit-transfer", a.transfer(b.did(), 6_000_000)));
    let answers = at_once(&client, &(0..100).map(one).collect::<Vec<_>>());
    assert_eq!(settled(&answers, 402, "insufficient_balance"), 1);
    assert_eq!((a.money(), b.money()), ((4_000_000, 0), (6_000_000, 0)));
    // Each refused transfer is a row, and none is settled.
    let history = client.get(&format!("/v1/pay/history/{}?limit=200", a.did())).expect(200);
    let rows = history["transfers"].as_array().unwrap();
    assert_eq!((rows.len(), rows.iter().filter(|row| row["status"] == "settled").count()), (100, 1));
}

fn f6_a_hundred_claims_of_the_faucet_are_one_grant(suite: &Suite) {
    let target = suite.fresh(UNLIMITED);
    let client = target.client();
    let a = Party::new(&client);
    let one = |_| ("/v1/pay/faucet", a.body("pay-faucet", json!({ "did": a.did() })));
    let answers = at_once(&client, &(0..100).map(one).collect::<Vec<_>>());
    assert_eq!(settled(&answers, 409, "already_claimed"), 1);
    assert_eq!(a.money(), (10_000_000, 0));
}

fn two_hires_against_one_balance_are_one(suite: &Suite) {
    let client = suite.client();
    let b = Party::new(&client);
    let slug = format!("work{}.test", unique());
    let listing = b.act("capability-list", b.listing(&slug, 6_000_000)).expect(200)["capability"].clone();
    for _ in 0..5 {
        let a = Party::funded(&client);
        let one = |_| ("/v1/pay/hire", a.body("hire-request", a.hire(&listing)));
        let answers = at_once(&client, &(0..2).map(one).collect::<Vec<_>>());
        assert_eq!(settled(&answers, 402, "insufficient_balance"), 1);
        assert_eq!(a.money(), (4_000_000, 6_000_000));
    }
}

fn m13_listing_at_once_makes_one_listing(suite: &Suite) {
    let client = suite.client();
    let (b, slug) = (Party::new(&client), format!("work{}.test", unique()));
    let one = |price| ("/v1/pay/capability/list", b.body("capability-list", b.listing(&slug, price)));
    let answers = at_once(&client, &(1..=40).map(one).collect::<Vec<_>>());
    let bodies: Vec<Value> = answers.iter().map(|answer| answer.expect(200)).collect();
    assert_eq!(bodies.iter().filter(|body| body["created"] == true).count(), 1);
    assert!(bodies.iter().all(|body| body["capability_id"] == bodies[0]["capability_id"]));
    let own = client.get(&format!("/v1/pay/capability/did/{}", b.did())).expect(200);
    assert_eq!(own["capabilities"].as_array().unwrap().len(), 1);
    // The listing is found once, with its present price.
    let found = client.get(&format!("/v1/pay/capability/search?capability={slug}")).expect(200);
    assert_eq!(found["capabilities"], own["capabilities"]);
}

/// An escrow of 300 between a funded party and another, optionally claimed.
fn scene(client: &Client, claimed: bool) -> (Party, Party, String, Option<String>) {
    let (a, b) = (Party::funded(client), Party::new(client));
    let escrow = a.open(b.did(), 300);
    let receipt = claimed
        .then(|| text(&b.act("work-claim", b.claim(a.did(), Some(&escrow))).expect(200), "receipt_id").to_owned());
    (a, b, escrow, receipt)
}

fn answer_of(a: &Party, receipt: &str, action: &str) -> Post {
    let members = json!({ "receipt_id": receipt, "signer_did": a.did(), "action": action, "dispute_reason": "no" });
    ("/v1/pay/receipt/accept", a.body("work-acceptance", members))
}

fn refund_of(a: &Party, escrow: &str) -> Post {
    let members = json!({ "escrow_id": escrow, "signer_did": a.did() });
    ("/v1/pay/escrow/refund", a.body("escrow-refund", members))
}

/// Decision due-before-anything: a refund needs a dispute first, so it never wins against an acceptance.
fn refund_against_accept_pays_the_provider(suite: &Suite) {
    let client = suite.client();
    for _ in 0..10 {
        let (a, b, escrow, receipt) = scene(&client, true);
        let answers = at_once(&client, &[refund_of(&a, &escrow), answer_of(&a, &receipt.unwrap(), "accept")]);
        answers[1].expect(200);
        let why = answers[0].json()["reason"].clone();
        assert!(answers[0].status == 409 && (why == "claim_pending" || why == "escrow_not_open"), "{why}");
        assert_eq!((a.money(), b.money()), ((9_999_700, 0), (300, 0)));
    }
}

fn refund_against_claim_lets_one_of_them_win(suite: &Suite) {
    let client = suite.client();
    for _ in 0..10 {
        let (a, b, escrow, _) = scene(&client, false);
        let claim = ("/v1/pay/receipt/claim", b.body("work-claim", b.claim(a.did(), Some(&escrow))));
        let answers = at_once(&client, &[refund_of(&a, &escrow), claim]);
        let statuses = [answers[0].status, answers[1].status];
        assert!(statuses == [200, 409] || statuses == [409, 200], "{statuses:?}");
        let (reason, locked) = if statuses[0] == 200 { ("escrow_not_open", 0) } else { ("claim_pending", 300) };
        refused(&answers[usize::from(statuses[0] == 200)], 409, reason);
        assert_eq!(a.money(), (10_000_000 - locked, locked));
    }
}

fn accept_against_dispute_ends_in_one_of_them(suite: &Suite) {
    let client = suite.client();
    for _ in 0..10 {
        let (a, b, _, receipt) = scene(&client, true);
        let receipt = receipt.unwrap();
        let answers = at_once(&client, &["accept", "dispute"].map(|action| answer_of(&a, &receipt, action)));
        assert_eq!(settled(&answers, 409, "receipt_not_pending"), 1);
        let row = client.get(&format!("/v1/pay/receipt/{receipt}")).expect(200)["receipt"].clone();
        match answers[0].status {
            200 => assert_eq!((text(&row, "state"), a.money(), b.money()), ("accepted", (9_999_700, 0), (300, 0))),
            _ => assert_eq!((text(&row, "state"), a.money()), ("disputed", (9_999_700, 300))),
        }
    }
}

/// Waits until just before a moment; in memory until just after it.
fn near(suite: &Suite, client: &Client, moment: heliograph_core::Timestamp) {
    let rest = client.now().until(moment);
    match suite.kind {
        Kind::Memory => client.wait(rest + Duration::from_micros(1)),
        _ => client.wait(rest.saturating_sub(Duration::from_millis(30))),
    }
}

fn e15_release_against_expiry_moves_the_money_once(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    let deadline = client.now().plus_duration(SOON);
    let members = |amount: u64| {
        json!({ "from_did": a.did(), "to_did": b.did(), "amount_micro": amount,
            "deadline_at": deadline.to_millis_text() })
    };
    let escrows: Vec<String> = (1..=16)
        .map(|amount| text(&a.act("escrow-open", members(amount)).expect(200), "escrow_id").to_owned())
        .collect();
    near(suite, &client, deadline);
    let release = |escrow: &String| {
        let members = json!({ "escrow_id": escrow, "signer_did": a.did() });
        ("/v1/pay/escrow/release", a.body("escrow-release", members))
    };
    let posts: Vec<Post> =
        escrows.iter().flat_map(|escrow| [release(escrow), ("/v1/pay/escrow/sweep", json!({}))]).collect();
    let answers = at_once(&client, &posts);
    let released: u64 = (1_u64..)
        .zip(&answers[..])
        .filter(|(at, _)| at % 2 == 1)
        .map(|(at, answer)| match answer.status {
            200 => at.div_ceil(2),
            _ => {
                refused(answer, 409, "escrow_not_open");
                0
            }
        })
        .sum();
    client.wait(client.now().until(deadline) + Duration::from_millis(1));
    for (amount, escrow) in (1_u64..).zip(&escrows) {
        let row = client.get(&format!("/v1/pay/escrow/{escrow}")).expect(200)["escrow"].clone();
        assert!(["released", "expired"].contains(&text(&row, "state")), "{amount}: {row}");
        assert_eq!(answers[(amount as usize - 1) * 2].status == 200, text(&row, "state") == "released");
        refused(&a.close("escrow-release", escrow), 409, "escrow_not_open");
    }
    assert_eq!((a.money(), b.money()), ((10_000_000 - released, 0), (10_000_000 + released, 0)));
}

/// A claim whose five minutes are nearly over, because it was issued that long ago.
fn r17_accept_against_the_sweep_ends_in_one_state(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    let deadline = client.now().plus_duration(SOON);
    let issued = deadline.plus(-300 * 1_000_000);
    let claim = |amount: u64| {
        let escrow = a.open(b.did(), amount);
        let mut members = b.claim(a.did(), Some(&escrow));
        members["acceptance_deadline_at"] = json!(deadline.to_millis_text());
        members["issued_at"] = json!(issued.to_millis_text());
        // Every second claim expires without an acceptance.
        members["auto_accept_on_timeout"] = json!(amount.is_multiple_of(2));
        text(&b.act("work-claim", members).expect(200), "receipt_id").to_owned()
    };
    let receipts: Vec<String> = (1..=12).map(claim).collect();
    near(suite, &client, deadline);
    let posts: Vec<Post> = receipts
        .iter()
        .flat_map(|receipt| [answer_of(&a, receipt, "accept"), ("/v1/pay/receipt/sweep", json!({}))])
        .collect();
    let answers = at_once(&client, &posts);
    client.wait(client.now().until(deadline) + Duration::from_millis(1));
    let mut paid = 0;
    for (amount, receipt) in (1_u64..).zip(&receipts) {
        let row = client.get(&format!("/v1/pay/receipt/{receipt}")).expect(200)["receipt"].clone();
        let by_hand = answers[(amount as usize - 1) * 2].status == 200;
        let expected = if by_hand || amount % 2 == 0 { "accepted" } else { "expired" };
        assert_eq!(text(&row, "state"), expected, "{amount}");
        assert_eq!(text(&row, "actor") == a.did(), by_hand, "{row}");
        paid += if expected == "accepted" { amount } else { 0 };
    }
    let all: u64 = (1..=12).sum();
    assert_eq!((a.money(), b.money()), ((10_000_000 - all, all - paid), (10_000_000 + paid, 0)));
}

fn after_the_answer_to_a_freeze_nothing_settles_that_64_connections_send(suite: &Suite) {
    let target = suite.fresh(UNLIMITED);
    let client = target.client();
    let operator = Operator::new(&client, "freeze");
    let b = Party::new(&client);
    let listing = b.act("capability-list", b.listing("work.test", 1)).expect(200)["capability"].clone();
    let senders: Vec<Party> = (0..64).map(|_| Party::funded(&client)).collect();
    let (done, barrier) = (AtomicUsize::new(0), Barrier::new(senders.len() + 1));
    let (frozen_at, settled) = std::thread::scope(|scope| {
        let (done, barrier, b, listing) = (&done, &barrier, &b, &listing);
        let threads: Vec<_> = (0_usize..)
            .zip(&senders)
            .map(|(number, sender)| {
                scope.spawn(move || {
                    let (mut settled, mut refusals) = (Vec::new(), 0);
                    barrier.wait();
                    while refusals < 3 {
                        match outflow(sender, b, listing, number % 3) {
                            Some(time) => settled.push(time),
                            None => refusals += 1,
                        }
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    settled
                })
            })
            .collect();
        barrier.wait();
        // Waits until all senders are busy.
        while done.load(Ordering::Relaxed) < 2 * senders.len() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let at = text(&operator.act("freeze_all", json!({ "frozen": true })).expect(200), "at").to_owned();
        (at, threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<String>>())
    });
    assert!(!settled.is_empty());
    assert!(settled.iter().all(|time| *time < frozen_at), "{:?} after {frozen_at}", settled.iter().max());
    // The ledger itself has no later row either, whatever clients were told.
    let sum: u64 = senders.iter().map(|sender| sender.money()).map(|(balance, locked)| balance + locked).sum();
    let rows = |path: &str, list: &str, time: &str| {
        let page = client.get(&format!("/v1/pay/{path}/{}?limit=200", b.did())).expect(200);
        let rows = page[list].as_array().unwrap().clone();
        rows.into_iter().filter_map(|row| row[time].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    for time in [rows("history", "transfers", "settled_at"), rows("escrow/history", "escrows", "opened_at")].concat() {
        assert!(time < frozen_at, "{time} after {frozen_at}");
    }
    let paid =
        client.get(&format!("/v1/pay/wallet/{}", b.did())).json()["wallet"]["balance_micro"].as_u64().unwrap_or(0);
    assert_eq!(sum + paid, 64 * 10_000_000);
    assert_eq!(outflow(&senders[0], &b, &listing, 0), None);
    operator.act("freeze_all", json!({ "frozen": false })).expect(200);
    assert!(outflow(&senders[0], &b, &listing, 0).is_some_and(|time| time > frozen_at));
}

/// Sends money in one of three ways; returns the time if it succeeded.
fn outflow(sender: &Party, to: &Party, listing: &Value, way: usize) -> Option<String> {
    let (answer, time) = match way {
        0 => (sender.pay(to.did(), 1), "settled_at"),
        1 => (sender.act("escrow-open", sender.escrow(to.did(), 1, Duration::from_secs(3_600))), "opened_at"),
        _ => (sender.act("hire-request", sender.hire(listing)), "created_at"),
    };
    match answer.status {
        200 => Some(text(&answer.json(), time).to_owned()),
        _ => {
            refused(&answer, 503, "system_frozen");
            None
        }
    }
}
