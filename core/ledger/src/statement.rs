//! Statements: every change of a wallet's money, with the balances after it (decision ledger-for-clients).

use serde::{Deserialize, Serialize};

use super::batch::{ShownBatch, item_id};
use super::book::name_of;
use super::log::{Event, What, event};
use super::pay;
use super::reads::NamePage;
use super::rows::{ESCROWS, Entry, Id, Micro, Name, Space, id};
use super::segment::open::LogQuery;
use crate::{Error, Result, Timestamp};
use engine::actor::View;

/// One change of a wallet's money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub at: Timestamp,
    /// Place of its event in the log; transfers of a batch share one.
    pub seq: u64,
    pub what: What,
    /// The transfer or escrow, if it is about one.
    pub id: Option<Id>,
    /// The name on the other side.
    pub other: Option<Name>,
    /// The actor of the event; see [`Event::actor`].
    pub actor: String,
    /// Changes, in micro-credits.
    pub balance: i64,
    pub locked: i64,
    pub balance_after: Micro,
    pub locked_after: Micro,
    /// Memo, or the reason that was given for the end of an escrow.
    pub text: Option<String>,
}

/// Reads the changes of a wallet, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadStatement {
    pub name: Name,
    /// Only older lines.
    pub before: Option<Timestamp>,
    pub limit: u32,
    /// With the memos of batches, which takes reading all signed bytes.
    pub texts: bool,
}

impl LogQuery for ReadStatement {
    const NAME: &'static str = "statement";
    /// Lines, and where the next page begins.
    type Reply = (Vec<Line>, Option<Timestamp>);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let list = NamePage { name: self.name, before: self.before, limit: self.limit as usize };
        let money = |what: What| what != What::TransferFailed;
        list.page(view, money, |at, entry| match entry.what {
            What::Batch => {
                let found = event(view, &entry.id)?.ok_or_else(|| Error::internal("a batch is missing"))?;
                let batch = ShownBatch::new(view, &view.settings.brand, entry.id, &found, self.texts)?;
                Ok((of_batch(&list, entry, &batch)?, batch.read))
            }
            _ => Ok((vec![(at, of_entry(view, &list.name, at, entry)?)], 0)),
        })
    }
}

/// A line for each transfer of a batch that the wallet sent or received.
fn of_batch(list: &NamePage, entry: &Entry, batch: &ShownBatch<'_>) -> Result<Vec<(Timestamp, Line)>> {
    let mut lines = Vec::new();
    for part in batch.parts(&list.name)? {
        if list.before.is_some_and(|before| part.at >= before) {
            continue;
        }
        let sender = &batch.event.actor;
        let sent = *sender == list.name;
        let amount = i64::try_from(part.amount).map_err(Error::internal)?;
        let line = Line {
            at: part.at,
            seq: entry.seq,
            what: What::Batch,
            id: Some(item_id(&batch.id, part.index)),
            other: Some(if sent { part.to.to_owned() } else { sender.clone() }),
            actor: sender.clone(),
            balance: if sent { -amount } else { amount },
            locked: 0,
            balance_after: if sent { part.sender } else { part.recipient },
            // A batch sets nothing aside.
            locked_after: entry.locked_after,
            text: batch.memo(part.index),
        };
        lines.push((part.at, line));
    }
    Ok(lines)
}

fn of_entry(view: &View<'_>, name: &str, at: Timestamp, entry: &Entry) -> Result<Line> {
    let line = Line {
        at,
        seq: entry.seq,
        what: entry.what,
        id: Some(entry.id),
        other: None,
        actor: name.to_owned(),
        balance: entry.balance,
        locked: entry.locked,
        balance_after: entry.balance_after,
        locked_after: entry.locked_after,
        text: None,
    };
    match entry.what {
        What::Transfer => of_transfer(view, name, line, &found(view, &entry.id)?),
        What::EscrowOpen | What::Hire | What::EscrowRelease | What::EscrowRefund | What::EscrowExpire => {
            let escrow = ESCROWS.get(view, &(entry.id,))?.ok_or_else(|| Error::internal("an escrow is missing"))?;
            let ends = !matches!(entry.what, What::EscrowOpen | What::Hire);
            let closed = escrow.closed.as_ref().filter(|_| ends).map(|closed| closed.actor.clone());
            let other = if escrow.from == name { &escrow.to } else { &escrow.from };
            Ok(Line {
                other: Some(other.clone()),
                actor: closed.unwrap_or_else(|| escrow.from.clone()),
                text: if ends { escrow.reason.clone() } else { escrow.memo.clone() },
                ..line
            })
        }
        _ => {
            let event = found(view, &id(Space::Event, "", &entry.seq.to_string()))?;
            Ok(Line { id: None, actor: event.actor, ..line })
        }
    }
}

fn found(view: &View<'_>, id: &Id) -> Result<Event> {
    event(view, id)?.ok_or_else(|| Error::internal("an event of a wallet is missing"))
}

fn of_transfer(view: &View<'_>, name: &str, line: Line, event: &Event) -> Result<Line> {
    let payment = pay::payment(&view.settings.brand, event)?;
    let to = name_of(&view.settings.brand, &payment.to).map(str::to_owned);
    let other = if event.actor == name { to } else { Some(event.actor.clone()) };
    Ok(Line { other, actor: event.actor.clone(), text: payment.memo, ..line })
}
