//! `heliograph check`, `country` and `claim`.

use heliograph_client::data::answers::{Check as Checked, ClaimEvidence, Country as Overview, CountryPage};
use serde::Serialize;

use super::ask;
use super::output::Fields;
use crate::cli::args::user::{Check, Claim, Country, Form};
use crate::cli::exit::{BLOCKED, Failure, NOT_KNOWN};

pub fn check(check: &Check) -> Result<(), Failure> {
    let form = check.ask.form;
    if let ([first], true) = (check.targets.as_slice(), check.country.len() > 2)
        && first.len() == 2
    {
        let text = format!("the country comes last: heliograph check {} {first}", check.country);
        return Err(Failure::usage(text));
    }
    ask::run(&check.ask, |asked| async move {
        let country = country_code(&check.country);
        let mut answers = Vec::with_capacity(check.targets.len());
        for target in &check.targets {
            answers.push(asked.client.check(target, &country, check.as_of.as_deref()).await?);
        }
        match answers.as_slice() {
            [answer] => form.one(answer, &answer.summary, &fields(answer, form))?,
            several => {
                let first = several.first().map(|first| row(first, form)).unwrap_or_default();
                let heads: Vec<&str> = first.iter().map(|(head, _)| *head).collect();
                let values = |answer: &Checked| row(answer, form).into_iter().map(|(_, value)| value).collect();
                form.list(several, &heads, "", values)?;
            }
        }
        if !check.exit_code {
            return Ok(());
        }
        let any = |wanted: &str| answers.iter().any(|answer| answer.status == wanted);
        match () {
            () if any("blocked") => Err(Failure::silent(BLOCKED)),
            () if answers.iter().all(|answer| answer.status == "accessible") => Ok(()),
            () => Err(Failure::silent(NOT_KNOWN)),
        }
    })
}

/// Countries are written in capitals; people write them as they like.
pub fn country_code(text: &str) -> String {
    text.trim().to_uppercase()
}

/// An answer in a table of answers.
fn row(answer: &Checked, form: Form) -> Fields {
    // Where nobody ever measured, the answer has the time of the question.
    let ever = answer.basis != "unmeasured" || answer.stale_since.is_some();
    vec![
        ("target", answer.domain.clone()),
        ("country", answer.country.clone()),
        ("status", answer.status.clone()),
        ("confidence", format!("{:.2}", answer.confidence)),
        ("basis", answer.basis.clone()),
        ("networks blocked", answer.networks_blocked.to_string()),
        ("networks tested", answer.networks_tested.to_string()),
        ("samples", answer.samples.to_string()),
        ("last checked", if ever { form.time(&answer.last_checked) } else { String::new() }),
    ]
}

/// An answer by itself.
pub fn fields(answer: &Checked, form: Form) -> Fields {
    let mut fields = row(answer, form);
    fields.extend([
        ("method", answer.methods.join(", ")),
        ("as of", answer.as_of.clone().unwrap_or_default()),
        ("latest incident", answer.latest_incident.as_ref().map(|lead| lead.id.clone()).unwrap_or_default()),
        ("sources", answer.sources.join(", ")),
        ("license", answer.license.clone()),
    ]);
    fields
}

/// How a country stands, and what is blocked there: the members of two answers in one.
#[derive(Serialize)]
struct Standing {
    #[serde(flatten)]
    overview: Overview,
    #[serde(flatten)]
    page: CountryPage,
}

/// Most listed entries that an answer holds.
const MOST_LISTED: usize = 50;

