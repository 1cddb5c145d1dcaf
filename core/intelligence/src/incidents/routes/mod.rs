//! The endpoints of incidents.
//!
//! | Module | What |
//! |---|---|
//! | [`admin`] | the operator's routes to create, amend, restore, merge and retract |
//! | `check` | checks of the values in requests |
//! | `delta` | incidents changed after a time |
//! | `detail` | one incident, and its past versions |
//! | [`dispute`] | disputes |
//! | `evidence` | the evidence of an incident |
//! | `export` | all incidents in one body |
//! | `feed` | RSS and Atom |
//! | `list` | a page of incidents |
//! | `report` | reports to cite |
//! | `similar` | similar incidents |

pub mod admin;
mod check;
mod delta;
mod detail;
pub mod dispute;
mod evidence;
mod export;
mod feed;
mod list;
mod report;
mod similar;

use super::documents;
use crate::Result;
use crate::analytics::FORMAT;
use engine::http::{Cx, Limit, Param, Response, Route, handler};

const VERSION: Param =
    Param::optional("version", "A whole number from 1: that version, which never changes.").integer(1, 4_294_967_295);

async fn stats(cx: Cx) -> Result<Response> {
    cx.document(documents::STATS).await
}

pub const ROUTES: &[Route] = &[
    Route::get("/data/incidents", handler!(list::list))
        .late()
        .limit(Limit::Incidents)
        .params(list::PARAMS)
        .returns::<super::documents::ListBody>()
        .summary("Incidents that fit the filters, newest first."),
    Route::get("/data/incidents/{id}", handler!(detail::detail))
        .late()
        .dressed(detail::dress)
        .limit(Limit::Incidents)
        .params(&[
            VERSION,
            Param::optional("explain", "`true` adds rules, weights, votes, witnesses and the history of versions.")
                .boolean()
                .default("false"),
        ])
        .returns::<detail::DetailBody>()
        .summary("One incident by either id; browsers are led to its page."),
    Route::get("/data/incidents/{id}/evidence", handler!(evidence::list))
        .limit(Limit::Incidents)
        .params(&[
            VERSION,
            FORMAT,
            Param::optional(
                "limit",
                "Rows of a page, 1 to 200; unless given, the first page has all that the incident keeps.",
            )
            .at_least(1),
            Param::optional("cursor", "`next_cursor` of the page before.").like(evidence::CURSOR_PATTERN),
        ])
        .returns::<evidence::EvidenceList>()
        .summary("The evidence that an incident rests on, page by page."),
    Route::get("/data/evidence/{id}", handler!(evidence::one))
        .limit(Limit::Incidents)
        .returns::<evidence::EvidencePage>()
        .summary("One piece of evidence and the incidents that rest on it."),
    Route::get("/data/incidents/{id}/report", handler!(report::report))
        .answers(&["text/markdown", "application/x-bibtex", "application/x-research-info-systems"])
        .late()
        .limit(Limit::Incidents)
        .params(&[
            Param::optional("format", "`markdown` (default), `bibtex` or `ris`.")
                .one_of(&["markdown", "bibtex", "ris"])
                .default("markdown"),
            VERSION,
        ])
        .summary("A citable report, whatever the client accepts."),
    Route::get("/data/incidents/stats", handler!(stats))
        .late()
        .limit(Limit::Incidents)
        .returns::<super::stats::StatsBody>()
        .summary("Counts of incidents and evidence."),
    Route::get("/v1/censorship-index/incidents/stats", handler!(stats))
        .late()
        .limit(Limit::Incidents)
        .extension()
        .returns::<super::stats::StatsBody>()
        .summary("Counts of incidents and evidence, under another path."),
    Route::get("/data/incidents/delta", handler!(delta::delta))
        .limit(Limit::Incidents)
        .params(&[
            Param::required("since", "ISO 8601: the `next_since` of the answer before.").date(),
            Param::optional("limit", "Default and most 200; `has_more` says that there are more.")
                .count(delta::MAX_ROWS, delta::MAX_ROWS),
        ])
        .returns::<delta::DeltaBody>()
        .summary("Incidents changed since a time, withdrawn and merged ones too."),
    Route::get("/data/incidents/export", handler!(export::export))
        .answers(&["application/json", "application/x-ndjson", "text/csv"])
        .limit(Limit::Incidents)
        .params(&[
            Param::optional("format", "`json` (default), `jsonl` or `csv`.")
                .one_of(&["json", "jsonl", "ndjson", "csv"])
                .default("json"),
            Param::optional("country", "ISO 3166-1 alpha-2. The other filters of the list hold too.").country(),
        ])
        .summary("All incidents in one stream."),
    Route::get("/data/incidents/feed.rss", handler!(feed::rss))
        .answers(&["application/rss+xml"])
        .late()
        .limit(Limit::Incidents)
        .params(feed::PARAMS)
        .summary("The 50 incidents that began last, of all or about a country or a site, as RSS 2.0."),
    Route::get("/data/incidents/feed.atom", handler!(feed::atom))
        .answers(&["application/atom+xml"])
        .late()
        .limit(Limit::Incidents)
        .params(feed::PARAMS)
        .summary("The 50 incidents that began last, of all or about a country or a site, as Atom."),
    Route::get("/v1/incidents/similar", handler!(similar::get))
        .limit(Limit::Incidents)
        .params(&[
            Param::required("query", "Words, at most 2,000 characters.")
                .length(1, 2_000)
                .such_as("Telegram blocked during protests"),
            Param::optional("k", "Most incidents of the answer: default 5, at most 50.")
                .count(similar::DEFAULT_K, similar::MAX_K),
            Param::optional("country", "Code of a country, ISO 3166-1 alpha-2.").country(),
            Param::optional("incident_type", "`censorship`, `disruption` or `mixed`.").one_of(&[
                "censorship",
                "disruption",
                "mixed",
            ]),
            Param::optional("min_confidence", "Only incidents of at least this confidence, 0 to 1.").number(0, 1),
        ])
        .returns::<similar::SimilarBody>()
        .summary("Incidents whose texts are most similar to a text, the most similar first."),
    Route::post("/v1/incidents/similar", handler!(similar::post))
        .limit(Limit::Incidents)
        .accepts::<similar::SimilarRequest>()
        .returns::<similar::SimilarBody>()
        .summary("Incidents whose texts are most similar to a text, the most similar first."),
    Route::post("/data/incidents/{id}/dispute", handler!(dispute::file))
        .limit(Limit::Disputes)
        .extension()
        .max_body(16 * 1024)
        .accepts::<dispute::NewDispute>()
        .creates::<dispute::Received>()
        .summary("Say what is wrong with an incident; operators read it."),
    Route::get("/v1/admin/disputes", handler!(dispute::list))
        .admin()
        .extension()
        .params(&[
            Param::optional("status", "`open` (default) or `resolved`.").one_of(&["open", "resolved"]).default("open"),
            Param::optional("after", "The `next` of the page before.").like(dispute::PLACE_PATTERN),
            Param::optional("limit", "At most 1,000; default 100.").count(100, 1_000),
        ])
        .returns::<dispute::DisputePage>()
        .summary("What readers dispute, oldest first."),
    Route::post("/v1/admin/disputes/{id}/resolve", handler!(dispute::resolve))
        .admin()
        .extension()
        .accepts::<dispute::Decision>()
        .returns::<dispute::DisputeBody>()
        .summary("End a dispute."),
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
