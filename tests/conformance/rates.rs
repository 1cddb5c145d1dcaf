//! Rate limits (decision caller-rate-limits).

use heliograph_tests::client::{Answer, Client};
use heliograph_tests::target::Kind;
use serde_json::json;

use crate::{Suite, cases};

cases![
    the_demo_key_has_a_burst_of_20_and_100_a_minute,
    a_research_key_has_its_own_budget_of_1000_a_minute_and_a_burst_of_100,
    accessibility_is_limited_per_address_and_says_so,
    one_budget_does_not_draw_on_another,
    limited_public_data_says_when_to_come_back,
    public_data_without_a_limit_never_refuses,
    a_refused_request_changes_nothing_and_a_wrong_key_costs_no_budget,
    sign_ups_are_limited_per_day,
    a_bench_key_meets_no_limit,
    what_a_proxy_passes_on_gets_the_public_figures,
    clients_of_a_trusted_proxy_have_a_budget_each_whatever_they_write,
    a_header_from_anybody_else_counts_for_nothing,
];

fn number(answer: &Answer, name: &str) -> i64 {
    let text = answer.header(name).unwrap_or_else(|| panic!("{name} is missing: {}", answer.text()));
    text.parse().unwrap_or_else(|_| panic!("{name}: {text}"))
}

/// The three rate headers of a limited answer, which must be consistent.
#[track_caller]
fn budget(suite: &Suite, answer: &Answer) -> (i64, i64) {
    let (limit, remaining) = (number(answer, "x-ratelimit-limit"), number(answer, "x-ratelimit-remaining"));
    let reset = number(answer, "x-ratelimit-reset");
    assert!(remaining >= 0, "{remaining}");
    if suite.kind != Kind::Memory {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
        assert!((now - 2..=now + 121).contains(&reset), "reset {reset} is not a Unix second near {now}");
    }
    (limit, remaining)
}

/// Asks until a request is refused, at most `most` times; returns the answers before and the refusal.
fn drain(client: &Client, most: usize, ask: impl Fn(&Client) -> Answer) -> (Vec<Answer>, Answer) {
    let mut answers = Vec::new();
    for _ in 0..most {
        let answer = ask(client);
        if answer.status == 429 {
            return (answers, answer);
        }
        answers.push(answer);
    }
    panic!("{most} requests were all let through")
}

#[track_caller]
fn check_refusal(suite: &Suite, refusal: &Answer) {
    refusal.expect_error(429, "RATE_LIMITED");
    assert!((1..=60).contains(&number(refusal, "retry-after")), "{:?}", refusal.header("retry-after"));
    assert_eq!(budget(suite, refusal).1, 0);
}

fn detect(client: &Client) -> Answer {
    client.post("/hydra/v1/detect", &json!({ "country": "SE", "target": "a.example" }))
}

fn the_demo_key_has_a_burst_of_20_and_100_a_minute(suite: &Suite) {
    let target = suite.fresh(&[("trusted_proxies", "")]);
    let client = target.client().key("svc_demo");
    let (answers, refusal) = drain(&client, 200, detect);
    // The bucket gains 100/60 tokens a second during the test, so a slow machine sees some more.
    assert!((20..=100).contains(&answers.len()), "{} were let through", answers.len());
    assert_eq!(budget(suite, &answers[0]), (100, 19));
    check_refusal(suite, &refusal);
    for answer in &answers {
        assert_eq!((answer.status, budget(suite, answer).0), (200, 100));
    }
    // Every address has its own share of the demo key, but an address cannot get another share by a header.
    let disguised = client.with("x-forwarded-for", "198.51.100.9").with("forwarded", "for=198.51.100.10");
    assert_eq!(drain(&disguised, 10, detect).1.status, 429);
}

