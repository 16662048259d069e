//! What there is to know about keys, apart from the struct they go to.

use serde_json::Value;

/// The keys of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableInfo {
    /// What messages call it.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// One row a key.
    pub rows: Vec<RowInfo>,
}

/// A key.
#[derive(Debug, Clone, PartialEq)]
pub struct RowInfo {
    /// Its name.
    pub key: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// The environment variable that wins over it.
    pub variable: Option<&'static str>,
    /// The flag that wins over both.
    pub flag: Option<&'static str>,
    /// The default in words, where it depends on something.
    pub shown: Option<&'static str>,
    /// Whether a file can have it; else only the variable and the flag.
    pub in_file: bool,
    /// Whether pages for people leave out the keys inside.
    pub brief: bool,
    /// What may stand there.
    pub shape: ValueShape,
    /// What holds without it, as a file would say it; nothing for none.
    pub default: Option<Value>,
    /// Whether this is a table that is in force without being written.
    pub always: bool,
}

/// What a value may look like.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueShape {
    /// One value: its JSON Schema.
    Value(Value),
    /// One value that nobody is shown.
    Secret,
    /// A list.
    List(Box<ValueShape>),
    /// A table with free keys.
    Map(Box<ValueShape>),
    /// A table.
    Table(TableInfo),
}

impl RowInfo {
    /// A table inside.
    pub fn table(info: TableInfo) -> Self {
        Self::shaped(ValueShape::Table(info), true)
    }

    pub(super) fn shaped(shape: ValueShape, always: bool) -> Self {
        Self {
            key: "",
            about: "",
            required: false,
            variable: None,
            flag: None,
            shown: None,
            in_file: true,
            brief: false,
            shape,
            default: None,
            always,
        }
    }
}
