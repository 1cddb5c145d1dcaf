//! Reference lists: fingerprints, test lists, block lists, the network table; and target keys.

use super::{LIMIT, sample};
use crate::Timestamp;
use crate::measurement::domain::{DomainError, Service, Target, TargetKey};
use crate::measurement::fingerprints::{Fingerprints, Pattern, Place, Scope};
use crate::measurement::{asn, blocklist, test_list};
use crate::starter::categories::current_code;

fn key(text: &str) -> Result<String, DomainError> {
    TargetKey::from_url(text).map(|key| key.as_str().to_owned())
}

#[test]
fn targets_have_one_normal_form() {
    for text in [
        "example.com",
        "EXAMPLE.com.",
        "www.example.com",
        "https://www.Example.com:443/a?b#c",
        "//example.com/x",
        "http://user:pw@example.com/",
        " example.com ",
    ] {
        assert_eq!(key(text).as_deref(), Ok("example.com"), "{text}");
    }
    assert_eq!(key("www.www.example.com").as_deref(), Ok("www.example.com"));
    assert_eq!(key("www.com").as_deref(), Ok("www.com"));
    assert_eq!(
        key("http://\u{42f}\u{43d}\u{434}\u{435}\u{43a}\u{441}.\u{440}\u{444}/").as_deref(),
        Ok("xn--d1acpjx3f.xn--p1ai")
    );
    assert_eq!(key("a.b.example.com").as_deref(), Ok("a.b.example.com"), "no parent fallback");
    for (text, error) in [
        ("", DomainError::Empty),
        ("http:///x", DomainError::Empty),
        ("1.2.3.4", DomainError::IpLiteral),
        ("http://[2001:db8::1]:80/", DomainError::IpLiteral),
        ("2001:db8::1", DomainError::IpLiteral),
        ("localhost", DomainError::SingleLabel),
        ("exa mple.com", DomainError::Invalid),
        ("-a.com", DomainError::Invalid),
        ("a..b", DomainError::Invalid),
        ("999.1.2.3", DomainError::IpLiteral),
    ] {
        assert_eq!(key(text), Err(error), "{text}");
    }
    assert_eq!(key(&format!("{}.com", "a".repeat(64))), Err(DomainError::TooLong));
    assert_eq!(key(&"a.".repeat(200)), Err(DomainError::TooLong));
}

#[test]
fn services_and_their_roles_are_known_by_name() {
    assert_eq!(Target::parse("WhatsApp"), Ok(Target::Service(Service::Whatsapp)));
    assert_eq!(Target::parse("facebook-messenger"), Ok(Target::Service(Service::FacebookMessenger)));
    assert_eq!(Target::parse("telegram/pool"), Ok(Target::Domain(TargetKey::from_stored("telegram/pool"))));
    assert!(matches!(Target::parse("telegram.org"), Ok(Target::Domain(_))));
    for service in Service::ALL {
        let main = service.main_key();
        assert_eq!(main.role(), Some(service.endpoint_roles()[0]));
        assert_eq!(Target::parse(main.as_str()), Ok(Target::Domain(main)));
    }
}

#[test]
fn fingerprints_confirm_only_in_their_countries_or_nationally_and_false_positives_never() {
    let mut set = Fingerprints::default();
    set.add_page("inst", Scope::Other, Place::Body, Pattern::Contains("Access Denied".into()), &[*b"IN"]);
    set.add_page("nat", Scope::National, Place::Header("server".into()), Pattern::Prefix("WireFilter".into()), &[]);
    set.add_page("fp", Scope::FalsePositive, Place::Body, Pattern::Contains("captcha".into()), &[*b"IT"]);
    let none = |_: &str| None;
    assert!(set.page("Access Denied", &none, *b"IN").confirmed.is_some());
    let italy = set.page("Access Denied", &none, *b"IT");
    assert!(italy.confirmed.is_none() && italy.suspected);
    assert!(set.page("a captcha", &none, *b"IT").false_positive);
    assert_eq!(set.page("", &|_| Some("WireFilter 1"), *b"FR").confirmed.as_deref(), Some("nat"));
}

#[test]
fn the_published_fingerprints_are_read() {
    let (Some(dns), Some(http)) = (sample("ooni/fingerprints_dns.csv"), sample("ooni/fingerprints_http.csv")) else {
        return;
    };
    let mut set = Fingerprints::default();
    let counts = set.import(&mut &*dns, LIMIT).unwrap();
    assert_eq!(counts.lines(), 226, "{counts:?}");
    let counts = set.import(&mut &*http, LIMIT).unwrap();
    println!("{counts:?}");
    assert_eq!(counts.lines(), 1_729);
    assert_eq!(counts.accepted, 1_729, "{counts:?}");
    assert!(set.confirms_answer("134.17.0.7", *b"BY"));
}

#[test]
fn test_lists_of_every_layout_are_read() {
    for (name, rows) in [("aams.csv", 2_838), ("bofh.csv", 666), ("global.csv", 1_722), ("ke.csv", 0)] {
        let Some(bytes) = sample(&format!("test-lists/{name}")) else { return };
        let counts = test_list::import(&mut &*bytes, LIMIT, &mut |_| true).unwrap();
        assert!(counts.accepted * 100 >= counts.lines() * 99 && counts.refused == 0, "{name} {counts:?}");
        assert!(rows == 0 || counts.lines() == rows, "{name} {counts:?}");
    }
    assert_eq!(current_code("P2P"), Some("FILE"));
    assert_eq!(current_code("fexp"), Some("NEWS"));
    assert_eq!(current_code("DEV"), Some("ECON"));
    assert_eq!(current_code("NOPE"), None);
}

