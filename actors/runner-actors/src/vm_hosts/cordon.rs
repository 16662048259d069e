//! Hosts that take no new jobs. It is kept over restarts.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use store::{JsonRow, ReadRows as _, Store, StoreError, Table};
use utoipa::ToSchema;

const CORDONS: Table<String, JsonRow<Cordon>> = Table::new("runner_cordons");

/// Since when a host takes no new jobs, and who wants it so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cordon {
    /// In milliseconds since the Unix epoch.
    pub since: u64,
    /// Who has asked for it.
    pub by: String,
}

/// Those that are stored.
pub(super) fn all(store: &Store) -> Result<BTreeMap<String, Cordon>, StoreError> {
    store.read_blocking(|rows| {
        let mut cordons = BTreeMap::new();
        rows.for_each(&CORDONS, .., |host, row| {
            cordons.extend(row.value().map(|cordon| (host, cordon)));
            ControlFlow::Continue(())
        })?;
        Ok::<_, StoreError>(cordons)
    })
}

/// Stores that a host takes no new jobs.
pub(super) async fn put(store: &Store, host: String, cordon: &Cordon) -> Result<(), StoreError> {
    let row = JsonRow::of(cordon);
    store
        .write(move |rows| rows.put(&CORDONS, &host, &row))
        .await
}

/// Stores that a host takes new jobs.
pub(super) async fn remove(store: &Store, host: String) -> Result<(), StoreError> {
    let removed = store.write(move |rows| rows.delete(&CORDONS, &host).map(drop));
    removed.await
}
