//! An agent in a VM of one of the hosts: asked for, filled, run, and what it did taken out.
//!
//! ```text
//! VmHosts ─▶ HeldVm ─▶ put: bundle, prompt ─▶ exec: the agent ─▶ get: commits, reports ─▶ given back
//!                            └── a stop, a limit: terminated; what it committed is taken out all the same
//! ```
//! The agent sees nothing of this machine. The repository goes in as a bundle, and its commits come
//! out as one, which is judged like anything of a stranger.

mod error;
mod follow;
mod guest;
mod vm_output;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cluster_actors::vm_hosts::{HeldVm, MachineType, NoVm, VmHosts, VmRequest, tarball};
use futures_util::StreamExt as _;
use http_clients::vmm::{FollowEvent, NewExec, NewVm};
use orchestrator_core::config::{AgentSpec, Config};
use orchestrator_core::run::Run;
use orchestrator_engine::output::RunLog;
use orchestrator_engine::process::{
    AgentInput, EndCause, ProcessReport, ProcessSpec, StopCause, StopSignal,
};

pub(super) use self::error::VmError;
use self::follow::{AgentExecEnd, Execution};
use super::agent_paths::AgentPaths;
use super::workspace::Workspace;
use crate::ledger::RunVm;
use crate::vm_collector::OWNER;

/// Longest time in which nothing of the repository goes in, and to take out what came of it.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(600);
/// The same for what comes out when the orchestrator stops, which waits no longer than it says.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for making the repository in the VM, or a bundle of what is new in it.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(600);
/// Most of a script's output that is read, in bytes.
const MAX_OUTPUT: usize = 4096;

/// The VM that a run asks for.
#[derive(Debug)]
pub(super) struct VmPlan {
    request: VmRequest,
    machine: MachineType,
    wait: Duration,
    /// Files that are put in, on this machine.
    put: PathBuf,
    /// The run's own folder, where commits come to.
    directory: PathBuf,
    /// Where reports come to.
    reports: PathBuf,
}

/// How the agent sees its files in a VM.
pub(super) fn paths() -> AgentPaths {
    AgentPaths {
        workdir: guest::WORKSPACE.into(),
        prompt: guest::put(guest::PROMPT),
        reports: guest::reports(),
    }
}

impl VmPlan {
    /// The VM of a run; what is put into it is laid ready below the run's own `directory`.
    ///
    /// # Errors
    /// When there are no hosts, or the disk or git refuses.
    pub(super) fn new(
        (config, agent, run): (&Config, &AgentSpec, &Run),
        hosts: &VmHosts,
        workspace: &Workspace,
        (directory, reports): (&Path, PathBuf),
    ) -> Result<Self, String> {
        if hosts.count() == 0 {
            let none = "the agent wants `isolation = \"vm\"`, but there are no `[vm_hosts]`";
            return Err(none.to_owned());
        }
        let put = directory.join("vm");
        fs::create_dir_all(&put).map_err(|error| format!("{}: {error}", put.display()))?;
        workspace.pack([guest::REPOSITORY, guest::CONFIG, guest::BRANCH].map(|it| put.join(it)))?;
        let mut machine = config.machine(agent);
        machine.vm = NewVm {
            owner: format!("{OWNER}{}", run.id).parse().ok(),
            ..machine.vm
        };
        Ok(Self {
            request: VmRequest {
                key: format!("{OWNER}{}-{}", run.id, uuid::Uuid::new_v4().simple()),
                repository: run.repository.to_string(),
                hosts: hosts.clone(),
            },
            machine,
            wait: config.vm_wait,
            put,
            directory: directory.to_owned(),
            reports,
        })
    }

    /// Runs the agent in a VM, and gives the VM back. `report` is told once there is one; the agent
    /// is not started when that answers `false`. Blocks; the value is the end, and the bundle of
    /// the agent's commits.
    ///
    /// # Errors
    /// When it came to no end of its own; no VM is left.
    pub(super) fn run(
        self,
        spec: &ProcessSpec,
        log: RunLog,
        stop: StopSignal,
        report: impl FnOnce(RunVm) -> bool,
    ) -> Result<(ProcessReport, Option<PathBuf>), VmError> {
        self.upload_input(spec).map_err(VmError::Local)?;
        let runtime = actix_rt::Runtime::new();
        let runtime = runtime.map_err(|error| VmError::Local(format!("no runtime: {error}")))?;
        runtime.block_on(self.run_in_vm(spec, log, stop, report))
    }

