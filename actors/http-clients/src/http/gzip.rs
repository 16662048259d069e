//! Undoing gzip with a bound on what comes out.

use std::io::Write;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;

/// A body that grows, as it is or decompressed, up to a limit.
pub(crate) enum BodyDecoder {
    Plain(BoundedBuffer),
    Gzip(Box<MultiGzDecoder<BoundedBuffer>>),
}

/// Why a body cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InflateError {
    TooLarge,
    Broken(String),
}

/// Bytes up to a limit.
#[derive(Debug)]
pub(crate) struct BoundedBuffer {
    bytes: Vec<u8>,
    limit: usize,
    over: bool,
}

impl Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.limit {
            self.over = true;
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl BodyDecoder {
    /// An empty body of at most `limit` bytes, for this content encoding.
    pub(crate) fn new(encoding: Option<&str>, limit: usize) -> Result<Self, String> {
        let bounded = BoundedBuffer {
            bytes: Vec::new(),
            limit,
            over: false,
        };
        match encoding.map(str::trim) {
            None | Some("" | "identity") => Ok(Self::Plain(bounded)),
            Some("gzip" | "x-gzip") => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(bounded)))),
            Some(other) => Err(format!(
                "it is encoded as {}, which was not asked for",
                other.escape_debug()
            )),
        }
    }

    /// Adds a chunk as it came.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<(), InflateError> {
        let written = match self {
            Self::Plain(bounded) => bounded.write_all(chunk),
            Self::Gzip(decoder) => decoder.write_all(chunk),
        };
        written.map_err(|error| self.error(&error))
    }

    /// The whole body. One that is compressed and ends early is broken.
    pub(crate) fn finish(self) -> Result<Bytes, InflateError> {
        match self {
            Self::Plain(bounded) => Ok(bounded.bytes.into()),
            Self::Gzip(mut decoder) => match decoder.try_finish() {
                Ok(()) => Ok(std::mem::take(&mut decoder.get_mut().bytes).into()),
                Err(error) => Err(Self::Gzip(decoder).error(&error)),
            },
        }
    }

    fn error(&self, error: &std::io::Error) -> InflateError {
        let bounded = match self {
            Self::Plain(bounded) => bounded,
            Self::Gzip(decoder) => decoder.get_ref(),
        };
        if bounded.over {
            InflateError::TooLarge
        } else {
            InflateError::Broken(format!("its gzip is damaged: {error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn inflate(chunks: &[&[u8]], encoding: &str, limit: usize) -> Result<Bytes, InflateError> {
        let mut body = BodyDecoder::new(Some(encoding), limit).unwrap();
        for chunk in chunks {
            body.push(chunk)?;
        }
        body.finish()
    }

    proptest! {
        #[test]
        fn a_body_comes_back_however_it_is_cut(
            body in prop::collection::vec(any::<u8>(), 0..400), at in any::<prop::sample::Index>()
        ) {
            let packed = gzip(&body);
            let at = at.index(packed.len() + 1);
            let (a, b) = packed.split_at(at);
            prop_assert_eq!(&inflate(&[a, b], "gzip", 400).unwrap(), &body);
            prop_assert_eq!(&inflate(&[&body], "identity", 400).unwrap(), &body);
        }

        #[test]
        fn a_body_cut_short_is_broken(at in 0_usize..40) {
            let packed = gzip(b"some text that is long enough to be compressed into 40 bytes");
            let cut = &packed[..at.max(1)];
            let broken = matches!(inflate(&[cut], "gzip", 400), Err(InflateError::Broken(_)));
            prop_assert!(broken);
        }

        #[test]
        fn noise_never_panics(noise in any::<Vec<u8>>()) {
            let _ = inflate(&[&noise], "gzip", 100);
        }
    }

    #[test]
    fn s12_a_bomb_ends_at_the_limit() {
        let bomb = gzip(&vec![0; 50 << 20]);
        assert!(bomb.len() < 60_000, "it is one");
        let mut body = BodyDecoder::new(Some("gzip"), 1 << 20).unwrap();
        assert_eq!(body.push(&bomb), Err(InflateError::TooLarge));
        let BodyDecoder::Gzip(decoder) = body else {
            panic!("it is gzip");
        };
        assert!(decoder.get_ref().bytes.capacity() <= 2 << 20);
    }

    #[test]
    fn the_limit_is_exact_and_other_encodings_are_refused() {
        assert_eq!(inflate(&[b"12345"], "identity", 5).unwrap(), "12345");
        let over = inflate(&[b"123", b"456"], "identity", 5);
        assert_eq!(over, Err(InflateError::TooLarge));
        assert!(BodyDecoder::new(Some("br"), 5).is_err());
    }
}
