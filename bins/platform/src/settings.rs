//! The platform's configuration file.

use std::path::{Path, PathBuf};

use config_core::{Diagnostics, Environment, Input, Item};
use search_core::role::ListenAddress;

/// The checked configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlatformSettings {
    /// Where everything is kept.
    pub(crate) data_dir: PathBuf,
    /// The role file of the search server.
    pub(crate) search_settings: PathBuf,
    /// Where the search server listens; its default when absent.
    pub(crate) search_listen: Option<String>,
}

impl PlatformSettings {
    /// Reads the file; relative paths are meant from `base`.
    pub(crate) fn parse(
        name: &str,
        text: &[u8],
        environment: &Environment,
        base: &Path,
    ) -> Result<Self, Diagnostics> {
        let input = Input::toml(name, text, environment);
        let decoded = input.decode(|item| {
            item.fields(
                "the platform's configuration",
                &["data_dir", "search"],
                |fields| {
                    let data_dir = fields.required("data_dir", Item::string);
                    let search = fields.required("search", search_table);
                    let (settings, search_listen) = search?;
                    Some(Self {
                        data_dir: base.join(data_dir?),
                        search_settings: base.join(settings),
                        search_listen,
                    })
                },
            )
        })?;
        Ok(decoded.value)
    }
}

fn search_table(item: &Item<'_>) -> Option<(String, Option<String>)> {
    item.fields("[search]", &["settings", "listen"], |fields| {
        let settings = fields.required("settings", Item::string);
        let listen = fields.optional("listen", |item| {
            item.parsed(|text| ListenAddress::parse(text).map(|_| text.to_owned()))
        });
        Some((settings?, listen))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<PlatformSettings, Diagnostics> {
        PlatformSettings::parse(
            "platform.toml",
            text.as_bytes(),
            &Environment::default(),
            Path::new("/base"),
        )
    }

    #[test]
    fn paths_are_meant_from_the_file_s_folder() {
        let settings =
            parse("data_dir = \"data\"\n[search]\nsettings = \"/roles.json\"\n").unwrap();
        assert_eq!(settings.data_dir, Path::new("/base/data"));
        assert_eq!(settings.search_settings, Path::new("/roles.json"));
        assert_eq!(settings.search_listen, None);
    }

    #[test]
    fn every_mistake_is_named_with_its_place() {
        let text = "data_dri = \"data\"\n[search]\nsettings = 5\nlisten = \"nowhere\"\n";
        let message = parse(text).unwrap_err().to_string();
        for expected in [
            "platform.toml:1:1",
            "did you mean `data_dir`?",
            "platform.toml:3:12",
            "platform.toml:4:10",
        ] {
            assert!(
                message.contains(expected),
                "{expected} is missing in:\n{message}"
            );
        }
    }
}
