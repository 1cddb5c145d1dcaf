//! Which answers the platform compresses (decision compressed-on-the-edge).
//!
//! The runtime of Workers compresses the body of an answer whose headers say `Content-Encoding: gzip`, unless the
//! answer has `encodeBody: "manual"`. So nothing is compressed in wasm: a body is handed over as it is.

use bytes::Bytes;
use heliograph_core::engine::http::{Coder, Coding};
use heliograph_core::engine::runtime::{BoxFuture, ByteStream};

/// Media types of our answers that the network of the platform compresses by itself on the way to a reader, with
/// Brotli too.
const COMPRESSED_IN_FRONT: [&str; 8] = [
    "application/json",
    "application/ld+json",
    "application/rss+xml",
    "application/xml",
    "image/svg+xml",
    "text/html",
    "text/plain",
    "text/xml",
];

/// Leaves the compressing to the platform.
pub struct PlatformCoder;

impl Coder for PlatformCoder {
    fn offered(&self, forwarded: bool, media_type: &str) -> &'static [Coding] {
        // The runtime alone, as on a developer's machine, has no network in front of it.
        if forwarded && COMPRESSED_IN_FRONT.contains(&media_type) { &[] } else { &[Coding::Gzip] }
    }

    fn whole<'a>(&'a self, _coding: Coding, body: &'a Bytes) -> BoxFuture<'a, Option<Bytes>> {
        Box::pin(std::future::ready(Some(body.clone())))
    }

    fn pieces(&self, _coding: Coding, body: ByteStream) -> ByteStream {
        body
    }
}
