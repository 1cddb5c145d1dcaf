//! A small set of countries. It is stored in a row that is read once for each country, so it is kept compact.

use serde::{Deserialize, Serialize};

/// The two-letter codes of the countries, in order, without a separator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountryCodes(String);

/// Length of a code.
const CODE: usize = 2;

impl CountryCodes {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = String> {
        self.0.as_bytes().chunks_exact(CODE).map(|code| String::from_utf8_lossy(code).into_owned())
    }

    /// Adds a country and returns whether it is new. Only a code of two letters is added.
    pub fn insert(&mut self, country: &str) -> bool {
        let place = self.place(country);
        if let Err(place) = place
            && country.len() == CODE
        {
            self.0.insert_str(place, country);
            return true;
        }
        false
    }

    /// Removes a country and returns whether it was there.
    pub fn remove(&mut self, country: &str) -> bool {
        self.place(country).map(|place| drop(self.0.drain(place..place + CODE))).is_ok()
    }

    /// The offset of a code in the text, or the offset where it belongs.
    fn place(&self, country: &str) -> Result<usize, usize> {
        let (codes, _) = self.0.as_bytes().as_chunks::<CODE>();
        let place = codes.binary_search_by(|code| code.as_slice().cmp(country.as_bytes()));
        place.map(|at| CODE * at).map_err(|at| CODE * at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countries_are_kept_in_order_and_once() {
        let mut countries = CountryCodes::default();
        let added = ["KE", "DE", "US", "KE", "AE", "KENYA", ""].map(|country| countries.insert(country));
        assert_eq!(added, [true, true, true, false, true, false, false]);
        assert_eq!(countries.iter().collect::<Vec<_>>(), ["AE", "DE", "KE", "US"]);
        assert_eq!(
            ["KE", "KE", "AE", "FR", "EK"].map(|country| countries.remove(country)),
            [true, false, true, false, false]
        );
        assert_eq!(countries.iter().collect::<Vec<_>>(), ["DE", "US"]);
        assert!(["US", "DE"].iter().all(|country| countries.remove(country)) && countries.is_empty());
    }
}
