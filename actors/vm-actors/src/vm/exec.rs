//! Commands in a VM: started, held back, killed, and ended when the guest does not end them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix::{
    ActorFutureExt, Addr, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture,
};
use actix_rt::task::spawn_blocking;
use tokio::sync::Notify;
use vm_core::{ExecEnd, ExecId, ExecSpec, ExecState, FailureReason, OutputStream};
use vm_engine::{ExecSink, ExecTicket, Machine, MachineError, OutputFlow};

use super::{Phase, Vm};
use crate::counters::VmCounters;
use crate::entry::ExecRecord;
use crate::log::OutputLog;
use crate::messages::{KillExec, StartExec, VmFailure};

/// How long after a command's time limit its end may come before the VM counts as silent: the guest
/// gives it ten seconds to clean up.
const TIMEOUT_GRACE: Duration = Duration::from_secs(30);

/// A command has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct ExecEnded(Arc<ExecRecord>);

/// Takes a command's output on a thread of the machine.
struct OutputSink {
    record: Arc<ExecRecord>,
    counters: Arc<VmCounters>,
    vm: Addr<Vm>,
    /// Output is held.
    held: Arc<Notify>,
}

impl ExecSink for OutputSink {
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) -> OutputFlow {
        self.counters.output(bytes.len());
        let flow = self.record.log.push(stream, bytes);
        if flow == OutputFlow::Hold {
            self.held.notify_one();
        }
        flow
    }

    fn ended(&mut self, end: ExecEnd) {
        self.record.log.finish(end);
        self.vm.do_send(ExecEnded(Arc::clone(&self.record)));
    }
}

impl Vm {
    /// A record for a new command, published already.
    fn new_exec(&mut self) -> Result<Arc<ExecRecord>, VmFailure> {
        let settings = &self.resources.settings;
        let number = self.next_exec;
        let id = format!("ex-{number}");
        let record = Arc::new(ExecRecord {
            id: id.parse().expect("a number makes a valid id"),
            number,
            log: OutputLog::new(settings.log_bytes, settings.patience),
            ticket: OnceLock::new(),
        });
        self.entry
            .add_exec(Arc::clone(&record), settings.max_execs)
            .ok_or(VmFailure::Busy(settings.max_execs))?;
        self.next_exec += 1;
        Ok(record)
    }

    /// The machine started the command, or not.
    fn exec_started_by_machine(
        &mut self,
        begun: Result<ExecTicket, MachineError>,
        starting: StartingExec,
        ctx: &mut Context<Self>,
    ) -> Result<ExecId, VmFailure> {
        let StartingExec {
            record,
            machine,
            held,
            limit,
        } = starting;
        match begun {
            Err(error) => {
                let reason = error.to_string();
                record.log.finish(ExecEnd::Lost { reason });
                self.entry.remove_exec(&record.id);
                self.refresh_work();
                Err(error.into())
            }
            Ok(ticket) => {
                // Set here only.
                let _ = record.ticket.set(ticket);
                tracing::info!(event = "vm.exec.started", vm = %self.entry.id, exec = %record.id);
                self.resources.counters.exec_started();
                ctx.spawn(keep_flowing(machine, Arc::clone(&record), held).into_actor(self));
                if let Some(limit) = limit {
                    let record = Arc::clone(&record);
                    ctx.run_later(limit + TIMEOUT_GRACE, move |vm, ctx| {
                        vm.past_limit(&record, ctx);
                    });
                }
                Ok(record.id.clone())
            }
        }
    }

    /// The guest should have ended it long ago.
    fn past_limit(&mut self, record: &ExecRecord, ctx: &mut Context<Self>) {
        if record.log.end().is_none() {
            let detail = format!("{} was not ended at its time limit", record.id);
            self.fail(FailureReason::GuestSilent, detail, ctx);
        }
    }
}

/// A command that the machine is being told to start.
struct StartingExec {
    record: Arc<ExecRecord>,
    machine: Arc<dyn Machine>,
    held: Arc<Notify>,
    limit: Option<Duration>,
}

