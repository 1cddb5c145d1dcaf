//! Subcommands for users: questions to a server, and acting as an agent.

use clap::{Args, Subcommand};

/// How an answer is written.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Server and output")]
pub struct Form {
    /// Print JSON: one object for one answer, one object a line for lists.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print CSV; its first line has the names.
    #[arg(long)]
    pub csv: bool,
}

/// Which server is asked, and how its answer is written.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server and output")]
pub struct Ask {
    /// Server to ask [env: HELIOGRAPH_URL] [default: that of the profile, or http://127.0.0.1:8787].
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Named server and agent to use, see `heliograph profile` [env: HELIOGRAPH_PROFILE].
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Debug, Args)]
pub struct Check {
    /// Sites or services, such as telegram or example.org.
    #[arg(value_name = "TARGET", required = true)]
    pub targets: Vec<String>,
    /// The country's two letters, such as KE.
    #[arg(value_name = "COUNTRY", required = true)]
    pub country: String,
    /// Answer as of this time, such as 2023-11-15 or 2023-11-15T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<String>,
    /// End with 10 if anything is blocked, with 11 if anything else is down or unknown.
    #[arg(long)]
    pub exit_code: bool,
    #[command(flatten)]
    pub ask: Ask,
}

#[derive(Debug, Args)]
pub struct Country {
    /// The country's two letters, such as KE.
    #[arg(value_name = "COUNTRY")]
    pub country: String,
    /// Answer as of this time, such as 2023-11-15 or 2023-11-15T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<String>,
    #[command(flatten)]
    pub ask: Ask,
}

#[derive(Debug, Args)]
pub struct Claim {
    /// The claim, in English words.
    #[arg(value_name = "WORDS", required = true)]
    pub words: Vec<String>,
    #[command(flatten)]
    pub ask: Ask,
}

/// What rows of counts can be grouped by, each with its name in the interface.
pub const AXES: [(&str, &str); 7] = [
    ("day", "measurement_start_day"),
    ("country", "probe_cc"),
    ("network", "probe_asn"),
    ("domain", "domain"),
    ("category", "category_code"),
    ("test", "test_name"),
    ("blocking", "blocking_type"),
];

#[derive(Debug, Args)]
pub struct Aggregate {
    /// Only these countries: two letters each, with commas between.
    #[arg(long, value_name = "COUNTRIES")]
    pub country: Option<String>,
    /// Only these domains, with commas between.
    #[arg(long, value_name = "DOMAINS")]
    pub domain: Option<String>,
    /// Only these networks, such as AS36926, with commas between.
    #[arg(long, value_name = "NETWORKS")]
    pub network: Option<String>,
    /// Only sites of this category of the test lists, such as NEWS.
    #[arg(long, value_name = "CATEGORY")]
    pub category: Option<String>,
    /// Only this test, such as web_connectivity or telegram.
    #[arg(long, value_name = "NAME")]
    pub test: Option<String>,
    /// The first day; half a year ago without it.
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// The day after the last one.
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// A row for each of these; may be given twice.
    #[arg(long, value_name = "WHAT", value_parser = AXES.map(|(name, _)| name))]
    pub by: Vec<String>,
    /// The length of a "day" in rows by day; a day without this. `auto` takes the shortest that fits the range.
    #[arg(long, value_name = "LENGTH", value_parser = ["hour", "day", "week", "month", "year", "auto"])]
    pub grain: Option<String>,
    #[command(flatten)]
    pub ask: Ask,
}

#[derive(Debug, Subcommand)]
pub enum Watch {
    /// Print incidents as they begin, change and end.
    Incidents {
        /// Only those of this country.
        #[arg(long, value_name = "COUNTRY")]
        country: Option<String>,
        /// Begin with what changed after this time; now without it.
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// End after this many changes.
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
        count: Option<u64>,
        /// Seconds between two requests, at least 5.
        #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(5..))]
        every: u64,
        #[command(flatten)]
        ask: Ask,
    },
    /// Print what a check says now, wait until its status is another one, print that and end.
    Check {
        /// A site or service, such as telegram or example.org.
        target: String,
        /// The country's two letters, such as KE.
        country: String,
        /// Seconds between two requests, at least 5.
        #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(5..))]
        every: u64,
        #[command(flatten)]
        ask: Ask,
    },
}

