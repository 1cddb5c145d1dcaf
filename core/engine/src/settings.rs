//! Settings: the names, meanings and defaults of everything an operator may change.
//!
//! Shells fill them from flags, environment (`HELIOGRAPH_<NAME>`), a file and the defaults, in that order of weight;
//! on the edge, from bindings of the same names.

mod check;

pub use check::BRAND_PATTERN;

use std::collections::BTreeSet;

use crypto::api_key::KeyForm;
use crypto::encoding::decode_base64_array;
use crypto::signing;

/// What `fetch_sources` may name. A closed list here, so that a misspelt name is refused where settings are read; the
/// feature that fetches has a test that its sources are these.
pub const FETCH_SOURCES: [&str; 3] = ["ooni-aggregation", "ooni-measurements", "ioda"];

/// The roles that `ledger_admin_keys` may name; the ledger has a test that its roles are these.
pub const ADMIN_ROLES: [&str; 4] = ["all", "grant", "freeze", "cap"];

/// What `log_level` may be, the fewest lines first.
pub const LOG_LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// What `log_format` may be.
pub const LOG_FORMATS: [&str; 2] = ["text", "json"];

/// Least memory of a data file where `cache_bytes` says nothing else, in bytes: it suits a machine with 512 MB.
pub const LEAST_CACHE: u64 = 44 << 20;

/// Most keys in `ledger_admin_keys`.
pub const MAX_ADMIN_KEYS: usize = 100;

/// One setting, for listings and documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub name: &'static str,
    pub default: &'static str,
    pub doc: &'static str,
    /// What kind of value it takes, in words for the operator.
    pub takes: &'static str,
    /// Never printed or logged.
    pub secret: bool,
}

/// How a setting is read from text and written back.
trait Value: Sized {
    /// What is expected, in words for the operator.
    const EXPECTED: &'static str;
    fn parse(text: &str) -> Option<Self>;
    fn text(&self) -> String;
}

impl Value for String {
    const EXPECTED: &'static str = "a text";
    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
    fn text(&self) -> String {
        self.clone()
    }
}

