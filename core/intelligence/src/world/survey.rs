//! What pages about a site need to know about every country. The rows are so short that all countries are read at once.

use serde::{Deserialize, Serialize};

use super::{LISTED, TARGETS, TargetSummary};
use crate::country::State;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::{Direction, Row};
use facts::source::Source;
use facts::subject::is_role;

/// The part of a series' latest summary in a country that the world keeps. The country itself keeps the whole summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Latest {
    state: State,
    #[serde(with = "engine::kv::moment")]
    last_checked: Timestamp,
    /// The share of failing measurements where the site is not blocked, if it is known.
    #[serde(with = "engine::kv::fraction::option")]
    pub failure_rate: Option<f64>,
    sources: Vec<Source>,
    blocking: Vec<u32>,
}

impl From<&TargetSummary> for Latest {
    fn from(summary: &TargetSummary) -> Latest {
        let blocks = summary.networks.iter().filter(|network| network.asn != 0 && network.state == State::Blocked);
        Latest {
            state: summary.state,
            last_checked: summary.last_checked,
            failure_rate: summary.failure_rate,
            sources: summary.sources.iter().filter_map(|id| Source::by_id(id)).collect(),
            blocking: blocks.map(|network| network.asn).collect(),
        }
    }
}

impl Row for Latest {
    const VERSION: u8 = 5;
}

/// The latest summary of a series in a country, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Glance {
    /// The place of the series among those asked for.
    pub series: usize,
    pub country: String,
    pub state: State,
    /// Numbers of the networks that block.
    pub blocking: Vec<u32>,
    /// Time of the newest measurement.
    pub last_checked: Timestamp,
    pub sources: Vec<Source>,
}

/// What the world knows about some series.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surveyed {
    /// Countries with a list that names one of the series.
    pub listed: Vec<String>,
    /// In the order of series, then of countries.
    pub seen: Vec<Glance>,
}

/// Asks what the world knows about some series.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SurveyOf {
    pub targets: Vec<String>,
}

impl Query for SurveyOf {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "survey_of";
    type Reply = Surveyed;

    fn run(self, view: &View<'_>) -> Result<Surveyed> {
        let mut surveyed = Surveyed::default();
        for (series, target) in self.targets.into_iter().enumerate() {
            let of_target = (target,);
            let listed = LISTED.scan(view, &LISTED.prefix(&of_target), Direction::Ascending, 300)?;
            surveyed.listed.extend(listed.into_iter().map(|((_, country), ())| country));
            TARGETS.visit(view, TARGETS.prefix(&of_target), Direction::Ascending, |(_, country), row| {
                let Latest { state, last_checked, sources, blocking, .. } = row;
                surveyed.seen.push(Glance { series, country, state, blocking, last_checked, sources });
                Ok(true)
            })?;
        }
        Ok(surveyed)
    }
}

/// Asks for measured sites whose names begin with a text, in the order of their names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SitesBeginning {
    /// In lower case.
    pub typed: String,
    pub most: u32,
}

impl Query for SitesBeginning {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "sites_beginning";
    type Reply = Vec<String>;

    fn run(self, view: &View<'_>) -> Result<Vec<String>> {
        // No host name has a character after the last of them.
        let end = format!("{}\u{10ffff}", self.typed);
        let mut range = TARGETS.between(&(self.typed,), &(end,));
        let mut found = Vec::new();
        // A site has a row for each country, so go on behind the last of them. A row of a service names no site; there
        // are few of those.
        while found.len() < self.most as usize
            && let Some(((site, _), _)) = TARGETS.first(view, &range)?
        {
            range.start = TARGETS.prefix(&(site.clone(),)).end.unwrap_or_default();
            if !is_role(&site) {
                found.push(site);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{NetworkDetail, NetworkSummary};
    use engine::kv::{decode_row, encode_row};

    fn summary() -> TargetSummary {
        let network = |asn: u32, state| NetworkSummary {
            asn,
            name: Some("One".to_owned()),
            measurements: 4,
            counted: 300,
            votes: 4,
            blocked: 2,
            state,
        };
        let detail = NetworkDetail { technique: Some("tls.reset".to_owned()), last_checked: Timestamp(7) };
        TargetSummary {
            target: String::new(),
            state: State::Blocked,
            basis: "measured".to_owned(),
            confidence: 0.9,
            evidence: 500,
            counted: 400,
            of_week: 3,
            blocked_weight: 0.25,
            networks_blocked: 1,
            networks_tested: 2,
            methods: vec!["tls-reset".to_owned(), "dns-poison".to_owned()],
            technique: None,
            networks: vec![network(64_496, State::Accessible), network(7, State::Blocked), network(0, State::Blocked)],
            last_checked: Timestamp(-5),
            failure_rate: Some(0.1),
            sources: vec!["ooni".to_owned(), "known_list".to_owned()],
            details: vec![detail; 3],
        }
    }

    fn latest() -> Latest {
        Latest {
            state: State::Blocked,
            last_checked: Timestamp(-5),
            failure_rate: Some(0.1),
            sources: vec![Source::Ooni],
            blocking: vec![7],
        }
    }

    #[test]
    fn a_short_row_has_what_the_summary_says_without_withheld_networks_and_lists() {
        assert_eq!(Latest::from(&summary()), latest());
        let stored = encode_row(&latest()).unwrap();
        assert!(stored.len() <= 16, "{} bytes", stored.len());
        assert_eq!(decode_row::<Latest>(&stored).unwrap(), latest());
    }
}
