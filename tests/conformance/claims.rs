//! Claims as sentences (decision claims-contradicted).

use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{BLOCKING, CLEAN, SITE};
use serde_json::{Value, json};

use crate::detect::with_blocked_site;
use crate::{Suite, cases};

cases![
    a_claim_is_confirmed_contradicted_or_undecided_by_what_was_measured,
    a_claim_answers_every_member_that_a_client_reads,
    a_claim_about_a_documented_block_is_likely_and_never_more,
    nothing_about_a_country_and_period_is_no_data,
    what_was_measured_long_ago_is_said_to_be,
    the_reason_tells_of_the_incident_that_decides,
    a_sentence_that_cannot_be_checked_says_what_it_lacks,
    a_claim_is_required_and_bounded,
    every_country_and_service_of_a_claim_is_checked,
    what_may_or_will_be_is_no_fact_to_check,
    lost_connectivity_is_likely_and_not_proven_to_be_ordered,
    a_claim_of_a_span_needs_interference_of_the_whole_span,
    claims_of_all_times_know_all_incidents,
    a_host_of_a_platform_has_the_incidents_of_the_platform,
    a_nationwide_claim_needs_a_national_incident,
    an_end_shows_in_the_days_after_it,
    a_claim_about_a_network_is_judged_on_that_network,
    a_claim_of_how_many_networks_is_compared_with_those_that_are_decided,
    a_network_is_called_by_the_name_that_the_table_gives_it,
    an_incident_supports_a_claim_about_a_network_that_it_names,
    what_is_over_now_needs_measurements_of_now,
    slowed_is_not_blocked_and_blocked_is_not_slowed,
    a_shutdown_is_found_in_the_words_of_its_reporters,
    evidence_is_asked_for_by_a_flag_in_body_or_query,
    what_nobody_checked_of_a_claim_is_named_and_the_rest_is_judged,
    numbers_and_comparisons_of_shutdowns_are_checked_against_the_table,
];

fn verify(client: &Client, claim: &str) -> Value {
    client.post("/verify-claim", &json!({ "claim": claim })).expect(200)
}

fn check_shape(body: &Value) {
    let verdicts = ["confirmed", "likely", "unconfirmed", "no_data", "insufficient_data"];
    assert!(verdicts.contains(&body["verdict"].as_str().unwrap()), "{body}");
    assert!((0.0..=1.0).contains(&body["confidence"].as_f64().unwrap()), "{body}");
    assert!(body["claim"].is_string() && body["contradicted"].is_boolean(), "{body}");
    let reason = body["reason"].as_str().unwrap();
    assert!(reason.ends_with('.'), "{reason:?}");
    let parsed = body["parsed"].as_object().unwrap();
    for member in ["country", "country_code", "service", "date"] {
        assert!(parsed.get(member).is_some_and(|value| value.is_null() || value.is_string()), "{member}: {body}");
    }
    let range = &parsed["date_range"];
    assert!(range.is_null() || range["start"].is_string() && range["end"].is_string(), "{body}");
    for incident in body["incidents"].as_array().unwrap() {
        for member in ["id", "title", "type", "severity", "status", "startTime", "permalink"] {
            assert!(incident[member].is_string(), "{member}: {incident}");
        }
        assert!(incident["startTime"].as_str().unwrap().len() >= 10 && incident["confidence"].is_number());
    }
    assert!(body["unchecked"].as_array().unwrap().iter().all(Value::is_string), "{body}");
    assert!(body.get("core").is_none_or(|core| verdicts.contains(&core["verdict"].as_str().unwrap())), "{body}");
    for row in body.get("evidence").and_then(Value::as_array).into_iter().flatten() {
        assert!(row["source"].is_string() && row["observedAt"].as_str().unwrap().len() >= 10, "{row}");
        assert!(row["confidence"].is_number() && row["claim"].is_string() && row["kind"].is_string(), "{row}");
    }
}

