//! The list of rules: stable ids, log10 likelihood ratios and the meaning of each rule.
//!
//! Exactly ONE rule decides a measurement of a target. The ratio of the rule gives the vote (blocked at 1 or more,
//! clear at -0.2 or less, else masked; decision one-rule-one-vote). Its class is the answer of `classify` for a single
//! document. Ratios marked "OONI labels" are published ones, from 126 adjudicated measurements; the others are our
//! choice and say so.

use super::technique::Technique;

/// The kind of statement that a rule makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Blocked,
    Clear,
    /// Says nothing about blocking.
    Masked,
    /// The site itself fails, whether blocked or not.
    Down,
}

/// One rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub id: RuleId,
    /// The stable name, dotted.
    pub name: &'static str,
    pub class: Class,
    /// log10 of P(rule fires | blocked) / P(rule fires | not blocked); 0 for masked and down.
    pub log10_lr: f64,
    /// The rule counts only with a control: peers on other networks (decision controls-from-peers).
    pub needs_control: bool,
    /// The technique that the rule shows unless the evidence tells more.
    pub technique: Option<Technique>,
    pub source: &'static str,
    pub meaning: &'static str,
    /// The code of the sentence that says what it means.
    pub sentence: &'static str,
}

macro_rules! rules {
    ($($name:ident = $code:literal, $id:literal, $class:ident, $lr:literal, $control:literal, $technique:expr, $source:ident, $meaning:literal;)+) => {
        /// Identity of a rule. The number is stored and the name is published; neither is ever reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum RuleId { $(#[doc = $meaning] $name = $code,)+ }

        /// Every rule, by code.
        pub const RULES: &[Rule] = &[$(RuleId::$name.rule(),)+];

        impl RuleId {
            pub const fn code(self) -> u8 { self as u8 }

            pub const fn from_code(code: u8) -> Option<RuleId> {
                match code { $($code => Some(RuleId::$name),)+ _ => None }
            }

            /// The rule itself.
            pub const fn rule(self) -> Rule {
                match self {
                    $(RuleId::$name => Rule {
                        id: RuleId::$name,
                        name: $id,
                        class: Class::$class,
                        log10_lr: $lr,
                        needs_control: $control,
                        technique: $technique,
                        source: $source,
                        meaning: $meaning,
                        sentence: concat!("rule.", $id),
                    },)+
                }
            }
        }
    };
}

const LABELS: &str = "OONI labels";
const RULING: &str = "decision half-of-a-pool";
const FASTPATH: &str = "fastpath sensitivity and specificity";
const OURS: &str = "our choice";
const CONFIRM: &str = "decision probes-confirm-probes";

use Technique as T;

