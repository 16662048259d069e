//! VMs: requested, shown, held longer, released.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::network::{AllowList, NetworkTarget};
use crate::{DriverName, FailureReason, ImageRef, Isolation, Owner, UnixMs, VmSource, VmState};

/// What the guest can reach over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Nothing.
    #[default]
    None,
    /// What the manager's configuration and the request's `allow` both name, by a proxy for HTTP
    /// and HTTPS; see [`crate::network`]. No VM has a network device.
    User,
}

impl Network {
    /// The word in JSON.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::User => "user",
        }
    }
}

/// Body of `POST /vms`. All of it can be left out: what is `None` is the manager's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CreateVm)]
#[serde(deny_unknown_fields)]
pub struct NewVm {
    /// The image; `default` unless given.
    #[serde(
        default,
        deserialize_with = "deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = ImageRef)]
    pub image: Option<ImageRef>,
    /// Virtual processors; 1 unless given.
    #[serde(
        default,
        deserialize_with = "deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = u8)]
    pub vcpus: Option<u8>,
    /// Memory in MiB; 256 unless given.
    #[serde(
        default,
        deserialize_with = "deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = u32)]
    pub mem_mib: Option<u32>,
    /// Disk in MiB, the image's content included; 2048 unless given.
    #[serde(
        default,
        deserialize_with = "deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = u32)]
    pub disk_mib: Option<u32>,
    /// `none` unless given.
    #[serde(
        default,
        deserialize_with = "deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Network)]
    pub network: Option<Network>,
    /// With `user`: of what the manager's configuration allows, only these places: `pkg.test`,
    /// `*.dists.test`, `10.0.0.5:8080`; ports 80 and 443 unless given. All of it without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub allow: Option<AllowList>,
    /// Where plain HTTP requests of the VM's programs to `127.0.0.1:3128` itself are led: a host
    /// and port that the manager's configuration names in `[network]` `services`. With any
    /// `network`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub services: Option<NetworkTarget>,
    /// Hosts and ports that are led to `services` as well, instead of out, whatever the network:
    /// over plain HTTP and `CONNECT`. Each connection begins there with a line that says which was
    /// asked for, and whether the VM's own network reaches it. Needs `services`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub services_for: Vec<NetworkTarget>,
    /// Seconds until it is released unless extended; 600 unless given.
    #[serde(
        default,
        deserialize_with = "deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = u64)]
    pub lease_s: Option<u64>,
    /// Who asks, for people; `unnamed` unless given.
    #[serde(
        default,
        deserialize_with = "deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Owner)]
    pub owner: Option<Owner>,
    /// The least isolation that will do; `emulated-vm` unless given.
    #[serde(
        default,
        deserialize_with = "deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Isolation)]
    pub isolation_min: Option<Isolation>,
}

impl NewVm {
    /// Virtual processors unless given.
    pub const VCPUS: u8 = 1;
    /// Memory in MiB unless given.
    pub const MEM_MIB: u32 = 256;
    /// Disk in MiB unless given.
    pub const DISK_MIB: u32 = 2048;
    /// Seconds of its lease unless given.
    pub const LEASE_S: u64 = 600;
}

/// A field that may be left out, but is not null.
fn deserialize_present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Answer of `POST /vms`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Created)]
pub struct AllocationView {
    /// Its id.
    pub id: String,
    /// `ready`.
    #[schema(value_type = VmState)]
    pub state: String,
    /// Where it came from.
    pub source: VmSource,
    /// What separates it from the host.
    #[serde(default)]
    #[schema(value_type = Isolation, required = true)]
    pub isolation: Option<Isolation>,
    /// When its lease ends.
    #[serde(default)]
    #[schema(value_type = UnixMs, required = true)]
    pub lease_until: Option<UnixMs>,
    /// From the request to the VM being ready, waiting included.
    #[serde(default)]
    #[schema(required = true)]
    pub alloc_ms: u64,
}

/// One VM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Vm)]
pub struct VmView {
    /// Its id.
    pub id: String,
    /// Where it is in its lifecycle.
    #[schema(value_type = VmState)]
    pub state: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<FailureReason>)]
    pub reason: Option<String>,
    /// What runs it.
    #[serde(default)]
    #[schema(value_type = DriverName, required = true)]
    pub driver: String,
    /// What separates it from the host.
    pub isolation: Isolation,
    /// The image's name or digest, as asked for.
    #[serde(default)]
    #[schema(required = true)]
    pub image: String,
    /// Memory in MiB.
    #[serde(default)]
    #[schema(required = true)]
    pub mem_mib: u32,
    /// Virtual processors.
    #[serde(default)]
    #[schema(required = true)]
    pub vcpus: u32,
    /// Disk in MiB.
    #[serde(default)]
    #[schema(required = true)]
    pub disk_mib: u32,
    /// What it can reach.
    #[serde(default)]
    #[schema(value_type = Network, required = true)]
    pub network: String,
    /// The places its request narrows that to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// When it was started.
    #[serde(default)]
    #[schema(value_type = UnixMs, required = true)]
    pub created_at: Option<UnixMs>,
    /// When its lease ends; absent while it waits in the pool.
    #[serde(default)]
    pub lease_until: Option<UnixMs>,
    /// Who has it; absent while it waits in the pool.
    #[serde(default)]
    pub owner: Option<String>,
    /// When its agent was last heard.
    #[serde(default)]
    pub last_seen: Option<UnixMs>,
    /// Where it came from.
    #[serde(default)]
    #[schema(value_type = VmSource, required = true)]
    pub source: Option<VmSource>,
    /// Commands that run in it.
    #[serde(default)]
    #[schema(required = true)]
    pub running: usize,
    /// Commands that have ended in it.
    #[serde(default)]
    #[schema(required = true)]
    pub ended: usize,
    /// It stands still: it uses no processor time and takes no work until it is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// What its network has refused it, or could not reach for it: the first twenty kinds of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedRequest>,
}

/// What a VM's network has refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusedRequest {
    /// Where to and why: `example.org:443 is not on the allow-list of this VM`.
    pub reason: String,
    /// How often.
    pub times: u64,
}

/// Answer of `PUT /vms/{id}/files`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FilesPut {
    /// Files, folders and links made.
    pub entries: u64,
    /// Bytes of content written.
    pub bytes: u64,
}

/// Body of `POST /vms/{id}/lease`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ExtendLease)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// Seconds from now.
    pub lease_s: u64,
}

/// Answer of `POST /vms/{id}/lease`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    /// When it ends now.
    pub lease_until: UnixMs,
}

/// Answer of `DELETE /vms/stuck`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Released)]
pub struct ReleasedVmList {
    /// What was released, and why.
    #[serde(default)]
    #[schema(required = true)]
    pub released: Vec<ReleasedVm>,
    /// How many VMs are fine.
    #[serde(default)]
    #[schema(required = true)]
    pub kept: usize,
}

/// One VM that was stuck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReleasedVm {
    /// Its id.
    pub id: String,
    /// Why it was released.
    #[schema(value_type = FailureReason)]
    pub reason: String,
}

/// Pauses a VM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PauseVm)]
#[serde(deny_unknown_fields)]
pub struct PauseRequest {
    /// It may be ended when others need its room.
    #[serde(default)]
    pub reclaimable: bool,
}
