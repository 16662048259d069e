//! A blob as rows of the server: packed where that saves, and no row larger than a page.
//!
//! TOAST cuts a value that does not stand in its row into pieces of 2 kB, each a row with an entry
//! in an index. On PostgreSQL 15 a body of 28 kB cost the server some 330 µs that way, 140 µs in
//! parts that stand in their rows, and 50 µs packed to a fifth (ADR 21).
//!
//! What is packed once and still larger than a page stands in several rows: the first has the
//! length unpacked; those behind it have the places right behind its own, and as length how far
//! behind, negative. Packing smaller pieces until each fits a page took twice as long.
//!
//! Source: [LZ4 block format](https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md).

use std::borrow::Cow;

/// Most bytes of a value that stands in its row: the table's `toast_tuple_target` is 8,160, and the
/// row's header and other columns take less than 160.
pub(crate) const IN_PAGE: usize = 8_000;

/// Bytes that are packed together. What is larger is read in parts of a few rows.
const PACKED_TOGETHER: usize = 64 << 10;

/// Most rows that hold what was packed together: it is at most as long as before.
pub(crate) const MOST_ROWS: usize = PACKED_TOGETHER.div_ceil(IN_PAGE);

/// Whether a row of this length goes on with the packed bytes of the row before it.
pub(crate) fn goes_on(length: Option<i32>) -> bool {
    length.is_some_and(|length| length < 0)
}

/// A part of a blob, as its row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlobPart<'b> {
    /// Where in the blob it begins; behind the first row of packed bytes, which row it is.
    pub(crate) offset: usize,
    /// The row's bytes.
    pub(crate) bytes: Cow<'b, [u8]>,
    /// Of packed bytes: how many they are when they are unpacked, or how far this row is
    /// behind the first, negative.
    pub(crate) length: Option<i32>,
}

impl BlobPart<'_> {
    /// The same, whose bytes are this one's.
    pub(crate) fn borrowed(&self) -> BlobPart<'_> {
        BlobPart {
            offset: self.offset,
            bytes: Cow::Borrowed(&self.bytes),
            length: self.length,
        }
    }

    /// The same with bytes of its own.
    pub(crate) fn into_owned(self) -> BlobPart<'static> {
        BlobPart {
            offset: self.offset,
            bytes: Cow::Owned(self.bytes.into_owned()),
            length: self.length,
        }
    }
}

/// The parts of a blob, in order.
pub(crate) fn parts(blob: &[u8]) -> Vec<BlobPart<'_>> {
    let mut parts = Vec::new();
    for (number, bytes) in blob.chunks(PACKED_TOGETHER).enumerate() {
        let offset = number * PACKED_TOGETHER;
        match packed(bytes) {
            (Cow::Owned(packed), length) if packed.len() <= IN_PAGE => parts.push(BlobPart {
                offset,
                bytes: Cow::Owned(packed),
                length,
            }),
            (Cow::Owned(packed), length) => {
                for (row, bytes) in (0..).zip(packed.chunks(IN_PAGE)) {
                    parts.push(BlobPart {
                        offset: offset + row as usize,
                        bytes: Cow::Owned(bytes.to_vec()),
                        length: if row == 0 { length } else { Some(-row) },
                    });
                }
            }
            (Cow::Borrowed(bytes), _) => {
                for (row, bytes) in bytes.chunks(IN_PAGE).enumerate() {
                    parts.push(BlobPart {
                        offset: offset + row * IN_PAGE,
                        bytes: Cow::Borrowed(bytes),
                        length: None,
                    });
                }
            }
        }
    }
    parts
}

/// Bytes and, where packing them saved an eighth at least, what they are unpacked.
pub(crate) fn packed(bytes: &[u8]) -> (Cow<'_, [u8]>, Option<i32>) {
    let packed = lz4_flex::block::compress(bytes);
    match i32::try_from(bytes.len()) {
        Ok(length) if packed.len() <= bytes.len() - bytes.len() / 8 => {
            (Cow::Owned(packed), Some(length))
        }
        _ => (Cow::Borrowed(bytes), None),
    }
}

