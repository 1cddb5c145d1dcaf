//! The answer to "is it blocked there?": measured roles, lists, sources, networks, explanation.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attested::{self, AttestationEvidence};
use super::distinct::Distinct;
use super::evidence::{self, JudgedSeries, Network, Present, Surroundings};
use super::explain::{self, Explanation};
use super::kinds;
use super::tables::{LISTED, LISTED_SINCE};
use crate::import::ListKind;
use crate::{Result, Timestamp};
use engine::actor::{Call, Kind, Query, View, decode, encode};
use engine::kv::Direction;
use engine::number::round;
use engine::settings::Settings;
use engine::time::HOUR;
use facts::source;
use facts::source::Source;
use facts::starter;
use facts::subject::{Role, Subject};
use facts::verdict::Technique;
use facts::verdict::down_or_blocked;
use facts::verdict::national::{self, Basis, CountryVerdict, ListEntry};
use facts::verdict::network::{self, Status};
use facts::verdict::posterior::Beta;

/// Most subjects of one question.
pub const MAX_SUBJECTS: usize = 50;

/// The three states as they are stored and carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "BlockingState")]
pub enum State {
    Blocked,
    Accessible,
    #[default]
    Unknown,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Blocked => "blocked",
            State::Accessible => "accessible",
            State::Unknown => "unknown",
        }
    }

    /// 1 reachable, 0 blocked, `None` when unknown.
    pub const fn score(self) -> Option<f64> {
        match self {
            State::Blocked => Some(0.0),
            State::Accessible => Some(1.0),
            State::Unknown => None,
        }
    }
}

impl From<Status> for State {
    fn from(status: Status) -> State {
        match status {
            Status::Blocked => State::Blocked,
            Status::Accessible => State::Accessible,
            Status::Unknown => State::Unknown,
        }
    }
}

/// A block list that names the subject.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Listing {
    /// `official`, `court`, `leak`, `documented` or `community`.
    pub kind: String,
    /// The date of the list.
    pub date: String,
    /// The source that documents a documented block.
    pub source: Option<String>,
    /// Since when the list has the entry, if the list says so.
    #[serde(default)]
    pub since: Option<String>,
}

/// One network of a subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkAnswer {
    pub asn: u32,
    pub name: Option<String>,
    pub state: State,
    /// Share of blocked votes among all votes that count, 0-1.
    pub block_rate: f64,
    /// Posterior of the blocked share.
    pub posterior: Beta,
    pub method: Option<String>,
    pub technique: Option<String>,
    pub measurements: u32,
    /// Measurements among them that are counted here and at no other target.
    pub counted: u32,
    pub votes: u32,
    pub blocked_votes: u32,
    pub confidence: f64,
    pub intermittent: bool,
    pub last_checked: Timestamp,
}

/// One series of a subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleAnswer {
    pub key: String,
    pub essential: bool,
    pub status: State,
    #[serde(rename = "evidenceCount")]
    pub evidence_count: u32,
    #[serde(rename = "blockingMethod")]
    pub method: Option<String>,
}

/// Everything that an endpoint may say about a subject. Each endpoint takes the members that its interface names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    pub name: String,
    pub state: State,
    pub basis: String,
    pub confidence: f64,
    pub evidence_strength: f64,
    pub evidence_count: u32,
    /// Measurements that are counted here and at no other target: inside the age limit, and of the last seven days.
    pub counted: u32,
    pub of_week: u32,
    /// Methods in their normal forms, the most frequent first.
    pub methods: Vec<String>,
    pub technique: Option<String>,
    /// `None` if the subject is blocked in a way that no source states.
    pub block_type: Option<String>,
    pub sources: Vec<String>,
    pub licences: Vec<String>,
    pub last_checked: Timestamp,
    pub stale_since: Option<Timestamp>,
    pub listed: bool,
    pub lists: Vec<Listing>,
    /// `national`, `several` or `single`.
    pub scope: Option<String>,
    pub intermittent: bool,
    pub networks_blocked: u32,
    pub networks_tested: u32,
    /// Share of weight of the blocked networks.
    pub blocked_weight: f64,
    pub p_blocked: f64,
    /// `site_down` when the site itself fails (decision classify-one-document).
    pub reason: Option<String>,
    pub networks: Vec<NetworkAnswer>,
    pub roles: Vec<RoleAnswer>,
    pub explanation: Option<Explanation>,
    /// Share of blocked or down measurements. It feeds the prior of other countries.
    pub failure_rate: Option<f64>,
    pub weights_known: bool,
    /// What agents attest. No other member rests on it.
    pub attestations: Option<AttestationEvidence>,
}

