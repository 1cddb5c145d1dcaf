//! The Model Context Protocol, with and without a handshake (decisions mcp-without-sessions, mcp-asks-routes,
//! few-tools-short-answers and mcp-hosts-and-origins).

use heliograph_tests::client::{Answer, Client};
use heliograph_tests::relay::Agent;
use heliograph_tests::synthetic::{HALF_BLOCKED, INSIDE, SITE};
use serde_json::{Value, json};

use crate::detect::with_blocked_site;
use crate::incidents::with_three;
use crate::{Suite, cases};

cases![
    a_client_without_a_handshake_discovers_lists_and_calls,
    a_client_with_a_handshake_is_served_in_its_version,
    headers_that_disagree_with_the_body_are_refused,
    a_version_that_is_not_served_is_answered_with_those_that_are,
    what_is_no_message_is_refused_in_json_rpc,
    only_posts_are_messages,
    every_tool_about_sites_answers_with_what_its_route_says_and_a_citation_that_leads_there,
    every_tool_about_incidents_answers_with_a_citation_that_leads_there,
    counts_of_measurements_are_those_of_their_route,
    what_a_tool_cannot_do_is_a_result_with_the_code_of_the_interface,
    tools_draw_on_the_budgets_of_their_routes,
    agents_write_to_each_other_with_their_keys,
    tools_of_agents_are_listed_only_for_agents,
    incidents_and_the_method_are_documents_to_read,
    a_name_that_was_made_to_lead_here_is_refused,
    pages_of_other_machines_ask_only_servers_of_the_world,
];

const VERSION: &str = "2026-07-28";

/// The body of a request of the version without a handshake.
fn stateless(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": { "name": "conformance", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": "a-1", "method": method, "params": params })
}

/// Sends it with the headers that must repeat it.
fn ask(client: &Client, method: &str, params: Value) -> Answer {
    let named = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
    let mut client = client.with("mcp-protocol-version", VERSION).with("mcp-method", method);
    if let Some(name) = named {
        client = client.with("mcp-name", &name);
    }
    client.post("/mcp", &stateless(method, params))
}

