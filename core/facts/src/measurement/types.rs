//! The results of an importer: parsed measurements, their identity, and the counts of an import.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::domain::TargetKey;
use super::outcome::Outcome;
use crate::Timestamp;

/// How much of a measurement a source has. Of several forms of one measurement the richest wins (decision
/// identity-of-measurements). The number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Form {
    /// One scored row of the `fastpath` table.
    Fastpath = 0,
    /// Rows of the `obs_web` table, several of which form one measurement.
    Observation = 1,
    /// The raw document.
    Raw = 2,
}

impl Form {
    pub const fn from_code(code: u8) -> Option<Form> {
        match code {
            0 => Some(Form::Fastpath),
            1 => Some(Form::Observation),
            2 => Some(Form::Raw),
            _ => None,
        }
    }
}

/// Where a reader can look up the measurement: its uid if the source has one, else report id and input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Witness {
    Uid(String),
    Report { report_id: String, input: Option<String> },
}

/// The statement of one measurement (or one row of it) about one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contribution {
    /// The series that it counts for; a service role is part of the key (`telegram/pool`).
    pub target: TargetKey,
    pub outcome: Outcome,
}

/// One usable document or row. It never holds the address of the probe or of its resolver (decision
/// addresses-discarded).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// ISO 3166 alpha-2, upper case; `ZZ` if the source withheld it.
    pub country: [u8; 2],
    /// `None` if withheld (AS0). Such a measurement counts for the country only.
    pub asn: Option<u32>,
    /// Start of the measurement by the probe's clock.
    pub time: Timestamp,
    /// See [`identity`].
    pub identity: [u8; 8],
    pub form: Form,
    /// Hash of (resolver network, platform, software version) as far as the source has them (decision vote-per-hour).
    pub vote_key: u32,
    /// Hash of the whole row or document, equal for exact repeats. Kept for each measurement to count `duplicate`.
    pub row_hash: u32,
    pub contributions: Vec<Contribution>,
    /// Index of the contribution about the target that the measurement set out to measure: the host of its input, or
    /// the main role of its service. This target is the same in every format; `None` for a row about another one.
    pub primary: Option<usize>,
    pub witness: Witness,
}

impl Parsed {
    /// The two letters of the country.
    pub fn country_code(&self) -> &str {
        std::str::from_utf8(&self.country).unwrap_or("ZZ")
    }
}

/// Identity of a measurement over all formats: the first 8 bytes of SHA-256 of test name, report id, input (or empty)
/// and start time to the second, joined by NUL (decision identity-of-measurements). Without a report id use
/// [`document_identity`].
pub fn identity(test_name: &[u8], report_id: &[u8], input: &[u8], time: Timestamp) -> [u8; 8] {
    let mut hash = Sha256::new();
    for part in [test_name, report_id, input] {
        hash.update(part);
        hash.update([0]);
    }
    hash.update(time.seconds().to_be_bytes());
    first_eight(&hash.finalize())
}

/// Identity of a document that has no report id: a hash of its bytes.
pub fn document_identity(document: &[u8]) -> [u8; 8] {
    first_eight(&Sha256::digest(document))
}

fn first_eight(digest: &[u8]) -> [u8; 8] {
    let mut out = [0; 8];
    for (to, from) in out.iter_mut().zip(digest) {
        *to = *from;
    }
    out
}

/// The vote key. Its upper half identifies platform and software version ([`software_of`]), its lower half the
/// resolver's network. A half is 0 if the format lacks its fields; `resolver_asn` 0 counts as absent.
pub fn vote_key(resolver_asn: u32, platform: &[u8], software_version: &[u8]) -> u32 {
    let mut software = crc32fast::Hasher::new();
    software.update(platform);
    software.update(&[0]);
    software.update(software_version);
    let upper = if platform.is_empty() && software_version.is_empty() { 0 } else { fold(software.finalize()) };
    let lower = if resolver_asn == 0 { 0 } else { fold(crc32fast::hash(&resolver_asn.to_be_bytes())) };
    (upper << 16) | lower
}

/// The part of a vote key that identifies platform and software version; `None` if the format has neither.
pub const fn software_of(vote_key: u32) -> Option<u32> {
    match vote_key >> 16 {
        0 => None,
        software => Some(software),
    }
}

/// Folds 32 bits to 16, never 0.
const fn fold(hash: u32) -> u32 {
    let folded = (hash >> 16) ^ (hash & 0xffff);
    if folded == 0 { 1 } else { folded }
}

