//! JSON text → a tree that borrows from it.
//!
//! RFC 8259 leaves duplicate names, numbers beyond a double's range, lone surrogates and NUL to the
//! reader. Two readers that differ there can be made to see two different bodies under one signature,
//! so all of these are errors here, in unknown fields too. Depth is limited to 128 by serde_json, and
//! the tree needs at most some ten times the text's memory: arrays and objects are cut to their size.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::text::shorten;

/// Longest accepted object key, in bytes. Real payloads stay below 50.
const KEY_MAX: usize = 1024;
/// Longest part of a key repeated in an error, in bytes.
const KEY_SHOWN: usize = 60;

/// A body that is not acceptable JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Nothing, or nothing but white space.
    #[error("the body is empty; expected a JSON object")]
    Empty,
    /// A byte order mark in front (RFC 8259 section 8.1 forbids sending one).
    #[error("the body begins with a byte order mark; send plain UTF-8")]
    ByteOrderMark,
    /// Bytes that are not UTF-8.
    #[error("the body is not UTF-8 from byte {at} on")]
    NotUtf8 {
        /// Offset of the first wrong byte.
        at: usize,
    },
    /// Broken syntax, too deep, a duplicate key, an impossible number or text.
    #[error("the body is not valid JSON: {reason}")]
    Invalid {
        /// What is wrong, with line and column.
        reason: String,
    },
}

/// A JSON value; object members are sorted by key.
#[derive(Debug)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Array(Box<[Json<'a>]>),
    Object(Box<[(Cow<'a, str>, Json<'a>)]>),
}

/// Reads a whole body.
pub(crate) fn parse(body: &[u8]) -> Result<Json<'_>, JsonError> {
    if body.starts_with(b"\xef\xbb\xbf") {
        return Err(JsonError::ByteOrderMark);
    }
    let text = std::str::from_utf8(body).map_err(|error| JsonError::NotUtf8 {
        at: error.valid_up_to(),
    })?;
    if text.trim_ascii().is_empty() {
        return Err(JsonError::Empty);
    }
    serde_json::from_str(text).map_err(|error| JsonError::Invalid {
        reason: error.to_string(),
    })
}

impl<'a> Json<'a> {
    /// A member of an object by its key.
    pub(crate) fn get(&self, key: &str) -> Option<&Json<'a>> {
        let Self::Object(members) = self else {
            return None;
        };
        let at = members
            .binary_search_by(|(name, _)| name.as_ref().cmp(key))
            .ok()?;
        Some(&members[at].1)
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Json::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Json::Negative(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Json::Float(value))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        without_nul(text)?;
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        without_nul(text)?;
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Json::Array(array.into_boxed_slice()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut object = Vec::new();
        while let Some(key) = members.next_key_seed(KeySeed)? {
            object.push((key, members.next_value()?));
        }
        object.sort_by(|(a, _), (b, _)| a.cmp(b));
        match object.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(A::Error::custom(format_args!(
                "the key {:?} occurs twice in one object",
                shorten(&pair[0].0, KEY_SHOWN)
            ))),
            None => Ok(Json::Object(object.into_boxed_slice())),
        }
    }
}

/// Forges keep their texts where NUL cannot stand, and it would end an argument of a program early.
fn without_nul<E: Error>(text: &str) -> Result<(), E> {
    if text.contains('\0') {
        Err(E::custom("a text holds a NUL character"))
    } else {
        Ok(())
    }
}

/// Reads an object's key, borrowed where it has no escapes.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object key")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Self::Value, E> {
        check_key(key)?;
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        check_key(key)?;
        Ok(Cow::Owned(key.to_owned()))
    }
}

fn check_key<E: Error>(key: &str) -> Result<(), E> {
    if key.len() > KEY_MAX {
        return Err(E::custom(format_args!(
            "an object key is longer than {KEY_MAX} bytes"
        )));
    }
    without_nul(key)
}