/// The result of a request that must have one.
#[track_caller]
fn result(client: &Client, method: &str, params: Value) -> Value {
    let mut body = ask(client, method, params).expect(200);
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!("a-1")), "{body}");
    assert_eq!(body["result"]["resultType"], "complete", "{body}");
    assert_eq!(body["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "heliograph");
    body["result"].take()
}

/// The error of a request that must have this one.
#[track_caller]
fn expect_rpc_error(answer: &Answer, status: u16, code: i64) -> Value {
    let mut body = answer.expect(status);
    assert_eq!((&body["jsonrpc"], &body["error"]["code"]), (&json!("2.0"), &json!(code)), "{body}");
    assert!(
        body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()) && body.get("result").is_none()
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
    body["error"].take()
}

/// What a tool answers, checked for its form: its text and its structured content.
#[track_caller]
fn call(client: &Client, tool: &str, arguments: Value) -> (String, Value) {
    let mut result = result(client, "tools/call", json!({ "name": tool, "arguments": arguments }));
    assert_eq!(result.get("isError"), None, "{tool}: {result}");
    assert_eq!((&result["content"][0]["type"], result["content"].as_array().unwrap().len()), (&json!("text"), 1));
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    let structured = result["structuredContent"].take();
    // Few tokens: four bytes are about one.
    assert!(text.len() < 3_000 && structured.to_string().len() < 6_000, "{tool}: {text} {structured}");
    if let Some(citation) =
        structured.get("citation").filter(|cited| cited.as_str().is_some_and(|it| it.starts_with("http")))
    {
        let citation = citation.as_str().unwrap();
        assert!(text.contains(citation), "{tool}: {text}");
        assert_eq!(client.get(path(citation)).status, 200, "{tool}: {citation}");
    }
    (text, structured)
}

/// An address without its origin.
fn path(address: &str) -> &str {
    let start = address.match_indices('/').nth(2).unwrap_or_else(|| panic!("{address:?} has no path")).0;
    &address[start..]
}

fn names(tools: &Value) -> Vec<&str> {
    tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn a_client_without_a_handshake_discovers_lists_and_calls(suite: &Suite) {
    let client = suite.client();
    let found = result(&client, "server/discover", json!({}));
    assert_eq!(found["supportedVersions"][0], VERSION);
    assert_eq!(found["capabilities"], json!({ "tools": {}, "resources": {} }));
    assert!(found["instructions"].as_str().unwrap().contains("unknown"));
    let tools = result(&client, "tools/list", json!({}));
    assert!(names(&tools).starts_with(&["check", "explain"]));
    for (answer, scope) in [(&found, "public"), (&tools, "private")] {
        assert_eq!((&answer["ttlMs"], &answer["cacheScope"]), (&json!(3_600_000), &json!(scope)));
    }
    for tool in tools["tools"].as_array().unwrap() {
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)), "{tool}");
        assert!(tool["description"].is_string() && tool["title"].is_string(), "{tool}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    let (text, told) = call(&client, "check", json!({ "domain": "never.example", "country": "ke" }));
    assert!(text.contains("has not been measured in Kenya"), "{text}");
    assert!(told.get("lastChecked").is_none(), "nobody ever checked it: {told}");
    assert!(text.contains("no time at which it was last checked"), "{text}");
    assert_eq!(
        (&told["status"], &told["country"], &told["domain"]),
        (&json!("unknown"), &json!("KE"), &json!("never.example"))
    );
}

fn a_client_with_a_handshake_is_served_in_its_version(suite: &Suite) {
    let client = suite.client();
    let send = |client: &Client, body: &Value| client.post("/mcp", body);
    for (wanted, agreed) in [("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2024-11-05", "2025-11-25")] {
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": { "protocolVersion": wanted, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } },
        });
        let answer = send(&client, &hello);
        let body = answer.expect(200);
        assert_eq!((&body["id"], &body["result"]["protocolVersion"]), (&json!(0), &json!(agreed)), "{body}");
        assert_eq!(body["result"]["serverInfo"]["name"], "heliograph");
        // There are no sessions to remember.
        assert_eq!(answer.header("mcp-session-id"), None);
    }
    let client = client.with("mcp-protocol-version", "2025-11-25");
    let told = send(&client, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!((told.status, told.body.len()), (202, 0));
    let request =
        |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    assert_eq!(send(&client, &request("ping", json!({}))).expect(200)["result"], json!({}));
    let tools = send(&client, &request("tools/list", json!({}))).expect(200);
    // What later versions added is not there.
    assert!(tools["result"].get("resultType").is_none() && tools["result"].get("ttlMs").is_none());
    let params = json!({ "name": "check", "arguments": { "domain": "never.example", "country": "KE" } });
    let body = send(&client, &request("tools/call", params)).expect(200);
    assert_eq!(body["result"]["structuredContent"]["status"], "unknown", "{body}");
    expect_rpc_error(&send(&client, &request("server/discover", json!({}))), 200, -32_601);
    let unknown = json!({ "uri": "test://nothing" });
    let error = expect_rpc_error(&send(&client, &request("resources/read", unknown)), 200, -32_002);
    assert_eq!(error["data"]["uri"], "test://nothing");
}

fn headers_that_disagree_with_the_body_are_refused(suite: &Suite) {
    let client = suite.client();
    let call = json!({ "name": "check", "arguments": { "domain": "never.example", "country": "KE" } });
    let sent = |headers: &[(&str, &str)], body: &Value| {
        let client = headers.iter().fold(client.clone(), |client, (name, value)| client.with(name, value));
        client.post("/mcp", body)
    };
    let (version, method, name) =
        (("mcp-protocol-version", VERSION), ("mcp-method", "tools/call"), ("mcp-name", "check"));
    let body = stateless("tools/call", call);
    assert_eq!(sent(&[version, method, name], &body).status, 200);
    assert_eq!(sent(&[version, method, ("mcp-name", "=?base64?Y2hlY2s=?=")], &body).status, 200);
    for headers in [
        &[method, name][..],
        &[version, name],
        &[version, method],
        &[("mcp-protocol-version", "2025-11-25"), method, name],
        &[version, ("mcp-method", "tools/list"), name],
        &[version, ("mcp-method", "TOOLS/CALL"), name],
        &[version, method, ("mcp-name", "explain")],
        &[version, method, ("mcp-name", "=?base64?Y2hlY2s?=")],
    ] {
        let error = expect_rpc_error(&sent(headers, &body), 400, -32_020);
        assert_eq!(error.get("data"), None, "{headers:?}");
    }
    // Each request must say its version and what the client can do.
    let mut lacking = body.clone();
    lacking["params"]["_meta"].as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    expect_rpc_error(&sent(&[version, method, name], &lacking), 400, -32_602);
    lacking["params"].as_object_mut().unwrap().remove("_meta");
    expect_rpc_error(&sent(&[version, method, name], &lacking), 400, -32_602);
}

