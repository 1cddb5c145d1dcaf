//! Incidents in the form in which answers contain them. The JSON of each incident is made once, when it changes, and
//! pages are joined from it.
//!
//! Making one takes about 12 microseconds, mostly for small strings. A page has up to 200 of them, and a delta more.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::body::IncidentBody;
use super::model::{Incident, ReadableId};
use super::tables::{INCIDENTS, IdKey, key};
use crate::{Error, Result, Timestamp};
use engine::actor::{Turn, View};
use engine::kv::{Row, Table, beginning};
use engine::settings::Settings;

/// Written incidents by their readable ids. The content is made from [`INCIDENTS`].
const WRITTEN: Table<IdKey, Written> = Table::new(30);

/// Must be raised whenever the same incident is written differently: members of [`IncidentBody`], titles, sentences,
/// names. Rows with another number are not used.
pub(super) const MANNER: u32 = 7;

/// An incident in its newest version, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Written {
    head: Head,
    pub id: ReadableId,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub merged: bool,
    pub retracted: bool,
    pub summary: String,
    pub description: String,
}
impl Row for Written {
    const VERSION: u8 = 2;
}

/// The data of it that lists need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Head {
    /// [`MANNER`] and the address with which its links begin.
    by: String,
    licence: String,
    /// The JSON of its [`IncidentBody`].
    json: String,
}

/// The same in a stored row of [`WRITTEN`], at whose beginning it stands. A page of a list reads 200 of them and
/// nothing else.
#[derive(Deserialize)]
struct StoredHead<'a> {
    by: &'a str,
    licence: &'a str,
    json: &'a [u8],
}

fn manner(settings: &Settings) -> String {
    format!("{MANNER} {}", settings.base_url())
}

impl Written {
    fn new(settings: &Settings, incident: &Incident) -> Result<Written> {
        let body = IncidentBody::new(incident, settings);
        let json = serde_json::to_string(&body).map_err(Error::internal)?;
        Ok(Written {
            head: Head { by: manner(settings), licence: body.license, json },
            id: incident.id.clone(),
            created: incident.created,
            updated: incident.updated,
            merged: incident.merged_into().is_some(),
            retracted: incident.retracted().is_some(),
            summary: body.summary,
            description: body.description,
        })
    }

    /// The JSON of its [`IncidentBody`].
    pub fn json(&self) -> &str {
        &self.head.json
    }

    pub fn licence(&self) -> &str {
        &self.head.licence
    }

    /// Whether lists show it.
    pub(super) fn is_shown(&self) -> bool {
        !self.merged && !self.retracted
    }

    /// The part that answers show.
    pub fn seen(&self) -> ShownIncident<'_> {
        ShownIncident {
            json: self.json().as_bytes(),
            licence: self.licence(),
            shown: self.is_shown(),
            summary: &self.summary,
            description: &self.description,
        }
    }
}

/// A whole stored row of [`WRITTEN`], borrowed from the stored bytes.
#[derive(Deserialize)]
struct WrittenRow<'a> {
    #[serde(borrow)]
    head: StoredHead<'a>,
    _id: ReadableId,
    _created: Timestamp,
    _updated: Timestamp,
    merged: bool,
    retracted: bool,
    summary: &'a str,
    description: &'a str,
}

/// The part of an incident that answers show.
#[derive(Debug, Clone, Copy)]
pub struct ShownIncident<'a> {
    /// The JSON of its [`IncidentBody`].
    json: &'a [u8],
    pub licence: &'a str,
    /// Whether lists show it.
    pub shown: bool,
    pub summary: &'a str,
    pub description: &'a str,
}

impl<'a> ShownIncident<'a> {
    /// Its JSON with at most `most` characters of the description.
    pub fn json_with_description_of(&self, most: usize) -> Result<Cow<'a, [u8]>> {
        let whole = || Ok(Cow::Borrowed(self.json));
        // No text has more characters than bytes.
        if self.description.len() <= most {
            return whole();
        }
        let Some((end, _)) = self.description.char_indices().nth(most) else { return whole() };
        let member = |text: &str| serde_json::to_string(text).map(|text| format!("\"description\":{text}"));
        let whole = member(self.description).map_err(Error::internal)?;
        let part = member(self.description.get(..end).unwrap_or_default()).map_err(Error::internal)?;
        let json = str::from_utf8(self.json).map_err(Error::internal)?;
        // Quotation marks inside of strings are escaped, so the first match is the member.
        Ok(Cow::Owned(json.replacen(&whole, &part, 1).into_bytes()))
    }
}

/// Stores the present written form of an incident.
pub(super) fn keep(turn: &mut Turn<'_>, incident: &Incident) -> Result<()> {
    let written = Written::new(turn.settings, incident)?;
    Ok(WRITTEN.put(turn, &key(&incident.id), &written)?)
}

