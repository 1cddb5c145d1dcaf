//! The rows that the world keeps for rankings: one with the facts of each country, one with its decided domains, and
//! one for each network. A country that changed costs only its own rows, and a ranking reads one row per country.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::constants::PAIRS_PER_SECOND;
use super::facts::{DecidedSite, Facts, Isp, categorise, facts, isps};
use super::isps::{composite, is_ranked};
use super::reports;
use crate::country::{first_days, hours, listed, verdicts_and_summary};
use crate::world::{self, CountrySummary, SourceSummary, TargetSummary};
use crate::{Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, encode, operation, query};
use engine::kv::{Direction, Read, Row, Table};
use engine::time::{DAY, SECOND};
use facts::starter;
use facts::tracked::Tracked;

pub const ENTRIES: &[Entry] = &[
    operation::<SetFacts>(),
    operation::<DropFacts>(),
    operation::<SetIsps>(),
    operation::<SetCategories>(),
    operation::<DropCategories>(),
    operation::<SetPlatforms>(),
    operation::<Recategorise>(),
    operation::<PublishPairs>(),
    operation::<super::rank::SetRank>(),
    query::<FactsAt>(),
    query::<CategoriesOf>(),
    query::<CategoriesChanged>(),
    query::<IspsOf>(),
    query::<IspsByNumber>(),
];

/// The decided domains of a country.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DecidedSites(pub Vec<DecidedSite>);
impl Row for DecidedSites {
    const VERSION: u8 = 2;
}

// In the world actor.
const FACTS: Table<(String,), Facts> = Table::new(30);
const SITES: Table<(String,), DecidedSites> = Table::new(31);
const ISPS: Table<(String, u32), Isp> = Table::new(32);
const BY_NUMBER: Table<(u32, String), ()> = Table::new(33);
/// Networks that block, worst first. The key is 100 minus the score in hundredths, the number, the country.
const WORST: Table<(u32, u32, String), ()> = Table::new(34);
/// Networks of each country, worst first. The key is the country, 100 minus the score in hundredths, the number.
const RANKS: Table<(String, u32, u32), ()> = Table::new(29);
/// Category by (domain, list).
const CATEGORIES: Table<(String, String), String> = Table::new(35);
/// Platforms of target lists.
const PLATFORMS: Table<(), Platforms> = Table::new(37);
/// Number of changes of [`CATEGORIES`] so far.
const CATEGORIES_CHANGED: Table<(), u64> = Table::new(28);
/// Time of the last publication of the pairs of countries.
const PAIRS_AT: Table<(), Timestamp> = Table::new(36);

// In a country actor: hashes of what was last sent to the world.
const FACTS_TOLD: Table<(), Vec<u8>> = Table::derived(50);
const ISPS_TOLD: Table<(u32,), Vec<u8>> = Table::derived(51);

/// Networks in one message.
const ISPS_AT_ONCE: usize = 100;
/// Category rows that one operation changes, at most.
const CATEGORIES_AT_ONCE: usize = 400;
/// Countries whose categories one operation looks up again.
const COUNTRIES_AT_ONCE: usize = 4;
/// The list that is the same for every country. Its categories take precedence.
const GLOBAL: &str = "global";

/// Sends changes of this country's facts and networks to the world.
pub fn tell(turn: &mut Turn<'_>, rows: &[TargetSummary], summary: &CountrySummary) -> Result<()> {
    let (mut facts, sites) = facts(rows, summary, &listed(turn)?);
    add_tool_hours(turn, &mut facts, turn.now)?;
    let country = turn.actor().name.clone();
    let hash = hash(&(&facts, &sites))?;
    if FACTS_TOLD.get(turn, &())?.as_ref() != Some(&hash) {
        FACTS_TOLD.put(turn, &(), &hash)?;
        turn.send(world::actor().name, &SetFacts { facts, sites })?;
    }
    let mut changed = Vec::new();
    let mut told: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    for ((asn,), hash) in ISPS_TOLD.scan(turn, &ISPS_TOLD.range(), Direction::Ascending, usize::MAX)? {
        told.insert(asn, hash);
    }
    for isp in isps(rows, &first_days(turn, None)?) {
        let hash = self::hash(&isp)?;
        if told.remove(&isp.asn).as_ref() != Some(&hash) {
            ISPS_TOLD.put(turn, &(isp.asn,), &hash)?;
            changed.push(isp);
        }
    }
    let gone: Vec<u32> = told.into_keys().collect();
    gone.iter().for_each(|asn| ISPS_TOLD.delete(turn, &(*asn,)));
    if !gone.is_empty() {
        turn.send(world::actor().name, &SetIsps { country: country.clone(), isps: Vec::new(), gone })?;
    }
    for isps in changed.chunks(ISPS_AT_ONCE) {
        turn.send(world::actor().name, &SetIsps { country: country.clone(), isps: isps.to_vec(), gone: Vec::new() })?;
    }
    Ok(())
}

