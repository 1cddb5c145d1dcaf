//! Verdicts of networks and countries, lists, posterior.

use std::collections::BTreeMap;

use super::evaluate::{Evaluated, Vote, vote_of};
use super::national::{self, Basis, ListEntry, ListKind, Member, Scope};
use super::network::{
    self, NetworkVerdict, NetworkVotes, Status, VersionCount, down_rate, fails_anyhow, instrument_faults, site_rate,
};
use super::posterior::{Beta, Calibration, log10_odds};
use super::rules::RuleId;
use super::technique::Technique;
use super::window::{Ageing, HourVote, Peers, Session, votes};
use crate::Timestamp;
use engine::testing::Dice;
use engine::time::{DAY, HOUR};

const NOW_HOUR: i64 = 472_000;

fn now() -> Timestamp {
    Timestamp(NOW_HOUR * HOUR)
}

/// The verdict on one network whose sessions fail with the rate `free` where nobody blocks.
fn verdict(votes: &[HourVote], ageing: Ageing, free: f64) -> NetworkVerdict {
    let heard = [NetworkVotes { asn: 1, votes, broken: false }];
    network::verdicts(&heard, now(), ageing, &|_, _| free).remove(0)
}

fn vote(hours_ago: i64, blocked: bool) -> HourVote {
    let technique = Technique::TlsReset;
    HourVote {
        hour: NOW_HOUR - hours_ago,
        vote_key: 0,
        blocked,
        log10_lr: if blocked { 2.04 } else { -1.08 },
        measurements: 1,
        techniques: if blocked { BTreeMap::from([(technique, 1)]) } else { BTreeMap::new() },
        rules: BTreeMap::new(),
    }
}

fn judge(list: &[(i64, bool)]) -> NetworkVerdict {
    let mut all: Vec<HourVote> = list.iter().map(|(hours, blocked)| vote(*hours, *blocked)).collect();
    all.sort_by_key(|vote| vote.hour);
    verdict(&all, Ageing::of(false), 0.03)
}

#[test]
fn a_status_is_what_its_probability_says() {
    assert_eq!(judge(&[(1, true), (2, true)]).status, Status::Blocked);
    assert_eq!(judge(&[(1, true), (1, true)]).status, Status::Unknown, "one hour, two vote keys");
    assert_eq!(judge(&[(1, true), (2, false), (3, false), (4, false)]).status, Status::Accessible);
    assert_eq!(judge(&[(1, false), (2, false)]).status, Status::Unknown, "two clear votes are too few");
    assert_eq!(judge(&[]).status, Status::Unknown);
    assert_eq!((judge(&[]).confidence, judge(&[]).p_blocked), (0.0, super::belief::RATE));
    let every_third: Vec<(i64, bool)> = (0..60).map(|n| (1 + n * 70 / 60, n % 3 == 0)).collect();
    let found = judge(&every_third);
    assert!(found.status == Status::Blocked && found.intermittent && found.confidence > 0.9, "{found:?}");
    assert!(!judge(&[(1, true), (2, true), (3, true), (4, false)]).intermittent);
    let mut dice = Dice(4);
    for _ in 0..2_000 {
        let votes: Vec<(i64, bool)> =
            (0..dice.below(30)).map(|_| (dice.below(900) as i64, dice.below(3) == 0)).collect();
        let found = judge(&votes);
        match found.status {
            Status::Blocked => assert!(found.p_blocked >= 0.5 && found.confidence == found.p_blocked, "{found:?}"),
            Status::Accessible => assert!(found.p_blocked <= 0.2 && found.confidence >= 0.8, "{found:?}"),
            Status::Unknown => assert_eq!(found.confidence, 0.0),
        }
    }
}

/// Decisions failing-elsewhere and one-probability, measured: a site that fails now and then is not blocked.
#[test]
fn a_clean_site_that_is_measured_every_hour_is_not_blocked() {
    let mut dice = Dice(11);
    // Votes a day, rate of false failures, and how many of 400 clean sites may be called blocked.
    for (of_day, noise, most) in [(24, 0.02, 2), (8, 0.02, 2), (24, 0.10, 8)] {
        let mut blocked = 0;
        for _ in 0..400 {
            let votes: Vec<HourVote> =
                (0..3 * of_day).rev().map(|at| vote(at * 24 / of_day, dice.share() < noise)).collect();
            blocked += u32::from(verdict(&votes, Ageing::of(false), noise).status == Status::Blocked);
        }
        assert!(blocked <= most, "{of_day} a day, {noise}: {blocked}");
    }
    // A site that always fails is blocked even if it fails elsewhere too, because it may be blocked there as well.
    let all: Vec<HourVote> = (0..24).rev().map(|hour| vote(hour, true)).collect();
    assert_eq!(verdict(&all, Ageing::of(false), super::constants::SITE_MOST).status, Status::Blocked);
}

