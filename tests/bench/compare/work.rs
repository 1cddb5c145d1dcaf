//! The works, and who does them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heliograph_tests::client::Client;
use heliograph_tests::process::{Server, built};
use heliograph_tests::simulation::Dice;
use serde_json::json;
use tokio::runtime::Runtime;

use super::generator::Generator;
use super::usage::{Usage, folding};
use super::{Bar, Plan, Sample, Stage, Work};
use crate::ledger::people::{People, send_all};
use crate::load::{self, Outcome};
use crate::machine::Cores;
use crate::peers::{Peer, nginx, postgres::Postgres, redis};
use crate::service::{self, Service};

/// Bytes of a message's ciphertext, and of a row of the peers.
const BODY: usize = 1_024;
pub const OURS: &str = "Heliograph";
const OLDER: &str = "earlier build";
const REDIS: &str = "Redis";
const POSTGRES: &str = "PostgreSQL";
const NGINX: &str = "nginx";
const DISK: &str = "fdatasync of 512 B";

const fn bar(peer: &'static str, least: f64, aim: f64) -> Bar {
    Bar { peer, least, aim }
}

/// A work, with its connections.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A durable write of 1 KB.
    Write(usize),
    /// The same, to mailboxes of very many agents.
    Scattered,
    /// Signed transfers, or TPC-B.
    Pay(usize),
    /// A kept answer, by its place in the documents.
    Read(usize),
}

pub const CONNECTIONS: usize = 64;
const PAYERS: usize = 16;

const WRITERS: &[&str] = &[OURS, OLDER, REDIS, POSTGRES, DISK];

/// Each work with its bars and its contenders.
const KINDS: [(Kind, &[Bar], &[&str]); 7] = [
    (Kind::Write(1), &[bar(REDIS, 0.5, 0.7), bar(DISK, 0.35, 0.5)], WRITERS),
    (Kind::Write(16), &[], WRITERS),
    (Kind::Write(CONNECTIONS), &[bar(POSTGRES, 1.0, 1.5), bar(REDIS, 0.3, 0.5)], WRITERS),
    (Kind::Scattered, &[bar(OLDER, 1.3, 2.0)], &[OURS, OLDER]),
    (Kind::Pay(PAYERS), &[bar(POSTGRES, 1.5, 2.5)], &[OURS, POSTGRES]),
    (Kind::Read(0), &[bar(NGINX, 0.95, 1.2), bar(REDIS, 0.75, 1.0)], &[OURS, NGINX, REDIS]),
    (Kind::Read(1), &[], &[OURS, NGINX, REDIS]),
];

/// A kept answer: path and body.
struct Document {
    path: String,
    body: Vec<u8>,
}

/// A build of the program with agents, to send messages to.
pub struct Relay {
    pub server: Server,
    pub senders: Vec<(String, String)>,
    /// DIDs of the agents with scattered mailboxes.
    recipients: Vec<String>,
}

impl Relay {
    fn start(program: &Path, runtime: &Runtime, folder: &Path, plan: &Plan, cores: &Cores) -> Relay {
        let server = Server::start(service::command_of(program, &folder.join("relay.redb"), cores));
        Relay::of(server, runtime, plan.agents).0
    }

    /// The same agents on a server that is started after this one has ended: a file has one process.
    pub fn restart(self, command: Command) -> Relay {
        self.server.stop();
        Relay { server: Server::start(command), ..self }
    }

    /// Registers so many agents, who can also pay, on a server that runs. Recipients are in the order of their names.
    pub fn of(server: Server, runtime: &Runtime, agents: usize) -> (Relay, People) {
        let client = Client::http(&server.base);
        let senders = service::agents(&client, CONNECTIONS);
        let people = People::register(runtime, &server.base, agents);
        let mut recipients: Vec<String> = people.signers.iter().map(|signer| signer.did.clone()).collect();
        recipients.sort_unstable();
        (Relay { server, senders, recipients }, people)
    }

    pub fn write(&self, runtime: &Runtime, connections: usize, window: Duration, seed: u64) -> Sample {
        let base = &self.server.base;
        let plan = service::sends(base, &self.senders);
        match folding(self.server.id()) {
            None => sampled(runtime.block_on(load::run(base, connections, window, &plan, seed))),
            Some(folds) => {
                let run = load::run_watching(base, connections, window, &plan, seed, folds);
                let (outcome, folds) = runtime.block_on(run);
                Sample { folds, ..sampled(outcome) }
            }
        }
    }

    /// Sends `number` messages, each to an agent that is drawn.
    pub fn scatter(&self, runtime: &Runtime, number: usize, seed: u64) -> Outcome {
        let mut dice = Dice::new(seed + 1);
        let mut drawn = || (dice.draw() >> 33) as usize % self.recipients.len();
        self.send(runtime, (0..number).map(|_| drawn()).collect(), seed)
    }

