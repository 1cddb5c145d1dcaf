//! Recognises protections that answer in a site's place, to tell their pages from those of a censor.
//!
//! A client that asks too often, looks like a robot or is in a country that the site does not serve gets a page of the
//! site's own protection. That page differs from the control's in everything, so a comparison alone says "blocked".
//! Protections are recognised by headers that only these networks set and by words in their pages, whatever the status.

/// Content networks and guards, as the headers `server` and `via` name them.
const NETWORKS: [&str; 19] = [
    "cloudflare",
    "cloudfront",
    "akamai",
    "ddos-guard",
    "sucuri",
    "incapsula",
    "imperva",
    "datadome",
    "vercel",
    "varnish",
    "awselb",
    "fastly",
    "qrator",
    "arvancloud",
    "stackpath",
    "bunnycdn",
    "netlify",
    "imunify360",
    "reblaze",
];

/// Headers that only such a network sets, and that it sets on every answer.
const MARKS: [&str; 12] = [
    "cf-ray",
    "x-sucuri-id",
    "x-iinfo",
    "x-amz-cf-id",
    "x-datadome",
    "x-vercel-id",
    "akamai-grn",
    "x-akamai-request-id",
    "x-fastly-request-id",
    "x-azure-ref",
    "x-kpsdk-ct",
    "x-distil-cs",
];

/// Headers which show that the answer replaces the page. If the second text is not empty, the value must contain it.
const SAID: [(&str, &str); 9] = [
    ("cf-mitigated", ""),
    ("x-amzn-waf-action", ""),
    ("x-vercel-mitigated", ""),
    ("x-vercel-challenge-token", ""),
    ("sg-captcha", ""),
    ("x-sucuri-block", ""),
    ("x-dd-b", ""),
    ("x-cache", "error from cloudfront"),
    ("x-kpsdk-ct", ""),
];

/// Words in lower case that occur only in pages of protections.
const WORDS: [&str; 54] = [
    // Tests for robots.
    "/cdn-cgi/challenge-platform/",
    "cf-browser-verification",
    "cf_chl_opt",
    "cf-chl-",
    "attention required! | cloudflare",
    "<title>just a moment...</title>",
    "checking your browser before accessing",
    "checking if the site connection is secure",
    "ddos protection by cloudflare",
    "token.awswaf.com",
    "captcha.awswaf.com",
    "awswafintegration",
    "awswafcookiedomainlist",
    "_incapsula_resource",
    "incapsula incident id",
    "geo.captcha-delivery.com",
    "captcha-delivery.com/captcha",
    "_pxappid",
    "px-captcha",
    "captcha.px-cdn.net",
    "pardon our interruption",
    "vercel security checkpoint",
    "/.well-known/sgcaptcha",
    "/.well-known/ddos-guard/",
    "check.ddos-guard.net",
    "validate.perfdrive.com",
    "radware captcha page",
    "making sure you&#39;re not a bot",
    "making sure you're not a bot",
    "/.within.website/x/cmd/anubis",
    "sucuri website firewall",
    "sucuri_cloudproxy_js",
    "stackpath.com/ddos",
    "bot verification</title>",
    "_kpsdk",
    "/tspd/",
    "/_fs-ch-",
    "acw_sc__v2",
    "errors.aliyun.com",
    "protected by imunify360",
    "powered by imunify360",
    "current session has been terminated",
    "the requested url was rejected. please consult with your administrator",
    // Refusals by country or address.
    "has banned the country or region your ip address is in",
    "used cloudflare to restrict access",
    "error code: 1009",
    "error code: 1020",
    "configured to block access from your country",
    "the request could not be satisfied",
    "errors.edgesuite.net",
    "wordfence",
    "access from your country was disabled by the administrator",
    "your access to this site has been limited by the site owner",
    "unavailable in your country due to gdpr",
];

/// Signs of a protection in the answer of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Guarded {
    /// A content network or guard delivered the answer.
    pub delivered: bool,
    /// A header or words show that the answer is a challenge, a refusal or a geofence.
    pub said: bool,
}

/// Looks for protections in an answer. `header` gives the value of a header by lower-case name.
pub fn look<'h>(header: &dyn Fn(&str) -> Option<&'h str>, body: &str) -> Guarded {
    let named = |value: &str| {
        let value = value.to_ascii_lowercase();
        NETWORKS.iter().any(|name| value.contains(name))
    };
    let delivered = ["server", "via"].into_iter().filter_map(header).any(named)
        || MARKS.iter().any(|name| header(name).is_some())
        || SAID.iter().any(|(name, value)| value.is_empty() && header(name).is_some());
    let by_header = |(name, wanted): &(&str, &str)| {
        header(name).is_some_and(|value| wanted.is_empty() || value.to_ascii_lowercase().contains(wanted))
    };
    let said = SAID.iter().any(by_header) || {
        let body = body.to_ascii_lowercase();
        WORDS.iter().any(|words| body.contains(words))
    };
    Guarded { delivered, said }
}
