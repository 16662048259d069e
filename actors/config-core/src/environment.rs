//! The environment variables as a map that programs fill once and tests write down.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The variable is set, but its bytes are not Unicode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the value is not valid Unicode")]
pub struct NotUnicode;

/// The environment variables of the process, as an argument.
///
/// `Debug` shows the names only: many values are secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Value by name; `None` stands for bytes that are not Unicode.
    variables: BTreeMap<String, Option<String>>,
}

impl Environment {
    /// Takes what `std::env::vars_os()` gives. Variables whose name is not Unicode are left out,
    /// because no configuration can name them.
    pub fn from_os(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let unicode = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()))
        };
        Self {
            variables: variables.into_iter().filter_map(unicode).collect(),
        }
    }

    /// The value of `name`; `None` when it is not set.
    ///
    /// # Errors
    /// [`NotUnicode`] when the variable holds bytes that are not Unicode.
    pub fn get(&self, name: &str) -> Result<Option<&str>, NotUnicode> {
        match self.variables.get(name) {
            None => Ok(None),
            Some(Some(value)) => Ok(Some(value)),
            Some(None) => Err(NotUnicode),
        }
    }

    /// The value of `name`; `None` when it is not set, empty, or not Unicode.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).ok()?.filter(|text| !text.is_empty())
    }

    /// Where programs keep data of this user: `$XDG_DATA_HOME`, `~/.local/share`, or `/var/lib` for
    /// one without a home (XDG Base Directory Specification: a path that is not absolute counts as
    /// none).
    pub fn data_home(&self) -> PathBuf {
        let named = self.text("XDG_DATA_HOME").map(PathBuf::from);
        let named = named.filter(|path| path.is_absolute());
        let usual = || Some(Path::new(self.text("HOME")?).join(".local/share"));
        named.or_else(usual).unwrap_or_else(|| "/var/lib".into())
    }

    /// The same with one more variable; a variable of that name is replaced.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables
            .insert(name.to_owned(), Some(value.to_owned()));
        self
    }

    /// The names that are set, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let set = |(name, value): (N, V)| (name.into(), Some(value.into()));
        Self {
            variables: variables.into_iter().map(set).collect(),
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_and_never_shown() {
        let environment = Environment::from_iter([("TOKEN", "sk-123"), ("EMPTY", "")]);
        assert_eq!(environment.get("TOKEN"), Ok(Some("sk-123")));
        assert_eq!(environment.get("EMPTY"), Ok(Some("")));
        assert_eq!(environment.get("OTHER"), Ok(None));
        assert_eq!(format!("{environment:?}"), r#"{"EMPTY", "TOKEN"}"#);
    }

    #[test]
    fn y7_the_data_folder_is_where_the_xdg_specification_says() {
        let home = |pairs: &[(&str, &str)]| {
            let environment: Environment = pairs.iter().copied().collect();
            environment.data_home()
        };
        let named = [("HOME", "/home/me"), ("XDG_DATA_HOME", "/data")];
        assert_eq!(home(&named), Path::new("/data"));
        let usual = Path::new("/home/me/.local/share");
        assert_eq!(home(&named[..1]), usual);
        for none in ["", "data", "./data"] {
            assert_eq!(
                home(&[("HOME", "/home/me"), ("XDG_DATA_HOME", none)]),
                usual
            );
        }
        assert_eq!(home(&[]), Path::new("/var/lib"));
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_not_unicode_are_an_error_when_used() {
        use std::os::unix::ffi::OsStringExt;
        let value = OsString::from_vec(vec![0xff]);
        let environment = Environment::from_os([(OsString::from("BAD"), value)]);
        assert_eq!(environment.get("BAD"), Err(NotUnicode));
    }
}
