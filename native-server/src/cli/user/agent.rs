//! `heliograph agent`: registers, sends and listens.

use std::collections::VecDeque;
use std::io::Read;

use heliograph_client::relay::Authentication;
use heliograph_client::{Agent, Draft, Filter, Listener, Message, Registration};
use serde_json::json;

use super::ask::{self, Asked};
use super::output::{Fields, clean, minute};
use crate::cli::args::user::{AgentCommand, Ask};
use crate::cli::exit::Failure;
use crate::log;

/// Most bytes of a message from standard input; the server takes less.
const MAX_TEXT: u64 = 1 << 20;
/// Seconds that the server is asked to wait for a message.
const WAIT: u32 = 25;

pub fn run(command: &AgentCommand) -> Result<(), Failure> {
    match command {
        AgentCommand::Register { name, capability, by_service, ask } => ask::run(ask, |asked| async move {
            let registration = match by_service {
                true => Registration::by_service(),
                false => Registration::default(),
            };
            register(asked, ask, Registration { name: name.clone(), capabilities: capability.clone(), ..registration })
                .await
        }),
        AgentCommand::Send { to, text, thread, reply_to, ttl, sealed, deniable, prekeys, ask } => {
            let text = match text.as_slice() {
                [one] if one == "-" => input()?,
                words => words.join(" "),
            };
            let mut draft = Draft::to(to, &text);
            draft = thread.iter().fold(draft, |draft, id| draft.thread(id));
            draft = reply_to.iter().fold(draft, |draft, id| draft.reply_to(id));
            draft = ttl.iter().fold(draft, |draft, seconds| draft.ttl(*seconds));
            draft = if *sealed { draft.sealed() } else { draft };
            draft = if *deniable { draft.deniable() } else { draft };
            draft = if *prekeys { draft.from_prekeys() } else { draft };
            ask::run(ask, |asked| send(asked, ask, draft))
        }
        AgentCommand::Listen { from, count, keep, ask } => {
            ask::run(ask, |asked| listen(asked, ask, from.as_deref(), *count, *keep))
        }
    }
}

fn input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_TEXT + 1).read_to_string(&mut text);
    read.map_err(|error| format!("cannot read standard input: {error}"))?;
    match text.len() as u64 > MAX_TEXT {
        true => Err(Failure::usage(format!("standard input has more than {MAX_TEXT} bytes"))),
        false => Ok(text),
    }
}

async fn register(mut asked: Asked, ask: &Ask, registration: Registration) -> Result<(), Failure> {
    let store = asked.place().await?;
    let agent = match asked.client.register(store, registration.clone()).await {
        Ok(agent) => agent,
        Err(error) => {
            asked.profile.drop_if_empty();
            return Err(error.into());
        }
    };
    let (did, url) = (agent.did(), asked.client.base().to_owned());
    asked.profile.note(&url, &did)?;
    let held = if agent.holds_keys() { "here" } else { "at the server" };
    let answer = json!({
        "did": did, "name": registration.name, "url": url, "profile": asked.profile.name, "keys": asked.profile.keys()?,
        "own_keys": agent.holds_keys(),
    });
    let fields = vec![
        ("did", did),
        ("name", registration.name.unwrap_or_default()),
        ("url", url),
        ("profile", asked.profile.name.clone()),
        ("keys", asked.profile.keys()?.display().to_string()),
        ("held", held.to_owned()),
    ];
    ask.form.one(&answer, "Registered. Back up the folder of the keys: nobody can make them again.", &fields)
}

async fn send(mut asked: Asked, ask: &Ask, draft: Draft) -> Result<(), Failure> {
    let agent = asked.agent().await?;
    let sent = agent.send(&draft).await?;
    if sent.key_changed {
        log::warning!("the recipient has new keys, which its earlier keys did not sign; make sure who it is");
    }
    let how = if sent.client_side { "end to end" } else { "by the server" };
    let fields = vec![
        ("id", sent.id.clone()),
        ("to", sent.to.clone()),
        ("encrypted", how.to_owned()),
        ("sent", ask.form.time(&sent.timestamp)),
        ("expires", ask.form.time(&sent.expires_at)),
    ];
    ask.form.one(&sent, "", &fields)
}

/// Messages one after the other: as a stream for an agent with keys of its own, else by asking and waiting.
enum Inbox {
    Stream(Box<Listener>),
    Asking { agent: Agent, filter: Filter, ready: VecDeque<Message> },
}

impl Inbox {
    fn of(agent: &Agent, from: Option<&str>) -> Result<Inbox, Failure> {
        if agent.holds_keys() {
            return Ok(Inbox::Stream(Box::new(agent.listen(from, None)?)));
        }
        let filter = Filter { from: from.map(str::to_owned), wait: Some(WAIT), ..Filter::default() };
        Ok(Inbox::Asking { agent: agent.clone(), filter, ready: VecDeque::new() })
    }

    async fn next(&mut self) -> Result<Message, Failure> {
        match self {
            Inbox::Stream(listener) => Ok(listener.next().await?),
            Inbox::Asking { agent, filter, ready } => loop {
                if let Some(message) = ready.pop_front() {
                    return Ok(message);
                }
                ready.extend(agent.receive(filter).await?.messages);
                // What was shown must not come again while it stays unread.
                filter.since = ready.back().map(|message| message.timestamp.clone()).or_else(|| filter.since.take());
            },
        }
    }
}

async fn listen(
    mut asked: Asked,
    ask: &Ask,
    from: Option<&str>,
    count: Option<u64>,
    keep: bool,
) -> Result<(), Failure> {
    let agent = asked.agent().await?;
    let mut inbox = Inbox::of(&agent, from)?;
    if ask.form.is_for_people() && console::user_attended() {
        log::info!("listening as {}; Ctrl-C ends it", agent.did());
    }
    let mut told = 0;
    loop {
        let message = inbox.next().await?;
        let (words, fields) = lines(&message);
        ask.form.next(told == 0, &message, &words, &fields)?;
        // Only what was written and could be opened is read.
        if !keep && message.problem.is_none() {
            agent.mark_read(&[&message.id]).await?;
        }
        told += 1;
        if Some(told) == count {
            return Ok(());
        }
    }
}

fn lines(message: &Message) -> (String, Fields) {
    let shown = match message.authentication {
        Authentication::Signed => "signed",
        Authentication::Deniable => "deniable",
        Authentication::None => "not shown",
    };
    let problem = message.problem.clone().unwrap_or_default();
    let fields = vec![
        ("time", message.timestamp.clone()),
        ("from", message.from.clone()),
        ("id", message.id.clone()),
        ("thread", message.thread_id.clone().unwrap_or_default()),
        ("authentication", shown.to_owned()),
        ("text", message.text.clone()),
        ("problem", problem.clone()),
    ];
    let mut words = format!("{}  {}  {}", minute(&message.timestamp), clean(&message.from), clean(&message.text));
    if !problem.is_empty() {
        words.push_str(&format!("[cannot be opened: {}]", clean(&problem)));
    } else if message.authentication == Authentication::None {
        words.push_str("  [nothing shows who wrote it]");
    }
    (words, fields)
}
