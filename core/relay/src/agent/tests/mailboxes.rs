//! The limits of a page, on real requests. The tests of the mailbox itself measure the cost of pages.

use super::*;

/// Decision mailbox-pages.
#[test]
fn a_page_ends_at_4_mib_and_says_that_there_is_more() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    // A control character takes six bytes in JSON, so the answer is 24 MB for 4 MB of text.
    for n in 0..64 {
        world.send(&ada, &bob.did, &format!("{n:02}{}", "\u{1}".repeat(65_534)));
    }
    for path in ["/v1/agent/receive", "/v1/agent/receive/raw"] {
        let mut since = String::new();
        let mut seen = 0;
        loop {
            let page = world.get(&format!("{path}?limit=100&since={since}"), &bob.key).expect(200);
            assert!(page.to_string().len() < 5 * 1024 * 1024);
            seen += page["messages"].as_array().unwrap().len();
            if page["has_more"] == false {
                assert_eq!(page["next_since"], Value::Null);
                break;
            }
            since = page["next_since"].as_str().unwrap().to_owned();
            assert_eq!(page["messages"].as_array().unwrap().last().unwrap()["timestamp"], since);
        }
        assert_eq!(seen, 64, "{path}");
    }
}
