//! Serde of a number with at most four decimals, as those are that answers show: two or three bytes instead of eight.
//! Another number is kept whole. Every number comes back exactly.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const PARTS: f64 = 10_000.0;

/// Ten-thousandths, or the number when it is no whole number of them.
fn short(number: f64) -> Result<u32, f64> {
    // Saturates, and then it does not come back.
    let parts = (number * PARTS).round() as u32;
    if long(Ok(parts)).to_bits() == number.to_bits() { Ok(parts) } else { Err(number) }
}

fn long(stored: Result<u32, f64>) -> f64 {
    stored.map_or_else(|number| number, |parts| f64::from(parts) / PARTS)
}

pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    short(*number).serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Result::deserialize(deserializer).map(long)
}

/// The same where there may be none.
pub mod option {
    use super::*;

    pub fn serialize<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        number.map(short).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(long))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Number(#[serde(with = "super")] f64, #[serde(with = "super::option")] Option<f64>);

    #[test]
    fn every_number_comes_back_and_those_with_four_decimals_are_short() {
        let numbers = [(0.0, 2), (1.0, 3), (0.9731, 3), (0.3, 3), (0.000_01, 9), (-1.0, 9), (-0.0, 9), (f64::MAX, 9)];
        for (number, length) in numbers.into_iter().chain([(f64::NAN, 9), (f64::INFINITY, 9), (1.0 / 3.0, 9)]) {
            for option in [None, Some(number)] {
                let bytes = postcard::to_allocvec(&Number(number, option)).unwrap();
                let Number(one, other) = postcard::from_bytes(&bytes).unwrap();
                assert_eq!((one.to_bits(), other.map(f64::to_bits)), (number.to_bits(), option.map(f64::to_bits)));
                assert_eq!(bytes.len(), length + 1 + option.map_or(0, |_| length), "{number}");
            }
        }
        for parts in 0..=10_000 {
            assert_eq!(short(crate::number::round(f64::from(parts) / 10_000.0)), Ok(parts));
        }
    }
}
