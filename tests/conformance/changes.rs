//! From measurements to incidents, on every runtime (decisions incident-dates, order-of-data and incident-grades; the
//! Kenya proof).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use heliograph_core::engine::time::DAY;
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{HEADER, Session, SiteResult, observation};
use serde_json::{Value, json};

use crate::detect::research;
use crate::{Suite, cases};

cases![
    a_made_up_block_becomes_one_incident_and_late_data_amend_it,
    kenya_2023_is_one_incident,
    a_report_speaks_up_to_the_last_day_of_its_table_and_no_further,
    a_beginning_that_nobody_saw_is_unknown_until_earlier_data_come,
    where_many_sites_are_blocked_the_explanation_tells_the_rate_that_time_leads_to,
];

const SITE: &str = "gazette.example";
const COUNTRY: &str = "DK";
/// On two networks and two days.
const BLOCKED_VOTES: usize = 2 * 2 * 8;

/// Measurements every three hours on three networks; on two of them the site is blocked on the `blocked` days of March
/// 2024.
fn rows(days: std::ops::RangeInclusive<u32>, blocked: std::ops::RangeInclusive<u32>, second: u32) -> String {
    let mut out = HEADER.to_owned();
    let mut number = 0;
    for day in days {
        for hour in (0..24).step_by(3) {
            for asn in [64_500, 64_501, 64_502] {
                number += 1;
                let seen =
                    if blocked.contains(&day) && asn != 64_502 { SiteResult::TlsReset } else { SiteResult::Works };
                let time = format!("2024-03-{day:02} {hour:02}:00:{second:02}");
                observation(&mut out, &Session { country: COUNTRY, asn, host: SITE, time: &time, number, seen });
            }
        }
    }
    out
}

/// The incidents of a country, once `enough` is true: a country looks for them shortly after an import.
fn wait(client: &Client, country: &str, enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let list = client.get(&format!("/data/incidents?country={country}")).expect(200);
        let found = list["incidents"].as_array().unwrap().clone();
        if enough(&found) || Instant::now() > deadline {
            return found;
        }
        client.wait(Duration::from_millis(300));
    }
}

fn a_made_up_block_becomes_one_incident_and_late_data_amend_it(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    data::import(&client.admin(), "ooni-observations", "", rows(4..=16, 8..=10, 1).as_bytes());
    let found = wait(&client, COUNTRY, |found| found.len() == 1);
    let [incident] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!(incident["startTime"], "2024-03-08T00:00:00.000Z", "{incident}");
    assert_eq!(incident["endTime"], "2024-03-10T21:00:00.000Z", "{incident}");
    assert_eq!((&incident["status"], &incident["incidentType"]), (&"resolved".into(), &"censorship".into()));
    assert_eq!(incident["affectedAsns"], serde_json::json!(["AS64500", "AS64501"]), "{incident}");
    assert_eq!(incident["blockingMethods"], serde_json::json!(["tls-reset"]), "{incident}");
    evidence_and_where_the_rest_is(&client, incident);
    // Two more days of the block, imported later.
    data::import(&client.admin(), "ooni-observations", "", rows(11..=12, 11..=12, 2).as_bytes());
    let later = wait(&client, COUNTRY, |found| found.iter().any(|one| one["endTime"] == "2024-03-12T21:00:00.000Z"));
    assert_eq!(later.len(), 1, "{later:#?}");
    assert_eq!((&later[0]["hashId"], &later[0]["startTime"]), (&incident["hashId"], &incident["startTime"]));
    assert_eq!(later[0]["endTime"], "2024-03-12T21:00:00.000Z", "{later:#?}");
}

