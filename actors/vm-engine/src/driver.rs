//! What every driver can do: the traits that actors are written against.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use vm_core::guest::{Failure, TarSummary};
use vm_core::{
    DriverName, ExecEnd, ExecSpec, FailureReason, Isolation, Stream, TemplateKey, UnixMs, VmId,
    VmSpec,
};

use crate::image::Image;
use crate::network::Uplink;

/// Told what a long work is doing, in a sentence for people: `unpacking 120 of 178 MB`.
pub type Progress<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Something that runs VMs. One lives as long as the manager.
pub trait Driver: Send + Sync + 'static {
    /// Which it is.
    fn name(&self) -> DriverName;

    /// What separates its VMs from the host; found out once, by the canary, and never changed.
    fn isolation(&self) -> Isolation;

    /// Memory in MiB that one VM takes beside its own, for admission.
    fn overhead_mib(&self) -> u64;

    /// Boots a VM from nothing, until its agent can be given work.
    ///
    /// # Errors
    /// [`DriverError`]; nothing of the VM is left then.
    fn start(&self, order: StartOrder) -> Result<Arc<dyn Machine>, DriverError>;

    /// Boots a VM and freezes it, to clone others from. `None` when this driver cannot.
    ///
    /// # Errors
    /// [`DriverError`]; nothing of the template is left then.
    fn template(
        &self,
        key: &TemplateKey,
        image: &Arc<Image>,
    ) -> Result<Option<Arc<dyn Template>>, DriverError>;
}

/// A frozen VM. Dropping the last reference removes its files; clones made from it live on.
pub trait Template: Send + Sync {
    /// What its clones are made of.
    fn key(&self) -> &TemplateKey;

    /// A clone, loaded and paused: it uses no processor time until [`Machine::wake`].
    ///
    /// # Errors
    /// [`DriverError`]; nothing of the clone is left then.
    fn spawn(&self, order: CloneOrder) -> Result<Arc<dyn Machine>, DriverError>;

    /// A clone to wait in a pool: as [`Template::spawn`], but it has run a shell once and was paused
    /// again, so its first command is as fast as its second. Takes longer to make, and some memory.
    /// What cannot be warmed is given as it is.
    ///
    /// # Errors
    /// [`DriverError`]; nothing of the clone is left then.
    fn spawn_warm(&self, order: CloneOrder) -> Result<Arc<dyn Machine>, DriverError> {
        self.spawn(order)
    }
}

/// An order for a VM from nothing.
pub struct StartOrder {
    /// The VM's id; the name of its folder, so not used before in this life of the manager.
    pub id: VmId,
    /// What it is made of.
    pub spec: VmSpec,
    /// Its disk.
    pub image: Arc<Image>,
    /// Clock, randomness and host name.
    pub identity: Identity,
    /// From the process's start to the agent's hello.
    pub boot_deadline: Duration,
    /// Told once, when the VM ends without [`Machine::kill`].
    pub on_event: OnMachineEvent,
}

/// An order for a clone.
pub struct CloneOrder {
    /// The VM's id; the name of its folder, so not used before in this life of the manager.
    pub id: VmId,
    /// Until it is loaded.
    pub deadline: Duration,
    /// Told once, when the VM ends without [`Machine::kill`].
    pub on_event: OnMachineEvent,
}

/// Called from a thread of the machine; must return soon and must not call the machine.
pub type OnMachineEvent = Box<dyn Fn(MachineEvent) + Send + Sync>;

/// What happens to a machine by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineEvent {
    /// It has ended, or its connection broke: all that ran in it was told `Lost`. What is left of
    /// it is removed by [`Machine::kill`].
    Gone {
        /// The kind, for the record.
        reason: FailureReason,
        /// In words, for the log.
        detail: String,
    },
}

/// What makes one clone differ from another. Set before the first command of a VM, as is the clock: to the host's time of
/// that moment.
#[derive(Clone)]
pub struct Identity {
    /// Fresh randomness of the host.
    pub seed: [u8; 64],
    /// The guest's host name; usually the VM's id.
    pub hostname: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Who knows the seed can predict the guest's keys.
        f.debug_struct("Identity")
            .field("hostname", &self.hostname)
            .finish_non_exhaustive()
    }
}

/// A VM. All calls can be made from several threads at once.
pub trait Machine: Send + Sync {
    /// Its id.
    fn id(&self) -> &VmId;

    /// Its process on the host, to be written down: a next life of the manager ends by it what this
    /// one leaves behind.
    fn process(&self) -> ProcessRecord;

    /// Whether it is a clone that was not woken yet.
    fn is_paused(&self) -> bool;

    /// Lets a clone run and gives it its identity; answers when all of it is set. On a VM that runs
    /// already it sets the identity alone.
    ///
    /// # Errors
    /// [`MachineError`]; the VM is of no use then.
    fn wake(&self, identity: &Identity, deadline: Duration) -> Result<(), MachineError>;

