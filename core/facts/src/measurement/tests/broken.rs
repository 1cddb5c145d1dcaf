//! Inputs with something broken in them. Each fault damages only the row or field that holds it, and is counted.

use super::LIMIT;
use crate::Timestamp;
use crate::measurement::fingerprints::Fingerprints;
use crate::measurement::made::{Head, page, vote};
use crate::measurement::types::ImportCounts;
use crate::measurement::{blocklist, json, ooni_document, ooni_observations, test_list};
use crate::verdict::evaluate::Vote;

fn listed(text: &str) -> (Vec<String>, ImportCounts) {
    let mut found = Vec::new();
    let counts = blocklist::import(&mut text.as_bytes(), LIMIT, Timestamp::MAX, &mut |key, _| {
        found.push(key.as_str().to_owned());
        true
    })
    .unwrap();
    (found, counts)
}

#[test]
fn rules_about_elements_paths_or_ports_list_no_domain() {
    let rules = [
        "cosmetic.example.net##.banner",
        "cosmetic.example.net#@#.banner",
        "cosmetic.example.net#?#div:has(> a)",
        "cosmetic.example.net#$#body { overflow: auto }",
        "cosmetic.example.net#%#//scriptlet('x')",
        "cosmetic.example.net,other.example.net##.banner",
        "script.example.net##+js(nowebrtc)",
        "script.example.net##^script:has-text(x)",
        "||port.example.net:8443^",
        "||port.example.net:443^",
        "port.example.net:80",
        "http://port.example.net:8080/",
        "https://port.example.net:80/",
        "||path.example.net/ads/",
        "path.example.net/ads.js",
        "http://path.example.net/x?y",
        "||option.example.net^$third-party",
        "@@||allowed.example.net^",
        "||wild.*.example.net^",
    ];
    for header in ["", "[Adblock Plus 2.0]\n", "[AutoProxy 0.2.9]\n", "domain\n"] {
        // In a CSV a comma ends the field, so the text before the comma is a name.
        let rules: Vec<&str> =
            rules.iter().copied().filter(|rule| header != "domain\n" || !rule.contains(',')).collect();
        let (found, counts) = listed(&format!("{header}{}\n", rules.join("\n")));
        assert_eq!((found, counts.accepted, counts.refused), (Vec::<String>::new(), 0, 0), "{header:?} {counts:?}");
        assert_eq!(counts.reasons.get("not_a_domain"), Some(&(rules.len() as u64)), "{header:?} {counts:?}");
    }
    let whole = "||a.example^\nb.example # a note\nc.example #another\nhttps://d.example/\nhttp://e.example:80\nhttps://f.example:443/\n";
    let (found, counts) = listed(whole);
    assert_eq!(found, ["a.example", "b.example", "c.example", "d.example", "e.example", "f.example"], "{counts:?}");
}

#[test]
fn every_name_of_a_hosts_line_is_listed_and_local_ones_are_not() {
    let text = "# hosts\n127.0.0.1 localhost localhost.localdomain\n::1 ip6-localhost ip6-loopback\n\
        0.0.0.0 a.example b.example\tc.example # three\n127.0.0.1\td.example\n:: e.example f.example\n\
        127.0.1.1 my.local printer.lan g.example\n0.0.0.0 0.0.0.0\n93.184.216.34 h.example\n";
    let (found, counts) = listed(text);
    assert_eq!(found, ["a.example", "b.example", "c.example", "d.example", "e.example", "f.example", "g.example"]);
    assert_eq!(counts.refused, 0, "{counts:?}");
}

