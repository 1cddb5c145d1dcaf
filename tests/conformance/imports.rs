//! Operator imports (decisions ipv6-and-probe-faults, identity-of-measurements, order-of-data, import-counts,
//! addresses-discarded and repeatable-import-chunks; the Kenya proof).

use heliograph_core::facts::measurement::ImportCounts;
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::simulation::Dice;
use heliograph_tests::synthetic::{COUNTRY, INSIDE, PLANTED, ROWS, SITE, Shows, blocked_site, document};
use heliograph_tests::target::Kind;
use serde_json::{Value, json};

use crate::analytics::wait;
use crate::detect::research;
use crate::{Suite, cases};

cases![
    raw_documents_reach_the_counts_of_a_careful_importer,
    fastpath_rows_reach_the_counts_of_a_careful_importer,
    every_list_of_the_real_data_is_read_without_an_unexplained_refusal,
    kenya_the_three_networks_are_blocked_inside_the_window_and_not_outside,
    kenya_the_clean_networks_are_never_blocked,
    kenya_importing_again_is_all_duplicates_and_changes_no_byte,
    importing_twice_changes_nothing,
    any_order_and_any_split_gives_the_same_answers,
    one_measurement_in_two_forms_counts_once,
    gzip_and_raw_bodies_are_the_same_import,
    only_lists_of_authorities_set_a_status,
    a_removal_ends_the_imports_that_began_before_it,
    a_dry_run_counts_and_changes_nothing,
    a_chunk_over_4_mib_inflated_is_413,
    hostile_bytes_are_counted_or_refused_and_never_a_fault,
    nonsense_in_the_query_is_400_and_an_unknown_kind_404,
    a_planted_address_is_in_no_answer,
];

/// Dates from data/README.md.
const IN_WINDOW: [&str; 5] = ["2023-11-15", "2023-11-17", "2023-11-21", "2023-11-23", "2023-11-24"];
const OUTSIDE: [&str; 2] = ["2023-11-06", "2023-11-28"];
const BLOCKED: [u64; 3] = [33_771, 12_455, 37_061];
const CLEAN: [u64; 2] = [30_844, 15_399];

const TELEGRAM: &str = "ooni/observations_KE_2023_telegram.csv.gz";
const WEB: &str = "ooni/observations_KE_2023_web_connectivity.csv.gz";

fn counts(accepted: u64, duplicate: u64, unsupported: u64, unusable: u64) -> [u64; 5] {
    [accepted, duplicate, unsupported, unusable, 0]
}

fn five(counts: &ImportCounts) -> [u64; 5] {
    [counts.accepted, counts.duplicate, counts.unsupported, counts.unusable, counts.refused]
}

/// Rows that are not accepted have a reason, and no other rows do.
fn reasons_add_up(counts: &ImportCounts) {
    let explained: u64 = counts.reasons.values().sum();
    let rejected = counts.unsupported + counts.unusable + counts.refused;
    assert!((rejected..=rejected + counts.duplicate).contains(&explained), "{counts:?}");
}

fn raw_documents_reach_the_counts_of_a_careful_importer(suite: &Suite) {
    let Some(text) = data::real("ooni/measurements.jsonl.gz") else { return };
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    let first = data::import(&admin, "ooni-measurements", "", &text);
    assert_eq!(five(&first), counts(28, 0, 11, 0), "{first:?}");
    reasons_add_up(&first);
    let again = data::import(&admin, "ooni-measurements", "", &text);
    assert_eq!(five(&again), counts(0, 28, 11, 0), "{again:?}");
}

fn fastpath_rows_reach_the_counts_of_a_careful_importer(suite: &Suite) {
    let Some(text) = data::real("ooni/fastpath_2024-01-01.jsonl.gz") else { return };
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    let first = data::import(&admin, "ooni-fastpath", "", &text);
    assert_eq!(five(&first), counts(809, 0, 211, 60), "{first:?}");
    reasons_add_up(&first);
    let again = data::import(&admin, "ooni-fastpath", "", &text);
    assert_eq!(five(&again), counts(0, 809, 211, 60), "{again:?}");
}

