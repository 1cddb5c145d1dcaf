//! From stored entries to verdicts. Everything is computed when it is asked for, as of any time in the past.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::changes::down_elsewhere;
use super::distinct::Distinct;
use super::instrument::InstrumentFault;
use super::kinds::KindRates;
use super::noise::Noise;
use super::packed;
use super::probed;
use super::rollup::{self, Prefix};
use super::tables::{CONTROL_SITES, ENTRIES, NETWORKS, NetworkRow, OUTSIDE, PRIORS, ROLLED, TARGETS};
use super::votes::{Voter, Votes};
use crate::{Result, Timestamp};
use engine::actor::{View, decode, encode};
use engine::kv::{Direction, Key, Read, Row, Table};
use engine::time::{DAY, HOUR};
use facts::measurement::{ENTRY_LEN, Entry};
use facts::source::Source;
use facts::starter;
use facts::verdict::belief::{Filter, Step};
use facts::verdict::constants::{
    BROKEN_NETWORK_SHARE, DEFAULT_DOWN_RATE, PEER_NETWORKS, PEER_SESSIONS, RATE_MEASUREMENTS,
};
use facts::verdict::national::{self, CountryVerdict, Member};
use facts::verdict::network::{self, NetworkVerdict};
use facts::verdict::window::{Ageing, HourVote, Peers, Session};
use facts::verdict::{RuleId, Vote};

/// One stored measurement, judged.
pub struct JudgedMeasurement {
    /// See [`identity`].
    pub identity: u64,
    pub source: u8,
    pub day: u32,
    /// Whether it is counted here as one of the country's measurements, and at no other target.
    pub primary: bool,
    pub session: Session,
}

/// Tells a measurement apart from the others of its country: made of network, day, and the part of its identity that is
/// never removed.
pub fn identity(prefix: Prefix, day: u32, asn: u32) -> u64 {
    u64::from(day ^ asn.rotate_left(16)) << 32 | u64::from(u32::from_be_bytes(prefix))
}

/// A network with its votes and verdict.
pub struct Network {
    /// 0 if there is no network: it is withheld, or see [`Network::remote`].
    pub asn: u32,
    /// The country as seen from outside, by sources that name no network (decision country-of-networks).
    pub remote: bool,
    pub name: Option<Arc<str>>,
    pub addresses: Option<u64>,
    /// The votes that count, oldest first; empty unless they were asked for.
    pub votes: Vec<HourVote>,
    /// What each vote did to the belief in a block; empty unless asked for.
    pub steps: Vec<Step>,
    pub verdict: NetworkVerdict,
    /// Measurements inside the age limit, with or without a vote.
    pub measurements: u32,
    /// Measurements among them that are counted at this series and at no other.
    pub counted: u32,
    /// The newest of them, in hours since the epoch.
    pub last_hour: i64,
    /// Share of control sites that fail on it; `None` when too few were measured.
    pub control_failures: Option<f64>,
}

/// A series judged at a time.
pub struct JudgedSeries {
    pub key: String,
    pub ageing: Ageing,
    pub verdict: CountryVerdict,
    pub networks: Vec<Network>,
    /// Distinct measurements inside the age limit.
    pub evidence: u32,
    /// Measurements among them that are counted at this series and at no other: inside the age limit, and of the last
    /// seven days.
    pub counted: u32,
    pub of_week: u32,
    /// Identities of the measurements inside the age limit. One may occur twice.
    pub identities: Vec<u64>,
    /// The newest measurement before the asked time, however old, in hours since the epoch.
    pub newest: Option<i64>,
    pub sources: BTreeSet<u8>,
    /// Sources of the newest measurement. An answer without measurements inside the age limit still names its time.
    pub newest_sources: BTreeSet<u8>,
    /// Measurements inside the age limit that failed because the site is down.
    pub down: u32,
    /// Share of blocked and down measurements among those that say anything, inside the age limit.
    pub failure_rate: Option<f64>,
    /// Failures that follow a software version and not a network. They are left out.
    pub instrument: Option<InstrumentFault>,
}

/// Name and addresses of a network.
pub(super) type NameAndAddresses = (Option<Arc<str>>, Option<u64>);

