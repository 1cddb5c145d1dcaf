//! Sealed sessions of senders that have keys of their own, kept for an agent whose keys the server holds (ruling
//! foundation-relay 3). The rows are sealed by the handler: no operation sees a key.

use serde::{Deserialize, Serialize};

use crate::actor::{Kind, Operation, Query, Turn, View};
use crate::crypto::session::SessionLabel;
use crate::directory::Did;
use crate::kv::{Direction, Row, Table};
use crate::time::DAY;
use crate::{Result, Timestamp};

/// Days after a session's last message until it is forgotten.
const KEEP_DAYS: i64 = 30;
/// Sessions dropped in one run.
const BATCH: usize = 200;
const TIMER: &str = "sessions";

/// Which session: the sender, and its ephemeral key or zeros when it uses none.
pub type SessionKey = (Did, [u8; 32]);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::agent) struct Session {
    pub sealed: Vec<u8>,
    /// Stamp of the message whose opening gave this state.
    stamp: Timestamp,
    /// Day of the last opening.
    day: i64,
}
impl Row for Session {}

pub(in crate::agent) const SESSIONS: Table<SessionKey, Session> = Table::new(41);
const SESSION_DAYS: Table<(i64, Did, [u8; 32]), ()> = Table::new(42);

/// The row of a session. No ephemeral key is all zeros, a point of small order.
pub fn key(from: Did, label: SessionLabel) -> SessionKey {
    match label {
        SessionLabel::Ephemeral(ephemeral) => (from, ephemeral),
        SessionLabel::None => (from, [0; 32]),
    }
}

/// Reads the sealed rows of sessions; `None` where there is none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadSessions {
    pub keys: Vec<SessionKey>,
}

impl Query for ReadSessions {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "sessions";
    type Reply = Vec<Option<Vec<u8>>>;

    fn run(self, view: &View<'_>) -> Result<Vec<Option<Vec<u8>>>> {
        let read = |key: &SessionKey| Ok(SESSIONS.get(view, key)?.map(|session| session.sealed));
        self.keys.iter().map(read).collect()
    }
}

/// A session as it is after a message was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSession {
    pub key: SessionKey,
    pub sealed: Vec<u8>,
    /// Stamp of that message.
    pub stamp: Timestamp,
}

/// Stores sessions. Two readers may open the same messages at once: the state after the later message stays.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoreSessions {
    pub sessions: Vec<StoredSession>,
}

impl Operation for StoreSessions {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "store_sessions";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let day = turn.now.day();
        for StoredSession { key, sealed, stamp } in self.sessions {
            if let Some(known) = SESSIONS.get(turn, &key)? {
                if known.stamp > stamp {
                    continue;
                }
                SESSION_DAYS.delete(turn, &(known.day, key.0, key.1));
            }
            SESSIONS.put(turn, &key, &Session { sealed, stamp, day })?;
            SESSION_DAYS.put(turn, &(day, key.0, key.1), &())?;
        }
        if turn.scheduled(TIMER)?.is_none() {
            turn.schedule(TIMER, end_of(day), &DropSessions)?;
        }
        Ok(())
    }
}

/// When sessions whose last message was on this day are forgotten.
fn end_of(day: i64) -> Timestamp {
    Timestamp((day + KEEP_DAYS + 1).saturating_mul(DAY))
}

/// Forgets sessions that have been silent for 30 days.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropSessions;

impl Operation for DropSessions {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "drop_sessions";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let ended = SESSION_DAYS.between(&(), &(turn.now.day() - KEEP_DAYS,));
        for ((day, from, label), ()) in SESSION_DAYS.scan(turn, &ended, Direction::Ascending, BATCH)? {
            SESSION_DAYS.delete(turn, &(day, from, label));
            SESSIONS.delete(turn, &(from, label));
        }
        if let Some(((day, ..), ())) = SESSION_DAYS.first(turn, &SESSION_DAYS.range())? {
            turn.schedule(TIMER, end_of(day).max(turn.now), &DropSessions)?;
        }
        Ok(())
    }
}