fn a_version_that_is_not_served_is_answered_with_those_that_are(suite: &Suite) {
    let client = suite.client().with("mcp-method", "server/discover");
    let mut body = stateless("server/discover", json!({}));
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let error = expect_rpc_error(&client.with("mcp-protocol-version", "2099-01-01").post("/mcp", &body), 400, -32_022);
    assert_eq!(error["data"]["requested"], "2099-01-01");
    assert_eq!(error["data"]["supported"], json!([VERSION, "2025-11-25", "2025-06-18"]));
    // Methods of the handshake do not exist without one, and the status says so too.
    for method in ["initialize", "ping", "subscriptions/listen", "prompts/list", "no/such"] {
        let answer = ask(&suite.client(), method, json!({}));
        expect_rpc_error(&answer, 404, -32_601);
        assert_eq!(answer.json()["id"], "a-1");
    }
}

fn what_is_no_message_is_refused_in_json_rpc(suite: &Suite) {
    let client = suite.client();
    let send = |body: &str| client.send("POST", "/mcp", Some("application/json"), body.as_bytes());
    for body in ["", "{", "nonsense", "{\"jsonrpc\":\"2.0\"", "\u{0}"] {
        let answer = send(body);
        expect_rpc_error(&answer, 400, -32_700);
        assert!(answer.json().get("id").is_none(), "{body}");
    }
    for body in [
        "[]",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        "1",
        "{}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
    ] {
        expect_rpc_error(&send(body), 400, -32_600);
    }
    // What is not read as a message at all is refused in the words of the interface.
    client.send("POST", "/mcp", Some("text/plain"), b"{}").expect_error(415, "UNSUPPORTED_MEDIA_TYPE");
    for (params, named) in [
        (json!({ "name": "no such" }), "no such"),
        (json!({ "name": "check", "arguments": [] }), "arguments"),
        (json!({ "name": "check", "arguments": "KE" }), "arguments"),
    ] {
        let error = expect_rpc_error(&ask(&client, "tools/call", params), 200, -32_602);
        assert!(error["message"].as_str().unwrap().contains(named), "{error}");
    }
    expect_rpc_error(&ask(&client, "tools/call", json!({})), 200, -32_602);
    expect_rpc_error(&ask(&client, "tools/list", json!({ "cursor": "x" })), 200, -32_602);
}

fn only_posts_are_messages(suite: &Suite) {
    for method in ["GET", "DELETE"] {
        let answer = suite.client().send(method, "/mcp", None, b"");
        answer.expect_error(405, "METHOD_NOT_ALLOWED");
        assert_eq!(answer.header("allow"), Some("POST, OPTIONS"));
    }
    let preflight = suite.client().with("origin", "https://app.example").send("OPTIONS", "/mcp", None, b"");
    let allowed = preflight.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
    for name in ["mcp-method", "mcp-name", "mcp-protocol-version", "a2a-version", "traceparent", "authorization"] {
        assert!(allowed.split(", ").any(|allowed| allowed == name), "{name}: {allowed}");
    }
}

