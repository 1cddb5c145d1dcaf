//! No input makes an importer panic: truncated and altered real lines, and bytes of no format.

use std::io::Read;

use proptest::prelude::*;

use super::{LIMIT, sample};
use crate::Timestamp;
use crate::measurement::domain::{Target, TargetKey};
use crate::measurement::fingerprints::Fingerprints;
use crate::measurement::{asn, blocklist, ooni_document, ooni_fastpath, ooni_observations, test_list};
use crate::verdict::classify::classify;

fn everything(bytes: &[u8]) {
    let none = Fingerprints::default();
    let _ = ooni_document::import(&mut &*bytes, LIMIT, &none, &mut |_| ());
    let _ = ooni_observations::import(&mut &*bytes, LIMIT, &none, &mut |_| ());
    let _ = ooni_fastpath::import(&mut &*bytes, LIMIT, &mut |_| ());
    let _ = test_list::import(&mut &*bytes, LIMIT, &mut |_| true);
    let _ = blocklist::import(&mut &*bytes, LIMIT, Timestamp::MAX, &mut |_, _| true);
    let _ = asn::import(&mut &*bytes, LIMIT, &mut |_| true);
    let _ = Fingerprints::default().import(&mut &*bytes, LIMIT);
    let _ = classify(bytes, &none);
}

fn inflate(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

/// Mutates a short line of a format; the seed makes a failure repeatable.
fn mutate(original: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below.max(1)
    };
    let mut out = original.to_vec();
    for _ in 0..1 + next(6) {
        if out.is_empty() {
            break;
        }
        let at = next(out.len());
        match next(6) {
            0 => out.truncate(at),
            1 => out[at] = next(256) as u8,
            2 => drop(out.remove(at)),
            3 => out.insert(at, b"\"{}[],:\n\r0-\xff\x00"[next(13)]),
            4 => {
                let end = (at + next(40)).min(out.len());
                let piece = out[at..end].to_vec();
                let to = next(out.len());
                out.splice(to..to, piece);
            }
            _ => {
                let digits: Vec<usize> = (0..out.len()).filter(|i| out[*i].is_ascii_digit()).collect();
                if let Some(i) = digits.get(next(digits.len())) {
                    out.splice(*i..*i, b"99999999999999999999".iter().copied());
                }
            }
        }
    }
    out
}

#[test]
fn truncated_and_altered_lines_never_panic() {
    let mut samples: Vec<Vec<u8>> = Vec::new();
    for name in ["ooni/measurements.jsonl.gz", "ooni/fastpath_2024-01-01.jsonl.gz"] {
        let Some(bytes) = sample(name) else { return };
        let text = inflate(&bytes);
        samples.extend(
            text.split(|b| *b == b'\n').filter(|l| !l.is_empty() && l.len() < 30_000).take(40).map(<[u8]>::to_vec),
        );
    }
    for name in ["ooni/observations_KE_2023_telegram.csv.gz", "ooni/observations_KE_2023_web_connectivity.csv.gz"] {
        let Some(bytes) = sample(name) else { return };
        let text = inflate(&bytes);
        samples.push(text[..4_000].to_vec());
    }
    for name in ["ooni/fingerprints_http.csv", "test-lists/aams.csv", "blocklists/gfwlist_decoded_list.txt"] {
        let Some(bytes) = sample(name) else { return };
        samples.push(bytes[..3_000].to_vec());
    }
    for (index, original) in samples.iter().enumerate() {
        for round in 0..12 {
            everything(&mutate(original, (index as u64 + 1) * 1_000_003 + round * 7_919));
        }
    }
    // Damaged gzip.
    let Some(gzip) = sample("ooni/web_connectivity_scenarios.jsonl.gz") else { return };
    for round in 0..60 {
        everything(&mutate(&gzip, round * 104_729 + 5));
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        everything(&bytes);
    }

    #[test]
    fn any_text_is_a_target_or_an_error_and_keys_are_normal(text in "\\PC{0,60}") {
        if let Ok(Target::Domain(key)) = Target::parse(&text)
            && key.role().is_none()
        {
            let bare = |key: &str| key.trim_start_matches("www.").to_owned();
            let again = TargetKey::from_host(key.as_str()).unwrap();
            prop_assert_eq!(bare(again.as_str()), bare(key.as_str()));
        }
    }
}
