//! The VM manager's messages: thin wrappers of core types.

use std::time::Duration;

use actix::Message;
use bytes::Bytes;
use store::StoreError;
use tokio::sync::mpsc;
use vm_core::guest::{FailureKind, TarSummary};
use vm_core::{
    ExecId, ExecSpec, FailureReason, Isolation, IsolationUnmet, LeaseError, SnapshotName,
    SpecError, TerminalSize, UnixMs, VmId, VmSource, VmSpec, VmState,
};
use vm_engine::MachineError;
use vmm_api_core::SnapshotView;

use crate::images::ImageFailure;
use crate::keys::IdempotencyKey;
use crate::network::NetworkUnmet;

/// Give out a VM.
///
/// Sent by: the HTTP edge. Handled by: `VmScheduler`. Reply: the VM when it can be given work, or
/// why there is none; may take as long as a request may wait and a VM may boot.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<AllocatedVm, CreateFailure>")]
pub struct CreateVm {
    /// What is requested.
    pub spec: VmSpec,
    /// Whose token requests it.
    pub subject: String,
    /// Tells a request that is sent twice from two requests.
    pub key: Option<IdempotencyKey>,
}

/// A VM that was given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocatedVm {
    /// Its id.
    pub id: VmId,
    /// Where it is in its lifecycle.
    pub state: VmState,
    /// Where it came from.
    pub source: VmSource,
    /// What separates it from the host.
    pub isolation: Isolation,
    /// When its lease ends.
    pub lease_until: UnixMs,
    /// From the request to the VM being ready.
    pub took: Duration,
}

/// Why no VM was given out.
#[derive(Debug, thiserror::Error)]
pub enum CreateFailure {
    /// There is less isolation than asked for.
    #[error(transparent)]
    Isolation(#[from] IsolationUnmet),
    /// Outside of the limits of one VM.
    #[error("the VM is outside of the manager's limits")]
    Limits(Vec<SpecError>),
    /// A network that the manager's configuration does not allow.
    #[error(transparent)]
    Network(#[from] NetworkUnmet),
    /// It would not fit if it were alone.
    #[error(
        "a VM of {mem_mib} MiB (what runs it included) and {vcpus} processors is more than `capacity.memory` and `capacity.vcpus` give to all VMs together"
    )]
    Never {
        /// Memory in MiB, what the monitor takes included.
        mem_mib: u64,
        /// Processors.
        vcpus: u32,
    },
    /// No room, and too many wait already, or this request waited as long as it may.
    #[error("there is no room for a VM at the moment: {in_use} are in use, {waiting} orders wait")]
    NoRoom {
        /// VMs in use.
        in_use: u32,
        /// Requests that wait.
        waiting: usize,
        /// When to come again.
        retry_after: Duration,
    },
    /// No image.
    #[error(transparent)]
    Image(#[from] ImageFailure),
    /// The driver cannot do what is asked for.
    #[error("{0}")]
    Unsupported(String),
    /// The key came with another request before.
    #[error("this Idempotency-Key was used for another order")]
    OtherRequest,
    /// The VM of this key has ended.
    #[error("the VM {0} of this Idempotency-Key has ended")]
    Ended(String),
    /// It did not start.
    #[error("the VM could not be started: {detail}")]
    NotStarted {
        /// The kind.
        reason: FailureReason,
        /// In words.
        detail: String,
    },
    /// The manager's machine has too little of something at the moment: descriptors, processes,
    /// memory, disk.
    #[error("there is no room for a VM at the moment: {detail}")]
    Shortage {
        /// In words.
        detail: String,
        /// When to come again.
        retry_after: Duration,
    },
    /// The request could not be recorded.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The manager is ending, or a part of it is being restarted.
    #[error("the order was interrupted: the manager is ending or restarting a part of itself")]
    Interrupted,
}

/// Release what is stuck.
///
/// Sent by: the HTTP edge. Handled by: `VmScheduler`. Reply: what was released and why, when it is
/// gone.
#[derive(Debug, Clone, Message)]
#[rtype(result = "ReleasedVms")]
pub struct ReleaseStuck {
    /// Only VMs requested with tokens of this subject; all of them when absent.
    pub subject: Option<String>,
}

/// What was stuck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasedVms {
    /// What was released, and why.
    pub released: Vec<(VmId, FailureReason)>,
    /// How many VMs are fine.
    pub kept: usize,
}

/// There may be room again.
///
/// Sent by: `Vm`. Handled by: `VmScheduler`. No reply.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct VmFreed;

/// Refill the warm pool now.
///
/// Sent by: `VmScheduler`. Handled by: `PoolManager`. No reply.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct RefillPool;

/// End the VM.
///
/// Sent by: the HTTP edge, `VmScheduler`. Handled by: `Vm`. Reply: when nothing of it is left.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct ReleaseVm {
    /// Why, when nobody asked for it.
    pub reason: Option<FailureReason>,
}

/// Hold the VM longer.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: the new end of its lease.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<UnixMs, LeaseError>")]
pub struct ExtendLease {
    /// How long from now.
    pub lease: Duration,
}

/// Run something.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: its id, once it was started.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<ExecId, VmFailure>")]
pub struct StartExec(pub ExecSpec);