impl Detection {
    /// The answer about a code that no country has.
    pub fn unmeasured(subject: &Subject, now: Timestamp) -> Detection {
        Detection {
            name: subject.name.clone(),
            basis: Basis::Unmeasured.as_str().to_owned(),
            block_type: Some("none".to_owned()),
            licences: vec![starter::LICENCE.to_owned()],
            last_checked: now,
            ..Detection::default()
        }
    }

    /// The time of the newest measurement, or the date of the list that decided; `None` if the subject was never
    /// measured.
    pub fn seen(&self) -> Option<Timestamp> {
        (self.basis != Basis::Unmeasured.as_str() || self.stale_since.is_some()).then_some(self.last_checked)
    }
}

/// Asks about up to 50 subjects in this country, at a time or now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Detect {
    pub subjects: Vec<Subject>,
    pub at: Option<Timestamp>,
    pub explain: bool,
    /// Whether networks are left out, because answers about many subjects do not show them.
    pub brief: bool,
}

impl Query for Detect {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "detect";
    type Reply = Vec<Detection>;

    fn computes(&self) -> bool {
        self.at.is_some()
    }

    fn run(self, view: &View<'_>) -> Result<Vec<Detection>> {
        let at = self.at.unwrap_or(view.now);
        let mut surroundings = None;
        let mut look = |subject: &Subject| {
            let known = match &mut surroundings {
                Some(known) => known,
                none => none.insert(Surroundings::kept(view, at)?),
            };
            find(view, subject, known, self.explain, self.brief)
        };
        let Some(memo) = view.memo().filter(|_| !self.explain) else {
            return self.subjects.iter().map(|subject| Ok(look(subject)?.answer)).collect();
        };
        let mut key = self.memo_key(view, at)?;
        let shared = key.len();
        let mut answers = Vec::with_capacity(self.subjects.len());
        for subject in &self.subjects {
            key.truncate(shared);
            key.extend(encode(subject)?);
            let mut answer = match memo.get(&key) {
                Some(known) => decode(&known)?,
                None => {
                    let SubjectAnswer { mut answer, named, .. } = look(subject)?;
                    dated(&mut answer, at, NEVER);
                    // Lists and attestations begin and end at any moment, so an answer with them depends on more than
                    // the key.
                    if !named && !answer.listed {
                        memo.put(key.as_slice().into(), encode(&answer)?.into_boxed_slice().into());
                    }
                    answer
                }
            };
            dated(&mut answer, NEVER, at);
            answers.push(answer);
        }
        Ok(answers)
    }
}

/// The reply to a [`Detect`] call, when the answers about all of its subjects are kept.
pub fn remembered(view: &View<'_>, call: &Call) -> Option<Vec<u8>> {
    let asked: Detect = decode(&call.arguments).ok()?;
    let memo = view.memo().filter(|_| !asked.explain)?;
    let at = asked.at.unwrap_or(view.now);
    let shared = asked.memo_key(view, at).ok()?;
    let answers = asked.subjects.iter().map(|subject| {
        let key = [shared.as_slice(), &encode(subject).ok()?].concat();
        let mut answer: Detection = decode(&memo.get(&key)?).ok()?;
        dated(&mut answer, NEVER, at);
        Some(answer)
    });
    encode(&answers.collect::<Option<Vec<Detection>>>()?).ok()
}