rules! {
    DnsFingerprint = 1, "dns.fingerprint.confirmed", Blocked, 3.0, false, Some(T::DnsInjectionBlockpage), OURS,
        "The answer is the address of a block page known for this country.";
    DnsBogon = 2, "dns.bogon.control_never_saw", Blocked, 1.78, false, Some(T::DnsInjectionBogon), LABELS,
        "The answer is a private or reserved address that the control never saw.";
    DnsFailure = 3, "dns.failure.control_ok", Blocked, 1.61, false, Some(T::Dns), LABELS,
        "The resolver fails where the control resolves.";
    DnsFailureNoControl = 4, "dns.failure.no_control", Blocked, 1.61, true, Some(T::Dns), LABELS,
        "The resolver fails and the measurement carries no control.";
    DnsInvented = 5, "dns.answer.invented", Blocked, 0.95, false, Some(T::DnsInjection), OURS,
        "The resolver answers where the control says that the name does not exist; also seen with advertising resolvers.";
    DnsForeignDead = 6, "dns.answer.foreign_dead", Blocked, 1.52, false, Some(T::DnsInjection), LABELS,
        "The answer is in none of the control's networks and the address does not serve the site.";
    DnsUnmatched = 7, "dns.answer.unmatched", Masked, 0.58, false, Some(T::DnsInjection), LABELS,
        "The answer differs from the control's and nothing else was seen; content networks cause this too.";
    DnsBothFail = 8, "dns.both_fail", Down, 0.0, false, None, OURS, "Probe and control both fail to resolve.";
    DnsBogonBoth = 9, "dns.bogon.both", Down, 0.0, false, None, OURS,
        "Probe and control get the same private or reserved address.";
    TcpFailure = 10, "tcp.failure.control_ok", Blocked, 1.52, false, Some(T::Tcp), LABELS,
        "Connecting fails where the control connects.";
    TcpFailureNoControl = 11, "tcp.failure.no_control", Blocked, 1.52, true, Some(T::Tcp), LABELS,
        "Connecting fails and the measurement carries no control.";
    TcpBothFail = 12, "tcp.both_fail", Down, 0.0, false, None, OURS,
        "Probe and control both fail to connect to an address that the control resolved itself.";
    TcpOk = 13, "tcp.ok", Clear, -0.24, false, None, LABELS, "Connecting works; nothing further was tried.";
    TlsReset = 14, "tls.reset.control_ok", Blocked, 2.04, false, Some(T::TlsReset), LABELS,
        "The handshake is reset where the control's works.";
    TlsOther = 15, "tls.failure.control_ok", Blocked, 1.60, false, Some(T::Tls), LABELS,
        "The handshake fails where the control's works.";
    TlsCertificate = 16, "tls.certificate.control_ok", Blocked, 1.55, false, Some(T::TlsMitm), LABELS,
        "The certificate is not the site's, while the control sees the right one.";
    TlsForeignCertificate = 17, "tls.certificate.foreign_address", Blocked, 1.55, false, Some(T::TlsMitm), LABELS,
        "A wrong certificate on an address that the control never resolved.";
    TlsFailureNoControl = 18, "tls.failure.no_control", Blocked, 1.60, true, Some(T::Tls), LABELS,
        "The handshake fails and the measurement carries no control.";
    TlsBothFail = 19, "tls.both_fail", Down, 0.0, false, None, OURS,
        "Probe and control both fail the handshake on an address that the control resolved itself.";
    TlsValid = 20, "tls.valid", Clear, -1.08, false, None, LABELS, "A valid certificate for the name.";
    HttpFingerprint = 21, "http.fingerprint.confirmed", Blocked, 3.0, false, Some(T::HttpBlockpage), OURS,
        "The page is a block page known for this country.";
    Http451 = 22, "http.451", Blocked, 1.2, false, Some(T::Http451), OURS,
        "Status 451 over plain HTTP where the control gets the page.";
    HttpDiff = 23, "http.diff.control_ok", Blocked, 1.2, false, Some(T::HttpBlockpage), OURS,
        "The page differs from the control's in title, headers and length.";
    HttpDiffUnchecked = 24, "http.diff.unchecked", Masked, 0.9, false, Some(T::HttpBlockpage), OURS,
        "A different page is reported, and too little is known to tell a block page from a page of the site.";
    HttpFailure = 25, "http.failure.control_ok", Blocked, 1.5, false, Some(T::Http), OURS,
        "HTTP fails after a connection where the control gets the page.";
    HttpFailureNoControl = 26, "http.failure.no_control", Blocked, 1.5, true, Some(T::Http), OURS,
        "HTTP fails after a connection and the measurement carries no control.";
    HttpTimeoutPool = 27, "http.timeout.pool", Blocked, 1.5, true, Some(T::HttpTimeout), RULING,
        "At least half of the service's endpoints fail at HTTP after connecting, while peers succeed.";
    HttpBothFail = 28, "http.both_fail", Down, 0.0, false, None, OURS, "Probe and control both fail at HTTP.";
    HttpSiteFault = 29, "http.site_fault", Down, 0.0, false, None, OURS,
        "The server answers with something no client can follow, such as a redirect without a host.";
    HttpThrottled = 30, "http.timeout.after_status", Blocked, 0.95, false, Some(T::Throttling), OURS,
        "The page starts and then stalls, while the control gets all of it.";
    HttpSame = 31, "http.same", Clear, -1.08, false, None, OURS,
        "The same page as the control's over plain HTTP (ratio of a valid certificate).";
    HttpAnswered = 32, "http.answered.no_control", Masked, 0.0, false, None, OURS,
        "A plain HTTP answer without a control to compare it with.";
    HttpChallenge = 33, "http.server_side_challenge", Masked, 0.0, false, None, OURS,
        "A challenge or error page of the server or its content network.";
    HttpAnalysisClear = 34, "http.analysis_clear", Clear, -0.48, false, None, FASTPATH,
        "HTTP works and the client's own comparison finds nothing.";
    PoolTcpFailure = 35, "tcp.failure.pool", Blocked, 1.52, true, Some(T::Tcp), LABELS,
        "At least half of the service's endpoints cannot be connected to, while peers succeed.";
    PoolOk = 36, "pool.ok", Clear, -0.98, false, None, OURS, "More than half of the service's endpoints answer.";
    AnalysisDown = 37, "analysis.down", Down, 0.0, false, None, OURS,
        "The target fails, and the client's own comparison blames the site.";
    AnalysisBlocked = 38, "analysis.blocked", Blocked, 1.5, false, None, OURS,
        "The client reports blocking after comparing with its control; the rows hold no more detail.";
    FastpathConfirmed = 39, "fastpath.confirmed", Blocked, 3.0, false, None, OURS,
        "The fastpath matched a block page fingerprint.";
    FastpathAnomaly = 40, "fastpath.anomaly", Blocked, 2.03, false, None, FASTPATH,
        "The fastpath scores the measurement as anomalous.";
    FastpathClear = 41, "fastpath.clear", Clear, -0.48, false, None, FASTPATH, "The fastpath finds nothing.";
    FastpathAmbiguous = 42, "fastpath.ambiguous", Masked, 0.0, false, None, OURS,
        "The score does not tell which role of the service failed.";
    FastpathServiceAnomaly = 43, "fastpath.service.anomaly", Blocked, 1.5, true, None, OURS,
        "The fastpath scores a service test, which has no control, as anomalous.";
    ServiceBlocked = 44, "service.reported_blocked", Blocked, 1.5, true, None, OURS,
        "The test of the service reports it as blocked; the test has no control.";
    ServiceOk = 45, "service.reported_ok", Clear, -0.98, false, None, OURS, "The test of the service reports success.";
    InstrumentFault = 46, "instrument.fault", Masked, 0.0, false, None, OURS,
        "The failure is one of the probe's software, such as an outdated pinned certificate authority.";
    LocalFault = 47, "probe.local_fault", Masked, 0.0, false, None, OURS,
        "The probe's own network or host failed: unreachable network, no IPv6, no memory.";
    NoEvidence = 48, "no_evidence", Masked, 0.0, false, None, OURS, "Nothing was tried that could show a block.";
    NoControl = 49, "no_control", Masked, 0.0, false, None, OURS,
        "Something failed, and there is no control.";
    RemoteMatch = 50, "remote.match", Clear, -0.48, false, None, OURS,
        "A server in the country, asked from outside, answers as it does for its controls (ratio of the fastpath).";
    ProbeUnconfirmed = 51, "probe.unconfirmed", Masked, 0.0, false, None, CONFIRM,
        "A volunteer's probe says so, and no other probe or source on its network agrees within the same six hours.";
    ProbeDnsDiffers = 52, "probe.dns.differs", Blocked, 1.5, true, Some(T::DnsInjection), OURS,
        "A probe gets other addresses from its resolver than from a public one.";
    ProbeSni = 53, "probe.sni.other_name_ok", Blocked, 1.6, false, Some(T::TlsResetSni), OURS,
        "A probe's handshake fails with the name of the site and works with another name on the same address.";
    ProbeBlockpage = 54, "probe.blockpage", Blocked, 2.0, false, Some(T::HttpBlockpage), OURS,
        "A probe gets a page with the fingerprint of a known block page.";
    ProbeRedirect = 55, "probe.redirect", Masked, 0.6, false, Some(T::HttpRedirect), OURS,
        "A probe is redirected to another site, whose page has no known fingerprint.";
    DownElsewhere = 56, "target.down_elsewhere", Down, 0.0, false, None, OURS,
        "The target fails, and in the same hours it failed in most of the other countries where it usually works.";
    TlsIntercepted = 57, "tls.certificate.pinned", Blocked, 1.55, false, Some(T::TlsMitm), LABELS,
        "The client sees certificates that are not the service's, and no known fault of the client explains them.";
}

impl RuleId {
    /// Whether a known block page was recognised: by its address, or by its fingerprint.
    pub const fn is_confirmed(self) -> bool {
        use RuleId::{DnsFingerprint, FastpathConfirmed, HttpFingerprint, ProbeBlockpage};
        matches!(self, DnsFingerprint | HttpFingerprint | FastpathConfirmed | ProbeBlockpage)
    }

    /// The rule with this name.
    pub fn from_name(name: &str) -> Option<RuleId> {
        RULES.iter().find(|rule| rule.name == name).map(|rule| rule.id)
    }
}
