//! Writes incidents in words: the title, one plain sentence with numbers, and what is not known (decision
//! plain-sentences-and-disputes).

use super::model::{Incident, IncidentType, Status};
use super::past::REPORT_STANDS;
use super::schedule;
use facts::sentence::Sentence;
use facts::starter::Platform;

/// The subject of an incident about connectivity itself.
pub const INTERNET: &str = "internet";

/// A method that slows a service down but leaves it reachable.
const THROTTLING: &str = "throttling";

/// What happened to the subject.
fn deed(incident: &Incident) -> &'static str {
    let throttled = incident.draft.methods.first().is_some_and(|method| method == THROTTLING);
    match (incident.draft.subject == INTERNET, incident.kind()) {
        (true, IncidentType::Disruption) => "disrupted",
        (true, _) if throttled => "throttled",
        // Somebody says that it was ordered. Other sources that saw it confirm the loss of connectivity.
        (true, _) => "shut_down",
        (false, _) if throttled => "throttled",
        (false, IncidentType::Disruption) => "unreachable",
        (false, _) => "blocked",
    }
}

/// What is said of its time: it is announced, only suspected, over, or goes on.
fn tense(incident: &Incident) -> &'static str {
    match incident.status() {
        _ if incident.is_ahead() => "ahead",
        Status::Suspected => "suspected",
        _ if is_over(incident) => "over",
        _ => "now",
    }
}

fn is_over(incident: &Incident) -> bool {
    // A suspicion keeps its status, but after so long nobody can say that what was suspected goes on.
    let last = incident.last_confirmed().filter(|_| incident.is_end_unknown());
    let silent = last.is_some_and(|last| last.plus(REPORT_STANDS) <= incident.updated);
    let ended = incident.known_end().is_some_and(|end| end <= incident.updated);
    incident.status() == Status::Resolved || ended || silent
}

/// The operator's title, or one made from the subject, what happened, and the country.
pub fn title(incident: &Incident) -> String {
    incident.overrides.title.clone().unwrap_or_else(|| made_title(incident).english())
}

/// The title as a sentence, unless an operator wrote one.
pub fn title_made(incident: &Incident) -> Option<Sentence> {
    incident.overrides.title.is_none().then(|| made_title(incident))
}

fn made_title(incident: &Incident) -> Sentence {
    let (what, _) = name(incident, Sentence::new("what.internet"));
    let title = Sentence::new("incident.title").with("what", what).with("deed", deed(incident));
    placed(title.with("tense", tense(incident)), incident)
}

/// Services that are named one by one, at most.
const MOST_NAMED: usize = 3;

