//! Why a step may have failed, as far as only the machine or its manager knows: what the network
//! refused, and memory that was used up.

use runner_core::state::StepEnd;

use super::frame::StepResult;
use super::proxy_variables::is_proxied;
use super::step_runner::StepRunner;
use crate::log::LineKind;

/// How often the kernel has ended a program for want of memory, as an output.
const COUNT_KILLED: &str = "sed -n 's/^oom_kill /::set-output name=killed::/p' /proc/vmstat";
/// The exit code of a shell whose program was killed.
const KILLED: i32 = 128 + 9;

impl StepRunner<'_> {
    /// Cargo wants a newer Rust than the one that stood for the newest: says where that came from.
    pub(super) async fn explain_old_rust(&self) {
        let says = self.machine.causes.lock().image_rust.clone();
        let Some((uses, says)) = says else { return };
        let text = format!(
            "{uses} has taken the newest Rust of the image, {says}: build the image anew where static.rust-lang.org is reached, or put the original into the store (`workflow-runner actions add {uses}`) and let the machine reach that host"
        );
        self.log
            .line(self.current.number, LineKind::Warning, &text)
            .await;
    }

    /// Says beside a failure what the step's own output cannot.
    pub(super) async fn explain_failure(&mut self, result: &mut StepResult) {
        let machine = self.machine;
        if is_proxied(self.request)
            && let Ok(vm) = machine.vmm.get(&machine.id).await
        {
            let text = machine.causes.lock().refused(vm.refused);
            if let Some(text) = text {
                self.log
                    .line(self.current.number, LineKind::Warning, &text)
                    .await;
            }
        }
        let was_killed = match result.end {
            StepEnd::Exited(code) => code == KILLED,
            StepEnd::Signalled(signal) => signal == KILLED - 128,
            _ => false,
        };
        if !was_killed {
            return;
        }
        let argv = ["sh", "-c", COUNT_KILLED].map(str::to_owned);
        let exit = self.command(argv.to_vec()).await;
        let outputs = exit.commands.outputs.iter();
        let mut counts = outputs.filter_map(|(_, value)| value.parse().ok());
        let killed = counts
            .next()
            .map(|count| machine.causes.lock().killed(count));
        if killed.is_some_and(|killed| killed > 0) {
            let reason = result.reason.get_or_insert_default();
            *reason += &format!(
                ": the machine's memory was used up ({} MiB; `memory` of the machine), and its kernel ended a program",
                machine.mem_mib()
            );
            self.log.error(self.current.number, reason).await;
        }
    }
}