#[test]
fn an_open_quote_costs_its_own_row_and_is_counted() {
    let head = "url,category_code,notes\n";
    let read = |text: &str| {
        let mut found = Vec::new();
        let counts = test_list::import(&mut text.as_bytes(), LIMIT, &mut |site| {
            found.push(site.target.as_str().to_owned());
            true
        })
        .unwrap();
        (found, counts)
    };
    for (rows, expected, open) in [
        (
            "http://a.example/,NEWS,\"open\nhttp://b.example/,NEWS,x\nhttp://c.example/,NEWS,\"closed\"\n",
            &["b.example", "c.example"][..],
            1,
        ),
        ("http://a.example/,NEWS,\"open\nhttp://b.example/,NEWS,x\n", &["b.example"], 1),
        ("http://a.example/,NEWS,\"open", &[], 1),
        (
            "http://a.example/,NEWS,x\n\"http://b.example/,NEWS,y\nhttp://c.example/,NEWS,z\n",
            &["a.example", "c.example"],
            1,
        ),
        ("http://a.example/,NEWS,\"two\nlines\"\nhttp://b.example/,NEWS,x\n", &["a.example", "b.example"], 0),
        ("http://a.example/,NEWS,\"open\nhttp://b.example/,NEWS,\"open\nhttp://c.example/,NEWS,\n", &["c.example"], 2),
        (
            "http://a.example/,NEWS,\"say \"\"no\"\" now\"\nhttp://b.example/,NEWS,5\" wide\n",
            &["a.example", "b.example"],
            0,
        ),
    ] {
        for ends in ["\n", "\r\n"] {
            let (found, counts) = read(&format!("{head}{rows}").replace('\n', ends));
            assert_eq!(found, expected, "{rows:?} {counts:?}");
            assert_eq!(counts.reasons.get("open_quote").copied().unwrap_or(0), open, "{rows:?} {counts:?}");
        }
    }
    // The size of the rest does not matter.
    let many = "http://z.example/,NEWS,x\n".repeat(300_000);
    let (found, counts) = read(&format!("{head}http://a.example/,NEWS,\"open\n{many}"));
    assert_eq!((found.len(), counts.reasons.get("open_quote")), (300_000, Some(&1)));
    let (found, _) = listed("domain;reason\na.example;\"open\nb.example;x\n");
    assert_eq!(found, ["b.example"]);
}

#[test]
fn a_line_that_is_too_long_costs_itself() {
    let long = "x".repeat((4 << 20) + 1);
    let text = format!(
        "test_name,report_id,measurement_start_time,probe_cc,hostname,tcp_success\n{long}\n\
        web_connectivity,r,2026-01-02 03:04:05,NO,news.example,1\n"
    );
    let mut found = 0;
    let counts =
        ooni_observations::import(&mut text.as_bytes(), LIMIT, &Fingerprints::default(), &mut |_| found += 1).unwrap();
    assert_eq!((found, counts.reasons.get("row_too_long")), (1, Some(&1)), "{counts:?}");
}

#[test]
fn a_bad_character_costs_its_string_and_not_the_document() {
    let head = Head::new("web_connectivity", Some("http://news.example/"));
    let answer = serde_json::json!({ "code": 200, "headers": { "Server": "PLACE" }, "body": "PLACE" });
    let document = head.document(&page(&answer, [Some(true); 4]));
    let bad: [&[u8]; 8] = [b"\xff", b"\xc3", b"a\xe9b", b"\\ud800", b"\\udc00\\ud800", b"\x01", b"\\x41", b"\\u12"];
    for bytes in bad {
        let text: Vec<u8> = {
            let mut parts = document.as_bytes().to_vec();
            while let Some(at) = parts.windows(5).position(|window| window == b"PLACE") {
                parts.splice(at..at + 5, bytes.iter().copied());
            }
            parts
        };
        assert!(serde_json::from_slice::<serde_json::Value>(&text).is_err(), "{bytes:?}");
        for array in [false, true] {
            let text = if array { [b"[", text.as_slice(), b"]"].concat() } else { text.clone() };
            let mut found = Vec::new();
            let counts =
                ooni_document::import(&mut text.as_slice(), LIMIT, &Fingerprints::default(), &mut |p| found.push(p))
                    .unwrap();
            assert_eq!((counts.accepted, counts.refused), (1, 0), "{bytes:?} {counts:?}");
            assert_eq!(found[0].contributions[0].outcome.evaluate().vote, Vote::Clear, "{bytes:?}");
        }
    }
    assert_eq!(vote("document", &document, "news.example"), Some(Vote::Clear));
    // Good escapes stay as they are, and text that is not JSON is still not JSON.
    let good = r#"{"a":"\ud83d\ude00 \\ \" \u00e9 \/","b":"\\ud800"}"#;
    let mut spoiled = good.as_bytes().to_vec();
    spoiled.splice(6..6, [0xff]);
    let read = json::parse(&spoiled).unwrap();
    assert_eq!(read["a"], "\u{fffd}\u{1f600} \\ \" \u{e9} /");
    assert_eq!(read["b"], "\\ud800");
    for none in [&b"{\"a\":"[..], b"{a}", b"\xff", b"{\"a\":\xff}", b"{\"a\" \\ :1}", b""] {
        assert_eq!(json::parse(none), None, "{none:?}");
    }
}
