//! One body on its way through a compressor.

use std::io::Write;

use brotli::CompressorWriter;
use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;
use heliograph_core::engine::http::Coding;

/// How hard Brotli tries, from 0 to 11, and the logarithm of the window that it looks back in. From level 5 to 11 an
/// answer becomes a tenth shorter and takes fifty times as long.
const BROTLI_LEVEL: i32 = 5;
const BROTLI_WINDOW: i32 = 19;
/// How hard gzip tries, from 0 to 9.
const GZIP_LEVEL: u32 = 6;
/// Bytes that Brotli gathers before it writes them.
const BUFFER: usize = 16 * 1024;

/// Takes a body in pieces, and gives it back compressed.
pub enum Encoder {
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl Encoder {
    /// An encoder of a body of this length; 0 means that it is not known.
    pub fn of_length(coding: Coding, length: usize) -> Encoder {
        match coding {
            Coding::Gzip => Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL))),
            Coding::Brotli => {
                let (quality, lgwin) = (BROTLI_LEVEL, BROTLI_WINDOW);
                let params = BrotliEncoderParams { quality, lgwin, size_hint: length, ..Default::default() };
                Encoder::Brotli(Box::new(CompressorWriter::with_params(Vec::new(), BUFFER, &params)))
            }
        }
    }

    /// Takes more of the body.
    pub fn write(&mut self, bytes: &[u8]) {
        // Writing into memory cannot fail.
        let _ = match self {
            Encoder::Brotli(encoder) => encoder.write_all(bytes),
            Encoder::Gzip(encoder) => encoder.write_all(bytes),
        };
    }

    /// Makes everything so far readable for whoever has what [`Encoder::take`] gave.
    pub fn flush(&mut self) {
        let _ = match self {
            Encoder::Brotli(encoder) => encoder.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
        };
    }

    /// What is compressed so far and was not taken yet.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(match self {
            Encoder::Brotli(encoder) => encoder.get_mut(),
            Encoder::Gzip(encoder) => encoder.get_mut(),
        })
    }

    /// The rest, once the body has ended.
    pub fn finish(self) -> Vec<u8> {
        match self {
            Encoder::Brotli(encoder) => encoder.into_inner(),
            Encoder::Gzip(encoder) => encoder.finish().unwrap_or_default(),
        }
    }
}
