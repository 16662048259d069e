//! What all steps of a job work with: the machine, the log, and what earlier steps set.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cluster_actors::vm_hosts::tarball;
use runner_core::cache_scope::cache_scopes;
use runner_core::context::{self, WORKSPACE};
use runner_core::expr::{ContextName, Contexts, ExprValue, StatusFlags};
use runner_core::gateway::{GitAccess, basic_credentials, gh_variables, git_variables};
use runner_core::id_token::id_token_claims;
use runner_core::job_folders::JobFolders;
use runner_core::prepare;
use tokio::sync::watch;
use url::Url;

use super::cancellation::{Cancellation, Cancelled, once_cancelled};
use super::checkpoint::Checkpoint;
use super::container_state::JobContainers;
use super::counters::JobCounters;
use super::execute::{JobProcess, ProcessExit, execute};
use super::frame::{CacheToSave, Frame};
use super::log_writer::LogWriter;
use super::machine::JobMachine;
use super::node_state::NodeActions;
use super::protocol::{JobEvents, JobRequest};
use super::runner_state::{CurrentStep, JobCheckouts, JobHistory};
use super::secrets::JobSecrets;
use super::shell_start::{ShellEnvironment, ShellStart};
use super::variables::JobVariables;
use crate::job_services::{ForgePermissions, JobGrant, JobIdentity, JobServiceGuard, git_address};
use crate::kept::ResumedVm;

/// Longest time in which nothing of a script's files goes into the VM.
const SCRIPT_UPLOAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest time of a command that the runner itself needs.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);

/// Runs the steps of one job.
pub(crate) struct StepRunner<'a> {
    pub(super) request: &'a JobRequest,
    pub(super) machine: &'a JobMachine,
    pub(super) log: &'a LogWriter,
    pub(super) cancel: watch::Receiver<bool>,
    pub(super) events: JobEvents,
    pub(super) secrets: JobSecrets,
    pub(super) variables: JobVariables,
    /// The step that runs.
    pub(super) current: CurrentStep,
    pub(super) checkouts: JobCheckouts,
    pub(super) progress: JobHistory,
    /// What the job counts, steps beside each other together.
    pub(super) counters: Rc<JobCounters>,
    pub(super) caches: Vec<CacheToSave>,
    pub(super) node_actions: NodeActions,
    /// Its containers.
    pub(super) containers: JobContainers,
    /// What a shell begins with when the job fails.
    pub(super) shell: ShellStart,
    /// The job's way to its services, until it ends.
    pub(super) admission: Option<Rc<JobServiceGuard>>,
    /// Its folders, as its steps see them.
    pub(super) folders: JobFolders,
}

/// Lets the job use the services, as long as it may take. `forge_token` stands for the forge's
/// token again, where it lies in the VM already.
fn admit(request: &JobRequest, forge_token: Option<&str>) -> Option<JobServiceGuard> {
    let services = request.services.as_ref()?;
    let grant = JobGrant {
        run: request.run.clone(),
        job: request.vm_key.clone(),
        maker: request.maker(),
        scopes: cache_scopes(&request.event, &request.facts.default_branch),
        cache_mode: request.plan.jobs[request.job].cache_mode,
        identity: identity(request),
        forge: forge_permissions(request),
        room: services.room(),
    };
    let lifetime = Duration::from_secs_f64(request.instance.timeout_minutes.clamp(1.0, 1e4) * 60.0);
    Some(services.admit_with(grant, lifetime, forge_token))
}

/// Those of GitHub's machines where steps are a user of the machine, who may not write beside
/// `/workspace`; in a container they are its own.
fn folders(request: &JobRequest) -> JobFolders {
    let user = request.placement.machine.user.as_deref();
    let is_user = user.is_some_and(|name| name != "root");
    match is_user && request.plan.jobs[request.job].job.container.is_none() {
        true => JobFolders::hosted(&request.event.repository),
        false => JobFolders::for_root(),
    }
}

/// What the job may do at the forge; a stranger's pull request changes nothing.
pub(super) fn forge_permissions(request: &JobRequest) -> ForgePermissions {
    let permissions = &request.plan.jobs[request.job].permissions;
    let (event, facts) = (&request.event, &request.facts);
    let clone_url = &request.source.checkouts.clone_url;
    let addresses = request
        .services
        .as_ref()
        .map(|services| services.own_addresses(clone_url, &facts.server_url, &event.repository));
    ForgePermissions {
        addresses: addresses.unwrap_or_default(),
        repository: request.event.repository.clone(),
        clone_url: request.source.checkouts.clone_url.clone(),
        merged: event
            .merged_pull()
            .map(|number| (number, event.sha.clone())),
        is_strangers: request.event.untrusted,
        permissions: if request.event.untrusted {
            permissions.read_only()
        } else {
            permissions.clone()
        },
    }
}

