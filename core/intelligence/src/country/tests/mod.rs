//! Tests from imports to answers, in a deployment in memory.
//!
//! | Module | What |
//! |---|---|
//! | `decisions`, `endpoints`, `leads`, `pages` | answers and their shapes |
//! | `counts`, `days`, `histories`, `past` | numbers, days and histories |
//! | `incidents`, `beginnings`, `lasting`, `few_hours`, `down_everywhere`, `reported` | incidents and events |
//! | `kenya`, `faults` | real data, and inputs that were once judged wrongly |
//! | `ageing`, `kinds`, `contradictions` | time alone, and probabilities |
//! | `attested`, `probes` | agents and volunteers |
//! | `rows`, `rollup`, `removals`, `sweeps` | stored rows |
//! | `kept`, `late`, `bounds`, `one_more` | kept answers, and the cost of work |

mod ageing;
mod attested;
mod beginnings;
mod bounds;
mod contradictions;
mod counts;
mod days;
mod decisions;
mod down_everywhere;
mod endpoints;
mod faults;
mod few_hours;
mod histories;
mod incidents;
mod kenya;
mod kept;
mod kinds;
mod lasting;
mod late;
mod leads;
mod one_more;
mod pages;
mod past;
mod probes;
mod removals;
mod reported;
mod rollup;
mod rows;
mod sweeps;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;

use crate::Timestamp;
use crate::import::{ImportKind, Options, Summary, import};
use crate::testing::PROGRAM;
use engine::http::{Body, Request, Response, serve};
use relay::testing::TestRuntime;

pub const ADMIN: &str = "operator-key-of-the-tests";

/// A deployment that is asked over its routes.
pub struct Server(pub Arc<TestRuntime>);

impl Server {
    pub fn start() -> Server {
        Server(TestRuntime::start(
            &PROGRAM,
            &[("admin_key", ADMIN), ("publish_interval", "0"), ("accessibility_per_minute", "1000000")],
        ))
    }

    pub fn request(&self, method: Method, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.insert(name, HeaderValue::from_str(value).unwrap());
        }
        let request = Request {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            headers: map,
            body: body.to_vec().into(),
            ..Request::default()
        };
        serve(self.0.clone(), request).now_or_never().expect("nothing waits in memory")
    }

    /// Status and JSON body. The request has a key of the operator.
    pub fn get(&self, target: &str) -> (StatusCode, Value) {
        json(self.request(Method::GET, target, &[("x-api-key", ADMIN)], b""))
    }

    pub fn ok(&self, target: &str) -> Value {
        let (status, body) = self.get(target);
        assert_eq!(status, StatusCode::OK, "{target}: {body}");
        body
    }

    pub fn post(&self, target: &str, body: &Value) -> (StatusCode, Value) {
        let headers = [("x-api-key", ADMIN), ("content-type", "application/json")];
        json(self.request(Method::POST, target, &headers, body.to_string().as_bytes()))
    }

    pub fn detect(&self, country: &str, target: &str, as_of: Option<&str>) -> Value {
        let body = serde_json::json!({ "country": country, "target": target, "as_of": as_of, "includeISPs": true });
        let (status, body) = self.post("/hydra/v1/detect", &body);
        assert_eq!(status, StatusCode::OK, "{body}");
        body
    }

    /// Imports through the operator's endpoint.
    pub fn upload(&self, query: &str, data: &[u8]) -> (StatusCode, Value) {
        json(self.request(Method::POST, &format!("/v1/admin/import/{query}"), &[("x-admin-key", ADMIN)], data))
    }

    /// Imports a stream as the command line does, then runs the timers that are due.
    pub fn import(&self, kind: ImportKind, options: Options, mut data: &[u8]) -> Summary {
        let mut nothing = |_: &Summary| {};
        let summary = import(&*self.0, kind, options, &mut data, 8 << 20, &mut nothing);
        let summary = summary.now_or_never().expect("nothing waits in memory").unwrap();
        self.settle();
        summary
    }

    /// Runs everything that is due.
    pub fn settle(&self) {
        self.0.advance(Duration::from_secs(2));
    }
}

pub fn json(response: Response) -> (StatusCode, Value) {
    let Body::Bytes(bytes) = response.body else { panic!("a stream") };
    (response.status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// Observation rows of web_connectivity on a host. If `blocked`, they fail at TLS, and the client's comparison blames
/// the network; otherwise the host answers.
pub fn rows(country: &str, asn: u32, host: &str, start: &str, hours: std::ops::Range<i64>, blocked: bool) -> String {
    let start = Timestamp::parse(start).unwrap();
    let mut text = String::new();
    for hour in hours {
        let time = start.plus(hour * engine::time::HOUR);
        let (tls_success, failure, valid, http, analysis) = match blocked {
            true => ("0", "connection_reset", "", "connection_reset", "http-failure"),
            false => ("1", "", "1", "", "false"),
        };
        text.push_str(&format!(
            "web_connectivity,{country}{asn}{host}{hour},https://{host}/,{time}-{asn},{time},{country},{asn},{host},\
             192.0.2.7,443,1,,{tls_success},{failure},{valid},https://{host}/,{http},{analysis}\n"
        ));
    }
    text
}

pub const HEADER: &str = "test_name,report_id,input,measurement_uid,measurement_start_time,probe_cc,probe_asn,hostname,\
    ip,port,tcp_success,tcp_failure,tls_success,tls_failure,tls_is_certificate_valid,http_request_url,http_failure,\
    probe_analysis\n";
