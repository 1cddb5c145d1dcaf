//! Networks by days: a cell for each network and day.

use std::fmt::Write;

use super::{anchor, class, image, label, labelled};

/// A network of a chart: its number, and the share of blocked votes of each day (`None`: nobody measured).
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub name: String,
    pub shares: Vec<Option<f64>>,
}

const WIDTH: u32 = 760;
const LEFT: f64 = 84.0;
const CELL: f64 = 16.0;

/// The chart of these networks over these days.
pub fn chart(days: &[String], rows: &[Row]) -> String {
    let mut out = String::new();
    let step = (f64::from(WIDTH) - LEFT - 4.0) / days.len().max(1) as f64;
    for (at, row) in rows.iter().enumerate() {
        let y = 4.0 + at as f64 * CELL;
        label(&mut out, LEFT - 6.0, y + 11.0, "end", &row.name);
        for (day, share) in row.shares.iter().enumerate() {
            let class = class(*share);
            let x = LEFT + day as f64 * step;
            let wide = (step - if step > 4.0 { 1.0 } else { 0.0 }).max(0.5);
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{}\"/>",
                CELL - 2.0
            );
        }
    }
    let floor = 4.0 + rows.len() as f64 * CELL;
    let last = days.len().saturating_sub(1);
    for at in labelled(days.len()) {
        if let Some(day) = days.get(at) {
            label(&mut out, LEFT + (at as f64 + 0.5) * step, floor + 14.0, anchor(at, last), day);
        }
    }
    let height = floor as u32 + 22;
    image(WIDTH, height, &out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_has_a_cell_for_every_day() {
        let days: Vec<String> = ["2023-11-08", "2023-11-09"].map(str::to_owned).to_vec();
        let rows = [Row { name: "AS33771".to_owned(), shares: vec![Some(1.0), None] }];
        let image = chart(&days, &rows);
        assert_eq!(
            (image.matches("class=\"blocked\"").count(), image.matches("class=\"sx\"").count()),
            (1, 1),
            "{image}"
        );
    }
}
