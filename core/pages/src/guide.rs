//! Guides for three readers: who reports, who researches, and who writes an agent.

use askama::Template;
use engine::http::Cx;
use engine::{Error, Result};

use crate::page::{Frame, Page};
use crate::words::Words;

/// Who reads, and the steps of the guide. The words of a step are `guide.<reader>.<step>` and the same with `_text`.
const GUIDES: [(&str, &[Step]); 3] = [
    (
        "journalist",
        &[
            Step { name: "ask", request: "" },
            Step { name: "read", request: "" },
            Step { name: "past", request: "" },
            Step { name: "check", request: "" },
            Step { name: "cite", request: "" },
            Step {
                name: "follow",
                request: "BASE/data/incidents/feed.atom?country=KE\nBASE/badge/KE/telegram.org.svg",
            },
            Step { name: "dispute", request: "" },
        ],
    ),
    (
        "researcher",
        &[
            Step {
                name: "count",
                request: "curl 'BASE/api/v1/aggregation?probe_cc=KE&since=2023-11-01&until=2023-12-01&axis_x=measurement_start_day&format=csv'",
            },
            Step {
                name: "rows",
                request: "curl 'BASE/data/measurements?country=KE&target=telegram.org&since=2023-11-01&until=2023-12-01&format=csv'",
            },
            Step {
                name: "networks",
                request: "curl 'BASE/data/domain/telegram.org/history?country=KE&by=network&since=2023-11-01&until=2023-12-01&format=csv'",
            },
            Step { name: "incidents", request: "curl 'BASE/data/incidents/export?format=csv'" },
            Step {
                name: "past",
                request: "curl 'BASE/v1/accessibility/check?domain=telegram.org&country=KE&as_of=2023-11-12T00:00:00Z&explain=true'",
            },
            Step { name: "method", request: "curl 'BASE/data/methodology'" },
            Step { name: "licence", request: "curl 'BASE/data/sources'" },
        ],
    ),
    (
        "agent",
        &[
            Step {
                name: "register",
                request: "curl -X POST 'BASE/v1/agent/register' -H 'Content-Type: application/json' -d '{}'",
            },
            Step {
                name: "send",
                request: "curl -X POST 'BASE/v1/agent/send' -H 'X-Agent-Key: YOUR_KEY' \\\n  -H 'Content-Type: application/json' -d '{\"to\": \"DID_OF_ANOTHER\", \"message\": \"Hello\"}'",
            },
            Step { name: "receive", request: "curl -N 'BASE/v1/agent/receive/sse' -H 'X-Agent-Key: YOUR_KEY'" },
            Step { name: "encrypt", request: "" },
            Step { name: "work", request: "curl 'BASE/v1/agent/discover'" },
            Step { name: "pay", request: "" },
            Step { name: "mcp", request: "BASE/mcp" },
        ],
    ),
];

struct Step {
    name: &'static str,
    /// What can be pasted; `BASE` stands for the address of the server.
    request: &'static str,
}

/// The readers for whom there is a guide, as its address has them.
pub fn readers() -> impl Iterator<Item = &'static str> {
    GUIDES.iter().map(|(reader, _)| *reader)
}

#[derive(Template)]
#[template(path = "guide.html")]
struct GuidePage {
    frame: Frame,
    w: Words,
    lead: &'static str,
    /// Heading, text and request.
    steps: Vec<(&'static str, &'static str, String)>,
    /// The other guides: reader and title.
    others: Vec<(&'static str, &'static str)>,
}

impl Words {
    /// The guides: reader and title.
    pub fn guides(self) -> Vec<(&'static str, &'static str)> {
        GUIDES.iter().map(|(reader, _)| (*reader, self.t(&format!("guide.{reader}")))).collect()
    }
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let asked = cx.path("reader")?;
    let Some((reader, steps)) = GUIDES.iter().find(|(reader, _)| *reader == asked) else {
        return Err(Error::not_found("There is no such guide."));
    };
    let base = cx.settings().base_url();
    let word = |rest: &str| w.t(&format!("guide.{reader}{rest}"));
    let page = GuidePage {
        frame: Frame::new(cx, w, format!("/guide/{reader}"), word("")).about(word(".lead")),
        w,
        lead: word(".lead"),
        steps: steps
            .iter()
            .map(|step| {
                let name = step.name;
                // A badge has words of its language.
                let request = step.request.replace("BASE/badge", &format!("BASE{}", w.to("/badge")));
                (word(&format!(".{name}")), word(&format!(".{name}_text")), request.replace("BASE", &base))
            })
            .collect(),
        others: w.guides().into_iter().filter(|(other, _)| other != reader).collect(),
    };
    Page::of(&page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::sentence::Language;

    #[test]
    fn every_step_has_its_words() {
        let w = Words(Language::English);
        for (reader, steps) in GUIDES {
            for name in ["".to_owned(), ".lead".to_owned()]
                .into_iter()
                .chain(steps.iter().flat_map(|step| [format!(".{}", step.name), format!(".{}_text", step.name)]))
            {
                assert!(w.has(&format!("guide.{reader}{name}")), "guide.{reader}{name}");
            }
        }
    }
}
