//! The caretaker: finds VMs of runs that have ended, and gives them back; has statuses that the forge lost posted again;
//! forgets the oldest runs.
//!
//! A VM is left over when the answer to an order never arrived, when giving it back failed, or when the runner was killed between the
//! order and its record. The manager's leases end those too; this is sooner, and it is counted.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, WrapFuture};
use forge_actors::messages::VerifyStatuses;
use forge_core::{CommitSha, ObjectFormats};
use outbound::vmm::{Vm, VmmClient, VmmError};

use crate::clock::now_ms;
use crate::records::RunRecord;
use crate::rows;
use crate::service::Shared;

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(60);

/// Looks after VMs.
pub(crate) struct Caretaker {
    shared: Arc<Shared>,
}

impl Caretaker {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl Actor for Caretaker {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        let looks = async move {
            let every = shared.settings.caretaker_every.unwrap_or(EVERY);
            loop {
                tokio::time::sleep(every).await;
                let looked = look(&shared).await;
                shared
                    .trouble
                    .set(looked.as_ref().err().map(ToString::to_string));
                if let Err(error) = looked {
                    tracing::debug!(event = "run.caretaker_failed", %error, "the VM manager's VMs cannot be looked at now");
                }
                verify_statuses(&shared).await;
                forget_oldest(&shared).await;
            }
        };
        ctx.spawn(looks.into_actor(self));
    }
}

/// Gives back every VM of ours whose job has ended.
async fn look(shared: &Arc<Shared>) -> Result<(), VmmError> {
    let vmm = crate::service::vmm_client(&shared.settings);
    if shared.leaks.any() {
        // A VM could not be given back: the manager releases what is stuck there.
        let released = vmm.release_stuck().await?;
        for vm in released.released {
            recovered(shared, &vm.id, &vm.reason);
        }
        shared.leaks.clear();
    }
    for vm in vmm.list().await? {
        if is_left_over(shared, &vm).await {
            give_back(shared, &vmm, &vm).await;
        }
    }
    Ok(())
}

/// Forgets the oldest ended runs beyond `keep_runs`: a burst of deliveries comes while nothing has ended yet, and no delivery
/// may follow that would do it.
async fn forget_oldest(shared: &Arc<Shared>) {
    let keep = shared.settings.keep_runs;
    loop {
        let forgotten = shared
            .store
            .write(move |rows| rows::forget_oldest(rows, keep));
        // A store that fails says so itself; the next look does the rest.
        let gone: Vec<String> = forgotten.await.unwrap_or_default();
        if gone.is_empty() {
            return;
        }
        for run in gone {
            shared.remove_files(&run);
        }
    }
}

/// Commits whose statuses are compared with the forge's in one look.
const COMMITS: usize = 20;
/// Runs that ended longer ago are not looked at.
const RECENT_MS: u64 = 600_000;

/// Compares the statuses of runs that go on, or ended lately, with what the forge has.
async fn verify_statuses(shared: &Arc<Shared>) {
    let Some(poster) = &shared.poster else {
        return;
    };
    let Ok(runs) = shared.store.read(|rows| rows::all(rows)).await else {
        return;
    };
    let oldest = now_ms().saturating_sub(RECENT_MS);
    let recent = runs
        .iter()
        .rev()
        .filter(|run| run.ended_at.is_none_or(|at| at > oldest));
    let mut commits: Vec<(&str, &str)> = recent
        .map(|run| (run.repository.as_str(), run.sha.as_str()))
        .collect();
    commits.dedup();
    for (repository, sha) in commits.into_iter().take(COMMITS) {
        let (Ok(repo), Ok(sha)) = (
            repository.parse(),
            CommitSha::parse(sha, ObjectFormats::Sha1AndSha256),
        ) else {
            continue;
        };
        // What the forge misses is due again; what cannot be asked now is asked at the next look.
        let _ = poster.ask(VerifyStatuses { repo, sha }).await;
    }
}

async fn give_back(shared: &Arc<Shared>, vmm: &VmmClient, vm: &Vm) {
    match vmm.delete(&vm.id).await {
        Ok(()) => recovered(shared, &vm.id, "its job has ended"),
        Err(error) => {
            shared.leaks.add();
            tracing::warn!(event = "run.vm_not_returned", vm = %vm.id, %error, "a VM could not be given back; the caretaker tries again");
        }
    }
}

fn recovered(shared: &Arc<Shared>, vm: &str, reason: &str) {
    shared.figures.vm_recovered();
    tracing::warn!(
        event = "run.vm_recovered",
        vm,
        reason,
        "a VM was left over and is given back"
    );
}

/// Whether a VM is of a job of ours that has ended.
async fn is_left_over(shared: &Arc<Shared>, vm: &Vm) -> bool {
    let Some(owner) = vm.owner.as_deref().and_then(Owner::parse) else {
        return false;
    };
    let run = owner.run.to_owned();
    // Others' runs may have the same manager: an unknown run's VM is not ours to end.
    let record = shared.store.read(move |rows| rows::run(rows, &run)).await;
    match record {
        Ok(Some(record)) => owner.has_ended(&record),
        _ => false,
    }
}

/// Which job a VM is of, as its order said.
#[derive(Debug, PartialEq, Eq)]
struct Owner<'a> {
    run: &'a str,
    life: u64,
    index: usize,
}

impl<'a> Owner<'a> {
    /// `run-<run>-<life>-<index>`.
    fn parse(owner: &'a str) -> Option<Self> {
        let (rest, index) = owner.strip_prefix("run-")?.rsplit_once('-')?;
        let (run, life) = rest.rsplit_once('-')?;
        Some(Self {
            run,
            life: life.parse().ok()?,
            index: index.parse().ok()?,
        })
    }

    fn has_ended(&self, record: &RunRecord) -> bool {
        if record.state.is_terminal() || self.life < record.life() {
            return true;
        }
        let job = record.jobs.get(self.index);
        self.life == record.life() && job.is_some_and(|job| job.ended_at.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_name_run_attempt_and_job() {
        let owner = Owner::parse("run-019a-b-c-2-11").unwrap();
        assert_eq!((owner.run, owner.life, owner.index), ("019a-b-c", 2, 11));
        for other in ["build", "run-", "run-a-b", "run-a-x-1", "walk-a-1-1"] {
            assert_eq!(Owner::parse(other), None, "{other}");
        }
    }
}
