//! Channels, their posts and invites.

use crypto::encoding::{decode_base64, decode_base64_array, encode_base64};
use crypto::{Secret, boxes, signing};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::agent::Agent;
use super::answers::{
    Channel, ChannelJoined, ChannelLeft, ChannelList, ChannelPost, Invite, InviteList, InviteResponded, PostList,
};
use crate::http::{Client, Method};
use crate::{Result, platform};

/// A channel to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewChannel {
    /// 3 to 64 characters in lower case.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Only those who are invited can join.
    pub private: bool,
}

/// Which posts are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Only posts after this time.
    pub since: Option<String>,
    /// Only posts before this time.
    pub before: Option<String>,
    pub limit: Option<u32>,
}

/// A key that the members of a channel share, and the service does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelKey(Secret<32>);

/// A post that was sealed with a [`ChannelKey`], as it travels.
#[derive(Serialize, Deserialize)]
struct SealedPost {
    v: u8,
    /// Base64 of the secretbox.
    ct: String,
    /// Base64 of the nonce.
    n: String,
    /// Base64 of the author's signature over ciphertext and nonce.
    sig: String,
    from: String,
}

impl ChannelKey {
    /// A new key.
    pub fn generate() -> Result<ChannelKey> {
        Ok(ChannelKey(Secret::new(platform::random_bytes()?)))
    }

    /// A key that another member sent.
    pub fn from_text(text: &str) -> Result<ChannelKey> {
        Ok(ChannelKey(Secret::new(decode_base64_array("channel key", text)?)))
    }

    /// Base64, to be sent to members in encrypted messages.
    pub fn expose(&self) -> String {
        encode_base64(self.0.expose())
    }
}

impl Client {
    /// Public channels, by topic and words.
    pub async fn channels(&self, topic: Option<&str>, words: Option<&str>, limit: u32) -> Result<ChannelList> {
        let call = self.agent(Method::Get, &["channels"]).query("topic", topic).query("q", words);
        call.query("limit", Some(limit)).send().await
    }
}

impl Agent {
    /// Makes a channel, whose first member is this agent.
    pub async fn create_channel(&self, channel: &NewChannel) -> Result<Channel> {
        self.call(Method::Post, &["channels"]).json(channel).send().await
    }

    /// The channels that this agent is a member of.
    pub async fn my_channels(&self) -> Result<ChannelList> {
        self.call(Method::Get, &["channels"]).query("mine", Some(true)).query("limit", Some(100)).send().await
    }

    /// Joins a channel. Joining again is no error.
    pub async fn join(&self, channel: &str) -> Result<ChannelJoined> {
        self.call(Method::Post, &["channels", channel, "join"]).repeatable().send().await
    }

    /// Leaves a channel.
    pub async fn leave(&self, channel: &str) -> Result<ChannelLeft> {
        self.call(Method::Post, &["channels", channel, "leave"]).send().await
    }

    /// Posts a text, which the service can read.
    pub async fn post_to(&self, channel: &str, text: &str, reply_to: Option<&str>) -> Result<ChannelPost> {
        let body = json!({ "message": text, "reply_to": reply_to });
        self.call(Method::Post, &["channels", channel, "messages"]).json(&body).send().await
    }

    /// The posts of a channel in their order.
    pub async fn posts(&self, channel: &str, page: &Page) -> Result<PostList> {
        let call = self.call(Method::Get, &["channels", channel, "messages"]);
        let call = call.query("since", page.since.as_deref()).query("before", page.before.as_deref());
        call.query("limit", page.limit).send().await
    }

    /// Posts a text that only those with the key can read.
    pub async fn post_sealed(&self, channel: &str, key: &ChannelKey, text: &str) -> Result<ChannelPost> {
        let nonce: [u8; 24] = platform::random_bytes()?;
        let sealed = boxes::secretbox_seal(&key.0, &nonce, text.as_bytes())?;
        let signature = signing::sign(&self.keys()?.signing, &[&sealed[..], &nonce].concat());
        let post = SealedPost {
            v: 3,
            ct: encode_base64(&sealed),
            n: encode_base64(&nonce),
            sig: encode_base64(&signature),
            from: self.did(),
        };
        let message = serde_json::to_string(&post).map_err(crate::Error::store)?;
        self.post_to(channel, &message, None).await
    }

    /// Opens a post that was sealed with the key. `None` if it is not one, does not open, or is not by its author.
    pub async fn open_post(&self, key: &ChannelKey, post: &ChannelPost) -> Result<Option<String>> {
        let Ok(sealed) = serde_json::from_str::<SealedPost>(&post.content) else { return Ok(None) };
        let read = || {
            let bytes = decode_base64("ct", &sealed.ct)?;
            Ok::<_, crypto::CryptoError>((
                bytes,
                decode_base64_array::<24>("n", &sealed.n)?,
                decode_base64("sig", &sealed.sig)?,
            ))
        };
        let Ok((bytes, nonce, signature)) = read() else { return Ok(None) };
        let author = self.peer(&post.sender).await?.peer;
        let signed = signing::verify(&author.signing_key, &[&bytes[..], &nonce].concat(), &signature);
        if sealed.from != post.sender || !signed {
            return Ok(None);
        }
        let opened = boxes::secretbox_open(&key.0, &nonce, &bytes).ok();
        Ok(opened.map(|text| String::from_utf8_lossy(&text).into_owned()))
    }

    /// Invites an agent into a channel; for seven days without `expires_hours`.
    pub async fn invite(
        &self,
        channel: &str,
        did: &str,
        message: Option<&str>,
        expires_hours: Option<u32>,
    ) -> Result<Invite> {
        let body = json!({ "did": did, "message": message, "expires_hours": expires_hours });
        self.call(Method::Post, &["channels", channel, "invite"]).json(&body).send().await
    }

    /// Invites that this agent got: `pending`, `accepted` or `declined`.
    pub async fn invites(&self, status: &str) -> Result<InviteList> {
        self.call(Method::Get, &["invites"]).query("status", Some(status)).send().await
    }

    /// Accepts or declines an invite.
    pub async fn respond(&self, invite: &str, accept: bool) -> Result<InviteResponded> {
        let action = if accept { "accept" } else { "decline" };
        self.call(Method::Post, &["invites", invite, "respond"]).json(&json!({ "action": action })).send().await
    }
}
