//! RSS 2.0 and Atom (RFC 4287): the 50 incidents that began last, newest first, of all or of those about a country or a
//! site. The order of changes is left to the delta, since in that order a year that is imported late would fill a feed.
//! Entries lead to the pages of incidents.

use std::fmt::Write;

use super::body::{IncidentBody, page};
use super::model::Incident;
use super::query::shown;
use super::tables::{CLOCK, Clock};
use crate::{Result, Timestamp};
use engine::actor::View;
use engine::documents::Rendered;
use engine::settings::Settings;
use engine::xml::escaped as xml;
use facts::licence;

/// Incidents of a feed, at most.
pub const ENTRIES: u32 = 50;

const TITLE: &str = "Internet censorship and shutdown incidents";
const SUBTITLE: &str = "Measured and reported blocks, shutdowns and outages, with evidence.";

/// The format of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedFormat {
    Rss,
    Atom,
}

/// What a feed is about: a part of its title, and the query of its address. Both are empty for all incidents.
#[derive(Debug, Clone, Default)]
pub struct FeedAbout {
    pub title: String,
    pub query: String,
}

/// A feed.
struct Feed<'a> {
    settings: &'a Settings,
    about: &'a FeedAbout,
    entries: &'a [Incident],
    /// Time of the last change of any incident.
    changed: Timestamp,
}

/// The feed of all incidents.
pub fn latest(view: &View<'_>, format: FeedFormat) -> Result<Rendered> {
    let entries = shown(view, ENTRIES as usize)?;
    let changed = CLOCK.get(view, &())?.map_or(view.now, |Clock(at)| at);
    Ok(of(view.settings, format, &FeedAbout::default(), &entries, changed))
}

/// A feed of these incidents, which last changed at `changed`.
pub fn of(
    settings: &Settings,
    format: FeedFormat,
    about: &FeedAbout,
    entries: &[Incident],
    changed: Timestamp,
) -> Rendered {
    let feed = Feed { settings, about, entries, changed };
    let (content_type, body) = match format {
        FeedFormat::Rss => ("application/rss+xml; charset=utf-8", feed.rss()),
        FeedFormat::Atom => ("application/atom+xml; charset=utf-8", feed.atom()),
    };
    Rendered { content_type, body: body.into_bytes(), disposition: None }
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

impl Feed<'_> {
    fn title(&self) -> String {
        match self.about.title.as_str() {
            "" => TITLE.to_owned(),
            about => format!("{TITLE}: {}", xml(about)),
        }
    }

    /// The strictest licence of the entries.
    fn licence(&self) -> String {
        xml(&licence::effective(self.entries.iter().map(|incident| incident.draft.licence.as_str())))
    }

    /// An address of the interface about the same incidents.
    fn address(&self, path: &str) -> String {
        let mark = if self.about.query.is_empty() { "" } else { "?" };
        xml(&format!("{}{path}{mark}{}", self.settings.base_url(), self.about.query))
    }

    fn rss(&self) -> String {
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\" \
             xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n<channel>\n<title>{}</title>\n<link>{}</link>\n<description>{SUBTITLE}</description>\n\
             <language>en</language>\n<copyright>{}</copyright>\n<lastBuildDate>{}</lastBuildDate>\n<ttl>10</ttl>\n\
             <atom:link href=\"{}\" rel=\"self\" type=\"application/rss+xml\"/>\n",
            self.title(),
            xml(&format!("{}/incidents", self.settings.base_url())),
            self.licence(),
            self.changed.to_http_text(),
            self.address("/data/incidents/feed.rss"),
        );
        for incident in self.entries {
            let body = IncidentBody::new(incident, self.settings);
            // Writing to a String never fails.
            let _ = write!(
                out,
                "<item>\n<title>{}</title>\n<link>{}</link>\n<guid isPermaLink=\"false\">{}</guid>\n<pubDate>{}</pubDate>\n\
                 <description>{}</description>\n<dc:rights>{}</dc:rights>\n",
                xml(&body.title),
                xml(&page(incident, self.settings)),
                body.readable_id,
                incident.updated.to_http_text(),
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
        out
    }

    fn atom(&self) -> String {
        let itself = self.address("/data/incidents/feed.atom");
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\">\n\
             <title>{}</title>\n<subtitle>{SUBTITLE}</subtitle>\n<id>{itself}</id>\n\
             <updated>{}</updated>\n<rights>{}</rights>\n<author><name>Heliograph</name></author>\n\
             <link rel=\"self\" type=\"application/atom+xml\" href=\"{itself}\"/>\n\
             <link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n\
             <link rel=\"alternate\" type=\"application/json\" href=\"{}\"/>\n",
            self.title(),
            self.changed.to_micros_text(),
            self.licence(),
            xml(&format!("{}/incidents", self.settings.base_url())),
            self.address("/data/incidents"),
        );
        for incident in self.entries {
            let body = IncidentBody::new(incident, self.settings);
            let _ = write!(
                out,
                "<entry>\n<title>{}</title>\n<id>{}</id>\n<updated>{}</updated>\n<published>{}</published>\n\
                 <link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n\
                 <link rel=\"alternate\" type=\"text/markdown\" href=\"{}\"/>\n<summary>{}</summary>\n<rights>{}</rights>\n",
                xml(&body.title),
                xml(&body.permalink),
                body.updated_at,
                incident.created.to_micros_text(),
                xml(&page(incident, self.settings)),
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
        out
    }
}
