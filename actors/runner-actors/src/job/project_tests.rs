//! What a project's own file says of its tests.

use runner_core::test_report::{SETTINGS_FILE, TestSettings};

/// What a project says of its tests, and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectTests {
    pub(crate) settings: TestSettings,
    pub(crate) wrong: Option<String>,
}

impl ProjectTests {
    /// Of the file of the commit, where it has one.
    pub(crate) fn parse(file: Option<&[u8]>) -> Self {
        let Some(bytes) = file else {
            return Self::default();
        };
        match TestSettings::parse(SETTINGS_FILE, &String::from_utf8_lossy(bytes)) {
            Ok(settings) => Self {
                settings,
                wrong: None,
            },
            Err(wrong) => Self {
                settings: TestSettings::default(),
                wrong: Some(wrong.to_string()),
            },
        }
    }
}
