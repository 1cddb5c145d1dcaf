//! What stands behind an answer about a site in a country: networks, rules, votes and measurements.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use engine::http::{Cx, encoded};
use engine::time::DAY;
use engine::{Result, Timestamp};
use facts::sentence::{Sentence, table};

use crate::answer::{self, Answer, web_address};
use crate::check::NetworkDay;
use crate::range::{Moment, Range};
use crate::words::Words;

/// Networks, votes and measurements that are shown.
const NETWORKS: usize = 30;
const VOTES: usize = 60;
const MEASUREMENTS: usize = 20;
/// Blocked measurements that are shown, even where newer ones are not blocked.
const BLOCKED: usize = 10;
/// Measurements of a day that are looked through for the newest.
const OF_A_DAY: &str = "1000";

/// A network, and what its parts say, where the service has several.
pub struct Network {
    pub asn: u64,
    pub name: String,
    pub status: String,
    pub word: String,
    pub votes: u64,
    pub blocked: u64,
    pub probability: String,
    pub carries: bool,
    pub parts: Vec<String>,
    order: (u8, Reverse<u64>, Reverse<u64>),
}

/// A vote, and what it did to the probability of a block on its network.
pub struct Vote {
    pub hour: String,
    pub asn: u64,
    pub word: String,
    pub weight: String,
    pub probability: String,
}

pub struct Measurement {
    pub time: String,
    pub asn: String,
    pub rule: String,
    pub vote: String,
    pub link: String,
}

/// A rule: its name, what it means, how often it decided, and its weight.
pub type Rule = (String, String, u64, String);

/// The networks of an answer and how many there are in all: blocked ones first. Each stands once, with what the
/// deciding part says, because the sentence counts this one.
pub fn networks(check: &Answer, w: Words) -> (Vec<Network>, usize) {
    let roles = check.list("/explanation/roles");
    let deciding = deciding(check, &roles);
    let mut found: BTreeMap<u64, Vec<(&Answer, Answer)>> = BTreeMap::new();
    for role in &roles {
        for network in role.list("networks") {
            found.entry(network.count("asn")).or_default().push((role, network));
        }
    }
    let mut all: Vec<Network> = found.values().filter_map(|parts| one_network(parts, deciding, w)).collect();
    all.sort_by_key(|one| one.order);
    let count = all.len();
    all.truncate(NETWORKS);
    (all, count)
}

/// The part of a service whose networks the sentence counts: a needed one of the same status and the same numbers.
fn deciding<'a>(check: &'a Answer, roles: &'a [Answer]) -> &'a str {
    let counted = |role: &Answer, statuses: &[&str]| {
        role.list("networks").iter().filter(|network| statuses.contains(&network.text("status"))).count() as u64
    };
    let is_counted = |role: &&Answer| {
        role.text("status") == check.text("status")
            && counted(role, &["blocked"]) == check.count("networksBlocked")
            && counted(role, &["blocked", "accessible"]) == check.count("networksTested")
    };
    let needed = || roles.iter().filter(|role| role.is("essential"));
    let found = needed().find(is_counted).or_else(|| needed().next()).or_else(|| roles.first());
    found.map(|role| role.text("key")).unwrap_or_default()
}

/// A network by what its parts say: the deciding one, or the first where that was not measured.
fn one_network(parts: &[(&Answer, Answer)], deciding: &str, w: Words) -> Option<Network> {
    let shown = parts.iter().find(|(role, _)| role.text("key") == deciding).or_else(|| parts.first());
    let network = &shown?.1;
    let status = network.text("status");
    let (votes, blocked) = (network.count("votes"), network.count("blocked_votes"));
    let place = match status {
        "blocked" => 0,
        "accessible" => 1,
        _ => 2,
    };
    Some(Network {
        asn: network.count("asn"),
        name: network.text("name").to_owned(),
        status: status.to_owned(),
        word: w.value("status", status),
        votes,
        blocked,
        probability: w.percent(network.number("p_blocked").unwrap_or_default()),
        carries: network.is("carries"),
        // A network with one part has no need to name it.
        parts: if parts.len() > 1 { parts.iter().map(|part| one_part(part, w)).collect() } else { Vec::new() },
        order: (place, Reverse(blocked), Reverse(votes)),
    })
}

