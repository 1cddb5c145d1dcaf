//! Sources of events: the event of each row, and that order never matters.

use super::*;
use crate::measurement::json;
use engine::moment;
use engine::testing::real_data;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn read_as(source: Source, text: &str) -> (ImportCounts, Vec<Reported>) {
    read(source, &mut text.as_bytes(), u64::MAX, None, NOW).unwrap()
}

fn five(counts: &ImportCounts) -> [u64; 5] {
    [counts.accepted, counts.duplicate, counts.unsupported, counts.unusable, counts.refused]
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

const STOP: &str = "start_date,country,geo_scope,area_name,shutdown_type,shutdown_extent,ordered_by,end_date,\
    actual_cause,facebook_affected,telegram_affected,other_affected,info_source_link,count_year\n";

#[test]
fn the_columns_of_a_shutdown_table_become_an_event() {
    let row = "2023-03-01,Iran (Islamic Republic of),\"locations in more than one state, province, or region\",,\
        \"Shutdown, Throttle\",Service-based,Executive government,2023-03-04,Protests,Yes,No,\"YouTube, Grindr\",\
        http://a.example; https://b.example/x,2023\n";
    let (counts, events) = read_as(Source::AccessNow, &format!("{STOP}{row}"));
    assert_eq!(five(&counts), [1, 0, 0, 0, 0]);
    let event = &events[0].event;
    assert_eq!((event.country.as_str(), event.kind, event.scope), ("IR", EventKind::Block, Scope::National));
    assert_eq!((event.cause, event.days_only), (Cause::Ordered, true));
    assert_eq!((event.start, event.end), (time("2023-03-01"), Some(time("2023-03-05"))), "the last day is a whole day");
    assert_eq!(event.services, ["facebook", "grindr.com", "youtube"]);
    assert_eq!((event.occasion.as_deref(), event.url.as_deref()), (Some("Protests"), Some("https://b.example/x")));
}

/// A column of its own says what happened; it identifies similar incidents.
#[test]
fn a_shutdown_table_says_what_happened_in_its_own_words() {
    let header = "start_date,country,geo_scope,area_name,shutdown_type,shutdown_extent,ordered_by,actual_cause,event,count_year\n";
    let occasion = |cause: &str, event: &str| {
        let row = format!("2023-03-01,Niger,,Niamey,Shutdown,Full network,Military,{cause},\"{event}\",2023\n");
        read_as(Source::AccessNow, &format!("{header}{row}")).1[0].event.occasion.clone()
    };
    assert_eq!(
        occasion("Political instability", "Coup  by the\nmilitary").unwrap(),
        "Political instability: Coup by the military"
    );
    assert_eq!(occasion("Unknown", "Republic Day").unwrap(), "Republic Day");
    assert_eq!(occasion("Other", "").unwrap(), "Other");
    assert_eq!(occasion("Protests", "n/a").unwrap(), "Protests");
    assert_eq!(occasion("", ""), None);
    assert_eq!(occasion("Protests", &"a".repeat(2_900)).unwrap().len(), "Protests: ".len() + 2_000);
}

/// A column for each of five services, and three words for what was done and to how much.
#[test]
fn every_column_of_a_shutdown_table_that_names_a_service_counts() {
    let header = "start_date,country,shutdown_type,shutdown_extent,facebook_affected,twitter_affected,whatsapp_affected,\
        instagram_affected,telegram_affected,geo_scope,area_name,duration,telco_ack\n";
    let whole = "\"It affected locations in more than one state, province, or region\"";
    let row = |kind: &str, extent: &str, yes: usize, scope: &str, area: &str| {
        let affected: Vec<&str> = (0..5).map(|at| if at == yes { "Yes" } else { "Unknown" }).collect();
        format!("2023-03-0{},Iran,\"{kind}\",\"{extent}\",{},{scope},{area},3 days,\n", yes + 1, affected.join(","))
    };
    let table = [
        row("Shutdown", "Service-based", 0, whole, ""),
        row("Throttle", "Service-based", 1, whole, "Tehran"),
        row("Throttle", "Full network", 2, "\"It only affected one city, county, or village\"", "Nationwide"),
        row("Shutdown, Throttle", "Full network, Service-based", 3, "", ""),
        row("Unknown", "Service-based", 4, "Not sure", "\"Fars, Andimeshk, and Yazd Districts\""),
    ];
    let (counts, mut events) = read_as(Source::AccessNow, &format!("{header}{}", table.concat()));
    assert_eq!(five(&counts), [5, 0, 0, 0, 0], "{counts:?}");
    events.sort_by_key(|told| told.event.start);
    let told: Vec<_> = events.iter().map(|e| (e.event.services[0].as_str(), e.event.kind, e.event.scope)).collect();
    assert_eq!(
        told,
        [
            ("facebook", EventKind::Block, Scope::National),
            ("twitter", EventKind::Throttling, Scope::Regional),
            ("whatsapp", EventKind::Throttling, Scope::National),
            ("instagram", EventKind::Shutdown, Scope::Regional),
            ("telegram", EventKind::Block, Scope::Regional),
        ]
    );
    assert_eq!(events[4].event.areas, ["Andimeshk", "Fars", "Yazd Districts"]);
}

/// Decision import-counts: several countries in a cell, ends before starts, years that differ.
#[test]
fn the_traps_of_a_shutdown_table() {
    let row = |start: &str, country: &str, end: &str, year: u32| {
        format!("{start},{country},,North,Shutdown,Full network,Unknown,{end},Other,,,,,{year}\n")
    };
    let table = [
        row("2021-01-10", "Laos; Myanmar", "2021-01-12", 2021),
        row("2021-05-02", "India", "2021-05-01", 2021),
        row("2019-12-30", "India", "", 2019),
        row("2019-12-30", "India", "", 2020),
        row("2019-12-30", "India", "2021-02-03", 2021),
        row("", "India", "", 2021),
        row("2021-02-02", "Atlantis", "", 2021),
        row("2021-02-02", "Laos; Atlantis", "", 2021),
        row("soon", "India", "", 2021),
    ];
    let (counts, events) = read_as(Source::AccessNow, &format!("{STOP}{}", table.concat()));
    assert_eq!(five(&counts), [2, 2, 0, 2, 3], "{counts:?}");
    let reasons: Vec<(&str, u64)> = counts.reasons.iter().map(|(reason, n)| (reason.as_str(), *n)).collect();
    assert_eq!(reasons, [("bad_time", 1), ("end_before_start", 1), ("no_start", 1), ("unknown_country", 2)]);
    let countries: Vec<(&str, bool)> = events.iter().map(|e| (e.event.country.as_str(), e.leads)).collect();
    assert_eq!(countries, [("IN", true), ("LA", true), ("MM", false)], "one row is counted once");
    assert_eq!((events[0].version, events[0].event.end), (2021, Some(time("2021-02-04"))), "the newest year stays");
}

#[test]
fn only_what_a_shutdown_table_calls_ongoing_goes_on_and_only_for_the_year_of_the_table() {
    let heard = |status: &str, end: &str, year: u32| {
        let table =
            format!("start_date,country,shutdown_status,end_date,count_year\n2023-05-01,India,{status},{end},{year}\n");
        read_as(Source::AccessNow, &table).1[0].event.heard
    };
    assert_eq!(heard("Ongoing", "", 2024), Some(time("2025-01-01")));
    assert_eq!(heard("Ongoing", "2023-05-09", 2024), None);
    assert_eq!(heard("Unknown", "", 2024), None);
    // For a year that is not over, or no year, the end is the newest date of the table. The year 2027 has just begun.
    for year in [2027, 0] {
        assert_eq!(heard("Ongoing", "", year), Some(time("2023-05-02")), "{year}");
    }
    assert_eq!(heard("", "", 2024), None);
}

/// Decision order-of-data: any order of the rows, any split.
#[test]
fn the_order_of_reports_means_nothing() {
    let row = |end: &str, year: u32| format!("2019-12-30,India,,North,Shutdown,Full network,,{end},,,,,,{year}\n");
    let rows = [row("", 2019), row("2020-02-01", 2020), row("2020-01-15", 2020), row("", 2020)];
    let one = |order: &[usize]| {
        let text: String = order.iter().map(|at| rows[*at].as_str()).collect();
        read_as(Source::AccessNow, &format!("{STOP}{text}")).1
    };
    let expected = one(&[0, 1, 2, 3]);
    // An event that went on until some day does so in whatever order rows and years come.
    let ongoing = |status: &str, year: u32| {
        let table = format!("start_date,country,shutdown_status,count_year\n2019-12-30,India,{status},{year}\n");
        read_as(Source::AccessNow, &table).1.remove(0)
    };
    let told = [ongoing("Ongoing", 2020), ongoing("Ongoing", 2021), ongoing("Unknown", 2022)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let [a, b, c] = order.map(|at| told[at].clone());
        let last = [a.clone().join(b.clone()).join(c.clone()), a.join(b.join(c))].map(|joined| joined.event.last(NOW));
        assert_eq!(last, [(time("2021-12-31T23:59:59Z"), false); 2], "{order:?}");
    }
    assert_eq!(expected[0].event.end, Some(time("2020-02-02")));
    for order in [[3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1], [0, 3, 2, 1]] {
        assert_eq!(one(&order), expected, "{order:?}");
        let (first, second) = (one(&order[..2]), one(&order[2..]));
        assert_eq!(first[0].clone().join(second[0].clone()), expected[0], "{order:?}");
    }
}

#[test]
fn names_of_countries_as_tables_write_them() {
    for (name, code) in [
        ("Tanzania, United Republic of", "TZ"),
        ("Palestine, State of", "PS"),
        ("Congo (Democratic Republic of the)", "CD"),
        ("Democratic Republic of (DRC)", "CD"),
        ("Côte d’Ivoire", "CI"),
        ("Ivory Coast (Cote d'Ivoire)", "CI"),
        ("Myanmar/Burma", "MM"),
        ("Timor Leste", "TL"),
        ("Kyrgyz Republic (Kyrgyzstan)", "KG"),
        ("Bosnia & Herzegovina", "BA"),
        ("United States of America (USA)", "US"),
        ("Bonaire/Sint Eustatius/Saba", "BQ"),
        ("Bonaire, Sint Eustatius and Saba", "BQ"),
        ("ir", "IR"),
    ] {
        assert_eq!(place::country(name), Some(code), "{name}");
    }
    assert_eq!(place::country("European Union"), None);
    assert_eq!(place::country(""), None);
}

#[test]
fn times_as_people_and_programs_write_them() {
    for (written, meant) in [
        ("Wednesday, March 17, 2021, 4:40:00 PM", "2021-03-17T16:40:00Z"),
        ("Thursday, June 17, 2021, 12:55:00 AM", "2021-06-17T00:55:00Z"),
        ("Friday, May 1, 2020, 12:05:00 PM", "2020-05-01T12:05:00Z"),
        ("Sunday, May 27, 2018, 11:00 PM", "2018-05-27T23:00:00Z"),
        ("Monday, October 25, 2021, 2:30: AM", "2021-10-25T02:30:00Z"),
        ("4/3/2020  15:15:00 PM", "2020-04-03T15:15:00Z"),
        ("Friday, April 3, 2020, 21:0:00 PM", "2020-04-03T21:00:00Z"),
        ("2020-04-03", "2020-04-03T00:00:00Z"),
    ] {
        assert_eq!(moment::moment(written), Some(time(meant)), "{written}");
    }
    for nonsense in ["", "soon", "March 2021", "13/45/2020 10:00:00 AM", "Friday, April 31, 2020, 1:00:00 AM"] {
        assert_eq!(moment::moment(nonsense), None, "{nonsense}");
    }
    for (written, meant) in [
        ("2021-10-20 14:51:41.221546144 -0400 EDT", "2021-10-20T18:51:41.221546Z"),
        ("2021-04-25 15:37:16.850234875 -0400 EDT m=+13035.126037108", "2021-04-25T19:37:16.850234Z"),
        ("2021-05-31T12:43:22.910941658-04:00", "2021-05-31T16:43:22.910941Z"),
        ("2021-05-31T12:43:21", "2021-05-31T12:43:21Z"),
    ] {
        assert_eq!(moment::go_time(written), Some(time(meant)), "{written}");
    }
    assert_eq!(moment::go_time("2021-10-20 +0000"), None);
}

#[test]
fn ioda_events_in_both_forms() {
    let codf = r#"{"type":"outages.events","error":null,"copyright":"c","data":[
        {"location":"country/SY","location_name":"Syria","start":1700000000,"duration":7200,"status":0,"fraction":0.4,
         "datasource":"bgp","score":1234.5,"overlaps_window":false},
        {"location":"asn/29256","start":1700000000,"duration":60,"datasource":"bgp"},
        {"location":"geoasn/29256-SY","start":1700000000,"duration":60,"datasource":"bgp"},
        {"location":"country/QQ","start":1700000000,"duration":60},
        {"location":"country/SY","start":"never","duration":60}]}"#;
    let (counts, events) = read_as(Source::Ioda, codf);
    assert_eq!(five(&counts), [2, 0, 0, 1, 2], "{counts:?}");
    let national = events.iter().find(|e| e.event.scope == Scope::National).unwrap();
    assert_eq!(national.event.end, Some(Timestamp::from_seconds(1_700_007_200)));
    assert_eq!((national.event.kind, national.event.cause), (EventKind::Outage, Cause::Unknown));
    assert_eq!(national.event.score, Some(0.4));
    let network = events.iter().find(|e| e.event.scope == Scope::Network).unwrap();
    assert_eq!((network.event.country.as_str(), network.event.asns.as_slice()), ("SY", [29_256].as_slice()));

    let ioda = r#"{"type":"outages.events","error":null,"data":[{"from":1700000000,"until":1700007200,"score":9,
        "entity":{"type":"country","code":"SY","name":"Syria","attrs":{}},"datasource":"bgp","alerts":[]}]}"#;
    let (_, other) = read_as(Source::Ioda, ioda);
    assert_eq!(other[0].event.id, national.event.id, "both forms tell of one event");
    let region = r#"{"data":[{"from":1700000000,"until":1700007200,"datasource":"bgp",
        "entity":{"type":"region","code":"4416","name":"Aleppo","attrs":{"country_code":"SY"}}}]}"#;
    let (_, region) = read_as(Source::Ioda, region);
    assert_eq!((region[0].event.scope, region[0].event.areas[0].as_str()), (Scope::Regional, "Aleppo"));

    let (counts, _) = read_as(Source::Ioda, r#"{"type":"x","error":"Too many","data":null}"#);
    assert_eq!(counts.reasons.get("source_error"), Some(&1));
    let signals = r#"{"data":[[{"entityType":"country","entityCode":"SY","from":1,"until":2,"values":[1]}]]}"#;
    assert_eq!(five(&read_as(Source::Ioda, signals).0), [0, 0, 1, 0, 0]);
    assert_eq!(five(&read_as(Source::Ioda, "{\n\"data\": [").0), [0, 0, 0, 0, 1], "a damaged document");
}

