//! The configuration that tests of this crate begin with.

use std::path::Path;

use config_core::{Environment, UnknownKeys};
use orchestrator_core::config::{AnyHost, Config, ConfigFile, ConfigFiles, check};

/// One project in `folder`, with its data folder; `head` and `tail` stand around its tables.
pub(crate) fn test_config(folder: &Path, head: &str, tail: &str) -> Config {
    let base = folder.display();
    let text = format!(
        "data_dir = \"{base}/data\"\n{head}\n\
         [webhook]\nsecret = \"a-secret-of-the-tests-0123456789\"\n\
         [[projects]]\nid = \"main\"\nrepository = \"acme/main\"\nworking_dir = \"{base}/repo\"\n{tail}"
    );
    let files = ConfigFiles {
        folder: folder.to_owned(),
        main: ConfigFile::new("orchestrator.toml", text),
        ..ConfigFiles::default()
    };
    let environment = Environment::default();
    let checked = check(&files, &environment, &AnyHost, UnknownKeys::Refuse);
    checked.unwrap_or_else(|wrong| panic!("{wrong}")).config
}
