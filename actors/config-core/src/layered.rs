//! Where a setting comes from: flag, environment, file, default, in this order.

use std::fmt;

use crate::diagnostic::Diagnostic;
use crate::environment::Environment;
use crate::value_error::ValueError;

/// Which layer gave a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A flag of the command line, by name.
    Flag(&'static str),
    /// An environment variable, by name.
    Variable(&'static str),
    /// The configuration file.
    File,
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::File => f.write_str("configuration file"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and the layer it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value in force.
    pub value: T,
    /// Who set it.
    pub origin: Origin,
}

/// The layers of one setting.
///
/// Only the value in force is parsed: what a flag overrides cannot stop the program. An empty
/// variable counts as unset, because service managers cannot unset one.
pub struct Layered<'a, T> {
    flag: Option<(&'static str, &'a str)>,
    variable: Option<(&'static str, &'a Environment)>,
    file: Option<T>,
}

impl<'a, T> Default for Layered<'a, T> {
    fn default() -> Self {
        Self {
            flag: None,
            variable: None,
            file: None,
        }
    }
}

impl<'a, T> Layered<'a, T> {
    /// The flag `name`, if it was given.
    #[must_use]
    pub fn flag(mut self, name: &'static str, value: Option<&'a str>) -> Self {
        self.flag = value.map(|value| (name, value));
        self
    }

    /// The environment variable `name`.
    #[must_use]
    pub fn variable(mut self, name: &'static str, environment: &'a Environment) -> Self {
        self.variable = Some((name, environment));
        self
    }

    /// The value of the configuration file, which has been checked already.
    #[must_use]
    pub fn file(mut self, value: Option<T>) -> Self {
        self.file = value;
        self
    }

    /// The value in force, if any layer has one.
    ///
    /// # Errors
    /// The value in force is wrong; the diagnostic names its flag or variable.
    pub fn resolve(
        self,
        parse: impl FnOnce(&str) -> Result<T, ValueError>,
    ) -> Result<Option<Setting<T>>, Diagnostic> {
        if let Some((name, text)) = self.flag {
            return parsed(name, Origin::Flag(name), text, parse);
        }
        if let Some((name, environment)) = self.variable {
            let value = environment.get(name).map_err(|error| {
                Diagnostic::of_setting(name, ValueError::new(error.to_string()))
            })?;
            if let Some(text) = value.filter(|text| !text.is_empty()) {
                return parsed(name, Origin::Variable(name), text, parse);
            }
        }
        Ok(self.file.map(|value| Setting {
            value,
            origin: Origin::File,
        }))
    }

    /// The value in force, or `default`.
    ///
    /// # Errors
    /// As [`Layered::resolve`].
    pub fn resolve_or(
        self,
        default: T,
        parse: impl FnOnce(&str) -> Result<T, ValueError>,
    ) -> Result<Setting<T>, Diagnostic> {
        let set = self.resolve(parse)?;
        Ok(set.unwrap_or(Setting {
            value: default,
            origin: Origin::Default,
        }))
    }
}

fn parsed<T>(
    name: &str,
    origin: Origin,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, ValueError>,
) -> Result<Option<Setting<T>>, Diagnostic> {
    match parse(text) {
        Ok(value) => Ok(Some(Setting { value, origin })),
        Err(error) => Err(Diagnostic::of_setting(name, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAG: Origin = Origin::Flag("--size");
    const VARIABLE: Origin = Origin::Variable("SIZE");

    fn resolve(
        flag: Option<&str>,
        variable: Option<&str>,
        file: Option<u32>,
    ) -> Result<Setting<u32>, String> {
        let environment: Environment = variable.map(|value| ("SIZE", value)).into_iter().collect();
        let parse = |text: &str| {
            text.parse()
                .map_err(|_| ValueError::new(format!("`{text}` is not a number")))
        };
        Layered::default()
            .flag("--size", flag)
            .variable("SIZE", &environment)
            .file(file)
            .resolve_or(4, parse)
            .map_err(|diagnostic| diagnostic.headline())
    }

    #[test]
    fn the_first_layer_that_speaks_wins() {
        for (flag, variable, file, value, origin) in [
            (None, None, None, 4, Origin::Default),
            (None, None, Some(3), 3, Origin::File),
            (None, Some("2"), None, 2, VARIABLE),
            (None, Some("2"), Some(3), 2, VARIABLE),
            (Some("1"), None, None, 1, FLAG),
            (Some("1"), None, Some(3), 1, FLAG),
            (Some("1"), Some("2"), None, 1, FLAG),
            (Some("1"), Some("2"), Some(3), 1, FLAG),
            (None, Some(""), Some(3), 3, Origin::File),
            (None, Some(""), None, 4, Origin::Default),
            (Some("1"), Some("x"), None, 1, FLAG),
        ] {
            let row = format!("{flag:?} {variable:?} {file:?}");
            assert_eq!(
                resolve(flag, variable, file),
                Ok(Setting { value, origin }),
                "{row}"
            );
        }
    }

    #[test]
    fn a_wrong_value_names_its_layer() {
        let wrong = |flag, variable| resolve(flag, variable, Some(3)).unwrap_err();
        assert_eq!(wrong(Some("x"), Some("2")), "--size: `x` is not a number");
        assert_eq!(wrong(Some(""), Some("2")), "--size: `` is not a number");
        assert_eq!(wrong(None, Some("x")), "SIZE: `x` is not a number");
    }
}
