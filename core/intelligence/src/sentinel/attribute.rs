//! `GET /v1/sentinel/attribute`: the effect of an event on measurements, estimated by synthetic control.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::series::{DonorList, Donors, MOST_DONORS, Shares};
use super::synthetic::{Control, Unit, control, p_value};
use crate::country::routes::input;
use crate::elections::{DateCertainty, Elections};
use crate::incidents::{self, Filter, Incident, IncidentBody, Select};
use crate::{Error, Result, Timestamp, world};
use engine::http::{Cx, Response};
use engine::number::round;
use engine::runtime;
use engine::time::DAY;
use facts::licence;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;

/// Days before and after the date that are compared.
const BEFORE: u32 = 14;
const AFTER: u32 = 7;
/// Days with enough measurements that are needed before and after the date.
const LEAST_BEFORE: usize = 10;
const LEAST_AFTER: usize = 3;
/// Donors that are needed for confidence (decision features-dates-retries).
const LEAST_DONORS: usize = 5;
/// Donors that are queried at a time.
const AT_ONCE: usize = 6;
/// Error before the event above which the synthetic country does not follow the treated one.
const WORST_FIT: f64 = 0.05;
/// Greatest p-value that is called significant.
const SIGNIFICANT: f64 = 0.1;
/// Days between the date and an election, or the begin of an incident, within which it may have been the trigger.
const ELECTION_NEAR: i32 = 7;
const INCIDENT_NEAR: i32 = 3;
/// Incidents that are considered as the trigger, at most: those that began last.
const MOST_INCIDENTS: u32 = 50;