    /// Sends a message to each of these recipients, by their places.
    pub fn send(&self, runtime: &Runtime, places: Vec<usize>, seed: u64) -> Outcome {
        let mut dice = Dice::new(seed);
        let ciphertext = STANDARD.encode([0xa5; BODY]);
        let mut bytes =
            |length: usize| STANDARD.encode((0..length).map(|_| (dice.draw() >> 33) as u8).collect::<Vec<_>>());
        let bodies: Vec<(String, String)> = places.iter().map(|_| (bytes(24), bytes(64))).collect();
        let all = bodies.into_iter().zip(places).enumerate().map(|(n, ((nonce, signature), place))| {
            let to = &self.recipients[place];
            let key = self.senders[n % self.senders.len()].1.clone();
            (key, json!({ "to": to, "ciphertext": ciphertext, "nonce": nonce, "signature": signature }).to_string())
        });
        let plan = load::Plan::posts_of(&self.server.base, "/v1/agent/send/encrypted", all);
        send_all(runtime, &self.server.base, CONNECTIONS, &plan)
    }
}

/// Everything that is compared.
pub struct Peers<'r> {
    runtime: &'r Runtime,
    folder: std::path::PathBuf,
    relay: Relay,
    older: Result<Relay, String>,
    service: Service,
    ledger: Server,
    payers: People,
    paid: usize,
    redis: Result<Peer, String>,
    postgres: Result<Postgres, String>,
    nginx: Result<Peer, String>,
    generator: Generator,
    documents: Vec<Document>,
    seed: u64,
}

const INSERT: &str = "CREATE TABLE messages (id bigserial PRIMARY KEY, recipient integer, body text)";

impl<'r> Peers<'r> {
    pub fn set(runtime: &'r Runtime, folder: &Path, plan: &Plan, cores: &Cores) -> Peers<'r> {
        let own = |name: &str| {
            let own = folder.join(name);
            std::fs::create_dir(&own).unwrap();
            own
        };
        let relay = Relay::start(&built("heliograph"), runtime, &own("relay"), plan, cores);
        let older = match &plan.older {
            Some(program) => Ok(Relay::start(program, runtime, &own("older"), plan, cores)),
            None => Err("no `--older` was given".to_owned()),
        };
        let ledger = Server::start(service::command(&own("ledger").join("ledger.redb"), cores));
        let payers = People::register(runtime, &ledger.base, (plan.transfers / 10).max(200));
        payers.grant(runtime, &ledger.base);
        let service = Service::start(&own("service").join("service.redb"), cores);
        let documents = documents(&service);
        let files = own("files");
        for (n, document) in documents.iter().enumerate() {
            std::fs::write(files.join(n.to_string()), &document.body).unwrap();
        }
        let postgres = Postgres::start(&own("database"), cores).and_then(|postgres| {
            postgres.fill()?;
            postgres.sql(INSERT)?;
            Ok(postgres)
        });
        Peers {
            runtime,
            folder: folder.to_owned(),
            relay,
            older,
            service,
            ledger,
            payers,
            paid: 0,
            redis: redis::start(&own("redis"), cores),
            postgres,
            nginx: nginx::start(&files, cores),
            generator: Generator::find(),
            documents,
            seed: 0,
        }
    }

    fn name(&self, kind: Kind) -> String {
        let plural = |number: usize| if number == 1 { "connection" } else { "connections" };
        match kind {
            Kind::Write(connections) => format!("durable write of 1 KB, {connections} {}", plural(connections)),
            Kind::Scattered => {
                format!("the same, {CONNECTIONS} connections, to {} agents", self.relay.recipients.len())
            }
            Kind::Pay(connections) => format!("signed transfer / TPC-B, {connections} connections"),
            Kind::Read(at) => {
                let Document { path, body } = &self.documents[at];
                format!("kept answer of {:.1} KB (`{path}`), {CONNECTIONS} connections", body.len() as f64 / 1e3)
            }
        }
    }

    fn redis(&self) -> Result<&Peer, String> {
        self.redis.as_ref().map_err(String::clone)
    }

    fn postgres(&self) -> Result<&Postgres, String> {
        self.postgres.as_ref().map_err(String::clone)
    }

    /// The process whose CPU and writes count.
    fn process(&self, name: &str, kind: Kind) -> Result<Option<u32>, String> {
        Ok(match (name, kind) {
            (OURS, Kind::Read(_)) => Some(self.service.id()),
            (OURS, Kind::Pay(_)) => Some(self.ledger.id()),
            (OURS, _) => Some(self.relay.server.id()),
            (OLDER, _) => Some(self.older.as_ref().map_err(String::clone)?.server.id()),
            (REDIS, _) => Some(self.redis()?.id()),
            (POSTGRES, _) => self.postgres()?.id(),
            (NGINX, _) => Some(self.nginx.as_ref().map_err(String::clone)?.id()),
            _ => None,
        })
    }
}

impl Stage for Peers<'_> {
    fn works(&self) -> Vec<Work> {
        KINDS.into_iter().map(|(kind, bars, names)| Work::new(self.name(kind), bars, names)).collect()
    }

