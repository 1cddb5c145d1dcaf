//! The incidents of a claim: of its service by all names that it has, in its country and period.

use super::gather::Period;
use super::subjects::{SOCIAL, SOCIAL_MEDIA, Topic};
use crate::engine::runtime::{self, Runtime};
use crate::engine::time::DAY;
use crate::intelligence::incidents::{self, Filter, Incident, Select};
use crate::{Result, engine::small_sort};

/// A claim about now looks for incidents that ended so lately: that they ended is known of now. Our choice.
const LATELY: i64 = 7 * DAY;
/// Most incidents that an answer lists.
pub const MOST_INCIDENTS: u32 = 10;

/// The incidents of a period; for a claim about now those too of which it is known that they ended lately.
pub async fn lately(rt: &dyn Runtime, country: &str, topic: &Topic, period: Period) -> Result<Vec<Incident>> {
    let Some(since) = period.since.filter(|_| period.is_now) else {
        return incidents_of(rt, country, topic, period).await;
    };
    let longer = Period { since: Some(period.to.plus(-LATELY)), ..period };
    let mut found = incidents_of(rt, country, topic, longer).await?;
    found.retain(|incident| !incident.is_end_unknown() || incident.end().is_none_or(|end| end >= since));
    Ok(found)
}

/// Incidents know a host of a platform by the platform's name as well, and a site by its domain or its name.
pub async fn incidents_of(rt: &dyn Runtime, country: &str, topic: &Topic, period: Period) -> Result<Vec<Incident>> {
    if topic.name() == SOCIAL_MEDIA {
        return social(rt, country, period).await;
    }
    named(rt, country, topic.names(), period).await
}

/// Those of social media as a whole, and those of two platforms or more.
async fn social(rt: &dyn Runtime, country: &str, period: Period) -> Result<Vec<Incident>> {
    let names = [SOCIAL_MEDIA, "social_media", "social media services"]
        .into_iter()
        .chain(SOCIAL.iter().copied())
        .map(str::to_owned);
    let mut found = named(rt, country, names.collect(), period).await?;
    found.retain(|incident| {
        let draft = &incident.draft;
        let names = || draft.services.iter().chain([&draft.subject]);
        let platforms = SOCIAL.iter().filter(|platform| names().any(|name| name == *platform)).count();
        platforms > 1 || names().any(|name| name.starts_with("social"))
    });
    small_sort::sort_by_key(&mut found, |incident| std::cmp::Reverse(incident.start()));
    Ok(found)
}

/// Incidents of a subject by all its names, each once.
async fn named(rt: &dyn Runtime, country: &str, names: Vec<String>, period: Period) -> Result<Vec<Incident>> {
    let mut found: Vec<Incident> = Vec::new();
    for name in names {
        let filter = Filter {
            country: Some(country.to_owned()),
            subject: Some(name),
            since: period.since,
            until: Some(period.to),
            ..Filter::default()
        };
        let select = Select { filter, offset: 0, limit: MOST_INCIDENTS };
        for incident in runtime::query(rt, incidents::actor().name, &select).await?.incidents {
            if !found.iter().any(|known| known.id == incident.id) {
                found.push(incident);
            }
        }
    }
    Ok(found)
}
