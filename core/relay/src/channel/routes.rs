//! The endpoints of channels and invites, with every spelling of the members that some client reads.

use futures_util::stream::{self, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::invites::{self, Invite, Respond, StoredInvite, Waiting, unknown_invite};
use super::key::{self, ChannelKey};
use super::listing::{self, ChannelFilter, FindChannels, ListedChannel};
use super::posts::{Post, ReadPosts, StoredPost};
use super::record::{Admission, CreateChannel, Join, Leave, MemberView, ReadChannel};
use super::{ChannelAbout, ChannelActivity, ChannelId, Role, unknown_channel};
use crate::agent::authentication::{self, Calling};
use crate::agent::mailbox::Local;
use crate::agent::memberships::{HasRoom, MAX_INVITES, ReadInvites, ReadMemberships, ReceivedInvite};
use crate::agent::record::{ReadPublic, did_of};
use crate::agent::usage::Usage;
use crate::agent::{consent, custody, wire};
use crate::directory::{Did, fold, likeness};
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::{DID_PATTERN, actor_id, parse_actor_id};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::runtime;
use engine::secrets::Secrets;
use engine::settings::Settings;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/channels", handler!(create))
        .agent()
        .accepts::<ChannelRequest>()
        .creates::<ChannelInfo>()
        .summary("Create a channel; its creator is the owner. A channel without members ends."),
    Route::get("/v1/agent/channels", handler!(list))
        .params(&[
            Param::optional("topic", "Only channels of this topic; case does not count."),
            Param::optional("q", "Only channels with this text in name, topic or description."),
            Param::optional(
                "mine",
                "`true`: the channels that the caller is in, private ones too; needs `X-Agent-Key`.",
            )
            .boolean()
            .default("false"),
            Param::optional("limit", "Most entries of the answer: 1 to 100, default 20.").count(20, 100),
        ])
        .returns::<ChannelList>()
        .summary("Public channels, most recently active first. Their counts may be a minute old."),
    Route::post("/v1/agent/channels/{id}/join", handler!(join))
        .agent()
        .bodiless()
        .returns::<Joining>()
        .summary("Join a public channel, or a private one that the caller is invited to."),
    Route::post("/v1/agent/channels/{id}/leave", handler!(leave))
        .agent()
        .bodiless()
        .returns::<Leaving>()
        .summary("Leave a channel. The longest member follows an owner."),
    Route::post("/v1/agent/channels/{id}/messages", handler!(post))
        .agent()
        .max_body(1024 * 1024)
        .accepts::<PostRequest>()
        .creates::<PostInfo>()
        .summary("Post into a channel. The post is stored sealed, and returned exactly as it was posted."),
    Route::get("/v1/agent/channels/{id}/messages", handler!(read))
        .agent()
        .params(&[
            Param::optional("since", "Only later posts; the page begins with the oldest of them.").date(),
            Param::optional("before", "Only earlier posts; without `since` the page ends with the newest of them.")
                .date(),
            Param::optional("limit", "Most entries of the answer: 1 to 100, default 50.").count(50, 100),
        ])
        .returns::<PostList>()
        .summary("Posts of a channel that the caller is in, in the order in which they came."),
    Route::post("/v1/agent/channels/{id}/invite", handler!(invite))
        .agent()
        .accepts::<InviteRequest>()
        .creates::<InviteInfo>()
        .summary("Invite an agent into a channel that the caller is in. A pending invite is not made twice."),
    Route::get("/v1/agent/invites", handler!(received))
        .agent()
        .params(&[
            Param::optional("status", "`pending`, `accepted`, `declined` or `expired`.")
                .one_of(&["pending", "accepted", "declined", "expired"]),
            Param::optional("limit", "Most entries of the answer: 1 to 1000, default 100.").count(100, 1_000),
        ])
        .returns::<InviteList>()
        .summary("Invites that the caller received, newest first."),
    Route::post("/v1/agent/invites/{id}/respond", handler!(respond))
        .agent()
        .accepts::<RespondRequest>()
        .returns::<Responded>()
        .summary("Accept or decline an invite."),
];

/// Characters of a channel's name.
const NAME: std::ops::RangeInclusive<usize> = 3..=64;
/// Most characters of a description, of the message of an invite, and of a reply id; our choice.
const MAX_TEXT: usize = 1_024;
/// Most characters of a topic; our choice.
const MAX_TOPIC: usize = 64;
/// Most Unicode scalar values in a post (decision request-size-limits).
const MAX_POST: usize = 65_536;
/// Hours until an invite expires: the default, and the most, which is our choice.
const DEFAULT_HOURS: i64 = 168;
const MAX_HOURS: i64 = 8_760;
/// Channels that are asked for their counts at the same time.
const AT_ONCE: usize = 16;

