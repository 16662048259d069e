//! Actors of processes that share a store in PostgreSQL: one leads, the others stand by.
//!
//! ```text
//! standby:  LeaderWatch ── look, every 250 ms and at hints ──▶ PostgreSQL
//!               ├── who leads ──▶ watch::Receiver<StoreSight> (health, forwarding)
//!               └── the leader is gone ──▶ the store, for the program to start the actors with
//! leader:   IntakeFollower ── undecided deliveries of the standbys ──▶ Decide ──▶ outcome
//! both:     SharedFiles ── bytes ──▶ object storage, a row for each that counts ──▶ the store
//! ```
//! What is decided of it is in `decision`, without I/O; what is written, in `store`.

mod decision;
mod delivery;
mod election;
mod file_migration;
mod file_rows;
mod first_fault;
mod intake_follower;
mod leader_watch;
mod migration_notes;
mod ordered_ids;
mod pending_uploads;
mod place_claim;
mod role_control;
mod shared_copies;
mod shared_files;
mod sight;

pub use decision::{
    ForwardRefusal, ForwardTarget, ReplicaRole, RoleAction, RoleEvent, forward_target,
    is_for_next_leader,
};
pub use delivery::{IntakeDecision, StoredDelivery, UndecodableDelivery};
pub use election::{AcquiredStore, Election};
pub use file_migration::{
    BringFile, FileMigration, MigrationError, MigrationReport, MigrationWatch,
};
pub use file_rows::{FileKey, FileTables, SharedFile};
pub use first_fault::FirstFault;
pub use intake_follower::{DeliveryDecider, IntakeFollower, intake_follower};
pub use leader_watch::{LeaderWatch, MonotonicClock, leader_watch, leader_watch_by};
pub use ordered_ids::{follow_id, ordered_id};
pub use pending_uploads::PendingUploads;
pub use place_claim::{claim_objects, foreign_place};
pub use role_control::{DrainRefusal, ReplicaStatus, RoleControl};
pub use shared_copies::is_loss;
pub use shared_files::SharedFiles;
pub use sight::StoreSight;
