//! Which run a workflow means by a number.

use store::{Store, StoreError};

use crate::rows;

/// Finds stored runs; clones share the store.
#[derive(Clone)]
pub(crate) struct RunFinder {
    store: Store,
}

impl RunFinder {
    pub(crate) fn new(store: &Store) -> Self {
        Self {
            store: store.clone(),
        }
    }

    /// Where the runs are stored.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The id of a repository's run, by its `github.run_id` or its id.
    pub(crate) async fn find(
        &self,
        named: &str,
        repository: &str,
    ) -> Result<Option<String>, StoreError> {
        let (named, repository) = (named.to_owned(), repository.to_owned());
        let read = move |rows: &mut store::ReadTxn<'_>| rows::find_run(rows, &named, &repository);
        self.store.read(read).await
    }
}
