//! Reports to cite: markdown, BibTeX, RIS. Every text from outside is escaped for its format.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::body::{IncidentBody, permalink};
use super::model::{EvidenceRow, Incident};
use crate::Timestamp;
use engine::settings::Settings;
use engine::time::HOUR;

/// A format of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFormat {
    Markdown,
    Bibtex,
    Ris,
}

impl ReportFormat {
    pub fn parse(text: &str) -> Option<ReportFormat> {
        match text.to_ascii_lowercase().as_str() {
            "markdown" | "md" => Some(ReportFormat::Markdown),
            "bibtex" | "bib" => Some(ReportFormat::Bibtex),
            "ris" => Some(ReportFormat::Ris),
            _ => None,
        }
    }

    pub const fn content_type(self) -> &'static str {
        match self {
            ReportFormat::Markdown => "text/markdown; charset=utf-8",
            ReportFormat::Bibtex => "application/x-bibtex; charset=utf-8",
            ReportFormat::Ris => "application/x-research-info-systems; charset=utf-8",
        }
    }
}

/// The report of one version of an incident.
pub fn report(format: ReportFormat, incident: &Incident, evidence: &[EvidenceRow], settings: &Settings) -> String {
    let body = IncidentBody::new(incident, settings);
    match format {
        ReportFormat::Markdown => markdown(incident, &body, evidence, settings),
        ReportFormat::Bibtex => bibtex(&body, settings),
        ReportFormat::Ris => ris(&body, settings),
    }
}

/// The publisher: the host of the service, or the name of the software while it has no public address.
fn publisher(settings: &Settings) -> String {
    let url = settings.base_url();
    let host = url.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let local = matches!(name, "" | "localhost" | "127.0.0.1" | "0.0.0.0" | "[::1]" | "[::]");
    if local { "Heliograph".to_owned() } else { host.to_owned() }
}

fn date(time: &str) -> &str {
    time.get(..10).unwrap_or(time)
}