    /// Lets programs of the VM reach what `uplink` allows, through a proxy at `127.0.0.1` and
    /// [`vm_core::network::PROXY_PORT`] that commands started from now on are told of. Once in the
    /// life of a VM that runs.
    ///
    /// # Errors
    /// [`MachineError`]; the VM has no network then.
    fn open_network(&self, uplink: Arc<Uplink>, deadline: Duration) -> Result<(), MachineError> {
        let _ = (uplink, deadline);
        Err(MachineError::Unsupported("give a VM a network"))
    }

    /// Starts something. Output and end come to `sink`, from a thread of the machine.
    ///
    /// # Errors
    /// [`MachineError`] when the order could not be given; `sink` is told nothing then. That the
    /// program does not exist is no such error: it ends as `Lost` with the reason.
    fn exec(&self, spec: ExecSpec, sink: Box<dyn ExecSink>) -> Result<ExecTicket, MachineError>;

    /// Kills all that this execution has started. Its end comes to the sink. Nothing happens when
    /// it has ended already.
    ///
    /// # Errors
    /// [`MachineError`] when the VM cannot be told.
    fn kill_exec(&self, ticket: ExecTicket) -> Result<(), MachineError>;

    /// Lets output flow again after the sink said [`Flow::Hold`].
    ///
    /// # Errors
    /// [`MachineError`] when the VM cannot be told.
    fn resume_output(&self, ticket: ExecTicket) -> Result<(), MachineError>;

    /// Unpacks a tar into an absolute folder of the guest, made if needed. Entries that would leave
    /// the folder (`..`, absolute, through links) and devices are refused.
    ///
    /// # Errors
    /// [`MachineError`]; what was unpacked before stays.
    fn put_tar(
        &self,
        path: &str,
        tar: &mut dyn Read,
        deadline: Duration,
    ) -> Result<TarSummary, MachineError>;

    /// Packs a file or folder of the guest.
    ///
    /// # Errors
    /// [`MachineError`]; `out` holds the beginning of a tar then.
    fn get_tar(
        &self,
        path: &str,
        out: &mut dyn Write,
        deadline: Duration,
    ) -> Result<TarSummary, MachineError>;

    /// Asks the agent for a sign of life; how long it took.
    ///
    /// # Errors
    /// [`MachineError`] when none came in time.
    fn ping(&self, deadline: Duration) -> Result<Duration, MachineError>;

    /// When its agent was last heard.
    fn last_seen(&self) -> UnixMs;

    /// Ends it: process killed and waited for, sockets and folder removed, within a second; all
    /// that ran in it is told `Lost`. Calling it again does nothing. Dropping the last reference
    /// does the same.
    ///
    /// # Errors
    /// [`MachineError::NotRemoved`] when something of it is still there.
    fn kill(&self) -> Result<(), MachineError>;
}

/// Names something that runs in a machine; numbers are not used again within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExecTicket(pub u32);

/// Whether more output may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Yes.
    Continue,
    /// Not until [`Machine::resume_output`]; up to [`vm_core::guest::WINDOW`] bytes still come.
    Hold,
}

/// Takes what something writes, and its end. Called from one thread, which serves the whole
/// machine: it must return soon, and must not call the machine.
pub trait ExecSink: Send {
    /// What it wrote, in the order of each stream.
    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Flow;

    /// How it ended; the last call.
    fn ended(&mut self, end: ExecEnd);
}

/// A process on the host, named so that a number given to another process since is noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Its number.
    pub pid: u32,
    /// When it was started, in clock ticks since boot, as in `/proc/<pid>/stat`.
    pub start_ticks: u64,
    /// The folder that goes with it.
    pub folder: PathBuf,
}

