//! Runs other programs, prints what runs, and records the time of each step.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The error of a task is a sentence for people.
pub type Result<T> = std::result::Result<T, String>;

/// A step that has ended.
struct Step {
    name: String,
    wall: Duration,
    /// Time on all cores, of the program and of those that it started. Unlike the wall time, it hardly grows when steps
    /// run in parallel or the machine is shared. `None` if the system does not provide it.
    cpu: Option<Duration>,
    /// Why it failed: the tests that did, or nothing that is known.
    failed: Option<Vec<String>>,
}

/// Steps in the order in which they ended.
static STEPS: Mutex<Vec<Step>> = Mutex::new(Vec::new());

static NOTICES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Runs `command` to its end with inherited output; an error if the command fails. Prints on stderr what runs and how
/// long it took.
pub fn run(name: &str, command: &mut Command) -> Result<()> {
    watched(name, command, |_| Vec::new())
}

/// Like [`run`]; the error and the table of the steps name the tests that failed, which the output hides among thousands.
pub fn tests(name: &str, command: &mut Command) -> Result<()> {
    watched(name, command.stdout(Stdio::piped()), |child| {
        let lines = child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines());
        let failed = lines.map_while(std::io::Result::ok).filter(|line| {
            println!("{line}");
            line.starts_with("test ") && line.ends_with("FAILED")
        });
        failed.filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned)).collect()
    })
}

/// Runs `command`; `watch` returns the tests that failed when the program has closed its output.
fn watched(name: &str, command: &mut Command, watch: impl FnOnce(&mut Child) -> Vec<String>) -> Result<()> {
    eprintln!("--- {name}");
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{name}: cannot start {}: {error}", program(command)))?;
    let failed = watch(&mut child);
    let (status, cpu) = wait(&mut child).map_err(|error| format!("{name}: {error}"))?;
    let wall = start.elapsed();
    let tests = failed.iter().map(|test| format!("\n  {test}")).collect::<String>();
    remember(Step { name: name.to_owned(), wall, cpu, failed: (!status.success()).then_some(failed) });
    if !status.success() {
        return Err(format!("{name} failed ({status}){tests}"));
    }
    eprintln!("--- {name}: {:.1} s", wall.as_secs_f64());
    Ok(())
}

/// A step that runs in this process.
pub fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let result = work();
    remember(Step { name: name.to_owned(), wall: start.elapsed(), cpu: None, failed: result.is_err().then(Vec::new) });
    result
}

/// Runs a tool that another task needs. Its output goes to stderr, because a server that starts prints only one line on
/// stdout.
pub fn tool(name: &str, command: &mut Command) -> Result<()> {
    run(name, command.stdout(std::io::stderr()))
}

/// Whether a program is installed: with this argument it runs and ends well.
pub fn is_installed(program: &str, argument: &str) -> bool {
    Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success())
}

/// Runs `command` and returns its output on stdout.
pub fn output(name: &str, command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("{name}: cannot start {}: {error}", program(command)))?;
    if !output.status.success() {
        return Err(format!("{name} failed ({})", output.status));
    }
    Ok(output.stdout)
}

/// Runs `command` silently for at most `limit`. The error is its last line on stderr.
pub fn within(command: &mut Command, limit: Duration) -> Result<()> {
    let start = Instant::now();
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("cannot start {}: {error}", program(command)))?;
    let (sender, said) = std::sync::mpsc::channel();
    let stderr = child.stderr.take();
    // The thread is not joined: a process that the child has started may keep the pipe open after the child was killed.
    std::thread::spawn(move || {
        let lines = stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).lines().map_while(std::io::Result::ok));
        let _ = sender.send(lines.filter(|line| !line.trim().is_empty()).last().unwrap_or_default());
    });
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                let last = said.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
                return Err(if last.is_empty() { status.to_string() } else { last.trim().to_owned() });
            }
            None if start.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not end within {} s", limit.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Prints something that is no failure but must not be overlooked: now, and again below the table at the end.
pub fn notice(text: &str) {
    eprintln!("--- {text}");
    NOTICES.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
}