/// Escapes text for one line of markdown, so that nothing in it formats, links or opens a tag. Line ends become spaces.
fn md(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => {
                safe.push('\\');
                safe.push(c);
            }
            // At the beginning of a line these would begin headings, lists and quotations.
            '#' | '+' | '-' | '=' | '>' if safe.is_empty() => {
                safe.push('\\');
                safe.push(c);
            }
            '.' | ')' if !safe.is_empty() && safe.bytes().all(|byte| byte.is_ascii_digit()) => {
                safe.push('\\');
                safe.push(c);
            }
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            // Without the colon there is no automatic link.
            ':' if safe.ends_with("http") || safe.ends_with("https") => safe.push_str("&#58;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// When something became known, and how long after it happened (decision incident-dates).
fn delay(known: Option<Timestamp>, since: Timestamp, what: &str) -> String {
    let hours = |at: Timestamp| at.since(since).max(0) / HOUR;
    known
        .map_or_else(|| "-".to_owned(), |at| format!("{}, {} hours after the {what}", date(&at.to_string()), hours(at)))
}

fn list(items: &[String]) -> String {
    match items {
        [] => "none known".to_owned(),
        items => items.iter().map(|item| md(item)).collect::<Vec<_>>().join(", "),
    }
}

/// An address in angle brackets. Unsafe characters are dropped; addresses with such characters were refused earlier.
fn link(url: &str) -> String {
    let safe = |c: char| c.is_ascii_graphic() && !matches!(c, '<' | '>' | '"' | '`' | '\\');
    format!("<{}>", url.chars().filter(|c| safe(*c)).collect::<String>())
}

fn markdown(incident: &Incident, body: &IncidentBody, evidence: &[EvidenceRow], settings: &Settings) -> String {
    let mut out = String::new();
    // Writing to a String never fails.
    let _ = write!(out, "# {} ({})\n\n{}\n\n", md(&body.title), body.readable_id, md(&body.summary));
    if let Some(reason) = &body.retracted {
        let _ = write!(out, "**Withdrawn:** {}\n\n", md(reason));
    }
    if let Some(into) = &body.merged_into {
        let _ = write!(out, "**Now a part of {into}.**\n\n");
    }
    facts(&mut out, incident, body);
    if let Some(written) = body.written() {
        let paragraphs: Vec<String> = written.split("\n\n").map(md).collect();
        let _ = write!(out, "\n## Description\n\n{}\n", paragraphs.join("\n\n"));
    }
    let _ = write!(
        out,
        "\n## Affected\n\n- Services: {}\n- Domains: {}\n- Networks: {}\n",
        list(&body.affected_services),
        list(&body.affected_domains),
        list(&body.affected_asns)
    );
    let _ = write!(out, "\n## Methods\n\n{}\n", list(&body.blocking_methods));
    out.push_str("\n## What is not known\n\n");
    for sentence in &body.not_known {
        let _ = writeln!(out, "- {}", md(sentence));
    }
    listed_evidence(&mut out, body, evidence);
    let cited = format!("{}?version={}", permalink(incident, settings), incident.version);
    let _ = write!(
        out,
        "\n## Citation\n\n{} ({}): {}. Incident {}, version {}. {}\n",
        md(&publisher(settings)),
        year(body),
        md(&body.title),
        body.readable_id,
        body.version,
        link(&cited)
    );
    let _ = write!(out, "\n## License\n\n{}\n", md(&body.license));
    out
}

/// The table of facts at the top of a report.
fn facts(out: &mut String, incident: &Incident, body: &IncidentBody) {
    let ended = match (body.end_time.as_deref(), body.last_confirmed_at.as_deref()) {
        (Some(end), None) => date(end).to_owned(),
        (Some(_), Some(last)) => format!("not known; last reported {}", date(last)),
        (None, Some(last)) if body.end_unknown => format!("not known to have ended; last reported {}", date(last)),
        (None, _) => "not known to have ended".to_owned(),
    };
    let (started, first) = match body.start_unknown {
        true => (format!("not known; before {}", date(&body.start_time)), "first blocked vote"),
        false => (date(&body.start_time).to_owned(), "start"),
    };
    let percent = format!("{:.0}%", body.confidence * 100.0);
    let networks = match body.networks_tested {
        // Others reported the incident, and some of them name networks.
        0 if body.networks_blocked == 0 => "not measured".to_owned(),
        0 => body.networks_blocked.to_string(),
        tested => format!("{} of {tested}", body.networks_blocked),
    };
    let rows = [
        ("Country", format!("{} ({})", md(&body.country_name), body.country)),
        ("Type", body.incident_type.as_str().to_owned()),
        ("Severity", body.severity.as_str().to_owned()),
        ("Status", body.status.as_str().to_owned()),
        ("Confidence", percent),
        ("Start", started),
        ("End", ended),
        ("Known to have begun", delay(incident.draft.declared, incident.start(), first)),
        ("Known to be over", delay(incident.draft.resolved, incident.end().unwrap_or(incident.start()), "end")),
        ("Networks affected", networks),
        (
            "Measurements",
            if body.measurement_count == 0 { "none".to_owned() } else { body.measurement_count.to_string() },
        ),
        ("Sources", list(&body.sources)),
        ("Citable as censorship", if body.citable { "yes" } else { "no" }.to_owned()),
        ("Version", format!("{} of {}", body.version, date(&body.updated_at))),
    ];
    out.push_str("| | |\n|---|---|\n");
    for (name, value) in rows {
        let _ = writeln!(out, "| {name} | {value} |");
    }
}

fn listed_evidence(out: &mut String, body: &IncidentBody, evidence: &[EvidenceRow]) {
    // A measurement may be about several sites; its page is listed once.
    let mut pages = BTreeSet::new();
    let listed: Vec<_> =
        evidence.iter().filter(|row| row.permalink.as_ref().is_none_or(|page| pages.insert(page))).collect();
    let _ = write!(out, "\n## Evidence ({} of {})\n\n", listed.len(), body.evidence_count.max(listed.len() as u64));
    for row in listed {
        let place = row.permalink.as_deref().map_or_else(|| md(&row.source_ref), link);
        let _ = writeln!(
            out,
            "- {} · {} · {} · {place} · {}",
            date(&row.observed_at.to_string()),
            md(&row.source),
            md(&row.kind),
            md(&row.licence)
        );
    }
}

/// What a person who cites the incident must know first: that it was withdrawn, or that it was merged into another
/// incident.
fn standing(body: &IncidentBody) -> Option<String> {
    let withdrawn = body.retracted.as_ref().map(|reason| format!("Withdrawn: {}.", reason.trim_end_matches('.')));
    let merged = || body.merged_into.as_ref().map(|into| format!("Now a part of {into}."));
    withdrawn.or_else(merged)
}

/// Escapes text for a BibTeX value in braces: braces balance, and nothing is a command.
fn tex(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => safe.push_str("\\textbackslash{}"),
            // BibTeX counts escaped braces too, so commands stand for them.
            '{' => safe.push_str("\\textbraceleft{}"),
            '}' => safe.push_str("\\textbraceright{}"),
            '~' => safe.push_str("\\textasciitilde{}"),
            '^' => safe.push_str("\\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' => {
                safe.push('\\');
                safe.push(c);
            }
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// The year in citations, which is the year of the event in every format.
fn year(body: &IncidentBody) -> &str {
    body.start_time.get(..4).unwrap_or_default()
}

/// The title is in two pairs of braces, because styles remove capitals inside a single pair.
fn bibtex(body: &IncidentBody, settings: &Settings) -> String {
    let year = year(body);
    let month = body.start_time.get(5..7).unwrap_or_default();
    // The address contains no braces and no backslashes, since it is made from an id and the operator's own address.
    let url = body.citation_url.replace(['{', '}', '\\'], "");
    format!(
        "@misc{{heliograph-{},\n  title = {{{{{}}}}},\n  author = {{{{{}}}}},\n  year = {{{year}}},\n  month = {{{month}}},\n  \
         howpublished = {{\\url{{{url}}}}},\n  url = {{{url}}},\n  note = {{{}Incident {}, version {}, {}. {}}},\n  \
         license = {{{}}}\n}}\n",
        body.readable_id,
        tex(&body.title),
        tex(&publisher(settings)),
        standing(body).map_or_else(String::new, |standing| format!("{} ", tex(&standing))),
        body.readable_id,
        body.version,
        tex(&body.country_name),
        tex(&body.summary),
        tex(&body.license),
    )
}

/// The value of a RIS line. It must be a single line, since a line end would begin another tag.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c }).collect()
}

fn ris(body: &IncidentBody, settings: &Settings) -> String {
    let day = |time: &str| date(time).replace('-', "/");
    let mut out = String::from("TY  - ELEC\r\n");
    let mut tag = |name: &str, value: &str| {
        let _ = write!(out, "{name}  - {}\r\n", line(value));
    };
    tag("TI", &body.title);
    tag("AU", &publisher(settings));
    tag("PY", year(body));
    tag("DA", &day(&body.start_time));
    tag("Y2", &day(&body.updated_at));
    tag("AB", &body.summary);
    tag("CY", &body.country_name);
    tag("ID", &body.readable_id);
    tag("UR", &body.citation_url);
    if let Some(standing) = standing(body) {
        tag("N1", &standing);
    }
    tag("N1", &format!("Version {}; license {}", body.version, body.license));
    for word in [body.country_name.as_str(), body.incident_type.as_str(), body.severity.as_str()]
        .into_iter()
        .chain(body.affected_services.iter().map(String::as_str))
        .chain(body.affected_domains.iter().map(String::as_str))
    {
        tag("KW", word);
    }
    out + "ER  - \r\n"
}

#[cfg(test)]
mod tests {
    use super::tex;

    /// BibTeX counts escaped braces too.
    #[test]
    fn braces_of_a_bibtex_value_balance_whatever_stands_in_the_text() {
        for text in ["}", "{", "a } b { c", "\\{", "{{}", "~^&%$#_\\"] {
            let safe = tex(text);
            let count = |brace: char| safe.matches(brace).count();
            assert_eq!(count('{'), count('}'), "{safe}");
            let mut depth = 0;
            for c in safe.chars() {
                depth += i32::from(c == '{') - i32::from(c == '}');
                assert!(depth >= 0, "{safe}");
            }
        }
        assert_eq!(tex("a } b"), "a \\textbraceright{} b");
    }
}
