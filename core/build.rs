//! Takes the white space out of the committed OpenAPI document, which is laid out for readers of diffs: the Worker carries
//! it, and every byte of the Worker counts.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=openapi.json");
    let out = std::env::var("OUT_DIR")?;
    let text = std::fs::read_to_string("openapi.json")?;
    let file = Path::new(&out).join("openapi.json");
    // A new file, not new bytes in the old one: copies of a target folder may share its files by hard links, and each
    // belongs to its own sources.
    if file.exists() {
        std::fs::remove_file(&file)?;
    }
    Ok(std::fs::write(file, compact(&text))?)
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
