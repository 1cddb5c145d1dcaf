//! Writes incidents in words: the title, one plain sentence with numbers, and what is not known (decision
//! plain-sentences-and-disputes).

use super::model::{Incident, IncidentType, Status};
use super::schedule;
use crate::Timestamp;
use crate::country::plain_date;
use crate::world;
use facts::starter::Platform;

/// The subject of an incident about connectivity itself.
pub const INTERNET: &str = "internet";

/// Abbreviations at the beginning of service names, whose capitals must stay.
const ABBREVIATIONS: [&str; 5] = ["VPN", "VPNs", "VoIP", "SMS", "IMO"];

/// The name of a subject for people.
pub fn label(subject: &str) -> String {
    match Platform::by_slug(subject) {
        Some(platform) => platform.label.to_owned(),
        None if subject.contains('.') => subject.to_owned(),
        None if subject.contains('/') => match Platform::by_key(subject) {
            Some((platform, role)) => format!("{} ({})", platform.label, role.name),
            None => subject.to_owned(),
        },
        None => {
            let name = crate::reference::label(subject);
            let (first, rest) = name.split_once(' ').unwrap_or((&name, ""));
            let known = ABBREVIATIONS.iter().find(|known| known.eq_ignore_ascii_case(first));
            known.map_or_else(|| name.clone(), |known| format!("{known} {rest}").trim_end().to_owned())
        }
    }
}

/// A method that slows a service down but leaves it reachable.
const THROTTLING: &str = "throttling";

/// What happened to the subject, as a past participle.
fn deed(incident: &Incident) -> &'static str {
    let throttled = incident.draft.methods.first().is_some_and(|method| method == THROTTLING);
    match (incident.draft.subject == INTERNET, incident.kind()) {
        (true, IncidentType::Disruption) => "disrupted",
        (true, _) if throttled => "throttled",
        // Somebody says that it was ordered. Other sources that saw it confirm the loss of connectivity.
        (true, _) => "shut down",
        (false, _) if throttled => "throttled",
        (false, IncidentType::Disruption) => "unreachable",
        (false, _) => "blocked",
    }
}

/// The operator's title, or one made from the subject, what happened, and the country.
pub fn title(incident: &Incident) -> String {
    if let Some(title) = &incident.overrides.title {
        return title.clone();
    }
    let (to_be, doubt) = match incident.status() {
        _ if incident.is_ahead() => ("to be ", " (announced)"),
        Status::Suspected => ("", " (suspected)"),
        _ => ("", ""),
    };
    format!("{} {to_be}{} in {}{doubt}", name(incident, "Internet").0, deed(incident), place(incident))
}

/// Services that are named one by one, at most.
const MOST_NAMED: usize = 3;

/// The name of the incident's subject, and whether it consists of several things. A report may name several services,
/// and none of them may stand for the others.
fn name(incident: &Incident, internet: &str) -> (String, bool) {
    let draft = &incident.draft;
    if draft.subject == INTERNET {
        return (internet.to_owned(), false);
    }
    // Where nothing was measured, the domains are those that reports name. Without a service, the incident is about its
    // domains.
    let sites = draft.services.is_empty();
    let told = sites || (incident.measured && draft.declared.is_none());
    // An incident with several subjects is also about sites that belong to none of its services.
    let several = incident.alone.is_some() || draft.unknown.start;
    let besides = |domain: &str| several && Platform::by_domain(domain).is_none();
    let domains = draft.domains.iter().filter(|domain| told || besides(domain));
    let others = draft.services.iter().chain(domains).filter(|service| **service != draft.subject);
    let mut names: Vec<String> = std::iter::once(&draft.subject).chain(others).map(|subject| label(subject)).collect();
    if names.len() > MOST_NAMED {
        let more = names.len() - (MOST_NAMED - 1);
        names.truncate(MOST_NAMED - 1);
        let of_sites = sites || (draft.unknown.start && !draft.domains.is_empty());
        names.push(format!("{more} more {}", if of_sites { "sites" } else { "services" }));
    }
    match names.pop() {
        Some(last) if !names.is_empty() => (format!("{} and {last}", names.join(", ")), true),
        last => (last.unwrap_or_default(), false),
    }
}

/// Countries whose names take an article, in addition to those that end in Islands or Republic.
const THE: [&str; 10] = ["AE", "BS", "CD", "GB", "GM", "KM", "MV", "NL", "PH", "US"];

/// The name of a country within a sentence.
fn in_words(code: &str) -> String {
    let name = world::name(code);
    let of_many = [" Islands", " Republic"].iter().any(|end| name.ends_with(end));
    if of_many || THE.contains(&code) { format!("the {name}") } else { name }
}

/// The country, with its areas when they are few.
fn place(incident: &Incident) -> String {
    let country = in_words(&incident.id.country);
    match incident.draft.areas.as_slice() {
        [] => country,
        areas @ ([_] | [_, _]) => format!("{country} ({})", areas.join(", ")),
        areas => format!("{country} ({} areas)", areas.len()),
    }
}

