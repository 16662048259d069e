//! The garbage collector: gives VMs of runs that have ended back, has statuses that the forge lost
//! posted again, forgets the oldest runs.
//!
//! A VM is left over when the answer to a request never arrived, when giving it back failed, or
//! when the runner was killed between the request and its record. The manager's leases end those
//! too; this is sooner, and it is counted.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext as _, Context, WrapFuture as _};
use cluster_actors::vm_hosts::VmHosts;
use forge_actors::OutboxWorker;
use forge_actors::messages::VerifyStatuses;
use forge_core::{CommitSha, ObjectFormats};
use http_clients::vmm::{VmView, VmmClient, VmmError};
use store::{Store, StoreError};
use supervision::{ChildRef, FirstRound, start_rounds};

use crate::clock::now_ms;
use crate::counters::RunCounters;
use crate::kept::KeptVms;
use crate::ledger::RunRecorder;
use crate::rows;
use crate::rows::outlines::{OpenRuns, RunOutline};
use crate::run_files::{RunCleanupState, RunFiles};
use crate::settings::RunnerSettings;
use crate::vm_owner::VmOwner;

/// Time between two collections.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(60);
/// Shortest time between two looks after files.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Collections from one look at the retention of all artifacts to the next: an hour.
const EXPIRY_ROUNDS: u64 = 60;
/// Commits whose statuses are compared with the forge's in one collection.
const MAX_VERIFIED_COMMITS: usize = 20;
/// Statuses of runs that ended longer ago are not compared.
const RECENT_MS: u64 = 600_000;
/// The same in the first collection: another process may have led before, and what it had on its
/// way to the forge may have come behind what followed.
const RECENT_AT_FIRST_MS: u64 = 3_600_000;

/// Removes what ended runs left.
#[derive(Clone)]
pub(crate) struct RunGarbageCollector {
    settings: Arc<RunnerSettings>,
    hosts: VmHosts,
    store: Store,
    files: RunFiles,
    /// Posts statuses that the forge has lost.
    outbox: Option<ChildRef<OutboxWorker>>,
    counters: Arc<RunCounters>,
    /// VMs that somebody may want to look into.
    kept: KeptVms,
}

impl RunGarbageCollector {
    pub(crate) fn new(
        settings: &Arc<RunnerSettings>,
        recorder: &RunRecorder,
        files: RunFiles,
        hosts: VmHosts,
        kept: KeptVms,
    ) -> Self {
        Self {
            settings: Arc::clone(settings),
            store: recorder.store.clone(),
            files,
            outbox: recorder.outbox.clone(),
            hosts,
            counters: Arc::clone(&recorder.counters),
            kept,
        }
    }
}

impl Actor for RunGarbageCollector {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let interval = self.settings.gc_interval.unwrap_or(DEFAULT_INTERVAL);
        let collector = self.clone();
        // Each host by itself: one that says nothing holds up no other, and no status.
        let collections = self.hosts.clone().run_for_each(move |index| {
            let collector = collector.clone();
            async move {
                loop {
                    tokio::time::sleep(interval).await;
                    collector.collect_host(index).await;
                }
            }
        });
        ctx.spawn(collections.into_actor(self));
        let (collector, mut state) = (self.clone(), RunCleanupState::default());
        let objects = self.settings.objects.as_ref();
        let every = files_interval(objects.map(|objects| objects.sweep_every), interval);
        let when = (FirstRound::AfterInterval, every);
        start_rounds(ctx, when, async move || {
            state = collector.maintain_files(std::mem::take(&mut state)).await;
        });
        let when = (FirstRound::AfterInterval, interval);
        let collector = self.clone();
        let mut open = OpenRuns::default();
        let mut round: u64 = 0;
        start_rounds(ctx, when, async move || {
            let last = std::mem::take(&mut open);
            open = collector.verify_statuses(last, round == 0).await;
            collector.forget_oldest().await;
            if round.is_multiple_of(EXPIRY_ROUNDS) {
                collector.remove_expired().await;
            }
            round += 1;
        });
    }
}

impl RunGarbageCollector {
    async fn collect_host(&self, index: usize) {
        // That it gives VMs again is for its watcher to say.
        if let Err(error) = self.collect_vms(index).await {
            self.hosts.record_trouble(index, Some(error.to_string()));
            let host = self.hosts.name(index);
            tracing::debug!(event = "run.gc_failed", host, %error, "the VM manager's VMs cannot be looked at now");
        }
    }

    /// Looks after what runs have on the disk, and what is shared with other processes.
    async fn maintain_files(&self, mut state: RunCleanupState) -> RunCleanupState {
        let (files, store) = (self.files.clone(), self.store.clone());
        let tended = tokio::task::spawn_blocking(move || {
            files.maintain(&store, &mut state);
            state
        });
        tended.await.unwrap_or_default()
    }

    /// Artifacts that are kept for some days go when those are over.
    async fn remove_expired(&self) {
        let files = self.files.clone();
        let removal = tokio::task::spawn_blocking(move || files.remove_expired());
        // It was ended with the process.
        let _ = removal.await;
    }

    /// Gives back every VM of ours on a host whose job has ended, or has another VM.
    async fn collect_vms(&self, index: usize) -> Result<(), VmmError> {
        let vmm = self.hosts.client(index);
        if self.hosts.has_leak(index) {
            // A VM could not be given back: the manager releases what is stuck there.
            let released = vmm.release_stuck().await?;
            for vm in released.released {
                self.record_recovered(&vm.id, &vm.reason);
            }
            self.hosts.clear_leak(index);
        }
        for vm in vmm.list().await? {
            if let Some(why) = self.left_over(&self.hosts.name(index), &vm).await {
                self.release_vm(&vmm, index, &vm, why).await;
            }
        }
        Ok(())
    }

