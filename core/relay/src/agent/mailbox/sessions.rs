//! Sealed sessions with senders that keep their own keys, stored for an agent whose keys the server holds
//! (decision server-side-sessions). The handler seals the rows, so no operation sees a key.

use serde::{Deserialize, Serialize};

use super::Body;
use crate::agent::moderation;
use crate::directory::Did;
use crate::{Result, Timestamp};
use crypto::envelope::Envelope;
use crypto::session::{Opening, SessionLabel};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Row, Table};
use engine::time::DAY;

/// Days without a message after which a session is forgotten.
const KEEP_DAYS: i64 = 30;
/// Most beginnings kept for one sender, and most sessions of which messages were opened; the oldest is deleted first.
/// They outlive their messages, so the quota does not bound them. A client has one sending session with a peer at a
/// time.
const KEPT: usize = 32;
/// Sessions dropped in one run.
const BATCH: usize = 200;
const TIMER: &str = "sessions";

/// Names a session: the sender, and its ephemeral key, or zeros when the session has none.
pub type SessionKey = (Did, [u8; 32]);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::agent) struct Session {
    pub sealed: Vec<u8>,
    /// Stamp of the message whose opening led to this state.
    stamp: Timestamp,
    /// Day of the last opening.
    day: i64,
}
impl Row for Session {}

/// The beginning of a hybrid session, kept until the session has a row of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Beginning {
    pq_ciphertext: Vec<u8>,
    sender_encryption: [u8; 32],
    /// Stamp of the message that began the session.
    at: Timestamp,
}
impl Row for Beginning {}

impl Beginning {
    fn day(&self) -> i64 {
        self.at.day()
    }
}

pub(in crate::agent) const SESSIONS: Table<SessionKey, Session> = Table::new(41);
const SESSION_DAYS: Table<(i64, Did, [u8; 32]), ()> = Table::new(42);
const BEGINNINGS: Table<SessionKey, Beginning> = Table::new(43);

/// The key of a session's row. Zeros are free for sessions without an ephemeral key: no ephemeral key is all zeros,
/// which is a point of small order.
pub fn key(from: Did, label: SessionLabel) -> SessionKey {
    match label {
        SessionLabel::Ephemeral(ephemeral) => (from, ephemeral),
        SessionLabel::None => (from, [0; 32]),
    }
}

/// Keeps the beginning of a session, from a message for an agent whose keys the server holds. The message itself may be
/// gone, or left unread, when a later message of its session is opened.
pub(super) fn begin(turn: &mut Turn<'_>, from: Did, at: Timestamp, body: &Body) -> Result<()> {
    let Some(text) = &body.envelope else { return Ok(()) };
    let Some((label, opening)) = Opening::of(&Envelope::parse(text), body.sender_encryption) else { return Ok(()) };
    let key = key(from, label);
    if let Some(known) = BEGINNINGS.get(turn, &key)? {
        forget_day(turn, &key, known.day())?;
    } else {
        let all = BEGINNINGS.scan(turn, &BEGINNINGS.prefix(&(from,)), Direction::Ascending, KEPT)?;
        if all.len() == KEPT
            && let Some((oldest, known)) = all.into_iter().min_by_key(|(_, known)| known.at)
        {
            forget_day(turn, &oldest, known.day())?;
            BEGINNINGS.delete(turn, &oldest);
        }
    }
    let Opening { pq_ciphertext, sender_encryption } = opening;
    BEGINNINGS.put(turn, &key, &Beginning { pq_ciphertext, sender_encryption, at })?;
    SESSION_DAYS.put(turn, &(at.day(), key.0, key.1), &())?;
    schedule(turn, at.day())
}

/// Removes a day from the calendar unless a row of the same session needs it. Call this before that row changes.
fn forget_day(turn: &mut Turn<'_>, key: &SessionKey, day: i64) -> Result<()> {
    let session = SESSIONS.get(turn, key)?.map(|session| session.day);
    let beginning = BEGINNINGS.get(turn, key)?.map(|beginning| beginning.day());
    if session == Some(day) && beginning == Some(day) {
        return Ok(());
    }
    SESSION_DAYS.delete(turn, &(day, key.0, key.1));
    Ok(())
}

