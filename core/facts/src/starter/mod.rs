//! The starter set: facts with dates and sources that the project writes itself. It ships inside the binary and the
//! Worker, so that the server can answer from its first start. Imported measurements always win over it.
//!
//! | Table | What |
//! |---|---|
//! | [`countries`] | ISO 3166-1 codes, names, UN M49 regions |
//! | [`platforms`] | the 12 platforms, their roles and hosts |
//! | [`known_blocks`] | documented national blocks, the `known_list` of kind `documented` |
//! | [`basket`] | 60 sites with a category, probed and reported before any list is imported |
//! | [`signatures`] | block pages and addresses |
//! | [`categories`] | category codes of the test lists, retired codes, focus groups |
//! | [`ELECTIONS`] | coming elections, CSV like the calendars that are imported |
//!
//! The tables are tab-separated text files next to the code. A line with `#` is a comment, and the first other line
//! names the columns. Fields hold no tabs and no quoting. The tables are parsed once, on first use; every string is
//! borrowed from the binary.

pub mod basket;
pub mod categories;
pub mod countries;
pub mod known_blocks;
pub mod platforms;
pub mod signatures;

pub use basket::BasketSite;
pub use countries::Country;
pub use known_blocks::KnownBlock;
pub use platforms::Platform;
pub use signatures::Signature;

use engine::time::Timestamp;

/// Coming elections, CSV like the calendars that are imported; the feature of elections reads it.
pub const ELECTIONS: &str = include_str!("elections.csv");

/// The licence of all rows in the starter set.
pub const LICENCE: &str = "CC-BY-4.0";

/// One table of the starter set, as listed by `/data/sources` and the exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StarterSource {
    /// Stable identifier, for example `starter/known_blocks`.
    pub id: &'static str,
    /// One line for people.
    pub description: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// SPDX identifier.
    pub licence: &'static str,
    /// Newest `confirmed_on` of the table, midnight UTC.
    pub newest: Timestamp,
    /// Bytes of text in the binary.
    pub bytes: usize,
}

/// The tables that ship, each with its number of rows and its newest date.
pub fn sources() -> Vec<StarterSource> {
    let source = |id, description, text: &'static str, rows, newest: Option<Timestamp>| StarterSource {
        id,
        description,
        rows,
        licence: LICENCE,
        newest: newest.or_else(|| table_date(text)).unwrap_or(Timestamp::MIN),
        bytes: text.len(),
    };
    let blocks = known_blocks::all();
    let signatures = signatures::all();
    let roles = Platform::all().iter().map(|p| p.roles.len()).sum();
    vec![
        source("starter/countries", "Country codes, names and regions", countries::TEXT, Country::all().len(), None),
        source("starter/platforms", "Platforms, their roles and hosts", platforms::TEXT, roles, None),
        source(
            "starter/known_blocks",
            "Documented national blocks",
            known_blocks::TEXT,
            blocks.len(),
            blocks.iter().map(|b| b.confirmed_on).max(),
        ),
        source("starter/basket", "Basket of 60 sites with categories", basket::TEXT, basket::all().len(), None),
        source(
            "starter/signatures",
            "Block page and address signatures",
            signatures::TEXT,
            signatures.len(),
            signatures.iter().map(|s| s.confirmed_on).max(),
        ),
        source("starter/elections", "Coming elections", ELECTIONS, csv_rows(ELECTIONS), None),
    ]
}

/// The rows of a table that have exactly `N` fields, without comments and without the line of column names.
pub fn rows<const N: usize>(text: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    lines(text).filter_map(|line| {
        let mut fields = [""; N];
        let mut given = line.split('\t');
        for field in &mut fields {
            *field = given.next()?;
        }
        given.next().is_none().then_some(fields)
    })
}

/// Rows of a CSV table, without comments and without the line of column names.
fn csv_rows(text: &str) -> usize {
    text.lines().filter(|line| !line.starts_with('#')).count().saturating_sub(1)
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).skip(1)
}

/// Value of a `# name: value` line that holds for the whole table.
fn directive(text: &'static str, name: &str) -> Option<&'static str> {
    text.lines().filter_map(|line| line.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(": ")).next_back()
}

/// The `confirmed_on` of a table whose rows share one date.
fn table_date(text: &'static str) -> Option<Timestamp> {
    date(directive(text, "confirmed_on")?)
}

/// `YYYY-MM-DD` as midnight UTC.
fn date(text: &str) -> Option<Timestamp> {
    if text.len() == 10 { Timestamp::parse(text) } else { None }
}

/// A field that may be empty.
fn optional(field: &'static str) -> Option<&'static str> {
    (!field.is_empty()).then_some(field)
}

#[cfg(test)]
mod tests;
