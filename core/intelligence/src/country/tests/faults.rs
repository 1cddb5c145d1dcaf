//! Inputs that were once judged wrongly, from import to answer. Each stands for a kind and is tested with two more of
//! that kind. Sites, users of networks and sessions are made up; services are real.

use serde_json::{Value, json};

use super::Server;
use crate::import::{ImportKind, ListKind, Options};

const AS_OF: &str = "2025-11-25T20:00:00Z";

/// A session of a test, at an hour of 25 November 2025.
fn session(
    test: &str,
    country: &str,
    asn: u32,
    hour: u32,
    input: Option<&str>,
    client: (&str, &str),
    keys: &Value,
) -> String {
    let (software_version, test_version) = client;
    json!({
        "annotations": { "platform": "linux", "engine_version": "3.24.0" }, "data_format_version": "0.2.0", "input": input,
        "measurement_start_time": format!("2025-11-25 {hour:02}:00:00"), "probe_asn": format!("AS{asn}"), "probe_cc": country,
        "report_id": format!("20251125T{hour:02}0000Z_{test}_{country}_{asn}_n1_{hour:016}"), "resolver_asn": format!("AS{asn}"),
        "software_name": "ooniprobe-cli", "software_version": software_version, "test_name": test, "test_version": test_version,
        "test_keys": keys,
    })
    .to_string()
}

fn detected(documents: &[String], country: &str, target: &str) -> Value {
    let server = Server::start();
    let summary = server.import(ImportKind::OoniMeasurements, Options::default(), documents.join("\n").as_bytes());
    assert_eq!(summary.counts.accepted, documents.len() as u64, "{summary:?}");
    server.detect(country, target, Some(AS_OF))
}

fn of_networks(networks: &[u32], each: impl Fn(u32, u32) -> String) -> Vec<String> {
    networks.iter().flat_map(|asn| (6..20).step_by(2).map(|hour| each(*asn, hour)).collect::<Vec<_>>()).collect()
}

#[test]
fn interception_of_signal_is_a_block_and_no_fault_of_the_client() {
    for failure in ["ssl_invalid_hostname", "ssl_unknown_authority", "ssl_invalid_certificate"] {
        let keys = facts::measurement::made::signal(Some(failure), 3);
        let documents = of_networks(&[28_910, 41_202, 8_193], |asn, hour| {
            session("signal", "UZ", asn, hour, None, ("5.0.0", "0.5.28"), &keys)
        });
        let body = detected(&documents, "UZ", "signal");
        assert_eq!(
            (&body["status"], &body["blockingMethod"]),
            (&json!("blocked"), &json!("tls-cert-invalid")),
            "{failure}: {body}"
        );
        // The same sessions, of a client that is known to be broken.
        let documents = of_networks(&[28_910, 41_202, 8_193], |asn, hour| {
            session("signal", "UZ", asn, hour, None, ("5.0.0", "0.2.4"), &keys)
        });
        assert_ne!(detected(&documents, "UZ", "signal")["status"], "blocked", "{failure}");
    }
}

/// A page over plain HTTP of a made-up site.
fn page(input: &str, response: &Value, status: u64, compared: [Option<bool>; 4]) -> Value {
    let [title, length, headers, same_status] = compared;
    let host = input.trim_start_matches("http://").split('/').next().unwrap();
    let ip = "93.184.215.14";
    json!({
        "queries": [{ "engine": "system", "hostname": host, "query_type": "A", "failure": null, "answers": [{ "answer_type": "A", "ipv4": ip }] }],
        "tcp_connect": [{ "ip": ip, "port": 80, "status": { "success": true, "failure": null, "blocked": null } }],
        "requests": [{ "request": { "url": input, "method": "GET" }, "response": response, "failure": null, "address": format!("{ip}:80") }],
        "control": { "dns": { "failure": null, "addrs": [ip] }, "tcp_connect": { format!("{ip}:80"): { "status": true, "failure": null } },
            "tls_handshake": {}, "http_request": { "status_code": status, "failure": null, "body_length": 1000, "title": "Site", "headers": {} },
            "ip_info": { ip: { "asn": 64_500, "flags": 10 } } },
        "control_failure": null, "title_match": title, "body_length_match": length, "headers_match": headers, "status_code_match": same_status,
    })
}