fn one_part((role, network): &(&Answer, Answer), w: Words) -> String {
    let word = w.value("status", network.text("status"));
    let votes = w.apart(&format!("{} / {}", network.count("blocked_votes"), network.count("votes")));
    let probability = w.percent(network.number("p_blocked").unwrap_or_default());
    format!("{}{}{word} · {votes} · {probability}", part_name(role.text("key"), w), w.colon())
}

/// The name of a part of a service: words where it has no domain.
fn part_name(key: &str, w: Words) -> String {
    let code = format!("part.{key}");
    if w.has(&code) { w.t(&code).to_owned() } else { w.apart(key) }
}

/// The rules that decided, each once, those of all parts together.
pub fn rules(check: &Answer, w: Words) -> Vec<Rule> {
    let roles = check.list("/explanation/roles");
    let mut found: BTreeMap<String, (u64, f64, f64)> = BTreeMap::new();
    for rule in roles.iter().flat_map(|role| role.list("rules")) {
        let weight = rule.number("log10_lr").unwrap_or_default();
        let (count, least, most) = found.entry(rule.text("rule").to_owned()).or_insert((0, weight, weight));
        *count += rule.count("count");
        (*least, *most) = (least.min(weight), most.max(weight));
    }
    let weight = |least: f64, most: f64| match (format!("{least:+.2}"), format!("{most:+.2}")) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} … {most}"),
    };
    let row = |(name, (count, least, most)): (String, (u64, f64, f64))| {
        let meaning = meaning(&name, w);
        (name, meaning, count, weight(least, most))
    };
    found.into_iter().map(row).collect()
}

/// What a rule means; its name if nothing says so.
fn meaning(rule: &str, w: Words) -> String {
    let sentence = table::known(&format!("rule.{rule}")).map(Sentence::new);
    sentence.map_or_else(|| rule.to_owned(), |sentence| sentence.text_in(w.0))
}

/// The newest votes of all networks, newest first.
pub fn votes(check: &Answer, w: Words) -> Vec<Vote> {
    let roles = check.list("/explanation/roles");
    let mut votes: Vec<(String, Vote)> = Vec::new();
    for network in roles.iter().flat_map(|role| role.list("networks")) {
        votes.extend(network.list("newest_votes").iter().map(|vote| {
            let one = Vote {
                hour: w.moment(vote.text("hour")),
                asn: network.count("asn"),
                word: w.value("vote", if vote.is("failed") { "blocked" } else { "clear" }),
                weight: vote.weight("log10_weight"),
                probability: w.percent(vote.number("p_blocked").unwrap_or_default()),
            };
            (vote.text("hour").to_owned(), one)
        }));
    }
    votes.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.asn.cmp(&other.1.asn)));
    votes.truncate(VOTES);
    votes.into_iter().map(|(_, vote)| vote).collect()
}

/// Records of measurements that decided: day, network, address.
pub fn witnesses(check: &Answer, w: Words) -> Vec<(String, String, String)> {
    let roles = check.list("/explanation/roles");
    let all = roles.iter().flat_map(|role| role.list("witnesses"));
    // A measurement may have decided several parts.
    let mut seen = BTreeSet::new();
    all.map(|witness| {
        (w.day(witness.text("day")), format!("AS{}", witness.count("asn")), web_address(witness.text("link")))
    })
    .filter(|(_, _, link)| !link.is_empty() && seen.insert(link.clone()))
    .take(20)
    .collect()
}

