//! Why a text is no YAML file that is read here.

use crate::source_location::SourceLocation;

/// Why a text is not a YAML file that is read here, and where.
#[derive(Debug)]
pub(crate) struct YamlError {
    pub(crate) place: SourceLocation,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl YamlError {
    pub(super) fn new(place: SourceLocation, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
            help: None,
        }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
