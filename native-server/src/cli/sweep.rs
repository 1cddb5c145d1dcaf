//! Background work over all countries: the command starts it and watches it until it is done.

use std::time::Duration;

use heliograph_core::intelligence::country::SweepBody;
use http::Method;

use super::args::{Common, VerdictsCommand};
use super::client::Client;

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(200);

pub fn verdicts(common: &Common, command: &VerdictsCommand) -> Result<(), String> {
    let VerdictsCommand::Recompute { json } = command;
    let client = Client::open(common, false)?;
    let path = "/v1/admin/verdicts/recompute";
    let started = client.request(Method::POST, path, bytes::Bytes::new())?.read()?;
    print(&watch(&client, path, started)?, *json, "verdicts computed")
}

pub fn drop_source(common: &Common, name: &str, json: bool) -> Result<(), String> {
    let client = Client::open(common, false)?;
    let path = format!("/v1/admin/sources/{name}");
    let started = client.delete(&path)?;
    print(&watch(&client, &path, started)?, json, "entries removed")
}

fn watch(client: &Client, path: &str, mut sweep: SweepBody) -> Result<SweepBody, String> {
    while !sweep.complete {
        std::thread::sleep(PAUSE);
        sweep = client.get(path)?;
    }
    Ok(sweep)
}

fn print(sweep: &SweepBody, json: bool, what: &str) -> Result<(), String> {
    if json {
        say!("{}", serde_json::to_string_pretty(sweep).map_err(|error| error.to_string())?);
        return Ok(());
    }
    say!("countries        {:>10}", sweep.countries);
    say!("{what:<17}{:>10}", sweep.handled);
    say!("answers changed  {:>10}", sweep.changed);
    for change in &sweep.changes {
        let state =
            |state: Option<heliograph_core::intelligence::country::State>| state.map_or("none", |state| state.as_str());
        say!("  {} {}: {} to {}", change.country, change.target, state(change.before), state(change.after));
    }
    Ok(())
}