/// Adds the hours in which the tools were tested in the last day before a time.
fn add_tool_hours(view: &impl Read, facts: &mut Facts, at: Timestamp) -> Result<()> {
    let day = at.plus(-DAY);
    for tool in facts.tools.iter_mut().filter(|tool| tool.last_checked >= day) {
        tool.hours = hours(view, &tool.key, day, at)?;
    }
    Ok(())
}

/// Tells the world that this country has no measurements any more.
pub fn tell_nothing(turn: &mut Turn<'_>) -> Result<()> {
    if FACTS_TOLD.get(turn, &())?.is_none() {
        return Ok(());
    }
    FACTS_TOLD.delete(turn, &());
    let gone = ISPS_TOLD.scan(turn, &ISPS_TOLD.range(), Direction::Ascending, usize::MAX)?;
    let gone: Vec<u32> = gone.into_iter().map(|((asn,), _)| asn).collect();
    gone.iter().for_each(|asn| ISPS_TOLD.delete(turn, &(*asn,)));
    let country = turn.actor().name.clone();
    turn.send(world::actor().name, &SetIsps { country: country.clone(), isps: Vec::new(), gone })?;
    turn.send(world::actor().name, &DropFacts { country })
}

fn hash(value: &impl Serialize) -> Result<Vec<u8>> {
    Ok(Sha256::digest(encode(value)?).iter().take(16).copied().collect())
}

/// Keeps the facts of a country.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetFacts {
    pub facts: Facts,
    pub sites: Vec<DecidedSite>,
}

impl Operation for SetFacts {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "set_facts";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        put_facts(turn, self.facts, self.sites)?;
        publish(turn)
    }
}

fn put_facts(turn: &mut Turn<'_>, mut facts: Facts, mut sites: Vec<DecidedSite>) -> Result<()> {
    let mut failed = None;
    categorise(&mut facts, &mut sites, |domain| {
        category(turn, domain).unwrap_or_else(|error| {
            failed = Some(error);
            None
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let key = (facts.country.clone(),);
    FACTS.put(turn, &key, &facts)?;
    Ok(SITES.put(turn, &key, &DecidedSites(sites))?)
}

/// The category of a domain: from the global list, or else from the first list by name, or else from the starter
/// basket.
fn category(view: &impl Read, domain: &str) -> Result<Option<String>> {
    let rows = CATEGORIES.scan(view, &CATEGORIES.prefix(&(domain.to_owned(),)), Direction::Ascending, 300)?;
    let global = rows.iter().position(|((_, list), _)| list == GLOBAL).unwrap_or(0);
    let imported = rows.into_iter().nth(global).map(|(_, code)| code);
    Ok(imported.or_else(|| starter::basket::category(domain).map(str::to_owned)))
}

/// Forgets a country that has no measurements any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropFacts {
    pub country: String,
}

impl Operation for DropFacts {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "drop_facts";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        FACTS.delete(turn, &(self.country.clone(),));
        SITES.delete(turn, &(self.country,));
        publish(turn)
    }
}

fn publish(turn: &mut Turn<'_>) -> Result<()> {
    for name in reports::PUBLISHED {
        turn.publish(&reports::key(name, None, false))?;
    }
    let countries = FACTS.scan(turn, &FACTS.range(), Direction::Ascending, usize::MAX)?.len() as u64;
    // Every publication compares all pairs anew. With many countries that is too much to do at every change.
    let wait = i64::try_from(countries * countries / 2 / PAIRS_PER_SECOND).unwrap_or(i64::MAX);
    if turn.scheduled("pairs")?.is_none() {
        let last = PAIRS_AT.get(turn, &())?.unwrap_or(Timestamp::MIN);
        let due = turn.now.max(last.plus(wait.saturating_mul(SECOND)));
        turn.schedule("pairs", due, &PublishPairs)?;
    }
    Ok(())
}

/// Compares the pairs of countries anew and publishes them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PublishPairs;

impl Operation for PublishPairs {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "publish_pairs";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let now = turn.now;
        PAIRS_AT.put(turn, &(), &now)?;
        turn.publish(&reports::key(reports::CO_BLOCKING, None, false))
    }
}

/// Keeps networks of a country, and forgets those without measurements.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetIsps {
    pub country: String,
    pub isps: Vec<Isp>,
    pub gone: Vec<u32>,
}

