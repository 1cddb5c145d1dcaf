//! The digests of countries that the world keeps.

use serde::{Deserialize, Serialize};

use super::dbscan::Point;
use super::digest::{Digest, DomainWeeks};
use super::page::DayJudgement;
use super::{DRIFT, drift};
use crate::atlas::networks::Networks;
use crate::risk::ReadScores;
use crate::{Result, classifier};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Row, Table};
use engine::time::SECOND;

/// The domains of a country by week.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Weeks {
    /// The last day of this week.
    pub until: u32,
    pub license: String,
    pub domains: Vec<DomainWeeks>,
}
impl Row for Weeks {}

/// The days of a country.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Days {
    pub until: u32,
    pub license: String,
    /// Oldest first.
    pub days: Vec<(u32, Point)>,
    pub judged: Option<DayJudgement>,
}
impl Row for Days {}

/// The networks of a country, and their licence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Exposed {
    pub license: String,
    pub networks: Networks,
}
impl Row for Exposed {}

// In the world actor, by country.
const WEEKS: Table<(String,), Weeks> = Table::new(56);
const DAYS: Table<(String,), Days> = Table::new(57);
const NETWORKS: Table<(String,), Exposed> = Table::new(59);

const DRIFT_TIMER: &str = "domain_drift";
/// The leaderboard is published anew after one publish interval, plus the square of the number of countries over this
/// number: making it reads every domain of every country.
const DRIFT_REST: i64 = 100;

/// Keeps the digest of a country.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetDigest {
    pub country: String,
    pub digest: Digest,
}

impl Operation for SetDigest {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "set_digest";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = (self.country,);
        if self.digest.is_empty() {
            WEEKS.delete(turn, &key);
            DAYS.delete(turn, &key);
            NETWORKS.delete(turn, &key);
        } else {
            let Digest { until, license, days, judged, domains, networks } = self.digest;
            WEEKS.put(turn, &key, &Weeks { until, license: license.clone(), domains })?;
            DAYS.put(turn, &key, &Days { until, license: license.clone(), days, judged })?;
            NETWORKS.put(turn, &key, &Exposed { license, networks })?;
        }
        classifier::soon(turn)?;
        if turn.scheduled(DRIFT_TIMER)?.is_some() {
            return Ok(());
        }
        let countries = ReadScores.run(&turn.view())?.len() as i64;
        let intervals = 1 + countries * countries / DRIFT_REST;
        let due = turn.now.plus(intervals * i64::from(turn.settings.publish_interval) * SECOND);
        turn.schedule(DRIFT_TIMER, due, &PublishDrift)
    }
}

/// Makes the leaderboard of domains anew.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PublishDrift;

impl Operation for PublishDrift {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "publish_domain_drift";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        turn.publish(DRIFT)
    }
}

/// The weeks of all countries, by code.
pub(super) fn weeks(view: &View<'_>) -> Result<Vec<(String, Weeks)>> {
    let rows = WEEKS.scan(view, &WEEKS.range(), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|((country,), row)| (country, row)).collect())
}

/// The days of all countries, by code.
pub fn all_days(view: &View<'_>) -> Result<Vec<(String, Days)>> {
    let rows = DAYS.scan(view, &DAYS.range(), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|((country,), row)| (country, row)).collect())
}

/// The days of a country.
pub fn days_of(view: &View<'_>, country: &str) -> Result<Option<Days>> {
    Ok(DAYS.get(view, &(country.to_owned(),))?)
}

/// Asks how the last day of each country, or of one country, was judged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Anomalies {
    pub country: Option<String>,
}

impl Query for Anomalies {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "anomalies";
    /// By country code: the licence, and the judgement.
    type Reply = Vec<(String, String, Option<DayJudgement>)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let rows = match self.country {
            Some(country) => days_of(view, &country)?.into_iter().map(|days| (country.clone(), days)).collect(),
            None => all_days(view)?,
        };
        Ok(rows.into_iter().map(|(country, days)| (country, days.license, days.judged)).collect())
    }
}

/// Asks for networks: of all countries or of one, and all networks or one wherever it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NetworksOf {
    pub country: Option<String>,
    pub asn: Option<u32>,
}

impl Query for NetworksOf {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "exposed_networks";
    type Reply = Vec<(String, Exposed)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let range = match self.country {
            Some(country) => NETWORKS.prefix(&(country,)),
            None => NETWORKS.range(),
        };
        let mut rows = Vec::new();
        NETWORKS.visit(view, range, Direction::Ascending, |(country,), mut row| {
            if let Some(asn) = self.asn {
                row.networks.listed.retain(|network| network.asn == asn);
            }
            if self.asn.is_none() || !row.networks.listed.is_empty() {
                rows.push((country, row));
            }
            Ok(true)
        })?;
        Ok(rows)
    }
}

/// Renders the leaderboard.
pub(super) fn render_drift(view: &View<'_>, _: &str) -> Result<engine::documents::Rendered> {
    engine::documents::Rendered::json(&drift::leaderboard(&weeks(view)?, view.now))
}
