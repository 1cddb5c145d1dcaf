//! A country as a whole: the inputs of the index, the country page and the listings.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::answer::{self, State};
use super::changes;
use super::distinct::Distinct;
use super::evidence::Surroundings;
use super::refresh::target_summary;
use super::tables::{CATALOGUE, NETWORKS, SOURCES, SUMMARY, TARGETS, VERDICTS, VerdictRow};
use crate::world::index::{self, Inputs};
use crate::world::{CountrySummary, SourceSummary, TargetSummary, block_rate};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::{Direction, Read};
use engine::number::round;
use engine::time::{DAY, HOUR};
use facts::licence;
use facts::source::Source;
use facts::subject::{Subject, is_role};
use facts::tracked::Tracked;
use facts::verdict::window::Ageing;

/// The latest verdict of every target.
pub fn latest(view: &View<'_>) -> Result<Vec<TargetSummary>> {
    Ok(verdict_rows(view)?.into_iter().map(|(target, row)| row.summary.named(target)).collect())
}

/// The row of every target's latest verdict.
pub(super) fn verdict_rows(view: &View<'_>) -> Result<Vec<(String, VerdictRow)>> {
    let mut rows = Vec::new();
    VERDICTS.visit(view, VERDICTS.range(), Direction::Ascending, |(target,), row| {
        rows.push((target, row));
        Ok(true)
    })?;
    Ok(rows)
}

/// The verdict of every target at a time.
pub fn at(view: &View<'_>, at: Timestamp) -> Result<Vec<TargetSummary>> {
    let surroundings = Surroundings::at(view, at)?;
    let today = u32::try_from(at.day()).unwrap_or(0);
    let mut targets = Vec::new();
    TARGETS.visit(view, TARGETS.range(), Direction::Ascending, |(target,), row| {
        if row.first_day <= today {
            targets.push(target);
        }
        Ok(true)
    })?;
    let judge =
        |target: String| Ok(target_summary(answer::detect(view, &Subject::series(&target), &surroundings, false)?));
    targets.into_iter().map(judge).collect()
}

/// The summary of this country, made from the verdicts on its targets.
pub fn country(view: &View<'_>, rows: &[TargetSummary], at: Timestamp) -> Result<CountrySummary> {
    let catalogue = CATALOGUE.get(view, &())?.unwrap_or_default();
    let mut networks = BTreeSet::new();
    let (mut week, mut recent) = (0u64, 0u64);
    for row in rows {
        week += u64::from(row.of_week);
        recent += u64::from(row.counted);
        networks.extend(row.networks.iter().map(|network| network.asn));
    }
    let blocks: Vec<&TargetSummary> = rows.iter().filter(|row| row.is_measured_block()).collect();
    let domains = || rows.iter().filter(|row| !is_role(&row.target));
    let blocked: Vec<String> = domains().filter(|row| row.is_measured_block()).map(|row| row.target.clone()).collect();
    let inputs = Inputs {
        rows: domains().filter(|row| row.basis == "measured").collect(),
        global: &catalogue.global,
        political: &catalogue.political,
        networks: u32::try_from(networks.len()).unwrap_or(u32::MAX),
        shutdown_load: super::shutdowns::load(view, at)?,
    };
    let sources = sources(view, at)?;
    Ok(CountrySummary {
        country: view.actor().name.clone(),
        at,
        week,
        recent,
        total: sources.iter().map(|source| source.measurements).sum(),
        networks: inputs.networks,
        domains: count(domains().filter(|row| row.evidence > 0).count()),
        domains_blocked: count(blocked.len()),
        domains_accessible: count(domains().filter(|row| row.is_decided() && row.state == State::Accessible).count()),
        decided: count(rows.iter().filter(|row| row.is_decided()).count()),
        anomaly_rate: block_rate(rows.iter().flat_map(|row| &row.networks)).map_or(0.0, round),
        confirmed_rate: confirmed_rate(rows),
        blocked,
        services: services(&blocks, &catalogue.platforms),
        methods: methods(&blocks),
        // When all measurements are too old, no verdict counts any; the time of the newest is still known (decision
        // answers-about-a-time).
        newest: rows
            .iter()
            .filter(|row| row.basis == "measured" || row.evidence > 0)
            .map(|row| row.last_checked)
            .max()
            .or_else(|| sources.iter().filter(|source| source.rows > 0).map(|source| source.last_seen).max()),
        index: index::compute(&inputs),
        sources,
    })
}

