//! Counts over the shown incidents, for use in other answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model::Status;
use super::query::lines;
use super::shown::ShownIncidents;
use super::tables::{CLOCK, Clock};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View, encode};

/// Asks how many incidents each source shows, and how many of them another source shows too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceCounts;

/// The answer to [`SourceCounts`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Corroboration {
    pub incidents: u64,
    /// Incidents with at least two sources.
    pub corroborated: u64,
    /// By source: its name, all its incidents, and the corroborated ones.
    pub by_source: Vec<(String, u64, u64)>,
}

impl Query for SourceCounts {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "source_counts";
    type Reply = Corroboration;

    fn run(self, view: &View<'_>) -> Result<Corroboration> {
        let changed = CLOCK.get(view, &())?.map(|Clock(at)| at);
        match view.memo() {
            Some(memo) => {
                Ok(memo.list("incidents by source", encode(&changed)?, || corroboration(view))?.as_ref().clone())
            }
            None => corroboration(view),
        }
    }
}

fn corroboration(view: &View<'_>) -> Result<Corroboration> {
    let mut found = Corroboration::default();
    let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    lines(view, None, |_, (_, line)| {
        let agreed = u64::from(line.sources.len() >= 2);
        found.incidents += 1;
        found.corroborated += agreed;
        for source in line.sources {
            let count = counts.entry(source).or_default();
            *count = (count.0 + 1, count.1 + agreed);
        }
        Ok(true)
    })?;
    found.by_source = counts.into_iter().map(|(source, (all, agreed))| (source, all, agreed)).collect();
    Ok(found)
}

/// Asks how many incidents of each country are known to have begun after a time, and how many went on after another
/// time. Suspected incidents are not counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Densities {
    pub began_after: Timestamp,
    pub on_after: Timestamp,
}

impl Query for Densities {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "densities";
    /// By country code; countries without such incidents are left out.
    type Reply = Vec<(String, u64, u64)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let shown = ShownIncidents::now(view)?;
        let mut found = Vec::new();
        for (country, briefs) in shown.by_country() {
            let (mut begun, mut going_on) = (0, 0);
            for brief in briefs.filter(|brief| brief.status != Status::Suspected && brief.start <= view.now) {
                begun += u64::from(brief.start > self.began_after && !brief.start_unknown);
                let on = brief.end.map_or(brief.status == Status::Active, |end| end > self.on_after);
                going_on += u64::from(on);
            }
            if begun + going_on > 0 {
                found.push((country, begun, going_on));
            }
        }
        Ok(found)
    }
}