fn a_claim_is_confirmed_contradicted_or_undecided_by_what_was_measured(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    // Two of four networks reset the site in Finland, one of four in Norway.
    for (claim, country, verdict, contradicted) in [
        (format!("{SITE} was blocked in Finland on 12 March 2024"), "FI", "confirmed", false),
        (format!("Finnish networks censored https://www.{SITE}/ on 2024-03-12."), "FI", "confirmed", false),
        (format!("{SITE} was blocked in Finland in March 2024"), "FI", "confirmed", false),
        (format!("{SITE} was not blocked in Finland on 12 March 2024"), "FI", "unconfirmed", true),
        (format!("{SITE} was accessible in Finland on 12 March 2024"), "FI", "unconfirmed", true),
        (format!("{SITE} was blocked in Norway on 12 March 2024"), "NO", "unconfirmed", false),
        (format!("{SITE} was not blocked in Norway on 12 March 2024"), "NO", "likely", false),
        (format!("{SITE} was blocked in Finland on 10 May 2019"), "FI", "no_data", false),
    ] {
        let body = verify(&client, &claim);
        check_shape(&body);
        assert_eq!((&body["verdict"], &body["contradicted"]), (&json!(verdict), &json!(contradicted)), "{body}");
        assert_eq!((&body["parsed"]["country_code"], &body["parsed"]["service"]), (&json!(country), &json!(SITE)));
    }
}

fn a_claim_answers_every_member_that_a_client_reads(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let claim = format!("{SITE} was blocked in Finland on 12 March 2024");
    let body = client.post("/verify-claim", &json!({ "claim": claim, "require_evidence": true })).expect(200);
    check_shape(&body);
    assert_eq!(body["claim"], claim.as_str());
    assert_eq!(body["parsed"]["country"], "Finland");
    assert_eq!(body["parsed"]["date"], "2024-03-12");
    assert!(!body["evidence"].as_array().unwrap().is_empty(), "{body}");
    assert!(body["citation"].as_str().unwrap().contains("confirmed"), "{body}");
    assert!(verify(&client, &claim).get("evidence").is_none(), "only with require_evidence");
}

fn a_claim_about_a_documented_block_is_likely_and_never_more(suite: &Suite) {
    let body = verify(&suite.client(), "YouTube is blocked in China");
    check_shape(&body);
    assert_eq!(body["verdict"], "likely", "{body}");
    assert!(body["confidence"].as_f64().unwrap() <= 0.6, "{body}");
}

fn nothing_about_a_country_and_period_is_no_data(suite: &Suite) {
    let client = suite.client();
    for claim in ["nobody-tests-this.example is blocked in Sweden", "The internet was shut down in Sweden in 2011"] {
        let body = verify(&client, claim);
        check_shape(&body);
        assert_eq!((&body["verdict"], &body["confidence"]), (&json!("no_data"), &json!(0.0)), "{body}");
        assert_eq!(body["incidents"], json!([]));
    }
}

fn a_sentence_that_cannot_be_checked_says_what_it_lacks(suite: &Suite) {
    let client = suite.client();
    for (claim, lacks) in [
        ("Telegram is blocked", "country"),
        ("AS64500 blocks Telegram", "AS64500"),
        ("Nairobi has nice weather", "service"),
        ("Telegram has many users in Kenya", "does not say"),
        ("Telegram is blocked in Kenya on 3 May 2097", "ahead"),
        ("🙂", "country"),
    ] {
        let body = verify(&client, claim);
        check_shape(&body);
        assert_eq!(body["verdict"], "insufficient_data", "{body}");
        assert!(body["reason"].as_str().unwrap().contains(lacks), "{body}");
    }
}

fn a_claim_is_required_and_bounded(suite: &Suite) {
    let client = suite.client();
    for body in
        [json!({}), json!({ "claim": "" }), json!({ "claim": "  " }), json!({ "claim": 7 }), json!({ "claim": null })]
    {
        client.post("/verify-claim", &body).expect_error(400, "BAD_REQUEST");
    }
    let longest = "x".repeat(2_000);
    assert_eq!(verify(&client, &longest)["verdict"], "insufficient_data");
    client.post("/verify-claim", &json!({ "claim": format!("{longest}x") })).expect_error(400, "BAD_REQUEST");
}

/// Decision answers-about-a-time: old measurements decide nothing about today, but the answer does not deny that they
/// exist.
fn what_was_measured_long_ago_is_said_to_be(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let body = verify(&client, &format!("{SITE} is blocked in Finland"));
    assert_eq!(body["verdict"], "no_data", "{body}");
    assert!(body["reason"].as_str().unwrap().contains("last measured on"), "{body}");
}