/// A new channel.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ChannelRequest {
    /// 3 to 64 characters, stored in lower case. Several channels may have the same name.
    #[schemars(length(min = *NAME.start(), max = *NAME.end()))]
    pub name: String,
    /// Up to 1024 characters.
    #[schemars(length(max = MAX_TEXT))]
    pub description: Option<String>,
    /// Up to 64 characters.
    #[schemars(length(max = MAX_TOPIC))]
    pub topic: Option<String>,
    /// True for a channel that is in no list and that only invited agents may join. False when absent.
    pub private: Option<bool>,
}

/// A channel.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Channel")]
pub struct ChannelInfo {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub topic: Option<String>,
    /// `public` or `private`.
    pub r#type: &'static str,
    /// The same as `type`.
    pub channel_type: &'static str,
    pub private: bool,
    /// DID of the creator.
    pub creator: String,
    /// The same as `creator`.
    pub creator_did: String,
    pub member_count: u64,
    /// Posts that can be read.
    pub message_count: u64,
    /// The time of the last post, or of the creation.
    pub last_activity: String,
    pub created_at: String,
    /// The caller's role: `owner` or `member`; null in the public list.
    pub role: Option<&'static str>,
}

/// Channels.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChannelList {
    pub channels: Vec<ChannelInfo>,
    pub count: usize,
}

/// The result of joining.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChannelJoined")]
pub struct Joining {
    pub joined: bool,
    pub already_member: bool,
    /// `owner` or `member`.
    pub role: &'static str,
    pub channel_id: String,
}

/// A channel that was left.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChannelLeft")]
pub struct Leaving {
    pub left: bool,
    pub channel_id: String,
}

/// A new post.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PostRequest {
    /// At most 65536 Unicode characters.
    #[schemars(length(max = MAX_POST))]
    pub message: String,
    /// Id of the post that this one answers; not checked.
    #[schemars(length(max = MAX_TEXT))]
    pub reply_to: Option<String>,
}

/// A post.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChannelPost")]
pub struct PostInfo {
    pub id: String,
    /// Exactly as it was posted.
    pub content: String,
    /// DID of the author.
    pub sender: String,
    /// The author's name at the time of the post.
    pub sender_name: Option<String>,
    /// ISO 8601, six fractional digits; distinct and increasing within a channel.
    pub timestamp: String,
    pub reply_to: Option<String>,
    /// The same as `sender`.
    pub author: String,
    /// The same as `timestamp`.
    pub created_at: String,
    pub channel_id: String,
    /// True when the author's registration has given way to another of the same DID since.
    pub before_proof: bool,
}

/// Posts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PostList {
    pub channel_id: String,
    pub messages: Vec<PostInfo>,
    pub count: usize,
    /// Whether there are more posts between `since` and `before`: later ones with `since`, earlier ones without.
    pub has_more: bool,
}

/// The agent to invite. One of `did` and `invitee_did` is required.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct InviteRequest {
    #[schemars(regex(pattern = DID_PATTERN))]
    pub did: Option<String>,
    pub invitee_did: Option<String>,
    /// Up to 1024 characters.
    #[schemars(length(max = MAX_TEXT))]
    pub message: Option<String>,
    /// Hours, 1 to 8760; 168 when absent.
    #[schemars(range(min = 1, max = MAX_HOURS))]
    pub expires_hours: Option<i64>,
}

/// An invite.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Invite")]
pub struct InviteInfo {
    pub id: String,
    pub channel_id: String,
    pub channel_name: String,
    /// DID of the agent that invites.
    pub inviter: String,
    pub inviter_name: Option<String>,
    /// DID of the agent that is invited.
    pub invitee: String,
    pub message: Option<String>,
    /// `pending`, `accepted`, `declined` or `expired`.
    pub status: &'static str,
    pub created_at: String,
    pub expires_at: String,
}

/// Invites.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InviteList {
    pub invites: Vec<InviteInfo>,
    pub count: usize,
}

/// An answer to an invite.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RespondRequest {
    /// `accept` or `decline`.
    #[schemars(regex(pattern = "^(accept|decline)$"))]
    pub action: String,
}

/// An answered invite.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "InviteResponded")]
pub struct Responded {
    pub id: String,
    /// `accepted` or `declined`.
    pub status: &'static str,
    pub channel_id: String,
    pub joined: bool,
    pub already_member: bool,
    /// `owner` or `member`; null after declining.
    pub role: Option<&'static str>,
}

