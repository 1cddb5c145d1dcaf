//! The program on a file that has grown for years, beside the same program on an almost empty file: sends to few and to
//! very many mailboxes, reading, and paying; and its start after it was killed.

use std::path::Path;
use std::time::{Duration, Instant};

use heliograph_tests::client::Client;
use heliograph_tests::process::Server;
use tokio::runtime::Runtime;

use super::work::{CONNECTIONS, OURS, Relay, sampled};
use super::{Bar, Plan, Sample, Stage, Work};
use crate::ledger::people::{People, send_all};
use crate::load;
use crate::machine::Cores;
use crate::service;

pub const HEADING: &str = "\n## Compared with an empty file\n";

/// The size of the grown file.
pub const MESSAGES: usize = 10_000_000;
pub const AGENTS: usize = 1_000_000;
/// Agents of the almost empty file.
const FEW: usize = 10_000;
/// Messages that are made at a time.
const STEP: usize = 20_000;
/// Memory for pages while a file is made. With the default, half of the time goes into reading again what was written.
const CACHE_WHILE_MADE: &str = "8589934592";
/// Agents with credit.
const PAYERS: usize = 2_000;
const PAYING: usize = 16;

const EMPTY: &str = "empty file";
const SEND: &[Bar] = &[Bar { peer: EMPTY, least: 0.8, aim: 0.95 }];
const SCATTER: &[Bar] = &[Bar { peer: EMPTY, least: 0.4, aim: 0.6 }];
const WORKS: [(&str, &[Bar]); 4] = [
    ("durable send of 1 KB, 64 recipients", SEND),
    ("durable send of 1 KB, all recipients", SCATTER),
    ("receive 20 messages", &[]),
    ("signed transfer", &[]),
];

struct Side {
    relay: Relay,
    payers: People,
    paid: usize,
}

pub struct Files<'r> {
    runtime: &'r Runtime,
    sides: [Side; 2],
    size: String,
    seed: u64,
}

impl<'r> Files<'r> {
    pub fn set(runtime: &'r Runtime, folder: &Path, plan: &Plan, cores: &Cores) -> Files<'r> {
        let side = |name: &str, agents: usize, messages: usize| {
            let own = folder.join(name);
            std::fs::create_dir(&own).unwrap();
            let command = || service::command(&own.join("relay.redb"), cores);
            let mut making = command();
            making.args(["--set", &format!("cache_bytes={CACHE_WHILE_MADE}")]);
            let (relay, mut payers) = Relay::of(Server::start(making), runtime, agents);
            eprintln!("{agents} agents");
            // Drawn recipients would make the server read and write all pages again and again while the file is made. In
            // their order each page is written once; every mailbox has the same number of messages in the end.
            for step in 0..messages / STEP {
                let at = |of: usize| of * agents / (messages / STEP);
                let some = (at(step)..at(step + 1)).cycle().take(STEP).collect();
                let outcome = relay.send(runtime, some, 1_000_000 + 2 * step as u64);
                if step % 10 == 0 {
                    eprintln!("{} messages, {:.0} a second", (step + 1) * STEP, outcome.rate);
                }
            }
            let relay = relay.restart(command());
            payers.signers.truncate(PAYERS);
            payers.grant(runtime, &relay.server.base);
            Side { relay, payers, paid: 0 }
        };
        let sides = [side("grown", plan.agents, plan.messages), side("empty", FEW.min(plan.agents), 0)];
        let file = std::fs::metadata(folder.join("grown/relay.redb")).map_or(0, |file| file.len());
        let size = format!(
            "the grown file has {} agents, {} messages and {:.1} GB",
            plan.agents,
            plan.messages,
            file as f64 / 1e9
        );
        Files { runtime, sides, size, seed: 0 }
    }

    /// Kills the server of the grown file while its journal is full of sends, and starts it again: the time to the first
    /// answer.
    pub fn kill(self, folder: &Path, cores: &Cores) -> String {
        let [Side { relay, .. }, _] = self.sides;
        let own = folder.join("grown");
        relay.write(self.runtime, CONNECTIONS, Duration::from_secs(2), self.seed + 1);
        let key = relay.senders[0].1.clone();
        relay.server.kill();
        let size = |of: fn(&str) -> bool| -> u64 {
            let files = std::fs::read_dir(&own).unwrap().map(Result::unwrap);
            let chosen = files.filter(|file| file.file_name().to_str().is_some_and(of));
            chosen.map(|file| file.metadata().unwrap().len()).sum()
        };
        let data = size(|name| name == "relay.redb") as f64 / 1e9;
        let journal = size(|name| name.contains(".journal-") && !name.ends_with("spare")) as f64 / 1e6;
        let started = Instant::now();
        let server = Server::start(service::command(&own.join("relay.redb"), cores));
        let answer = Client::http(&server.base).agent(&key).get("/v1/agent/receive/raw?limit=20");
        let took = started.elapsed().as_millis();
        assert_eq!(answer.status, 200);
        format!(
            "killed while it wrote, the server of the grown file gave its first answer {took} ms after its start (data file \
             {data:.1} GB, journals {journal:.0} MB; bar 1000 ms for 1 GB)"
        )
    }
}

impl Stage for Files<'_> {
    fn works(&self) -> Vec<Work> {
        WORKS.map(|(what, bars)| Work::new(what.to_owned(), bars, &[OURS, EMPTY])).into()
    }

    fn notes(&self) -> Vec<String> {
        let filled = "the grown file was filled mailbox by mailbox, with as many messages each".to_owned();
        vec![self.size.clone(), filled, format!("the almost empty one has {FEW} agents")]
    }

    fn perform(&mut self, work: usize, contender: usize, plan: &Plan) -> Result<Sample, String> {
        self.seed += 1;
        let (runtime, seed) = (self.runtime, self.seed);
        let Side { relay, payers, paid } = &mut self.sides[contender];
        let base = relay.server.base.clone();
        Ok(match work {
            0 => relay.write(runtime, CONNECTIONS, plan.window, seed),
            1 => sampled(relay.scatter(runtime, plan.scattered, seed)),
            2 => {
                let all = relay.senders.iter().map(|(_, key)| key.clone());
                let asked = load::Plan::own_gets(&base, "/v1/agent/receive/raw?limit=20", all);
                sampled(runtime.block_on(load::run(&base, CONNECTIONS, plan.window, &asked, seed)))
            }
            _ => {
                let transfers = payers.transfers(&base, *paid, plan.transfers);
                *paid += plan.transfers;
                sampled(send_all(runtime, &base, PAYING, &transfers))
            }
        })
    }
}
