//! `cargo xtask bench`: measures speed beside baselines that are measured in the same minutes (decision fair-benches).
//!
//! Every round measures the following, one after the other on the same disk and the same cores: the raw fdatasync rate,
//! a bare axum JSON handler, a cached lookup, detection from stored aggregates, durable sends at 1, 16 and 64
//! connections, and the fdatasync rate again. There are three rounds; ratios are taken within a round, and the worst
//! round counts. Imports with their peak memory, and start and size of the Worker follow. Server and generator are
//! pinned to different cores if `taskset` is installed. `--large`, `--incidents`, `--agents`, `--mailbox`, `--alerts`,
//! `--overload`, `--races`, `--probes`, `--forecasts`, `--fair`, `--ledger`, `--ledger-grown` and `--ledger-edge`
//! measure other things. The result is `tests/bench/RESULTS.md`; `--quick` makes a short run and writes nothing.
//!
//! | Module | What |
//! |---|---|
//! | `agents` | listening agents, and messages between them |
//! | `alerts` | alerts to 10,000 subscriptions |
//! | `asked` | every question of a list on 32 connections |
//! | `bare` | the baselines: bare axum servers |
//! | `compare` | durable writes and kept answers beside other servers |
//! | `disk` | the fdatasync rate of the disk |
//! | `edge` | start time and size of the Worker |
//! | `fair` | cheap requests beside costly ones |
//! | `forecasts` | the daily forecast, and learning |
//! | `imports` | rows per second and memory of imports |
//! | `incidents` | readers of 20,000 incidents |
//! | `large` | a deployment of five million rows |
//! | `ledger` | the credit ledger |
//! | `load` | the HTTP load generator |
//! | `machine` | the machine and its cores |
//! | `mailbox` | pages of a full mailbox |
//! | `overload` | memory during floods |
//! | `peers` | other servers |
//! | `probes` | submissions of the probe network |
//! | `races` | attackers of an identity |
//! | `report` | the table of results |
//! | `service` | the native server for measurements |

mod agents;
mod alerts;
mod asked;
mod bare;
mod compare;
mod disk;
mod edge;
mod fair;
mod forecasts;
mod imports;
mod incidents;
mod large;
mod ledger;
mod load;
mod machine;
mod mailbox;
mod overload;
mod peers;
mod probes;
mod races;
mod report;
mod service;

use std::time::Duration;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds of the interleaved part.
const ROUNDS: usize = 3;

/// One round of the interleaved part.
#[derive(Debug, Clone)]
pub struct Round {
    /// Appends of 512 B with fdatasync, per second, before and after the round.
    pub fsync: [disk::SyncRate; 2],
    pub bare: load::Outcome,
    pub lookup: load::Outcome,
    pub not_modified: load::Outcome,
    pub detect: load::Outcome,
    /// `None` without the real data.
    pub busy: Option<load::Outcome>,
    /// At 1, 16 and 64 connections.
    pub send: [load::Outcome; 3],
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--bare-handler") {
        return bare::serve();
    }
    if args.iter().any(|arg| arg == "--compare") {
        return measure_compared(&args);
    }
    if args.iter().any(|arg| arg == "--large") {
        return measure_large(&args);
    }
    if args.iter().any(|arg| arg == "--incidents") {
        return measure_incidents(&args);
    }
    // This comes before `--agents`, which also sets a number of this bench.
    if args.iter().any(|arg| arg == "--ledger") {
        return measure_ledger(&args);
    }
    if args.iter().any(|arg| arg == "--agents") {
        return measure_agents(&args);
    }
    if args.iter().any(|arg| arg == "--mailbox") {
        return measure_mailbox(&args);
    }
    if args.iter().any(|arg| arg == "--overload") {
        return measure_overload(&args);
    }
    if args.iter().any(|arg| arg == "--alerts") {
        return measure_alerts(&args);
    }
    if args.iter().any(|arg| arg == "--probes") {
        return measure_probes(&args);
    }
    if args.iter().any(|arg| arg == "--forecasts") {
        return measure_forecasts();
    }
    if args.iter().any(|arg| arg == "--races") {
        return measure_races(&args);
    }
    if args.iter().any(|arg| arg == "--fair") {
        return measure_fair(&args);
    }
    if args.iter().any(|arg| arg == "--ledger-grown") {
        return measure_ledger_grown(&args);
    }
    if args.iter().any(|arg| arg == "--ledger-edge") {
        return measure_ledger_edge(&args);
    }
    let quick = args.iter().any(|arg| arg == "--quick");
    let window = Duration::from_millis(if quick { 300 } else { 2_000 });
    // Before the generator is pinned, because a start may use every core, as in normal use.
    let edge = edge::run();
    let cores = machine::pin_generator();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let rounds = interleaved(folder.path(), &cores, window, if quick { 1 } else { ROUNDS });
    let imports = imports::run(folder.path(), if quick { 20_000 } else { 500_000 }, if quick { 1 } else { ROUNDS });
    let text = report::render(&machine::describe(&cores), &rounds, &imports, &edge);
    println!("{text}");
    if !quick {
        // The parts of the other benches stay.
        let before = std::fs::read_to_string(RESULTS).unwrap_or_default();
        let others = HEADINGS.map(|heading| part(&before, heading));
        std::fs::write(RESULTS, text + &others.concat()).unwrap();
    }
}