#[test]
fn old_votes_decide_nothing() {
    let days = |d: i64| d * 24;
    let blocked = |ago: i64| (0..6).rev().map(|n| vote(days(ago) + n, true)).collect::<Vec<_>>();
    let status = |ago: i64, messaging| verdict(&blocked(ago), Ageing::of(messaging), 0.03).status;
    assert_eq!(status(5, false), Status::Blocked);
    assert_eq!(status(20, false), Status::Unknown, "such a block may well be over");
    let clear: Vec<HourVote> = (0..6).rev().map(|n| vote(days(13) + n, false)).collect();
    assert_eq!(verdict(&clear, Ageing::of(true), 0.03).status, Status::Accessible);
    let clear: Vec<HourVote> = (0..6).rev().map(|n| vote(days(14) + n + 1, false)).collect();
    assert_eq!(verdict(&clear, Ageing::of(true), 0.03).status, Status::Unknown, "too old for a messaging service");
    assert_eq!(verdict(&clear, Ageing::of(false), 0.03).status, Status::Accessible);
    let future = [vote(-6, true), vote(-5, true)];
    assert_eq!(verdict(&future, Ageing::of(false), 0.03).status, Status::Unknown, "as_of sees no later votes");
}

#[test]
fn a_network_day_weighs_at_most_eight_votes() {
    let day = NOW_HOUR.div_euclid(24) * 24 - 24;
    let on = |hours: i64| -> Vec<HourVote> {
        (0..hours).map(|n| HourVote { hour: day + n * 24 / hours, vote_key: n as u32, ..vote(0, true) }).collect()
    };
    let ageing = Ageing { half_life: i64::MAX, ..Ageing::of(false) };
    let weight = |hours: i64| super::window::weighted(&on(hours), now(), ageing).0;
    assert!((weight(5) - 5.0).abs() < 1e-5 && (weight(8) - 8.0).abs() < 1e-5);
    assert!((weight(200) - 8.0).abs() < 1e-5, "a chatty probe is no crowd: {}", weight(200));
}

fn session(asn: u32, hours_ago: i64, key: u32, rule: RuleId) -> Session {
    let evaluated = Evaluated { rule, technique: rule.rule().technique, vote: vote_of(rule) };
    Session { asn: Some(asn), hour: NOW_HOUR - hours_ago, vote_key: key, evaluated }
}

#[test]
fn an_hour_votes_once_per_key_and_blocked_needs_half() {
    let peers = Peers::default();
    let list = [
        session(1, 1, 7, RuleId::TlsReset),
        session(1, 1, 7, RuleId::TlsValid),
        session(1, 1, 8, RuleId::TlsValid),
        session(1, 1, 8, RuleId::TlsValid),
        session(1, 1, 8, RuleId::TlsReset),
        session(1, 1, 9, RuleId::LocalFault),
        session(1, 1, 9, RuleId::TlsBothFail),
    ];
    let found = votes(&list, &peers);
    let sides: Vec<(u32, bool)> = found.iter().map(|vote| (vote.vote_key, vote.blocked)).collect();
    assert_eq!(sides, [(7, true), (8, false)]);
    let mut reversed = list;
    reversed.reverse();
    assert_eq!(votes(&reversed, &peers), found, "order independence");
}

#[test]
fn peers_are_three_sessions_on_two_other_networks_within_a_day() {
    let mut peers = Peers::default();
    peers.add(2, NOW_HOUR, 2);
    assert!(!peers.succeed(Some(1), NOW_HOUR));
    peers.add(3, NOW_HOUR + 24, 1);
    assert!(peers.succeed(Some(1), NOW_HOUR));
    assert!(!peers.succeed(Some(3), NOW_HOUR), "its own sessions are no peers");
    assert!(!peers.succeed(Some(1), NOW_HOUR - 1), "25 hours away");
    let failing = [session(1, 0, 0, RuleId::HttpTimeoutPool)];
    assert!(votes(&failing, &peers)[0].blocked);
    assert!(votes(&failing, &Peers::default()).is_empty());
}