/// The newest measurements of a site up to a moment, newest first. Of days on which something was blocked, the last one
/// is looked at too: what decided an answer is often not the very newest.
pub async fn newest(
    cx: &Cx,
    (site, country): (&str, &str),
    history: &[NetworkDay],
    moment: Option<&Moment>,
    w: Words,
) -> Result<Vec<Measurement>> {
    let last = |blocked: bool| history.iter().filter(|row| !blocked || row.blocked > 0).map(|row| &row.date).max();
    let (newest, blocked) = (last(false), last(true));
    let mut rows = Vec::new();
    for (day, all) in [(newest, true), (blocked.filter(|day| newest != Some(*day)), false)] {
        let Some(day) = day.and_then(|day| Timestamp::parse(&format!("{day}T00:00:00Z"))) else { continue };
        let of_day = Range::whole(day, day.plus(DAY)).query();
        let wanted = format!("country={country}&target={}&limit={OF_A_DAY}&{of_day}", encoded(site));
        let found = answer::ask_if_any(cx, "/data/measurements", &wanted).await?;
        let found = found.list("measurements").into_iter().map(|row| Answer::whole(row.0.into_owned()));
        rows.extend(found.filter(|row| all || row.text("vote") == "blocked"));
    }
    let end = moment.and_then(Moment::time);
    rows.retain(|row| end.is_none_or(|end| Timestamp::parse(row.text("time")).is_some_and(|time| time <= end)));
    rows.sort_by(|one, other| other.text("time").cmp(one.text("time")));
    Ok(some(rows).iter().map(|row| measurement(row, w)).collect())
}

/// The newest rows, the newest blocked ones among them; rows come and stay newest first.
fn some(rows: Vec<Answer<'static>>) -> Vec<Answer<'static>> {
    let is_blocked = |row: &Answer| row.text("vote") == "blocked";
    let blocked = rows.iter().filter(|row| is_blocked(row)).count().min(BLOCKED);
    let (mut blocked, mut others) = (blocked, MEASUREMENTS - blocked);
    let take = |row: &Answer| {
        let left = if is_blocked(row) && blocked > 0 { &mut blocked } else { &mut others };
        let taken = *left > 0;
        *left = left.saturating_sub(1);
        taken
    };
    rows.into_iter().filter(take).collect()
}

fn measurement(row: &Answer, w: Words) -> Measurement {
    Measurement {
        time: w.moment(row.text("time")),
        asn: row.text("asn").to_owned(),
        rule: row.text("rule").to_owned(),
        vote: w.value("vote", row.text("vote")),
        link: web_address(row.text("link")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::sentence::Language;
    use serde_json::json;

    fn network(asn: u64, status: &str, votes: u64, blocked: u64) -> serde_json::Value {
        json!({ "asn": asn, "status": status, "votes": votes, "blocked_votes": blocked, "p_blocked": 0.1 })
    }

    #[test]
    fn a_network_stands_once_with_its_parts_and_blocked_ones_stand_first() {
        let check =
            Answer::whole(json!({ "status": "blocked", "networksBlocked": 1, "networksTested": 2, "explanation":
            { "roles": [
            { "key": "telegram.org", "essential": true, "status": "blocked", "networks": [network(1, "blocked", 7, 7)],
                "rules": [] },
            { "key": "telegram/pool", "essential": true, "status": "blocked",
                "networks": [network(1, "accessible", 90, 40), network(2, "blocked", 5, 5)],
                "rules": [{ "rule": "tls.valid", "count": 2, "log10_lr": -1.0 }] },
            { "key": "web.telegram.org", "essential": true, "status": "accessible",
                "networks": [network(1, "accessible", 10, 0)],
                "rules": [{ "rule": "tls.valid", "count": 3, "log10_lr": -0.5 }] },
        ] } }));
        let w = Words(Language::English);
        let (networks, all) = networks(&check, w);
        let shown: Vec<_> = networks.iter().map(|one| (one.asn, one.votes, one.blocked, one.parts.len())).collect();
        assert_eq!((shown, all), (vec![(2, 5, 5, 0), (1, 90, 40, 3)], 2));
        assert!(networks[1].parts[1].starts_with("data centres"), "{:?}", networks[1].parts);
        let rules = rules(&check, w);
        assert_eq!((rules.len(), rules[0].2, rules[0].3.as_str()), (1, 5, "-1.00 … -0.50"));
    }

    #[test]
    fn blocked_measurements_are_among_those_shown() {
        let row = |hour: usize| {
            let vote = if hour == 3 { "blocked" } else { "clear" };
            Answer::whole(json!({ "time": format!("{hour:03}"), "vote": vote }))
        };
        let rows = some((0..50).rev().map(row).collect());
        assert_eq!((rows.len(), rows[0].text("time"), rows[19].text("time")), (20, "049", "003"));
    }
}
