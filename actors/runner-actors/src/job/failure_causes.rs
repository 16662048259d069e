//! Why a step may have failed, as far as only the machine or its manager knows: what the network
//! refused, and memory that was used up.

use std::collections::BTreeMap;

use http_clients::vmm::RefusedRequest;
use runner_core::state::StepEnd;

use super::frame::StepResult;
use super::proxy_variables::has_network;
use super::step_runner::StepRunner;
use crate::log::LineKind;

/// How often the kernel has ended a program for want of memory, as an output.
const COUNT_KILLED: &str = "sed -n 's/^oom_kill /::set-output name=killed::/p' /proc/vmstat";
/// The exit code of a shell whose program was killed.
const KILLED: i32 = 128 + 9;

/// What was said of a machine already.
#[derive(Debug, Default)]
pub(super) struct ToldCauses {
    refused: BTreeMap<String, u64>,
    killed: u64,
}

impl ToldCauses {
    /// What was refused since it was last asked.
    fn refused(&mut self, now: Vec<RefusedRequest>) -> Option<String> {
        let mut new = Vec::new();
        for RefusedRequest { reason, times } in now {
            let told = self.refused.insert(reason.clone(), times).unwrap_or(0);
            if times > told {
                new.push(format!("{reason} ({})", times - told));
            }
        }
        let what = new.join(", ");
        (!new.is_empty()).then(|| format!("this machine's network refused: {what}"))
    }

    /// How many programs were ended since it was last asked.
    fn killed(&mut self, now: u64) -> u64 {
        let new = now.saturating_sub(self.killed);
        self.killed = now;
        new
    }
}

impl StepRunner<'_> {
    /// Says beside a failure what the step's own output cannot.
    pub(super) async fn explain_failure(&mut self, result: &mut StepResult) {
        let machine = self.machine;
        if has_network(self.request)
            && let Ok(vm) = machine.vmm.get(&machine.id).await
        {
            let text = machine.told.lock().refused(vm.refused);
            if let Some(text) = text {
                self.log.line(self.number, LineKind::Warning, &text).await;
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
        let killed = counts.next().map(|count| machine.told.lock().killed(count));
        if killed.is_some_and(|killed| killed > 0) {
            let reason = result.reason.get_or_insert_default();
            *reason += &format!(
                ": the machine's memory was used up ({} MiB; `memory` of the machine), and its kernel ended a program",
                machine.mem_mib()
            );
            self.log.error(self.number, reason).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_what_the_network_refused_is_said_once() {
        let refused = |reason: &str, times| RefusedRequest {
            reason: reason.to_owned(),
            times,
        };
        let mut told = ToldCauses::default();
        assert_eq!(told.refused(Vec::new()), None);
        let now = vec![refused("a:443 is not listed", 2), refused("b:80 is not", 1)];
        let text = "this machine's network refused: a:443 is not listed (2), b:80 is not (1)";
        assert_eq!(told.refused(now.clone()).as_deref(), Some(text));
        assert_eq!(told.refused(now), None);
        let text = "this machine's network refused: a:443 is not listed (3)";
        let more = vec![refused("a:443 is not listed", 5)];
        assert_eq!(told.refused(more).as_deref(), Some(text));
        assert_eq!((told.killed(1), told.killed(1), told.killed(3)), (1, 0, 2));
    }
}
