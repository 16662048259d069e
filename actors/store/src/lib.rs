//! Durable local state: the only user of redb, with group commit on a thread of its own, and the
//! other storage backends behind [`LocalState`].
//!
//! ```text
//! actor ──write(closure)──▶ bounded queue ──▶ writer thread ──▶ one transaction, two fsyncs
//!   ▲                                            │                    for all that waited
//!   └───────────── answer, after the commit ─────┘
//! actor ──read(closure)───▶ reader threads (snapshots, never behind the writer)
//! ```
//!
//! # Guarantees
//!
//! - **Answered means durable.** [`Store::write`] answers only after the transaction that holds
//!   its rows was committed in two phases and synchronised. A kill or a power cut at any point
//!   loses no answered request (tests `f01_*` and `f02_*`).
//! - **All or nothing, each for itself.** Requests that wait together share one commit. One that
//!   returns an error or panics leaves no trace, and does not disturb the others.
//! - **In order.** Requests are applied in the order of the calls; each sees the rows of those
//!   before it. An answer that was *derived* from such rows, a refusal for instance, is also
//!   held back until they are durable.
//! - **Refused, never dropped.** A full queue is [`StoreError::Busy`] at once. A full disk is
//!   [`StoreError::Full`]: nothing of the request was stored. The store probes the disk and
//!   recovers by itself; [`Store::health`] tells meanwhile.
//! - **One process.** A second one on the same folder is refused, and told who is there
//!   ([`LockError::Held`]).
//! - **Large blobs beside the rows.** [`WriteTxn::append`] puts bytes behind each other in files of
//!   their own; the row that holds their [`Extent`] is durable only after they are, and a group
//!   that fails leaves none.
//! - **Unreadable rows do not stop anything.** They are moved to quarantine, counted and kept.
//!
//! # Not promised
//!
//! - A write whose future is dropped before it resolved may or may not be carried out.
//! - [`StoreError::Unknown`] (the disk failed within the commit and could not be read back) means
//!   just that: ask again when the store is healthy. Requests should carry an id to be told apart.
//! - Disks that lie about `fsync`.
//! - Reads are snapshots of committed groups: a read may start before a write that is under way.
//!
//! # Example
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use store::{StoreOptions, ReadRows, Row, Store, StoreError, Table};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Delivery {
//!     event: String,
//! }
//! impl Row for Delivery {
//!     const SCHEMA: u16 = 1;
//! }
//!
//! const DELIVERIES: Table<String, Delivery> = Table::new("deliveries");
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let store = Store::open(folder.path(), &StoreOptions::new("example"))?;
//! let id = "72d3162e".to_owned();
//! let new = store.write_blocking(move |rows| {
//!     if rows.contains(&DELIVERIES, &id)? {
//!         return Ok(false);
//!     }
//!     rows.put(&DELIVERIES, &id, &Delivery { event: "push".into() })?;
//!     Ok::<_, StoreError>(true)
//! })?;
//! assert!(new);
//! let count = store.read_blocking(|rows| rows.len(&DELIVERIES))?;
//! assert_eq!(count, 1);
//! # Ok(())
//! # }
//! ```

mod backend;
mod blobs;
mod catch_panic;
mod codec;
mod compared_settings;
mod engine;
mod error;
mod extent_table;
mod file_identity;
mod handle;
mod health;
mod identity;
mod job;
mod json_row;
mod key;
pub mod local;
mod lock;
pub mod maintenance;
mod migrate;
mod options;
mod postgres;
mod quarantine;
mod read;
mod redb_engine;
mod reentrancy;
mod replaced_file;
mod retention;
mod row_source;
mod rows;
mod shared;
mod table;
mod write;
mod writer;

pub use backend::{BackendFactory, StorageBackend};
pub use blobs::{Blob, Extent, SegmentDirectory, SegmentStorage, SegmentsInMemory};
pub use codec::{RawBytes, Row, RowDecodeError, decode_row, encode_row};
pub use compared_settings::SettingDigests;
pub use error::{OpenError, StoreError};
pub use extent_table::{ExtentTable, HoldsExtents};
pub use handle::Store;
pub use health::{StoreHealth, StoreState};
pub use identity::StoreIdentity;
pub use json_row::JsonRow;
pub use key::{Key, StartsWith};
pub use local::{LocalState, LocalStateKind};
pub use lock::{DirectoryLock, Holder, LockError};
pub use maintenance::StorePlace;
pub use options::{Migration, StoreOptions};
pub use postgres::{
    IntakeBacklog, IntakeEntry, IntakeHandle, IntakePage, Leadership, PostgresUrl, ServerSigns,
    StandbyCounts, TakenIn, peek, probe,
};
pub use quarantine::{QuarantineKey, QuarantinedRow};
pub use read::ReadTxn;
pub use replaced_file::replace_file;
pub use retention::{RemovedRows, TableRetention};
pub use rows::ReadRows;
pub use shared::SharedStore;
pub use table::{MAX_KEY_BYTES, MAX_ROW_BYTES, Table};
pub use write::WriteTxn;
