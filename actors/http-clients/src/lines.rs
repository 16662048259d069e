//! Bytes in chunks → lines, bounded. What line-based streams (NDJSON, server-sent events) share.

use bytes::{Buf, Bytes, BytesMut};

/// Cuts chunks into lines. Lines end in LF or CR LF.
#[derive(Debug)]
pub(crate) struct Lines {
    buffer: BytesMut,
    /// Bytes at the front of the buffer that hold no line end.
    searched: usize,
    limit: usize,
}

/// A line is too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than {limit} bytes")]
pub(crate) struct LineError {
    limit: usize,
}

impl Lines {
    /// Lines of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            limit,
        }
    }

    /// Adds a chunk. Take all lines before the next one.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<(), LineError> {
        self.buffer.extend_from_slice(chunk);
        let last = self.buffer.iter().rposition(|byte| *byte == b'\n');
        let open = self.buffer.len() - last.map_or(0, |at| at + 1);
        if open > self.limit {
            return Err(LineError { limit: self.limit });
        }
        Ok(())
    }

    /// The next complete line, without its end.
    pub(crate) fn next_line(&mut self) -> Option<Bytes> {
        let unsearched = &self.buffer[self.searched..];
        let Some(at) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.searched + at).freeze();
        self.buffer.advance(1);
        self.searched = 0;
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        Some(line)
    }

    /// What stands behind the last line end.
    pub(crate) fn rest(&mut self) -> Bytes {
        self.searched = 0;
        self.buffer.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(chunks: &[&[u8]], limit: usize) -> Result<(Vec<Bytes>, Bytes), LineError> {
        let mut lines = Lines::new(limit);
        let mut found = Vec::new();
        for chunk in chunks {
            lines.push(chunk)?;
            found.extend(std::iter::from_fn(|| lines.next_line()));
        }
        Ok((found, lines.rest()))
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_chunks(
            text in "[ab\r\n]{0,30}", cuts in prop::collection::vec(0_usize..30, 0..5)
        ) {
            let whole = lines(&[text.as_bytes()], 100).unwrap();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> =
                cuts.windows(2).map(|w| &text.as_bytes()[w[0]..w[1]]).collect();
            prop_assert_eq!(lines(&chunks, 100).unwrap(), whole);
        }
    }

    #[test]
    fn a_line_is_bounded() {
        assert!(lines(&[b"12345\n12345\n"], 5).is_ok());
        assert!(lines(&[b"1\n12345", b"6"], 5).is_err());
        let (found, rest) = lines(&[b"a\r\n\nb"], 5).unwrap();
        assert_eq!((found, rest), (vec!["a".into(), "".into()], "b".into()));
    }
}