/// How the lines of one import ended; every line is in exactly one count (decision import-counts).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ImportCounts {
    /// New and usable.
    pub accepted: u64,
    /// Usable but already known, in this import or an earlier one.
    pub duplicate: u64,
    /// Well formed, but of a test or kind that is not read.
    pub unsupported: u64,
    /// Read, but not usable: the measurement failed, or lacks something that a vote needs.
    pub unusable: u64,
    /// Not readable as this format.
    pub refused: u64,
    /// For all lines but `accepted` and `duplicate`: number of lines by stable reason.
    pub reasons: BTreeMap<String, u64>,
}

/// The result of a line that yields no measurement, with its stable reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    Unsupported(&'static str),
    Unusable(&'static str),
    Refused(&'static str),
}

/// A clock is wrong, because the time is in the future.
pub const CLOCK_AHEAD: Rejection = Rejection::Unusable("clock_ahead");

impl ImportCounts {
    /// Counts a line that was not accepted.
    pub fn reject(&mut self, rejection: Rejection) {
        self.reject_some(1, rejection);
    }

    /// Counts the result of one row; a usable row goes to `sink`.
    pub fn take(&mut self, read: Result<Parsed, Rejection>, sink: &mut dyn FnMut(Parsed)) {
        match read {
            Ok(parsed) => {
                self.accepted += 1;
                sink(parsed);
            }
            Err(rejection) => self.reject(rejection),
        }
    }

    /// Rejects lines that were counted as accepted.
    pub fn take_back(&mut self, lines: u64, rejection: Rejection) {
        self.accepted = self.accepted.saturating_sub(lines);
        self.reject_some(lines, rejection);
    }

    fn reject_some(&mut self, lines: u64, rejection: Rejection) {
        if lines == 0 {
            return;
        }
        let reason = match rejection {
            Rejection::Unsupported(reason) => {
                self.unsupported += lines;
                reason
            }
            Rejection::Unusable(reason) => {
                self.unusable += lines;
                reason
            }
            Rejection::Refused(reason) => {
                self.refused += lines;
                reason
            }
        };
        match self.reasons.get_mut(reason) {
            Some(count) => *count += lines,
            None => {
                self.reasons.insert(reason.to_owned(), lines);
            }
        }
    }

    /// Importers count every usable line as accepted. Only the fold knows the repeats, so it moves that number here.
    pub fn move_to_duplicate(&mut self, repeats: u64) {
        let repeats = repeats.min(self.accepted);
        self.accepted -= repeats;
        self.duplicate += repeats;
    }

    /// Adds the line number to the reason of one rejected line: `bad_date (line 7)`.
    pub fn name_line(&mut self, line: u64, rejection: Rejection) {
        let (Rejection::Unsupported(reason) | Rejection::Unusable(reason) | Rejection::Refused(reason)) = rejection;
        match self.reasons.get_mut(reason) {
            None => return,
            Some(1) => drop(self.reasons.remove(reason)),
            Some(count) => *count -= 1,
        }
        *self.reasons.entry(format!("{reason} (line {line})")).or_default() += 1;
    }

    /// Lines seen.
    pub fn lines(&self) -> u64 {
        self.accepted + self.duplicate + self.unsupported + self.unusable + self.refused
    }

    /// Adds the counts of another part of the same import.
    pub fn add(&mut self, other: &ImportCounts) {
        self.accepted += other.accepted;
        self.duplicate += other.duplicate;
        self.unsupported += other.unsupported;
        self.unusable += other.unusable;
        self.refused += other.refused;
        for (reason, count) in &other.reasons {
            *self.reasons.entry(reason.clone()).or_default() += count;
        }
    }
}

/// Why a stream could not be read to its end. The part before was handed over and counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportError {
    /// The stream inflates to more than the caller's limit (bytes).
    TooLarge(u64),
    /// The reader failed, or gzip data is damaged.
    Read(String),
    /// The header lacks columns that this format needs.
    MissingColumns(Vec<&'static str>),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::TooLarge(limit) => write!(f, "the data inflate to more than {limit} bytes"),
            ImportError::Read(cause) => write!(f, "the data cannot be read: {cause}"),
            ImportError::MissingColumns(names) => write!(f, "the header lacks {}", names.join(", ")),
        }
    }
}

impl std::error::Error for ImportError {}
