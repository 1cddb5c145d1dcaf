//! `cargo xtask edge steps`: measures CPU and memory of the Worker's events during a large import and the work that
//! follows.
//!
//! The platform gives an event 30 s of CPU and an isolate 128 MB. `--rows N` observation rows of one country (default
//! 300,000) are imported in chunks, as the command line does; alarms then do all the work that follows. The events of
//! workerd share one thread. So the CPU time of the process between the begin and the end of an event is an upper limit
//! for the event: other events that ran while it waited are included.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::edge::build::{self, Bundle};
use crate::edge::serve::{self, Options};
use crate::edge::state::State;
use crate::edge::workerd::Process;
use crate::project::{cargo, root, write};
use crate::run::{Result, run};

const ROWS: u64 = 300_000;
/// Limits of the platform: seconds of CPU in an event, megabytes of an isolate.
const CPU_LIMIT: f64 = 30.0;
const MEMORY_LIMIT: f64 = 128.0;
/// If there is no work for so long, everything is done: two documents of one key are never this far apart.
const QUIET: Duration = Duration::from_secs(25);
/// Longest time that the follow-up work is watched.
const PATIENCE: Duration = Duration::from_secs(900);

/// The most that an event of one kind took, and the number of such events.
#[derive(Debug, Default)]
struct Most {
    events: u64,
    cpu: f64,
}

/// The figures that are measured while it runs.
struct Watch<'a> {
    process: &'a Process,
    workerd: u32,
    /// Kind of each running event and the CPU time at its begin, by number.
    open: BTreeMap<u64, (String, f64)>,
    most: BTreeMap<String, Most>,
    last_event: Instant,
}

impl Watch<'_> {
    /// Reads one line of output, waiting at most `time`.
    fn look(&mut self, time: Duration) -> Result<()> {
        let Some(line) = self.process.line(time)? else { return Ok(()) };
        let mut words = line.trim().splitn(4, ' ');
        let (Some("step"), Some(end), Some(number)) = (words.next(), words.next(), words.next()) else {
            eprintln!("{line}");
            return Ok(());
        };
        let number: u64 = number.parse().map_err(|_| format!("workerd wrote an unknown line: {line}"))?;
        let cpu = cpu(self.workerd)?;
        self.last_event = Instant::now();
        match end {
            "begin" => drop(self.open.insert(number, (words.next().unwrap_or_default().to_owned(), cpu))),
            _ => {
                if let Some((kind, before)) = self.open.remove(&number) {
                    let most = self.most.entry(kind).or_default();
                    most.events += 1;
                    most.cpu = most.cpu.max(cpu - before);
                }
            }
        }
        Ok(())
    }
}

pub fn steps(args: &[&str]) -> Result<()> {
    let rows = match args {
        [] => ROWS,
        ["--rows", rows] => rows.parse().map_err(|_| format!("{rows} is not a number of rows"))?,
        _ => return Err("edge steps takes --rows N".into()),
    };
    build::ensure(Bundle::Worker)?;
    run("build", cargo().args(["build", "--locked", "--package", "heliograph"]))?;
    let state = State::open(None)?;
    let csv = state.path("rows.csv");
    write(&csv, observations(rows)?)?;
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = Options { listen, steps: true, ..Options::default() };
    let (process, ports) = serve::start(&state, &options)?;
    let address = SocketAddr::new(listen.ip(), ports.http);
    serve::wait_until_it_answers(address)?;
    let workerd = process.workerd()?;
    let start = memory(workerd)?;
    let mut watch =
        Watch { process: &process, workerd, open: BTreeMap::new(), most: BTreeMap::new(), last_event: Instant::now() };
    let begun = (Instant::now(), cpu(workerd)?);
    let secrets = state.secrets(|name| std::env::var_os(name).is_some())?;
    let key = secrets.iter().find(|(name, _)| name == "HELIOGRAPH_ADMIN_KEY").map(|(_, key)| key.as_str());
    let mut import = Command::new(root().join("target/debug/heliograph"));
    import.args(["import", "ooni-observations"]).arg(&csv).args(["--json", "--to", &format!("http://{address}")]);
    import.args(key.map(|key| ["--admin-key", key]).into_iter().flatten());
    let mut import = import.stdin(Stdio::null()).stdout(Stdio::null()).spawn().map_err(|error| error.to_string())?;
    let status = loop {
        if let Some(status) = import.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        watch.look(Duration::from_millis(50))?;
    };
    if !status.success() {
        return Err(format!("the import ended with {status}"));
    }
    let imported = (begun.0.elapsed(), cpu(workerd)?);
    watch.last_event = Instant::now();
    while (watch.last_event.elapsed() < QUIET || !watch.open.is_empty()) && begun.0.elapsed() < PATIENCE {
        watch.look(Duration::from_millis(100))?;
    }
    let done = watch.last_event.elapsed() >= QUIET;
    let text = report(rows, &watch.most, [imported.1 - begun.1, cpu(workerd)? - imported.1], [start, memory(workerd)?]);
    println!("{text}- import {:.0} s; follow-up {}", imported.0.as_secs_f64(), if done { "done" } else { "NOT done" });
    process.stop();
    Ok(())
}

