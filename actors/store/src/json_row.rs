//! A row that is stored as JSON: fields may come and go without a migration, and a row whose JSON
//! cannot be read is put into the store's quarantine instead of being passed over in silence.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::codec::Row;

/// What most values need, in bytes.
const USUAL: usize = 1024;

/// A value on its way into the store, or out of it.
#[derive(Debug, Clone)]
pub enum JsonRow<T> {
    /// To be written.
    Written(Vec<u8>),
    /// As it was read.
    Read(T),
}

impl<T: Serialize> JsonRow<T> {
    /// To be written.
    pub fn new(value: &T) -> Self {
        let mut json = Vec::with_capacity(USUAL);
        serde_json::to_writer(&mut json, value).expect("records have text keys only");
        Self::Written(json)
    }
}

impl<T> JsonRow<T> {
    /// What was read.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Read(value) => Some(value),
            Self::Written(_) => None,
        }
    }
}

impl<T: Serialize + DeserializeOwned> Row for JsonRow<T> {
    const SCHEMA: u16 = 1;
}

impl<T: Serialize> Serialize for JsonRow<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Written(json) => to.serialize_bytes(json),
            Self::Read(value) => {
                let json = serde_json::to_vec(value).map_err(serde::ser::Error::custom)?;
                to.serialize_bytes(&json)
            }
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for JsonRow<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_bytes(Json(PhantomData))
    }
}

struct Json<T>(PhantomData<T>);

impl<T: DeserializeOwned> Visitor<'_> for Json<T> {
    type Value = JsonRow<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON in bytes")
    }

    fn visit_bytes<E: serde::de::Error>(self, json: &[u8]) -> Result<Self::Value, E> {
        serde_json::from_slice(json)
            .map(JsonRow::Read)
            .map_err(E::custom)
    }
}
