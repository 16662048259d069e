//! Values that several tables share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use config_core::{Fields, Item, Secret, ValueError, quoted};
use forge_core::{IdError, Login};

/// An id that checks itself.
pub(super) fn id<T: FromStr<Err = IdError>>(item: &Item<'_>) -> Option<T> {
    item.parsed(|text| {
        text.parse().map_err(|error: IdError| {
            let message = format!("{} is not a valid {}", quoted(text), error.kind());
            ValueError::new(message).help(error.reason())
        })
    })
}

/// A list of ids, each once.
pub(super) fn ids<T: FromStr<Err = IdError> + Ord + Clone>(item: &Item<'_>) -> Option<Vec<T>> {
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
pub(super) fn logins(item: &Item<'_>) -> Option<Vec<Login>> {
    ids(item)
}

/// A folder; a relative one stands beside `orchestrator.toml`.
pub(super) fn folder(item: &Item<'_>, base: &Path) -> Option<PathBuf> {
    item.parsed(|text| {
        let path = Path::new(text);
        let climbs = path
            .components()
            .any(|part| part == std::path::Component::ParentDir);
        if climbs {
            let error = ValueError::new(format!("the folder {} climbs out by `..`", quoted(text)));
            return Err(error.help("write an absolute path"));
        }
        Ok(base.join(path))
    })
}

/// Text of several lines, at most `max` bytes.
pub(super) fn long_text(item: &Item<'_>, max: usize) -> Option<String> {
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

/// A whole number of seconds from 1 to `max`.
pub(super) fn seconds(item: &Item<'_>, max: i64) -> Option<Duration> {
    let seconds = item.integer(1..=max)?;
    Some(Duration::from_secs(seconds.unsigned_abs()))
}

/// A count from `min` to `max`.
pub(super) fn count(item: &Item<'_>, min: u32, max: u32) -> Option<u32> {
    let number = item.integer(i64::from(min)..=i64::from(max))?;
    u32::try_from(number).ok()
}

/// The value of `key`, or `default` when it is absent or wrong (which is reported).
pub(super) fn or<'d, T>(
    fields: &Fields<'d>,
    key: &str,
    default: T,
    read: impl FnOnce(&Item<'d>) -> Option<T>,
) -> T {
    fields.optional(key, read).unwrap_or(default)
}

/// `<host>:<port>`.
pub(super) fn address(item: &Item<'_>) -> Option<String> {
    item.parsed(|text| {
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
    })
}

/// Names of environment variables.
pub(super) fn variable_names(item: &Item<'_>) -> Option<Vec<String>> {
    item.list(|item| item.parsed(|text| variable(text).map(str::to_owned)))
}

/// A table of environment variables.
pub(super) fn variables(item: &Item<'_>) -> Option<BTreeMap<String, Secret<String>>> {
    let entries = item.entries(|key, item| {
        if let Err(error) = variable(key) {
            item.error(error);
            return None;
        }
        item.secret()
    })?;
    Some(entries.into_iter().collect())
}

fn variable(name: &str) -> Result<&str, ValueError> {
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
    Ok(name)
}
