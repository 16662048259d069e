//! A driver that does what a test tells it: VMs are entries in a ledger, commands are words.
//!
//! | command | does |
//! |---|---|
//! | `echo TEXT` | writes it, exits 0 |
//! | `exit N` | exits with N |
//! | `sleep` | runs until it is killed |
//! | `flood BYTES` | writes so many, held back as it is told |
//! | `crash` | the VM ends under it |
//! | `mute` | the guest answers no ping any more |

#![allow(
    dead_code,
    reason = "each test binary that includes this uses another part"
)]

mod driver;
mod images;

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};
use vm_actors::images::{HostState, HostView, ImageFailure, Images};
use vm_core::guest::{FailureKind, GuestFailure, TarSummary};
use vm_core::{
    DriverName, ExecEnd, ExecProgram, ExecSpec, FailureReason, ImageRef, Isolation, OutputStream,
    TemplateKey, UnixMs, VmId,
};
use vm_engine::image::{DiskFormat, Image};
use vm_engine::network::Uplink;
use vm_engine::{
    CloneRequest, Driver, DriverError, ExecSink, ExecTicket, Identity, Machine, MachineError,
    MachineEvent, OnMachineEvent, OutputFlow, ProcessRecord, StartRequest, Template,
};

/// Longest that anything here waits before a test fails.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// What the next start does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Works,
    Dies,
    TooSlow,
    Panics,
    /// Waits until [`Lab::open`].
    Waits,
    Unsupported,
    /// The machine has no file descriptor left.
    Shortage,
}

/// The machines there are, and what becomes of the next.
#[derive(Default)]
pub(crate) struct Lab {
    machines: Mutex<BTreeMap<VmId, Weak<Scripted>>>,
    starts: Mutex<VecDeque<Next>>,
    gate: Mutex<bool>,
    opened: Condvar,
    pub(crate) templates: AtomicBool,
    pub(crate) wakes_fail: AtomicBool,
    /// The machine has no file descriptor left for clones.
    pub(crate) clones_lack: AtomicBool,
    /// How many were not made for it.
    pub(crate) lacked: AtomicU32,
    /// Templates made.
    pub(crate) templates_made: AtomicU32,
    pub(crate) kills_fail: AtomicBool,
    /// Kills wait until [`Lab::open`].
    pub(crate) kills_wait: AtomicBool,
    pub(crate) started: AtomicU32,
    pub(crate) spawned: AtomicU32,
    pub(crate) isolation: Mutex<Option<Isolation>>,
    pub(crate) making: Mutex<Option<String>>,
    /// How far the fetch of the image is.
    pub(crate) fetching: Mutex<Option<String>>,
    pub(crate) fetches: tokio::sync::watch::Sender<u64>,
    /// What the digest of the image ends with, if not with zeros.
    pub(crate) digest: Mutex<String>,
    /// Machines have no way to a network.
    pub(crate) no_networks: AtomicBool,
}

impl Lab {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Ids of the machines that are alive.
    pub(crate) fn alive(&self) -> Vec<VmId> {
        let machines = self.machines.lock();
        let alive = machines
            .iter()
            .filter(|(_, machine)| machine.strong_count() > 0);
        alive.map(|(id, _)| id.clone()).collect()
    }

    pub(crate) fn machine(&self, id: &VmId) -> Arc<Scripted> {
        let machines = self.machines.lock();
        machines
            .get(id)
            .and_then(Weak::upgrade)
            .expect("it is alive")
    }

    pub(crate) fn next(&self, next: Next) {
        self.starts.lock().push_back(next);
    }

    pub(crate) fn open(&self) {
        *self.gate.lock() = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let mut gate = self.gate.lock();
        while !*gate {
            assert!(
                !self.opened.wait_for(&mut gate, DEADLINE).timed_out(),
                "never opened"
            );
        }
    }

    pub(crate) fn driver(self: &Arc<Self>) -> Arc<dyn Driver> {
        Arc::new(driver::ScriptedDriver(Arc::clone(self)))
    }

    pub(crate) fn images(self: &Arc<Self>) -> Arc<dyn Images> {
        Arc::new(images::ScriptedImages(Arc::clone(self)))
    }

