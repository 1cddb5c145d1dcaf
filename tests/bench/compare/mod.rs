//! `cargo xtask compare`: durable writes and kept answers beside the servers that people know for them (decision
//! fair-comparison).
//!
//! In each round the program and each peer do the same work in turn, on the same disk and the same core, with as many
//! clients, and an answer means that the write is on disk. The rate of fdatasync is measured before, between and after.
//! A ratio is one of medians over the rounds; the worst round stands beside it. The run is quiet if all rates of
//! fdatasync differ by less than 1.3 times. A peer that is not there is named with the reason.
//!
//! In place of that, `--edge` compares the Worker with the smallest one in JavaScript, and `--grown` a file with ten
//! million messages (or `--messages N`) with an almost empty one.
//!
//! `--quick` makes a short run; only a full run is written. `--older PROGRAM` lets an earlier build of the program do
//! the sends too. `--agents N` draws the recipients of the scattered sends from so many agents.
//!
//! | Module | What |
//! |---|---|
//! | `edge` | the works of the Worker |
//! | `generator` | `wrk`, or the generator of this bench |
//! | `grown` | the works on a file that has grown for years |
//! | `table` | the table of a run |
//! | `usage` | CPU and bytes written by a server |
//! | `work` | the works, each done by every contender |

mod edge;
mod generator;
pub mod grown;
mod table;
mod usage;
mod work;

pub use edge::HEADING as EDGE_HEADING;
pub use table::render;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk;
use crate::machine::Cores;

pub const HEADING: &str = "\n## Compared\n";

/// The size of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub rounds: usize,
    pub window: Duration,
    /// Signed transfers in a round.
    pub transfers: usize,
    /// Agents whose mailboxes get the scattered sends, and the sends of a round.
    pub agents: usize,
    pub scattered: usize,
    /// Messages in the grown file.
    pub messages: usize,
    /// An earlier build of the program.
    pub older: Option<PathBuf>,
}

impl Plan {
    pub fn full() -> Plan {
        Plan {
            rounds: 3,
            window: Duration::from_secs(4),
            transfers: 12_000,
            agents: 100_000,
            scattered: 20_000,
            messages: grown::MESSAGES,
            older: None,
        }
    }

    pub fn quick() -> Plan {
        let window = Duration::from_millis(500);
        Plan { rounds: 2, window, transfers: 1_000, agents: 500, scattered: 1_000, messages: 20_000, older: None }
    }
}

/// What a contender did in a round.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Per second.
    pub rate: f64,
    /// Microseconds.
    pub p99: Option<u32>,
    /// Microseconds of CPU, and bytes that the server gave to the disk, each of one operation.
    pub cpu: Option<f64>,
    pub written: Option<f64>,
    /// The p99 of writes while the journal was put into the tree, and meanwhile, in microseconds.
    pub folds: Option<(u32, u32)>,
}

/// A contender's rounds, or the reason why there are none.
pub struct Contender {
    pub name: &'static str,
    pub samples: Result<Vec<Sample>, String>,
}

/// The ratio that a peer sets.
#[derive(Debug, Clone, Copy)]
pub struct Bar {
    pub peer: &'static str,
    pub least: f64,
    pub aim: f64,
}

/// One work, done by all of its contenders; the first is this program.
pub struct Work {
    pub what: String,
    pub bars: &'static [Bar],
    pub contenders: Vec<Contender>,
}

impl Work {
    fn new(what: String, bars: &'static [Bar], contenders: &[&'static str]) -> Work {
        let contenders = contenders.iter().map(|name| Contender { name, samples: Ok(Vec::new()) }).collect();
        Work { what, bars, contenders }
    }
}

/// The results of a run.
pub struct Measured {
    pub works: Vec<Work>,
    /// Rates of fdatasync, in the order of time.
    pub sync_rates: Vec<f64>,
    /// What was compared with what.
    pub notes: Vec<String>,
}

impl Measured {
    /// The highest rate of fdatasync by the lowest.
    pub fn unrest(&self) -> f64 {
        let most = self.sync_rates.iter().copied().fold(0.0, f64::max);
        most / self.sync_rates.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// Rates of fdatasync may differ by so much in a quiet run.
const QUIET: f64 = 1.3;

/// Everything that takes part in a comparison.
trait Stage {
    fn works(&self) -> Vec<Work>;
    /// What is compared with what.
    fn notes(&self) -> Vec<String>;
    /// Lets a contender do a work for one round.
    fn perform(&mut self, work: usize, contender: usize, plan: &Plan) -> Result<Sample, String>;
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// `cargo xtask compare`.
pub fn run(folder: &Path, plan: &Plan, cores: &Cores) -> Measured {
    rounds(folder, plan, &mut work::Peers::set(&runtime(), folder, plan, cores))
}

/// `cargo xtask compare --edge`.
pub fn run_edge(folder: &Path, plan: &Plan, cores: &Cores) -> Measured {
    rounds(folder, plan, &mut edge::Workers::set(&runtime(), folder, cores))
}

/// `cargo xtask compare --grown`.
pub fn run_grown(folder: &Path, plan: &Plan, cores: &Cores) -> Measured {
    let runtime = runtime();
    let mut files = grown::Files::set(&runtime, folder, plan, cores);
    let mut measured = rounds(folder, plan, &mut files);
    measured.notes.push(files.kill(folder, cores));
    measured
}

fn rounds(folder: &Path, plan: &Plan, stage: &mut impl Stage) -> Measured {
    let mut measured = Measured { works: stage.works(), sync_rates: Vec::new(), notes: stage.notes() };
    let sync_rate = || disk::sync_rate(folder, plan.window / 4).rate;
    measured.sync_rates.push(sync_rate());
    for round in 0..plan.rounds {
        eprintln!("round {} of {}", round + 1, plan.rounds);
        for at in 0..measured.works.len() {
            for contender in 0..measured.works[at].contenders.len() {
                let sample = stage.perform(at, contender, plan);
                if let Ok(samples) = &mut measured.works[at].contenders[contender].samples {
                    match sample {
                        Ok(sample) => samples.push(sample),
                        Err(why) => measured.works[at].contenders[contender].samples = Err(why),
                    }
                }
            }
            measured.sync_rates.push(sync_rate());
        }
    }
    measured
}