/// The block was seen 8 times a day on two networks for three days. The second day does not count: within 24 hours the site
/// worked on one network only, which is no control (decision controls-from-peers). The pages have some of the other
/// measurements, and the answer says how many and where all are.
fn evidence_and_where_the_rest_is(client: &Client, incident: &Value) {
    let id = incident["readableId"].as_str().unwrap();
    let first = client.get(&format!("/data/incidents/{id}/evidence")).expect(200);
    assert_eq!(first["count"], BLOCKED_VOTES, "{first}");
    let (mut rows, mut page) = (BTreeSet::new(), first.clone());
    loop {
        assert_eq!((&page["count"], &page["listed"]), (&first["count"], &first["listed"]), "{page}");
        for row in page["evidence"].as_array().unwrap() {
            assert_ne!(row["asn"], "AS64502", "nothing is blocked there: {row}");
            assert!(rows.insert(row["id"].as_str().unwrap().to_owned()), "{row}");
        }
        let Some(next) = page["next_cursor"].as_str() else { break };
        page = client.get(&format!("/data/incidents/{id}/evidence?limit=5&cursor={next}")).expect(200);
    }
    assert_eq!(first["listed"], rows.len(), "{first}");
    assert!(!rows.is_empty() && rows.len() < BLOCKED_VOTES, "{first}");
    assert!(first["note"].as_str().unwrap().contains("`measurements`"), "{first}");
    let [all] = first["measurements"].as_array().unwrap().as_slice() else { panic!("{first}") };
    let url = all["url"].as_str().unwrap();
    let found = client.get(url.get(url.find("/data/").unwrap()..).unwrap()).expect(200);
    let found = found["measurements"].as_array().unwrap();
    let blocked = found.iter().filter(|row| row["vote"] == "blocked").filter_map(|row| row["measurements"].as_u64());
    assert_eq!((blocked.sum::<u64>(), &all["target"]), (BLOCKED_VOTES as u64, &SITE.into()), "{found:?}");
}