/// A trap of these reports: an outage that goes on is reported as ending where the question ended.
#[test]
fn an_outage_that_reaches_over_the_end_of_the_question_has_no_end_yet() {
    let row = |duration: u32, overlaps: bool| {
        format!(
            r#"{{"data":[{{"location":"country/SY","location_name":"Syria","start":1700000000,"duration":{duration},
            "status":0,"fraction":null,"datasource":"bgp","score":1.5,"overlaps_window":{overlaps}}}]}}"#
        )
        .replace('\n', "")
    };
    let (_, open) = read_as(Source::Ioda, &row(40_000, true));
    let (_, over) = read_as(Source::Ioda, &row(90_000, false));
    assert_eq!((open[0].event.end, over[0].event.end), (None, Some(Timestamp::from_seconds(1_700_090_000))));
    assert_eq!((open[0].event.heard, over[0].event.heard), (Some(Timestamp::from_seconds(1_700_040_000)), None));
    let (_, later) = read_as(Source::Ioda, &row(80_000, true));
    for joined in [open[0].clone().join(later[0].clone()), later[0].clone().join(open[0].clone())] {
        assert_eq!(joined, later[0], "the latest question says until when it went on");
    }
    let both = open[0].clone().join(over[0].clone());
    assert_eq!((&both.event.id, both.event.end), (&open[0].event.id, over[0].event.end), "the end comes later");
    assert_eq!(over[0].clone().join(open[0].clone()), both, "and no older answer takes it back");
    assert_eq!(both.event.last(NOW), (Timestamp::from_seconds(1_700_090_000), true));
}

