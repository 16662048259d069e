//! A VM as all drivers have it: a process, a directory, and a connection to an agent.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use vm_core::guest::TarSummary;
use vm_core::{ExecSpec, FailureReason, SnapshotName, TerminalSize, UnixMs, VmId};

use crate::driver::Machine;
use crate::error::{DriverError, MachineError};
use crate::event::{MachineEvent, OnMachineEvent};
use crate::exec::{ExecSink, ExecTicket};
use crate::identity::Identity;
use crate::link::{GuestLink, OnDisconnect};
use crate::network::{Uplink, proxy};
use crate::process::{DriverProcess, ProcessRecord};

/// The driver's part of letting a VM stand still and go on.
pub(crate) trait PauseControl: Send + Sync {
    /// It stands still.
    fn stop(&self, deadline: Duration) -> Result<(), DriverError>;

    /// It goes on.
    fn unpause(&self, deadline: Duration) -> Result<(), DriverError>;

    /// What keeps and brings back its memory and disk, where the driver has that.
    fn snapshots(&self) -> Option<&dyn SnapshotControl> {
        None
    }
}

/// The driver's part of going back: all of it while the VM stands still.
pub(crate) trait SnapshotControl {
    /// Keeps memory and disk; the bytes that this takes on the disk.
    fn save(&self, name: &SnapshotName, deadline: Duration) -> Result<u64, MachineError>;

    /// Brings them back.
    fn load(&self, name: &SnapshotName, deadline: Duration) -> Result<(), MachineError>;

    /// Forgets them.
    fn delete(&self, name: &SnapshotName, deadline: Duration) -> Result<(), MachineError>;
}

/// How long what is under way may take to end before there is no snapshot: the last words of
/// connections.
const REST_TIMEOUT: Duration = Duration::from_secs(2);
/// The same once the VM stands still: what it had sent is read by then, or nothing reads it.
const SETTLE_TIMEOUT: Duration = Duration::from_millis(200);

/// The directory of a VM; it is removed with its last owner.
#[derive(Debug)]
pub(crate) struct MachineDirectory(PathBuf);

impl MachineDirectory {
    /// Makes it, for its owner's eyes only.
    pub(crate) fn new(path: PathBuf) -> Result<Self, DriverError> {
        use std::os::unix::fs::DirBuilderExt as _;
        let made = fs::DirBuilder::new()
            .recursive(false)
            .mode(0o700)
            .create(&path);
        match made {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err(DriverError::Files {
                what: "making",
                path,
                source,
            }),
        }
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn remove(&self) -> Result<(), MachineError> {
        match fs::remove_dir_all(&self.0) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(MachineError::NotRemoved(format!(
                "{}: {error}",
                self.0.display()
            ))),
        }
    }
}

impl Drop for MachineDirectory {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}

/// A VM of any driver.
pub(crate) struct VmMachine {
    id: VmId,
    process: Arc<DriverProcess>,
    link: GuestLink,
    directory: MachineDirectory,
    /// Lets it stand still and go on, where its driver can.
    monitor: Option<Arc<dyn PauseControl>>,
    paused: AtomicBool,
    /// One at a time lets it stand still or go on.
    turn: Mutex<()>,
    /// Whether its end is wanted: then nobody is told of it.
    ending: Arc<AtomicBool>,
    /// Whether clock, randomness and host name are right by themselves.
    has_identity: bool,
    /// What its disk or memory stands on, kept as long as it lives.
    _keeps: Vec<Arc<dyn Send + Sync>>,
}

/// What a machine is made of.
pub(crate) struct NewMachine {
    pub(crate) id: VmId,
    pub(crate) process: Arc<DriverProcess>,
    pub(crate) link: GuestLink,
    pub(crate) directory: MachineDirectory,
    pub(crate) monitor: Option<Arc<dyn PauseControl>>,
    /// Whether it is a clone that stands still until it is woken.
    pub(crate) paused: bool,
    pub(crate) has_identity: bool,
    pub(crate) ending: Arc<AtomicBool>,
    pub(crate) keeps: Vec<Arc<dyn Send + Sync>>,
}

fn of_monitor(error: &DriverError) -> MachineError {
    MachineError::Terminated(error.to_string())
}

impl VmMachine {
    fn monitor(&self) -> Result<&Arc<dyn PauseControl>, MachineError> {
        let monitor = self.monitor.as_ref();
        monitor.ok_or(MachineError::Unsupported("let a VM stand still"))
    }

    fn snapshots(&self) -> Result<&dyn SnapshotControl, MachineError> {
        let snapshots = self.monitor.as_ref().and_then(|it| it.snapshots());
        snapshots.ok_or(MachineError::Unsupported("go back to a snapshot"))
    }

    /// Lets it stand still with nothing under way; whether it ran before.
    fn pause_idle(&self, deadline: Duration) -> Result<bool, MachineError> {
        let ran = !self.is_paused();
        if ran {
            self.link.await_rest(REST_TIMEOUT)?;
            let stopped = self.monitor()?.stop(deadline);
            stopped.map_err(|error| of_monitor(&error))?;
            self.paused.store(true, Ordering::SeqCst);
        }
        // A program may have connected in the moment before.
        match self.link.await_rest(SETTLE_TIMEOUT) {
            Ok(()) => Ok(ran),
            Err(in_use) if ran => {
                self.start_again(deadline)?;
                Err(in_use)
            }
            Err(in_use) => Err(in_use),
        }
    }

