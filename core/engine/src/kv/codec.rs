//! Keys as tuples of parts, written so that the order of the bytes is the order of the tuples.

use crate::Timestamp;

/// One part of a key. `read(write(x)) == x`, and `write(a) < write(b)` exactly when `a < b`, whatever follows.
pub trait KeyPart: Sized {
    fn write(&self, out: &mut Vec<u8>);
    /// Takes the part off the front of `bytes`; `None` when the bytes are no such part.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

/// A whole key: a part or a tuple of parts.
pub trait Key: Sized {
    fn write_key(&self, out: &mut Vec<u8>);
    fn read_key(bytes: &[u8]) -> Option<Self>;
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = bytes.split_first_chunk::<N>()?;
    *bytes = tail;
    Some(*head)
}

macro_rules! unsigned_parts {
    ($($int:ty),*) => {$(
        impl KeyPart for $int {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
            fn read(bytes: &mut &[u8]) -> Option<Self> {
                take(bytes).map(<$int>::from_be_bytes)
            }
        }
    )*};
}
unsigned_parts!(u8, u16, u32, u64);

impl KeyPart for i64 {
    fn write(&self, out: &mut Vec<u8>) {
        // Flipping the sign bit makes negative numbers sort before positive ones.
        ((*self as u64) ^ (1 << 63)).write(out);
    }
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        u64::read(bytes).map(|n| (n ^ (1 << 63)) as i64)
    }
}

impl KeyPart for Timestamp {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        i64::read(bytes).map(Timestamp)
    }
}

impl KeyPart for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        match u8::read(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<const N: usize> KeyPart for [u8; N] {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        take(bytes)
    }
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 16);
    for (number, run) in bytes.split(|byte| *byte == 0).enumerate() {
        if number > 0 {
            out.extend_from_slice(&[0, 0xFF]);
        }
        out.extend_from_slice(run);
    }
    out.extend_from_slice(&[0, 1]);
}

/// Variable length: 0x00 is written as 0x00 0xFF, the end as 0x00 0x01, so that a prefix sorts before what it begins.
impl KeyPart for Vec<u8> {
    fn write(&self, out: &mut Vec<u8>) {
        write_bytes(self, out);
    }
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mut value = Vec::new();
        loop {
            let (byte, rest) = bytes.split_first()?;
            *bytes = rest;
            if *byte != 0 {
                value.push(*byte);
                continue;
            }
            let (mark, rest) = bytes.split_first()?;
            *bytes = rest;
            match mark {
                0xFF => value.push(0),
                1 => return Some(value),
                _ => return None,
            }
        }
    }
}

impl KeyPart for String {
    fn write(&self, out: &mut Vec<u8>) {
        write_bytes(self.as_bytes(), out);
    }
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        String::from_utf8(Vec::read(bytes)?).ok()
    }
}

/// The reverse order of `T`, for newest-first or highest-first tables. `T` must have a fixed width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Desc<T>(pub T);

impl<T: KeyPart> KeyPart for Desc<T> {
    fn write(&self, out: &mut Vec<u8>) {
        let from = out.len();
        self.0.write(out);
        for byte in out.iter_mut().skip(from) {
            *byte = !*byte;
        }
    }
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let inverted: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        let mut rest = inverted.as_slice();
        let value = T::read(&mut rest)?;
        *bytes = bytes.get(inverted.len() - rest.len()..)?;
        Some(Desc(value))
    }
}

impl Key for () {
    fn write_key(&self, _out: &mut Vec<u8>) {}
    fn read_key(bytes: &[u8]) -> Option<Self> {
        bytes.is_empty().then_some(())
    }
}

macro_rules! tuple_keys {
    ($(($($part:ident $index:tt),+);)+) => {$(
        impl<$($part: KeyPart),+> Key for ($($part,)+) {
            fn write_key(&self, out: &mut Vec<u8>) {
                $(self.$index.write(out);)+
            }
            fn read_key(mut bytes: &[u8]) -> Option<Self> {
                let key = ($($part::read(&mut bytes)?,)+);
                bytes.is_empty().then_some(key)
            }
        }
    )+};
}
tuple_keys! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Sample = (String, i64, Vec<u8>, Desc<u32>, bool);

    fn bytes(key: &Sample) -> Vec<u8> {
        let mut out = Vec::new();
        key.write_key(&mut out);
        out
    }

    fn sample() -> impl Strategy<Value = Sample> {
        let text = prop_oneof!["[a-c\0]{0,3}", any::<String>()];
        let blob = prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..4);
        (text, any::<i64>(), blob, any::<u32>().prop_map(Desc), any::<bool>())
    }

    proptest! {
        #[test]
        fn keys_round_trip(key in sample()) {
            prop_assert_eq!(Sample::read_key(&bytes(&key)), Some(key));
        }

        #[test]
        fn byte_order_is_tuple_order(a in sample(), b in sample()) {
            let order = (a.0.as_bytes(), a.1, &a.2, std::cmp::Reverse(a.3.0), a.4)
                .cmp(&(b.0.as_bytes(), b.1, &b.2, std::cmp::Reverse(b.3.0), b.4));
            prop_assert_eq!(bytes(&a).cmp(&bytes(&b)), order);
        }

        #[test]
        fn foreign_bytes_are_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Sample::read_key(&bytes);
        }
    }

    #[test]
    fn key_bytes_are_pinned() {
        assert_eq!(
            bytes(&("a\0b".into(), -1, vec![0], Desc(1), true)),
            [97, 0, 255, 98, 0, 1, 127, 255, 255, 255, 255, 255, 255, 255, 0, 255, 0, 1, 255, 255, 255, 254, 1]
        );
    }
}