fn every_list_of_the_real_data_is_read_without_an_unexplained_refusal(suite: &Suite) {
    let lists = [
        ("fingerprints", "", "ooni/fingerprints_dns.csv", 226),
        ("fingerprints", "", "ooni/fingerprints_http.csv", 1_729),
        ("asn", "", "asn/asn_name_country.csv.gz", 84_159),
        ("test-list", "", "test-lists/global.csv", 0),
        ("test-list", "?list=ke", "test-lists/ke.csv", 0),
        ("blocklist", "?country=IR&date=2023-06-01", "blocklists/iran_ir-blocked-domain_2023.txt.gz", 156_482),
        ("blocklist", "?country=CN&date=2024-01-01", "blocklists/gfwlist_decoded_list.txt", 0),
        ("blocklist", "?country=RU&date=2026-01-01", "blocklists/russia_refilter_domains_all_2026.txt.gz", 0),
        ("blocklist", "?country=RU&date=2026-01-01", "blocklists/russia_inside_domains_2026.txt", 0),
        ("blocklist", "?country=IN&date=2020-01-01", "blocklists/india_potentially_blocked_hostnames_2020.txt", 0),
        ("blocklist", "?country=KR&date=2022-01-01", "blocklists/south_korea_blocked_sites.txt", 0),
        (
            "blocklist",
            "?country=LT&list_kind=official&date=2022-01-01",
            "blocklists/lithuania_isp_blocked_domains_2022.csv",
            0,
        ),
    ];
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    for (kind, query, path, lines) in lists {
        let Some(text) = data::real(path) else { return };
        let first = data::import(&admin, kind, query, &text);
        reasons_add_up(&first);
        assert!(first.accepted > 0, "{path}: {first:?}");
        assert!(first.refused * 10 <= first.lines(), "{path}: {first:?}");
        if lines > 0 {
            assert_eq!(first.lines(), lines, "{path}: {first:?}");
        }
        let again = data::import(&admin, kind, query, &text);
        assert_eq!((again.accepted, again.lines()), (0, first.lines()), "{path}: {again:?}");
    }
}

fn kenya(client: &Client) {
    let admin = client.admin();
    if let Some(networks) = data::real("asn/asn_name_country.csv.gz") {
        data::import(&admin, "asn", "", &networks);
    }
    let telegram = data::import(&admin, "ooni-observations", "", &data::real(TELEGRAM).unwrap());
    assert_eq!(five(&telegram), counts(62_056, 63_385, 0, 0), "{telegram:?}");
    let web = data::import(&admin, "ooni-observations", "", &data::real(WEB).unwrap());
    assert_eq!(five(&web), counts(3_032, 3_023, 0, 0), "{web:?}");
}

/// A deployment with the Kenya data, if the data are available.
fn with_kenya(suite: &Suite) -> Option<Client> {
    (data::real(TELEGRAM).is_some() && data::real(WEB).is_some()).then(|| suite.prepared("kenya", kenya))
}

fn telegram_at(client: &Client, date: &str) -> Value {
    let as_of = format!("{date}T12:00:00Z");
    let body = json!({ "country": "KE", "target": "telegram", "includeISPs": true, "as_of": as_of });
    client.post("/hydra/v1/detect", &body).expect(200)
}

fn network(body: &Value, asn: u64) -> &str {
    let networks = body["isps"].as_array().unwrap();
    let found = networks.iter().find(|network| network["asn"] == asn);
    found.map_or("absent", |network| network["status"].as_str().unwrap())
}

/// Decision kenya-proof: these times are inside and outside of the window, and these are the networks. Decision
/// two-blocked-hours: two blocked hours make a block, however many clear votes are between them.
fn kenya_the_three_networks_are_blocked_inside_the_window_and_not_outside(suite: &Suite) {
    let Some(client) = with_kenya(suite) else { return };
    let client = research(&client);
    for date in IN_WINDOW {
        let body = telegram_at(&client, date);
        for asn in BLOCKED {
            assert_eq!(network(&body, asn), "blocked", "AS{asn} on {date}: {body}");
        }
        assert!(body["networksBlocked"].as_u64().unwrap() >= 3, "{body}");
        assert!(body["sources"].as_array().unwrap().contains(&json!("ooni")), "{body}");
    }
    for date in OUTSIDE {
        let body = telegram_at(&client, date);
        for asn in BLOCKED {
            assert_ne!(network(&body, asn), "blocked", "AS{asn} on {date}: {body}");
        }
        assert_ne!(body["status"], "blocked", "{date}: {body}");
    }
}

