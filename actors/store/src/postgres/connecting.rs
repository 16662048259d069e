//! From the settings of a store to what opens its connections.

use super::bridge::ConnectionRuntime;
use super::connection::PostgresConnector;
use super::url::PostgresUrl;
use crate::error::OpenError;
use crate::options::StoreOptions;
use std::sync::Arc;
use std::time::Duration;

/// How many times the patience for a server that is gone one that works on something gets: a group
/// may hold megabytes.
const ANSWER_TIMEOUT_FACTOR: u32 = 3;

/// With the times of whoever has the store.
pub(super) fn connector(
    url: &PostgresUrl,
    options: &StoreOptions,
) -> Result<(Arc<PostgresConnector>, String), OpenError> {
    let patience = options.patience;
    connector_within(url, options, (patience, patience * ANSWER_TIMEOUT_FACTOR))
}

/// Connections that wait so long to be made, and for answers.
pub(super) fn connector_within(
    url: &PostgresUrl,
    options: &StoreOptions,
    times: (Duration, Duration),
) -> Result<(Arc<PostgresConnector>, String), OpenError> {
    let schema = url.schema.clone();
    let schema = schema.unwrap_or_else(|| options.schema.clone());
    let place = match &url.schema {
        Some(_) => url.to_string(),
        None => format!("{url} (schema {schema})"),
    };
    let bridge = ConnectionRuntime::start().map_err(|source| OpenError::Io {
        path: place.clone().into(),
        source,
    })?;
    let connector = PostgresConnector::new(bridge, url.clone(), schema, options, times);
    Ok((Arc::new(connector), place))
}
