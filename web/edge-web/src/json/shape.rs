//! Whether a type is read from a JSON object: derived structs also take a list, the fields' values
//! in order, and a list of none is then an order in which nothing was said.

use std::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Where a list begins that was sent for a `T` with named fields.
pub(super) fn list_for_object<T: DeserializeOwned>(body: &[u8]) -> Option<usize> {
    let at = body.iter().position(|byte| !b" \t\r\n".contains(byte))?;
    (body[at] == b'[' && has_named_fields::<T>()).then_some(at)
}

fn has_named_fields<T: DeserializeOwned>() -> bool {
    matches!(T::deserialize(ShapeProbe), Err(Answer { fields: true }))
}

/// Has nothing to read, only hears what a type asks for.
struct ShapeProbe;

/// What it asked for.
#[derive(Debug)]
struct Answer {
    fields: bool,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "named fields: {}", self.fields)
    }
}

impl std::error::Error for Answer {}

impl de::Error for Answer {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self { fields: false }
    }
}

impl<'de> Deserializer<'de> for ShapeProbe {
    type Error = Answer;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Answer> {
        Err(Answer { fields: true })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Answer> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Answer> {
        visitor.visit_some(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Answer> {
        Err(Answer { fields: false })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde::de::IgnoredAny;
    use serde_json::Value;

    use super::*;

    #[derive(Deserialize)]
    struct Fields {
        #[serde(default)]
        _a: u8,
    }

    #[derive(Deserialize)]
    struct Wrapped(#[allow(dead_code, reason = "only its shape is asked for")] Fields);

    #[test]
    fn only_types_with_named_fields_refuse_a_list() {
        assert_eq!(list_for_object::<Fields>(b"[]"), Some(0));
        assert_eq!(list_for_object::<Fields>(b" \n [1]"), Some(3));
        assert_eq!(list_for_object::<Wrapped>(b"[]"), Some(0));
        assert_eq!(list_for_object::<Option<Fields>>(b"[]"), Some(0));
        assert_eq!(list_for_object::<Fields>(b"{}"), None);
        assert_eq!(list_for_object::<Fields>(b""), None);
        assert_eq!(list_for_object::<Vec<Fields>>(b"[]"), None);
        assert_eq!(list_for_object::<(u8, u8)>(b"[1, 2]"), None);
        assert_eq!(list_for_object::<Value>(b"[]"), None);
        assert_eq!(list_for_object::<IgnoredAny>(b"[]"), None);
        assert_eq!(list_for_object::<BTreeMap<String, u8>>(b"[]"), None);
    }
}
