//! The cost of reading a claim. The test is here and not beside the code, because the core reads no clock.

use std::time::Instant;

use heliograph_core::engine::time::Timestamp;
use heliograph_core::intelligence::claims::parse;

/// The cost of reading a claim may grow with the square of its length, but not with the cube, for every kind of text:
/// the longest accepted claim must not be costly. The bench measures the times.
#[test]
fn what_a_claim_costs_grows_with_no_cube_of_its_length() {
    /// Most characters of a claim, and the factor between it and the shorter claim.
    const LONGEST: usize = 2_000;
    const TIMES: usize = 5;
    let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
    // The first use makes the tables.
    parse("Telegram was blocked on Safaricom in Kenya", now, &[]);
    let cost = |part: &str, length: usize| {
        let text: String = part.chars().cycle().take(length).collect();
        let once = || {
            let begun = Instant::now();
            std::hint::black_box(parse(&text, now, &[]));
            begun.elapsed().as_secs_f64()
        };
        // The least of three: other work on the machine only adds time.
        (0..3).map(|_| once()).fold(f64::MAX, f64::min)
    };
    for part in [
        "Telegram was blocked in Kenya on 15 November 2023. ",
        "Kenya blocked Telegram and Uganda did not, but Signal is slow, ",
        "to stop it because it was blocked since they cut it ",
        "Telegram, WhatsApp and Signal, ",
        "in Kenya, Uganda (UG), like Ghana, ",
        "after Telegram was blocked when Signal ",
        "blocked ",
        "not ",
        "a ",
        "X ",
        "5 May, ",
        "2025? ",
        "for the ",
        "and ",
    ] {
        let longest = cost(part, LONGEST);
        // Ten times the time without optimisation, to allow for a busy machine; cubic growth would take longer.
        assert!(longest < 4.0, "{part}: {longest} s");
        let grown = longest / cost(part, LONGEST / TIMES);
        // Half of the growth that the cube would have.
        assert!(grown < (TIMES.pow(3) / 2) as f64, "{part}: {grown}");
    }
}