#[test]
fn a_challenge_of_a_sites_own_protection_is_no_national_block() {
    let input = "http://guarded.example.com/";
    for response in [
        json!({ "code": 202, "body": "", "headers": { "Server": "CloudFront", "x-amzn-waf-action": "challenge" } }),
        json!({ "code": 200, "body": "<title>Just a moment...</title>", "headers": { "Server": "cloudflare" } }),
        json!({ "code": 451, "body": "Not in your country", "headers": { "Server": "AkamaiGHost" } }),
    ] {
        let keys = page(input, &response, 200, [Some(false); 4]);
        let documents = of_networks(&[131_178, 38_623, 24_492], |asn, hour| {
            session("web_connectivity", "KH", asn, hour, Some(input), ("3.23.0", "0.5.28"), &keys)
        });
        let body = detected(&documents, "KH", "guarded.example.com");
        assert_ne!(body["status"], "blocked", "{response}: {body}");
    }
}

#[test]
fn a_page_of_which_one_comparison_differs_is_neither_blocked_nor_accessible() {
    let input = "http://check.example.com/generate_204";
    let response = json!({ "code": 204, "body": "", "headers": { "Content-Length": "0" } });
    for compared in
        [[None, None, Some(false), Some(true)], [Some(false), None, None, Some(true)], [None, Some(false), None, None]]
    {
        let keys = page(input, &response, 204, compared);
        let documents = of_networks(&[3_320, 6_805], |asn, hour| {
            session("web_connectivity", "DE", asn, hour, Some(input), ("3.23.0", "0.5.28"), &keys)
        });
        assert_eq!(detected(&documents, "DE", "check.example.com")["status"], "unknown", "{compared:?}");
    }
}

#[test]
fn a_flag_of_a_test_is_no_block_while_every_connection_works() {
    let connect = |ip: &str, port: u16| json!({ "ip": ip, "port": port, "status": { "success": true, "failure": null, "blocked": null } });
    let lookup = |host: &str, ip: &str| json!({ "engine": "system", "hostname": host, "query_type": "A", "failure": null, "answers": [{ "answer_type": "A", "ipv4": ip }] });
    let tls = |host: &str, ip: &str| json!({ "server_name": host, "address": format!("{ip}:443"), "failure": null, "no_tls_verify": false });
    let request = |url: &str| json!({ "request": { "url": url }, "response": { "code": 200, "headers": {} }, "failure": null, "address": "" });
    let whatsapp = |endpoints: &str, registration: &str, web: &str| {
        json!({
            "queries": [lookup("e1.whatsapp.net", "157.240.20.53"), lookup("v.whatsapp.net", "157.240.20.55"), lookup("web.whatsapp.com", "157.240.20.54")],
            "tcp_connect": [connect("157.240.20.53", 443), connect("157.240.20.53", 5222)],
            "tls_handshakes": [tls("v.whatsapp.net", "157.240.20.55"), tls("web.whatsapp.com", "157.240.20.54")],
            "requests": [request("https://v.whatsapp.net/v2/register"), request("https://web.whatsapp.com/")],
            "whatsapp_endpoints_status": endpoints, "whatsapp_endpoints_dns_inconsistent": ["e1.whatsapp.net"],
            "registration_server_status": registration, "whatsapp_web_status": web,
        })
    };
    let messenger = json!({
        "tcp_connect": (1..=6).map(|n| connect(&format!("157.240.1.{n}"), 443)).collect::<Vec<_>>(),
        "facebook_dns_blocking": true, "facebook_tcp_blocking": false,
    });
    for (test, target, flagged, fine) in [
        ("whatsapp", "whatsapp", whatsapp("blocked", "ok", "ok"), whatsapp("ok", "ok", "ok")),
        ("whatsapp", "whatsapp", whatsapp("blocked", "blocked", "blocked"), whatsapp("ok", "ok", "ok")),
        ("facebook_messenger", "messenger", messenger.clone(), messenger),
    ] {
        let mut documents = of_networks(&[24_757, 328_988], |asn, hour| {
            session(test, "ET", asn, hour, None, ("2.2.0", "0.5.28"), &flagged)
        });
        documents.extend(of_networks(&[327_765, 37_353, 36_988], |asn, hour| {
            session(test, "ET", asn, hour, None, ("5.0.0", "0.5.28"), &fine)
        }));
        let body = detected(&documents, "ET", target);
        assert_ne!(body["status"], "blocked", "{test}: {body}");
    }
}

