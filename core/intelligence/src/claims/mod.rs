//! Claims in words: "Telegram was blocked in Kenya in November 2023". What they state, and what the data say to it.
//!
//! `words` splits a sentence, `clauses` cuts it, and `parse` reads each `part`: where (`places`), what (`subjects`), by
//! whom (`networks`), when (`dates`, `relative`, `when`), whether (`stance`), and how, how long, how often and how far
//! (`beyond`, `hours`), by the lists and patterns of the `lexicon`; `slots` tells what is left over. `gather` judges a
//! statement by what `sources` say of it (`bearing`, `details`), `check` each part and the claim as a whole, and
//! `counts` what it counts; `reason` says why, and `route` answers.

mod bearing;
mod beyond;
#[cfg(test)]
mod cases;
mod check;
mod clauses;
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

use std::ops::Range;
use std::sync::LazyLock;

// What the parts share: each takes it from here.
use bearing::Bearing;
use beyond::{Beyond, ENOUGH, Length, Share};
use check::{Conclusion, Core, DOUBTFUL, Findings, Judgement, Verdict, Why, judge};
use clauses::{Link, Mood, Piece};
use counts::Counting;
use dates::{Written, YEARS, quantity, weekday};
use details::Fit;
use gather::{BlockedOfDecided, CheckedClaim, Claimed, Period};
use hours::{Hours, hours};
use lexicon::PatternMatch;
use networks::Network;
use parse::{Claim, Reading, Sentence};
use part::Part;
use places::{Area, How, Mention};
use relative::{Later, days_counted, later};
use sources::{DatedDetection, OnNetwork, TimedFindings};
use stance::{ClauseStance, Kind, Sense, Stance, meanings};
use subjects::{NamedTopic, SOCIAL_MEDIA, Topic};
use when::{Span, When};
use words::{Name, Pause, Phrases, Reader, Word, split, stem};

use crate::country::{CountMeasurements, Detection, NetworkAnswer, State};
use crate::incidents::{self, INTERNET, Incident};
use crate::reference;
use crate::{Error, Result, Timestamp};
use engine::number::round;
use engine::runtime::{self, Runtime};
use engine::time::{DAY, Date};
use facts::brands;
use facts::starter::{self, Country, Platform};
use facts::subject::Subject;
use facts::tracked::Tracked;

pub use parse::parse;
pub use route::ROUTES;

/// Codes of the countries that a text names, by name, adjective or city.
pub fn countries_named(text: &str) -> Vec<&'static str> {
    places::mentions(&split(text)).iter().map(|mention| mention.code).collect()
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