/// A number about one incident and a sentence about another would explain nothing.
fn the_reason_tells_of_the_incident_that_decides(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    for (start, end, confidence, services) in
        [("2021-02-04", "2021-03-04", 0.9, "facebook.com"), ("2021-06-01", "2021-06-20", 0.6, "facebook.com")]
    {
        let mut incident = crate::incidents::site("MM", services, start);
        incident["end"] = json!(end);
        incident["confidence"] = json!(confidence);
        crate::incidents::create(&client, &incident);
    }
    let body = verify(&client, "Facebook was blocked in Myanmar in 2021");
    assert_eq!((&body["verdict"], &body["confidence"]), (&json!("confirmed"), &json!(0.9)), "{body}");
    assert!(body["reason"].as_str().unwrap().contains("4 Feb 2021"), "{body}");
}

/// A claim is as strong as its weakest part.
fn every_country_and_service_of_a_claim_is_checked(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    // Two of four networks reset the site in Finland, one of four in Norway.
    for (claim, verdict, contradicted, parts) in [
        (format!("{SITE} was blocked in Finland and Norway on 12 March 2024"), "unconfirmed", false, 2),
        (format!("{SITE} was blocked in Norway and Finland on 12 March 2024"), "unconfirmed", false, 2),
        (format!("On 12 March 2024 {SITE} was blocked in Finland, but not in Norway"), "likely", false, 2),
        (format!("{SITE} was accessible in Norway on 12 March 2024 but blocked in Finland"), "likely", false, 2),
        (format!("{SITE} was blocked in Norway but not in Finland on 12 March 2024"), "unconfirmed", true, 2),
        (
            format!("On 12 March 2024 Finland blocked {SITE}, a.se, b.se, c.se, d.se, e.se and f.se"),
            "no_data",
            false,
            7,
        ),
    ] {
        let body = verify(&client, &claim);
        check_shape(&body);
        assert_eq!((&body["verdict"], &body["contradicted"]), (&json!(verdict), &json!(contradicted)), "{body}");
        assert_eq!(body["topics"].as_array().unwrap().len(), parts, "{body}");
    }
    let sites: Vec<String> = (0..30).map(|number| format!("site{number}.example")).collect();
    let body = verify(&client, &format!("Finland blocked {}", sites.join(", ")));
    check_shape(&body);
    assert_eq!((&body["verdict"], &body["topics"]), (&json!("insufficient_data"), &json!([])), "{body}");
    assert!(body["reason"].as_str().unwrap().contains("divide"), "{body}");
}

fn what_may_or_will_be_is_no_fact_to_check(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    for (claim, says) in [
        ("will be blocked in Finland", "may or will be"),
        ("could be blocked in Finland soon", "may or will be"),
        ("was blocked in Finland on 12 March 2024 and will be blocked in Norway tomorrow", "may or will be"),
    ] {
        let body = verify(&client, &format!("{SITE} {claim}"));
        check_shape(&body);
        assert_eq!(body["verdict"], "insufficient_data", "{body}");
        assert!(body["reason"].as_str().unwrap().contains(says), "{body}");
    }
    let body = verify(&client, "Twitter banned my account in Finland");
    assert_eq!(body["verdict"], "insufficient_data", "{body}");
    assert!(verify(&client, "Телеграм заблокирован в Кении")["reason"].as_str().unwrap().contains("English"));
}

/// An outage alone is not citable as censorship.
fn lost_connectivity_is_likely_and_not_proven_to_be_ordered(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    let mut outage = crate::incidents::site("KE", "internet", "2020-05-09");
    outage["type"] = json!("disruption");
    outage["end"] = json!("2020-05-10");
    crate::incidents::create(&client, &outage);
    for (claim, verdict) in [
        ("Kenya's government cut the internet on 9 May 2020", "likely"),
        ("There was an internet shutdown in Kenya on 9 May 2020", "likely"),
        ("There was an internet outage in Kenya on 9 May 2020", "confirmed"),
        ("Kenya was offline on 9 May 2020", "confirmed"),
        ("There was no internet shutdown in Kenya on 9 May 2020", "unconfirmed"),
    ] {
        let body = verify(&client, claim);
        check_shape(&body);
        assert_eq!((&body["verdict"], &body["contradicted"]), (&json!(verdict), &json!(false)), "{body}");
    }
}

/// One incident that ended and one that goes on.
fn with_spans(client: &Client) {
    let mut ended = crate::incidents::site("BO", "facebook.com", "2021-02-04");
    ended["end"] = json!("2021-03-04T12:00:00Z");
    crate::incidents::create(client, &ended);
    crate::incidents::create(client, &crate::incidents::site("BO", "signal", "2021-02-04"));
}

