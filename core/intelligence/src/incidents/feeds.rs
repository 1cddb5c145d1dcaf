//! RSS 2.0 and Atom (RFC 4287): the 50 incidents that began last, newest first. The order of changes is left to the
//! delta, since in that order a year that is imported late would fill a feed.

use std::fmt::Write;

use super::body::IncidentBody;
use super::model::Incident;
use super::query::shown;
use super::tables::{CLOCK, Clock};
use crate::{Result, Timestamp};
use engine::actor::View;
use engine::documents::Rendered;
use facts::licence;

const ENTRIES: usize = 50;

const TITLE: &str = "Internet censorship and shutdown incidents";
const SUBTITLE: &str = "Measured and reported blocks, shutdowns and outages, with evidence.";

/// The content of a feed.
struct Feed {
    entries: Vec<Incident>,
    /// Time of the last change of any incident.
    changed: Timestamp,
    /// The strictest licence of the entries.
    licence: String,
}

fn latest(view: &View<'_>) -> Result<Feed> {
    let entries = shown(view, ENTRIES)?;
    let changed = CLOCK.get(view, &())?.map_or(view.now, |Clock(at)| at);
    let licence = licence::effective(entries.iter().map(|incident| incident.draft.licence.as_str()));
    Ok(Feed { entries, changed, licence })
}

/// Escapes text for use between tags or in an attribute. Characters that XML cannot contain are left out.
fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{FFFE}' | '\u{FFFF}' => {}
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => safe.push(c),
        }
    }
    safe
}

/// The text of an entry below its title.
fn summary(body: &IncidentBody) -> String {
    match body.written() {
        None => body.summary.clone(),
        Some(description) => format!("{} {description}", body.summary),
    }
}

fn categories(body: &IncidentBody) -> [&str; 3] {
    [&body.country_name, body.severity.as_str(), body.incident_type.as_str()]
}

/// A date in the form of RFC 822 with a four-digit year, as RSS requires.
fn rfc822(time: Timestamp) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = time.to_millis_text();
    let number = |range| text.get(range).and_then(|part: &str| part.parse::<usize>().ok()).unwrap_or(1);
    let weekday = DAYS.get(usize::try_from(time.day().rem_euclid(7)).unwrap_or(0)).unwrap_or(&"Thu");
    let month = MONTHS.get(number(5..7).saturating_sub(1)).unwrap_or(&"Jan");
    let clock = text.get(11..19).unwrap_or("00:00:00");
    format!("{weekday}, {:02} {month} {:04} {clock} GMT", number(8..10), number(0..4))
}

pub fn rss(view: &View<'_>) -> Result<Rendered> {
    let Feed { entries, changed, licence } = latest(view)?;
    let base = xml(&view.settings.base_url());
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\" \
         xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n<channel>\n<title>{TITLE}</title>\n<link>{base}/data/incidents</link>\n<description>{SUBTITLE}</description>\n\
         <language>en</language>\n<copyright>{}</copyright>\n<lastBuildDate>{}</lastBuildDate>\n<ttl>10</ttl>\n\
         <atom:link href=\"{base}/data/incidents/feed.rss\" rel=\"self\" type=\"application/rss+xml\"/>\n",
        xml(&licence),
        rfc822(changed)
    );
    for incident in &entries {
        let body = IncidentBody::new(incident, view.settings);
        // Writing to a String never fails.
        let _ = write!(
            out,
            "<item>\n<title>{}</title>\n<link>{}</link>\n<guid isPermaLink=\"false\">{}</guid>\n<pubDate>{}</pubDate>\n\
             <description>{}</description>\n<dc:rights>{}</dc:rights>\n",
            xml(&body.title),
            xml(&body.report_url),
            body.readable_id,
            rfc822(incident.updated),
            // Readers treat a description as HTML, so the text is escaped for HTML first.
            xml(&xml(&summary(&body))),
            xml(&body.license)
        );
        for category in categories(&body) {
            let _ = writeln!(out, "<category>{}</category>", xml(category));
        }
        out.push_str("</item>\n");
    }
    out.push_str("</channel>\n</rss>\n");
    Ok(Rendered { content_type: "application/rss+xml; charset=utf-8", body: out.into_bytes(), disposition: None })
}

pub fn atom(view: &View<'_>) -> Result<Rendered> {
    let Feed { entries, changed, licence } = latest(view)?;
    let base = xml(&view.settings.base_url());
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\">\n\
         <title>{TITLE}</title>\n<subtitle>{SUBTITLE}</subtitle>\n<id>{base}/data/incidents/feed.atom</id>\n\
         <updated>{}</updated>\n<rights>{}</rights>\n<author><name>Heliograph</name></author>\n\
         <link rel=\"self\" type=\"application/atom+xml\" href=\"{base}/data/incidents/feed.atom\"/>\n\
         <link rel=\"alternate\" type=\"application/json\" href=\"{base}/data/incidents\"/>\n",
        changed.to_micros_text(),
        xml(&licence)
    );
    for incident in &entries {
        let body = IncidentBody::new(incident, view.settings);
        let _ = write!(
            out,
            "<entry>\n<title>{}</title>\n<id>{}</id>\n<updated>{}</updated>\n<published>{}</published>\n\
             <link rel=\"alternate\" type=\"text/markdown\" href=\"{}\"/>\n<summary>{}</summary>\n<rights>{}</rights>\n",
            xml(&body.title),
            xml(&body.permalink),
            body.updated_at,
            incident.created.to_micros_text(),
            xml(&body.report_url),
            xml(&summary(&body)),
            xml(&body.license)
        );
        for category in categories(&body) {
            let _ = writeln!(out, "<category term=\"{}\"/>", xml(category));
        }
        out.push_str("</entry>\n");
    }
    out.push_str("</feed>\n");
    Ok(Rendered { content_type: "application/atom+xml; charset=utf-8", body: out.into_bytes(), disposition: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rss_wants_them() {
        let at = |text: &str| rfc822(Timestamp::parse(text).unwrap());
        assert_eq!(at("1970-01-01T00:00:00Z"), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(at("2023-11-08T11:46:09.5Z"), "Wed, 08 Nov 2023 11:46:09 GMT");
        assert_eq!(at("2024-02-29T23:59:59Z"), "Thu, 29 Feb 2024 23:59:59 GMT");
    }

    #[test]
    fn nothing_from_outside_is_markup() {
        assert_eq!(xml("<a href=\"x\">'&\u{0}\u{B}\u{FFFF}"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
    }
}
