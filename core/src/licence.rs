//! Which of several licences an answer stands under (ruling intelligence 35).

use crate::starter;

/// The strictest of some licences: one for academic use only, else one that forbids commercial use, else one that asks for
/// the same terms, else any; of equally strict ones always the same, in whatever order they come. `None` when there is none.
pub fn strictest<'a>(licences: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let terms = |licence: &&str| match *licence {
        licence if licence.contains("academic") => 0,
        licence if licence.contains("NC") => 1,
        licence if licence.contains("SA") => 2,
        _ => 3,
    };
    licences.into_iter().filter(|licence| !licence.is_empty()).min_by_key(|licence| (terms(licence), *licence))
}

/// The licence that an answer resting on rows under these names stands under: the strictest, or our own where no row has
/// one.
pub fn effective<'a>(licences: impl IntoIterator<Item = &'a str>) -> String {
    strictest(licences).unwrap_or(starter::LICENCE).to_owned()
}

#[cfg(test)]
mod tests {
    use super::strictest;

    #[test]
    fn terms_decide_and_not_the_order() {
        let (by, sa, nc) = ("CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-SA-4.0");
        for (licences, expected) in [
            (vec![by, nc, sa], Some(nc)),
            (vec![nc, by], Some(nc)),
            (vec![sa, by], Some(sa)),
            (vec![nc, "LicenseRef-IODA-academic-use", by], Some("LicenseRef-IODA-academic-use")),
            (vec!["", by], Some(by)),
            (vec!["MIT", by], Some(by)),
            (vec![""], None),
            (vec![], None),
        ] {
            assert_eq!(strictest(licences), expected);
        }
    }
}