#[test]
fn ratios_decide_votes() {
    assert_eq!(vote_of(RuleId::TlsReset), Vote::Blocked);
    assert_eq!(vote_of(RuleId::TcpOk), Vote::Clear);
    assert_eq!(vote_of(RuleId::DnsUnmatched), Vote::Masked);
    assert_eq!(vote_of(RuleId::DnsInvented), Vote::Masked, "low weight");
    assert_eq!(vote_of(RuleId::HttpTimeoutPool), Vote::NeedsControl);
    assert_eq!(vote_of(RuleId::DnsBothFail), Vote::Down);
}

#[test]
fn a_broken_network_decides_nothing_and_the_down_rate_is_a_median() {
    let all = [vote(3, true), vote(2, true), vote(1, true)];
    let status = |broken| {
        let heard = [NetworkVotes { asn: 1, votes: &all, broken }];
        network::verdicts(&heard, now(), Ageing::of(false), &|_, _| 0.03).remove(0).status
    };
    assert_eq!((status(true), status(false)), (Status::Unknown, Status::Blocked));
    assert_eq!(down_rate(&[0.5; 4]), 0.03);
    assert_eq!(down_rate(&[0.9, 0.0, 0.1, 0.02, 0.9]), 0.1);
    assert_eq!(down_rate(&[0.0, 0.1, 0.3, 0.4, 0.5, 0.9]), 0.35);
}

/// Failures that are usual on all networks would else excuse blocks twice: as those of the site, and of the network.
#[test]
fn failures_that_are_usual_everywhere_count_once() {
    let cases =
        [("usual on both", 0.1, 0.08, 0.1), ("a burst on the network", 0.05, 0.6, 0.6), ("a site", 0.5, 0.1, 0.5)];
    for (what, site, network, free) in cases {
        assert_eq!(fails_anyhow(site, network), free, "{what}");
    }
}

/// Decision failing-elsewhere.
#[test]
fn a_site_fails_everywhere_only_if_it_does_in_nearly_all_other_countries() {
    let of =
        |sorted: &[f64], own: f64| site_rate(network::down_rate_but(sorted, own), network::everywhere_but(sorted, own));
    let close = |rate: f64, to: f64| assert!((rate - to).abs() < 1e-9, "{rate} for {to}");
    // It fails everywhere, and as often.
    close(of(&[0.5, 0.5, 0.52, 0.55, 0.55, 0.6], 0.5), 0.5);
    // More than half of the countries block it.
    close(of(&[0.0, 0.01, 0.02, 0.9, 0.9, 0.95, 0.95, 0.95], 0.95), 0.3);
    close(of(&[0.0, 0.01, 0.02, 0.9, 0.9, 0.95, 0.95, 0.95], 0.0), 0.3);
    // What nearly always fails may be blocked everywhere.
    close(of(&[0.95; 8], 0.95), 0.7);
    // A few countries fail.
    close(of(&[0.0, 0.0, 0.1, 0.1, 0.9, 0.95], 0.95), 0.1);
    assert_eq!(network::everywhere_but(&[0.5; 5], 0.5), 0.0);
}

fn member(asn: u32, addresses: u64, verdict: &NetworkVerdict) -> Member<'_> {
    Member { asn, addresses: Some(addresses), remote: false, verdict }
}

#[test]
fn networks_weigh_by_the_root_of_their_addresses() {
    let blocked = judge(&[(1, true), (2, true)]);
    let clear = judge(&[(1, false), (2, false), (3, false), (4, false), (5, false)]);
    let none = judge(&[]);
    let half = national::verdict(&[member(1, 1_000_000, &blocked), member(2, 1_000_000, &clear)]);
    assert_eq!((half.status, half.scope), (Status::Blocked, Some(Scope::Single)));
    // Weights 1000 of 1000 + 2 x 1000 are a third, on one network. That is not the country.
    let third = [member(1, 1_000_000, &blocked), member(2, 1_000_000, &clear), member(3, 1_000_000, &clear)];
    assert_eq!(national::verdict(&third).status, Status::Accessible);
    let two =
        [member(1, 10_000, &blocked), member(2, 10_000, &blocked), member(3, 160_000, &clear), member(4, 5, &none)];
    let found = national::verdict(&two);
    assert_eq!((found.status, found.scope), (Status::Blocked, Some(Scope::National)));
    assert_eq!((found.networks_blocked, found.networks_tested, found.networks_seen), (2, 3, 3));
    assert!((found.blocked_weight - 200.0 / 600.0).abs() < 1e-9);
    assert_eq!(national::verdict(&[member(1, 5, &none)]).status, Status::Unknown);
    assert_eq!(national::verdict(&[]).confidence, 0.0);
}

