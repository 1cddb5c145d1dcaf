//! Outages of a target itself: it fails in most countries at once, and no network blocks it then (methods 4.1 step 5). The
//! world, which hears from all countries, says when ([`super::compared`]).

use super::super::evidence::Seen;
use super::super::instrument::failed;
use super::tables::{OUTAGES, Outages};
use crate::Result;
use crate::change::series::{Spell, block_of, place_of};
use crate::kv::Read;
use crate::measurement::outcome::Judgement;
use crate::verdict::{RuleId, Vote, evaluate};

/// Whether there was an outage in a block.
pub fn any(view: &impl Read, key: &str, block: u32) -> Result<bool> {
    Ok(OUTAGES.contains(view, &(key.to_owned(), block))?)
}

/// Has failures in such an outage say nothing of the network.
pub fn mask(view: &impl Read, key: &str, seen: &mut [Seen]) -> Result<()> {
    let mut known: Option<(u32, Outages)> = None;
    for seen in seen.iter_mut().filter(|seen| failed(seen.session.evaluated.vote)) {
        let block = block_of(seen.day);
        let Outages(spans) = match known {
            Some((of, spans)) if of == block => spans,
            _ => OUTAGES.get(view, &(key.to_owned(), block))?.unwrap_or_default(),
        };
        known = Some((block, Outages(spans)));
        if spans >> place_of(seen.session.hour) & 1 == 1 {
            let judgement = Judgement { rule: RuleId::DownElsewhere, technique: None };
            seen.session.evaluated = evaluate::judged(judgement);
        }
    }
    Ok(())
}

/// Measurements of a block by span: those that failed, and those that say anything.
pub fn spells(seen: &[Seen]) -> Vec<Spell> {
    let mut spells: Vec<Spell> = Vec::new();
    for seen in seen.iter().filter(|seen| seen.session.evaluated.vote != Vote::Masked) {
        let lost = u32::from(seen.session.evaluated.vote != Vote::Clear);
        let place = place_of(seen.session.hour);
        match spells.binary_search_by_key(&place, |spell| spell.place) {
            Ok(at) => {
                if let Some(spell) = spells.get_mut(at) {
                    (spell.failed, spell.said) = (spell.failed + lost, spell.said + 1);
                }
            }
            Err(at) => spells.insert(at, Spell { place, failed: lost, said: 1 }),
        }
    }
    spells
}
