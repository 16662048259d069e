//! Tables and their rows.

use serde_json::Value;

use super::flags::{FlagValues, flag_value};
use super::info::{RowInfo, TableInfo, ValueShape};
use super::kinds::{DescribeShape, ValueContext, ValueKind};
use crate::decode::{ConfigItem, ObjectFields};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::environment::Environment;
use crate::origin::SettingOrigin;
use crate::value_error::ValueError;

/// The keys of one table of a file, and where their values go in `S`.
pub struct SettingTable<S: 'static> {
    /// What messages call it.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// One row a key.
    pub rows: &'static [SettingRow<S>],
    /// What is wrong only together: reports it.
    pub check: Option<fn(&ObjectFields<'_>, &mut S)>,
}

/// One key. Made by [`table!`](crate::table!).
pub struct SettingRow<S: 'static> {
    key: &'static str,
    about: &'static str,
    required: bool,
    variable: Option<&'static str>,
    flag: Option<&'static str>,
    shown: Option<&'static str>,
    in_file: bool,
    brief: bool,
    by_code: bool,
    read: fn(&ConfigItem<'_>, &mut S) -> Option<()>,
    parse: fn(&str, ValueContext<'_>, &mut S) -> Result<(), ValueError>,
    describe: fn(&S) -> RowInfo,
}

impl<S> SettingRow<S> {
    /// A key; the functions read it, take it from a flag or variable, and describe it.
    pub const fn new(
        key: &'static str,
        about: &'static str,
        read: fn(&ConfigItem<'_>, &mut S) -> Option<()>,
        parse: fn(&str, ValueContext<'_>, &mut S) -> Result<(), ValueError>,
        describe: fn(&S) -> RowInfo,
    ) -> Self {
        Self {
            key,
            about,
            required: false,
            variable: None,
            flag: None,
            shown: None,
            in_file: true,
            brief: false,
            by_code: false,
            read,
            parse,
            describe,
        }
    }

    /// The same key, which must be there.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The same key; the environment variable wins over it.
    #[must_use]
    pub const fn variable(mut self, name: &'static str) -> Self {
        self.variable = Some(name);
        self
    }

    /// The same key; the flag wins over it and its variable.
    #[must_use]
    pub const fn flag(mut self, name: &'static str) -> Self {
        self.flag = Some(name);
        self
    }

    /// The same key; documents show this default, which depends on the machine or on other keys.
    #[must_use]
    pub const fn documented_default(mut self, default: &'static str) -> Self {
        self.shown = Some(default);
        self
    }

    /// The same key, which code reads.
    #[must_use]
    pub const fn by_code(mut self) -> Self {
        self.by_code = true;
        self
    }

    /// A setting that no file has: a variable or a flag only. Its key is a name for documents.
    #[must_use]
    pub const fn no_key(mut self) -> Self {
        self.in_file = false;
        self
    }

    /// The same table; pages for people do not show its keys, because they stand elsewhere.
    #[must_use]
    pub const fn brief(mut self) -> Self {
        self.brief = true;
        self
    }

    fn override_with(
        &self,
        target: &mut S,
        flags: FlagValues<'_>,
        environment: &Environment,
    ) -> Result<(), (&'static str, ValueError)> {
        let flag = self
            .flag
            .and_then(|name| Some((name, flag_value(flags, name)?)));
        let (text, origin, name) = match (flag, self.variable) {
            (Some((name, text)), _) => (text, SettingOrigin::Flag(name), name),
            (None, Some(name)) => match environment.get(name) {
                Ok(None | Some("")) => return Ok(()),
                Ok(Some(text)) => (text, SettingOrigin::Variable(name), name),
                Err(error) => return Err((name, ValueError::new(error.to_string()))),
            },
            (None, None) => return Ok(()),
        };
        let given = ValueContext {
            origin,
            environment,
        };
        (self.parse)(text, given, target).map_err(|error| (name, error))
    }

    fn info(&self, defaults: &S) -> RowInfo {
        let described = (self.describe)(defaults);
        RowInfo {
            key: self.key,
            about: self.about.trim(),
            required: self.required,
            variable: self.variable,
            flag: self.flag,
            shown: self.shown,
            in_file: self.in_file,
            brief: self.brief,
            ..described
        }
    }
}

impl<S> SettingTable<S> {
    /// Reads all keys into `target`, whose values hold where a key is absent or wrong. `None` when
    /// a required key is; everything that is wrong has been reported.
    pub fn read(&self, item: &ConfigItem<'_>, target: &mut S) -> Option<()> {
        self.fields(item, |fields| self.read_rows(fields, target))
    }

    /// Reads all keys into a new value.
    pub fn read_new(&self, item: &ConfigItem<'_>) -> Option<S>
    where
        S: Default,
    {
        let mut target = S::default();
        self.read(item, &mut target).map(|()| target)
    }

    /// Hands over the object with these keys: for tables that code reads in part.
    pub fn fields<'d, T>(
        &self,
        item: &ConfigItem<'d>,
        read: impl FnOnce(&ObjectFields<'d>) -> Option<T>,
    ) -> Option<T> {
        let in_file = self.rows.iter().filter(|row| row.in_file);
        let keys: Vec<&str> = in_file.map(|row| row.key).collect();
        item.fields(self.name, &keys, read)
    }

    /// Reads what rows say where to put, then checks it together.
    pub fn read_rows(&self, fields: &ObjectFields<'_>, target: &mut S) -> Option<()> {
        let mut complete = Some(());
        for row in self.rows.iter().filter(|row| row.in_file && !row.by_code) {
            let mut read = |item: &ConfigItem<'_>| (row.read)(item, target);
            if !row.required {
                fields.optional(row.key, read);
            } else if fields.required(row.key, &mut read).is_none() {
                complete = None;
            }
        }
        if let Some(check) = self.check {
            check(fields, target);
        }
        complete
    }

    /// Puts flags and variables in force. Only the value that wins is parsed; an empty variable
    /// counts as unset, because service managers cannot unset one.
    pub fn override_with(
        &self,
        target: &mut S,
        flags: FlagValues<'_>,
        environment: &Environment,
        wrong: &mut Diagnostics,
    ) {
        self.override_some(|_| true, target, flags, environment, wrong);
    }

    /// The same for the keys that are `wanted`.
    pub fn override_some(
        &self,
        wanted: impl Fn(&str) -> bool,
        target: &mut S,
        flags: FlagValues<'_>,
        environment: &Environment,
        wrong: &mut Diagnostics,
    ) {
        for row in self.rows.iter().filter(|row| wanted(row.key)) {
            if let Err((name, error)) = row.override_with(target, flags, environment) {
                wrong.push(Diagnostic::for_setting(name, error));
            }
        }
    }

    /// What there is to know about the keys; `defaults` is what holds without a file.
    pub fn describe(&self, defaults: &S) -> TableInfo {
        TableInfo {
            name: self.name,
            about: self.about.trim(),
            rows: self.rows.iter().map(|row| row.info(defaults)).collect(),
        }
    }
}

impl<S: Default> DescribeShape for &'static SettingTable<S> {
    fn shape(&self) -> ValueShape {
        ValueShape::Table(self.describe(&S::default()))
    }
}

impl<S: Default> ValueKind<S> for &'static SettingTable<S> {
    fn read(&self, item: &ConfigItem<'_>) -> Option<S> {
        self.read_new(item)
    }

    fn write(&self, _: &S) -> Option<Value> {
        None
    }
}

/// See [`record`].
pub struct Record<S: 'static> {
    table: &'static SettingTable<S>,
    start: fn() -> S,
}

/// A table as a value of its own; `start` is what holds where a key is absent.
pub const fn record<S>(table: &'static SettingTable<S>, start: fn() -> S) -> Record<S> {
    Record { table, start }
}

impl<S> DescribeShape for Record<S> {
    fn shape(&self) -> ValueShape {
        ValueShape::Table(self.table.describe(&(self.start)()))
    }
}

impl<S> ValueKind<S> for Record<S> {
    fn read(&self, item: &ConfigItem<'_>) -> Option<S> {
        let mut target = (self.start)();
        self.table.read(item, &mut target).map(|()| target)
    }

    fn write(&self, _: &S) -> Option<Value> {
        None
    }
}

/// The keys of a table that code reads, from elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct ExternalTable(pub fn() -> TableInfo);

impl DescribeShape for ExternalTable {
    fn shape(&self) -> ValueShape {
        ValueShape::Table((self.0)())
    }
}

/// Writes a [`SettingTable`] with one row a key.
///
/// | Row | Meaning |
/// |---|---|
/// | `"key" = kind => path.in.struct;` | a value of that [`ValueKind`] |
/// | `"key" (variable "X", flag "--x", required) = kind => path;` | the same with [`SettingRow`]'s attributes |
/// | `"key" { TABLE } => path;` | a table inside, always in force |
/// | `"key" { TABLE };` | the same for the same struct |
/// | `"key" = kind;` | described here, read by code |
///
/// `no_key` instead of a key of the file: a setting that only variables and flags have.
/// Doc comments are the documentation. `then check;` is a function that
/// judges all values together.
#[macro_export]
macro_rules! table {
    (@check) => { None };
    (@check $check:expr) => { Some($check) };
    (@rows [$target:ty] [$($done:expr),*]) => { &[$($done),*] };
    (@rows [$target:ty] [$($done:expr),*] $(#[doc = $doc:literal])* $key:literal
        $(($($with:ident $($text:literal)?),+))? = $kind:expr => $($path:tt).+; $($rest:tt)*) => {
        $crate::table!(@rows [$target] [$($done,)* $crate::SettingRow::<$target>::new(
            $key,
            concat!($($doc),*),
            |item, target| {
                target.$($path).+ = $crate::ValueKind::read(&$kind, item)?;
                Some(())
            },
            |text, given, target| {
                target.$($path).+ = $crate::ValueKind::parse(&$kind, text, given)?;
                Ok(())
            },
            |target| $crate::RowInfo::new(&$kind, &target.$($path).+),
        )$($(.$with($($text)?))+)?] $($rest)*)
    };
    (@rows [$target:ty] [$($done:expr),*] $(#[doc = $doc:literal])* $key:literal
        $(($($with:ident $($text:literal)?),+))? = $kind:expr; $($rest:tt)*) => {
        $crate::table!(@rows [$target] [$($done,)* $crate::SettingRow::<$target>::new(
            $key,
            concat!($($doc),*),
            |_, _| Some(()),
            |text, given, _| $crate::no_text(text, given),
            |_| $crate::RowInfo::described(&$kind),
        ).by_code()$($(.$with($($text)?))+)?] $($rest)*)
    };
    (@rows [$target:ty] [$($done:expr),*] $(#[doc = $doc:literal])* $key:literal
        { $table:path } $(=> $($path:tt).+)?; $($rest:tt)*) => {
        $crate::table!(@rows [$target] [$($done,)* $crate::SettingRow::<$target>::new(
            $key,
            concat!($($doc),*),
            |item, target| $table.read(item, &mut (*target)$($(.$path)+)?),
            |text, given, _| $crate::no_text(text, given),
            |target| $crate::RowInfo::table($table.describe(&(*target)$($(.$path)+)?)),
        )] $($rest)*)
    };
    ($($(#[doc = $about:literal])* $(pub $(($scope:ident))?)? static $name:ident: $target:ty = $title:literal {
        $($rows:tt)*
    } $(then $check:expr;)?)+) => {
        $($(#[doc = $about])*
        $(pub $(($scope))?)? static $name: $crate::SettingTable<$target> = $crate::SettingTable {
            name: $title,
            about: concat!($($about),*),
            rows: $crate::table!(@rows [$target] [] $($rows)*),
            check: $crate::table!(@check $($check)?),
        };)+
    };
}