pub fn country(country: &Country) -> Result<(), Failure> {
    let form = country.ask.form;
    ask::run(&country.ask, |asked| async move {
        let (code, as_of) = (country_code(&country.country), country.as_of.as_deref());
        let overview = asked.client.country(&code, as_of).await?;
        let standing = Standing { overview, page: asked.client.country_page(&code, as_of).await? };
        let mut fields = standing.fields(form);
        if !form.is_for_people() {
            fields.extend(standing.lists());
            return form.one(&standing, "", &fields);
        }
        form.one(&standing, "", &fields)?;
        say!();
        let nothing = "Nothing is known to be blocked.";
        form.list(&standing.blocks(), &["blocked", "what", "known by"], nothing, Clone::clone)?;
        if standing.page.data.listed_blocked.len() >= MOST_LISTED {
            say!("These are not all: lists name {} entries here.", standing.page.data.listed_count);
        }
        say!();
        form.list(
            &standing.overview.active_incidents,
            &["incident", "type", "severity", "title"],
            "No incident is active.",
            |row| vec![row.id.clone(), row.kind.clone(), row.severity.clone(), row.title.clone()],
        )
    })
}

impl Standing {
    fn fields(&self, form: Form) -> Fields {
        let Standing { overview, page } = self;
        vec![
            ("country", overview.country.clone()),
            ("name", overview.name.clone()),
            ("score", overview.score.map(|score| score.to_string()).unwrap_or_default()),
            ("no score", page.reason.clone().unwrap_or_default()),
            ("status", overview.status.clone()),
            ("as of", form.time(overview.as_of.as_deref().unwrap_or_default())),
            ("last checked", form.time(overview.last_checked.as_deref().unwrap_or_default())),
            ("stale since", form.time(overview.stale_since.as_deref().unwrap_or_default())),
            ("license", overview.effective_license.clone()),
        ]
    }

    /// The lists, in one row of CSV.
    fn lists(&self) -> Fields {
        let blocked = &self.page.data;
        let listed: Vec<&str> = blocked.listed_blocked.iter().map(|block| block.target.as_str()).collect();
        let incidents: Vec<&str> = self.overview.active_incidents.iter().map(|row| row.id.as_str()).collect();
        vec![
            ("blocked services", blocked.affected_services.join(" ")),
            ("blocked sites", blocked.blocked_domains.join(" ")),
            ("listed", listed.join(" ")),
            ("active incidents", incidents.join(" ")),
        ]
    }

    /// Rows of what is blocked: first what measurements find, then what lists say and no measurement decides.
    fn blocks(&self) -> Vec<Vec<String>> {
        let blocked = &self.page.data;
        let measured = |names: &[String], what: &str| {
            names.iter().map(|name| vec![name.clone(), what.to_owned(), "measured".to_owned()]).collect::<Vec<_>>()
        };
        let mut rows = measured(&blocked.affected_services, "service");
        rows.extend(measured(&blocked.blocked_domains, "site"));
        rows.extend(blocked.listed_blocked.iter().map(|block| {
            // Slugs of services have no point, which every domain has.
            let what = if block.target.contains('.') { "site" } else { "service" };
            let known = format!("listed only ({}, {})", block.kind, block.date.get(..10).unwrap_or(&block.date));
            vec![block.target.clone(), what.to_owned(), known]
        }));
        rows
    }
}

pub fn claim(claim: &Claim) -> Result<(), Failure> {
    let form = claim.ask.form;
    ask::run(&claim.ask, |asked| async move {
        let answer = asked.client.verify_claim(&claim.words.join(" ")).await?;
        let ids: Vec<&str> = answer.incidents.iter().map(|incident| incident.id.as_str()).collect();
        let fields = vec![
            ("verdict", answer.verdict.clone()),
            ("confidence", format!("{:.2}", answer.confidence)),
            ("not checked", answer.unchecked.join("; ")),
            ("incidents", ids.join(" ")),
            ("cite as", answer.citation.clone().unwrap_or_default()),
            ("license", answer.license.clone()),
        ];
        if form.csv {
            let reason = [("reason", answer.reason.clone())];
            return form.one(&answer, "", &fields.into_iter().chain(reason).collect());
        }
        form.one(&answer, &answer.reason, &fields)?;
        let evidence = answer.evidence.as_deref().unwrap_or_default();
        if form.json || evidence.is_empty() {
            return Ok(());
        }
        say!();
        form.list(evidence, &["observed", "source", "what"], "", |row: &ClaimEvidence| {
            vec![form.time(&row.observed_at), row.source.clone(), row.claim.clone()]
        })
    })
}
