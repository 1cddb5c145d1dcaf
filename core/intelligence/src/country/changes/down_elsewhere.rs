//! How a target fared in other countries, by spans of hours ([`super::compared`]). Where it failed in most of them, it
//! was down, and no network blocked it. Where it worked in some, their successes are a control for failures without one
//! (decision controls-from-peers).

use super::super::evidence::JudgedMeasurement;
use super::super::instrument::failed;
use super::tables::{ELSEWHERE, SpansElsewhere};
use crate::Result;
use engine::kv::Read;
use facts::change::constants::{BLOCK_DAYS, OUTAGE_HOURS};
use facts::change::series::{Spell, block_of, place_of};
use facts::measurement::outcome::Judgement;
use facts::verdict::window::Peers;
use facts::verdict::{RuleId, Vote, evaluate};

pub fn row(view: &impl Read, key: &str, block: u32) -> Result<SpansElsewhere> {
    Ok(ELSEWHERE.get(view, &(key.to_owned(), block))?.unwrap_or_default())
}

/// Masks failures in spans in which the target was down. They say nothing about the network.
pub fn mask(view: &impl Read, key: &str, seen: &mut [JudgedMeasurement]) -> Result<()> {
    let mut known: Option<(u32, u128)> = None;
    for seen in seen.iter_mut().filter(|seen| failed(seen.session.evaluated.vote)) {
        let block = block_of(seen.day);
        let out = match known {
            Some((of, out)) if of == block => out,
            _ => row(view, key, block)?.out,
        };
        known = Some((block, out));
        if is_in(out, place_of(seen.session.hour)) {
            let judgement = Judgement { rule: RuleId::DownElsewhere, technique: None };
            seen.session.evaluated = evaluate::judged(judgement);
        }
    }
    Ok(())
}

fn is_in(spans: u128, place: u8) -> bool {
    spans >> place & 1 == 1
}

/// Adds the successes of other countries on these days to the peers of this country.
pub fn add_peers(view: &impl Read, key: &str, (first, last): (u32, u32), peers: &mut Peers) -> Result<()> {
    for block in block_of(first)..=block_of(last) {
        let works = row(view, key, block)?.works;
        for place in (0..u128::BITS as u8).filter(|place| is_in(works, *place)) {
            peers.add_span(i64::from(block) * i64::from(BLOCK_DAYS) * 24 + i64::from(place) * OUTAGE_HOURS);
        }
    }
    Ok(())
}

/// Whether so many failures lack a control that they might be a block.
pub fn lack_control(seen: &[JudgedMeasurement], peers: &Peers) -> bool {
    /// Fewer failures never make a block (decision incident-dates).
    const LEAST: usize = 3;
    let waiting = seen.iter().map(|seen| &seen.session).filter(|session| session.evaluated.vote == Vote::NeedsControl);
    waiting.filter(|session| peers.vote(session) != Vote::Blocked).take(LEAST).count() == LEAST
}

/// Measurements of a block by span: how many failed, and how many say anything.
pub fn spells(seen: &[JudgedMeasurement]) -> Vec<Spell> {
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
