//! The method in readable words, from the same numbers that compute the answers.

use askama::Template;
use engine::Result;
use engine::http::Cx;

use crate::answer;
use crate::page::{Frame, Page};
use crate::words::Words;

#[derive(Template)]
#[template(path = "method.html")]
struct MethodPage {
    frame: Frame,
    w: Words,
    votes: String,
    thresholds: String,
    calibration: String,
    minimum: String,
    weights: Vec<(String, String)>,
    levels: Vec<(String, u64)>,
    rules: Vec<(String, String, String)>,
    limitations: Vec<String>,
    forecast: String,
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let answer = answer::ask(cx, "/data/methodology", "").await?;
    let method = answer.part("methodology");
    let scoring = method.part("scoring");
    let named = |part: &str| scoring.part(part).0.as_object().cloned().unwrap_or_default();
    let rule = |rule: &answer::Answer| (rule.text("id").to_owned(), rule.said(w.0, "meaning"), rule.weight("log10_lr"));
    let mut levels: Vec<(String, u64)> =
        named("levels").iter().filter_map(|(name, least)| Some((w.value("level", name), least.as_u64()?))).collect();
    levels.sort_by_key(|(_, least)| *least);
    let share =
        |(name, weight): (&String, &serde_json::Value)| Some((w.value("component", name), w.percent(weight.as_f64()?)));
    let page = MethodPage {
        frame: Frame::new(cx, w, "/method", w.t("method.title")),
        w,
        votes: {
            let prior = w.percent(method.number("/model/calibration/prior").unwrap_or_default());
            w.with("method.votes", &[("prior", prior.into())])
        },
        thresholds: thresholds(&method, w),
        calibration: w.value("calibration", method.text("/model/calibration/source")),
        minimum: w.with(
            "method.minimum",
            &[
                ("measurements", w.number(scoring.count("minimumMeasurements")).into()),
                ("sites", w.number(scoring.count("minimumSites")).into()),
            ],
        ),
        weights: named("weights").iter().filter_map(share).collect(),
        levels,
        rules: method.list("rules").iter().map(rule).collect(),
        limitations: method.all_said(w.0, "limitations").iter().map(|text| answer::for_visitors(text)).collect(),
        forecast: answer::for_visitors(&method.part("model").part("forecast").said(w.0, "validationNote")),
    };
    Page::of(&page)
}

/// From which probability on, and from how many votes, something is said to be blocked or accessible, and for how long.
fn thresholds(method: &answer::Answer, w: Words) -> String {
    let constant = |name: &str| method.number(&format!("/constants/{name}")).unwrap_or_default();
    let whole = |name: &str| (constant(name) as u64).into();
    let named = [
        ("blocked", w.percent(constant("blocked_probability")).into()),
        ("open", w.percent(constant("accessible_probability")).into()),
        ("hours", whole("blocked_hours")),
        ("votes", whole("clear_votes")),
        ("days", whole("age_limit_days")),
        ("messaging", whole("age_limit_messaging_days")),
    ];
    w.with("method.thresholds", &named)
}
