//! The map of the world: each country in the colour of its index; without a score it is hatched.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::image;
use facts::starter;

/// Outlines of countries: Natural Earth, public domain. Crimea is drawn with Ukraine.
const TEXT: &str = include_str!("world.tsv");

/// Size of the map in its own units, as the table says.
pub fn size() -> (u32, u32) {
    let named = TEXT.lines().find_map(|line| line.split("viewBox 0 0 ").nth(1));
    let mut numbers =
        named.unwrap_or_default().split_whitespace().map(|text| text.trim_end_matches(['.', ',', ')']).parse());
    match (numbers.next(), numbers.next()) {
        (Some(Ok(width)), Some(Ok(height))) => (width, height),
        _ => (1920, 854),
    }
}

/// The map, given the scores of countries by their codes, 0 to 100.
pub fn map(scores: &BTreeMap<String, f64>) -> String {
    let mut out = String::with_capacity(TEXT.len() * 2);
    let (width, height) = size();
    for [code, path, mark] in starter::rows::<3>(TEXT) {
        let class = scores.get(code).map_or("sx", |score| class(*score));
        let _ = write!(out, "<path class=\"c {class}\" d=\"{path}\"/>");
        if let Some((x, y)) = mark.split_once(',') {
            let _ = write!(out, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"4\"/>");
        }
    }
    image(width, height, &out)
}

/// The five steps of the index: 0-19, 20-39, 40-59, 60-79, 80-100.
pub fn class(score: f64) -> &'static str {
    match score {
        ..20.0 => "s0",
        20.0..40.0 => "s1",
        40.0..60.0 => "s2",
        60.0..80.0 => "s3",
        _ => "s4",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_country_without_a_score_is_hatched_and_never_in_the_colour_of_a_free_one() {
        let scores = BTreeMap::from([("KE".to_owned(), 5.0), ("IR".to_owned(), 90.0)]);
        let map = map(&scores);
        assert_eq!((map.matches("\"c s0\"").count(), map.matches("\"c s4\"").count()), (1, 1));
        assert!(map.matches("\"c sx\"").count() > 200, "{}", map.matches("\"c sx\"").count());
        assert!(map.len() < 120_000, "{}", map.len());
    }
}