#[test]
fn only_whole_domains_of_a_block_list_count() {
    let text = "[AutoProxy 0.2.9]\n! c\n||a.example.org\n.b.example.org\n|http://c.example.org/x\n@@||d.example.org\n\
                /^https?/\nkeyword\n*.e.example.org\n||f.example.org/path\n";
    let mut found = Vec::new();
    let counts = blocklist::import(&mut text.as_bytes(), LIMIT, Timestamp::MAX, &mut |key, _| {
        found.push(key.as_str().to_owned());
        true
    })
    .unwrap();
    assert_eq!(found, ["a.example.org", "b.example.org"]);
    assert_eq!(counts.reasons.get("not_a_domain"), Some(&6));
    let plain = "\u{feff}one.example\r\n# note\n.ua\n1.2.3.4\n0.0.0.0 two.example\n";
    let counts = blocklist::import(&mut plain.as_bytes(), LIMIT, Timestamp::MAX, &mut |_, _| true).unwrap();
    assert_eq!((counts.accepted, counts.unsupported), (2, 2), "{counts:?}");
}

#[test]
fn exceptions_of_a_plain_list_block_nothing() {
    let text = "one.example\n@@two.example\n@@||three.example^\nhttp://user@four.example/\nfive@mail.example\n";
    for text in [text.to_owned(), format!("domain\n{text}")] {
        let mut found = Vec::new();
        let counts = blocklist::import(&mut text.as_bytes(), LIMIT, Timestamp::MAX, &mut |key, _| {
            found.push(key.as_str().to_owned());
            true
        })
        .unwrap();
        assert_eq!(found, ["one.example"]);
        assert_eq!(counts.reasons.get("not_a_domain"), Some(&4), "{counts:?}");
    }
}

#[test]
fn a_line_end_inside_quotes_does_not_begin_another_entry() {
    let text = "\u{feff}domain;date;reason\r\n\"one.example\";2026-01-05;\"several\r\nlines.example\"\r\n\r\n \r\n\
        two.example;2026-01-06;x\r\n# three.example;;\r\n;2026-01-07;\r\n";
    let mut found = Vec::new();
    let counts = blocklist::import(&mut text.as_bytes(), LIMIT, Timestamp::MAX, &mut |key, since| {
        found.push((key.as_str().to_owned(), since.unwrap().to_date_text()));
        true
    })
    .unwrap();
    let entry = |name: &str, date: &str| (name.to_owned(), date.to_owned());
    assert_eq!(found, [entry("one.example", "2026-01-05"), entry("two.example", "2026-01-06")]);
    assert_eq!((counts.accepted, counts.unsupported, counts.lines()), (2, 1, 3), "{counts:?}");
}

#[test]
fn an_entry_that_is_listed_only_from_tomorrow_on_is_none_yet() {
    let text = "domain,date\na.example,2026-11-25\nb.example,2026-11-26\nc.example,\n";
    let now = Timestamp::parse("2026-11-25T12:00:00Z").unwrap();
    let mut found = Vec::new();
    let counts = blocklist::import(&mut text.as_bytes(), LIMIT, now, &mut |key, _| {
        found.push(key.as_str().to_owned());
        true
    })
    .unwrap();
    assert_eq!(found, ["a.example", "c.example"]);
    assert_eq!((counts.unusable, counts.reasons.get("date_ahead")), (1, Some(&1)), "{counts:?}");
}

#[test]
fn the_sample_block_lists_are_read() {
    for (name, at_least) in [
        ("gfwlist_decoded_list.txt", 3_000),
        ("india_potentially_blocked_hostnames_2020.txt", 4_000),
        ("iran_ir-blocked-domain_2023.txt.gz", 150_000),
        ("lithuania_isp_blocked_domains_2022.csv", 500),
        ("russia_inside_domains_2026.txt", 500),
        ("russia_refilter_domains_all_2026.txt.gz", 50_000),
        ("south_korea_blocked_sites.txt", 1_000),
    ] {
        let Some(bytes) = sample(&format!("blocklists/{name}")) else { return };
        let mut seen = std::collections::HashSet::new();
        let counts = blocklist::import(&mut &*bytes, LIMIT, Timestamp::MAX, &mut |key, _| seen.insert(key)).unwrap();
        println!("{name}: {counts:?}");
        assert!(counts.accepted >= at_least && counts.refused == 0, "{name} {counts:?}");
    }
}

#[test]
fn the_network_table_gives_names_and_addresses() {
    let Some(bytes) = sample("asn/asn_name_country.csv.gz") else { return };
    let mut level3 = None;
    let counts = asn::import(&mut &*bytes, LIMIT, &mut |network| {
        if network.asn == 1 {
            level3 = Some(network);
        }
        true
    })
    .unwrap();
    assert_eq!(counts.accepted, 84_159, "{counts:?}");
    let level3 = level3.unwrap();
    assert_eq!(
        (level3.name.as_str(), level3.country, level3.ipv4_addresses),
        ("Level 3 Communications, Inc.", Some(*b"US"), 10_848)
    );
}
