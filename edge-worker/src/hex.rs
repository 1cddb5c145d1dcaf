//! Bytes as text, for headers and attachments.

pub fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn bytes(text: &str) -> Option<Vec<u8>> {
    let byte = |index: usize| u8::from_str_radix(text.get(index..index + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}
