//! The active incidents of a country, for its pages. The incidents actor tells this actor which incidents begin and
//! end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::documents;
use crate::incidents::{self, Filter, Incident, IncidentType, ReadableId, Select, Severity, Status};
use crate::world::{self, Outage, SetOutage};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::{Direction, Row, Table};
use engine::runtime::{self, Runtime};
use facts::sentence::{Sentence, Sentences};

/// The key is the year and the sequence of the id.
const ACTIVE: Table<(u32, u32), Active> = Table::derived(54);
/// The titles of the same incidents as sentences. An incident whose title an operator wrote has none, nor has one that
/// last changed before titles were kept as sentences.
const TITLES: Table<(u32, u32), Sentence> = Table::derived(138);
/// The outage that the world was last told.
const TOLD: Table<(), Outage> = Table::derived(55);
/// Most incidents that a page lists, the newest first.
const LISTED: u32 = 20;

/// What a page says about an active incident.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Active {
    pub title: String,
    pub severity: Severity,
    pub kind: IncidentType,
    /// How much of the country is cut off; `None` if the incident is about a service or a site.
    pub outage: Option<Outage>,
}
impl Row for Active {}

/// An incident of this country became active, changed, or is no longer active. Messages that wait since an earlier
/// version of the program have this form; [`ShowActive`] says more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetActive {
    pub id: ReadableId,
    pub active: Option<Active>,
}

impl Operation for SetActive {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_active";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        ShowActive { id: self.id, active: self.active, title: None }.run(turn)
    }
}

/// An incident of this country became active, changed, or is no longer active.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShowActive {
    pub id: ReadableId,
    pub active: Option<Active>,
    /// The title as a sentence, unless an operator wrote it.
    pub title: Option<Sentence>,
}

impl Operation for ShowActive {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "show_active";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = (u32::from(self.id.year), self.id.sequence);
        match self.title.as_ref().filter(|_| self.active.is_some()) {
            Some(title) => TITLES.put(turn, &key, title)?,
            None => TITLES.delete(turn, &key),
        }
        match &self.active {
            Some(active) => ACTIVE.put(turn, &key, active)?,
            None => ACTIVE.delete(turn, &key),
        }
        let outage = outage(&turn.view())?;
        if TOLD.get(turn, &())? != outage {
            match outage {
                Some(outage) => TOLD.put(turn, &(), &outage)?,
                None => TOLD.delete(turn, &()),
            }
            turn.send(world::actor().name, &SetOutage { country: self.id.country.clone(), outage })?;
        }
        for family in [documents::COUNTRY, documents::OVERVIEW] {
            turn.publish(&[family, &self.id.country].concat())?;
        }
        Ok(())
    }
}

/// An active incident, as a page lists it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ActiveBody {
    pub id: String,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: IncidentType,
    pub severity: Severity,
    /// How much of the country the incident cuts off.
    #[serde(skip)]
    pub outage: Outage,
    /// The code of `title`, unless an operator wrote it.
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    pub sentences: Sentences,
}

/// How much of this country its active incidents cut off; `None` if there are none.
pub fn outage(view: &View<'_>) -> Result<Option<Outage>> {
    let mut worst = None;
    ACTIVE.visit(view, ACTIVE.range(), Direction::Ascending, |_, active| {
        worst = worst.max(Some(active.outage.unwrap_or(Outage::Degraded)));
        Ok(true)
    })?;
    Ok(worst)
}

/// The active incidents of this actor's country, newest first.
pub fn active(view: &View<'_>) -> Result<Vec<ActiveBody>> {
    let country = &view.actor().name;
    let rows = ACTIVE.scan(view, &ACTIVE.range(), Direction::Descending, LISTED as usize)?;
    let body = |((year, sequence), active): ((u32, u32), Active)| {
        Ok(ActiveBody {
            id: format!("{country}-{year:04}-{sequence:04}"),
            title: active.title,
            kind: active.kind,
            severity: active.severity,
            outage: active.outage.unwrap_or(Outage::Degraded),
            sentences: Sentences::new().with("title", TITLES.get(view, &(year, sequence))?),
        })
    };
    rows.into_iter().map(body).collect()
}

/// The incidents that were active in a country at a time, as far as they are known today (decision
/// answers-about-a-time).
pub async fn active_at(rt: &dyn Runtime, country: &str, at: Timestamp) -> Result<Vec<ActiveBody>> {
    let status = Some(vec![Status::Active, Status::Resolved]);
    let (since, until) = (Some(at), Some(at));
    let filter = Filter { country: Some(country.to_owned()), status, since, until, ..Filter::default() };
    let found = runtime::query(rt, incidents::actor().name, &Select { filter, offset: 0, limit: LISTED }).await?;
    let then = found.incidents.iter().filter_map(|incident| Some(incident.at(at)?.incident));
    let body = |incident: Incident| ActiveBody {
        id: incident.id.to_string(),
        title: incidents::title(&incident),
        kind: incident.kind(),
        severity: incident.severity(),
        outage: incidents::outage(&incident).unwrap_or(Outage::Degraded),
        sentences: Sentences::new().with("title", incidents::title_made(&incident)),
    };
    Ok(then.map(body).collect())
}
