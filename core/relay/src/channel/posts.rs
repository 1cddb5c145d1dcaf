//! Posts, in the order of their stamps. They are sealed under the channel's key before they come here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::record::{self, take_off};
use crate::agent::mailbox::Local;
use crate::directory::Did;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Range, Row, Table};

/// A post as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPost {
    pub local: Local,
    pub from: Did,
    /// The author's name at the time of the post.
    pub name: Option<String>,
    pub reply_to: Option<String>,
    /// The text, sealed for this id.
    #[serde(with = "engine::kv::bytes")]
    pub sealed: Vec<u8>,
}
impl Row for StoredPost {}

/// Bytes that a post counts beyond its own: stamp, id, author.
const OVERHEAD: u64 = 64;

impl StoredPost {
    fn size(&self) -> u64 {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        (self.sealed.len() + text(&self.name) + text(&self.reply_to)) as u64 + OVERHEAD
    }
}

const POSTS: Table<(Timestamp,), StoredPost> = Table::new(20);

/// Most old posts that are deleted for a new one in one step.
const MAX_DROPPED: usize = 400;

/// Adds a post. When the channel is full, the oldest posts are deleted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Post {
    pub post: StoredPost,
}

impl Operation for Post {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "post";
    /// The post's stamp, later than that of every other post of the channel.
    type Reply = Timestamp;

    fn run(self, turn: &mut Turn<'_>) -> Result<Timestamp> {
        let channel = record::channel(turn)?;
        record::member(turn, &channel, &self.post.from, turn.now)?;
        let mut counts = record::counts(turn)?;
        let stamp = turn.now.max(counts.activity.last.plus(1));
        POSTS.put(turn, &(stamp,), &self.post)?;
        counts.activity.last = stamp;
        counts.activity.posts += 1;
        counts.bytes += self.post.size();
        for _ in 0..MAX_DROPPED {
            let full = counts.activity.posts > u64::from(turn.settings.channel_posts)
                || counts.bytes > turn.settings.channel_bytes;
            if !full || counts.activity.posts <= 1 {
                break;
            }
            let Some((key, oldest)) = POSTS.first(turn, &POSTS.range())? else { break };
            POSTS.delete(turn, &key);
            counts.activity.posts -= 1;
            counts.bytes = counts.bytes.saturating_sub(oldest.size());
        }
        record::put_counts(turn, &channel.about, counts)?;
        Ok(stamp)
    }
}

/// Deletes posts of a channel that has ended; true when there may be more.
pub(super) fn drop_oldest(turn: &mut Turn<'_>, limit: usize) -> Result<bool> {
    Ok(take_off(turn, &POSTS, limit)?.1)
}

/// Posts that are read at a time: a post can have 256 KB.
const CHUNK: usize = 8;
/// Bytes after which a page ends; the first post is taken whatever its size (as in decision mailbox-pages).
const PAGE_BYTES: u64 = 4 * 1024 * 1024;

/// Reads a page of posts for a member.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadPosts {
    pub did: Did,
    /// Only later posts. With it the page begins with the oldest of them, without it the page ends with the newest
    /// post.
    pub since: Option<Timestamp>,
    /// Only earlier posts.
    pub before: Option<Timestamp>,
    pub limit: u32,
}

/// Posts in the order in which they came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostPage {
    /// The channel's key, sealed.
    pub key: Vec<u8>,
    pub posts: Vec<(Timestamp, StoredPost)>,
    /// Whether there are more posts between `since` and `before`.
    pub has_more: bool,
    /// For each author whose registration gave way to another of the same DID: the time until which posts are of that
    /// registration.
    pub displaced: BTreeMap<Did, Timestamp>,
}

impl PostPage {
    /// Whether a post is of a registration that gave way to another of the same DID.
    pub fn is_displaced(&self, stamp: Timestamp, from: &Did) -> bool {
        self.displaced.get(from).is_some_and(|until| stamp <= *until)
    }
}

impl Query for ReadPosts {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "posts";
    type Reply = PostPage;

    fn run(self, view: &View<'_>) -> Result<PostPage> {
        let channel = record::channel(view)?;
        record::member(view, &channel, &self.did, view.now)?;
        let start = self.since.map_or(Timestamp(i64::MIN), |since| since.plus(1));
        let mut range = POSTS.between(&(start,), &(self.before.unwrap_or(Timestamp(i64::MAX)),));
        let direction = if self.since.is_some() { Direction::Ascending } else { Direction::Descending };
        let mut page = PostPage { key: channel.key, posts: Vec::new(), has_more: false, displaced: BTreeMap::new() };
        let mut bytes = 0;
        'all: loop {
            let rows = POSTS.scan(view, &range, direction, CHUNK)?;
            let ended = rows.len() < CHUNK;
            for ((stamp,), post) in rows {
                bytes += post.size();
                let full = page.posts.len() >= self.limit as usize || bytes > PAGE_BYTES;
                if full && !page.posts.is_empty() {
                    page.has_more = true;
                    break 'all;
                }
                range = match direction {
                    Direction::Ascending => Range { start: POSTS.prefix(&(stamp.plus(1),)).start, ..range },
                    Direction::Descending => Range { end: Some(POSTS.prefix(&(stamp,)).start), ..range },
                };
                page.posts.push((stamp, post));
            }
            if ended {
                break;
            }
        }
        if direction == Direction::Descending {
            page.posts.reverse();
        }
        for (_, post) in &page.posts {
            if let Some(until) = record::DISPLACED.get(view, &(post.from,))? {
                page.displaced.insert(post.from, until);
            }
        }
        Ok(page)
    }
}
