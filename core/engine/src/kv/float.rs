//! Serde of a number that is mostly 0, 1 or a short fraction: its bits as a varint, the last byte first, so that 0 takes
//! one byte and 1 three instead of eight. Every number comes back exactly.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    number.to_bits().swap_bytes().serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    u64::deserialize(deserializer).map(|bits| f64::from_bits(bits.swap_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Number(#[serde(with = "super")] f64);

    #[test]
    fn every_number_comes_back_and_the_usual_ones_are_short() {
        for (number, length) in [(0.0, 1), (1.0, 3), (0.5, 3), (0.25, 3), (0.1, 10), (f64::MAX, 10), (-0.0, 2)] {
            let bytes = postcard::to_allocvec(&Number(number)).unwrap();
            let Number(back) = postcard::from_bytes(&bytes).unwrap();
            assert_eq!((back.to_bits(), bytes.len()), (number.to_bits(), length), "{number}");
        }
    }
}
