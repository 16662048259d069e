//! Keys whose bytes sort like their values.
//!
//! Integers are big-endian, text ends in `00 00` with inner zero bytes written `00 FF`: an
//! encoding that stays ordered when parts are put one after the other, as in tuples.

/// A value that can be a row's key: encoded so that byte order is value order.
///
/// ```
/// use store::Key;
/// let key = ("acme/site".to_owned(), 17u64);
/// let bytes = key.to_bytes();
/// assert_eq!(<(String, u64)>::from_bytes(&bytes), Some(key));
/// assert!(bytes > ("acme/site".to_owned(), 2u64).to_bytes());
/// ```
pub trait Key: Sized + Send + 'static {
    /// Appends the key's bytes, which must tell by themselves where they end.
    fn encode(&self, out: &mut Vec<u8>);

    /// Takes a key off the front of `input`; `None` if the bytes are not one.
    fn decode(input: &mut &[u8]) -> Option<Self>;

    /// The key's bytes.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        self.encode(&mut out);
        out
    }

    /// The key that `bytes` are, all of them.
    fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let key = Self::decode(&mut bytes)?;
        bytes.is_empty().then_some(key)
    }
}

fn take<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = input.split_first_chunk::<N>()?;
    *input = rest;
    Some(*head)
}

macro_rules! unsigned {
    ($($t:ty),*) => {$(
        impl Key for $t {
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
            fn decode(input: &mut &[u8]) -> Option<Self> {
                take(input).map(Self::from_be_bytes)
            }
        }
    )*};
}
unsigned!(u8, u16, u32, u64, u128);

impl Key for i64 {
    // Flipping the sign bit puts negative numbers before positive ones.
    fn encode(&self, out: &mut Vec<u8>) {
        (self.cast_unsigned() ^ (1 << 63)).encode(out);
    }
    fn decode(input: &mut &[u8]) -> Option<Self> {
        Some((u64::decode(input)? ^ (1 << 63)).cast_signed())
    }
}

impl<const N: usize> Key for [u8; N] {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
    fn decode(input: &mut &[u8]) -> Option<Self> {
        take(input)
    }
}

impl Key for () {
    fn encode(&self, _out: &mut Vec<u8>) {}
    fn decode(_input: &mut &[u8]) -> Option<Self> {
        Some(())
    }
}

impl Key for Vec<u8> {
    fn encode(&self, out: &mut Vec<u8>) {
        for &byte in self {
            out.push(byte);
            if byte == 0 {
                out.push(0xFF);
            }
        }
        out.extend_from_slice(&[0, 0]);
    }
    fn decode(input: &mut &[u8]) -> Option<Self> {
        let mut bytes = Vec::new();
        loop {
            match take::<1>(input)?[0] {
                0 if take::<1>(input)?[0] == 0 => return Some(bytes),
                // The second byte of the pair was taken by the guard above.
                byte => bytes.push(byte),
            }
        }
    }
}

impl Key for String {
    fn encode(&self, out: &mut Vec<u8>) {
        self.as_bytes().to_vec().encode(out);
    }
    fn decode(input: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::decode(input)?).ok()
    }
}

impl<A: Key, B: Key> Key for (A, B) {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
    }
    fn decode(input: &mut &[u8]) -> Option<Self> {
        Some((A::decode(input)?, B::decode(input)?))
    }
}

impl<A: Key, B: Key, C: Key> Key for (A, B, C) {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
        self.2.encode(out);
    }
    fn decode(input: &mut &[u8]) -> Option<Self> {
        Some((A::decode(input)?, B::decode(input)?, C::decode(input)?))
    }
}

/// A tuple key that begins with a `P`, so that all rows below one `P` can be asked for.
pub trait StartsWith<P: Key>: Key {}
impl<A: Key, B: Key> StartsWith<A> for (A, B) {}
impl<A: Key, B: Key, C: Key> StartsWith<A> for (A, B, C) {}
impl<A: Key, B: Key, C: Key> StartsWith<(A, B)> for (A, B, C) {}

/// The first byte string after all that begin with `prefix`; `None` if there is no such.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&b| b != 0xFF)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_sort_like_values(a in any::<(String, u64, i64)>(), b in any::<(String, u64, i64)>()) {
            prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
        }

        #[test]
        fn byte_strings_sort_like_values(
            a in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..6),
            b in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..6),
        ) {
            prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
        }

        #[test]
        fn keys_come_back(key in any::<(Vec<u8>, String, u128)>()) {
            prop_assert_eq!(<(Vec<u8>, String, u128)>::from_bytes(&key.to_bytes()), Some(key));
        }

        #[test]
        fn foreign_bytes_never_panic(bytes in any::<Vec<u8>>()) {
            let _ = <(String, Vec<u8>)>::from_bytes(&bytes);
            let _ = <(u64, [u8; 16])>::from_bytes(&bytes);
        }
    }

    #[test]
    fn bytes_left_over_are_no_key() {
        assert_eq!(u64::from_bytes(&[0; 9]), None);
        assert_eq!(String::from_bytes(b"a\0\0b"), None);
        assert_eq!(String::from_bytes(b"a"), None);
    }
}
