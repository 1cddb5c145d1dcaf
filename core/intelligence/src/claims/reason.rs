//! Why a claim got its verdict, in one sentence for people.

use super::*;
use crate::country::{plain_date, sentence, uncounted};
use facts::reported::report::CAUSE_ENDS;

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
pub fn overall(deciding: &Found<'_>, all: &[Found<'_>], now: Timestamp) -> String {
    let said = reason(deciding, now);
    if deciding.compared.judgement.verdict < Verdict::InsufficientData {
        return said;
    }
    let known = all.iter().filter(|found| found.compared.judgement.verdict < Verdict::Unconfirmed).map(|found| {
        let negated =
            if found.claim.stance.negated { "not interfered with" } else { found.claim.stance.kind.words().1 };
        let (name, verdict) = (gather::label(found.claim.topic), found.compared.judgement.verdict.as_str());
        format!("that {name} was {negated} in {}{} is {verdict}", found.claim.country.name, dated(found, now))
    });
    let mut known = each_once(known, PartialEq::eq);
    known.truncate(MOST_KNOWN);
    if known.is_empty() { said } else { and(&said, &known.join(", ")) }
}

pub fn unchecked_too(said: &str, unchecked: &[String]) -> String {
    let quoted: Vec<String> = unchecked.iter().map(|part| format!("\"{part}\"")).collect();
    if quoted.is_empty() { said.to_owned() } else { and(said, &format!("not checked: {}", quoted.join(", "))) }
}

const MOST_KNOWN: usize = 3;

/// The days of a part, as they end a sentence.
fn dated(found: &Found<'_>, now: Timestamp) -> String {
    match found.claim.reading.when {
        Some(when) if when.is_one_day() => format!(" on {}", plain_date(when.start())),
        Some(when) => format!(" between {} and {}", plain_date(when.start()), plain_date(when.end().plus(-1).min(now))),
        None => String::new(),
    }
}

pub fn reason(found: &Found<'_>, now: Timestamp) -> String {
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
    match found.claim.reading.hearsay && decided {
        true => and(&said, "that it was so is checked, and not who says or alleges it"),
        false => said,
    }
}

/// A detail that the record does not bear out, with what is known of it.
fn unchecked(found: &Found<'_>, beyond: Beyond, now: Timestamp) -> Option<String> {
    let surest = found.bearing.surest.as_ref();
    let took = surest.and_then(|incident| bearing::took(incident, now)).filter(|_| !found.claim.stance.over);
    Some(match beyond {
        Beyond::HowLong(_) if let Some(took) = took => {
            format!("for how long, and what is recorded took {} days", took.round())
        }
        Beyond::HowMany(_) | Beyond::Nationwide if let Some(Counted { decided, .. }) = found.compared.networks => {
            let few = || format!("{}, for which too few networks were measured", beyond.as_str());
            return (decided < ENOUGH).then(few);
        }
        Beyond::Hours(_) if let Some(kept) = surest.and_then(|incident| incident.draft.schedule.as_deref()) => {
            format!("at what hours, and what is recorded keeps to {kept}")
        }
        Beyond::Beginning if let Some(incident) = surest => {
            let began = if incident.is_start_unknown() { "before" } else { "on" };
            format!("when it began, and what is recorded began {began} {}", plain_date(incident.start()))
        }
        Beyond::Method(_) => {
            let measured = details::methods(surest, found.detection.as_ref()).join(", ");
            let known = if measured.is_empty() { "no method is".to_owned() } else { measured + " is" };
            format!("by which method, and {known} known")
        }
        Beyond::Occasion(_) if let Some(occasion) = surest.and_then(|incident| incident.draft.occasion.as_deref()) => {
            let short = occasion.split(CAUSE_ENDS).next().unwrap_or_default().trim_end_matches('.');
            format!("for what reason or at what event, and the occasion on record is \"{short}\"")
        }
        _ => format!("{}, which the data do not tell", beyond.as_str()),
    })
}

/// What a sentence names: the topic, the country with the network, and the days.
struct Names {
    name: String,
    /// "Kenya on AS33771 (Safaricom)"
    place: String,
    when: String,
}

