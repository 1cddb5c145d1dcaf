//! A probe at work: consent, registration, cycles and submission.

use std::path::PathBuf;
use std::time::Duration;

use heliograph_core::crypto::encoding::encode_hex;
use heliograph_core::crypto::hash::hmac_sha256;
use heliograph_core::facts::starter::basket;
use heliograph_core::intelligence::probe::ADVISORY;
use serde_json::{Value, json};

use super::measure::{Measurer, Site};
use super::state::{Identity, State};
use crate::clock;

/// Shortest pause between cycles, in seconds.
pub const MIN_INTERVAL: u64 = 300;
/// Most sites per cycle: a submission has no more rows.
pub const MAX_SITES: usize = 100;
/// A list with fewer sites is not used.
const MIN_LIST: usize = 40;
/// The list of sites is read again after so many cycles.
const LIST_EVERY: u64 = 96;
/// Time limits of requests to the server.
const LIST_LIMIT: Duration = Duration::from_secs(15);
const SEND_LIMIT: Duration = Duration::from_secs(30);

/// The settings of a probe, given by its operator.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Address of the server, without a slash at the end.
    pub server: String,
    pub folder: PathBuf,
    /// ISO 3166 alpha-2; `XX` withholds the country.
    pub country: String,
    pub city: Option<String>,
    pub asn: Option<u32>,
    /// The brand in the name of the signature header.
    pub brand: String,
    /// The operator read [`consent_text`] and agreed.
    pub consent: bool,
    /// The operator pays for this host's traffic. A program cannot find that out (decision addresses-discarded).
    pub metered: bool,
    /// Measure even if the traffic is metered.
    pub allow_metered: bool,
    pub interval: Duration,
    pub sites_per_cycle: usize,
    /// Pause between two sites, before jitter.
    pub pause: Duration,
}

impl Settings {
    /// Refuses settings that are impolite or unsafe.
    pub fn check(&self) -> Result<(), String> {
        let host = self.server.split_once("://").map(|(_, rest)| rest.split(['/', ':']).next().unwrap_or_default());
        let local = host.is_some_and(|host| ["localhost", "127.0.0.1"].contains(&host));
        if !(self.server.starts_with("https://") || self.server.starts_with("http://") && local) {
            return Err("the server must be reached over https, except on this machine".to_owned());
        }
        if self.interval < Duration::from_secs(MIN_INTERVAL) {
            return Err(format!("the interval must be at least {MIN_INTERVAL} seconds"));
        }
        if !(1..=MAX_SITES).contains(&self.sites_per_cycle) {
            return Err(format!("the sites of a cycle must be 1 to {MAX_SITES}"));
        }
        if self.metered && !self.allow_metered {
            return Err("this host is metered: nothing is measured unless --allow-metered is given".to_owned());
        }
        Ok(())
    }
}

/// The text that the operator of a probe must read before it measures.
pub fn consent_text(server: &str, country: &str) -> String {
    let mut text = format!(
        "This probe asks about 20 sites in each cycle from this host's own network: it looks up their names, connects, \
         and reads the beginning of one page. Some of them may be blocked here, and the operator of this network can see \
         that this host asks for them. Results (site, time, outcome, the country you gave) go to {server} and are \
         published. Your address is not: the server keeps a salted hash of the block it is in.\n"
    );
    if ADVISORY.contains(&country) {
        text.push_str(
            "ADVISORY: where you are, asking for blocked sites can have legal or personal consequences. Run this only if \
             you know and accept them.\n",
        );
    }
    text
}

/// The duration made up to a fifth shorter or longer, so that probes do not all send at the same time.
fn jittered(duration: Duration) -> Duration {
    let dice = clock::random::<2>().map_or(0.5, |bytes| f64::from(u16::from_be_bytes(bytes)) / f64::from(u16::MAX));
    duration.mul_f64(0.8 + 0.4 * dice)
}

/// The outcome of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Taken,
    /// The submission waits on disk.
    Waits,
    /// The server refuses the submission for good.
    Refused(u16),
}

/// A probe at work.
pub struct Session {
    settings: Settings,
    identity: Identity,
    state: State,
    agent: ureq::Agent,
    measurer: Measurer,
    sites: Vec<Site>,
    /// The number of the next site, and of the cycles so far.
    next: usize,
    cycles: u64,
}

fn agent() -> Result<ureq::Agent, String> {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(SEND_LIMIT))
        .tls_config(crate::trust::tls()?)
        .user_agent(concat!("heliograph-probe/", env!("CARGO_PKG_VERSION")));
    Ok(config.build().new_agent())
}

impl Session {
    /// Uses the identity of an earlier run, or registers a new one. Nothing leaves this host without consent.
    pub fn begin(settings: Settings, measurer: Measurer) -> Result<Session, String> {
        settings.check()?;
        let state = State::open(&settings.folder)?;
        let known = state.identity()?.filter(|known| known.server == settings.server);
        if known.is_none() && !settings.consent {
            return Err("nothing was measured: consent is needed (--consent)".to_owned());
        }
        let agent = agent()?;
        let identity = match known {
            Some(identity) => identity,
            None => {
                let identity = register(&agent, &settings)?;
                state.remember(&identity)?;
                identity
            }
        };
        Ok(Session { settings, identity, state, agent, measurer, sites: Vec::new(), next: 0, cycles: 0 })
    }

    /// The id of the node.
    pub fn node(&self) -> &str {
        &self.identity.node_id
    }

