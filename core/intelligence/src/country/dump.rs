//! Monthly aggregates of what is stored, for researchers (decision dumps-and-recompute).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::evidence;
use super::tables::{EPOCHS, RULES_VERSION, SOURCES, TARGETS};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::Direction;
use facts::source::Source;
use facts::verdict::Vote;

/// Measured targets that are read for one page.
const TARGETS_AT_ONCE: usize = 50;

/// The measurements of a target on a network in a month, from one source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DumpRow {
    pub target: String,
    /// 0 when the network is withheld.
    pub asn: u32,
    pub source: String,
    pub licence: String,
    pub measurements: u32,
    /// Different voters: network, resolver, platform, version and hour (decision vote-per-hour).
    pub sessions: u32,
    pub blocked: u32,
    pub clear: u32,
    /// Failures that count only while a control works.
    pub needs_control: u32,
    pub down: u32,
    pub masked: u32,
    /// Measurements by rule.
    pub rules: BTreeMap<String, u32>,
}

/// The rows of some targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DumpPage {
    pub rows: Vec<DumpRow>,
    /// The target after which the next page begins; `None` on the last page.
    pub next: Option<String>,
    /// Changes whenever a measurement stored here does.
    pub version: String,
}

/// Reads aggregates of `[from, to)`, ordered by target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Dump {
    pub from: Timestamp,
    pub to: Timestamp,
    /// The last target that was read before.
    pub after: Option<String>,
}

/// Made of the version of the rules and the numbers of measurements, source rows and removals. It changes whenever the
/// rows of a dump may change.
fn version(view: &View<'_>) -> Result<String> {
    let sources = SOURCES.scan(view, &SOURCES.range(), Direction::Ascending, 64)?;
    let (entries, rows) = sources.iter().fold((0, 0), |(e, r), (_, row)| (e + row.entries, r + row.rows));
    let epochs = EPOCHS.scan(view, &EPOCHS.range(), Direction::Ascending, 64)?;
    let removals: u64 = epochs.iter().map(|(_, removals)| removals).sum();
    Ok(format!("{RULES_VERSION}.{entries}.{rows}.{removals}"))
}

impl Query for Dump {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "dump";
    type Reply = DumpPage;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<DumpPage> {
        let day = |time: Timestamp| u32::try_from(time.day()).unwrap_or(0);
        let (first, last) = (day(self.from), day(self.to.plus(-1)));
        let mut range = TARGETS.range();
        if let Some(after) = &self.after {
            range.start = TARGETS.prefix(&(after.clone(),)).end.unwrap_or_default();
        }
        let mut targets = Vec::new();
        TARGETS.visit(view, range, Direction::Ascending, |(target,), row| {
            if row.first_day <= last && row.last_day >= first {
                targets.push(target);
            }
            Ok(targets.len() < TARGETS_AT_ONCE)
        })?;
        let next = targets.last().filter(|_| targets.len() == TARGETS_AT_ONCE).cloned();
        let mut rows = Vec::new();
        for target in targets {
            rows.extend(of_target(view, &target, self.from, self.to)?);
        }
        Ok(DumpPage { rows, next, version: version(view)? })
    }
}

/// A row with its voters.
type RowWithVoters = (DumpRow, BTreeSet<(i64, u32)>);

fn of_target(view: &View<'_>, target: &str, from: Timestamp, to: Timestamp) -> Result<Vec<DumpRow>> {
    let mut rows: BTreeMap<(u32, u8), RowWithVoters> = BTreeMap::new();
    for seen in evidence::read(view, target, from, to)? {
        let session = &seen.session;
        let (row, voters) = rows.entry((session.asn.unwrap_or(0), seen.source)).or_default();
        voters.insert((session.hour, session.vote_key));
        row.measurements += 1;
        let count = match session.evaluated.vote {
            Vote::Blocked => &mut row.blocked,
            Vote::Clear => &mut row.clear,
            Vote::NeedsControl => &mut row.needs_control,
            Vote::Down => &mut row.down,
            Vote::Masked => &mut row.masked,
        };
        *count += 1;
        *row.rules.entry(session.evaluated.rule.rule().name.to_owned()).or_default() += 1;
    }
    let named = |((asn, source), (row, voters)): ((u32, u8), RowWithVoters)| {
        let source = Source::from_code(source)?;
        Some(DumpRow {
            target: target.to_owned(),
            asn,
            source: source.id().to_owned(),
            licence: source.licence_under(view.settings).to_owned(),
            sessions: u32::try_from(voters.len()).unwrap_or(u32::MAX),
            ..row
        })
    };
    Ok(rows.into_iter().filter_map(named).collect())
}

/// First and last day with measurements, and the version of what is stored.
pub fn dump_span(view: &View<'_>) -> Result<(Option<(u32, u32)>, String)> {
    let mut span: Option<(u32, u32)> = None;
    TARGETS.visit(view, TARGETS.range(), Direction::Ascending, |_, row| {
        let (first, last) = span.unwrap_or((row.first_day, row.last_day));
        span = Some((first.min(row.first_day), last.max(row.last_day)));
        Ok(true)
    })?;
    Ok((span, version(view)?))
}
