//! The score of a country over time, with its incidents behind it.

use std::fmt::Write;

use super::{anchor, image, label, labelled};

/// A day: its score, 0 to 100 (`None`: too little was measured), and the number of incidents of that day.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub date: String,
    pub score: Option<f64>,
    pub incidents: u64,
}

const WIDTH: u32 = 760;
const HEIGHT: u32 = 190;
const LEFT: f64 = 36.0;
const TOP: f64 = 10.0;
const FLOOR: f64 = 155.0;

pub fn chart(points: &[Point]) -> String {
    let mut out = String::new();
    let step = (f64::from(WIDTH) - LEFT - 4.0) / points.len().max(1) as f64;
    let x = |at: usize| LEFT + (at as f64 + 0.5) * step;
    for score in [0.0, 50.0, 100.0] {
        label(&mut out, LEFT - 5.0, height_of(score) + 4.0, "end", &format!("{score:.0}"));
    }
    for (at, point) in points.iter().enumerate() {
        let left = LEFT + at as f64 * step;
        let class = match (point.score, point.incidents) {
            (_, 1..) => "mark",
            (None, 0) => "sx",
            (Some(_), 0) => continue,
        };
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{TOP}\" width=\"{step:.1}\" height=\"{}\"/>",
            FLOOR - TOP
        );
        if point.incidents > 0 {
            let _ = write!(out, "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2\"/>", x(at), TOP + 4.0);
        }
    }
    let mut path = String::new();
    let mut goes_on = false;
    for (at, point) in points.iter().enumerate() {
        if let Some(score) = point.score {
            let command = if goes_on { 'L' } else { 'M' };
            let _ = write!(path, "{command}{:.1} {:.1}", x(at), height_of(score));
        }
        goes_on = point.score.is_some();
    }
    let _ = write!(out, "<path class=\"line\" stroke-linecap=\"round\" d=\"{path}\"/>");
    let _ = write!(out, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{FLOOR}H{}\"/>", WIDTH - 4);
    let last = points.len().saturating_sub(1);
    for at in labelled(points.len()) {
        if let Some(point) = points.get(at) {
            label(&mut out, x(at), FLOOR + 18.0, anchor(at, last), &point.date);
        }
    }
    image(WIDTH, HEIGHT, &out)
}

fn height_of(score: f64) -> f64 {
    FLOOR - score.clamp(0.0, 100.0) / 100.0 * (FLOOR - TOP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_broken_where_nothing_is_known() {
        let point = |score| Point { date: "2023-11-08".to_owned(), score, incidents: 0 };
        let image = chart(&[point(Some(10.0)), point(None), point(Some(20.0)), point(Some(30.0))]);
        let path = image.split("class=\"line\"").nth(1).unwrap();
        let path = path.split("d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1), "{path}");
    }
}