    /// One cycle: sends waiting submissions, then measures the next sites and sends the results.
    pub fn cycle(&mut self) -> Result<Sent, String> {
        if self.cycles.is_multiple_of(LIST_EVERY) || self.sites.is_empty() {
            self.sites = self.list().unwrap_or_else(built_in);
        }
        self.cycles += 1;
        self.send_waiting()?;
        let many = self.settings.sites_per_cycle.min(self.sites.len());
        let sites: Vec<Site> = self.sites.iter().cycle().skip(self.next).take(many).cloned().collect();
        self.next = (self.next + sites.len()) % self.sites.len().max(1);
        let mut rows = Vec::with_capacity(sites.len());
        for (number, site) in sites.iter().enumerate() {
            if number > 0 {
                std::thread::sleep(jittered(self.settings.pause));
            }
            let at = clock::now();
            rows.push(self.measurer.measure(site).row(site, &at.to_string()));
        }
        self.submit(rows)
    }

    /// Runs cycles until the process ends.
    pub fn run(&mut self, mut told: impl FnMut(&Sent)) -> Result<(), String> {
        loop {
            told(&self.cycle()?);
            std::thread::sleep(jittered(self.settings.interval));
        }
    }

    /// Sends rows under a new submission id. If they cannot be sent now, they wait on disk.
    pub fn submit(&self, rows: Vec<Value>) -> Result<Sent, String> {
        let submission = json!({
            "nodeId": self.identity.node_id, "nodeCountry": self.settings.country, "nodeType": "community",
            "timestamp": clock::now().to_string(), "submissionId": encode_hex(&clock::random::<16>()?), "results": rows,
        });
        let sent = self.send(&submission);
        if sent == Sent::Waits {
            self.state.keep(clock::now().seconds(), &submission)?;
        }
        Ok(sent)
    }

    fn send_waiting(&self) -> Result<(), String> {
        for kept in self.state.waiting()? {
            let Some(submission) = self.state.take(&kept, clock::now().seconds()) else { continue };
            match self.send(&submission) {
                Sent::Waits => break,
                Sent::Taken | Sent::Refused(_) => self.state.drop(&kept.1),
            }
        }
        Ok(())
    }

    /// Makes one attempt. Only 200 is success.
    fn send(&self, submission: &Value) -> Sent {
        let body = submission.to_string();
        let signature = encode_hex(&hmac_sha256(self.identity.token.as_bytes(), body.as_bytes()));
        let answer = self
            .agent
            .post(format!("{}/v1/probe/results", self.settings.server))
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {}", self.identity.token))
            .header(format!("x-{}-signature", self.settings.brand), format!("sha256={signature}"))
            .send(body);
        match answer.map(|answer| answer.status().as_u16()) {
            Ok(200) => Sent::Taken,
            // A submission with such an error would be refused again.
            Ok(status @ (400 | 401 | 403 | 413 | 415)) => Sent::Refused(status),
            Ok(_) | Err(_) => Sent::Waits,
        }
    }

    /// The server's list of sites; `None` when the server cannot be reached, or gives too few.
    fn list(&self) -> Option<Vec<Site>> {
        let address = format!("{}/v1/probe/domains?country={}", self.settings.server, self.settings.country);
        let request = self.agent.get(address).config().timeout_global(Some(LIST_LIMIT)).build();
        let mut answer = request.call().ok().filter(|answer| answer.status() == 200)?;
        let list: Value = serde_json::from_str(&answer.body_mut().read_to_string().ok()?).ok()?;
        let mut sites: Vec<Site> = Vec::new();
        for row in ["global", "country_domains"].iter().filter_map(|name| list.get(name)?.as_array()).flatten() {
            let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
            let (Some(url), Some(domain)) = (text("url"), text("domain")) else { continue };
            if !sites.iter().any(|known| known.domain == domain) {
                let category = text("category").unwrap_or_else(|| "other".to_owned());
                sites.push(Site { url, domain, category });
            }
        }
        (sites.len() >= MIN_LIST).then_some(sites)
    }
}

/// The project's own sites, for a server without a list.
fn built_in() -> Vec<Site> {
    let site = |target: &basket::BasketSite| Site {
        url: format!("https://{}/", target.domain),
        domain: target.domain.to_owned(),
        category: "other".to_owned(),
    };
    basket::probe_targets().map(site).collect()
}

fn register(agent: &ureq::Agent, settings: &Settings) -> Result<Identity, String> {
    let body = json!({
        "country": settings.country, "city": settings.city, "asn": settings.asn,
        "version": env!("CARGO_PKG_VERSION"),
    });
    let address = format!("{}/v1/community/register", settings.server);
    let request = agent.post(&address).header("content-type", "application/json");
    let mut answer = request.send(body.to_string()).map_err(|error| format!("{address}: {error}"))?;
    let status = answer.status();
    let text = answer.body_mut().read_to_string().map_err(|error| format!("{address}: {error}"))?;
    if !status.is_success() {
        return Err(format!("{address} answered {status}: {text}"));
    }
    let made: Value = serde_json::from_str(&text).map_err(|error| format!("{address}: {error}"))?;
    let member = |name: &str| {
        let found = made.get(name).and_then(Value::as_str).map(str::to_owned);
        found.ok_or_else(|| format!("{address}: the answer has no {name}"))
    };
    Ok(Identity {
        server: settings.server.clone(),
        node_id: member("nodeId")?,
        token: member("nodeToken")?,
        country: settings.country.clone(),
        consented: clock::now().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probes that started together must not stay in step.
    #[test]
    fn pauses_differ_by_up_to_a_fifth() {
        let pauses: Vec<Duration> = (0..200).map(|_| jittered(Duration::from_secs(900))).collect();
        let (least, most) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
        assert!(*least >= Duration::from_secs(720) && *most <= Duration::from_secs(1_080), "{least:?} {most:?}");
        assert!(*most - *least > Duration::from_secs(90), "{least:?} {most:?}");
    }
}
