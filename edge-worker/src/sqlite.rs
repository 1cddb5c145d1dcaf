//! An ordered key-value store of bytes on the SQLite database of a Durable Object.
//!
//! There is one table, `kv(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID`. SQLite compares blobs byte by byte, so the order
//! of rows is the order of encoded keys. Numbers in keys and values are big-endian bytes, because a SQLite integer
//! would pass through JavaScript as a double and lose everything above 2^53.
//!
//! The table is made by the first successful write (decision invented-names-leave-nothing), so reading an object that
//! nobody created leaves nothing behind.
//!
//! Rows that were looked up lately are remembered, also in vain: only this object writes them, and a look-up through
//! SQLite costs twenty times as much. A send looks up some twenty rows that are the same with every message.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::LazyLock;

use heliograph_core::engine::generations::Generations;
use heliograph_core::engine::kv::{
    Batch, Change, Direction, MAX_VALUE_BYTES, Pair, Range, Read, Room, Store, StoreError,
};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use worker::{Error, SqlStorage, SqlStorageValue, Storage};

const TABLE_EXISTS: &str = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'kv'";
const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS kv(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID";
/// The table with the object's own name, in one row, for events that do not carry the name.
const CREATE_NAME: &str =
    "CREATE TABLE IF NOT EXISTS object(one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL)";
const PUT_NAME: &str =
    "INSERT INTO object(one, name) VALUES (1, ?) ON CONFLICT(one) DO UPDATE SET name = excluded.name";
const GET_NAME: &str = "SELECT name FROM object";
const GET: &str = "SELECT v FROM kv WHERE k = ?";
const DELETE: &str = "DELETE FROM kv WHERE k = ?";
/// Rows that one statement writes at most: each statement is a call out of wasm, and the platform binds at most 100
/// values to one.
const TOGETHER: usize = 8;
/// The statements that write 1, 2, ... rows. There are few texts, so that the runtime's statement cache can hold them all.
static PUTS: LazyLock<[String; TOGETHER]> = LazyLock::new(|| {
    std::array::from_fn(|more| {
        let rows = ", (?, ?)".repeat(more);
        format!("INSERT INTO kv(k, v) VALUES (?, ?){rows} ON CONFLICT(k) DO UPDATE SET v = excluded.v")
    })
});

/// Most bytes that one object may store (developers.cloudflare.com/durable-objects/platform/limits).
const MAX_BYTES: u64 = 10_000_000_000;

#[wasm_bindgen]
extern "C" {
    /// `ctx.storage`, with the method that worker 0.8 does not bind.
    type TransactionalStorage;

    /// Runs `body` in one SQLite transaction: it commits when `body` returns and rolls back when it throws.
    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &TransactionalStorage,
        body: &mut dyn FnMut() -> std::result::Result<(), JsValue>,
    ) -> std::result::Result<(), JsValue>;
}

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Most bytes of rows that an object remembers. An isolate of 128 MB has many objects.
const REMEMBERED: usize = 256 << 10;
/// Rows larger than this are not remembered: small rows are those that are read again and again.
const LARGEST: usize = 4_096;
/// Memory that a row takes beside its key and value, in bytes. An estimate.
const ROW: usize = 96;

/// The value of a row; `None` if there is no such row.
type Value = Option<Rc<[u8]>>;

/// The key-value store of one object.
pub struct Sqlite {
    storage: Storage,
    sql: SqlStorage,
    /// True if the tables are known to exist. False only means that they have not been seen yet.
    table_seen: Cell<bool>,
    name: OnceCell<String>,
    known: RefCell<Generations<Vec<u8>, Value>>,
}

impl Sqlite {
    pub fn new(storage: Storage) -> Self {
        let sql = storage.sql();
        let known = RefCell::new(Generations::of_bytes(REMEMBERED));
        Sqlite { storage, sql, table_seen: Cell::new(false), name: OnceCell::new(), known }
    }

