//! `cargo xtask bench --fair`: measures cheap requests while other clients ask for answers that must be computed.
//!
//! A deployment of 600,000 observations in 180 countries answers `/health`, a kept check and durable sends, each on its
//! own connection, one after the other. First they run alone, then beside 2, 16 and 64 connections that ask again and
//! again for the censorship index of all countries at times that were not asked before. The median of three rounds
//! counts. Server and generator share all cores, as on a small machine. `--rows N` sets another number of rows.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use heliograph_tests::client::Client;
use heliograph_tests::process::Server;
use heliograph_tests::questions::QuestionRequest;

use crate::{large, load, machine, service};

pub const ROWS: u64 = 600_000;
/// Connections that ask for computed answers.
pub const BESIDE: [usize; 4] = [0, 2, 16, 64];
pub const ROUNDS: usize = 3;
/// Duration of each measurement.
pub const WINDOW: Duration = Duration::from_secs(8);
/// Number of different questions; each is asked at most once in a window.
const QUESTIONS: i64 = 20_000;

/// This many milliseconds are always allowed.
const ALWAYS: f64 = 50.0;
/// Allowed factor over the idle time.
const TIMES: f64 = 5.0;

/// The cheap requests.
pub const LITTLE: [&str; 3] = ["`GET /health`", "a check that is kept", "`POST /v1/agent/send/encrypted`, 1 KiB"];

/// The results of one window.
#[derive(Debug, Clone)]
pub struct Beside {
    /// p50 and p99 of each of [`LITTLE`], in milliseconds.
    pub little: [(f64, f64); 3],
    /// Computed answers per second.
    pub computed: f64,
}

/// All windows, by the number of other connections, then by round.
pub type Measured = [Vec<Beside>; BESIDE.len()];

pub fn run(folder: &Path, rows: u64, window: Duration, cores: &machine::Cores) -> Measured {
    let store = folder.join("fair.redb");
    large::generate_and_import(folder, &store, rows);
    let mut command = service::command(&store, cores);
    // This bench sends cheap requests without end.
    command.env("HELIOGRAPH_ACCESSIBILITY_PER_MINUTE", "100000000");
    let server = Server::start(command);
    let client = Client::http(&server.base);
    quiet(&server);
    let agents = service::agents(&client, 2);
    let check = "/v1/accessibility/check?domain=site-1.example&country=AD";
    assert_eq!(client.get(check).status, 200);
    let plans = [
        load::Plan::get(&server.base, "/health", &[]),
        load::Plan::get(&server.base, check, &[]),
        service::sends(&server.base, &agents),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut seed = 0;
    let mut measured: Measured = Default::default();
    for round in 0..ROUNDS {
        for (beside, found) in BESIDE.iter().zip(&mut measured) {
            seed += 1;
            eprintln!("round {} of {ROUNDS}, {beside} connections beside", round + 1);
            let cold = cold(&server.base, seed);
            found.push(runtime.block_on(once(&server.base, &plans, &cold, *beside, window, seed)));
        }
    }
    server.stop();
    measured
}

/// Questions about all countries at times of the last month that were not asked before.
fn cold(base: &str, seed: u64) -> load::Plan {
    let start = service::now().plus(-30 * 86_400_000_000 + seed as i64 * 1_000_000);
    let asked = (0..QUESTIONS).map(|number| QuestionRequest {
        path: format!("/v1/censorship-index?as_of={}", start.plus(number * 120_000_000)),
        body: String::new(),
    });
    load::Plan::mixed(base, &asked.collect::<Vec<_>>(), &[])
}

async fn once(
    base: &str,
    plans: &[load::Plan; 3],
    cold: &load::Plan,
    beside: usize,
    window: Duration,
    seed: u64,
) -> Beside {
    let little = futures_util::future::join_all(plans.iter().map(|plan| load::steady(base, window, PAUSE, plan, seed)));
    // The other connections start before the measurement and end after it.
    let computed = async {
        match beside {
            0 => 0.0,
            beside => load::run(base, beside, window + 2 * LEAD, cold, seed).await.rate,
        }
    };
    let little = async {
        tokio::time::sleep(LEAD).await;
        little.await
    };
    let (little, computed) = tokio::join!(little, computed);
    let ms = |micros: u32| f64::from(micros) / 1_000.0;
    let little = little.iter().map(|one| (ms(one.p50), ms(one.p99))).collect::<Vec<_>>();
    Beside { little: little.try_into().unwrap(), computed }
}

/// Pause between two cheap requests on a connection.
const PAUSE: Duration = Duration::from_millis(5);
const LEAD: Duration = Duration::from_millis(500);

/// Waits at most five minutes until the server has finished everything that follows from the import.
fn quiet(server: &Server) {
    const TICK: Duration = Duration::from_secs(2);
    let start = Instant::now();
    let (mut before, mut still) = (0.0, 0);
    while still < 10 && start.elapsed() < Duration::from_secs(300) {
        std::thread::sleep(TICK);
        let now = machine::cpu_seconds(server.id()).unwrap_or_default();
        still = if now - before < 0.1 { still + 1 } else { 0 };
        before = now;
    }
    eprintln!("quiet after {:.0} s", start.elapsed().as_secs_f64());
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Heading of this part in `RESULTS.md`.
pub const HEADING: &str = "\n## Fair shares\n";

pub fn render(measured: &Measured, rows: u64, machine: &[String]) -> String {
    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --fair`.\n\n");
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    writeln!(
        out,
        "- {rows} observations in 180 countries; \"beside\" means connections that ask for \
         `/v1/censorship-index?as_of=` at times that were not asked before\n- each was asked for {} s, in turn; median \
         of {ROUNDS} rounds, with every round in brackets\n",
        WINDOW.as_secs()
    )
    .unwrap();
    writeln!(out, "| p99 in ms | idle | {} | at most | met |\n|---|---|---|---|---|---|---|", beside()).unwrap();
    for (at, name) in LITTLE.iter().enumerate() {
        let p99 = |of: &Vec<Beside>| of.iter().map(|window| window.little[at].1).collect::<Vec<f64>>();
        let idle = median(p99(&measured[0]));
        let bar = (idle * TIMES).max(ALWAYS);
        let cells: Vec<String> = measured
            .iter()
            .map(|of| {
                let rounds: Vec<String> = p99(of).iter().map(|ms| format!("{ms:.1}")).collect();
                format!("{:.1} ({})", median(p99(of)), rounds.join(", "))
            })
            .collect();
        let met = measured.iter().all(|of| median(p99(of)) <= bar);
        writeln!(out, "| {name} | {} | {bar:.0} | {} |", cells.join(" | "), if met { "yes" } else { "**no**" })
            .unwrap();
    }
    let computed: Vec<String> =
        measured.iter().map(|of| format!("{:.1}", median(of.iter().map(|window| window.computed).collect()))).collect();
    writeln!(out, "| computed per second | {} | - | reported |", computed.join(" | ")).unwrap();
    out
}

fn beside() -> String {
    BESIDE[1..].iter().map(|beside| format!("{beside} beside")).collect::<Vec<_>>().join(" | ")
}