/// One sentence, such as "Telegram was blocked in Kenya on 3 of 7 networks, about 62% of their weight, from 8 Nov 2023
/// to 24 Nov 2023, weekdays 07-17 local time."
pub fn sentence(incident: &Incident) -> String {
    let draft = &incident.draft;
    let (name, several) = name(incident, "Internet access");
    let ended =
        incident.status() == Status::Resolved || incident.known_end().is_some_and(|end| end <= incident.updated);
    let was = match (ended, incident.status(), several) {
        _ if incident.is_ahead() && several => "are announced to be",
        _ if incident.is_ahead() => "is announced to be",
        (_, Status::Suspected, false) => "was possibly",
        (_, Status::Suspected, true) => "were possibly",
        (true, _, false) => "was",
        (true, _, true) => "were",
        (false, _, false) => "is",
        (false, _, true) => "are",
    };
    let mut text = format!("{name} {was} {} in {}", deed(incident), place(incident));
    let networks = draft.networks.len();
    if draft.networks_tested > 0 && networks > 0 {
        let of = u32::try_from(networks).unwrap_or(u32::MAX).max(draft.networks_tested);
        // Each site of a list is blocked on some of these networks.
        let (up_to, about) = if several && draft.unknown.start { ("up to ", "at most") } else { ("", "about") };
        text += &format!(" on {up_to}{networks} of {of} network{}", if of == 1 { "" } else { "s" });
        text += &format!(", {about} {:.0}% of their weight", draft.weight * 100.0);
    } else if networks > 0 {
        text += &format!(" on {networks} network{}", if networks == 1 { "" } else { "s" });
    }
    text += &span(incident, ended, several);
    if let Some(words) = &draft.schedule {
        text += &format!(", {}", schedule::local(words, &incident.id.country));
    }
    text + "."
}

/// The beginning and the end, as far as they are known: ", from 8 Nov 2023 to 24 Nov 2023".
fn span(incident: &Incident, ended: bool, several: bool) -> String {
    let start = plain_date(incident.start());
    let begun = match (incident.is_start_unknown(), several) {
        (true, true) => format!("before {start} or their first measurements"),
        (true, false) => format!("before {start}"),
        (false, _) => start.clone(),
    };
    let word = if incident.is_reported_alone() { "last reported to go on at" } else { "last seen" };
    let last = |at: Timestamp| format!("{word} {}", plain_date(at));
    let one_day = incident.end().is_some_and(|end| plain_date(end) == begun);
    match (incident.known_end(), incident.last_confirmed()) {
        (Some(_), _) if one_day => format!(", on {start}"),
        (Some(end), _) => format!(", from {begun} to {}", plain_date(end)),
        (None, Some(_)) if ended && one_day => format!(", on {start}; {END_NOT_KNOWN}"),
        (None, Some(at)) if ended => format!(", from {begun}, {}; {END_NOT_KNOWN}", last(at)),
        (None, Some(at)) => format!(", since {begun}, {}", last(at)),
        (None, None) if incident.is_ahead() => format!(", from {start} on"),
        (None, None) => format!(", since {begun}"),
    }
}

/// The end of a sentence about an incident that is over since an unknown time.
const END_NOT_KNOWN: &str = "when it ended is not known";

/// Sentences about what is not known of this incident.
pub fn not_known(incident: &Incident) -> Vec<String> {
    let draft = &incident.draft;
    let mut unknown = Vec::new();
    let mut say = |condition: bool, sentence: &str| {
        if condition {
            unknown.push(sentence.to_owned());
        }
    };
    say(incident.kind() == IncidentType::Disruption, "Whether anybody ordered the loss of connectivity is not known.");
    say(draft.occasion.is_none(), "Who ordered it and for what reason is not known from the data.");
    let ahead = incident.is_ahead();
    say(ahead, "It was announced and had not begun; whether it will happen is not known.");
    say(
        !ahead && incident.status() == Status::Suspected,
        "One source on one network saw it; nothing else confirms it yet.",
    );
    say(draft.sources.is_empty(), "No source is named.");
    say(
        draft.sources.len() == 1 && incident.status() != Status::Suspected,
        "Only one source reports it; no independent one confirms it.",
    );
    let goes_on = !ahead && incident.known_end().is_none() && incident.status() != Status::Resolved;
    let last = incident.last_confirmed().filter(|_| incident.is_reported_alone());
    let last = last.map(|at| format!(" It was last reported to go on at {}.", plain_date(at))).unwrap_or_default();
    say(goes_on, &format!("Whether it has ended is not known.{last}"));
    let (start, several) = (plain_date(incident.start()), name(incident, "").1);
    say(
        incident.is_start_unknown() && !several,
        &format!("When it began is not known: it was so before {start}, and nothing was measured earlier."),
    );
    say(
        incident.is_start_unknown() && several,
        &format!(
            "When each of them began is not known: the first was so before {start}, and each when it was first measured."
        ),
    );
    say(
        incident.end().is_some() && draft.declared.is_some() && draft.resolved.is_none() && draft.end == incident.end(),
        "It was not measured afterwards for long enough to be sure that it ended: the end is the last time it was seen.",
    );
    say(!goes_on && incident.is_end_unknown(), "When it ended is not known.");
    say(draft.networks_tested == 0, "How many networks it affected was not measured.");
    say(draft.networks_tested > 0, "Networks that nobody measured may be affected too.");
    say(draft.methods.is_empty(), "By which method it was done is not known.");
    unknown
}
