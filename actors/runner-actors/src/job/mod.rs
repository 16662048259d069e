//! One job on one machine: steps in order, conditions, outputs, environment, masking, the end.
//!
//! ```text
//! WorkflowRun ──JobOrder──▶ run_job ──▶ Machine (outbound::vmm) ──▶ VM
//!      ▲                       │ lines, masked ──▶ Logs
//!      └── JobEvent: Allocated, StepEnded, … and at last the JobReport
//! ```

mod composite;
mod execute;
mod frame;
mod hash;
mod machine;
mod native;
mod output;
mod packing;
mod process;
mod steps;
mod stores;
mod tar_guard;
mod tarball;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use outbound::vmm::{NewVm, VmmClient};
use runner_core::context::RunFacts;
use runner_core::event::EventContext;
use runner_core::expr::Contexts;
use runner_core::plan::{JobInstance, Plan};
use runner_core::state::Conclusion;
use tokio::sync::watch;

use crate::log::Logs;
use crate::records::{JobEnd, StepRecord};
use crate::service::{Leaks, VmmTrouble};
pub(crate) use stores::{Pending, hashed};
pub use stores::{Stored, Stores};
#[cfg(test)]
pub(crate) use tar_guard::tar_of;

/// Everything a job needs to run.
#[derive(Clone)]
pub(crate) struct JobOrder {
    pub(crate) run: String,
    /// The key of the VM's order: the same after a repeated call, another for another attempt.
    pub(crate) vm_key: String,
    pub(crate) plan: Arc<Plan>,
    /// Index into the plan's jobs.
    pub(crate) job: usize,
    pub(crate) instance: JobInstance,
    /// github, vars, secrets, needs, inputs.
    pub(crate) contexts: Contexts,
    pub(crate) event: Arc<EventContext>,
    pub(crate) facts: RunFacts,
    /// What is masked in all output.
    pub(crate) secrets: Vec<String>,
    /// The commit's files with `.git`, on the host.
    pub(crate) checkout: PathBuf,
    pub(crate) vm: NewVm,
    /// Longest wait for a VM.
    pub(crate) patience: Duration,
    pub(crate) stores: Stores,
    pub(crate) leaks: Leaks,
    pub(crate) trouble: VmmTrouble,
}

/// What a job tells while it runs.
#[derive(Debug, Clone)]
pub(crate) enum JobEvent {
    /// It has a machine.
    Allocated {
        /// The VM's id.
        vm: String,
        /// How well it is separated.
        isolation: Option<String>,
    },
    /// A step began.
    StepStarted(StepRecord),
    /// A step ended.
    StepEnded(StepRecord),
}

/// How a job ended.
#[derive(Debug, Clone)]
pub(crate) struct JobReport {
    pub(crate) conclusion: Conclusion,
    /// More than the conclusion says: the machine went away, the time was over.
    pub(crate) kind: JobEnd,
    pub(crate) reason: Option<String>,
    pub(crate) outputs: Vec<(String, String)>,
    /// It asks for what is not to be had here.
    pub(crate) refused: bool,
}

impl JobReport {
    /// No machine is configured for its labels.
    pub(crate) fn no_machine(labels: &[String]) -> Self {
        let reason = format!(
            "refused: no machine is configured for the labels {}; the operator can add one, or a machine `default`",
            labels.join(", ")
        );
        Self {
            refused: true,
            ..Self::failed(JobEnd::Usual, reason)
        }
    }

    fn failed(kind: JobEnd, reason: String) -> Self {
        Self {
            conclusion: Conclusion::Failure,
            kind,
            reason: Some(reason),
            outputs: Vec::new(),
            refused: false,
        }
    }
}

/// Runs a job to its end. `cancel` becomes true when it shall end early: steps that say `always()` or `cancelled()` still run.
pub(crate) async fn run_job(
    order: JobOrder,
    vmm: VmmClient,
    logs: Logs,
    mut cancel: watch::Receiver<bool>,
    tell: Rc<dyn Fn(JobEvent)>,
) -> JobReport {
    let say = Voice::new(&order, logs);
    if *cancel.borrow() {
        return cancelled();
    }
    let wish = machine::Wish {
        key: order.vm_key.clone(),
        vm: order.vm.clone(),
        patience: order.patience,
        leaks: order.leaks.clone(),
        trouble: order.trouble.clone(),
    };
    let machine = tokio::select! {
        machine = machine::Machine::allocate(vmm, wish, &say) => machine,
        _ = cancel.wait_for(|cancelled| *cancelled) => return cancelled(),
    };
    let machine = match machine {
        Ok(machine) => machine,
        Err(error) => {
            let reason = format!("no VM: {error}");
            say.error(0, &reason).await;
            let kind = if error.is_temporary() {
                JobEnd::Lost
            } else {
                JobEnd::Usual
            };
            return JobReport::failed(kind, reason);
        }
    };
    tracing::info!(event = "run.vm_allocated", run = %order.run, vm = %machine.id, "allocated VM {}", machine.id);
    let isolation = machine.isolation.map(|isolation| isolation.to_string());
    let label = isolation
        .clone()
        .unwrap_or_else(|| "unknown isolation".to_owned());
    say.info(0, &format!("allocated VM {} ({label})", machine.id))
        .await;
    tell(JobEvent::Allocated {
        vm: machine.id.clone(),
        isolation,
    });
    let minutes = order.instance.timeout_minutes;
    let limit = Duration::from_secs_f64((minutes * 60.0).clamp(1.0, 7.0 * 24.0 * 3600.0));
    let mut runner = steps::Runner::new(&order, &machine, &say, cancel, tell);
    let report = match tokio::time::timeout(limit, runner.run()).await {
        Ok(report) => report,
        Err(_) => {
            let reason = format!("the job took longer than its {minutes} minutes");
            say.error(0, &reason).await;
            JobReport::failed(JobEnd::TimedOut, reason)
        }
    };
    drop(runner);
    machine.give_back().await;
    say.logs.flush().await;
    report
}

fn cancelled() -> JobReport {
    JobReport {
        conclusion: Conclusion::Cancelled,
        kind: JobEnd::Usual,
        reason: Some("cancelled before it had a machine".to_owned()),
        outputs: Vec::new(),
        refused: false,
    }
}

/// Writes lines of one job.
#[derive(Clone)]
pub(crate) struct Voice {
    logs: Logs,
    run: String,
    job: String,
}

impl Voice {
    fn new(order: &JobOrder, logs: Logs) -> Self {
        Self {
            logs,
            run: order.run.clone(),
            job: order.instance.name.clone(),
        }
    }

    pub(crate) async fn info(&self, step: u32, text: &str) {
        self.line(step, crate::log::LineKind::Info, text).await;
    }

    pub(crate) async fn error(&self, step: u32, text: &str) {
        self.line(step, crate::log::LineKind::Error, text).await;
    }

    pub(crate) async fn line(&self, step: u32, kind: crate::log::LineKind, text: &str) {
        for text in text.lines().chain(text.is_empty().then_some("")) {
            let line = crate::log::LogLine {
                at: crate::clock::now_ms(),
                job: self.job.clone(),
                step,
                kind,
                text: text.to_owned(),
            };
            self.logs.write(&self.run, line).await;
        }
    }
}
