//! `GET /health`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{DriverName, Isolation};

/// Answer of `GET /health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Health)]
pub struct ManagerHealth {
    /// How it is on the whole.
    pub status: HealthStatus,
    /// What the host waits for before it gives VMs; while it does, `isolation` is the least that it
    /// may turn out to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparing: Option<String>,
    /// The isolation that VMs have here.
    pub isolation: Isolation,
    /// What runs them.
    #[schema(value_type = DriverName)]
    pub driver: String,
    /// Hardware virtualisation.
    #[serde(default)]
    #[schema(required = true)]
    pub kvm: Kvm,
    /// The warm pool.
    #[serde(default)]
    #[schema(required = true)]
    pub pool: PoolView,
    /// What VMs may use of the host; earlier managers do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = true)]
    pub capacity: Option<CapacityView>,
    /// Images that are shared by object storage; absent where none is configured. `GET /images`
    /// lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<SharedImages>,
    /// The manager's version.
    #[serde(default)]
    #[schema(required = true)]
    pub version: String,
}

/// How the manager is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// VMs can be had.
    Ok,
    /// They can be had, slower than meant: the pool is not filled, or an image is being made.
    Degraded,
    /// None can be had.
    Failed,
}

/// What is known of the host's hardware virtualisation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Kvm {
    /// Whether `/dev/kvm` exists. That alone proves nothing.
    #[serde(default)]
    #[schema(required = true)]
    pub device: bool,
    /// Whether a canary VM booted on it within its deadline.
    #[serde(default)]
    #[schema(required = true)]
    pub usable: bool,
    /// Why it is usable or not, in words.
    #[serde(default)]
    #[schema(required = true)]
    pub reason: String,
}

/// The warm pool in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PoolView {
    /// VMs that wait.
    #[serde(default)]
    #[schema(required = true)]
    pub ready: usize,
    /// VMs that should wait.
    #[serde(default)]
    #[schema(required = true)]
    pub target: usize,
    /// VMs that are given out.
    #[serde(default)]
    #[schema(required = true)]
    pub in_use: usize,
}

/// Images that managers share, as one of them sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SharedImages {
    /// Images on the host.
    #[serde(default)]
    #[schema(required = true)]
    pub here: usize,
    /// Images that it can fetch.
    #[serde(default)]
    #[schema(required = true)]
    pub fetchable: usize,
    /// Images on their way.
    #[serde(default)]
    #[schema(required = true)]
    pub fetching: Vec<ImageFetch>,
    /// Bytes that the images take that were fetched.
    #[serde(default)]
    #[schema(required = true)]
    pub fetched_bytes: u64,
    /// Bytes that they may take, but for those that are in use.
    #[serde(default)]
    #[schema(required = true)]
    pub most_bytes: u64,
    /// Why the storage cannot be used, as it was last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// An image on its way to a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImageFetch {
    /// The hash of its content, in hexadecimal.
    pub digest: String,
    /// Bytes that are here.
    pub done_bytes: u64,
    /// All of them; 0 before it is known.
    pub bytes: u64,
}

/// What VMs may use of the host together, and what of it is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CapacityView {
    /// VMs at once, those that wait in the pool included.
    pub vms: u32,
    /// VMs that may be started now: none while no processor is free.
    pub free_vms: u32,
    /// Memory of all of them in MiB, what their monitors use included.
    pub mem_mib: u64,
    /// What of it is free.
    pub free_mem_mib: u64,
    /// What each VM takes of it beside its own memory; earlier managers do not say it.
    #[serde(default)]
    #[schema(required = true)]
    pub overhead_mib: u64,
    /// Virtual processors of all of them; 0: an earlier manager, which does not say it.
    #[serde(default)]
    #[schema(required = true)]
    pub vcpus: u32,
    /// What of them is free.
    #[serde(default)]
    #[schema(required = true)]
    pub free_vcpus: u32,
}