/// The texts given to [`notice`].
pub fn notices() -> Vec<String> {
    NOTICES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The times of the steps so far as a table; `wall` is the time of all together.
pub fn table(wall: Duration) -> String {
    let steps = STEPS.lock().unwrap_or_else(PoisonError::into_inner);
    let width = steps.iter().map(|step| step.name.len()).max().unwrap_or(0).max("all steps".len());
    let mut text = format!("{:width$} {:>8} {:>8}\n", "step", "wall s", "CPU s");
    let mut row = |name: &str, wall: Duration, cpu: Option<Duration>, note: &str| {
        let cpu = cpu.map_or("-".to_owned(), |cpu| format!("{:.1}", cpu.as_secs_f64()));
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:width$} {:>8.1} {cpu:>8}{note}", wall.as_secs_f64());
    };
    for step in steps.iter() {
        row(&step.name, step.wall, step.cpu, if step.failed.is_some() { "  failed" } else { "" });
    }
    let cpu = steps.iter().map(|step| step.cpu.unwrap_or_default()).sum();
    row("all steps", wall, Some(cpu), "");
    for step in steps.iter() {
        for test in step.failed.iter().flatten() {
            let _ = writeln!(text, "failed: {test} ({})", step.name);
        }
    }
    for notice in notices() {
        let _ = writeln!(text, "note: {notice}");
    }
    text
}

fn remember(step: Step) {
    STEPS.lock().unwrap_or_else(PoisonError::into_inner).push(step);
}

/// Waits for the end of a process. Also returns the CPU time of the process and of those that it waited for.
fn wait(child: &mut Child) -> std::io::Result<(ExitStatus, Option<Duration>)> {
    let cpu = ended_cpu(child);
    Ok((child.wait()?, cpu))
}

/// The times of a process that has ended are in `/proc` until its exit status is read.
#[cfg(target_os = "linux")]
fn ended_cpu(child: &Child) -> Option<Duration> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let id = Pid::from_child(child);
    while let Err(error) = waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
        if error != rustix::io::Errno::INTR {
            return None;
        }
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // The name in parentheses may contain anything; the third field follows it. utime, stime, cutime and cstime are the
    // 14th to 17th.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: u64 = fields.split(' ').skip(11).take(4).map(|field| field.parse::<u64>().unwrap_or_default()).sum();
    Some(Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second().max(1)))
}

#[cfg(not(target_os = "linux"))]
fn ended_cpu(_: &Child) -> Option<Duration> {
    None
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_step_also_those_that_failed_and_the_time_on_the_cores() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        run("a busy shell", Command::new("sh").args(["-c", &format!("sh -c '{busy}'; true")])).unwrap();
        run("a failing shell", Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        step("work of our own", || Result::<()>::Err("no".into())).unwrap_err();
        let table = table(Duration::from_secs(100));
        let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        assert!(row("a failing shell").ends_with("failed"), "{table}");
        assert!(row("work of our own").ends_with("-  failed"), "{table}");
        assert!(row("all steps").contains("100.0"), "{table}");
        let busy = row("a busy shell");
        let cpu = busy.split_whitespace().last().unwrap();
        if cfg!(target_os = "linux") {
            assert!(cpu.parse::<f64>().unwrap() > 0.0, "{table}");
        }
    }

    #[test]
    fn tests_that_failed_are_named_in_the_error_and_below_the_table() {
        let said = "echo running 2 tests; echo test a::good ... ok; echo 'test a::bad  ... FAILED'; exit 101";
        let error = tests("some tests", Command::new("sh").args(["-c", said])).unwrap_err();
        assert_eq!(error, "some tests failed (exit status: 101)\n  a::bad");
        let table = table(Duration::from_secs(1));
        assert!(table.contains("\nfailed: a::bad (some tests)\n"), "{table}");
        assert_eq!(tests("good tests", Command::new("sh").args(["-c", "echo test good ... ok"])), Ok(()));
    }

    #[test]
    fn a_program_that_does_not_end_is_ended_and_one_that_fails_says_why() {
        let shell =
            |script: &str, limit: u64| within(Command::new("sh").args(["-c", script]), Duration::from_millis(limit));
        assert_eq!(shell("echo fine; echo beside >&2", 10_000), Ok(()));
        assert_eq!(shell("echo first >&2; echo the reason >&2; exit 3", 10_000), Err("the reason".into()));
        let start = Instant::now();
        assert_eq!(shell("sleep 20 & wait", 100), Err("it did not end within 0 s".into()));
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