/// Decision kenya-proof: AS36926 may be named, but is never counted as unaffected. Decision ipv6-and-probe-faults: a
/// naive reading would show these networks as blocked.
fn kenya_the_clean_networks_are_never_blocked(suite: &Suite) {
    let Some(client) = with_kenya(suite) else { return };
    let client = research(&client);
    for day in (20..=29).map(|day| format!("2023-10-{day}")).chain((1..=29).map(|day| format!("2023-11-{day:02}"))) {
        let body = telegram_at(&client, &day);
        for network in body["isps"].as_array().unwrap() {
            let asn = network["asn"].as_u64().unwrap();
            assert!(!CLEAN.contains(&asn) || network["status"] != "blocked", "{day}: {network}");
            // Decision kenya-proof (a): no network outside the four is blocked; AS36926 may be named and is not graded.
            let named = BLOCKED.contains(&asn) || asn == 36_926;
            assert!(named || network["status"] != "blocked", "{day}: {network}");
        }
    }
    let seen = telegram_at(&client, "2023-11-15");
    for asn in CLEAN {
        assert_ne!(network(&seen, asn), "absent", "AS{asn} was measured: {seen}");
    }
}

/// All answers about the past that the data can change, as bytes.
fn past_answers(client: &Client, country: &str, targets: &[&str], moments: &[&str]) -> Vec<String> {
    let key = research(client);
    let mut answers = Vec::new();
    for as_of in moments {
        for target in targets {
            let body = json!({ "country": country, "target": target, "includeISPs": true, "as_of": as_of });
            let mut answer = key.post("/hydra/v1/detect", &body).expect(200);
            // Incidents follow by timers.
            answer.as_object_mut().unwrap().remove("latestIncident");
            answers.push(answer.to_string());
        }
    }
    answers
}

fn kenya_importing_again_is_all_duplicates_and_changes_no_byte(suite: &Suite) {
    let Some(client) = with_kenya(suite) else { return };
    let moments: Vec<String> = IN_WINDOW.iter().chain(&OUTSIDE).map(|date| format!("{date}T12:00:00Z")).collect();
    let moments: Vec<&str> = moments.iter().map(String::as_str).collect();
    let targets = ["telegram", "telegram.org", "web.telegram.org"];
    let before = past_answers(&client, "KE", &targets, &moments);
    let web = data::import(&client.admin(), "ooni-observations", "", &data::real(WEB).unwrap());
    assert_eq!(five(&web), counts(0, 6_055, 0, 0), "{web:?}");
    if suite.kind != Kind::Edge {
        let telegram = data::import(&client.admin(), "ooni-observations", "", &data::real(TELEGRAM).unwrap());
        assert_eq!(five(&telegram), counts(0, 125_441, 0, 0), "{telegram:?}");
    }
    assert_eq!(past_answers(&client, "KE", &targets, &moments), before);
}

fn answers(client: &Client) -> Vec<String> {
    past_answers(
        client,
        COUNTRY,
        &[SITE],
        &["2024-03-10T00:00:00Z", "2024-03-11T06:30:00Z", INSIDE, "2024-04-11T11:30:00Z"],
    )
}

/// Decision repeatable-import-chunks.
fn importing_twice_changes_nothing(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let first = data::import(&client.admin(), "ooni-observations", "", blocked_site().as_bytes());
    assert_eq!(five(&first), counts(ROWS, 0, 0, 0), "{first:?}");
    let before = answers(&client);
    assert!(before[2].contains("\"measured\""), "{}", before[2]);
    let again = data::import(&client.admin(), "ooni-observations", "", blocked_site().as_bytes());
    assert_eq!(five(&again), counts(0, ROWS, 0, 0), "{again:?}");
    assert_eq!(answers(&client), before);
}