impl Value for bool {
    const EXPECTED: &'static str = "true or false";
    fn parse(text: &str) -> Option<Self> {
        match text {
            "true" | "1" | "yes" | "on" => Some(true),
            "false" | "0" | "no" | "off" => Some(false),
            _ => None,
        }
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

macro_rules! number_values {
    ($($int:ty: $most:literal),*) => {$(
        impl Value for $int {
            const EXPECTED: &'static str = concat!("a whole number from 0 to ", $most);
            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
            fn text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
number_values!(u32: "4294967295", u64: "18446744073709551615");

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $(#[$secret:ident])? $name:ident: $type:ty = $default:literal;)+) => {
        /// Every setting with its present value.
        #[derive(Clone)]
        pub struct Settings {
            $($(#[doc = $doc])+ pub $name: $type,)+
            /// Names of those that somebody set, be it to the default.
            /// Set by the runtime: sealed segments of the ledger go into an archive beside its actor.
            pub archives_segments: bool,
            chosen: BTreeSet<&'static str>,
        }

        /// Settings are equal when their values are, whoever chose them.
        impl PartialEq for Settings {
            fn eq(&self, other: &Self) -> bool {
                true $(&& self.$name == other.$name)+
            }
        }
        impl Eq for Settings {}

        impl Settings {
            pub const ALL: &'static [Setting] = &[$(Setting {
                name: stringify!($name),
                default: $default,
                doc: concat!($($doc),+),
                takes: <$type as Value>::EXPECTED,
                secret: settings!(@secret $($secret)?),
            },)+];

            /// Changes one setting; the error says what is wrong in words for the operator.
            pub fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
                match name {
                    $(stringify!($name) => {
                        self.$name = <$type as Value>::parse(text.trim())
                            .ok_or_else(|| format!("{name} must be {}", <$type as Value>::EXPECTED))?;
                        self.chosen.insert(stringify!($name));
                    })+
                    _ => return Err(format!("there is no setting named {name}")),
                }
                self.check()
            }

            /// Whether the value of one setting is the same in both, secrets too.
            pub fn agrees(&self, name: &str, other: &Settings) -> bool {
                match name {
                    $(stringify!($name) => self.$name == other.$name,)+
                    _ => true,
                }
            }

            /// Takes over the value of one setting, without a choice of anybody's.
            pub fn adopt(&mut self, name: &str, from: &Settings) {
                match name {
                    $(stringify!($name) => self.$name.clone_from(&from.$name),)+
                    _ => {}
                }
            }

            /// The value as text; secrets as `(set)` or `(not set)`.
            pub fn get(&self, name: &str) -> Option<String> {
                let setting = Settings::ALL.iter().find(|setting| setting.name == name)?;
                let text = match name {
                    $(stringify!($name) => self.$name.text(),)+
                    _ => return None,
                };
                Some(match (setting.secret, text.is_empty()) {
                    (false, _) => text,
                    (true, true) => "(not set)".to_owned(),
                    (true, false) => "(set)".to_owned(),
                })
            }
        }

        impl Default for Settings {
            fn default() -> Self {
                // Every default is a literal of its own type; a test reads each one.
                Settings {
                    $($name: <$type as Value>::parse($default).unwrap_or_default(),)+
                    archives_segments: false,
                    chosen: BTreeSet::new(),
                }
            }
        }
    };
    (@secret) => { false };
    (@secret secret) => { true };
}

settings! {
    /// Word that stands for this service in DIDs, header names and schema names; fixed at first start.
    brand: String = "svc";
    /// One more accepted header prefix: `X-<word>-...` is read as the brand's own.
    extra_header_prefix: String = "";
    /// Address that links in answers begin with; empty means the listen address.
    public_url: String = "";
    /// Origins of web pages that may use `/mcp`, by comma: `https://app.example.org`; `*` for all. Empty: all where `public_url` was set to an address that is not this machine's, else those of this machine.
    allowed_origins: String = "";
    /// Address the native server listens on.
    listen: String = "127.0.0.1:8787";
    /// Addresses or networks of proxies, by comma, that may say for whom they ask, in `Forwarded` or `X-Forwarded-For`; from anybody else such headers count for nothing.
    trusted_proxies: String = "127.0.0.0/8,::1/128";
    /// One other header that trusted proxies put the client address into, read in place of those two: `X-Real-IP`.
    client_address_header: String = "";
    /// The shared key for trying the service; empty switches it off. Whoever has it may ask, so it is no secret.
    demo_key: String = "svc_demo";
    /// Operator key (`X-Admin-Key`); empty means the generated one.
    #[secret]
    admin_key: String = "";
    /// Key for outcome reports (`X-Sentinel-Admin-Key`); the operator key counts as one too.
    #[secret]
    sentinel_admin_key: String = "";
    /// Outcome reports per key and hour.
    reports_per_hour: u32 = "10";
    /// Hours within which the operator means to look at an outcome report; told to who sends one.
    report_review_hours: u32 = "72";
    /// Key sign-ups per client address and day.
    signups_per_day: u32 = "1000";
    /// Form of new API keys of agents: `prefixed`, or `hex` for clients that take only 64 lower-case hex digits.
    agent_key_format: String = "prefixed";
    /// Mark messages as read when `/v1/agent/receive` or `/receive/raw` delivers them.
    receive_marks_read: bool = "false";
    /// Agent registrations per client address and hour.
    registrations_per_hour: u32 = "100000";
    /// Registrations of probes per client address and hour.
    probes_per_hour: u32 = "1000";
    /// Disputes of incidents per client address and hour.
    disputes_per_hour: u32 = "20";
    /// Requests per minute and client address on accessibility routes.
    accessibility_per_minute: u32 = "200";
    /// Requests per minute and client address on country and domain data; 0 means no limit.
    data_per_minute: u32 = "0";
    /// Requests per minute and client address on forecasts; 0 means no limit.
    forecast_per_minute: u32 = "0";
    /// Requests per minute and client address on incidents; 0 means no limit.
    incidents_per_minute: u32 = "0";
    /// Questions per minute and client address that must be computed: about the past, over all countries and not kept, exports, dumps, claims, similar incidents; 0 means no limit.
    computing_per_minute: u32 = "0";
    /// Native: questions that are computed at once; 0 means one less than the cores, at least one.
    computing_threads: u32 = "0";
    /// Questions that wait to be computed, on the edge those of an isolate that are under way; further ones are answered 503.
    computing_queue: u32 = "64";
    /// Reads of the ledger per minute and client address; 0 means no limit.
    pay_reads_per_minute: u32 = "0";
    /// Writes of the ledger per minute and client address; 0 means no limit.
    pay_writes_per_address: u32 = "0";
    /// Writes of the ledger per minute and signer, once the signature was verified; 0 means no limit.
    pay_writes_per_minute: u32 = "100";
    /// Seconds that answers about the ledger's market may be old on the edge, at most 30; wallets, transfers, escrows, hires and receipts never are.
    pay_reads_seconds: u32 = "30";
    /// Grants of the faucet per client address and 24 hours.
    faucet_per_address: u32 = "1000";
    /// Grants of the faucet per day, all together.
    faucet_daily_total: u32 = "1000";
    /// Bytes that the store of the ledger may take; 0 means what its place has: natively the disk, on the edge 10 GB. At 90 % new wallets and listings are refused.
    ledger_storage_bytes: u64 = "0";
    /// Days after which events of the ledger move into sealed segments.
    ledger_seal_days: u32 = "30";
    /// List the deployment's own paid services in the ledger and answer hires of them.
    first_party_services: bool = "true";
    /// Who sees memos, inputs and results by the id of their row: `open`, anybody; `parties`, those who prove to be one.
    ledger_reads: String = "open";
    /// Keys that sign admin actions of the ledger, by comma, each with its role: `<base64>:all,<base64>:grant`.
    #[secret]
    ledger_admin_keys: String = "";
    /// Requests per second and agent.
    agent_per_second: u32 = "20";
    /// Requests an agent may make at once before the rate counts.
    agent_burst: u32 = "200";
    /// One-time prekeys of one agent that a client address is given in an hour; 0 means no limit.
    prekeys_per_hour: u32 = "20";
    /// Most messages a mailbox holds.
    mailbox_messages: u64 = "100000";
    /// Most bytes a mailbox holds.
    mailbox_bytes: u64 = "1073741824";
    /// Most channels an agent is in at once.
    channels_per_agent: u32 = "100";
    /// Most members of a channel.
    channel_members: u32 = "10000";
    /// Most posts a channel keeps; the oldest give way.
    channel_posts: u32 = "100000";
    /// Most bytes of posts a channel keeps; the oldest give way.
    channel_bytes: u64 = "268435456";
    /// Most bytes of values in the memory of an agent, as JSON text.
    memory_bytes: u64 = "16777216";
    /// Most bytes of one value in the memory of an agent, as JSON text; at most 1800000.
    memory_value_bytes: u64 = "1048576";
    /// Most keys in the memory of an agent.
    memory_keys: u32 = "100000";
    /// Native: a file of word vectors that joins the search for similar incidents; empty means none.
    vectors_file: String = "";
    /// Take no changes while the deployment is dumped or loaded: what would write is answered 503, and timers rest.
    closed: bool = "false";
    /// Seconds between two publications of one document.
    publish_interval: u32 = "10";
    /// Milliseconds a request waits for the first delivery of its effects (decision one-deciding-operation).
    effect_wait_ms: u32 = "250";
    /// Seconds a receive stream lives (decision stream-lifetimes).
    stream_seconds: u32 = "30";
    /// Streams that an agent may have open at once; with one more, its oldest ends.
    streams_per_agent: u32 = "32";
    /// Bytes of messages that are on their way to a stream before its client takes them, at most 262144; one message always fits.
    stream_bytes: u64 = "65536";
    /// Native: streams open at once, of all agents; past it a connect waits up to 20 s, then 503.
    streams: u32 = "10000";
    /// Native: connects that wait at once for a place among the streams; past it 503 at once.
    streams_waiting: u32 = "1000";
    /// Native: bytes on their way to clients that have not taken them, of all streams and large answers together; past it the slowest clients are cut.
    streams_bytes: u64 = "33554432";
    /// Native: connections open at once; past it 503.
    connections: u32 = "10240";
    /// Native: connections open at once of one client address (IPv6: of its /64); trusted proxies have no such limit.
    connections_per_address: u32 = "1024";
    /// Native: bytes of request bodies on their way or being worked on, of all clients together; one address has a quarter of it. Past it 503.
    body_bytes: u64 = "33554432";
    /// Native: most bytes of a request head, from 8192 to 1048576.
    head_bytes: u32 = "65536";
    /// Native: request heads at once of which only a part has arrived; one address has a quarter of it. Past it 503.
    heads: u32 = "1024";
    /// Native: requests at once on one HTTP/2 connection.
    http2_streams: u32 = "100";
    /// Native: bytes of bodies that a client may send ahead on one HTTP/2 connection, from 65535 to 16777216.
    http2_window_bytes: u32 = "65535";
    /// Seconds a client may take for a request head, for a piece of a body, and to take a piece of an answer (native).
    client_seconds: u32 = "30";
    /// Licences of sources where the operator knows better: `source=SPDX;source=SPDX`.
    source_licences: String = "";
    /// What is fetched by itself, by comma: ooni-aggregation, ooni-measurements, ioda. Empty: nothing.
    fetch_sources: String = "";
    /// Hours between two rounds of a fetch.
    fetch_hours: u32 = "6";
    /// Seconds between two requests of fetches.
    fetch_pause_seconds: u32 = "5";
    /// The day that a fetch begins with when it never ran; empty means seven days ago.
    fetch_since: String = "";
    /// Where OONI's interface is.
    fetch_ooni_url: String = "https://api.ooni.org";
    /// Where IODA's interface is.
    fetch_ioda_url: String = "https://api.ioda.inetintel.cc.gatech.edu/v2";
    /// Fetch over plain HTTP and from private addresses too, such as a mirror in the own network.
    fetch_private: bool = "false";
    /// Networks that webhooks and deliveries to peers may go to beyond the open Internet, by comma, also over plain HTTP: `127.0.0.0/8,::1/128`.
    allow_outbound: String = "";
    /// Messages per second that a peer may bring.
    peer_per_second: u32 = "50";
    /// Messages that a peer may bring at once before the rate counts.
    peer_burst: u32 = "500";
    /// DIDs per minute that the peers are asked for on behalf of one agent or client address.
    peer_questions_per_minute: u32 = "60";
    /// Where to report vulnerabilities, for `/.well-known/security.txt`: a `mailto:` or `https:` address.
    security_contact: String = "";
    /// Native: memory for pages, rows and checksums of the data file, in bytes. 0: a 32nd of the file as it is at the start, at least 44 MiB and at most an eighth of the memory that the process may use.
    cache_bytes: u64 = "0";
    /// Native: memory for rows that are in the journal and not in the data file yet, in bytes. Twice as much may be in use.
    journal_bytes: u64 = "8388608";
    /// Native: memory for answers that were computed lately and are kept until their rows change or the hour ends, in bytes.
    answer_cache_bytes: u64 = "50331648";
    /// Write one line per request to the log, at the level `info`.
    access_log: bool = "false";
    /// Which lines the log gets. `error` needs somebody now, `warn` some day, `info` nobody; `debug` and `trace` help to find a fault. Each level has the lines of those before it.
    log_level: String = "info";
    /// Form of the lines of the log: `text`, or `json` with one object a line.
    log_format: String = "text";
    /// Native: one more address to listen on, which answers `/metrics` alone and to anybody: `127.0.0.1:9187`. Empty: none; `/metrics` on the usual address takes the operator's key.
    metrics_listen: String = "";
    /// Native: seconds that requests under way have to end once the server is told to stop.
    stop_seconds: u32 = "10";
    /// Native: file of the certificate for TLS, PEM, with those that lead to its authority behind it. Empty: none, and plain HTTP unless `acme_domains` is set.
    tls_certificate: String = "";
    /// Native: file of the private key of `tls_certificate`, PEM.
    tls_key: String = "";
    /// Native: names, by comma, that a certificate is asked for at an authority by ACME (TLS-ALPN-01, port 443 of the name must lead here): `heliograph.example.org`. Empty: none.
    acme_domains: String = "";
    /// Native: addresses, by comma, that the authority may write to: `mailto:operator@example.org`.
    acme_contact: String = "";
    /// Native: directory of the authority.
    acme_directory: String = "https://acme-v02.api.letsencrypt.org/directory";
    /// Native: file of the certificates, PEM, that the authority's own address is checked with; empty means those that browsers trust.
    acme_roots: String = "";
    /// Native: one more address to listen on, which sends who comes there to the same path of `public_url`: `0.0.0.0:80`. Empty: none.
    redirect_listen: String = "";
}

/// The parts of a list by comma.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

impl Settings {
    /// What `allowed_origins` lists.
    pub fn origins(&self) -> impl Iterator<Item = &str> {
        listed(&self.allowed_origins)
    }

    /// What `acme_domains` lists.
    pub fn acme_names(&self) -> impl Iterator<Item = &str> {
        listed(&self.acme_domains)
    }

    /// What `acme_contact` lists.
    pub fn acme_contacts(&self) -> impl Iterator<Item = &str> {
        listed(&self.acme_contact)
    }

    /// Whether somebody set this setting, be it to the default.
    pub fn is_chosen(&self, name: &str) -> bool {
        self.chosen.contains(name)
    }

    /// The public keys of `ledger_admin_keys`, each with the word of its role; `None` when the setting is of no such
    /// form.
    pub fn admin_keys(&self) -> Option<Vec<([u8; 32], &str)>> {
        let parts = self.ledger_admin_keys.split(',').map(str::trim).filter(|part| !part.is_empty());
        let keys = parts.map(|part| {
            let (key, role) = part.split_once(':')?;
            let key = decode_base64_array("key", key.trim()).ok()?;
            signing::validate_signing_key("key", &key).ok()?;
            ADMIN_ROLES.contains(&role.trim()).then_some((key, role.trim()))
        });
        keys.collect::<Option<Vec<_>>>().filter(|keys| keys.len() <= MAX_ADMIN_KEYS)
    }

    /// The form of new keys of agents.
    pub fn agent_key_form(&self) -> KeyForm {
        if self.agent_key_format == "hex" { KeyForm::Hex } else { KeyForm::Prefixed }
    }

    /// The name of a schema, which begins with the brand.
    pub fn schema(&self, name: &str) -> String {
        format!("{}-{name}", self.brand)
    }

    /// What links in answers begin with, without a slash at the end.
    pub fn base_url(&self) -> String {
        match self.public_url.trim_end_matches('/') {
            "" => format!("http://{}", self.listen),
            url => url.to_owned(),
        }
    }

    /// Puts the public figures of existing deployments in force, for a server that the world can reach. Values that somebody chose stay.
    pub fn open_to_the_world(&mut self) {
        let Settings { chosen, .. } = self;
        let raise = |name: &str, value: &mut u32, public: u32| {
            if !chosen.contains(name) {
                *value = public;
            }
        };
        raise("data_per_minute", &mut self.data_per_minute, 120);
        raise("forecast_per_minute", &mut self.forecast_per_minute, 60);
        raise("incidents_per_minute", &mut self.incidents_per_minute, 100);
        raise("computing_per_minute", &mut self.computing_per_minute, 60);
        raise("pay_reads_per_minute", &mut self.pay_reads_per_minute, 600);
        raise("pay_writes_per_address", &mut self.pay_writes_per_address, 600);
        raise("faucet_per_address", &mut self.faucet_per_address, 3);
        raise("signups_per_day", &mut self.signups_per_day, 20);
        raise("probes_per_hour", &mut self.probes_per_hour, 5);
        raise("registrations_per_hour", &mut self.registrations_per_hour, 60);
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut map = f.debug_map();
        for setting in Settings::ALL {
            map.entry(&setting.name, &self.get(setting.name).unwrap_or_default());
        }
        map.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_valid_and_round_trips() {
        let mut settings = Settings::default();
        for setting in Settings::ALL.iter().filter(|setting| !setting.secret) {
            assert_eq!(settings.get(setting.name).unwrap(), setting.default, "{}", setting.name);
            settings.set(setting.name, setting.default).unwrap();
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn a_value_that_was_chosen_stays_when_the_world_comes_even_if_it_is_the_default() {
        let mut settings = Settings::default();
        settings.set("signups_per_day", "1000").unwrap();
        settings.open_to_the_world();
        assert_eq!((settings.signups_per_day, settings.data_per_minute), (1_000, 120));
    }

    #[test]
    fn secrets_are_never_printed() {
        let mut settings = Settings::default();
        settings.set("admin_key", "hunter2").unwrap();
        assert_eq!(settings.get("admin_key").unwrap(), "(set)");
        assert!(!format!("{settings:?}").contains("hunter2"));
    }

    #[test]
    fn bad_values_are_refused_with_a_reason() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("brand", "Svc"),
            ("brand", "s"),
            ("brand", "svc_x"),
            ("signups_per_day", "-1"),
            ("access_log", "maybe"),
            ("stream_seconds", "60"),
            ("client_seconds", "0"),
            ("fetch_sources", "ioda,oony"),
            ("fetch_since", "soon"),
            ("allow_outbound", "127.0.0.1:80"),
            ("allow_outbound", "10.0.0.0/33"),
            ("streams_per_agent", "0"),
            ("stream_bytes", "262145"),
            ("connections", "0"),
            ("body_bytes", "33554431"),
            ("head_bytes", "8191"),
            ("allowed_origins", "app.example.org"),
            ("allowed_origins", "https://app.example.org/path"),
            ("trusted_proxies", "10.0.0.1:443"),
            ("trusted_proxies", "proxy.example"),
            ("client_address_header", "no header"),
            ("memory_bytes", "0"),
            ("memory_value_bytes", "1800001"),
            ("channels_per_agent", "1001"),
            ("log_level", "verbose"),
            ("log_format", "xml"),
            ("metrics_listen", "localhost"),
            ("redirect_listen", "80"),
            ("acme_domains", "https://a.example"),
            ("acme_contact", "a@example.org"),
            ("acme_directory", "http://a.example/dir"),
            ("nonsense", "1"),
        ] {
            assert!(settings.clone().set(name, value).is_err(), "{name}={value}");
        }
        let told = settings.clone().set("signups_per_day", "-1").unwrap_err();
        assert_eq!(told, "signups_per_day must be a whole number from 0 to 4294967295");
        settings.set("allow_outbound", "127.0.0.0/8, ::1/128").unwrap();
        settings.set("allowed_origins", "https://app.example.org, http://[::1]:5173").unwrap();
        settings.set("brand", "acme2").unwrap();
        settings.set("fetch_sources", "ioda, ooni-aggregation").unwrap();
    }
}
