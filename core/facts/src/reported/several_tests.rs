//! Cells that name several countries, and incidents that OONI publishes.

use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn codes(cell: &str) -> Result<Vec<&'static str>, &'static str> {
    place::countries(cell).map_err(|rejection| match rejection {
        crate::measurement::types::Rejection::Refused(reason) => reason,
        other => panic!("{other:?}"),
    })
}

#[test]
fn every_country_of_a_cell_is_named_or_the_row_is_refused_whole() {
    for (cell, expected) in [
        ("Ethiopia, Eritrea", vec!["ER", "ET"]),
        ("Ethiopia/Eritrea", vec!["ER", "ET"]),
        ("Ethiopia / Eritrea", vec!["ER", "ET"]),
        ("China, Hong Kong", vec!["CN", "HK"]),
        ("China, Hong Kong SAR", vec!["HK"]),
        ("Laos; Myanmar", vec!["LA", "MM"]),
        ("Chad and Niger", vec!["NE", "TD"]),
        ("Chad & Niger", vec!["NE", "TD"]),
        ("Chad, Niger and Mali", vec!["ML", "NE", "TD"]),
        ("Chad, Niger, and Mali", vec!["ML", "NE", "TD"]),
        ("Chad | Niger", vec!["NE", "TD"]),
        ("Chad\nNiger", vec!["NE", "TD"]),
        ("Bosnia and Herzegovina", vec!["BA"]),
        ("Bosnia and Herzegovina and Serbia", vec!["BA", "RS"]),
        ("Trinidad and Tobago, Antigua and Barbuda", vec!["AG", "TT"]),
        ("Korea, Republic of, Japan", vec!["JP", "KR"]),
        ("Korea, South", vec!["KR"]),
        ("Tanzania, United Republic of", vec!["TZ"]),
        ("Myanmar/Burma", vec!["MM"]),
        ("Myanmar (Burma)", vec!["MM"]),
        ("Iran (Islamic Republic of), Iraq", vec!["IQ", "IR"]),
        ("DE, FR", vec!["DE", "FR"]),
        ("India", vec!["IN"]),
    ] {
        assert_eq!(codes(cell), Ok(expected), "{cell}");
    }
    for cell in [
        "Ethiopia, Atlantis",
        "Atlantis/Eritrea",
        "Ethiopia and Atlantis",
        "Laos; Atlantis",
        "Ethiopia (Eritrea)",
        "China, Elsewhere",
    ] {
        assert_eq!(codes(cell), Err("unknown_country"), "{cell}");
    }
    assert_eq!(codes(" , "), Err("no_country"));
    assert_eq!(codes(&"Congo, ".repeat(500)), Err("unknown_country"), "bounded");
    assert_eq!(codes(&["Chad"; 40].join(", ")), Ok(vec!["TD"]));
    // The whole cell is not the name of one country.
    assert_eq!(place::country("Ethiopia, Eritrea"), None);
    assert_eq!(place::country("Ethiopia/Eritrea"), None);
}

#[test]
fn a_row_of_a_table_about_several_countries_is_an_event_in_each() {
    let table = "start_date,end_date,country,shutdown_type,shutdown_extent,ordered_by,count_year\n\
        2026-11-05,2026-11-06,\"Ethiopia, Eritrea\",Shutdown,Full network,National government,2026\n\
        2026-11-09,2026-11-10,Ethiopia/Eritrea,Shutdown,Full network,National government,2026\n\
        2026-11-12,2026-11-13,\"Sudan, Atlantis\",Shutdown,Full network,National government,2026\n";
    let (counts, events) = read(Source::AccessNow, &mut table.as_bytes(), u64::MAX, None, NOW).unwrap();
    assert_eq!((counts.accepted, counts.refused), (2, 1), "{counts:?}");
    let mut found: Vec<&str> = events.iter().map(|report| report.event.country.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["ER", "ER", "ET", "ET"]);
}

