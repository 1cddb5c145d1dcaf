//! Messages as a stream that survives breaks of the connection.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::agent::Agent;
use super::answers::RawMessage;
use super::receive::{Filter, Message};
use crate::http::call::back_off;
use crate::http::{Method, Response, sse};
use crate::{Error, Result, platform};

/// The longest silence. The service ends each stream earlier, so a longer one means that the connection is dead.
const SILENCE: Duration = Duration::from_secs(75);
/// The wait after a stream that the service ended.
const PAUSE: Duration = Duration::from_millis(100);
/// Ids that are remembered, so that no message is given twice.
const REMEMBERED: usize = 2_048;

/// A stream of the messages of an agent, oldest first: unread ones, then new ones as they come.
///
/// It connects again by itself, from the last event that it saw: no message is left out, and none comes twice. A message
/// stays unread until [`Agent::mark_read`], and comes again to the next listener until then.
#[derive(Debug)]
pub struct Listener {
    agent: Agent,
    from: Option<String>,
    since: Option<String>,
    open: Option<Open>,
    last_event: Option<String>,
    ready: VecDeque<RawMessage>,
    seen: BTreeSet<String>,
    order: VecDeque<String>,
    failures: u32,
}

#[derive(Debug)]
struct Open {
    answer: Response,
    parser: sse::Parser,
}

impl Agent {
    /// Listens for messages, of one sender or of all, optionally only those after a time.
    ///
    /// Errors: [`Error::Usage`] if the service holds the keys; [`Agent::receive`] with `wait` is for those agents.
    pub fn listen(&self, from: Option<&str>, since: Option<&str>) -> Result<Listener> {
        self.keys()?;
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Ok(Listener {
            agent: self.clone(),
            from: owned(from),
            since: owned(since),
            open: None,
            last_event: None,
            ready: VecDeque::new(),
            seen: BTreeSet::new(),
            order: VecDeque::new(),
            failures: 0,
        })
    }

    /// Waits for one message that fits, for at most `limit`. It stays unread. `None` if none came.
    pub async fn next_message(&self, filter: &Filter, limit: Duration) -> Result<Option<Message>> {
        let one = async {
            loop {
                let filter = Filter { wait: filter.wait.or(Some(25)), limit: Some(1), ..filter.clone() };
                if let Some(message) = self.receive(&filter).await?.messages.into_iter().next() {
                    return Ok(message);
                }
            }
        };
        platform::within(limit, one).await.transpose()
    }
}

impl Listener {
    /// The next message. Waits for it as long as it takes, over any number of connections.
    ///
    /// Errors: a refusal that no waiting mends, such as an API key that has ended; or the store of the agent. The
    /// message that could not be stored comes again.
    pub async fn next(&mut self) -> Result<Message> {
        loop {
            if let Some(raw) = self.ready.front().cloned() {
                let message = self.agent.open_message(raw).await?;
                self.ready.pop_front();
                return Ok(message);
            }
            match self.read().await {
                Ok(true) => self.failures = 0,
                Ok(false) => {
                    self.open = None;
                    platform::pause(PAUSE).await;
                }
                Err(error) => {
                    self.open = None;
                    if is_final(&error) {
                        return Err(error);
                    }
                    self.failures = self.failures.saturating_add(1);
                    platform::pause(wait_after(&error, self.failures)?).await;
                }
            }
        }
    }

    /// Reads one piece of the stream, which is opened if it is not; `false` at its end.
    async fn read(&mut self) -> Result<bool> {
        if self.open.is_none() {
            let call = self.agent.call(Method::Get, &["receive", "sse"]).accept("text/event-stream");
            let call = call.query("from", self.from.as_deref());
            let call = match &self.last_event {
                Some(id) => call.header("last-event-id", id.clone()),
                None => call.query("since", self.since.as_deref()),
            };
            self.open = Some(Open { answer: call.open().await?, parser: sse::Parser::default() });
        }
        let Some(open) = &mut self.open else { return Ok(false) };
        let piece = platform::within(SILENCE, open.answer.body.piece()).await.ok_or(Error::TimedOut(SILENCE))??;
        let Some(piece) = piece else { return Ok(false) };
        let events = open.parser.feed(&piece).ok_or_else(|| Error::Answer("an event is too long".to_owned()))?;
        for event in events {
            match event.name.as_str() {
                "message" => {
                    let raw: RawMessage =
                        serde_json::from_str(&event.data).map_err(|error| Error::Answer(error.to_string()))?;
                    self.last_event = event.id.or_else(|| Some(raw.timestamp.clone()));
                    if self.is_new(&raw.id) {
                        self.ready.push_back(raw);
                    }
                }
                "reconnect" => return Ok(false),
                _ => {}
            }
        }
        Ok(true)
    }

    fn is_new(&mut self, id: &str) -> bool {
        if !self.seen.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
    }
}

/// Whether the same request would be refused again.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Refused(refusal) => refusal.status < 500 && refusal.status != 429,
        Error::Unreachable(_) | Error::TimedOut(_) | Error::Answer(_) => false,
        _ => true,
    }
}

fn wait_after(error: &Error, failures: u32) -> Result<Duration> {
    match error {
        Error::Refused(refusal) if refusal.retry_after.is_some() => Ok(refusal.retry_after.unwrap_or_default()),
        _ => back_off(failures),
    }
}
