//! Usernames: one short name per agent that people can type.
//!
//! They are stored with the names of agents, after a character that no name may contain, so that the two cannot
//! collide: an agent's name may be the same as another agent's username.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::{self, ReadProfile};
use super::wire;
use crate::agent::authentication::{self, Calling};
use crate::agent::usage;
use crate::directory::{self, Lookup};
use crate::{Error, Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Turn, operation};
use engine::http::{Cx, Response, Route, handler};
use engine::kv::{Read, Row, Table};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/username", handler!(claim))
        .agent()
        .accepts::<UsernameRequest>()
        .creates::<Username>()
        .summary("Take a username; an agent has one."),
    Route::put("/v1/agent/username", handler!(change))
        .agent()
        .accepts::<UsernameRequest>()
        .returns::<Username>()
        .summary("Take another username and give the present one up."),
    Route::delete("/v1/agent/username", handler!(release))
        .agent()
        .returns::<Released>()
        .summary("Give the username up; it is free at once."),
    Route::get("/v1/agent/username/{name}", handler!(read))
        .returns::<UsernameHolder>()
        .summary("The holder of a username."),
];

/// The character before a username where names are stored.
const MARK: char = '\u{1}';

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct UsernameRow {
    username: String,
    claimed: Timestamp,
}
impl Row for UsernameRow {}

const USERNAME: Table<(), UsernameRow> = Table::new(102);

pub const ENTRIES: &[Entry] = &[operation::<SetUsername>(), operation::<LoseUsername>()];

/// The agent's username.
pub(super) fn of(view: &(impl Read + ?Sized)) -> Result<Option<String>> {
    Ok(USERNAME.get(view, &())?.map(|held| held.username))
}

fn kept_as(username: &str) -> String {
    format!("{MARK}{username}")
}

/// Checks a username: 3 to 32 characters of `a-z0-9_`.
/// What usernames look like.
pub const USERNAME_PATTERN: &str = "^[a-z0-9_]{3,32}$";

fn check(username: &str) -> Result<()> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if (3..=32).contains(&username.len()) && username.bytes().all(allowed) {
        return Ok(());
    }
    Err(Error::bad_request("`username` must be 3 to 32 characters of a-z, 0-9 and _."))
}

/// Releases the username, at once or at a later time.
pub(super) fn ended(turn: &mut Turn<'_>, free_at: Option<Timestamp>) -> Result<()> {
    let Some(UsernameRow { username, .. }) = USERNAME.get(turn, &())? else { return Ok(()) };
    USERNAME.delete(turn, &());
    let (name, did) = (kept_as(&username), record::did_of(&turn.actor().name)?);
    turn.send(directory::shard(&name), &directory::Release { name, did, free_at })
}

/// Sets the agent's username, which must have been reserved, or releases it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetUsername {
    pub username: Option<String>,
    /// 409 when the agent has another username already.
    pub only_first: bool,
}

impl Operation for SetUsername {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "set_username";
    /// The username before, and the time when the present one was taken.
    type Reply = (Option<String>, Timestamp);

    fn run(self, turn: &mut Turn<'_>) -> Result<Self::Reply> {
        record::active(turn)?.ok_or_else(record::gone)?;
        let held = USERNAME.get(turn, &())?;
        if let (Some(held), Some(username)) = (&held, &self.username) {
            if held.username == *username {
                return Ok((Some(held.username.clone()), held.claimed));
            }
            if self.only_first {
                return Err(Error::conflict("This agent has a username; PUT takes another one."));
            }
        }
        ended(turn, None)?;
        if let Some(username) = self.username {
            let did = record::did_of(&turn.actor().name)?;
            let confirm = directory::Confirm { name: kept_as(&username), did };
            turn.send_or(directory::shard(&confirm.name), &confirm, &LoseUsername { username: username.clone() })?;
            USERNAME.put(turn, &(), &UsernameRow { username, claimed: turn.now })?;
        }
        Ok((held.map(|held| held.username), turn.now))
    }
}

/// The directory gave the username to another agent, so this agent loses it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoseUsername {
    pub username: String,
}

impl Operation for LoseUsername {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "lose_username";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if USERNAME.get(turn, &())?.is_some_and(|held| held.username == self.username) {
            USERNAME.delete(turn, &());
        }
        Ok(())
    }
}

/// The username to take.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct UsernameRequest {
    /// 3 to 32 of a-z, 0-9 and _.
    #[schemars(regex(pattern = USERNAME_PATTERN))]
    pub username: String,
}

/// A username that the caller has.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Username {
    pub username: String,
    pub did: String,
    pub claimed_at: String,
}

/// A username that was released.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UsernameReleased")]
pub struct Released {
    /// The released username; null when there was none.
    pub username: Option<String>,
    pub did: String,
    pub released: bool,
}

/// The agent that has a username.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UsernameHolder {
    pub username: String,
    pub did: String,
    /// The agent's name.
    pub display_name: Option<String>,
    /// Null for everybody except the agent itself.
    pub last_seen: Option<String>,
}

async fn set(cx: &Cx, only_first: bool) -> Result<Username> {
    let UsernameRequest { username } = cx.json()?;
    check(&username)?;
    let caller = cx.caller.agent()?;
    let reserved = directory::reserve(&*cx.rt, kept_as(&username), record::did_of(&caller.actor)?).await?;
    let set = SetUsername { username: Some(username.clone()), only_first };
    let outcome = runtime::call(&*cx.rt, caller.actor.clone(), &set).await;
    let (_, claimed) = directory::settled(&*cx.rt, Some(reserved), outcome).await?;
    Ok(Username { username, did: caller.did.clone(), claimed_at: claimed.to_string() })
}

async fn claim(cx: Cx) -> Result<Response> {
    Response::created(&set(&cx, true).await?)
}

async fn change(cx: Cx) -> Result<Response> {
    Response::json(&set(&cx, false).await?)
}

async fn release(cx: Cx) -> Result<Response> {
    let caller = cx.caller.agent()?;
    let set = SetUsername { username: None, only_first: false };
    let (username, _) = runtime::call(&*cx.rt, caller.actor.clone(), &set).await?;
    Response::json(&Released { released: username.is_some(), username, did: caller.did.clone() })
}

async fn read(cx: Cx) -> Result<Response> {
    let unknown = || Error::not_found("Nobody has this username.");
    let username = cx.path("name")?.to_owned();
    check(&username).map_err(|_| unknown())?;
    let name = kept_as(&username);
    let found = runtime::query(&*cx.rt, directory::shard(&name), &Lookup { name }).await?;
    let (_, did) = found.ok_or_else(unknown)?;
    let actor = crypto::encoding::actor_id(&did);
    let pending = usage::pending(&*cx.rt, &actor);
    let own = runtime::query(&*cx.rt, actor.as_str(), &ReadProfile).await?.ok_or_else(unknown)?;
    let mut last_seen = None;
    if authentication::recognized(&cx).await?.is_some_and(|caller| caller.actor == actor) {
        last_seen = own.usage.with(&pending).last_seen.map(|seen| seen.to_string());
    }
    let did = wire::did_text(cx.settings(), &did);
    Response::json(&UsernameHolder { username, did, display_name: own.public.name, last_seen })
}
