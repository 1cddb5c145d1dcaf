//! How much of the writer goes to work that follows by itself while clients are served.

use std::time::{Duration, Instant};

use super::BULK_TIME;

/// How long ago a client was served for it to count.
const LATELY: Duration = Duration::from_secs(10);
/// Least that such work gets of a commit.
const LEAST: Duration = Duration::from_millis(1);
/// Longest that it rests: one piece of it may take long, and a client has been answered by then.
const LONGEST_REST: Duration = Duration::from_millis(20);

/// While clients are served, such work gets of a commit as long as a commit without it takes, and then rests for as long as
/// the whole took. So the commit that a client waits for is at most about twice as long, and at most every second one.
#[derive(Debug, Default)]
pub(super) struct Pace {
    served: Option<Instant>,
    /// What a commit for clients alone takes: moving mean.
    usual: Duration,
    rest: Option<Instant>,
}

impl Pace {
    fn is_serving(&self, now: Instant) -> bool {
        self.served.is_some_and(|served| now.duration_since(served) < LATELY)
    }

    /// How long work that follows by itself rests from now on.
    pub(super) fn rest(&self, now: Instant) -> Duration {
        self.rest.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// How much of a commit it gets.
    pub(super) fn slice(&self, now: Instant) -> Duration {
        if self.is_serving(now) { self.usual.clamp(LEAST, BULK_TIME) } else { BULK_TIME }
    }

    /// A commit is durable: whether it had operations of clients, and work that followed by itself.
    pub(super) fn committed(&mut self, started: Instant, now: Instant, served: bool, followed: bool) {
        let took = now.duration_since(started);
        if served {
            self.served = Some(now);
        }
        if served && !followed {
            self.usual = if self.usual.is_zero() { took } else { (self.usual * 7 + took) / 8 };
        }
        if followed {
            self.rest = self.is_serving(now).then(|| now + took.min(LONGEST_REST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Latency of a mailbox is not worse than twice idle while 10,000 receivers are told.
    #[test]
    fn while_clients_are_served_what_follows_by_itself_takes_as_long_as_they_do_and_rests_as_long_as_it_took() {
        let (mut pace, begin) = (Pace::default(), Instant::now());
        assert_eq!((pace.slice(begin), pace.rest(begin)), (BULK_TIME, Duration::ZERO), "nobody waits");
        pace.committed(begin, begin + 7 * MS, false, true);
        assert_eq!((pace.slice(begin + 7 * MS), pace.rest(begin + 7 * MS)), (BULK_TIME, Duration::ZERO));

        let mut now = begin + 10 * MS;
        for _ in 0..50 {
            pace.committed(now, now + 2 * MS, true, false);
            now += 2 * MS;
        }
        assert_eq!(pace.slice(now), 2 * MS, "as long as a commit without it");
        pace.committed(now, now + 5 * MS, true, true);
        now += 5 * MS;
        assert_eq!((pace.slice(now), pace.rest(now)), (2 * MS, 5 * MS), "its own time is not the clients'");
        assert_eq!(pace.rest(now + 4 * MS), MS);
        // Clients go on meanwhile, and do not lengthen the rest.
        pace.committed(now, now + MS, true, false);
        assert_eq!(pace.rest(now + MS), 4 * MS);
        pace.committed(now, now + 500 * MS, false, true);
        assert_eq!(pace.rest(now + 500 * MS), LONGEST_REST);

        let later = now + LATELY + 501 * MS;
        assert_eq!((pace.slice(later), pace.rest(later)), (BULK_TIME, Duration::ZERO), "nobody waits any more");
    }
}
