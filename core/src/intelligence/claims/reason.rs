//! Why a claim got its verdict, in one sentence for people.

use super::beyond::{Beyond, ENOUGH};
use super::check::{Verdict, Why};
use super::gather::{self, Counted, Found};
use super::parse::Claim;
use super::stance::Kind;
use super::when::Span;
use super::{bearing, details, each_once};
use crate::Timestamp;
use crate::facts::reported::report::CAUSE_ENDS;
use crate::intelligence::country::{Detection, NetworkAnswer, State, plain_date, sentence, uncounted};
use crate::intelligence::incidents;

/// What a claim lacks.
pub fn missing(claim: &Claim) -> String {
    let number = claim.readings.iter().flat_map(|reading| &reading.networks).find_map(|network| network.asn);
    if let (None, Some(asn)) = (claim.country, number) {
        return format!(
            "The claim names no country, and the names of networks that we know do not tell that of AS{asn}."
        );
    }
    let lacks = if claim.country.is_none() {
        "The claim names no country that we recognise"
    } else if claim.topics.is_empty() {
        "The claim names no service, site or network that we recognise"
    } else {
        "The claim does not say that a service or the internet is blocked, slowed, cut off or reachable"
    };
    // Words of another language are none that we know.
    let language = if claim.stance.is_none() { "; claims are read in English" } else { "" };
    format!("{lacks}{language}.")
}

/// Why a claim got the verdict of one of its parts, and what is known of the others when that one is undecided.
pub fn overall(deciding: &Found, all: &[Found], now: Timestamp) -> String {
    let said = reason(deciding, now);
    if deciding.compared.judgement.verdict < Verdict::InsufficientData {
        return said;
    }
    let known = all.iter().filter(|found| found.compared.judgement.verdict < Verdict::Unconfirmed).map(|found| {
        let negated = if found.stance.negated { "not interfered with" } else { found.stance.kind.done() };
        let (name, verdict) = (gather::label(&found.topic), found.compared.judgement.verdict.as_str());
        format!("that {name} was {negated} in {}{} is {verdict}", found.country.name, dated(found, now))
    });
    let mut known = each_once(known, PartialEq::eq);
    known.truncate(MOST_KNOWN);
    if known.is_empty() { said } else { and(&said, &known.join(", ")) }
}

/// A reason with what nobody checked.
pub fn unchecked_too(said: &str, unchecked: &[String]) -> String {
    let quoted: Vec<String> = unchecked.iter().map(|part| format!("\"{part}\"")).collect();
    if quoted.is_empty() { said.to_owned() } else { and(said, &format!("not checked: {}", quoted.join(", "))) }
}

const MOST_KNOWN: usize = 3;

/// The days of a part, as they end a sentence.
fn dated(found: &Found, now: Timestamp) -> String {
    match found.when {
        Some(when) if when.is_one_day() => format!(" on {}", plain_date(when.start())),
        Some(when) => format!(" between {} and {}", plain_date(when.start()), plain_date(when.end().plus(-1).min(now))),
        None => String::new(),
    }
}

/// Why one part of a claim got its verdict.
pub fn reason(found: &Found, now: Timestamp) -> String {
    let mut said = decided(found, now);
    if let Some(Counted { blocked, decided }) = found.compared.networks {
        let networks = if decided == 1 { "network" } else { "networks" };
        let block = if found.compared.judgement.why == Why::Incident { "blocked" } else { "block" };
        said = and(&said, &format!("{blocked} of {decided} {networks} with enough measurements {block} it"));
    }
    if let Some(more) = found.compared.beyond.and_then(|beyond| unchecked(found, beyond, now)) {
        said = and(&said, &format!("the claim also says {more}"));
    }
    // As of a report, what is said is checked, and not that somebody said it.
    let decided = found.compared.judgement.verdict < Verdict::InsufficientData;
    match found.hearsay && decided {
        true => and(&said, "that it was so is checked, and not who says or alleges it"),
        false => said,
    }
}

