//! Isotonic regression by pooling adjacent violators: the non-decreasing step function nearest to the data.

/// A fitted step function: (least value of the score, probability), both rising.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Isotonic {
    steps: Vec<(f64, f64)>,
}

/// Fits (score, outcome, weight) in any order. Points with the same score become one point with their mean.
pub fn fit(points: impl IntoIterator<Item = (f64, f64, f64)>) -> Isotonic {
    let mut points: Vec<(f64, f64, f64)> = points.into_iter().collect();
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    // (least score, sum of weighted outcomes, weight)
    let mut blocks: Vec<(f64, f64, f64)> = Vec::new();
    for tied in points.chunk_by(|a, b| a.0 == b.0) {
        let mut block = tied.iter().fold((f64::INFINITY, 0.0, 0.0), |(least, sum, weight), (score, outcome, w)| {
            (score.min(least), sum + outcome * w, weight + w)
        });
        while let Some(last) = blocks.pop() {
            if last.1 * block.2 < block.1 * last.2 {
                blocks.push(last);
                break;
            }
            block = (last.0, last.1 + block.1, last.2 + block.2);
        }
        blocks.push(block);
    }
    Isotonic { steps: blocks.into_iter().map(|(score, sum, weight)| (score, sum / weight)).collect() }
}

impl Isotonic {
    /// The value at a score: that of the step it lies on, or of the first step for a score below all steps. 0 when
    /// nothing was fitted.
    pub fn value(&self, score: f64) -> f64 {
        let at = self.steps.partition_point(|(least, _)| *least <= score).saturating_sub(1);
        self.steps.get(at).map_or(0.0, |(_, value)| *value)
    }
}