fn a_research_key_has_its_own_budget_of_1000_a_minute_and_a_burst_of_100(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let keys = ["one@example.org", "two@example.org"].map(|email| {
        let body = client.post("/api-keys/signup", &json!({ "email": email })).expect(201);
        client.key(body["api_key"].as_str().unwrap())
    });
    let first = detect(&keys[0]);
    assert_eq!(budget(suite, &first), (1000, 99));
    if suite.kind == Kind::Memory {
        let (answers, refusal) = drain(&keys[0], 2_000, detect);
        assert!(answers.len() >= 99, "{}", answers.len());
        check_refusal(suite, &refusal);
    }
    assert_eq!(budget(suite, &detect(&keys[1])), (1000, 99));
}

fn accessibility_is_limited_per_address_and_says_so(suite: &Suite) {
    let target = suite.fresh(&[("accessibility_per_minute", "6")]);
    let client = target.client();
    let path = "/v1/accessibility/check?domain=a.example&country=SE";
    let (answers, refusal) = drain(&client, 60, |client| client.get(path));
    assert!(answers.len() >= 6, "the bucket holds a minute's requests where no burst is stated: {}", answers.len());
    assert_eq!(budget(suite, &answers[0]), (6, 5));
    check_refusal(suite, &refusal);
    assert!(number(&refusal, "retry-after") <= 10, "a token comes every ten seconds");
    // All four routes share the budget.
    let batch = json!({ "domains": ["a.example"], "country": "SE" });
    assert_eq!(client.post("/v1/accessibility/batch", &batch).status, 429);
    assert_eq!(client.get("/v1/accessibility/service/telegram").status, 429);
    assert_eq!(client.get("/v1/accessibility/country/SE/summary").status, 429);
}

fn one_budget_does_not_draw_on_another(suite: &Suite) {
    let target = suite.fresh(&[("accessibility_per_minute", "1")]);
    let client = target.client();
    let path = "/v1/accessibility/check?domain=a.example&country=SE";
    drain(&client, 20, |client| client.get(path));
    assert_eq!(client.get("/data/country/SE").status, 200);
    assert_eq!(detect(&client.key("svc_demo")).status, 200);
    assert_eq!(client.get("/health").status, 200);
}

fn limited_public_data_says_when_to_come_back(suite: &Suite) {
    let target = suite.fresh(&[("data_per_minute", "3")]);
    let client = target.client();
    let (answers, refusal) = drain(&client, 30, |client| client.get("/data/country/SE"));
    assert!(answers.len() >= 3, "{}", answers.len());
    check_refusal(suite, &refusal);
    assert_eq!(client.get("/data/domain/a.example").status, 429);
    // A preflight and a refusal need no budget.
    assert_eq!(client.send("OPTIONS", "/data/country/SE", None, b"").status, 204);
}

fn public_data_without_a_limit_never_refuses(suite: &Suite) {
    let client = suite.client();
    for _ in 0..150 {
        assert_eq!(client.get("/data/methodology").status, 200);
    }
}

fn a_refused_request_changes_nothing_and_a_wrong_key_costs_no_budget(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    for _ in 0..40 {
        assert_eq!(detect(&client.key("svc_wrong")).status, 401);
    }
    assert_eq!(budget(suite, &detect(&client.key("svc_demo"))).1, 19);
}

/// Decision dumps-and-recompute: sign-up is limited per address and day.
fn sign_ups_are_limited_per_day(suite: &Suite) {
    let target = suite.fresh(&[("signups_per_day", "3")]);
    let client = target.client();
    let sign_up = |client: &Client| client.post("/api-keys/signup", &json!({ "email": "ada@example.org" }));
    let (answers, refusal) = drain(&client, 10, sign_up);
    assert!((3..=4).contains(&answers.len()), "{}", answers.len());
    refusal.expect_error(429, "RATE_LIMITED");
    assert!(number(&refusal, "retry-after") >= 1);
}

