//! `heliograph forecast`: the models of the shutdown forecast.

use bytes::Bytes;
use heliograph_core::forecast::{RollbackRequest, ToldBody};
use http::Method;
use serde_json::Value;

use super::args::{Common, ForecastCommand};
use super::client::Client;

pub fn run(common: &Common, command: &ForecastCommand) -> Result<(), String> {
    let client = Client::open(common, false)?;
    match command {
        ForecastCommand::Train => {
            say(client.request(Method::POST, "/v1/admin/forecast/train", Bytes::new())?.read()?);
        }
        ForecastCommand::Rollback { number, reason } => {
            let body = RollbackRequest { number: *number, reason: reason.clone() };
            say(client.post("/v1/admin/forecast/rollback", &body)?);
        }
        ForecastCommand::Models => {
            let changelog: Value = client.get("/v1/atlas/changelog?limit=200")?;
            for entry in changelog.get("entries").and_then(Value::as_array).into_iter().flatten() {
                let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
                println!("{}\t{}\t{}\t{}", text("version"), text("trained_at"), text("change"), text("notes"));
            }
        }
    }
    Ok(())
}

fn say(told: ToldBody) {
    let version = |version: Option<String>| version.unwrap_or_else(|| "base rates".to_owned());
    println!("{}", told.message);
    println!("served: {}, before: {}", version(told.served), version(told.before));
}