fn a_claim_of_a_span_needs_interference_of_the_whole_span(suite: &Suite) {
    let client = suite.prepared("spans", with_spans);
    for (claim, verdict, contradicted) in [
        ("Facebook was blocked in Bolivia in February 2021", "confirmed", false),
        ("Facebook was blocked in Bolivia from 4 February to 4 March 2021", "confirmed", false),
        ("Facebook was blocked in Bolivia from 1 January 2021 to 31 December 2021", "unconfirmed", true),
        ("Facebook has been blocked in Bolivia since 4 February 2021", "unconfirmed", false),
        ("Signal has been blocked in Bolivia since 4 February 2021", "confirmed", false),
        ("Signal has been blocked in Bolivia since February 2021", "confirmed", false),
        ("Signal has been blocked in Bolivia since 4 February 2019", "unconfirmed", true),
        ("Facebook was reachable in Bolivia from 4 February to 4 March 2021", "unconfirmed", true),
    ] {
        let body = verify(&client, claim);
        check_shape(&body);
        assert_eq!((&body["verdict"], &body["contradicted"]), (&json!(verdict), &json!(contradicted)), "{body}");
    }
}

fn claims_of_all_times_know_all_incidents(suite: &Suite) {
    let client = suite.prepared("spans", with_spans);
    for (claim, verdict, contradicted) in [
        ("Facebook was blocked in Bolivia.", "confirmed", false),
        ("Facebook was never blocked in Bolivia", "unconfirmed", true),
        ("Bolivia has never blocked Facebook", "unconfirmed", true),
        ("Bolivia lifted its ban on Facebook", "confirmed", false),
        ("Facebook is no longer blocked in Bolivia", "insufficient_data", false),
        ("Facebook is blocked in Bolivia", "no_data", false),
    ] {
        let body = verify(&client, claim);
        assert_eq!((&body["verdict"], &body["contradicted"]), (&json!(verdict), &json!(contradicted)), "{body}");
    }
    // A question about today also gets the past.
    let body = verify(&client, "Facebook is blocked in Bolivia");
    let reason = body["reason"].as_str().unwrap();
    assert!(reason.contains("latest incident known") && reason.contains("4 Mar 2021"), "{reason}");
    // A check says the same.
    let check = client.get("/v1/accessibility/check?domain=facebook&country=BO").expect(200);
    assert_eq!(body["topics"][0]["latestIncident"]["id"], check["latestIncident"]["id"], "{body}");
    assert!(reason.contains(check["latestIncident"]["id"].as_str().unwrap()), "{reason}");
}

fn a_host_of_a_platform_has_the_incidents_of_the_platform(suite: &Suite) {
    let client = suite.prepared("spans", with_spans);
    for claim in [
        "facebook.com and Facebook were blocked in Bolivia on 10 February 2021",
        "Facebook was blocked in Bolivia on 10 February 2021",
    ] {
        let body = verify(&client, claim);
        assert_eq!(body["verdict"], "confirmed", "{body}");
        assert_eq!(body["incidents"].as_array().unwrap().len(), 1, "each incident once: {body}");
    }
}

fn a_nationwide_claim_needs_a_national_incident(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    let mut regional = crate::incidents::site("IN", "internet", "2023-06-10");
    regional["end"] = json!("2023-06-20");
    regional["areas"] = json!(["Manipur"]);
    crate::incidents::create(&client, &regional);
    for (claim, verdict) in [
        ("India shut down the internet nationwide on 15 June 2023", "unconfirmed"),
        ("The internet was shut down in the entire country of India on 15 June 2023", "unconfirmed"),
        ("The internet was shut down in India on 15 June 2023", "confirmed"),
        ("The internet was shut down in Manipur on 15 June 2023", "confirmed"),
    ] {
        let body = verify(&client, claim);
        check_shape(&body);
        assert_eq!(body["verdict"], verdict, "{body}");
    }
}

/// Decision incident-dates: the end is the last blocked vote, and clear votes after it are needed to show it.
fn an_end_shows_in_the_days_after_it(suite: &Suite) {
    let client = suite.prepared("spans", with_spans);
    for (claim, verdict) in [
        ("Facebook was blocked in Bolivia on 6 March 2021", "no_data"),
        ("Facebook was accessible again in Bolivia by 6 March 2021", "confirmed"),
        ("Bolivia unblocked Facebook on 5 March 2021", "confirmed"),
    ] {
        let body = verify(&client, claim);
        assert_eq!((&body["verdict"], &body["contradicted"]), (&json!(verdict), &json!(false)), "{body}");
    }
}