/// Incidents by their keys, in the order of the keys. Unknown keys are left out.
pub(super) fn read(view: &View<'_>, keys: impl IntoIterator<Item = IdKey>) -> Result<Vec<Written>> {
    let by = manner(view.settings);
    let mut found = Vec::new();
    for key in keys {
        match WRITTEN.get(view, &key)? {
            Some(written) if written.head.by == by => found.push(written),
            _ => {
                let incident = INCIDENTS.get(view, &key)?;
                found.extend(incident.map(|incident| Written::new(view.settings, &incident)).transpose()?);
            }
        }
    }
    Ok(found)
}

/// Calls `visit` with the written form of an incident, if it exists.
pub(super) fn show(view: &View<'_>, key: &IdKey, visit: impl FnOnce(ShownIncident<'_>) -> Result<()>) -> Result<()> {
    let row = WRITTEN.stored(view, key)?;
    let by = manner(view.settings);
    match row.as_deref().and_then(beginning::<Written, WrittenRow<'_>>).filter(|whole| whole.head.by == by) {
        Some(WrittenRow { head, merged, retracted, summary, description, .. }) => {
            let shown = !merged && !retracted;
            visit(ShownIncident { json: head.json, licence: head.licence, shown, summary, description })
        }
        None => match INCIDENTS.get(view, key)? {
            Some(incident) => visit(Written::new(view.settings, &incident)?.seen()),
            None => Ok(()),
        },
    }
}

/// Several incidents, joined for a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Joined {
    pub count: usize,
    /// The different licences of the incidents.
    pub licences: BTreeSet<String>,
    /// Their JSON with commas between. It was text when it was stored, so it is not checked again. It is the last
    /// member, so that the buffer of an answer does not have to grow.
    #[serde(with = "engine::kv::bytes")]
    pub json: Vec<u8>,
}

impl Joined {
    /// Adds an incident whose JSON consists of these texts in a row.
    pub(super) fn add(&mut self, json: &[&[u8]], licence: &str) {
        if self.count > 0 {
            self.json.push(b',');
        }
        json.iter().for_each(|part| self.json.extend_from_slice(part));
        self.count += 1;
        if !self.licences.contains(licence) {
            self.licences.insert(licence.to_owned());
        }
    }
}

/// Like [`read`], but joined.
pub(super) fn join(view: &View<'_>, keys: impl ExactSizeIterator<Item = IdKey>) -> Result<Joined> {
    let by = manner(view.settings);
    let mut joined = Joined::default();
    let number = keys.len();
    for key in keys {
        let row = WRITTEN.stored(view, &key)?;
        match row.as_deref().and_then(beginning::<Written, StoredHead<'_>>).filter(|head| head.by == by) {
            Some(head) => {
                if joined.count == 0 {
                    // Incidents are about equally long.
                    joined.json.reserve(number * (head.json.len() + head.json.len() / 8));
                }
                joined.add(&[head.json], head.licence);
            }
            None => {
                let Some(incident) = INCIDENTS.get(view, &key)? else { continue };
                let Head { json, licence, .. } = Written::new(view.settings, &incident)?.head;
                joined.add(&[json.as_bytes()], &licence);
            }
        }
    }
    Ok(joined)
}

/// The JSON of `page` with these items in the named list, which is empty in `page`. Each item consists of some texts in
/// a row.
pub(super) fn fill<const PARTS: usize>(
    page: &impl Serialize,
    list: &str,
    items: impl IntoIterator<Item = [impl AsRef<[u8]>; PARTS]>,
) -> Result<Vec<u8>> {
    let page = serde_json::to_vec(page).map_err(Error::internal)?;
    let place = format!("\"{list}\":[");
    // Quotation marks inside of strings are escaped, so the first match is the list.
    let at = page.windows(place.len()).position(|part| part == place.as_bytes());
    let at = at.ok_or_else(|| Error::internal(format!("a page without {list}")))? + place.len();
    let (before, after) = page.split_at(at);
    let items: Vec<[_; PARTS]> = items.into_iter().collect();
    let bytes: usize = items.iter().flatten().map(|part| part.as_ref().len()).sum();
    let mut body = Vec::with_capacity(page.len() + bytes + items.len());
    body.extend_from_slice(before);
    for (n, parts) in items.into_iter().enumerate() {
        if n > 0 {
            body.push(b',');
        }
        for part in parts {
            body.extend_from_slice(part.as_ref());
        }
    }
    body.extend_from_slice(after);
    Ok(body)
}

/// A JSON object without its closing brace, so that more members can follow.
pub(super) fn open(object: &str) -> &str {
    object.strip_suffix('}').unwrap_or(object)
}
