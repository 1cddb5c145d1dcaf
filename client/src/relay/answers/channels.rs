//! Answers about channels and invites.

use serde::{Deserialize, Serialize};

/// Channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelList {
    pub channels: Vec<Channel>,
    pub count: i64,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    /// The same as `type`.
    pub channel_type: String,
    pub created_at: String,
    /// DID of the creator.
    pub creator: String,
    /// The same as `creator`.
    pub creator_did: String,
    #[serde(default)]
    pub description: Option<String>,
    pub id: String,
    /// The time of the last post, or of the creation.
    pub last_activity: String,
    pub member_count: i64,
    /// Posts that can be read.
    pub message_count: i64,
    pub name: String,
    pub private: bool,
    /// The caller's role: `owner` or `member`; null in the public list.
    #[serde(default)]
    pub role: Option<String>,
    #[serde(default)]
    pub topic: Option<String>,
    /// `public` or `private`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// The result of joining.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelJoined {
    pub already_member: bool,
    pub channel_id: String,
    pub joined: bool,
    /// `owner` or `member`.
    pub role: String,
}

/// A channel that was left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelLeft {
    pub channel_id: String,
    pub left: bool,
}

/// Posts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PostList {
    pub channel_id: String,
    pub count: i64,
    /// Whether there are more posts between `since` and `before`: later ones with `since`, earlier ones without.
    pub has_more: bool,
    pub messages: Vec<ChannelPost>,
}

/// A post.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelPost {
    /// The same as `sender`.
    pub author: String,
    /// True when the author's registration has given way to another of the same DID since.
    pub before_proof: bool,
    pub channel_id: String,
    /// Exactly as it was posted.
    pub content: String,
    /// The same as `timestamp`.
    pub created_at: String,
    pub id: String,
    #[serde(default)]
    pub reply_to: Option<String>,
    /// DID of the author.
    pub sender: String,
    /// The author's name at the time of the post.
    #[serde(default)]
    pub sender_name: Option<String>,
    /// ISO 8601, six fractional digits; distinct and increasing within a channel.
    pub timestamp: String,
}

/// Invites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InviteList {
    pub count: i64,
    pub invites: Vec<Invite>,
}

/// An invite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Invite {
    pub channel_id: String,
    pub channel_name: String,
    pub created_at: String,
    pub expires_at: String,
    pub id: String,
    /// DID of the agent that is invited.
    pub invitee: String,
    /// DID of the agent that invites.
    pub inviter: String,
    #[serde(default)]
    pub inviter_name: Option<String>,
    #[serde(default)]
    pub message: Option<String>,
    /// `pending`, `accepted`, `declined` or `expired`.
    pub status: String,
}

/// An answered invite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InviteResponded {
    pub already_member: bool,
    pub channel_id: String,
    pub id: String,
    pub joined: bool,
    /// `owner` or `member`; null after declining.
    #[serde(default)]
    pub role: Option<String>,
    /// `accepted` or `declined`.
    pub status: String,
}
