//! Subcommands for the operator of a deployment: settings, the data file, keys, peers.

use std::path::PathBuf;

use clap::Subcommand;

use super::data::SOURCES;

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print a settings file with every setting, its default and its unit as comments.
    Init,
    /// Say what is wrong with a settings file, and with the files that it names.
    Check {
        /// The settings file.
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum DbCommand {
    /// Show what the file holds.
    Info {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check every page of a file that no server uses.
    Check,
    /// Write a consistent copy; with --to also of a running server.
    Backup {
        /// The copy; must not exist yet.
        file: PathBuf,
    },
    /// Write a file that no server uses anew, without the space that removed rows left.
    Compact,
    /// Put a backup in the place of the data file. It is checked first.
    Restore {
        /// The backup; its keys are beside it, in FILE.key.
        file: PathBuf,
        /// Only check that the backup can be restored.
        #[arg(long)]
        check: bool,
        /// Put it in the place of a data file that exists; what is in that file only is lost.
        #[arg(long, conflicts_with = "check")]
        replace: bool,
    },
    /// Remove everything that came from one source.
    DropSource {
        /// Name of the source.
        #[arg(value_parser = SOURCES)]
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum VerdictsCommand {
    /// Judge everything again after a change of the rules, and show which answers changed.
    Recompute {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Create a key; it is printed once.
    Create {
        /// Tier of the key.
        #[arg(long, value_parser = ["research", "enterprise", "bench"])]
        tier: String,
        /// Label that says whom the key is for.
        #[arg(long, default_value = "")]
        label: String,
    },
    /// List keys: account, tier, state, time, label.
    List,
    /// Create a new master key and re-seal all values under it. The earlier keys stay in the key file, because they are
    /// needed.
    RotateMaster,
    /// Revoke a key at once.
    Revoke {
        /// The account as listed, or the whole key.
        key: String,
    },
    /// Create a new API key for an agent that lost its own; it is printed once. The previous key works for another ten
    /// minutes.
    Agent {
        /// The agent's DID.
        did: String,
        /// Revoke the earlier keys at once, for example when one leaked.
        #[arg(long)]
        revoke: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum PeersCommand {
    /// Make another relay a peer, or change the name and key of the peer with this address.
    Add {
        /// Base address of the relay, such as https://relay.example.org.
        url: String,
        /// Key of the relay, as `heliograph peers key` prints it there.
        key: String,
        /// Name of the peer here; the default is its host.
        #[arg(long)]
        name: Option<String>,
    },
    /// List peers: id, address, name, status, agents, messages, key.
    List,
    /// Remove a peer at once.
    Remove {
        /// Id or address of the peer.
        peer: String,
    },
    /// State at which peer an agent is and which key it has, for example after it rotated its keys.
    Pin {
        /// Id or address of the peer.
        peer: String,
        /// The agent's DID.
        did: String,
        /// The agent's Ed25519 key in base64.
        key: String,
    },
    /// Print the key of this relay, for the operators of its peers.
    Key {
        /// Create a new key first. Peers refuse messages until their operators know it.
        #[arg(long)]
        rotate: bool,
    },
}
