//! Why a claim got its verdict, in one sentence for people.

use super::*;
use crate::country::{sentence, uncounted};
use facts::reported::report::CAUSE_ENDS;
use facts::sentence::{Parameter, Sentence as Said};

const MOST_KNOWN: usize = 3;

fn and(said: Said, more: Said) -> Said {
    Said::new("claim.and").with("said", said).with("more", more)
}

/// A sentence with an incident behind it, where there is one.
fn with(said: Said, code: &'static str, incident: Option<&Incident>) -> Said {
    let Some(incident) = incident else { return said };
    and(said, Said::new(code).with("incident", incidents::sentence(incident)))
}

pub fn missing(claim: &Claim) -> Said {
    let number = claim.readings.iter().flat_map(|reading| &reading.networks).find_map(|network| network.asn);
    let code = match (claim.country, number) {
        (None, Some(asn)) => return Said::new("claim.missing.home").with("asn", Parameter::network(asn)),
        (None, None) => "claim.missing.country",
        _ if claim.topics.is_empty() => "claim.missing.topic",
        _ => "claim.missing.stance",
    };
    // Words of another language are none that we know.
    Said::new(code).with("language", claim.stance.is_none())
}

/// Why a claim got the verdict of one of its parts, and what is known of the others when that one is undecided.
pub fn overall(deciding: &CheckedClaim<'_>, all: &[CheckedClaim<'_>], now: Timestamp) -> Said {
    let said = reason(deciding, now);
    if deciding.judgement.verdict < Verdict::InsufficientData {
        return said;
    }
    let known = all.iter().filter(|found| found.judgement.verdict < Verdict::Unconfirmed).map(|found| {
        let Stance { negated, kind, .. } = found.claim.stance;
        let known = Said::new("claim.known").with("what", what(found)).with("when", when(found, now));
        let known = known.with("done", if negated { "denied" } else { kind.as_str() });
        known.with("country", found.claim.country.code).with("verdict", found.judgement.verdict.as_str())
    });
    let mut known = each_once(known, PartialEq::eq);
    known.truncate(MOST_KNOWN);
    if known.is_empty() { said } else { and(said, Said::new("claim.all_known").with("known", known)) }
}

pub fn unchecked_too(said: Said, unchecked: &[String]) -> Said {
    if unchecked.is_empty() { said } else { and(said, Said::new("claim.unchecked").with("parts", unchecked)) }
}

/// The topic.
pub fn what(found: &CheckedClaim<'_>) -> Said {
    match found.claim.topic.name() {
        INTERNET => Said::new("what.internet_access"),
        name => Said::new("what.subjects").with("subjects", vec![name.to_owned()]),
    }
}

/// The days, where the claim names any.
fn when(found: &CheckedClaim<'_>, now: Timestamp) -> Option<Said> {
    found.claim.reading.when.map(|when| match when.is_one_day() {
        true => Said::new("claim.on_day").with("day", when.start()),
        false => {
            let last = when.end().plus(-1).min(now);
            Said::new("claim.on_days").with("first", when.start()).with("last", last)
        }
    })
}

/// What sentences name: the topic, the country with the network ("Kenya on AS33771 (Safaricom)"), and the days.
fn about(code: &'static str, found: &CheckedClaim<'_>, now: Timestamp) -> Said {
    let on = found.network.as_ref().map(|on| on.known().said());
    let place = Said::new("place").with("country", found.claim.country.code).with("network", on);
    Said::new(code).with_used([
        ("what", what(found).into()),
        ("place", place.into()),
        ("when", when(found, now).into()),
    ])
}

