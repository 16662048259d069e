//! The kinds of values that keys have.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::info::{RowInfo, ValueShape};
use crate::decode::{Choices, ConfigItem, choose};
use crate::environment::Environment;
use crate::origin::{Setting, SettingOrigin};
use crate::secret::Secret;
use crate::suggest::quoted;
use crate::value_error::ValueError;

/// What a value looks like, whatever it becomes.
pub trait DescribeShape {
    /// The shape.
    fn shape(&self) -> ValueShape;
}

/// Where the text of a flag or variable comes from.
#[derive(Debug, Clone, Copy)]
pub struct ValueContext<'e> {
    /// Which flag or variable.
    pub origin: SettingOrigin,
    /// The environment.
    pub environment: &'e Environment,
}

/// How a value is read and written.
pub trait ValueKind<T>: DescribeShape {
    /// Reads it from a file; `None` after its mistakes were reported.
    fn read(&self, item: &ConfigItem<'_>) -> Option<T>;

    /// Reads it from a flag or a variable.
    ///
    /// # Errors
    /// Why it cannot be used.
    fn parse(&self, text: &str, given: ValueContext<'_>) -> Result<T, ValueError> {
        no_text(text, given)
    }

    /// The value as a file says it; nothing where a file says nothing.
    fn write(&self, value: &T) -> Option<Value>;
}

impl RowInfo {
    /// A row whose value stands in the settings.
    pub fn new<T>(kind: &impl ValueKind<T>, value: &T) -> Self {
        Self {
            default: kind.write(value),
            ..Self::described(kind)
        }
    }

