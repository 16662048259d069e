//! A webhook's body as it is stored: compressed, because a forge's JSON repeats itself and most of what a delivery costs is writing it.

use std::cell::RefCell;

use lz4_flex::block::{
    CompressTable, compress_into_with_table, compress_prepend_size, decompress,
    get_maximum_output_size, uncompressed_size,
};
use store::Blob;

/// In front of compressed bodies. No JSON begins with it: bodies of former versions, which stand as they came, are told by that.
const COMPRESSED: u8 = 1;
/// Larger bodies are not believed to be ours: no receiver takes them.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Bodies of up to so many bytes, nearly all, are packed in a room that their thread keeps; more would need a larger table.
const ORDINARY: usize = u16::MAX as usize - 1;
/// The mark, and the size before packing.
const HEAD: usize = 1 + size_of::<u32>();

/// A body on its way into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload(pub(crate) Blob);

impl Payload {
    /// Packs a body: JSON, byte for byte as it came.
    #[must_use]
    pub fn pack(body: &[u8]) -> Self {
        let packed = if body.len() <= ORDINARY {
            PACKER.with_borrow_mut(|packer| packer.pack(body))
        } else {
            [&[COMPRESSED][..], &compress_prepend_size(body)].concat()
        };
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

thread_local! {
    static PACKER: RefCell<Packer> = RefCell::new(Packer::new());
}

/// What packing needs, kept so that no delivery has to allocate and clear it.
struct Packer {
    table: CompressTable,
    room: Box<[u8]>,
}

impl Packer {
    fn new() -> Self {
        Self {
            table: CompressTable::small(),
            room: vec![0; HEAD + get_maximum_output_size(ORDINARY)].into_boxed_slice(),
        }
    }

    /// Packs an ordinary body into exactly as many bytes as it takes.
    fn pack(&mut self, body: &[u8]) -> Vec<u8> {
        let size = u32::try_from(body.len()).expect("an ordinary body is small");
        let (head, room) = self.room.split_at_mut(HEAD);
        head[0] = COMPRESSED;
        head[1..].copy_from_slice(&size.to_le_bytes());
        let packed = compress_into_with_table(body, room, &mut self.table);
        let packed = packed.expect("the room is as large as any ordinary body can need");
        self.room[..HEAD + packed].to_vec()
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
        let edges = [ORDINARY - 1, ORDINARY, ORDINARY + 1]
            .map(|bytes| "ab1".repeat(bytes)[..bytes].to_owned());
        let [below, at, above] = &edges;
        for body in [
            "{}",
            " {\"a\":\"\u{e9}\"}\n",
            "",
            &long,
            below,
            at,
            above,
            "{}",
        ] {
            let Payload(stored) = Payload::pack(body.as_bytes());
            assert_eq!(stored.0.capacity(), stored.0.len());
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
