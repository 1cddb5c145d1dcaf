//! What a client would rather read, by its `Accept` header (RFC 9110 section 12.5.1).

use super::Request;

/// The quality of a media type in a header: of the type itself, else of `*/*`, else none.
fn quality(accept: &str, wanted: &str) -> f32 {
    let mut found = 0.0;
    for part in accept.split(',') {
        let mut pieces = part.split(';').map(str::trim);
        let media = pieces.next().unwrap_or_default();
        let weight = pieces.find_map(|piece| piece.strip_prefix("q=")).map_or(Some(1.0), |text| text.parse().ok());
        let weight = weight.filter(|weight| (0.0..=1.0).contains(weight)).unwrap_or(0.0);
        if media.eq_ignore_ascii_case(wanted) {
            return weight;
        }
        if media == "*/*" {
            found = weight;
        }
    }
    found
}

impl Request {
    /// Whether a browser asks for a page to show: libraries and feed readers name `text/html` too, but not XHTML
    /// (decision shared-addresses).
    pub fn is_for_a_page(&self) -> bool {
        let Some(accept) = self.header("accept") else { return false };
        let lower = accept.to_ascii_lowercase();
        let named = ["text/html", "application/xhtml+xml"];
        named.iter().all(|media| lower.contains(media) && quality(accept, media) > 0.0)
            && named.iter().all(|media| quality(accept, media) >= quality(accept, "application/json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn is_for_a_page(accept: &'static str) -> bool {
        let mut request = Request::default();
        request.headers.insert("accept", HeaderValue::from_static(accept));
        request.is_for_a_page()
    }

    #[test]
    fn browsers_get_pages_and_programs_do_not() {
        for browser in [
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
            "text/html, application/xhtml+xml;q=0.9, application/json;q=0.8",
            "Text/HTML,Application/XHTML+XML",
        ] {
            assert!(is_for_a_page(browser), "{browser}");
        }
        for program in [
            "*/*",
            "application/json",
            "text/html",
            "text/html, */*",
            "application/json, text/html;q=0.9, application/xhtml+xml;q=0.9",
            "text/html;q=0, application/xhtml+xml",
            "text/html;q=x, application/xhtml+xml",
            "application/atom+xml, application/rss+xml, text/html;q=0.5, application/xhtml+xml;q=0.5, */*;q=0.8",
            "",
        ] {
            assert!(!is_for_a_page(program), "{program}");
        }
        assert!(!Request::default().is_for_a_page());
    }
}
