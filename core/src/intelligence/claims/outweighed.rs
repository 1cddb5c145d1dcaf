//! Incidents that others report, of whose time measurements say the opposite: those of a moment are more than what was said
//! about it.

use super::gather::Period;
use crate::engine::runtime::{self, Runtime};
use crate::engine::time::DAY;
use crate::facts::subject::Subject;
use crate::intelligence::country::{History, State};
use crate::intelligence::incidents::{Incident, ReadableId};
use crate::{Result, Timestamp};

/// Of so many of the days that an incident and a claim have in common, measurements must say the opposite: a report speaks of
/// the others by itself. Our choice.
const SHARE: f64 = 0.5;
/// Most days that are looked at, the last ones.
const MOST_DAYS: i64 = 400;

/// Those of these incidents that measurements of the claimed time outweigh.
pub async fn outweighed(
    rt: &dyn Runtime,
    country: &str,
    subject: &Subject,
    incidents: &[Incident],
    period: Period,
) -> Result<Vec<ReadableId>> {
    let mut found = Vec::new();
    if subject.roles.is_empty() {
        return Ok(found);
    }
    for incident in incidents.iter().filter(|incident| incident.is_reported_alone()) {
        let from = incident.start().max(period.from);
        let to = incident.end().unwrap_or(period.to).min(period.to);
        if from <= to && are_clear(rt, country, subject, (from, to)).await? {
            found.push(incident.id.clone());
        }
    }
    Ok(found)
}

/// Whether enough days of a time were measured, and all of those clear.
async fn are_clear(
    rt: &dyn Runtime,
    country: &str,
    subject: &Subject,
    (from, to): (Timestamp, Timestamp),
) -> Result<bool> {
    let days = (to.day() - from.day() + 1).clamp(1, MOST_DAYS);
    // To the end of the last day: what was measured on it is as much of that day as the report.
    let at = Timestamp(to.day().saturating_add(1).saturating_mul(DAY)).plus(-1);
    let history = History { subject: subject.clone(), days: u32::try_from(days).unwrap_or(1), at: Some(at) };
    let measured = runtime::query(rt, country.to_owned(), &history).await?;
    let told = || measured.iter().filter(|day| day.votes > 0);
    let clear = told().filter(|day| day.status == State::Accessible).count();
    let blocked = told().any(|day| day.status == State::Blocked);
    // Days of a year and a bit need no more digits than a double has.
    Ok(!blocked && clear > 0 && clear as f64 >= SHARE * days as f64)
}
