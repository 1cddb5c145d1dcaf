//! Incidents as they were at a moment, by what is known today (decision incidents-of-a-moment).

use super::model::{Incident, Status};
use super::text;
use crate::Timestamp;
use engine::time::DAY;
use facts::sentence::Sentence;
use facts::source::Source;

/// How long something is taken to go on after its source last said so, in microseconds. A table is updated within
/// months, and what machines watch within hours (the second number is our choice).
pub const REPORT_STANDS: i64 = 90 * DAY;
const WATCH_STANDS: i64 = 7 * DAY;

/// Sources that report what goes on anew within hours.
const WATCHES: [Source; 2] = [Source::Ioda, Source::Radar];

/// How long a source is believed after it last said that something goes on.
pub fn stands(source: Source) -> i64 {
    if WATCHES.contains(&source) { WATCH_STANDS } else { REPORT_STANDS }
}

/// An incident as it was at a moment.
pub struct Then {
    /// Its counts and networks are those of the whole incident.
    pub incident: Incident,
    /// The sentence about it. It counts the networks that were affected by then.
    pub summary: Sentence,
}

impl Incident {
    /// The incident as it was at a moment; `None` where it had not begun. One that ended later goes on. An end that was
    /// announced and is still ahead stays.
    pub fn at(&self, at: Timestamp) -> Option<Then> {
        if self.start() > at {
            return None;
        }
        let mut then = Incident { updated: at, ..self.clone() };
        match self.end() {
            Some(end) if end > self.updated && !self.is_end_unknown() => {}
            Some(end) if at <= end => then.go_on(at),
            Some(last) if self.is_end_unknown() => then.believe_until(last.plus(self.stands()), self.updated),
            Some(_) => {}
            None => then.forget_votes_after(at),
        }
        Some(Then { summary: then.sentence_before(at, self), incident: then })
    }

    /// Takes back what was only known of it after a moment at which it went on.
    fn go_on(&mut self, at: Timestamp) {
        self.overrides.end = None;
        self.overrides.status = self.overrides.status.filter(|status| *status != Status::Resolved);
        let draft = &mut self.draft;
        draft.end = None;
        draft.unknown.end = false;
        draft.resolved = None;
        if draft.status == Status::Resolved {
            draft.status = Status::Active;
        }
        self.forget_votes_after(at);
    }

    /// A vote after the moment shows that it went on, but its time says nothing of the moment.
    fn forget_votes_after(&mut self, at: Timestamp) {
        let draft = &mut self.draft;
        if draft.networks.iter().any(|network| network.last.is_some_and(|last| last > at)) {
            draft.networks.iter_mut().for_each(|network| network.last = None);
        }
    }

    /// Nobody named its end. It was taken to go on until its sources had been silent for too long, unless measurements
    /// had shown before that it was over.
    fn believe_until(&mut self, believed: Timestamp, changed: Timestamp) {
        let at = self.updated;
        match self.draft.status {
            Status::Resolved if at < believed && changed >= believed => self.draft.status = Status::Active,
            Status::Active if at >= believed => self.draft.status = Status::Resolved,
            _ => {}
        }
    }

    /// How long its sources are believed after they last spoke of it.
    fn stands(&self) -> i64 {
        let watched = |id: &String| WATCHES.iter().any(|source| source.id() == id);
        let only_watched = !self.draft.sources.is_empty() && self.draft.sources.iter().all(watched);
        if only_watched { WATCH_STANDS } else { REPORT_STANDS }
    }

    /// The sentence about it at a moment. Where the whole incident has votes from later, the networks are not compared
    /// with all that were tested.
    fn sentence_before(&self, at: Timestamp, whole: &Incident) -> Sentence {
        if whole.last_seen().is_none_or(|last| last <= at) {
            return text::sentence(self);
        }
        let mut then = self.clone();
        then.draft.networks.retain(|network| network.first.is_none_or(|first| first <= at));
        then.draft.networks_tested = 0;
        text::sentence(&then)
    }
}
