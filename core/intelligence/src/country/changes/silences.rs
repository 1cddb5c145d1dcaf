//! Silences: measurements that were expected and did not come (decision silence-of-measurements). A silence counts only
//! after the world has said that other countries had measurements of its source. Otherwise the source itself fell
//! silent.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::super::noisy;
use super::super::tables::NETWORKS;
use super::tables::{ChangeWork, Days, FAILED, SILENCES, SilenceRow, VOLUME_DAYS, VOLUMES, WORK};
use super::{combine_again, soon};
use crate::world::{self, AskElsewhere, Elsewhere, VolumeDays};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::{Direction, Read};
use engine::time::{HOUR, SECOND};
use facts::change::combine::Silence;
use facts::change::constants::{
    ELSEWHERE_COUNTRIES, ELSEWHERE_REDUCED, PROFILE_DAYS, PROFILE_LAG, SILENCE_DAYS, SILENCE_HOURS, SILENCE_WINDOW,
};
use facts::change::silence::runs;
use facts::change::volume::Volume;
use facts::verdict::national::network_weight;

/// Days of volumes sent to the world in one operation.
const DAYS_AT_ONCE: usize = 40;
/// Changed days after which the search for silences goes on in another piece.
const SPAN_AT_ONCE: u32 = 200;
/// Silences are searched once in so many publish intervals, because a search reads half a year of volumes.
const SEARCH_INTERVALS: i64 = 360;
/// How often a country that was measured lately is checked for a silence.
const LISTEN: i64 = 6 * HOUR;

/// Changes of the numbers of measurements and of failed measurements, by network and hour.
pub type VolumeChanges = [BTreeMap<u32, [i64; 24]>; 2];

/// Adds to the counts of a day and source.
pub fn heard(turn: &mut Turn<'_>, (day, source): (u32, u8), more: &VolumeChanges) -> Result<()> {
    for (table, more) in [&VOLUMES, &FAILED].into_iter().zip(more) {
        if !more.is_empty() {
            let mut volumes = table.get(turn, &(day, source))?.unwrap_or_default();
            more.iter().for_each(|(asn, hours)| volumes.add(*asn, hours));
            // A richer form of a measurement may say that it did not fail.
            volumes.0.retain(|(_, hours)| hours.iter().any(|count| *count > 0));
            match volumes.0.is_empty() {
                true => table.delete(turn, &(day, source)),
                false => table.put(turn, &(day, source), &volumes)?,
            }
        }
    }
    noisy::changed(turn, day)?;
    Ok(VOLUME_DAYS.put(turn, &(day,), &())?)
}

/// A source was removed from a day.
pub fn forget(turn: &mut Turn<'_>, (day, source): (u32, u8)) -> Result<()> {
    VOLUMES.delete(turn, &(day, source));
    FAILED.delete(turn, &(day, source));
    noisy::changed(turn, day)?;
    Ok(VOLUME_DAYS.put(turn, &(day,), &())?)
}

/// Number of measurements of each source up to a time, by the source's code, with the hour of the newest since the
/// epoch.
pub fn heard_until(view: &View<'_>, at: Timestamp) -> Result<BTreeMap<u8, (u64, i64)>> {
    heard_from(view, 0, at)
}

/// Like [`heard_until`], from a day on.
pub fn heard_from(view: &View<'_>, first: u32, at: Timestamp) -> Result<BTreeMap<u8, (u64, i64)>> {
    let last = at.hour();
    let mut found: BTreeMap<u8, (u64, i64)> = BTreeMap::new();
    let days = VOLUMES.between(&(first,), &(u32::try_from(at.day() + 1).unwrap_or(0),));
    VOLUMES.visit(view, days, Direction::Ascending, |(day, source), volumes| {
        for (hour, count) in (i64::from(day) * 24..=last).zip(volumes.sum()).filter(|(_, count)| *count > 0) {
            let sum = found.entry(source).or_default();
            *sum = (sum.0 + u64::from(count), sum.1.max(hour));
        }
        Ok(true)
    })?;
    Ok(found)
}

/// The number of networks that any source measured on a day. Withheld networks do not count.
pub(crate) fn networks_heard(view: &impl Read, day: u32) -> Result<u32> {
    let mut heard = BTreeSet::new();
    VOLUMES.visit(view, VOLUMES.prefix(&(day,)), Direction::Ascending, |_, volumes| {
        let measured = volumes.0.iter().filter(|(asn, hours)| *asn != 0 && hours.iter().any(|count| *count > 0));
        heard.extend(measured.map(|(asn, _)| *asn));
        Ok(true)
    })?;
    Ok(u32::try_from(heard.len()).unwrap_or(u32::MAX))
}

/// The last day, up to a time, on which any source measured a network.
pub fn last_heard(view: &impl Read, asn: u32, until: Timestamp) -> Result<Option<u32>> {
    let mut last = None;
    let days = VOLUMES.between(&(), &(u32::try_from(until.day() + 1).unwrap_or(0),));
    VOLUMES.visit(view, days, Direction::Descending, |(day, _), volumes| {
        let heard = volumes.0.iter().any(|(of, hours)| *of == asn && hours.iter().any(|count| *count > 0));
        last = heard.then_some(day);
        Ok(!heard)
    })?;
    Ok(last)
}