/// The headings of the other benches' results.
const HEADINGS: [&str; 17] = [
    compare::HEADING,
    compare::EDGE_HEADING,
    compare::grown::HEADING,
    agents::HEADING,
    alerts::HEADING,
    fair::HEADING,
    forecasts::HEADING,
    incidents::HEADING,
    large::HEADING,
    mailbox::HEADING,
    overload::HEADING,
    probes::HEADING,
    races::HEADING,
    DIRECTORY,
    ledger::HEADING,
    ledger::GROWN_HEADING,
    ledger::EDGE_HEADING,
];
/// This part is written by hand, from the output of the test in `native-server/tests/directory.rs`.
const DIRECTORY: &str = "\n## Directory\n";

/// The part of the results under a heading, up to the next heading.
fn part<'a>(results: &'a str, heading: &str) -> &'a str {
    let Some(at) = results.find(heading) else { return "" };
    let next = HEADINGS.iter().filter_map(|other| results.find(other));
    let end = next.filter(|other| *other > at).min().unwrap_or(results.len());
    &results[at..end]
}

/// Replaces the earlier part under this heading.
fn write_part(heading: &str, text: &str) {
    let before = std::fs::read_to_string(RESULTS).unwrap_or_default();
    let first = HEADINGS.iter().filter_map(|other| before.find(other)).min().unwrap_or(before.len());
    let parts = HEADINGS.map(|other| if other == heading { text } else { part(&before, other) });
    std::fs::write(RESULTS, before[..first].to_owned() + &parts.concat()).unwrap();
}

fn measure_agents(args: &[String]) {
    let plan = given(args, "--number").map_or(agents::FULL, |number| agents::Plan::small(number.parse().unwrap()));
    let cores = machine::pin_generator();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let measured = agents::run(folder.path(), &plan, &cores);
    let text = agents::render(&plan, &measured, &machine::describe(&cores));
    println!("{text}");
    if plan == agents::FULL {
        write_part(agents::HEADING, &text);
    }
}

fn measure_alerts(args: &[String]) {
    let number = given(args, "--number").map_or(alerts::SUBSCRIPTIONS, |number| number.parse().unwrap());
    let cores = machine::pin_generator();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let measured = alerts::run(folder.path(), number, &cores);
    let text = alerts::render(&measured, &machine::describe(&cores));
    println!("{text}");
    if number == alerts::SUBSCRIPTIONS {
        write_part(alerts::HEADING, &text);
    }
}

fn measure_overload(args: &[String]) {
    let window =
        given(args, "--seconds").map_or(overload::WINDOW, |seconds| Duration::from_secs(seconds.parse().unwrap()));
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let measured = overload::run(folder.path(), window);
    let text = overload::render(&measured, &machine::describe_shared());
    println!("{text}");
    if window == overload::WINDOW {
        write_part(overload::HEADING, &text);
    }
}

