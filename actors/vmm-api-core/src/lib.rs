//! The VM manager's API: the JSON that the manager writes and its clients read, and the other way
//! round. What clients of several managers decide is in [`placement`].
//!
//! | call | body | answer |
//! |---|---|---|
//! | `GET /health` (no token) | | 200 [`ManagerHealth`] |
//! | `GET /images` | | 200 array of [`ImageView`] |
//! | `GET /pool` | | 200 array of [`PoolStock`] |
//! | `GET /vms` | | 200 array of [`VmView`] |
//! | `POST /vms`, `Idempotency-Key` | [`NewVm`] | 201 [`AllocationView`]; 409 isolation not available; 422 outside the limits; 503 and `Retry-After` |
//! | `GET /vms/{id}` | | 200 [`VmView`]; 404 |
//! | `DELETE /vms/{id}` | | 204, also when it has ended already |
//! | `PUT /vms/{id}/files?path=` | tar (`application/x-tar`) | 200 [`FilesPut`] |
//! | `GET /vms/{id}/files?path=` | | 200 tar |
//! | `POST /vms/{id}/exec` | [`NewExec`] | 202 [`ExecStarted`]; 404; 422 |
//! | `GET /vms/{id}/exec/{eid}` | | 200 [`ExecReport`] |
//! | `GET /vms/{id}/exec/{eid}?follow=1` | | 200 `application/x-ndjson`: lines of [`FollowLine`], the last one an [`ExecReport`] |
//! | `DELETE /vms/{id}/exec/{eid}?grace_ms=` | | 204: its process group is killed, after so long to clean up |
//! | `GET /vms/{id}/terminal?exec=` | WebSocket | bytes, [`TerminalEvent`], [`TerminalCommand`] |
//! | `POST /vms/{id}/pause` | [`PauseRequest`] | 204; 409 when its driver cannot, or something runs |
//! | `POST /vms/{id}/resume` | | 204 |
//! | `POST /vms/{id}/snapshots` | [`NewSnapshot`] | 201 [`SnapshotView`], 200 when there is one of the name; 409 when its driver cannot, or something is under way; 503 without room |
//! | `GET /vms/{id}/snapshots` | | 200 array of [`SnapshotView`], the oldest first |
//! | `POST /vms/{id}/snapshots/{name}/restore` | | 204: it runs from there; 404; 409 |
//! | `DELETE /vms/{id}/snapshots/{name}` | | 204, also when there is none |
//! | `POST /vms/{id}/lease` | [`LeaseRequest`] | 200 [`LeaseView`]; 409 when it has expired |
//! | `DELETE /vms/stuck` | | 200 [`ReleasedVmList`] |
//!
//! Times are RFC 3339 in UTC, sizes are MiB. Errors are problem details
//! (`application/problem+json`). A token is sent as `Authorization: Bearer <JWT>`.
//!
//! Requests are strict: values are checked while they are read, and unknown fields are refused.
//! Answers are lenient, so that a later manager does not break its clients: unknown fields are
//! ignored, and ids and words that a client only shows are text.

mod exec;
mod follow;
mod health;
pub mod host_keys;
mod host_view;
mod id;
mod isolation;
mod machine;
pub mod machine_keys;
pub mod network;
pub mod placement;
mod snapshot;
mod state;
mod stock;
mod terminal;
mod terminal_size;
mod time;
mod token_end;
mod vm;

pub use exec::{ExecReport, ExecStarted, ExecState, NewExec, OutputStream, USUAL_PATH};
pub use follow::{Chunk, DroppedOutput, FollowLine, FollowLineError};
pub use health::{
    CapacityView, HealthStatus, ImageFetch, Kvm, ManagerHealth, PoolView, SharedImages,
};
pub use host_view::{Cordon, HostChanges, VmHostFacts, VmHostView};
pub use id::{ExecId, ImageRef, Owner, SnapshotName, VmId, VmmIdError};
pub use isolation::{DriverName, Isolation, IsolationUnmet};
pub use machine::{DEFAULT_HOST, MachineType, VmHostSettings};
pub use snapshot::{MAX_SNAPSHOTS, NewSnapshot, SnapshotView};
pub use state::{FailureReason, VmSource, VmState};
pub use stock::{ImageView, PoolStock, TemplateView};
pub use terminal::{TerminalCommand, TerminalEvent};
pub use terminal_size::TerminalSize;
pub use time::UnixMs;
pub use token_end::TokenTimes;
pub use vm::{
    AllocationView, FilesPut, LeaseRequest, LeaseView, Network, NewVm, PauseRequest,
    RefusedRequest, ReleasedVm, ReleasedVmList, VmView,
};

#[cfg(test)]
mod tests;