#[test]
fn ioda_alerts_become_outages_whatever_their_order() {
    let alert = |time: i64, level: &str, value: i64| {
        format!(
            r#"{{"datasource":"bgp","entity":{{"code":"SD","name":"Sudan","type":"country","attrs":{{}}}},"time":{time},
            "level":"{level}","condition":"< 0.99","value":{value},"historyValue":400}}"#
        )
    };
    let alerts = [
        alert(1_700_000_000, "critical", 100),
        alert(1_700_000_600, "warning", 200),
        alert(1_700_003_600, "normal", 400),
        alert(1_700_100_000, "critical", 0),
    ];
    let read = |order: [usize; 4]| {
        let list: Vec<&str> = order.iter().map(|at| alerts[*at].as_str()).collect();
        read_as(Source::Ioda, &format!(r#"{{"type":"outages.alerts","error":null,"data":[{}]}}"#, list.join(",")))
    };
    let (counts, events) = read([0, 1, 2, 3]);
    assert_eq!(five(&counts), [4, 0, 0, 0, 0], "{counts:?}");
    assert_eq!(read([3, 2, 1, 0]), (counts, events.clone()));
    // Each may come in an answer of its own. So each is stored alone, and outages are joined from the stored parts.
    for order in [[0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0]] {
        let outages = ioda::joined(order.iter().map(|at| events[*at].event.clone()));
        let mut spans: Vec<_> =
            outages.iter().map(|event| (event.start.seconds(), event.end.map(Timestamp::seconds))).collect();
        spans.sort_unstable();
        assert_eq!(spans, [(1_700_000_000, Some(1_700_003_600)), (1_700_100_000, None)]);
        assert!(outages.iter().any(|event| event.score == Some(0.75)));
    }
    let still = ioda::joined(events.iter().map(|told| told.event.clone()).filter(|event| event.end.is_none()));
    assert_eq!(still.len(), 1, "one that nothing ends goes on");
    assert_eq!(still[0].heard, Some(Timestamp::from_seconds(1_700_100_000)), "as long as anybody says so");
}

/// IODA measures, so an outage of tomorrow means a wrong clock. A shutdown may be announced.
#[test]
fn what_is_measured_lies_behind_and_what_is_announced_at_most_a_year_ahead() {
    let cases = [(0, None, None), (2, Some("clock_ahead"), None), (400, Some("clock_ahead"), Some("too_far_ahead"))];
    for (days, measured, announced) in cases {
        let start = NOW.plus(days * engine::time::DAY);
        let ioda = format!(r#"{{"data":[{{"location":"country/SY","start":{},"duration":60}}]}}"#, start.seconds());
        let outage = format!("country,kind,start\nSY,shutdown,{start}\n");
        for (source, text, reason) in [(Source::Ioda, ioda, measured), (Source::Outages, outage, announced)] {
            let (counts, events) = read_as(source, &text);
            assert_eq!((events.len(), counts.unusable), if reason.is_some() { (0, 1) } else { (1, 0) }, "{text}");
            assert_eq!(counts.reasons.keys().next().map(String::as_str), reason, "{text}");
        }
    }
}

#[test]
fn an_outage_of_a_duration_that_cannot_be_is_refused() {
    for (duration, read) in [("7200", 1), ("null", 1), ("-60", 0), ("1e300", 0), ("\"long\"", 0)] {
        let row = format!(r#"{{"data":[{{"location":"country/SY","start":1700000000,"duration":{duration}}}]}}"#);
        let (counts, events) = read_as(Source::Ioda, &row);
        assert_eq!((events.len(), five(&counts)), (read, [read as u64, 0, 0, 0, 1 - read as u64]), "{duration}");
        assert_eq!(counts.reasons.contains_key("bad_time"), read == 0, "{duration}");
    }
}

/// A later table may name the whole country differently. An area whose name begins like that is still an area.
#[test]
fn one_event_has_one_id_however_a_shutdown_table_words_its_area() {
    let row = |area: &str| {
        let row = format!("2021-01-25,Iran,,\"{area}\",Shutdown,Service-based,,,,,,Signal,,2021\n");
        let event = read_as(Source::AccessNow, &format!("{STOP}{row}")).1.remove(0).event;
        (event.id, event.scope)
    };
    let (nationwide, scope) = row("Nationwide");
    assert_eq!(scope, Scope::National);
    for area in ["National", "nationwide", "Entire country", "Country-wide", "Entire Iran"] {
        assert_eq!(row(area), (nationwide.clone(), Scope::National), "{area}");
    }
    let (except, scope) = row("National except Kurdish region");
    assert!(except != nationwide && scope == Scope::National);
    for area in ["National Capital Territory of Delhi", "Entire Kashmir Valley", "Tehran"] {
        let (id, scope) = row(area);
        assert!(id != nationwide && scope == Scope::Regional, "{area}");
    }
    assert_eq!(row("Tehran, Qom").0, row("TEHRAN,  Qom").0);
}

/// Cells of services are written by people. A name stays a name, a brand becomes its domain, a sentence is neither.
#[test]
fn services_that_are_no_platforms_keep_their_names() {
    for (cell, names) in [
        ("Grindr", &["grindr.com"] as &[&str]),
        ("Grindr, Blued, BoyAhoy", &["blued", "boyahoy", "grindr.com"]),
        ("VK (VKontakte), Ok.ru (Odnoklassniki)", &["ok.ru", "vk.com"]),
        ("Social media only", &["social media"]),
        ("Unspecified messaging and social media services", &["messaging", "social media services"]),
        ("Youtube and other Google services ", &["google services", "youtube"]),
        ("Zoom and Microsoft Teams", &["microsoft teams", "zoom.us"]),
        ("Signal, possibly", &["signal"]),
        ("Internet suspended in South Kashmir and speed reduced to 2G in Srinagar", &[]),
        ("Internet; mobile internet", &[]),
        ("198.51.100.77, 2001:db8::7, +1 555", &[]),
        ("Unknown", &[]),
    ] {
        let found = report::services(cell);
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), names, "{cell}");
    }
    let row = "2023-03-01,Iran,,Tehran,Throttle,Service-based,,,,,,,,2023\n";
    let event = read_as(Source::AccessNow, &format!("{STOP}{row}")).1.remove(0).event;
    assert_eq!((event.kind, event.services), (EventKind::Throttling, vec![UNNAMED.to_owned()]));
}

#[test]
fn curated_rows_without_an_id_are_told_apart_by_all_that_they_are_about() {
    let ids = |rows: &[&str]| {
        let text = format!("country,kind,start,scope,asns,services,areas\n{}\n", rows.join("\n"));
        let (counts, events) = read_as(Source::Outages, &text);
        assert_eq!(counts.lines(), rows.len() as u64, "{counts:?}");
        events.len()
    };
    let apart = [
        "CU,outage,2021-07-11,network,1,,",
        "CU,outage,2021-07-11,network,2,,",
        "CU,outage,2021-07-11,regional,,,Havana",
        "CU,outage,2021-07-11,national,,,Havana",
        "CU,block,2021-07-11,,,telegram,",
    ];
    assert_eq!(ids(&apart), apart.len());
    let same = [
        "CU,block,2021-07-11,network,AS1;2,telegram;grindr,A;B",
        "Cuba,BLOCK,2021-07-11T00:00:00Z,Network,2;1,Grindr;Telegram,b; a",
    ];
    assert_eq!(ids(&same), 1);
}

#[test]
fn the_table_of_investigated_outages_is_read_with_its_oddities() {
    let header = "\u{feff}ID,Begin time,End time,Country,Scope (based on granularity at which the outage appears in \
        IODA),Region,AS,Cause,,,\n";
    let rows = "A1,\"Monday, June 1, 2020, 4:00:00 AM\",\"Monday, June 1, 2020, 7:00:00 AM\",Syria,Country,,,Exams,,,\n\
        A2,\"Monday, June 1, 2020, 4:00:00 AM\",N/A,Myanmar/Burma,AS (58224),,,Cable-Cut,,,\n\
        A3,\"4/3/2020  15:15:00 PM\",,Venezuela,Region (Zulia),,,,,,\n\
        A4,\"Monday, June 1, 2020, 4:00:00 AM\",,European Union,Country,,,,,,\n\
        A5,,,Syria,Country,,,,,,\n\
        A6,\"Monday, June 1, 2020, 4:00:00 AM\",\"Monday, June 1, 2020, 3:00:00 AM\",Syria,Country,,,,,,\n";
    let (counts, events) = read_as(Source::Ioda, &format!("{header}{rows}"));
    assert_eq!(five(&counts), [3, 0, 0, 1, 2], "{counts:?}");
    let by = |id: &str| &events.iter().find(|e| e.event.id == id).unwrap().event;
    assert_eq!((by("A1").kind, by("A1").cause), (EventKind::Shutdown, Cause::Ordered));
    assert_eq!((by("A2").cause, by("A2").asns.as_slice(), by("A2").end), (Cause::Accident, [58_224].as_slice(), None));
    assert_eq!((by("A3").scope, by("A3").areas[0].as_str()), (Scope::Regional, "Zulia"));
}

#[test]
fn radar_annotations_become_one_event_per_location() {
    let text = r#"{"success":true,"result":{"annotations":[
        {"id":"550","asns":[1234,5678],"asnsDetails":[{"asn":"1234","locations":{"code":"IQ","name":"Iraq"}}],
         "locations":["IQ","SY"],"dataSource":"ALL","eventType":"OUTAGE","startDate":"2023-08-21T01:00:00Z",
         "endDate":"2023-08-21T05:00:00Z","linkedUrl":"https://example.org/x","scope":"Kurdistan",
         "outage":{"outageCause":"GOVERNMENT_DIRECTED","outageType":"NATIONWIDE"}},
        {"id":"551","asns":[],"locations":["LK"],"eventType":"OUTAGE","startDate":"2023-08-22T00:00:00Z","endDate":null,
         "outage":{"outageCause":"POWER_OUTAGE","outageType":"NETWORK"}},
        {"id":"552","locations":["LK"],"eventType":"PIPELINE","startDate":"2023-08-22T00:00:00Z"},
        {"id":"553","locations":[],"eventType":"OUTAGE","startDate":"2023-08-22T00:00:00Z"}]}}"#;
    let (counts, events) = read_as(Source::Radar, text);
    assert_eq!(five(&counts), [2, 0, 1, 1, 0], "{counts:?}");
    let by = |code: &str| &events.iter().find(|e| e.event.country == code).unwrap().event;
    assert_eq!((by("IQ").asns.as_slice(), by("SY").asns.as_slice()), ([1234, 5678].as_slice(), [5678].as_slice()));
    assert_eq!((by("IQ").kind, by("IQ").scope), (EventKind::Shutdown, Scope::National));
    assert_eq!((by("LK").kind, by("LK").cause, by("LK").end), (EventKind::Outage, Cause::Accident, None));
    let failed = read_as(Source::Radar, r#"{"success":false,"errors":[{"code":10000}],"result":null}"#);
    assert_eq!(failed.0.reasons.get("source_error"), Some(&1));
}