/// Kill what was started, after some time to clean up.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: the VM was told, or it had ended already.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), VmFailure>")]
pub struct KillExec {
    /// What was started.
    pub exec: ExecId,
    /// It gets SIGINT, SIGTERM after three quarters of this, and is killed after it. Zero kills at
    /// once.
    pub grace: Duration,
}

impl KillExec {
    /// At once.
    #[must_use]
    pub fn now(exec: ExecId) -> Self {
        Self {
            exec,
            grace: Duration::ZERO,
        }
    }
}

/// Type on the terminal of what was started.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: how many bytes were taken; a program that reads
/// nothing takes none for a while.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<usize, VmFailure>")]
pub struct TypeIn {
    /// What was started.
    pub exec: ExecId,
    /// What is typed.
    pub bytes: Bytes,
}

/// Give the terminal of what was started another size.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: the VM was told.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), VmFailure>")]
pub struct ResizeTerminal {
    /// What was started.
    pub exec: ExecId,
    /// Columns and rows.
    pub size: TerminalSize,
}

/// Let the VM stand still.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: it does.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<(), VmFailure>")]
pub struct PauseVm {
    /// It may be ended when others need its room.
    pub reclaimable: bool,
}

/// Let the VM go on.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: it does, with the host's time.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<(), VmFailure>")]
pub struct ResumeVm;

/// Keep memory and disk of the VM as they are.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: the snapshot, and whether it is new.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(SnapshotView, bool), VmFailure>")]
pub struct TakeSnapshot {
    /// What it is called.
    pub name: SnapshotName,
}

/// Let the VM be as it was at a snapshot, and go on from there.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: it does.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), VmFailure>")]
pub struct RestoreSnapshot {
    /// Which.
    pub name: SnapshotName,
}

/// Forget a snapshot of the VM.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: there is none of that name.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), VmFailure>")]
pub struct ForgetSnapshot {
    /// Which.
    pub name: SnapshotName,
}

/// A part of a tar on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TarPart {
    /// Bytes.
    Data(Bytes),
    /// All of it has come; without this it broke off.
    End,
}

/// Unpack a tar in the VM.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: what was unpacked.
#[derive(Debug, Message)]
#[rtype(result = "Result<TarSummary, VmFailure>")]
pub struct PutFiles {
    /// The folder in the VM; absolute.
    pub path: String,
    /// The tar.
    pub tar: mpsc::Receiver<TarPart>,
}

/// Pack files of the VM.
///
/// Sent by: the HTTP edge. Handled by: `Vm`. Reply: that it has begun; failures come in the
/// channel.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), VmFailure>")]
pub struct GetFiles {
    /// The file or folder in the VM; absolute.
    pub path: String,
    /// Takes the tar.
    pub tar: mpsc::Sender<Result<TarPart, VmFailure>>,
}

/// Why a VM did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VmFailure {
    /// It is in no state for that.
    #[error("the VM is {0:?}: it takes no work")]
    State(VmState),
    /// It stands still, or is about to.
    #[error("the VM is paused; resume it first")]
    Paused,
    /// Something runs in it: it cannot stand still.
    #[error("something runs in this VM: wait for its end, or kill it")]
    Working,
    /// Something is under way: it can neither be kept as it is nor go back.
    #[error("{0}: wait for its end")]
    InUse(&'static str),
    /// It has as many snapshots as it may.
    #[error("this VM has {0} snapshots already; delete one")]
    Snapshots(usize),
    /// It has no snapshot of this name.
    #[error("this VM has no snapshot {0}")]
    UnknownSnapshot(SnapshotName),
    /// Its driver cannot do that with any VM.
    #[error("{0}")]
    Impossible(String),
    /// As many things as may run, or are moved, at once.
    #[error("{0} things run in this VM already; wait for one to end")]
    Busy(usize),
    /// Nothing of this id was started in it.
    #[error("nothing with the id {0} was started in this VM")]
    UnknownExec(ExecId),
    /// The guest said no.
    #[error("{what}")]
    Guest {
        /// The kind.
        kind: FailureKind,
        /// In words.
        what: String,
    },
    /// The tar broke off on its way in.
    #[error("the tar broke off: {0}")]
    Upload(String),
    /// It does not answer, or has gone.
    #[error("{0}")]
    Gone(String),
    /// It did not answer in time.
    #[error("{0}")]
    TimedOut(String),
    /// The manager has too little of something at the moment.
    #[error("{0}")]
    NoRoom(String),
    /// The driver cannot do that, or the request is too large for it.
    #[error("{0}")]
    Unsupported(String),
}

impl From<MachineError> for VmFailure {
    fn from(error: MachineError) -> Self {
        let text = error.to_string();
        match error {
            MachineError::Guest(failure) => Self::Guest {
                kind: failure.kind,
                what: failure.what,
            },
            MachineError::Silent(_) => Self::TimedOut(text),
            MachineError::Busy(most) => Self::Busy(most),
            MachineError::Tar(source) => Self::Upload(source.to_string()),
            MachineError::TooLarge => Self::Unsupported(text),
            MachineError::Unsupported(_) => Self::Impossible(text),
            MachineError::NoMemory | MachineError::NoDisk { .. } => Self::NoRoom(text),
            MachineError::InUse(what) => Self::InUse(what),
            MachineError::Terminated(_) | MachineError::NotRemoved(_) | MachineError::Clock(_) => {
                Self::Gone(text)
            }
        }
    }
}
