//! The program as the engine sees it: the layers that it is made of, and what their features bring.
//!
//! The engine knows no feature. A feature declares its operations, routes and documents in constants beside its code;
//! its layer lists them in a [`Layer`], and a [`Program`] is a list of layers. What runs actors or answers requests
//! carries the program: [`Space`], [`View`], [`Turn`] and [`Environment`]. What a lower layer needs of a higher one is a
//! port: a struct of functions that the lower layer declares and the higher one fills in ([`Program::port`]; decision
//! layers-and-ports).
//!
//! [`Space`]: crate::actor::host::Space
//! [`View`]: crate::actor::View
//! [`Turn`]: crate::actor::Turn
//! [`Environment`]: crate::runtime::Environment

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::actor::registry::{Entry, Operations};
use super::actor::schema::Migration;
use super::actor::{Kind, Turn};
use super::documents::Family;
use super::http::{Check, Computes, Gate, Route, Routes};
use super::runtime::Errand;
use crate::Result;

/// What the features of a layer bring. Lists of lists, since each feature keeps its own.
#[derive(Clone, Copy)]
pub struct Layer {
    /// What can be asked of actors.
    pub operations: &'static [&'static [Entry]],
    pub routes: &'static [&'static [Route]],
    pub documents: &'static [&'static [Family]],
    pub migrations: &'static [Migration],
    /// Which routes compute: a method and a path each.
    pub computing: &'static [(Computes, &'static [&'static str])],
    /// How callers of some routes are checked, by what the routes want.
    pub checks: &'static [Check],
    /// What is done for callers once they are checked.
    pub gate: Option<&'static dyn Gate>,
    /// What actors reach out for.
    pub errands: &'static [Errand],
    /// Run by the actor of the deployment in the turn of each start.
    pub started: Option<fn(&mut Turn<'_>) -> Result<()>>,
    /// Ports of layers below, filled in.
    pub ports: &'static [&'static (dyn Any + Send + Sync)],
}

impl Layer {
    /// A layer without features.
    pub const EMPTY: Layer = Layer {
        operations: &[],
        routes: &[],
        documents: &[],
        migrations: &[],
        computing: &[],
        checks: &[],
        gate: None,
        errands: &[],
        started: None,
        ports: &[],
    };
}

/// Layers from the lowest to the highest, with indexes over them that are made when they are first needed.
pub struct Program {
    layers: &'static [&'static Layer],
    operations: OnceLock<Operations>,
    routes: OnceLock<Routes>,
    computing: OnceLock<BTreeMap<(&'static str, &'static str), Computes>>,
}

impl Program {
    pub const fn new(layers: &'static [&'static Layer]) -> Self {
        Program { layers, operations: OnceLock::new(), routes: OnceLock::new(), computing: OnceLock::new() }
    }

    fn layers(&self) -> impl Iterator<Item = &'static Layer> {
        self.layers.iter().copied()
    }

    /// The operations and queries of all kinds.
    pub(crate) fn operations(&'static self) -> &'static Operations {
        self.operations.get_or_init(|| Operations::of(self.entries()))
    }

    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        self.layers().flat_map(|layer| layer.operations.iter()).flat_map(|list| list.iter())
    }

    /// All routes, in the order of the layers.
    pub fn routes(&self) -> impl Iterator<Item = &'static Route> {
        self.layers().flat_map(|layer| layer.routes.iter()).flat_map(|list| list.iter())
    }

    /// The routes of the interface: all but the pages for people.
    pub fn interface(&self) -> impl Iterator<Item = &'static Route> {
        self.routes().filter(|route| !route.page)
    }

    /// The routes by their paths.
    pub(crate) fn router(&'static self) -> &'static Routes {
        self.routes.get_or_init(|| Routes::of(self))
    }

    /// Whether answering a route computes.
    pub fn computes(&self, route: &Route) -> Computes {
        let index = || {
            let listed = self.computing().filter_map(|(route, computes)| Some((route.split_once(' ')?, computes)));
            listed.collect()
        };
        // A route that is on no list fails a test; until then it may compute.
        let known = self.computing.get_or_init(index).get(&(route.method.as_str(), route.path));
        known.copied().unwrap_or(Computes::Sometimes)
    }

    /// Every route that is listed as computing or not.
    pub fn computing(&self) -> impl Iterator<Item = (&'static str, Computes)> {
        let lists = self.layers().flat_map(|layer| layer.computing.iter());
        lists.flat_map(|(computes, routes)| routes.iter().map(|route| (*route, *computes)))
    }

    pub fn families(&self) -> impl Iterator<Item = &'static Family> {
        self.layers().flat_map(|layer| layer.documents.iter()).flat_map(|list| list.iter())
    }

    /// The migrations that concern a kind.
    pub(crate) fn migrations(&self, kind: Kind) -> impl Iterator<Item = &'static Migration> {
        let all = self.layers().flat_map(|layer| layer.migrations.iter());
        all.filter(move |migration| (migration.concerns)(kind))
    }

    /// How callers of routes that want this are checked.
    pub(crate) fn checks(&self) -> impl Iterator<Item = &'static Check> {
        self.layers().flat_map(|layer| layer.checks.iter())
    }

    pub(crate) fn gates(&self) -> impl Iterator<Item = &'static dyn Gate> {
        self.layers().filter_map(|layer| layer.gate)
    }

    /// The errand of a key that an actor reached out under: the one whose own key is the longest.
    pub(crate) fn errand(&self, key: &str) -> Option<&'static Errand> {
        let all = self.layers().flat_map(|layer| layer.errands.iter());
        all.filter(|errand| errand.fits(key)).max_by_key(|errand| errand.key.len())
    }

    /// Takes part in the start of the deployment.
    pub(crate) fn started(&self, turn: &mut Turn<'_>) -> Result<()> {
        self.layers().filter_map(|layer| layer.started).try_for_each(|started| started(turn))
    }

    /// The port of this type, if a layer fills it in.
    pub fn port<T: Any>(&self) -> Option<&'static T> {
        self.layers().flat_map(|layer| layer.ports.iter()).find_map(|port| port.downcast_ref())
    }
}
