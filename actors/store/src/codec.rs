//! Rows as bytes: `schema (2, big-endian) · CRC-32 of schema and body (4, big-endian) · body`.
//!
//! The body is [postcard](https://postcard.jamesmunns.com/wire-format): compact, but not
//! self-describing, so foreign bytes could decode to a plausible wrong value. The tag tells a
//! row of another shape apart, the checksum a damaged one.

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const BLOB_END: usize = 6;

/// A value that can be stored. Raise [`Row::SCHEMA`] with every change of its shape.
pub trait Row: Serialize + DeserializeOwned {
    /// Version of this shape, stored with each row.
    const SCHEMA: u16;

    /// Turns the body of a row with another tag into today's shape; `None`: cannot be read.
    ///
    /// For shapes that change rarely; a [`crate::Migration`] rewrites all rows at once instead.
    fn upgrade(schema: u16, body: &[u8]) -> Option<Self> {
        let _ = (schema, body);
        None
    }
}

/// Why stored bytes are not a row of the type asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowDecodeError {
    /// Fewer bytes than the head has.
    #[error("only {0} bytes")]
    Short(usize),
    /// The checksum differs.
    #[error("damaged: checksum differs")]
    Checksum,
    /// Another shape, and no way to read it.
    #[error("schema {found}, this program reads {known}")]
    Schema {
        /// The row's tag.
        found: u16,
        /// The tag of the type asked for.
        known: u16,
    },
    /// The body does not decode, although tag and checksum are right.
    #[error("body: {0}")]
    Body(String),
    /// The key is not of the table's key type.
    #[error("foreign key")]
    Key,
}

/// The bytes a row is stored as.
///
/// # Errors
/// What the encoder says, for values that have no postcard form.
pub fn encode_row<V: Row>(row: &V) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; BLOB_END];
    bytes[..2].copy_from_slice(&V::SCHEMA.to_be_bytes());
    let mut bytes = postcard::to_extend(row, bytes).map_err(|e| e.to_string())?;
    let crc = checksum(&bytes);
    bytes[2..BLOB_END].copy_from_slice(&crc);
    Ok(bytes)
}

/// The row that `bytes` are.
///
/// # Errors
/// See [`RowDecodeError`]; never panics, whatever the bytes are.
pub fn decode_row<V: Row>(bytes: &[u8]) -> Result<V, RowDecodeError> {
    let body = bytes
        .get(BLOB_END..)
        .ok_or(RowDecodeError::Short(bytes.len()))?;
    if bytes[2..BLOB_END] != checksum(bytes) {
        return Err(RowDecodeError::Checksum);
    }
    let found = u16::from_be_bytes([bytes[0], bytes[1]]);
    if found != V::SCHEMA {
        let known = V::SCHEMA;
        return V::upgrade(found, body).ok_or(RowDecodeError::Schema { found, known });
    }
    match postcard::take_from_bytes(body) {
        Ok((row, [])) => Ok(row),
        Ok((_, rest)) => Err(RowDecodeError::Body(format!(
            "{} bytes left over",
            rest.len()
        ))),
        Err(e) => Err(RowDecodeError::Body(e.to_string())),
    }
}

/// Whether bytes have the form of a row and its checksum is right, whatever its type.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    bytes.len() >= BLOB_END && bytes[2..BLOB_END] == checksum(bytes)
}

fn checksum(row: &[u8]) -> [u8; 4] {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&row[..2]);
    crc.update(&row[BLOB_END..]);
    crc.finalize().to_be_bytes()
}

/// Bytes within a row, copied as a whole instead of one by one: a webhook's body, for instance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawBytes(pub Vec<u8>);

impl Row for RawBytes {
    const SCHEMA: u16 = 1;
}

impl Row for u64 {
    const SCHEMA: u16 = 1;
}

impl Row for String {
    const SCHEMA: u16 = 1;
}

impl Serialize for RawBytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for RawBytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = RawBytes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<RawBytes, E> {
                Ok(RawBytes(bytes.to_vec()))
            }
        }
        from.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct V1 {
        name: String,
    }
    impl Row for V1 {
        const SCHEMA: u16 = 1;
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct V2 {
        name: String,
        tries: u32,
    }
    impl Row for V2 {
        const SCHEMA: u16 = 2;
        fn upgrade(schema: u16, body: &[u8]) -> Option<Self> {
            let old: V1 = (schema == 1).then(|| postcard::from_bytes(body).ok())??;
            let V1 { name } = old;
            Some(Self { name, tries: 0 })
        }
    }

    #[test]
    fn an_older_row_is_upgraded_and_a_newer_one_is_not_guessed() {
        let v1 = encode_row(&V1 { name: "a".into() }).unwrap();
        assert_eq!(
            decode_row::<V2>(&v1),
            Ok(V2 {
                name: "a".into(),
                tries: 0
            })
        );
        let v2 = encode_row(&V2 {
            name: "a".into(),
            tries: 3,
        });
        assert_eq!(
            decode_row::<V1>(&v2.unwrap()),
            Err(RowDecodeError::Schema { found: 2, known: 1 })
        );
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_noticed(text in ".{0,40}", at in any::<prop::sample::Index>(), by in 1u8..) {
            let mut bytes = encode_row(&text).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            prop_assert!(decode_row::<String>(&bytes).is_err());
        }

        #[test]
        fn blobs_come_back(body in any::<Vec<u8>>()) {
            let bytes = encode_row(&RawBytes(body.clone())).unwrap();
            prop_assert_eq!(decode_row::<RawBytes>(&bytes), Ok(RawBytes(body)));
        }

        #[test]
        fn foreign_bytes_never_panic(bytes in any::<Vec<u8>>()) {
            let _ = decode_row::<V2>(&bytes);
        }
    }
}
