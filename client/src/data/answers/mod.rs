//! What the routes of open data answer, as types. Members that this version does not know are left out.

mod checks;
mod claims;
mod incidents;

pub use checks::*;
pub use claims::*;
pub use incidents::*;

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::*;

    fn example(operation: &str) -> Value {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src/app/openapi/examples.json");
        let examples: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        examples[operation]["response"].clone()
    }

    /// Reads an example as this type. What it says again is in the example: no member has another name.
    fn reads<T: Serialize + DeserializeOwned>(operation: &str) -> T {
        let example = example(operation);
        let read: T = serde_json::from_value(example.clone()).unwrap_or_else(|error| panic!("{operation}: {error}"));
        let said = serde_json::to_value(&read).unwrap();
        for (name, value) in said.as_object().unwrap().iter().filter(|(_, value)| value.is_string()) {
            assert_eq!(&example[name], value, "{operation}: {name}");
        }
        read
    }

    #[test]
    fn the_examples_of_the_interface_are_read() {
        assert_eq!(reads::<Incident>("getIncident").common.country, "KE");
        reads::<Incidents>("listIncidents");
        reads::<Changes>("listChangedIncidents");
        reads::<Check>("checkAccessibility");
        reads::<Country>("getCountryOverview");
        reads::<CountryPage>("getCountry");
        reads::<Aggregation>("aggregateMeasurements");
        reads::<ClaimVerdict>("verifyClaim");
    }

    #[test]
    fn a_changed_incident_says_what_changed_beside_the_incident() {
        let mut changed = example("getIncident");
        changed["change"] = "updated".into();
        // Shares may be whole numbers.
        changed["confidence"] = 1.into();
        let read: ChangedIncident = serde_json::from_value(changed).unwrap();
        assert_eq!((read.change.as_str(), read.confidence), ("updated", 1.0));
        let said = serde_json::to_value(&read).unwrap();
        assert_eq!((&said["change"], &said["country"]), (&"updated".into(), &"KE".into()));
    }
}