#[test]
fn curated_outages_are_the_same_as_csv_and_as_json_lines() {
    let csv = "id,country,kind,scope,cause,start,end,asns,services,areas,occasion,score,url,revision\n\
        x1,Cuba,shutdown,national,ordered,2021-07-11,2021-07-13,AS27725;1,telegram;example.org,Havana,protest,0.9,\
        https://example.org/1,2\n\
        x2,CU,quake,,,2021-07-11,,,,,,,,\n\
        x3,CU,outage,,,2021-07-11,2021-07-10,,,,,,,\n";
    let lines = "{\"id\":\"x1\",\"country\":\"CU\",\"kind\":\"shutdown\",\"scope\":\"national\",\"cause\":\"ordered\",\
        \"start\":\"2021-07-11\",\"end\":\"2021-07-13\",\"asns\":[\"AS27725\",1],\"services\":[\"telegram\",\"example.org\"],\
        \"areas\":\"Havana\",\"occasion\":\"protest\",\"score\":0.9,\"url\":\"https://example.org/1\",\"revision\":2}\n\
        {\"id\":\"x2\",\"country\":\"CU\",\"kind\":\"quake\",\"start\":\"2021-07-11\"}\nno json\n";
    let (counts, events) = read_as(Source::Outages, csv);
    assert_eq!(five(&counts), [1, 0, 0, 1, 1], "{counts:?}");
    let (other, same) = read_as(Source::Outages, lines);
    assert_eq!(five(&other), [1, 0, 0, 0, 2], "{other:?}");
    assert_eq!(events, same);
    assert_eq!(events[0].event.services, ["example.org", "telegram"]);
    assert_eq!((events[0].event.end, events[0].version), (Some(time("2021-07-14")), 2));
    assert!(read(Source::Outages, &mut b"country,kind\nCU,outage\n".as_slice(), u64::MAX, None, NOW).is_err());
}

