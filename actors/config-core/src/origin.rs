//! Where a setting comes from: flag, environment, file, default, in this order.

use std::fmt;

/// Which layer gave a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SettingOrigin {
    /// A flag of the command line, by name.
    Flag(&'static str),
    /// An environment variable, by name.
    Variable(&'static str),
    /// The configuration file.
    File,
    /// Nobody said anything.
    Default,
}

impl fmt::Display for SettingOrigin {
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
    pub origin: SettingOrigin,
}
