//! Parameters of paths.

use crate::crypto::encoding::{ACTOR_ID_PATTERN, DID_PATTERN};
use crate::engine::http::{COUNTRY_PATTERN, NETWORK, Param, Route};
use crate::intelligence::analytics::FILE_PATTERN;
use crate::intelligence::incidents::dispute::DISPUTE_ID;
use crate::intelligence::incidents::{EVIDENCE_ID, INCIDENT_ID};
use crate::intelligence::probe::NODE_PATTERN;
use crate::ledger::{book, rows};
use crate::relay::agent::memory::{MAX_KEY, MAX_NAMESPACE};
use crate::relay::agent::username::USERNAME_PATTERN;
use crate::relay::agent::wire::ID_PATTERN;

/// Ids as the relay and the ledger write them.
const ACTOR: &str = "WBwmMfPyhpetFdMQSGhVjA";
const ID: &str = "WBwmMfPyhpetFdMQSGhVjA-VtUeRIK8p1mBjXWQ";
const LEDGER_ID: &str = "581c2631-f3f2-8697-ad15-d3104868558c";
const DID: &str = "did:svc:VanTWgMccx3BpGjeJ6TyZA";
const INCIDENT: &str = "KE-2023-0001";

/// The beginning of the routes, and what the parameter may hold there.
const fn of(begins: &'static str, param: Param) -> (&'static str, Param) {
    (begins, param)
}

const fn did(doc: &'static str) -> Param {
    Param::required("did", doc).such_as(DID)
}

const fn id(doc: &'static str) -> Param {
    Param::required("id", doc).like(ID_PATTERN).such_as(ID)
}

const fn channel(doc: &'static str) -> Param {
    Param::required("id", doc).like(ACTOR_ID_PATTERN).such_as(ACTOR)
}

const fn in_ledger(name: &'static str, doc: &'static str) -> Param {
    Param::required(name, doc).like(rows::ID_PATTERN).such_as(LEDGER_ID)
}

const fn incident() -> Param {
    Param::required("id", "Either id of the incident.").like(INCIDENT_ID).such_as(INCIDENT)
}

const NAMED: &str = "ISO 3166-1 alpha-2 code of a country.";

const ALL: &[(&str, Param)] = &[
    of("/", did("DID of an agent.").like(DID_PATTERN)),
    of("/v1/agent/keys/verify/", did("DID of an agent. Of others nothing is pinned.")),
    of("/v1/pay/", did("DID of an agent. What is nobody's has an empty history.")),
    of("/v1/pay/wallet/", did("DID of an agent.").like(book::DID_PATTERN)),
    of("/", Param::required("code", NAMED).like(COUNTRY_PATTERN).such_as("KE")),
    of("/", Param::required("country", NAMED).like(COUNTRY_PATTERN).such_as("KE")),
    of("/", Param::required("domain", "A domain, or the name of a service.").such_as("telegram.org")),
    of("/", Param::required("service", "A service such as a platform, or a domain.").such_as("telegram")),
    of("/", Param::required("platform", "A platform by its slug.").such_as("telegram")),
    of("/", Param::required("asn", "The number of a network, with or without `AS`.").like(NETWORK).such_as("AS64500")),
    of(
        "/data/dumps/",
        Param::required("file", "Name of a file, as `/data/dumps` lists it.")
            .like(FILE_PATTERN)
            .such_as("KE-2024-03.csv"),
    ),
    of("/v1/admin/forecast/", Param::required("number", "Number of the report.").like("^[0-9]+$").such_as("1")),
    of(
        "/v1/admin/keys/",
        Param::required("account", "Account of the key, as the list of keys has it; or the whole key.").such_as(ACTOR),
    ),
    of("/v1/admin/peers/", Param::required("peer", "Id of the peer, or its address.").such_as(ACTOR)),
    of("/", Param::required("nodeId", "Id of the node.").like(NODE_PATTERN).such_as("cp-2bd2c119cf3fa478")),
    of("/v1/admin/sources/", Param::required("name", "Id of the source.").such_as("ooni")),
    of("/v1/agent/username/", Param::required("name", "A username.").like(USERNAME_PATTERN).such_as("ada")),
    of(
        "/v1/agent/consent/",
        Param::required("list", "`blocked` or `allowed`.").one_of(&["blocked", "allowed"]).such_as("blocked"),
    ),
    of(
        "/v1/agent/memory/",
        Param::required("namespace", "A namespace of the agent's memory, at most 200 bytes.")
            .length(1, MAX_NAMESPACE as u32)
            .such_as("notes"),
    ),
    of(
        "/v1/agent/memory/",
        Param::required("key", "A key, at most 600 bytes; it may contain slashes.")
            .length(1, MAX_KEY as u32)
            .such_as("plan"),
    ),
    of("/", Param::required("delivery_id", "Id of the delivery.").like(ID_PATTERN).such_as(ID)),
    of("/", id("Id.")),
    of("/api/alerts/subscriptions/", id("Id of the subscription.")),
    of("/v1/agent/attestations/", id("Id of the attestation.")),
    of("/v1/agent/capabilities/", id("Id of the capability.")),
    of("/v1/agent/channels/", channel("Id of the channel.")),
    of("/v1/agent/invites/", id("Id of the invite.")),
    of("/v1/agent/messages/", id("Id of the message.")),
    of("/v1/agent/tasks/", id("Id of the task.")),
    of("/v1/agent/tasks/broadcasts/", id("Id of the broadcast.")),
    of("/v1/agent/webhooks/", id("Id of the webhook.")),
    of("/v1/relay/route/", id("Id of the message.")),
    of("/v1/pay/", in_ledger("escrow_id", "Id of the escrow.")),
    of("/v1/pay/capability/", in_ledger("id", "Id of the listing.")),
    of("/v1/pay/escrow/", in_ledger("id", "Id of the escrow.")),
    of("/v1/pay/hire/", in_ledger("id", "Id of the hire.")),
    of("/v1/pay/receipt/", in_ledger("id", "Id of the receipt.")),
    of("/v1/pay/transfer/", in_ledger("id", "Id of the transfer.")),
    of(
        "/v1/pay/audit/proof/",
        Param::required("id", "Id of a transfer or an escrow, or the place of an event in the log.")
            .like("^([0-9]{1,20}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
            .such_as("0"),
    ),
    of("/data/incidents/", incident()),
    of("/v1/atlas/incidents/", incident()),
    of("/v1/admin/incidents/", incident()),
    of("/data/evidence/", Param::required("id", "Id of the evidence.").like(EVIDENCE_ID).such_as("581c2631f3f28697")),
    of("/v1/admin/disputes/", Param::required("id", "Id of the dispute.").like(DISPUTE_ID).such_as("9a1f0c5d7e2b4816")),
];

/// What a parameter of a route may hold. The longest beginning that fits decides.
pub fn known(route: &Route, name: &str) -> Option<&'static Param> {
    let fits = ALL.iter().filter(|(begins, known)| known.name == name && route.path.starts_with(begins));
    fits.max_by_key(|(begins, _)| begins.len()).map(|(_, known)| known)
}
