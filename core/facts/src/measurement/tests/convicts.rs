//! What counts as blocked and what does not, in every form of a measurement. Each test is named after the danger.

use serde_json::{Value, json};

use crate::measurement::failure::Failure;
use crate::measurement::fingerprints::{Fingerprints, Pattern, Place, Scope};
use crate::measurement::made::{ADDRESS, Head, SITE, about, page, read, scores, signal, signal_rows, vote};
use crate::verdict::RuleId;
use crate::verdict::classify::{Label, classify_value};
use crate::verdict::evaluate::{Evaluated, Vote};

const CERTIFICATES: [&str; 3] = ["ssl_invalid_hostname", "ssl_unknown_authority", "ssl_invalid_certificate"];

fn site() -> Head {
    Head::new("web_connectivity", Some("http://news.example/"))
}

fn judged(keys: &Value, fingerprints: &Fingerprints) -> Evaluated {
    let found = read("document", &site().document(keys), fingerprints);
    found.into_iter().find(|(target, _)| target == SITE).unwrap().1
}

fn plain(keys: &Value) -> Evaluated {
    judged(keys, &Fingerprints::default())
}

fn differs(code: u64, headers: Value, body: &str) -> Value {
    page(&json!({ "code": code, "headers": headers, "body": body }), [Some(false); 4])
}

