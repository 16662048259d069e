//! A webhook's body as it is stored: compressed, because a forge's JSON repeats itself and most of what a delivery costs is writing it.

use lz4_flex::block::{compress_prepend_size, decompress, uncompressed_size};
use store::Blob;

/// In front of compressed bodies. No JSON begins with it: bodies of former versions, which stand as they came, are told by that.
const COMPRESSED: u8 = 1;
/// Larger bodies are not believed to be ours: no receiver takes them.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// A body on its way into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload(pub(crate) Blob);

impl Payload {
    /// Packs a body: JSON, byte for byte as it came.
    #[must_use]
    pub fn pack(body: &[u8]) -> Self {
        let mut packed = compress_prepend_size(body);
        packed.insert(0, COMPRESSED);
        Self(Blob(packed))
    }

    /// The body; `None` where nothing of the kind was stored.
    pub(crate) fn unpack(stored: Blob) -> Option<String> {
        let Some((&COMPRESSED, packed)) = stored.0.split_first() else {
            return String::from_utf8(stored.0).ok();
        };
        let (size, packed) = uncompressed_size(packed).ok()?;
        if size > MAX_BYTES {
            return None;
        }
        String::from_utf8(decompress(packed, size).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_comes_back_byte_for_byte() {
        let long = format!(
            r#"{{"list":[{}1]}}"#,
            r#"{"url":"https://forge.example"},"#.repeat(900)
        );
        for body in ["{}", " {\"a\":\"\u{e9}\"}\n", "", &long] {
            let Payload(stored) = Payload::pack(body.as_bytes());
            assert_eq!(Payload::unpack(stored).as_deref(), Some(body));
        }
        assert!(Payload::pack(long.as_bytes()).0.0.len() < long.len() / 5);
    }

    #[test]
    fn a_body_of_a_former_version_is_read_as_it_stands() {
        let stored = Blob(br#"{"ref":"x"}"#.to_vec());
        assert_eq!(Payload::unpack(stored).as_deref(), Some(r#"{"ref":"x"}"#));
    }

    #[test]
    fn what_is_no_body_is_none() {
        let huge = [&[COMPRESSED][..], &u32::MAX.to_le_bytes(), b"abc"].concat();
        let cut = Payload::pack(&[b'a'; 5000]).0.0[..12].to_vec();
        for stored in [huge, cut, vec![COMPRESSED], vec![COMPRESSED, 9], vec![0xff]] {
            assert_eq!(Payload::unpack(Blob(stored)), None);
        }
    }
}
