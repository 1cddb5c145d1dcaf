//! Three calls of the generated Rust client: calls BASE_URL

use heliograph_client::apis::{accessibility_api, agents_api, configuration::Configuration, measurements_api};
use heliograph_client::models::RegisterRequest;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let base = std::env::args().nth(1).expect("an address");
    let configuration = Configuration { base_path: base, ..Configuration::default() };
    let request = RegisterRequest { capabilities: Some(Some(vec!["reading".into()])), ..RegisterRequest::default() };
    let agent = agents_api::register_agent(&configuration, request).await.expect("registered");
    assert!(agent.did.starts_with("did:") && !agent.api_key.is_empty());
    let check = accessibility_api::check_accessibility(&configuration, "telegram.org", "KE", None, None).await;
    assert_eq!(check.expect("checked").country, "KE");
    let summary = measurements_api::get_measurement_summary(&configuration, None, None).await.expect("summed up");
    assert!(summary.window_days > 0);
    println!("called");
}