fn info(
    settings: &Settings,
    id: &ChannelId,
    about: ChannelAbout,
    activity: ChannelActivity,
    role: Option<Role>,
) -> ChannelInfo {
    let kind = if about.private { "private" } else { "public" };
    let creator = wire::did_text(settings, &about.creator);
    ChannelInfo {
        id: actor_id(id),
        name: about.name,
        description: about.description,
        topic: about.topic,
        r#type: kind,
        channel_type: kind,
        private: about.private,
        creator: creator.clone(),
        creator_did: creator,
        member_count: activity.members,
        message_count: activity.posts,
        last_activity: wire::stamp_text(activity.last),
        created_at: about.created.to_string(),
        role: role.map(Role::as_str),
    }
}

/// A text of at most `max` characters, or 400; an empty text counts as absent.
fn short(name: &str, text: Option<String>, max: usize) -> Result<Option<String>> {
    if text.as_ref().is_some_and(|text| text.chars().count() > max) {
        return Err(Error::bad_request(format!("`{name}` must be at most {max} characters.")));
    }
    Ok(text.filter(|text| !text.trim().is_empty()))
}

/// The actor of the channel in the path.
fn channel(cx: &Cx) -> Result<&str> {
    let id = cx.path("id")?;
    parse_actor_id(id).map(|_| id).ok_or_else(unknown_channel)
}

/// The caller's name.
async fn own_name(cx: &Cx) -> Result<Option<String>> {
    let public = runtime::query(&*cx.rt, cx.caller.agent()?.actor.as_str(), &ReadPublic).await?;
    Ok(public.and_then(|public| public.name))
}

fn own_did(cx: &Cx) -> Result<Did> {
    did_of(&cx.caller.agent()?.actor)
}

/// 409 when the caller is in the largest number of channels that is allowed. Two requests at the same time can both
/// pass; then the agent's own row refuses the second, and the channel removes the agent again.
async fn needs_room(cx: &Cx) -> Result<()> {
    runtime::query(&*cx.rt, cx.caller.agent()?.actor.as_str(), &HasRoom).await
}

/// The role of the caller, if it is a member of this channel already.
async fn own_role(cx: &Cx, actor: &str) -> Result<Option<Role>> {
    match runtime::query(&*cx.rt, actor, &ReadChannel { did: own_did(cx)? }).await {
        Ok(seen) => Ok(Some(seen.role)),
        Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::Forbidden) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn create(cx: Cx) -> Result<Response> {
    let request: ChannelRequest = cx.json()?;
    let long_enough = request.name.trim().chars().count() >= *NAME.start();
    if !long_enough || request.name.chars().count() > *NAME.end() {
        return Err(Error::bad_request("`name` must be 3 to 64 characters."));
    }
    let name = fold(request.name.trim());
    likeness::check("name", &name)?;
    let about = ChannelAbout {
        name,
        description: short("description", request.description, MAX_TEXT)?,
        topic: short("topic", request.topic, MAX_TOPIC)?.map(|topic| topic.trim().to_owned()),
        private: request.private.unwrap_or(false),
        creator: own_did(&cx)?,
        created: cx.now(),
    };
    needs_room(&cx).await?;
    let actor = Secrets::new_actor(cx.rt.random());
    let key = key::fresh(&*cx.rt, &actor)?;
    let (about, activity) = runtime::call(&*cx.rt, actor.as_str(), &CreateChannel { about, key }).await?;
    Response::created(&info(cx.settings(), &super::id_of(&actor)?, about, activity, Some(Role::Owner)))
}

async fn list(cx: Cx) -> Result<Response> {
    let wanted = ChannelFilter::folded(cx.query("topic")?.as_deref(), cx.query("q")?.as_deref());
    let limit = cx.count("limit", 20, 100)?;
    let channels = match cx.flag("mine")? {
        Some(true) => mine(&cx, &wanted, limit).await?,
        _ => {
            let found = runtime::query(&*cx.rt, listing::SHARD, &FindChannels { wanted, limit }).await?;
            let shown = |(id, ListedChannel { about, activity })| info(cx.settings(), &id, about, activity, None);
            found.into_iter().map(shown).collect()
        }
    };
    let count = channels.len();
    Response::json(&ChannelList { channels, count })
}

/// The channels that the caller is in, the latest joined ones when there are more than `limit`. Each channel is asked
/// for its counts, so they are exact.
async fn mine(cx: &Cx, wanted: &ChannelFilter, limit: u32) -> Result<Vec<ChannelInfo>> {
    let caller = authentication::sign_in(cx).await?;
    let mut own = runtime::query(&*cx.rt, caller.actor.as_str(), &ReadMemberships).await?;
    own.retain(|(_, membership)| wanted.takes(&membership.about));
    own.sort_by_key(|(_, membership)| std::cmp::Reverse(membership.joined));
    own.truncate(limit as usize);
    let look = ReadChannel { did: did_of(&caller.actor)? };
    let (rt, look) = (&*cx.rt, &look);
    let work = own.into_iter().map(|(id, _)| async move { (id, runtime::query(rt, actor_id(&id), look).await) });
    let answers: Vec<(ChannelId, Result<MemberView>)> = stream::iter(work).buffered(AT_ONCE).collect().await;
    let mut found = Vec::new();
    for (id, answer) in answers {
        match answer {
            Ok(seen) => found.push((id, seen)),
            // The channel has removed the agent already, and the agent's row follows.
            Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::Forbidden) => {}
            Err(error) => return Err(error),
        }
    }
    found.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.activity.last));
    let shown =
        |(id, seen): (ChannelId, MemberView)| info(cx.settings(), &id, seen.about, seen.activity, Some(seen.role));
    Ok(found.into_iter().map(shown).collect())
}

