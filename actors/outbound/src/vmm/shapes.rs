//! The JSON of the VM manager's API.
//!
//! What the manager adds later must not break its users: unknown fields are left, and words that
//! are only shown stay text.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How well a VM is separated from its host, weakest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Namespaces of the host's own kernel: not a VM.
    NamespaceSandbox,
    /// A VM whose processor is emulated.
    #[default]
    EmulatedVm,
    /// A VM on the processor's own virtualisation.
    HardwareVm,
}

impl Isolation {
    /// The word on the wire and in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NamespaceSandbox => "namespace-sandbox",
            Self::EmulatedVm => "emulated-vm",
            Self::HardwareVm => "hardware-vm",
        }
    }
}

impl std::fmt::Display for Isolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// How the manager is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// It makes VMs.
    Ok,
    /// It makes VMs, but not as it should.
    Degraded,
    /// It makes none.
    Failed,
}

/// `GET /health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// How the manager is.
    pub status: HealthStatus,
    /// What its VMs have.
    pub isolation: Isolation,
    /// `qemu`, `firecracker`, `bubblewrap`.
    pub driver: String,
    /// What was found about KVM.
    #[serde(default)]
    pub kvm: Kvm,
    /// The VMs that are ready.
    #[serde(default)]
    pub pool: Pool,
    /// The manager's version.
    #[serde(default)]
    pub version: String,
}

/// What the manager found about KVM.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kvm {
    /// The device exists and can be opened.
    #[serde(default)]
    pub device: bool,
    /// The canary booted on it.
    #[serde(default)]
    pub usable: bool,
    /// Why it is not used.
    #[serde(default)]
    pub reason: Option<String>,
}

/// The manager's VMs, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Ready to be taken.
    #[serde(default)]
    pub ready: u32,
    /// How many should be.
    #[serde(default)]
    pub target: u32,
    /// Taken.
    #[serde(default)]
    pub in_use: u32,
}

/// Where a VM came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// It was ready.
    Pool,
    /// Cloned from a template.
    Clone,
    /// Booted.
    Cold,
}

/// A VM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vm {
    /// Its id.
    pub id: String,
    /// `starting`, `ready`, `busy`, `stopping`, `gone`, `failed`.
    pub state: String,
    /// What runs it.
    #[serde(default)]
    pub driver: String,
    /// How well it is separated.
    pub isolation: Isolation,
    /// The image it was made of.
    #[serde(default)]
    pub image: String,
    /// Its memory.
    #[serde(default)]
    pub mem_mib: u32,
    /// Its processors.
    #[serde(default)]
    pub vcpus: u32,
    /// When it was made.
    #[serde(default, with = "crate::rfc3339::option")]
    pub created_at: Option<Timestamp>,
    /// It is released after this.
    #[serde(default, with = "crate::rfc3339::option")]
    pub lease_until: Option<Timestamp>,
    /// Who has it, as they called themselves.
    #[serde(default)]
    pub owner: Option<String>,
    /// When its guest last gave a sign of life.
    #[serde(default, with = "crate::rfc3339::option")]
    pub last_seen: Option<Timestamp>,
    /// Where it came from.
    #[serde(default)]
    pub source: Option<Source>,
}

/// `POST /vms`: what is asked for. What is `None` is the manager's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewVm {
    /// The image, by name or hash; `None`: the default image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vcpus: Option<u32>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_mib: Option<u32>,
    /// Room on its disk beyond the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_mib: Option<u32>,
    /// `none` or a network the manager knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The places that narrow a network `user`; `None`: all that the manager allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Seconds until it is released unless the lease is extended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_s: Option<u64>,
    /// Who asks, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The least isolation that will do; `None`: an emulated VM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation_min: Option<Isolation>,
}

/// `POST /vms`: what was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocated {
    /// The VM's id.
    pub id: String,
    /// Its state, `ready`.
    pub state: String,
    /// Where it came from.
    pub source: Source,
    /// How long it took, in ms.
    #[serde(default)]
    pub alloc_ms: u64,
    /// How well it is separated.
    #[serde(default)]
    pub isolation: Option<Isolation>,
}

/// `POST /vms/{id}/exec`: what is to be run. Either `script` or `argv`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewExec {
    /// A text for the shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// A program and its arguments, without a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// How a script is run: `bash -e -o pipefail {0}`, `sh -e {0}`, `python {0}`; `{0}` is the
    /// script's file. `None`: the manager's `sh -e {0}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// The working folder in the VM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment variables, beside the manager's few.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// It is killed after this, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// `POST /vms/{id}/exec`: the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Started {
    pub(super) exec_id: String,
}

/// How an execution stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecState {
    /// It has not ended.
    Running,
    /// It has ended by itself: with an exit code, or by a signal.
    Exited,
    /// It was killed because its time was over.
    TimedOut,
    /// It was killed because somebody asked for it.
    Killed,
    /// Nobody knows: the VM or its agent is gone.
    Lost,
    /// It could not be started, and the reason says why: the VM is as well as before.
    NotStarted,
}

/// An execution: the answer without `follow`, and the last line with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecReport {
    /// How it stands.
    pub state: ExecState,
    /// Its exit code, when it exited with one; never made up.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default)]
    pub signal: Option<i32>,
    /// What is known of one that was lost or not started.
    #[serde(default)]
    pub reason: Option<String>,
}

impl ExecReport {
    /// Whether it ran to its end and says it succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.state == ExecState::Exited && self.exit_code == Some(0) && self.signal.is_none()
    }
}

/// `POST /vms/{id}/lease`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lease {
    pub(super) lease_s: u64,
}

/// Its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Leased {
    #[serde(with = "crate::rfc3339")]
    pub(super) lease_until: Timestamp,
}

/// A VM that was released, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleasedVm {
    /// Its id.
    pub id: String,
    /// Its lease was over, its boot took too long, its guest was silent, its process was gone.
    pub reason: String,
}

/// `DELETE /vms/stuck`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    /// Those that were stuck.
    #[serde(default)]
    pub released: Vec<ReleasedVm>,
    /// How many were not.
    #[serde(default)]
    pub kept: u32,
}