/// A detail that the record does not bear out, with what is known of it.
fn unchecked(found: &Found, beyond: Beyond, now: Timestamp) -> Option<String> {
    let surest = found.bearing.surest.as_ref();
    let took = surest.and_then(|incident| bearing::took(incident, now)).filter(|_| !found.stance.over);
    let occasion = surest.and_then(|incident| incident.draft.occasion.as_deref());
    Some(match (beyond, took, occasion) {
        (Beyond::HowLong(_), Some(took), _) => {
            format!("for how long, and what is recorded took {} days", took.round())
        }
        (Beyond::HowMany(_) | Beyond::Nationwide, ..)
            if found.compared.networks.is_some_and(|some| some.decided < ENOUGH) =>
        {
            format!("{}, for which too few networks were measured", beyond.as_str())
        }
        (Beyond::HowMany(_) | Beyond::Nationwide, ..) if found.compared.networks.is_some() => return None,
        (Beyond::Hours(_), ..) if let Some(kept) = surest.and_then(|incident| incident.draft.schedule.as_deref()) => {
            format!("at what hours, and what is recorded keeps to {kept}")
        }
        (Beyond::Beginning, ..) if let Some(incident) = surest => {
            let began = if incident.is_start_unknown() { "before" } else { "on" };
            format!("when it began, and what is recorded began {began} {}", plain_date(incident.start()))
        }
        (Beyond::Method(_), ..) => {
            let measured = details::methods(surest, found.detection.as_ref()).join(", ");
            let known = if measured.is_empty() { "no method is".to_owned() } else { measured + " is" };
            format!("by which method, and {known} known")
        }
        (Beyond::Occasion(_), _, Some(occasion)) => {
            let short = occasion.split(CAUSE_ENDS).next().unwrap_or_default().trim_end_matches('.');
            format!("for what reason or at what event, and the occasion on record is \"{short}\"")
        }
        _ => format!("{}, which the data do not tell", beyond.as_str()),
    })
}

fn decided(found: &Found, now: Timestamp) -> String {
    let name = gather::label(&found.topic);
    // "Kenya on AS33771 (Safaricom)"
    let place = found.network.as_ref().map(|on| format!("{} on {}", found.country.name, on.label()));
    let country = place.as_deref().unwrap_or(found.country.name);
    let when = dated(found, now);
    let detection = found.detection.as_ref().map(|(_, detection)| detection);
    let measured = || match found.network.as_ref().and_then(|on| on.answer.as_ref()) {
        Some(answer) => on_network(&name, country, answer),
        None => detection
            .filter(|found| found.state != State::Unknown)
            .map(|found| sentence(found, country))
            .unwrap_or_default(),
    };
    match found.compared.judgement.why {
        Why::Blocked | Why::Accessible | Why::TooLittle if found.platforms.is_some() => {
            let Counted { blocked, decided } = found.platforms.unwrap_or_default();
            let of = format!("{blocked} of {decided} platforms of social media");
            format!("{of} with enough measurements are blocked in {country}{when}.")
        }
        Why::Incident | Why::Suspected | Why::Doubtful | Why::Unordered | Why::Shorter => recorded(found, &measured()),
        Why::Elsewhere => {
            let areas: Vec<&str> =
                found.incidents.iter().flat_map(|incident| &incident.draft.areas).map(String::as_str).take(3).collect();
            format!("Incidents in {country}{when} are known only of other areas ({}).", areas.join(", "))
        }
        Why::Sporadic => format!(
            "{name} was blocked in {country} on 1 of {} days with enough measurements{when}.",
            found.decided_days
        ),
        Why::Before => {
            format!("{name} was seen blocked in {country} shortly before; no measurement shows it blocked{when}.")
        }
        Why::Ended if found.when.is_some_and(|when| when.span != Span::Since) => {
            format!("{name} was blocked in {country} before, and not any more{when} or within days after it.")
        }
        Why::Ended => format!("{name} was blocked in {country} before, and is not any more."),
        Why::Blocked | Why::Accessible | Why::Partly | Why::Listed => measured(),
        Why::OtherKind => other_kind(found, &name, country, &when),
        Why::Outdated => outdated(found, &name, country, now),
        Why::OtherNetworks => {
            let open = format!("Nothing decides whether {name} was blocked in {country}{when}.");
            and(&open, "what is known of other networks is no evidence of this one")
        }
        Why::TooLittle => format!("There are measurements of {name} in {country}{when}, too few to decide."),
        Why::Nothing | Why::Counted => nothing(found, &name, country, &when),
    }
}

