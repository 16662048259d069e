//! What every driver can do: the traits that actors are written against.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use vm_core::guest::TarSummary;
use vm_core::{
    DriverName, ExecSpec, Isolation, SnapshotName, TemplateKey, TerminalSize, UnixMs, VmId, VmSpec,
};

use crate::error::{DriverError, MachineError};
use crate::event::OnMachineEvent;
use crate::exec::{ExecSink, ExecTicket};
use crate::identity::Identity;
use crate::image::Image;
use crate::network::Uplink;
use crate::process::ProcessRecord;

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
    fn start(&self, request: StartRequest) -> Result<Arc<dyn Machine>, DriverError>;

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
    fn spawn(&self, request: CloneRequest) -> Result<Arc<dyn Machine>, DriverError>;

    /// A clone to wait in a pool: as [`Template::spawn`], but it has run a shell once and was
    /// paused again, so its first command is as fast as its second. Takes longer to make, and some
    /// memory. What cannot be warmed is given as it is.
    ///
    /// # Errors
    /// [`DriverError`]; nothing of the clone is left then.
    fn spawn_warm(&self, request: CloneRequest) -> Result<Arc<dyn Machine>, DriverError> {
        self.spawn(request)
    }
}

/// A request for a VM from nothing.
pub struct StartRequest {
    /// The VM's id; the name of its directory, so not used before in this incarnation of the
    /// manager.
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

/// A request for a clone.
pub struct CloneRequest {
    /// The VM's id; the name of its directory, so not used before in this incarnation of the
    /// manager.
    pub id: VmId,
    /// Until it is loaded.
    pub deadline: Duration,
    /// Told once, when the VM ends without [`Machine::kill`].
    pub on_event: OnMachineEvent,
}

/// A VM. All calls can be made from several threads at once.
pub trait Machine: Send + Sync {
    /// Its id.
    fn id(&self) -> &VmId;

    /// Its process on the host, to be recorded: the next incarnation of the manager ends by it
    /// what this one leaves behind.
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
    /// [`vm_core::network::PROXY_PORT`] that commands started from now on are told of. Once
    /// for a VM that runs.
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
    /// [`MachineError`] when the guest could not be asked; `sink` is told nothing then. That the
    /// program does not exist is no such error: it ends as `Lost` with the reason.
    fn exec(&self, spec: ExecSpec, sink: Box<dyn ExecSink>) -> Result<ExecTicket, MachineError>;

    /// Kills all that this execution has started; within `grace` it may clean up: it gets SIGINT,
    /// and SIGTERM after three quarters of it. Its end comes to the sink. Nothing happens when it
    /// has ended already.
    ///
    /// # Errors
    /// [`MachineError`] when the VM cannot be told.
    fn kill_exec(&self, ticket: ExecTicket, grace: Duration) -> Result<(), MachineError>;

    /// Lets output flow again after the sink said [`OutputFlow::Hold`](crate::OutputFlow::Hold).
    ///
    /// # Errors
    /// [`MachineError`] when the VM cannot be told.
    fn resume_output(&self, ticket: ExecTicket) -> Result<(), MachineError>;

    /// Types on the terminal of an execution, as much as fits; how many of the bytes were taken
    /// within the deadline. A program that reads nothing takes none.
    ///
    /// # Errors
    /// [`MachineError`] when the VM cannot be told, or what runs has no terminal.
    fn type_in(
        &self,
        ticket: ExecTicket,
        bytes: &[u8],
        deadline: Duration,
    ) -> Result<usize, MachineError> {
        let _ = (ticket, bytes, deadline);
        Err(MachineError::Unsupported("give programs a terminal"))
    }

    /// Gives the terminal of an execution another size.
    ///
    /// # Errors
    /// [`MachineError`] when the VM cannot be told.
    fn resize_terminal(&self, ticket: ExecTicket, size: TerminalSize) -> Result<(), MachineError> {
        let _ = (ticket, size);
        Err(MachineError::Unsupported("give programs a terminal"))
    }

    /// Lets it stand still, with all that runs in it: it uses no processor time and answers
    /// nothing until [`Machine::resume`].
    ///
    /// # Errors
    /// [`MachineError`]; it goes on then.
    fn pause(&self, deadline: Duration) -> Result<(), MachineError> {
        let _ = deadline;
        Err(MachineError::Unsupported("let a VM stand still"))
    }

    /// Lets it go on after [`Machine::pause`], with the host's time.
    ///
    /// # Errors
    /// [`MachineError`]; the VM is of no use then.
    fn resume(&self, identity: &Identity, deadline: Duration) -> Result<(), MachineError> {
        let _ = (identity, deadline);
        Err(MachineError::Unsupported("let a VM stand still"))
    }

    /// Keeps its memory and disk as they are now under this name, and lets it go on, with the
    /// host's time, unless it stood still. Only at rest: nothing started by [`Machine::exec`] runs,
    /// no tar is on its way and no connection is open. Gives the bytes that it takes on the disk.
    ///
    /// # Errors
    /// [`MachineError`]; it goes on without the snapshot then, except after `Terminated`.
    fn snapshot(
        &self,
        name: &SnapshotName,
        identity: &Identity,
        deadline: Duration,
    ) -> Result<u64, MachineError> {
        let _ = (name, identity, deadline);
        Err(MachineError::Unsupported("go back to a snapshot"))
    }

    /// Goes back to a snapshot: memory and disk are as they were then, but the time is the host's.
    /// It runs afterwards. At rest only, as [`Machine::snapshot`].
    ///
    /// # Errors
    /// [`MachineError`]; nothing has changed after `InUse`, and the VM is of no use after others.
    fn restore(
        &self,
        name: &SnapshotName,
        identity: &Identity,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let _ = (name, identity, deadline);
        Err(MachineError::Unsupported("go back to a snapshot"))
    }

    /// Forgets a snapshot; its room on the disk is used again.
    ///
    /// # Errors
    /// [`MachineError`] when it cannot.
    fn delete_snapshot(&self, name: &SnapshotName, deadline: Duration) -> Result<(), MachineError> {
        let _ = (name, deadline);
        Err(MachineError::Unsupported("go back to a snapshot"))
    }

    /// Unpacks a tar into an absolute folder of the guest, made if needed. Entries that would leave
    /// the folder (`..`, absolute, through links) and devices are refused. `idle` is the longest
    /// time in which the guest takes nothing of it: as long as it moves it may take what it takes.
    ///
    /// # Errors
    /// [`MachineError`]; what was unpacked before stays.
    fn put_tar(
        &self,
        path: &str,
        tar: &mut dyn Read,
        idle: Duration,
    ) -> Result<TarSummary, MachineError>;

    /// Packs a file or folder of the guest; `idle` is the longest time in which nothing comes.
    ///
    /// # Errors
    /// [`MachineError`]; `out` holds the beginning of a tar then.
    fn get_tar(
        &self,
        path: &str,
        out: &mut dyn Write,
        idle: Duration,
    ) -> Result<TarSummary, MachineError>;

    /// Pings the agent; how long it took.
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
