//! The list of all actors of a deployment, for what must visit each: `dump` (decision dump-and-load).
//!
//! Where actors are objects of a platform, nothing else could list them. Each tells the actor `deployment/roster` of
//! itself, by effect, with the first row of its own. The actors of kind `deployment` are known without.

use serde::{Deserialize, Serialize};

use crate::actor::{ActorId, Entry, Kind, Operation, Query, Turn, View, operation, query};
use crate::kv::{Direction, Table};
use crate::{Result, deployment};

/// The name of the actor that holds the list.
pub const NAME: &str = "roster";

/// Kind and name.
const ACTORS: Table<(String, String), ()> = Table::new(18);

pub const ENTRIES: &[Entry] = &[operation::<Enrol>(), query::<Listed>()];

/// Has the actor of this turn listed.
pub(crate) fn enrol(turn: &mut Turn<'_>) -> Result<()> {
    let actor = turn.actor().clone();
    if actor.kind == Kind::Deployment {
        return Ok(());
    }
    turn.send(NAME, &Enrol { actors: vec![actor] })
}

/// Lists actors. Those that are listed stay so.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Enrol {
    pub actors: Vec<ActorId>,
}

impl Operation for Enrol {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "enrol";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for actor in self.actors.into_iter().filter(|actor| actor.kind != Kind::Deployment) {
            ACTORS.put(turn, &(actor.kind.as_str().to_owned(), actor.name), &())?;
        }
        Ok(())
    }
}

/// Actors in an order of their own, those of the deployment itself first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Listed {
    pub after: Option<ActorId>,
    pub limit: u32,
}

impl Query for Listed {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "listed";
    type Reply = Vec<ActorId>;

    fn run(self, view: &View<'_>) -> Result<Vec<ActorId>> {
        let first = [deployment::actor(), ActorId::new(Kind::Deployment, NAME)];
        let mut range = ACTORS.range();
        let mut found = Vec::new();
        match &self.after {
            Some(after) if after.kind == Kind::Deployment => {
                found.extend(first.into_iter().skip_while(|actor| actor != after).skip(1));
            }
            Some(after) => {
                let after = ACTORS.prefix(&(after.kind.as_str().to_owned(), after.name.clone()));
                range.start = after.end.unwrap_or_default();
            }
            None => found.extend(first),
        }
        for ((kind, name), ()) in ACTORS.scan(view, &range, Direction::Ascending, self.limit as usize)? {
            found.extend(Kind::parse(&kind).map(|kind| ActorId::new(kind, name)));
        }
        found.truncate(self.limit as usize);
        Ok(found)
    }
}
