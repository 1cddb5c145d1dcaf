//! Endpoints of interface 4.4.

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
];
