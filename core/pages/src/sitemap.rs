//! The list of pages for search engines: countries, services, incidents, and the pages about this server.

use engine::Result;
use engine::documents;
use engine::http::{Cx, Response};
use facts::sentence::Language;
use facts::starter::{Country, Platform};
use http::StatusCode;

use crate::words::Words;
use crate::{answer, guide};

const FIXED: [&str; 6] = ["/", "/incidents", "/open-data", "/method", "/about", "/api-key"];
/// In English alone.
const DOCUMENTS: &str = "/docs";
/// Seconds for which any cache may keep it.
const FRESH: u32 = 3_600;

pub async fn sitemap(cx: Cx) -> Result<Response> {
    let incidents = answer::ask(&cx, "/data/incidents", "limit=200").await?;
    let mut paths: Vec<String> = FIXED.map(str::to_owned).to_vec();
    paths.extend(guide::readers().map(|reader| format!("/guide/{reader}")));
    paths.extend(Country::all().iter().map(|country| format!("/country/{}", country.code)));
    paths.extend(Platform::all().iter().map(|platform| format!("/site/{}", platform.slug)));
    paths.extend(
        incidents.list("incidents").iter().map(|incident| format!("/incident/{}", incident.text("readableId"))),
    );
    let base = cx.settings().base_url();
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    out.push_str(&format!("<url><loc>{base}{DOCUMENTS}</loc></url>\n"));
    for path in &paths {
        for language in Language::ALL {
            // Codes and names of platforms have no character that XML escapes.
            out.push_str(&format!("<url><loc>{base}{}</loc></url>\n", Words(language).to(path)));
        }
    }
    out.push_str("</urlset>\n");
    let etag = documents::etag(out.as_bytes());
    Ok(cx.revalidated(Response::new(StatusCode::OK, "application/xml; charset=utf-8", out.into_bytes()), &etag, FRESH))
}