fn schedule(turn: &mut Turn<'_>, day: i64) -> Result<()> {
    if turn.scheduled(TIMER)?.is_none() {
        turn.schedule(TIMER, end_of(day), &DropSessions)?;
    }
    Ok(())
}

/// What is stored about a session: its sealed row, and its beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownSession {
    pub sealed: Option<Vec<u8>>,
    /// ML-KEM ciphertext and the sender's encryption key.
    pub beginning: Option<(Vec<u8>, [u8; 32])>,
}

/// Reads the stored sessions of these keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadSessions {
    pub keys: Vec<SessionKey>,
}

impl Query for ReadSessions {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "sessions";
    type Reply = Vec<KnownSession>;

    fn run(self, view: &View<'_>) -> Result<Vec<KnownSession>> {
        let read = |key: &SessionKey| {
            let beginning = BEGINNINGS.get(view, key)?.map(|known| (known.pq_ciphertext, known.sender_encryption));
            Ok(KnownSession { sealed: SESSIONS.get(view, key)?.map(|session| session.sealed), beginning })
        };
        self.keys.iter().map(read).collect()
    }
}

/// The state of a session after a message was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSession {
    pub key: SessionKey,
    pub sealed: Vec<u8>,
    /// Stamp of the message that was opened.
    pub stamp: Timestamp,
}

/// Stores sessions. Two readers may open the same messages at the same time: the state after the later message stays.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoreSessions {
    pub sessions: Vec<StoredSession>,
}

impl Operation for StoreSessions {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "store_sessions";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        // The agent may have been erased meanwhile, and nothing of it may come back.
        if moderation::is_erased(turn)? {
            return Ok(());
        }
        let day = turn.now.day();
        for StoredSession { key, sealed, stamp } in self.sessions {
            if let Some(known) = SESSIONS.get(turn, &key)? {
                if known.stamp > stamp {
                    continue;
                }
                forget_day(turn, &key, known.day)?;
            } else if !make_room(turn, key.0, stamp)? {
                continue;
            }
            // The row contains what the beginning tells. Without an ephemeral key the row may be of an earlier session.
            if key.1 != [0; 32]
                && let Some(known) = BEGINNINGS.get(turn, &key)?
            {
                forget_day(turn, &key, known.day())?;
                BEGINNINGS.delete(turn, &key);
            }
            SESSIONS.put(turn, &key, &Session { sealed, stamp, day })?;
            SESSION_DAYS.put(turn, &(day, key.0, key.1), &())?;
        }
        schedule(turn, day)
    }
}

/// Makes room for one more session of a sender, whose last message has this stamp. False when all kept sessions are
/// later.
fn make_room(turn: &mut Turn<'_>, from: Did, stamp: Timestamp) -> Result<bool> {
    let all = SESSIONS.scan(turn, &SESSIONS.prefix(&(from,)), Direction::Ascending, KEPT)?;
    if all.len() < KEPT {
        return Ok(true);
    }
    let Some((oldest, known)) = all.into_iter().min_by_key(|(_, known)| known.stamp) else { return Ok(true) };
    if known.stamp > stamp {
        return Ok(false);
    }
    forget_day(turn, &oldest, known.day)?;
    SESSIONS.delete(turn, &oldest);
    Ok(true)
}

/// When sessions last opened on this day, and beginnings from this day, are forgotten.
fn end_of(day: i64) -> Timestamp {
    Timestamp((day + KEEP_DAYS + 1).saturating_mul(DAY))
}

/// Forgets sessions of which no message was opened for 30 days, and beginnings that are as old.
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
            let key = (from, label);
            if SESSIONS.get(turn, &key)?.is_some_and(|session| session.day == day) {
                SESSIONS.delete(turn, &key);
            }
            if BEGINNINGS.get(turn, &key)?.is_some_and(|beginning| beginning.day() == day) {
                BEGINNINGS.delete(turn, &key);
            }
        }
        if let Some(((day, ..), ())) = SESSION_DAYS.first(turn, &SESSION_DAYS.range())? {
            turn.schedule(TIMER, end_of(day).max(turn.now), &DropSessions)?;
        }
        Ok(())
    }
}
