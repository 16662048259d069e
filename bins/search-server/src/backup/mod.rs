//! `backup` and `restore`: the local state and the role file, in S3-compatible object storage.
//!
//! ```text
//! <prefix>/<id>/part-00000 …   the local state as a stream, in parts of 8 MiB
//! <prefix>/<id>/roles.json     the role file, its secrets as ***
//! <prefix>/<id>/manifest.json  names, sizes and BLAKE3 hashes; written last: without it there is no backup
//! ```
//! Indexes and what was learnt of concepts are made again from their sources.

mod manifest;
mod report;
mod restore;
mod save;

use std::process::ExitCode;

use anyhow::{Context, bail};
use command_line::{print, print_note};
use config_core::Environment;
use http_clients::objects::ObjectStorage;
use search_core::role::{ServerSettings, StorageBackend};
use search_web::boot;

use crate::arguments::{Arguments, BackupLocation, FAILED, OutputFormat, RestoreArguments};
use report::BackupReport;

/// Saves the local state and the role file.
pub(crate) fn save(
    arguments: &Arguments,
    location: &BackupLocation,
    settings: &ServerSettings,
    environment: &Environment,
) -> ExitCode {
    let done = || {
        let storage = open(location, settings)?;
        // A server may close the connection in the middle of a large object without saying why.
        storage.probe()?;
        let _lock = exclusively(settings)?;
        save::run(&storage, settings, environment)
    };
    report_result(arguments, done())
}

/// Brings them back.
pub(crate) fn restore(
    arguments: &Arguments,
    order: &RestoreArguments,
    settings: &ServerSettings,
    environment: &Environment,
) -> ExitCode {
    let done = || {
        let storage = open(&order.location, settings)?;
        let _lock = exclusively(settings)?;
        restore::run(&storage, order, settings, environment)
    };
    report_result(arguments, done())
}

fn report_result(arguments: &Arguments, done: anyhow::Result<BackupReport>) -> ExitCode {
    match done {
        Ok(done) => {
            for note in &done.notes {
                print_note(note);
            }
            print(&match arguments.format {
                OutputFormat::Json => serde_json::to_string(&done).unwrap_or_default(),
                OutputFormat::Human => format!(
                    "{} {}: {} records, {} bytes in {} parts",
                    done.what, done.backup, done.records, done.bytes, done.parts
                ),
            });
            ExitCode::SUCCESS
        }
        Err(error) => {
            print_note(&daemon::error_chain(error.as_ref()));
            ExitCode::from(FAILED)
        }
    }
}

fn open(location: &BackupLocation, settings: &ServerSettings) -> anyhow::Result<ObjectStorage> {
    if matches!(
        settings.storage.value,
        StorageBackend::Memory | StorageBackend::ConcurrentMap
    ) {
        bail!(
            "the storage backend {} keeps nothing on disk: set SERVICE_STORAGE or --storage to redb or sqlite",
            settings.storage.value.as_str()
        );
    }
    let prefix = location.prefix.trim_matches('/');
    Ok(boot::open_backups(settings, &location.bucket, prefix)?)
}

/// The data folder, for this process alone: nobody writes while the state is copied.
fn exclusively(settings: &ServerSettings) -> anyhow::Result<store::DirectoryLock> {
    boot::lock_data(settings, "search-server")
        .context("the state is saved and restored while no server uses it")
}