#[derive(Debug, Serialize, JsonSchema)]
struct TriggerBody {
    title: String,
    date: String,
    /// The type of an election, or `incident`.
    r#type: String,
    importance: String,
    source: String,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AttributionBody {
    country: String,
    country_name: String,
    date: String,
    /// Mean difference after the date between the share of blocked or anomalous results in the country and in its
    /// synthetic control, -1 to 1; null where too little is measured.
    causal_effect: Option<f64>,
    /// Each country is taken for the treated one in turn: the share of countries, including this one, whose fit worsens
    /// as much after the date. It is at least 1 / (number of donors + 1). Null with fewer than two donors.
    p_value: Option<f64>,
    /// Root of the mean squared difference before the date.
    pre_rmse: Option<f64>,
    treated_post_mean: Option<f64>,
    synthetic_post_mean: Option<f64>,
    n_donors_used: usize,
    n_donors_eligible: usize,
    /// Days that are compared before and after the date.
    n_pre: usize,
    n_post: usize,
    /// By country code; donors with a weight.
    donor_weights: BTreeMap<String, f64>,
    /// The nearest election or incident. Nothing shows that it was the cause.
    candidate_trigger: Option<TriggerBody>,
    /// `significant`, `not_significant`, or `insufficient` with low confidence.
    evidence_class: &'static str,
    low_confidence: bool,
    low_confidence_reason: Option<Sentence>,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

/// A comparison with its result.
struct Compared {
    control: Control,
    p_value: Option<f64>,
    donors: Vec<String>,
    after: usize,
    /// Whether the outcomes are counts of a source, and not measurements of this deployment.
    counted: bool,
}

fn text(day: i32) -> String {
    Timestamp(i64::from(day) * DAY).to_date_text()
}

/// Shares by day of the country and of the donors, and where they come from.
struct Outcomes {
    treated: BTreeMap<u32, f64>,
    donors: Vec<(String, BTreeMap<u32, f64>)>,
    counted: bool,
}

/// The measurements of this deployment where there are enough of the country, or else the counts of a source.
async fn outcomes(cx: &Cx, country: &str, date: u32, mut list: DonorList) -> Result<Outcomes> {
    let codes = list.codes.into_iter().take(MOST_DONORS);
    let own = list.measured.remove(country).unwrap_or_default();
    let before = own.range(..date).count();
    if before >= LEAST_BEFORE && own.len() - before >= LEAST_AFTER {
        let donors = codes.filter_map(|code| Some((code.clone(), list.measured.remove(&code)?))).collect();
        return Ok(Outcomes { treated: own, donors, counted: false });
    }
    let asked = Shares { first: date.saturating_sub(BEFORE), last: date + AFTER - 1 };
    let treated = runtime::query(&*cx.rt, country.to_owned(), &asked).await?;
    let codes: Vec<String> = codes.collect();
    let asks: Vec<_> = codes.iter().map(|code| runtime::query(&*cx.rt, code.clone(), &asked)).collect();
    let answers: Vec<Result<BTreeMap<u32, f64>>> = futures_util::stream::iter(asks).buffered(AT_ONCE).collect().await;
    let mut donors = Vec::new();
    // Answers are in the order of the requests.
    for (code, days) in codes.into_iter().zip(answers) {
        donors.push((code, days?));
    }
    Ok(Outcomes { treated, donors, counted: true })
}

/// Compares the country with the donors that have values for all its days. Also returns its number of days before the
/// date, and from the date on.
fn compare(outcomes: Outcomes, date: u32) -> (Option<Compared>, usize, usize) {
    let Outcomes { treated, donors, counted } = outcomes;
    let before = treated.range(..date).count();
    let after = treated.len() - before;
    if before < LEAST_BEFORE || after < LEAST_AFTER {
        return (None, before, after);
    }
    let unit = |days: &BTreeMap<u32, f64>| -> Option<Unit> {
        let all: Option<Vec<f64>> = treated.keys().map(|day| days.get(day).copied()).collect();
        let mut values = all?;
        let after = values.split_off(before);
        Some(Unit { before: values, after })
    };
    let donors: Vec<(String, Unit)> =
        donors.into_iter().filter_map(|(code, days)| Some((code, unit(&days)?))).collect();
    let Some(own) = unit(&treated).filter(|_| !donors.is_empty()) else { return (None, before, after) };
    let units: Vec<&Unit> = donors.iter().map(|(_, unit)| unit).collect();
    let control = control(&own, &units);
    let p_value = p_value(&control, &units);
    let donors = donors.into_iter().map(|(code, _)| code).collect();
    (Some(Compared { control, p_value, donors, after, counted }), before, after)
}

/// The election or incident nearest to the date.
async fn trigger(cx: &Cx, country: &str, date: i32) -> Result<Option<TriggerBody>> {
    let mut found: Vec<(i32, TriggerBody)> = Vec::new();
    let midnight = |day: i32| Timestamp(i64::from(day) * DAY);
    let filter = Filter {
        country: Some(country.to_owned()),
        begun_since: Some(midnight(date - INCIDENT_NEAR)),
        until: Some(midnight(date + INCIDENT_NEAR + 1)),
        ..Filter::default()
    };
    let select = Select { filter, offset: 0, limit: MOST_INCIDENTS };
    let incidents = runtime::query(&*cx.rt, incidents::actor().name, &select).await?.incidents;
    let began = |incident: &Incident| i32::try_from(incident.start().day()).unwrap_or(i32::MAX);
    let distance = |incident: &Incident| began(incident).saturating_sub(date).saturating_abs();
    if let Some(nearest) = incidents.iter().min_by_key(|of| distance(of)).filter(|of| distance(of) <= INCIDENT_NEAR) {
        let IncidentBody { title, severity, permalink, .. } = IncidentBody::new(nearest, cx.settings());
        let body = TriggerBody {
            sentences: Sentences::new().with("title", incidents::title_made(nearest)),
            title,
            date: text(began(nearest)),
            r#type: "incident".to_owned(),
            importance: severity.as_str().to_owned(),
            source: permalink,
        };
        found.push((distance(nearest), body));
    }
    let elections = runtime::query(&*cx.rt, world::actor().name, &Elections).await?;
    for election in elections.into_iter().filter(|of| of.country == country && of.status != DateCertainty::Cancelled) {
        let Some(on) = election.when.day().filter(|on| (on - date).abs() <= ELECTION_NEAR) else { continue };
        let body = TriggerBody {
            sentences: Sentences::new(),
            title: election.title,
            date: text(on),
            r#type: election.kind.as_str().to_owned(),
            importance: election.kind.importance().to_owned(),
            source: election.source,
        };
        found.push(((on - date).abs(), body));
    }
    // An incident and an election may be equally near. The incident comes first in the list and wins.
    Ok(found.into_iter().min_by_key(|(distance, _)| *distance).map(|(_, body)| body))
}

/// Why the comparison cannot be relied on; `None` when it can.
fn doubt(
    compared: Option<&Compared>,
    (before, after): (usize, usize),
    table: bool,
    eligible: usize,
) -> Option<Sentence> {
    if before < LEAST_BEFORE || after < LEAST_AFTER {
        let days = Sentence::new("attribution.days").with("before", before).with("of_before", BEFORE);
        let days = days.with("after", after).with("of_after", AFTER);
        return Some(days.with("least_before", LEAST_BEFORE).with("least_after", LEAST_AFTER));
    }
    let Some(compared) = compared else {
        return Some(Sentence::new("attribution.no_donor").with("donors", eligible));
    };
    if compared.donors.len() < LEAST_DONORS {
        let few = Sentence::new("attribution.few_donors").with("donors", compared.donors.len());
        return Some(few.with("least", LEAST_DONORS));
    }
    if !table {
        return Some(Sentence::new("attribution.no_table"));
    }
    let error = compared.control.before_error;
    (error > WORST_FIT).then(|| Sentence::new("attribution.no_fit").with("error", error))
}

fn caveats(compared: Option<&Compared>) -> Vec<Sentence> {
    let mut found = vec![Sentence::new("attribution.no_proof")];
    if let Some(compared) = compared {
        let donors = compared.donors.len();
        found.push(Sentence::new("attribution.outcome").with("counted", compared.counted));
        let least = Sentence::new("attribution.least_p").with("donors", donors);
        found.push(least.with("p", 1.0 / (donors as f64 + 1.0)));
        if compared.after < AFTER as usize {
            found.push(Sentence::new("attribution.days_so_far").with("days", compared.after));
        }
    }
    found
}

/// States the numbers in a sentence.
fn interpretation(
    country: &str,
    compared: Option<&Compared>,
    p_value: Option<f64>,
    doubt: Option<&Sentence>,
) -> Sentence {
    let Some(Compared { control, donors, .. }) = compared else {
        return Sentence::new("attribution.nothing").with("country", country).with("why", doubt.cloned());
    };
    let found = Sentence::new("attribution.found").with("country", country).with("treated", control.treated);
    let found = found.with("donors", donors.len()).with("expected", control.synthetic);
    found.with("p", p_value).with("doubtful", doubt.is_some())
}

pub async fn attribute(cx: Cx) -> Result<Response> {
    cx.kept(page(&cx)).await
}

async fn page(cx: &Cx) -> Result<Response> {
    let country = match input::country(&cx.required("country")?)? {
        Ok(country) => country.code.to_owned(),
        Err(code) => code,
    };
    cx.required("date")?;
    let at = cx.time("date")?.ok_or_else(|| Error::bad_request("Query parameter `date` is required."))?;
    let date = u32::try_from(at.day()).ok().filter(|date| i64::from(*date) <= cx.now().day() && *date > BEFORE);
    let date = date.ok_or_else(|| Error::bad_request("Query parameter `date` must be a day up to today."))?;
    let on = i32::try_from(date).unwrap_or(i32::MAX);
    let last = on.saturating_add(AFTER as i32 - 1);
    let first = on.saturating_sub(BEFORE as i32);
    let asked = Donors { country: country.clone(), day: on, first, last };
    let donors = runtime::query(&*cx.rt, world::actor().name, &asked).await?;
    let known = facts::starter::Country::is_valid_code(&country);
    let (table, eligible, licenses) = (donors.table, donors.codes.len(), donors.licenses.clone());
    let (compared, before, after) = match known {
        true => compare(Box::pin(outcomes(cx, &country, date, donors)).await?, date),
        false => (None, 0, 0),
    };
    let reason = doubt(compared.as_ref(), (before, after), table, eligible);
    let weighted = compared.iter().flat_map(|of| of.donors.iter().zip(&of.control.weights));
    let donor_weights: BTreeMap<String, f64> =
        weighted.map(|(code, weight)| (code.clone(), round(*weight))).filter(|(_, w)| *w > 0.0).collect();
    let of = |value: fn(&Control) -> f64| compared.as_ref().map(|compared| round(value(&compared.control)));
    let p_value = compared.as_ref().and_then(|compared| compared.p_value);
    let settings = cx.settings();
    let events = [Source::AccessNow.licence_under(settings)];
    let mut said = Sentences::new();
    Response::json(&AttributionBody {
        country_name: world::name(&country),
        date: text(on),
        causal_effect: of(Control::effect),
        p_value: p_value.map(round),
        pre_rmse: of(|control| control.before_error),
        treated_post_mean: of(|control| control.treated),
        synthetic_post_mean: of(|control| control.synthetic),
        n_donors_used: compared.as_ref().map_or(0, |compared| compared.donors.len()),
        n_donors_eligible: eligible,
        n_pre: before,
        n_post: after,
        donor_weights,
        candidate_trigger: if known { Box::pin(trigger(cx, &country, on)).await? } else { None },
        evidence_class: match (&reason, p_value) {
            (None, Some(p)) if p <= SIGNIFICANT => "significant",
            (None, _) => "not_significant",
            (Some(_), _) => "insufficient",
        },
        low_confidence: reason.is_some(),
        interpretation: said
            .add("interpretation", interpretation(&country, compared.as_ref(), p_value, reason.as_ref())),
        low_confidence_reason: said.add("low_confidence_reason", reason),
        honest_caveats: said.add("honest_caveats", caveats(compared.as_ref())),
        generated_at: cx.now().to_string(),
        license: licence::effective(match compared.as_ref().map(|compared| compared.counted) {
            Some(false) => licenses.iter().map(String::as_str).chain(events).collect::<Vec<&str>>(),
            _ => [Source::OoniCounts.licence_under(settings)].into_iter().chain(events).collect(),
        }),
        country,
        sentences: said,
    })
}
