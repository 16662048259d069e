//! `backup` and `restore`: the local state and the role file, in S3-compatible object storage.
//!
//! ```text
//! <prefix>/<id>/part-00000 …   the local state as a stream, in parts of 8 MiB
//! <prefix>/<id>/roles.json     the role file, its secrets as ***
//! <prefix>/<id>/manifest.json  names, sizes and BLAKE3 hashes; written last: without it there is no backup
//! ```
//! Indexes and what was learnt of concepts are made again from their sources.

mod bucket;
mod manifest;
mod restore;
mod save;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use config_core::Environment;
use http_clients::http::{HttpClient, HttpOptions};
use http_clients::s3::{S3Client, S3Options};
use search_core::role::{ObjectStore, ServerSettings, StorageBackend};
use url::Url;

use crate::arguments::{
    Arguments, BackupLocation, FAILED, OutputFormat, RestoreArguments, print, say,
};
use bucket::{BackupReport, Bucket, PART};

/// The longest a part may take.
const PART_DEADLINE: Duration = Duration::from_secs(300);

/// Saves the local state and the role file.
pub(crate) fn save(
    arguments: &Arguments,
    location: &BackupLocation,
    settings: &ServerSettings,
    environment: &Environment,
) -> ExitCode {
    let done = actix_rt::System::new().block_on(async {
        let bucket = bucket(location, settings)?;
        bucket.check().await?;
        let _lock = exclusively(settings)?;
        save::run(&bucket, settings, environment).await
    });
    end(arguments, done)
}

/// Brings them back.
pub(crate) fn restore(
    arguments: &Arguments,
    order: &RestoreArguments,
    settings: &ServerSettings,
    environment: &Environment,
) -> ExitCode {
    let done = actix_rt::System::new().block_on(async {
        let bucket = bucket(&order.location, settings)?;
        let _lock = exclusively(settings)?;
        restore::run(&bucket, order, settings, environment).await
    });
    end(arguments, done)
}

fn end(arguments: &Arguments, done: anyhow::Result<BackupReport>) -> ExitCode {
    match done {
        Ok(done) => {
            for note in &done.notes {
                say(note);
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
            say(&daemon::error_chain(error.as_ref()));
            ExitCode::from(FAILED)
        }
    }
}

fn bucket(location: &BackupLocation, settings: &ServerSettings) -> anyhow::Result<Bucket> {
    if matches!(
        settings.storage.value,
        StorageBackend::Memory | StorageBackend::ConcurrentMap
    ) {
        bail!(
            "the storage backend {} keeps nothing on disk: set SERVICE_STORAGE or --storage to redb or sqlite",
            settings.storage.value.as_str()
        );
    }
    let keys = settings.object_store.as_ref().context(
        "there are no keys of the object storage: set CLOUDSTORE_ACCESS_KEY_ID and CLOUDSTORE_SECRET_ACCESS_KEY",
    )?;
    let region = keys.region.clone().unwrap_or("us-east-1".to_owned());
    let options = S3Options {
        endpoint: endpoint(keys, &region)?,
        bucket: location.bucket.clone(),
        access_key: keys.access_key_id.clone(),
        secret_key: keys.secret_access_key.clone(),
        region,
    };
    let http = HttpClient::new(HttpOptions {
        deadline: PART_DEADLINE,
        max_body: PART * 2,
        ..HttpOptions::default()
    });
    Ok(Bucket {
        client: S3Client::new(http, options),
        prefix: location.prefix.trim_matches('/').to_owned(),
    })
}

fn endpoint(keys: &ObjectStore, region: &str) -> anyhow::Result<Url> {
    match &keys.endpoint {
        Some(endpoint) => Ok(endpoint.clone()),
        None => Url::parse(&format!("https://s3.{region}.amazonaws.com"))
            .context("SERVICE_PROFILE_OBJSTORE_REGION"),
    }
}

/// The data folder, for this process alone: nobody writes while the state is copied.
fn exclusively(settings: &ServerSettings) -> anyhow::Result<store::DirectoryLock> {
    search_web::boot::lock_data(settings, "search-server")
        .context("the state is saved and restored while no server uses it")
}
