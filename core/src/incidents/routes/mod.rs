//! Endpoints of interface 4.4.

mod admin;
mod check;
mod detail;
mod list;

use crate::http::{Limit, Param, Route, handler};

pub const ROUTES: &[Route] = &[
    Route::get("/data/incidents", handler!(list::list))
        .limit(Limit::Incidents)
        .params(list::PARAMS)
        .returns::<super::documents::ListBody>()
        .summary("Incidents, newest first."),
    Route::get("/data/incidents/{id}", handler!(detail::detail))
        .limit(Limit::Incidents)
        .params(&[
            Param::optional("version", "A whole number from 1: that version, which never changes."),
            Param::optional("explain", "`true` adds rules, weights, votes, witnesses and the history of versions."),
        ])
        .returns::<detail::DetailBody>()
        .summary("One incident by either id."),
    Route::post("/v1/admin/incidents", handler!(admin::create))
        .admin()
        .extension()
        .max_body(256 * 1024)
        .accepts::<admin::NewIncident>()
        .creates::<super::IncidentBody>()
        .summary("Make an incident that no data showed."),
    Route::patch("/v1/admin/incidents/{id}", handler!(admin::amend))
        .admin()
        .extension()
        .accepts::<admin::Amendment>()
        .returns::<super::IncidentBody>()
        .summary("Amend an incident; stands before later data until it is taken back."),
    Route::post("/v1/admin/incidents/{id}/restore", handler!(admin::restore))
        .admin()
        .extension()
        .accepts::<admin::Restoration>()
        .returns::<super::IncidentBody>()
        .summary("Take amendments of an operator back."),
    Route::post("/v1/admin/incidents/{id}/merge", handler!(admin::merge))
        .admin()
        .extension()
        .accepts::<admin::Merging>()
        .returns::<super::IncidentBody>()
        .summary("Make an incident a part of another one; its ids lead there."),
    Route::post("/v1/admin/incidents/{id}/retract", handler!(admin::retract))
        .admin()
        .extension()
        .accepts::<admin::Retraction>()
        .returns::<super::IncidentBody>()
        .summary("Withdraw an incident; it stays in the delta with the reason."),
    Route::get("/v1/admin/incidents/{id}/versions", handler!(admin::versions))
        .admin()
        .extension()
        .returns::<admin::VersionsBody>()
        .summary("Who changed an incident, when and why."),
];
