//! Byte strings in stored and sent values, for `#[serde(with = "...")]`: the same bytes as the derived form gives, which
//! goes through them one at a time. What is long (ciphertexts, ML-KEM keys) is copied whole with these.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }
}

pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    deserializer.deserialize_bytes(Bytes)
}

/// The last member of what earlier versions wrote without it, and what may still wait to be read: its default then.
pub fn last_or_default<'de, T: serde::Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(T::deserialize(deserializer).unwrap_or_default())
}

/// The same for an `Option`.
pub mod option {
    use serde::{Deserialize, Serialize};

    use super::{Deserializer, Serializer};

    #[derive(Serialize)]
    struct BorrowedBytes<'a>(#[serde(with = "super")] &'a [u8]);

    #[derive(Deserialize)]
    struct OwnedBytes(#[serde(with = "super")] Vec<u8>);

    pub fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        bytes.as_deref().map(BorrowedBytes).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(|OwnedBytes(bytes)| bytes))
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Derived {
        bytes: Vec<u8>,
        given: Option<Vec<u8>>,
        absent: Option<Vec<u8>>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct CopiedBytes {
        #[serde(with = "super")]
        bytes: Vec<u8>,
        #[serde(with = "super::option")]
        given: Option<Vec<u8>>,
        #[serde(with = "super::option")]
        absent: Option<Vec<u8>>,
    }

    #[test]
    fn bytes_copied_whole_are_written_as_the_derived_form_writes_them() {
        for length in [0, 1, 127, 128, 1_184] {
            let bytes: Vec<u8> = (0..length).map(|n| n as u8).collect();
            let derived = Derived { bytes: bytes.clone(), given: Some(bytes.clone()), absent: None };
            let whole = CopiedBytes { bytes: bytes.clone(), given: Some(bytes), absent: None };
            let text = postcard::to_allocvec(&whole).unwrap();
            assert_eq!(text, postcard::to_allocvec(&derived).unwrap());
            assert_eq!(postcard::from_bytes::<CopiedBytes>(&text).unwrap(), whole);
        }
        assert!(postcard::from_bytes::<CopiedBytes>(&[200, 1, 7]).is_err());
    }
}
