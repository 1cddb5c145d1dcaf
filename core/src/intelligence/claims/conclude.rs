//! The verdict on a claim as a whole, from what was found about each of its parts and what nobody checked of it.

use schemars::JsonSchema;
use serde::Serialize;

use super::beyond::Beyond;
use super::check::{Judgement, Verdict, together};
use super::counts::Counting;
use super::each_once;
use super::gather::Found;
use super::parse::Claim;
use super::slots::left_over;

/// The verdict on what was checked of a claim, where something of it was not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ClaimCore")]
pub struct Core {
    pub verdict: Verdict,
    /// How sure that verdict is, 0 to 1; 0 without data.
    pub confidence: f64,
}

/// What the data say to a claim.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conclusion {
    pub verdict: Verdict,
    pub confidence: f64,
    pub contradicted: bool,
    pub deciding: usize,
    /// What of the claim nobody checked, in its words where they stand together.
    pub unchecked: Vec<String>,
    pub core: Option<Core>,
}

/// Most phrases that are named. Our choice.
const MOST_UNCHECKED: usize = 10;

/// Concludes from the parts; `None` without any.
pub fn conclude(claim: &Claim, found: &[Found]) -> Option<Conclusion> {
    let parts: Vec<Judgement> = found.iter().map(|found| found.compared.judgement).collect();
    let deciding = together(&parts)?;
    let (part, of) = (parts.get(deciding)?, found.get(deciding)?);
    // Who says that it works everywhere says no more than that it works.
    let denied = found.iter().any(|found| found.stance.negated && !found.stance.over);
    let whole = denied.then_some(Beyond::Nationwide);
    let told: Vec<Beyond> = found.iter().flat_map(|found| &found.compared.told).copied().chain(whole).collect();
    let networks: Vec<String> = found
        .iter()
        .filter_map(|found| found.network.as_ref()?.network.name.as_deref())
        .flat_map(|name| name.split(' ').map(str::to_lowercase))
        .collect();
    let unchecked = open(left_over(claim, &[], &told, &networks), found);
    // "It was not blocked in schools": a denial of less than all of it is not contradicted by the whole.
    let contradicted = part.contradicted && (unchecked.is_empty() || !of.stance.negated || of.stance.over);
    let cores: Vec<Judgement> = found.iter().map(|found| found.compared.core).collect();
    let core = together(&cores).and_then(|at| cores.get(at)).filter(|_| !unchecked.is_empty() && !contradicted);
    Some(Conclusion { deciding, ..Conclusion::of(Judgement { contradicted, ..*part }, core.copied(), unchecked) })
}

/// Concludes from what a table says to a count; the words that count are checked with it.
pub fn counted(claim: &Claim, count: &Counting, part: Judgement) -> Conclusion {
    let mut unchecked = left_over(claim, &count.words, &[], &[]);
    unchecked.truncate(MOST_UNCHECKED);
    let core = Some(part).filter(|part| !unchecked.is_empty() && !part.contradicted);
    Conclusion::of(part, core, unchecked)
}

impl Conclusion {
    fn of(part: Judgement, given: Option<Judgement>, unchecked: Vec<String>) -> Conclusion {
        let capped = !unchecked.is_empty() && !part.contradicted && part.verdict <= Verdict::Unconfirmed;
        let core =
            |core: Judgement| Core { verdict: core.verdict, confidence: crate::engine::number::round(core.confidence) };
        Conclusion {
            verdict: if capped { Verdict::Unconfirmed } else { part.verdict },
            confidence: if capped { 0.0 } else { crate::engine::number::round(part.confidence) },
            contradicted: part.contradicted,
            deciding: 0,
            core: given.map(core),
            unchecked,
        }
    }
}

/// What is left over; where only words are that fill no slot of theirs, the details that nothing tells.
fn open(mut left: Vec<String>, found: &[Found]) -> Vec<String> {
    if left.is_empty() {
        let untold = found.iter().flat_map(|found| &found.compared.untold);
        left = each_once(untold.map(|detail| detail.as_str().to_owned()), PartialEq::eq);
    }
    left.truncate(MOST_UNCHECKED);
    left
}
