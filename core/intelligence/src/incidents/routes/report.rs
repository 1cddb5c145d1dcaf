//! `GET /data/incidents/{id}/report`

use http::StatusCode;

use super::detail::asked;
use crate::incidents::actor;
use crate::incidents::query::EvidenceOf;
use crate::incidents::report::{self, ReportFormat};
use crate::{Error, Result};
use engine::http::{Cx, Response};
use engine::runtime;

/// The format follows from the parameter alone, whatever the client accepts.
pub async fn report(cx: Cx) -> Result<Response> {
    let format = cx.query("format")?.unwrap_or_else(|| "markdown".to_owned());
    let format =
        ReportFormat::parse(&format).ok_or_else(|| Error::bad_request("`format` must be markdown, bibtex or ris."))?;
    let (incident, max_age) = asked(&cx).await?;
    let ids = incident.draft.evidence_ids.clone();
    let evidence = runtime::query(&*cx.rt, actor().name, &EvidenceOf { ids }).await?;
    let text = report::report(format, &incident, &evidence, cx.settings());
    cx.tagged(Response::new(StatusCode::OK, format.content_type(), text), max_age)
}