fn every_tool_about_sites_answers_with_what_its_route_says_and_a_citation_that_leads_there(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let asked = json!({ "domain": SITE, "country": HALF_BLOCKED, "as_of": INSIDE });
    let address = format!("/v1/accessibility/check?domain={SITE}&country={HALF_BLOCKED}&as_of={INSIDE}");
    let route = client.get(&address).expect(200);
    assert_eq!(route["status"], "blocked", "{route}");
    let (text, told) = call(&client, "check", asked.clone());
    assert!(text.starts_with(route["summary"].as_str().unwrap()) && text.contains("Confidence "), "{text}");
    for member in ["status", "confidence", "networksBlocked", "networksTested", "evidenceCount", "lastChecked"] {
        assert_eq!(told[member], route[member], "{member}");
    }
    assert_eq!(path(told["citation"].as_str().unwrap()), address);
    // The same with an API key, on the rate of the key.
    assert_eq!(call(&client.key("svc_demo"), "check", asked.clone()), (text, told));

    let (text, told) = call(&client, "explain", asked);
    assert!(text.contains("AS64500") && text.contains("\nRule "), "{text}");
    let networks = told["networks"].as_array().unwrap();
    assert_eq!(networks.len(), 4);
    assert_eq!(networks.iter().filter(|network| network["status"] == "blocked").count(), 2, "{told}");
    assert!(!told["measurements"].as_array().unwrap().is_empty() && told["rules"][0]["meaning"].is_string(), "{told}");

    let (text, told) = call(&client, "compare", json!({ "domain": SITE, "countries": ["no", "FI"], "as_of": INSIDE }));
    let statuses: Vec<&Value> = told["countries"].as_array().unwrap().iter().map(|row| &row["status"]).collect();
    assert_eq!(statuses, [&json!("accessible"), &json!("blocked")], "{told}");
    for row in told["countries"].as_array().unwrap() {
        let citation = row["citation"].as_str().unwrap();
        assert!(text.contains(citation) && client.get(path(citation)).status == 200, "{text}");
    }
    let (_, told) = call(&client, "compare", json!({ "countries": ["NO", "FI", "KE"] }));
    assert_eq!(told["countries"].as_array().unwrap().len(), 3);

    let (text, told) = call(&client, "country", json!({ "country": "FI", "as_of": INSIDE }));
    let route = client.get(&format!("/data/country/FI?as_of={INSIDE}")).expect(200);
    assert_eq!((&told["domainsBlocked"], &told["blockedDomains"]), (&json!(1), &json!([SITE])), "{told}");
    assert_eq!((&told["status"], &told["networks"]), (&route["data"]["status"], &route["data"]["networks"]));
    assert!(text.contains("1 of 1 measured sites are blocked") && text.contains(SITE), "{text}");

    let (text, told) = call(&client, "forecast", json!({ "country": "IR" }));
    let route = client.get("/v1/forecast/IR/7day").expect(200);
    assert_eq!(told["days"].as_array().unwrap().len(), route["forecast"].as_array().unwrap().len());
    assert_eq!((&told["max_risk"], &told["confidence"]), (&route["summary"]["max_risk"], &route["confidence"]));
    assert!(text.contains("within seven days"), "{text}");

    let claim = format!("{SITE} was blocked in Finland on 12 March 2024");
    let (text, told) = call(&client, "claim", json!({ "claim": claim }));
    assert!(text.starts_with("confirmed (confidence "), "{text}");
    assert_eq!((&told["verdict"], &told["contradicted"]), (&json!("confirmed"), &json!(false)));
}