/// The forms of a session of Signal in which every handshake fails in the same way.
fn signal_forms(head: &Head, failure: &str) -> [(&'static str, Option<Vote>); 4] {
    let failed = scores(1.0, json!({ "analysis": { "signal_backend_failure": failure } }));
    let of = |form, text: String| vote(form, &text, "signal/backend");
    [
        ("document", of("document", head.document(&signal(Some(failure), 3)))),
        ("observations", of("observations", head.observations(&signal_rows(Some(failure), 3)))),
        ("fastpath", of("fastpath", head.fastpath(&failed, true, false, ""))),
        ("listed", of("listed", head.listed(&failed, true, false, false).to_string())),
    ]
}

#[test]
fn interception_that_a_current_client_sees_is_no_fault_of_the_client() {
    let head = Head::new("signal", None);
    for failure in CERTIFICATES {
        for (form, vote) in signal_forms(&head, failure) {
            assert_eq!(vote, Some(Vote::Blocked), "{form} {failure}");
        }
    }
    let found = about("document", &head.document(&signal(Some("ssl_invalid_hostname"), 3)), "signal/backend").unwrap();
    assert_eq!((found.rule, found.technique.unwrap().method()), (RuleId::TlsIntercepted, "tls-cert-invalid"));
    // With one host or four, and with some of them still showing their own certificate.
    for shown in [1, 2, 4] {
        assert_eq!(
            vote("document", &head.document(&signal(Some(CERTIFICATES[0]), shown)), "signal/backend"),
            Some(Vote::Blocked)
        );
    }
    let mut half = signal(Some(CERTIFICATES[0]), 4);
    for name in ["tls_handshakes", "requests"] {
        for at in [0, 1] {
            half[name][at]["failure"] = Value::Null;
        }
    }
    assert_eq!(vote("document", &head.document(&half), "signal/backend"), Some(Vote::Blocked), "half of them");
    for name in ["tls_handshakes", "requests"] {
        half[name][2]["failure"] = Value::Null;
    }
    assert_eq!(vote("document", &head.document(&half), "signal/backend"), Some(Vote::Clear), "one of them");
    // Documents that keep only the conclusion.
    let bare = json!({ "signal_backend_status": "blocked", "signal_backend_failure": "ssl_unknown_authority" });
    assert_eq!(vote("document", &head.document(&bare), "signal/backend"), Some(Vote::Blocked));
}

#[test]
fn a_client_that_is_known_to_be_broken_convicts_nobody_in_any_form() {
    for (test_version, engine_version, time) in [
        ("0.2.4", "3.19.1", "2026-11-25 06:00:00"),
        ("0.2.3", "3.19.0", "2023-11-07 06:00:00"),
        ("0.2.1", "3.16.0", "2022-10-20 06:00:00"),
        ("0.2.5", "3.17.1", "2023-05-02 00:00:00"),
    ] {
        let head = Head { test_version, engine_version, time, ..Head::new("signal", None) };
        // Whatever the client reports: a broken client fails in different ways on different days.
        for failure in [CERTIFICATES[1], "generic_timeout_error", "connection_reset"] {
            for (form, vote) in signal_forms(&head, failure) {
                // The list has no versions; its source marks such sessions as failed.
                if form != "listed" {
                    assert_eq!(vote, Some(Vote::Masked), "{form} {test_version} {failure}");
                }
            }
        }
        let marked = head.listed(&scores(0.0, json!({ "accuracy": 0.0 })), false, false, true).to_string();
        assert_eq!(vote("listed", &marked, "signal/backend"), None);
        let working = head.document(&signal(None, 3));
        assert_eq!(vote("document", &working, "signal/backend"), Some(Vote::Masked), "nor does it clear");
    }
    let before = Head {
        test_version: "0.2.3",
        time: "2023-11-06 06:00:00",
        engine_version: "3.19.0",
        ..Head::new("signal", None)
    };
    for (form, vote) in signal_forms(&before, CERTIFICATES[0]) {
        // The version behind a row of the list is unknown, and the source did not mark such sessions yet.
        let expected = if form == "listed" { Vote::Masked } else { Vote::Blocked };
        assert_eq!(vote, Some(expected), "{form}");
    }
    let nameless = Head { test_version: "", engine_version: "", ..Head::new("signal", None) };
    assert_eq!(
        vote("document", &nameless.document(&signal(Some(CERTIFICATES[0]), 3)), "signal/backend"),
        Some(Vote::Masked)
    );
}

#[test]
fn a_client_without_a_user_agent_says_nothing_of_the_web_site() {
    let keys = json!({
        "tcp_connect": [{ "ip": "157.240.20.53", "port": 443, "status": { "success": true, "failure": null } }],
        "whatsapp_endpoints_status": "ok", "registration_server_status": "ok", "whatsapp_web_status": "blocked",
    });
    for (software, web) in [
        (("ooniprobe", "2.1.0"), Vote::Masked),
        (("ooniprobe", "2.3.0"), Vote::Masked),
        (("ooniprobe", "2.0.2"), Vote::NeedsControl),
        (("ooniprobe-android", "2.2.0"), Vote::NeedsControl),
    ] {
        let head = Head { software, time: "2017-11-25 06:00:00", ..Head::new("whatsapp", None) };
        let document = head.document(&keys);
        assert_eq!(vote("document", &document, "web.whatsapp.com"), Some(web), "{software:?}");
        assert_eq!(vote("document", &document, "whatsapp/pool"), Some(Vote::Clear), "{software:?}");
        let rows = [vec![
            ("hostname", "web.whatsapp.com".to_owned()),
            ("ip", "157.240.20.54".to_owned()),
            ("port", "443".to_owned()),
            ("tcp_failure", "generic_timeout_error".to_owned()),
        ]];
        assert_eq!(vote("observations", &head.observations(&rows), "web.whatsapp.com"), Some(web), "{software:?}");
    }
}

/// The ways in which protections answer, at any status.
#[test]
fn a_challenge_or_geofence_of_a_known_protection_is_no_block() {
    let cases = [
        (202, json!({ "Server": "CloudFront", "x-amzn-waf-action": "challenge" }), ""),
        (200, json!({ "server": "cloudflare", "cf-mitigated": "challenge" }), "<html></html>"),
        (202, json!({ "SG-Captcha": "challenge" }), ""),
        (200, json!({ "server": "nginx" }), "<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"),
        (200, json!({}), "<script src=\"/_Incapsula_Resource?SWJIYLWA=1\"></script>"),
        (200, json!({}), "<script>window.awsWafCookieDomainList=[]</script>"),
        (200, json!({}), "<title>Vercel Security Checkpoint</title>"),
        (200, json!({}), "<p>Making sure you&#39;re not a bot!</p>"),
        (451, json!({ "Server": "AkamaiGHost" }), "not here"),
        (451, json!({ "X-Amz-Cf-Id": "x" }), "not for you"),
        (403, json!({ "X-Cache": "Error from cloudfront" }), "configured to block access from your country"),
        (200, json!({}), "<h1>The owner of this website has banned the country or region your IP address is in</h1>"),
        (403, json!({}), "error code: 1009"),
        (403, json!({}), "<title>Access denied | news.example used Cloudflare to restrict access</title>"),
        (200, json!({}), "<p>The requested URL was rejected. Please consult with your administrator.</p>"),
        (405, json!({ "server": "awselb/2.0" }), "<script src=\"https://x.captcha.awswaf.com/captcha.js\"></script>"),
        (429, json!({}), "slow down"),
        (503, json!({}), "overloaded"),
    ];
    for (code, headers, body) in cases {
        let found = plain(&differs(code, headers.clone(), body));
        assert_eq!((found.vote, found.rule), (Vote::Masked, RuleId::HttpChallenge), "{code} {headers} {body}");
    }
    // A censor's page shows none of these signs.
    for (code, headers, body) in [
        (200, json!({ "server": "nginx" }), "Access to this site is forbidden by order of the court."),
        (403, json!({ "server": "squid" }), "Access Denied"),
        (451, json!({}), "unavailable"),
    ] {
        assert_eq!(plain(&differs(code, headers.clone(), body)).vote, Vote::Blocked, "{code} {headers} {body}");
    }
    // Rows of the other forms never hold a page.
    let difference = scores(1.0, json!({ "analysis": { "blocking_type": "http-diff" } }));
    for (form, text) in [
        ("fastpath", site().fastpath(&difference, true, false, "http-diff")),
        ("listed", site().listed(&difference, true, false, false).to_string()),
    ] {
        assert_eq!(vote(form, &text, SITE), Some(Vote::Masked), "{form}");
    }
    let row = vec![
        ("hostname", SITE.to_owned()),
        ("http_request_url", format!("http://{SITE}/")),
        ("probe_analysis", "http-diff".to_owned()),
    ];
    assert_eq!(vote("observations", &site().observations(&[row]), SITE), Some(Vote::Masked));
}

#[test]
fn one_comparison_that_differs_while_nothing_else_is_known_is_not_enough() {
    let answer = json!({ "code": 204, "headers": { "Content-Length": "0" }, "body": "" });
    for at in 0..4 {
        let mut compared = [None; 4];
        compared[at] = Some(false);
        let mut keys = page(&answer, compared);
        if compared[3].is_none() {
            keys["control"]["http_request"]["status_code"] = json!(204);
        }
        let found = plain(&keys);
        assert_eq!((found.vote, found.rule), (Vote::Masked, RuleId::HttpDiffUnchecked), "{compared:?}");
        let document: Value = serde_json::from_str(&site().document(&keys)).unwrap();
        assert_eq!(classify_value(document, &Fingerprints::default()).unwrap().label, Label::Unknown);
    }
    let status = page(&answer, [None, None, Some(false), Some(true)]);
    assert_eq!(plain(&status).rule, RuleId::HttpDiffUnchecked, "an equal status is no page");
    for compared in [
        [Some(false), Some(false), None, Some(true)],
        [Some(false), None, Some(false), None],
        [None, Some(false), None, Some(false)],
        [Some(false); 4],
    ] {
        assert_eq!(plain(&page(&answer, compared)).vote, Vote::Blocked, "{compared:?}");
    }
}

fn words(scope: Scope, place: Place) -> Fingerprints {
    let mut set = Fingerprints::default();
    set.add_page("made up", scope, place, Pattern::Contains("blocked by order".into()), &[*b"NO"]);
    set
}

#[test]
fn words_of_a_block_page_in_the_sites_own_page_are_no_block() {
    let answer =
        json!({ "code": 200, "headers": { "via": "blocked by order" }, "body": "News: a site was blocked by order" });
    let own = [
        [Some(true), Some(true), Some(true), Some(true)],
        [Some(true), None, None, Some(true)],
        [None, Some(true), None, None],
        [Some(true), Some(true), Some(false), Some(true)],
    ];
    let foreign =
        [[Some(false); 4], [None; 4], [Some(true), Some(false), Some(false), None], [None, None, None, Some(true)]];
    for scope in [Scope::National, Scope::Isp, Scope::Institution, Scope::Other] {
        let set = words(scope, Place::Body);
        for compared in own {
            assert_eq!(judged(&page(&answer, compared), &set).vote, Vote::Clear, "{scope:?} {compared:?}");
        }
        for compared in foreign {
            assert_eq!(judged(&page(&answer, compared), &set).rule, RuleId::HttpFingerprint, "{scope:?} {compared:?}");
        }
    }
    // Text inside of a header proves nothing more.
    let header = words(Scope::National, Place::Header("via".into()));
    assert_eq!(judged(&page(&answer, own[0]), &header).rule, RuleId::HttpFingerprint);
    // A scored row does not tell a comparison that found nothing from one that was not made.
    let fingerprint = |scope: &str, place: &str, more: Value| {
        let mut all = json!({ "fingerprints": [{ "name": "x", "scope": scope, "location_found": place, "expected_countries": ["NO"] }], "confirmed": true });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        scores(1.0, all)
    };
    let compared = json!({ "analysis": { "blocking_type": "http-diff" } });
    for (scores, expected) in [
        (fingerprint("nat", "body", json!({})), Vote::Masked),
        (fingerprint("nat", "body", compared.clone()), Vote::Blocked),
        (fingerprint("nat", "header.location", json!({})), Vote::Blocked),
        (fingerprint("nat", "dns", json!({})), Vote::Blocked),
        (fingerprint("inst", "body", compared), Vote::Masked),
    ] {
        for (form, text) in [
            ("fastpath", site().fastpath(&scores, true, true, "")),
            ("listed", site().listed(&scores, true, true, false).to_string()),
        ] {
            assert_eq!(vote(form, &text, SITE), Some(expected), "{form} {scores}");
        }
    }
}

#[test]
fn words_of_an_institutions_filter_in_a_page_of_a_content_network_are_no_block() {
    let body = "Access Denied: blocked by order";
    for headers in
        [json!({ "Server": "AkamaiGHost" }), json!({ "CF-RAY": "1" }), json!({ "x-amz-cf-id": "x", "server": "a" })]
    {
        let keys = differs(200, headers.clone(), body);
        assert_eq!(judged(&keys, &words(Scope::Institution, Place::Body)).rule, RuleId::HttpChallenge, "{headers}");
        assert_eq!(judged(&keys, &words(Scope::National, Place::Body)).rule, RuleId::HttpFingerprint, "{headers}");
    }
    let keys = differs(200, json!({ "server": "nginx" }), body);
    assert_eq!(judged(&keys, &words(Scope::Institution, Place::Body)).rule, RuleId::HttpFingerprint);
}

fn whatsapp(endpoints: &str, connected: bool) -> Value {
    let connect = |ip: &str, port: u16| json!({ "ip": ip, "port": port, "status": { "success": connected, "failure": if connected { Value::Null } else { json!("generic_timeout_error") } } });
    json!({
        "queries": [{ "engine": "system", "hostname": "e1.whatsapp.net", "query_type": "A", "failure": null, "answers": [{ "answer_type": "A", "ipv4": "157.240.20.53" }] }],
        "tcp_connect": [connect("157.240.20.53", 443), connect("157.240.20.53", 5222)],
        "tls_handshakes": [{ "server_name": "web.whatsapp.com", "address": "157.240.20.54:443", "failure": null, "no_tls_verify": false }],
        "requests": [{ "request": { "url": "https://web.whatsapp.com/" }, "response": { "code": 200 }, "failure": null },
                     { "request": { "url": "https://v.whatsapp.net/v2/register" }, "response": { "code": 404 }, "failure": null }],
        "whatsapp_endpoints_status": endpoints, "whatsapp_endpoints_dns_inconsistent": ["e1.whatsapp.net"],
        "registration_server_status": "blocked", "whatsapp_web_status": "blocked",
    })
}

#[test]
fn a_flag_of_the_test_convicts_nobody_while_every_connection_works() {
    let head = Head::new("whatsapp", None);
    let document = head.document(&whatsapp("blocked", true));
    for target in ["whatsapp/pool", "whatsapp/registration", "web.whatsapp.com"] {
        assert_eq!(vote("document", &document, target), Some(Vote::Clear), "{target}");
    }
    let failing = head.document(&whatsapp("ok", false));
    assert_eq!(vote("document", &failing, "whatsapp/pool"), Some(Vote::NeedsControl), "nor does it clear what fails");

    let messenger = Head::new("facebook_messenger", None);
    let connects: Vec<Value> = (1..=6)
        .map(|n| json!({ "ip": format!("157.240.1.{n}"), "port": 443, "status": { "success": true, "failure": null } }))
        .collect();
    let keys = json!({ "tcp_connect": connects, "facebook_dns_blocking": true, "facebook_tcp_blocking": false });
    assert_eq!(vote("document", &messenger.document(&keys), "facebook_messenger/endpoints"), Some(Vote::Clear));
    let flagged = scores(
        1.5,
        json!({ "facebook_dns_blocking": true, "facebook_stun_dns_consistent": false, "facebook_star_dns_consistent": false }),
    );
    assert_eq!(
        vote("listed", &messenger.listed(&flagged, true, false, false).to_string(), "facebook_messenger/endpoints"),
        Some(Vote::Clear)
    );
    let nothing = json!({ "facebook_dns_blocking": true, "facebook_tcp_blocking": null });
    assert_eq!(
        vote("document", &messenger.document(&nothing), "facebook_messenger/endpoints"),
        Some(Vote::NeedsControl)
    );

    // Rows of a site, with `tcp_ip` beside a connection that works.
    let row = vec![
        ("hostname", SITE.to_owned()),
        ("ip", ADDRESS.to_owned()),
        ("port", "80".to_owned()),
        ("tcp_success", "1".to_owned()),
        ("probe_analysis", "tcp_ip".to_owned()),
    ];
    assert_eq!(vote("observations", &site().observations(&[row]), SITE), Some(Vote::Clear));
    let signal = Head::new("signal", None);
    let mut working = crate::measurement::made::signal(None, 3);
    working["signal_backend_status"] = json!("blocked");
    assert_eq!(vote("document", &signal.document(&working), "signal/backend"), Some(Vote::Clear));
    let flagged = scores(1.0, json!({ "analysis": { "signal_backend_failure": null } }));
    for (form, text) in [
        ("fastpath", signal.fastpath(&flagged, true, false, "")),
        ("listed", signal.listed(&flagged, true, false, false).to_string()),
    ] {
        assert_eq!(vote(form, &text, "signal/backend"), Some(Vote::Masked), "{form}");
    }
    let telegram = Head::new("telegram", None);
    let counted = json!({ "accessible_endpoints": 12, "unreachable_endpoints": 0, "http_success_cnt": 12, "http_failure_cnt": 0, "web_failure": null });
    let row = telegram.listed(&scores(1.0, counted), true, false, false).to_string();
    for target in ["telegram/pool", "web.telegram.org"] {
        assert_eq!(vote("listed", &row, target), Some(Vote::Clear), "{target}");
    }
}

#[test]
fn a_tcp_connection_never_clears_what_tls_contradicts() {
    let head = Head::new("signal", None);
    for failure in ["generic_timeout_error", "connection_reset", "eof_error", "ssl_invalid_hostname"] {
        let mut keys = signal(Some(failure), 3);
        keys["requests"] = json!([]);
        let of = |form, text: String| vote(form, &text, "signal/backend").unwrap();
        let document = of("document", head.document(&keys));
        assert!(matches!(document, Vote::Blocked | Vote::NeedsControl), "{failure}: {document:?}");
        let rows: Vec<_> = signal_rows(Some(failure), 3).into_iter().step_by(2).collect();
        assert_eq!(of("observations", head.observations(&rows)), document, "{failure}");
        // The connection is in a row of its own.
        let mut apart = rows;
        apart.push(vec![
            ("ip", "13.248.212.111".into()),
            ("port", "443".into()),
            ("hostname", "cdn.signal.org".into()),
            ("tcp_success", "1".into()),
        ]);
        assert_eq!(of("observations", head.observations(&apart)), document, "{failure}");
    }
}

#[test]
fn a_control_without_addresses_proves_nothing_about_names() {
    let with = |addresses: Value, failure: Value, http: Value, answer: Value| {
        let mut keys = page(&json!({ "code": 200, "headers": {}, "body": "x" }), [None; 4]);
        keys["control"]["dns"] = json!({ "failure": failure, "addrs": addresses });
        keys["control"]["http_request"] = http;
        keys["control"]["tcp_connect"] = json!({});
        keys["queries"][0]["answers"] = answer;
        keys
    };
    let answers = json!([{ "answer_type": "A", "ipv4": "203.0.114.9", "asn": 64_499 }]);
    let lost = json!({ "failure": "unknown_failure", "status_code": 0 });
    for addresses in [json!([]), json!(null), json!(["alias.example"])] {
        let keys = with(addresses.clone(), json!(null), lost.clone(), answers.clone());
        assert_ne!(plain(&keys).rule, RuleId::DnsInvented, "{addresses}");
        assert_ne!(plain(&keys).vote, Vote::Blocked, "{addresses}");
    }
    // The control failed to find the name, and says so.
    let keys = with(json!([]), json!("dns_nxdomain_error"), lost.clone(), answers);
    assert_eq!(plain(&keys).rule, RuleId::DnsInvented);
    // The control got the page without any address. So the name exists, and a failure of the control is unproven.
    let mut keys = with(json!([]), json!(null), json!({ "failure": null, "status_code": 200 }), json!([]));
    keys["queries"][0]["failure"] = json!("dns_nxdomain_error");
    keys["requests"] = json!([]);
    keys["tcp_connect"] = json!([]);
    assert_eq!(plain(&keys).vote, Vote::NeedsControl);
}

#[test]
fn a_failure_of_the_clients_own_software_is_no_vote() {
    for text in [
        "unknown_failure: 'ascii' codec can't encode character u'\\u2019' in position 3",
        "unknown_failure 'ascii' codec can't decode byte 0xe2",
        "unknown_failure: runtime error: invalid memory address or nil pointer dereference",
        "unknown_failure: read tcp [scrubbed]->[scrubbed]: use of closed network connection",
        "unknown_failure: context canceled",
        "unknown_failure: dial tcp [scrubbed]: connect: cannot allocate memory",
        "unknown_failure: open /data/cache: permission denied",
        "unknown_failure: Traceback (most recent call last)",
        "unknown_failure",
        "unknown_error",
        "json_parse_error",
        "unknown_failure: something went wrong",
    ] {
        assert_eq!(Failure::parse(text), Some(Failure::Local), "{text}");
    }
    for (text, failure) in [
        ("unknown_failure: wsarecv: Une connexion existante a d\u{fb} \u{ea}tre ferm\u{e9}e", Failure::Other),
        ("unknown_failure: An existing connection was forcibly closed by the remote host.", Failure::Reset),
        ("unknown_failure: clientlib: tunnel establishment timeout", Failure::Timeout),
        ("http_request_failed", Failure::Other),
    ] {
        assert_eq!(Failure::parse(text), Some(failure), "{text}");
    }
    let fault = "unknown_failure: 'ascii' codec can't encode";
    let head = Head::new("signal", None);
    for (form, vote) in signal_forms(&head, fault) {
        assert_eq!(vote, Some(Vote::Masked), "{form}");
    }
    let mut keys = page(&json!({ "code": 0 }), [None; 4]);
    keys["requests"][0]["failure"] = json!(fault);
    keys["http_experiment_failure"] = json!(fault);
    assert_eq!(plain(&keys).vote, Vote::Masked);
}

#[test]
fn a_block_page_in_base64_or_another_character_set_is_found() {
    use base64::Engine;
    let russian =
        "\u{414}\u{43e}\u{441}\u{442}\u{443}\u{43f} \u{43e}\u{433}\u{440}\u{430}\u{43d}\u{438}\u{447}\u{435}\u{43d}";
    let mut set = Fingerprints::default();
    set.add_page("made up", Scope::National, Place::Body, Pattern::Contains(russian.into()), &[]);
    set.add_page(
        "header",
        Scope::National,
        Place::Header("location".into()),
        Pattern::Prefix("http://stop.example".into()),
        &[],
    );
    let pack =
        |bytes: &[u8]| json!({ "format": "base64", "data": base64::engine::general_purpose::STANDARD.encode(bytes) });
    let (cyrillic, ..) = encoding_rs::WINDOWS_1251.encode(russian);
    let (koi, ..) = encoding_rs::KOI8_R.encode(russian);
    for (body, kind) in [
        (json!(format!("<p>{russian}</p>")), "text/html"),
        (pack(russian.as_bytes()), "text/html"),
        (pack(&cyrillic), "text/html; charset=windows-1251"),
        (pack(&koi), "text/html; charset=KOI8-R"),
        (pack(&[b"<meta charset=windows-1251>".as_slice(), &cyrillic].concat()), ""),
    ] {
        let keys = page(&json!({ "code": 200, "headers": { "Content-Type": kind }, "body": body }), [Some(false); 4]);
        assert_eq!(judged(&keys, &set).rule, RuleId::HttpFingerprint, "{kind} {body}");
    }
    for headers in [
        json!({ "headers": { "Location": pack(b"http://stop.example/x") } }),
        json!({ "headers_list": [["Location", "http://stop.example/x"]] }),
    ] {
        let mut response = json!({ "code": 302, "body": "" });
        response.as_object_mut().unwrap().extend(headers.as_object().unwrap().clone());
        assert_eq!(judged(&page(&response, [None; 4]), &set).rule, RuleId::HttpFingerprint, "{headers}");
    }
}

#[test]
fn a_method_names_no_more_than_the_row_says() {
    for (kind, method) in [("dns", "dns"), ("tcp_ip", "tcp"), ("http-failure", "http")] {
        let row = scores(1.0, json!({ "analysis": { "blocking_type": kind } }));
        for (form, text) in [
            ("fastpath", site().fastpath(&row, true, false, kind)),
            ("listed", site().listed(&row, true, false, false).to_string()),
        ] {
            let found = about(form, &text, SITE).unwrap();
            assert_eq!((found.vote, found.technique.unwrap().method()), (Vote::Blocked, method), "{form} {kind}");
        }
    }
    let bare = site().listed(&scores(1.0, json!({})), true, false, false).to_string();
    assert_eq!(about("listed", &bare, SITE).unwrap().technique, None);
    // Handshakes that fail are not failures of TCP.
    let head = Head::new("signal", None);
    for (failure, method) in
        [("connection_reset", "tls-reset"), ("generic_timeout_error", "tls-timeout"), ("eof_error", "tls-eof")]
    {
        for (form, text) in [
            ("document", head.document(&signal(Some(failure), 3))),
            ("observations", head.observations(&signal_rows(Some(failure), 3))),
        ] {
            assert_eq!(about(form, &text, "signal/backend").unwrap().technique.unwrap().method(), method, "{form}");
        }
    }
}