/// Decision faucet-addresses: loopback has generous budgets only without a forwarding header; budgets that the operator
/// set hold for everybody.
fn what_a_proxy_passes_on_gets_the_public_figures(suite: &Suite) {
    let target = suite.fresh(&[("registrations_per_hour", "7000")]);
    let client = target.client();
    assert_eq!(client.get("/data/country/SE").header("x-ratelimit-limit"), None);
    // A country that was not asked about before: the budget of computed answers does not replace the budget of the
    // route.
    for (header, country) in
        [("x-forwarded-for", "NO"), ("forwarded", "FI"), ("x-real-ip", "DK"), ("cf-connecting-ip", "IS")]
    {
        let proxied = client.with(header, "198.51.100.9");
        let answer = proxied.get(&format!("/data/country/{country}"));
        assert_eq!(budget(suite, &answer).0, 120, "{header}");
        let sign_up = proxied.post("/api-keys/signup", &json!({ "email": "ada@example.org" }));
        assert!(number(&sign_up, "x-ratelimit-remaining") < 20, "{header}");
        let registered = proxied.post("/v1/agent/register", &json!({}));
        assert!(number(&registered, "x-ratelimit-remaining") > 6_000, "{header}");
    }
    assert_eq!(client.get("/data/country/SE").header("x-ratelimit-limit"), None);
    let sign_up = client.post("/api-keys/signup", &json!({ "email": "ada@example.org" }));
    assert_eq!(number(&sign_up, "x-ratelimit-remaining"), 999);
}

fn left(answer: &Answer) -> i64 {
    number(answer, "x-ratelimit-remaining")
}

/// A client that a trusted proxy names has its own budget, and cannot get another one by writing into the header
/// itself.
fn clients_of_a_trusted_proxy_have_a_budget_each_whatever_they_write(suite: &Suite) {
    let target = suite.fresh(&[("trusted_proxies", "127.0.0.1,::1,10.0.0.0/8"), ("accessibility_per_minute", "7")]);
    let client = target.client();
    let ask = |name: &str, value: &str| {
        left(&client.with(name, value).get("/v1/accessibility/check?domain=a.example&country=SE"))
    };
    assert_eq!(ask("x-forwarded-for", "198.51.100.1"), 6);
    assert_eq!(ask("x-forwarded-for", "198.51.100.2"), 6);
    for spoofed in ["203.0.113.7, 198.51.100.1", "unknown, 198.51.100.1", "\"a, 198.51.100.1", "198.51.100.1, 10.0.0.9"]
    {
        assert!(ask("x-forwarded-for", spoofed) < 6, "{spoofed}");
    }
    assert!(ask("forwarded", "for=203.0.113.7, for=\"198.51.100.1:4711\";proto=https") < 6);
    assert_eq!(ask("forwarded", "for=\"[2001:db8::1]:4711\""), 6);
    // The address is in the same /64.
    assert!(ask("x-forwarded-for", "2001:db8::2") < 6);
    // A hidden client shares the budget of the proxy that hides it.
    assert_eq!(ask("x-forwarded-for", "unknown"), 6);
    assert!(ask("x-forwarded-for", "203.0.113.9, _hidden") < 6);
}

/// A header from a peer that is not trusted gives no second budget.
fn a_header_from_anybody_else_counts_for_nothing(suite: &Suite) {
    let target = suite.fresh(&[("trusted_proxies", ""), ("accessibility_per_minute", "7")]);
    let client = target.client();
    let ask = |client: &Client| left(&client.get("/v1/accessibility/check?domain=a.example&country=SE"));
    assert_eq!(ask(&client), 6);
    for (name, value) in
        [("x-forwarded-for", "198.51.100.1"), ("forwarded", "for=198.51.100.1"), ("x-real-ip", "198.51.100.1")]
    {
        assert!(ask(&client.with(name, value)) < 6, "{name}");
    }
}

/// Decision fair-benches: benches use keys of tier `bench`, so that they measure the service and not its limiter.
fn a_bench_key_meets_no_limit(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let made = client.admin().post("/v1/admin/keys", &json!({ "tier": "bench" })).expect(201);
    let bench = client.key(made["api_key"].as_str().unwrap());
    for _ in 0..300 {
        let answer = detect(&bench);
        assert_eq!(answer.status, 200);
        assert!(budget(suite, &answer).1 > 100_000);
    }
}
