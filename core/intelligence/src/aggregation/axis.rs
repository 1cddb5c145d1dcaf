//! What the rows of an aggregation stand for.

use super::count::BlockingType;
use crate::{Error, Result};

/// One of the two dimensions of an aggregation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// A span of time.
    Day,
    Country,
    Network,
    Domain,
    Category,
    BlockingType,
    TestName,
}

impl Axis {
    const ALL: [Axis; 7] =
        [Axis::Day, Axis::Country, Axis::Network, Axis::Domain, Axis::Category, Axis::BlockingType, Axis::TestName];

    /// The names of all axes.
    pub const NAMES: [&'static str; Axis::ALL.len()] = {
        let mut names = [""; Axis::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Axis::ALL[at].as_str();
            at += 1;
        }
        names
    };

    /// The name of the axis, and of its column.
    pub const fn as_str(self) -> &'static str {
        match self {
            Axis::Day => "measurement_start_day",
            Axis::Country => "probe_cc",
            Axis::Network => "probe_asn",
            Axis::Domain => "domain",
            Axis::Category => "category_code",
            Axis::BlockingType => "blocking_type",
            Axis::TestName => "test_name",
        }
    }

    /// Reads the value of a parameter.
    pub fn parse(name: &str, text: &str) -> Result<Axis> {
        Axis::ALL
            .into_iter()
            .find(|axis| axis.as_str() == text)
            .ok_or_else(|| Error::bad_request(format!("`{name}` must be one of {}.", Axis::NAMES.join(", "))))
    }
}

/// The value of a row on an axis. Rows are ordered by their values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AxisValue {
    /// The hour, since the epoch, in which a span begins.
    Begin(i64),
    Number(u32),
    Blocking(BlockingType),
    /// Empty where nothing is known.
    Text(String),
}
