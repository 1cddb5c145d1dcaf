//! Serde of a time that is mostly a full hour, as the times of measurements are: the hour and a 0 behind its last bit, three
//! bytes instead of eight. Another time is its microseconds and a 1. Every time comes back exactly.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Timestamp;
use crate::time::HOUR;

pub fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    // Wider than a time, so that the bit has room beside each.
    let number = match time.0 % HOUR {
        0 => i128::from(time.0 / HOUR) << 1,
        _ => (i128::from(time.0) << 1) | 1,
    };
    number.serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let number = i128::deserialize(deserializer)?;
    let unit = if number & 1 == 0 { HOUR } else { 1 };
    let time = (number >> 1).checked_mul(i128::from(unit)).and_then(|time| i64::try_from(time).ok());
    time.map(Timestamp).ok_or_else(|| D::Error::custom("a time out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Moment(#[serde(with = "super")] Timestamp);

    #[test]
    fn every_time_comes_back_and_full_hours_are_short() {
        let hour = Timestamp::parse("2026-01-01T05:00:00Z").unwrap();
        let times = [(hour, 3), (Timestamp(0), 1), (hour.plus(1), 8), (hour.plus(-1), 8), (Timestamp(-HOUR), 1)];
        for (time, length) in times.into_iter().chain([(Timestamp(i64::MIN), 10), (Timestamp(i64::MAX), 10)]) {
            let bytes = postcard::to_allocvec(&Moment(time)).unwrap();
            let Moment(back) = postcard::from_bytes(&bytes).unwrap();
            assert_eq!((back, bytes.len()), (time, length));
        }
        let beyond = postcard::to_allocvec(&(i128::MAX - 1)).unwrap();
        assert!(postcard::from_bytes::<Moment>(&beyond).is_err());
    }
}
