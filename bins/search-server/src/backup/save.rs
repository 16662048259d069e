//! `backup`.

use std::fs::File;
use std::io::{BufWriter, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use bytes::Bytes;
use config_core::Environment;
use http_clients::objects::ObjectStorage;
use search_core::role::{RoleDocument, ServerSettings};
use search_web::boot;
use store::local::write_dump;

use super::manifest::{self, BackupManifest};
use super::report::{BackupReport, PART, clear};

/// Saves everything, and says what.
pub(super) fn run(
    storage: &ObjectStorage,
    settings: &ServerSettings,
    environment: &Environment,
) -> anyhow::Result<BackupReport> {
    let copy = settings.data_path.value.join("backup.tmp");
    clear(&copy)?;
    let saved = upload(storage, settings, environment, &copy);
    clear(&copy)?;
    saved
}

fn upload(
    storage: &ObjectStorage,
    settings: &ServerSettings,
    environment: &Environment,
    copy: &Path,
) -> anyhow::Result<BackupReport> {
    let mut manifest = BackupManifest::new(new_id());
    manifest.records = dump(settings, copy)?;
    let mut notes = Vec::new();
    let mut file = File::open(copy)?;
    loop {
        let mut part = Vec::new();
        (&mut file).take(PART as u64).read_to_end(&mut part)?;
        if part.is_empty() {
            break;
        }
        let name = format!("part-{:05}", manifest.parts.len());
        let stored = manifest::store_part(storage, &manifest.id, &name, Bytes::from(part))?;
        manifest.parts.push(stored);
    }
    if let Some(text) = roles(settings, environment, &mut notes) {
        let stored = manifest::store_part(storage, &manifest.id, "roles.json", Bytes::from(text));
        manifest.roles = Some(stored?);
    }
    manifest::seal(storage, &manifest)?;
    Ok(BackupReport {
        what: "saved",
        records: manifest.records,
        parts: manifest.parts.len(),
        bytes: manifest.bytes(),
        backup: manifest.id,
        notes,
    })
}

fn new_id() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    id_at(since.unwrap_or_default())
}

/// The time to the millisecond, so that the latest sorts last, and something that two backups of
/// one millisecond do not share.
fn id_at(since: Duration) -> String {
    let time = search_engine::rfc3339(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    let random = uuid::Uuid::new_v4().simple().to_string();
    let time = time.replace([':', '-'], "");
    format!("{time}-{:03}{}", since.subsec_millis(), &random[..8])
}

fn dump(settings: &ServerSettings, copy: &Path) -> anyhow::Result<u64> {
    let state = boot::open_state(settings, "search-server")?;
    let failed = || format!("cannot write {}", copy.display());
    let mut output = BufWriter::new(File::create(copy).with_context(failed)?);
    let records = write_dump(&*state, &mut output)?;
    output
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)
        .with_context(failed)?;
    Ok(records)
}

/// The role file without its secrets: they do not leave this machine.
fn roles(
    settings: &ServerSettings,
    environment: &Environment,
    notes: &mut Vec<String>,
) -> Option<String> {
    let path = &settings.settings_path.value;
    let text = std::fs::read(path).ok()?;
    match RoleDocument::parse(&path.display().to_string(), &text, environment) {
        Ok(document) => {
            let shown = document.redacted();
            if shown != document.text() {
                notes.push("the secrets of the role file are not part of the backup".to_owned());
            }
            Some(shown)
        }
        Err(_) => {
            notes.push(format!(
                "{} is wrong, and is not part of the backup",
                path.display()
            ));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_the_later_of_two_backups_of_one_second_sorts_last() {
        let ids: Vec<String> = (0..1000)
            .map(|millis| id_at(Duration::from_millis(1_700_000_000_000 + millis)))
            .collect();
        assert!(ids.is_sorted(), "{ids:?}");
        assert!(ids[7].starts_with("20231114T221320Z-007"), "{}", ids[7]);
    }
}
