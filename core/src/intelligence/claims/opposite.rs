//! Details of a claim of which the data say the opposite: then the claim as a whole is contradicted (decision
//! claims-contradicted).

use super::beyond::Beyond;
use super::check::{Judgement, Verdict, Why};
use super::length::Length;
use super::reach::Fit;
use crate::Timestamp;
use crate::engine::time::DAY;
use crate::intelligence::incidents::Incident;

/// What is known of the details of a claim.
pub struct Known<'k> {
    /// The incidents of the claimed place and time.
    pub fitting: Vec<&'k Incident>,
    pub methods: &'k [&'k str],
    /// How far it reaches, where the claim says so.
    pub nationwide: Fit,
    pub networks: Fit,
    pub hours: Fit,
    /// Whether one of them began on the claimed days.
    pub begins: Fit,
    pub now: Timestamp,
}

impl Known<'_> {
    /// Whether the data say the opposite of a detail.
    pub fn opposes(&self, beyond: Beyond) -> bool {
        match beyond {
            Beyond::HowMany(_) => self.networks == Fit::Opposed,
            Beyond::Nationwide => self.nationwide == Fit::Opposed,
            Beyond::HowLong(length) => self.is_of_another_length(length),
            Beyond::Hours(_) => self.hours == Fit::Opposed,
            Beyond::Beginning => self.begins == Fit::Opposed,
            Beyond::Method(claimed) => claimed.are_opposed_by(self.methods),
            _ => false,
        }
    }

    /// Whether all that is known of it is over and took clearly longer or shorter, each by itself and all together.
    fn is_of_another_length(&self, claimed: Length) -> bool {
        let ended = |incident: &&Incident| {
            let end = incident.known_end().filter(|end| *end <= self.now && !incident.is_start_unknown());
            end.map(|end| (incident.start(), end))
        };
        let spans: Vec<(Timestamp, Timestamp)> = self.fitting.iter().filter_map(ended).collect();
        let (Some(first), Some(last)) = (spans.iter().map(|span| span.0).min(), spans.iter().map(|span| span.1).max())
        else {
            return false;
        };
        // Microseconds of centuries need no more digits than a double has.
        let days = |(start, end): (Timestamp, Timestamp)| (end.0 - start.0).max(0) as f64 / DAY as f64;
        // What comes and goes is shorter each time than all of it.
        let broken = |incident: &&Incident| incident.draft.pattern.is_some() || incident.draft.schedule.is_some();
        let longer = claimed.is_above(days((first, last)));
        let shorter = !self.fitting.iter().any(broken) && spans.iter().all(|span| claimed.is_below(days(*span)));
        spans.len() == self.fitting.len() && (longer || shorter)
    }
}

/// Whether a judgement rests on interference of which details may be compared.
pub const fn is_of_interference(judgement: Judgement) -> bool {
    let supported = matches!(judgement.verdict, Verdict::Confirmed | Verdict::Likely);
    supported || matches!(judgement.why, Why::Partly | Why::Doubtful | Why::Sporadic)
}
