//! `heliograph admin models`: the models of the shutdown forecast.

use bytes::Bytes;
use heliograph_core::intelligence::forecast::{PromoteRequest, RollbackRequest, ToldBody};
use http::Method;
use serde_json::Value;

use super::args::{Common, ModelsCommand};
use super::client::Client;

pub fn run(common: &Common, command: &ModelsCommand) -> Result<(), String> {
    let client = Client::open(common, false)?;
    match command {
        ModelsCommand::Train => {
            say(client.request(Method::POST, "/v1/admin/forecast/train", Bytes::new())?.read()?);
        }
        ModelsCommand::Calibrate => {
            say(client.request(Method::POST, "/v1/admin/forecast/calibrate", Bytes::new())?.read()?);
        }
        ModelsCommand::Promote { number } => {
            say(client.post("/v1/admin/forecast/promote", &PromoteRequest { number: *number })?);
        }
        ModelsCommand::Reports => {
            let found: Value = client.get("/v1/admin/forecast/reports?limit=1000")?;
            for row in found.get("reports").and_then(Value::as_array).into_iter().flatten() {
                let number = row.get("queue_id").and_then(Value::as_u64).unwrap_or_default();
                let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or("-");
                let (day, outcome) = (text("eval_date"), text("outcome"));
                say!("{number}\t{}\t{}\t{day}\t{outcome}\t{}", text("at"), text("country"), text("what_happened"));
            }
        }
        ModelsCommand::DropReport { number } => {
            let _: Value = client.delete(&format!("/v1/admin/forecast/reports/{number}"))?;
            say!("report {number} is taken back");
        }
        ModelsCommand::Rollback { number, reason } => {
            let body = RollbackRequest { number: *number, reason: reason.clone() };
            say(client.post("/v1/admin/forecast/rollback", &body)?);
        }
        ModelsCommand::List => {
            let changelog: Value = client.get("/v1/atlas/changelog?limit=200")?;
            for entry in changelog.get("entries").and_then(Value::as_array).into_iter().flatten() {
                let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
                say!("{}\t{}\t{}\t{}", text("version"), text("trained_at"), text("change"), text("notes"));
            }
        }
    }
    Ok(())
}

fn say(told: ToldBody) {
    let version = |version: Option<String>| version.unwrap_or_else(|| "base rates".to_owned());
    say!("{}", told.message);
    say!("served: {}, before: {}", version(told.served), version(told.before));
}
