//! What pages about a site need of every country: read in one go, and of each summary only what they need.

use serde::{Deserialize, Serialize};

use super::{LISTED, TARGETS, TargetSummary};
use crate::actor::{Kind, Query, View};
use crate::country::{Source, State};
use crate::kv::{Direction, Row, StoreError};
use crate::{Result, Timestamp};

/// What the latest summary says of a series in a country.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Glance {
    pub country: String,
    pub target: String,
    pub state: State,
    /// Networks that block.
    pub blocking: Vec<u32>,
    /// The newest measurement.
    pub last_checked: Timestamp,
    pub sources: Vec<Source>,
}

/// What the world knows of some series.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surveyed {
    /// Countries with a list that names one of them.
    pub listed: Vec<String>,
    /// In the order of series, then of countries.
    pub seen: Vec<Glance>,
}

/// Asks for that.
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
        for target in self.targets {
            let listed = LISTED.scan(view, &LISTED.prefix(&(target.clone(),)), Direction::Ascending, 300)?;
            surveyed.listed.extend(listed.into_iter().map(|((_, country), ())| country));
            let range = TARGETS.prefix(&(target.clone(),));
            TARGETS.visit_stored(view, range, |(_, country), stored| {
                surveyed.seen.push(glance(country, target.clone(), stored)?);
                Ok(())
            })?;
        }
        Ok(surveyed)
    }
}

/// The version of [`TargetSummary`] whose beginning [`Lean`] is.
const LEAN_OF: u8 = 4;

fn glance(country: String, target: String, stored: &[u8]) -> Result<Glance, StoreError> {
    if let Some((&LEAN_OF, bytes)) = stored.split_first()
        && TargetSummary::VERSION == LEAN_OF
        && let Ok(lean) = postcard::from_bytes::<Lean<'_>>(bytes)
    {
        let networks = lean.networks.iter().map(|network| (network.asn, network.state));
        let sources = lean.sources.iter().copied();
        return Ok(Glance::new(country, target, lean.state, networks, lean.last_checked, sources));
    }
    let row: TargetSummary = crate::kv::decode_row(stored)?;
    let networks = row.networks.iter().map(|network| (network.asn, network.state));
    Ok(Glance::new(country, target, row.state, networks, row.last_checked, row.sources.iter().map(String::as_str)))
}

impl Glance {
    fn new<'a>(
        country: String,
        target: String,
        state: State,
        networks: impl Iterator<Item = (u32, State)>,
        last_checked: Timestamp,
        sources: impl Iterator<Item = &'a str>,
    ) -> Glance {
        let blocking = networks.filter(|(asn, state)| *asn != 0 && *state == State::Blocked).map(|(asn, _)| asn);
        let (blocking, sources) = (blocking.collect(), sources.filter_map(Source::by_id).collect());
        Glance { country, target, state, blocking, last_checked, sources }
    }
}

/// The beginning of a [`TargetSummary`], read where it is stored: its many small texts cost more than all else.
#[derive(Deserialize)]
struct Lean<'a> {
    _target: &'a str,
    state: State,
    #[serde(borrow)]
    _basis: Result<u64, &'a str>,
    #[serde(with = "crate::kv::fraction")]
    _confidence: f64,
    _evidence: u32,
    _counted: u32,
    _of_week: u32,
    #[serde(with = "crate::kv::float")]
    _blocked_weight: f64,
    _networks_blocked: u32,
    _networks_tested: u32,
    #[serde(borrow)]
    _methods: Vec<&'a str>,
    _technique: Option<&'a str>,
    #[serde(borrow)]
    networks: Vec<LeanNetwork<'a>>,
    #[serde(with = "crate::kv::moment")]
    last_checked: Timestamp,
    #[serde(with = "crate::kv::fraction::option")]
    _failure_rate: Option<f64>,
    #[serde(borrow)]
    sources: Vec<&'a str>,
}

#[derive(Deserialize)]
struct LeanNetwork<'a> {
    asn: u32,
    _name: Option<&'a str>,
    #[serde(with = "crate::kv::float")]
    _block_rate: f64,
    _measurements: u32,
    _counted: u32,
    _blocked: u32,
    state: State,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::encode_row;
    use crate::world::{NetworkDetail, NetworkSummary};

    #[test]
    fn a_glance_says_what_the_whole_summary_says() {
        assert_eq!(TargetSummary::VERSION, LEAN_OF, "`Lean` follows the shape of the summary");
        let network = |asn: u32, state| NetworkSummary {
            asn,
            name: Some("One".to_owned()),
            block_rate: 0.3,
            measurements: 4,
            counted: 300,
            blocked: 2,
            state,
        };
        let detail = NetworkDetail { technique: Some("tls.reset".to_owned()), last_checked: Timestamp(7) };
        let summary = TargetSummary {
            target: "a.example".to_owned(),
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
        };
        let stored = encode_row(&summary).unwrap();
        assert!(postcard::from_bytes::<Lean<'_>>(&stored[1..]).is_ok());
        let expected = Glance {
            country: "NO".to_owned(),
            target: "a.example".to_owned(),
            state: State::Blocked,
            blocking: vec![7],
            last_checked: Timestamp(-5),
            sources: vec![Source::Ooni],
        };
        assert_eq!(glance("NO".to_owned(), "a.example".to_owned(), &stored).unwrap(), expected);
        assert!(glance("NO".to_owned(), "a.example".to_owned(), &stored[..9]).is_err());
    }
}
