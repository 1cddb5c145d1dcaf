//! Subcommands of `heliograph admin`: what an operator changes by hand.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::ledger::LedgerAdminCommand;

#[derive(Debug, Subcommand)]
pub enum AdminCommand {
    /// List, create and change incidents. Each change is kept with its reason.
    #[command(subcommand)]
    Incidents(Box<IncidentsCommand>),
    /// Learn, list, promote and roll back forecast models.
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Suspend, restore and erase agents.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Run operator actions on the credit ledger, signed by an admin key.
    #[command(subcommand)]
    Ledger(LedgerAdminCommand),
}

/// Members of an incident that an operator may set.
#[derive(Debug, Args)]
pub struct Changes {
    /// Title in one line.
    #[arg(long)]
    pub title: Option<String>,
    /// What happened, in a few sentences.
    #[arg(long)]
    pub description: Option<String>,
    /// Whether somebody ordered it.
    #[arg(long = "type", value_parser = ["censorship", "disruption", "mixed"])]
    pub kind: Option<String>,
    /// How bad it is.
    #[arg(long, value_parser = ["low", "medium", "high", "critical"])]
    pub severity: Option<String>,
    /// Whether it is certain, and whether it goes on.
    #[arg(long, value_parser = ["suspected", "active", "resolved"])]
    pub status: Option<String>,
    /// How certain it is, 0 to 1.
    #[arg(long)]
    pub confidence: Option<f64>,
    /// Time of the end, such as 2026-01-31 (through the end of that day) or 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub end: Option<String>,
}

/// An incident that no data showed.
#[derive(Debug, Args)]
pub struct NewIncidentArgs {
    /// The country's two letters.
    #[arg(long, value_name = "CC")]
    pub country: String,
    /// A platform, a domain, or `internet`.
    #[arg(long)]
    pub subject: String,
    /// When it began, such as 2026-01-31 or 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub start: String,
    /// A network that took part; may be repeated.
    #[arg(long)]
    pub asn: Vec<String>,
    /// A further domain; may be repeated.
    #[arg(long)]
    pub domain: Vec<String>,
    /// Method, such as dns-poison; may be repeated.
    #[arg(long)]
    pub method: Vec<String>,
    /// An affected area, if not the whole country is affected; may be repeated.
    #[arg(long)]
    pub area: Vec<String>,
    /// Occasion, such as an election or exams.
    #[arg(long)]
    pub occasion: Option<String>,
    /// A JSON list of evidence rows.
    #[arg(long, value_name = "FILE")]
    pub evidence: Option<PathBuf>,
    #[command(flatten)]
    pub changes: Changes,
    /// Why; kept with the change.
    #[arg(long)]
    pub reason: String,
}

#[derive(Debug, Subcommand)]
pub enum IncidentsCommand {
    /// List incidents: id, start, end, severity, status, title.
    List {
        /// Only those of this country.
        #[arg(long, value_name = "CC")]
        country: Option<String>,
        /// Print JSON, one incident a line.
        #[arg(long)]
        json: bool,
    },
    /// Create an incident that no data showed; its id is printed.
    Create(NewIncidentArgs),
    /// Change an incident; the change overrides later data until it is restored.
    Amend {
        /// Id of the incident, such as KE-2023-0001.
        id: String,
        /// When it began, such as 2026-01-31 or 2026-01-31T12:00:00Z.
        #[arg(long, value_name = "TIME")]
        start: Option<String>,
        #[command(flatten)]
        changes: Changes,
        /// Why; kept with the change.
        #[arg(long)]
        reason: String,
    },
    /// Undo changes of the named members, or of all.
    Restore {
        /// Id of the incident, such as KE-2023-0001.
        id: String,
        /// title, description, type, severity, status, confidence, start, end, merge or retraction; may be repeated.
        #[arg(long)]
        field: Vec<String>,
        /// Why; kept with the change.
        #[arg(long)]
        reason: String,
    },
    /// Make an incident a part of another one; its ids then lead there.
    Merge {
        /// Id of the incident, such as KE-2023-0001.
        id: String,
        /// The one that stays.
        #[arg(long, value_name = "ID")]
        into: String,
        /// Why; kept with the change.
        #[arg(long)]
        reason: String,
    },
    /// Withdraw an incident; the reason is public.
    Retract {
        /// Id of the incident, such as KE-2023-0001.
        id: String,
        /// Why; kept with the change.
        #[arg(long)]
        reason: String,
    },
    /// List the versions of an incident, newest first: version, time, action, key of the operator or `data`, reason.
    Versions {
        /// Id of the incident, such as KE-2023-0001.
        id: String,
    },
    /// List disputes of readers, oldest first: id, incident, version, time, state, reason.
    Disputes {
        /// List the disputes that were ended already.
        #[arg(long)]
        resolved: bool,
        /// Print JSON, one dispute a line.
        #[arg(long)]
        json: bool,
    },
    /// End a dispute. This changes no incident; amend or retract the incident separately.
    Resolve {
        /// Id of the dispute.
        id: String,
        /// Whether the reader was right.
        #[arg(long, value_parser = ["accepted", "rejected"])]
        outcome: String,
        /// Words for the reader.
        #[arg(long)]
        note: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// Learn a model now. It is served only if it is better on later days that it has not seen.
    Train,
    /// Judge forecasts whose week is over, and make today's forecasts again; the server also does this every day.
    Calibrate,
    /// List served models, newest first: version, time of training, reason.
    List,
    /// Serve a kept model if it is better than the served one on days that neither has seen.
    Promote {
        /// Number of the model.
        number: u32,
    },
    /// List reports of outcomes, newest first: number, time, country, day of the forecast, outcome, words.
    Reports,
    /// Remove a wrong report of an outcome.
    DropReport {
        /// Number of the report.
        number: u64,
    },
    /// Serve an earlier model again.
    Rollback {
        /// Number of the model; the default is the one before the served model.
        #[arg(long)]
        number: Option<u32>,
        /// Reason for the changelog.
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// Print DID, state, since when, and the reason.
    Show {
        /// DID of the agent.
        did: String,
    },
    /// Suspend an agent: its key opens nothing, and nobody finds it or can write to it. All its data stays.
    Suspend {
        /// DID of the agent.
        did: String,
        /// Reason, shown to operators.
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// End a suspension.
    Restore {
        /// DID of the agent.
        did: String,
    },
    /// Erase an agent for ever. Nobody gets its DID again; its names are free after 30 days.
    Erase {
        /// DID of the agent.
        did: String,
        /// Confirm the erasure.
        #[arg(long)]
        yes: bool,
    },
}