    /// Prompt and input beside the repository.
    fn upload_input(&self, spec: &ProcessSpec) -> Result<(), String> {
        let prompt = self.directory.join(guest::PROMPT);
        let at = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        if prompt.exists() {
            let to = self.put.join(guest::PROMPT);
            fs::copy(&prompt, &to).map_err(|error| at(&to, error))?;
        }
        if let AgentInput::Text(text) = &spec.input {
            let to = self.put.join(guest::INPUT);
            fs::write(&to, text).map_err(|error| at(&to, error))?;
        }
        Ok(())
    }

    async fn run_in_vm(
        self,
        spec: &ProcessSpec,
        mut log: RunLog,
        mut stop: StopSignal,
        report: impl FnOnce(RunVm) -> bool,
    ) -> Result<(ProcessReport, Option<PathBuf>), VmError> {
        let vm = tokio::select! {
            vm = self.allocate(spec) => vm,
            cause = stop.requested() => Err(VmError::Stopped(cause)),
        };
        let vm = match vm {
            Ok(vm) => vm,
            Err(error) => {
                self.put_away();
                let _ = log.finish();
                return Err(error);
            }
        };
        let known = RunVm {
            host: vm.host.clone(),
            place: Some(vm.place.clone()),
            vm: vm.id.clone(),
            isolation: vm.isolation.map(|level| level.to_string()),
        };
        let ended = if report(known) {
            self.fill_and_run(&vm, spec, &mut log, &mut stop).await
        } else {
            Err(VmError::Stopped(StopCause::Cancelled))
        };
        let taken = match &ended {
            Ok((_, end)) => self.take_out(&vm, end, &mut log).await,
            Err(_) => None,
        };
        vm.release().await;
        self.put_away();
        let (output, log_error) = log.finish();
        let (started, ended) = ended?;
        let ended = ProcessReport {
            cause: ended.cause,
            end: ended.end,
            survivors: 0,
            unkillable: Vec::new(),
            took: started.elapsed(),
            output,
            not_run: false,
            log_error,
            peak_memory: 0,
        };
        Ok((ended, taken))
    }

    /// What was laid ready has no use any more.
    fn put_away(&self) {
        let _ = fs::remove_dir_all(&self.put);
    }

    async fn allocate(&self, spec: &ProcessSpec) -> Result<HeldVm, VmError> {
        let deadline = tokio::time::Instant::now() + self.wait;
        let run = &spec.run;
        let told = async |none: &NoVm| {
            let reason = &none.reason;
            if none.is_full {
                tracing::info!(event = "run.vm_waited_for", order = %run, reason, "an agent waits for room on the VM hosts");
            } else {
                tracing::warn!(event = "run.vm_waited_for", order = %run, reason, "an agent waits for a VM; [vm_hosts] says which managers are asked");
            }
        };
        let asked = self.request.ask_until(&self.machine, deadline, told).await;
        asked.map_err(|none| {
            let text = format!("no VM: {}", none.reason);
            match none.is_temporary {
                true => VmError::NoRoom(text),
                false => VmError::Refused(text),
            }
        })
    }

    async fn fill_and_run(
        &self,
        vm: &HeldVm,
        spec: &ProcessSpec,
        log: &mut RunLog,
        stop: &mut StopSignal,
    ) -> Result<(Instant, AgentExecEnd), VmError> {
        let prepare = async {
            let tar = tarball::of_directory(&self.put);
            let put = vm.vmm.put_files(&vm.id, guest::IN, tar, TRANSFER_TIMEOUT);
            put.await
                .map_err(VmError::from_call("its files could not be put into its VM"))?;
            let made = run_script(vm, guest::UNPACK).await?;
            made.map_err(|why| VmError::Refused(format!("its worktree could not be made: {why}")))
        };
        tokio::select! {
            prepared = prepare => prepared?,
            cause = stop.requested() => return Err(VmError::Stopped(cause)),
        }
        let started = Instant::now();
        let exec = vm.vmm.exec(&vm.id, &agent_exec(spec)?).await;
        let exec = exec.map_err(VmError::from_call(
            "its program could not be started in its VM",
        ))?;
        let execution = Execution {
            vmm: &vm.vmm,
            vm: &vm.id,
            exec: &exec,
        };
        let ended = execution.until_end(&spec.limits, log, stop).await?;
        Ok((started, ended))
    }

