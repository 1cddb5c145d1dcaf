//! `GET /data/sentences`: all sentences that answers say, for translators and clients (decision
//! sentences-with-a-code).

use schemars::JsonSchema;
use serde::Serialize;

use crate::Result;
use engine::http::{Cx, Limit, Response, Route, handler};
use facts::sentence::table;
use facts::sentence::template::{Placeholder, parameters};
use facts::starter;

pub const ROUTES: &[Route] = &[Route::get("/data/sentences", handler!(sentences))
    .extension()
    .limit(Limit::Data)
    .returns::<SentencesBody>()
    .summary("All sentences that answers say: codes, English templates, and the types of their parameters.")];

/// Seconds for which a reader may keep the table. It changes only with the program.
const MAX_AGE: u32 = 3_600;

/// Types of parameters, and what their values are in JSON.
const TYPES: [(&str, &str); 13] = [
    ("text", "a string that is shown as it is: a name, a method, an id, or what somebody wrote"),
    ("choice", "a string, one of `values` or another one"),
    ("flag", "true or false"),
    ("count", "a number that a plural form depends on"),
    ("number", "a number; the style of the template has the digits behind the point, and `+` shows the sign"),
    ("share", "a number from 0 to 1, shown in percent"),
    ("date", "an ISO 8601 date; English shows `24 Nov 2023`, or with the style `iso` the date itself"),
    ("country", "an ISO 3166-1 alpha-2 code; with the style `the` its English name has its article"),
    ("network", "`AS` and the number of a network"),
    ("subject", "a domain, or the slug of a service or platform"),
    ("subjects", "an array of those; with the style `commas` there is no `and` before the last one"),
    ("list", "an array of strings, joined with commas; with the style `quoted` each is in quotation marks"),
    (
        "sentence",
        "another sentence, or an array of them; with the style `clause` it loses its full stop, with `commas` they are \
         joined with commas and else with spaces",
    ),
];

/// What a value of a type is.
#[derive(Debug, Serialize, JsonSchema)]
struct TypeBody {
    name: &'static str,
    meaning: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ParameterBody {
    name: &'static str,
    /// A type of `types`. Where a sentence has nothing to say of it, a value is null.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The values that a choice names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<&'static str>,
}

impl From<Placeholder> for ParameterBody {
    fn from(Placeholder { name, kind, values }: Placeholder) -> ParameterBody {
        ParameterBody { name, kind, values }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct SentenceBody {
    code: &'static str,
    /// A template in the manner of ICU messages.
    english: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<ParameterBody>,
}

/// The table of sentences.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SentencesBody {
    count: usize,
    types: Vec<TypeBody>,
    /// Ordered by code.
    sentences: Vec<SentenceBody>,
    license: &'static str,
}

async fn sentences(cx: Cx) -> Result<Response> {
    let all = table::all().iter().map(|(code, english)| SentenceBody {
        code,
        english,
        parameters: parameters(english).into_iter().map(ParameterBody::from).collect(),
    });
    let sentences: Vec<SentenceBody> = all.collect();
    let body = SentencesBody {
        count: sentences.len(),
        types: TYPES.into_iter().map(|(name, meaning)| TypeBody { name, meaning }).collect(),
        sentences,
        license: starter::LICENCE,
    };
    cx.tagged(Response::json(&body)?, MAX_AGE)
}
