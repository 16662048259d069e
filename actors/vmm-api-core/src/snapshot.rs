//! Snapshots: memory and disk of a VM as they were, to go back to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{SnapshotName, UnixMs};

/// Snapshots of one VM at once.
pub const MAX_SNAPSHOTS: usize = 24;

/// Body of `POST /vms/{id}/snapshots`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSnapshot {
    /// What it is called.
    pub name: SnapshotName,
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SnapshotView {
    /// What it is called.
    #[schema(value_type = SnapshotName)]
    pub name: String,
    /// When it was taken.
    pub taken: UnixMs,
    /// Bytes that it takes on the host's disk.
    pub bytes: u64,
    /// Milliseconds for which the VM stood still.
    pub took_ms: u64,
}