    /// Takes commits and reports out. What cannot be had is said at the end of the log.
    async fn take_out(
        &self,
        vm: &HeldVm,
        ended: &AgentExecEnd,
        log: &mut RunLog,
    ) -> Option<PathBuf> {
        let limit = match ended.cause {
            EndCause::Stopped(StopCause::Shutdown) => STOP_TIMEOUT,
            _ => TRANSFER_TIMEOUT,
        };
        let taken = tokio::time::timeout(limit, self.take_tar(vm)).await;
        let late = || Err(format!("it took longer than {} s", limit.as_secs()));
        let (commits, left) = match taken.unwrap_or_else(|_| late()) {
            Ok(taken) => (taken.commits, taken.left),
            Err(why) => (None, Some(why)),
        };
        if let Some(why) = left {
            let text = format!("\n[not all of it could be taken out of the VM: {why}]\n");
            log.push(text.as_bytes());
        }
        commits
    }

    async fn take_tar(&self, vm: &HeldVm) -> Result<vm_output::ReturnedFiles, String> {
        let packed = run_script(vm, guest::PACK).await;
        let not_packed = packed.map_err(|error| error.to_string())?.err();
        let stream = vm.vmm.get_files(&vm.id, guest::OUT).await;
        let mut stream = stream.map_err(|error| error.to_string())?;
        let mut tar = tempfile::tempfile_in(&self.directory).map_err(|error| error.to_string())?;
        let mut bytes = 0;
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| error.to_string())?;
            bytes += chunk.len() as u64;
            if bytes > vm_output::MAX_BYTES {
                return Err(format!(
                    "there are more than {} bytes",
                    vm_output::MAX_BYTES
                ));
            }
            tar.write_all(&chunk).map_err(|error| error.to_string())?;
        }
        let mut returned = self.unpack(tar).await?;
        if let Some(why) = not_packed {
            returned.left = Some(format!("its commits: {why}"));
        }
        Ok(returned)
    }

    async fn unpack(&self, tar: File) -> Result<vm_output::ReturnedFiles, String> {
        let (directory, reports) = (self.directory.clone(), self.reports.clone());
        let unpacking =
            tokio::task::spawn_blocking(move || vm_output::unpack(tar, &directory, &reports));
        let unpacked = unpacking.await.map_err(|error| error.to_string())?;
        unpacked.map_err(|error| error.to_string())
    }
}

/// Runs one of our scripts to its end; what it said where it fails.
async fn run_script(vm: &HeldVm, script: &str) -> Result<Result<(), String>, VmError> {
    let wrong = VmError::from_call("a script could not be run in its VM");
    let exec = NewExec {
        argv: Some(guest::script(script)),
        cwd: Some("/".to_owned()),
        timeout_ms: u64::try_from(SCRIPT_TIMEOUT.as_millis()).ok(),
        ..NewExec::default()
    };
    let exec = vm.vmm.exec(&vm.id, &exec).await.map_err(&wrong)?;
    let mut follow = vm.vmm.follow(&vm.id, &exec).await.map_err(&wrong)?;
    let mut output = Vec::new();
    while let Some(event) = follow.next().await {
        match event.map_err(&wrong)? {
            FollowEvent::Output(_, bytes) => {
                let room = MAX_OUTPUT.saturating_sub(output.len());
                output.extend_from_slice(&bytes[..room.min(bytes.len())]);
            }
            FollowEvent::Dropped(_) => {}
            FollowEvent::Ended(report) if report.is_success() => return Ok(Ok(())),
            FollowEvent::Ended(report) => {
                let text = forge_core::text::one_line(&String::from_utf8_lossy(&output), 300);
                let code = report
                    .exit_code
                    .map_or(String::new(), |code| format!(" ({code})"));
                let reason = report.reason.unwrap_or_default();
                return Ok(Err(format!("{text}{reason}{code}")));
            }
        }
    }
    Err(VmError::Lost(
        "a script's output ended before it".to_owned(),
    ))
}

/// The agent's process, as the VM manager takes it.
fn agent_exec(spec: &ProcessSpec) -> Result<NewExec, VmError> {
    let text = |text: &OsStr| {
        let given = text.to_str().map(str::to_owned);
        given.ok_or_else(|| VmError::Refused(format!("{} is no text", text.display())))
    };
    let arguments = spec.arguments.iter().map(|argument| text(argument));
    let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
    let program = text(spec.program.as_os_str())?;
    let variables = spec.environment.iter();
    let env = variables.map(|(name, value)| Ok((text(name)?, text(value)?)));
    let has_input = matches!(spec.input, AgentInput::Text(_));
    Ok(NewExec {
        argv: Some(guest::launch(has_input, &program, &arguments)),
        cwd: Some(text(spec.folder.as_os_str())?),
        env: env.collect::<Result<BTreeMap<_, _>, VmError>>()?,
        ..NewExec::default()
    })
}
