//! The key-value seam.

/// Why storage could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The engine failed; the same request may succeed later.
    #[error("storage unavailable: {0}")]
    Unavailable(String),
    /// A stored row cannot be read by this version.
    #[error("stored row unreadable: {0}")]
    Corrupt(String),
}