/// Tells the world the changed volumes and searches silences around them. Returns true if nothing is left to do.
pub fn run(turn: &mut Turn<'_>) -> Result<bool> {
    if report(turn)? {
        return Ok(false);
    }
    let work = WORK.get(turn, &())?.unwrap_or_default();
    let today = u32::try_from(turn.now.day()).unwrap_or(0);
    let listens = work.listen.is_some_and(|due| due <= turn.now).then_some(Days { first: today, last: today });
    let Some(days) = join(work.volumes, listens) else { return Ok(true) };
    let wait = SEARCH_INTERVALS * i64::from(turn.settings.publish_interval) * SECOND;
    let due = work.searched.plus(wait);
    // A piece of a longer search goes on at once. A silence that is shown must end when measurements of its
    // days come in.
    if work.searched != turn.now && due > turn.now && !is_contradicted(turn, work.volumes)? {
        WORK.put(turn, &(), &ChangeWork { volumes: Some(days), listen: Some(due), ..work })?;
        return Ok(true);
    }
    let last = days.last.min(days.first.saturating_add(SPAN_AT_ONCE));
    find(turn, Days { first: days.first, last })?;
    let rest = (last < days.last).then_some(Days { first: last.saturating_add(1), last: days.last });
    let newest = VOLUMES.last(turn, &VOLUMES.range())?.map_or(0, |((day, ..), _)| day);
    let lately = i64::from(today) - i64::from(newest) <= SILENCE_DAYS;
    let listen = lately.then(|| turn.now.plus(LISTEN));
    let work = WORK.get(turn, &())?.unwrap_or_default();
    let searched = turn.now;
    WORK.put(turn, &(), &ChangeWork { volumes: rest, listen, searched, ..work })?;
    Ok(rest.is_none())
}

/// Whether measurements came in for days in which a silence goes on.
fn is_contradicted(turn: &Turn<'_>, changed: Option<Days>) -> Result<bool> {
    let Some(days) = changed else { return Ok(false) };
    let rows = SILENCES.scan(turn, &SILENCES.range(), Direction::Ascending, usize::MAX)?;
    Ok(rows.iter().any(|(_, row)| !row.silence.over && row.silence.start.div_euclid(24) <= i64::from(days.last)))
}

fn join(a: Option<Days>, b: Option<Days>) -> Option<Days> {
    [a, b].into_iter().flatten().reduce(|a, b| Days { first: a.first.min(b.first), last: a.last.max(b.last) })
}

/// Sends the sums over all networks for changed days. Returns true if more is waiting.
fn report(turn: &mut Turn<'_>) -> Result<bool> {
    let changed = VOLUME_DAYS.scan(turn, &VOLUME_DAYS.range(), Direction::Ascending, DAYS_AT_ONCE)?;
    let mut days: Vec<(u8, u32, [u32; 24])> = Vec::new();
    for ((day,), ()) in &changed {
        VOLUME_DAYS.delete(turn, &(*day,));
        let mut sums: BTreeMap<u8, [u32; 24]> =
            facts::source::Source::ALL.iter().map(|source| (source.code(), [0; 24])).collect();
        VOLUMES.visit(turn, VOLUMES.prefix(&(*day,)), Direction::Ascending, |(_, source), volumes| {
            sums.insert(source, volumes.sum());
            Ok(true)
        })?;
        days.extend(sums.into_iter().map(|(source, hours)| (source, *day, hours)));
    }
    let (Some(((first,), ())), Some(((last,), ()))) = (changed.first(), changed.last()) else { return Ok(false) };
    let work = WORK.get(turn, &())?.unwrap_or_default();
    let volumes = join(work.volumes, Some(Days { first: *first, last: *last }));
    WORK.put(turn, &(), &ChangeWork { volumes, ..work })?;
    let country = turn.actor().name.clone();
    turn.send(world::actor().name, &VolumeDays { country, days })?;
    Ok(changed.len() == DAYS_AT_ONCE)
}

/// Volumes of some days by source.
fn load(turn: &Turn<'_>, first: i64, last: i64) -> Result<BTreeMap<u8, Vec<Volume>>> {
    let day = |day: i64| u32::try_from(day.max(0)).unwrap_or(0);
    let mut sources: BTreeMap<u8, BTreeMap<u32, Volume>> = BTreeMap::new();
    let first = first.max(0);
    let days = VOLUMES.between(&(day(first),), &(day(last),));
    VOLUMES.visit(turn, days, Direction::Ascending, |(day, source), volumes| {
        let at = usize::try_from(i64::from(day) - first).unwrap_or(0);
        // Measurements with a withheld network belong to no network.
        for (asn, hours) in volumes.0.into_iter().filter(|(asn, _)| *asn != 0) {
            let new = || Volume { asn, first, ..Volume::default() };
            let volume = sources.entry(source).or_default().entry(asn).or_insert_with(new);
            volume.days.resize(at, [0; 24]);
            volume.days.push(hours);
        }
        Ok(true)
    })?;
    let mut out = BTreeMap::new();
    for (source, volumes) in sources {
        let mut weighed = Vec::with_capacity(volumes.len());
        for (asn, volume) in volumes {
            let addresses = NETWORKS.get(turn, &(asn,))?.and_then(|row| row.addresses);
            weighed.push(Volume { weight: network_weight(addresses), ..volume });
        }
        out.insert(source, weighed);
    }
    Ok(out)
}

