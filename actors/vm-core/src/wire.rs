//! The JSON shapes of the VM manager's API.
//!
//! | call | body | answer |
//! |---|---|---|
//! | `GET /health` (no token) | | 200 [`Health`] |
//! | `GET /vms` | | 200 array of [`Vm`] |
//! | `POST /vms`, `Idempotency-Key` | [`CreateVm`] | 201 [`Created`]; 409 isolation not to be had; 422 outside the limits; 503 and `Retry-After` |
//! | `GET /vms/{id}` | | 200 [`Vm`]; 404 |
//! | `DELETE /vms/{id}` | | 204, also when it is gone already |
//! | `PUT /vms/{id}/files?path=` | tar (`application/x-tar`) | 200 [`FilesPut`] |
//! | `GET /vms/{id}/files?path=` | | 200 tar |
//! | `POST /vms/{id}/exec` | [`StartExec`] | 202 [`ExecStarted`]; 404; 422 |
//! | `GET /vms/{id}/exec/{eid}` | | 200 [`Exec`] |
//! | `GET /vms/{id}/exec/{eid}?follow=1` | | 200 `application/x-ndjson`: any number of [`Chunk`] lines, then one [`Exec`] line |
//! | `DELETE /vms/{id}/exec/{eid}` | | 204: its process group is killed |
//! | `POST /vms/{id}/lease` | [`ExtendLease`] | 200 [`LeaseView`]; 409 when it is over |
//! | `DELETE /vms/stuck` | | 200 [`Released`] |
//!
//! Times are RFC 3339 in UTC. Unknown fields of a request are refused. Errors are problem details
//! (`application/problem+json`), as everywhere in the platform. A token is sent as
//! `Authorization: Bearer <JWT>`; scopes are in [`crate::token`].

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::network::AllowList;
use crate::{
    DriverName, ExecEnd, ExecError, ExecId, ExecSpec, ExecState, FailureReason, ImageRef,
    Isolation, Network, Owner, Program, Source, Stream, UnixMs, VmId, VmSpec, VmState,
};

/// Answer of `GET /health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// How it is on the whole.
    pub status: HealthStatus,
    /// The isolation that VMs have here.
    pub isolation: Isolation,
    /// What runs them.
    pub driver: DriverName,
    /// Hardware virtualisation.
    pub kvm: Kvm,
    /// The warm pool.
    pub pool: PoolView,
    /// The manager's version.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Kvm {
    /// Whether `/dev/kvm` exists. That alone proves nothing.
    pub device: bool,
    /// Whether a canary VM booted on it within its deadline.
    pub usable: bool,
    /// Why it is usable or not, in words.
    pub reason: String,
}

/// The warm pool in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PoolView {
    /// VMs that wait.
    pub ready: usize,
    /// VMs that should wait.
    pub target: usize,
    /// VMs that are given out.
    pub in_use: usize,
}

/// One VM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Vm {
    /// Its id.
    pub id: VmId,
    /// Where it is in its life.
    pub state: VmState,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<FailureReason>,
    /// What runs it.
    pub driver: DriverName,
    /// What separates it from the host.
    pub isolation: Isolation,
    /// The image's name or digest, as asked for.
    pub image: ImageRef,
    /// Memory in MiB.
    pub mem_mib: u32,
    /// Virtual processors.
    pub vcpus: u8,
    /// Disk in MiB.
    pub disk_mib: u32,
    /// What it can reach.
    pub network: Network,
    /// The places its order narrows that to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub allow: Option<AllowList>,
    /// When it was started.
    pub created_at: UnixMs,
    /// When its lease ends; absent while it waits in the pool.
    #[serde(default)]
    pub lease_until: Option<UnixMs>,
    /// Who has it; absent while it waits in the pool.
    #[serde(default)]
    pub owner: Option<Owner>,
    /// When its agent was last heard.
    #[serde(default)]
    pub last_seen: Option<UnixMs>,
    /// Where it came from.
    pub source: Source,
}

/// Body of `POST /vms`. All of it can be left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateVm {
    /// The image; `default` unless given.
    #[serde(default)]
    pub image: ImageRef,
    /// Virtual processors; 1 unless given.
    #[serde(default = "one")]
    pub vcpus: u8,
    /// Memory in MiB; 256 unless given.
    #[serde(default = "default_mem_mib")]
    pub mem_mib: u32,
    /// Disk in MiB, the image's content included; 2048 unless given.
    #[serde(default = "default_disk_mib")]
    pub disk_mib: u32,
    /// `none` unless given.
    #[serde(default)]
    pub network: Network,
    /// With `user`: of what the manager's configuration allows, only these places: `pkg.test`,
    /// `*.dists.test`, `10.0.0.5:8080`; ports 80 and 443 unless given. All of it without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub allow: Option<AllowList>,
    /// Seconds until it is released unless extended; 600 unless given.
    #[serde(default = "default_lease_s")]
    pub lease_s: u64,
    /// Who asks, for people; `unnamed` unless given.
    #[serde(default = "unnamed")]
    pub owner: Owner,
    /// The least isolation that will do; `emulated-vm` unless given.
    #[serde(default)]
    pub isolation_min: Isolation,
}

