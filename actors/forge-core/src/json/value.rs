//! JSON text → a tree that borrows from it.
//!
//! RFC 8259 leaves duplicate names, numbers beyond a double's range, lone surrogates and NUL to the
//! reader. Two readers that differ there can be made to see two different bodies under one
//! signature, so all of these are errors here, in unknown fields too. Depth is limited to 128 by
//! serde_json.
//!
//! Most of a forge's body is nothing that anybody here asks for: what is below such a field is
//! checked and not kept, which costs a fraction of a tree.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::field::known_field;
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

/// A JSON value; of objects, the members somebody asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Array(Box<[Json<'a>]>),
    Object(Box<[(&'static str, Json<'a>)]>),
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
    let invalid = |error: serde_json::Error| JsonError::Invalid {
        reason: error.to_string(),
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut keys = Vec::new();
    let tree = ValueSeed {
        keys: &mut keys,
        is_kept: true,
    }
    .deserialize(&mut reader)
    .map_err(invalid)?;
    reader.end().map_err(invalid)?;
    Ok(tree)
}

impl Json<'_> {
    /// A member of an object.
    pub(crate) fn get(&self, field: &'static str) -> Option<&Self> {
        let Self::Object(members) = self else {
            return None;
        };
        let found = members.iter().find(|(name, _)| *name == field);
        found.map(|(_, value)| value)
    }
}

/// The keys of the objects that are being read, those of the innermost last.
type Keys<'de> = Vec<Cow<'de, str>>;

/// Reads a value; one that nobody asks for is checked, and becomes null.
struct ValueSeed<'k, 'de> {
    keys: &'k mut Keys<'de>,
    is_kept: bool,
}

impl<'de> ValueSeed<'_, 'de> {
    fn kept(&self, value: Json<'de>) -> Json<'de> {
        if self.is_kept { value } else { Json::Null }
    }

    fn inner(&mut self, is_kept: bool) -> ValueSeed<'_, 'de> {
        ValueSeed {
            keys: self.keys,
            is_kept,
        }
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_, 'de> {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_, 'de> {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(self.kept(Json::Bool(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(self.kept(Json::Unsigned(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(self.kept(Json::Negative(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(self.kept(Json::Float(value)))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(self.kept(Json::Text(Cow::Borrowed(text))))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        without_nul(text)?;
        if !self.is_kept {
            return Ok(Json::Null);
        }
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner(self.is_kept))? {
            if self.is_kept {
                array.push(item);
            }
        }
        Ok(self.kept(Json::Array(array.into_boxed_slice())))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Self::Value, A::Error> {
        let (outer, mut object) = (self.keys.len(), Vec::new());
        while let Some(key) = members.next_key_seed(KeySeed)? {
            let field = self.is_kept.then(|| known_field(&key)).flatten();
            self.keys.push(key);
            let value = members.next_value_seed(self.inner(field.is_some()))?;
            object.extend(field.map(|field| (field, value)));
        }
        end_of_object(self.keys, outer)?;
        Ok(self.kept(Json::Object(object.into_boxed_slice())))
    }
}

/// Objects of up to so many keys are compared key by key; larger ones are sorted.
const MAX_COMPARED_PAIRWISE: usize = 12;

/// An object's keys, those behind `outer`, must differ; they are forgotten.
fn end_of_object<E: Error>(keys: &mut Keys<'_>, outer: usize) -> Result<(), E> {
    let own = &mut keys[outer..];
    let twice = if own.len() <= MAX_COMPARED_PAIRWISE {
        let mut all = own.iter().enumerate();
        all.find(|(at, key)| own[..*at].contains(key))
            .map(|(_, key)| key)
    } else {
        own.sort_unstable();
        let mut pairs = own.windows(2);
        pairs.find(|pair| pair[0] == pair[1]).map(|pair| &pair[0])
    };
    if let Some(key) = twice {
        return Err(E::custom(format_args!(
            "the key {:?} occurs twice in one object",
            shorten(key, KEY_SHOWN)
        )));
    }
    keys.truncate(outer);
    Ok(())
}

/// Forges keep their texts where NUL cannot stand, and it would end an argument of a program early.
/// It can come as an escape only: JSON has no plain control characters, so texts without escapes
/// need no look.
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
        check_length(key)?;
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        check_length(key)?;
        without_nul(key)?;
        Ok(Cow::Owned(key.to_owned()))
    }
}

fn check_length<E: Error>(key: &str) -> Result<(), E> {
    if key.len() <= KEY_MAX {
        return Ok(());
    }
    Err(E::custom(format_args!(
        "an object key is longer than {KEY_MAX} bytes"
    )))
}
