//! A kept VM goes back to before a step: for a shell, or for a re-run that begins there.

use std::sync::Arc;

use http_clients::vmm::VmmClient;
use parking_lot::Mutex;

use super::error::ShellOpenError;
use super::{KeptJob, KeptSnapshotView, KeptVm, KeptVms};
use crate::job::{Checkpoint, ShellEnvironment};
use crate::messages::FromStep;
use crate::records::ResumePoint;

/// A kept VM that a job has taken: until this is dropped it is nobody's left-over.
pub(crate) struct TakenVm {
    job: KeptJob,
    taken: Arc<Mutex<Vec<(String, String)>>>,
}

impl TakenVm {
    /// Whose VM it was.
    pub(crate) fn job(&self) -> &KeptJob {
        &self.job
    }
}

impl Drop for TakenVm {
    fn drop(&mut self) {
        let KeptJob { host, vm, .. } = &self.job;
        self.taken
            .lock()
            .retain(|(known, id)| (known, id) != (host, vm));
    }
}

/// Where a job goes on.
pub(crate) struct ResumedVm {
    /// The run whose VM it was.
    pub(crate) run: String,
    /// What the job was then.
    pub(crate) checkpoint: Checkpoint,
    /// All that the VM can go back to, the oldest first.
    pub(crate) checkpoints: Vec<Checkpoint>,
}

impl KeptVm {
    /// What it can go back to, for people.
    pub(super) fn snapshots(&self) -> Vec<KeptSnapshotView> {
        let checkpoints = self.job.checkpoints.iter();
        checkpoints
            .map(|checkpoint| KeptSnapshotView {
                step: checkpoint.step,
                name: checkpoint.name.clone(),
                bytes: checkpoint.bytes,
            })
            .collect()
    }

    /// What it was before a step.
    fn checkpoint(&self, step: u32) -> Result<&Checkpoint, ShellOpenError> {
        let mut checkpoints = self.job.checkpoints.iter();
        let found = checkpoints.find(|checkpoint| checkpoint.step == step);
        found.ok_or_else(|| ShellOpenError::NoSnapshot {
            job: self.job.name.clone(),
            step,
            why: there_is(&self.job.checkpoints),
        })
    }

    /// Whether it can be as it was before a step now.
    pub(super) fn goes_back_to(&self, step: u32) -> Result<(), ShellOpenError> {
        self.checkpoint(step)?;
        self.unused()
    }

    /// Nobody is in it.
    fn unused(&self) -> Result<(), ShellOpenError> {
        match self.shells {
            0 => Ok(()),
            _ => Err(ShellOpenError::InUse(self.job.name.clone())),
        }
    }
}

/// The steps that can be gone back to, in words.
fn there_is(checkpoints: &[Checkpoint]) -> String {
    if checkpoints.is_empty() {
        return "no snapshots were taken between its steps; run it again with `snapshots`"
            .to_owned();
    }
    let steps = checkpoints.iter().map(|known| known.step.to_string());
    let steps: Vec<String> = steps.collect();
    format!("it was kept before the steps {}", steps.join(", "))
}

impl KeptVms {
    /// Where a re-run begins, if the VM is kept and was kept before that step.
    pub(crate) fn resume_point(
        &self,
        run: &str,
        from: &FromStep,
    ) -> Result<ResumePoint, ShellOpenError> {
        let kept = self.find(run, from.job.as_deref())?;
        kept.goes_back_to(from.step)?;
        Ok(ResumePoint {
            run: kept.job.run,
            key: kept.job.key,
            instance: kept.job.instance,
            step: from.step,
        })
    }

    /// Gives the VM to a job that goes on in it: it is not kept any more.
    pub(crate) async fn take(
        &self,
        point: &ResumePoint,
    ) -> Result<(TakenVm, ResumedVm), ShellOpenError> {
        let is_it = |kept: &KeptVm| {
            let job = &kept.job;
            job.run == point.run && job.key == point.key && job.instance == point.instance
        };
        let place = |vms: &[KeptVm]| {
            let found = vms.iter().position(is_it);
            found.ok_or_else(|| ShellOpenError::none(&point.run))
        };
        let turn = {
            let vms = self.vms.lock();
            Arc::clone(&vms[place(&vms)?].turn)
        };
        let _turn = turn.lock().await;
        let mut vms = self.vms.lock();
        let index = place(&vms)?;
        vms[index].unused()?;
        let checkpoint = vms[index].checkpoint(point.step)?.clone();
        let job = vms.remove(index).job;
        drop(vms);
        self.taken.lock().push((job.host.clone(), job.vm.clone()));
        let resumed = ResumedVm {
            run: job.run.clone(),
            checkpoint,
            checkpoints: job.checkpoints.to_vec(),
        };
        let taken = Arc::clone(&self.taken);
        Ok((TakenVm { job, taken }, resumed))
    }

    /// Lets a kept VM be as it was before a step; what a shell begins with there. The caller has
    /// the turn.
    pub(super) async fn restore(
        &self,
        vmm: &VmmClient,
        kept: &KeptVm,
        step: u32,
    ) -> Result<ShellEnvironment, ShellOpenError> {
        kept.unused()?;
        let checkpoint = kept.checkpoint(step)?;
        let vm = &kept.job.vm;
        vmm.restore_snapshot(vm, &checkpoint.snapshot).await?;
        self.change(vm, |kept| {
            kept.paused = false;
            kept.at_step = Some(step);
        });
        Ok(checkpoint.shell.clone())
    }

    /// What a shell begins with in a VM as it is.
    pub(super) fn shell_of(kept: &KeptVm) -> ShellEnvironment {
        let at_step = kept.at_step.and_then(|step| kept.checkpoint(step).ok());
        at_step.map_or_else(|| kept.job.shell.clone(), |it| it.shell.clone())
    }
}
