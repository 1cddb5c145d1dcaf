//! Whether a block began while somebody looked, or was there when the data begin.

use super::merge::{Found, Series};
use super::series::Span;

/// Whether one of the networks that take part had a clear vote on one of the blocked series before the first blocked vote of
/// all: otherwise nobody knows when it began.
pub fn is_seen(found: &Found, series: &[Series]) -> bool {
    let blocked = series.iter().filter(|series| found.targets.contains(&series.key));
    let mut spans = blocked.flat_map(|series| &series.blocks).flat_map(|block| &block.spans);
    let takes_part = |asn: u32| found.networks.iter().any(|network| network.asn == asn);
    spans.any(|span| takes_part(span.asn) && is_clear_before(span, found.start))
}

/// Whether a network has a clear vote before an hour. Days whose hours are not kept lie before it only as a whole.
fn is_clear_before(span: &Span, hour: i64) -> bool {
    let hours = span.hours.iter().any(|count| count.hour < hour && count.clear > 0);
    let day = hour.div_euclid(24);
    let mut days = span.days.iter().filter(|_| span.hours.is_empty());
    hours || days.any(|count| i64::from(count.day) < day && count.votes > count.blocked)
}