/// Two failures on the first network that has a verdict, before the other networks have one.
#[test]
fn a_country_of_which_little_was_measured_is_not_blocked() {
    let (blocked, unknown) = (judge(&[(1, true), (2, true)]), judge(&[(1, false)]));
    let of = |addresses| national::verdict(&[member(1, addresses, &blocked), member(2, 1_000_000, &unknown)]).status;
    assert_eq!((of(256), of(1_000_000)), (Status::Unknown, Status::Blocked));
}

/// Decision one-probability: without new evidence the probability moves only towards the rate.
#[test]
fn time_alone_moves_the_probability_of_a_country_only_towards_the_rate_and_blocks_nothing() {
    let mut dice = Dice(9);
    for round in 0..200 {
        let networks: Vec<Vec<HourVote>> = (0..5)
            .map(|_| {
                let (blocks, from, votes) = (dice.below(3) == 0, dice.below(600) as i64, dice.below(40) as i64);
                let noise = |dice: &mut Dice| dice.below(20) == 0;
                (0..votes).rev().map(|n| vote(n * 5 + from, blocks != noise(&mut dice))).collect()
            })
            .collect();
        let heard: Vec<NetworkVotes<'_>> =
            (1..).zip(&networks).map(|(asn, votes)| NetworkVotes { asn, votes, broken: false }).collect();
        let at = |days: i64| {
            let now = now().plus(days * DAY);
            let verdicts = network::verdicts(&heard, now, Ageing::of(false), &|_, _| 0.03);
            let members: Vec<Member<'_>> =
                (1..).zip(&verdicts).map(|(asn, verdict)| member(asn, 1_000, verdict)).collect();
            (national::verdict(&members), verdicts)
        };
        let (mut before, mut networks) = at(0);
        for day in 1..40 {
            let (country, later) = at(day);
            let becomes = country.status == Status::Blocked && before.status != Status::Blocked;
            assert!(!becomes, "round {round}, day {day}: {before:?} {country:?}");
            for (before, later) in networks.iter().zip(&later) {
                let far = |verdict: &NetworkVerdict| (verdict.p_blocked - super::belief::RATE).abs();
                assert!(far(later) <= far(before) + 1e-12, "round {round}, day {day}: {before:?} {later:?}");
            }
            (before, networks) = (country, later);
        }
    }
}

#[test]
fn and_28_lists_fill_in_only_when_measurements_are_undecided() {
    let unknown = national::verdict(&[]);
    let decided =
        national::verdict(&[member(1, 1_000, &judge(&[(1, false), (2, false), (3, false), (4, false), (5, false)]))]);
    let list = |kind, age_days: i64| [ListEntry { kind, date: now().plus(-age_days * DAY) }];
    let listed = national::answer(&unknown, 3, Some(now()), &list(ListKind::Official, 100), now());
    assert_eq!((listed.status, listed.basis, listed.evidence_count), (Status::Blocked, Basis::KnownList, 0));
    assert!(listed.confidence <= 0.6);
    for (kind, age) in [(ListKind::Community, 1), (ListKind::Court, 731)] {
        let answer = national::answer(&unknown, 3, Some(now()), &list(kind, age), now());
        assert_eq!((answer.status, answer.basis, answer.evidence_count), (Status::Unknown, Basis::Measured, 3));
        assert!(answer.listed && answer.confidence == 0.0);
    }
    let over = national::answer(&decided, 5, Some(now()), &list(ListKind::Official, 1), now());
    assert_eq!((over.status, over.basis), (Status::Accessible, Basis::Measured));
    let nothing = national::answer(&unknown, 0, None, &[], now());
    assert_eq!((nothing.basis, nothing.last_checked), (Basis::Unmeasured, now()));
}

