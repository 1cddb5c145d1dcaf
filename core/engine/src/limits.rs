//! Token buckets: how often a caller may ask (decision caller-rate-limits).

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::time::SECOND;

/// The tier of an API key, which sets its rate limit and what it may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "KeyTier")]
pub enum Tier {
    /// The shared demo key.
    Demo,
    Research,
    Enterprise,
    /// For load tests: no limit in practice.
    Bench,
}

impl Tier {
    pub const ALL: [Tier; 4] = [Tier::Demo, Tier::Research, Tier::Enterprise, Tier::Bench];

    pub const fn as_str(self) -> &'static str {
        match self {
            Tier::Demo => "demo",
            Tier::Research => "research",
            Tier::Enterprise => "enterprise",
            Tier::Bench => "bench",
        }
    }

    pub fn parse(text: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.as_str() == text)
    }

    /// The rate of requests for a key of this tier (enterprise and bench are our choice).
    pub const fn rate(self) -> Rate {
        match self {
            Tier::Demo => Rate::per_minute(100).burst(20),
            Tier::Research => Rate::per_minute(1_000).burst(100),
            Tier::Enterprise => Rate::per_minute(10_000).burst(1_000),
            Tier::Bench => Rate::per_minute(60_000_000).burst(1_000_000),
        }
    }

    /// Whether answers may contain the breakdown by network.
    pub const fn sees_networks(self) -> bool {
        !matches!(self, Tier::Demo)
    }
}

/// A rate with its burst. The bucket holds `burst` tokens and gains `amount` of them evenly over `minutes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    pub amount: u32,
    /// At least 1.
    pub minutes: u32,
    pub burst: u32,
}

impl Rate {
    /// A rate whose burst is not stated has a bucket of one minute's requests.
    pub const fn per_minute(amount: u32) -> Self {
        Rate { amount, minutes: 1, burst: amount }
    }

    /// So many in any period of that length: the whole period's amount may come at once.
    pub const fn per(amount: u32, minutes: u32) -> Self {
        Rate { amount, minutes, burst: amount }
    }

    pub const fn burst(self, burst: u32) -> Self {
        Rate { burst, ..self }
    }

    /// Requests per minute, rounded down; 1 for rates below that.
    pub const fn minutely(self) -> u32 {
        match self.amount / self.minutes {
            0 => 1,
            minutely => minutely,
        }
    }
}

/// The answer of a bucket, and what the rate headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    pub allowed: bool,
    /// `X-RateLimit-Limit`: requests per minute, or per the longer period that the rate is stated for.
    pub limit: u32,
    /// `X-RateLimit-Remaining`: whole tokens left.
    pub remaining: u32,
    /// `X-RateLimit-Reset`: Unix second at which the bucket is full again.
    pub reset: i64,
    /// Until one token is there; zero when allowed.
    pub wait: Duration,
}

impl Admission {
    /// Whole seconds for `Retry-After`, at least 1.
    pub fn retry_after(&self) -> u32 {
        u32::try_from(self.wait.as_secs_f64().ceil() as u64).unwrap_or(u32::MAX).max(1)
    }
}

/// One minute in parts of a token, so that refills add up without floating point: a token is as many parts as its
/// period has microseconds, and every microsecond brings `amount` parts.
const MINUTE: i128 = 60 * SECOND as i128;

impl Rate {
    fn token(self) -> i128 {
        i128::from(self.minutes.max(1)) * MINUTE
    }
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    level: i128,
    at: Timestamp,
    rate: Rate,
}

impl Bucket {
    fn capacity(&self) -> i128 {
        i128::from(self.rate.burst.max(1)) * self.rate.token()
    }

    fn refill(&mut self, now: Timestamp) {
        let passed = i128::from(now.since(self.at).max(0));
        self.level = (self.level + passed * i128::from(self.rate.amount)).min(self.capacity());
        self.at = self.at.max(now);
    }

    fn micros_until(&self, level: i128) -> i64 {
        let missing = (level - self.level).max(0);
        let speed = i128::from(self.rate.amount.max(1));
        i64::try_from((missing + speed - 1) / speed).unwrap_or(i64::MAX)
    }

    fn admission(&self, allowed: bool, now: Timestamp) -> Admission {
        let wait = if allowed { 0 } else { self.micros_until(self.rate.token()) };
        Admission {
            allowed,
            limit: self.rate.amount,
            remaining: u32::try_from(self.level / self.rate.token()).unwrap_or(u32::MAX),
            reset: now.plus(self.micros_until(self.capacity())).0.saturating_add(SECOND - 1) / SECOND,
            wait: Duration::from_micros(u64::try_from(wait).unwrap_or(0)),
        }
    }
}

