//! Many streams at once on the real servers (decision ten-thousand-listeners). `cargo xtask bench --agents` measures
//! speed and size of the native server with 10,000 streams.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use heliograph_tests::listening::{Connection, Crowd, ListeningRequests, Relay, WebSocket, register};
use heliograph_tests::target::{Kind, Target};
use tokio::task::LocalSet;

/// Agents with a stream of server-sent events, and the number of messages for each.
const LISTENERS: usize = 200;
const MESSAGES: usize = 20;
/// Life of a stream: two streams end while the messages come.
const LIFE: Duration = Duration::from_secs(5);
/// Agents with a WebSocket.
const SOCKETS: usize = 1_000;
/// The Workers runtime puts an object to sleep after ten seconds.
const IDLE: Duration = Duration::from_secs(15);

fn on(kind: Kind, settings: &[(&str, &str)], work: impl AsyncFnOnce(&str)) {
    if !Kind::chosen().contains(&kind) {
        println!("skipped: HELIOGRAPH_TEST_TARGETS does not name {}", kind.name());
        return;
    }
    // One descriptor for every socket.
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let target = Target::start(kind, &[settings, &[("registrations_per_hour", "1000000")]].concat());
    let host = target.base().unwrap().trim_start_matches("http://");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, work(host));
}

async fn across_reconnects(host: &str) {
    let agents = register(host, LISTENERS).await;
    let place = Box::new(Relay { host: host.to_owned(), agents });
    let mut crowd = Crowd::start(host, LISTENERS, place, LIFE / 2);
    // Some listeners may already pause when the last one connects.
    crowd.wait_open(LISTENERS / 2, LIFE * 4).await;
    // The messages come from before the end of the first stream until after the end of the second.
    let rate = LISTENERS * MESSAGES / (LIFE * 3).as_secs() as usize;
    let pairs: Vec<_> = (0..LISTENERS * MESSAGES).map(|at| (at * 7 % LISTENERS, at % LISTENERS)).collect();
    crowd.write_pairs(&pairs, rate, 16).await;
    crowd.settle(Duration::from_secs(20)).await;
    let account = crowd.account(0);
    assert!(crowd.ended() >= 2 * LISTENERS as u64, "{} streams ended", crowd.ended());
    let wrong = (account.accepted, account.lost, account.doubled, account.strayed);
    assert_eq!(wrong, (LISTENERS * MESSAGES, 0, 0, 0));
}

const SHORT: &[(&str, &str)] = &[("stream_seconds", "5")];

/// Decision ten-thousand-listeners.
#[test]
fn on_the_native_server_nothing_is_lost_or_doubled_across_reconnects() {
    on(Kind::Native, SHORT, across_reconnects);
}

/// Decision ten-thousand-listeners.
#[test]
fn on_the_worker_200_agents_get_20_messages_across_two_reconnects_once_each() {
    on(Kind::Edge, SHORT, across_reconnects);
}

/// Decision ten-thousand-listeners.
#[test]
fn on_the_worker_1000_sleeping_sockets_get_one_message_each() {
    on(Kind::Edge, &[], async |host| {
        let agents = register(host, SOCKETS).await;
        let place = Relay { host: host.to_owned(), agents };
        let next = Cell::new(0);
        // A few connections open at once; each task keeps those that it opened.
        let opening = (0..32).map(|_| async {
            let mut own = Vec::new();
            while next.get() < SOCKETS {
                let agent = next.replace(next.get() + 1);
                own.push((agent, WebSocket::open(host, &place.agents[agent].1).await.unwrap()));
            }
            own
        });
        let mut sockets: BTreeMap<usize, WebSocket> = join_all(opening).await.into_iter().flatten().collect();
        assert_eq!(sockets.len(), SOCKETS);
        tokio::time::sleep(IDLE).await;
        next.set(0);
        let sending = (0..16).map(|_| async {
            let mut connection = Connection::default();
            while next.get() < SOCKETS {
                let to = next.replace(next.get() + 1);
                let letter = heliograph_tests::listening::letter(to);
                let (status, body) = connection.ask(host, &place.send((to + 1) % SOCKETS, to, letter)).await.unwrap();
                assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
            }
        });
        join_all(sending).await;
        for (agent, socket) in &mut sockets {
            let message = tokio::time::timeout(Duration::from_secs(20), socket.next());
            let message = message.await.unwrap_or_else(|_| panic!("nothing for {agent}")).unwrap();
            assert_eq!(message.number, *agent);
        }
        // Nothing arrives twice.
        tokio::time::sleep(Duration::from_secs(1)).await;
        for socket in sockets.values_mut() {
            assert!(tokio::time::timeout(Duration::ZERO, socket.next()).await.is_err());
        }
    });
}