pub fn reason(found: &CheckedClaim<'_>, now: Timestamp) -> Said {
    let mut said = decided(found, now).unwrap_or_else(|| about("claim.nothing", found, now));
    if let Some(BlockedOfDecided { blocked, decided }) = found.networks {
        let networks = Said::new("claim.blocked_networks").with("blocked", blocked).with("decided", decided);
        said = and(said, networks.with("past", found.judgement.why == Why::Incident));
    }
    if let Some(detail) = found.beyond.and_then(|beyond| unchecked(found, beyond, now)) {
        said = and(said, Said::new("claim.detail").with("detail", detail));
    }
    // As of a report, what is said is checked, and not that somebody said it.
    let decided = found.judgement.verdict < Verdict::InsufficientData;
    if found.claim.reading.hearsay && decided { and(said, Said::new("claim.hearsay")) } else { said }
}

/// A detail that the record does not bear out, with what is known of it.
fn unchecked(found: &CheckedClaim<'_>, beyond: Beyond, now: Timestamp) -> Option<Said> {
    let surest = found.bearing.surest.as_ref();
    let took = surest.and_then(|incident| bearing::took(incident, now));
    Some(match beyond {
        // Days, at least 0.
        Beyond::HowLong(_) if let Some(took) = took => {
            Said::new("claim.detail.length").with("days", took.round() as u64)
        }
        Beyond::HowMany(_) | Beyond::Nationwide if let Some(BlockedOfDecided { decided, .. }) = found.networks => {
            return (decided < ENOUGH).then(|| Said::new("claim.detail.few").with("detail", Said::new(beyond.code())));
        }
        Beyond::Hours(_) if let Some(kept) = surest.and_then(|incident| incident.draft.schedule.as_deref()) => {
            Said::new("claim.detail.hours").with("schedule", incidents::schedule_in_utc(kept))
        }
        Beyond::Beginning if let Some(incident) = surest => {
            let began = Said::new("claim.detail.beginning").with("date", incident.start());
            began.with("before", incident.is_start_unknown())
        }
        Beyond::Method(_) => {
            let methods: Vec<String> = found.methods().into_iter().map(Into::into).collect();
            Said::new("claim.detail.method").with("methods", Some(methods).filter(|methods| !methods.is_empty()))
        }
        Beyond::Occasion(_) if let Some(occasion) = surest.and_then(|incident| incident.draft.occasion.as_deref()) => {
            let occasion = occasion.split(CAUSE_ENDS).next().unwrap_or_default().trim_end_matches('.');
            Said::new("claim.detail.occasion").with("occasion", occasion)
        }
        _ => Said::new("claim.detail.untold").with("detail", Said::new(beyond.code())),
    })
}

/// What decided the verdict.
fn decided(found: &CheckedClaim<'_>, now: Timestamp) -> Option<Said> {
    let why = found.judgement.why;
    let detection = found.detection.as_ref().map(|(_, detection)| detection);
    let told = |code| about(code, found, now);
    let measured = || match found.network.as_ref().and_then(|on| on.answer.as_ref()) {
        Some(answer) => Some(on_network(answer, told("claim.network"))),
        None => {
            let decided = detection.filter(|detection| detection.state != State::Unknown);
            decided.map(|detection| sentence(detection, found.claim.country.code))
        }
    };
    Some(match why {
        Why::Blocked | Why::Accessible | Why::TooLittle
            if let Some(BlockedOfDecided { blocked, decided }) = found.platforms =>
        {
            told("claim.platforms").with("blocked", blocked).with("decided", decided)
        }
        Why::Incident | Why::Suspected | Why::Doubtful | Why::Unordered | Why::Shorter => {
            return recorded(found, measured());
        }
        Why::Blocked | Why::Accessible | Why::Partly | Why::Listed => return measured(),
        Why::Ended if found.claim.reading.when.is_some_and(|when| when.span != Span::Since) => told("claim.ended_then"),
        Why::OtherKind => {
            let kind = found.claim.stance.kind.as_str();
            match &found.bearing.other_kind {
                Some(incident) => {
                    and(incidents::sentence(incident), Said::new("claim.that_other_kind").with("kind", kind))
                }
                None => told("claim.other_kind").with("kind", kind),
            }
        }
        Why::Outdated => {
            // It was over once; what would tell of today is too old.
            let last = match &found.network {
                Some(on) => on.answer.as_ref().map(|answer| answer.last_checked),
                None => detection.filter(|detection| detection.state == State::Unknown).and_then(Detection::seen),
            };
            let said = match last {
                None => told("claim.outdated"),
                Some(last) => {
                    let days = u64::try_from(now.day() - last.day()).unwrap_or_default();
                    told("claim.last_measured").with("date", last).with("days", days)
                }
            };
            let latest = found.bearing.fitting.iter().max_by_key(|incident| incident.start());
            with(said, "claim.known_incident", latest)
        }
        Why::Nothing | Why::Counted => nothing(found, now),
        Why::Sporadic => told("claim.sporadic").with("days", found.decided_days),
        Why::Elsewhere => {
            let areas = found.incidents.iter().flat_map(|incident| &incident.draft.areas).take(3).cloned();
            told("claim.elsewhere").with("areas", areas.collect::<Vec<String>>())
        }
        Why::Before => told("claim.before"),
        Why::Ended => told("claim.ended"),
        Why::OtherNetworks => told("claim.other_networks"),
        Why::TooLittle => told("claim.too_little"),
    })
}

