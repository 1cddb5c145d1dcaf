//! Why a claim got its verdict, in one sentence for people. The texts are in a table beside the code.

use super::*;
use crate::country::{plain_date, sentence, uncounted};
use facts::reported::report::CAUSE_ENDS;

const TEXTS: &str = include_str!("texts.tsv");
const MOST_KNOWN: usize = 3;

/// What a text names, by the names that it has in the table.
type Names<'n> = [(&'n str, String)];

fn text(key: &str, names: &Names<'_>) -> String {
    let text = starter::rows::<2>(TEXTS).find(|[name, _]| *name == key).map_or("", |[_, text]| text);
    names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

fn known(key: &str, known: impl ToString) -> String {
    text(key, &[("known", known.to_string())])
}

fn and(sentence: &str, more: &str) -> String {
    format!("{}; {more}.", sentence.trim_end_matches('.'))
}

/// A sentence with an incident behind it, where there is one.
fn with(said: String, what: &str, incident: Option<&Incident>) -> String {
    let Some(incident) = incident else { return said };
    and(&said, &format!("{what}: {}", incidents::sentence(incident).trim_end_matches('.')))
}

pub fn missing(claim: &Claim) -> String {
    let number = claim.readings.iter().flat_map(|reading| &reading.networks).find_map(|network| network.asn);
    let key = match (claim.country, number) {
        (None, Some(asn)) => return text("missing.home", &[("asn", asn.to_string())]),
        (None, None) => "missing.country",
        _ if claim.topics.is_empty() => "missing.topic",
        _ => "missing.stance",
    };
    // Words of another language are none that we know.
    let language = if claim.stance.is_none() { text("missing.language", &[]) } else { String::new() };
    text(key, &[("language", language)])
}

/// Why a claim got the verdict of one of its parts, and what is known of the others when that one is undecided.
pub fn overall(deciding: &CheckedClaim<'_>, all: &[CheckedClaim<'_>], now: Timestamp) -> String {
    let said = reason(deciding, now);
    if deciding.judgement.verdict < Verdict::InsufficientData {
        return said;
    }
    let known = all.iter().filter(|found| found.judgement.verdict < Verdict::Unconfirmed).map(|found| {
        let Stance { negated, kind, .. } = found.claim.stance;
        let done = if negated { "done.denied".to_owned() } else { format!("done.{}", kind.as_str()) };
        let country = ("country", found.claim.country.name.to_owned());
        let verdict = ("verdict", found.judgement.verdict.as_str().to_owned());
        let [name, _, when] = names(found, now);
        text("known", &[name, ("done", text(&done, &[])), country, when, verdict])
    });
    let mut known = each_once(known, PartialEq::eq);
    known.truncate(MOST_KNOWN);
    if known.is_empty() { said } else { and(&said, &known.join(", ")) }
}

pub fn unchecked_too(said: &str, unchecked: &[String]) -> String {
    let quoted: Vec<String> = unchecked.iter().map(|part| format!("\"{part}\"")).collect();
    if quoted.is_empty() { said.to_owned() } else { and(said, &known("unchecked", quoted.join(", "))) }
}

/// What every sentence names: the topic, the country with the network ("Kenya on AS33771 (Safaricom)"), and the days.
fn names(found: &CheckedClaim<'_>, now: Timestamp) -> [(&'static str, String); 3] {
    let on = found.network.as_ref().map(|on| format!(" on {}", on.known().label())).unwrap_or_default();
    let when = found.claim.reading.when.map_or(String::new(), |when| {
        let last = plain_date(when.end().plus(-1).min(now));
        let key = if when.is_one_day() { "on_day" } else { "on_days" };
        text(key, &[("first", plain_date(when.start())), ("last", last)])
    });
    let place = format!("{}{on}", found.claim.country.name);
    [("name", gather::label(found.claim.topic)), ("place", place), ("when", when)]
}

