//! Platforms of a target list: services in addition to those that ship with the project, each with the hosts that
//! belong to it. The project bundles no target list.
//!
//! A list comes as two tables in any order: targets (`target_id`, `service`, `role`, optionally `label`) and hosts of
//! targets (`matcher_kind`, `matcher`, `target_id`). A target whose id is a host is that host. The rows are stored as a
//! set, so their order, splits and repeats change nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::{KnownRows, Reference, actor, inform};
use crate::analytics::SetPlatforms;
use crate::{Error, Result, world};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Read, Row, Table};
use engine::runtime::{self, Runtime};
use facts::measurement::input::strip_bom;
use facts::measurement::json::whole;
use facts::measurement::rows::for_each_separated;
use facts::measurement::types::Rejection;
use facts::measurement::{ImportCounts, Service, TargetKey};
pub use facts::sentence::names::of_slug as label;
use facts::starter::Platform;
use facts::subject::{Role, Subject};
use facts::tracked::Tracked;

/// Most rows of both tables together. They are one row in the store, and every country gets them.
const MAX_ROWS: usize = 2_000;
const MAX_SLUG: usize = 40;
const MAX_LABEL: usize = 80;
/// Roles that a user cannot do without. If a service has none of these roles, all of its roles are essential.
const ESSENTIAL: [&str; 3] = ["", "website", "web"];

/// One row of a table of targets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ListedTarget {
    pub service: String,
    pub id: String,
    pub role: String,
    pub label: String,
}

/// Rows of a target list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetList {
    pub targets: BTreeSet<ListedTarget>,
    /// (target id, host in normal form)
    pub hosts: BTreeSet<(String, String)>,
}
impl Row for TargetList {}

pub(super) const TARGETS: Table<(), TargetList> = Table::new(22);

impl TargetList {
    fn len(&self) -> usize {
        self.targets.len() + self.hosts.len()
    }

    /// The platforms in the rows. A host belongs to one platform: the project's own if it has the host, otherwise the
    /// first by slug.
    pub fn platforms(&self) -> Vec<Tracked> {
        let mut found: BTreeMap<&str, Tracked> = BTreeMap::new();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for target in &self.targets {
            let platform = found.entry(&target.service).or_insert_with(|| Tracked {
                slug: target.service.clone(),
                label: label(&target.service),
                roles: Vec::new(),
            });
            if !target.label.is_empty() {
                platform.label.clone_from(&target.label);
            }
            let own = TargetKey::from_host(&target.id).ok().map(|key| key.as_str().to_owned());
            let named = self.hosts.iter().filter(|(id, _)| *id == target.id).map(|(_, host)| host.clone());
            for key in own.into_iter().chain(named) {
                if Platform::by_domain(&key).is_none() && taken.insert(key.clone()) {
                    platform.roles.push(Role { key, essential: ESSENTIAL.contains(&target.role.as_str()) });
                }
            }
        }
        let mut platforms: Vec<Tracked> = found.into_values().filter(|platform| !platform.roles.is_empty()).collect();
        for platform in &mut platforms {
            let none = platform.roles.iter().all(|role| !role.essential);
            platform.roles.iter_mut().for_each(|role| role.essential |= none);
            platform.roles.sort_by(|a, b| (!a.essential, &a.key).cmp(&(!b.essential, &b.key)));
        }
        platforms
    }
}

/// Reads one of the two tables, separated by tabs or commas.
pub fn read(reader: &mut dyn BufRead, limit: u64) -> Result<(TargetList, ImportCounts)> {
    let refuse = crate::import::refuse;
    let text = whole(reader, limit).map_err(refuse)?;
    let header = strip_bom(&text).split(|byte| *byte == b'\n').next().unwrap_or_default();
    let separator = if header.contains(&b'\t') { b'\t' } else { b',' };
    let mut list = TargetList::default();
    let mut counts = ImportCounts::default();
    for_each_separated(&mut text.as_slice(), u64::MAX, separator, &["target_id"], &mut counts, &mut |header, row| {
        let get = |name: &str| header.get(row, name);
        match (header.has("matcher"), header.has("service")) {
            (true, _) => Ok(list.hosts.insert(host([get("matcher_kind"), get("matcher"), get("target_id")])?)),
            (false, true) => {
                Ok(list.targets.insert(target([get("service"), get("target_id"), get("role"), get("label")])?))
            }
            (false, false) => Err(Rejection::Refused("no_service")),
        }
    })
    .map_err(refuse)?;
    Ok((list, counts))
}

fn host([kind, matcher, id]: [&str; 3]) -> Result<(String, String), Rejection> {
    match kind {
        "domain" | "exact" => {}
        "" => return Err(Rejection::Refused("bad_matcher")),
        // Addresses and patterns have no series of measurements.
        _ => return Err(Rejection::Unsupported("matcher_kind")),
    }
    let key = TargetKey::from_host(matcher).map_err(|error| Rejection::Unusable(error.reason()))?;
    Ok((id_of(id)?, key.as_str().to_owned()))
}