fn on_network(answer: &NetworkAnswer, said: Said) -> Said {
    let said = said.with("state", if answer.state == State::Blocked { "blocked" } else { "accessible" });
    said.with("blocked", answer.blocked_votes).with("all", answer.votes).with("date", answer.last_checked)
}

/// What rests on an incident, or on measurements as doubtful as these.
fn recorded(found: &CheckedClaim<'_>, measured: Option<Said>) -> Option<Said> {
    let doubtful = found.judgement.why == Why::Doubtful && found.bearing.surest.is_none();
    let said = if doubtful { measured? } else { deciding(found)? };
    let national = || found.bearing.suspected.as_ref().is_some_and(bearing::is_of_all_networks);
    let more = match (found.judgement.why, &found.network) {
        (Why::Incident, Some(on)) => Said::new("claim.among").with("network", on.known().said()),
        // A shutdown of the whole country supports a claim about one of its networks.
        (Why::Suspected, Some(_)) if national() => Said::new("claim.national"),
        (Why::Doubtful, _) => Said::new("claim.doubtful").with("confidence", found.judgement.confidence),
        (Why::Unordered, _) => Said::new("claim.unordered"),
        (Why::Shorter, _) => Said::new("claim.shorter"),
        _ => return Some(said),
    };
    Some(and(said, more))
}

/// Nothing counts; what is too old to count is said, with what a check of the same subject leads on to.
fn nothing(found: &CheckedClaim<'_>, now: Timestamp) -> Said {
    let (mut said, dated) = (about("claim.nothing", found, now), found.claim.reading.when.is_some());
    if let Some((_, detection)) = &found.detection {
        match uncounted(detection) {
            _ if !dated && detection.stale_since.is_some() => said = sentence(detection, found.claim.country.code),
            Some(list) => said = about("claim.listed", found, now).with("list", list),
            None => {}
        }
    }
    let then = |said: Said, more: Said| Said::new("claim.then").with("said", said).with("more", more);
    if let Some(led) = found.leads.after(said.clone()).into_iter().reduce(then) {
        said = led;
    }
    with(said, "claim.earlier_incident", found.earlier.as_ref())
}

/// The incident whose confidence the answer gives. One that goes by another name is said to include the topic.
fn deciding(found: &CheckedClaim<'_>) -> Option<Said> {
    let incident = found.deciding()?;
    let (draft, said) = (&incident.draft, incidents::sentence(incident));
    let named = found.claim.topic.names().iter().any(|name| draft.subject == *name || draft.services.contains(name));
    match named {
        true => Some(said),
        false => Some(Said::new("claim.part").with("what", what(found)).with("incident", said)),
    }
}
