//! One job on one machine: steps in order, conditions, outputs, environment, masking, the end.
//!
//! ```text
//! WorkflowRun ──JobRequest──▶ run_job ──▶ Machine (http_clients::vmm) ──▶ VM
//!      ▲                        │ lines, masked ──▶ Logs
//!      └── JobEvents: Allocated, StepEnded, … and at last the JobReport
//! ```

mod checked_out;
mod checkout;
mod composite;
mod container_state;
mod containers;
mod deferred;
mod execute;
mod frame;
mod hash;
mod log_writer;
mod machine;
mod machine_hash;
mod native;
mod node;
mod node_state;
mod output;
mod packing;
mod process;
mod project_tests;
mod protocol;
mod shell_start;
mod step_runner;
mod steps;
mod test_reports;

use std::sync::Arc;
use std::time::Duration;

use http_clients::vmm::VmmClient;
use runner_core::state::Conclusion;
use tokio::sync::watch;

use crate::kept::KeptJob;
use crate::log::{LineKind, Logs};
use crate::records::JobEnd;
use log_writer::LogWriter;
use machine::{Machine, MachineRequest};
pub(crate) use project_tests::ProjectTests;
pub(crate) use protocol::{JobEvent, JobEvents, JobReport, JobRequest};
use shell_start::ShellEnvironment;
use step_runner::StepRunner;

/// Runs a job to its end. `cancel` becomes true when it shall end early: steps that say `always()`
/// or `cancelled()` still run.
pub(crate) async fn run_job(
    request: JobRequest,
    vmm: VmmClient,
    logs: Logs,
    mut cancel: watch::Receiver<bool>,
    events: JobEvents,
) -> JobReport {
    let log = LogWriter::new(&request, logs);
    if *cancel.borrow() {
        return cancelled();
    }
    let wanted = MachineRequest {
        key: request.vm_key.clone(),
        vm: request.vm.clone(),
        hosted_vm: request.hosted_vm.clone(),
        timeout: request.vm_timeout,
        status: request.vmm_status.clone(),
    };
    let machine = tokio::select! {
        machine = Machine::allocate(vmm, wanted, &log) => machine,
        _ = cancel.wait_for(|cancelled| *cancelled) => return cancelled(),
    };
    let machine = match machine {
        Ok(machine) => machine,
        Err(error) => {
            let reason = format!("no VM: {error}");
            log.error(0, &reason).await;
            let end = if error.is_temporary() {
                JobEnd::Lost
            } else {
                JobEnd::Usual
            };
            return JobReport::failed(end, reason);
        }
    };
    tracing::info!(event = "run.vm_allocated", run = %request.run, vm = %machine.id, "allocated VM {}", machine.id);
    let isolation = machine.isolation.map(|isolation| isolation.to_string());
    let label = isolation
        .clone()
        .unwrap_or_else(|| "unknown isolation".to_owned());
    log.info(0, &format!("allocated VM {} ({label})", machine.id))
        .await;
    let vm = machine.id.clone();
    events.send(JobEvent::Allocated { vm, isolation }).await;
    let minutes = request.instance.timeout_minutes;
    let limit = Duration::from_secs_f64((minutes * 60.0).clamp(1.0, 7.0 * 24.0 * 3600.0));
    let mut runner = StepRunner::new(&request, &machine, &log, cancel, events);
    let mut report = match tokio::time::timeout(limit, runner.run()).await {
        Ok(report) => report,
        Err(_) => {
            let reason = format!("the job took longer than its {minutes} minutes");
            log.error(0, &reason).await;
            JobReport::failed(JobEnd::TimedOut, reason)
        }
    };
    let shell = runner.shell_environment();
    if report.end != JobEnd::Lost {
        report.tests = Box::pin(runner.read_tests()).await.map(Arc::new);
    }
    drop(runner);
    if keeps(&request, &report) {
        keep(&request, machine, shell, &log).await;
    } else {
        machine.give_back().await;
    }
    log.store().await;
    report
}

/// Whether somebody may want to look into the job's machine.
fn keeps(request: &JobRequest, report: &JobReport) -> bool {
    let is_there = matches!(report.end, JobEnd::Usual | JobEnd::TimedOut) && !report.refused;
    request.keep && is_there && report.conclusion == Conclusion::Failure
}

/// Keeps the machine, if the budget allows it; else it is given back.
async fn keep(request: &JobRequest, machine: Machine, shell: ShellEnvironment, log: &LogWriter) {
    let ShellEnvironment { env, hidden, cwd } = shell;
    let job = KeptJob {
        run: request.run.clone(),
        key: request.plan.jobs[request.job].key.clone(),
        instance: request.instance.index,
        name: request.instance.name.clone(),
        vm: machine.id.clone(),
        memory_mib: machine.mem_mib.into(),
        trusted: request.trusted,
        env,
        hidden,
        cwd,
    };
    match request.kept.keep(&machine.vmm, job).await {
        Ok(text) => {
            machine.leave();
            log.info(0, &text).await;
        }
        Err(reason) => {
            machine.give_back().await;
            let text = format!("its VM is not kept: {reason}");
            log.line(0, LineKind::Warning, &text).await;
        }
    }
}

fn cancelled() -> JobReport {
    JobReport::cancelled("cancelled before it had a machine")
}