    /// Sets the name under which the object was reached; it is stored with the first write.
    pub fn set_name(&self, name: &str) {
        let _ = self.name.set(name.to_owned());
    }

    /// The name under which this object was first written to.
    pub fn stored_name(&self) -> Result<Option<String>> {
        if !self.has_table()? {
            return Ok(None);
        }
        let row = self.sql.exec(GET_NAME, None).map_err(fault)?.raw().next().transpose().map_err(fault)?;
        Ok(row.and_then(|row| row.into_iter().next()).and_then(|column| match column {
            SqlStorageValue::String(name) => Some(name),
            _ => None,
        }))
    }

    /// Applies every change, or none if there is an error. An empty batch touches nothing.
    pub fn apply(&self, batch: &Batch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let created = self.has_table()?;
        self.transaction(|| {
            if !created {
                self.create()?;
            }
            self.write(batch)
        })?;
        self.table_seen.set(true);
        self.remember(batch);
        Ok(())
    }

    fn remember(&self, batch: &Batch) {
        let mut known = self.known.borrow_mut();
        for (key, change) in batch.iter() {
            match change {
                Change::Put(value) if value.len() > LARGEST => known.forget(key),
                Change::Put(value) => known.update(key, Some(value.as_slice().into())),
                Change::Delete => known.update(key, None),
            }
        }
    }

    /// Proves that a write can be made durable, by writing the name again. It does nothing in an object without rows.
    pub fn write_check(&self) -> Result<()> {
        match self.stored_name()? {
            Some(name) => self.transaction(|| self.execute(PUT_NAME, vec![SqlStorageValue::String(name.clone())])),
            None => Ok(()),
        }
    }

    /// Runs `body` inside one SQLite transaction. An error of `body` rolls everything back and is returned.
    pub fn transaction(&self, mut body: impl FnMut() -> Result<()>) -> Result<()> {
        let storage: &TransactionalStorage = self.storage.as_raw().unchecked_ref();
        let mut failed = None;
        let outcome = storage.transaction_sync(&mut || {
            body().map_err(|error| {
                let thrown = JsValue::from_str(&error.to_string());
                failed = Some(error);
                thrown
            })
        });
        if outcome.is_err() {
            // The roll-back may have removed the table.
            self.table_seen.set(false);
        }
        match failed {
            Some(error) => Err(error),
            None => outcome.map_err(|thrown| fault(thrown.into())),
        }
    }

    /// Size of the database in bytes.
    #[cfg(feature = "test-routes")]
    pub fn database_size(&self) -> usize {
        self.sql.database_size()
    }

    /// An empty store in place of this one.
    #[cfg(feature = "test-routes")]
    pub fn emptied(storage: Storage) -> Self {
        let store = Sqlite::new(storage);
        let _ = store.sql.exec("DROP TABLE IF EXISTS kv", None);
        store
    }

    fn create(&self) -> Result<()> {
        self.execute(CREATE_TABLE, Vec::new())?;
        self.execute(CREATE_NAME, Vec::new())?;
        match self.name.get() {
            Some(name) => self.execute(PUT_NAME, vec![SqlStorageValue::String(name.clone())]),
            None => Ok(()),
        }
    }

    fn write(&self, batch: &Batch) -> Result<()> {
        let blob = |bytes: &[u8]| SqlStorageValue::Blob(bytes.to_vec());
        let mut puts = Vec::with_capacity(2 * TOGETHER);
        for (key, change) in batch.iter() {
            match change {
                Change::Put(value) if value.len() > MAX_VALUE_BYTES => {
                    return Err(StoreError::Refused(format!("a value of {} bytes exceeds the limit", value.len())));
                }
                Change::Put(value) => puts.extend([blob(key), blob(value)]),
                Change::Delete => self.execute(DELETE, vec![blob(key)])?,
            }
            if puts.len() == 2 * TOGETHER {
                self.put(std::mem::take(&mut puts))?;
            }
        }
        self.put(puts)
    }

