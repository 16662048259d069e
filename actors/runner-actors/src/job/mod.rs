//! One job on one machine: steps in order, conditions, outputs, environment, masking, the end.
//!
//! ```text
//! WorkflowRun ──JobRequest──▶ run_job ──▶ Machine (http_clients::vmm) ──▶ VM
//!      ▲                        │ lines, masked ──▶ Logs
//!      └── JobEvents: Allocated, StepEnded, … and at last the JobReport
//! ```

mod artifact_steps;
mod background;
mod become_user;
mod between_steps;
mod cancellation;
mod checked_out;
mod checkout;
mod checkpoint;
mod composite;
mod container_files;
mod container_state;
mod containers;
mod counters;
mod deferred;
mod execute;
mod failure_causes;
mod fork;
mod frame;
mod hash;
mod job_end;
mod known_causes;
mod log_writer;
mod machine;
mod machine_hash;
mod native;
mod native_input;
mod node;
mod node_state;
mod output;
mod packing;
mod problems;
mod process;
mod project_tests;
mod protocol;
mod proxy_variables;
mod runner_state;
mod secrets;
mod setup;
mod setup_files;
mod setup_input;
mod setup_java;
mod shell_start;
mod small_files;
mod step_limit;
mod step_record;
mod step_runner;
mod step_user;
mod steps;
mod test_reports;
mod trust;
mod variables;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use cluster_actors::vm_hosts::{NoVm, VmRequest};
use runner_core::hosted_label::is_hosted_ubuntu;
use runner_core::label_notes::default_machine_note;
use runner_core::state::Conclusion;
use tokio::sync::watch;

use crate::job_admission::JobUnderWay;
use crate::kept::{KeptJob, ResumedVm};
use crate::log::{LineKind, Logs};
use crate::records::JobEnd;
pub(crate) use checkpoint::Checkpoint;
pub(crate) use log_writer::LogWriter;
use machine::{JobMachine, MachineRequest};
pub(crate) use project_tests::ProjectTests;
pub(crate) use protocol::{
    JobEvent, JobEvents, JobPlacement, JobRequest, JobResult, JobSource, JobStores, VmRetention,
};
pub(crate) use shell_start::ShellEnvironment;
use step_runner::StepRunner;

/// Time for what runs all the same once a job took too long.
const OVERDUE_TIMEOUT: Duration = Duration::from_secs(300);

/// What a job waits for that has no machine when its runner is about to hand over.
const FOR_NEXT_LEADER: &str = "waits for the runner that leads next: this one hands over as soon as the jobs that run have ended";

/// Runs a job to its end. `cancel` becomes true when it shall end early: steps that say `always()`
/// or `cancelled()` still run.
pub(crate) async fn run_job(
    request: JobRequest,
    logs: Logs,
    mut cancel: watch::Receiver<bool>,
    events: JobEvents,
) -> JobResult {
    let log = LogWriter::new(&request, logs);
    if *cancel.borrow() {
        return cancelled();
    }
    let wanted = wanted_machine(&request);
    let machine = tokio::select! {
        machine = machine_of(&request, wanted, (&log, &events)) => machine,
        _ = cancel.wait_for(|cancelled| *cancelled) => return cancelled(),
    };
    let (machine, resumed, under_way) = match machine {
        Ok(begun) => begun,
        Err(error) => {
            let reason = log.secrets().mask(&format!("no VM: {}", error.reason));
            log.error(0, &reason).await;
            let end = if error.is_temporary {
                JobEnd::Lost
            } else {
                JobEnd::Usual
            };
            return JobResult::failed(end, reason);
        }
    };
    tracing::info!(event = "run.vm_allocated", run = %request.run, vm = %machine.id, host = machine.host(), "allocated VM {}", machine.id);
    let isolation = machine.isolation().map(|isolation| isolation.to_string());
    let label = isolation
        .clone()
        .unwrap_or_else(|| "unknown isolation".to_owned());
    let place = match request.placement.hosts.count() {
        1 => String::new(),
        _ => format!(" on {}", machine.host()),
    };
    log.info(0, &format!("allocated VM {} ({label}){place}", machine.id))
        .await;
    if !events
        .allocated(machine.id.clone(), machine.recorded_host(), isolation)
        .await
    {
        machine.release().await;
        return JobResult::lost("that it begins could not be stored".to_owned());
    }
    let minutes = request.instance.timeout_minutes;
    let limit = Duration::from_secs_f64((minutes * 60.0).clamp(1.0, 7.0 * 24.0 * 3600.0));
    let (end, ended) = watch::channel(*cancel.borrow());
    let mut runner = StepRunner::new(&request, &machine, &log, ended, events, resumed.as_ref());
    let steps = Box::pin(runner.run(resumed.as_ref()));
    let overdue = format!("the job took longer than its {minutes} minutes");
    let mut report = run_within_limit(limit, steps, (&end, cancel), (&log, &overdue)).await;
    // Statuses and pages show it too.
    report.reason = report.reason.map(|reason| log.secrets().mask(&reason));
    let shell = runner.shell_environment();
    if report.end != JobEnd::Lost {
        report.tests = Box::pin(runner.read_tests()).await.map(Arc::new);
    }
    let checkpoints = runner.take_checkpoints();
    drop(runner);
    if keeps(&request, &report) {
        keep(&request, machine, shell, checkpoints, &log).await;
    } else {
        machine.release().await;
    }
    log.store().await;
    report.under_way = Some(Arc::new(under_way));
    report
}

