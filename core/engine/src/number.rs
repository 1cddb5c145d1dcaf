//! Numbers as answers show them.

/// Four decimals: more would pretend a precision that votes do not have.
pub fn round(value: f64) -> f64 {
    // The sum of nothing is -0.0; adding 0 makes it plain.
    (value * 10_000.0).round() / 10_000.0 + 0.0
}