impl Operation for SetIsps {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "set_isps";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for asn in self.gone {
            take_out(turn, &self.country, asn)?;
        }
        for isp in self.isps {
            put_isp(turn, &self.country, isp)?;
        }
        turn.publish(&reports::key(reports::WORST, None, false))
    }
}

fn take_out(turn: &mut Turn<'_>, country: &str, asn: u32) -> Result<()> {
    let key = (country.to_owned(), asn);
    if let Some(before) = ISPS.get(turn, &key)? {
        WORST.delete(turn, &(missing(&before), asn, key.0.clone()));
        RANKS.delete(turn, &(key.0.clone(), missing(&before), asn));
        BY_NUMBER.delete(turn, &(asn, key.0.clone()));
        ISPS.delete(turn, &key);
    }
    Ok(())
}

fn put_isp(turn: &mut Turn<'_>, country: &str, mut isp: Isp) -> Result<()> {
    take_out(turn, country, isp.asn)?;
    for block in &mut isp.blocks {
        block.category = category(turn, &block.domain)?;
    }
    let country = country.to_owned();
    if is_ranked(&isp) {
        WORST.put(turn, &(missing(&isp), isp.asn, country.clone()), &())?;
    }
    RANKS.put(turn, &(country.clone(), missing(&isp), isp.asn), &())?;
    BY_NUMBER.put(turn, &(isp.asn, country.clone()), &())?;
    Ok(ISPS.put(turn, &(country, isp.asn), &isp)?)
}

fn missing(isp: &Isp) -> u32 {
    // Between 0 and 10,000.
    (10_000.0 - composite(isp) * 100.0).round().clamp(0.0, 10_000.0) as u32
}

/// Keeps the categories of the sites of a test list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetCategories {
    pub list: String,
    /// (domain, code). The number is limited to what one operation may change.
    pub sites: Vec<(String, String)>,
}

impl SetCategories {
    /// Sends the categories of a list's sites to the world.
    pub fn send(turn: &mut Turn<'_>, list: &str, sites: Vec<(String, String)>) -> Result<()> {
        for sites in sites.chunks(CATEGORIES_AT_ONCE) {
            let message = SetCategories { list: list.to_owned(), sites: sites.to_vec() };
            turn.send(world::actor().name, &message)?;
        }
        Ok(())
    }
}

impl Operation for SetCategories {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "set_categories";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for (domain, code) in self.sites {
            CATEGORIES.put(turn, &(domain, self.list.clone()), &code)?;
        }
        recategorise_soon(turn)
    }
}

/// Forgets the categories after all test lists were removed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropCategories;

impl Operation for DropCategories {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "drop_categories";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let rows = CATEGORIES.scan(turn, &CATEGORIES.range(), Direction::Ascending, CATEGORIES_AT_ONCE)?;
        for (key, _) in &rows {
            CATEGORIES.delete(turn, key);
        }
        recategorise_soon(turn)?;
        if rows.len() == CATEGORIES_AT_ONCE {
            let now = turn.now;
            return turn.schedule("drop_categories", now, &DropCategories);
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Platforms(Vec<Tracked>);
impl Row for Platforms {}

/// Keeps the platforms of target lists.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetPlatforms {
    pub platforms: Vec<Tracked>,
}

impl Operation for SetPlatforms {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "set_platforms";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        PLATFORMS.put(turn, &(), &Platforms(self.platforms))?;
        turn.publish(&reports::key("platforms", None, false))
    }
}