pub fn reason(found: &CheckedClaim<'_>, now: Timestamp) -> String {
    let mut said = decided(found, now);
    if let Some(BlockedOfDecided { blocked, decided }) = found.networks {
        let networks = if decided == 1 { "network" } else { "networks" }.to_owned();
        let block = if found.judgement.why == Why::Incident { "blocked" } else { "block" }.to_owned();
        let (blocked, decided) = (("blocked", blocked.to_string()), ("decided", decided.to_string()));
        said = and(&said, &text("blocked_networks", &[blocked, decided, ("networks", networks), ("block", block)]));
    }
    if let Some(detail) = found.beyond.and_then(|beyond| unchecked(found, beyond, now)) {
        said = and(&said, &text("detail", &[("detail", detail)]));
    }
    // As of a report, what is said is checked, and not that somebody said it.
    let decided = found.judgement.verdict < Verdict::InsufficientData;
    if found.claim.reading.hearsay && decided { and(&said, &text("hearsay", &[])) } else { said }
}

/// A detail that the record does not bear out, with what is known of it.
fn unchecked(found: &CheckedClaim<'_>, beyond: Beyond, now: Timestamp) -> Option<String> {
    let surest = found.bearing.surest.as_ref();
    let took = surest.and_then(|incident| bearing::took(incident, now)).filter(|_| !found.claim.stance.over);
    Some(match beyond {
        Beyond::HowLong(_) if let Some(took) = took => known("detail.length", took.round()),
        Beyond::HowMany(_) | Beyond::Nationwide if let Some(BlockedOfDecided { decided, .. }) = found.networks => {
            return (decided < ENOUGH).then(|| known("detail.few", beyond.as_str()));
        }
        Beyond::Hours(_) if let Some(kept) = surest.and_then(|incident| incident.draft.schedule.as_deref()) => {
            known("detail.hours", kept)
        }
        Beyond::Beginning if let Some(incident) = surest => {
            let began = if incident.is_start_unknown() { "before" } else { "on" };
            known("detail.beginning", format!("{began} {}", plain_date(incident.start())))
        }
        Beyond::Method(_) => {
            let methods = found.methods().join(", ");
            known("detail.method", if methods.is_empty() { "no method is".to_owned() } else { methods + " is" })
        }
        Beyond::Occasion(_) if let Some(occasion) = surest.and_then(|incident| incident.draft.occasion.as_deref()) => {
            known("detail.occasion", occasion.split(CAUSE_ENDS).next().unwrap_or_default().trim_end_matches('.'))
        }
        _ => known("detail.untold", beyond.as_str()),
    })
}

fn decided(found: &CheckedClaim<'_>, now: Timestamp) -> String {
    let (why, names) = (found.judgement.why, names(found, now));
    let [_, (_, place), _] = &names;
    let detection = found.detection.as_ref().map(|(_, detection)| detection);
    let told = |key: &str, more: &Names<'_>| text(key, &[&names, more].concat());
    let measured = || match found.network.as_ref().and_then(|on| on.answer.as_ref()) {
        Some(answer) => on_network(answer, &told),
        None => {
            let decided = detection.filter(|detection| detection.state != State::Unknown);
            decided.map(|detection| sentence(detection, place)).unwrap_or_default()
        }
    };
    match why {
        Why::Blocked | Why::Accessible | Why::TooLittle
            if let Some(BlockedOfDecided { blocked, decided }) = found.platforms =>
        {
            told("platforms", &[("blocked", blocked.to_string()), ("decided", decided.to_string())])
        }
        Why::Incident | Why::Suspected | Why::Doubtful | Why::Unordered | Why::Shorter => recorded(found, &measured()),
        Why::Blocked | Why::Accessible | Why::Partly | Why::Listed => measured(),
        Why::Ended if found.claim.reading.when.is_some_and(|when| when.span != Span::Since) => told("ended_then", &[]),
        Why::OtherKind => {
            let was = text(&format!("other.{}", found.claim.stance.kind.as_str()), &[]);
            let recorded = |incident| and(&incidents::sentence(incident), &known("other_kind", &was));
            found.bearing.other_kind.as_ref().map_or_else(|| told("OtherKind", &[("known", was.clone())]), recorded)
        }
        Why::Outdated => {
            // It was over once; what would tell of today is too old.
            let last = match &found.network {
                Some(on) => on.answer.as_ref().map(|answer| answer.last_checked),
                None => detection.filter(|detection| detection.state == State::Unknown).and_then(Detection::seen),
            };
            let said =
                last.map_or_else(|| told("Outdated", &[]), |last| last_measured(now.day() - last.day(), last, &told));
            with(said, "known", found.bearing.fitting.iter().max_by_key(|incident| incident.start()))
        }
        Why::Nothing | Why::Counted => nothing(found, &told),
        why => {
            let areas = found.incidents.iter().flat_map(|incident| &incident.draft.areas).map(String::as_str).take(3);
            let areas = areas.collect::<Vec<_>>().join(", ");
            told(&format!("{why:?}"), &[("days", found.decided_days.to_string()), ("areas", areas)])
        }
    }
}

