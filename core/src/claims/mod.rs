//! Claims in words: "Telegram was blocked in Kenya in November 2023". What they state, and what the data say to it.
//!
//! | Module | What |
//! |---|---|
//! | `words` | a sentence as words; phrases found in it |
//! | `places` | the country: names, adjectives, inhabitants, cities |
//! | `subjects` | platforms, brands, domains, connectivity as a whole |
//! | `dates` | dates as they are written |
//! | `relative` | times counted from today |
//! | `when` | the days and spans of days that a sentence means |
//! | `stance` | blocked, slowed, cut off, reachable, over |
//! | `senses` | the words that say so |
//! | `clauses` | where a sentence says several things |
//! | `parse` | all of it together |
//! | `bearing` | which incidents are of the claimed place and time |
//! | `gather` | what measurements, lists and incidents say |
//! | `check` | the verdict |
//! | `reason` | why, in one sentence |
//! | `route` | the endpoint |

mod bearing;
mod check;
mod clauses;
mod dates;
mod gather;
mod parse;
mod places;
mod reason;
mod relative;
mod route;
mod senses;
mod stance;
mod subjects;
mod when;
mod words;

pub use route::ROUTES;
pub use subjects::brand;

/// Codes of the countries that a text names, by name, adjective or city.
pub fn countries_named(text: &str) -> Vec<&'static str> {
    places::mentions(&words::split(text)).iter().map(|mention| mention.code).collect()
}