/// Networks that were looked up, by number, because many targets need the same ones.
type Networks = Mutex<BTreeMap<u32, NameAndAddresses>>;

/// Share of failing control sites by network (decision failing-elsewhere).
pub(super) type Failing = BTreeMap<u32, f64>;

/// What all series of one question have in common.
pub struct Surroundings {
    pub at: Timestamp,
    pub(super) control: Failing,
    pub(super) rates: KindRates,
    networks: Arc<Networks>,
    pub(super) listed: Present,
    pub(super) attested: Present,
    pub(super) rolled: Present,
    /// The key is the block of days.
    noise: Mutex<BTreeMap<u32, Arc<Noise>>>,
}

/// Whether a table has rows at all. Many countries have no rows in some tables; then a question about fifty targets
/// need not look for each.
#[derive(Debug, Default)]
pub(super) struct Present(Cell<Option<bool>>);

impl Present {
    /// For a question about one target, where looking whether the table has rows would only be one read more.
    pub const fn maybe() -> Present {
        Present(Cell::new(Some(true)))
    }

    /// Whether the table has rows. Looks only once.
    pub fn any<K: Key, V: Row>(&self, view: &impl Read, table: &Table<K, V>) -> Result<bool> {
        if let Some(known) = self.0.get() {
            return Ok(known);
        }
        let any = !view.scan(&table.range(), Direction::Ascending, 1)?.is_empty();
        self.0.set(Some(any));
        Ok(any)
    }
}

fn day_of(hour: i64) -> u32 {
    u32::try_from(hour.div_euclid(24)).unwrap_or(0)
}

/// The span of figures about a week: measurements in the last 7 days.
const WEEK: i64 = 7 * DAY;

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Every stored measurement of a series in `[from, to)`, judged, ordered by day. Of the measurements of probes, only
/// the confirmed ones say anything ([`probed`]).
pub fn read(view: &impl Read, key: &str, from: Timestamp, to: Timestamp) -> Result<Vec<JudgedMeasurement>> {
    read_of(view, key, from, to, &Present::maybe())
}

pub(super) fn read_of(
    view: &impl Read,
    key: &str,
    from: Timestamp,
    to: Timestamp,
    rolled: &Present,
) -> Result<Vec<JudgedMeasurement>> {
    // Probes are compared over whole spans.
    let mut seen = read_raw(view, key, probed::begin_of_span(from), to, rolled)?;
    probed::confirm(view, &mut seen)?;
    seen.retain(|seen: &JudgedMeasurement| seen.session.hour * HOUR > from.0 - HOUR);
    Ok(seen)
}

/// The number of measurements of a series in `[from, to)` by hour; each counts once.
pub fn hours(view: &impl Read, key: &str, from: Timestamp, to: Timestamp) -> Result<Vec<(i64, u32)>> {
    let mut hours: BTreeMap<i64, BTreeSet<u64>> = BTreeMap::new();
    for seen in read(view, key, from, to)? {
        hours.entry(seen.session.hour).or_default().insert(seen.identity);
    }
    Ok(hours.into_iter().map(|(hour, identities)| (hour, count(identities.len()))).collect())
}

/// Like [`read`], but with the measurements of all probes, confirmed or not.
pub(super) fn read_raw(
    view: &impl Read,
    key: &str,
    from: Timestamp,
    to: Timestamp,
    rolled: &Present,
) -> Result<Vec<JudgedMeasurement>> {
    let first = u32::try_from(from.day()).unwrap_or(0);
    let last = u32::try_from(to.day()).unwrap_or(0);
    let mut seen = Vec::new();
    if rolled.any(view, &ROLLED)? {
        let range = ROLLED.between(&(key.to_owned(), first), &(key.to_owned(), last.saturating_add(1)));
        ROLLED.visit(view, range, Direction::Ascending, |(_, day, asn, source), row| {
            row.seen(day, asn, source, &mut seen);
            Ok(true)
        })?;
    }
    let inside = |hour: i64| hour * HOUR > from.0 - HOUR && hour * HOUR < to.0;
    seen.retain(|seen: &JudgedMeasurement| inside(seen.session.hour));
    packed::visit_days(&ENTRIES, view, key, (first, last), |day, asn, source, records| {
        for bytes in records.chunks_exact(ENTRY_LEN) {
            let Some(entry) = bytes.try_into().ok().and_then(Entry::decode) else { continue };
            let hour = i64::from(day) * 24 + i64::from(entry.hour);
            if !inside(hour) {
                continue;
            }
            let session = Session {
                asn: (asn != 0).then_some(asn),
                hour,
                vote_key: entry.vote_key,
                evaluated: entry.outcome.evaluate(),
            };
            let identity = identity(rollup::prefix(&entry.identity), day, asn);
            seen.push(JudgedMeasurement { identity, source, day, primary: entry.primary, session });
        }
    })?;
    // Needed with several sources, or when measurements of rolled-up days came late.
    if !seen.is_sorted_by_key(|seen| seen.day) {
        seen.sort_by_key(|seen| (seen.day, seen.session.asn, seen.source));
    }
    Ok(seen)
}