/// The bytes of a row; `None` if they are not what was packed.
pub(crate) fn unpacked(bytes: &[u8], length: Option<i32>) -> Option<Cow<'_, [u8]>> {
    let Some(length) = length else {
        return Some(Cow::Borrowed(bytes));
    };
    let mut unpacked = vec![0; usize::try_from(length).ok()?];
    let written = lz4_flex::block::decompress_into(bytes, &mut unpacked).ok()?;
    (written == unpacked.len()).then_some(Cow::Owned(unpacked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn joined(parts: &[BlobPart<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let same = |_: &BlobPart<'_>, next: &BlobPart<'_>| goes_on(next.length);
        for rows in parts.chunk_by(same) {
            assert!(rows.len() <= MOST_ROWS);
            assert_eq!(rows[0].offset, bytes.len());
            let mut places = rows.iter().zip(rows[0].offset..);
            assert!(places.all(|(row, place)| row.offset == place));
            let packed = rows.iter().map(|row| &*row.bytes);
            let whole = packed.collect::<Vec<_>>().concat();
            bytes.extend_from_slice(&unpacked(&whole, rows[0].length).unwrap());
        }
        bytes
    }

    /// Bytes that nothing packs: a linear congruential generator's high bytes.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state.to_be_bytes()[0]
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn i18_a_body_of_json_is_one_row() {
        let body = r#"{"id":"0123456789","author":{"name":"A","email":"a@b.c"}},"#.repeat(500);
        let parts = parts(body.as_bytes());
        assert_eq!(parts.len(), 1);
        assert!(parts[0].bytes.len() < body.len() / 10);
        assert_eq!(joined(&parts), body.as_bytes());
    }

    #[test]
    fn i18_what_is_packed_to_more_than_a_page_is_packed_once() {
        let words = r#"{"id":"0123456789","author":{"name":"A","email":"a@b.c"}},"#;
        let ids = noise(9_000);
        let lines = ids.chunks(50).map(|id| [words.as_bytes(), id].concat());
        let body = lines.collect::<Vec<_>>().concat();
        let parts = parts(&body);
        let lengths: Vec<_> = parts.iter().map(|part| part.length).collect();
        let whole = i32::try_from(body.len()).ok();
        assert_eq!(lengths, [whole, Some(-1)]);
        assert_eq!(parts[0].bytes.len(), IN_PAGE, "its page is full");
        assert_eq!(joined(&parts), body);
    }

    #[test]
    fn i18_what_cannot_be_packed_stays_as_it_is_in_rows_of_a_page() {
        let bytes = noise(28_000);
        let parts = parts(&bytes);
        assert_eq!(parts.len(), 4);
        assert!(parts.iter().all(|part| part.length.is_none()));
        assert_eq!(joined(&parts), bytes);
        assert!(super::parts(&[]).is_empty());
    }

    #[test]
    fn i18_packed_bytes_that_were_changed_are_not_taken_for_others() {
        let bytes = b"a word, ".repeat(100);
        let (packed, length) = packed(&bytes);
        assert!(unpacked(&packed, length.map(|n| n + 1)).is_none());
        assert!(unpacked(&packed, length.map(|n| n - 1)).is_none());
        assert!(unpacked(&packed[..packed.len() / 2], length).is_none());
        assert!(unpacked(&packed, Some(-1)).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn i18_parts_are_the_blob_again(
            words in proptest::collection::vec("[a-z]{1,9}", 0..400),
            noisy in 0..20_000_usize,
            turns in 1..3_usize,
        ) {
            let mut blob = Vec::new();
            for _ in 0..turns {
                blob.extend_from_slice(words.join(" ").as_bytes());
                blob.extend_from_slice(&noise(noisy));
            }
            let parts = parts(&blob);
            prop_assert!(parts.iter().all(|part| part.bytes.len() <= IN_PAGE));
            prop_assert_eq!(joined(&parts), blob);
        }
    }
}
