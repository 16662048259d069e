//! A running service, and words for orders.

use std::sync::Arc;
use std::time::Duration;

use actix::System;
use store::{Options, Store};
use supervision::{AskError, ChildRef, Root, SupervisorSpec, Verdict};
use tokio::time::timeout;
use vm_actors::keys::OrderKey;
use vm_actors::log::Piece;
use vm_actors::messages::{CreateFailure, CreateVm, StartExec, VmFailure};
use vm_actors::{ExecRecord, Shared, Vm, VmService, VmSettings, VmSlot};
use vm_core::{ExecEnd, ExecId, ExecSpec, VmId, VmSpec, VmState, wire};

use crate::scripted::{DEADLINE, Lab};

/// Runs a test in a system of its own, with a deadline.
pub(crate) fn run<F: Future>(test: F) -> F::Output {
    System::new().block_on(async { timeout(DEADLINE, test).await.expect("in time") })
}

/// A service that runs.
pub(crate) struct Running {
    pub(crate) lab: Arc<Lab>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) desk: ChildRef<vm_actors::Desk>,
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
        let store = Store::in_memory(&Options::new("test")).unwrap();
        Self::start_with(lab, settings, store).await
    }

    pub(crate) async fn start_with(lab: &Arc<Lab>, settings: VmSettings, store: Store) -> Self {
        let service = VmService::new(settings, lab.driver(), lab.images(), store).unwrap();
        let (shared, desk) = (service.shared, service.desk);
        let root = Root::start(SupervisorSpec::root("root").supervisor(service.supervisor));
        desk.ready().await;
        Self {
            lab: Arc::clone(lab),
            shared,
            desk,
            root,
        }
    }

    pub(crate) async fn create(&self, order: CreateVm) -> Result<wire::Created, CreateFailure> {
        self.desk.ask(order).await.expect("the desk answers")
    }

    pub(crate) async fn created(&self) -> VmId {
        self.create(order("{}")).await.expect("a VM").id
    }

    pub(crate) fn slot(&self, id: &VmId) -> Arc<VmSlot> {
        self.shared.board.get(id).expect("it is on the board")
    }

    pub(crate) fn vm(&self, id: &VmId) -> ChildRef<Vm> {
        self.slot(id).actor().expect("it was started").clone()
    }

    pub(crate) async fn exec(&self, vm: &VmId, words: &[&str]) -> Result<ExecId, VmFailure> {
        self.vm(vm)
            .ask(StartExec(argv(words)))
            .await
            .expect("the VM answers")
    }

    pub(crate) fn record(&self, vm: &VmId, exec: &ExecId) -> Arc<ExecRecord> {
        self.slot(vm).exec(exec).expect("it is remembered")
    }

    /// Waits until the board shows the VM like that; `None` when it is off the board.
    pub(crate) async fn until(&self, vm: &VmId, wanted: impl Fn(Option<VmState>) -> bool) {
        while !wanted(self.shared.board.get(vm).map(|slot| slot.state())) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Stops all of it; nothing may be left.
    pub(crate) async fn stop(self) {
        self.root.handle().stop();
        assert_eq!(self.root.verdict().await, Verdict::Stopped);
        assert_eq!(self.lab.alive(), [], "machines outlived their manager");
        assert_eq!(self.shared.board.list().len(), 0);
    }
}

/// An order of the JSON, with an owner and the subject `runner`.
pub(crate) fn order(json: &str) -> CreateVm {
    let mut value: serde_json::Value = serde_json::from_str(json).unwrap();
    value["owner"] = "me".into();
    let body: wire::CreateVm = serde_json::from_value(value).unwrap();
    CreateVm {
        spec: VmSpec::from(body),
        subject: "runner".to_owned(),
        key: None,
    }
}

pub(crate) fn keyed(json: &str, key: &str) -> CreateVm {
    let mut digest = [0; 32];
    digest[0] = json.len() as u8;
    let key = OrderKey {
        subject: "runner".to_owned(),
        key: key.to_owned(),
        digest,
    };
    CreateVm {
        key: Some(key),
        ..order(json)
    }
}

pub(crate) fn argv(words: &[&str]) -> ExecSpec {
    let order = wire::StartExec {
        argv: Some(words.iter().map(|word| (*word).to_owned()).collect()),
        ..wire::StartExec::default()
    };
    ExecSpec::try_from(order).unwrap()
}

/// All output of a command, what was lost of it, and its end.
pub(crate) async fn followed(record: &ExecRecord) -> (Vec<u8>, u64, ExecEnd) {
    let (mut output, mut lost) = (Vec::new(), 0);
    let mut follower = record.log.follow();
    loop {
        match follower.next().await {
            Piece::Output(_, bytes) => output.extend_from_slice(&bytes),
            Piece::Lost(bytes) => lost += bytes,
            Piece::End(end) => return (output, lost, end),
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