/// How far back the measurements of control sites count.
const CONTROLLED: i64 = Ageing::of(false).limit;

/// What measurements of control sites said over some time.
pub(super) struct Controls {
    /// Hour, network, and whether it failed.
    said: Vec<(i64, u32, bool)>,
}

impl Controls {
    /// Reads the time that counts at any moment of `[from, to]`.
    pub fn between(view: &impl Read, from: Timestamp, to: Timestamp) -> Result<Controls> {
        Controls::read(view, from.plus(-CONTROLLED), to)
    }

    fn read(view: &impl Read, from: Timestamp, to: Timestamp) -> Result<Controls> {
        let (mut said, rolled) = (Vec::new(), Present::default());
        for site in control_sites(view)? {
            if !TARGETS.contains(view, &(site.clone(),))? {
                continue;
            }
            for seen in read_of(view, &site, from, to, &rolled)? {
                let failed = match seen.session.evaluated.vote {
                    Vote::Blocked | Vote::NeedsControl | Vote::Down => true,
                    Vote::Clear => false,
                    Vote::Masked => continue,
                };
                said.push((seen.session.hour, seen.session.asn.unwrap_or(0), failed));
            }
        }
        Ok(Controls { said })
    }

    /// Share of failing control sites at a moment, by network.
    pub fn failing(&self, at: Timestamp) -> Failing {
        let from = at.plus(-CONTROLLED);
        let mut counts: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        let counting = |hour: i64| hour * HOUR > from.0 - HOUR && hour * HOUR < at.0;
        for (_, asn, failed) in self.said.iter().filter(|(hour, ..)| counting(*hour)) {
            let count = counts.entry(*asn).or_default();
            *count = (count.0 + u32::from(*failed), count.1 + 1);
        }
        // A single failing control page says nothing about a network.
        let enough = counts.into_iter().filter(|(_, (_, all))| *all >= 5);
        enough.map(|(asn, (failed, all))| (asn, f64::from(failed) / f64::from(all))).collect()
    }
}

impl Surroundings {
    pub(super) fn new(view: &impl Read, at: Timestamp, control: Failing) -> Result<Surroundings> {
        Ok(Surroundings {
            at,
            control,
            rates: KindRates::read(view)?,
            networks: Arc::default(),
            listed: Present::default(),
            attested: Present::default(),
            rolled: Present::default(),
            noise: Mutex::default(),
        })
    }

    pub fn at(view: &impl Read, at: Timestamp) -> Result<Surroundings> {
        let controls = Controls::read(view, at.plus(-CONTROLLED), at)?;
        Surroundings::new(view, at, controls.failing(at))
    }

    /// Like [`Surroundings::at`], but uses what was kept from an earlier question in this hour. For a site with few
    /// measurements, reading the control sites is most of the cost of a question.
    pub fn kept(view: &View<'_>, at: Timestamp) -> Result<Surroundings> {
        let Some(memo) = view.memo() else { return Surroundings::at(view, at) };
        // Measurements are known by the hour; a full hour is the border between two hours.
        let whole = at.0.rem_euclid(HOUR) == 0;
        let revision = view.revision()?;
        let networks = memo.shared(view.actor(), revision);
        let key = encode(&("surroundings", &view.actor().name, revision, at.hour(), whole))?;
        if let Some(control) = memo.get(&key) {
            return Ok(Surroundings { networks, ..Surroundings::new(view, at, decode(&control)?)? });
        }
        let surroundings = Surroundings { networks, ..Surroundings::at(view, at)? };
        memo.put(key, encode(&surroundings.control)?.into_boxed_slice().into());
        Ok(surroundings)
    }