/// Why a VM or a template could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The program is missing or cannot be started.
    #[error("{program} cannot be started: {source}; {hint}")]
    Program {
        /// Which.
        program: String,
        /// What would help.
        hint: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// This driver does not do what the order asks for.
    #[error("the {driver} driver cannot: {what}")]
    Unsupported {
        /// Which.
        driver: DriverName,
        /// What was asked for.
        what: String,
    },
    /// The process ended before the agent was ready.
    #[error("the VM ended while it booted: {detail}")]
    Died {
        /// The last of what it said.
        detail: String,
    },
    /// The agent was not ready in time.
    #[error("the VM was not ready within {} ms: {detail}", .deadline.as_millis())]
    Deadline {
        /// How long was waited.
        deadline: Duration,
        /// What it was doing.
        detail: String,
    },
    /// The agent is of another build.
    #[error("the agent in the VM speaks protocol {found}, not {wanted}: build the initramfs anew")]
    Version {
        /// What it speaks.
        found: u16,
        /// What this manager speaks.
        wanted: u16,
    },
    /// Files of the VM cannot be made.
    #[error("{what} {}: {source}", .path.display())]
    Files {
        /// What was tried.
        what: &'static str,
        /// On which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The monitor refused a command.
    #[error("the monitor refused `{command}`: {detail}")]
    Monitor {
        /// Which.
        command: String,
        /// What it said.
        detail: String,
    },
    /// The agent could not be spoken to.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl DriverError {
    /// Whether this machine has too little of something at the moment (descriptors, processes, memory,
    /// disk): nothing is wrong with the image, the template or the order, and it may work later.
    #[must_use]
    pub fn is_shortage(&self) -> bool {
        match self {
            Self::Program { source, .. } | Self::Files { source, .. } => lacks(source),
            // What a monitor says that cannot have what it asks for.
            Self::Died { detail } | Self::Monitor { detail, .. } => {
                SHORTAGES.iter().any(|text| detail.contains(text))
            }
            _ => false,
        }
    }

    /// The kind, for the VM's record.
    pub fn reason(&self) -> FailureReason {
        match self {
            Self::Deadline { .. } => FailureReason::BootDeadline,
            Self::Died { .. } => FailureReason::ProcessGone,
            Self::Version { .. } => FailureReason::BadProtocol,
            Self::Machine(error) => error.reason(),
            _ => FailureReason::NotStarted,
        }
    }
}

/// What the system says of a shortage, as programs print it.
const SHORTAGES: [&str; 5] = [
    "Cannot allocate memory",
    "Too many open files",
    "Resource temporarily unavailable",
    "No space left on device",
    "Disk quota exceeded",
];

/// Whether the system had too little of something.
fn lacks(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let shortages = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::AGAIN,
        Errno::NOBUFS,
        Errno::NOSPC,
        Errno::DQUOT,
    ];
    Errno::from_io_error(error).is_some_and(|errno| shortages.contains(&errno))
}

/// Why something did not work in a VM that is there.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// It has ended, or was killed.
    #[error("the VM is gone: {0}")]
    Gone(String),
    /// It does not answer in time.
    #[error("the VM did not answer within {} ms", .0.as_millis())]
    Silent(Duration),
    /// Its agent said no.
    #[error("the agent in the VM refused: {0}")]
    Guest(#[from] Failure),
    /// Reading what to send, or writing what came, failed on the host's side.
    #[error("the tar cannot be passed on: {0}")]
    Tar(#[source] std::io::Error),
    /// The order is larger than the protocol carries.
    #[error("the order does not fit into a message to the agent")]
    TooLarge,
    /// As many things run in it as may at once.
    #[error("{0} things run in this VM already")]
    Busy(usize),
    /// Its clock is not the host's.
    #[error("the clock of the VM is wrong: {0}")]
    Clock(String),
    /// All VMs together hold as much for their guests as they may.
    #[error("the manager has no memory left to pass a tar on; try again later")]
    NoMemory,
    /// This driver cannot do that.
    #[error("this driver cannot {0}")]
    Unsupported(&'static str),
    /// Something of it is still there after it was killed.
    #[error("not all of the VM is gone: {0}")]
    NotRemoved(String),
}

impl MachineError {
    /// The kind, for the VM's record.
    pub fn reason(&self) -> FailureReason {
        match self {
            Self::Silent(_) => FailureReason::GuestSilent,
            Self::Clock(_) => FailureReason::ClockWrong,
            _ => FailureReason::ProcessGone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t8_a_shortage_is_told_from_what_is_broken() {
        let program = |code| DriverError::Program {
            program: "qemu".to_owned(),
            hint: "",
            source: std::io::Error::from_raw_os_error(code),
        };
        let files = |code| DriverError::Files {
            what: "making",
            path: "/x".into(),
            source: std::io::Error::from_raw_os_error(code),
        };
        let died = |detail: &str| DriverError::Died {
            detail: detail.to_owned(),
        };
        // EAGAIN, ENOMEM, ENFILE, EMFILE, ENOSPC, EDQUOT.
        for code in [11, 12, 23, 24, 28, 122] {
            assert!(
                program(code).is_shortage() && files(code).is_shortage(),
                "{code}"
            );
        }
        // EPERM, ENOENT, EACCES, ENOEXEC.
        for code in [1, 2, 13, 8] {
            assert!(
                !program(code).is_shortage() && !files(code).is_shortage(),
                "{code}"
            );
        }
        let memory =
            "exit status: 1: qemu: cannot set up guest memory 'ram': Cannot allocate memory";
        assert!(died(memory).is_shortage());
        assert!(!died("exit status: 1: qemu: could not load kernel").is_shortage());
        assert!(!DriverError::from(MachineError::Gone(String::new())).is_shortage());
    }
}
