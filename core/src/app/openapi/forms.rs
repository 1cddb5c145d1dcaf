//! A test that every text which a request may hold says its form, or has a reason why not (decision accepted-is-declared).

use std::collections::BTreeSet;

use serde_json::Value;

use super::generate;
use crate::Timestamp;
use crate::crypto::encoding::{BASE64_PATTERN, base64_pattern, decode_base64};
use crate::engine::time::{known_time_pattern, time_pattern};
use crate::engine::web::{ADDRESS_PATTERN, Networks, check_url};

/// Texts without a form, each with the reason: parameters by their name, members of bodies by their schema and name.
const FREE: &[(&str, &str)] = &[
    ("account", "The account, or a whole key as it was found."),
    ("actor", "What an answer gave; the dump goes on after it."),
    ("after", "The account after which the list of keys goes on, whether it still exists or not."),
    ("agent", "Nobody else is an author: other texts find nothing."),
    ("capability", "Any text; what nobody has finds nothing."),
    ("claim_type", "Any text; what nobody claimed finds nothing."),
    ("content_type", "Any text of the sender."),
    ("did", "The ledger's lists are empty for what is nobody's DID, and so are pins."),
    ("domain", "Addresses, names of hosts in every script, and names of services."),
    ("from", "Nobody else has sent anything: other texts find nothing."),
    ("list", "What it may be depends on the kind of the import."),
    ("message_type", "Any text of the sender."),
    ("model", "The models of this deployment have the names that it gave them."),
    ("name", "Names of sources and of capabilities."),
    ("peer", "Its id, or its address."),
    ("period", "Ignored."),
    ("platform", "A slug, or another name of a platform, also of those that a list of targets brings."),
    ("provider_did", "Any text; who offers nothing has no offers."),
    ("q", "Words of people."),
    ("query", "Words of people."),
    ("row", "What an answer gave, in base64."),
    ("service", "Names of services, addresses, and names of hosts in every script."),
    ("target", "Addresses, names of hosts in every script, and names of services."),
    ("thread_id", "Any text of the sender."),
    ("topic", "Any text; what no channel and no incident is about finds nothing."),
    ("type", "Any text; what nobody claimed finds nothing."),
    ("AccessibilityBatchRequest.domains", "Addresses, names of hosts in every script, and names of services."),
    ("BatchRequest.countries", "What is no country is listed among the errors of the answer."),
    ("BroadcastRequest.input_signature", "Not read without `encrypted_input`."),
    ("DetectBatchRequest.targets", "Addresses, names of hosts in every script, and names of services."),
    ("DetectRequest.target", "Addresses, names of hosts in every script, and names of services."),
    ("DumpHeader.created_at", "Not read: it says when the other deployment began."),
    ("DumpHeader.deployment", "Not read: it says of which deployment the dump is."),
    ("DumpHeader.dumped_at", "Not read: it says when the dump was made."),
    ("EncryptedRequest.envelope", "Opaque: given on byte for byte."),
    ("InviteRequest.invitee_did", "Not read beside `did`."),
    ("McpId", "Any text of the client, which the answer repeats."),
    ("McpMessage.method", "A notification of any name is taken."),
    ("NewEvidence.domain", "Addresses, and names of hosts in every script."),
    ("NewIncident.domains", "Addresses, and names of hosts in every script."),
    ("NewIncident.services", "Names of services, addresses, and names of hosts in every script."),
    ("NewIncident.subject", "Names of services, addresses, and names of hosts in every script."),
    ("NewKeyRequest.did", "Not read without `signature`."),
    ("NewKeyRequest.nonce", "Not read without `signature`."),
    ("NewKeyRequest.timestamp", "Not read without `signature`."),
    ("NewNode.country", "What is no country counts as unknown."),
    ("NodeToken.nodeId", "A wrong one is answered: the token is not valid."),
    ("NodeToken.nodeToken", "A wrong one is answered: the token is not valid."),
    ("PredictRequest.target", "Addresses, names of hosts in every script, and names of services."),
    ("ReadBatchRequest.message_ids", "What is no message of the agent is not counted."),
    ("ResultRow.blockType", "A row that cannot be read is counted, and refuses nothing."),
    ("ResultRow.blockingEntity", "A row that cannot be read is counted, and refuses nothing."),
    ("ResultRow.domain", "A row that cannot be read is counted, and refuses nothing."),
    ("ResultRow.targetUrl", "A row that cannot be read is counted, and refuses nothing."),
    ("ResultRow.timestamp", "A row that cannot be read is counted, and refuses nothing."),
    ("RotateRequest.mlkem_public_key", "Not read where the service makes the keys."),
    ("RotateRequest.rotation_issued_at", "Not read without `rotation_signature`."),
    ("RotateRequest.rotation_nonce", "Not read without `rotation_signature`."),
    ("RotateRequest.rotation_signature", "Not read where the service makes the keys."),
    ("RotateRequest.signed_prekey_public", "Not read where the service makes the keys."),
    ("RotateRequest.signed_prekey_signature", "Not read where the service makes the keys."),
    ("Submission.nodeCountry", "What is no country counts as unknown."),
    ("Submission.timestamp", "What is no time counts as none."),
    ("TaskChange.output_signature", "Not read without `encrypted_output`."),
    ("TaskRequest.input_signature", "Not read without `encrypted_input`."),
    ("TestRequest.webhook_url", "Not read beside `subscription_id`."),
    ("VerifyRequest.envelope", "The exact text that was signed."),
];