fn target([service, id, role, label]: [&str; 4]) -> Result<ListedTarget, Rejection> {
    if service.is_empty() {
        return Err(Rejection::Unsupported("no_service"));
    }
    let service = service.to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if service.len() > MAX_SLUG || !service.chars().all(plain) || service == crate::incidents::INTERNET {
        return Err(Rejection::Refused("bad_service"));
    }
    if Platform::by_slug(&service).is_some() || Service::from_name(&service).is_some() {
        return Err(Rejection::Unsupported("known_platform"));
    }
    if label.chars().count() > MAX_LABEL || label.chars().any(char::is_control) {
        return Err(Rejection::Refused("bad_label"));
    }
    let role = role.to_ascii_lowercase();
    Ok(ListedTarget { service, id: id_of(id)?, role, label: label.to_owned() })
}

fn id_of(id: &str) -> Result<String, Rejection> {
    match id.is_empty() || id.len() > 255 || id.chars().any(char::is_control) {
        true => Err(Rejection::Refused("bad_target_id")),
        false => Ok(id.to_ascii_lowercase()),
    }
}

/// Adds rows of a target list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddTargets {
    pub list: TargetList,
    pub dry_run: bool,
    /// Number of removals of target lists when the import began.
    pub epoch: u64,
}

impl Operation for AddTargets {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "add_targets";
    type Reply = KnownRows;

    fn run(self, turn: &mut Turn<'_>) -> Result<KnownRows> {
        Reference::Targets.check(turn, self.epoch)?;
        let given = self.list.len();
        let mut list = TARGETS.get(turn, &())?.unwrap_or_default();
        let before = list.len();
        list.targets.extend(self.list.targets);
        list.hosts.extend(self.list.hosts);
        let new = list.len() - before;
        if list.len() > MAX_ROWS {
            return Err(Error::bad_request(format!("Target lists have at most {MAX_ROWS} rows about services.")));
        }
        if new > 0 && !self.dry_run {
            TARGETS.put(turn, &(), &list)?;
            changed(turn, list.platforms())?;
        }
        Ok(KnownRows { known: (given - new) as u64 })
    }
}

/// Informs the world at once, and all countries soon.
pub(super) fn changed(turn: &mut Turn<'_>, platforms: Vec<Tracked>) -> Result<()> {
    turn.send(world::actor().name, &SetPlatforms { platforms })?;
    inform::all(turn)
}

/// The platforms of target lists, as the countries get them.
pub(super) fn listed(view: &impl Read) -> Result<Vec<Tracked>> {
    Ok(TARGETS.get(view, &())?.map(|list| list.platforms()).unwrap_or_default())
}

/// The platforms of target lists.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ListedPlatforms;

impl Query for ListedPlatforms {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "listed_platforms";
    type Reply = Vec<Tracked>;

    fn run(self, view: &View<'_>) -> Result<Vec<Tracked>> {
        listed(view)
    }
}

/// The project's platforms and those of target lists.
pub async fn platforms(rt: &dyn Runtime) -> Result<Vec<Tracked>> {
    let mut all = Tracked::own();
    all.extend(runtime::query(rt, actor().name, &ListedPlatforms).await?);
    Ok(all)
}

/// Finds a platform by its slug or another of its names; `None` if it is not tracked.
pub async fn platform(rt: &dyn Runtime, text: &str) -> Result<Option<Tracked>> {
    if let Some(own) = Platform::by_slug(text) {
        return Ok(Some(own.into()));
    }
    let listed = runtime::query(rt, actor().name, &ListedPlatforms).await?;
    Ok(listed.into_iter().find(|platform| platform.slug.eq_ignore_ascii_case(text)))
}

/// The platform that a site belongs to.
#[derive(Debug, Clone)]
pub struct Owner {
    pub platform: Tracked,
    /// The role of the site in the platform, if it is known.
    pub role: Option<&'static str>,
    /// Whether the platform is blocked when the site is.
    pub essential: bool,
}

/// Finds the platform of a target list that a series belongs to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ListedOwner {
    pub key: String,
}

impl Query for ListedOwner {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "listed_owner";
    type Reply = Option<Tracked>;

    fn run(self, view: &View<'_>) -> Result<Option<Tracked>> {
        let Some(list) = TARGETS.get(view, &())? else { return Ok(None) };
        // Most sites are in no list. This check is far cheaper than making the platforms.
        let named =
            list.hosts.iter().any(|(_, host)| *host == self.key) || list.targets.iter().any(|row| row.id == self.key);
        if !named {
            return Ok(None);
        }
        Ok(list.platforms().into_iter().find(|platform| platform.has(&self.key)))
    }
}

/// The platform of the project that a subject belongs to.
fn own_owner(subject: &Subject) -> Option<Owner> {
    let (platform, role) = Platform::by_key(&subject.name)?;
    Some(Owner { platform: platform.into(), role: Some(role.name), essential: role.essential })
}

