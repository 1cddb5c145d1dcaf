//! Ordered bytes to bytes on the SQLite database of a Durable Object.
//!
//! One table, `kv(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID`; SQLite compares blobs byte by byte, so the order of rows
//! is the order of encoded keys. Numbers live inside keys and values as big-endian bytes: a SQLite integer would travel
//! through JavaScript as a double and lose everything above 2^53.
//!
//! The table appears with the first successful write (ruling foundation 5): looking at an object that nobody created
//! leaves nothing behind.

use std::cell::Cell;
use std::ops::Bound;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use worker::{Error, Result, SqlStorage, SqlStorageValue, Storage};

/// Largest key plus value that one row can hold, in bytes (platform limit of 2 MB per row, less room for the record).
pub const MAX_ROW_BYTES: usize = 2_000_000 - 1_024;

const TABLE_EXISTS: &str = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'kv'";
const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS kv(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID";
const GET: &str = "SELECT v FROM kv WHERE k = ?";
const PUT: &str = "INSERT INTO kv(k, v) VALUES (?, ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v";
const DELETE: &str = "DELETE FROM kv WHERE k = ?";

#[wasm_bindgen]
extern "C" {
    /// `ctx.storage` seen through the method that worker 0.8 does not bind.
    type TransactionalStorage;

    /// Runs `body` in one SQLite transaction: commits when it returns, rolls back when it throws.
    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &TransactionalStorage,
        body: &mut dyn FnMut() -> std::result::Result<(), JsValue>,
    ) -> std::result::Result<(), JsValue>;
}

/// A row: key and value.
pub type Row = (Vec<u8>, Vec<u8>);

/// One change of an atomic batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Put { key: Vec<u8>, value: Vec<u8> },
    Delete { key: Vec<u8> },
}

/// Which end of a range a scan starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// The key-value store of one object.
pub struct Sqlite {
    storage: Storage,
    sql: SqlStorage,
    /// Whether the table is known to exist. False only means "not seen yet".
    table_seen: Cell<bool>,
}

impl Sqlite {
    pub fn new(storage: Storage) -> Self {
        let sql = storage.sql();
        Sqlite { storage, sql, table_seen: Cell::new(false) }
    }

    /// The value of `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.has_table()? {
            return Ok(None);
        }
        match self.sql.exec(GET, vec![SqlStorageValue::Blob(key.to_vec())])?.raw().next() {
            None => Ok(None),
            Some(row) => blob(row?.into_iter().next()).map(Some),
        }
    }

    /// At most `limit` rows of the range in key order, or from its end in reverse order.
    pub fn scan(&self, start: Bound<&[u8]>, end: Bound<&[u8]>, direction: Direction, limit: usize) -> Result<Vec<Row>> {
        if limit == 0 || !self.has_table()? {
            return Ok(Vec::new());
        }
        let (query, parameters) = scan_query(start, end, direction, limit);
        let mut rows = Vec::new();
        for row in self.sql.exec(&query, parameters)?.raw() {
            let mut columns = row?.into_iter();
            rows.push((blob(columns.next())?, blob(columns.next())?));
        }
        Ok(rows)
    }

    /// Applies every change or, on any error, none. An empty batch touches nothing.
    pub fn apply(&self, changes: &[Change]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let created = self.has_table()?;
        self.transaction(|| {
            if !created {
                self.sql.exec(CREATE_TABLE, None)?;
            }
            changes.iter().try_for_each(|change| self.write(change))
        })?;
        self.table_seen.set(true);
        Ok(())
    }

    /// Runs `body` inside one SQLite transaction. An error of `body` rolls everything back and is returned.
    pub fn transaction(&self, mut body: impl FnMut() -> Result<()>) -> Result<()> {
        let storage: &TransactionalStorage = self.storage.as_raw().unchecked_ref();
        let outcome = storage.transaction_sync(&mut || body().map_err(JsValue::from));
        if outcome.is_err() {
            // The roll-back may have taken the table with it.
            self.table_seen.set(false);
        }
        Ok(outcome?)
    }

    /// Size of the database in bytes.
    pub fn database_size(&self) -> usize {
        self.sql.database_size()
    }

    fn write(&self, change: &Change) -> Result<()> {
        match change {
            Change::Put { key, value } if key.len() + value.len() > MAX_ROW_BYTES => {
                Err(Error::RustError("row exceeds the platform's limit".into()))
            }
            Change::Put { key, value } => {
                let parameters = vec![SqlStorageValue::Blob(key.clone()), SqlStorageValue::Blob(value.clone())];
                self.sql.exec(PUT, parameters).map(|_| ())
            }
            Change::Delete { key } => self.sql.exec(DELETE, vec![SqlStorageValue::Blob(key.clone())]).map(|_| ()),
        }
    }

    fn has_table(&self) -> Result<bool> {
        if !self.table_seen.get() {
            let exists = self.sql.exec(TABLE_EXISTS, None)?.raw().next().transpose()?.is_some();
            self.table_seen.set(exists);
        }
        Ok(self.table_seen.get())
    }
}

/// The statement of a scan. Its text varies only in the operators, so the runtime's statement cache holds all of them.
fn scan_query(
    start: Bound<&[u8]>,
    end: Bound<&[u8]>,
    direction: Direction,
    limit: usize,
) -> (String, Vec<SqlStorageValue>) {
    let mut query = String::from("SELECT k, v FROM kv");
    let mut parameters = Vec::new();
    let mut condition = |bound: Bound<&[u8]>, inclusive: &str, exclusive: &str| {
        let (operator, key) = match bound {
            Bound::Unbounded => return,
            Bound::Included(key) => (inclusive, key),
            Bound::Excluded(key) => (exclusive, key),
        };
        query.push_str(if parameters.is_empty() { " WHERE k " } else { " AND k " });
        query.push_str(operator);
        query.push_str(" ?");
        parameters.push(SqlStorageValue::Blob(key.to_vec()));
    };
    condition(start, ">=", ">");
    condition(end, "<=", "<");
    query.push_str(match direction {
        Direction::Forward => " ORDER BY k LIMIT ?",
        Direction::Backward => " ORDER BY k DESC LIMIT ?",
    });
    // A limit above 2^31 means "all" and stays exact as a double.
    parameters.push(SqlStorageValue::Integer(limit.min(i32::MAX as usize) as i64));
    (query, parameters)
}

fn blob(column: Option<SqlStorageValue>) -> Result<Vec<u8>> {
    match column {
        Some(SqlStorageValue::Blob(bytes)) => Ok(bytes),
        _ => Err(Error::RustError("a column of the kv table is not a blob".into())),
    }
}