    async fn release_vm(&self, vmm: &VmmClient, index: usize, vm: &VmView, why: &str) {
        match vmm.delete(&vm.id).await {
            Ok(()) => self.record_recovered(&vm.id, why),
            Err(error) => {
                self.hosts.report_leak(index);
                tracing::warn!(event = "run.vm_not_returned", vm = %vm.id, %error, "a VM could not be given back; the garbage collector tries again");
            }
        }
    }

    fn record_recovered(&self, vm: &str, reason: &str) {
        self.counters.vm_recovered();
        tracing::warn!(
            event = "run.vm_recovered",
            vm,
            reason,
            "a VM was left over and is given back"
        );
    }

    /// Why a VM of ours is nobody's any more.
    async fn left_over(&self, host: &str, vm: &VmView) -> Option<&'static str> {
        if self.kept.contains(host, &vm.id) {
            return None;
        }
        let owner = vm.owner.as_deref().and_then(VmOwner::parse)?;
        let run = owner.run.to_owned();
        // Others' runs may have the same manager: an unknown run's VM is not ours to end.
        let record = self.store.read(move |rows| rows::run(rows, &run)).await;
        let record = record.ok().flatten()?;
        // Again: a job that ended meanwhile may have left its VM to be kept.
        if self.kept.contains(host, &vm.id) {
            return None;
        }
        if owner.has_ended(&record) {
            return Some("its job has ended");
        }
        owner
            .has_another(&record, host, &vm.id)
            .then_some("its job has a VM of another host")
    }

    /// Forgets the oldest ended runs beyond `keep_runs`: a burst of deliveries comes while nothing
    /// has ended yet, and no delivery may follow that would do it.
    async fn forget_oldest(&self) {
        let keep = self.settings.keep_runs;
        loop {
            let forgotten = self
                .store
                .write(move |rows| rows::forget_oldest(rows, keep));
            // A store that fails says so itself; the next collection does the rest.
            let forgotten: Vec<String> = forgotten.await.unwrap_or_default();
            if forgotten.is_empty() {
                return;
            }
            self.files.remove(forgotten);
        }
    }

    /// Compares the statuses of runs that go on, or ended lately, with what the forge has.
    async fn verify_statuses(&self, mut open: OpenRuns, is_first: bool) -> OpenRuns {
        let Some(outbox) = &self.outbox else {
            return open;
        };
        let (recent, most) = match is_first {
            true => (RECENT_AT_FIRST_MS, usize::MAX),
            false => (RECENT_MS, MAX_VERIFIED_COMMITS),
        };
        let oldest = now_ms().saturating_sub(recent);
        let looked = self.store.read(move |rows| {
            let runs = open.load(rows, oldest)?;
            Ok::<_, StoreError>((open, runs))
        });
        // All are looked at again at the next collection.
        let Ok((open, runs)) = looked.await else {
            return OpenRuns::default();
        };
        for (repository, sha) in commits_to_verify(&runs, most) {
            let (Ok(repo), Ok(sha)) = (
                repository.parse(),
                CommitSha::parse(sha, ObjectFormats::Sha1AndSha256),
            ) else {
                continue;
            };
            // What the forge misses is due again; what cannot be asked now is asked at the next
            // collection.
            let _ = outbox.ask(VerifyStatuses { repo, sha }).await;
        }
        open
    }
}

/// Time between two looks after files: `interval`, or less where objects are swept more often.
fn files_interval(sweep_every: Option<Duration>, interval: Duration) -> Duration {
    sweep_every.map_or(interval, |every| interval.min(every.max(MIN_INTERVAL)))
}

/// The commits of runs, the newest first, each once, and not more than `most`.
fn commits_to_verify(runs: &[RunOutline], most: usize) -> Vec<(&str, &str)> {
    let mut seen = HashSet::new();
    let commits = runs.iter().rev();
    let commits = commits.map(|run| (run.repository.as_str(), run.sha.as_str()));
    commits
        .filter(|commit| seen.insert(*commit))
        .take(most)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use runner_core::state::RunState;

    #[test]
    fn i18_files_are_looked_after_as_often_as_objects_are_swept() {
        let seconds = Duration::from_secs;
        for (sweep, interval, expected) in [
            (None, 60, 60),
            (Some(3_600), 60, 60),
            (Some(5), 60, 5),
            (Some(0), 60, 1),
        ] {
            let every = files_interval(sweep.map(seconds), seconds(interval));
            assert_eq!(every, seconds(expected), "{sweep:?}");
        }
    }

    #[test]
    fn i18_each_commit_that_matters_is_compared_once_the_newest_first() {
        let run = |number: u64| RunOutline {
            id: number.to_string(),
            state: RunState::Running,
            repository: "acme/rocket".to_owned(),
            sha: format!("{number:040}"),
            created_at: 0,
            ended_at: None,
            holds_group: false,
        };
        let mut runs: Vec<RunOutline> = (0..50).map(run).collect();
        runs.push(run(49));
        let later = commits_to_verify(&runs, MAX_VERIFIED_COMMITS);
        assert_eq!(later.len(), MAX_VERIFIED_COMMITS);
        assert_eq!(later[1].1, format!("{:040}", 48));
        assert_eq!(commits_to_verify(&runs, usize::MAX).len(), 50);
    }
}