/// A platform of a target list, as the owner of a subject.
fn listed_owner(platform: Tracked, subject: &Subject) -> Owner {
    let essential = platform.roles.iter().any(|role| role.key == subject.name && role.essential);
    Owner { platform, role: None, essential }
}

/// The platform that a subject belongs to; `None` if the subject is a platform itself or a site on its own.
pub async fn owner(rt: &dyn Runtime, subject: &Subject) -> Result<Option<Owner>> {
    if subject.service {
        return Ok(None);
    }
    if let Some(own) = own_owner(subject) {
        return Ok(Some(own));
    }
    let key = subject.name.clone();
    let listed = runtime::query(rt, actor().name, &ListedOwner { key }).await?;
    Ok(listed.map(|platform| listed_owner(platform, subject)))
}

/// Like [`owner`] for several subjects, with at most one question.
pub async fn owners(rt: &dyn Runtime, subjects: &[&Subject]) -> Result<Vec<Option<Owner>>> {
    if let [subject] = subjects {
        return Ok(vec![owner(rt, subject).await?]);
    }
    let asked = subjects.iter().any(|subject| !subject.service && own_owner(subject).is_none());
    let listed = if asked { runtime::query(rt, actor().name, &ListedPlatforms).await? } else { Vec::new() };
    let of_list = |subject: &Subject| listed.iter().find(|platform| platform.has(&subject.name)).cloned();
    let of = |subject: &&Subject| match subject.service {
        true => None,
        false => own_owner(subject).or_else(|| Some(listed_owner(of_list(subject)?, subject))),
    };
    Ok(subjects.iter().map(of).collect())
}

/// Like [`Subject::parse`], but also knows the services of target lists.
pub async fn subject(rt: &dyn Runtime, text: &str) -> Result<Subject> {
    match Subject::parse(text) {
        Ok(subject) => Ok(subject),
        Err(error) => platform(rt, text.trim()).await?.map(|platform| platform.subject()).ok_or(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: &str = "\u{feff}target_id\tservice\trole\tcombination_rule\tdescription\n\
        hub.example\thub\t\tany_of\tits \"own\" site\n\
        hub/cdn\thub\tcdn\tany_of\t\n\
        twitter/cdn\ttwitter\tcdn\tany_of\t\n\
        resolver/dns\tresolver_one\tresolver\tany_of\t\n\
        nobody.example\t\t\tany_of\t\n\
        bad.example\tbad slug\t\tany_of\t\n\
        hub.example\thub\t\tany_of\tagain\n";
    const HOSTS: &str = "matcher_kind\tmatcher\ttarget_id\tsource\n\
        domain\tHub-CDN.example\thub/cdn\tx\n\
        domain\tt.co\thub/cdn\tx\n\
        exact\tdns.example\tresolver/dns\tx\n\
        ip\t192.0.2.1\tresolver/dns\tx\n\
        domain\tno host\thub/cdn\tx\n";

    fn list(texts: [&str; 2]) -> TargetList {
        let mut all = TargetList::default();
        for text in texts {
            let (list, _) = read(&mut text.as_bytes(), 1 << 20).unwrap();
            all.targets.extend(list.targets);
            all.hosts.extend(list.hosts);
        }
        all
    }

    #[test]
    fn both_tables_in_any_order_make_the_same_platforms() {
        let platforms = list([TARGETS, HOSTS]).platforms();
        assert_eq!(list([HOSTS, TARGETS]).platforms(), platforms);
        let shape = |platform: &Tracked| {
            let roles = platform.roles.iter().map(|role| (role.key.clone(), role.essential)).collect::<Vec<_>>();
            (platform.slug.clone(), platform.label.clone(), roles)
        };
        let role = |key: &str, essential| (key.to_owned(), essential);
        let expected = [
            // `t.co` is a role of Twitter already.
            ("hub".to_owned(), "Hub".to_owned(), vec![role("hub.example", true), role("hub-cdn.example", false)]),
            // The service has no website, so all of its roles are essential.
            ("resolver_one".to_owned(), "Resolver one".to_owned(), vec![role("dns.example", true)]),
        ];
        assert_eq!(platforms.iter().map(shape).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_row_has_one_fate_and_bad_ones_a_reason() {
        let (_, counts) = read(&mut TARGETS.as_bytes(), 1 << 20).unwrap();
        assert_eq!((counts.accepted, counts.duplicate, counts.unsupported, counts.refused), (3, 1, 2, 1), "{counts:?}");
        let (_, counts) = read(&mut HOSTS.as_bytes(), 1 << 20).unwrap();
        assert_eq!((counts.accepted, counts.unsupported, counts.unusable), (3, 1, 1), "{counts:?}");
        assert!(read(&mut "a,b\n1,2\n".as_bytes(), 1 << 20).is_err());
    }
}
