//! Bodies of webhooks as former versions stored them: rows, packed or as they came.

use lz4_flex::block::{decompress, uncompressed_size};
use store::RawBytes;

/// In front of compressed bodies. No JSON begins with it: bodies of still earlier versions are told
/// by that.
const COMPRESSED: u8 = 1;
/// Larger bodies are not believed to be ours: no receiver took them.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The body; `None` where nothing of the kind was stored.
pub(crate) fn decode(stored: RawBytes) -> Option<String> {
    let Some((&COMPRESSED, packed)) = stored.0.split_first() else {
        return String::from_utf8(stored.0).ok();
    };
    let (size, packed) = uncompressed_size(packed).ok()?;
    if size > MAX_BYTES {
        return None;
    }
    String::from_utf8(decompress(packed, size).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lz4_flex::block::compress_prepend_size;

    fn packed(body: &[u8]) -> Vec<u8> {
        [&[COMPRESSED][..], &compress_prepend_size(body)].concat()
    }

    #[test]
    fn a_body_comes_back_byte_for_byte() {
        let long = r#"{"url":"https://forge.example"},"#.repeat(900);
        for body in ["{}", " {\"a\":\"\u{e9}\"}\n", "", &long] {
            let stored = [packed(body.as_bytes()), body.as_bytes().to_vec()];
            for stored in stored {
                assert_eq!(decode(RawBytes(stored)).as_deref(), Some(body));
            }
        }
    }

    #[test]
    fn what_is_no_body_is_none() {
        let huge = [&[COMPRESSED][..], &u32::MAX.to_le_bytes(), b"abc"].concat();
        let cut = packed(&[b'a'; 5000])[..12].to_vec();
        for stored in [huge, cut, vec![COMPRESSED], vec![COMPRESSED, 9], vec![0xff]] {
            assert_eq!(decode(RawBytes(stored)), None);
        }
    }
}