fn any_order_and_any_split_gives_the_same_answers(suite: &Suite) {
    let text = blocked_site();
    let mut expected: Option<Vec<String>> = None;
    let rounds = if suite.kind == Kind::Memory { 8 } else { 2 };
    for seed in 0..rounds {
        let target = suite.fresh(&[]);
        let admin = target.client().admin();
        let mut random = Dice::new(seed + 1);
        let mut rows = data::records(text.as_bytes(), true);
        let header = rows.remove(0);
        random.shuffle(&mut rows);
        let shuffled = [&[header], rows.as_slice()].concat().concat();
        // Chunks of any size, and then some of them again.
        let chunks = data::chunks(&shuffled, true, || 300 + random.index(3_000));
        let mut sum = ImportCounts::default();
        chunks.iter().for_each(|chunk| sum.add(&data::send(&admin, "ooni-observations", "", chunk)));
        assert_eq!(five(&sum), counts(ROWS, 0, 0, 0), "seed {seed}");
        for _ in 0..3 {
            let chunk = &chunks[random.index(chunks.len())];
            assert_eq!(data::send(&admin, "ooni-observations", "", chunk).accepted, 0, "seed {seed}");
        }
        let client = target.client();
        // An `unknown` answer names the latest incident, and the search for incidents runs some time after the import.
        wait(&client, &format!("/data/incidents?country={COUNTRY}"), |list| list["total"] == 1);
        let answers = answers(&client);
        assert_eq!(expected.get_or_insert_with(|| answers.clone()), &answers, "seed {seed}");
    }
}

fn one_measurement_in_two_forms_counts_once(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let raw = document(Shows::DnsBlocked, SITE, COUNTRY, 64_500, "2024-03-12 09:00:00");
    // The same measurement as a row of the observation table: report, input and second are the same as in the document.
    let row = format!(
        "report_id,input,test_name,measurement_uid,probe_cc,probe_asn,measurement_start_time,hostname,dns_engine,dns_failure\n\
         {},https://{SITE}/,web_connectivity,u,{COUNTRY},64500,2024-03-12 09:00:00+00:00,{SITE},system,dns_nxdomain_error\n",
        raw["report_id"].as_str().unwrap()
    );
    let evidence = |client: &Client| {
        let body = json!({ "country": COUNTRY, "target": SITE, "as_of": INSIDE });
        research(client).post("/hydra/v1/detect", &body).expect(200)["evidenceCount"].clone()
    };
    data::send(&client.admin(), "ooni-observations", "", row.as_bytes());
    assert_eq!(evidence(&client), 1);
    data::send(&client.admin(), "ooni-measurements", "", format!("{raw}\n").as_bytes());
    assert_eq!(evidence(&client), 1, "one measurement was counted twice");
}

fn gzip_and_raw_bodies_are_the_same_import(suite: &Suite) {
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    let text = blocked_site();
    let first = data::send(&admin, "ooni-observations", "", &data::gzip(text.as_bytes()));
    assert_eq!(five(&first), counts(ROWS, 0, 0, 0));
    let again = data::send(&admin, "ooni-observations", "", text.as_bytes());
    assert_eq!(five(&again), counts(0, ROWS, 0, 0));
    // Two members in one gzip stream, as made by `cat a.gz b.gz`.
    let (head, tail) = text.split_at(text.len() / 2);
    let both = [data::gzip(head.as_bytes()), data::gzip(tail.as_bytes())].concat();
    assert_eq!(five(&data::send(&admin, "ooni-observations", "", &both)), counts(0, ROWS, 0, 0));
}

fn only_lists_of_authorities_set_a_status(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let admin = client.admin();
    let list = "||listed.example^\nother-listed.example\n# a comment\n@@||exception.example\n/a-regex/\n||*.example\n";
    data::send(&admin, "blocklist", "?country=SE&date=2026-01-01", list.as_bytes());
    let official =
        data::send(&admin, "blocklist", "?country=SE&list_kind=official&date=2026-01-01", b"official.example\n");
    assert_eq!(official.accepted, 1, "{official:?}");
    let check = |domain: &str, as_of: &str| {
        let path = format!("/v1/accessibility/check?domain={domain}&country=SE&as_of={as_of}");
        client.get(&path).expect(200)
    };
    let inside = "2026-06-01T00:00:00Z";
    let listed = check("other-listed.example", inside);
    assert_eq!((&listed["status"], &listed["listed"]), (&json!("unknown"), &json!(true)), "{listed}");
    assert_eq!(check("exception.example", inside)["status"], "unknown");
    assert_ne!(check("exception.example", inside)["listed"], true);
    let official = check("official.example", inside);
    assert_eq!((&official["status"], &official["evidenceCount"]), (&json!("blocked"), &json!(0)), "{official}");
    assert!(official["confidence"].as_f64().unwrap() <= 0.6, "{official}");
    // After 24 months an official list has expired.
    assert_eq!(check("official.example", "2028-02-01T00:00:00Z")["status"], "unknown");
}

