//! `POST /v1/admin/import/{kind}` (decision repeatable-import-chunks; an extension of the interface).

use super::{ImportKind, Importer, ListKind, MAX_CHUNK, Options, Summary, chunk};
use crate::{Error, Result};
use engine::http::{Cx, Param, Response, Route, handler};

pub const ROUTES: &[Route] = &[Route::post("/v1/admin/import/{kind}", handler!(import))
    .admin()
    .raw_body(MAX_CHUNK)
    .extension()
    .params(&[
        Param::optional(
            "country",
            "Block lists: the country, required. All else: this country only, and the one of rows without any.",
        )
        .country(),
        Param::optional(
            "list",
            "Test lists: `global` or the code the list is named after; default `global`. Fingerprints as JSON lines: \
             `blockpage_signatures` or `false_positive_signatures`, required.",
        ),
        Param::optional("list_kind", "Block lists: official, court, leak or community (default).")
            .one_of(&["official", "court", "leak", "community"])
            .default("community"),
        Param::optional("date", "Block lists: the date the list speaks of, none ahead; default today.").date(),
        Param::optional(
            "epoch",
            "What an earlier part of the same import answered: 409 when the source was removed since.",
        )
        .at_least(0),
        Param::optional("dry_run", "`true` counts and changes nothing.").boolean().default("false"),
    ])
    .returns::<Summary>()
    .summary("Import one self-contained chunk, raw or gzip, at most 4 MiB inflated.")];

async fn import(cx: Cx) -> Result<Response> {
    let kind =
        ImportKind::parse(cx.path("kind")?).ok_or_else(|| Error::not_found("There is no import of this kind."))?;
    let list_kind = match cx.query("list_kind")? {
        None => None,
        Some(text) => Some(
            ListKind::parse(&text)
                .ok_or_else(|| Error::bad_request("`list_kind` must be official, court, leak or community."))?,
        ),
    };
    let options = Options {
        country: cx.query("country")?,
        list: cx.query("list")?,
        list_kind,
        date: cx.time("date")?,
        dry_run: cx.flag("dry_run")?.unwrap_or(false),
        epoch: match cx.query("epoch")? {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| Error::bad_request("`epoch` must be a whole number."))?),
        },
    };
    let body = chunk::inflate(&cx.request.body, MAX_CHUNK)?;
    let importer = Importer::new(&*cx.rt, kind, options).await?;
    Response::json(&importer.chunk(&*cx.rt, &body).await?)
}
