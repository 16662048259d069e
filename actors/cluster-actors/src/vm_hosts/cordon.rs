//! Hosts that take no new jobs. It is kept over restarts.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use store::{JsonRow, ReadRows as _, Store, StoreError, Table};
use vmm_api_core::Cordon;

/// Where cordons are kept, by the name of the host: one table for each who has hosts.
pub type CordonTable = Table<String, JsonRow<Cordon>>;

/// Those that are stored.
pub(crate) fn all(
    store: &Store,
    table: CordonTable,
) -> Result<BTreeMap<String, Cordon>, StoreError> {
    store.read_blocking(|rows| {
        let mut cordons = BTreeMap::new();
        rows.for_each(&table, .., |host, row| {
            cordons.extend(row.value().map(|cordon| (host, cordon)));
            ControlFlow::Continue(())
        })?;
        Ok::<_, StoreError>(cordons)
    })
}

/// Stores that a host takes no new jobs.
pub(crate) async fn put(
    (store, table): (&Store, CordonTable),
    host: String,
    cordon: &Cordon,
) -> Result<(), StoreError> {
    let row = JsonRow::new(cordon);
    store.write(move |rows| rows.put(&table, &host, &row)).await
}

/// Stores that a host takes new jobs.
pub(crate) async fn remove(
    (store, table): (&Store, CordonTable),
    host: String,
) -> Result<(), StoreError> {
    let removed = store.write(move |rows| rows.delete(&table, &host).map(drop));
    removed.await
}