    /// Writes rows: a key, its value, the next key and so on.
    fn put(&self, rows: Vec<SqlStorageValue>) -> Result<()> {
        match (rows.len() / 2).checked_sub(1).and_then(|more| PUTS.get(more)) {
            Some(statement) => self.execute(statement, rows),
            None => Ok(()),
        }
    }

    fn execute(&self, statement: &str, parameters: Vec<SqlStorageValue>) -> Result<()> {
        self.sql.exec(statement, parameters).map(|_| ()).map_err(fault)
    }

    fn has_table(&self) -> Result<bool> {
        if !self.table_seen.get() {
            let row = self.sql.exec(TABLE_EXISTS, None).map_err(fault)?.raw().next();
            self.table_seen.set(row.transpose().map_err(fault)?.is_some());
        }
        Ok(self.table_seen.get())
    }
}

impl Read for Sqlite {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.has_table()? {
            return Ok(None);
        }
        if let Some(value) = self.known.borrow_mut().get(key) {
            return Ok(value.map(|value| value.to_vec()));
        }
        let row = self.sql.exec(GET, vec![SqlStorageValue::Blob(key.to_vec())]).map_err(fault)?.raw().next();
        let value = row.map(|row| blob(row.map_err(fault)?.into_iter().next())).transpose()?;
        if value.as_ref().is_none_or(|value| value.len() <= LARGEST) {
            let bytes = ROW + key.len() + value.as_ref().map_or(0, Vec::len);
            self.known.borrow_mut().keep(key.to_vec(), value.as_deref().map(Rc::from), bytes);
        }
        Ok(value)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>> {
        if limit == 0 || range.is_empty() || !self.has_table()? {
            return Ok(Vec::new());
        }
        let (query, parameters) = scan_query(range, direction, limit);
        let mut rows = Vec::new();
        for row in self.sql.exec(query, parameters).map_err(fault)?.raw() {
            let mut columns = row.map_err(fault)?.into_iter();
            rows.push((blob(columns.next())?, blob(columns.next())?));
        }
        Ok(rows)
    }

    fn room(&self) -> Option<Room> {
        let used = self.sql.database_size() as u64;
        Some(Room { used, free: Some(MAX_BYTES.saturating_sub(used)) })
    }
}

impl Store for Sqlite {
    fn apply(&mut self, batch: Batch) -> Result<()> {
        Sqlite::apply(self, &batch)
    }
}

fn fault(error: Error) -> StoreError {
    StoreError::Unavailable(format!("SQLite: {error}"))
}

/// The statement of a scan. There are only four texts, so that the runtime's statement cache can hold them all.
fn scan_query(range: &Range, direction: Direction, limit: usize) -> (&'static str, Vec<SqlStorageValue>) {
    let mut parameters = vec![SqlStorageValue::Blob(range.start.clone())];
    if let Some(end) = &range.end {
        parameters.push(SqlStorageValue::Blob(end.clone()));
    }
    // A limit above 2^31 means "all" and stays exact as a double.
    parameters.push(SqlStorageValue::Integer(limit.min(i32::MAX as usize) as i64));
    let query = match (direction, range.end.is_some()) {
        (Direction::Ascending, true) => "SELECT k, v FROM kv WHERE k >= ? AND k < ? ORDER BY k LIMIT ?",
        (Direction::Ascending, false) => "SELECT k, v FROM kv WHERE k >= ? ORDER BY k LIMIT ?",
        (Direction::Descending, true) => "SELECT k, v FROM kv WHERE k >= ? AND k < ? ORDER BY k DESC LIMIT ?",
        (Direction::Descending, false) => "SELECT k, v FROM kv WHERE k >= ? ORDER BY k DESC LIMIT ?",
    };
    (query, parameters)
}

fn blob(column: Option<SqlStorageValue>) -> Result<Vec<u8>> {
    match column {
        Some(SqlStorageValue::Blob(bytes)) => Ok(bytes),
        _ => Err(StoreError::Corrupt("a column of the kv table is not a blob".into())),
    }
}
