//! Compresses answers (decision compressed-answers).
//!
//! A body that was compressed lately is kept with its compressed forms, so that asking for it again costs a look-up. Of
//! many that ask for one body at once, one compresses it and the others wait. Long bodies are compressed on threads of
//! their own, apart from those that accept and answer.
//!
//! | Module | What |
//! |---|---|
//! | `encoder` | one body on its way through a compressor |
//! | `pieces` | a body that comes in pieces |

mod encoder;
mod pieces;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use heliograph_core::engine::generations::Generations;
use heliograph_core::engine::http::{Coder, Coding};
use heliograph_core::engine::runtime::{BoxFuture, ByteStream};
use tokio::sync::{OnceCell, Semaphore};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use encoder::Encoder;
use pieces::Pieces;

/// A longer body is compressed on a thread of its own, in bytes: it takes more than about a millisecond.
const LONG: usize = 32 * 1024;

/// The compressor of a server.
pub struct Codings {
    /// Most bytes of bodies and their forms that are kept.
    most: usize,
    /// Names bodies by their content. Nobody outside knows it, so nobody can prepare bodies with one name; and every
    /// body found by its name is compared.
    seed: u64,
    kept: Mutex<Generations<u64, Arc<Forms>>>,
    /// Long bodies that are compressed at once.
    threads: Semaphore,
}

/// A body and its compressed forms. `None` within: it would not be shorter.
struct Forms {
    body: Bytes,
    brotli: OnceCell<Option<Bytes>>,
    gzip: OnceCell<Option<Bytes>>,
}

impl Codings {
    /// Keeps at most so many bytes.
    pub fn new(most: usize, seed: u64) -> Codings {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Codings { most, seed, kept: Mutex::new(Generations::of_bytes(most)), threads: Semaphore::new(threads) }
    }

    /// The forms of this body, those that are kept if there are any.
    fn forms(&self, body: &Bytes) -> Arc<Forms> {
        let name = xxh3_64_with_seed(body, self.seed);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(forms) = kept.get(&name).filter(|forms| same(&forms.body, body)) {
            return forms;
        }
        let forms = Arc::new(Forms { body: body.clone(), brotli: OnceCell::new(), gzip: OnceCell::new() });
        // Both forms together are seldom longer than the body.
        let bytes = body.len().saturating_mul(2);
        // The document of the interface, the longest body that is often asked for, takes a megabyte.
        if bytes <= self.most / 4 {
            kept.keep(name, forms.clone(), bytes);
        }
        forms
    }

    async fn compress(&self, coding: Coding, body: &Bytes) -> Option<Bytes> {
        if body.len() <= LONG {
            return compressed(coding, body);
        }
        // Nobody closes it.
        let _place = self.threads.acquire().await.ok()?;
        let body = body.clone();
        tokio::task::spawn_blocking(move || compressed(coding, &body)).await.ok()?
    }
}

/// Whether two bodies are equal; those that share their memory are, at once.
fn same(one: &Bytes, other: &Bytes) -> bool {
    one.len() == other.len() && (std::ptr::eq(one.as_ptr(), other.as_ptr()) || one == other)
}

/// A whole body under a coding; `None` if that is not shorter.
fn compressed(coding: Coding, body: &[u8]) -> Option<Bytes> {
    let mut encoder = Encoder::of_length(coding, body.len());
    encoder.write(body);
    let form = encoder.finish();
    // Without the room to grow, which nothing counts.
    (form.len() < body.len()).then(|| form.into_boxed_slice().into())
}

