//! Values from and to JSON, keys in the order of the text.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use super::{ExprValue, Object};

impl<'de> Deserialize<'de> for ExprValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = ExprValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<ExprValue, E> {
        Ok(ExprValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<ExprValue, E> {
        Ok(ExprValue::Bool(value))
    }

    // Whole numbers beyond 2^53 lose digits, as they do on GitHub.
    #[allow(clippy::cast_precision_loss)]
    fn visit_i64<E>(self, value: i64) -> Result<ExprValue, E> {
        Ok(ExprValue::Number(value as f64))
    }

    #[allow(clippy::cast_precision_loss)]
    fn visit_u64<E>(self, value: u64) -> Result<ExprValue, E> {
        Ok(ExprValue::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<ExprValue, E> {
        Ok(ExprValue::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<ExprValue, E> {
        Ok(ExprValue::text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<ExprValue, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = elements.next_element()? {
            values.push(value);
        }
        Ok(ExprValue::list(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<ExprValue, A::Error> {
        let mut last: HashMap<String, ExprValue> = HashMap::new();
        let mut order = Vec::new();
        while let Some((key, value)) = entries.next_entry::<String, ExprValue>()? {
            // Of a key that comes twice the last counts.
            if last.insert(key.clone(), value).is_none() {
                order.push(key);
            }
        }
        let take = |key: String| last.remove(&key).map(|value| (key, value));
        let object: Object = order.into_iter().filter_map(take).collect();
        Ok(ExprValue::Object(Arc::new(object)))
    }
}

impl From<&serde_json::Value> for ExprValue {
    fn from(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => Self::text(text),
            serde_json::Value::Array(values) => Self::list(values.iter().map(Self::from).collect()),
            serde_json::Value::Object(entries) => Self::object(entries),
        }
    }
}

impl Serialize for ExprValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                // Whole and small enough to be exact.
                #[allow(clippy::cast_possible_truncation)]
                serializer.serialize_i64(*number as i64)
            }
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(values) => serializer.collect_seq(values.iter()),
            Self::Object(object) => serializer.collect_map(object.iter()),
        }
    }
}