async fn join(cx: Cx) -> Result<Response> {
    let actor = channel(&cx)?;
    // A member may join again even when it has no room left.
    let Admission { role, already } = match own_role(&cx, actor).await? {
        Some(role) => Admission { role, already: true },
        None => {
            needs_room(&cx).await?;
            runtime::call(&*cx.rt, actor, &Join { did: own_did(&cx)? }).await?
        }
    };
    let channel_id = actor.to_owned();
    Response::json(&Joining { joined: true, already_member: already, role: role.as_str(), channel_id })
}

async fn leave(cx: Cx) -> Result<Response> {
    let actor = channel(&cx)?;
    runtime::call(&*cx.rt, actor, &Leave { did: own_did(&cx)?, joined: None, displaced: None }).await?;
    Response::json(&Leaving { left: true, channel_id: actor.to_owned() })
}

fn post_info(settings: &Settings, actor: &str, stamp: Timestamp, post: StoredPost, content: String) -> PostInfo {
    let sender = wire::did_text(settings, &post.from);
    let timestamp = wire::stamp_text(stamp);
    PostInfo {
        id: wire::message_id(actor, &post.local),
        content,
        author: sender.clone(),
        sender,
        sender_name: post.name,
        created_at: timestamp.clone(),
        timestamp,
        reply_to: post.reply_to,
        channel_id: actor.to_owned(),
        before_proof: false,
    }
}

async fn post(cx: Cx) -> Result<Response> {
    let request: PostRequest = cx.json()?;
    let actor = channel(&cx)?;
    if request.message.chars().count() > MAX_POST {
        let message = "`message` must be at most 65536 characters.";
        return Err(Error::new(ErrorCode::PayloadTooLarge, message));
    }
    let reply_to = short("reply_to", request.reply_to, MAX_TEXT)?;
    let from = own_did(&cx)?;
    let seen = runtime::query(&*cx.rt, actor, &ReadChannel { did: from }).await?;
    let key = ChannelKey::open(&*cx.rt, actor, &seen.key).await?;
    let local = custody::local(&*cx.rt);
    let sealed = key.seal(&*cx.rt, &wire::message_id(actor, &local), &request.message)?;
    let post = Post { post: StoredPost { local, from, name: own_name(&cx).await?, reply_to, sealed } };
    let stamp = runtime::call(&*cx.rt, actor, &post).await?;
    Usage::of(cx.rt.environment()).posted(&cx.caller.agent()?.actor);
    Response::created(&post_info(cx.settings(), actor, stamp, post.post, request.message))
}

async fn read(cx: Cx) -> Result<Response> {
    let actor = channel(&cx)?;
    let (since, before) = (cx.time("since")?, cx.time("before")?);
    let ask = ReadPosts { did: own_did(&cx)?, since, before, limit: cx.count("limit", 50, 100)? };
    let page = runtime::query(&*cx.rt, actor, &ask).await?;
    let key = ChannelKey::open(&*cx.rt, actor, &page.key).await?;
    let mut messages = Vec::with_capacity(page.posts.len());
    for (stamp, post) in &page.posts {
        let content = key.text(&wire::message_id(actor, &post.local), &post.sealed)?;
        let before_proof = page.is_displaced(*stamp, &post.from);
        let info = post_info(cx.settings(), actor, *stamp, post.clone(), content);
        messages.push(PostInfo { before_proof, ..info });
    }
    let count = messages.len();
    Response::json(&PostList { channel_id: actor.to_owned(), messages, count, has_more: page.has_more })
}