/// Stands for the time of the question in answers that are kept. An answer without measurements names that time.
const NEVER: Timestamp = Timestamp(i64::MIN);

/// Replaces one time of an answer by another.
fn dated(answer: &mut Detection, from: Timestamp, to: Timestamp) {
    if answer.last_checked == from {
        answer.last_checked = to;
    }
}

impl Detect {
    /// All that an answer from measurements depends on in addition to its subject: the rows, the question, and the hour
    /// of its time. Votes, windows and ages are counted in hours; a full hour is the border between two hours. Answers
    /// are kept by subject, so that an answer also serves a later question about the same subject, alone or among
    /// others.
    fn memo_key(&self, view: &View<'_>, at: Timestamp) -> Result<Vec<u8>> {
        let whole = at.0.rem_euclid(HOUR) == 0;
        encode(&(&view.actor().name, view.revision()?, self.brief, at.hour(), whole))
    }
}

/// An answer. `named` is true if a list or an agent names the subject at any time, also at a time that begins within the
/// hour.
struct SubjectAnswer {
    answer: Detection,
    named: bool,
    /// See [`kinds::blocked_then`]; of the first series.
    blocked_then: Option<f64>,
}

/// Answers about one subject.
pub fn detect(view: &View<'_>, subject: &Subject, surroundings: &Surroundings, explain: bool) -> Result<Detection> {
    Ok(find(view, subject, surroundings, explain, false)?.answer)
}

/// The answer about one series, and [`kinds::blocked_then`].
pub(super) fn detect_series(
    view: &View<'_>,
    key: &str,
    surroundings: &Surroundings,
) -> Result<(Detection, Option<f64>)> {
    let found = find(view, &Subject::series(key), surroundings, false, false)?;
    Ok((found.answer, found.blocked_then))
}

fn find(
    view: &View<'_>,
    subject: &Subject,
    surroundings: &Surroundings,
    explain: bool,
    brief: bool,
) -> Result<SubjectAnswer> {
    let at = surroundings.at;
    let judged = judged_roles(view, subject, surroundings, explain)?;
    let (lists, listed) = lists(view, subject, at, &surroundings.listed)?;
    let (attestations, attested) = attested::evidence(view, subject, surroundings, explain)?;
    let essential: Vec<&JudgedSeries> =
        judged.iter().filter(|(essential, _)| *essential).map(|(_, judged)| judged).collect();
    let verdict = combine(&essential);
    let newest = judged.iter().filter_map(|(_, judged)| judged.newest).max().map(|hour| Timestamp(hour * HOUR));
    let measurements = distinct(&judged);
    let entries: Vec<ListEntry> = lists.iter().map(|(entry, _)| *entry).collect();
    let answer = national::answer(&verdict, measurements, newest, &entries, at);
    let networks = if brief { Vec::new() } else { networks(view, &essential)? };
    let techniques = national::techniques(blocked_networks(&essential).map(|network| &network.verdict.techniques));
    let documented = documented(view, subject);
    let (methods, technique, block_type) = how(answer.basis, State::from(answer.status), &techniques, documented);
    let limit = judged.iter().map(|(_, judged)| judged.ageing.limit).max().unwrap_or(0);
    let known = measured_by(&judged);
    let from_list = answer.basis == Basis::KnownList;
    let down = essential.iter().map(|judged| judged.down).sum();
    let answer = Detection {
        name: subject.name.clone(),
        state: answer.status.into(),
        basis: answer.basis.as_str().to_owned(),
        confidence: round(answer.confidence),
        evidence_strength: round(verdict.evidence_strength),
        evidence_count: answer.evidence_count,
        counted: sum(&judged, |judged| judged.counted),
        of_week: sum(&judged, |judged| judged.of_week),
        methods,
        technique,
        block_type,
        sources: match from_list {
            true => vec!["known_list".to_owned()],
            false => known.iter().map(|source| source.id().to_owned()).collect(),
        },
        licences: licences(
            &licensed_by(&judged, measurements == 0),
            entries.iter().filter(|entry| from_list && entry.speaks(at)),
            view.settings,
        ),
        last_checked: answer.last_checked,
        stale_since: newest.filter(|_| measurements == 0 && !from_list).map(|newest| newest.plus(limit)),
        listed: answer.listed,
        lists: lists.into_iter().map(|(_, listing)| listing).collect(),
        scope: verdict.scope.map(|scope| scope.as_str().to_owned()),
        intermittent: verdict.intermittent,
        networks_blocked: verdict.networks_blocked,
        networks_tested: verdict.networks_tested,
        blocked_weight: round(verdict.blocked_weight),
        p_blocked: round(verdict.p_blocked),
        reason: down_or_blocked::reason(verdict.status, down).filter(|_| !from_list).map(str::to_owned),
        roles: judged.iter().map(|(essential, judged)| role_answer(*essential, judged)).collect(),
        explanation: explain.then(|| explain::explain(view, &judged)).transpose()?,
        failure_rate: essential.iter().filter_map(|judged| judged.failure_rate).next(),
        weights_known: essential.iter().flat_map(|j| &j.networks).any(|network| network.addresses.is_some()),
        networks,
        attestations,
    };
    let blocked_then = judged.first().and_then(|(_, judged)| kinds::blocked_then(judged));
    Ok(SubjectAnswer { answer, named: listed || attested, blocked_then })
}

