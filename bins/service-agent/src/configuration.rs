//! The role file, of a server or of this machine: shown without secrets, checked, replaced.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use config_core::Environment;
use search_core::role::RoleDocument;

use crate::client::VersionedConfig;
use crate::failure::ClientFailure;
use crate::in_process::InProcess;
use crate::place::SearchTarget;

/// Longest text that is read of a file or standard input, in bytes.
const MAX_INPUT: u64 = 4 << 20;

/// What a file holds; `-` is standard input.
///
/// # Errors
/// When it cannot be read, or has more than 4 MiB.
pub fn input(file: &Path) -> Result<Vec<u8>, ClientFailure> {
    let failed = |error: std::io::Error| {
        ClientFailure::Configuration(format!("cannot read {}: {error}", file.display()))
    };
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        let stdin = std::io::stdin().lock();
        stdin.take(MAX_INPUT + 1).read_to_end(&mut bytes)
    } else {
        let opened = std::fs::File::open(file).map_err(failed)?;
        opened.take(MAX_INPUT + 1).read_to_end(&mut bytes)
    };
    if read.map_err(failed)? as u64 > MAX_INPUT {
        return Err(ClientFailure::Configuration(format!(
            "{} has more than {MAX_INPUT} bytes",
            file.display()
        )));
    }
    Ok(bytes)
}

/// The configuration without secrets, and its version where a server keeps one.
///
/// # Errors
/// See [`ClientFailure`].
pub async fn show(place: &SearchTarget) -> Result<VersionedConfig, ClientFailure> {
    match place {
        SearchTarget::Server(client) => client.configuration().await,
        SearchTarget::Here(here) => {
            let document = stored(here)?;
            Ok(VersionedConfig {
                text: document.redacted(),
                tag: String::new(),
            })
        }
    }
}

/// Puts `text` in the place of the configuration with this tag; `***` keeps a secret. Gives what is
/// in force then.
///
/// # Errors
/// See [`ClientFailure`]; every mistake of the text.
pub async fn replace(
    place: &SearchTarget,
    text: String,
    tag: &str,
) -> Result<String, ClientFailure> {
    let here = match place {
        SearchTarget::Server(client) => return Ok(client.configure(text, tag).await?.text),
        SearchTarget::Here(here) => here,
    };
    // The file of this machine, changed by its owner: no server's limits hold here.
    let stored = stored(here)?;
    let document = RoleDocument::with_secrets_of("the new file", &text, &here.environment, &stored);
    let document = document.map_err(|wrong| ClientFailure::Refused(wrong.to_string()))?;
    let path = &here.settings.settings_path.value;
    save(path, document.text()).map_err(|error| {
        ClientFailure::Other(format!("cannot write {}: {error}", path.display()))
    })?;
    Ok(document.redacted())
}

/// Finds every mistake of a role file; its warnings are the result.
///
/// # Errors
/// [`ClientFailure::Configuration`] with all of them.
pub fn validate(
    name: &str,
    text: &[u8],
    environment: &Environment,
) -> Result<Vec<String>, ClientFailure> {
    let roles = search_core::role::parse(name, text, environment);
    let roles = roles.map_err(|wrong| ClientFailure::Configuration(wrong.to_string()))?;
    Ok(roles.warnings().iter().map(|one| one.headline()).collect())
}

/// In one step: a reader, or a crash, never sees half of the file. Its mode stays, and a link stays
/// a link.
fn save(path: &Path, text: &str) -> std::io::Result<()> {
    let place = std::fs::canonicalize(path)?;
    let mode = std::fs::metadata(&place)?.permissions().mode() & 0o7777;
    store::replace_file(&place, Some(mode), |file| file.write_all(text.as_bytes()))
}

fn stored(here: &InProcess) -> Result<RoleDocument, ClientFailure> {
    let name = here.settings.settings_path.value.display().to_string();
    let document = RoleDocument::parse(&name, &here.role_text()?, &here.environment);
    document.map_err(|wrong| ClientFailure::Configuration(wrong.to_string()))
}