fn measure_compared(args: &[String]) {
    let full = compare::Plan::full();
    let mut plan = if args.iter().any(|arg| arg == "--quick") { compare::Plan::quick() } else { full.clone() };
    plan.agents = given(args, "--agents").map_or(plan.agents, |number| number.parse().unwrap());
    plan.older = given(args, "--older").map(std::path::PathBuf::from);
    let cores = machine::pin_generator();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let chosen = |option: &str| args.iter().any(|arg| arg == option);
    let (edge, grown) = (chosen("--edge"), chosen("--grown"));
    if grown {
        plan.agents = given(args, "--agents").map_or(compare::grown::AGENTS, |number| number.parse().unwrap());
        plan.messages = given(args, "--messages").map_or(plan.messages, |number| number.parse().unwrap());
    }
    let full = if grown { compare::Plan { agents: compare::grown::AGENTS, ..full } } else { full };
    let (measured, heading, command) = match (edge, grown) {
        (true, _) => (compare::run_edge(folder.path(), &plan, &cores), compare::EDGE_HEADING, "compare --edge"),
        (_, true) => (compare::run_grown(folder.path(), &plan, &cores), compare::grown::HEADING, "compare --grown"),
        _ => (compare::run(folder.path(), &plan, &cores), compare::HEADING, "compare"),
    };
    let text = compare::render((heading, command), &measured, &machine::describe(&cores));
    println!("{text}");
    if (compare::Plan { older: None, ..plan }) == full {
        write_part(heading, &text);
    }
}

fn measure_forecasts() {
    let cores = machine::pin_generator();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let measured = forecasts::run(folder.path(), &cores);
    let text = forecasts::render(&measured, &machine::describe(&cores));
    println!("{text}");
    if !cfg!(debug_assertions) {
        write_part(forecasts::HEADING, &text);
    }
}

fn measure_fair(args: &[String]) {
    let rows = given(args, "--rows").map_or(fair::ROWS, |rows| rows.parse().unwrap());
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // Nothing is pinned before `shared` lets everything use every core.
    let cores = machine::pin_generator();
    let run = |cores: &machine::Cores| fair::run(folder.path(), rows, fair::WINDOW, cores);
    let measured = cores.shared(run).unwrap_or_else(|| run(&cores));
    let text = fair::render(&measured, rows, &machine::describe_shared());
    println!("{text}");
    if rows == fair::ROWS && !cfg!(debug_assertions) {
        write_part(fair::HEADING, &text);
    }
}

fn measure_races(args: &[String]) {
    let number = given(args, "--number").map_or(races::RACES, |number| number.parse().unwrap());
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let measured = races::run(folder.path(), number);
    let text = races::render(&measured, number, &machine::describe_shared());
    println!("{text}");
    assert!(races::holds(&measured), "an attacker won something");
    if number == races::RACES {
        write_part(races::HEADING, &text);
    }
}

fn measure_probes(args: &[String]) {
    let number = given(args, "--number").map_or(probes::NODES, |number| number.parse().unwrap());
    let cores = machine::pin_generator();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let measured = probes::run(folder.path(), number, &cores);
    let text = probes::render(&measured, &machine::describe(&cores));
    println!("{text}");
    if number == probes::NODES {
        write_part(probes::HEADING, &text);
    }
}

fn measure_incidents(args: &[String]) {
    let number = given(args, "--number").map_or(incidents::INCIDENTS, |number| number.parse().unwrap());
    let cores = machine::pin_generator();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let measured = incidents::run(folder.path(), number, &cores, Duration::from_secs(2));
    let text = incidents::render(&measured, &machine::describe(&cores));
    println!("{text}");
    if number == incidents::INCIDENTS {
        write_part(incidents::HEADING, &text);
    }
}