/// Searches the silences that the volumes of these days may affect.
fn find(turn: &mut Turn<'_>, days: Days) -> Result<()> {
    let window = SILENCE_WINDOW / 24 + 1;
    // These days can end a silence that began up to its greatest length before them. They are also part of the profile
    // of a silence that begins within the length of a profile after them.
    let first = i64::from(days.first) - SILENCE_DAYS - window;
    let last = i64::from(days.last) + PROFILE_DAYS + PROFILE_LAG + window;
    let volumes = load(turn, first - PROFILE_DAYS - PROFILE_LAG - window, last + SILENCE_DAYS + 2)?;
    let known = SILENCES.scan(turn, &SILENCES.range(), Direction::Ascending, usize::MAX)?;
    let sources: BTreeSet<u8> = volumes.keys().copied().chain(known.iter().map(|((source, _), _)| *source)).collect();
    for source in sources {
        let of_source = || known.iter().filter(|((of, _), _)| *of == source);
        let since = of_source().filter(|((_, start), _)| *start < first * 24).map(|(_, row)| row.silence.end).max();
        let lines = volumes.get(&source).map(Vec::as_slice).unwrap_or_default();
        let found = runs(lines, (first * 24, last * 24), since.unwrap_or(0), turn.now.hour());
        let mut gone: BTreeMap<i64, &SilenceRow> = of_source()
            .filter(|((_, start), _)| (first * 24..last * 24).contains(start))
            .map(|((_, start), row)| (*start, row))
            .collect();
        for run in found {
            let silence = Silence {
                start: run.start,
                end: run.end,
                over: run.over,
                seen: run.seen,
                networks: run.networks,
                networks_expected: run.networks_expected,
                weight: run.weight,
                expected: run.expected,
                observed: run.observed,
                sources: BTreeSet::from([source]),
            };
            let before = gone.remove(&silence.start);
            if before.is_none_or(|before| before.silence != silence) {
                keep(turn, source, silence, before.and_then(|before| before.elsewhere))?;
            }
        }
        for start in gone.into_keys() {
            SILENCES.delete(turn, &(source, start));
            ask(turn, source, start, None)?;
            combine_again(turn)?;
        }
    }
    Ok(())
}

fn keep(turn: &mut Turn<'_>, source: u8, silence: Silence, elsewhere: Option<Elsewhere>) -> Result<()> {
    ask(turn, source, silence.start, Some(silence.end))?;
    SILENCES.put(turn, &(source, silence.start), &SilenceRow { silence, elsewhere })?;
    combine_again(turn)
}

/// Asks the world how many measurements of a source other countries had from `start` to `end`. Without `end`, stops
/// asking.
fn ask(turn: &mut Turn<'_>, source: u8, start: i64, end: Option<i64>) -> Result<()> {
    let country = turn.actor().name.clone();
    turn.send(world::actor().name, &AskElsewhere { country, source, start, end })
}

/// The silences that count: other countries had measurements of the source. A silence that goes on is shown as far as
/// they had.
pub fn told(turn: &Turn<'_>) -> Result<Vec<Silence>> {
    let rows = SILENCES.scan(turn, &SILENCES.range(), Direction::Ascending, usize::MAX)?;
    let told = rows.into_iter().filter_map(|(_, row)| {
        let elsewhere = row.elsewhere?;
        let normal = elsewhere.countries >= ELSEWHERE_COUNTRIES
            && f64::from(elsewhere.reduced) <= ELSEWHERE_REDUCED * f64::from(elsewhere.countries);
        let mut silence = row.silence;
        if !silence.over {
            // Time of which nobody has imported measurements yet is no silence.
            silence.end = silence.end.min(elsewhere.newest + 1);
        }
        let shown = silence.end >= silence.seen && silence.end - silence.start >= SILENCE_HOURS;
        (normal && shown).then_some(silence)
    });
    Ok(told.collect())
}

/// The world's answer about a silence.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetElsewhere {
    pub source: u8,
    pub start: i64,
    pub elsewhere: Elsewhere,
}

impl Operation for SetElsewhere {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_elsewhere";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = (self.source, self.start);
        let Some(row) = SILENCES.get(turn, &key)? else { return Ok(()) };
        SILENCES.put(turn, &key, &SilenceRow { elsewhere: Some(self.elsewhere), ..row })?;
        combine_again(turn)?;
        soon(turn)
    }
}
