//! Claims in words: "Telegram was blocked in Kenya in November 2023". What they state, and what the data say to it.
//!
//! `words` splits a sentence, `clauses` cuts it, and `parse` reads each `part`: where (`places`), what (`subjects`), by whom
//! (`networks`), when (`dates`, `relative`, `when`), whether (`stance`), and how, how long, how often and how far (`beyond`,
//! `hours`), by the lists and patterns of the `lexicon`; `slots` tells what is left over. `gather` judges a statement by what
//! `sources` say of it (`bearing`, `details`, `check`), `conclude` the claim as a whole, and `counts` what it counts; `reason`
//! says why, and `route` answers.

mod bearing;
mod beyond;
#[cfg(test)]
mod cases;
mod check;
mod clauses;
mod conclude;
mod counts;
mod dates;
mod details;
mod gather;
mod hours;
mod lexicon;
#[cfg(test)]
mod measured;
mod networks;
mod parse;
mod part;
mod places;
mod reason;
mod relative;
mod route;
mod slots;
mod sources;
mod stance;
mod subjects;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod verdicts;
mod when;
mod words;

pub use parse::parse;
pub use route::ROUTES;
pub use subjects::brand;

/// Codes of the countries that a text names, by name, adjective or city.
pub fn countries_named(text: &str) -> Vec<&'static str> {
    places::mentions(&words::split(text)).iter().map(|mention| mention.code).collect()
}

/// Items without those that are the same as an earlier one.
fn each_once<T>(items: impl IntoIterator<Item = T>, same: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    for item in items {
        if !all.iter().any(|known| same(known, &item)) {
            all.push(item);
        }
    }
    all
}
