//! The price of each open offer by its number, many prices in a row. A search that found many numbers learns from few
//! rows which offers are the cheapest, and reads only those.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::rows::Micro;
use engine::kv::{Read, Row, StoreError, Table, Write};

/// Numbers in one row: with its key it takes four pages of 4 KiB.
const BLOCK: u64 = 2_000;
const WIDTH: usize = size_of::<Micro>();
/// Stands in place of a price for an offer that nobody can hire.
const CLOSED: Micro = Micro::MAX;

/// Prices side by side, 8 bytes each, big-endian. Offers beyond the end are closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Packed(#[serde(with = "engine::kv::bytes")] Vec<u8>);
impl Row for Packed {}

const PRICES: Table<(u32,), Packed> = Table::new(22);

fn place(number: u64) -> (u32, usize) {
    (u32::try_from(number / BLOCK).unwrap_or(u32::MAX), (number % BLOCK) as usize * WIDTH)
}

/// Stores the price of an open offer; `None` for a closed one.
pub fn set(space: &mut (impl Write + ?Sized), number: u64, price: Option<Micro>) -> Result<()> {
    let (block, from) = place(number);
    let Packed(mut bytes) = PRICES.get(space, &(block,))?.unwrap_or_default();
    let least = bytes.len().max(from + WIDTH);
    bytes.resize(least, CLOSED.to_be_bytes()[0]);
    let new = price.unwrap_or(CLOSED).to_be_bytes();
    bytes.iter_mut().skip(from).zip(new).for_each(|(byte, new)| *byte = new);
    Ok(PRICES.put(space, &(block,), &Packed(bytes))?)
}

/// Reads prices of offers. Asked for in the order of their numbers, each row is read once.
pub struct Prices<'a, R: ?Sized> {
    view: &'a R,
    row: Option<(u32, Packed)>,
}

impl<'a, R: Read + ?Sized> Prices<'a, R> {
    pub fn new(view: &'a R) -> Self {
        Prices { view, row: None }
    }

    /// `None`: the offer is not open.
    pub fn of(&mut self, number: u64) -> Result<Option<Micro>, StoreError> {
        let (block, from) = place(number);
        if self.row.as_ref().is_none_or(|(of, _)| *of != block) {
            self.row = Some((block, PRICES.get(self.view, &(block,))?.unwrap_or_default()));
        }
        let bytes = self.row.as_ref().and_then(|(_, Packed(bytes))| bytes.get(from..)?.first_chunk());
        Ok(bytes.map(|bytes| Micro::from_be_bytes(*bytes)).filter(|price| *price != CLOSED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::kv::{MemoryStore, Overlay};

    #[test]
    fn prices_are_found_by_number_over_all_rows_and_closed_ones_have_none() {
        let store = MemoryStore::default();
        let mut space = Overlay::new(&store);
        let numbers = [0, 1, 7, BLOCK - 1, BLOCK, 3 * BLOCK + 5];
        for number in numbers {
            set(&mut space, number, Some(number + 1)).unwrap();
        }
        set(&mut space, 7, None).unwrap();
        set(&mut space, 1, Some(50)).unwrap();
        let mut prices = Prices::new(&space);
        let mut of = |number| prices.of(number).unwrap();
        assert_eq!([0, 1, 7, 8].map(&mut of), [Some(1), Some(50), None, None]);
        let rest = [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 4, 3 * BLOCK + 5].map(&mut of);
        assert_eq!(rest, [Some(BLOCK), Some(BLOCK + 1), None, None, None, Some(3 * BLOCK + 6)]);
    }
}