    /// Share of control sites that fail on a network; `None` if too few were measured.
    pub fn control_failures(&self, asn: u32) -> Option<f64> {
        self.control.get(&asn).copied()
    }

    /// Numbers of the networks on which so many control sites fail that the networks decide nothing.
    pub fn broken(&self) -> Vec<u32> {
        self.control.keys().filter(|asn| is_broken(&self.control, **asn)).copied().collect()
    }

    /// How often the networks fail in a block of days.
    pub(super) fn noise(&self, view: &impl Read, block: u32) -> Result<Arc<Noise>> {
        let known = || self.noise.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(noise) = known().get(&block) {
            return Ok(noise.clone());
        }
        let noise = Arc::new(Noise::of_block(view, block)?);
        known().insert(block, noise.clone());
        Ok(noise)
    }

    /// Name and addresses of a network.
    pub(super) fn network(&self, view: &impl Read, asn: u32) -> Result<NameAndAddresses> {
        let networks = || self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = networks().get(&asn) {
            return Ok(known.clone());
        }
        let NetworkRow { name, addresses, .. } = NETWORKS.get(view, &(asn,))?.unwrap_or_default();
        let named: NameAndAddresses = (name.map(Arc::from), addresses);
        networks().insert(asn, named.clone());
        Ok(named)
    }
}

/// Whether so many control sites fail on a network that it decides nothing (decision failing-elsewhere).
pub(super) fn is_broken(control: &Failing, asn: u32) -> bool {
    control.get(&asn).is_some_and(|share| *share > BROKEN_NETWORK_SHARE)
}

pub(super) fn control_sites(view: &impl Read) -> Result<Vec<String>> {
    let imported = CONTROL_SITES.get(view, &())?.unwrap_or_default().0;
    if !imported.is_empty() {
        return Ok(imported);
    }
    let basket = starter::basket::all().iter().filter(|site| site.category == starter::categories::CONTROL);
    Ok(basket.map(|site| site.domain.to_owned()).collect())
}

/// Successes elsewhere: on other networks of this country by the hour, in other countries by the day or by spans of
/// hours (decision controls-from-peers). They are collected only if a failure waits for them.
pub(super) fn peers(view: &impl Read, key: &str, seen: &[JudgedMeasurement], at: Timestamp) -> Result<Peers> {
    let unasked = peers_unasked(view, key, seen, at)?;
    peers_asked(view, key, seen, unasked)
}

/// Adds what other countries reported because this one asked.
pub(super) fn peers_asked(view: &impl Read, key: &str, seen: &[JudgedMeasurement], unasked: Peers) -> Result<Peers> {
    let mut peers = unasked;
    if let Some(days) = days_that_wait(seen) {
        down_elsewhere::add_peers(view, key, days, &mut peers)?;
    }
    Ok(peers)
}

/// First and last day of failures that wait for a control.
fn days_that_wait(seen: &[JudgedMeasurement]) -> Option<(u32, u32)> {
    let waiting = seen.iter().filter(|seen| seen.session.evaluated.vote == Vote::NeedsControl).map(|seen| seen.day);
    Some((waiting.clone().min()?, waiting.max()?))
}

/// Like [`peers`], without what other countries reported because this one asked.
pub(super) fn peers_unasked(view: &impl Read, key: &str, seen: &[JudgedMeasurement], at: Timestamp) -> Result<Peers> {
    let Some((first, last)) = days_that_wait(seen) else { return Ok(Peers::default()) };
    let mut peers = Peers::collect(seen.iter().map(|seen| &seen.session));
    let (first, last) = (first.saturating_sub(1), last.saturating_add(1).min(day_of(at.hour())));
    let range = OUTSIDE.between(&(key.to_owned(), first), &(key.to_owned(), last.saturating_add(1)));
    OUTSIDE.visit(view, range, Direction::Ascending, |(_, day), outside| {
        if outside.sessions as usize >= PEER_SESSIONS && outside.networks as usize >= PEER_NETWORKS {
            // Noon stands for the whole day.
            peers.add_abroad(i64::from(day) * 24 + 12);
        }
        Ok(true)
    })?;
    Ok(peers)
}

