//! Documents that nobody publishes, rendered for a reader and kept for the next.
//!
//! One is kept for each key, under all that it depends on ([`Basis`]): a change of the owner's rows gives another basis, so
//! nothing is ever invalidated: what was made of earlier rows is not served again, and is replaced in time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::generations::Generations;
use crate::{Result, Timestamp};

/// Most bytes of keys and documents that are kept: the longest list in all its lengths, and every report.
const MAX_BYTES: usize = 16 << 20;

/// What a rendered document depends on, beside its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// Of the owner's rows ([`View::basis`](crate::actor::View::basis)).
    pub rows: (u64, u64),
    /// Publications of the key so far.
    pub generation: u64,
    /// The time that it is rendered as of.
    pub at: Timestamp,
}

/// One document as it is sent, and what it was made of.
type RenderedDocument = (Basis, Bytes);

/// Documents by key, bounded in bytes. One per runtime; on the edge one per object.
#[derive(Debug)]
pub struct KeptDocuments {
    known: Mutex<Generations<String, RenderedDocument>>,
    /// Those that are being rendered, with what came of it.
    making: Mutex<HashMap<String, Arc<Mutex<Option<RenderedDocument>>>>>,
}

impl Default for KeptDocuments {
    fn default() -> Self {
        KeptDocuments { known: Mutex::new(Generations::of_bytes(MAX_BYTES)), making: Mutex::default() }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic left is a whole value: each is put in its place at once.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KeptDocuments {
    /// The document, if it was made of this.
    pub fn get(&self, key: &str, basis: &Basis) -> Option<Bytes> {
        let (of, document) = locked(&self.known).get(key)?;
        (of == *basis).then_some(document)
    }

    /// The document, or what `make` makes of this basis. Whoever comes while it is made waits, in its own thread, and gets
    /// the same; a failure is not kept, and the next one tries.
    pub fn once(&self, key: &str, basis: &Basis, make: impl FnOnce() -> Result<Bytes>) -> Result<Bytes> {
        if let Some(document) = self.get(key, basis) {
            return Ok(document);
        }
        let place = locked(&self.making).entry(key.to_owned()).or_default().clone();
        let made = {
            let mut waited = locked(&place);
            match &*waited {
                Some((of, document)) if of == basis => Ok(document.clone()),
                _ => make().inspect(|document| {
                    *waited = Some((*basis, document.clone()));
                    self.keep(key, basis, document);
                }),
            }
        };
        let mut making = locked(&self.making);
        // This one's and the table's: nobody waits any more.
        if Arc::strong_count(&place) <= 2 {
            making.remove(key);
        }
        made
    }

    fn keep(&self, key: &str, basis: &Basis, document: &Bytes) {
        let bytes = key.len() + document.len();
        if bytes <= MAX_BYTES / 16 {
            locked(&self.known).keep(key.to_owned(), (*basis, document.clone()), bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::Error;

    fn basis(revision: u64) -> Basis {
        Basis { rows: (revision, 0), generation: 0, at: Timestamp(0) }
    }

    #[test]
    fn a_document_of_earlier_rows_time_or_generation_is_never_served() {
        let kept = KeptDocuments::default();
        let made =
            |basis: &Basis, text: &'static str| kept.once("a", basis, || Ok(Bytes::from_static(text.as_bytes())));
        assert_eq!(made(&basis(1), "first").unwrap(), "first");
        assert_eq!(made(&basis(1), "not made").unwrap(), "first");
        let others = [
            Basis { rows: (2, 0), ..basis(1) },
            Basis { rows: (1, 1), ..basis(1) },
            Basis { generation: 1, ..basis(1) },
            Basis { at: Timestamp(1), ..basis(1) },
        ];
        for other in others {
            assert_eq!(kept.get("a", &other), None);
        }
        assert_eq!(made(&basis(2), "second").unwrap(), "second");
        assert_eq!(kept.get("a", &basis(1)), None, "one is kept for each key");
        assert_eq!(kept.get("b", &basis(2)), None);
    }

    /// 32 readers at once of a document that takes 20 ms must not cost 640 ms.
    #[test]
    fn whoever_comes_while_a_document_is_made_waits_and_gets_the_same() {
        let (kept, made, all) = (KeptDocuments::default(), AtomicUsize::new(0), Barrier::new(32));
        // Longer than is kept: it is shared all the same.
        let large = || {
            made.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(200));
            Ok(Bytes::from(vec![7; MAX_BYTES]))
        };
        std::thread::scope(|scope| {
            for _ in 0..32 {
                scope.spawn(|| {
                    all.wait();
                    assert_eq!(kept.once("a", &basis(1), large).unwrap().len(), MAX_BYTES);
                });
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
        assert!(locked(&kept.making).is_empty() && kept.get("a", &basis(1)).is_none());
    }

    #[test]
    fn a_failure_or_panic_is_of_one_reader_alone() {
        let kept = KeptDocuments::default();
        assert!(kept.once("a", &basis(1), || Err(Error::internal("no"))).is_err());
        let panic = || kept.once("a", &basis(1), || panic!("while it is made"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panic)).is_err());
        assert_eq!(kept.once("a", &basis(1), || Ok(Bytes::from_static(b"made"))).unwrap(), "made");
        assert_eq!(kept.get("a", &basis(1)).unwrap(), "made");
    }

    #[test]
    fn what_is_kept_is_bounded_in_bytes_and_what_is_asked_for_stays() {
        let kept = KeptDocuments::default();
        let put = |key: &str, revision, size| {
            kept.once(key, &basis(revision), || Ok(Bytes::from(vec![0; size]))).unwrap();
        };
        put("asked", 1, 1_000);
        for n in 0..2_000_u64 {
            // Of some there are many revisions.
            put(&format!("{}", n % 700), n, 40_000);
            assert!(kept.get("asked", &basis(1)).is_some(), "{n}");
            assert!(locked(&kept.known).bytes() <= MAX_BYTES);
        }
        assert!(kept.get("0", &basis(0)).is_none());
    }
}