/// Lets the output of a command flow again each time its readers have caught up.
async fn keep_flowing(machine: Arc<dyn Machine>, record: Arc<ExecRecord>, held: Arc<Notify>) {
    let Some(ticket) = record.ticket.get().copied() else {
        return;
    };
    while record.log.end().is_none() {
        held.notified().await;
        record.log.room().await;
        let machine = Arc::clone(&machine);
        // A machine that cannot be told is about to end, and so is the command.
        let _ = spawn_blocking(move || machine.resume_output(ticket)).await;
    }
}

impl Handler<StartExec> for Vm {
    type Result = ResponseActFuture<Self, Result<ExecId, VmFailure>>;

    fn handle(&mut self, StartExec(spec): StartExec, ctx: &mut Context<Self>) -> Self::Result {
        match self.start_exec(spec, ctx) {
            Ok((begun, starting)) => Box::pin(
                begun
                    .into_actor(self)
                    .map(move |begun, vm, ctx| vm.exec_started_by_machine(begun, starting, ctx)),
            ),
            Err(failure) => Box::pin(async { Err(failure) }.into_actor(self)),
        }
    }
}

impl Vm {
    fn start_exec(
        &mut self,
        spec: ExecSpec,
        ctx: &Context<Self>,
    ) -> Result<
        (
            impl Future<Output = Result<ExecTicket, MachineError>> + 'static + use<>,
            StartingExec,
        ),
        VmFailure,
    > {
        let machine = self.working_machine()?;
        let record = self.new_exec()?;
        self.refresh_work();
        let held = Arc::new(Notify::new());
        let sink = OutputSink {
            record: Arc::clone(&record),
            counters: Arc::clone(&self.resources.counters),
            vm: ctx.address(),
            held: Arc::clone(&held),
        };
        let starting = StartingExec {
            record,
            machine: Arc::clone(&machine),
            held,
            limit: spec.timeout,
        };
        let begun = spawn_blocking(move || machine.exec(spec, Box::new(sink)));
        let begun = async move {
            begun
                .await
                .unwrap_or_else(|panic| Err(MachineError::Terminated(panic.to_string())))
        };
        Ok((begun, starting))
    }

    /// The machine, when the VM takes work.
    pub(super) fn working_machine(&self) -> Result<Arc<dyn Machine>, VmFailure> {
        let state = self.entry.state();
        if state.takes_work() && (self.changing || self.entry.paused().is_some()) {
            return Err(VmFailure::Paused);
        }
        match &self.machine {
            Some(machine) if self.phase == Phase::Running && state.takes_work() => {
                Ok(Arc::clone(machine))
            }
            _ => Err(VmFailure::State(state)),
        }
    }
}

impl Handler<ExecEnded> for Vm {
    type Result = ();

    fn handle(&mut self, ExecEnded(record): ExecEnded, _: &mut Context<Self>) {
        self.refresh_work();
        let view = record.view();
        let state = match view.state {
            ExecState::Running => "running",
            ExecState::Exited => "exited",
            ExecState::TimedOut => "timed_out",
            ExecState::Killed => "killed",
            ExecState::Lost => "lost",
            ExecState::NotStarted => "not_started",
        };
        tracing::info!(
            event = "vm.exec.ended",
            vm = %self.entry.id,
            exec = %record.id,
            state,
            exit_code = view.exit_code,
        );
    }
}

impl Handler<KillExec> for Vm {
    type Result = ResponseActFuture<Self, Result<(), VmFailure>>;

    fn handle(&mut self, message: KillExec, _: &mut Context<Self>) -> Self::Result {
        let KillExec { exec: id, grace } = message;
        let found = self.entry.exec(&id);
        let machine = self.machine.clone();
        let killed = async move {
            let record = found.ok_or_else(|| VmFailure::UnknownExec(id.clone()))?;
            let (Some(machine), None) = (machine, record.log.end()) else {
                return Ok(());
            };
            // Its id was given out only once the machine had named it.
            let ticket = record.ticket.get().copied();
            let ticket = ticket.ok_or(VmFailure::UnknownExec(id))?;
            let killed = spawn_blocking(move || machine.kill_exec(ticket, grace)).await;
            let killed =
                killed.unwrap_or_else(|panic| Err(MachineError::Terminated(panic.to_string())));
            match killed {
                // It has ended meanwhile, with the VM.
                Err(MachineError::Terminated(_)) => Ok(()),
                killed => killed.map_err(VmFailure::from),
            }
        };
        Box::pin(killed.into_actor(self))
    }
}
