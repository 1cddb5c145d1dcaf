//! What crawlers and programs look for at the root of a server.

use heliograph_core::engine::time::Timestamp;

use crate::{Suite, cases};

cases![crawlers_and_models_find_their_texts, a_contact_for_vulnerabilities_is_there_where_the_operator_names_one,];

fn crawlers_and_models_find_their_texts(suite: &Suite) {
    let client = suite.client();
    for (path, kind, beginning) in [
        ("/robots.txt", "text/plain; charset=utf-8", "User-agent: *\n"),
        ("/llms.txt", "text/markdown; charset=utf-8", "# Heliograph\n\n> "),
        ("/favicon.ico", "image/x-icon", "\0\0\u{1}\0"),
    ] {
        let answer = client.get(path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
        assert!(answer.body.starts_with(beginning.as_bytes()), "{path}");
        assert!(answer.header("etag").is_some() && answer.header("cache-control").is_some(), "{path}");
    }
    // Every link of the overview leads somewhere.
    let overview = client.get("/llms.txt");
    let links: Vec<&str> = overview.text().split("](").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert!(links.len() > 5);
    for link in links {
        assert_eq!(client.get(link).status, 200, "{link}");
    }
}

fn a_contact_for_vulnerabilities_is_there_where_the_operator_names_one(suite: &Suite) {
    const PATH: &str = "/.well-known/security.txt";
    suite.client().get(PATH).expect_error(404, "NOT_FOUND");
    let target = suite.fresh(&[("security_contact", "mailto:security@relay.example")]);
    let answer = target.client().get(PATH);
    let lines: Vec<&str> = answer.text().lines().collect();
    assert_eq!(lines[0], "Contact: mailto:security@relay.example");
    let expires = Timestamp::parse(lines[1].strip_prefix("Expires: ").unwrap()).unwrap();
    assert!(expires > target.client().now(), "{expires}");
}
