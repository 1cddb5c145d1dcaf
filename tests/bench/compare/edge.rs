//! The Worker beside the smallest Worker and object in JavaScript, both under workerd on one core: durable sends against
//! one INSERT, and public answers that may be late against the same bytes from memory.

use std::path::Path;

use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::process::{Server, built};
use heliograph_tests::questions::QuestionRequest;
use tokio::runtime::Runtime;

use super::work::{OURS, sampled};
use super::{Bar, Plan, Sample, Stage, Work};
use crate::imports::dataset;
use crate::load;
use crate::machine::Cores;
use crate::service;

pub const HEADING: &str = "\n## Compared on the edge\n";

const PLAIN: &str = "plain JavaScript";
const BAR: &[Bar] = &[Bar { peer: PLAIN, least: 0.5, aim: 0.8 }];
const CONNECTIONS: usize = 16;
/// Rows of the data behind the public answers.
const ROWS: usize = 2_000;
/// Bytes of a message's ciphertext in base64, and of a row of the plain object.
const BODY: usize = 1_368;

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Durable sends over so many connections to so many mailboxes.
    Send { connections: usize, objects: usize },
    /// A public answer that may be late.
    Read(&'static str),
}

const KINDS: [(Kind, &[Bar]); 8] = [
    (Kind::Send { connections: 1, objects: 1 }, &[]),
    (Kind::Send { connections: CONNECTIONS, objects: 1 }, BAR),
    (Kind::Send { connections: CONNECTIONS, objects: CONNECTIONS }, &[]),
    (Kind::Read("/data/country/KE"), BAR),
    (Kind::Read("/data/censorship-index.json"), BAR),
    (Kind::Read("/data/incidents"), BAR),
    (Kind::Read("/data/incidents?country=KE"), BAR),
    (Kind::Read("/v1/isp/index?country=KE"), BAR),
];

pub struct Workers<'r> {
    runtime: &'r Runtime,
    ours: Server,
    plain: Server,
    /// DID and key of each agent.
    agents: Vec<(String, String)>,
    seed: u64,
}

impl<'r> Workers<'r> {
    pub fn set(runtime: &'r Runtime, folder: &Path, cores: &Cores) -> Workers<'r> {
        let state = folder.join("edge");
        std::fs::create_dir(&state).unwrap();
        let mut ours = cores.server(&built("xtask"));
        ours.args(["edge", "serve", "--listen", "127.0.0.1:0", "--state"]).arg(&state);
        for (name, value) in service::GENEROUS {
            ours.env(format!("HELIOGRAPH_{name}"), value);
        }
        let mut plain = cores.server(&built("xtask"));
        plain.args(["edge", "plain"]);
        let (ours, plain) = (Server::start(ours), Server::start(plain));
        let client = Client::http(&ours.base);
        data::import(&client.admin(), "ooni-observations", "", dataset(ROWS, service::now()).text.as_bytes());
        let agents = service::agents(&client, CONNECTIONS);
        // Documents follow an import by timers, and are published at most every 10 s.
        std::thread::sleep(std::time::Duration::from_secs(15));
        for (kind, _) in KINDS {
            if let Kind::Read(path) = kind {
                let answer = client.get(path);
                assert_eq!(answer.status, 200, "{path}");
                let kept = Client::http(&plain.base).send("PUT", path, None, &answer.body);
                assert_eq!(kept.status, 200, "{path}");
            }
        }
        Workers { runtime, ours, plain, agents, seed: 0 }
    }
}

impl Stage for Workers<'_> {
    fn works(&self) -> Vec<Work> {
        KINDS.into_iter().map(|(kind, bars)| Work::new(name(kind), bars, &[OURS, PLAIN])).collect()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "durable send: `POST /v1/agent/send/encrypted` with 1 KB; the plain object makes one INSERT of as many \
             bytes. Public answers: the plain Worker has the same bytes in memory"
                .to_owned(),
        ];
        notes.push(match crate::edge::run() {
            Err(error) => error,
            Ok(edge) => {
                let mut above: Vec<f64> = edge.starts.iter().map(|(worker, bare)| worker - bare).collect();
                above.sort_by(f64::total_cmp);
                let above = above[above.len() / 2];
                format!(
                    "first answer {above:.0} ms after that of the plain Worker; bundle of {} bytes as gzip",
                    edge.gzip
                )
            }
        });
        notes
    }

    fn perform(&mut self, work: usize, contender: usize, plan: &Plan) -> Result<Sample, String> {
        self.seed += 1;
        let (kind, _) = KINDS[work];
        let base = if contender == 0 { &self.ours.base } else { &self.plain.base };
        let (connections, requests) = match kind {
            Kind::Read(path) => (CONNECTIONS, load::Plan::get(base, path, &[])),
            Kind::Send { connections, objects } if contender == 0 => {
                let to = |n: usize| self.agents[n % objects].0.clone();
                let all = (0..CONNECTIONS).map(|n| (to(n + 1), self.agents[n].1.clone()));
                (connections, service::sends_to(base, all))
            }
            Kind::Send { connections, objects } => {
                let asked = |n: usize| QuestionRequest { path: format!("/store/{n}"), body: "x".repeat(BODY) };
                let all: Vec<QuestionRequest> = (0..objects).map(asked).collect();
                (connections, load::Plan::mixed(base, &all, &[]).expecting(b"201"))
            }
        };
        Ok(sampled(self.runtime.block_on(load::run(base, connections, plan.window, &requests, self.seed))))
    }
}

fn name(kind: Kind) -> String {
    match kind {
        Kind::Send { connections, objects } => {
            let plural =
                |number: usize, one: &str, more: &str| format!("{number} {}", if number == 1 { one } else { more });
            let (from, to) =
                (plural(connections, "connection", "connections"), plural(objects, "mailbox", "mailboxes"));
            format!("durable send of 1 KB, {from}, {to}")
        }
        Kind::Read(path) => format!("`{path}`, {CONNECTIONS} connections"),
    }
}
