//! Fetching from sources with a public interface: OONI's aggregation and measurements, IODA's events. Off by default.
//!
//! One step is one request. It reads the position of a job from rows of the world actor, asks the source for the next
//! window, imports the answer as an operator would, and only then moves the position on. So a stop at any point repeats
//! at most one request, and importing its answer twice changes nothing. After each failure the wait grows, and it is
//! never shorter than the source asks (`Retry-After`). A window that always fails is set aside after some tries, so
//! that it does not hold up later windows. The log and the list of sources show this. The runtimes call [`step`] by a
//! timer or by cron, one request at a time.
//!
//! | Module | What |
//! |---|---|
//! | `jobs` | the jobs: addresses of requests, and answers as imports read them |
//! | `state` | the position of each job, kept by the world |

mod jobs;
#[cfg(test)]
mod live;
mod state;
#[cfg(test)]
mod tests;

pub use jobs::{Job, Next};
pub use state::{FetchRow, FetchRows, NoteFetch, SetAside};

use std::time::Duration;

use crate::import::{ImportKind, Importer, Options, Summary};
use crate::world;
use crate::{Error, Result, Timestamp};
use engine::apart;
use engine::runtime::{self, Runtime};
use engine::settings::Settings;
use engine::time::{HOUR, MINUTE, SECOND};
use engine::web::{MAX_BYTES, Networks, Outgoing, check_url};

/// How long a source may take to answer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The first wait after a failure; it doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: i64 = MINUTE;
const LONGEST_WAIT: i64 = 6 * HOUR;
/// The source asks for fewer requests; the window is not at fault.
const BUSY: &str = "status 429";
/// A longer wait in a source's `Retry-After` is shortened to this one, in microseconds.
const LONGEST_ASKED: i64 = 24 * HOUR;

/// The jobs that the operator switched on, in the order of the setting.
pub fn jobs(settings: &Settings) -> Vec<Job> {
    settings.fetch_sources.split(',').filter_map(|name| Job::parse(name.trim())).collect()
}

/// The result of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Whether a job was due.
    pub made: bool,
    /// A text for the log.
    pub warning: Option<String>,
}

/// Makes at most one request, for the job that has been due the longest, so that no job waits until another has caught
/// up.
pub async fn step(rt: &dyn Runtime) -> Result<Step> {
    let jobs = jobs(&rt.environment().settings);
    if jobs.is_empty() {
        return Ok(Step::default());
    }
    let rows = runtime::query(rt, world::actor().name, &FetchRows).await?;
    let next = |job: &Job| rows.get(job.as_str()).map_or_else(Timestamp::default, |row| row.next);
    let Some(job) = jobs.into_iter().min_by_key(next).filter(|job| next(job) <= rt.now()) else {
        return Ok(Step::default());
    };
    let row = match rows.get(job.as_str()) {
        Some(row) => row.clone(),
        None => FetchRow { cursor: job.first(rt.now(), &rt.environment().settings), ..FetchRow::default() },
    };
    let warning = one(rt, job, row).await?;
    Ok(Step { made: true, warning })
}

/// The result of a request.
enum End {
    /// The number of rows that were read, and what the answer says about the next page.
    Rows(u64, Next),
    /// The reason of a failure, and how long the source asks to wait.
    Failed(String, Option<i64>),
}

/// Makes one request and moves the job on. Returns a text for the log.
async fn one(rt: &dyn Runtime, job: Job, row: FetchRow) -> Result<Option<String>> {
    let settings = &rt.environment().settings;
    let now = rt.now();
    let after = match job.url(&row, now, settings) {
        // Everything up to now was requested.
        None => {
            let next = now.plus(i64::from(settings.fetch_hours.max(1)) * HOUR);
            FetchRow { next, cursor: Job::again(&row), offset: 0, page: None, failures: 0, ..row.clone() }
        }
        Some(url) => match attempt(rt, job, url).await {
            End::Rows(rows, next) => job.advance(&row, rows, &next, now),
            End::Failed(error, asked) => {
                let after = failed(row.clone(), error.clone(), asked, now);
                let until = job.until(&row, now);
                match after.is_hopeless(until) && error != BUSY {
                    true => after.without(until, &error, now),
                    false => after,
                }
            }
        },
    };
    let warning = told(job, &row, &after);
    let note = NoteFetch { job: job.as_str().to_owned(), before: row, after };
    runtime::call(rt, world::actor().name, &note).await?;
    Ok(warning)
}

