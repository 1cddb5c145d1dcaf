//! Places for requests to other hosts. Each request holds a connection until its receiver answers, so the number of
//! requests is limited: for all receivers together, and lower for one host. So a slow host with many subscriptions
//! leaves room for the others. A request waits for its host first, so it never keeps a place that another host could
//! use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use heliograph_core::facts::measurement::domain::host_of;
use heliograph_core::{Error, ErrorCode, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests in progress at once.
const AT_ONCE: usize = 1_024;
/// Requests in progress at once to one host.
const PER_HOST: usize = 32;
/// How long a request waits for a place. After its lease the actor asks for the request again.
const WAIT: Duration = Duration::from_secs(10);
/// With more hosts than this, hosts without requests are forgotten.
const HOSTS: usize = 1_024;

/// All places.
pub struct Places {
    all: Arc<Semaphore>,
    by_host: Mutex<HashMap<String, Weak<Semaphore>>>,
    wait: Duration,
}

/// One place; free again when it is dropped.
#[derive(Debug)]
pub struct Place {
    _host: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Default for Places {
    fn default() -> Places {
        Places { all: Arc::new(Semaphore::new(AT_ONCE)), by_host: Mutex::default(), wait: WAIT }
    }
}

impl Places {
    /// A place for a request to this address; `RATE_LIMITED` when there is none in time.
    pub async fn take(&self, url: &str) -> Result<Place> {
        let host = self.of(host_of(url).to_ascii_lowercase());
        let places = async {
            // The place at the host comes first, so that a request that waits for its host holds no place that others
            // need.
            let host = host.acquire_owned().await?;
            Ok::<_, tokio::sync::AcquireError>(Place { _host: host, _all: self.all.clone().acquire_owned().await? })
        };
        match tokio::time::timeout(self.wait, places).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(Error::new(ErrorCode::RateLimited, "There is no room for another request to this host.")),
        }
    }

    fn of(&self, host: String) -> Arc<Semaphore> {
        let mut by_host = self.by_host.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = by_host.get(&host).and_then(Weak::upgrade) {
            return known;
        }
        if by_host.len() >= HOSTS {
            by_host.retain(|_, places| places.strong_count() > 0);
        }
        let places = Arc::new(Semaphore::new(PER_HOST));
        by_host.insert(host, Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places { wait: Duration::from_millis(50), ..Places::default() }
    }

    /// A slow or dead receiver must not delay others.
    #[tokio::test]
    async fn a_host_that_takes_all_its_places_leaves_those_of_others() {
        let places = places();
        let mut taken = Vec::new();
        for path in 0..PER_HOST {
            taken.push(places.take(&format!("https://Slow.example/{path}")).await.unwrap());
        }
        let refused = places.take("https://slow.example:8443/more").await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::RateLimited);
        places.take("https://quick.example/").await.unwrap();
        taken.pop();
        places.take("https://slow.example/more").await.unwrap();
    }

    #[tokio::test]
    async fn hosts_that_nobody_asks_are_forgotten_and_all_places_are_bounded() {
        let places = places();
        for host in 0..3 * HOSTS {
            places.take(&format!("https://h{host}.example/")).await.unwrap();
        }
        assert!(places.by_host.lock().unwrap().len() <= HOSTS);
        let mut taken = Vec::new();
        for host in 0..AT_ONCE {
            taken.push(places.take(&format!("https://h{host}.example/")).await.unwrap());
        }
        assert!(places.take("https://one-more.example/").await.is_err());
    }
}
