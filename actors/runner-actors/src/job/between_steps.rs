//! Taking checkpoints between steps, and taking one up: see [`Checkpoint`].

use http_clients::vmm::{SnapshotName, VmmError};
use runner_core::context::{OWN_DIRECTORY, WORKSPACE};
use runner_core::plan::PlannedStep;
use runner_core::retention::excess_snapshots;

use super::checkpoint::{Checkpoint, JobState};
use super::frame::{Frame, ProcessOwner};
use super::shell_start::ShellStart;
use super::step_runner::StepRunner;
use crate::clock::now_ms;
use crate::log::LineKind;

impl StepRunner<'_> {
    /// Keeps the job as it is before a step, where snapshots are asked for and can be had.
    pub(super) async fn checkpoint(&mut self, position: usize, step: &PlannedStep, frame: &Frame) {
        let is_over = frame.failed || self.is_cancelled();
        if !self.request.retention.snapshots || self.progress.checkpoints.stopped || is_over {
            return;
        }
        let number = self.current.number + 1;
        let mut taken = self.progress.checkpoints.taken.iter();
        if taken.any(|taken| taken.step == number) {
            // The one it has gone back to.
            return;
        }
        // Of another attempt there may be one of this step that could not be deleted.
        let name = format!("step-{number}-{}", now_ms());
        let Ok(snapshot) = name.parse::<SnapshotName>() else {
            return;
        };
        let (vmm, vm) = (&self.machine.vmm, &self.machine.id);
        match vmm.take_snapshot(vm, &snapshot).await {
            Ok(view) => {
                let name = self.step_name(step, frame);
                tracing::info!(event = "run.snapshot_taken", run = %self.request.run, vm = %vm, step = number, bytes = view.bytes, took_ms = view.took_ms, "a snapshot before a step");
                let taken = self.checkpoint_of(frame, (position, number), (snapshot, view.bytes));
                self.progress.checkpoints.taken.push(Checkpoint {
                    name: self.secrets.mask(&name),
                    ..taken
                });
                self.forget_excess().await;
            }
            Err(VmmError::Isolation(reason) | VmmError::Refused(reason)) if position == 0 => {
                let text = format!("no snapshots are taken between steps: {reason}");
                self.stop_checkpoints(&text).await;
            }
            Err(error) => {
                let text = format!("no snapshot before this step: {error}");
                self.log.line(number, LineKind::Warning, &text).await;
            }
        }
    }

    async fn stop_checkpoints(&mut self, text: &str) {
        self.progress.checkpoints.stopped = true;
        self.log.line(0, LineKind::Warning, text).await;
    }

    fn checkpoint_of(
        &self,
        frame: &Frame,
        (position, step): (usize, u32),
        (snapshot, bytes): (SnapshotName, u64),
    ) -> Checkpoint {
        let owner = ProcessOwner {
            id: "__run".to_owned(),
            action_path: None,
            action: None,
            env: Vec::new(),
        };
        let mut shell = ShellStart::default();
        let env = self.process_env(&owner, OWN_DIRECTORY, Vec::new());
        let mut start = self
            .containers
            .start_of(&env, WORKSPACE, &self.variables.path);
        if let Some(user) = self
            .machine
            .user
            .get()
            .filter(|_| start.container.is_none())
        {
            user.add_to(&mut start.env);
            start.user = Some(user.clone());
        }
        shell.failed(start);
        let with_secrets = self.request.retention.kept.shows_secrets();
        Checkpoint {
            step,
            name: String::new(),
            snapshot,
            bytes,
            shell: shell.environment(&self.secrets.snapshot(), with_secrets),
            position,
            planned: self.progress.planned_steps,
            state: JobState {
                steps: frame.steps.clone(),
                variables: self.variables.clone(),
                number: self.current.number,
                counts: self.counters.now(),
                trees: self.checkouts.trees.clone(),
                keys: self.checkouts.keys.clone(),
                caches: self.caches.clone(),
                node_actions: self.node_actions.clone(),
                containers: self.containers.clone(),
                secrets: self.secrets.snapshot(),
                forge_token: self.checkouts.forge_token.clone(),
                records: self.progress.records.clone(),
            },
        }
    }

    /// Gives up the oldest snapshots beyond the limits.
    async fn forget_excess(&mut self) {
        let limits = self.request.retention.kept.snapshot_limits();
        let sizes = self
            .progress
            .checkpoints
            .taken
            .iter()
            .map(|taken| taken.bytes);
        let excess = excess_snapshots(&sizes.collect::<Vec<_>>(), limits);
        let gone: Vec<Checkpoint> = self.progress.checkpoints.taken.drain(..excess).collect();
        self.forget_snapshots(&gone).await;
    }

    async fn forget_snapshots(&self, gone: &[Checkpoint]) {
        let (vmm, vm) = (&self.machine.vmm, &self.machine.id);
        for checkpoint in gone {
            // One that stays takes room until the VM's end, and nothing else.
            if let Err(error) = vmm.delete_snapshot(vm, &checkpoint.snapshot).await {
                tracing::warn!(event = "run.snapshot_stays", vm = %vm, %error, "a snapshot cannot be deleted");
            }
        }
    }

    /// Takes up what the job was at a checkpoint; `frame` is a new one's. The VM is there already.
    pub(super) async fn restore_checkpoint(
        &mut self,
        from: &str,
        checkpoint: &Checkpoint,
        frame: &mut Frame,
    ) {
        let mut taken = self.progress.checkpoints.taken.iter();
        let later = taken.position(|taken| taken.step > checkpoint.step);
        if let Some(later) = later {
            let gone: Vec<Checkpoint> = self.progress.checkpoints.taken.drain(later..).collect();
            self.forget_snapshots(&gone).await;
        }
        let state = checkpoint.state.clone();
        frame.steps = state.steps;
        self.variables = state.variables;
        self.current.number = state.number;
        self.counters.set(state.counts);
        self.checkouts.trees = state.trees;
        self.checkouts.keys = state.keys;
        self.caches = state.caches;
        self.node_actions = state.node_actions;
        self.containers = state.containers;
        self.secrets.replace(state.secrets);
        for secret in self.new_secrets() {
            self.secrets.add(&secret);
        }
        let text = format!(
            "goes on in the VM of the run {from}, before step {}, {}",
            checkpoint.step, checkpoint.name
        );
        self.log.info(0, &text).await;
        for done in state.records {
            self.repeat_record(done).await;
        }
    }
}