/// The project's own platforms and those of target lists.
pub fn all_platforms(view: &View<'_>) -> Result<Vec<Tracked>> {
    let mut all = Tracked::own();
    all.extend(PLATFORMS.get(view, &())?.unwrap_or_default().0);
    Ok(all)
}

fn recategorise_soon(turn: &mut Turn<'_>) -> Result<()> {
    let changes = CATEGORIES_CHANGED.get(turn, &())?.unwrap_or_default();
    CATEGORIES_CHANGED.put(turn, &(), &(changes + 1))?;
    let due = turn.now.plus(i64::from(turn.settings.publish_interval) * SECOND);
    turn.schedule("recategorise", due, &Recategorise { after: None })
}

/// Looks up the categories of some countries after `after` again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recategorise {
    pub after: Option<String>,
}

impl Operation for Recategorise {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "recategorise";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut range = FACTS.range();
        if let Some(after) = &self.after {
            range.start = FACTS.prefix(&(after.clone(),)).end.unwrap_or_default();
        }
        let rows = FACTS.scan(turn, &range, Direction::Ascending, COUNTRIES_AT_ONCE)?;
        let last = rows.last().map(|((country,), _)| country.clone());
        let full = rows.len() == COUNTRIES_AT_ONCE;
        for ((country,), facts) in rows {
            let sites = SITES.get(turn, &(country.clone(),))?.unwrap_or_default();
            put_facts(turn, facts, sites.0)?;
            let networks = ISPS.prefix(&(country.clone(),));
            for (_, isp) in ISPS.scan(turn, &networks, Direction::Ascending, usize::MAX)? {
                if !isp.blocks.is_empty() {
                    put_isp(turn, &country, isp)?;
                }
            }
        }
        publish(turn)?;
        turn.publish(&reports::key(reports::WORST, None, false))?;
        let now = turn.now;
        if full { turn.schedule("recategorise", now, &Recategorise { after: last }) } else { Ok(()) }
    }
}

/// The facts of all countries.
pub fn all_facts(view: &View<'_>) -> Result<Vec<Facts>> {
    let rows = FACTS.scan(view, &FACTS.range(), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|(_, facts)| facts).collect())
}

/// The facts of some countries, each once.
pub fn facts_of<'a>(view: &View<'_>, countries: impl Iterator<Item = &'a String>) -> Result<Vec<Facts>> {
    let countries: BTreeSet<&String> = countries.collect();
    let found = countries.into_iter().map(|country| Ok(FACTS.get(view, &(country.clone(),))?));
    found.filter_map(Result::transpose).collect()
}

/// The decided domains of all countries.
pub fn all_sites(view: &View<'_>) -> Result<Vec<(String, Vec<DecidedSite>)>> {
    let rows = SITES.scan(view, &SITES.range(), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|((country,), sites)| (country, sites.0)).collect())
}

/// Asks a country for its facts at a time or now, without categories.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FactsAt {
    pub at: Option<Timestamp>,
}

impl Query for FactsAt {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "facts_at";
    type Reply = (Facts, Vec<DecidedSite>, Vec<Isp>);

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let (rows, summary) = verdicts_and_summary(view, self.at)?;
        let (mut facts, sites) = facts(&rows, &summary, &listed(view)?);
        add_tool_hours(view, &mut facts, self.at.unwrap_or(view.now))?;
        Ok((facts, sites, isps(&rows, &first_days(view, self.at)?)))
    }
}

/// The categories from imported lists, by domain.
fn imported(view: &View<'_>) -> Result<BTreeMap<String, String>> {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    CATEGORIES.visit(view, CATEGORIES.range(), Direction::Ascending, |(domain, list), code| {
        // Lists come in the order of their names. The first one stays, unless there is the global one.
        match list == GLOBAL {
            true => drop(known.insert(domain, code)),
            false => drop(known.entry(domain).or_insert(code)),
        }
        Ok(true)
    })?;
    Ok(known)
}

/// Asks for the categories of some domains, in the order of the domains.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CategoriesOf {
    pub domains: Vec<String>,
}