#[test]
fn rules_of_a_block_list_about_elements_and_ports_list_nothing() {
    let server = Server::start();
    let options = Options { country: Some("DE".into()), list_kind: Some(ListKind::Official), ..Options::default() };
    for text in [
        "[Adblock Plus 2.0]\ncosmetic.example.net##.banner\nscript.example.net##+js(nowebrtc)\n||port.example.net:8443^\n",
        "cosmetic.example.net#@#.banner\nport.example.net:8080\nhttp://path.example.net/x\n",
        "! Title: x\n||path.example.net^/ads\ncosmetic.example.net#?#div\nhttp://port.example.net:81/\n",
    ] {
        let summary = server.import(ImportKind::Blocklist, options.clone(), text.as_bytes());
        assert_eq!((summary.counts.accepted, summary.counts.unsupported), (0, 3), "{text}: {summary:?}");
    }
    for site in ["cosmetic.example.net", "script.example.net", "port.example.net", "path.example.net"] {
        assert_ne!(server.detect("DE", site, Some(AS_OF))["status"], "blocked", "{site}");
    }
}

/// The present and the past: nothing is known about a moment before 1970.
#[test]
fn a_moment_before_1970_is_refused_everywhere() {
    let server = Server::start();
    for at in ["1969-12-31T23:59:59Z", "1900-01-01", "0001-01-01T00:00:00Z"] {
        for path in ["/data/country/KE", "/data/domain/telegram.org", "/data/censorship-index.json"] {
            let (status, body) = server.get(&format!("{path}?as_of={at}"));
            assert_eq!(status, 400, "{path} {at}: {body}");
            assert_eq!(body["error"], "BAD_REQUEST", "{body}");
        }
        let (status, body) =
            server.post("/hydra/v1/detect", &json!({ "country": "KE", "target": "telegram.org", "as_of": at }));
        assert_eq!(status, 400, "{at}: {body}");
    }
    let (status, _) = server.get("/data/country/KE?as_of=1970-01-01T00:00:00Z");
    assert_eq!(status, 200);
}

#[test]
fn data_of_another_kind_are_refused_with_the_kind_that_they_look_like() {
    let server = Server::start();
    for (kind, data, looks_like) in [
        (
            "blocklist?country=DE",
            "url,category_code,category_description,date_added,source,notes\nhttps://a.example/,NEWS,News,2020-01-01,x,\n",
            "`test-list`",
        ),
        ("ooni-measurements", "{\"test_name\":\"telegram\",\"scores\":{\"blocking_general\":0}}\n", "`ooni-fastpath`"),
        ("ooni-fastpath", "{\"test_name\":\"telegram\",\"test_keys\":{}}\n", "`ooni-measurements`"),
        ("shutdowns", "date,country,election,status\n\"May 1, 2020\",Chad,Referendum,Held\n", "`elections`"),
        ("elections", "start_date,country,shutdown_type\n2020-01-01,Chad,Shutdown\n", "`shutdowns`"),
        ("ioda", "{\"incidents\":[]}", "`ooni-incidents`"),
        ("test-list", "one.example\ntwo.example\n", "`blocklist`"),
        ("ooni-observations", "<!doctype html><html></html>", "a page of a web site"),
    ] {
        let (status, body) = server.upload(kind, data.as_bytes());
        assert_eq!(status, 400, "{kind}: {body}");
        let message = body["error"].as_str().or(body["message"].as_str()).unwrap_or("").to_owned() + &body.to_string();
        assert!(message.contains(looks_like), "{kind}: {body}");
    }
}
