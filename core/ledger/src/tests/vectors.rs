//! Envelopes as other implementations sign them (`tests/vectors/ledger`).

use serde::Deserialize;

use crate::admin::Action;
use crate::envelope::{Content, Envelope};
use crate::json::{self, Json};
use crypto::encoding::{decode_base64, decode_hex_array, encode_hex};
use crypto::hash::sha256;
use crypto::signing;

#[derive(Deserialize)]
struct File {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    brand: String,
    signing_public_key: String,
    input: String,
    canonical: String,
    hash: String,
    signature: String,
}

fn vectors() -> Vec<Vector> {
    let file: File = serde_json::from_str(include_str!("../../../../tests/vectors/ledger/vectors.json")).unwrap();
    assert_eq!(file.vectors.len(), 22);
    file.vectors
}

impl Vector {
    fn key(&self) -> [u8; 32] {
        decode_hex_array("key", &self.signing_public_key).unwrap()
    }

    fn signature(&self) -> Vec<u8> {
        decode_base64("signature", &self.signature).unwrap()
    }

    fn read(&self) -> Vec<u8> {
        let value = json::parse(self.input.as_bytes(), json::MAX_DEPTH).unwrap();
        value.without_nulls().canonical().unwrap()
    }
}

/// The published vectors V1 to V5 and V6 to V11, under two brands (decision brand-fixed).
#[test]
fn recorded_envelopes_have_the_bytes_hashes_and_signatures_of_other_implementations() {
    for vector in vectors() {
        let canonical = vector.read();
        assert_eq!(String::from_utf8(canonical.clone()).unwrap(), vector.canonical, "{}", vector.name);
        assert_eq!(encode_hex(&sha256(&canonical)), vector.hash, "{}", vector.name);
        assert!(signing::verify(&vector.key(), &canonical, &vector.signature()), "{}", vector.name);
    }
}

#[test]
fn the_published_vectors_are_those_of_the_clients() {
    let published = [
        ("V1", 178, "2f20d45ba8cbae0b700f6c6baa736aac0d6f20dec9806956b0926152934a44b0"),
        ("V2", 295, "dcda5c33bc74e530e9928f83dbb7f544680384b0932054fd2eb8a923dbce0d9a"),
        ("V3", 471, "5390b6807821eba9813bc78f8576819a222ff6ae22d0a46b17a7425fff801df6"),
        ("V4", 278, "7566739f83e9907c70110959f833100bd9094480d8aadee89c7d5de64d35ff4d"),
        ("V5", 366, "81796c3c5e9932b22a44f507ba882466502b5499eaae2005071c73e74f6f1071"),
    ];
    let signatures = [
        "q7S+2b9gnUKnoj0jyW/yI4k/sPuMiC/f2JXfLrcel0NZrF5tNxjs9F0wVQBwjyfjAlmcsXSDDtEZbsdZtdbUBQ==",
        "Z9meZsRvhRDknSc9TgIichV4aWjkfgsOLp+9K1IAXlFd3mw8Es2Xi0ISrX2HTjWUAxaNkRXKm/JAInw50y6LDA==",
        "7xVcRpMvI4sHe3TiAF18LyCBu4NP/jorBSdfZ5hNWkfRZNocQZXmHsJydBBojccl6gUWmcFRyZpt1WXjEDueBw==",
        "6qTSF1D+i73Cv+H8KGThVlJ2LjUoGkPGq0uA886y0e+XIVfNHm4YAcWS6snlDwPblBFItIRiKVmxU/YwDNApDQ==",
        "8n1EK2Nkx0C0OthI3QjzQGe7/ua3tepr6sEwkxBWpF6flEqH2x5zwE22H6uYdCC18QFkWG7xwUoiVGKhfVLsDw==",
    ];
    for (vector, ((name, bytes, hash), signature)) in vectors().iter().zip(published.into_iter().zip(signatures)) {
        let found = (vector.name.as_str(), vector.canonical.len(), vector.hash.as_str(), vector.signature.as_str());
        assert_eq!(found, (name, bytes, hash, signature));
        assert_eq!(vector.brand, "svc");
    }
}

/// Every change after signing is noticed.
#[test]
fn every_flipped_bit_of_what_was_signed_is_noticed() {
    for vector in vectors().into_iter().filter(|vector| vector.brand == "svc") {
        let (key, mut canonical, signature) = (vector.key(), vector.read(), vector.signature());
        for place in 0..canonical.len() {
            canonical[place] ^= 1;
            assert!(!signing::verify(&key, &canonical, &signature), "{} byte {place}", vector.name);
            canonical[place] ^= 1;
        }
    }
}

#[test]
fn recorded_envelopes_are_read_by_their_own_brand_alone() {
    for vector in vectors() {
        let other = if vector.brand == "svc" { "acme2" } else { "svc" };
        let canonical = vector.read();
        if vector.name == "V10" {
            assert!(Action::read(&vector.brand, &canonical).is_some());
            assert!(Action::read(other, &canonical).is_none());
        } else {
            let envelope = Envelope::read(&vector.brand, &canonical).unwrap_or_else(|| panic!("{}", vector.name));
            assert!(envelope.signer().starts_with(&format!("did:{}:", vector.brand)));
            assert!(Envelope::read(other, &canonical).is_none());
        }
    }
}

/// Decision strict-ledger-json: an unknown member is refused, and a member that is null counts as absent.
#[test]
fn a_member_too_much_too_little_or_of_another_type_is_no_envelope() {
    for vector in vectors().into_iter().filter(|vector| vector.brand == "svc" && vector.name != "V10") {
        let Some(Json::Object(members)) = json::parse(&vector.read(), json::MAX_DEPTH) else { panic!() };
        assert!(Envelope::of("svc", members.clone()).is_some());
        let mut more = members.clone();
        more.insert("owner".to_owned(), Json::Text("x".to_owned()));
        assert!(Envelope::of("svc", more).is_none(), "{}", vector.name);
        for (name, value) in &members {
            for wrong in [Json::Null, Json::List(Vec::new()), Json::Object(Default::default()), Json::Inexact] {
                let mut changed = members.clone();
                changed.insert(name.clone(), wrong);
                assert!(Envelope::of("svc", changed).is_none(), "{} {name}", vector.name);
            }
            let mut less = members.clone();
            less.remove(name);
            let mut optional = vec!["memo", "summary", "rating", "tags", "input_json", "reason"];
            if vector.name == "V3" {
                optional.push("escrow_id");
            }
            let still = Envelope::of("svc", less).is_some();
            assert_eq!(still, optional.contains(&name.as_str()), "{} without {name} {value:?}", vector.name);
        }
    }
}

#[test]
fn a_whole_amount_may_be_written_with_a_fraction_of_zero() {
    let vector = vectors().into_iter().find(|vector| vector.name == "V11").unwrap();
    assert!(vector.input.contains("5.0") && vector.canonical.contains("\"amount_micro\":5,"));
    let Content::Transfer(transfer) = Envelope::read("svc", &vector.read()).unwrap().content else { panic!() };
    assert_eq!(transfer.amount, 5);
}