fn every_tool_about_incidents_answers_with_a_citation_that_leads_there(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let (text, told) = call(&client, "incidents", json!({ "country": "ke" }));
    assert!(text.starts_with("2 incidents, of which 2 here.\nKE-2024-0001: "), "{text}");
    let route = client.get("/data/incidents?country=KE").expect(200);
    let ids = |incidents: &Value| -> Vec<Value> {
        incidents["incidents"].as_array().unwrap().iter().map(|incident| incident["readableId"].clone()).collect()
    };
    assert_eq!(ids(&told), ids(&route));
    for incident in told["incidents"].as_array().unwrap() {
        assert_eq!(client.get(path(incident["citation"].as_str().unwrap())).status, 200, "{incident}");
    }
    let (text, told) = call(&client, "incidents", json!({ "limit": 1, "severity": "high" }));
    assert!(text.starts_with("2 incidents, of which 1 here."), "{text}");
    assert_eq!((&told["total"], &told["next_offset"]), (&json!(2), &json!(1)));
    let (text, _) = call(&client, "incidents", json!({ "country": "SE" }));
    assert!(text.starts_with("No incident is known"), "{text}");

    let (text, told) = call(&client, "incident", json!({ "id": "ke-2023-0001" }));
    assert!(text.starts_with("KE-2023-0001: Telegram was") && text.contains("2 pieces of evidence"), "{text}");
    assert_eq!((&told["severity"], &told["evidenceCount"]), (&json!("high"), &json!(2)));
    assert_eq!(client.get(path(told["reportUrl"].as_str().unwrap())).status, 200);

    let (text, told) = call(&client, "search", json!({ "text": "Telegram blocked during exams in Kenya" }));
    assert_eq!(told["incidents"][0]["readableId"], "KE-2023-0001", "{told}");
    assert!(text.contains("KE-2023-0001"), "{text}");
}

fn counts_of_measurements_are_those_of_their_route(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let asked = json!({ "domain": [SITE], "probe_cc": ["fi"], "since": "2024-03-01", "until": "2024-04-01" });
    let (text, whole) = call(&client, "aggregate", asked.clone());
    let address = path(whole["citation"].as_str().unwrap());
    assert_eq!(address, format!("/api/v1/aggregation?probe_cc=FI&domain={SITE}&since=2024-03-01&until=2024-04-01"));
    let route = client.get(address).expect(200);
    for member in ["measurement_count", "ok_count", "anomaly_count", "confirmed_count", "failure_count"] {
        assert_eq!(whole[member], route["result"][member], "{member}");
    }
    assert!(text.contains(&format!("{} measurements", whole["measurement_count"])), "{text}");
    assert!(whole.get("rows").is_none());
    let mut by_network = asked;
    by_network["axis_x"] = json!("probe_asn");
    let (_, told) = call(&client, "aggregate", by_network);
    let rows = told["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &told["measurement_count"]), (4, &whole["measurement_count"]));
    assert_eq!(rows, client.get(path(told["citation"].as_str().unwrap())).expect(200)["result"].as_array().unwrap());
    let refusal = refusal(&client, "aggregate", json!({ "since": "2024-03-01" }));
    assert_eq!(refusal["error"], "TOO_BROAD");
}

/// A refusal of a tool.
#[track_caller]
fn refusal(client: &Client, tool: &str, arguments: Value) -> Value {
    let mut result = result(client, "tools/call", json!({ "name": tool, "arguments": arguments }));
    assert_eq!(result["isError"], true, "{tool}: {result}");
    let refusal = result["structuredContent"].take();
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(refusal["error"].as_str().unwrap()), "{text}");
    assert!(text.contains(refusal["message"].as_str().unwrap()), "{text}");
    refusal
}

fn what_a_tool_cannot_do_is_a_result_with_the_code_of_the_interface(suite: &Suite) {
    let client = suite.client();
    for (tool, arguments, code, named) in [
        ("check", json!({ "domain": "a.example", "country": "KEN" }), "BAD_REQUEST", "country"),
        ("check", json!({ "country": "KE" }), "BAD_REQUEST", "domain"),
        ("check", json!({ "domain": "a.example", "country": "KE", "city": "Nairobi" }), "BAD_REQUEST", "city"),
        ("check", json!({ "domain": "a.example", "country": "KE", "as_of": "soon" }), "BAD_REQUEST", "as_of"),
        ("check", json!({ "domain": "a b", "country": "KE" }), "BAD_REQUEST", "a b"),
        ("country", json!({ "country": "XX" }), "NOT_FOUND", "XX"),
        ("incident", json!({ "id": "KE-1999-0001" }), "NOT_FOUND", ""),
        ("incident", json!({ "id": "../sources" }), "NOT_FOUND", ""),
        ("compare", json!({ "countries": ["KE"] }), "BAD_REQUEST", "countries"),
        ("send", json!({ "to": "did:svc:x", "message": "m" }), "UNAUTHORIZED", "X-Agent-Key"),
        ("receive", json!({}), "UNAUTHORIZED", "X-Agent-Key"),
    ] {
        let refusal = refusal(&client, tool, arguments.clone());
        assert_eq!(refusal["error"], code, "{tool} {arguments}: {refusal}");
        assert!(refusal["message"].as_str().unwrap().contains(named), "{tool} {arguments}: {refusal}");
    }
    // A key that is wrong is not taken for none.
    for client in [client.key("nonsense"), client.with("authorization", "Bearer nonsense")] {
        let asked = json!({ "domain": "a.example", "country": "KE" });
        assert_eq!(refusal(&client, "check", asked)["error"], "UNAUTHORIZED");
    }
}

