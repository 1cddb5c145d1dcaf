//! Samples for tests: what countries report.

use crate::Timestamp;
use crate::country;
use crate::incidents::{Draft, IncidentType, Severity, Status, Unknown};
use crate::world::TargetSummary;
use engine::program::Program;

/// The intelligence and what is below it.
pub static PROGRAM: Program = Program::new(&[&engine::layer::LAYER, &relay::layer::LAYER, &crate::layer::LAYER]);

/// A target that works in a country, as the country reports it.
pub fn accessible(target: &str) -> TargetSummary {
    TargetSummary {
        target: target.to_owned(),
        state: country::State::Accessible,
        basis: "measured".to_owned(),
        confidence: 0.9,
        evidence: 9,
        counted: 9,
        of_week: 9,
        blocked_weight: 0.0,
        networks_blocked: 0,
        networks_tested: 1,
        methods: Vec::new(),
        technique: None,
        networks: Vec::new(),
        last_checked: Timestamp(0),
        failure_rate: None,
        sources: Vec::new(),
        details: Vec::new(),
    }
}

/// An active incident of one subject since a time, as a country reports it; a test changes what it is about.
pub fn incident(subject: &str, start: Timestamp) -> Draft {
    Draft {
        subject: subject.into(),
        kind: IncidentType::Censorship,
        severity: Severity::High,
        status: Status::Active,
        confidence: 0.8,
        start,
        end: None,
        services: vec![subject.into()],
        domains: Vec::new(),
        networks: Vec::new(),
        networks_tested: 3,
        weight: 0.4,
        methods: vec!["dns-poison".into()],
        areas: Vec::new(),
        occasion: None,
        pattern: None,
        schedule: None,
        sources: vec!["ooni".into()],
        measurements: 40,
        anomaly_rate: 0.5,
        evidence: Vec::new(),
        evidence_ids: Vec::new(),
        evidence_total: 0,
        licence: "CC-BY-4.0".into(),
        unknown: Unknown::NOTHING,
        declared: None,
        resolved: None,
    }
}
