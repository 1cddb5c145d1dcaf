//! Open data is read as it is documented.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Server;
use heliograph_client::data::{Counting, IncidentFilter};

async fn every_read_of_open_data_has_its_form(server: &Server) {
    let client = server.client();
    let check = client.check("wikipedia.org", "CN", None).await.unwrap();
    assert_eq!((check.domain.as_str(), check.country.as_str()), ("wikipedia.org", "CN"));
    assert_eq!(client.country("IR", None).await.unwrap().country, "IR");
    let page = client.country_page("IR", None).await.unwrap();
    assert_eq!(page.reason.is_none(), client.country("IR", None).await.unwrap().score.is_some());
    let page = client.incidents(&IncidentFilter { limit: Some(1), ..IncidentFilter::default() }).await.unwrap();
    if let Some(first) = page.incidents.first() {
        assert_eq!(client.incident(&first.id).await.unwrap().id, first.id);
    }
    let past = IncidentFilter { as_of: Some("2021-03-04".into()), ..IncidentFilter::default() };
    let past = client.incidents(&past).await.unwrap();
    assert_eq!(past.as_of.as_deref(), Some("2021-03-04T23:59:59.999Z"));
    assert!(past.incidents.iter().all(|incident| incident.start_time.as_str() < "2021-03-05"));
    client.changed_incidents("2020-01-01T00:00:00Z", 5).await.unwrap();
    let counting = Counting { countries: Some("DE".into()), axis_x: Some("domain".into()), ..Counting::default() };
    client.aggregate(&counting).await.unwrap();
    let verdict = client.verify_claim("Wikipedia is blocked in China").await.unwrap();
    assert!(!verdict.verdict.is_empty());
    assert!(client.get("/data/sources").await.unwrap().is_object());
}

on_both_runtimes! {
    every_read_of_open_data_has_its_form,
}
