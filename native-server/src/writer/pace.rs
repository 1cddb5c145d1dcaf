//! How much of the writer's time follow-up work gets while clients are served.

use std::time::{Duration, Instant};

use super::BULK_TIME;

/// A client counts as served now if that was at most so long ago.
const LATELY: Duration = Duration::from_secs(10);
/// Least time of a commit for follow-up work.
const LEAST: Duration = Duration::from_millis(1);
/// Longest rest of follow-up work. A single piece of it may take long, and by the end of it clients have been answered.
const LONGEST_REST: Duration = Duration::from_millis(20);

/// While clients are served, follow-up work gets as much time of a commit as a commit without it takes, and then rests
/// for as long as the whole commit took. So the commit that a client waits for is at most about twice as long, and at
/// most every second one is.
#[derive(Debug, Default)]
pub(super) struct Pace {
    served: Option<Instant>,
    /// Duration of a commit with only operations of clients: a moving mean.
    usual: Duration,
    rest: Option<Instant>,
}

impl Pace {
    fn is_serving(&self, now: Instant) -> bool {
        self.served.is_some_and(|served| now.duration_since(served) < LATELY)
    }

    /// How long follow-up work still rests.
    pub(super) fn rest(&self, now: Instant) -> Duration {
        self.rest.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// Time of a commit for follow-up work.
    pub(super) fn slice(&self, now: Instant) -> Duration {
        if self.is_serving(now) { self.usual.clamp(LEAST, BULK_TIME) } else { BULK_TIME }
    }

    /// Notes a durable commit: whether it had operations of clients, and whether it had follow-up work.
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

    /// The latency of a mailbox is at most twice the idle latency while 10,000 receivers are told.
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
        // Clients continue meanwhile, and do not lengthen the rest.
        pace.committed(now, now + MS, true, false);
        assert_eq!(pace.rest(now + MS), 4 * MS);
        pace.committed(now, now + 500 * MS, false, true);
        assert_eq!(pace.rest(now + 500 * MS), LONGEST_REST);

        let later = now + LATELY + 501 * MS;
        assert_eq!((pace.slice(later), pace.rest(later)), (BULK_TIME, Duration::ZERO), "nobody waits any more");
    }
}
