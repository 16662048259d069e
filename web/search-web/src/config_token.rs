//! The token that authorises changes of the configuration where `SERVICE_API_TOKEN` is not set.
//!
//! It is made at the first start and kept in the data folder, readable by its owner alone: whoever
//! may read the folder may change the configuration, another user of the machine may not.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use search_core::role::ServerSettings;

use crate::boot::SearchBootError;

/// The file in the data folder.
const FILE: &str = "configuration-token";
/// Hexadecimal digits of a token.
const LENGTH: usize = 64;

/// The token in force.
#[derive(Clone)]
pub struct ConfigurationToken {
    /// The token.
    pub token: String,
    /// Where it is kept.
    pub path: PathBuf,
    /// Whether it was made now: it is shown once.
    pub is_new: bool,
}

impl std::fmt::Debug for ConfigurationToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfigurationToken")
            .field("path", &self.path)
            .field("is_new", &self.is_new)
            .finish_non_exhaustive()
    }
}

/// Reads the token of the data folder, or makes one. `None` where `SERVICE_API_TOKEN` is set: that
/// one authorises.
///
/// # Errors
/// The file cannot be read or written.
pub fn configuration_token(
    settings: &ServerSettings,
) -> Result<Option<ConfigurationToken>, SearchBootError> {
    if settings.api_token.is_some() {
        return Ok(None);
    }
    let path = token_file(&settings.data_path.value);
    let (token, is_new) = private_token(&path).map_err(|source| SearchBootError::File {
        what: "read or write",
        path: path.clone(),
        source,
    })?;
    Ok(Some(ConfigurationToken {
        token,
        path,
        is_new,
    }))
}

/// The token that is kept in a file of its owner's alone, and whether it was made now: it is where
/// there is none, or one that others could have read.
///
/// # Errors
/// The file cannot be read or written.
pub fn private_token(path: &Path) -> io::Result<(String, bool)> {
    match read(path)? {
        Some(token) => Ok((token, false)),
        None => Ok((create_token(path)?, true)),
    }
}

/// Where the token of a data folder is kept.
#[must_use]
pub fn token_file(data: &Path) -> PathBuf {
    data.join(FILE)
}

/// `None` where there is no token, or one that others could have read.
fn read(path: &Path) -> io::Result<Option<String>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
        read => read?,
    };
    let token = text.trim();
    let whole = token.len() == LENGTH && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    Ok((whole && is_private(path)?).then(|| token.to_owned()))
}

#[cfg(unix)]
fn is_private(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::metadata(path)?.permissions().mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Written beside its place and renamed: a crash leaves no half of it.
fn create_token(path: &Path) -> io::Result<String> {
    let half = || uuid::Uuid::new_v4().simple().to_string();
    let token = format!("{}{}", half(), half());
    store::replace_file(path, Some(0o600), |file| writeln!(file, "{token}"))?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use config_core::Environment;
    use search_core::role::{Os, ServerFlags, parse_environment};

    fn settings(data: &Path, more: &[(&str, &str)]) -> ServerSettings {
        let data = data.display().to_string();
        let mut variables = vec![("HOME", "/nowhere"), ("SERVICE_DATA_PATH", data.as_str())];
        variables.extend(more);
        let environment = Environment::from_iter(variables);
        parse_environment(&ServerFlags::default(), &environment, Os::Linux).unwrap()
    }

    #[test]
    fn t1_a_token_is_made_once_and_is_its_owners_alone() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings(home.path(), &[]);
        let first = configuration_token(&settings).unwrap().unwrap();
        let second = configuration_token(&settings).unwrap().unwrap();
        assert!(first.is_new && !second.is_new);
        assert_eq!(first.token, second.token);
        assert!(!format!("{first:?}").contains(&first.token));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&first.path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            // Somebody else may have read it.
            fs::set_permissions(&first.path, fs::Permissions::from_mode(0o644)).unwrap();
            let third = configuration_token(&settings).unwrap().unwrap();
            assert!(third.is_new && third.token != first.token);
        }
        fs::write(&first.path, "half").unwrap();
        assert!(configuration_token(&settings).unwrap().unwrap().is_new);
    }

    #[test]
    fn t1_the_api_token_authorises_where_there_is_one() {
        let home = tempfile::tempdir().unwrap();
        let settings = settings(
            home.path(),
            &[("SERVICE_API_TOKEN", "t0ken-of-the-operator")],
        );
        assert!(configuration_token(&settings).unwrap().is_none());
        assert!(!token_file(home.path()).exists());
    }
}
