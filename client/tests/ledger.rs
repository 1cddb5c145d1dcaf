//! Payments, escrows, the market from both sides, and proofs from the audit log.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::time::Duration;

use common::{Server, unique};
use heliograph_client::ledger::CREDIT;
use heliograph_client::ledger::envelope::Page;
use heliograph_client::ledger::market::{Offer, Search};
use heliograph_client::ledger::wallets::Payment;
use heliograph_client::{Agent, Error};
use serde_json::json;

async fn rich(server: &Server) -> Agent {
    let agent = server.agent().await;
    assert_eq!(agent.claim_grant().await.unwrap().new_balance_micro, 10 * CREDIT);
    agent
}

async fn money_moves_once_and_its_texts_are_for_the_parties(server: &Server) {
    let (ada, bob) = (rich(server).await, server.agent().await);
    assert_eq!(ada.claim_grant().await.unwrap_err().reason(), Some("already_claimed"));
    bob.create_wallet().await.unwrap();
    let paid = ada.pay(&bob.did(), CREDIT, Some("thanks")).await.unwrap();
    assert_eq!(paid.sender_new_balance_micro, 9 * CREDIT);
    let item = Payment { to_did: bob.did(), amount_micro: 5, memo: None };
    ada.pay_all(&[item.clone(), item]).await.unwrap();
    assert_eq!(bob.wallet().await.unwrap().balance_micro, CREDIT + 10);
    let refused = bob.pay(&ada.did(), 5 * CREDIT, None).await.unwrap_err();
    assert_eq!(refused.reason(), Some("insufficient_balance"), "{refused}");
    assert_eq!(bob.own_transfer(&paid.transfer_id).await.unwrap().transfer.memo.as_deref(), Some("thanks"));
    let listed = bob.transfers(&Page::default()).await.unwrap().transfers;
    assert!(listed.iter().any(|transfer| transfer.memo.as_deref() == Some("thanks")));
    assert_eq!(ada.statement(&Page { limit: Some(2), before: None }).await.unwrap().lines.len(), 2);
    assert!(server.client().ledger_health().await.unwrap().ok);
}

async fn an_escrow_is_released_or_taken_back(server: &Server) {
    let (ada, bob) = (rich(server).await, server.agent().await);
    let hour = Duration::from_secs(3_600);
    let one = ada.open_escrow(&bob.did(), CREDIT, hour, None).await.unwrap();
    let two = ada.open_escrow(&bob.did(), CREDIT, hour, Some("two")).await.unwrap();
    assert_eq!(ada.release_escrow(&one.escrow_id).await.unwrap().state, "released");
    assert_eq!(ada.refund_escrow(&two.escrow_id, Some("changed my mind")).await.unwrap().state, "refunded");
    assert_eq!(server.client().escrow(&one.escrow_id).await.unwrap().escrow.amount_micro, CREDIT);
    assert_eq!(ada.escrows(&Page::default()).await.unwrap().escrows.len(), 2);
    assert_eq!(
        (ada.wallet().await.unwrap().balance_micro, bob.wallet().await.unwrap().balance_micro),
        (9 * CREDIT, CREDIT)
    );
}

async fn work_is_offered_found_hired_delivered_and_paid(server: &Server) {
    let (ada, bob) = (rich(server).await, server.agent().await);
    let slug = unique("echo");
    let offer = Offer { tags: vec!["test".into()], ..Offer::new(&slug, "Echo", 2 * CREDIT) };
    let made = bob.list_offer(&offer).await.unwrap();
    let search = Search { capability: Some(slug), ..Search::default() };
    let mut found = Vec::new();
    // The market hears of an offer by a message of the ledger.
    for _ in 0..50 {
        found = server.client().search_market(&search).await.unwrap().capabilities;
        if !found.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(found[0].id, made.capability_id);
    assert!(matches!(bob.hire(&found[0], "t", None::<&()>).await, Err(Error::Usage(_))));
    for accepts in [true, false] {
        let hired = ada.hire(&found[0], &unique("task"), Some(&json!({ "say": "hi" }))).await.unwrap();
        let work = bob.incoming_hires(Some("requested"), &Page::default()).await.unwrap().hires;
        let work = work.iter().find(|hire| hire.id == hired.hire_id).expect("the hire comes to its provider");
        assert_eq!(work.input_json.as_deref(), Some("{\"say\":\"hi\"}"));
        let claimed = bob.deliver(work, "hi", Duration::from_secs(3_600)).await.unwrap();
        let receipt = ada.receipt(&claimed.receipt_id).await.unwrap();
        assert_eq!(receipt.summary.as_deref(), Some("hi"));
        let mut forged = receipt.clone();
        forged.summary = Some("something else".into());
        let judged = if accepts {
            assert!(matches!(ada.accept(&forged, None, None).await, Err(Error::Usage(_))));
            ada.accept(&receipt, Some(5), Some("good")).await
        } else {
            ada.dispute(&receipt, "not what was asked for").await
        };
        assert_eq!(judged.unwrap().escrow_released, accepts);
    }
    assert_eq!(bob.wallet().await.unwrap().balance_micro, 2 * CREDIT);
    assert_eq!(server.client().record(&bob.did()).await.unwrap().as_provider.total_completed, 1);
    assert_eq!(ada.outgoing_hires(None, &Page::default()).await.unwrap().hires.len(), 2);
    assert_eq!(ada.receipts(&Page::default()).await.unwrap().receipts.len(), 2);
    server.client().market_stats().await.unwrap();
    server.client().listings(&bob.did(), &Page::default()).await.unwrap();
}

async fn the_log_proves_a_payment_and_that_nothing_before_it_changed(server: &Server) {
    let (ada, bob) = (rich(server).await, server.agent().await);
    let client = server.client();
    let key = client.log_key().await.unwrap();
    let mut heads = vec![client.log_head(&key).await.unwrap()];
    for _ in 0..5 {
        let paid = ada.pay(&bob.did(), 1, Some("for the log")).await.unwrap();
        let head = client.log_head(&key).await.unwrap();
        let event = client.prove_event(&paid.transfer_id, &head).await.unwrap();
        assert_eq!(event["kind"], "transfer");
        let own = ada.prove_own_event(&paid.transfer_id, &head).await.unwrap();
        assert!(own.texts.iter().flatten().any(|text| text.text == "for the log"), "{:?}", own.texts);
        let mut forged = own.clone();
        forged.event["changes"][0]["balance_micro"] = 2.into();
        assert!(matches!(heliograph_client::ledger::audit::check_event(&forged, &head), Err(Error::Proof(_))));
        assert!(client.prove_event(&paid.transfer_id, &heads[0]).await.is_err());
        for earlier in &heads {
            client.prove_growth(earlier, &head).await.unwrap();
        }
        heads.push(head);
    }
    let mut forged = heads[1].clone();
    forged.root = heads[2].root.clone();
    assert!(matches!(client.prove_growth(&forged, &heads[5]).await, Err(Error::Proof(_))));
    assert!(matches!(client.log_head(&[7; 32]).await, Err(Error::Proof(_))));
    assert_eq!(client.log_events(0, 3).await.unwrap().events.len(), 3);
}

on_both_runtimes! {
    money_moves_once_and_its_texts_are_for_the_parties,
    an_escrow_is_released_or_taken_back,
    work_is_offered_found_hired_delivered_and_paid,
    the_log_proves_a_payment_and_that_nothing_before_it_changed,
}
