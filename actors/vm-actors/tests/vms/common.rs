//! A running service, and requests for VMs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix::System;
use store::{Store, StoreOptions};
use supervision::{AskError, ChildRef, Root, SupervisorSpec, TreeExit};
use tokio::time::timeout;
use vm_actors::keys::IdempotencyKey;
use vm_actors::log::LogChunk;
use vm_actors::messages::{AllocatedVm, CreateFailure, CreateVm, StartExec, VmFailure};
use vm_actors::{
    Clock, ExecRecord, Vm, VmEntry, VmManagerView, VmScheduler, VmService, VmSettings,
};
use vm_core::{ExecEnd, ExecId, ExecSpec, UnixMs, VmId, VmSpec, VmState};
use vmm_api_core::{NewExec, NewVm};

use crate::scripted::{DEADLINE, Lab};

/// Runs a test in a system of its own, with a deadline.
pub(crate) fn run<F: Future>(test: F) -> F::Output {
    System::new().block_on(async { timeout(DEADLINE, test).await.expect("in time") })
}

/// A clock that a test sets.
#[derive(Clone)]
pub(crate) struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(1_700_000_000_000)))
    }

    fn clock(&self) -> Clock {
        let ms = Arc::clone(&self.0);
        Clock::new(move || UnixMs(ms.load(Ordering::SeqCst)))
    }

    pub(crate) fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_millis()).unwrap();
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

/// A service that runs.
pub(crate) struct Running {
    pub(crate) lab: Arc<Lab>,
    pub(crate) view: VmManagerView,
    pub(crate) scheduler: ChildRef<VmScheduler>,
    pub(crate) root: Root,
}

pub(crate) fn brisk() -> VmSettings {
    VmSettings {
        look_every: Duration::from_millis(10),
        ..VmSettings::default()
    }
}

impl Running {
    pub(crate) async fn start(lab: &Arc<Lab>, settings: VmSettings) -> Self {
        let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
        Self::start_with(lab, settings, store, Clock::start()).await
    }

    /// With a clock that the test sets.
    pub(crate) async fn start_at(
        lab: &Arc<Lab>,
        settings: VmSettings,
        clock: &ManualClock,
    ) -> Self {
        let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
        Self::start_with(lab, settings, store, clock.clock()).await
    }

    pub(crate) async fn start_with(
        lab: &Arc<Lab>,
        settings: VmSettings,
        store: Store,
        clock: Clock,
    ) -> Self {
        let service = VmService::new(settings, lab.driver(), lab.images(), store, clock).unwrap();
        let (view, scheduler) = (service.view, service.scheduler);
        let root = Root::start(SupervisorSpec::root("root").supervisor(service.supervisor));
        scheduler.ready().await;
        Self {
            lab: Arc::clone(lab),
            view,
            scheduler,
            root,
        }
    }

    pub(crate) async fn create(&self, create: CreateVm) -> Result<AllocatedVm, CreateFailure> {
        self.scheduler
            .ask(create)
            .await
            .expect("the scheduler answers")
    }

    pub(crate) async fn created(&self) -> VmId {
        self.create(request("{}")).await.expect("a VM").id
    }

    pub(crate) fn entry(&self, id: &VmId) -> Arc<VmEntry> {
        self.view.vm(id).expect("it is registered").entry
    }

    pub(crate) fn vm(&self, id: &VmId) -> ChildRef<Vm> {
        let vm = self.view.vm(id).expect("it is registered");
        vm.actor.expect("it was started")
    }

    pub(crate) async fn exec(&self, vm: &VmId, words: &[&str]) -> Result<ExecId, VmFailure> {
        self.vm(vm)
            .ask(StartExec(argv(words)))
            .await
            .expect("the VM answers")
    }

    pub(crate) fn record(&self, vm: &VmId, exec: &ExecId) -> Arc<ExecRecord> {
        self.entry(vm).exec(exec).expect("it is remembered")
    }

    /// Waits until the registry shows the VM like that; `None` when it is no longer there.
    pub(crate) async fn until(&self, vm: &VmId, wanted: impl Fn(Option<VmState>) -> bool) {
        while !wanted(self.view.vm(vm).map(|vm| vm.entry.state())) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Stops all of it; nothing may be left.
    pub(crate) async fn stop(self) {
        self.root.handle().stop();
        assert_eq!(self.root.verdict().await, TreeExit::Stopped);
        assert_eq!(self.lab.alive(), [], "machines outlived their manager");
        assert_eq!(self.view.vms().len(), 0);
    }
}

/// A request of the JSON, with an owner and the subject `runner`.
pub(crate) fn request(json: &str) -> CreateVm {
    let mut value: serde_json::Value = serde_json::from_str(json).unwrap();
    value["owner"] = "me".into();
    let body: NewVm = serde_json::from_value(value).unwrap();
    CreateVm {
        spec: VmSpec::from(body),
        subject: "runner".to_owned(),
        key: None,
    }
}

pub(crate) fn keyed(json: &str, key: &str) -> CreateVm {
    let mut digest = [0; 32];
    digest[0] = json.len() as u8;
    let key = IdempotencyKey {
        subject: "runner".to_owned(),
        key: key.to_owned(),
        digest,
    };
    CreateVm {
        key: Some(key),
        ..request(json)
    }
}

pub(crate) fn argv(words: &[&str]) -> ExecSpec {
    let exec = NewExec {
        argv: Some(words.iter().map(|word| (*word).to_owned()).collect()),
        ..NewExec::default()
    };
    ExecSpec::try_from(exec).unwrap()
}

/// All output of a command, what was lost of it, and its end.
pub(crate) async fn followed(record: &ExecRecord) -> (Vec<u8>, u64, ExecEnd) {
    let (mut output, mut lost) = (Vec::new(), 0);
    let mut follower = record.log.follow();
    loop {
        match follower.next().await {
            LogChunk::Output(_, bytes) => output.extend_from_slice(&bytes),
            LogChunk::Lost(bytes) => lost += bytes,
            LogChunk::End(end) => return (output, lost, end),
        }
    }
}

/// The VM's actor has ended, or ended while it was asked: it is gone either way.
pub(crate) fn gone(answer: Result<(), AskError>) {
    match answer {
        Ok(()) | Err(AskError::Unavailable { .. } | AskError::NoReply { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}