fn a_removal_ends_the_imports_that_began_before_it(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let admin = client.admin();
    let text = blocked_site();
    let import = |query: &str| {
        let path = format!("/v1/admin/import/ooni-observations{query}");
        admin.send("POST", &path, Some("application/octet-stream"), text.as_bytes())
    };
    let epoch = import("").expect(200)["epoch"].clone();
    assert!(answers(&client)[2].contains("\"measured\""));
    admin.send("DELETE", "/v1/admin/sources/ooni", None, b"").expect(200);
    for attempt in 0.. {
        if admin.get("/v1/admin/sources/ooni").expect(200)["complete"] == true {
            break;
        }
        assert!(attempt < 600, "the removal never ends");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    import(&format!("?epoch={epoch}")).expect_error(409, "CONFLICT");
    assert!(answers(&client).iter().all(|answer| answer.contains("unmeasured")), "a part is left");
    assert_eq!(import("").expect(200)["accepted"], ROWS);
    assert!(answers(&client)[2].contains("\"measured\""));
}

/// Decision dumps-and-recompute: `import --dry-run`.
fn a_dry_run_counts_and_changes_nothing(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let text = blocked_site();
    let dry = data::send(&client.admin(), "ooni-observations", "?dry_run=true", text.as_bytes());
    assert_eq!(five(&dry), counts(ROWS, 0, 0, 0));
    assert!(answers(&client).iter().all(|answer| answer.contains("unmeasured")));
    assert_eq!(data::send(&client.admin(), "ooni-observations", "", text.as_bytes()).accepted, ROWS);
}

/// Decision repeatable-import-chunks.
fn a_chunk_over_4_mib_inflated_is_413(suite: &Suite) {
    let admin = suite.client().admin();
    let post = |body: &[u8]| admin.send("POST", "/v1/admin/import/ooni-fastpath", Some("application/gzip"), body);
    let over = vec![b'\n'; (4 << 20) + 1];
    post(&data::gzip(&over)).expect_error(413, "PAYLOAD_TOO_LARGE");
    post(&over).expect_error(413, "PAYLOAD_TOO_LARGE");
    // A decompression bomb: 300 MiB in 300 KiB.
    let bomb = data::gzip(&vec![0; 300 << 20]);
    assert!(bomb.len() < 4 << 20);
    post(&bomb).expect_error(413, "PAYLOAD_TOO_LARGE");
    // A line as long as a whole chunk is counted and causes no internal error.
    let line = [b"{\"test_name\":\"".as_slice(), &vec![b'a'; (4 << 20) - 100], b"\"}\n"].concat();
    let counts = data::send(&admin, "ooni-fastpath", "", &line);
    assert_eq!((counts.accepted, counts.lines()), (0, 1), "{counts:?}");
}

const KINDS: [&str; 8] = [
    "ooni-measurements",
    "ooni-observations",
    "ooni-fastpath",
    "test-list",
    "fingerprints",
    "blocklist",
    "asn",
    "targets",
];

fn hostile_bytes_are_counted_or_refused_and_never_a_fault(suite: &Suite) {
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    let mut random = Dice::new(11);
    let row = blocked_site();
    let raw = document(Shows::Works, SITE, COUNTRY, 64_500, "2024-03-12 09:00:00").to_string();
    let deep = format!("{{\"test_keys\":{}\n", "[".repeat(200_000));
    let mut bodies: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"\n\n\r\n".to_vec(),
        b"\xef\xbb\xbf".to_vec(),
        b"\xff\xfe\x00\x01".to_vec(),
        b"\x1f\x8b".to_vec(),
        b"\x1f\x8b\x08\x00garbage that is no deflate stream".to_vec(),
        vec![0; 100_000],
        b"\"".to_vec(),
        b"a,b,c\n\"unclosed".to_vec(),
        deep.into_bytes(),
        b"null\n1\n\"x\"\n[]\n{}\n".to_vec(),
        b"asn,org\n-1,x\n99999999999999999999,y\n,\n0,z\n".to_vec(),
    ];
    let rounds = if suite.kind == Kind::Edge { 4 } else { 40 };
    for text in [row.as_bytes(), raw.as_bytes()] {
        for _ in 0..rounds {
            let mut body = text.to_vec();
            for _ in 0..=random.index(20) {
                let at = random.index(body.len());
                body[at] = random.draw() as u8;
            }
            body.truncate(1 + random.index(body.len()));
            bodies.push(body);
        }
        let whole = data::gzip(text);
        bodies.push(whole[..whole.len() / 2].to_vec());
    }
    for kind in KINDS {
        let query = if kind == "blocklist" { "?country=SE" } else { "" };
        for body in &bodies {
            let answer = admin.send("POST", &format!("/v1/admin/import/{kind}{query}"), Some("text/plain"), body);
            match answer.status {
                200 => reasons_add_up(&serde_json::from_value(answer.json()).unwrap()),
                _ => answer.expect_error(400, "BAD_REQUEST"),
            }
        }
    }
    assert_eq!(target.client().get("/health").status, 200);
}

