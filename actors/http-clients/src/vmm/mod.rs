//! The VM manager, as its users speak to it: any manager with this API can stand behind it.
//!
//! The calls and their JSON are those of [`vmm_api_core`]. Every call carries
//! `Authorization: Bearer <token>`; only `GET /health` needs none. Errors are problem details
//! (RFC 9457), of which `detail` is shown.
//!
//! The last line of a followed execution is an [`ExecReport`]. A stream that ends without it is
//! [`VmmError::Lost`]: an exit code is never made up.

mod client;
mod error;
mod follow;
mod live_token;

pub use client::VmmClient;
pub use error::VmmError;
pub use follow::{Follow, FollowEvent};
pub use live_token::LiveToken;
pub use vmm_api_core::network::{
    AllowList, NetworkTarget, PROXY_PORT, PROXY_SOCKET, REACH_FIELD, REACHED, TargetHost,
};
pub use vmm_api_core::{
    AllocationView, CapacityView, ExecReport, ExecState, HealthStatus, ImageRef, ImageView,
    Isolation, Kvm, MAX_SNAPSHOTS, ManagerHealth, Network, NewExec, NewVm, OutputStream, Owner,
    PoolView, RefusedRequest, ReleasedVm, ReleasedVmList, SnapshotName, SnapshotView,
    TerminalCommand, TerminalEvent, TerminalSize, USUAL_PATH, UnixMs, VmSource, VmView,
};
