//! From measurements to incidents, end to end.

use futures_util::FutureExt;

use super::{HEADER, Server, rows, shared};
use crate::Timestamp;
use crate::import::{ImportKind, Options};
use crate::incidents::{self, All, Changes, EvidenceOf, EvidenceRow, Find, Incident, IncidentType, Severity, Status};
use crate::runtime::query;
use crate::time::{DAY, HOUR};

pub fn incidents(server: &Server, country: &str) -> Vec<Incident> {
    let all = All { country: Some(country.to_owned()) };
    query(&*server.0, &incidents::actor().name, &all).now_or_never().unwrap().unwrap()
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

const TELEGRAM: &str = "ooni/observations_KE_2023_telegram.csv.gz";
const WEB: &str = "ooni/observations_KE_2023_web_connectivity.csv.gz";

fn grade_kenya(server: &Server) -> Incident {
    let found = incidents(server, "KE");
    for one in &found {
        let draft = &one.draft;
        println!(
            "{} {} {:?} {:?} {} - {:?} {:?}",
            one.id, draft.subject, draft.severity, draft.status, draft.start, draft.end, draft.schedule
        );
        for network in &draft.networks {
            println!(
                "   AS{} {:?} {:?} {}/{}",
                network.asn, network.first, network.last, network.blocked, network.votes
            );
        }
    }
    let [one] = found.as_slice() else { panic!("{} incidents", found.len()) };
    let draft = &one.draft;
    assert_eq!(draft.subject, "telegram");
    let asns: Vec<u32> = draft.networks.iter().map(|network| network.asn).collect();
    for asn in [33_771, 12_455, 37_061] {
        assert!(asns.contains(&asn), "AS{asn} is not among {asns:?}");
    }
    assert!(asns.iter().all(|asn| [33_771, 12_455, 37_061, 36_926].contains(asn)), "{asns:?}");
    let near = |at: Timestamp, truth: &str| at.since(time(truth)).abs() <= 48 * HOUR;
    assert!(near(draft.start, "2023-11-08T00:00:00Z"), "{}", draft.start);
    assert!(draft.end.is_some_and(|end| near(end, "2023-11-24T00:00:00Z")), "{:?}", draft.end);
    assert_eq!(
        (draft.kind, draft.status, draft.severity),
        (IncidentType::Censorship, Status::Resolved, Severity::High)
    );
    one.clone()
}

/// Rulings intelligence 2, 3 and 30: one incident with its networks and dates, from either file and from both.
#[test]
fn rulings_intelligence_2_3_30_kenya_2023_is_one_incident() {
    let Some(telegram) = shared(TELEGRAM) else { return };
    let Some(web) = shared(WEB) else { return };
    let server = Server::start();
    server.import(ImportKind::OoniObservations, Options::default(), &telegram);
    let first = grade_kenya(&server);
    server.import(ImportKind::OoniObservations, Options::default(), &web);
    let both = grade_kenya(&server);
    assert_eq!(first.id, both.id);
    println!("{both:#?}");
    let ids = EvidenceOf { ids: both.draft.evidence_ids.clone() };
    let evidence = query(&*server.0, &incidents::actor().name, &ids).now_or_never().unwrap().unwrap();
    assert!(evidence.len() > 20);
    let link =
        |row: &EvidenceRow| row.permalink.as_ref().is_some_and(|link| link.starts_with("https://explorer.ooni.org/m"));
    assert!(evidence.iter().all(|row| row.kind == "measurement" && link(row)), "{evidence:#?}");
    assert!(evidence.iter().any(|row| row.signal_type.as_deref() == Some("http-blocking-timeout")));
}