const SHARDS: usize = 16;

/// Buckets a shard keeps before it drops the full ones; a full bucket equals an absent one.
const SHARD_LIMIT: usize = 8_192;

/// Buckets by name, in memory.
pub struct Buckets {
    shards: [Mutex<HashMap<String, Bucket>>; SHARDS],
    hasher: RandomState,
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets { shards: std::array::from_fn(|_| Mutex::default()), hasher: RandomState::new() }
    }
}

impl Buckets {
    /// Takes one token from the bucket named `name`.
    pub fn take(&self, name: &str, rate: Rate, now: Timestamp) -> Admission {
        let index = (self.hasher.hash_one(name) as usize) % SHARDS;
        let fresh = Bucket { level: i128::from(rate.burst.max(1)) * rate.token(), at: now, rate };
        let Some(shard) = self.shards.get(index) else { return fresh.admission(true, now) };
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if shard.len() >= SHARD_LIMIT && !shard.contains_key(name) {
            shard.retain(|_, bucket| {
                bucket.refill(now);
                bucket.level < bucket.capacity()
            });
            if shard.len() >= SHARD_LIMIT {
                shard.clear();
            }
        }
        if !shard.contains_key(name) {
            shard.insert(name.to_owned(), fresh);
        }
        let Some(bucket) = shard.get_mut(name) else { return fresh.admission(true, now) };
        bucket.rate = rate;
        bucket.refill(now);
        let allowed = bucket.level >= rate.token();
        if allowed {
            bucket.level -= rate.token();
        }
        bucket.admission(allowed, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_seconds(1_700_000_000);
    const DEMO: Rate = Rate::per_minute(100).burst(20);

    #[test]
    fn a_burst_is_allowed_then_the_rate_counts() {
        let buckets = Buckets::default();
        for left in (0..20).rev() {
            let admission = buckets.take("k", DEMO, START);
            assert!(admission.allowed);
            assert_eq!((admission.limit, admission.remaining), (100, left));
        }
        let refused = buckets.take("k", DEMO, START);
        assert!(!refused.allowed);
        assert_eq!(refused.wait, Duration::from_millis(600));
        assert_eq!(refused.retry_after(), 1);
        assert_eq!(refused.reset, 1_700_000_012);
        assert!(!buckets.take("k", DEMO, START.plus(599_000)).allowed);
        assert!(buckets.take("k", DEMO, START.plus(600_000)).allowed);
    }

    #[test]
    fn over_a_long_time_exactly_the_rate_gets_through() {
        let buckets = Buckets::default();
        let allowed = (0..60_000).filter(|ms| buckets.take("k", DEMO, START.plus(ms * 1_000)).allowed).count();
        assert_eq!(allowed, 20 + 99);
    }

    #[test]
    fn a_daily_amount_is_what_a_day_gives_not_one_a_minute() {
        let buckets = Buckets::default();
        let daily = Rate::per(20, 24 * 60);
        let day = (0..24 * 60).filter(|minute| buckets.take("k", daily, START.plus(minute * 60 * SECOND)).allowed);
        // What was there at the beginning, and what the day itself brought.
        assert_eq!(day.count(), 20 + 19);
        let refused = buckets.take("k", daily, START.plus(24 * 3_600 * SECOND - 1));
        assert_eq!((refused.allowed, refused.limit), (false, 20));
        assert!(refused.retry_after() <= 72 * 60);
    }

    #[test]
    fn buckets_are_independent_and_a_clock_that_goes_back_gives_nothing() {
        let buckets = Buckets::default();
        let one = Rate::per_minute(1);
        assert!(buckets.take("a", one, START).allowed);
        assert!(buckets.take("b", one, START).allowed);
        assert!(!buckets.take("a", one, START.plus(-3_600 * SECOND)).allowed);
        assert!(!buckets.take("a", one, START.plus(59 * SECOND)).allowed);
        assert!(buckets.take("a", one, START.plus(60 * SECOND)).allowed);
    }

    #[test]
    fn many_names_do_not_grow_memory_without_bound() {
        let buckets = Buckets::default();
        for n in 0..400_000 {
            buckets.take(&n.to_string(), DEMO, START.plus(n));
        }
        let held: usize = buckets.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(held <= SHARDS * SHARD_LIMIT);
    }
}
