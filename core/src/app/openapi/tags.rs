//! The groups of operations, by the beginnings of their paths.

use serde_json::{Value, json};

/// Name, what it is about, and the beginnings of its paths. The longest beginning that fits decides.
const TAGS: &[(&str, &str, &[&str])] = &[
    ("Detection", "Whether a domain or service is blocked in a country, and the risk of a block.", &["/hydra/v1/"]),
    (
        "Accessibility",
        "Whether domains, services and circumvention tools can be reached.",
        &["/v1/accessibility/", "/v1/vpn-accessibility"],
    ),
    (
        "Countries",
        "The censorship index, and what is known of one country.",
        &["/data/country/", "/data/censorship-index", "/v1/censorship-index", "/v1/topic-censorship-index"],
    ),
    ("Domains", "Where a domain is blocked, now and by day.", &["/data/domain/"]),
    (
        "Incidents",
        "Incidents of censorship and disruption, their evidence, feeds and search.",
        &["/data/incidents", "/data/evidence/", "/v1/incidents/", "/v1/censorship-index/incidents/"],
    ),
    (
        "Measurements",
        "Measurements, counts of them, their sources and how they are judged.",
        &[
            "/v1/measurement/",
            "/data/measurements",
            "/data/dumps",
            "/data/sources",
            "/data/methodology",
            "/data/sentences",
            "/api/v1/",
        ],
    ),
    ("Networks", "What networks block, and networks side by side.", &["/v1/isp/", "/data/network/"]),
    ("Platforms", "Risks of platforms over all countries and in one.", &["/v1/platform/", "/v1/platforms/"]),
    ("Forecasts", "Forecasts of shutdowns by country and network.", &["/v1/forecast/", "/v1/shutdown-risk/"]),
    ("Sentinel", "What forecasts rest on, how they came out, and reports of outcomes.", &["/v1/sentinel/"]),
    (
        "Atlas",
        "Scores, topics, unusual days and the models behind them.",
        &["/v1/atlas/", "/v1/anomaly/", "/v1/classifier/"],
    ),
    ("Elections", "Elections with the risk of a shutdown around them.", &["/v1/elections/"]),
    ("Claims", "Claims in words, checked against measurements and incidents.", &["/verify-claim"]),
    ("Alerts", "Incidents sent to an address of the subscriber.", &["/api/alerts/"]),
    ("Probes", "The probe network: nodes, targets and results.", &["/v1/probe/", "/v1/community/"]),
    ("Agents", "Agents: registration, keys, names, profiles.", &["/v1/agent/", "/.well-known/did/"]),
    (
        "Messages",
        "Messages between agents, sealed by the service or by the client.",
        &["/v1/agent/send", "/v1/agent/receive", "/v1/agent/messages/", "/v1/agent/verify"],
    ),
    ("Consent", "Who may write to an agent, and which keys it remembers.", &["/v1/agent/consent", "/v1/agent/keys/"]),
    ("Channels", "Channels of many agents, and invites into them.", &["/v1/agent/channels", "/v1/agent/invites"]),
    (
        "Tasks",
        "Tasks that agents ask of each other, and what they can do.",
        &["/v1/agent/tasks", "/v1/agent/capabilities"],
    ),
    ("Memory", "JSON values that the service keeps for an agent.", &["/v1/agent/memory"]),
    ("Attestations", "Signed statements about the network, and votes on them.", &["/v1/agent/attestations"]),
    ("Webhooks", "Events of an agent sent to an address of its own.", &["/v1/agent/webhooks"]),
    ("Federation", "Messages between relays.", &["/v1/relay/"]),
    (
        "Wallets",
        "Credit: wallets, transfers, statements.",
        &[
            "/v1/pay/wallet",
            "/v1/pay/transfer",
            "/v1/pay/batch",
            "/v1/pay/faucet",
            "/v1/pay/history/",
            "/v1/pay/statement/",
        ],
    ),
    (
        "Escrows",
        "Money that is set aside, and receipts of the work that it pays.",
        &["/v1/pay/escrow/", "/v1/pay/receipt/"],
    ),
    ("Market", "Offers of capabilities, and hires.", &["/v1/pay/capability/", "/v1/pay/hire", "/v1/pay/trust/"]),
    (
        "Ledger",
        "The ledger as a whole: its log, proofs, limits and operators.",
        &["/v1/pay/", "/v1/agent/ledger-notices"],
    ),
    ("Keys", "API keys.", &["/api-keys/"]),
    ("Administration", "What only the operator may do.", &["/v1/admin/", "/metrics"]),
    ("Models", "Tools and resources for language models.", &["/mcp"]),
    ("Service", "The server itself.", &["/"]),
];

/// The tag of a path.
pub fn of(path: &str) -> &'static str {
    let fits = TAGS.iter().flat_map(|(name, _, begins)| begins.iter().map(move |begin| (*name, *begin)));
    fits.filter(|(_, begin)| path.starts_with(begin))
        .max_by_key(|(_, begin)| begin.len())
        .map_or("Service", |(name, _)| name)
}

/// All tags with their descriptions.
pub fn all() -> Vec<Value> {
    TAGS.iter().map(|(name, description, _)| json!({ "name": name, "description": description })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_has_an_operation() {
        for (name, ..) in TAGS {
            assert!(crate::app::PROGRAM.interface().any(|route| of(route.path) == *name), "{name}");
        }
    }
}
