//! The program as the engine sees it: what all features bring together.
//!
//! The engine knows no feature. A feature declares its operations, routes and documents in constants beside its code;
//! one [`Program`] gathers them, and whatever runs actors or answers requests carries it: [`Space`], [`View`], [`Turn`]
//! and [`Environment`]. What a lower layer needs of a higher one is a port: a struct of functions that the lower layer
//! declares and the program fills in ([`Program::port`]; decision ports).
//!
//! [`Space`]: crate::engine::actor::host::Space
//! [`View`]: crate::engine::actor::View
//! [`Turn`]: crate::engine::actor::Turn
//! [`Environment`]: crate::engine::runtime::Environment

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::actor::registry::{Entry, Operations};
use super::actor::schema::Migration;
use super::actor::{Kind, Turn};
use super::documents::Family;
use super::http::{Computes, Gate, Route, Routes};
use super::runtime::Errand;
use crate::Result;

/// What features bring. Lists of lists, since each feature keeps its own; the order of routes is the order of the
/// document that describes them.
#[derive(Clone, Copy)]
pub struct Parts {
    /// What can be asked of actors.
    pub operations: &'static [&'static [Entry]],
    pub routes: &'static [&'static [Route]],
    pub documents: &'static [&'static [Family]],
    /// In the order of their versions.
    pub migrations: &'static [&'static [Migration]],
    /// Which routes compute; see [`Computes`].
    pub computing: &'static [(Computes, &'static [&'static str])],
    /// Who may call which route.
    pub gate: &'static dyn Gate,
    /// What actors reach out for; the first whose key fits.
    pub errands: &'static [Errand],
    /// Run by the actor of the deployment in the turn of each start.
    pub started: fn(&mut Turn<'_>) -> Result<()>,
    /// The filled-in ports of the layers.
    pub ports: &'static [&'static (dyn Any + Send + Sync)],
}

impl Parts {
    /// No feature at all: what tests of single layers begin with.
    pub const NONE: Parts = Parts {
        operations: &[],
        routes: &[],
        documents: &[],
        migrations: &[],
        computing: &[],
        gate: &super::http::Open,
        errands: &[],
        started: |_| Ok(()),
        ports: &[],
    };
}

/// All features, with indexes over them that are made when they are first needed.
pub struct Program {
    parts: Parts,
    operations: OnceLock<Operations>,
    routes: OnceLock<Routes>,
    computing: OnceLock<BTreeMap<(&'static str, &'static str), Computes>>,
}

impl Program {
    pub const fn new(parts: Parts) -> Self {
        Program { parts, operations: OnceLock::new(), routes: OnceLock::new(), computing: OnceLock::new() }
    }

    /// The operations and queries of all kinds.
    pub(crate) fn operations(&'static self) -> &'static Operations {
        self.operations.get_or_init(|| Operations::of(self.parts.operations))
    }

    /// All routes, in the order of the features.
    pub fn routes(&self) -> impl Iterator<Item = &'static Route> {
        self.parts.routes.iter().flat_map(|list| list.iter())
    }

    /// The routes by their paths.
    pub(crate) fn router(&'static self) -> &'static Routes {
        self.routes.get_or_init(|| Routes::of(self))
    }

    /// Whether answering a route computes.
    pub fn computes(&self, route: &Route) -> Computes {
        let listed = || {
            let lists = self.parts.computing.iter();
            let all = lists.flat_map(|(computes, routes)| routes.iter().map(move |route| (route, computes)));
            all.filter_map(|(route, computes)| Some((route.split_once(' ')?, *computes))).collect()
        };
        // A route that is on no list fails a test; until then it may compute.
        let known = self.computing.get_or_init(listed).get(&(route.method.as_str(), route.path));
        known.copied().unwrap_or(Computes::Sometimes)
    }

    /// The routes that are listed as computing or not, for the test that each is listed once.
    pub fn computing(&self) -> &'static [(Computes, &'static [&'static str])] {
        self.parts.computing
    }

    pub fn families(&self) -> impl Iterator<Item = &'static Family> {
        self.parts.documents.iter().flat_map(|list| list.iter())
    }

    /// The migrations that concern a kind, in the order of their versions.
    pub(crate) fn migrations(&self, kind: Kind) -> impl Iterator<Item = &'static Migration> {
        let all = self.parts.migrations.iter().flat_map(|list| list.iter());
        all.filter(move |migration| (migration.concerns)(kind))
    }

    pub fn gate(&self) -> &'static dyn Gate {
        self.parts.gate
    }

    /// The errand of a key that an actor reached out under.
    pub(crate) fn errand(&self, key: &str) -> Option<&'static Errand> {
        self.parts.errands.iter().find(|errand| errand.fits(key))
    }

    /// Takes part in the start of the deployment.
    pub(crate) fn started(&self, turn: &mut Turn<'_>) -> Result<()> {
        (self.parts.started)(turn)
    }

    /// The port of this type, if the program has one.
    pub fn port<T: Any>(&self) -> Option<&'static T> {
        self.parts.ports.iter().find_map(|port| port.downcast_ref())
    }
}