/// What the VM of a job is asked for with.
fn wanted_machine(request: &JobRequest) -> MachineRequest {
    MachineRequest {
        vm: VmRequest {
            key: request.vm_key.clone(),
            repository: request.repository.clone(),
            hosts: request.placement.hosts.clone(),
        },
        machine: request.placement.machine.clone(),
        hosted: request.placement.hosted.clone(),
        unlisted: unlisted(&request.instance.runs_on),
        timeout: request.placement.vm_timeout,
    }
}

/// Runs the steps for no longer than the job may take. One that takes longer is cancelled: what
/// says `always()` or `cancelled()`, and what runs after the steps, gets a little more time.
async fn run_within_limit(
    limit: Duration,
    steps: impl Future<Output = JobResult>,
    (end, mut cancel): (&watch::Sender<bool>, watch::Receiver<bool>),
    (log, overdue): (&LogWriter, &str),
) -> JobResult {
    tokio::pin!(steps);
    let relay = async {
        if cancel.wait_for(|cancelled| *cancelled).await.is_ok() {
            end.send_replace(true);
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        report = &mut steps => return report,
        () = tokio::time::sleep(limit) => {}
        () = relay => {}
    }
    log.error(0, overdue).await;
    end.send_replace(true);
    let late = tokio::time::timeout(OVERDUE_TIMEOUT, steps).await;
    let timed_out = JobResult::failed(JobEnd::TimedOut, overdue.to_owned());
    match late {
        Ok(report) if report.end == JobEnd::Lost => report,
        Ok(report) => JobResult {
            outputs: report.outputs,
            url: report.url,
            ..timed_out
        },
        Err(_) => timed_out,
    }
}

/// The first label, where none of them is one of GitHub's machines.
fn unlisted(labels: &[String]) -> Option<String> {
    let is_hosted = labels.iter().any(|label| is_hosted_ubuntu(label));
    labels.first().filter(|_| !is_hosted).cloned()
}

/// The job's machine: the one that was kept of an earlier attempt, gone back to the step, or a new
/// one. While the runner is about to hand over none is had or asked for.
async fn machine_of(
    request: &JobRequest,
    wanted: MachineRequest,
    (log, events): (&LogWriter, &JobEvents),
) -> Result<(JobMachine, Option<ResumedVm>, JobUnderWay), NoVm> {
    let labels = request.instance.runs_on.iter();
    if let Some(note) = default_machine_note(labels.filter(|_| request.placement.is_default)) {
        log.info(0, &note).await;
    }
    if let Some(point) = &request.retention.resume {
        let under_way = admitted(request, log, events).await;
        let taken = request.retention.kept.take(point).await;
        let reason = match taken {
            Ok((taken, resumed)) => match wanted.resume(taken, &resumed.checkpoint).await {
                Ok(machine) => return Ok((machine, Some(resumed), under_way)),
                Err(reason) => reason,
            },
            Err(error) => error.to_string(),
        };
        let step = point.step;
        let text =
            format!("it cannot go on before step {step}, and begins at its first step: {reason}");
        log.line(0, LineKind::Warning, &text).await;
    }
    loop {
        drop(admitted(request, log, events).await);
        let machine = tokio::select! {
            biased;
            machine = JobMachine::allocate(wanted.clone(), log) => machine?,
            () = request.admission.closed() => continue,
        };
        match request.admission.admit() {
            Some(under_way) => return Ok((machine, None, under_way)),
            None => machine.release().await,
        }
    }
}

/// Counts the job as one that is under way, as soon as it may begin.
async fn admitted(request: &JobRequest, log: &LogWriter, events: &JobEvents) -> JobUnderWay {
    let mut has_waited = false;
    loop {
        if let Some(under_way) = request.admission.admit() {
            if has_waited {
                events.send(JobEvent::HasTurn).await;
            }
            return under_way;
        }
        if !has_waited {
            has_waited = true;
            log.info(0, FOR_NEXT_LEADER).await;
            events
                .send(JobEvent::Waits(FOR_NEXT_LEADER.to_owned()))
                .await;
        }
        request.admission.opened().await;
    }
}

/// Whether somebody may want to look into the job's machine.
fn keeps(request: &JobRequest, report: &JobResult) -> bool {
    let is_there = matches!(report.end, JobEnd::Usual | JobEnd::TimedOut) && !report.refused;
    request.retention.on_failure && is_there && report.conclusion == Conclusion::Failure
}

/// Keeps the machine, if the budget allows it; else it is given back.
async fn keep(
    request: &JobRequest,
    machine: JobMachine,
    shell: ShellEnvironment,
    checkpoints: Vec<Checkpoint>,
    log: &LogWriter,
) {
    let (host, place) = machine.recorded_host();
    let job = KeptJob {
        run: request.run.clone(),
        key: request.plan.jobs[request.job].key.clone(),
        instance: request.instance.index,
        name: request.instance.name.clone(),
        vm: machine.id.clone(),
        host,
        place,
        isolation: machine.isolation(),
        memory_mib: machine.mem_mib().into(),
        trusted: request.retention.trusted,
        shell,
        checkpoints: checkpoints.into(),
    };
    match request.retention.kept.keep(&machine.vmm, job).await {
        Ok(text) => {
            machine.detach();
            log.info(0, &text).await;
        }
        Err(reason) => {
            machine.release().await;
            let text = format!("its VM is not kept: {reason}");
            log.line(0, LineKind::Warning, &text).await;
        }
    }
}

fn cancelled() -> JobResult {
    JobResult::cancelled("cancelled before it had a machine")
}
