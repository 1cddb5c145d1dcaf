//! The native server for measurements: generous budgets, no access log, with data and agents.

use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heliograph_core::engine::time::Timestamp;
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::process::{Server, built};
use heliograph_tests::target::ADMIN_KEY;
use serde_json::{Value, json};

use crate::imports::dataset;
use crate::load::Plan;
use crate::machine::Cores;

const LOOKUP: &str = "/data/censorship-index.json";
/// Connections of the largest send run; each has its own agent.
const AGENTS: usize = 64;
/// Bytes of ciphertext in a durable send (decision fair-benches).
const CIPHERTEXT: usize = 1_024;
/// Measurements of the busiest series.
const BUSY: &str = "ooni/observations_KE_2023_telegram.csv.gz";
/// Rows of the data for detection.
const ROWS: usize = 50_000;

/// The tag of the looked-up document, once it no longer changes: the import's summaries follow by timers, and a
/// document is published at most every 10 s.
fn settled(client: &Client) -> String {
    let tag = || client.get(LOOKUP).header("etag").unwrap().to_owned();
    for _ in 0..10 {
        let before = tag();
        std::thread::sleep(std::time::Duration::from_secs(12));
        if tag() == before {
            return before;
        }
    }
    panic!("{LOOKUP} never settles");
}

pub struct Service {
    server: Server,
    pub base: String,
    tag: String,
    api_key: String,
    /// DID and key of each agent.
    agents: Vec<(String, String)>,
    /// True if the busiest real series was imported.
    busy: bool,
    /// Countries and sites of the data.
    cells: Vec<(String, String)>,
}

impl Service {
    pub fn start(data: &Path, cores: &Cores) -> Service {
        let server = Server::start(command(data, cores));
        let client = Client::http(&server.base);
        let set = dataset(ROWS, now());
        data::import(&client.admin(), "ooni-observations", "", set.text.as_bytes());
        let real = data::real(BUSY);
        if let Some(text) = &real {
            data::import(&client.admin(), "ooni-observations", "", text);
        }
        let key = client.admin().post("/v1/admin/keys", &json!({ "tier": "bench" })).expect(201);
        let agents = agents(&client, AGENTS);
        let tag = settled(&client);
        let api_key = text(&key["api_key"]);
        Service { base: server.base.clone(), server, tag, api_key, agents, busy: real.is_some(), cells: set.cells }
    }

    /// Process id of the server.
    pub fn id(&self) -> u32 {
        self.server.id()
    }

    /// Paths of documents of many sizes.
    pub fn documents(&self) -> Vec<String> {
        let mut countries: Vec<&String> = self.cells.iter().map(|(country, _)| country).collect();
        countries.sort_unstable();
        countries.dedup();
        let countries = countries.into_iter().map(|country| format!("/data/country/{country}"));
        [LOOKUP, "/data/platforms.json", "/data/incidents"].into_iter().map(str::to_owned).chain(countries).collect()
    }

    pub fn lookup(&self) -> Plan {
        Plan::get(&self.base, LOOKUP, &[])
    }

    pub fn not_modified(&self) -> Plan {
        Plan::get_unchanged(&self.base, LOOKUP, &self.tag)
    }

    pub fn detect(&self) -> Plan {
        let bodies = self.cells.iter().map(|(country, site)| json!({ "country": country, "target": site }).to_string());
        Plan::posts(&self.base, "/hydra/v1/detect", &[("x-api-key", &self.api_key)], bodies)
    }

    /// The same question again and again, about a service that 26 networks measured many times a day.
    pub fn busy(&self) -> Option<Plan> {
        let body = json!({ "country": "KE", "target": "telegram", "as_of": "2023-11-23T12:30:00Z" }).to_string();
        let plan =
            || Plan::posts(&self.base, "/hydra/v1/detect", &[("x-api-key", &self.api_key)], std::iter::once(body));
        self.busy.then(plan)
    }

    pub fn send(&self) -> Plan {
        sends(&self.base, &self.agents)
    }
}

/// DID and key of `number` new agents.
pub fn agents(client: &Client, number: usize) -> Vec<(String, String)> {
    (0..number).map(|_| register(client)).collect()
}

/// Each agent writes to its neighbour; nonce and signature differ from message to message.
pub fn sends(base: &str, agents: &[(String, String)]) -> Plan {
    let neighbours = agents.iter().cycle().skip(1).map(|(to, _)| to.clone());
    sends_to(base, neighbours.zip(agents.iter().map(|(_, key)| key.clone())))
}

/// Recipients, each with the key of a sender; nonce and signature differ from message to message.
pub fn sends_to(base: &str, all: impl Iterator<Item = (String, String)>) -> Plan {
    let ciphertext = STANDARD.encode([0xa5; CIPHERTEXT]);
    let all = all.map(|(to, key)| {
        // 24 bytes are 32 digits. 64 bytes are 86 digits and padding; the last digit has two meaningful bits.
        let (nonce, signature) = ("~".repeat(32), format!("{}A==", "~".repeat(85)));
        let body = json!({ "to": to, "ciphertext": ciphertext, "nonce": nonce, "signature": signature });
        (key, body.to_string())
    });
    Plan::own_posts(base, "/v1/agent/send/encrypted", all)
}

/// Settings under which no budget stops a bench.
pub const GENEROUS: [(&str, &str); 7] = [
    ("ADMIN_KEY", ADMIN_KEY),
    ("ACCESS_LOG", "false"),
    ("AGENT_PER_SECOND", "10000000"),
    ("AGENT_BURST", "100000000"),
    ("MAILBOX_MESSAGES", "100000000"),
    ("MAILBOX_BYTES", "1000000000000"),
    ("REGISTRATIONS_PER_HOUR", "1000000"),
];

/// The command that runs the server on this data file.
pub fn command(data: &Path, cores: &Cores) -> Command {
    command_of(&built("heliograph"), data, cores)
}

/// The same with another build of the program.
pub fn command_of(program: &Path, data: &Path, cores: &Cores) -> Command {
    let mut command = cores.server(program);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    for (name, value) in GENEROUS {
        command.env(format!("HELIOGRAPH_{name}"), value);
    }
    command
}

fn register(client: &Client) -> (String, String) {
    let body = client.post("/v1/agent/register", &json!({})).expect(201);
    (text(&body["did"]), text(&body["api_key"]))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The time of the last row of the data.
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp::from_seconds(i64::try_from(since.as_secs()).unwrap())
}
