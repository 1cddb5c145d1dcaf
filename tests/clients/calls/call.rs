//! Three calls of the generated Rust client: calls BASE_URL

use heliograph_client::apis::accessibility_api::{CheckAccessibilityParams, check_accessibility};
use heliograph_client::apis::agents_api::{RegisterAgentParams, register_agent};
use heliograph_client::apis::configuration::Configuration;
use heliograph_client::apis::measurements_api::{AggregateMeasurementsParams, aggregate_measurements};
use heliograph_client::models::{AggregationResult, RegisterRequest};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let base = std::env::args().nth(1).expect("an address");
    let configuration = Configuration { base_path: base, ..Configuration::default() };
    let request = RegisterRequest { capabilities: Some(Some(vec!["reading".into()])), ..RegisterRequest::default() };
    let request = RegisterAgentParams { register_request: Some(request) };
    let agent = register_agent(&configuration, request).await.expect("registered");
    assert!(agent.did.starts_with("did:") && !agent.api_key.is_empty());
    let site =
        CheckAccessibilityParams { domain: "telegram.org".into(), country: "KE".into(), as_of: None, explain: None };
    assert_eq!(check_accessibility(&configuration, site).await.expect("checked").country, "KE");
    let by_network = AggregateMeasurementsParams {
        probe_cc: Some("KE".into()),
        axis_x: Some("probe_asn".into()),
        domain: None,
        probe_asn: None,
        category_code: None,
        test_name: None,
        since: None,
        until: None,
        time_grain: None,
        axis_y: None,
        format: None,
        download: None,
    };
    let counts = aggregate_measurements(&configuration, by_network).await.expect("counted");
    assert!(counts.dimension_count == 1 && matches!(*counts.result, AggregationResult::ArrayVecAggregationRow(rows) if rows.is_empty()));
    println!("called");
}
