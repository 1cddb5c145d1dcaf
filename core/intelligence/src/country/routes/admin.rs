//! The operator's routes: removing a source, and computing verdicts again (decisions licence-and-removal and
//! dumps-and-recompute).

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::measured;
use crate::elections::DropElections;
use crate::reference::{self, DropReference, Reference};
use crate::world::{self, ChangedAnswer, ForgetImports, StartSweep, SweepProgress, SweepState, Task};
use crate::{Error, Result};
use engine::http::{Cx, Response};
use engine::runtime;
use facts::source::Source;
use facts::starter;

/// The progress of the work.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SweepBody {
    pub name: String,
    pub started_at: String,
    /// Countries to go through, and those that are done.
    pub countries: u32,
    pub countries_done: u32,
    pub complete: bool,
    /// Verdicts computed again, or measurements and entries removed.
    pub handled: u64,
    /// Answers that changed.
    pub changed: u64,
    /// Some of the changed answers.
    pub changes: Vec<ChangedAnswer>,
}

fn body(name: &str, sweep: SweepProgress) -> SweepBody {
    SweepBody {
        name: name.to_owned(),
        started_at: sweep.started.to_string(),
        countries: sweep.countries,
        countries_done: sweep.done,
        complete: sweep.done >= sweep.countries,
        handled: sweep.handled,
        changed: sweep.changed,
        changes: sweep.changes,
    }
}

/// What must be removed with a source.
enum Removal {
    Everywhere(Task),
    Reference(Reference),
    Elections,
}

fn part(name: &str) -> Result<Removal> {
    if let Some(source) = Source::by_id(name) {
        return Ok(Removal::Everywhere(Task::DropSource(source.code())));
    }
    match name {
        "blocklist" => Ok(Removal::Everywhere(Task::DropLists)),
        "asn" => Ok(Removal::Reference(Reference::Networks)),
        "test-list" => Ok(Removal::Reference(Reference::TestLists)),
        "targets" => Ok(Removal::Reference(Reference::Targets)),
        "elections" => Ok(Removal::Elections),
        "fingerprints" => Err(Error::bad_request(
            "Fingerprints have judged measurements during their import, and this cannot be undone. Remove the source \
             `ooni`, and import its measurements again.",
        )),
        _ => {
            let names: Vec<&str> = Source::ALL.into_iter().map(Source::id).collect();
            let names = names.join(", ");
            let message = format!(
                "There is no such source. The sources are {names}, blocklist, asn, test-list, \
                 targets and elections."
            );
            Err(Error::not_found(message))
        }
    }
}

async fn start(cx: &Cx, name: &str, task: Task, countries: BTreeSet<String>) -> Result<Response> {
    let sweep = runtime::call(&*cx.rt, world::actor().name, &StartSweep { task, countries }).await?;
    Response::json(&body(name, sweep))
}

pub async fn drop_source(cx: Cx) -> Result<Response> {
    let name = cx.path("name")?;
    let part = part(name)?;
    runtime::call(&*cx.rt, world::actor().name, &ForgetImports { source: name.to_owned() }).await?;
    match part {
        Removal::Everywhere(task) => {
            // An import may be about to add a country that has no data yet, and some countries may have block lists
            // only.
            let all = starter::Country::all().iter().map(|country| country.code.to_owned()).collect();
            start(&cx, name, task, all).await
        }
        Removal::Reference(what) => {
            let drop = DropReference { what, goes_on: false };
            runtime::call(&*cx.rt, reference::actor().name, &drop).await?;
            Response::json(&body(name, SweepProgress { started: cx.now(), ..SweepProgress::default() }))
        }
        Removal::Elections => {
            let handled = runtime::call(&*cx.rt, world::actor().name, &DropElections).await?;
            Response::json(&body(name, SweepProgress { started: cx.now(), handled, ..SweepProgress::default() }))
        }
    }
}

pub async fn dropped(cx: Cx) -> Result<Response> {
    let name = cx.path("name")?;
    match part(name)? {
        Removal::Everywhere(task) => state(&cx, name, task).await,
        Removal::Reference(_) | Removal::Elections => Err(Error::not_found("This source is removed at once.")),
    }
}

async fn state(cx: &Cx, name: &str, task: Task) -> Result<Response> {
    let sweep = runtime::query(&*cx.rt, world::actor().name, &SweepState { task }).await?;
    let sweep = sweep.ok_or_else(|| Error::not_found("This work was never started."))?;
    Response::json(&body(name, sweep))
}

pub async fn recompute(cx: Cx) -> Result<Response> {
    let countries = measured(&cx).await?;
    start(&cx, "recompute", Task::Recompute, countries).await
}

pub async fn recomputed(cx: Cx) -> Result<Response> {
    state(&cx, "recompute", Task::Recompute).await
}