/// The name of the incident's subject, and whether it consists of several things. A report may name several services,
/// and none of them may stand for the others.
fn name(incident: &Incident, internet: Sentence) -> (Sentence, bool) {
    let draft = &incident.draft;
    if draft.subject == INTERNET {
        return (internet, false);
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
    let mut subjects: Vec<String> = std::iter::once(&draft.subject).chain(others).cloned().collect();
    let named = subjects.len();
    if named > MOST_NAMED {
        subjects.truncate(MOST_NAMED - 1);
        let of_sites = sites || (draft.unknown.start && !draft.domains.is_empty());
        let more = Sentence::new("what.more").with("subjects", subjects).with("more", named + 1 - MOST_NAMED);
        return (more.with("of", if of_sites { "sites" } else { "services" }), true);
    }
    (Sentence::new("what.subjects").with("subjects", subjects), named > 1)
}

/// Adds the country, with its areas when they are few.
fn placed(sentence: Sentence, incident: &Incident) -> Sentence {
    let (areas, number) = match incident.draft.areas.as_slice() {
        [] => (None, 0),
        areas @ ([_] | [_, _]) => (Some(areas.to_vec()), 0),
        areas => (None, areas.len()),
    };
    sentence.with("country", &incident.id.country).with("areas", areas).with("number_of_areas", number)
}

/// One sentence, such as "Telegram was blocked in Kenya on 3 of 7 networks, about 62% of their weight, from 8 Nov 2023
/// to 24 Nov 2023, weekdays 07-17 local time."
pub fn sentence(incident: &Incident) -> Sentence {
    let (what, several) = name(incident, Sentence::new("what.internet_access"));
    let summary = Sentence::new("incident.summary").with("what", what).with("several", several);
    let summary = placed(summary.with("tense", tense(incident)).with("deed", deed(incident)), incident);
    let schedule = incident.draft.schedule.as_deref();
    summary
        .with("networks", networks(incident, several))
        .with("span", span(incident, is_over(incident), several))
        .with("schedule", schedule.map(|words| schedule::local(words, &incident.id.country)))
}

/// How many networks it was seen on, if any.
fn networks(incident: &Incident, several: bool) -> Option<Sentence> {
    let draft = &incident.draft;
    let networks = draft.networks.len();
    if networks == 0 {
        return None;
    }
    if draft.networks_tested == 0 {
        return Some(Sentence::new("incident.networks").with("networks", networks));
    }
    let of = u32::try_from(networks).unwrap_or(u32::MAX).max(draft.networks_tested);
    let of_tested = Sentence::new("incident.networks.of_tested").with("networks", networks).with("tested", of);
    // Each site of a list is blocked on some of these networks.
    Some(of_tested.with("at_most", several && draft.unknown.start).with("weight", draft.weight))
}

/// The beginning and the end, as far as they are known: "from 8 Nov 2023 to 24 Nov 2023".
fn span(incident: &Incident, ended: bool, several: bool) -> Sentence {
    let start = incident.start();
    let begun = match (incident.is_start_unknown(), several) {
        (true, true) => "each_before",
        (true, false) => "before",
        (false, _) => "on",
    };
    let with_start = |code| Sentence::new(code).with("start", start);
    let begin = |code| with_start(code).with("begun", begun);
    let last = |code, at| begin(code).with("last", at).with("reported", incident.is_reported_alone());
    let one_day = begun == "on" && incident.end().is_some_and(|end| end.to_date_text() == start.to_date_text());
    match (incident.known_end(), incident.last_confirmed()) {
        (Some(_), _) if one_day => with_start("incident.span.day"),
        (Some(end), _) => begin("incident.span.ended").with("end", end),
        (None, Some(_)) if ended && one_day => with_start("incident.span.day.end_unknown"),
        (None, Some(at)) if ended => last("incident.span.end_unknown", at),
        (None, Some(at)) => last("incident.span.goes_on", at),
        (None, None) if incident.is_ahead() => with_start("incident.span.ahead"),
        (None, None) => begin("incident.span.since"),
    }
}

/// Sentences about what is not known of this incident.
pub fn not_known(incident: &Incident) -> Vec<Sentence> {
    let draft = &incident.draft;
    let ahead = incident.is_ahead();
    let suspected = incident.status() == Status::Suspected;
    let goes_on = !ahead && incident.known_end().is_none() && incident.status() != Status::Resolved;
    let last = incident.last_confirmed().filter(|_| incident.is_reported_alone());
    let seen_last =
        incident.end().is_some() && draft.declared.is_some() && draft.resolved.is_none() && draft.end == incident.end();
    let (_, several) = name(incident, Sentence::new("what.internet"));
    let start = |code| Sentence::new(code).with("start", incident.start());
    let plain = Sentence::new;
    let possible = [
        (incident.kind() == IncidentType::Disruption, plain("incident.unknown.order")),
        (draft.occasion.is_none(), plain("incident.unknown.who")),
        (ahead, plain("incident.unknown.ahead")),
        (!ahead && suspected, plain("incident.unknown.suspected")),
        (draft.sources.is_empty(), plain("incident.unknown.source")),
        (draft.sources.len() == 1 && !suspected, plain("incident.unknown.one_source")),
        (goes_on && last.is_none(), plain("incident.unknown.whether_ended")),
        (goes_on && last.is_some(), plain("incident.unknown.whether_ended.reported").with("last", last)),
        (incident.is_start_unknown() && !several, start("incident.unknown.start")),
        (incident.is_start_unknown() && several, start("incident.unknown.starts")),
        (seen_last, plain("incident.unknown.seen_last")),
        (!goes_on && incident.is_end_unknown(), plain("incident.unknown.end")),
        (draft.networks_tested == 0, plain("incident.unknown.networks")),
        (draft.networks_tested > 0, plain("incident.unknown.other_networks")),
        (draft.methods.is_empty(), plain("incident.unknown.method")),
    ];
    possible.into_iter().filter(|(is_so, _)| *is_so).map(|(_, sentence)| sentence).collect()
}
