//! `cargo xtask bench --mailbox`: measures a page of a full mailbox (decision mailbox-pages).
//!
//! One mailbox gets 100,000 messages from seven agents in eleven threads, and 99 of 100 are marked read. Then the
//! first, the middle and the last page of every indexed filter are requested in turn on one connection, so that other
//! work on the machine affects all of them alike. A test in `agent::mailbox` counts how many rows a page reads.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use heliograph_tests::client::Client;
use heliograph_tests::process::{Server, built};
use heliograph_tests::relay::{Agent, encode, letter, text};
use serde_json::json;

use crate::machine;

pub const MESSAGES: usize = 100_000;
pub const HEADING: &str = "\n## Mailbox\n";
/// One of so many messages stays unread.
const UNREAD: usize = 100;
const SENDERS: usize = 7;
const THREADS: usize = 11;
/// Requests at a time while the mailbox is filled.
const WRITERS: usize = 28;
const PAGE: usize = 50;
/// How often each page is requested.
const SAMPLES: usize = 201;
/// The medians of a filter's pages must differ by less than this factor.
const BAR: f64 = 2.0;

/// A filter and the medians of its first, middle and last page.
#[derive(Debug)]
pub struct Filter {
    name: &'static str,
    matching: usize,
    medians: [Duration; 3],
}

impl Filter {
    fn ratio(&self) -> f64 {
        let seconds = self.medians.map(|median| median.as_secs_f64());
        seconds.iter().copied().fold(0.0, f64::max) / seconds.iter().copied().fold(f64::MAX, f64::min)
    }
}

#[derive(Debug)]
struct Message {
    stamp: String,
    id: String,
    sender: usize,
    thread: usize,
    unread: bool,
}

fn fill(client: &Client, reader: &Agent, senders: &[Agent], number: usize) -> Vec<Message> {
    let mut all: Vec<Message> = std::thread::scope(|scope| {
        let write = |writer: usize| {
            let (sender, mut sent) = (writer % SENDERS, Vec::new());
            for at in (writer..number).step_by(WRITERS) {
                let thread = at / 13 % THREADS;
                let mut body = letter(&reader.did, &"x".repeat(300));
                body["thread_id"] = json!(format!("conv-{thread}"));
                let answer = client.agent(&senders[sender].api_key).post("/v1/agent/send/encrypted", &body).expect(201);
                let (stamp, id) = (text(&answer, "timestamp").to_owned(), text(&answer, "id").to_owned());
                sent.push(Message { stamp, id, sender, thread, unread: false });
            }
            sent
        };
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    all.sort_by(|one, other| one.stamp.cmp(&other.stamp));
    all.iter_mut().enumerate().for_each(|(at, message)| message.unread = at % UNREAD == 0);
    let read: Vec<&str> = all.iter().filter(|message| !message.unread).map(|message| message.id.as_str()).collect();
    for ids in read.chunks(100) {
        let body = json!({ "message_ids": ids });
        assert_eq!(reader.client.post("/v1/agent/messages/read-batch", &body).expect(200)["updated"], ids.len());
    }
    all
}

/// The median of each of these pages, requested in turn.
fn medians(reader: &Agent, paths: &[String; 3]) -> [Duration; 3] {
    let mut samples: [Vec<Duration>; 3] = Default::default();
    for _ in 0..SAMPLES {
        for (path, samples) in paths.iter().zip(&mut samples) {
            let begun = Instant::now();
            let answer = reader.client.get(path);
            samples.push(begun.elapsed());
            assert_eq!(answer.expect(200)["count"], PAGE, "{path}");
        }
    }
    samples.map(|mut samples| {
        samples.sort_unstable();
        samples[samples.len() / 2]
    })
}

pub fn run(folder: &Path, number: usize, cores: &machine::Cores) -> Vec<Filter> {
    let mut command = cores.server(&built("heliograph"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.join("mailbox.redb"));
    for (name, value) in [
        ("ACCESS_LOG", "false"),
        ("AGENT_PER_SECOND", "10000000"),
        ("AGENT_BURST", "100000000"),
        ("MAILBOX_MESSAGES", "10000000"),
        ("REGISTRATIONS_PER_HOUR", "1000000"),
    ] {
        command.env(format!("HELIOGRAPH_{name}"), value);
    }
    let server = Server::start(command);
    let client = Client::http(&server.base);
    let reader = Agent::server_side(&client);
    let senders: Vec<Agent> = (0..SENDERS).map(|_| Agent::server_side(&client)).collect();
    let begun = Instant::now();
    let all = fill(&client, &reader, &senders, number);
    eprintln!("{number} messages in {:.0} s", begun.elapsed().as_secs_f64());
    let from = format!("&from={}", encode(&senders[3].did));
    type Takes = fn(&Message) -> bool;
    let filters: [(&'static str, String, Takes); 4] = [
        ("all, in sequence", "&unread=false".to_owned(), |_| true),
        ("unread", String::new(), |message| message.unread),
        ("unread of one sender", from, |message| message.unread && message.sender == 3),
        ("thread", "&unread=false&thread_id=conv-4".to_owned(), |message| message.thread == 4),
    ];
    let measured = filters.into_iter().map(|(name, query, takes)| {
        let stamps: Vec<&str> =
            all.iter().filter(|message| takes(message)).map(|message| message.stamp.as_str()).collect();
        let after = |at: usize| {
            let since = at.checked_sub(1).map_or(String::new(), |at| format!("&since={}", stamps[at]));
            format!("/v1/agent/receive/raw?limit={PAGE}{query}{since}")
        };
        let paths = [0, stamps.len() / 2 - PAGE / 2, stamps.len() - PAGE].map(after);
        medians(&reader, &paths);
        Filter { name, matching: stamps.len(), medians: medians(&reader, &paths) }
    });
    let measured = measured.collect();
    server.stop();
    measured
}

pub fn render(filters: &[Filter], machine: &[String]) -> String {
    let worst = filters.iter().map(Filter::ratio).fold(0.0, f64::max);
    let met = if worst < BAR { "yes" } else { "**no**" };
    let messages = filters.iter().map(|filter| filter.matching).max().unwrap_or(0);
    let mut text = format!("{HEADING}\nWritten by `cargo xtask bench --mailbox`.\n\n");
    machine.iter().for_each(|line| writeln!(text, "- {line}").unwrap());
    let _ = write!(
        text,
        "- {messages} messages in one mailbox, 99 of 100 read; pages of {PAGE} over HTTP, one connection, median of \
         {SAMPLES}\n- largest factor between the pages of a filter, target < {BAR}: {worst:.2}, met: {met}\n\n| Filter | \
         messages | first page, ms | middle | last | factor |\n|---|---|---|---|---|---|\n"
    );
    for filter in filters {
        let [first, middle, last] = filter.medians.map(|median| median.as_secs_f64() * 1e3);
        let (name, matching, ratio) = (filter.name, filter.matching, filter.ratio());
        let _ = writeln!(text, "| {name} | {matching} | {first:.3} | {middle:.3} | {last:.3} | {ratio:.2} |");
    }
    text
}
