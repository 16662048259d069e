//! Where snapshots and backups are, from the settings.

use http_clients::objects::{ObjectError, ObjectKeys, ObjectPlace, ObjectStorage, PlaceError};
use search_actors::snapshots::{SnapshotMode, SnapshotPlace};
use search_core::role::{ServerMode, ServerSettings};
use search_core::snapshots::PartError;

/// What of the data folder keeps which shares were there.
const PLACES: &str = "places";

/// Why there is no place for snapshots.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotPlaceError {
    /// None is set.
    #[error("SERVICE_SNAPSHOTS is not set: write s3://bucket/prefix or file:///folder")]
    None,
    /// No keys.
    #[error(
        "SERVICE_SNAPSHOTS: s3:// needs CLOUDSTORE_ACCESS_KEY_ID and CLOUDSTORE_SECRET_ACCESS_KEY"
    )]
    NoKeys,
    /// Its address.
    #[error("SERVICE_SNAPSHOTS: {0}")]
    Address(PlaceError),
    /// The server has no TLS.
    #[error(
        "SERVICE_PROFILE_OBJSTORE_ENDPOINT: {0} has no TLS; the texts of all documents would cross \
         the network for everybody to read: use https, or set \
         SERVICE_PROFILE_OBJSTORE_ALLOW_HTTP=true for a network that you trust"
    )]
    Plain(String),
    /// It cannot be used.
    #[error("SERVICE_SNAPSHOTS: {0}")]
    Storage(#[from] ObjectError),
    /// There is no such part.
    #[error("SERVICE_INDEX_PART: {0}")]
    Part(#[from] PartError),
}

/// The storage of snapshots; nothing is asked of it yet.
///
/// # Errors
/// See `SnapshotPlaceError`.
pub fn open_snapshots(settings: &ServerSettings) -> Result<ObjectStorage, SnapshotPlaceError> {
    Ok(ObjectStorage::open(&snapshot_place(settings)?)?)
}

fn snapshot_place(settings: &ServerSettings) -> Result<ObjectPlace, SnapshotPlaceError> {
    let url = settings
        .snapshots
        .as_ref()
        .ok_or(SnapshotPlaceError::None)?;
    let store = settings.object_store.as_ref();
    let allow_http = store.is_some_and(|store| store.allow_http);
    place(settings, url.value.as_str(), allow_http).map_err(|error| match error {
        PlaceError::Plain(server) => SnapshotPlaceError::Plain(server),
        PlaceError::NoKeys => SnapshotPlaceError::NoKeys,
        error => SnapshotPlaceError::Address(error),
    })
}

/// Why there is no place for backups.
#[derive(Debug, thiserror::Error)]
pub enum BackupPlaceError {
    /// No keys.
    #[error(
        "there are no keys of the object storage: set CLOUDSTORE_ACCESS_KEY_ID and \
         CLOUDSTORE_SECRET_ACCESS_KEY"
    )]
    NoKeys,
    /// Its address.
    #[error("--bucket or SERVICE_PROFILE_OBJSTORE_ENDPOINT: {0}")]
    Address(PlaceError),
    /// It cannot be used.
    #[error(transparent)]
    Storage(#[from] ObjectError),
}

/// The storage of backups; nothing is asked of it yet. Its server may be without TLS: whoever runs
/// the command knows the network.
///
/// # Errors
/// See `BackupPlaceError`.
pub fn open_backups(
    settings: &ServerSettings,
    bucket: &str,
    prefix: &str,
) -> Result<ObjectStorage, BackupPlaceError> {
    let url = format!("s3://{bucket}/{prefix}");
    let place = place(settings, &url, true).map_err(|error| match error {
        PlaceError::NoKeys => BackupPlaceError::NoKeys,
        error => BackupPlaceError::Address(error),
    })?;
    Ok(ObjectStorage::open(&place)?)
}

fn place(
    settings: &ServerSettings,
    url: &str,
    allow_http: bool,
) -> Result<ObjectPlace, PlaceError> {
    let store = settings.object_store.as_ref();
    let keys = store.map(|store| ObjectKeys {
        access: store.access_key_id.clone(),
        secret: store.secret_access_key.clone(),
        session: None,
    });
    let endpoint = store.and_then(|store| store.endpoint.as_ref());
    let endpoint = endpoint.map(|url| url.as_str().trim_end_matches('/').to_owned());
    let region = store.and_then(|store| store.region.as_deref());
    ObjectPlace::new(url, endpoint.as_deref(), region, allow_http, keys)
}

/// What this process publishes or fetches.
///
/// # Errors
/// See `SnapshotPlaceError`.
pub fn snapshot_mode(settings: &ServerSettings) -> Result<SnapshotMode, SnapshotPlaceError> {
    let place = || -> Result<SnapshotPlace, SnapshotPlaceError> {
        let memory = settings.data_path.value.join(PLACES);
        Ok(SnapshotPlace {
            storage: ObjectStorage::open_remembered(&snapshot_place(settings)?, &memory)?,
            parts: settings.index_parts.value,
        })
    };
    Ok(match settings.mode.value {
        ServerMode::Local => SnapshotMode::Local,
        ServerMode::Searcher => SnapshotMode::Searcher(place()?),
        ServerMode::Indexer => SnapshotMode::Indexer {
            place: place()?,
            part: settings.part()?,
            owner: owner(),
        },
    })
}

/// A name that no other process has, and that people recognise.
fn owner() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = match host.trim() {
        "" => "indexer",
        host => host,
    };
    format!("{host}-{}", uuid::Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests {
    use config_core::Environment;
    use search_core::role::{Os, ServerFlags, parse_environment};

    use super::*;

    #[test]
    fn i18_snapshots_cross_a_network_without_tls_where_that_is_allowed_only() {
        let place = |further: &[(&str, &str)]| {
            let variables = [
                ("HOME", "/home/me"),
                ("SERVICE_SEARCH_MODE", "indexer"),
                ("SERVICE_SNAPSHOTS", "s3://search/production"),
                ("CLOUDSTORE_ACCESS_KEY_ID", "id"),
                ("CLOUDSTORE_SECRET_ACCESS_KEY", "key"),
            ];
            let environment = Environment::from_iter(variables.iter().chain(further).copied());
            let settings = parse_environment(&ServerFlags::default(), &environment, Os::Linux);
            snapshot_place(&settings.expect("they are right")).map(|place| place.describe())
        };
        let at = |url| ("SERVICE_PROFILE_OBJSTORE_ENDPOINT", url);
        let allowed = ("SERVICE_PROFILE_OBJSTORE_ALLOW_HTTP", "true");
        let shown = "s3://search/production at http://storage:8333/";
        let refused = place(&[at("http://storage:8333")]).expect_err("it has no TLS");
        let refused = refused.to_string();
        assert!(
            refused.contains("SERVICE_PROFILE_OBJSTORE_ALLOW_HTTP=true"),
            "{refused}"
        );
        assert_eq!(
            place(&[at("http://storage:8333"), allowed]).expect("allowed"),
            shown
        );
        for own in ["http://127.0.0.1:8333", "https://storage.example"] {
            assert!(place(&[at(own)]).is_ok(), "{own}");
        }
    }
}