/// How much each source measured.
fn sources(view: &View<'_>, at: Timestamp) -> Result<Vec<SourceSummary>> {
    // About the past, count only what was measured by then, because a source may have gone on since.
    let past = (at < view.now).then(|| changes::heard_until(view, at)).transpose()?;
    let mut sources = Vec::new();
    for ((code,), mut row) in SOURCES.scan(view, &SOURCES.range(), Direction::Ascending, 64)? {
        let Some(source) = Source::from_code(code) else { continue };
        if let Some(past) = &past {
            let Some((measurements, hour)) = past.get(&code) else { continue };
            (row.measurements, row.rows, row.last_hour) = (*measurements, *measurements, *hour);
        }
        sources.push(SourceSummary {
            source: source.id().to_owned(),
            licence: source.licence_under(view.settings).to_owned(),
            measurements: row.measurements,
            rows: row.rows,
            last_seen: Timestamp(row.last_hour.saturating_mul(HOUR)),
        });
    }
    Ok(sources)
}

/// The methods of all blocks, each once, in the order of the blocks.
fn methods(blocks: &[&TargetSummary]) -> Vec<String> {
    let mut methods: Vec<String> = Vec::new();
    for method in blocks.iter().flat_map(|row| &row.methods) {
        if !methods.contains(method) {
            methods.push(method.clone());
        }
    }
    methods
}

/// Share of the decided targets whose block shows a forged answer, page or certificate.
fn confirmed_rate(rows: &[TargetSummary]) -> f64 {
    const FORGED: [&str; 4] = ["blockpage", "http-451", "dns-poison", "tls-cert-invalid"];
    let decided = rows.iter().filter(|row| row.is_decided()).count();
    let forged = |row: &&TargetSummary| row.methods.iter().any(|method| FORGED.contains(&method.as_str()));
    let confirmed = rows.iter().filter(|row| row.is_measured_block()).filter(forged).count();
    if decided == 0 { 0.0 } else { round(confirmed as f64 / decided as f64) }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The first measured day of each network; with `at`, only networks that were measured by then.
pub(crate) fn first_days(view: &impl Read, at: Option<Timestamp>) -> Result<BTreeMap<u32, u32>> {
    let last = at.map_or(u32::MAX, |at| u32::try_from(at.day()).unwrap_or(0));
    let rows = NETWORKS.scan(view, &NETWORKS.range(), Direction::Ascending, usize::MAX)?;
    let first = |firsts: BTreeMap<u8, u32>| firsts.into_values().min().filter(|day| *day <= last);
    Ok(rows.into_iter().filter_map(|((asn,), row)| Some((asn, first(row.firsts)?))).collect())
}

/// The platforms of target lists, as the reference actor last sent them.
pub(crate) fn listed(view: &impl Read) -> Result<Vec<Tracked>> {
    Ok(CATALOGUE.get(view, &())?.unwrap_or_default().platforms)
}

/// Slugs of the platforms with a blocked essential role.
fn services(blocks: &[&TargetSummary], listed: &[Tracked]) -> Vec<String> {
    let mut slugs: Vec<String> = Vec::new();
    for platform in Tracked::own().iter().chain(listed) {
        if platform.roles.iter().any(|role| role.essential && blocks.iter().any(|row| row.target == role.key)) {
            slugs.push(platform.slug.clone());
        }
    }
    slugs
}

/// Asks for the summary at a time, or the stored one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadSummary {
    pub at: Option<Timestamp>,
}

impl Query for ReadSummary {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "summary";
    type Reply = CountrySummary;

    fn computes(&self) -> bool {
        self.at.is_some()
    }

    fn run(self, view: &View<'_>) -> Result<CountrySummary> {
        summary(view, self.at)
    }
}

pub fn summary(view: &View<'_>, at: Option<Timestamp>) -> Result<CountrySummary> {
    match at {
        Some(at) => country(view, &self::at(view, at)?, at),
        None => match SUMMARY.get(view, &())? {
            Some(summary) => Ok(summary),
            None => country(view, &latest(view)?, view.now),
        },
    }
}

