//! A shell in a kept VM: the VM goes on while one is open, and stands still again afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http_clients::vmm::{ExecState, NewExec, TerminalSize, VmmClient, VmmError};
use http_clients::ws::{WsReceiver, WsSender};
use runner_core::context::WORKSPACE;

use super::error::ShellOpenError;
use super::{KeptJob, KeptVm, KeptVms};
use crate::job::ShellEnvironment;

/// bash where the image has it; not a login shell, which would set `PATH` anew.
const SHELL: &str = "if command -v bash >/dev/null 2>&1; then exec bash -i; else exec sh -i; fi";

/// How long the end of a shell that was killed is waited for, and how often it is asked for.
const END_TIMEOUT: Duration = Duration::from_secs(20);
const END_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Who wants a shell, and where.
#[derive(Debug, Clone)]
pub struct ShellRequest {
    /// The run.
    pub run: String,
    /// The job's name or key; the only one that is kept without it.
    pub job: Option<String>,
    /// As it was before this step.
    pub before_step: Option<u32>,
    /// The terminal.
    pub size: TerminalSize,
    /// Who opens it, for the run's log.
    pub by: String,
}

/// A shell that is open.
pub struct OpenShell {
    /// To the shell.
    pub sender: WsSender,
    /// From the shell.
    pub receiver: WsReceiver,
    /// What is left to do afterwards.
    pub closing: ClosingShell,
}

/// What is left to do when a shell's connection has ended; done by itself where this is dropped.
pub struct ClosingShell(Option<ShellUse>);

/// A VM that goes on for a shell.
struct ShellUse {
    kept: KeptVms,
    job: KeptJob,
    turn: Arc<tokio::sync::Mutex<()>>,
    exec: String,
    by: String,
}

impl KeptVms {
    /// Whether such a shell could be opened: the VM is kept, as it was before that step.
    ///
    /// # Errors
    /// See [`ShellOpenError`].
    pub fn check(&self, request: &ShellRequest) -> Result<(), ShellOpenError> {
        let kept = self.find(&request.run, request.job.as_deref())?;
        match request.before_step {
            Some(step) => kept.goes_back_to(step),
            None => Ok(()),
        }
    }

    /// Opens a shell in a kept VM, which goes on for it.
    ///
    /// # Errors
    /// See [`ShellOpenError`].
    pub async fn open(&self, request: ShellRequest) -> Result<OpenShell, ShellOpenError> {
        // By itself: when whoever asked leaves meanwhile, the VM stands still again all the same.
        let opening = actix_rt::spawn(self.clone().open_in_turn(request));
        let given_up = VmmError::Lost("the runner ends".to_owned());
        opening.await.unwrap_or_else(|_| Err(given_up.into()))
    }

    async fn open_in_turn(self, request: ShellRequest) -> Result<OpenShell, ShellOpenError> {
        let kept = self.find(&request.run, request.job.as_deref())?;
        let vmm = self.client(&kept.job)?;
        let turn = Arc::clone(&kept.turn);
        let in_turn = turn.lock().await;
        // As it is now: a job may have taken it, others may have opened a shell or gone back.
        let kept = self.find(&request.run, Some(&kept.job.name))?;
        let (exec, sender, receiver) = match self.open_at(&vmm, &kept, &request).await {
            Ok(opened) => opened,
            Err(error) => {
                self.pause_unused(&vmm, &kept.job.vm).await;
                return Err(error);
            }
        };
        self.change(&kept.job.vm, |kept| kept.shells += 1);
        drop(in_turn);
        let place = request.before_step;
        let place = place.map_or(String::new(), |step| format!(" before step {step}"));
        let text = format!("a shell was opened{place} by {}", request.by);
        let opened = OpenShell {
            sender,
            receiver,
            closing: ClosingShell(Some(ShellUse {
                kept: self.clone(),
                job: kept.job.clone(),
                turn,
                exec,
                by: request.by,
            })),
        };
        self.log_line(&kept.job, &text).await;
        Ok(opened)
    }

