//! What was found about a claim, and what of it decides.

use super::check::CONFIRMING_NETWORKS;
use crate::intelligence::country::State;

/// Where so many days of a period were decided, one blocked day does not speak for it. Our choice.
const CLEAR_DAYS: u32 = 3;
/// What is less sure than this decides nothing: the opposite is as probable.
pub const DOUBTFUL: f64 = 0.5;

/// What measurements, lists and incidents say about one topic in one country and period.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// The verdict that speaks for the period: on its last blocked day, else at its end.
    pub state: State,
    pub confidence: f64,
    /// Decided by measurements, and not by a list.
    pub measured: bool,
    pub networks_blocked: u32,
    /// Measurements that the verdict rests on, and of all days of the period.
    pub evidence: u32,
    pub measurements: u32,
    /// Days of the period with a verdict of blocked, and with any.
    pub blocked_days: u32,
    pub decided_days: u32,
    /// Blocked by votes from before the claimed days alone.
    pub before: bool,
    /// Whether what is known lasts as long as the claim says.
    pub covers: bool,
    /// What is known begins or ends at another time than the claim says.
    pub misdated: bool,
    /// The incident is lost connectivity that nobody is known to have ordered.
    pub unordered: bool,
    /// Incidents are known, but of other parts of the country than the claim speaks of.
    pub elsewhere: bool,
    /// Whether throttling is among the methods that were measured, and whether it is all of them.
    pub throttled: bool,
    pub only_throttled: bool,
    /// All this is of several services, which are not all that the claim speaks of.
    pub several: bool,
    /// All this is of the one network that the claim names, and not of the country.
    pub one_network: bool,
    /// ... of which nothing is decided, while something is known of other networks.
    pub elsewhere_only: bool,
    /// The claim is about the present, and nothing is measured that is new enough to say how it is.
    pub outdated: bool,
    /// Confidence of the surest incident that is of another kind than the claimed one.
    pub other_kind: Option<f64>,
    /// Confidence of the surest incident of the period that is more than suspected, and of the surest suspected one.
    pub incident: Option<f64>,
    pub suspected: Option<f64>,
    /// ... and whether that incident had ended by the time that the claim calls it over.
    pub over: bool,
    /// It ended later than the days of the claim, and by more than sources differ.
    pub late: bool,
    /// The claim dates an end, and it had ended before that.
    pub early: bool,
    /// It went on beyond the time that is looked at, and for no more than a few days.
    pub soon_over: bool,
    /// The claim says that it goes on since then, and its end is on record.
    pub lapsed: bool,
    /// An incident is known that goes on, or was lately said to.
    pub goes_on: bool,
    /// The claim dates an end, which incidents record: what failed after it is another matter.
    pub dated_end: bool,
    /// ... so lately that blocked votes from before it still count.
    pub settling: bool,
    /// The claim is about now, and the verdict is of now.
    pub of_now: bool,
    /// ... and confidence of the surest incident that ended lately.
    pub gone: Option<f64>,
}

/// Of a topic about which nothing is known.
pub const NOTHING: Findings = Findings {
    state: State::Unknown,
    confidence: 0.0,
    measured: false,
    networks_blocked: 0,
    evidence: 0,
    measurements: 0,
    blocked_days: 0,
    decided_days: 0,
    before: false,
    covers: true,
    misdated: false,
    unordered: false,
    elsewhere: false,
    throttled: false,
    only_throttled: false,
    several: false,
    one_network: false,
    elsewhere_only: false,
    outdated: false,
    other_kind: None,
    incident: None,
    suspected: None,
    over: false,
    late: false,
    early: false,
    soon_over: false,
    lapsed: false,
    goes_on: false,
    dated_end: false,
    settling: false,
    of_now: false,
    gone: None,
};

impl Default for Findings {
    /// Nothing.
    fn default() -> Self {
        NOTHING
    }
}

impl Findings {
    /// Whether anything at all speaks about the period.
    pub fn is_empty(&self) -> bool {
        self.evidence == 0
            && self.measurements == 0
            && self.incident.is_none()
            && self.suspected.is_none()
            && self.state == State::Unknown
            && self.other_kind.is_none()
            && !self.elsewhere
            && !self.elsewhere_only
            && !self.before
            && self.gone.is_none()
    }

    /// Measured, and not to be relied on.
    pub fn is_doubtful(&self) -> bool {
        self.measured && self.confidence < DOUBTFUL
    }

    /// Decided by measurements that can be relied on.
    pub fn is_decided(&self) -> bool {
        self.measured && self.state != State::Unknown && self.confidence >= DOUBTFUL && !self.before
    }

    /// Confidence of the incident, where no verdict decides in its place.
    pub fn deciding_incident(&self) -> Option<f64> {
        // What goes on since then must be so now, and of that a verdict of now tells more than an incident that is over.
        let outdone = |confidence: f64| self.is_decided() && (confidence < DOUBTFUL || self.lapsed && !self.covers);
        // Where nothing blocks it now, an incident that nobody saw end is no more than what was.
        let now = self.of_now && self.is_decided() && self.state == State::Accessible && self.networks_blocked == 0;
        self.incident.filter(|confidence| !now && !outdone(*confidence))
    }

    /// Whether it is blocked at the time when it is said to be over.
    pub fn is_still_blocked(&self) -> bool {
        let lone = self.settling || self.networks_blocked < CONFIRMING_NETWORKS;
        let outdone = self.measured && (self.is_doubtful() || self.dated_end && lone);
        self.state == State::Blocked && !(outdone && self.incident.is_some())
    }

    /// One blocked day among several that were clear.
    pub const fn is_sporadic(&self) -> bool {
        self.blocked_days == 1 && self.decided_days >= CLEAR_DAYS
    }
}
