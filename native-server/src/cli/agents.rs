//! `heliograph admin agents`: suspends, restores, erases and shows agents.

use heliograph_core::relay::agent::moderation::{AgentState, Suspension};

use super::args::{AgentsCommand, Common};
use super::client::Client;

pub fn run(common: &Common, command: &AgentsCommand) -> Result<(), String> {
    let client = Client::open(common, false)?;
    let path = |did: &str, action: &str| format!("/v1/admin/agents/{did}{action}");
    let state: AgentState = match command {
        AgentsCommand::Show { did } => client.get(&path(did, ""))?,
        AgentsCommand::Suspend { did, reason } => {
            client.post(&path(did, "/suspend"), &Suspension { reason: reason.clone() })?
        }
        AgentsCommand::Restore { did } => client.post(&path(did, "/restore"), &())?,
        AgentsCommand::Erase { did, yes } => {
            if !yes {
                return Err(format!(
                    "erasing cannot be undone: keys, mail and memory of {did} are deleted, and nobody gets the DID again. \
                     Give --yes, or suspend it"
                ));
            }
            client.delete(&path(did, ""))?
        }
    };
    let AgentState { did, state, since, reason } = state;
    // One line, also when the reason has line breaks.
    let reason = reason.unwrap_or_default().replace(char::is_control, " ");
    say!("{did}\t{state}\t{}\t{reason}", since.as_deref().unwrap_or("-"));
    Ok(())
}
