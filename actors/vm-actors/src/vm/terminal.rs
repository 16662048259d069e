//! What is typed on the terminal of a command.

use std::sync::Arc;
use std::time::Duration;

use actix::{Context, Handler, ResponseFuture};
use actix_rt::task::spawn_blocking;
use vm_core::ExecId;
use vm_engine::{ExecTicket, Machine, MachineError};

use super::Vm;
use crate::messages::{ResizeTerminal, TypeIn, VmFailure};

/// How long a program that reads nothing is waited for; the edge asks again.
const TYPING_TIMEOUT: Duration = Duration::from_secs(2);

/// Where a command runs.
type ExecTarget = (Arc<dyn Machine>, ExecTicket);

impl Vm {
    /// Where a command runs; `None` when it has ended.
    fn typist(&self, exec: &ExecId) -> Result<Option<ExecTarget>, VmFailure> {
        let unknown = || VmFailure::UnknownExec(exec.clone());
        let record = self.entry.exec(exec).ok_or_else(unknown)?;
        if record.log.end().is_some() {
            return Ok(None);
        }
        let machine = self.working_machine()?;
        // Its id was given out only once the machine had named it.
        let ticket = record.ticket.get().copied().ok_or_else(unknown)?;
        Ok(Some((machine, ticket)))
    }
}

async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, MachineError> + Send + 'static,
) -> Result<T, VmFailure> {
    let done = spawn_blocking(work).await;
    let done = done.map_err(|panic| VmFailure::Gone(panic.to_string()))?;
    done.map_err(VmFailure::from)
}

impl Handler<TypeIn> for Vm {
    type Result = ResponseFuture<Result<usize, VmFailure>>;

    fn handle(&mut self, TypeIn { exec, bytes }: TypeIn, _: &mut Context<Self>) -> Self::Result {
        let typist = self.typist(&exec);
        Box::pin(async move {
            match typist? {
                None => Ok(bytes.len()),
                Some((machine, ticket)) => {
                    on_thread(move || machine.type_in(ticket, &bytes, TYPING_TIMEOUT)).await
                }
            }
        })
    }
}

impl Handler<ResizeTerminal> for Vm {
    type Result = ResponseFuture<Result<(), VmFailure>>;

    fn handle(&mut self, message: ResizeTerminal, _: &mut Context<Self>) -> Self::Result {
        let typist = self.typist(&message.exec);
        Box::pin(async move {
            match typist? {
                None => Ok(()),
                Some((machine, ticket)) => {
                    on_thread(move || machine.resize_terminal(ticket, message.size)).await
                }
            }
        })
    }
}
