//! Merge laws and round trips of the stored entry.

use proptest::prelude::*;

use crate::measurement::outcome::{ENTRY_LEN, EndpointSet, Entry, Judgement, Outcome};
use crate::measurement::types::{Form, software_of, vote_key};
use crate::verdict::rules::{RULES, RuleId};
use crate::verdict::technique::Technique;

fn outcome() -> impl Strategy<Value = Outcome> {
    let bits = || 0_u16..4096;
    let endpoints = (bits(), bits(), bits(), bits(), any::<u32>()).prop_map(
        |(connect_ok, connect_failed, http_ok, http_failed, flags)| {
            Outcome::Endpoints(EndpointSet { connect_ok, connect_failed, http_ok, http_failed, flags })
        },
    );
    let rule = (0..RULES.len()).prop_map(|i| RULES[i].id);
    let technique = proptest::option::of((0..Technique::ALL.len()).prop_map(|i| Technique::ALL[i]));
    let judged = (rule, technique).prop_map(|(rule, technique)| Outcome::Judged(Judgement { rule, technique }));
    prop_oneof![endpoints, judged]
}

fn entry() -> impl Strategy<Value = Entry> {
    let form = prop_oneof![Just(Form::Fastpath), Just(Form::Observation), Just(Form::Raw)];
    (form, 0_u8..24, any::<u32>(), any::<bool>(), outcome()).prop_map(|(form, hour, vote_key, primary, outcome)| {
        Entry { identity: *b"identity", form, hour, vote_key, primary, outcome }
    })
}

proptest! {
    #[test]
    fn merging_entries_is_idempotent_commutative_and_associative(a in entry(), b in entry(), c in entry()) {
        prop_assert_eq!(a.merge(a), a);
        prop_assert_eq!(a.merge(b), b.merge(a));
        prop_assert_eq!(a.merge(b).merge(c), a.merge(b.merge(c)));
    }

    #[test]
    fn entries_round_trip_through_24_bytes(a in entry()) {
        let bytes = a.encode();
        prop_assert_eq!(bytes.len(), 24);
        prop_assert_eq!(Entry::decode(&bytes), Some(a));
    }

    #[test]
    fn decoding_any_bytes_gives_nothing_or_what_encodes_back(bytes in any::<[u8; ENTRY_LEN]>()) {
        if let Some(entry) = Entry::decode(&bytes) {
            prop_assert_eq!(Entry::decode(&entry.encode()), Some(entry));
            let _ = entry.outcome.evaluate();
        }
    }
}

#[test]
fn rule_and_technique_names_and_codes_are_unique() {
    let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len());
    for rule in RULES {
        assert_eq!(RuleId::from_code(rule.id.code()), Some(rule.id));
        assert_eq!(RuleId::from_name(rule.name), Some(rule.id));
        assert_ne!(rule.id.code(), 0);
    }
    for technique in Technique::ALL {
        assert_eq!(Technique::from_code(technique.code()), Some(*technique));
        assert_eq!(Technique::from_dotted(technique.as_str()), Some(*technique));
        assert!(technique.is_within(technique.layer()));
    }
}

#[test]
fn a_richer_form_replaces_a_poorer_one_whatever_comes_first() {
    let judged = |rule| Outcome::Judged(Judgement { rule, technique: None });
    let entry =
        |form, rule| Entry { identity: [1; 8], form, hour: 3, vote_key: 9, primary: true, outcome: judged(rule) };
    let raw = entry(Form::Raw, RuleId::TlsValid);
    let scored = entry(Form::Fastpath, RuleId::FastpathAnomaly);
    assert_eq!(raw.merge(scored), raw);
    assert_eq!(scored.merge(raw), raw);
}

#[test]
fn absent_fields_are_left_out_of_the_vote_key() {
    assert_eq!(vote_key(0, b"", b""), 0);
    assert_eq!(software_of(vote_key(33771, b"", b"")), None);
    assert_eq!(software_of(vote_key(33771, b"android", b"3.8")), software_of(vote_key(0, b"android", b"3.8")));
    let keys = [vote_key(1, b"a", b"1"), vote_key(2, b"a", b"1"), vote_key(1, b"b", b"1"), vote_key(1, b"a", b"2")];
    for (i, key) in keys.iter().enumerate() {
        assert!(keys.iter().skip(i + 1).all(|other| other != key));
    }
}
