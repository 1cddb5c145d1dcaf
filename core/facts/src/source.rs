//! The sources of data that answers use, and their licences.

use serde::{Deserialize, Serialize};

use engine::settings::Settings;

/// The sources of measurements, counts and events. The number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Source {
    /// OONI's measurements. All of its tests and formats are one source (decision incident-grades).
    Ooni = 1,
    /// Hyperquack and Satellite: remote vantage points in data centres.
    CensoredPlanet = 2,
    /// Shutdown tables of Access Now.
    AccessNow = 3,
    Ioda = 4,
    /// Outage annotations of Cloudflare Radar.
    Radar = 5,
    /// Outages that the operator wrote down.
    Outages = 6,
    /// OONI's counts of days. They are kept and removed apart from its measurements.
    OoniCounts = 7,
    /// Probes that volunteers and the operator run for this deployment.
    Probe = 8,
    /// Incidents that OONI published. They are kept and removed apart from its measurements.
    OoniIncidents = 9,
}

/// The description of a source.
struct Facts {
    id: &'static str,
    name: &'static str,
    kind: &'static str,
    licence: &'static str,
    url: &'static str,
}

const fn facts(
    id: &'static str,
    name: &'static str,
    kind: &'static str,
    licence: &'static str,
    url: &'static str,
) -> Facts {
    Facts { id, name, kind, licence, url }
}

impl Source {
    pub const ALL: [Source; 9] = [
        Source::Ooni,
        Source::CensoredPlanet,
        Source::AccessNow,
        Source::Ioda,
        Source::Radar,
        Source::Outages,
        Source::OoniCounts,
        Source::Probe,
        Source::OoniIncidents,
    ];
    /// The sources whose measurements become votes.
    pub const OF_VOTES: [Source; 3] = [Source::Ooni, Source::CensoredPlanet, Source::Probe];

    pub const fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<Source> {
        Source::ALL.into_iter().find(|source| source.code() == code)
    }

    /// The source of an identifier on the wire.
    pub fn by_id(id: &str) -> Option<Source> {
        Source::ALL.into_iter().find(|source| source.id() == id)
    }

    const fn facts(self) -> Facts {
        match self {
            Source::Ooni => facts(
                "ooni",
                "Open Observatory of Network Interference",
                "volunteer measurements",
                "CC-BY-NC-SA-4.0",
                "https://ooni.org/data",
            ),
            Source::CensoredPlanet => facts(
                "censoredplanet",
                "Censored Planet",
                "remote measurements from data centres",
                "Apache-2.0",
                "https://censoredplanet.org/data/raw",
            ),
            Source::AccessNow => facts(
                "access-now",
                "Access Now STOP",
                "shutdowns, researched by people",
                "CC-BY-4.0",
                "https://www.accessnow.org/campaign/keepiton/",
            ),
            Source::Ioda => facts(
                "ioda",
                "Internet Outage Detection and Analysis",
                "outages, detected by machines",
                "LicenseRef-IODA-academic-use",
                "https://ioda.inetintel.cc.gatech.edu/",
            ),
            Source::Radar => facts(
                "cloudflare-radar",
                "Cloudflare Radar",
                "outages, annotated by people",
                "CC-BY-NC-4.0",
                "https://radar.cloudflare.com/outage-center",
            ),
            Source::Outages => facts("outages", "Outages of the operator", "outages, written down", "CC-BY-4.0", ""),
            Source::OoniCounts => facts(
                "ooni-aggregation",
                "OONI aggregation",
                "counts of days",
                "CC-BY-NC-SA-4.0",
                "https://api.ooni.org/",
            ),
            Source::Probe => facts(
                "probe",
                "Probe network",
                "measurements of this deployment's own probes, counted where others confirm them",
                "CC-BY-4.0",
                "",
            ),
            Source::OoniIncidents => facts(
                "ooni-incidents",
                "OONI findings",
                "blocks, written down by people after measurements",
                "CC-BY-NC-SA-4.0",
                "https://explorer.ooni.org/findings",
            ),
        }
    }

    /// The identifier on the wire.
    pub const fn id(self) -> &'static str {
        self.facts().id
    }

    /// The name for display.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The kind of its data, in words.
    pub const fn kind(self) -> &'static str {
        self.facts().kind
    }

    /// SPDX expression, as far as we know. [`Source::licence_under`] gives the licence that the operator settled on.
    pub const fn licence(self) -> &'static str {
        self.facts().licence
    }

    /// An https address; `None` for data that are made by this deployment.
    pub fn url(self) -> Option<&'static str> {
        Some(self.facts().url).filter(|url| !url.is_empty())
    }

    /// The licence in force: the setting `source_licences` (`ooni=CC-BY-4.0;ioda=...`), else [`Source::licence`].
    pub fn licence_under(self, settings: &Settings) -> &str {
        licence_of(settings, self.id()).unwrap_or(self.licence())
    }
}

/// The licence of the Citizen Lab test lists, as far as we know.
pub const TEST_LIST_LICENCE: &str = "CC-BY-NC-SA-4.0";

/// The licence of block lists: they differ, and several state none.
pub const BLOCKLIST_LICENCE: &str = "NOASSERTION";

/// The licence of block lists in force.
pub fn blocklist_licence(settings: &Settings) -> &str {
    licence_of(settings, "blocklist").unwrap_or(BLOCKLIST_LICENCE)
}

/// The licence of a source in the setting `source_licences`.
pub fn licence_of<'s>(settings: &'s Settings, id: &str) -> Option<&'s str> {
    let mut pairs = settings.source_licences.split(';').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == id).map(|(_, licence)| licence.trim())
}
