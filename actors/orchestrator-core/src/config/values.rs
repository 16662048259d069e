//! Values that several tables share.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use config_core::{
    ConfigItem, DescribeShape, FILE_PATH, ObjectFields, PlainKind, TextKind, ValueError, ValueKind,
    ValueShape, integer, no_text, quoted,
};
use forge_core::{ForgeIdError, Login};
use serde_json::{Value, json};

/// Longest task or script, in bytes.
pub(super) const MAX_TEXT: usize = 64 << 10;

/// An id that checks itself.
pub(super) fn id<T: FromStr<Err = ForgeIdError>>(item: &ConfigItem<'_>) -> Option<T> {
    item.parsed(parse_id)
}

fn parse_id<T: FromStr<Err = ForgeIdError>>(text: &str) -> Result<T, ValueError> {
    text.parse().map_err(|error: ForgeIdError| {
        let message = format!("{} is not a valid {}", quoted(text), error.kind());
        ValueError::new(message).help(error.reason())
    })
}

/// The kind of an id.
pub(super) const fn id_kind<T: FromStr<Err = ForgeIdError> + Display>() -> TextKind<T> {
    TextKind::new("id", parse_id, T::to_string)
}

/// A list of ids, each once.
pub(super) fn ids<T: FromStr<Err = ForgeIdError> + Ord + Clone>(
    item: &ConfigItem<'_>,
) -> Option<Vec<T>> {
    let mut seen = std::collections::BTreeSet::new();
    item.list(|item| {
        let value: T = id(item)?;
        if !seen.insert(value.clone()) {
            item.error(format!("{} is listed twice", quoted(item.peek()?)));
            return None;
        }
        Some(value)
    })
}

/// Logins of an allow-list.
pub(super) const LOGINS: PlainKind<Vec<Login>> = PlainKind {
    shape: || ValueShape::Value(json!({"type": "array", "items": {"type": "string"}})),
    read: ids,
    parse: no_text,
    write: |logins| {
        (!logins.is_empty()).then(|| json!(logins.iter().map(Login::as_str).collect::<Vec<_>>()))
    },
};

/// A folder; a relative one stands beside `orchestrator.toml`.
pub(super) fn folder(item: &ConfigItem<'_>) -> Option<PathBuf> {
    item.parsed(|text| {
        let path = Path::new(text);
        let climbs = path
            .components()
            .any(|part| part == std::path::Component::ParentDir);
        if climbs {
            let error = ValueError::new(format!("the folder {} climbs out by `..`", quoted(text)));
            return Err(error.help("write an absolute path"));
        }
        Ok(item.base().join(path))
    })
}

/// The same as a kind.
pub(super) const FOLDER: PlainKind<PathBuf> = PlainKind {
    read: folder,
    ..FILE_PATH
};

/// Text of several lines, at most [`MAX_TEXT`] bytes.
pub(super) const LONG_TEXT: PlainKind<String> = PlainKind {
    shape: || ValueShape::Value(json!({"type": "string", "minLength": 1})),
    read: |item| long_text(item, MAX_TEXT),
    parse: no_text,
    write: |text| (!text.is_empty()).then(|| json!(text)),
};

/// Text of several lines, at most `max` bytes.
pub(super) fn long_text(item: &ConfigItem<'_>, max: usize) -> Option<String> {
    let text = item.any_string()?;
    if text.trim().is_empty() {
        item.error("the string must not be empty");
        return None;
    }
    if text.len() > max {
        item.error(format!(
            "the text has {} bytes, more than {max}",
            text.len()
        ));
        return None;
    }
    if let Some(control) = text
        .chars()
        .find(|c| c.is_control() && !"\n\r\t".contains(*c))
    {
        let code = u32::from(control);
        item.error(format!(
            "the string holds the control character U+{code:04X}"
        ));
        return None;
    }
    Some(text.to_owned())
}

/// A time as a whole number of a unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Period {
    unit: u64,
    least: i64,
    most: i64,
}

/// A whole number of seconds from `least` to `most`.
pub(super) const fn seconds(least: i64, most: i64) -> Period {
    Period {
        unit: 1,
        least,
        most,
    }
}

/// A whole number of days, at least one.
pub(super) const fn days(most: i64) -> Period {
    Period {
        unit: 86_400,
        least: 1,
        most,
    }
}

impl DescribeShape for Period {
    fn shape(&self) -> ValueShape {
        integer(self.least..=self.most).shape()
    }
}

impl ValueKind<Duration> for Period {
    fn read(&self, item: &ConfigItem<'_>) -> Option<Duration> {
        let number = item.integer(self.least..=self.most)?;
        Some(Duration::from_secs(number.unsigned_abs() * self.unit))
    }

    fn write(&self, value: &Duration) -> Option<Value> {
        Some(json!(value.as_secs() / self.unit))
    }
}

/// The value of `key`, or `default` when it is absent or wrong (which is reported).
pub(super) fn or<'d, T>(
    fields: &ObjectFields<'d>,
    key: &str,
    default: T,
    read: impl FnOnce(&ConfigItem<'d>) -> Option<T>,
) -> T {
    fields.optional(key, read).unwrap_or(default)
}

/// `<host>:<port>`.
pub(super) const ADDRESS: TextKind<String> = TextKind::new("address", address, String::clone);

fn address(text: &str) -> Result<String, ValueError> {
    let wrong = || {
        ValueError::new(format!("{} is not a listen address", quoted(text)))
            .help("write `<host>:<port>`, for example `127.0.0.1:3200`")
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let numeric = bare.unwrap_or(host).parse::<std::net::IpAddr>().is_ok();
    if port.parse::<u16>().is_err() || !(numeric || host == "localhost") {
        return Err(wrong());
    }
    Ok(text.to_owned())
}

/// The name of an environment variable.
pub(super) const VARIABLE: TextKind<String> = TextKind::new(
    "variable",
    |text| variable(text).map(|()| text.to_owned()),
    String::clone,
);

/// Whether an agent may be given a variable of this name.
pub(super) fn variable(name: &str) -> Result<(), ValueError> {
    let starts = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !starts || !plain {
        let error = ValueError::new(format!("{} is not a variable name", quoted(name)));
        return Err(error.help("use letters, digits and `_`, not beginning with a digit"));
    }
    if name.starts_with("ORCH_") {
        let error = ValueError::new(format!("{} is set by the orchestrator", quoted(name)));
        return Err(error.help("names beginning with `ORCH_` are its own"));
    }
    if ["LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV"].contains(&name) {
        return Err(ValueError::new(format!(
            "{} would run other code in every child process",
            quoted(name)
        )));
    }
    Ok(())
}
