//! A bar for each day: the share of votes that say blocked. A day without any vote is hatched, so that "nobody measured"
//! never looks like "free".

use std::fmt::Write;

use super::{anchor, class, image, label, labelled};

/// A day of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Day {
    /// `2023-11-08`.
    pub date: String,
    /// Share of blocked votes, 0 to 1; `None` if nobody measured.
    pub share: Option<f64>,
}

const WIDTH: u32 = 760;
const HEIGHT: u32 = 180;
const LEFT: f64 = 36.0;
const TOP: f64 = 12.0;
const FLOOR: f64 = 150.0;

/// The chart; with no day at all, only its axes.
pub fn chart(days: &[Day]) -> String {
    let mut out = String::new();
    let width = f64::from(WIDTH) - LEFT - 4.0;
    let step = width / days.len().max(1) as f64;
    for (share, text) in [(0.0, "0%"), (0.5, "50%"), (1.0, "100%")] {
        label(&mut out, LEFT - 5.0, height_of(share) + 4.0, "end", text);
    }
    for (at, day) in days.iter().enumerate() {
        let x = LEFT + at as f64 * step;
        // Bars of many days touch each other.
        let gap = if step > 4.0 { 1.0 } else { 0.0 };
        let class = class(day.share);
        // A day without any blocked vote still shows that it was measured.
        let top = day.share.map_or(TOP, |share| height_of(share).min(FLOOR - 3.0));
        let (wide, high) = ((step - gap).max(0.5), FLOOR - top);
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\"/>"
        );
    }
    let _ = write!(out, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{FLOOR}H{}\"/>", WIDTH - 4);
    let last = days.len().saturating_sub(1);
    for at in labelled(days.len()) {
        if let Some(day) = days.get(at) {
            label(&mut out, LEFT + (at as f64 + 0.5) * step, FLOOR + 18.0, anchor(at, last), &day.date);
        }
    }
    image(WIDTH, HEIGHT, &out)
}

fn height_of(share: f64) -> f64 {
    FLOOR - share.clamp(0.0, 1.0) * (FLOOR - TOP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_that_nobody_measured_does_not_look_like_a_free_one() {
        let day = |share| Day { date: "2023-11-08".to_owned(), share };
        let image = chart(&[day(None), day(Some(0.0)), day(Some(0.9))]);
        for class in ["sx", "open", "blocked"] {
            assert_eq!(image.matches(&format!("<rect class=\"{class}\"")).count(), 1, "{image}");
        }
        assert!(chart(&[]).contains("axis"));
    }
}