/// Two of four networks reset the site in Finland.
fn a_claim_of_how_many_networks_is_compared_with_those_that_are_decided(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    for (who, verdict) in
        [("all ISPs", "unconfirmed"), ("several ISPs", "confirmed"), ("only one provider", "unconfirmed")]
    {
        let body = verify(&client, &format!("{SITE} was blocked by {who} in Finland on 12 March 2024"));
        check_shape(&body);
        assert_eq!(body["verdict"], json!(verdict), "{body}");
        assert!(body["reason"].as_str().unwrap().contains("2 of 4 networks"), "{body}");
    }
}

fn a_claim_about_a_network_is_judged_on_that_network(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let (blocking, clean) = (BLOCKING, CLEAN[0]);
    // One of four networks resets it in Norway, two in Finland.
    for (claim, verdict, contradicted) in [
        (format!("{SITE} was blocked on AS{blocking} in Norway on 12 March 2024"), "confirmed", false),
        (format!("AS {blocking} in Norway blocked {SITE} in March 2024"), "confirmed", false),
        (format!("{SITE} was blocked in Norway on AS{clean} on 12 March 2024"), "unconfirmed", true),
        (format!("{SITE} was accessible on AS{clean} in Norway on 12 March 2024"), "confirmed", false),
        (format!("{SITE} was not blocked on AS{blocking} in Norway on 12 March 2024"), "unconfirmed", true),
        (format!("{SITE} was blocked on AS{} in Finland on 12 March 2024", CLEAN[2]), "unconfirmed", true),
        (format!("{SITE} was blocked on AS65001 in Finland on 12 March 2024"), "insufficient_data", false),
        (format!("{SITE} was blocked on Example Telecom in Finland on 12 March 2024"), "insufficient_data", false),
    ] {
        let body = verify(&client, &claim);
        check_shape(&body);
        assert_eq!((&body["verdict"], &body["contradicted"]), (&json!(verdict), &json!(contradicted)), "{body}");
        let network = &body["parsed"]["networks"][0];
        let name = network["asn"].as_u64().map_or("Example Telecom".to_owned(), |asn| format!("AS{asn}"));
        assert!(body["reason"].as_str().unwrap().contains(&name), "{body}");
        assert_eq!(&body["topics"][0]["network"], network, "{body}");
    }
    let claim = format!("{SITE} was blocked on AS{blocking} but not on AS{clean} in Norway on 12 March 2024");
    let body = verify(&client, &claim);
    assert_eq!(
        (&body["verdict"], &body["parsed"]["networks"][1]["asn"]),
        (&json!("confirmed"), &json!(clean)),
        "{body}"
    );
    let whole = verify(&client, &format!("{SITE} was blocked in Norway on 12 March 2024"));
    assert_eq!(whole["parsed"]["networks"], json!([]));
}

fn a_network_is_called_by_the_name_that_the_table_gives_it(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    with_blocked_site(&client);
    let table = format!("asn,name,country\n{BLOCKING},FJORDLINE-AS,NO\n{},Aurora Bredband AB,NO\n", CLEAN[0]);
    data::import(&client.admin(), "asn", "", table.as_bytes());
    for (claim, asn, contradicted) in [
        ("Fjordline blocked it in Norway on 12 March 2024", BLOCKING, false),
        ("it was blocked in Norway by Fjordline on 12 March 2024", BLOCKING, false),
        ("it was blocked on Aurora in Norway on 12 March 2024", CLEAN[0], true),
    ] {
        let claim = claim.replace("it", SITE);
        // Names of a network table arrive a moment after its import.
        let named = |body: &Value| body["parsed"]["networks"][0]["asn"] == json!(asn);
        let body = client.until(|| Some(verify(&client, &claim)).filter(named));
        assert_eq!(body["contradicted"], contradicted, "{body}");
        assert_eq!(body["verdict"], if contradicted { "unconfirmed" } else { "confirmed" }, "{body}");
    }
}

