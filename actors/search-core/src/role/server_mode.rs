//! What a server does of indexing and searching, and where snapshots are.

use config_core::{ValueError, quoted, suggestion};
use url::Url;

/// What a server does of indexing and searching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ServerMode {
    /// Both, for itself.
    #[default]
    Local,
    /// It indexes, and publishes for searchers.
    Indexer,
    /// It searches what indexers have published.
    Searcher,
}

impl ServerMode {
    const CHOICES: [(&str, Self); 3] = [
        ("local", Self::Local),
        ("indexer", Self::Indexer),
        ("searcher", Self::Searcher),
    ];

    /// Its name in the configuration.
    pub fn as_str(self) -> &'static str {
        let found = Self::CHOICES.iter().find(|(_, one)| *one == self);
        found.map_or("local", |(name, _)| name)
    }

    /// Reads a name.
    ///
    /// # Errors
    /// No mode is called so.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let found = Self::CHOICES.iter().find(|(name, _)| *name == text.trim());
        found.map(|(_, mode)| *mode).ok_or_else(|| {
            let error = ValueError::new(format!("unknown mode {}", quoted(text)));
            let names = Self::CHOICES.map(|(name, _)| name);
            match suggestion(text, names) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("one of: {}", names.join(", "))),
            }
        })
    }
}

/// Reads the address of snapshots.
///
/// # Errors
/// Why it is none.
pub(super) fn snapshots_url(text: &str) -> Result<Url, ValueError> {
    let not = || {
        let error = ValueError::new(format!("{} is no place for snapshots", quoted(text)));
        error.help("write s3://bucket/prefix or file:///folder")
    };
    let url = Url::parse(text.trim()).map_err(|_| not())?;
    let is_place = match url.scheme() {
        "file" => url.to_file_path().is_ok(),
        "s3" => url.host_str().is_some_and(|bucket| !bucket.is_empty()),
        _ => false,
    };
    if is_place { Ok(url) } else { Err(not()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_modes_and_places_are_read() {
        assert_eq!(ServerMode::parse("searcher"), Ok(ServerMode::Searcher));
        let wrong = ServerMode::parse("sercher").expect_err("misspelt");
        assert_eq!(wrong.help.as_deref(), Some("did you mean `searcher`?"));
        for text in ["s3://bucket/prefix", "s3://bucket", "file:///srv/snapshots"] {
            assert_eq!(
                snapshots_url(text).map(|url| url.to_string()),
                Ok(text.to_owned())
            );
        }
        for text in ["/srv/snapshots", "https://bucket", "s3://", "file://host/x"] {
            assert!(snapshots_url(text).is_err(), "{text}");
        }
    }
}
