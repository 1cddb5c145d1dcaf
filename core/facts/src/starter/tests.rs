//! Rules for every table: sources, dates, normal forms, size.

use super::*;

const TODAY: &str = "2026-11-20";

const TABLES: [(&str, &str, usize); 5] = [
    ("countries", countries::TEXT, 4),
    ("platforms", platforms::TEXT, 7),
    ("known_blocks", known_blocks::TEXT, 6),
    ("basket", basket::TEXT, 4),
    ("signatures", signatures::TEXT, 9),
];

/// The normal form of a target key (decision keys-and-roles).
fn is_normal_host(host: &str) -> bool {
    idna::domain_to_ascii_strict(host).is_ok_and(|ascii| ascii == host)
        && !host.starts_with("www.")
        && !host.ends_with('.')
        && host.contains('.')
}

fn is_https(url: &str) -> bool {
    url.strip_prefix("https://").is_some_and(|rest| rest.contains('.') && rest.contains('/') && !rest.contains(' '))
}

#[test]
fn every_line_has_the_columns_of_its_table_and_no_stray_space() {
    for (name, text, columns) in TABLES {
        let mut seen = std::collections::HashSet::new();
        for line in lines(text) {
            assert_eq!(line.split('\t').count(), columns, "{name}: {line}");
            assert!(line.split('\t').all(|f| f == f.trim()), "{name}: {line}");
            assert!(line.is_ascii() && seen.insert(line), "{name}: {line}");
        }
        let header = text.lines().find(|l| !l.starts_with('#')).unwrap();
        assert_eq!(header.split('\t').count(), columns, "{name}");
    }
}

#[test]
fn every_row_has_an_https_source_and_a_date_that_is_not_in_the_future() {
    let today = Timestamp::parse(TODAY).unwrap();
    let past = |day: Timestamp| day > Timestamp::MIN && day <= today;
    for (name, text) in [("countries", countries::TEXT), ("basket", basket::TEXT)] {
        assert!(is_https(directive(text, "source").unwrap()), "{name}");
    }
    for (name, text) in [("countries", countries::TEXT), ("basket", basket::TEXT), ("platforms", platforms::TEXT)] {
        assert!(past(table_date(text).unwrap()), "{name}");
    }
    for role in Platform::all().iter().flat_map(|p| &p.roles) {
        assert!(is_https(role.source), "{}", role.key);
    }
    for b in known_blocks::all() {
        assert!(is_https(b.source) && past(b.confirmed_on), "{}/{}", b.country, b.target);
    }
    for s in signatures::all() {
        assert!(is_https(s.source) && past(s.confirmed_on), "{}", s.id);
    }
}

#[test]
fn every_host_is_in_the_normal_form_of_keys() {
    let roles = Platform::all().iter().flat_map(|p| &p.roles).filter(|r| r.is_host()).map(|r| r.key);
    let blocks = known_blocks::all().iter().map(|b| b.target).filter(|t| Platform::by_slug(t).is_none());
    let basket = basket::all().iter().map(|s| s.domain);
    for host in roles.chain(blocks).chain(basket) {
        assert!(is_normal_host(host), "{host}");
    }
    for bad in ["www.x.com", "X.com", "x.com.", "m\u{fc}nchen.de", "telegram/pool", ""] {
        assert!(!is_normal_host(bad), "{bad}");
    }
}

#[test]
fn dates_are_read_in_one_form_only() {
    assert!(date("2024-02-29").is_some());
    for text in ["", "2024", "20240229", "2024-2-9", "2024-02-30", "2024-02-29T00:00"] {
        assert_eq!(date(text), None, "{text}");
    }
}

#[test]
fn a_damaged_row_is_left_out_and_the_others_stay() {
    let text = "# note\na\tb\nx\ty\nshort\nlong\ty\tz\n\nu\t\n";
    assert_eq!(rows::<2>(text).collect::<Vec<_>>(), [["x", "y"], ["u", ""]]);
}

#[test]
fn the_sources_list_says_what_ships_and_it_stays_small() {
    let list = sources();
    let tables = || TABLES.iter().map(|(name, text, _)| (*name, *text)).chain([("elections", super::ELECTIONS)]);
    assert_eq!(list.len(), tables().count());
    assert!(list.iter().map(|s| s.bytes).sum::<usize>() < 80 * 1024);
    for s in &list {
        assert!(s.rows > 0 && s.licence == LICENCE && s.newest > Timestamp::MIN, "{}", s.id);
        let (_, text) = tables().find(|(name, _)| s.id.ends_with(name)).unwrap();
        assert_eq!(s.rows, lines(text).count(), "{}: rows were left out", s.id);
    }
}