/// Decision addresses-discarded: no possible address of a person is kept.
#[test]
fn planted_addresses_are_not_kept() {
    let planted = "198.51.100.77";
    let row = format!(
        "2023-03-01,Iran,,Tehran,Shutdown,Full network,,,Protests,No,No,\"{planted}, YouTube\",http://{planted}/x,2023\n"
    );
    let (_, events) = read_as(Source::AccessNow, &format!("{STOP}{row}"));
    assert_eq!(events.len(), 1);
    assert!(!format!("{events:?}").contains(planted));
}

#[test]
fn hostile_bytes_never_panic() {
    let samples = [
        "[",
        "{}",
        "[[]]",
        "null",
        "\"x\"",
        "{\"data\":[null,1,[2]]}",
        "{\"result\":{\"annotations\":[null]}}",
        "a,b\n\"",
        "\u{feff}",
        "{\"from\":1e308,\"entity\":{}}",
        "{\"time\":-1,\"level\":\"normal\",\"entity\":{}}",
    ];
    for sample in samples {
        for source in [Source::AccessNow, Source::Ioda, Source::Radar, Source::Outages] {
            let _ = read(source, &mut sample.as_bytes(), u64::MAX, Some("IR"), NOW);
        }
    }
    assert!(json::is_spread(b"{") && !json::is_spread(b"{}"));
}

