//! Which store it is: a copy of a store that is started beside it is another one, though all its
//! rows are the same.

use crate::engine::{Engine, alone};
use crate::error::StoreError;
use crate::handle::Store;
use crate::rows::raw::RawRead as _;
use crate::write::{ID, META, MOVED_IN, WriteTxn};

/// What tells a store from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreIdentity {
    /// A name that no copy has: neither one by this program, nor a dump that was restored into
    /// another database. A copy of the files of a database, or of a folder, has it.
    pub id: String,
    /// It was moved here from another place, where nobody starts it any more.
    pub is_moved_in: bool,
}

impl Store {
    /// Which store it is. Blocks.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn identity(&self) -> Result<StoreIdentity, StoreError> {
        let server = self.server().to_owned();
        self.write_blocking(move |txn| {
            let id = named(txn, &server)?;
            let moved_in = txn.raw_get(META, MOVED_IN)?;
            let is_moved_in = moved_in.as_deref() == Some(id.as_bytes());
            Ok(StoreIdentity { id, is_moved_in })
        })
    }
}

/// Notes that the store takes the place of the one that it was copied from.
pub(crate) fn record_move(engine: &mut dyn Engine) -> Result<(), StoreError> {
    let server = engine.server();
    alone(engine, |txn| {
        let id = named(txn, &server)?;
        txn.import(META, MOVED_IN, id.as_bytes())
    })
}

fn named(txn: &mut WriteTxn<'_>, server: &str) -> Result<String, StoreError> {
    let own = match txn.raw_get(META, ID)? {
        Some(own) => own,
        None => {
            let own = uuid::Uuid::new_v4().to_string().into_bytes();
            txn.import(META, ID, &own)?;
            own
        }
    };
    let own = String::from_utf8_lossy(&own).into_owned();
    Ok(match server {
        "" => own,
        server => format!("{own}@{server}"),
    })
}
