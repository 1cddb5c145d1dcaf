//! The tools. Each answers a whole question with a sentence that a model can pass on, the few members that matter, and
//! where it can be cited (decision few-tools-short-answers).
//!
//! | Module | What |
//! |---|---|
//! | `aggregation` | counts of measurements |
//! | `agents` | messages between agents |
//! | `checks` | sites, one by one and side by side |
//! | `countries` | a country, and what may come there |
//! | `incidents` | incidents and claims about them |
//! | `input` | what a tool takes: its schema, and whether arguments fit it |
//! | `told` | what a tool says |

mod agents;
mod aggregation;
mod checks;
mod countries;
mod incidents;
mod input;
mod told;

use serde_json::{Map, Value, json};

use super::asking::{Asking, Refusal};
use super::message::Failure;
use super::protocol::HOUR;
use super::{Answer, Scope, no_cursor};
use crate::engine::runtime::BoxFuture;
use input::{Arguments, Input};
use told::Told;

type Run = for<'a> fn(&'a Asking<'a>, &'a Arguments) -> BoxFuture<'a, Result<Told, Refusal>>;

/// One tool.
struct Tool {
    name: &'static str,
    /// For people.
    title: &'static str,
    /// For models: what it answers, and how the answer is to be read.
    about: &'static str,
    inputs: &'static [Input],
    /// Whether it is listed only for who shows the key of an agent.
    for_agents: bool,
    /// Whether it changes nothing.
    only_reads: bool,
    run: Run,
}

/// Makes a [`Run`] of an `async fn`.
macro_rules! run {
    ($function:path) => {
        |asking, arguments| Box::pin($function(asking, arguments))
    };
}
use run;

/// In the order of the list: the commonest questions first.
fn all() -> impl Iterator<Item = &'static Tool> {
    [checks::TOOLS, countries::TOOLS, incidents::TOOLS, aggregation::TOOLS, agents::TOOLS].into_iter().flatten()
}

impl Tool {
    fn listed(&self) -> Value {
        // A tool that reads, reads only here; one that writes, writes to others and takes nothing back.
        let hints = match self.only_reads {
            true => json!({ "readOnlyHint": true, "openWorldHint": false }),
            false => json!({ "readOnlyHint": false, "destructiveHint": false, "openWorldHint": true }),
        };
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.about,
            "inputSchema": input::schema(self.inputs),
            "annotations": hints,
        })
    }
}

/// `tools/list`: those of agents only for who shows the key of one.
pub fn list(asking: &Asking<'_>, params: &Map<String, Value>) -> Result<Answer, Failure> {
    no_cursor(params)?;
    let tools: Vec<Value> = all().filter(|tool| !tool.for_agents || asking.has_agent_key()).map(Tool::listed).collect();
    Ok(Answer::fresh(Map::from_iter([("tools".to_owned(), json!(tools))]), HOUR, Scope::Caller))
}

/// `tools/call`. What a tool cannot do is a result too, which the model reads and can act on.
pub async fn call(asking: &Asking<'_>, params: &Map<String, Value>) -> Result<Answer, Failure> {
    let name = params.get("name").and_then(Value::as_str).ok_or_else(|| Failure::params("`name` must be text."))?;
    let tool = all().find(|tool| tool.name == name).ok_or_else(|| {
        let name: String = name.chars().take(100).collect();
        Failure::params(format!("There is no tool {name:?}; `tools/list` has all of them."))
    })?;
    let given = match params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(given)) => given.clone(),
        Some(_) => return Err(Failure::params("`arguments` must be an object.")),
    };
    let told = match Arguments::read(tool.inputs, given) {
        Ok(arguments) => (tool.run)(asking, &arguments).await,
        Err(message) => Err(Refusal::new("BAD_REQUEST", message)),
    };
    Ok(Answer::of(match told {
        Ok(told) => told.written(),
        Err(refusal) => refused(&refusal),
    }))
}

fn refused(refusal: &Refusal) -> Map<String, Value> {
    let Refusal { code, message, retry_after } = refusal;
    let mut structured = json!({ "error": code, "message": message });
    let mut text = format!("{code}: {message}");
    if let Some(seconds) = retry_after {
        structured["retryAfter"] = json!(seconds);
        text += &format!(" Retry in {seconds} seconds.");
    }
    let mut result = told::result(&text, structured);
    result.insert("isError".into(), json!(true));
    result
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_plain_and_every_input_is_described() {
        let mut names = BTreeSet::new();
        for tool in all() {
            assert!(
                names.insert(tool.name) && tool.name.bytes().all(|byte| byte.is_ascii_lowercase()),
                "{}",
                tool.name
            );
            let mut inputs = BTreeSet::new();
            for input in tool.inputs {
                assert!(inputs.insert(input.name) && !input.doc.is_empty(), "{}: {}", tool.name, input.name);
            }
        }
        assert!((10..=14).contains(&names.len()), "{}", names.len());
    }

    /// Every client sends the list to its model with each question: four bytes are about a token.
    #[test]
    fn the_list_of_tools_costs_a_model_few_tokens() {
        for tool in all() {
            let bytes = tool.listed().to_string().len();
            assert!(bytes < 1_500, "{} takes {bytes} bytes", tool.name);
        }
        let bytes: usize = all().filter(|tool| !tool.for_agents).map(|tool| tool.listed().to_string().len()).sum();
        assert!(bytes < 7_500, "the list takes {bytes} bytes");
    }
}