fn nonsense_in_the_query_is_400_and_an_unknown_kind_404(suite: &Suite) {
    let admin = suite.client().admin();
    let post = |path: &str| admin.send("POST", &format!("/v1/admin/import/{path}"), Some("text/plain"), b"a.example\n");
    for path in [
        "blocklist",
        "blocklist?country=",
        "blocklist?country=SWE",
        "blocklist?country=ZZ",
        "blocklist?country=SE&list_kind=rumour",
        "blocklist?country=SE&date=someday",
        "blocklist?country=SE&date=2127-01-01",
        "blocklist?country=SE&dry_run=perhaps",
    ] {
        post(path).expect_error(400, "BAD_REQUEST");
    }
    for path in ["", "nothing", "OONI-fastpath", "ooni-fastpath%00"] {
        assert_eq!(post(path).status, 404, "{path}");
    }
}

fn a_planted_address_is_in_no_answer(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let mut lines = String::new();
    for hour in 0..12 {
        let time = format!("2024-03-12 {hour:02}:00:00");
        for (asn, shows) in [(64_500, Shows::DnsBlocked), (64_501, Shows::Works), (64_502, Shows::Works)] {
            let mut document = document(shows, "planted.example", COUNTRY, asn, &time);
            document["report_id"] = json!(format!("20240312T{hour:02}0000Z_webconnectivity_NO_{asn}_n1_planted"));
            lines.push_str(&format!("{document}\n"));
        }
    }
    let raw = data::import(&client.admin(), "ooni-measurements", "", lines.as_bytes());
    assert_eq!(five(&raw), counts(36, 0, 0, 0), "{raw:?}");
    data::import(&client.admin(), "ooni-observations", "", blocked_site().as_bytes());
    let key = research(&client);
    let mut texts = Vec::new();
    for target in ["planted.example", SITE] {
        let body =
            json!({ "country": COUNTRY, "target": target, "includeISPs": true, "as_of": INSIDE, "explain": true });
        texts.push(key.post("/hydra/v1/detect", &body).text().to_owned());
        for path in [
            format!("/v1/accessibility/check?domain={target}&country={COUNTRY}&as_of={INSIDE}&explain=1"),
            format!("/data/domain/{target}?as_of={INSIDE}&explain=1"),
            format!("/data/domain/{target}/history?as_of={INSIDE}"),
        ] {
            texts.push(client.get(&path).text().to_owned());
        }
    }
    assert!(texts[0].contains("\"measured\""), "{}", texts[0]);
    for path in ["/data/country/NO", "/data/country/NO/isps", "/data/censorship-index.json", "/v1/censorship-index/NO"]
    {
        texts.push(client.get(&format!("{path}?as_of={INSIDE}")).text().to_owned());
        texts.push(client.get(path).text().to_owned());
    }
    for text in &texts {
        assert!(PLANTED.iter().all(|address| !text.contains(address)), "{text}");
    }
}
