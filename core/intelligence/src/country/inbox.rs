//! Messages of other actors to a country.

use serde::{Deserialize, Serialize};

use super::refresh::{self, Requeue};
use super::tables::{CATALOGUE, CONTROL_SITES, Catalogue, ControlSites, NETWORKS, OUTSIDE, PRIORS, Peers, Prior};
use super::{changes, days, past};
use crate::Result;
use crate::reference::NetworkEntry;
use engine::actor::{Kind, Operation, Turn};

fn requeue(turn: &mut Turn<'_>) -> Result<()> {
    let now = turn.now;
    turn.schedule("requeue", now, &Requeue { after: None })
}

/// Names and addresses of networks, from the reference actor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetNetworks {
    pub networks: Vec<(u32, NetworkEntry)>,
}

impl Operation for SetNetworks {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_networks";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut changed = false;
        for (asn, entry) in self.networks {
            let Some(before) = NETWORKS.get(turn, &(asn,))? else { continue };
            let mut after = before.clone();
            after.name = (!entry.name.is_empty()).then_some(entry.name);
            after.addresses = (entry.addresses > 0).then_some(entry.addresses);
            if after != before {
                NETWORKS.put(turn, &(asn,), &after)?;
                changed = true;
            }
        }
        if !changed {
            return Ok(());
        }
        changes::reweigh(turn)?;
        requeue(turn)
    }
}

/// The sites that the index needs, from the reference actor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetCatalogue {
    pub catalogue: Catalogue,
    pub control: Vec<String>,
}

impl Operation for SetCatalogue {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_catalogue";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let control = ControlSites(self.control);
        if CATALOGUE.get(turn, &())?.as_ref() == Some(&self.catalogue)
            && CONTROL_SITES.get(turn, &())?.as_ref() == Some(&control)
        {
            return Ok(());
        }
        let before = CATALOGUE.get(turn, &())?.unwrap_or_default();
        let other_controls = CONTROL_SITES.get(turn, &())?.as_ref() != Some(&control);
        CATALOGUE.put(turn, &(), &self.catalogue)?;
        CONTROL_SITES.put(turn, &(), &control)?;
        if other_controls {
            changes::all_again(turn)?;
        }
        if before.platforms != self.catalogue.platforms {
            changes::regroup(turn, before.platforms.iter().chain(&self.catalogue.platforms))?;
        }
        if (&before.global, &before.political) != (&self.catalogue.global, &self.catalogue.political) {
            past::sites_changed(turn)?;
        } else if other_controls {
            past::changed(turn)?;
        }
        requeue(turn)
    }
}

/// Days on which targets worked in other countries, from the world actor (decision controls-from-peers).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetOutside {
    pub days: Vec<(String, u32, Peers)>,
}

impl Operation for SetOutside {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_outside";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for (target, day, peers) in self.days {
            match peers == Peers::default() {
                true => OUTSIDE.delete(turn, &(target.clone(), day)),
                false => OUTSIDE.put(turn, &(target.clone(), day), &peers)?,
            }
            changes::measured(turn, &target, (day, day))?;
            days::queue(turn, &target, day.saturating_sub(1))?;
        }
        changes::soon(turn)?;
        refresh::soon(turn)
    }
}

/// How often a target fails in other countries (decision failing-elsewhere).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RateElsewhere {
    pub target: String,
    /// The number of other countries with a rate; 0 if they are too few for the rates to count.
    pub countries: u32,
    pub median: f64,
    /// The rate that nearly all of them reach.
    pub everywhere: f64,
}

/// Failure rates in other countries, from the world actor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetRatesElsewhere {
    pub rates: Vec<RateElsewhere>,
}

impl Operation for SetRatesElsewhere {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_rates_elsewhere";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for RateElsewhere { target, countries, median, everywhere } in self.rates {
            let key = (target.clone(),);
            let before = PRIORS.get(turn, &key)?;
            // With too few other countries there is no rate.
            let after = (countries > 0).then_some(Prior { rate: median, countries, everywhere });
            if before == after {
                continue;
            }
            match &after {
                Some(prior) => PRIORS.put(turn, &key, prior)?,
                None => PRIORS.delete(turn, &key),
            }
            // Blocked votes of all days depend on the step of the rate, and nothing that is stored on the rate itself.
            let site = |prior: Option<Prior>| prior.map_or(0.0, |prior| prior.site());
            if site(before) != site(after) {
                days::queue(turn, &target, 0)?;
            }
        }
        refresh::soon(turn)
    }
}

/// The form that programs before [`SetRatesElsewhere`] sent. A message may still be on its way when this program takes
/// over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetPriors {
    /// (target, median, countries)
    pub priors: Vec<(String, f64, u32)>,
}

impl Operation for SetPriors {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_priors";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let rate = |(target, median, countries)| RateElsewhere { target, countries, median, everywhere: 0.0 };
        SetRatesElsewhere { rates: self.priors.into_iter().map(rate).collect() }.run(turn)
    }
}
