//! Claims in words: "Telegram was blocked in Kenya in November 2023". What they state, and what the data say to it.
//!
//! | Module | What |
//! |---|---|
//! | `words` | a sentence as words; phrases found in it |
//! | `years` | years in words |
//! | `places` | the country: names, adjectives, inhabitants, cities |
//! | `subjects` | platforms, brands, domains, connectivity as a whole |
//! | `dates` | dates as they are written |
//! | `months` | months by name |
//! | `feasts` | days that have a name |
//! | `unreadable` | figures that look like a date and are none |
//! | `relative` | times counted from today |
//! | `length` | how long it was so |
//! | `later` | times counted from those of the clause before |
//! | `times` | dates and times where a sentence names them, and how the words around mean them |
//! | `when` | the days and spans of days that a clause means |
//! | `stance` | blocked, slowed, cut off, reachable, over |
//! | `means` | what is reached only by a way around a block |
//! | `networks` | the network that a sentence names, by number or by name |
//! | `senses` | what the words of a sentence say |
//! | `lexicon` | the words that say so, and all other lists of words |
//! | `measures` | what is done to a service, by name |
//! | `objects` | what is blocked and is no service |
//! | `ahead` | what is only supposed |
//! | `clauses` | where a sentence says several things |
//! | `complete` | what a clause leaves to the others |
//! | `part` | what a part of a sentence says by itself |
//! | `parse` | all of it together |
//! | `aside` | who reports it, and what people get around a block with |
//! | `bearing` | which incidents are of the claimed place and time |
//! | `beyond` | details that the record may bear out or speak against |
//! | `shares` | on how many networks it says so |
//! | `causes` | for what occasions it says so |
//! | `method` | by which method |
//! | `opposite` | details of which the data say the opposite |
//! | `reach` | in how much of a country |
//! | `slots` | what of a claim is in no slot: left over |
//! | `hours` | at what hours and on which days of the week it says so |
//! | `counts` | what it counts and compares, against the rows of a table |
//! | `recorded` | the incidents of its service, country and period |
//! | `outweighed` | which of them measurements say the opposite of |
//! | `gather` | what measurements, lists and incidents say |
//! | `on_network` | what measurements say of one network |
//! | `platforms` | what measurements of platforms say of social media |
//! | `findings` | what was found, and what of it decides |
//! | `check` | the verdict |
//! | `conclude` | the verdict on the claim as a whole |
//! | `reason` | why, in one sentence |
//! | `route` | the endpoint |

mod ahead;
mod aside;
mod bearing;
mod beyond;
#[cfg(test)]
mod cases;
mod causes;
mod check;
mod clauses;
mod complete;
mod conclude;
mod counts;
mod dates;
mod feasts;
mod findings;
mod gather;
mod hours;
mod later;
mod length;
mod lexicon;
mod means;
#[cfg(test)]
mod measured;
mod measures;
mod method;
mod months;
mod networks;
mod objects;
mod on_network;
mod opposite;
mod outweighed;
mod parse;
mod part;
mod places;
mod platforms;
mod reach;
mod reason;
mod recorded;
mod relative;
mod route;
mod senses;
mod shares;
mod slots;
mod stance;
mod subjects;
#[cfg(test)]
mod tests;
mod times;
mod unreadable;
#[cfg(test)]
mod verdicts;
mod when;
mod words;
mod years;

pub use parse::parse;
pub use route::ROUTES;
pub use subjects::brand;

/// Codes of the countries that a text names, by name, adjective or city.
pub fn countries_named(text: &str) -> Vec<&'static str> {
    places::mentions(&words::split(text)).iter().map(|mention| mention.code).collect()
}