async fn invite(cx: Cx) -> Result<Response> {
    let request: InviteRequest = cx.json()?;
    let actor = channel(&cx)?;
    let invited = request.did.or(request.invitee_did);
    let invited = invited.ok_or_else(|| Error::bad_request("`did` or `invitee_did` is required."))?;
    let message = short("message", request.message, MAX_TEXT)?
        .map(|text| custody::seal_text(&*cx.rt, actor, invites::PURPOSE, &text))
        .transpose()?;
    let hours = request.expires_hours.unwrap_or(DEFAULT_HOURS);
    let hours = u32::try_from(hours).ok().filter(|hours| (1..=MAX_HOURS).contains(&i64::from(*hours)));
    let hours = hours.ok_or_else(|| Error::bad_request("`expires_hours` must be from 1 to 8760."))?;
    let inviter = own_did(&cx)?;
    // The channel is checked first, so that a caller that may not invite learns nothing about the invited agent.
    runtime::query(&*cx.rt, actor, &ReadChannel { did: inviter }).await?;
    let invitee = wire::known_actor(cx.settings(), &invited)?;
    consent::peer(&cx, &invitee).await?;
    let ask = Invite {
        local: custody::local(&*cx.rt),
        inviter,
        inviter_name: own_name(&cx).await?,
        invitee: did_of(&invitee)?,
        message,
        hours,
    };
    let Waiting { local, channel_name, invite } = runtime::call(&*cx.rt, actor, &ask).await?;
    Response::created(&invite_info(&cx, actor, &local, channel_name, invite)?)
}

fn invite_info(cx: &Cx, actor: &str, local: &Local, channel_name: String, invite: StoredInvite) -> Result<InviteInfo> {
    let open = |stored: String| custody::open_text(&*cx.rt, actor, invites::PURPOSE, &stored);
    Ok(InviteInfo {
        id: wire::message_id(actor, local),
        channel_id: actor.to_owned(),
        channel_name,
        inviter: wire::did_text(cx.settings(), &invite.inviter),
        inviter_name: invite.inviter_name,
        invitee: wire::did_text(cx.settings(), &invite.invitee),
        message: invite.message.map(open).transpose()?,
        status: invite.status.as_str(invite.expires, cx.now()),
        created_at: invite.created.to_string(),
        expires_at: invite.expires.to_string(),
    })
}

async fn received(cx: Cx) -> Result<Response> {
    let wanted = cx.query("status")?;
    if wanted.as_deref().is_some_and(|wanted| !["pending", "accepted", "declined", "expired"].contains(&wanted)) {
        return Err(Error::bad_request("`status` must be pending, accepted, declined or expired."));
    }
    let limit = cx.count("limit", 100, MAX_INVITES as u32)?;
    let caller = cx.caller.agent()?;
    let mut all = runtime::query(&*cx.rt, caller.actor.as_str(), &ReadInvites).await?;
    all.sort_by_key(|(_, received)| std::cmp::Reverse(received.invite.created));
    let shown = all.into_iter().map(|((channel, local), ReceivedInvite { channel_name, invite })| {
        invite_info(&cx, &actor_id(&channel), &local, channel_name, invite)
    });
    let mut invites = Vec::new();
    for invite in shown {
        let invite = invite?;
        if invites.len() < limit as usize && wanted.as_deref().is_none_or(|wanted| wanted == invite.status) {
            invites.push(invite);
        }
    }
    let count = invites.len();
    Response::json(&InviteList { invites, count })
}

async fn respond(cx: Cx) -> Result<Response> {
    let request: RespondRequest = cx.json()?;
    let id = cx.path("id")?.to_owned();
    let (actor, local) = wire::parse_message_id(&id).ok_or_else(unknown_invite)?;
    let accept = match request.action.as_str() {
        "accept" => true,
        "decline" => false,
        _ => return Err(Error::bad_request("`action` must be accept or decline.")),
    };
    if accept && own_role(&cx, &actor).await?.is_none() {
        needs_room(&cx).await?;
    }
    let respond = Respond { local, did: own_did(&cx)?, accept };
    let admission = runtime::call(&*cx.rt, actor.as_str(), &respond).await?;
    Response::json(&Responded {
        id,
        status: if accept { "accepted" } else { "declined" },
        channel_id: actor,
        joined: admission.is_some(),
        already_member: admission.is_some_and(|admission| admission.already),
        role: admission.map(|admission| admission.role.as_str()),
    })
}
