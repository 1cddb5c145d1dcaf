//! Takes the white space out of the committed OpenAPI document, which is laid out for readers of diffs: the Worker carries
//! it, and every byte of the Worker counts.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=openapi.json");
    let out = std::env::var_os("OUT_DIR").expect("cargo names the folder");
    let text = std::fs::read_to_string("openapi.json").expect("openapi.json is committed");
    std::fs::write(Path::new(&out).join("openapi.json"), compact(&text)).expect("the folder can be written");
}

/// JSON without white space outside its strings.
fn compact(text: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    text.chars()
        .filter(|letter| {
            if in_string {
                in_string = escaped || *letter != '"';
                escaped = !escaped && *letter == '\\';
                return true;
            }
            in_string = *letter == '"';
            !letter.is_ascii_whitespace()
        })
        .collect()
}