impl Query for CategoriesOf {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "categories_of";
    type Reply = Vec<Option<String>>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let Some(memo) = view.memo() else {
            return self.domains.iter().map(|domain| category(view, domain)).collect();
        };
        let key = encode(&CATEGORIES_CHANGED.get(view, &())?)?;
        let known = memo.list("categories", key, || imported(view))?;
        let one = |domain: &String| {
            known.get(domain).cloned().or_else(|| starter::basket::category(domain).map(str::to_owned))
        };
        Ok(self.domains.iter().map(one).collect())
    }
}

/// Asks for a number that changes whenever the category of any domain may have changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CategoriesChanged;

impl Query for CategoriesChanged {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "categories_changed";
    type Reply = u64;

    fn run(self, view: &View<'_>) -> Result<u64> {
        Ok(CATEGORIES_CHANGED.get(view, &())?.unwrap_or_default())
    }
}

/// Asks for the networks of a country.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IspsOf {
    pub country: String,
}

impl Query for IspsOf {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "isps_of";
    /// The facts of the country, and its networks.
    type Reply = (Option<Facts>, Vec<Isp>);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        Ok((FACTS.get(view, &(self.country.clone(),))?, of_country(view, &self.country)?))
    }
}

/// The sources behind the data of some countries.
fn sources<'a>(view: &View<'_>, countries: impl IntoIterator<Item = &'a String>) -> Result<Vec<SourceSummary>> {
    let mut found: Vec<SourceSummary> = Vec::new();
    for country in countries {
        found.extend(FACTS.get(view, &(country.clone(),))?.into_iter().flat_map(|facts| facts.sources));
    }
    Ok(found)
}

fn of_country(view: &View<'_>, country: &str) -> Result<Vec<Isp>> {
    let rows = ISPS.scan(view, &ISPS.prefix(&(country.to_owned(),)), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|(_, isp)| isp).collect())
}

/// The networks of a country by number, worst first.
fn ranks(view: &View<'_>, country: &str) -> Result<Vec<u32>> {
    let rows = RANKS.scan(view, &RANKS.prefix(&(country.to_owned(),)), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|((_, _, asn), ())| asn).collect())
}

/// A network in a country where it was measured, with its rank among the networks of that country.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Placed {
    pub country: String,
    pub isp: Isp,
    /// From 1, worst first.
    pub rank: u32,
    pub of: u32,
}

impl Placed {
    /// Ranks one network among all networks of its country, whose numbers are given worst first.
    pub fn among(country: &str, isp: Isp, all: &[u32]) -> Placed {
        let worse = all.iter().take_while(|other| **other != isp.asn).count();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Placed { country: country.to_owned(), isp, rank: count(worse + 1), of: count(all.len()) }
    }
}

/// Asks for networks by number, in every country where they were measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IspsByNumber {
    pub asns: Vec<u32>,
}

impl Query for IspsByNumber {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "isps_by_number";
    type Reply = (Vec<SourceSummary>, Vec<Placed>);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let mut found: Vec<Placed> = Vec::new();
        let mut ranked: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for asn in self.asns {
            let rows = BY_NUMBER.scan(view, &BY_NUMBER.prefix(&(asn,)), Direction::Ascending, 300)?;
            for ((_, country), ()) in rows {
                let Some(isp) = ISPS.get(view, &(country.clone(), asn))? else { continue };
                let all = match ranked.entry(country.clone()) {
                    btree_map::Entry::Occupied(known) => known.into_mut(),
                    btree_map::Entry::Vacant(place) => place.insert(ranks(view, &country)?),
                };
                found.push(Placed::among(&country, isp, all));
            }
        }
        Ok((sources(view, ranked.keys())?, found))
    }
}

/// The networks with the highest scores.
pub fn worst(view: &View<'_>, limit: u32) -> Result<Vec<(String, Isp)>> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let rows = WORST.scan(view, &WORST.range(), Direction::Ascending, limit)?;
    let mut found = Vec::with_capacity(rows.len());
    for ((_, asn, country), ()) in rows {
        if let Some(isp) = ISPS.get(view, &(country.clone(), asn))? {
            found.push((country, isp));
        }
    }
    Ok(found)
}
