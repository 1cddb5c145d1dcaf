//! What the features of the intelligence bring to the program. A new feature is named here.

use super::{
    aggregation, alert, analytics, anomaly, atlas, claims, classifier, computing, country, elections, forecast, import,
    incidents, port, probe, reference, risk, sentences, sentinel, suggest, world,
};
use engine::actor::Kind;
use engine::actor::schema::Migration;
use engine::http::{Auth, Check};
use engine::program::Layer;

pub const LAYER: Layer = Layer {
    operations: &[
        alert::subscription::ENTRIES,
        alert::desk::ENTRIES,
        probe::ENTRIES,
        country::ENTRIES,
        world::ENTRIES,
        analytics::ENTRIES,
        reference::ENTRIES,
        incidents::ENTRIES,
        risk::ENTRIES,
        forecast::ENTRIES,
        elections::ENTRIES,
        sentinel::ENTRIES,
        anomaly::ENTRIES,
        classifier::ENTRIES,
        aggregation::ENTRIES,
    ],
    routes: &[
        alert::ROUTES,
        probe::community::ROUTES,
        probe::results::ROUTES,
        probe::status::ROUTES,
        country::ROUTES,
        aggregation::ROUTES,
        analytics::ROUTES,
        incidents::ROUTES,
        claims::ROUTES,
        risk::ROUTES,
        forecast::ROUTES,
        elections::ROUTES,
        sentinel::ROUTES,
        anomaly::ROUTES,
        classifier::ROUTES,
        atlas::ROUTES,
        incidents::topics::ROUTES,
        forecast::CHANGELOG_ROUTES,
        forecast::RECORD_ROUTES,
        forecast::REPORTING_ROUTES,
        import::ROUTES,
        sentences::ROUTES,
        suggest::ROUTES,
    ],
    documents: &[
        world::FAMILIES,
        country::FAMILIES,
        analytics::FAMILIES,
        analytics::DUMPS,
        incidents::FAMILIES,
        incidents::topics::FAMILIES,
        anomaly::FAMILIES,
        alert::desk::FAMILIES,
        probe::status::FAMILIES,
    ],
    computing: computing::LISTS,
    migrations: &[
        // Before version 3, reports stood for longer, and nothing told whether a beginning was seen.
        Migration { to: 3, concerns: |kind| matches!(kind, Kind::Country), shows: false, run: country::begin },
    ],
    checks: &[
        Check { auth: Auth::Probe, admit: |rt, route, request| Box::pin(probe::community::admit(rt, route, request)) },
        Check { auth: Auth::Sentinel, admit: |rt, _, request| Box::pin(alert::authentication::admit(rt, request)) },
    ],
    ports: &[&port::SUBSCRIPTIONS],
    ..Layer::EMPTY
};