impl Coder for Codings {
    fn offered(&self, _forwarded: bool, _media_type: &str) -> &'static [Coding] {
        &[Coding::Brotli, Coding::Gzip]
    }

    fn whole<'a>(&'a self, coding: Coding, body: &'a Bytes) -> BoxFuture<'a, Option<Bytes>> {
        let forms = self.forms(body);
        Box::pin(async move {
            let form = match coding {
                Coding::Brotli => &forms.brotli,
                Coding::Gzip => &forms.gzip,
            };
            form.get_or_init(|| self.compress(coding, body)).await.clone()
        })
    }

    fn pieces(&self, coding: Coding, body: ByteStream) -> ByteStream {
        Box::pin(Pieces::new(coding, body))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use futures_util::FutureExt;

    use super::*;

    fn text(seed: usize, length: usize) -> Bytes {
        let words = ["blocked ", "free ", "unknown ", "dns ", "tls "];
        let mut text = format!("{seed} ");
        let mut at = seed;
        while text.len() < length {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(words[(at >> 33) % words.len()]);
        }
        text.into()
    }

    pub(super) fn decoded(coding: Coding, bytes: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        match coding {
            Coding::Brotli => brotli::Decompressor::new(bytes, 4_096).read_to_end(&mut body).unwrap(),
            Coding::Gzip => flate2::read::GzDecoder::new(bytes).read_to_end(&mut body).unwrap(),
        };
        body
    }

    #[tokio::test]
    async fn both_codings_give_the_body_back_whatever_its_length() {
        let codings = Codings::new(1 << 24, 7);
        for coding in [Coding::Brotli, Coding::Gzip] {
            for length in [1_024, 40_000, 700_000] {
                let body = text(length, length);
                let form = codings.whole(coding, &body).await.unwrap();
                assert!(form.len() * 3 < body.len(), "{coding:?}: {} of {length}", form.len());
                assert!(decoded(coding, &form) == body, "{coding:?} {length}");
            }
        }
    }

    #[test]
    fn an_equal_body_is_compressed_once_and_an_unequal_one_never_gets_its_form() {
        let codings = Codings::new(1 << 20, 7);
        let whole = |body: &Bytes| codings.whole(Coding::Gzip, body).now_or_never().unwrap().unwrap();
        let body = text(1, 5_000);
        let first = whole(&body);
        // The same memory, and a copy of it.
        for again in [body.clone(), Bytes::copy_from_slice(&body)] {
            assert!(std::ptr::eq(whole(&again).as_ptr(), first.as_ptr()));
        }
        // A name that two bodies share.
        let name = xxh3_64_with_seed(&body, 7);
        let other = text(2, 5_000);
        let forged =
            Forms { body: other.clone(), brotli: OnceCell::new(), gzip: OnceCell::new_with(Some(Some(first))) };
        codings.kept.lock().unwrap().keep(name, Arc::new(forged), 10_000);
        let changed = Bytes::from([&body[..4_999], b"!"].concat());
        let known = codings.forms(&body);
        codings.kept.lock().unwrap().keep(xxh3_64_with_seed(&changed, 7), known, 10_000);
        assert_eq!(decoded(Coding::Gzip, &whole(&changed)), changed);
    }

    #[test]
    fn memory_is_bounded_and_what_is_asked_for_stays() {
        let most = 1 << 20;
        let codings = Codings::new(most, 7);
        let kept = text(0, 2_000);
        let first = codings.forms(&kept);
        for seed in 1..2_000 {
            codings.forms(&text(seed, 2_000));
            assert!(Arc::ptr_eq(&codings.forms(&kept), &first), "{seed}");
        }
        let kept = codings.kept.lock().unwrap();
        assert!(kept.len() > 100 && kept.bytes() <= most, "{} {}", kept.len(), kept.bytes());
    }

    #[test]
    fn what_does_not_become_shorter_is_sent_as_it_is() {
        let mut at = 1_u64;
        let noise: Vec<u8> = (0..4_000)
            .map(|_| {
                at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (at >> 56) as u8
            })
            .collect();
        let codings = Codings::new(1 << 20, 7);
        for coding in [Coding::Brotli, Coding::Gzip] {
            assert_eq!(codings.whole(coding, &noise.clone().into()).now_or_never().unwrap(), None, "{coding:?}");
        }
    }
}