    /// A shell in the VM as it is, or as it was before a step.
    async fn open_at(
        &self,
        vmm: &VmmClient,
        kept: &KeptVm,
        request: &ShellRequest,
    ) -> Result<(String, WsSender, WsReceiver), ShellOpenError> {
        let shell = match request.before_step {
            Some(step) => self.restore(vmm, kept, step).await?,
            None => Self::shell_of(kept),
        };
        Ok(self
            .start_shell(vmm, &kept.job, &shell, request.size)
            .await?)
    }

    async fn start_shell(
        &self,
        vmm: &VmmClient,
        job: &KeptJob,
        shell: &ShellEnvironment,
        size: TerminalSize,
    ) -> Result<(String, WsSender, WsReceiver), VmmError> {
        vmm.resume(&job.vm).await?;
        self.change(&job.vm, |kept| kept.paused = false);
        let (argv, env) = shell_command(shell);
        let cwd = match shell.container {
            Some(_) => WORKSPACE.to_owned(),
            None => shell.cwd.clone(),
        };
        let exec = NewExec {
            argv: Some(argv),
            cwd: Some(cwd),
            env,
            terminal: Some(size),
            ..NewExec::default()
        };
        let exec = vmm.exec(&job.vm, &exec).await?;
        let (sender, receiver) = vmm.terminal(&job.vm, &exec).await?;
        Ok((exec, sender, receiver))
    }

    /// Lets the VM stand still, unless a shell is open in it.
    async fn pause_unused(&self, vmm: &VmmClient, vm: &str) {
        let unused = {
            let vms = self.vms.lock();
            let kept = vms.iter().find(|kept| kept.job.vm == vm);
            kept.is_some_and(|kept| kept.shells == 0)
        };
        if unused {
            // One that cannot stand still goes on until its deadline.
            let paused = vmm.pause(vm, true).await.is_ok();
            self.change(vm, |kept| kept.paused = paused);
        }
    }
}

/// What the machine runs for a shell, and with which variables of its own.
fn shell_command(shell: &ShellEnvironment) -> (Vec<String>, BTreeMap<String, String>) {
    let (argv, env) = (["sh", "-c", SHELL].map(str::to_owned), environment(shell));
    match &shell.container {
        Some(container) => {
            let argv = container.command(&env, &shell.cwd, &argv, true);
            (argv, BTreeMap::new())
        }
        None => match &shell.user {
            Some(user) => (user.command(argv.to_vec()), env),
            None => (argv.to_vec(), env),
        },
    }
}

fn environment(shell: &ShellEnvironment) -> BTreeMap<String, String> {
    let mut env = shell.env.clone();
    env.insert("TERM".to_owned(), "xterm-256color".to_owned());
    if !shell.hidden.is_empty() {
        env.insert("ORRERY_HIDDEN_VARIABLES".to_owned(), shell.hidden.join(","));
    }
    env
}

impl ClosingShell {
    /// Ends the shell, if it has not ended; its VM stands still again when it was the last.
    pub async fn close(mut self) {
        if let Some(open) = self.0.take() {
            // By itself, too: whoever waits for it may leave. It ends with its thread only.
            let _ = actix_rt::spawn(open.end()).await;
        }
    }
}

impl Drop for ClosingShell {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            actix_rt::spawn(open.end());
        }
    }
}

impl ShellUse {
    async fn end(self) {
        let Self {
            kept,
            job,
            turn,
            exec,
            by,
        } = self;
        let in_turn = turn.lock().await;
        kept.change(&job.vm, |kept| kept.shells = kept.shells.saturating_sub(1));
        // Its host was configured when the shell was opened.
        if let Ok(vmm) = kept.client(&job) {
            await_end(&vmm, &job.vm, &exec).await;
            kept.pause_unused(&vmm, &job.vm).await;
        }
        drop(in_turn);
        kept.log_line(&job, &format!("the shell of {by} has ended"))
            .await;
    }
}

/// Kills the shell and waits until it has ended: a VM in which something runs cannot stand still.
async fn await_end(vmm: &VmmClient, vm: &str, exec: &str) {
    let begun = tokio::time::Instant::now();
    let _ = vmm.kill(vm, exec).await;
    while begun.elapsed() < END_TIMEOUT {
        match vmm.exec_report(vm, exec).await {
            Ok(report) if report.state == ExecState::Running => {
                tokio::time::sleep(END_POLL_INTERVAL).await;
            }
            _ => return,
        }
    }
}