    fn start_again(&self, deadline: Duration) -> Result<(), MachineError> {
        let going = self.monitor()?.unpause(deadline);
        going.map_err(|error| of_monitor(&error))?;
        self.paused.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Lets it go on, if it stands still.
    fn unpause(&self, deadline: Duration) -> Result<(), MachineError> {
        let _turn = self.turn.lock();
        if self.is_paused() {
            self.start_again(deadline)?;
        }
        Ok(())
    }

    pub(crate) fn new(new: NewMachine) -> Self {
        Self {
            id: new.id,
            process: new.process,
            link: new.link,
            directory: new.directory,
            paused: AtomicBool::new(new.paused),
            monitor: new.monitor,
            turn: Mutex::default(),
            has_identity: new.has_identity,
            ending: new.ending,
            _keeps: new.keeps,
        }
    }
}

/// What the connection does when it ends: finds out how the process ended, and tells, unless the
/// end was wanted.
pub(crate) fn on_disconnect(
    process: Arc<DriverProcess>,
    ending: Arc<AtomicBool>,
    tell: OnMachineEvent,
) -> OnDisconnect {
    Box::new(move |reason, detail| {
        if ending.load(Ordering::SeqCst) {
            return "it was killed".to_owned();
        }
        let detail = match reason {
            FailureReason::ProcessGone => format!("{detail}; {}", process.obituary()),
            _ => detail,
        };
        // It can be of no use any more, whatever broke: what still runs of it is stopped now.
        let _ = process.kill();
        tell(MachineEvent::Terminated {
            reason,
            detail: detail.clone(),
        });
        detail
    })
}

impl Machine for VmMachine {
    fn id(&self) -> &VmId {
        &self.id
    }

    fn process(&self) -> ProcessRecord {
        self.process.record().clone()
    }

    fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    fn wake(&self, identity: &Identity, deadline: Duration) -> Result<(), MachineError> {
        self.unpause(deadline)?;
        if self.has_identity {
            return self.link.ping(deadline).map(drop);
        }
        self.link.identify(identity, deadline)
    }

    fn open_network(&self, uplink: Arc<Uplink>, deadline: Duration) -> Result<(), MachineError> {
        self.link.open_network(proxy::server(uplink), deadline)
    }

    fn exec(&self, spec: ExecSpec, sink: Box<dyn ExecSink>) -> Result<ExecTicket, MachineError> {
        self.link.exec(spec, sink)
    }

    fn kill_exec(&self, ticket: ExecTicket, grace: Duration) -> Result<(), MachineError> {
        self.link.kill_exec(ticket, grace)
    }

    fn resume_output(&self, ticket: ExecTicket) -> Result<(), MachineError> {
        self.link.resume_output(ticket)
    }

    fn type_in(
        &self,
        ticket: ExecTicket,
        bytes: &[u8],
        deadline: Duration,
    ) -> Result<usize, MachineError> {
        self.link.type_in(ticket, bytes, deadline)
    }

    fn resize_terminal(&self, ticket: ExecTicket, size: TerminalSize) -> Result<(), MachineError> {
        self.link.resize_terminal(ticket, size)
    }

    fn pause(&self, deadline: Duration) -> Result<(), MachineError> {
        let monitor = self.monitor()?;
        let _turn = self.turn.lock();
        if !self.is_paused() {
            monitor.stop(deadline).map_err(|error| of_monitor(&error))?;
            self.paused.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    fn resume(&self, identity: &Identity, deadline: Duration) -> Result<(), MachineError> {
        self.monitor()?;
        self.wake(identity, deadline)
    }

    fn snapshot(
        &self,
        name: &SnapshotName,
        identity: &Identity,
        deadline: Duration,
    ) -> Result<u64, MachineError> {
        let snapshots = self.snapshots()?;
        let turn = self.turn.lock();
        let ran = self.pause_idle(deadline)?;
        let saved = snapshots.save(name, deadline);
        drop(turn);
        if ran {
            self.wake(identity, deadline)?;
        }
        saved
    }

    fn restore(
        &self,
        name: &SnapshotName,
        identity: &Identity,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let snapshots = self.snapshots()?;
        let turn = self.turn.lock();
        self.pause_idle(deadline)?;
        snapshots.load(name, deadline)?;
        drop(turn);
        self.wake(identity, deadline)
    }

    fn delete_snapshot(&self, name: &SnapshotName, deadline: Duration) -> Result<(), MachineError> {
        let snapshots = self.snapshots()?;
        let _turn = self.turn.lock();
        snapshots.delete(name, deadline)
    }

    fn put_tar(
        &self,
        path: &str,
        tar: &mut dyn Read,
        idle: Duration,
    ) -> Result<TarSummary, MachineError> {
        self.link.put_tar(path, tar, idle)
    }

    fn get_tar(
        &self,
        path: &str,
        out: &mut dyn Write,
        idle: Duration,
    ) -> Result<TarSummary, MachineError> {
        self.link.get_tar(path, out, idle)
    }

    fn ping(&self, deadline: Duration) -> Result<Duration, MachineError> {
        self.link.ping(deadline)
    }

    fn last_seen(&self) -> UnixMs {
        self.link.last_seen()
    }

    fn kill(&self) -> Result<(), MachineError> {
        self.ending.store(true, Ordering::SeqCst);
        let killed = self
            .process
            .kill()
            .map_err(|error| MachineError::NotRemoved(error.to_string()));
        self.link.close("it was killed");
        self.directory.remove()?;
        killed
    }
}

impl Drop for VmMachine {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