/// What the job's identity tokens say; a stranger's pull request has none.
fn identity(request: &JobRequest) -> Option<JobIdentity> {
    let (event, facts) = (&request.event, &request.facts);
    let planned = &request.plan.jobs[request.job];
    if !planned.id_token || event.untrusted {
        return None;
    }
    let workflow = request.plan.workflows[planned.workflow].place(event);
    let (owner, _) = event.repository.split_once('/')?;
    Some(JobIdentity {
        claims: id_token_claims(event, facts, &workflow, request.environment.as_deref()),
        audience: format!("{}/{owner}", facts.server_url),
    })
}

impl<'a> StepRunner<'a> {
    pub(super) fn new(
        request: &'a JobRequest,
        machine: &'a JobMachine,
        log: &'a LogWriter,
        cancel: watch::Receiver<bool>,
        events: JobEvents,
        resumed: Option<&ResumedVm>,
    ) -> Self {
        let checkpoint = resumed.map(|resumed| &resumed.checkpoint);
        let admission = admit(request, checkpoint.and_then(Checkpoint::forge_token));
        let admission = admission.map(Rc::new);
        let forge_token = admission.as_ref().and_then(|it| it.forge_token.as_ref());
        let forge_token = forge_token.map(|(token, _)| token.clone());
        let mut runner = Self {
            request,
            machine,
            log,
            cancel,
            events,
            secrets: log.secrets().clone(),
            variables: JobVariables::default(),
            current: CurrentStep::default(),
            checkouts: JobCheckouts::new(forge_token),
            progress: JobHistory::default(),
            counters: Rc::default(),
            caches: Vec::new(),
            node_actions: NodeActions::default(),
            containers: JobContainers::default(),
            shell: ShellStart::default(),
            admission,
            folders: folders(request),
        };
        if let Some(resumed) = resumed {
            runner
                .progress
                .checkpoints
                .taken
                .clone_from(&resumed.checkpoints);
        }
        for secret in runner.new_secrets() {
            runner.secrets.add(&secret);
        }
        runner
    }

    /// What is masked from the start: the job's secrets and tokens.
    pub(super) fn new_secrets(&self) -> Vec<String> {
        let mut secrets = self.request.secrets.clone();
        if let Some(admission) = &self.admission {
            secrets.push(admission.token.clone());
            let others = [&admission.id_token, &admission.forge_token];
            let others = others.into_iter().flatten();
            secrets.extend(others.map(|(token, _)| token.clone()));
            // As it stands in git's header.
            let tokens = admission.forge_token.iter();
            secrets.extend(tokens.map(|(token, _)| basic_credentials(token)));
        }
        secrets
    }

    /// Whether a process of this environment, or every one, is to have the token for git.
    pub(super) fn holds_token(&self, env: &BTreeMap<String, String>) -> bool {
        let token = self.checkouts.forge_token.as_deref();
        let has = |token: &str| env.values().any(|text| text.contains(token));
        self.checkouts.keeps_token || token.is_some_and(has)
    }

    /// The variables by which git in the machine finds the gateway: for the steps of a job whose
    /// checkout keeps credentials; else for a process that has the token by itself.
    pub(super) fn git_variables(&self, env: &BTreeMap<String, String>) -> Vec<(String, String)> {
        let Some(token) = self.checkouts.forge_token.as_deref() else {
            return Vec::new();
        };
        if !self.holds_token(env) {
            return Vec::new();
        }
        // `gh` finds its repository by where git is led.
        let is_led = self.checkouts.keeps_token || env.contains_key("GH_CONFIG_DIR");
        let (event, gateway) = (&self.request.event, git_address());
        let access = GitAccess {
            gateway: &gateway,
            repository: &event.repository,
            clone_url: &self.request.source.checkouts.clone_url,
            server_url: &self.request.facts.server_url,
            actor: &event.actor,
            token,
        };
        let count = env.get("GIT_CONFIG_COUNT").map(String::as_str);
        git_variables(&access.settings(is_led), count)
    }

    /// The variables by which `gh` in the machine finds the gateway, for a process that has the
    /// token where `gh` looks for it.
    pub(super) fn gh_variables(
        &self,
        env: &BTreeMap<String, String>,
        directory: &str,
    ) -> Vec<(String, String)> {
        let Some(token) = self.checkouts.forge_token.as_deref() else {
            return Vec::new();
        };
        let clone_url = &self.request.source.checkouts.clone_url;
        let addresses = [clone_url, self.request.facts.server_url.as_str()];
        gh_variables(env, token, &addresses, directory)
    }

    /// Whether the job's token counts at the forge's own address.
    pub(super) fn counts_at_forge(&self) -> bool {
        !self.machine_addresses().is_empty()
    }

    /// The forge's own addresses where the job's token counts.
    pub(super) fn machine_addresses(&self) -> Vec<Url> {
        match &self.checkouts.forge_token {
            Some(_) => forge_permissions(self.request).addresses,
            None => Vec::new(),
        }
    }

    /// What it can go back to, for whoever keeps its VM.
    pub(super) fn take_checkpoints(&mut self) -> Vec<Checkpoint> {
        std::mem::take(&mut self.progress.checkpoints.taken)
    }