#[test]
fn a_published_incident_becomes_a_block_in_its_country() {
    let text = r#"{"incidents":[{"id":"1","title":"X blocked Y","short_description":"s","slug":"2026-x","start_time":"2026-02-18T00:00:00.000000Z",
        "create_time":"2026-02-19T16:13:42.000000Z","update_time":"2026-02-20T16:13:42.000000Z","end_time":null,"reported_by":"A","published":true,
        "event_type":"incident","ASNs":[37616,"36924"],"CCs":["GA","CM"],"themes":["social_media"],"tags":["censorship"],"test_names":["web_connectivity","telegram"],
        "domains":["www.facebook.com","site.example"],"links":[],"mine":false},
        {"id":"2","title":"Over","slug":"s2","start_time":"2025-06-25T00:00:00.000000Z","end_time":"2025-06-26T00:00:00.000000Z","update_time":"2025-07-07T10:29:04.000000Z",
        "published":true,"ASNs":[],"CCs":["KE"],"tags":["throttling"],"test_names":["telegram"],"domains":[]},
        {"id":"3","start_time":"2025-06-25T00:00:00.000000Z","published":false,"CCs":["KE"]},
        {"id":"4","start_time":"soon","published":true,"CCs":["KE"]},
        {"id":"5","start_time":"2025-06-25T00:00:00.000000Z","published":true,"CCs":["QQ"]},
        {"id":"6","start_time":"2025-06-25T00:00:00.000000Z","published":true,"CCs":[]}]}"#;
    let (counts, events) = read(Source::OoniIncidents, &mut text.as_bytes(), u64::MAX, None, NOW).unwrap();
    assert_eq!((counts.accepted, counts.unusable, counts.refused), (2, 2, 2), "{counts:?}");
    let of = |country: &str| &events.iter().find(|report| report.event.country == country).unwrap().event;
    let (first, over) = (of("GA"), of("KE"));
    assert_eq!((first.kind, first.end, first.asns.as_slice()), (EventKind::Block, None, &[36_924, 37_616][..]));
    assert_eq!(first.heard, Timestamp::parse("2026-02-20T16:13:42Z"), "no further than somebody looked");
    assert!(
        first.services.contains(&"telegram".to_owned()) && first.services.contains(&"site.example".to_owned()),
        "{first:?}"
    );
    assert_eq!(first.url.as_deref(), Some("https://explorer.ooni.org/findings/2026-x"));
    assert_eq!((of("CM").id.as_str(), of("CM").start), ("1", first.start));
    assert_eq!((over.kind, over.days_only, over.end), (EventKind::Throttling, true, Timestamp::parse("2025-06-27")));
    for page in [r#"{"detail":"Not Found"}"#, r#"{"incidents":[{}]}"#] {
        let (counts, _) = read(Source::OoniIncidents, &mut page.as_bytes(), u64::MAX, None, NOW).unwrap();
        assert_eq!((counts.lines(), counts.refused), (1, 1), "{page}");
    }
}

#[test]
fn the_real_list_of_published_incidents_is_read_whole() {
    let Some(bytes) = engine::testing::real_data("ooni/incidents.json") else { return };
    let (counts, events) = read(Source::OoniIncidents, &mut bytes.as_slice(), u64::MAX, None, NOW).unwrap();
    assert_eq!((counts.accepted, counts.lines(), events.len()), (65, 65, 65), "{counts:?}");
    let kenya = |start: &str| {
        let start = Timestamp::parse(start);
        events.iter().find(|report| report.event.country == "KE" && Some(report.event.start) == start).unwrap()
    };
    let exams = &kenya("2023-11-08").event;
    assert!(exams.services.contains(&"telegram".to_owned()) && exams.asns.contains(&33_771), "{exams:?}");
    let nameless = events.iter().filter(|report| report.event.services == [UNNAMED]).count();
    assert_eq!(nameless, 0);
}