fn measure_mailbox(args: &[String]) {
    let given = args.iter().position(|arg| arg == "--number").and_then(|at| args.get(at + 1));
    let number = given.map_or(mailbox::MESSAGES, |number| number.parse().unwrap());
    let cores = machine::pin_generator();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let measured = mailbox::run(folder.path(), number, &cores);
    let text = mailbox::render(&measured, &machine::describe(&cores));
    println!("{text}");
    if number == mailbox::MESSAGES {
        write_part(mailbox::HEADING, &text);
    }
}

fn measure_ledger(args: &[String]) {
    let number = |option: &str, full: usize| given(args, option).map_or(full, |number| number.parse().unwrap());
    let ledger::Plan { agents, transfers, offers } = ledger::FULL;
    let plan = ledger::Plan {
        agents: number("--agents", agents),
        transfers: number("--transfers", transfers),
        offers: number("--offers", offers),
    };
    let cores = machine::pin_generator();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let measured = ledger::run(folder.path(), &plan, &cores);
    let text = ledger::render(&plan, &measured, &machine::describe(&cores));
    println!("{text}");
    if plan == ledger::FULL {
        write_part(ledger::HEADING, &text);
    }
}

fn measure_ledger_grown(args: &[String]) {
    let number = given(args, "--transfers").map_or(ledger::GROWN_TRANSFERS, |number| number.parse().unwrap());
    let cores = machine::pin_generator();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let text = ledger::measure_grown(folder.path(), number, &cores);
    println!("{text}");
    if number == ledger::GROWN_TRANSFERS {
        write_part(ledger::GROWN_HEADING, &text);
    }
}

fn measure_ledger_edge(args: &[String]) {
    let seconds = given(args, "--seconds").map_or(ledger::EDGE_SECONDS, |seconds| seconds.parse().unwrap());
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let text = ledger::measure_edge(folder.path(), seconds);
    println!("{text}");
    if seconds == ledger::EDGE_SECONDS {
        write_part(ledger::EDGE_HEADING, &text);
    }
}

const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bench/RESULTS.md");

fn measure_large(args: &[String]) {
    let rows = given(args, "--rows").map_or(large::ROWS, |rows| rows.parse().unwrap());
    let kept = given(args, "--store").map(std::path::Path::new);
    let cores = machine::pin_generator();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let large = large::run(folder.path(), kept, rows, &cores, Duration::from_secs(2));
    let text = large::render(&large, &machine::describe(&cores));
    println!("{text}");
    if rows == large::ROWS && kept.is_none() {
        write_part(large::HEADING, &text);
    }
}

/// The value after an option.
fn given<'a>(args: &'a [String], option: &str) -> Option<&'a String> {
    args.iter().position(|arg| arg == option).and_then(|at| args.get(at + 1))
}

fn interleaved(folder: &std::path::Path, cores: &machine::Cores, window: Duration, rounds: usize) -> Vec<Round> {
    let bare = bare::start(cores);
    let service = service::Service::start(&folder.join("service.redb"), cores);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut seed = 0;
    let mut measure = |base: &str, connections: usize, plan: &load::Plan| {
        seed += 1;
        runtime.block_on(load::run(base, connections, window, plan, seed))
    };
    let (lookup, not_modified, detect) = (service.lookup(), service.not_modified(), service.detect());
    let busy = service.busy();
    let hello = load::Plan::get(&bare.base, "/", &[]);
    // A first run that is not counted: caches fill, and connections and files are opened.
    for plan in [&lookup, &detect] {
        measure(&service.base, 16, plan);
    }
    (0..rounds)
        .map(|round| {
            eprintln!("round {} of {rounds}", round + 1);
            let before = disk::sync_rate(folder, window / 2);
            Round {
                bare: measure(&bare.base, 64, &hello),
                lookup: measure(&service.base, 64, &lookup),
                not_modified: measure(&service.base, 64, &not_modified),
                detect: measure(&service.base, 16, &detect),
                busy: busy.as_ref().map(|plan| measure(&service.base, 16, plan)),
                send: [1, 16, 64].map(|connections| measure(&service.base, connections, &service.send())),
                fsync: [before, disk::sync_rate(folder, window / 2)],
            }
        })
        .collect()
}
