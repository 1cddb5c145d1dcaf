//! Names of nodes and blocks, and how rows of submissions are read.

use serde_json::{Value, json};

use super::wire::{Reading, ReadingStatus};
use super::*;
use engine::testing::START;
use facts::verdict::evaluate::Evaluated;
use facts::verdict::{RuleId, Vote};

fn row(changes: Value) -> Value {
    let mut row = json!({
        "targetUrl": "https://www.example.org/", "domain": "example.org", "success": true, "latencyMs": 120,
        "httpStatus": 200, "isBlocked": false, "timestamp": START.to_string(), "dnsResolved": true,
    });
    for (name, value) in changes.as_object().unwrap() {
        row[name] = value.clone();
    }
    row
}

fn read(changes: Value) -> Reading {
    Reading::of(&row(changes), None, START).unwrap()
}

fn judged(reading: &Reading) -> Evaluated {
    let parsed = reading.parsed("cp-0011223344556677", "KE", Some(33_771)).unwrap();
    parsed.contributions[0].outcome.evaluate()
}

#[test]
fn an_id_and_an_alias_name_their_shard_and_other_texts_none() {
    assert_eq!(shard_of("cp-0a00000000000000").as_deref(), Some("2"));
    assert_eq!(shard_of("pn-0a00000000000000"), shard_of("cp-0200000000000000"));
    for text in ["", "cp-", "cp-0a", "xx-0a00000000000000", "cp-0A00000000000000", "0a00000000000000"] {
        assert_eq!(shard_of(text), None, "{text}");
    }
    assert_eq!(shards().count(), 8);
    assert!(vote_key("cp-0a00000000000000") >> 16 != 0);
}

/// Only `isBlocked` and the two flags report a block; `blockType` alone never does.
#[test]
fn a_kind_of_blocking_without_the_claim_says_nothing() {
    let slow = read(json!({ "success": false, "httpStatus": null, "blockType": "tcp-timeout", "confidence": 0.15 }));
    assert_eq!((slow.status, judged(&slow).vote), (ReadingStatus::Other, Vote::Masked));
    let forbidden = read(json!({ "success": false, "httpStatus": 403, "errorType": "http_forbidden" }));
    assert_eq!((forbidden.status, judged(&forbidden).rule), (ReadingStatus::Accessible, RuleId::TlsValid));
    for flag in ["sniBlocked", "dnsPoisoned"] {
        assert_eq!(read(json!({ flag: true })).status, ReadingStatus::Blocked, "{flag}");
    }
}

#[test]
fn words_of_both_clients_have_one_normal_form_and_rule() {
    for (word, normal, vote) in [
        ("nxdomain", "dns-nxdomain", Vote::NeedsControl),
        ("dns-nxdomain", "dns-nxdomain", Vote::NeedsControl),
        ("dns-poisoned", "dns-poison", Vote::NeedsControl),
        ("tcp-reset", "tcp-reset", Vote::NeedsControl),
        ("tls-cert-invalid", "tls-cert-invalid", Vote::NeedsControl),
        ("sni-filtering", "sni-filtering", Vote::Blocked),
        ("redirect", "http-redirect", Vote::Masked),
        ("http-451", "http-451", Vote::Masked),
    ] {
        let reading = read(json!({ "success": false, "httpStatus": 0, "isBlocked": true, "blockType": word }));
        assert_eq!((reading.method(), judged(&reading).vote), (Some(normal), vote), "{word}");
    }
    let plain = json!({
        "targetUrl": "http://example.org/", "httpStatus": 451, "isBlocked": true, "blockType": "http-451"
    });
    assert_eq!(judged(&read(plain)).vote, Vote::Blocked);
}

/// Only known entities are shown, whatever text a node sends.
#[test]
fn a_stranger_cannot_write_on_our_pages() {
    let blocked = |who: &str| {
        read(json!({ "success": false, "isBlocked": true, "blockType": "http-redirect", "blockingEntity": who }))
    };
    assert_eq!(blocked("Visit my shop").entity, None);
    assert_eq!(judged(&blocked("Visit my shop")).vote, Vote::Masked);
    assert_eq!(blocked("Roskomnadzor").entity.as_deref(), Some("Roskomnadzor"));
    assert_eq!(judged(&blocked("Roskomnadzor")).rule, RuleId::ProbeBlockpage);
}

#[test]
fn rows_without_a_site_or_a_plausible_time_are_refused() {
    for changes in [
        json!({ "domain": "other.example" }),
        json!({ "domain": "", "targetUrl": "" }),
        json!({ "domain": "192.0.2.1", "targetUrl": null }),
        json!({ "timestamp": "yesterday" }),
        json!({ "timestamp": "2025-12-20T00:00:00Z" }),
        json!({ "timestamp": "2026-01-01T02:00:00Z" }),
        json!({ "latencyMs": "fast" }),
    ] {
        assert!(Reading::of(&row(changes.clone()), None, START).is_err(), "{changes}");
    }
    for broken in [json!(null), json!([]), json!(3), json!("x")] {
        assert!(Reading::of(&broken, Some(START), START).is_err(), "{broken}");
    }
}

/// Of an address only a hash of its block is kept (decision addresses-discarded).
#[test]
fn addresses_of_one_block_have_one_hash_under_a_key_of_the_deployment() {
    use crypto::Secret;
    use crypto::sealing::{KeyRing, MasterKey};
    let secrets = |byte| Secrets::new(KeyRing::new(MasterKey::new(Secret::new([byte; 32])), Vec::new()), String::new());
    let of = |byte, text: &str| block(&secrets(byte), Some(text.parse().unwrap()));
    assert_eq!(of(1, "192.0.2.1"), of(1, "192.0.2.200"));
    assert_eq!(of(1, "192.0.2.1"), of(1, "::ffff:192.0.2.1"));
    assert_ne!(of(1, "192.0.2.1"), of(1, "192.0.3.1"));
    assert_ne!(of(1, "192.0.2.1"), of(2, "192.0.2.1"));
    assert_eq!(of(1, "2001:db8:1:2::1"), of(1, "2001:db8:1:9::7"));
}