    /// A row that code reads.
    pub fn described(kind: &impl DescribeShape) -> Self {
        Self::shaped(kind.shape(), false)
    }
}

/// A value of one form, as functions.
pub struct PlainKind<T: 'static> {
    /// What it looks like.
    pub shape: fn() -> ValueShape,
    /// Reads it from a file.
    pub read: fn(&ConfigItem<'_>) -> Option<T>,
    /// Reads it from a flag or a variable.
    pub parse: fn(&str, ValueContext<'_>) -> Result<T, ValueError>,
    /// Writes it.
    pub write: fn(&T) -> Option<Value>,
}

impl<T> DescribeShape for PlainKind<T> {
    fn shape(&self) -> ValueShape {
        (self.shape)()
    }
}

impl<T> ValueKind<T> for PlainKind<T> {
    fn read(&self, item: &ConfigItem<'_>) -> Option<T> {
        (self.read)(item)
    }

    fn parse(&self, text: &str, given: ValueContext<'_>) -> Result<T, ValueError> {
        (self.parse)(text, given)
    }

    fn write(&self, value: &T) -> Option<Value> {
        (self.write)(value)
    }
}

/// What [`PlainKind::parse`] is for values that only files have.
///
/// # Errors
/// Always.
pub fn no_text<T>(_: &str, _: ValueContext<'_>) -> Result<T, ValueError> {
    Err(ValueError::new("it has no form as a flag or variable"))
}

/// `true` or `false`.
pub const BOOLEAN: PlainKind<bool> = PlainKind {
    shape: || ValueShape::Value(json!({"type": "boolean"})),
    read: |item| item.boolean(),
    parse: |text, _| {
        let wrong = |_| ValueError::new(format!("{} is neither `true` nor `false`", quoted(text)));
        text.parse().map_err(wrong)
    },
    write: |value| Some(json!(value)),
};

/// A path, meant from the folder of the file.
pub const FILE_PATH: PlainKind<PathBuf> = PlainKind {
    shape: || ValueShape::Value(json!({"type": "string", "format": "path"})),
    read: |item| item.string().map(|text| item.base().join(text)),
    parse: |text, _| Ok(text.into()),
    write: |path| {
        let text = path.display().to_string();
        (!text.is_empty()).then(|| json!(text))
    },
};

/// A program: a name is looked for in `PATH`, a path is meant from the folder of the file.
pub const PROGRAM: PlainKind<PathBuf> = PlainKind {
    read: |item| {
        let text = item.string()?;
        let is_name = !text.contains('/');
        Some(if is_name {
            text.into()
        } else {
            item.base().join(text)
        })
    },
    ..FILE_PATH
};

/// A string that no message, document or log shows.
pub const SECRET: PlainKind<Secret<String>> = PlainKind {
    shape: || ValueShape::Secret,
    read: |item| item.secret(),
    parse: |text, _| Ok(Secret::new(text.to_owned())),
    write: |_| None,
};

/// The address of a store in PostgreSQL, which may hold a password: no message, document or log
/// shows it.
pub const STORE_URL: PlainKind<Secret<String>> = PlainKind {
    read: |item| {
        let url = item.secret()?;
        match store_url(url.expose()) {
            Ok(()) => Some(url),
            Err(error) => {
                item.error(error);
                None
            }
        }
    },
    parse: |text, _| store_url(text).map(|()| Secret::new(text.to_owned())),
    ..SECRET
};

fn store_url(text: &str) -> Result<(), ValueError> {
    if text.starts_with("postgresql://") || text.starts_with("postgres://") {
        return Ok(());
    }
    let error = ValueError::new("this is no address of a store");
    Err(error.help("write postgresql://user:password@host/database, or leave it out"))
}

/// A whole number of a range.
#[derive(Debug, Clone)]
pub struct IntegerRange(RangeInclusive<i64>);

/// A whole number of a range.
pub const fn integer(range: RangeInclusive<i64>) -> IntegerRange {
    IntegerRange(range)
}

impl DescribeShape for IntegerRange {
    fn shape(&self) -> ValueShape {
        let (least, most) = (self.0.start(), self.0.end());
        ValueShape::Value(json!({"type": "integer", "minimum": least, "maximum": most}))
    }
}

impl<T: TryFrom<i64> + Copy + serde::Serialize> ValueKind<T> for IntegerRange {
    fn read(&self, item: &ConfigItem<'_>) -> Option<T> {
        let number = item.integer(self.0.clone())?;
        T::try_from(number).ok()
    }

    fn write(&self, value: &T) -> Option<Value> {
        serde_json::to_value(*value).ok()
    }
}

/// One of several words.
#[derive(Debug)]
pub struct Choice<T: 'static>(&'static str, &'static Choices<T>);

/// One of several words; `what` names the enumeration in messages.
pub const fn choice<T>(what: &'static str, choices: &'static Choices<T>) -> Choice<T> {
    Choice(what, choices)
}

impl<T> DescribeShape for Choice<T> {
    fn shape(&self) -> ValueShape {
        let words: Vec<&str> = self.1.iter().map(|(word, _)| *word).collect();
        ValueShape::Value(json!({"enum": words}))
    }
}

impl<T: Copy + PartialEq> ValueKind<T> for Choice<T> {
    fn read(&self, item: &ConfigItem<'_>) -> Option<T> {
        item.choice(self.0, self.1)
    }

    fn parse(&self, text: &str, _: ValueContext<'_>) -> Result<T, ValueError> {
        choose(self.0, text, self.1)
    }

    fn write(&self, value: &T) -> Option<Value> {
        let found = self.1.iter().find(|(_, other)| other == value);
        found.map(|(word, _)| json!(word))
    }
}

/// See [`list`].
#[derive(Debug, Clone)]
pub struct List<K>(K);

/// A list.
pub const fn list<K>(kind: K) -> List<K> {
    List(kind)
}

impl<K: DescribeShape> DescribeShape for List<K> {
    fn shape(&self) -> ValueShape {
        ValueShape::List(Box::new(self.0.shape()))
    }
}

impl<T, K: ValueKind<T>> ValueKind<Vec<T>> for List<K> {
    fn read(&self, item: &ConfigItem<'_>) -> Option<Vec<T>> {
        item.list(|item| self.0.read(item))
    }

    fn write(&self, value: &Vec<T>) -> Option<Value> {
        let items: Vec<Value> = value.iter().filter_map(|one| self.0.write(one)).collect();
        (!items.is_empty()).then_some(Value::Array(items))
    }
}

/// See [`map`].
pub struct Map<K> {
    kind: K,
    key: fn(&str) -> Result<(), ValueError>,
}

/// A table with free keys.
pub const fn map<K>(kind: K) -> Map<K> {
    map_of(|_| Ok(()), kind)
}

/// A table whose keys `key` judges.
pub const fn map_of<K>(key: fn(&str) -> Result<(), ValueError>, kind: K) -> Map<K> {
    Map { kind, key }
}

impl<K> Map<K> {
    fn entries<T>(&self, item: &ConfigItem<'_>) -> Option<Vec<(String, T)>>
    where
        K: ValueKind<T>,
    {
        item.entries(|key, item| {
            if let Err(error) = (self.key)(key) {
                item.error(error);
                // Reading a secret would hide the value that the message points at.
                if self.kind.shape() == ValueShape::Secret {
                    return None;
                }
            }
            self.kind.read(item)
        })
    }
}

impl<K: DescribeShape> DescribeShape for Map<K> {
    fn shape(&self) -> ValueShape {
        ValueShape::Map(Box::new(self.kind.shape()))
    }
}

impl<T, K: ValueKind<T>> ValueKind<Vec<(String, T)>> for Map<K> {
    fn read(&self, item: &ConfigItem<'_>) -> Option<Vec<(String, T)>> {
        self.entries(item)
    }

    fn write(&self, _: &Vec<(String, T)>) -> Option<Value> {
        None
    }
}

impl<T, K: ValueKind<T>> ValueKind<BTreeMap<String, T>> for Map<K> {
    fn read(&self, item: &ConfigItem<'_>) -> Option<BTreeMap<String, T>> {
        self.entries(item).map(BTreeMap::from_iter)
    }

    fn write(&self, _: &BTreeMap<String, T>) -> Option<Value> {
        None
    }
}

/// See [`opt`].
#[derive(Debug, Clone)]
pub struct OptionalKind<K>(K);

/// A value that may be absent.
pub const fn opt<K>(kind: K) -> OptionalKind<K> {
    OptionalKind(kind)
}

impl<K: DescribeShape> DescribeShape for OptionalKind<K> {
    fn shape(&self) -> ValueShape {
        self.0.shape()
    }
}

impl<T, K: ValueKind<T>> ValueKind<Option<T>> for OptionalKind<K> {
    fn read(&self, item: &ConfigItem<'_>) -> Option<Option<T>> {
        self.0.read(item).map(Some)
    }

    fn parse(&self, text: &str, given: ValueContext<'_>) -> Result<Option<T>, ValueError> {
        self.0.parse(text, given).map(Some)
    }

    fn write(&self, value: &Option<T>) -> Option<Value> {
        self.0.write(value.as_ref()?)
    }
}

/// See [`set`].
#[derive(Debug, Clone)]
pub struct Set<K>(K);

/// A value that knows which layer gave it.
pub const fn set<K>(kind: K) -> Set<K> {
    Set(kind)
}

impl<K: DescribeShape> DescribeShape for Set<K> {
    fn shape(&self) -> ValueShape {
        self.0.shape()
    }
}

impl<T, K: ValueKind<T>> ValueKind<Setting<T>> for Set<K> {
    fn read(&self, item: &ConfigItem<'_>) -> Option<Setting<T>> {
        let value = self.0.read(item)?;
        let origin = SettingOrigin::File;
        Some(Setting { value, origin })
    }

    fn parse(&self, text: &str, given: ValueContext<'_>) -> Result<Setting<T>, ValueError> {
        let value = self.0.parse(text, given)?;
        let origin = given.origin;
        Ok(Setting { value, origin })
    }

    fn write(&self, value: &Setting<T>) -> Option<Value> {
        self.0.write(&value.value)
    }
}
