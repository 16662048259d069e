//! `backup` and `restore`: the local state and the role file, in S3-compatible object storage.
//!
//! ```text
//! <prefix>/<id>/part-00000 …   the local state as a stream, in parts of 8 MiB
//! <prefix>/<id>/roles.json     the role file, its secrets as ***
//! <prefix>/<id>/manifest.json  names, sizes and BLAKE3 hashes; written last: without it there is no backup
//! ```
//! Indexes and what was learnt of concepts are made again from their sources.

mod manifest;
mod restore;
mod save;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use config_core::Environment;
use outbound::http::{HttpClient, HttpOptions};
use outbound::s3::{S3Client, S3Options};
use search_core::role::{ObjectStore, ServerSettings, StorageBackend};
use url::Url;

use crate::FAILED;
use crate::arguments::{Arguments, OutputFormat, print, say};

/// Bytes of a part.
const PART: usize = 8 << 20;
/// The longest a part may take.
const PART_DEADLINE: Duration = Duration::from_secs(300);

/// Where backups are.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The bucket. Keys and address come from CLOUDSTORE_ACCESS_KEY_ID, CLOUDSTORE_SECRET_ACCESS_KEY,
    /// SERVICE_PROFILE_OBJSTORE_REGION and SERVICE_PROFILE_OBJSTORE_ENDPOINT.
    #[arg(long, value_name = "NAME")]
    bucket: String,
    /// What the names of all objects begin with.
    #[arg(long, value_name = "PREFIX", default_value = "orrery")]
    prefix: String,
}

/// What `restore` takes.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    place: Place,
    /// The backup to restore; the latest when absent.
    #[arg(long, value_name = "ID")]
    backup: Option<String>,
    /// Replace what is there. Without it, only an empty state is filled and an existing role file stays.
    #[arg(long)]
    force: bool,
}

/// A bucket, and the beginning of all names in it.
struct Bucket {
    client: S3Client,
    prefix: String,
}

impl Bucket {
    /// Whether the place can be used at all: a server may close the connection in the middle of a large object without
    /// saying why.
    async fn check(&self) -> anyhow::Result<()> {
        let listed = self.client.list(&self.prefix, 1).await;
        listed.map(drop).context("looking at the bucket")
    }
}

/// Saves the local state and the role file.
pub(crate) fn save(
    arguments: &Arguments,
    place: &Place,
    settings: &ServerSettings,
    environment: &Environment,
) -> ExitCode {
    let done = actix_rt::System::new().block_on(async {
        let bucket = bucket(place, settings)?;
        bucket.check().await?;
        let _lock = exclusively(settings)?;
        save::run(&bucket, settings, environment).await
    });
    end(arguments, done)
}

/// Brings them back.
pub(crate) fn restore(
    arguments: &Arguments,
    order: &Restore,
    settings: &ServerSettings,
    environment: &Environment,
) -> ExitCode {
    let done = actix_rt::System::new().block_on(async {
        let bucket = bucket(&order.place, settings)?;
        let _lock = exclusively(settings)?;
        restore::run(&bucket, order, settings, environment).await
    });
    end(arguments, done)
}

/// What was done.
#[derive(Debug, serde::Serialize)]
struct Done {
    /// `saved` or `restored`.
    what: &'static str,
    backup: String,
    records: u64,
    parts: usize,
    bytes: u64,
    /// What somebody has to know or do.
    notes: Vec<String>,
}

fn end(arguments: &Arguments, done: anyhow::Result<Done>) -> ExitCode {
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
            say(&program::in_words(error.as_ref()));
            ExitCode::from(FAILED)
        }
    }
}

fn bucket(place: &Place, settings: &ServerSettings) -> anyhow::Result<Bucket> {
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
        bucket: place.bucket.clone(),
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
        prefix: place.prefix.trim_matches('/').to_owned(),
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
fn exclusively(settings: &ServerSettings) -> anyhow::Result<store::FolderLock> {
    search_web::boot::lock_data(settings, "search-server")
        .context("the state is saved and restored while no server uses it")
}

/// Removes a file or folder that may not be there.
fn clear(path: &Path) -> anyhow::Result<()> {
    let gone = if path.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
    match gone {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