    fn notes(&self) -> Vec<String> {
        vec![
            "durable write: `POST /v1/agent/send/encrypted` by as many agents as connections; Redis `XADD` with \
             `appendfsync always`; PostgreSQL `INSERT` into a table with one index, by `pgbench -M prepared`"
                .to_owned(),
            format!(
                "kept answers are asked for by {}, those of Redis by the generator of the bench",
                self.generator.name()
            ),
        ]
    }

    fn perform(&mut self, work: usize, contender: usize, plan: &Plan) -> Result<Sample, String> {
        self.seed += 1;
        let (kind, _, names) = KINDS[work];
        let name = names[contender];
        let (seconds, window) = (plan.window.as_secs().max(1), plan.window);
        let process = self.process(name, kind)?;
        let before = process.and_then(Usage::of);
        let begun = std::time::Instant::now();
        let sample = match (kind, name) {
            (Kind::Write(connections), OURS) => self.relay.write(self.runtime, connections, window, self.seed),
            (Kind::Write(connections), OLDER) => {
                self.older.as_ref().map_err(String::clone)?.write(self.runtime, connections, window, self.seed)
            }
            (Kind::Write(connections), REDIS) => {
                let commands = redis::Commands::appends(connections, &[b'x'; BODY]);
                sampled(self.runtime.block_on(redis::run(&self.redis()?.address, connections, window, &commands)))
            }
            (Kind::Write(connections), POSTGRES) => {
                let insert = format!(
                    "\\set r random(1, 64)\nINSERT INTO messages (recipient, body) VALUES (:r, '{}');\n",
                    "x".repeat(BODY)
                );
                plain(self.postgres()?.script(&insert, connections, seconds)?)
            }
            (Kind::Scattered, OURS) => sampled(self.relay.scatter(self.runtime, plan.scattered, self.seed)),
            (Kind::Scattered, _) => {
                sampled(self.older.as_ref().map_err(String::clone)?.scatter(self.runtime, plan.scattered, self.seed))
            }
            (Kind::Pay(connections), OURS) => {
                let transfers = self.payers.transfers(&self.ledger.base, self.paid, plan.transfers);
                self.paid += plan.transfers;
                sampled(send_all(self.runtime, &self.ledger.base, connections, &transfers))
            }
            (Kind::Pay(connections), _) => plain(self.postgres()?.tpc_b(connections, seconds)?),
            (Kind::Read(at), OURS) => {
                let address = self.service.base.trim_start_matches("http://");
                self.generator.get(self.runtime, (address, &self.documents[at].path), CONNECTIONS, window)?
            }
            (Kind::Read(at), NGINX) => {
                let nginx = self.nginx.as_ref().map_err(String::clone)?;
                self.generator.get(self.runtime, (&nginx.address, &format!("/{at}")), CONNECTIONS, window)?
            }
            (Kind::Read(at), _) => {
                let address = &self.redis()?.address;
                let set = redis::Commands::set(&self.documents[at].body);
                self.runtime.block_on(redis::run(address, 1, Duration::from_millis(1), &set));
                let get = redis::Commands::get();
                sampled(self.runtime.block_on(redis::run(address, CONNECTIONS, window, &get)))
            }
            _ => plain(crate::disk::sync_rate(&self.folder, window / 2).rate),
        };
        let operations = sample.rate * begun.elapsed().as_secs_f64();
        let used = process.and_then(Usage::of).zip(before).map(|(now, before)| now.since(before, operations));
        Ok(Sample { cpu: used.map(|(cpu, _)| cpu), written: used.map(|(_, written)| written), ..sample })
    }
}

pub fn sampled(outcome: Outcome) -> Sample {
    Sample { p99: Some(outcome.p99), ..plain(outcome.rate) }
}

fn plain(rate: f64) -> Sample {
    Sample { rate, p99: None, cpu: None, written: None, folds: None }
}

/// The kept answers whose sizes are closest to 1.4 and 25 KB.
fn documents(service: &Service) -> Vec<Document> {
    let client = Client::http(&service.base);
    let mut all: Vec<Document> =
        service.documents().into_iter().map(|path| Document { body: client.get(&path).body.to_vec(), path }).collect();
    [1_400, 25_000]
        .map(|size| {
            let off = |document: &Document| (document.body.len() as f64 / f64::from(size)).ln().abs();
            let best = (0..all.len()).min_by(|a, b| off(&all[*a]).total_cmp(&off(&all[*b]))).unwrap();
            all.swap_remove(best)
        })
        .into()
}