/// Numbers of measurements by what they say.
#[derive(Default)]
struct Tally {
    failed: u32,
    down: u32,
    clear: u32,
}

impl Tally {
    fn of<'a>(sessions: impl Iterator<Item = &'a Session>) -> Tally {
        let mut tally = Tally::default();
        for session in sessions {
            match session.evaluated.vote {
                Vote::Blocked | Vote::NeedsControl => tally.failed += 1,
                Vote::Down => tally.down += 1,
                Vote::Clear => tally.clear += 1,
                Vote::Masked => {}
            }
        }
        tally
    }

    fn failure_rate(&self) -> Option<f64> {
        let failed = self.failed + self.down;
        let said = failed + self.clear;
        (said as usize >= RATE_MEASUREMENTS).then(|| f64::from(failed) / f64::from(said))
    }
}

/// Whether it was measured from outside the country, on no known network.
pub(super) fn is_remote(seen: &JudgedMeasurement) -> bool {
    seen.session.asn.is_none() && seen.source == Source::CensoredPlanet.code()
}

/// The rate at which a target fails where nobody blocks it.
pub fn down_rate(view: &impl Read, key: &str) -> Result<f64> {
    Ok(PRIORS.get(view, &(key.to_owned(),))?.map_or(DEFAULT_DOWN_RATE, |prior| prior.rate))
}

/// The rate at which a site is taken to fail where nobody blocks it, in steps and bounded: votes are weighed with it.
pub fn site_rate(view: &impl Read, key: &str) -> Result<f64> {
    Ok(PRIORS.get(view, &(key.to_owned(),))?.map_or(0.0, |prior| prior.site()))
}

/// A withheld network is no network. Its measurements are evidence of the country, but never votes of a network.
fn members<'n>(networks: &'n [Network]) -> Vec<Member<'n>> {
    let networks = networks.iter().filter(|network| network.asn != 0 || network.remote);
    let member = |network: &'n Network| {
        let Network { asn, addresses, remote, verdict, .. } = network;
        Member { asn: *asn, addresses: *addresses, remote: *remote, verdict }
    };
    networks.map(member).collect()
}

/// Judges one series. `trace` keeps its votes and what each vote did.
pub fn judge(view: &View<'_>, key: &str, surroundings: &Surroundings, trace: bool) -> Result<JudgedSeries> {
    let at = surroundings.at;
    let ageing = surroundings.rates.ageing(view, key)?;
    let votes = Votes::counting(view, key, ageing, surroundings)?;
    let mut networks = networks(view, &votes, ageing, (surroundings, trace))?;
    // The verdict includes networks whose votes count only because the newest vote came before they passed the age
    // limit.
    let mut verdict = national::verdict(&members(&networks));
    let mut seen = votes.seen;
    let newest = newest(view, key, at, &seen)?;
    let (newest, newest_sources) = newest.map_or((None, BTreeSet::new()), |(hour, sources)| (Some(hour), sources));
    if networks.is_empty() && newest.is_some() {
        verdict.p_blocked = ageing.rate;
    }
    seen.retain(|seen| seen.session.hour * HOUR >= at.plus(-ageing.limit).0);
    count_in(&mut networks, &seen);
    networks.retain(|network| network.measurements > 0);
    let tally = Tally::of(seen.iter().map(|seen| &seen.session));
    let identities: Vec<u64> = seen.iter().map(|seen| seen.identity).collect();
    let mut distinct = Distinct::default();
    identities.iter().for_each(|identity| distinct.insert(*identity));
    let week = at.plus(-WEEK);
    let of_week = seen.iter().filter(|seen| seen.primary && seen.session.hour * HOUR >= week.0).count();
    Ok(JudgedSeries {
        key: key.to_owned(),
        ageing,
        verdict,
        evidence: count(distinct.len()),
        counted: networks.iter().map(|network| network.counted).sum(),
        of_week: count(of_week),
        identities,
        newest,
        newest_sources,
        sources: seen.iter().map(|seen| seen.source).collect(),
        down: tally.down,
        failure_rate: tally.failure_rate(),
        networks,
        instrument: votes.instrument,
    })
}

