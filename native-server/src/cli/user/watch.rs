//! `heliograph watch`: asks again and again, as seldom as was said, and waits longer where the server asks for it.

use std::time::Duration;

use heliograph_client::Error;
use heliograph_client::data::answers::{ChangedIncident, Check};

use super::ask::{self, Asked};
use super::data::{country_code, fields};
use super::output::{Fields, clean, coloured, minute};
use crate::cli::args::user::{Form, Watch};
use crate::cli::exit::Failure;
use crate::clock;
use crate::log;

/// Changes that are asked for at once.
const PAGE: u32 = 100;

pub fn run(watch: &Watch) -> Result<(), Failure> {
    match watch {
        Watch::Incidents { country, since, count, every, ask } => ask::run(ask, |asked| async move {
            let since = since.clone().unwrap_or_else(|| clock::now().to_millis_text());
            let country = country.as_deref().map(country_code);
            incidents(&asked, ask.form, country.as_deref(), since, *count, Duration::from_secs(*every)).await
        }),
        Watch::Check { target, country, every, ask } => ask::run(ask, |asked| async move {
            let every = Duration::from_secs(*every);
            let country = country_code(country);
            let before = asked.client.check(target, &country, None).await?;
            tell(ask.form, true, &before)?;
            loop {
                tokio::time::sleep(every).await;
                match patient(asked.client.check(target, &country, None).await)? {
                    Ok(answer) if answer.status != before.status => return tell(ask.form, false, &answer),
                    Ok(_) => {}
                    Err(wait) => tokio::time::sleep(wait).await,
                }
            }
        }),
    }
}

fn tell(form: Form, first: bool, answer: &Check) -> Result<(), Failure> {
    let words = format!("{}  {}  {}", minute(&answer.checked_at), coloured(&answer.status), clean(&answer.summary));
    form.next(first, answer, &words, &fields(answer, form))
}

/// What to do about a failure: wait this much longer, or give up because the next answer would be the same.
fn patient<T>(answer: heliograph_client::Result<T>) -> Result<Result<T, Duration>, Failure> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(Error::Refused(refusal)) if refusal.status == 429 || refusal.status >= 500 => {
            log::warning!("{}; asking again later", clean(&refusal.to_string()));
            Ok(Err(refusal.retry_after.unwrap_or_default()))
        }
        Err(error @ (Error::Unreachable(_) | Error::TimedOut(_))) => {
            log::warning!("{error}; asking again later");
            Ok(Err(Duration::ZERO))
        }
        Err(error) => Err(error.into()),
    }
}

async fn incidents(
    asked: &Asked,
    form: Form,
    country: Option<&str>,
    mut since: String,
    count: Option<u64>,
    every: Duration,
) -> Result<(), Failure> {
    let (mut told, mut asked_before) = (0, false);
    loop {
        let answer = asked.client.changed_incidents(&since, PAGE).await;
        // A mistake in the command shows at once; later the server may be away for a while.
        let changes = match asked_before {
            true => patient(answer)?,
            false => Ok(answer?),
        };
        asked_before = true;
        let mut more = false;
        match changes {
            Ok(changes) => {
                for incident in changes.incidents.iter().filter(|of| country.is_none_or(|code| of.country == code)) {
                    let (words, fields) = change(incident);
                    form.next(told == 0, incident, &words, &fields)?;
                    told += 1;
                    if Some(told) == count {
                        return Ok(());
                    }
                }
                (since, more) = (changes.next_since, changes.has_more);
            }
            Err(wait) => tokio::time::sleep(wait).await,
        }
        if !more {
            tokio::time::sleep(every).await;
        }
    }
}

fn change(incident: &ChangedIncident) -> (String, Fields) {
    let status = match (&incident.retracted, &incident.merged_into) {
        (Some(_), _) => "retracted",
        (None, Some(_)) => "merged",
        (None, None) => incident.status.as_str(),
    };
    let fields = vec![
        ("updated", incident.updated_at.clone()),
        ("incident", incident.readable_id.clone()),
        ("country", incident.country.clone()),
        ("status", status.to_owned()),
        ("severity", incident.severity.clone()),
        ("start", incident.start_time.clone()),
        ("end", incident.end_time.clone().unwrap_or_default()),
        ("title", incident.title.clone()),
        ("link", incident.permalink.clone()),
    ];
    let words = format!(
        "{}  {}  {}  {}  {}",
        minute(&incident.updated_at),
        clean(&incident.readable_id),
        coloured(status),
        coloured(&incident.severity),
        clean(&incident.title)
    );
    (words, fields)
}
