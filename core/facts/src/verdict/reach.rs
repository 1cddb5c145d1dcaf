//! How likely the blocking networks of a country are enough for a national block.

use super::constants::{NATIONAL_SHARE, SEVERAL_NETWORKS, SEVERAL_SHARE};

/// A network of a country, for the question whether the country is blocked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Voice {
    /// In any unit: only shares count.
    pub weight: f64,
    /// True for the country as seen from outside, which is not a network.
    pub remote: bool,
    /// Probability that it blocks.
    pub p_blocked: f64,
}

/// Steps that the whole weight is divided into. A quarter and a half of it are whole numbers of steps.
const STEPS: usize = 1024;

/// The probability, 0-1, that the blocking networks have [`NATIONAL_SHARE`] of the weight, or [`SEVERAL_SHARE`] on
/// [`SEVERAL_NETWORKS`] networks (decision weight-of-networks). Each network is taken to block independently. 0 without
/// any network. Shares are rounded to steps of about a thousandth; they are exact where all networks weigh the same.
pub fn reached(voices: &[Voice]) -> f64 {
    let total: f64 = voices.iter().map(|voice| voice.weight).sum();
    if voices.is_empty() || total <= 0.0 {
        return 0.0;
    }
    // A multiple of the number of networks, so that equal shares are whole numbers of steps too.
    let steps = 4 * voices.len() * (STEPS / 4).div_ceil(voices.len());
    let line = |share: f64| (share * steps as f64).round() as usize;
    let (half, quarter) = (line(NATIONAL_SHARE), line(SEVERAL_SHARE));
    let step = |voice: &Voice| (voice.weight / total * steps as f64).round() as usize;
    // In units of what all shares are multiples of: networks of one weight need as many rows as there are networks.
    let unit = voices.iter().map(step).fold(0, greatest_common_divisor).max(1);
    let (half, quarter) = (half.div_ceil(unit), quarter.div_ceil(unit));
    // By their share in units, from a half on all the same, and by networks that block (none, one, more).
    let mut chances = vec![[0.0_f64; SEVERAL_NETWORKS + 1]; half + 1];
    if let Some([none, ..]) = chances.first_mut() {
        *none = 1.0;
    }
    let mut top = 0;
    for voice in voices {
        let step = step(voice) / unit;
        // Downward, so that no row is moved twice.
        for at in (0..=top).rev() {
            let to = (at + step).min(half);
            for networks in (0..=SEVERAL_NETWORKS).rev() {
                let Some(chance) = chances.get_mut(at).and_then(|row| row.get_mut(networks)) else { continue };
                let blocks = *chance * voice.p_blocked;
                *chance -= blocks;
                let more = if voice.remote { networks } else { (networks + 1).min(SEVERAL_NETWORKS) };
                if let Some(there) = chances.get_mut(to).and_then(|row| row.get_mut(more)) {
                    *there += blocks;
                }
            }
        }
        top = (top + step).min(half);
    }
    let reaches = |at: usize, networks: usize| at >= half || (at >= quarter && networks >= SEVERAL_NETWORKS);
    let rows = chances.iter().enumerate();
    let all = rows.flat_map(|(at, row)| row.iter().enumerate().map(move |(networks, chance)| (at, networks, chance)));
    all.filter(|(at, networks, _)| reaches(*at, *networks)).map(|(.., chance)| chance).sum::<f64>().min(1.0)
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voice(addresses: f64, p_blocked: f64) -> Voice {
        Voice { weight: addresses.sqrt(), remote: false, p_blocked }
    }

    /// The exact probability, summed over all subsets.
    fn exactly(voices: &[Voice]) -> f64 {
        let total: f64 = voices.iter().map(|voice| voice.weight).sum();
        let subsets = 0..1_u32 << voices.len();
        subsets
            .map(|subset| {
                let (mut chance, mut weight) = (1.0, 0.0);
                for (place, voice) in voices.iter().enumerate() {
                    let blocks = subset >> place & 1 == 1;
                    chance *= if blocks { voice.p_blocked } else { 1.0 - voice.p_blocked };
                    weight += if blocks { voice.weight } else { 0.0 };
                }
                let share = weight / total + 1e-9;
                if share >= 0.5 || (share >= 0.25 && subset.count_ones() >= 2) { chance } else { 0.0 }
            })
            .sum()
    }

    #[test]
    fn a_country_is_as_likely_blocked_as_all_ways_to_reach_the_lines_together() {
        let equal: Vec<Voice> = [0.9, 0.1, 0.05, 0.8, 0.1, 0.02, 0.3].map(|p| voice(1_000.0, p)).into();
        let unequal = [voice(1e6, 0.7), voice(90_000.0, 0.2), voice(40_000.0, 0.9), voice(300.0, 0.1)];
        for voices in [&equal[..], &equal[..4], &equal[..2], &equal[..1], &unequal] {
            let p = reached(voices);
            assert!((p - exactly(voices)).abs() < 2e-3, "{p} {}", exactly(voices));
        }
        assert_eq!(reached(&[]), 0.0);
    }
}
