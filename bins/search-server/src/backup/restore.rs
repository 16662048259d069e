//! `restore`: everything is fetched and checked before anything is replaced.

use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::path::Path;

use anyhow::{Context, bail};
use config_core::Environment;
use http_clients::objects::ObjectStorage;
use search_core::role::{REDACTED, RoleDocument, ServerSettings};
use search_web::boot;
use store::local::read_dump;

use super::manifest::{self, BackupManifest};
use super::report::{BackupReport, clear};
use crate::arguments::RestoreArguments;

/// Restores a backup, and says which.
pub(super) fn run(
    storage: &ObjectStorage,
    order: &RestoreArguments,
    settings: &ServerSettings,
    environment: &Environment,
) -> anyhow::Result<BackupReport> {
    let data = &settings.data_path.value;
    recover(settings)?;
    if !order.force && has_data(settings)? {
        bail!(
            "{} holds conversations or summaries already: --force replaces them",
            data.display()
        );
    }
    let manifest = manifest::find(storage, order.backup.as_deref())?;
    let (copy, fresh) = (data.join("restore.tmp"), data.join("state.new"));
    clear(&copy)?;
    clear(&fresh)?;
    let fetched = fetch(storage, &manifest, settings, &copy, &fresh);
    clear(&copy)?;
    if let Err(error) = fetched {
        clear(&fresh)?;
        return Err(error);
    }
    let roles = match &manifest.roles {
        Some(part) => Some(manifest::get(storage, &manifest.id, part)?),
        None => None,
    };
    exchange(settings, &fresh)?;
    let mut notes = Vec::new();
    if let Some(roles) = roles {
        put_roles(&roles, order.force, settings, environment, &mut notes)?;
    }
    Ok(BackupReport {
        what: "restored",
        records: manifest.records,
        parts: manifest.parts.len(),
        bytes: manifest.bytes(),
        backup: manifest.id,
        notes,
    })
}

/// Fetches the state and makes a folder of it, in the backend that is configured.
fn fetch(
    storage: &ObjectStorage,
    manifest: &BackupManifest,
    settings: &ServerSettings,
    copy: &Path,
    fresh: &Path,
) -> anyhow::Result<()> {
    let mut file =
        File::create(copy).with_context(|| format!("cannot write {}", copy.display()))?;
    for part in &manifest.parts {
        file.write_all(&manifest::get(storage, &manifest.id, part)?)?;
    }
    drop(file);
    fs::create_dir_all(fresh)?;
    let state = boot::storage_kind(settings).open(fresh, "search-server")?;
    let records = read_dump(&mut BufReader::new(File::open(copy)?), &*state)?;
    if records != manifest.records {
        bail!(
            "backup {} holds {records} records instead of {}",
            manifest.id,
            manifest.records
        );
    }
    Ok(())
}

/// Puts the new state in the place of the former one.
fn exchange(settings: &ServerSettings, fresh: &Path) -> anyhow::Result<()> {
    let state = boot::state_folder(settings);
    let former = state.with_extension("former");
    clear(&former)?;
    let renamed = |from: &Path, to: &Path| {
        fs::rename(from, to).with_context(|| format!("cannot rename {}", from.display()))
    };
    if state.exists() {
        renamed(&state, &former)?;
    }
    if let Err(error) = renamed(fresh, &state) {
        recover(settings)?;
        return Err(error);
    }
    File::open(&settings.data_path.value)?.sync_all()?;
    clear(&former)
}

/// Takes back an exchange that was broken off.
fn recover(settings: &ServerSettings) -> anyhow::Result<()> {
    let state = boot::state_folder(settings);
    let former = state.with_extension("former");
    if former.exists() && !state.exists() {
        fs::rename(&former, &state)
            .with_context(|| format!("cannot rename {}", former.display()))?;
    }
    Ok(())
}

fn has_data(settings: &ServerSettings) -> anyhow::Result<bool> {
    if !boot::state_folder(settings).exists() {
        return Ok(false);
    }
    let state = boot::open_state(settings, "search-server")?;
    Ok(!state.namespaces()?.is_empty())
}

/// Writes the role file. Secrets of one that is there are kept where their places are the same.
fn put_roles(
    text: &[u8],
    force: bool,
    settings: &ServerSettings,
    environment: &Environment,
    notes: &mut Vec<String>,
) -> anyhow::Result<()> {
    let path = &settings.settings_path.value;
    let mut text = text.to_vec();
    if path.exists() {
        if !force {
            notes.push(format!(
                "{} stays as it is: --force replaces it",
                path.display()
            ));
            return Ok(());
        }
        let name = path.display().to_string();
        let stored = fs::read(path).ok();
        let stored =
            stored.and_then(|stored| RoleDocument::parse(&name, &stored, environment).ok());
        let filled = stored.and_then(|stored| {
            RoleDocument::with_secrets_of(&name, &text, environment, &stored).ok()
        });
        if let Some(filled) = filled {
            text = filled.text().as_bytes().to_vec();
        }
    }
    let secret = format!("\"{REDACTED}\"");
    if String::from_utf8_lossy(&text).contains(&secret) {
        notes.push(format!(
            "{}: write the secrets where {secret} stands",
            path.display()
        ));
    }
    search_web::boot::write_role_file(path, &text)?;
    Ok(())
}
