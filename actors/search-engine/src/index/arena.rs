//! Memory for posting lists that grow side by side.

/// Size of a page; lists grow by chunks inside pages, so nothing is ever moved.
const PAGE_BYTES: usize = 1 << 20;

/// Bytes of payload in the first, second, … chunk of a list.
const CHUNK_BYTES: [u16; 8] = [12, 28, 60, 124, 252, 508, 1020, 4092];

/// Bytes behind the payload that hold the address of the next chunk.
const LINK_BYTES: usize = 4;

/// Pages of memory, given out in chunks.
#[derive(Default)]
pub(super) struct Arena {
    pages: Vec<Box<[u8]>>,
    /// First free byte of the last page.
    free: usize,
}

/// A list of bytes that lives in an arena.
#[derive(Clone, Copy, Default)]
pub(super) struct ByteList {
    /// Address of the first chunk.
    head: u32,
    /// Address of the next byte.
    at: u32,
    /// Payload bytes left in the last chunk.
    left: u16,
    /// Number of chunks, up to what fits.
    chunks: u16,
}

impl Arena {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.pages.len() * PAGE_BYTES
    }

    /// The address of `bytes` free bytes.
    fn allocate(&mut self, bytes: usize) -> u32 {
        if self.pages.is_empty() || self.free + bytes > PAGE_BYTES {
            self.pages.push(vec![0; PAGE_BYTES].into_boxed_slice());
            self.free = 0;
        }
        let address = (self.pages.len() - 1) * PAGE_BYTES + self.free;
        self.free += bytes;
        u32::try_from(address).expect("the builder is flushed long before 4 GiB")
    }

    fn slice(&self, address: u32, bytes: usize) -> &[u8] {
        let (page, offset) = split_address(address);
        &self.pages[page][offset..offset + bytes]
    }

    #[inline]
    fn set(&mut self, address: u32, byte: u8) {
        let (page, offset) = split_address(address);
        self.pages[page][offset] = byte;
    }

    fn put_link(&mut self, address: u32, link: u32) {
        let (page, offset) = split_address(address);
        self.pages[page][offset..offset + LINK_BYTES].copy_from_slice(&link.to_le_bytes());
    }

    fn link(&self, address: u32) -> u32 {
        let bytes = self.slice(address, LINK_BYTES);
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }
}

#[inline]
const fn split_address(address: u32) -> (usize, usize) {
    (address as usize / PAGE_BYTES, address as usize % PAGE_BYTES)
}

#[inline]
fn payload(chunk: u16) -> u16 {
    CHUNK_BYTES[usize::from(chunk).min(CHUNK_BYTES.len() - 1)]
}

impl ByteList {
    /// Appends a number of up to 32 bits in LEB128.
    #[inline]
    pub(super) fn push_number(&mut self, mut number: u32, arena: &mut Arena) {
        while number >= 0x80 {
            self.push(number as u8 | 0x80, arena);
            number >>= 7;
        }
        self.push(number as u8, arena);
    }

    #[inline]
    fn push(&mut self, byte: u8, arena: &mut Arena) {
        if self.left == 0 {
            self.grow(arena);
        }
        arena.set(self.at, byte);
        self.at += 1;
        self.left -= 1;
    }

    #[cold]
    fn grow(&mut self, arena: &mut Arena) {
        let bytes = payload(self.chunks);
        let address = arena.allocate(usize::from(bytes) + LINK_BYTES);
        if self.chunks == 0 {
            self.head = address;
        } else {
            arena.put_link(self.at, address);
        }
        self.at = address;
        self.left = bytes;
        self.chunks = self.chunks.saturating_add(1);
    }

    /// The bytes of the list, into `out`.
    pub(super) fn read(&self, arena: &Arena, out: &mut Vec<u8>) {
        out.clear();
        if self.chunks == 0 {
            return;
        }
        let mut chunk = 0_u16;
        let mut address = self.head;
        loop {
            let bytes = usize::from(payload(chunk));
            let end = address + bytes as u32;
            if (address..=end).contains(&self.at) && self.at + u32::from(self.left) == end {
                out.extend_from_slice(arena.slice(address, (self.at - address) as usize));
                return;
            }
            out.extend_from_slice(arena.slice(address, bytes));
            address = arena.link(end);
            chunk = chunk.saturating_add(1);
        }
    }
}

/// Takes a LEB128 number off the front of `bytes`.
#[inline]
pub(super) fn take_number(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    let mut shift = 0;
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Arena, ByteList, take_number};

    proptest! {
        #[test]
        fn lists_grown_side_by_side_read_back(
            lists in prop::collection::vec(prop::collection::vec(any::<u32>(), 0..600), 1..6),
        ) {
            let mut arena = Arena::default();
            let mut bytes: Vec<ByteList> = vec![ByteList::default(); lists.len()];
            let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
            for at in 0..longest {
                for (list, numbers) in bytes.iter_mut().zip(&lists) {
                    if let Some(&number) = numbers.get(at) {
                        list.push_number(number, &mut arena);
                    }
                }
            }
            let mut buffer = Vec::new();
            for (list, numbers) in bytes.iter().zip(&lists) {
                list.read(&arena, &mut buffer);
                let mut rest = buffer.as_slice();
                let read: Vec<u32> = std::iter::from_fn(|| take_number(&mut rest)).collect();
                prop_assert_eq!(&read, numbers);
            }
        }
    }
}
