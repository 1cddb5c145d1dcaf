//! How much of each kind of site is blocked in this country. Time without votes moves a belief towards that rate
//! (decision rate-of-a-kind).

use serde::{Deserialize, Serialize};

use super::evidence::JudgedSeries;
use super::refresh;
use super::tables::{CATALOGUE, VerdictRow};
use crate::Result;
use engine::actor::Turn;
use engine::kv::{Read, Row, Table};
use facts::subject::{is_messaging, is_role};
use facts::verdict::belief::RATE;
use facts::verdict::constants::{KIND_DOUBLINGS, KIND_SITES};
use facts::verdict::network::Status;
use facts::verdict::window::Ageing;

/// A kind of site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteKind {
    /// A part of a platform.
    Platform,
    /// A site of the lists whose category is political speech.
    Political,
    Other,
}

impl SiteKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            SiteKind::Platform => "platform",
            SiteKind::Political => "political",
            SiteKind::Other => "other",
        }
    }

    fn of(target: &str, political: &[String]) -> SiteKind {
        match target {
            target if is_role(target) => SiteKind::Platform,
            target if political.binary_search_by(|site| site.as_str().cmp(target)).is_ok() => SiteKind::Political,
            _ => SiteKind::Other,
        }
    }
}

/// The rates of all kinds. Each is the usual rate, doubled so often.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Doublings {
    platform: u8,
    political: u8,
    other: u8,
}
impl Row for Doublings {}

/// Answers rest on it, so it is not derived. Absent while all rates are the usual one.
const DOUBLINGS: Table<(), Doublings> = Table::new(137);

/// The rates of the kinds of sites, as last counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct KindRates(Doublings);

impl KindRates {
    pub fn read(view: &impl Read) -> Result<KindRates> {
        Ok(KindRates(DOUBLINGS.get(view, &())?.unwrap_or_default()))
    }

    /// What time does to the votes on a series.
    pub fn ageing(&self, view: &impl Read, key: &str) -> Result<Ageing> {
        let usual = Ageing::of(is_messaging(key));
        let Doublings { platform, political, other } = self.0;
        // The lists are long, so they are read only where they make a difference.
        let doublings = match is_role(key) {
            true => platform,
            false if political == other => other,
            false => match kind(view, key)? {
                SiteKind::Platform => platform,
                SiteKind::Political => political,
                SiteKind::Other => other,
            },
        };
        Ok(Ageing { rate: RATE * f64::from(1_u32 << doublings.min(KIND_DOUBLINGS)), ..usual })
    }
}

pub fn kind(view: &impl Read, key: &str) -> Result<SiteKind> {
    Ok(SiteKind::of(key, &CATALOGUE.get(view, &())?.unwrap_or_default().political))
}

/// The share of networks that blocked a series when its newest vote came, among those that had a verdict then; `None`
/// if none had. Rates are counted from it, because no rate has an effect on it.
pub fn blocked_then(judged: &JudgedSeries) -> Option<f64> {
    let counts = |network: &&super::evidence::Network| network.asn != 0 || network.remote;
    let then = || judged.networks.iter().filter(counts).filter_map(|network| network.verdict.then);
    let blocked = then().filter(|status| *status == Status::Blocked).count();
    let decided = then().filter(|status| *status != Status::Unknown).count();
    (decided > 0).then(|| blocked as f64 / decided as f64)
}

/// How often the usual rate must be doubled for this share of blocked sites, which counts less with few sites.
fn doublings(blocked: f64, sites: u32) -> u8 {
    let rate = (KIND_SITES * RATE + blocked) / (KIND_SITES + f64::from(sites));
    (rate / RATE).log2().floor().clamp(0.0, f64::from(KIND_DOUBLINGS)) as u8
}

/// Counts the rates from the latest verdicts. If any has changed, all series are judged again; returns whether so.
pub fn count(turn: &mut Turn<'_>, verdicts: &[(String, VerdictRow)]) -> Result<bool> {
    let political = CATALOGUE.get(turn, &())?.unwrap_or_default().political;
    let mut counts = [(0.0, 0_u32); 3];
    for (target, row) in verdicts {
        if let Some(blocked) = row.blocked_then {
            let kind = SiteKind::of(target, &political);
            for (of, count) in [SiteKind::Platform, SiteKind::Political, SiteKind::Other].iter().zip(&mut counts) {
                if *of == kind {
                    *count = (count.0 + blocked, count.1 + 1);
                }
            }
        }
    }
    let [platform, political, other] = counts.map(|(blocked, sites)| doublings(blocked, sites));
    let now = Doublings { platform, political, other };
    if now == KindRates::read(turn)?.0 {
        return Ok(false);
    }
    match now == Doublings::default() {
        true => DOUBLINGS.delete(turn, &()),
        false => DOUBLINGS.put(turn, &(), &now)?,
    }
    refresh::all_again(turn)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_many_blocked_sites_to_double() {
        assert_eq!((doublings(0.0, 0), doublings(0.0, 1000), doublings(1.0, 1)), (0, 0, 0));
        assert_eq!(doublings(4.0, 4), 2, "four of four sites");
        assert_eq!(doublings(10.0, 100), 0, "9% of a hundred are less than twice the usual rate");
        assert_eq!(doublings(12.0, 100), 1);
        assert_eq!(doublings(1000.0, 1000), KIND_DOUBLINGS);
    }
}
