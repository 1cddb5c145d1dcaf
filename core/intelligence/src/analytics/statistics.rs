//! Statistics of shared block lists (decision shared-block-lists).

/// P(X >= `least`) for a sum of independent yes-or-no trials with these probabilities (Poisson-binomial), computed
/// exactly.
pub fn tail(probabilities: &[f64], least: usize) -> f64 {
    if least == 0 {
        return 1.0;
    }
    // `below[i]` is the probability of exactly i successes so far. Outcomes that reach `least` are added to `reached`
    // and leave.
    let mut below = vec![0.0; least];
    if let Some(none) = below.first_mut() {
        *none = 1.0;
    }
    let mut reached = 0.0;
    for p in probabilities {
        reached += below.last().copied().unwrap_or(0.0) * p;
        let mut fewer = 0.0;
        for here in &mut below {
            let was = *here;
            *here = was * (1.0 - p) + fewer * p;
            fewer = was;
        }
    }
    reached.clamp(0.0, 1.0)
}

/// The adjusted p-values of Benjamini and Hochberg, in the order given. `tests` is the number of all tests; those
/// without a given p-value had one of 1.
pub fn benjamini_hochberg(p_values: &[f64], tests: usize) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = p_values.iter().copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 1.0;
    for (before, (at, p)) in order.into_iter().enumerate().rev() {
        least = least.min(p * tests as f64 / (before + 1) as f64);
        if let Some(place) = adjusted.get_mut(at) {
            *place = least;
        }
    }
    adjusted
}

/// The probability of each domain to be blocked in a country that blocks `blocked` domains, if only the domain's rate
/// and the country's total matter. The odds of all rates are multiplied by one factor, so that the probabilities add up
/// to the total.
pub fn fixed_margin(rates: &[f64], blocked: usize) -> Vec<f64> {
    let mut free: Vec<f64> = rates.iter().copied().filter(|rate| *rate > 0.0 && *rate < 1.0).collect();
    free.sort_by(f64::total_cmp);
    let certain = rates.iter().filter(|rate| **rate >= 1.0).count();
    let wanted = blocked.saturating_sub(certain) as f64;
    // Many domains have the same rate, so each rate is computed once.
    let groups: Vec<(f64, f64)> =
        free.chunk_by(|a, b| a == b).filter_map(|group| Some((*group.first()?, group.len() as f64))).collect();
    let scaled = |rate: f64, factor: f64| rate * factor / (1.0 - rate + rate * factor);
    let sum = |factor: f64| groups.iter().map(|(rate, count)| scaled(*rate, factor) * count).sum::<f64>();
    let factor = if wanted <= 0.0 {
        0.0
    } else if wanted >= free.len() as f64 {
        f64::INFINITY
    } else {
        let (mut low, mut high) = (-60.0_f64, 60.0_f64);
        for _ in 0..80 {
            let middle = (low + high) / 2.0;
            if sum(middle.exp()) < wanted { low = middle } else { high = middle }
        }
        low.exp()
    };
    let one = |rate: &f64| match *rate {
        rate if rate <= 0.0 => 0.0,
        rate if rate >= 1.0 || factor.is_infinite() => 1.0,
        rate => scaled(rate, factor),
    };
    rates.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds up all outcomes, one by one.
    fn brute_force(probabilities: &[f64], least: usize) -> f64 {
        (0u32..1 << probabilities.len())
            .filter(|outcome| outcome.count_ones() as usize >= least)
            .map(|outcome| {
                let one = |(at, p): (usize, &f64)| if outcome >> at & 1 == 1 { *p } else { 1.0 - p };
                probabilities.iter().enumerate().map(one).product::<f64>()
            })
            .sum()
    }

    /// The tail equals that of the Poisson-binomial distribution (decision shared-block-lists).
    #[test]
    fn the_tail_agrees_with_counting_every_outcome() {
        let sets: [&[f64]; 4] = [&[0.5; 10], &[0.01, 0.2, 0.9, 0.33, 0.5, 0.07], &[0.0, 1.0, 0.25, 1.0], &[0.001; 12]];
        for set in sets {
            for least in 0..=set.len() + 1 {
                let (fast, slow) = (tail(set, least), brute_force(set, least));
                assert!((fast - slow).abs() <= 1e-12 + slow * 1e-9, "{set:?} {least}: {fast} {slow}");
            }
        }
        assert_eq!(tail(&[], 0), 1.0);
        assert_eq!(tail(&[], 1), 0.0);
    }

    /// Tiny tails keep their digits, which 1 - (almost 1) would lose.
    #[test]
    fn a_tiny_tail_is_not_lost_to_rounding() {
        let exact = 1e-4_f64.powi(5);
        assert!((tail(&[1e-4; 5], 5) / exact - 1.0).abs() < 1e-9);
    }

    #[test]
    fn adjusted_values_follow_the_definition() {
        // By hand: sorted 0.005, 0.01, 0.03, 0.5 of 4: 0.02, 0.02, 0.04, 0.5.
        let adjusted = benjamini_hochberg(&[0.03, 0.005, 0.5, 0.01], 4);
        for (got, wanted) in adjusted.iter().zip([0.04, 0.02, 0.5, 0.02]) {
            assert!((got - wanted).abs() < 1e-12, "{adjusted:?}");
        }
        // Tests without a given p-value count too.
        assert!((benjamini_hochberg(&[0.01], 10)[0] - 0.1).abs() < 1e-12);
        assert!(benjamini_hochberg(&[], 5).is_empty());
    }

    /// Both margins are kept (decision shared-block-lists).
    #[test]
    fn probabilities_add_up_to_the_country_s_total_and_keep_the_order_of_rates() {
        let rates = [0.0, 0.01, 0.02, 0.02, 0.3, 0.5, 0.9, 1.0];
        for blocked in 1..=7 {
            let q = fixed_margin(&rates, blocked);
            assert!((q.iter().sum::<f64>() - blocked as f64).abs() < 1e-6, "{blocked}: {q:?}");
            assert!(q.is_sorted(), "{q:?}");
            assert_eq!((q[0], q[7]), (0.0, 1.0));
        }
        assert_eq!(fixed_margin(&[0.5, 0.5], 0), [0.0, 0.0]);
        // With equal rates only the total matters.
        assert!(fixed_margin(&[0.2; 10], 4).iter().all(|q| (q - 0.4).abs() < 1e-9));
    }
}