/// The verdicts on all targets and the summary made of them, at a time or the latest.
pub(crate) fn verdicts_and_summary(
    view: &View<'_>,
    at: Option<Timestamp>,
) -> Result<(Vec<TargetSummary>, CountrySummary)> {
    let rows = match at {
        Some(at) => self::at(view, at)?,
        None => latest(view)?,
    };
    let summary = country(view, &rows, at.unwrap_or(view.now))?;
    Ok((rows, summary))
}

/// Asks for the verdicts on all targets, at a time or the latest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Verdicts {
    pub at: Option<Timestamp>,
}

impl Query for Verdicts {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "verdicts";
    type Reply = Vec<TargetSummary>;

    fn computes(&self) -> bool {
        self.at.is_some()
    }

    fn run(self, view: &View<'_>) -> Result<Vec<TargetSummary>> {
        match self.at {
            Some(at) => self::at(view, at),
            None => latest(view),
        }
    }
}

/// One day of a subject's history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryDay {
    pub day: u32,
    pub measurements: u32,
    pub blocked: u32,
    /// Measurements that say blocked or clear.
    pub votes: u32,
    pub status: State,
}

/// Asks for the days on which a subject was measured, oldest first: at most the last `days` days before `at` or now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadMeasuredDays {
    pub subject: Subject,
    pub days: u32,
    pub at: Option<Timestamp>,
}

impl Query for ReadMeasuredDays {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "history";
    type Reply = Vec<HistoryDay>;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<Vec<HistoryDay>> {
        let at = self.at.unwrap_or(view.now);
        let last = at.day();
        let from = Timestamp((last + 1 - i64::from(self.days)).max(0) * DAY);
        let surroundings = Surroundings::kept(view, at)?;
        let mut days: BTreeMap<u32, HistoryDay> = BTreeMap::new();
        // One test may measure several roles.
        let mut identities: BTreeMap<u32, Distinct> = BTreeMap::new();
        for role in self.subject.roles.iter().filter(|role| role.essential) {
            for day in super::timeline::days(view, &role.key, from, &surroundings)? {
                let state = State::from(day.verdict.status);
                let entry = days.entry(day.day).or_insert(HistoryDay {
                    day: day.day,
                    measurements: 0,
                    blocked: 0,
                    votes: 0,
                    status: state,
                });
                let distinct = identities.entry(day.day).or_default();
                day.of.identities.iter().for_each(|identity| distinct.insert(*identity));
                entry.measurements = u32::try_from(distinct.len()).unwrap_or(u32::MAX);
                // The role that is blocked most on a day represents the service.
                let rate = |blocked: u32, votes: u32| f64::from(blocked) / f64::from(votes.max(1));
                if day.of.votes > 0
                    && (entry.votes == 0 || rate(day.of.blocked, day.of.votes) > rate(entry.blocked, entry.votes))
                {
                    entry.blocked = day.of.blocked;
                    entry.votes = day.of.votes;
                }
                if state == State::Blocked || entry.status == State::Unknown {
                    entry.status = state;
                }
            }
        }
        Ok(days.into_values().collect())
    }
}

/// Asks for the number of measurements in a period, which shows whether anything was online there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountMeasurements {
    /// Beginning of the period. The time in which a measurement counts at the end is always included.
    pub from: Option<Timestamp>,
    pub at: Timestamp,
}

impl Query for CountMeasurements {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "heard";
    type Reply = u64;

    fn run(self, view: &View<'_>) -> Result<u64> {
        let counting = self.at.plus(-Ageing::of(false).limit);
        let first = self.from.map_or(counting, |from| from.min(counting));
        let first = u32::try_from(first.day()).unwrap_or(0);
        let heard = changes::heard_from(view, first, self.at)?;
        Ok(heard.values().map(|(measurements, _)| measurements).sum())
    }
}

/// Asks for the last day on which a network was measured, up to a time or at all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LastHeard {
    pub asn: u32,
    pub until: Option<Timestamp>,
}

impl Query for LastHeard {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "last_heard";
    type Reply = Option<u32>;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<Option<u32>> {
        if !NETWORKS.contains(view, &(self.asn,))? {
            return Ok(None);
        }
        changes::last_heard(view, self.asn, self.until.unwrap_or(view.now))
    }
}

/// The strictest licence of all that was measured here.
pub fn strictest(sources: &[SourceSummary]) -> String {
    licence::effective(sources.iter().map(|source| source.licence.as_str()))
}
