//! The settings of the running deployment, for its operator (decision commands-on-servers).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::engine::http::{Cx, Response, Route, handler};
use crate::engine::settings::Settings;

pub const ROUTES: &[Route] = &[Route::get("/v1/admin/settings", handler!(settings))
    .admin()
    .extension()
    .returns::<SettingsInForce>()
    .summary("Show every setting that is in force; of secrets only whether they are set.")];

/// Every setting that is in force.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SettingsInForce {
    /// Version of the program.
    pub version: String,
    pub settings: Vec<SettingInForce>,
}

/// A setting and its value.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SettingInForce {
    pub name: String,
    /// As it stands in a file; `(set)` or `(not set)` of a secret.
    pub value: String,
    pub secret: bool,
    pub source: SettingSource,
    /// What it means.
    pub doc: String,
}

/// Where the value of a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SettingSource {
    /// Nobody set it.
    Default,
    /// Somebody set it, in a file, a variable, a flag or a binding.
    Set,
    /// The program chose it by where it runs, such as limits on a public address.
    Place,
}

/// An operator's listing is never kept anywhere.
async fn settings(cx: Cx) -> Result<Response> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Response::uncached(&SettingsInForce { version, settings: in_force(cx.settings()) })
}

fn in_force(settings: &Settings) -> Vec<SettingInForce> {
    let defaults = Settings::default();
    let all = Settings::ALL.iter().map(|setting| SettingInForce {
        name: setting.name.to_owned(),
        value: settings.get(setting.name).unwrap_or_default(),
        secret: setting.secret,
        source: match (settings.is_chosen(setting.name), settings.agrees(setting.name, &defaults)) {
            (true, _) => SettingSource::Set,
            (false, true) => SettingSource::Default,
            (false, false) => SettingSource::Place,
        },
        doc: setting.doc.trim().to_owned(),
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_as_set_and_every_other_value_with_its_source() {
        let mut settings = Settings::default();
        for name in ["admin_key", "sentinel_admin_key"] {
            settings.set(name, "canary-of-this-test-0123456789").unwrap();
        }
        settings.set("agent_burst", "7").unwrap();
        settings.open_to_the_world();
        let found = in_force(&settings);
        assert!(!serde_json::to_string(&found).unwrap().contains("canary"));
        let of = |name: &str| {
            let setting = found.iter().find(|setting| setting.name == name).unwrap();
            (setting.value.as_str(), setting.source)
        };
        assert_eq!(of("admin_key"), ("(set)", SettingSource::Set));
        assert_eq!(of("agent_burst"), ("7", SettingSource::Set));
        assert_eq!(of("data_per_minute"), ("120", SettingSource::Place));
        assert_eq!(of("brand"), ("svc", SettingSource::Default));
        assert_eq!(found.len(), Settings::ALL.len());
    }
}
