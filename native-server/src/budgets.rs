//! Budgets: how much of the machine all clients together may hold at once, and how much each of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fnv::FnvBuildHasher;
use heliograph_core::engine::http::{Proxies, neighbourhood};
use heliograph_core::engine::settings::Settings;

/// Each address may have at most 1/`PART` of a budget.
const PART: u64 = 4;

/// A budget for all clients together. Each address may have a part of it.
#[derive(Debug)]
pub struct Budget {
    most: AtomicU64,
    most_per_address: AtomicU64,
    /// How often there was no room.
    refused: AtomicU64,
    held: Mutex<BudgetUse>,
}

#[derive(Debug, Default)]
struct BudgetUse {
    all: u64,
    /// Has only addresses that hold something.
    by_address: HashMap<IpAddr, u64, FnvBuildHasher>,
}

/// The amount that a client holds of a budget. It is given back when this is dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    address: Option<IpAddr>,
    amount: u64,
}

impl Budget {
    pub fn new(most: u64, most_per_address: u64) -> Arc<Budget> {
        let (most, most_per_address) = (most.into(), most_per_address.into());
        Arc::new(Budget { most, most_per_address, refused: AtomicU64::new(0), held: Mutex::default() })
    }

    /// Changes how much there is; who holds more than that keeps it.
    fn set(&self, most: u64, most_per_address: u64) {
        self.most.store(most, Ordering::Relaxed);
        self.most_per_address.store(most_per_address, Ordering::Relaxed);
    }

    fn held(&self) -> MutexGuard<'_, BudgetUse> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `amount` of the budget; `None` when not enough is left. A client without an address counts only towards
    /// the total.
    pub fn take(self: &Arc<Self>, address: Option<IpAddr>, amount: u64) -> Option<Charge> {
        let mut charge = Charge { budget: self.clone(), address, amount: 0 };
        charge.grow(amount).then_some(charge)
    }

    /// The amount that all clients together hold.
    pub fn all(&self) -> u64 {
        self.held().all
    }

    /// The amount that all clients together may hold.
    pub fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    /// How often there was no room.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Charge {
    /// Takes `more`; false when there is no room for it.
    pub fn grow(&mut self, more: u64) -> bool {
        let fits = self.fits(more);
        if !fits {
            self.budget.refused.fetch_add(1, Ordering::Relaxed);
        }
        fits
    }

    fn fits(&mut self, more: u64) -> bool {
        let mut held = self.budget.held();
        let all = held.all.saturating_add(more);
        if all > self.budget.most() {
            return false;
        }
        if let Some(address) = self.address {
            let own = held.by_address.get(&address).copied().unwrap_or(0).saturating_add(more);
            if own > self.budget.most_per_address.load(Ordering::Relaxed) {
                return false;
            }
            held.by_address.insert(address, own);
        }
        held.all = all;
        self.amount += more;
        true
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut held = self.budget.held();
        held.all = held.all.saturating_sub(self.amount);
        let Some(address) = self.address else { return };
        let rest = held.by_address.get(&address).copied().unwrap_or(0).saturating_sub(self.amount);
        match rest {
            0 => held.by_address.remove(&address),
            rest => held.by_address.insert(address, rest),
        };
    }
}

/// The budgets of connections and of the data that comes in over them.
#[derive(Debug, Clone)]
pub struct Budgets {
    pub connections: Arc<Budget>,
    /// Heads of which only a part has arrived.
    pub heads: Arc<Budget>,
    /// Bytes of bodies.
    pub bodies: Arc<Budget>,
    proxies: Proxies,
}

impl Budgets {
    /// Budgets as the settings say, with at most `descriptors` connections.
    pub fn new(settings: &Settings, descriptors: u64) -> Budgets {
        let [connections, heads, bodies] = std::array::from_fn(|_| Budget::new(0, 0));
        Budgets { connections, heads, bodies, proxies: Proxies::of(settings) }.with(settings, descriptors)
    }

    /// The same budgets, with as much in them as these settings say.
    pub fn with(&self, settings: &Settings, descriptors: u64) -> Budgets {
        let connections = u64::from(settings.connections).min(descriptors);
        let (heads, bodies) = (u64::from(settings.heads), settings.body_bytes);
        self.connections.set(connections, settings.connections_per_address.into());
        self.heads.set(heads, heads / PART);
        self.bodies.set(bodies, bodies / PART);
        Budgets { proxies: Proxies::of(settings), ..self.clone() }
    }

    /// The address whose part of a budget this client uses. A trusted proxy passes on many clients, so it has none, and
    /// what it holds counts only towards the total.
    pub fn address(&self, client: IpAddr) -> Option<IpAddr> {
        (!self.proxies.trusts(client)).then(|| neighbourhood(client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn one_address_takes_its_part_and_leaves_the_rest_to_others() {
        let budget = Budget::new(10, 4);
        let own: Vec<_> = (0..4).map(|_| budget.take(address("192.0.2.1"), 1).unwrap()).collect();
        assert!(budget.take(address("192.0.2.1"), 1).is_none());
        let mut other = budget.take(address("192.0.2.2"), 3).unwrap();
        assert!(!other.grow(2) && other.grow(1));
        // A trusted proxy passes on many clients.
        let proxy = budget.take(None, 2).unwrap();
        assert!(budget.take(None, 1).is_none() && budget.take(address("192.0.2.3"), 1).is_none());
        drop((own, other, proxy));
        assert_eq!(budget.all(), 0);
        assert!(budget.held().by_address.is_empty());
        assert!(budget.take(None, 10).is_some());
    }

    #[test]
    fn what_was_refused_is_not_charged() {
        let budget = Budget::new(10, 5);
        let mut charge = budget.take(address("192.0.2.1"), 5).unwrap();
        assert!(!charge.grow(1));
        drop(charge);
        assert_eq!(budget.all(), 0);
    }

    #[test]
    fn addresses_of_trusted_proxies_count_only_towards_the_total() {
        let mut settings = Settings::default();
        settings.set("trusted_proxies", "10.0.0.0/8").unwrap();
        let budgets = Budgets::new(&settings, 100);
        assert_eq!(budgets.address("10.1.2.3".parse().unwrap()), None);
        assert_eq!(budgets.address("2001:db8::1".parse().unwrap()), address("2001:db8::"));
        assert_eq!(budgets.connections.most(), 100);
        // Settings that change are in force for what is asked from then on, and what is held stays.
        let held = budgets.connections.take(None, 60).unwrap();
        settings.set("connections", "50").unwrap();
        settings.set("trusted_proxies", "").unwrap();
        let fewer = budgets.with(&settings, 100);
        assert!(fewer.connections.take(None, 1).is_none());
        assert_eq!((fewer.connections.all(), fewer.address("10.1.2.3".parse().unwrap())), (60, address("10.1.2.3")));
        drop(held);
        assert!(fewer.connections.take(None, 50).is_some());
    }
}
