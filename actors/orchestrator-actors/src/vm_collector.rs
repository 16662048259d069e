//! Gives VMs back that no run has: the answer to a request never came, or the orchestrator was
//! killed between the request and its record. Their leases end those too; this is sooner.
//!
//! ```text
//! VmCollector ──GET /vms──▶ VM managers ── whose is it? ──▶ store ──DELETE──▶ VM managers
//! ```

use std::time::Duration;

use actix::{Actor, AsyncContext as _, Context, WrapFuture as _};
use cluster_actors::vm_hosts::VmHosts;
use forge_core::RunId;
use http_clients::vmm::VmView;
use orchestrator_core::run::{AgentRunState, Run};

use crate::ledger::{self, Ledger, RunVm};

/// Between two looks, which are one small request to each host.
const INTERVAL: Duration = Duration::from_secs(10);
/// Before the id of the run in the name of a VM's owner.
pub(crate) const OWNER: &str = "orch-";

/// The actor.
#[derive(Clone)]
pub(crate) struct VmCollector {
    pub(crate) hosts: VmHosts,
    pub(crate) ledger: Ledger,
}

impl Actor for VmCollector {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let collector = self.clone();
        // Each host by itself: one that says nothing holds up no other.
        let looks = self.hosts.clone().run_for_each(move |index| {
            let collector = collector.clone();
            async move {
                loop {
                    tokio::time::sleep(INTERVAL).await;
                    collector.collect_host(index).await;
                }
            }
        });
        ctx.spawn(looks.into_actor(self));
    }
}

impl VmCollector {
    /// Looks at the VMs of one host. That it does not answer is for its watcher to say.
    async fn collect_host(&self, index: usize) {
        let vmm = self.hosts.client(index);
        for vm in vmm.list().await.unwrap_or_default() {
            let Some(run) = vm.owner.as_deref().and_then(run_of) else {
                continue;
            };
            let read = self.ledger.read(move |rows| {
                let known = ledger::run_vm(rows, &run)?;
                Ok((ledger::run_record(rows, &run)?, known))
            });
            let Ok((Some(run), known)) = read.await else {
                // Other orchestrators may have the same hosts: an unknown run's VM is not ours.
                continue;
            };
            if !is_left_over(&run, known.as_ref(), (&self.hosts.name(index), &vm)) {
                continue;
            }
            match vmm.delete(&vm.id).await {
                Ok(()) => tracing::warn!(
                    event = "run.vm_recovered", vm = %vm.id, reason = "no run has it",
                    "a VM was left over and is given back"
                ),
                Err(error) => tracing::warn!(
                    event = "run.vm_not_returned", vm = %vm.id, %error,
                    "a VM could not be given back; it is tried again, and its lease ends it"
                ),
            }
        }
    }
}

/// The run that a VM was asked for.
fn run_of(owner: &str) -> Option<RunId> {
    owner.strip_prefix(OWNER)?.parse().ok()
}

/// Whether a run that asked for a VM does not have it (any more). `known` is the one that its
/// record names; by the name of its host, as that may be the same machine at another address.
fn is_left_over(run: &Run, known: Option<&RunVm>, (host, vm): (&str, &VmView)) -> bool {
    match run.state {
        // Its request may be under way, until the record names what came of it.
        AgentRunState::Starting => false,
        AgentRunState::Running => {
            known.is_some_and(|known| (known.host.as_str(), &known.vm) != (host, &vm.id))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(state: AgentRunState) -> Run {
        let run = serde_json::json!({
            "id": "r1", "project": "main", "agent": "dev", "home": "main", "repository": "acme/main",
            "subject": {"schedule": {"due": 5}}, "trigger": "schedule", "priority": "core", "depth": 1,
            "state": state, "reason": null, "status": null, "ending": null, "queued_at": 7,
            "started_at": null, "ended_at": null, "process": null, "worktree": null, "exit": null,
            "provider": null, "check_author": false,
        });
        serde_json::from_value(run).expect("a run")
    }

    #[test]
    fn i18_a_vm_is_left_over_when_its_run_does_not_have_it() {
        let vm: VmView = serde_json::from_value(
            serde_json::json!({"id": "vm-1", "state": "ready", "isolation": "emulated-vm"}),
        )
        .expect("a VM");
        let known = |host: &str, vm: &str| RunVm {
            host: host.to_owned(),
            place: None,
            vm: vm.to_owned(),
            isolation: None,
        };
        let own = known("east", "vm-1");
        for (state, known, left) in [
            (AgentRunState::Queued, None, true),
            (AgentRunState::Starting, None, false),
            (AgentRunState::Running, Some(own.clone()), false),
            (AgentRunState::Running, Some(known("west", "vm-1")), true),
            (AgentRunState::Running, Some(known("east", "vm-2")), true),
            // A process of this machine, or a record that is about to come.
            (AgentRunState::Running, None, false),
            (AgentRunState::Exited, Some(own), true),
            (AgentRunState::Cancelled, None, true),
        ] {
            let found = is_left_over(&run(state), known.as_ref(), ("east", &vm));
            assert_eq!(found, left, "{state} {known:?}");
        }
        assert_eq!(
            run_of("orch-r1").map(|run| run.to_string()),
            Some("r1".to_owned())
        );
        assert_eq!(run_of("run-r1-1-0"), None);
    }
}