fn report(rows: u64, all: &BTreeMap<String, Most>, cpu: [f64; 2], memory: [f64; 2]) -> String {
    let mut text = String::from("| Event | events | CPU of the largest, s, at most |\n|---|---|---|\n");
    for (kind, most) in all {
        let _ = writeln!(text, "| {kind} | {} | {:.2} |", most.events, most.cpu);
    }
    let largest = all.values().map(|most| most.cpu).fold(0.0, f64::max);
    let met = |ok: bool| if ok { "met" } else { "NOT MET" };
    let taken = memory[1] - memory[0];
    let _ = writeln!(
        text,
        "\n- {rows} rows of one country; CPU of the import {:.1} s, of the follow-up {:.1} s",
        cpu[0], cpu[1]
    );
    let _ = writeln!(text, "- largest event {largest:.2} s of CPU, limit {CPU_LIMIT} s: {}", met(largest < CPU_LIMIT));
    let _ = writeln!(
        text,
        "- memory of workerd {:.0} MB at the start, {:.0} MB at most; taken {taken:.0} MB, limit {MEMORY_LIMIT} MB: {}",
        memory[0],
        memory[1],
        met(taken < MEMORY_LIMIT)
    );
    text
}

/// CPU time of a process so far, in seconds.
fn cpu(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/stat");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    // User and system time, in hundredths of a second, 12 and 13 fields after the name in brackets (proc(5)).
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace().skip(11).take(2);
    Ok(fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0)
}

/// Peak resident memory of a process so far, in megabytes.
fn memory(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/status");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let kib = line.trim().split(' ').next().and_then(|kib| kib.parse::<f64>().ok());
    Ok(kib.ok_or_else(|| format!("{path} has no VmHWM"))? * 1_024.0 / 1e6)
}

/// Observation rows of one country over the last 30 days, with 2,000 sites and 80 networks, unevenly. Every fiftieth
/// site is reset on every second network. Networks have private numbers (RFC 6996).
fn observations(rows: u64) -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?.as_secs();
    let mut text = String::from(
        "test_name,report_id,input,measurement_uid,measurement_start_time,probe_cc,probe_asn,hostname,ip,port,tcp_success,\
         tcp_failure,tls_success,tls_failure,tls_is_certificate_valid,http_request_url,http_failure,probe_analysis\n",
    );
    let mut seed = 7_u64;
    let mut uneven = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (seed >> 11) as f64 / (1_u64 << 53) as f64;
        ((share * share * n as f64) as u64).min(n - 1)
    };
    for number in 0..rows {
        let (site, network) = (uneven(2_000), uneven(80));
        let asn = 4_200_000_000 + network;
        let time = date(now - 30 * 86_400 + number * 30 * 86_400 / rows.max(1));
        let (tls, failure, valid) = match site * 17 % 50 == 0 && network % 2 == 0 {
            true => ("0", "connection_reset", ""),
            false => ("1", "", "1"),
        };
        let host = format!("site-{site}.example");
        let _ = writeln!(
            text,
            "web_connectivity,{number}-{asn},https://{host}/,{number:016}-{asn},{time},IR,{asn},{host},93.184.216.34,443,1,,\
             {tls},{failure},{valid},,,"
        );
    }
    Ok(text)
}

/// Formats seconds since 1970 as `YYYY-MM-DD HH:MM:SS` (the days of civil calendars, by H. Hinnant).
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", rest / 3_600, rest / 60 % 60, rest % 60)
}

/// The process that the supervisor started.
pub fn child(supervisor: u32) -> Result<u32> {
    let path = format!("/proc/{supervisor}/task/{supervisor}/children");
    let text = std::fs::read_to_string(Path::new(&path)).map_err(|error| format!("{path}: {error}"))?;
    text.split_whitespace().next().and_then(|id| id.parse().ok()).ok_or_else(|| "workerd has no process".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00:00");
        assert_eq!(date(951_782_399), "2000-02-28 23:59:59");
        assert_eq!(date(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59:59");
    }

    #[test]
    fn rows_are_as_many_as_asked_for() {
        assert_eq!(observations(100).unwrap().lines().count(), 101);
    }
}