/// The series of each role of a subject, and whether the role is essential.
fn judged_roles(
    view: &View<'_>,
    subject: &Subject,
    surroundings: &Surroundings,
    explain: bool,
) -> Result<Vec<(bool, JudgedSeries)>> {
    let judge = |role: &Role| Ok((role.essential, evidence::judge(view, &role.key, surroundings, explain)?));
    subject.roles.iter().map(judge).collect()
}

/// How the subject is blocked by the dated facts inside the binary.
fn documented(view: &View<'_>, subject: &Subject) -> Option<Technique> {
    let block = starter::known_blocks::find_any(view.actor().name.as_str(), subject.named())?;
    Technique::from_dotted(block.technique?)
}

/// The sources of all series, each once.
fn measured_by(judged: &[(bool, JudgedSeries)]) -> Vec<Source> {
    distinct_sources(judged.iter().flat_map(|(_, judged)| &judged.sources))
}

/// The sources whose measurements an answer rests on or names: without any inside the age limit, those of the newest.
fn licensed_by(judged: &[(bool, JudgedSeries)], stale: bool) -> Vec<Source> {
    let newest = judged.iter().filter(|_| stale).flat_map(|(_, judged)| &judged.newest_sources);
    distinct_sources(judged.iter().flat_map(|(_, judged)| &judged.sources).chain(newest))
}

fn distinct_sources<'a>(codes: impl Iterator<Item = &'a u8>) -> Vec<Source> {
    let codes: BTreeSet<u8> = codes.copied().collect();
    codes.into_iter().filter_map(Source::from_code).collect()
}

/// The licences of the rows behind an answer: those of the measurements, and those of the list entries that decided.
fn licences<'a>(sources: &[Source], lists: impl Iterator<Item = &'a ListEntry>, settings: &Settings) -> Vec<String> {
    let lists = lists.map(|entry| match entry.kind {
        national::ListKind::Documented => starter::LICENCE,
        _ => source::blocklist_licence(settings),
    });
    let measured = sources.iter().map(|source| source.licence_under(settings));
    let mut licences: BTreeSet<&str> = measured.chain(lists).collect();
    if licences.is_empty() {
        licences.insert(starter::LICENCE);
    }
    licences.into_iter().map(str::to_owned).collect()
}

fn role_answer(essential: bool, judged: &JudgedSeries) -> RoleAnswer {
    RoleAnswer {
        key: judged.key.clone(),
        essential,
        status: judged.verdict.status.into(),
        evidence_count: judged.evidence,
        method: (judged.verdict.status == Status::Blocked)
            .then(|| judged.verdict.techniques.first().map(|technique| technique.method().to_owned()))
            .flatten(),
    }
}