    /// What a shell in the machine is to begin with.
    pub(super) fn shell_environment(&mut self) -> ShellEnvironment {
        let with_secrets = self.request.retention.kept.shows_secrets();
        std::mem::take(&mut self.shell).environment(&self.secrets.snapshot(), with_secrets)
    }

    /// Notes what was known of a cancellation when a step or stage was decided on, and whether its
    /// condition holds once the job is cancelled. A cancellation that comes while its files are on
    /// their way ends it too.
    pub(super) fn record_decision(
        &mut self,
        contexts: &Contexts,
        holds: impl FnOnce(&Contexts) -> bool,
    ) {
        self.current.outlives_cancel = contexts.status().cancelled
            || self.current.around_outlives && holds(&once_cancelled(contexts));
    }

    /// What ends a process that begins now.
    pub(super) fn cancellation(&self) -> Cancellation {
        Cancellation {
            job: self.cancel.clone(),
            own: self.current.cancel.clone(),
            outlives: self.current.outlives_cancel,
        }
    }

    /// What comes of work that is no process: a transfer, files that are fetched. It is left when
    /// the step is cancelled.
    pub(super) async fn unless_cancelled<T, E: From<Cancelled>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let mut cancellation = self.cancellation();
        tokio::select! {
            biased;
            done = work => done,
            () = cancellation.wait() => Err(Cancelled.into()),
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        *self.cancel.borrow()
    }

    pub(super) async fn put(
        &self,
        directory: &str,
        files: &[(&str, &[u8], u32)],
    ) -> Result<(), String> {
        let tar = tarball::of_files(files).map_err(|error| error.to_string())?;
        self.put_tar(directory, tar).await
    }

    pub(super) async fn put_tar(&self, directory: &str, tar: Bytes) -> Result<(), String> {
        let _transfer = self.machine.transfer().await;
        let put = self.machine.vmm.put_files(
            &self.machine.id,
            directory,
            tarball::once(tar),
            SCRIPT_UPLOAD_TIMEOUT,
        );
        put.await.map_err(|error| error.to_string())
    }

    /// What expressions see now.
    pub(super) fn contexts(&self, frame: &Frame, more: &[(String, String)]) -> Contexts {
        let mut contexts = frame.contexts.clone();
        let order = self.request;
        if order.facts.is_of_forge() {
            let job = order.plan.jobs[order.job].id();
            let mut usual = context::forge_env(&contexts, &order.event, &order.facts, job);
            self.folders.correct(&mut usual);
            contexts = prepare::with_env(&contexts, &usual);
        }
        contexts = prepare::with_env(&contexts, &self.variables.env);
        contexts = prepare::with_env(&contexts, &frame.env);
        contexts = prepare::with_env(&contexts, more);
        contexts.set(
            ContextName::Steps,
            ExprValue::Object(Arc::new(frame.steps.clone())),
        );
        let cancelled = self.is_cancelled();
        // As on GitHub, where a job that failed and was cancelled then is a cancelled one.
        let status = if cancelled {
            "cancelled"
        } else if frame.failed || frame.job_failed {
            "failure"
        } else {
            "success"
        };
        let mut job = vec![("status", ExprValue::text(status))];
        job.extend(self.workflow_context());
        job.extend(self.containers.contexts());
        contexts.set(ContextName::Job, ExprValue::object(job));
        contexts.set_status(StatusFlags {
            success: !frame.failed && !cancelled,
            failure: frame.failed && !cancelled,
            cancelled,
        });
        contexts
    }

    /// Where the workflow is from that the job stands in: another than the run's, where it is
    /// called.
    fn workflow_context(&self) -> [(&'static str, ExprValue); 4] {
        let (plan, event) = (&self.request.plan, &self.request.event);
        let called = &plan.workflows[plan.jobs[self.request.job].workflow];
        let place = called.place(event);
        [
            ("workflow_ref", place.full_reference().into()),
            ("workflow_sha", place.commit.into()),
            ("workflow_repository", place.repository.into()),
            ("workflow_file_path", place.file.into()),
        ]
    }

    /// Runs a command for the runner itself and gives its exit and what it printed to the log.
    pub(super) async fn command(&mut self, argv: Vec<String>) -> ProcessExit {
        let env = self.containers.command_env();
        self.command_with(argv, env).await
    }

    /// The same with variables.
    pub(super) async fn command_with(
        &mut self,
        argv: Vec<String>,
        mut env: BTreeMap<String, String>,
    ) -> ProcessExit {
        if let Some(user) = self.machine.user.get() {
            user.add_to_root(&mut env);
        }
        let process = JobProcess {
            argv,
            cwd: WORKSPACE.to_owned(),
            env,
            limit: self.in_time(Some(COMMAND_TIMEOUT)),
            step: self.current.number,
            matchers: None,
        };
        let cancel = self.cancellation();
        execute(self.machine, process, &self.secrets, self.log, cancel).await
    }
}