    fn add(self: &Arc<Self>, id: VmId, on_event: OnMachineEvent, paused: bool) -> Arc<Scripted> {
        let machine = Arc::new_cyclic(|me| Scripted {
            me: me.clone(),
            id: id.clone(),
            lab: Arc::clone(self),
            on_event,
            paused: AtomicBool::new(paused),
            gone: AtomicBool::new(false),
            mute: AtomicBool::new(false),
            execs: Mutex::default(),
            flows: Condvar::new(),
            files: Mutex::default(),
            next: AtomicU32::new(1),
            network: Mutex::default(),
        });
        let former = self.machines.lock().insert(id, Arc::downgrade(&machine));
        assert!(former.is_none(), "an id was used twice");
        machine
    }
}

/// A machine.
pub(crate) struct Scripted {
    me: Weak<Self>,
    id: VmId,
    lab: Arc<Lab>,
    on_event: OnMachineEvent,
    paused: AtomicBool,
    gone: AtomicBool,
    mute: AtomicBool,
    execs: Mutex<BTreeMap<ExecTicket, Running>>,
    flows: Condvar,
    pub(crate) files: Mutex<BTreeMap<String, Vec<u8>>>,
    next: AtomicU32,
    pub(crate) network: Mutex<Option<Arc<Uplink>>>,
}

struct Running {
    /// Given to a thread while that writes.
    sink: Option<Box<dyn ExecSink>>,
    held: bool,
    killed: bool,
}

impl Scripted {
    /// The process ends by itself.
    pub(crate) fn crash(&self) {
        self.gone.store(true, Ordering::SeqCst);
        self.lose("the machine crashed");
        (self.on_event)(MachineEvent::Terminated {
            reason: FailureReason::ProcessGone,
            detail: "a planned crash".to_owned(),
        });
    }

    pub(crate) fn mute(&self) {
        self.mute.store(true, Ordering::SeqCst);
    }

    fn lose(&self, reason: &str) {
        for (_, running) in std::mem::take(&mut *self.execs.lock()) {
            if let Some(mut sink) = running.sink {
                sink.ended(ExecEnd::Lost {
                    reason: reason.to_owned(),
                });
            }
        }
        self.flows.notify_all();
    }

    fn flood(&self, ticket: ExecTicket, mut sink: Box<dyn ExecSink>, bytes: usize) {
        let piece = vec![b'x'; 32 * 1024];
        let mut left = bytes;
        while left > 0 {
            let count = left.min(piece.len());
            left -= count;
            if sink.output(OutputStream::Stdout, &piece[..count]) == OutputFlow::Hold {
                let mut execs = self.execs.lock();
                if let Some(running) = execs.get_mut(&ticket) {
                    running.held = true;
                }
                while execs
                    .get(&ticket)
                    .is_some_and(|running| running.held && !running.killed)
                {
                    assert!(
                        !self.flows.wait_for(&mut execs, DEADLINE).timed_out(),
                        "never resumed"
                    );
                }
            }
            match self.execs.lock().get(&ticket) {
                None => {
                    return sink.ended(ExecEnd::Lost {
                        reason: "gone".to_owned(),
                    });
                }
                Some(running) if running.killed => break,
                Some(_) => {}
            }
        }
        let killed = self
            .execs
            .lock()
            .remove(&ticket)
            .is_some_and(|running| running.killed);
        sink.ended(if killed {
            ExecEnd::Killed
        } else {
            ExecEnd::Exited { code: 0 }
        });
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.lab.machines.lock().remove(&self.id);
    }
}

impl Machine for Scripted {
    fn id(&self) -> &VmId {
        &self.id
    }

    fn process(&self) -> ProcessRecord {
        ProcessRecord {
            pid: 1,
            start_ticks: 1,
            folder: "/nonexistent".into(),
        }
    }

    fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    fn wake(&self, identity: &Identity, _: Duration) -> Result<(), MachineError> {
        assert_eq!(identity.hostname, self.id.as_str());
        assert_ne!(identity.seed, [0; 64]);
        if self.lab.wakes_fail.load(Ordering::SeqCst) {
            return Err(MachineError::Terminated("a planned failure".to_owned()));
        }
        self.paused.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn pause(&self, _: Duration) -> Result<(), MachineError> {
        self.paused.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn resume(&self, identity: &Identity, deadline: Duration) -> Result<(), MachineError> {
        self.wake(identity, deadline)
    }

    fn open_network(&self, uplink: Arc<Uplink>, _: Duration) -> Result<(), MachineError> {
        assert!(!self.is_paused(), "a network for a paused VM");
        if self.lab.no_networks.load(Ordering::SeqCst) {
            return Err(MachineError::Unsupported("give a VM a network"));
        }
        *self.network.lock() = Some(uplink);
        Ok(())
    }

    fn exec(
        &self,
        spec: ExecSpec,
        mut sink: Box<dyn ExecSink>,
    ) -> Result<ExecTicket, MachineError> {
        assert!(!self.is_paused(), "a command in a paused VM");
        if self.gone.load(Ordering::SeqCst) {
            return Err(MachineError::Terminated("it is".to_owned()));
        }
        let ticket = ExecTicket(self.next.fetch_add(1, Ordering::SeqCst));
        let words = match spec.program {
            ExecProgram::Argv(words) => words,
            ExecProgram::Script { text, .. } => {
                text.split_whitespace().map(str::to_owned).collect()
            }
        };
        let rest = words.get(1).cloned().unwrap_or_default();
        match words[0].as_str() {
            "echo" => {
                let _ = sink.output(OutputStream::Stdout, rest.as_bytes());
                sink.ended(ExecEnd::Exited { code: 0 });
            }
            "exit" => sink.ended(ExecEnd::Exited {
                code: rest.parse().expect("a number"),
            }),
            "flood" => {
                let me = self.me.upgrade().expect("it is borrowed");
                let running = Running {
                    sink: None,
                    held: false,
                    killed: false,
                };
                self.execs.lock().insert(ticket, running);
                std::thread::spawn(move || me.flood(ticket, sink, rest.parse().expect("a number")));
            }
            word => {
                let running = Running {
                    sink: Some(sink),
                    held: false,
                    killed: false,
                };
                self.execs.lock().insert(ticket, running);
                match word {
                    "crash" => self.crash(),
                    "mute" => self.mute(),
                    _ => {}
                }
            }
        }
        Ok(ticket)
    }

    fn kill_exec(&self, ticket: ExecTicket, _: Duration) -> Result<(), MachineError> {
        let mut execs = self.execs.lock();
        let sink = execs.get_mut(&ticket).and_then(|running| {
            running.killed = true;
            running.sink.take()
        });
        if let Some(mut sink) = sink {
            execs.remove(&ticket);
            drop(execs);
            sink.ended(ExecEnd::Killed);
        }
        self.flows.notify_all();
        Ok(())
    }

    fn resume_output(&self, ticket: ExecTicket) -> Result<(), MachineError> {
        if let Some(running) = self.execs.lock().get_mut(&ticket) {
            running.held = false;
        }
        self.flows.notify_all();
        Ok(())
    }

    fn put_tar(
        &self,
        path: &str,
        tar: &mut dyn Read,
        _: Duration,
    ) -> Result<TarSummary, MachineError> {
        if path.contains("..") {
            let what = format!("{path} leaves its folder");
            return Err(GuestFailure {
                kind: FailureKind::Forbidden,
                what,
            }
            .into());
        }
        let mut bytes = Vec::new();
        tar.read_to_end(&mut bytes).map_err(MachineError::Tar)?;
        let count = bytes.len() as u64;
        self.files.lock().insert(path.to_owned(), bytes);
        Ok(TarSummary {
            entries: 1,
            bytes: count,
        })
    }

    fn get_tar(
        &self,
        path: &str,
        out: &mut dyn Write,
        _: Duration,
    ) -> Result<TarSummary, MachineError> {
        let files = self.files.lock();
        let bytes = files.get(path).cloned();
        drop(files);
        let what = || format!("{path} does not exist");
        let bytes = bytes.ok_or_else(|| GuestFailure {
            kind: FailureKind::NotFound,
            what: what(),
        })?;
        out.write_all(&bytes).map_err(MachineError::Tar)?;
        Ok(TarSummary {
            entries: 1,
            bytes: bytes.len() as u64,
        })
    }

    fn ping(&self, deadline: Duration) -> Result<Duration, MachineError> {
        if self.mute.load(Ordering::SeqCst) || self.gone.load(Ordering::SeqCst) {
            return Err(MachineError::Silent(deadline));
        }
        Ok(Duration::ZERO)
    }

    fn last_seen(&self) -> UnixMs {
        if self.mute.load(Ordering::SeqCst) {
            return UnixMs(1);
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        UnixMs(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
    }

    fn kill(&self) -> Result<(), MachineError> {
        self.gone.store(true, Ordering::SeqCst);
        self.lose("the VM was killed");
        if self.lab.kills_wait.load(Ordering::SeqCst) {
            self.lab.wait();
        }
        self.lab.machines.lock().remove(&self.id);
        if self.lab.kills_fail.load(Ordering::SeqCst) {
            return Err(MachineError::NotRemoved("planned".to_owned()));
        }
        Ok(())
    }
}