/// The texts of the document that say no form.
struct Texts<'d> {
    document: &'d Value,
    seen: BTreeSet<&'d str>,
    free: BTreeSet<String>,
}

impl<'d> Texts<'d> {
    /// Looks at a schema, which has this name, and at all inside of it.
    fn look(&mut self, name: &str, schema: &'d Value) {
        if let Some(reference) = schema["$ref"].as_str() {
            if self.seen.insert(reference) {
                let name = reference.rsplit('/').next().unwrap();
                self.look(name, self.document.pointer(reference.trim_start_matches('#')).unwrap());
            }
            return;
        }
        let is_text =
            schema["type"] == "string" || schema["type"].as_array().is_some_and(|of| of.contains(&"string".into()));
        let says = ["enum", "pattern", "format", "maxLength"].iter().any(|word| schema.get(word).is_some());
        if is_text && !says {
            self.free.insert(name.to_owned());
        }
        for (member, schema) in schema["properties"].as_object().into_iter().flatten() {
            self.look(&format!("{name}.{member}"), schema);
        }
        let lists = ["anyOf", "oneOf", "allOf", "prefixItems"].iter().filter_map(|word| schema[*word].as_array());
        let parts = ["items", "additionalProperties"].iter().filter_map(|word| schema.get(word));
        lists.flatten().chain(parts.filter(|part| part.is_object())).for_each(|part| self.look(name, part));
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    regex_lite::Regex::new(pattern).unwrap().is_match(text)
}

#[test]
fn patterns_take_what_is_read_and_no_more() {
    let (time, known) = (time_pattern(), known_time_pattern());
    for text in [
        "2026-01-31",
        "20260131",
        "2026-01-31 UTC",
        "2026-01-31T12:30Z",
        "2026-01-31 12:30:59.123456789+05:30",
        "20260131T123059",
        "2026-01-31t12:30:60z",
        "2026-01-31T1230:59-0100",
        "2026-01-31T12:30:59,5 UTC",
        "2026-01-31T12:30+01",
        "0001-01-01",
        "",
        "2026",
        "2026-13-01",
        "2026-00-01",
        "2026-01-32",
        "2026-0131",
        "2026-01-31T",
        "2026-01-31T24:00",
        "2026-01-31T12:60",
        "2026-01-31T12:30:61",
        "2026-01-31T12:30:",
        "2026-01-31T12:30:59.",
        "2026-01-31T12:3059",
        "2026-01-31T12",
        "now",
        "2026-01-31T12:30Z UTC",
        "2026-01-31Z",
        "2026-01-31T12:30+24:00",
        "2026-01-31T12:30+01:",
    ] {
        let read = Timestamp::parse(text);
        assert_eq!(fits(&time, text), read.is_some(), "{text:?}");
        assert_eq!(fits(&known, text), read.is_some_and(|at| at >= Timestamp(0)), "{text:?}");
    }
    for text in [
        "", "AAA=", "AAAA", "AA==", "AAAAAA==", "AAAAAAA=", "AAAAAAAA", "AB==", "AAB=", "A", "AA", "AAA", "AA=",
        "__8=", " AA==",
    ] {
        let read = decode_base64("text", text).ok();
        assert_eq!(fits(BASE64_PATTERN, text), read.is_some(), "{text:?}");
        for bytes in 1..7 {
            let exact = read.as_ref().is_some_and(|read| read.len() == bytes);
            assert_eq!(fits(&base64_pattern(bytes), text), exact, "{text:?} as {bytes} bytes");
        }
    }
    for url in [
        "https://example.org",
        "https://example.org/",
        "https://example.org:8443/a?b=@%20#c",
        "https://[2606:4700::1]/",
        "https://a.example?b",
        "ftp://example.org",
        "https://",
        "https:///a",
        "https://user@example.org",
        "https://a%2eb.example",
        "https://example.org/a b",
        "https://example.org\\a",
        "https://ex\u{e4}mple.org",
        "example.org",
        "HTTPS://example.org",
    ] {
        assert_eq!(fits(ADDRESS_PATTERN, url), check_url(url, &Networks::default()).is_ok(), "{url}");
    }
}

#[test]
fn every_text_says_its_form_or_has_a_reason_why_not() {
    let document = generate();
    let mut texts = Texts { document: &document, seen: BTreeSet::new(), free: BTreeSet::new() };
    for operation in document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values())
    {
        for parameter in operation["parameters"].as_array().unwrap() {
            texts.look(parameter["name"].as_str().unwrap(), &parameter["schema"]);
        }
        texts.look("body", &operation["requestBody"]["content"]["application/json"]["schema"]);
    }
    let reasons: BTreeSet<String> = FREE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(FREE.len(), reasons.len(), "a name stands twice");
    let unsaid: Vec<_> = texts.free.difference(&reasons).collect();
    let idle: Vec<_> = reasons.difference(&texts.free).collect();
    assert!(
        unsaid.is_empty() && idle.is_empty(),
        "without form and reason: {unsaid:?}; with a form, or gone: {idle:?}"
    );
}