/// A service is blocked if an essential role is blocked, and accessible if one is accessible and none is blocked. The
/// numbers are those of the role that decides.
fn combine(essential: &[&JudgedSeries]) -> CountryVerdict {
    let rank = |judged: &&&JudgedSeries| {
        let status = match judged.verdict.status {
            Status::Blocked => 2,
            Status::Accessible => 1,
            Status::Unknown => 0,
        };
        (status, judged.verdict.evidence_count)
    };
    let strongest = |a: &&&JudgedSeries, b: &&&JudgedSeries| {
        rank(a).cmp(&rank(b)).then(a.verdict.confidence.total_cmp(&b.verdict.confidence))
    };
    essential.iter().max_by(strongest).map_or_else(|| national::verdict(&[]), |judged| judged.verdict.clone())
}

fn blocked_networks<'a>(essential: &'a [&'a JudgedSeries]) -> impl Iterator<Item = &'a Network> {
    let networks = essential.iter().flat_map(|judged| &judged.networks);
    networks.filter(|network| (network.asn != 0 || network.remote) && network.verdict.status == Status::Blocked)
}

fn sum(judged: &[(bool, JudgedSeries)], of: fn(&JudgedSeries) -> u32) -> u32 {
    judged.iter().map(|(_, judged)| of(judged)).sum()
}

/// How many different measurements the roles rest on. One test may measure several roles.
fn distinct(judged: &[(bool, JudgedSeries)]) -> u32 {
    let measured: Vec<&JudgedSeries> =
        judged.iter().map(|(_, judged)| judged).filter(|judged| judged.evidence > 0).collect();
    if let [one] = measured.as_slice() {
        return one.evidence;
    }
    let mut distinct = Distinct::default();
    measured.iter().flat_map(|judged| &judged.identities).for_each(|identity| distinct.insert(*identity));
    u32::try_from(distinct.len()).unwrap_or(u32::MAX)
}

/// Each network once: with the role that says most about it, or the first of equal roles.
fn networks(view: &View<'_>, essential: &[&JudgedSeries]) -> Result<Vec<NetworkAnswer>> {
    let rank = |network: &Network| {
        let status = network.verdict.status;
        (status == Status::Blocked, status == Status::Accessible, network.verdict.votes)
    };
    let mut networks: Vec<(&Network, f64)> = Vec::new();
    for judged in essential.iter().filter(|judged| !judged.networks.is_empty()) {
        let down_rate = evidence::down_rate(view, &judged.key)?;
        networks.extend(judged.networks.iter().map(|network| (network, down_rate)));
    }
    networks.retain(|(network, _)| network.asn != 0);
    // The sort is stable: the first of equal entries stays.
    networks.sort_by_key(|(network, _)| (network.asn, std::cmp::Reverse(rank(network))));
    networks.dedup_by_key(|(network, _)| network.asn);
    Ok(networks.into_iter().map(|(network, down_rate)| network_answer(network, down_rate)).collect())
}

fn network_answer(network: &Network, down_rate: f64) -> NetworkAnswer {
    let verdict = &network.verdict;
    let blocked = verdict.status == Status::Blocked;
    let technique =
        blocked.then(|| national::techniques(std::iter::once(&verdict.techniques)).into_iter().next()).flatten();
    let rate = if verdict.votes == 0 { 0.0 } else { f64::from(verdict.blocked_votes) / f64::from(verdict.votes) };
    NetworkAnswer {
        asn: network.asn,
        name: network.name.as_deref().map(str::to_owned),
        state: verdict.status.into(),
        block_rate: round(rate),
        posterior: verdict.posterior(down_rate, network.control_failures),
        method: technique.map(|technique| technique.method().to_owned()),
        technique: technique.map(|technique| technique.as_str().to_owned()),
        measurements: network.measurements,
        counted: network.counted,
        votes: verdict.votes,
        blocked_votes: verdict.blocked_votes,
        confidence: round(network::confidence(verdict.status, verdict.p_blocked)),
        intermittent: verdict.intermittent,
        last_checked: Timestamp(network.last_hour * HOUR),
    }
}

/// The methods, the deepest technique and the block type of an answer.
fn how(
    basis: Basis,
    state: State,
    techniques: &[Technique],
    documented: Option<Technique>,
) -> (Vec<String>, Option<String>, Option<String>) {
    if state != State::Blocked {
        return (Vec::new(), None, Some("none".to_owned()));
    }
    let techniques: Vec<Technique> = match basis {
        Basis::Measured => techniques.to_vec(),
        _ => documented.into_iter().collect(),
    };
    let mut methods: Vec<String> = Vec::new();
    for technique in &techniques {
        let method = technique.method().to_owned();
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    match techniques.first() {
        Some(first) => (methods, Some(first.as_str().to_owned()), Some(first.block_type().to_owned())),
        None => (methods, None, None),
    }
}

type Lists = Vec<(ListEntry, Listing)>;

/// The lists that name a subject in this country and are of a time before `at` (decision kinds-of-lists), and whether
/// any imported list names it at all.
fn lists(view: &View<'_>, subject: &Subject, at: Timestamp, all: &Present) -> Result<(Lists, bool)> {
    let (mut found, mut named) = (Lists::new(), false);
    let country = view.actor().name.as_str();
    let documented = starter::known_blocks::find_any(country, subject.named());
    if let Some(block) = documented.filter(|block| block.confirmed_on <= at) {
        let entry = ListEntry { kind: national::ListKind::Documented, date: block.confirmed_on };
        let source = Some(block.source.to_owned());
        found.push((entry, listing("documented", block.confirmed_on, source)));
    }
    if !all.any(view, &LISTED)? {
        return Ok((found, named));
    }
    let hosts = subject.roles.iter().filter(|role| role.essential && !role.key.contains('/'));
    for role in hosts {
        let rows =
            LISTED.scan(view, &LISTED.prefix(&(role.key.clone(),)), Direction::Ascending, ListKind::ALL.len())?;
        named |= !rows.is_empty();
        for (key, date) in rows {
            if let Some((entry, listing)) = listed_at(view, &key, date, at)?
                && !found.iter().any(|(known, _)| *known == entry)
            {
                found.push((entry, listing));
            }
        }
    }
    Ok((found, named))
}

/// What a list row (domain, kind) with the date of the list says at a time; `None` before the entry begins.
pub(super) fn listed_at(
    view: &View<'_>,
    key: &(String, u8),
    date: Timestamp,
    at: Timestamp,
) -> Result<Option<(ListEntry, Listing)>> {
    let since = LISTED_SINCE.get(view, key)?;
    // A list may say since when it has an entry. It had the entry from then on, and still at its own date.
    let (from, date) = (since.unwrap_or(date), date.max(since.unwrap_or(date)));
    let Some(kind) = ListKind::from_code(key.1).filter(|_| from <= at) else { return Ok(None) };
    let entry = ListEntry { kind: weight_of(kind), date: date.min(at) };
    let listing = listing(kind.as_str(), entry.date, None);
    Ok(Some((entry, Listing { since: since.map(|since| since.to_date_text()), ..listing })))
}

/// Whether a list decides that a series is blocked, where measurements do not decide (decision kinds-of-lists).
pub(super) fn is_listed(view: &View<'_>, target: &str, at: Timestamp, all: &Present) -> Result<bool> {
    let (entries, _) = lists(view, &Subject::series(target), at, all)?;
    Ok(entries.iter().any(|(entry, _)| entry.speaks(at)))
}

pub(super) fn listing(kind: &str, date: Timestamp, source: Option<String>) -> Listing {
    Listing { kind: kind.to_owned(), date: date.to_date_text(), source, since: None }
}

pub(super) fn weight_of(kind: ListKind) -> national::ListKind {
    match kind {
        ListKind::Community => national::ListKind::Community,
        ListKind::Official => national::ListKind::Official,
        ListKind::Court => national::ListKind::Court,
        ListKind::Leak => national::ListKind::Leak,
    }
}