fn an_incident_supports_a_claim_about_a_network_that_it_names(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    let mut incident = crate::incidents::site("KE", "telegram", "2021-11-08");
    incident["end"] = json!("2021-11-24");
    incident["asns"] = json!(["AS33771"]);
    // With one network and no source, the incident would be `suspected`.
    incident["status"] = json!("resolved");
    crate::incidents::create(&client, &incident);
    for (claim, verdict) in [
        ("Telegram was blocked in Kenya on 10 November 2021", "confirmed"),
        ("Telegram was blocked on AS33771 in Kenya on 10 November 2021", "confirmed"),
        ("Safaricom (AS33771) blocked Telegram on 10 November 2021", "confirmed"),
        ("Telegram was blocked on AS30844 in Kenya on 10 November 2021", "insufficient_data"),
        ("Telegram was blocked on Airtel in Kenya on 10 November 2021", "insufficient_data"),
    ] {
        let body = verify(&client, claim);
        check_shape(&body);
        assert_eq!((&body["verdict"], &body["contradicted"]), (&json!(verdict), &json!(false)), "{body}");
    }
}

/// Decision answers-about-a-time: observations of long ago say nothing about now.
fn what_is_over_now_needs_measurements_of_now(suite: &Suite) {
    let client = suite.prepared("spans", with_spans);
    for claim in [
        "Facebook is no longer blocked in Bolivia",
        "Facebook isn't blocked in Bolivia anymore",
        "Facebook is accessible again in Bolivia",
        "Facebook has been unblocked in Bolivia since 5 March 2021",
    ] {
        let body = verify(&client, claim);
        check_shape(&body);
        assert_eq!((&body["verdict"], &body["contradicted"]), (&json!("insufficient_data"), &json!(false)), "{body}");
        assert!(body["reason"].as_str().unwrap().contains("4 Mar 2021"), "{body}");
    }
    let measured = suite.prepared("site", with_blocked_site);
    let body = verify(&measured, &format!("{SITE} is no longer blocked in Finland"));
    assert!(["no_data", "insufficient_data"].contains(&body["verdict"].as_str().unwrap()), "{body}");
    assert!(body["reason"].as_str().unwrap().contains("2024"), "how old: {body}");
}

fn slowed_is_not_blocked_and_blocked_is_not_slowed(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    for (country, methods) in [("RU", json!(["throttling"])), ("TZ", json!(["dns-poison"]))] {
        let mut incident = crate::incidents::site(country, "twitter", "2021-03-10");
        incident["end"] = json!("2021-05-17");
        incident["methods"] = methods;
        crate::incidents::create(&client, &incident);
    }
    for (claim, verdict, says) in [
        ("Russia throttled Twitter in March 2021", "confirmed", "Twitter"),
        ("Russia blocked Twitter in March 2021", "unconfirmed", "throttling and not a block"),
        ("Twitter was restricted in Russia in March 2021", "confirmed", "Twitter"),
        ("Tanzania blocked Twitter in March 2021", "confirmed", "Twitter"),
        ("Twitter was slow in Tanzania in March 2021", "unconfirmed", "a block and not throttling"),
        ("Twitter was throttled, not blocked, in Russia in March 2021", "confirmed", "Twitter"),
    ] {
        let body = verify(&client, claim);
        check_shape(&body);
        assert_eq!((&body["verdict"], &body["contradicted"]), (&json!(verdict), &json!(false)), "{body}");
        assert!(body["reason"].as_str().unwrap().contains(says), "{body}");
    }
}

fn a_shutdown_is_found_in_the_words_of_its_reporters(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    let mut shutdown = crate::incidents::site("NE", "internet", "2021-02-24");
    shutdown["end"] = json!("2021-03-05");
    crate::incidents::create(&client, &shutdown);
    for claim in [
        "Niger shut the internet in February 2021",
        "Niger turned off the internet in February 2021",
        "Niger cut internet access in February 2021",
        "The government of Niger pulled the plug on the internet in February 2021",
        "Internet blackout in Niger in February 2021",
        "Reuters: Niger shut the internet on 25 February 2021",
    ] {
        let body = verify(&client, claim);
        check_shape(&body);
        assert_eq!(body["verdict"], "confirmed", "{body}");
        assert_eq!((&body["parsed"]["kind"], &body["parsed"]["country_code"]), (&json!("shutdown"), &json!("NE")));
    }
}

