//! A DID, and text that its key signed. `cargo run -p heliograph-core --example signed_envelope`

use heliograph_core::crypto::encoding::{did, did_bytes, encode_base64};
use heliograph_core::crypto::{Secret, signing};

fn main() {
    let seed = Secret::new([7; 32]);
    let public = signing::signing_public_key(&seed);
    // Members in the order of their names, without blanks: what the ledger signs and checks.
    let envelope = r#"{"amount_micro":250000,"memo":"thanks","schema":"heliograph-transfer/v1"}"#;
    let signature = signing::sign(&seed, envelope.as_bytes());
    println!("{}\n{envelope}\n{}", did("heliograph", &did_bytes(&public)), encode_base64(&signature));
}
