//! Makes bodies wrong at random for tests, in their structure and in their bytes, from a seed.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde_json::{Map, Value, json};

/// Makes valid bodies wrong. The same seed makes the same changes.
pub struct Mutator(ChaCha20Rng);

impl Mutator {
    pub fn new(seed: u64) -> Mutator {
        Mutator(ChaCha20Rng::seed_from_u64(seed))
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.next_u64() % end.max(1) as u64).unwrap_or_default()
    }

    /// Changes one or more members of an object: removes, renames, adds, swaps, gives them values of other kinds.
    pub fn structure(&mut self, object: &mut Value) {
        for _ in 0..1 + self.below(3) {
            let Value::Object(members) = object else { return };
            let names: Vec<String> = members.keys().cloned().collect();
            if names.is_empty() {
                return;
            }
            let (name, other) = (&names[self.below(names.len())], &names[self.below(names.len())]);
            match self.below(8) {
                0 => drop(members.remove(name)),
                1 => {
                    let value = members.remove(name).unwrap_or_default();
                    members.insert(self.name(name), value);
                }
                2 => {
                    let value = self.value();
                    members.insert(self.name(name), value);
                }
                3 => {
                    let value = members[other].clone();
                    members.insert(name.clone(), value);
                }
                4 => {
                    let value = members[name].clone();
                    let value = self.near(value);
                    members.insert(name.clone(), value);
                }
                _ => {
                    let value = self.value();
                    members.insert(name.clone(), value);
                }
            }
        }
    }

    /// A name that resembles another.
    fn name(&mut self, name: &str) -> String {
        match self.below(5) {
            0 => name.to_uppercase(),
            1 => format!("{name} "),
            2 => name.replace('_', ""),
            3 => "\u{0}".to_owned(),
            _ => ["owner", "memo", "aud", "nonce", "actor_did", "amount_micro", "__proto__"][self.below(7)].to_owned(),
        }
    }

    /// A value close to the right one.
    fn near(&mut self, value: Value) -> Value {
        match value {
            Value::Number(number) => {
                let number = number.as_i64().unwrap_or_default();
                [
                    json!(number.wrapping_add(1)),
                    json!(number.wrapping_neg()),
                    json!(number as f64 + 0.5),
                    json!(number.to_string()),
                ][self.below(4)]
                .clone()
            }
            Value::String(text) => {
                let cut: String = text.chars().skip(1).collect();
                [
                    json!(format!("{text}x")),
                    json!(cut),
                    json!(text.repeat(40)),
                    json!(text.to_uppercase()),
                    json!([text]),
                ][self.below(5)]
                .clone()
            }
            Value::Bool(flag) => [json!(!flag), json!(u8::from(flag)), json!(flag.to_string())][self.below(3)].clone(),
            other => other,
        }
    }

    /// Any value that somebody might put where another belongs.
    fn value(&mut self) -> Value {
        let texts = [
            "",
            " ",
            "\u{0}",
            "x",
            "did:svc:",
            "did:web:example.org",
            "undefined",
            "null",
            "1970-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999Z",
            "0000-01-01T00:00:00.000Z",
            "2026-02-30T00:00:00Z",
            "2026-01-01",
            "\u{1f600}",
            "00000000-0000-4000-8000-000000000000",
            "AAAA",
            "svc-credit-transfer/v1",
            "accept",
        ];
        match self.below(16) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => [json!(0), json!(-1), json!(1), json!(i64::MIN), json!(u64::MAX)][self.below(5)].clone(),
            3 => [json!(1.5), json!(1e300), json!(-0.0), json!(9_007_199_254_740_993_u64)][self.below(4)].clone(),
            4 => json!([]),
            5 => json!({}),
            6 => json!([null, { "a": null }]),
            7 => (0..self.below(40)).fold(json!(1), |inner, _| json!([inner])),
            8 => {
                (0..self.below(40)).fold(json!(1), |inner, _| Value::Object(Map::from_iter([("a".to_owned(), inner)])))
            }
            9 => json!("é".repeat(250 + self.below(60))),
            10 => json!("x".repeat(1 << self.below(13))),
            11 => json!(format!("did:svc:{}", "x".repeat(self.below(300)))),
            _ => json!(texts[self.below(texts.len())]),
        }
    }

    /// Changes a text byte by byte: flips, cuts, repeats, and inserts bytes that JSON readers disagree about.
    pub fn bytes(&mut self, text: &[u8]) -> Vec<u8> {
        let strange: [&[u8]; 14] = [
            b"\\ud800",
            b"\\u0000",
            b"\xff",
            b"\xc0\x80",
            b"\xef\xbb\xbf",
            b"\0",
            b"e999",
            b".0",
            b"-",
            b"\"",
            b"{",
            b"}",
            b"\"memo\":\"x\",",
            b"\"amount_micro\":1,",
        ];
        let mut text = text.to_vec();
        for _ in 0..1 + self.below(4) {
            let at = self.below(text.len() + 1);
            let end = (at + 1 + self.below(20)).min(text.len());
            match self.below(6) {
                0 if at < text.len() => text[at] ^= 1 << self.below(8),
                1 => text.truncate(at),
                2 if at < end => drop(text.drain(at..end)),
                3 if at < end => {
                    let piece = text[at..end].to_vec();
                    text.splice(at..at, piece);
                }
                4 => text.insert(at, self.below(256) as u8),
                _ => {
                    let piece = strange[self.below(strange.len())];
                    text.splice(at..at, piece.iter().copied());
                }
            }
        }
        text
    }
}
