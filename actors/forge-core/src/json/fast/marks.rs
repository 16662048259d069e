//! Where a text may end: quotes, backslashes and control characters, found for the whole body before it is read.
//!
//! One bit per byte, so that a text's end is found by counting zeros and not by a branch per byte. Written in plain
//! loops over arrays of a fixed length, which the compiler makes vector instructions of.

/// Bytes that are marked at a time.
const PIECE: usize = 256;
/// A product with it has the lowest bits of eight bytes in its highest byte, that of the first byte lowest.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// One bit per byte of a body, the first one lowest: whether a plain text does not go on there.
pub(super) struct Marks(Vec<u8>);

impl Marks {
    /// Marks a body, and everything for a while behind its end.
    pub(super) fn of(text: &[u8]) -> Self {
        let (pieces, rest) = text.as_chunks();
        // Eight more, so that a window of the last byte is a whole one.
        let mut marks = vec![0; (pieces.len() + 1) * (PIECE / 8) + 8];
        let (places, _) = marks.as_chunks_mut();
        let mut last = [0; PIECE];
        last[..rest.len()].copy_from_slice(rest);
        for (place, piece) in places.iter_mut().zip(pieces.iter().chain([&last])) {
            mark(piece, place);
        }
        Self(marks)
    }

    /// The marks from `at` on, that of `at` lowest: of 57 bytes or a few more, never of 65.
    #[inline(always)]
    pub(super) fn window(&self, at: usize) -> Option<u64> {
        let marks = self.0.get(at / 8..)?.first_chunk()?;
        Some(u64::from_le_bytes(*marks) >> (at % 8))
    }

    /// The first marked place from `at` on; it may be behind the end.
    #[inline(always)]
    pub(super) fn next(&self, mut at: usize) -> Option<usize> {
        loop {
            let window = self.window(at)?;
            if window != 0 {
                return Some(at + window.trailing_zeros() as usize);
            }
            at += 64 - at % 8;
        }
    }
}

fn mark(text: &[u8; PIECE], marks: &mut [u8; PIECE / 8]) {
    let ends = text.map(|byte| u8::from(is_end(byte)));
    let (eights, _) = ends.as_chunks();
    for (mark, eight) in marks.iter_mut().zip(eights) {
        *mark = (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) as u8;
    }
}

/// With one bit turned, the quote stands right behind the control characters.
#[inline(always)]
fn is_end(byte: u8) -> bool {
    (byte ^ 2 <= 0x20) | (byte == b'\\')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_backslashes_and_control_characters_are_marked() {
        for byte in 0..=u8::MAX {
            let expected = byte == b'"' || byte == b'\\' || byte < 0x20;
            assert_eq!(is_end(byte), expected, "{byte:#x}");
        }
    }

    /// By the definition, a byte at a time.
    fn end(text: &[u8], at: usize) -> usize {
        let found = text[at..].iter().position(|byte| is_end(*byte));
        found.map_or(text.len(), |found| at + found)
    }

    #[test]
    fn an_end_is_found_from_every_place_around_the_borders_of_windows_and_pieces() {
        let borders = [0, 8, 57, 64, 128, PIECE, 2 * PIECE];
        let near = |border: usize| border.saturating_sub(2)..=border + 2;
        for length in borders.into_iter().flat_map(near) {
            let plain = vec![b'a'; length];
            for at in 0..=length {
                assert_eq!(Marks::of(&plain).next(at), Some(length));
            }
            for place in borders.into_iter().flat_map(near).filter(|at| *at < length) {
                let mut text = plain.clone();
                text[place] = b'"';
                let marks = Marks::of(&text);
                for at in 0..length {
                    assert_eq!(marks.next(at), Some(end(&text, at)), "{place} {at}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn marks_are_those_of_the_bytes(
            text in prop::collection::vec(prop_oneof![
                6 => Just(b'a'), 1 => Just(b'"'), 1 => Just(b'\\'), 1 => any::<u8>(),
            ], 0..PIECE + 99),
        ) {
            let marks = Marks::of(&text);
            for at in 0..text.len() {
                prop_assert_eq!(marks.next(at), Some(end(&text, at)));
                let window = marks.window(at).unwrap();
                for (bit, byte) in text[at..].iter().take(57).enumerate() {
                    prop_assert_eq!(window >> bit & 1 == 1, is_end(*byte));
                }
            }
        }
    }
}
