//! The list of public channels.
//!
//! It is in an actor of its own, `directory/channels`. Actors of that kind hold names, but this one does not decide
//! about names of agents. So the counts that channels send once a minute, and searches, do not delay registrations.
//! Counts here are at most a minute old (decision counts-in-memory); a channel appears and vanishes at once.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::record::{CHANNEL, COUNTS, ChannelCounts};
use super::{ChannelAbout, ChannelActivity, ChannelId, id_of};
use crate::directory::fold;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Desc, Direction, Read, Row, Table};
use engine::time::MINUTE;

/// The actor that holds the list.
pub const SHARD: &str = "channels";

/// Key of the timer that tells the list of changes.
const TOUCH: &str = "touch";
/// The list hears of a channel's changes at most once per this time, in microseconds.
const INTERVAL: i64 = MINUTE;

/// Tells the list of a change at once, or a minute after the last time.
pub(super) fn changed(turn: &mut Turn<'_>, about: &ChannelAbout, counts: &mut ChannelCounts) -> Result<()> {
    if about.private || turn.scheduled(TOUCH)?.is_some() {
        return Ok(());
    }
    let due = counts.told.plus(INTERVAL);
    if due > turn.now {
        return turn.schedule(TOUCH, due, &Touch);
    }
    counts.told = turn.now;
    tell(turn, about, counts.activity)
}

fn tell(turn: &mut Turn<'_>, about: &ChannelAbout, activity: ChannelActivity) -> Result<()> {
    let list = ListChannel { id: id_of(&turn.actor().name)?, listed: ListedChannel { about: about.clone(), activity } };
    turn.send(SHARD, &list)
}

/// Removes a channel that has ended from the list.
pub(super) fn ended(turn: &mut Turn<'_>, about: &ChannelAbout) -> Result<()> {
    turn.cancel(TOUCH)?;
    if about.private {
        return Ok(());
    }
    let id = id_of(&turn.actor().name)?;
    turn.send(SHARD, &UnlistChannel { id })
}

/// Tells the list of changes when the minute is over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Touch;

impl Operation for Touch {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "touch";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let (Some(channel), Some(mut counts)) = (CHANNEL.get(turn, &())?, COUNTS.get(turn, &())?) else {
            return Ok(());
        };
        counts.told = turn.now;
        COUNTS.put(turn, &(), &counts)?;
        tell(turn, &channel.about, counts.activity)
    }
}

/// A public channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedChannel {
    pub about: ChannelAbout,
    pub activity: ChannelActivity,
}
impl Row for ListedChannel {}

/// The place of a channel in the order.
const PLACES: Table<(ChannelId,), Timestamp> = Table::new(42);
const BY_ACTIVITY: Table<(Desc<Timestamp>, ChannelId), ListedChannel> = Table::new(43);
/// Topics, written by [`fold`].
const BY_TOPIC: Table<(String, Desc<Timestamp>, ChannelId), ()> = Table::new(44);
const BY_NAME: Table<(String, ChannelId), ()> = Table::new(45);

fn remove(turn: &mut Turn<'_>, id: ChannelId) -> Result<()> {
    let Some(last) = PLACES.get(turn, &(id,))? else { return Ok(()) };
    let place = (Desc(last), id);
    if let Some(ListedChannel { about, .. }) = BY_ACTIVITY.get(turn, &place)? {
        BY_NAME.delete(turn, &(about.name, id));
        if let Some(topic) = about.topic {
            BY_TOPIC.delete(turn, &(fold(&topic), Desc(last), id));
        }
    }
    BY_ACTIVITY.delete(turn, &place);
    PLACES.delete(turn, &(id,));
    Ok(())
}

/// Puts a channel on the list, or moves it to its new place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ListChannel {
    pub id: ChannelId,
    pub listed: ListedChannel,
}

impl Operation for ListChannel {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "list_channel";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let (id, last) = (self.id, self.listed.activity.last);
        remove(turn, id)?;
        PLACES.put(turn, &(id,), &last)?;
        BY_NAME.put(turn, &(self.listed.about.name.clone(), id), &())?;
        if let Some(topic) = &self.listed.about.topic {
            BY_TOPIC.put(turn, &(fold(topic), Desc(last), id), &())?;
        }
        Ok(BY_ACTIVITY.put(turn, &(Desc(last), id), &self.listed)?)
    }
}