fn decided(found: &Found<'_>, now: Timestamp) -> String {
    let country = found.claim.country.name;
    let on = found.network.as_ref().map(|on| format!(" on {}", on.known().label()));
    let place = format!("{country}{}", on.unwrap_or_default());
    let names = Names { name: gather::label(found.claim.topic), place, when: dated(found, now) };
    let Names { name, place, when } = &names;
    let detection = found.detection.as_ref().map(|(_, detection)| detection);
    let decided = detection.filter(|detection| detection.state != State::Unknown);
    let measured = || match found.network.as_ref().and_then(|on| on.answer.as_ref()) {
        Some(answer) => on_network(&names, answer),
        None => decided.map(|detection| sentence(detection, place)).unwrap_or_default(),
    };
    match found.compared.judgement.why {
        Why::Blocked | Why::Accessible | Why::TooLittle if let Some(Counted { blocked, decided }) = found.platforms => {
            let of = format!("{blocked} of {decided} platforms of social media");
            format!("{of} with enough measurements are blocked in {place}{when}.")
        }
        Why::Incident | Why::Suspected | Why::Doubtful | Why::Unordered | Why::Shorter => recorded(found, &measured()),
        Why::Elsewhere => {
            let areas = found.incidents.iter().flat_map(|incident| &incident.draft.areas).map(String::as_str).take(3);
            let areas = areas.collect::<Vec<_>>().join(", ");
            format!("Incidents in {place}{when} are known only of other areas ({areas}).")
        }
        Why::Sporadic => {
            let days = found.decided_days;
            format!("{name} was blocked in {place} on 1 of {days} days with enough measurements{when}.")
        }
        Why::Before => {
            format!("{name} was seen blocked in {place} shortly before; no measurement shows it blocked{when}.")
        }
        Why::Ended if found.claim.reading.when.is_some_and(|when| when.span != Span::Since) => {
            format!("{name} was blocked in {place} before, and not any more{when} or within days after it.")
        }
        Why::Ended => format!("{name} was blocked in {place} before, and is not any more."),
        Why::Blocked | Why::Accessible | Why::Partly | Why::Listed => measured(),
        Why::OtherKind => other_kind(found, &names),
        Why::Outdated => outdated(found, &names, now),
        Why::OtherNetworks => {
            let open = format!("Nothing decides whether {name} was blocked in {place}{when}.");
            and(&open, "what is known of other networks is no evidence of this one")
        }
        Why::TooLittle => format!("There are measurements of {name} in {place}{when}, too few to decide."),
        Why::Nothing | Why::Counted => nothing(found, &names),
    }
}

/// What rests on an incident, or on measurements as doubtful as these.
fn recorded(found: &Found<'_>, measured: &str) -> String {
    let said = deciding(found);
    let national = || found.bearing.suspected.as_ref().is_some_and(bearing::is_of_all_networks);
    match (found.compared.judgement.why, &found.network) {
        (Why::Incident, Some(on)) => and(&said, &format!("{} is among its networks", on.known().label())),
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

fn on_network(Names { name, place, .. }: &Names, answer: &NetworkAnswer) -> String {
    let state = if answer.state == State::Blocked { "blocked" } else { "accessible" };
    let (blocked, all) = (answer.blocked_votes, answer.votes);
    let votes = format!("{blocked} of {all} measurements that decide show a block");
    format!("{name} is {state} in {place}: {votes}; newest measurement {}.", plain_date(answer.last_checked))
}

fn other_kind(found: &Found<'_>, Names { name, place, when }: &Names) -> String {
    let (.., kinds) = found.claim.stance.kind.words();
    match &found.bearing.other_kind {
        Some(incident) => and(&incidents::sentence(incident), &format!("that was {kinds}")),
        None => format!("Interference with {name} is known in {place}{when}, but it was {kinds}."),
    }
}

/// It was over once; what would tell of today is too old.
fn outdated(found: &Found<'_>, Names { name, place, .. }: &Names, now: Timestamp) -> String {
    let detection = found.detection.as_ref().map(|(_, detection)| detection);
    let last = match &found.network {
        Some(on) => on.answer.as_ref().map(|answer| answer.last_checked),
        None => detection.filter(|detection| detection.state == State::Unknown).and_then(Detection::seen),
    };
    let said = last.map(|last| {
        let days = (now.day() - last.day()).max(0);
        let (unit, old) = (if days == 1 { "day" } else { "days" }, plain_date(last));
        format!("{name} was last measured in {place} on {old}, {days} {unit} ago: that does not decide how it is now.")
    });
    let said = said.unwrap_or_else(|| format!("Nothing was measured lately that tells how {name} is in {place} now."));
    with(said, "known", found.bearing.fitting.iter().max_by_key(|incident| incident.start()))
}

/// Nothing counts; what is too old to count is said.
fn nothing(found: &Found<'_>, Names { name, place, when }: &Names) -> String {
    if let Some((_, detection)) = &found.detection {
        if found.claim.reading.when.is_none() && detection.stale_since.is_some() {
            return sentence(detection, found.claim.country.name);
        }
        if let Some(list) = uncounted(detection) {
            return format!("{name} is named in {place} by {list}; nothing else is measured or recorded{when}.");
        }
    }
    let nothing = format!("Nothing is measured or recorded about {name} in {place}{when}.");
    with(nothing, "earlier", found.earlier.as_ref())
}

/// The incident whose confidence the answer gives. One that goes by another name is said to include the topic.
fn deciding(found: &Found<'_>) -> String {
    let incident = found.bearing.surest.as_ref().or(found.bearing.suspected.as_ref());
    let Some(incident) = incident else { return String::new() };
    let (draft, said) = (&incident.draft, incidents::sentence(incident));
    let named = found.claim.topic.names().iter().any(|name| draft.subject == *name || draft.services.contains(name));
    if named { said } else { format!("{} is part of an incident: {said}", gather::label(found.claim.topic)) }
}

/// A sentence with an incident behind it, where there is one.
fn with(said: String, what: &str, incident: Option<&Incident>) -> String {
    let Some(incident) = incident else { return said };
    and(&said, &format!("{what}: {}", incidents::sentence(incident).trim_end_matches('.')))
}

fn and(sentence: &str, more: &str) -> String {
    format!("{}; {more}.", sentence.trim_end_matches('.'))
}
