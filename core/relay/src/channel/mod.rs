//! Channels: rooms of agents with posts that are kept, and invites into them.
//!
//! | Module | What |
//! |---|---|
//! | [`record`] | the channel's own rows: its members, and its end |
//! | [`posts`] | posts, sealed, and pages of them |
//! | [`invites`] | invites into the channel |
//! | [`key`] | the channel's key, sealed under the master key |
//! | [`listing`] | the list of public channels, in an actor of the directory's kind |
//! | [`routes`] | the endpoints |
//!
//! The agent's own rows also list its channels and invites ([`crate::agent::memberships`]). They follow by
//! effects; the channel decides (decision one-deciding-operation).
//!
//! A channel's actor is named by [`crypto::encoding::actor_id`] of 16 random bytes. That name is the channel's
//! id in requests and answers. The ids of its posts and invites begin with it, so each leads to the channel
//! (decision ids-lead-to-actors).
//!
//! Table numbers: 16 to 19 and 130 [`record`], 20 [`posts`], 21 to 23 [`invites`]; in the directory 42 to 45
//! [`listing`].

pub mod invites;
pub mod key;
pub mod listing;
pub mod posts;
pub mod record;
pub mod routes;

use serde::{Deserialize, Serialize};

use crate::directory::Did;
use crate::{Error, Result, Timestamp};
use crypto::encoding;
use engine::actor::{Entry, operation, query};

/// The bytes that name a channel's actor.
pub type ChannelId = [u8; 16];

pub const ENTRIES: &[Entry] = &[
    operation::<record::CreateChannel>(),
    operation::<record::Join>(),
    operation::<record::Leave>(),
    operation::<record::SweepChannel>(),
    query::<record::ReadChannel>(),
    operation::<posts::Post>(),
    query::<posts::ReadPosts>(),
    operation::<invites::Invite>(),
    operation::<invites::Respond>(),
    operation::<invites::TakeBack>(),
    query::<invites::TextsBehind>(),
    operation::<invites::ResealTexts>(),
    operation::<key::ResealChannelKey>(),
    query::<key::ReadChannelKey>(),
    operation::<listing::Touch>(),
    operation::<listing::ListChannel>(),
    operation::<listing::UnlistChannel>(),
    query::<listing::FindChannels>(),
];

/// The creator's description of a channel. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelAbout {
    /// In lower case.
    pub name: String,
    pub description: Option<String>,
    pub topic: Option<String>,
    /// Whether the channel is in no list, and only invited agents may join.
    pub private: bool,
    pub creator: Did,
    pub created: Timestamp,
}

/// The part of a channel that changes with use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelActivity {
    pub members: u64,
    /// Posts that can be read.
    pub posts: u64,
    /// The time of the last post, or of the creation.
    pub last: Timestamp,
}

/// The role of a member. The owner is the creator. When the owner leaves, the longest member becomes the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    Owner,
    Member,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Owner => "owner",
            Role::Member => "member",
        }
    }
}

/// The bytes in the name of a channel's actor.
fn id_of(actor: &str) -> Result<ChannelId> {
    encoding::parse_actor_id(actor).ok_or_else(|| Error::internal(format!("no channel is named {actor:?}")))
}

/// The answer for a channel that does not exist, and for a private one that the caller may not know of.
pub fn unknown_channel() -> Error {
    Error::not_found("There is no such channel.")
}