fn kenya_2023_is_one_incident(suite: &Suite) {
    let Some(telegram) = data::real("ooni/observations_KE_2023_telegram.csv.gz") else { return };
    let target = suite.fresh(&[]);
    let client = target.client();
    data::import(&client.admin(), "ooni-observations", "", &telegram);
    let complete = |found: &[Value]| found.len() == 1 && found[0]["status"] == "resolved";
    let found = wait(&client, "KE", complete);
    let [incident] = found.as_slice() else { panic!("{found:#?}") };
    let asns: Vec<&str> = incident["affectedAsns"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for asn in ["AS33771", "AS12455", "AS37061"] {
        assert!(asns.contains(&asn), "{incident}");
    }
    assert!(!asns.contains(&"AS30844") && !asns.contains(&"AS15399"), "{incident}");
    let day = |name: &str| incident[name].as_str().unwrap_or("").get(..10).unwrap_or("").to_owned();
    assert!(("2023-11-06".."2023-11-10").contains(&day("startTime").as_str()), "{incident}");
    assert!(("2023-11-22".."2023-11-26").contains(&day("endTime").as_str()), "{incident}");
    assert_eq!(incident["affectedServices"], serde_json::json!(["telegram"]), "{incident}");
}

fn a_report_speaks_up_to_the_last_day_of_its_table_and_no_further(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let table = format!(
        "start_date,end_date,country,shutdown_type,shutdown_extent,ordered_by,other_affected,shutdown_status,count_year\n\
         2023-03-01,,Denmark,Shutdown,Service-based,National government,{SITE},Ongoing,2024\n"
    );
    data::import(&client.admin(), "shutdowns", "", table.as_bytes());
    let found = wait(&client, COUNTRY, |found| found.len() == 1);
    let [incident] = found.as_slice() else { panic!("{found:#?}") };
    let last = "2024-12-31T23:59:59.000Z";
    let jsonl = client.get("/data/incidents/export?format=jsonl");
    let exported: Value = serde_json::from_str(jsonl.text().trim()).unwrap();
    for one in [incident, &exported] {
        assert_eq!((&one["status"], &one["endUnknown"]), (&"resolved".into(), &true.into()), "{one}");
        assert_eq!((&one["lastConfirmedAt"], &one["endTime"]), (&last.into(), &last.into()), "{one}");
    }
    let csv = client.get("/data/incidents/export?format=csv");
    assert!(csv.text().trim_end().ends_with(&format!(",false,true,{last}")), "{}", csv.text());
    for path in ["feed.rss", "feed.atom", &format!("{}/report", incident["hashId"].as_str().unwrap())] {
        let said = client.get(&format!("/data/incidents/{path}"));
        assert!(said.text().contains("when it ended is not known"), "{path}: {}", said.text());
    }
    let verdict = |claim: &str| {
        let claim = serde_json::json!({ "claim": format!("{SITE} {claim}") });
        client.post("/verify-claim", &claim).expect(200)["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict("was blocked in Denmark on 5 October 2024"), "confirmed");
    for claim in ["is still blocked in Denmark", "was blocked in Denmark on 5 October 2025"] {
        let found = verdict(claim);
        assert!(!["confirmed", "likely"].contains(&found.as_str()), "{claim}: {found}");
    }
}

/// The failures have nothing to be compared with. Those of the 8th and 9th become blocked votes once the days around
/// them show that the site works on both networks.
fn a_beginning_that_nobody_saw_is_unknown_until_earlier_data_come(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    data::import(&client.admin(), "ooni-observations", "", rows(8..=16, 8..=10, 1).as_bytes());
    let is = |start: &'static str, unknown: bool| move |found: &[Value]| matches!(found, [one] if one["startTime"] == start && one["startUnknown"] == unknown);
    let first = is("2024-03-10T00:00:00.000Z", true);
    let found = wait(&client, COUNTRY, first);
    assert!(first(&found), "{found:#?}");
    let summary = found[0]["summary"].as_str().unwrap();
    assert!(summary.contains("from before 10 Mar 2024 to 10 Mar 2024"), "{summary}");
    assert!(found[0]["notKnown"].to_string().contains("before 10 Mar 2024"), "{found:#?}");
    data::import(&client.admin(), "ooni-observations", "", rows(4..=7, 20..=20, 2).as_bytes());
    let seen = is("2024-03-08T00:00:00.000Z", false);
    let later = wait(&client, COUNTRY, seen);
    assert!(seen(&later), "{later:#?}");
    assert_eq!(later[0]["hashId"], found[0]["hashId"]);
    assert!(!later[0]["summary"].as_str().unwrap().contains("before"), "{later:#?}");
}

/// Decision rate-of-a-kind: without new votes a belief moves towards the rate of its kind of site in the country.
fn where_many_sites_are_blocked_the_explanation_tells_the_rate_that_time_leads_to(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let site = |n: usize| format!("site{n}.example");
    // Older measurements are only counts.
    let day = |ago: i64| client.now().plus(-ago * DAY).to_string()[..10].to_owned();
    let (measured, after, later) = (day(14), format!("{}T00:00:00Z", day(13)), format!("{}T00:00:00Z", day(0)));
    let mut rows =
        "test_name,report_id,input,measurement_uid,measurement_start_time,probe_cc,probe_asn,hostname,ip,port,\
                    tcp_success,tls_success,tls_failure,tls_is_certificate_valid,http_request_url,http_failure,\
                    probe_analysis\n"
            .to_owned();
    // Forty sites on two networks; in one country every second site is blocked, in the other none.
    for (n, hour) in (0..40).flat_map(|n| (0..12).map(move |hour| (n, hour))) {
        for (country, asn) in [("IT", 64_500), ("IT", 64_501), ("FR", 64_502), ("FR", 64_503)] {
            let (host, time) = (site(n), format!("{measured}T{hour:02}:00:00Z"));
            let seen = match country == "IT" && n % 2 == 0 {
                true => format!("0,connection_reset,,https://{host}/,connection_reset,http-failure"),
                false => format!("1,,1,https://{host}/,,false"),
            };
            rows.push_str(&format!(
                "web_connectivity,{country}{asn}{host}{hour},https://{host}/,{time}-{asn}-{n},{time},{country},{asn},{host},\
                 192.0.2.7,443,1,{seen}\n"
            ));
        }
    }
    data::import(&client.admin(), "ooni-observations", "", rows.as_bytes());
    let asker = research(&client);
    let role = |country: &str, n: usize, day: &str| {
        let body = json!({ "country": country, "target": site(n), "as_of": day, "explain": true });
        asker.post("/hydra/v1/detect", &body).expect(200)["explanation"]["roles"][0].clone()
    };
    let rate = |role: &Value| role["rate"].as_f64().unwrap();
    let usual = role("FR", 0, &after);
    // The rates follow an import shortly after it.
    let higher = client.until(|| Some(role("IT", 0, &after)).filter(|role| rate(role) > 2.0 * rate(&usual)));
    assert_eq!((&higher["kind"], &usual["kind"]), (&json!("other"), &json!("other")), "{higher} {usual}");
    // Weeks later a site that was free is likelier to be blocked where half of its kind is.
    let later = |country: &str| role(country, 1, &later)["networks"][0]["p_blocked"].as_f64().unwrap();
    assert!(later("IT") > 1.5 * later("FR"), "{} {}", later("IT"), later("FR"));
}