/// A text for the log about a request that failed; `None` if it did not.
fn told(job: Job, before: &FetchRow, after: &FetchRow) -> Option<String> {
    let (job, times) = (job.as_str(), before.failures.saturating_add(1));
    if let Some(window) = after.set_aside.last().filter(|window| before.set_aside.last() != Some(window)) {
        let SetAside { from, until, error, .. } = window;
        return Some(format!("{job} goes on without {from} to {until}, which failed {times} times: {error}"));
    }
    let (_, error) = after.error.as_ref().filter(|_| after.failures > before.failures)?;
    Some(format!("{job} failed, {times} times in a row; the next try is at {}: {error}", after.next))
}

fn failed(row: FetchRow, error: String, asked: Option<i64>, now: Timestamp) -> FetchRow {
    let doubled = FIRST_WAIT.saturating_mul(1_i64.checked_shl(row.failures.min(20)).unwrap_or(i64::MAX));
    let wait = doubled.min(LONGEST_WAIT).max(asked.unwrap_or(0).min(LONGEST_ASKED));
    FetchRow { next: now.plus(wait), failures: row.failures.saturating_add(1), error: Some((now, error)), ..row }
}

/// Makes a request. Every failure becomes an [`End`], so that one source never holds up the others.
async fn attempt(rt: &dyn Runtime, job: Job, url: String) -> End {
    let settings = &rt.environment().settings;
    let failed = |error: Error, wait| End::Failed(error.into_details().message.into_owned(), wait);
    let beyond = if settings.fetch_private { Networks::all() } else { Networks::default() };
    if let Err(error) = check_url(&url, &beyond) {
        return failed(error, Some(LONGEST_WAIT));
    }
    let agent = format!("heliograph/{} (+{})", env!("CARGO_PKG_VERSION"), settings.base_url());
    let headers = vec![("user-agent".to_owned(), agent), ("accept".to_owned(), "application/json".to_owned())];
    let outgoing = Outgoing { url, headers, body: None, timeout: TIMEOUT, max_bytes: MAX_BYTES, beyond };
    let answer = match rt.fetch(outgoing).await {
        Ok(answer) => answer,
        Err(error) => return failed(error, None),
    };
    let asked = answer.retry_after.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(SECOND));
    match answer.status {
        200 => {}
        429 => return End::Failed(BUSY.to_owned(), asked),
        500.. => return End::Failed(format!("status {}", answer.status), asked),
        // A request that is repeated soon would fail in the same way.
        status => return End::Failed(format!("status {status}"), Some(LONGEST_WAIT)),
    }
    // Reading some megabytes takes long, so wait until there is room to compute.
    apart::room().await;
    match import(rt, job, &answer.body).await {
        Ok((summary, next)) => judged(&summary, next),
        Err(error) => failed(error, None),
    }
}

async fn import(rt: &dyn Runtime, job: Job, answer: &[u8]) -> Result<(Summary, Next)> {
    let (body, next) = job.body(answer).map_err(Error::bad_request)?;
    Ok((Importer::new(rt, job.kind(), Options::default()).await?.chunk(rt, &body).await?, next))
}

/// An answer that was cut off, or that is an error with a successful status, is requested again.
fn judged(summary: &Summary, next: Next) -> End {
    let broken = ["bad_json", "source_error"].into_iter().find(|reason| summary.counts.reasons.contains_key(*reason));
    match broken {
        Some(reason) => End::Failed(reason.to_owned(), None),
        None if !summary.complete => End::Failed("not everything was stored".to_owned(), None),
        None => End::Rows(summary.counts.lines(), next),
    }
}

/// The kinds of import that jobs use.
impl Job {
    pub const fn kind(self) -> ImportKind {
        match self {
            Job::OoniAggregation => ImportKind::OoniAggregation,
            Job::OoniMeasurements => ImportKind::OoniFastpath,
            Job::Ioda => ImportKind::Ioda,
        }
    }
}