fn tools_draw_on_the_budgets_of_their_routes(suite: &Suite) {
    let target = suite.fresh(&[("accessibility_per_minute", "2")]);
    let client = target.client();
    let asked = || json!({ "domain": "a.example", "country": "KE" });
    // The citation is looked up too, by the same address.
    call(&client, "check", asked());
    let refusal = refusal(&client, "check", asked());
    assert_eq!(refusal["error"], "RATE_LIMITED");
    assert!(refusal["retryAfter"].as_u64().is_some_and(|seconds| (1..=60).contains(&seconds)), "{refusal}");
    // An API key has a rate of its own.
    let made = client.admin().post("/v1/admin/keys", &json!({ "tier": "research" })).expect(201);
    let key = made["api_key"].as_str().unwrap();
    for client in [client.key(key), client.with("authorization", &format!("Bearer {key}"))] {
        let result = result(&client, "tools/call", json!({ "name": "check", "arguments": asked() }));
        assert_eq!(
            (result.get("isError"), &result["structuredContent"]["status"]),
            (None, &json!("unknown")),
            "{result}"
        );
    }
}

fn agents_write_to_each_other_with_their_keys(suite: &Suite) {
    let client = suite.client();
    let (alice, bob) = (Agent::server_side(&client), Agent::server_side(&client));
    let bearer = |agent: &Agent| client.with("authorization", &format!("Bearer {}", agent.api_key));
    let letter =
        json!({ "to": bob.did, "message": "Hello Bob \u{1f600}", "thread_id": "t-1", "idempotency_key": "once" });
    let (text, sent) = call(&alice.client, "send", letter.clone());
    assert!(text.contains(&bob.did) && text.contains(sent["id"].as_str().unwrap()), "{text}");
    // A repeat, by the other header, is the same message.
    assert_eq!(call(&bearer(&alice), "send", letter).1["id"], sent["id"]);
    for client in [&bob.client, &bearer(&bob)] {
        let (text, told) = call(client, "receive", json!({ "thread_id": "t-1" }));
        let messages = told["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 1, "{told}");
        for (member, value) in
            [("id", &sent["id"]), ("from", &json!(alice.did)), ("content", &json!("Hello Bob \u{1f600}"))]
        {
            assert_eq!(&messages[0][member], value, "{told}");
        }
        assert!(text.starts_with("1 message.") && text.contains("Hello Bob"), "{text}");
    }
    let name = format!("Reader {}", &bob.did[9..17]);
    bob.client.patch("/v1/agent/profile", &json!({ "name": name, "capabilities": ["reading"] })).expect(200);
    let (text, told) = call(&alice.client, "discover", json!({ "query": name }));
    assert_eq!(told["agents"][0]["did"], bob.did, "{told}");
    assert!(text.contains("reading"), "{text}");
    // Nobody reads with a key that is not an agent's.
    assert_eq!(refusal(&client.key("svc_demo"), "receive", json!({}))["error"], "UNAUTHORIZED");
}

fn tools_of_agents_are_listed_only_for_agents(suite: &Suite) {
    let client = suite.client();
    let (all, few) = (client.agent("any key"), client);
    let (all, few) = (result(&all, "tools/list", json!({})), result(&few, "tools/list", json!({})));
    assert_eq!(names(&all).len(), names(&few).len() + 3);
    for name in ["send", "receive", "discover"] {
        assert!(names(&all).contains(&name) && !names(&few).contains(&name), "{name}");
    }
    let send = all["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "send").unwrap();
    assert_eq!(send["annotations"]["readOnlyHint"], false);
}

fn incidents_and_the_method_are_documents_to_read(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let listed = result(&client, "resources/list", json!({}));
    let resources = listed["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 4);
    assert_eq!((listed.get("nextCursor"), &listed["cacheScope"]), (None, &json!("public")));
    for resource in resources {
        let uri = resource["uri"].as_str().unwrap();
        let read = result(&client, "resources/read", json!({ "uri": uri }));
        assert!(read["ttlMs"].is_u64() && read["cacheScope"] == "public", "{read}");
        let contents = &read["contents"][0];
        assert_eq!((&contents["uri"], &contents["mimeType"]), (&resource["uri"], &resource["mimeType"]));
        // It is what the Web has under the same address.
        let page = client.get(path(uri));
        assert_eq!((page.status, contents["text"].as_str().unwrap().len()), (200, page.text().len()), "{uri}");
    }
    let templates = result(&client, "resources/templates/list", json!({}));
    let template = templates["resourceTemplates"][0]["uriTemplate"].as_str().unwrap();
    let filled = template.replace("{id}", "KE-2023-0001");
    let report = result(&client, "resources/read", json!({ "uri": filled }));
    assert!(report["contents"][0]["text"].as_str().unwrap().contains("KE-2023-0001"), "{report}");
    for uri in [
        template.replace("{id}", "KE-1999-0001"),
        template.replace("{id}", "../stats"),
        template.replace("{id}", ""),
        filled.replace("/data/", "/v1/admin/../data/"),
        format!("{filled}?format=ris"),
        "https://elsewhere.example/data/methodology".to_owned(),
        "test://nothing".to_owned(),
    ] {
        let error = expect_rpc_error(&ask(&client, "resources/read", json!({ "uri": uri })), 200, -32_602);
        assert_eq!(error["data"]["uri"], uri);
    }
    expect_rpc_error(&ask(&client, "resources/list", json!({ "cursor": "elsewhere" })), 200, -32_602);
    let beyond = result(&client, "resources/list", json!({ "cursor": "50" }));
    assert_eq!(beyond["resources"], json!([]));
}

fn a_name_that_was_made_to_lead_here_is_refused(suite: &Suite) {
    let target = suite.fresh(&[("public_url", "https://relay.example/")]);
    let discover = |client: &Client| ask(client, "server/discover", json!({}));
    for host in ["relay.example", "localhost:8787", "127.0.0.1", "[::1]:8787"] {
        assert_eq!(discover(&target.client().with("host", host)).status, 200, "{host}");
    }
    for host in ["evil.example", "relay.example.evil.example", "127.0.0.1.evil.example:8787"] {
        discover(&target.client().with("host", host)).expect_error(403, "FORBIDDEN");
    }
}

fn pages_of_other_machines_ask_only_servers_of_the_world(suite: &Suite) {
    let discover = |client: &Client, origin: &str| ask(&client.with("origin", origin), "server/discover", json!({}));
    let local = suite.client();
    for origin in ["http://localhost:6274", "http://127.0.0.1", "http://[::1]:3000"] {
        assert_eq!(discover(&local, origin).status, 200, "{origin}");
    }
    for origin in ["https://evil.example", "null", "http://localhost.evil.example"] {
        let answer = discover(&local, origin);
        answer.expect_error(403, "FORBIDDEN");
    }
    let world = suite.fresh(&[("public_url", "https://relay.example")]);
    assert_eq!(discover(&world.client(), "https://anything.example").status, 200);
    let listed = suite.fresh(&[("public_url", "https://relay.example"), ("allowed_origins", "https://app.example")]);
    for (origin, status) in [
        ("https://app.example", 200),
        ("https://relay.example", 200),
        ("https://anything.example", 403),
        ("http://localhost:6274", 403),
    ] {
        assert_eq!(discover(&listed.client(), origin).status, status, "{origin}");
    }
}