/// The networks with their verdicts, ordered by number. Their measurements are not counted yet.
fn networks(
    view: &View<'_>,
    votes: &Votes,
    ageing: Ageing,
    (surroundings, trace): (&Surroundings, bool),
) -> Result<Vec<Network>> {
    let (at, control) = (surroundings.at, &surroundings.control);
    let mut steps: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
    let verdicts = match trace {
        true => {
            let note = |asn, step| steps.entry(asn).or_default().push(step);
            votes.filtered(&mut Filter::default(), at, control, note)
        }
        false => votes.verdicts(at, control),
    };
    let network = |(voter, verdict): (&Voter, NetworkVerdict)| {
        let (name, addresses) = surroundings.network(view, voter.asn)?;
        Ok(Network {
            asn: voter.asn,
            remote: voter.remote,
            name,
            addresses,
            votes: if trace { network::counting(&voter.votes, at, ageing).to_vec() } else { Vec::new() },
            steps: if voter.counts() { steps.remove(&voter.asn).unwrap_or_default() } else { Vec::new() },
            verdict,
            measurements: 0,
            counted: 0,
            last_hour: 0,
            control_failures: surroundings.control_failures(voter.asn),
        })
    };
    votes.voters.iter().zip(verdicts).map(network).collect()
}

/// Counts the measurements of each network.
fn count_in(networks: &mut [Network], seen: &[JudgedMeasurement]) {
    // Measurements are mostly ordered by network.
    for seen in seen.chunk_by(|a, b| (a.session.asn, a.source) == (b.session.asn, b.source)) {
        let Some(of) = seen.first().map(|seen| (seen.session.asn.unwrap_or(0), is_remote(seen))) else { continue };
        let place = networks.binary_search_by_key(&of, |network| (network.asn, network.remote));
        let Some(network) = place.ok().and_then(|place| networks.get_mut(place)) else { continue };
        network.measurements = network.measurements.saturating_add(count(seen.len()));
        network.counted += count(seen.iter().filter(|seen| seen.primary).count());
        network.last_hour = seen.iter().map(|seen| seen.session.hour).fold(network.last_hour, i64::max);
    }
}

/// The hour of the newest measurement before `at`, however old, and the sources that have one in that hour.
fn newest(
    view: &impl Read,
    key: &str,
    at: Timestamp,
    recent: &[JudgedMeasurement],
) -> Result<Option<(i64, BTreeSet<u8>)>> {
    let last = |seen: &[JudgedMeasurement]| {
        let hour = seen.iter().map(|seen| seen.session.hour).max()?;
        let of_hour = seen.iter().filter(|seen| seen.session.hour == hour);
        Some((hour, of_hour.map(|seen| seen.source).collect()))
    };
    if let Some(newest) = last(recent) {
        return Ok(Some(newest));
    }
    let mut end = u32::try_from(at.day()).unwrap_or(0).saturating_add(1);
    loop {
        let (from, to) = ((key.to_owned(), 0u32), (key.to_owned(), end));
        let entries = packed::last_day(&ENTRIES, view, key, end)?;
        let rolled = ROLLED.last(view, &ROLLED.between(&from, &to))?.map(|((_, day, ..), _)| day);
        let Some(day) = entries.max(rolled) else { return Ok(None) };
        let midnight = Timestamp(i64::from(day) * DAY);
        let seen = read(view, key, midnight, at.min(midnight.plus(DAY)))?;
        if let Some(newest) = last(&seen) {
            return Ok(Some(newest));
        }
        // That row has only measurements later than `at`.
        end = day;
    }
}

/// The rules behind the votes of a series that count, with the number of measurements.
pub fn rules(judged: &JudgedSeries) -> BTreeMap<RuleId, u32> {
    let mut rules = BTreeMap::new();
    for network in &judged.networks {
        for (rule, count) in network.votes.iter().flat_map(|vote| &vote.rules) {
            *rules.entry(*rule).or_default() += count;
        }
    }
    rules
}
