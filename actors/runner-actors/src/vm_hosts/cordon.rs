//! Hosts that take no new jobs. It is kept over restarts.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use store::{ReadRows as _, Store, StoreError, Table};
use utoipa::ToSchema;

use super::VmHosts;
use crate::clock::now_ms;
use crate::json_row::JsonRow;

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

impl VmHosts {
    /// From now on a host takes no new jobs; one that is cordoned stays as it is. Jobs that have a
    /// VM there go on.
    ///
    /// # Errors
    /// The store's.
    pub async fn cordon(&self, index: usize, by: &str) -> Result<(), StoreError> {
        let name = self.name(index).to_owned();
        let cordon = {
            let known = self.0.hosts[index].1.lock();
            known.cordon.clone().unwrap_or_else(|| Cordon {
                since: now_ms(),
                by: by.to_owned(),
            })
        };
        let row = JsonRow::of(&cordon);
        let stored = self
            .0
            .store
            .write(move |rows| rows.put(&CORDONS, &name, &row));
        stored.await?;
        tracing::info!(
            event = "vm_host.cordoned",
            host = self.name(index),
            by,
            "a VM host takes no new jobs"
        );
        self.change(index, |known| known.cordon = Some(cordon));
        Ok(())
    }

    /// A host takes new jobs again.
    ///
    /// # Errors
    /// The store's.
    pub async fn uncordon(&self, index: usize, by: &str) -> Result<(), StoreError> {
        let name = self.name(index).to_owned();
        let stored = self
            .0
            .store
            .write(move |rows| rows.delete(&CORDONS, &name).map(drop));
        stored.await?;
        tracing::info!(
            event = "vm_host.uncordoned",
            host = self.name(index),
            by,
            "a VM host takes new jobs again"
        );
        self.change(index, |known| known.cordon = None);
        self.0.changed.notify_waiters();
        Ok(())
    }
}