/// Removes a channel from the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UnlistChannel {
    pub id: ChannelId,
}

impl Operation for UnlistChannel {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "unlist_channel";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        remove(turn, self.id)
    }
}

/// Which channels to find. An absent condition holds for all channels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelFilter {
    /// The exact topic; case does not count.
    pub topic: Option<String>,
    /// A text within name, topic or description; case does not count.
    pub text: Option<String>,
}

impl ChannelFilter {
    /// A filter with both words folded.
    pub fn folded(topic: Option<&str>, text: Option<&str>) -> ChannelFilter {
        ChannelFilter { topic: topic.map(fold), text: text.map(|text| fold(text.trim())) }
    }

    fn has_topic(&self, about: &ChannelAbout) -> bool {
        self.topic.is_none() || self.topic == about.topic.as_deref().map(fold)
    }

    pub fn takes(&self, about: &ChannelAbout) -> bool {
        let within = |part: Option<&str>, text: &str| part.is_some_and(|part| fold(part).contains(text));
        self.has_topic(about)
            && self.text.as_deref().is_none_or(|text| {
                about.name.contains(text)
                    || within(about.topic.as_deref(), text)
                    || within(about.description.as_deref(), text)
            })
    }
}

/// Finds channels, the most recently active first. With a text, channels with exactly that name come first, then those
/// whose name begins with it, then those that contain it anywhere, among the [`MAX_LOOKED`] most recently active ones.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindChannels {
    pub wanted: ChannelFilter,
    pub limit: u32,
}

/// Most channels that are searched for a text, besides names that begin with it.
const MAX_LOOKED: usize = 2_000;
/// Most names beginning with the text that are sorted.
const MAX_NAMES: usize = 200;

impl Query for FindChannels {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "find_channels";
    type Reply = Vec<(ChannelId, ListedChannel)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let limit = self.limit as usize;
        match (&self.wanted.text, &self.wanted.topic) {
            (None, None) => {
                let rows = BY_ACTIVITY.scan(view, &BY_ACTIVITY.range(), Direction::Ascending, limit)?;
                Ok(rows.into_iter().map(|((_, id), listed)| (id, listed)).collect())
            }
            (None, Some(topic)) => {
                let mut found = Vec::new();
                let range = BY_TOPIC.prefix(&(topic.clone(),));
                for ((_, last, id), ()) in BY_TOPIC.scan(view, &range, Direction::Ascending, limit)? {
                    found.extend(BY_ACTIVITY.get(view, &(last, id))?.map(|listed| (id, listed)));
                }
                Ok(found)
            }
            (Some(text), _) => self.search(view, text, limit),
        }
    }
}

impl FindChannels {
    fn search(&self, view: &View<'_>, text: &str, limit: usize) -> Result<Vec<(ChannelId, ListedChannel)>> {
        let mut found = named(view, text)?;
        found.retain(|(_, listed)| self.wanted.has_topic(&listed.about));
        found.sort_by_key(|(_, listed)| (listed.about.name != text, Reverse(listed.activity.last)));
        found.truncate(limit);
        let mut looked = 0;
        if found.len() < limit {
            BY_ACTIVITY.visit(view, BY_ACTIVITY.range(), Direction::Ascending, |(_, id), listed| {
                looked += 1;
                if self.wanted.takes(&listed.about) && found.iter().all(|(known, _)| *known != id) {
                    found.push((id, listed));
                }
                Ok(found.len() < limit && looked < MAX_LOOKED)
            })?;
        }
        Ok(found)
    }
}

/// Channels whose name begins with a text.
fn named(view: &(impl Read + ?Sized), text: &str) -> Result<Vec<(ChannelId, ListedChannel)>> {
    let mut from = BY_NAME.range();
    from.start = BY_NAME.prefix(&(text.to_owned(),)).start;
    let mut found = Vec::new();
    for ((name, id), ()) in BY_NAME.scan(view, &from, Direction::Ascending, MAX_NAMES)? {
        if !name.starts_with(text) {
            break;
        }
        if let Some(last) = PLACES.get(view, &(id,))? {
            found.extend(BY_ACTIVITY.get(view, &(Desc(last), id))?.map(|listed| (id, listed)));
        }
    }
    Ok(found)
}