/// Makes a text of the table with what every sentence names.
type TextMaker<'t> = dyn Fn(&str, &Names<'_>) -> String + 't;

fn last_measured(days: i64, last: Timestamp, told: &TextMaker<'_>) -> String {
    let unit = if days == 1 { "day" } else { "days" }.to_owned();
    told("last_measured", &[("day", plain_date(last)), ("days", days.max(0).to_string()), ("unit", unit)])
}

fn on_network(answer: &NetworkAnswer, told: &TextMaker<'_>) -> String {
    let state = if answer.state == State::Blocked { "blocked" } else { "accessible" }.to_owned();
    let (blocked, all) = (("blocked", answer.blocked_votes.to_string()), ("all", answer.votes.to_string()));
    told("network", &[("state", state), blocked, all, ("day", plain_date(answer.last_checked))])
}

/// What rests on an incident, or on measurements as doubtful as these.
fn recorded(found: &CheckedClaim<'_>, measured: &str) -> String {
    let doubtful = found.judgement.why == Why::Doubtful && found.bearing.surest.is_none();
    let said = if doubtful { measured.to_owned() } else { deciding(found) };
    let national = || found.bearing.suspected.as_ref().is_some_and(bearing::is_of_all_networks);
    let more = match (found.judgement.why, &found.network) {
        (Why::Incident, Some(on)) => known("among", on.known().label()),
        // A shutdown of the whole country supports a claim about one of its networks.
        (Why::Suspected, Some(_)) if national() => text("national", &[]),
        (Why::Doubtful, _) => known("doubtful", format!("{:.2}", found.judgement.confidence)),
        (Why::Unordered, _) => text("unordered", &[]),
        (Why::Shorter, _) => text("shorter", &[]),
        _ => return said,
    };
    and(&said, &more)
}

/// Nothing counts; what is too old to count is said.
fn nothing(found: &CheckedClaim<'_>, told: &TextMaker<'_>) -> String {
    if let Some((_, detection)) = &found.detection {
        if found.claim.reading.when.is_none() && detection.stale_since.is_some() {
            return sentence(detection, found.claim.country.name);
        }
        if let Some(list) = uncounted(detection) {
            return told("listed", &[("list", list)]);
        }
    }
    with(told("Nothing", &[]), "earlier", found.earlier.as_ref())
}

/// The incident whose confidence the answer gives. One that goes by another name is said to include the topic.
fn deciding(found: &CheckedClaim<'_>) -> String {
    let Some(incident) = found.deciding() else { return String::new() };
    let (draft, said) = (&incident.draft, incidents::sentence(incident));
    let named = found.claim.topic.names().iter().any(|name| draft.subject == *name || draft.services.contains(name));
    let part = || text("part", &[("name", gather::label(found.claim.topic)), ("known", said.clone())]);
    if named { said } else { part() }
}
