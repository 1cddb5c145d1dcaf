//! A server with 512 MB of memory survives clients that try to exhaust it, and answers other clients meanwhile.

use std::time::Duration;

use heliograph_core::engine::settings::{LEAST_CACHE, Settings};
use heliograph_tests::floods::{Flood, STREAMS_PER_AGENT, others};
use heliograph_tests::limited::{Limit, memory};
use heliograph_tests::listening::register;
use heliograph_tests::process::{Server, built};
use tokio::task::LocalSet;

const MEMORY: u64 = 512 << 20;
/// How long the other clients ask during each flood.
const WHILE: Duration = Duration::from_secs(8);
/// Longest time for an answer on a machine that also does other work.
const SLOWEST: Duration = Duration::from_secs(20);
/// Time in which the memory must be released.
const AFTER: Duration = Duration::from_secs(60);

fn start(limit: Option<&Limit>, data: &std::path::Path) -> Server {
    let program = built("heliograph");
    let mut command = limit.map_or_else(|| std::process::Command::new(&program), |limit| limit.command(&program));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    // The flood and the other clients come from one machine; the other clients must meet no other limit than memory.
    for (name, value) in [
        ("FIRST_PARTY_SERVICES", "false"),
        ("AGENT_PER_SECOND", "100000"),
        ("AGENT_BURST", "1000000"),
        ("PUBLISH_INTERVAL", "60"),
    ] {
        command.env(format!("HELIOGRAPH_{name}"), value);
    }
    Server::start(command)
}

fn resident(server: &Server) -> u64 {
    memory(server.id(), "VmRSS").expect("the server has ended")
}

/// Bytes that the settings allow for caches.
fn caches() -> u64 {
    LEAST_CACHE + Settings::default().answer_cache_bytes
}

async fn survives(flood: Flood, server: &Server, agents: &[(String, String)]) {
    let host = server.base.trim_start_matches("http://");
    let (pair, deaf) = agents.split_at(2);
    let before = resident(server);
    let load = flood.start(host, deaf).await;
    let seen = others(host, pair, WHILE).await;
    let (during, open) = (resident(server), load.counts.open.get());
    drop(load);
    let mb = |bytes: u64| bytes >> 20;
    let slowest = seen.percentile(1.0);
    println!(
        "{} {}: {} of them came, {} answers to others, the slowest in {slowest:?}; {} MB before, {} MB during, {} MB at most",
        flood.size(),
        flood.words(),
        open,
        seen.times.len(),
        mb(before),
        mb(during),
        mb(memory(server.id(), "VmHWM").unwrap()),
    );
    assert!(open >= flood.size() / 2, "{flood:?}: only {open} came");
    assert!(seen.times.len() >= 10, "{flood:?}: {} answers, {:?}", seen.times.len(), seen.failures);
    assert_eq!(seen.failures, Vec::<String>::new(), "{flood:?}");
    assert!(slowest < SLOWEST, "{flood:?}: {slowest:?}");
    let most = before + before / 2 + caches();
    let begun = std::time::Instant::now();
    while resident(server) > most {
        let now = mb(resident(server));
        assert!(begun.elapsed() < AFTER, "{flood:?}: {now} MB a minute later, {} MB before", mb(before));
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_with_512_mb_survives_floods_and_answers_others_meanwhile() {
    // One descriptor for every client.
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let limit = Limit::new(MEMORY, || {
        let idle = start(None, &folder.path().join("idle.redb"));
        memory(idle.id(), "VmSize").unwrap()
    });
    println!("held to {} MB by {}", MEMORY >> 20, limit.words());
    let server = start(Some(&limit), &folder.path().join("data.redb"));
    let host = server.base.trim_start_matches("http://").to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let agents = register(&host, 2 + Flood::DeafStreams.size() / STREAMS_PER_AGENT).await;
        for flood in Flood::HOSTILE {
            survives(flood, &server, &agents).await;
        }
    });
    server.stop();
}
