//! From the settings of a store to what opens its connections.

use super::bridge::Bridge;
use super::connection::Connector;
use super::url::PostgresUrl;
use crate::error::OpenError;
use crate::options::Options;
use std::sync::Arc;
use std::time::Duration;

/// How many times the patience for a server that is gone one that works on something gets: a group
/// may hold megabytes.
const ANSWER_TIMEOUT_FACTOR: u32 = 3;

/// With the times of whoever has the store.
pub(super) fn connector(
    url: &PostgresUrl,
    options: &Options,
) -> Result<(Arc<Connector>, String), OpenError> {
    let patience = options.patience;
    connector_within(url, options, (patience, patience * ANSWER_TIMEOUT_FACTOR))
}

/// Connections that wait so long to be made, and for answers.
pub(super) fn connector_within(
    url: &PostgresUrl,
    options: &Options,
    times: (Duration, Duration),
) -> Result<(Arc<Connector>, String), OpenError> {
    let schema = url.schema.clone();
    let schema = schema.unwrap_or_else(|| options.schema.clone());
    let place = match &url.schema {
        Some(_) => url.to_string(),
        None => format!("{url} (schema {schema})"),
    };
    let bridge = Bridge::start().map_err(|source| OpenError::Io {
        path: place.clone().into(),
        source,
    })?;
    let connector = Connector::new(bridge, url.clone(), schema, options, times);
    Ok((Arc::new(connector), place))
}