/// What rests on an incident, or on measurements as doubtful as these.
fn recorded(found: &Found, measured: &str) -> String {
    let said = deciding(found);
    let national = || found.bearing.suspected.as_ref().is_some_and(bearing::is_of_all_networks);
    match (found.compared.judgement.why, &found.network) {
        (Why::Incident, Some(on)) => and(&said, &format!("{} is among its networks", on.label())),
        // A shutdown of the whole country supports a claim about one of its networks.
        (Why::Suspected, Some(_)) if national() => and(&said, "its source names no networks"),
        (Why::Doubtful, _) => {
            let said = if found.bearing.surest.is_some() { &said } else { measured };
            and(said, &format!("that is doubtful, its confidence being {:.2}", found.compared.judgement.confidence))
        }
        (Why::Unordered, _) => and(&said, "nobody is known to have ordered it"),
        (Why::Shorter, _) => and(&said, "the claim is of another time or a longer one"),
        _ => said,
    }
}

fn on_network(name: &str, place: &str, answer: &NetworkAnswer) -> String {
    let state = if answer.state == State::Blocked { "blocked" } else { "accessible" };
    format!(
        "{name} is {state} in {place}: {} of {} measurements that decide show a block; newest measurement {}.",
        answer.blocked_votes,
        answer.votes,
        plain_date(answer.last_checked)
    )
}

fn other_kind(found: &Found, name: &str, country: &str, when: &str) -> String {
    let kinds = match found.stance.kind {
        Kind::Throttling => "a block and not throttling",
        Kind::Block => "throttling and not a block",
        Kind::Shutdown => "throttling and not a shutdown",
    };
    match &found.bearing.other_kind {
        Some(incident) => and(&incidents::sentence(incident), &format!("that was {kinds}")),
        None => format!("Interference with {name} is known in {country}{when}, but it was {kinds}."),
    }
}

/// It was over once; what would tell of today is too old.
fn outdated(found: &Found, name: &str, country: &str, now: Timestamp) -> String {
    let detection = found.detection.as_ref().map(|(_, detection)| detection);
    let last = match &found.network {
        Some(on) => on.answer.as_ref().map(|answer| answer.last_checked),
        None => detection.filter(|detection| detection.state == State::Unknown).and_then(Detection::seen),
    };
    let said = match last {
        Some(last) => {
            let days = (now.day() - last.day()).max(0);
            let (unit, old) = (if days == 1 { "day" } else { "days" }, plain_date(last));
            format!(
                "{name} was last measured in {country} on {old}, {days} {unit} ago: that does not decide how it is now."
            )
        }
        None => format!("Nothing was measured lately that tells how {name} is in {country} now."),
    };
    let ended = found.bearing.fitting.iter().max_by_key(|incident| incident.start());
    match ended {
        Some(incident) => and(&said, &format!("known: {}", incidents::sentence(incident).trim_end_matches('.'))),
        None => said,
    }
}

/// Nothing counts; what is too old to count is said.
fn nothing(found: &Found, name: &str, country: &str, when: &str) -> String {
    let detection = found.detection.as_ref().map(|(_, detection)| detection);
    if let Some(detection) = detection {
        if found.when.is_none() && detection.stale_since.is_some() {
            return sentence(detection, found.country.name);
        }
        if let Some(list) = uncounted(detection) {
            return format!("{name} is named in {country} by {list}; nothing else is measured or recorded{when}.");
        }
    }
    let nothing = format!("Nothing is measured or recorded about {name} in {country}{when}.");
    match &found.earlier {
        Some(incident) => and(&nothing, &format!("earlier: {}", incidents::sentence(incident).trim_end_matches('.'))),
        None => nothing,
    }
}

/// The incident whose confidence the answer gives. One that goes by another name is said to include the topic.
fn deciding(found: &Found) -> String {
    let incident = found.bearing.surest.as_ref().or(found.bearing.suspected.as_ref());
    let Some(incident) = incident else { return String::new() };
    let (draft, said) = (&incident.draft, incidents::sentence(incident));
    let named = found.topic.names().iter().any(|name| draft.subject == *name || draft.services.contains(name));
    if named { said } else { format!("{} is part of an incident: {said}", gather::label(&found.topic)) }
}

fn and(sentence: &str, more: &str) -> String {
    format!("{}; {more}.", sentence.trim_end_matches('.'))
}