#[test]
fn failures_that_follow_a_software_version_are_its_own() {
    let count = |version, asn, span, failed, sessions| VersionCount { version, asn, span, failed, sessions };
    let mut counts = Vec::new();
    for asn in 1..=3 {
        counts.push(count(10, asn, 7, 5, 5));
        counts.push(count(11, asn, 7, 0, 5));
    }
    assert_eq!(instrument_faults(&counts), [10]);
    assert!(instrument_faults(&counts[..4]).is_empty(), "two networks are too few");
    let mut later = counts.clone();
    later.iter_mut().filter(|count| count.version == 10).for_each(|count| count.span += 1);
    assert!(instrument_faults(&later).is_empty(), "the networks may have begun to block in between");
    let mut one = counts.clone();
    one.iter_mut().filter(|count| count.version == 10 && count.asn > 1).for_each(|count| count.failed = 0);
    one[0].sessions = 500;
    one[0].failed = 500;
    assert!(instrument_faults(&one).is_empty(), "one network alone fails, however often it is measured");
    for entry in &mut counts {
        entry.failed = entry.sessions;
    }
    assert!(instrument_faults(&counts).is_empty(), "all versions fail: the networks do it");
}

#[test]
fn the_deepest_technique_seen_names_the_block() {
    let counts = BTreeMap::from([(Technique::Tls, 5), (Technique::TlsReset, 2), (Technique::DnsNxdomain, 3)]);
    assert_eq!(national::techniques([&counts].into_iter()), [Technique::TlsReset, Technique::DnsNxdomain]);
}

#[test]
fn the_beta_distribution_agrees_with_closed_forms() {
    let uniform = Beta { a: 1.0, b: 1.0 };
    assert!((uniform.cdf(0.3) - 0.3).abs() < 1e-9);
    let square = Beta { a: 2.0, b: 1.0 };
    assert!((square.cdf(0.5) - 0.25).abs() < 1e-9);
    let (low, high) = uniform.interval(0.9);
    assert!((low - 0.05).abs() < 1e-6 && (high - 0.95).abs() < 1e-6);
    // P(X <= 0.2) of Beta(3, 8) is the binomial tail P(Bin(10, 0.2) >= 3).
    assert!((Beta { a: 3.0, b: 8.0 }.cdf(0.2) - 0.322_200_473_6).abs() < 1e-8);
    let sharp = Beta::prior(0.03, 4.0).after(1_000.0, 3_000.0);
    let (low, high) = sharp.interval(0.9);
    assert!(low < 0.25 && 0.25 < high && high - low < 0.03);
}

#[test]
fn quantiles_undo_the_distribution_for_every_shape_that_votes_give() {
    for mean in [0.001, 0.03, 0.3, 0.999] {
        for blocked in [0.0, 0.4, 1.0, 7.0, 80.0, 3_000.0] {
            for clear in [0.0, 0.4, 1.0, 7.0, 80.0, 3_000.0] {
                let beta = Beta::prior(mean, 4.0).after(blocked, clear);
                for p in [0.05, 0.5, 0.95] {
                    let x = beta.quantile(p);
                    assert!((0.0..=1.0).contains(&x), "{beta:?} {p} {x}");
                    // If the density is so steep that the last digits of x decide, the neighbours bracket p.
                    let (below, above) = (beta.cdf(x - 2e-9), beta.cdf(x + 2e-9));
                    assert!(below <= p + 1e-9 && p <= above + 1e-9, "{beta:?} {p} {x}: {below} {above}");
                }
            }
        }
    }
}

#[test]
fn the_cold_start_map_is_the_published_one() {
    let map = Calibration::cold_start();
    // log10 odds = -2.3424 + 4.5615 * score, here at score 0.5.
    let at_half = map.probability(0.0);
    assert!((log10_odds(at_half) - (-2.3424 + 0.5 * 4.5615)).abs() < 1e-9);
    assert!(map.probability(12.0) < 0.995 && map.probability(-12.0) > 0.004);
    let fitted = Calibration::fitted(0.0, 1.0);
    assert!((fitted.probability(1.0) - 10.0 / 11.0).abs() < 1e-9);
}

#[test]
fn every_number_of_the_method_can_be_printed() {
    let table = super::constants::TABLE;
    let share = table.iter().find(|constant| constant.name == "NATIONAL_SHARE").unwrap();
    assert_eq!(share.value, super::constants::NATIONAL_SHARE);
    assert!(table.iter().all(|constant| constant.meaning.len() > 10 && constant.value.is_finite()));
}