#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Register an agent, and keep its keys in the profile. They are made here, so the server cannot read its messages.
    Register {
        /// Name of the agent, unique on the server.
        #[arg(long)]
        name: Option<String>,
        /// What the agent can do, such as translate; may be repeated.
        #[arg(long, value_name = "WORD")]
        capability: Vec<String>,
        /// Let the server make and hold the keys. It can read every message then, and the agent cannot pay.
        #[arg(long)]
        by_service: bool,
        #[command(flatten)]
        ask: Ask,
    },
    /// Send a message, encrypted for its recipient.
    Send {
        /// DID of the recipient.
        #[arg(value_name = "DID")]
        to: String,
        /// The text; `-` reads it from standard input.
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
        /// The conversation that it belongs to.
        #[arg(long, value_name = "ID")]
        thread: Option<String>,
        /// The message that it answers.
        #[arg(long, value_name = "ID")]
        reply_to: Option<String>,
        /// How long the server keeps it: 1 to 604800 seconds, a day without this.
        #[arg(long, value_name = "SECONDS")]
        ttl: Option<u32>,
        /// Put thread, types and sender inside of the ciphertext.
        #[arg(long)]
        sealed: bool,
        /// Authenticate so that the recipient can prove nothing to others.
        #[arg(long)]
        deniable: bool,
        /// Protect it from a later theft of the recipient's keys. Only agents of this program and of its client library
        /// open such messages; for others the command fails and sends nothing.
        #[arg(long)]
        prekeys: bool,
        #[command(flatten)]
        ask: Ask,
    },
    /// Print messages as they come, the unread ones first, and mark them as read.
    Listen {
        /// Only messages from this agent.
        #[arg(long, value_name = "DID")]
        from: Option<String>,
        /// End after this many messages.
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
        count: Option<u64>,
        /// Leave them unread, so that they come again.
        #[arg(long)]
        keep: bool,
        #[command(flatten)]
        ask: Ask,
    },
}

#[derive(Debug, Subcommand)]
pub enum PayCommand {
    /// Show the wallet of the profile's agent, or of another one.
    Balance {
        /// Another agent.
        #[arg(value_name = "DID")]
        did: Option<String>,
        #[command(flatten)]
        ask: Ask,
    },
    /// Take the grant that every agent can have once; makes the wallet if there is none.
    Grant {
        #[command(flatten)]
        ask: Ask,
    },
    /// Pay an agent.
    Send {
        /// DID of the recipient.
        #[arg(value_name = "DID")]
        to: String,
        /// Credits, such as 2 or 0.25.
        #[arg(value_name = "CREDITS", value_parser = credits)]
        amount: i64,
        /// A note that only the two parties see.
        #[arg(long, value_name = "TEXT")]
        memo: Option<String>,
        #[command(flatten)]
        ask: Ask,
    },
    /// Search what agents offer.
    Offers {
        /// Words to search for; all offers without them.
        words: Vec<String>,
        /// Only offers that cost at most this many credits.
        #[arg(long, value_name = "CREDITS", value_parser = credits)]
        max: Option<i64>,
        /// Show at most this many.
        #[arg(long, value_name = "NUMBER", default_value_t = 20)]
        limit: u32,
        #[command(flatten)]
        ask: Ask,
    },
    /// Hire an agent by its offer. The price is set aside until you accept the work, which a program does with the client
    /// library.
    Hire {
        /// Id of the offer, as `heliograph pay offers` shows it.
        offer: String,
        /// Hire only if it costs at most this many credits.
        #[arg(long, value_name = "CREDITS", value_parser = credits)]
        max: Option<i64>,
        /// What the work is about, as JSON; only the two parties see it.
        #[arg(long, value_name = "JSON", value_parser = json)]
        input: Option<serde_json::Value>,
        /// Your own id of the task; a new one without it.
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        #[command(flatten)]
        ask: Ask,
    },
}

#[derive(Debug, Subcommand)]
pub enum ProfileCommand {
    /// List profiles; `*` marks the one that is used without --profile.
    List {
        #[command(flatten)]
        form: Form,
    },
    /// Make a profile, or change the address of its server.
    Set {
        /// Name: small letters, digits, `-` and `_`.
        name: String,
        /// Address of the server, such as https://relay.example.org.
        url: String,
    },
    /// Use this profile wherever none is named.
    Use {
        /// Name of the profile.
        name: String,
    },
    /// Show address, agent and folder of a profile.
    Show {
        /// Name of the profile; the one in use without it.
        name: Option<String>,
        /// Show the agent's API key, too. Whoever has it can act as the agent.
        #[arg(long)]
        secrets: bool,
        #[command(flatten)]
        form: Form,
    },
    /// Remove a profile with the keys of its agent, for ever.
    Remove {
        /// Name of the profile.
        name: String,
        /// Confirm it, which a profile with an agent needs.
        #[arg(long)]
        yes: bool,
    },
}

/// Reads credits as micro-credits, without a detour over numbers that are not exact.
fn credits(text: &str) -> Result<i64, String> {
    let wrong = || "give credits such as 2 or 0.25, with at most six digits after the point".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 {
        return Err(wrong());
    }
    let micro = || {
        let whole = whole.parse::<i64>().ok()?.checked_mul(heliograph_client::ledger::CREDIT)?;
        whole.checked_add(format!("{part:0<6}").parse().ok()?)
    };
    micro().filter(|micro| *micro > 0).ok_or_else(wrong)
}

fn json(text: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(text).map_err(|error| format!("this is no JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_are_exact() {
        for (text, micro) in
            [("2", 2_000_000), ("0.25", 250_000), ("1.000001", 1_000_001), ("1000000000", 1_000_000_000_000_000)]
        {
            assert_eq!(credits(text), Ok(micro));
        }
        for text in ["", "0", "-1", "1.", ".5", "1.0000001", "1e3", "9999999999999999", "1,5", "0.000000"] {
            assert!(credits(text).is_err(), "{text}");
        }
    }
}