fn evidence_is_asked_for_by_a_flag_in_body_or_query(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let claim = format!("{SITE} was blocked in Finland on 12 March 2024");
    for name in ["explain", "require_evidence"] {
        for (value, wanted) in [
            (json!(true), true),
            (json!(1), true),
            (json!("1"), true),
            (json!("true"), true),
            (json!(false), false),
            (json!(0), false),
            (json!(null), false),
        ] {
            let body = client.post("/verify-claim", &json!({ "claim": claim, name: value })).expect(200);
            assert_eq!(body.get("evidence").is_some(), wanted, "{name} {value}");
        }
        for value in [json!("yes"), json!(2), json!([]), json!(1.5)] {
            let body = json!({ "claim": claim, name: value });
            client.post("/verify-claim", &body).expect_error(400, "BAD_REQUEST");
        }
        for (query, wanted) in [("1", true), ("true", true), ("0", false), ("false", false)] {
            let body = client.post(&format!("/verify-claim?{name}={query}"), &json!({ "claim": claim })).expect(200);
            assert_eq!(body.get("evidence").is_some(), wanted, "{name}={query}");
        }
        let odd = client.post(&format!("/verify-claim?{name}=yes"), &json!({ "claim": claim }));
        odd.expect_error(400, "BAD_REQUEST");
    }
}

/// A claim is confirmed as a whole or not at all.
fn what_nobody_checked_of_a_claim_is_named_and_the_rest_is_judged(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    for (more, unchecked) in [
        ("and the minister resigned over it", "resigned"),
        ("and 40 people were fined", "40"),
        ("because of a cyclone", "cyclone"),
        ("for the third time", "third"),
    ] {
        let body = verify(&client, &format!("{SITE} was blocked in Finland on 12 March 2024 {more}"));
        check_shape(&body);
        assert_eq!(
            (&body["verdict"], &body["core"]["verdict"]),
            (&json!("unconfirmed"), &json!("confirmed")),
            "{body}"
        );
        assert_eq!((&body["contradicted"], &body["confidence"]), (&json!(false), &json!(0.0)), "{body}");
        assert!(body["unchecked"].to_string().contains(unchecked), "{body}");
        assert!(body["reason"].as_str().unwrap().contains("not checked"), "{body}");
    }
    let body =
        verify(&client, &format!("{SITE}, a site with 900 million users, was blocked in Finland on 12 March 2024"));
    assert_eq!((&body["verdict"], &body["unchecked"]), (&json!("confirmed"), &json!([])), "{body}");
    assert!(body.get("core").is_none(), "{body}");
}

fn numbers_and_comparisons_of_shutdowns_are_checked_against_the_table(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    let mut table =
        "start_date,country,geo_scope,area_name,shutdown_type,shutdown_status,end_date,count_year\n".to_owned();
    for (country, rows) in [("India", 40), ("Uganda", 4), ("Chad", 1)] {
        for row in 0..rows {
            let date = format!("2021-{:02}-{:02}", 1 + row % 12, 1 + row / 12);
            table += &format!("{date},{country},,Area {row},Shutdown,Ended,{date},2021\n");
        }
    }
    table += "2022-03-01,Chad,,Area,Shutdown,Ended,2022-03-02,2022\n";
    data::import(&client.admin(), "shutdowns", "", table.as_bytes());
    // Countries report their rows to the world a moment after the import.
    let counted = |body: &Value| body["reason"].as_str().unwrap().contains("Access Now STOP");
    for (claim, contradicted, says) in [
        ("India had 40 internet shutdowns in 2021", false, "40 shutdowns of India"),
        ("There were 5000 shutdowns in India in 2021", true, "40 shutdowns of India"),
        ("India had more than 30 shutdowns in 2021", false, "40 shutdowns of India"),
        ("Uganda had more shutdowns than India in 2021", true, "4 shutdowns of Uganda and 40 shutdowns of India"),
        ("India had the most shutdowns in the world in 2021", false, "the most"),
        ("Uganda had the most shutdowns in Africa in 2021", false, "4 shutdowns of Uganda"),
    ] {
        let body = client.until(|| Some(verify(&client, claim)).filter(counted));
        check_shape(&body);
        let verdict = if contradicted { "unconfirmed" } else { "confirmed" };
        assert_eq!(
            (&body["verdict"], &body["contradicted"]),
            (&json!(verdict), &json!(contradicted)),
            "{claim}: {body}"
        );
        assert!(body["reason"].as_str().unwrap().contains(says), "{claim}: {body}");
    }
}
