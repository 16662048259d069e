//! A look into a store that others have open.

use super::connecting::connector_within;
use super::layout;
use super::readers::PostgresReaders;
use super::url::PostgresUrl;
use crate::engine::SnapshotSource as _;
use crate::error::{OpenError, StoreError};
use crate::health::HealthRecord;
use crate::options::StoreOptions;
use crate::read::ReadTxn;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for a connection, and for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Reads what the store at `url` holds now, whoever has it; `None` where there is none yet. Nothing
/// is made or taken. Blocks, for some seconds at most.
///
/// # Errors
/// The server does not answer, or its store cannot be read.
pub fn peek<T>(
    url: &PostgresUrl,
    options: &StoreOptions,
    work: impl FnOnce(&mut ReadTxn<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, OpenError> {
    let (connector, place) = connector_within(url, options, (TIMEOUT, TIMEOUT))?;
    let connected = connector.connect();
    let mut connection = connected.map_err(|fault| layout::refused(&place, fault))?;
    if !layout::probe(&mut connection, &connector.schema, &place)? {
        return Ok(None);
    }
    drop(connection);
    let of_one_server = (Arc::new(HealthRecord::default()), Arc::default());
    let readers = PostgresReaders::new(place.clone(), connector, of_one_server, (1, TIMEOUT));
    let (mut work, mut read) = (Some(work), Err(StoreError::Closed));
    readers.snapshot(&mut |rows| {
        if let Some(work) = work.take() {
            read = rows.and_then(work);
        }
    });
    let away = |error: StoreError| OpenError::Away {
        place,
        reason: error.to_string(),
    };
    read.map(Some).map_err(away)
}