/// Decision import-counts: three rows end before they begin, every other one is read.
#[test]
fn the_real_shutdown_table_is_read_whole() {
    let Some(bytes) = real_data("shutdowns/stop_2016_2024.csv.gz") else { return };
    let (counts, events) = read(Source::AccessNow, &mut bytes.as_slice(), u64::MAX, None, NOW).unwrap();
    assert_eq!(counts.lines(), 1_789);
    assert_eq!((counts.unusable, counts.reasons.get("end_before_start")), (3, Some(&3)), "{counts:?}");
    assert_eq!((counts.unsupported, counts.refused), (0, 0), "{counts:?}");
    assert!(events.iter().any(|e| e.event.country == "LA") && counts.accepted > 1_500, "{counts:?}");
    assert_eq!(counts.accepted + 5, events.len() as u64, "two rows name seven countries");
}

#[test]
fn the_real_table_of_investigated_outages_is_read() {
    let Some(bytes) = real_data("outages/ioda_investigated_2018-2021.csv.gz") else { return };
    let (counts, events) = read(Source::Ioda, &mut bytes.as_slice(), u64::MAX, None, NOW).unwrap();
    assert_eq!(counts.lines(), 1_704);
    assert_eq!((counts.duplicate, counts.unsupported), (1, 0), "{counts:?}");
    assert_eq!(counts.reasons.get("unknown_country"), Some(&1), "the European Union: {counts:?}");
    // People typed ends before beginnings: "9:30:00 PM" to "12:20:00 AM" of the same day.
    assert_eq!((counts.refused, counts.unusable), (1, 76), "{counts:?}");
    assert_eq!(counts.reasons.get("end_before_start"), Some(&76), "{counts:?}");
    let open = events.iter().filter(|e| e.event.end.is_none()).count();
    assert!((26..=40).contains(&open), "{open} open ends");
    let ordered = events.iter().filter(|e| e.event.cause == Cause::Ordered).count();
    assert_eq!(ordered, 162, "166 rows name a government or exams, and four of them end before they begin");
}