fn one() -> u8 {
    1
}

fn unnamed() -> Owner {
    "unnamed".parse().expect("a word is a valid owner")
}

fn default_mem_mib() -> u32 {
    256
}

fn default_disk_mib() -> u32 {
    2048
}

fn default_lease_s() -> u64 {
    600
}

impl From<CreateVm> for VmSpec {
    fn from(order: CreateVm) -> Self {
        Self {
            image: order.image,
            vcpus: order.vcpus,
            mem_mib: order.mem_mib,
            disk_mib: order.disk_mib,
            network: order.network,
            allow: order.allow,
            lease: Duration::from_secs(order.lease_s),
            owner: order.owner,
            isolation_min: order.isolation_min,
        }
    }
}

/// Answer of `POST /vms`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Created {
    /// Its id.
    pub id: VmId,
    /// `ready`.
    pub state: VmState,
    /// Where it came from.
    pub source: Source,
    /// What separates it from the host.
    pub isolation: Isolation,
    /// When its lease ends.
    pub lease_until: UnixMs,
    /// From the order to the VM being ready, waiting included.
    pub alloc_ms: u64,
}

/// Answer of `PUT /vms/{id}/files`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FilesPut {
    /// Files, folders and links made.
    pub entries: u64,
    /// Bytes of content written.
    pub bytes: u64,
}

/// Body of `POST /vms/{id}/exec`: exactly one of `script` and `argv`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartExec {
    /// A script, run by `shell`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// A program and its arguments; no shell reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// `bash` (`bash --noprofile --norc -e -o pipefail`), `sh` (`sh -e`), `python`, or a command of
    /// words with `{0}` for the script's file; `bash` unless given. Only with `script`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Where it starts; `/workspace` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Added to the guest's own small environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// After this long its process group is killed; unlimited, but for the lease, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl TryFrom<StartExec> for ExecSpec {
    type Error = ExecError;

    fn try_from(order: StartExec) -> Result<Self, ExecError> {
        let program = match (order.script, order.argv, &order.shell) {
            (Some(text), None, shell) => {
                let shell = ExecSpec::shell(shell.as_deref().unwrap_or("bash"))?;
                Program::Script { text, shell }
            }
            (None, Some(argv), None) => Program::Argv(argv),
            (None, Some(_), Some(shell)) => return Err(ExecError::Shell(shell.clone())),
            _ => return Err(ExecError::ScriptOrArgv),
        };
        let spec = Self {
            program,
            cwd: order.cwd.unwrap_or_else(|| Self::WORKSPACE.to_owned()),
            env: order.env,
            timeout: order.timeout_ms.map(Duration::from_millis),
        };
        spec.check()?;
        Ok(spec)
    }
}

/// Answer of `POST /vms/{id}/exec`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecStarted {
    /// Its id, unique within the VM.
    pub exec_id: ExecId,
}

/// The state of something in a VM: the answer of `GET /vms/{id}/exec/{eid}`, and the last line of
/// a followed one. Without that line the connection broke: nothing is known, least of all success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Exec {
    /// Where it is.
    pub state: ExecState,
    /// The exit code, where there is one; never made up.
    pub exit_code: Option<i32>,
    /// The signal, where one ended it.
    pub signal: Option<i32>,
    /// What is known of something lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Bytes of output that were dropped because the log has a limit.
    #[serde(default)]
    pub dropped_bytes: u64,
}

impl Exec {
    /// While it runs (`None`), or as it ended.
    pub fn new(end: Option<&ExecEnd>, dropped_bytes: u64) -> Self {
        Self {
            state: end.map_or(ExecState::Running, ExecEnd::state),
            exit_code: end.and_then(ExecEnd::exit_code),
            signal: end.and_then(ExecEnd::signal),
            reason: end.and_then(ExecEnd::reason).map(str::to_owned),
            dropped_bytes,
        }
    }
}

/// A line of a followed execution: output as it came. Exactly one of `data` and `b64` is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Chunk {
    /// Where it came from.
    pub stream: Stream,
    /// The output, when the bytes of this chunk are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The output in standard base64, when they are not: a character may be cut by the chunk's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b64: Option<String>,
}

impl Chunk {
    /// A chunk of these bytes.
    pub fn new(stream: Stream, bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self {
                stream,
                data: Some(text.to_owned()),
                b64: None,
            },
            Err(_) => Self {
                stream,
                data: None,
                b64: Some(STANDARD.encode(bytes)),
            },
        }
    }

    /// The bytes as they were; `None` when neither field, both, or no base64 is there.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match (&self.data, &self.b64) {
            (Some(text), None) => Some(text.clone().into_bytes()),
            (None, Some(text)) => STANDARD.decode(text).ok(),
            _ => None,
        }
    }
}

/// Body of `POST /vms/{id}/lease`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendLease {
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
pub struct Released {
    /// What was released, and why.
    pub released: Vec<ReleasedVm>,
    /// How many VMs are fine.
    pub kept: usize,
}

/// One VM that was stuck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReleasedVm {
    /// Its id.
    pub id: VmId,
    /// Why it was released.
    pub reason: FailureReason,
}

#[cfg(test)]
mod tests;
