//! A script of a step: into the VM with its environment files, run, and what it wrote read back.

use std::collections::BTreeMap;
use std::time::Duration;

use forge_core::Forge;
use http_clients::vmm::{PROXY_SOCKET, USUAL_PATH};
use runner_core::context::{
    self, ARTIFACTS_LIST, NO_ARTIFACTS, OWN_DIRECTORY, STEP_FILES, TOOL_CACHE,
};
use runner_core::env_file;
use runner_core::gateway::gh_settings;
use runner_core::limits::{MAX_ENV_FILE_BYTES, MAX_SUMMARY_BYTES};
use runner_core::plan::PlannedStep;
use runner_core::prepare;
use runner_core::state::{Conclusion, StepEnd};

use super::execute::{JobProcess, OutputCommands, execute};
use super::frame::{
    ARCH, Frame, ProcessOwner, ProcessStart, StepProcess, StepResult, in_workspace, set,
};
use super::proxy_variables::add_proxy;
use super::small_files::{self, FetchError};
use super::step_runner::StepRunner;

impl StepRunner<'_> {
    /// A script, with its environment files there and back.
    pub(super) async fn script(
        &mut self,
        step: &PlannedStep,
        frame: &Frame,
        ready: prepare::PreparedRun,
        own: Vec<(String, String)>,
        (directory, limit): (String, Option<Duration>),
    ) -> StepResult {
        let name = format!("script{}", ready.shell.extension);
        let owner = ProcessOwner {
            id: step.action_name.clone(),
            action_path: frame.action_path.clone(),
            action: frame.action.clone(),
            env: frame.env.clone(),
        };
        let process = StepProcess {
            argv: ready.shell.with_script(&format!("{directory}/{name}")),
            cwd: in_workspace(&ready.working_directory),
            env: self.process_env(&owner, &directory, own),
            script: Some((name, ready.script)),
            directory,
            limit,
            within: None,
        };
        let process = self.containers.place(process, &self.variables.path);
        self.process(process).await
    }

    /// The machine's directory for the files of one more process.
    pub(super) fn own_directory(&mut self) -> String {
        format!("{OWN_DIRECTORY}/{}", self.counters.next_process())
    }

    /// A process of a step, with its environment files there and back.
    pub(super) async fn process(&mut self, process: StepProcess) -> StepResult {
        let StepProcess {
            directory,
            script,
            argv,
            cwd,
            env,
            limit,
            within,
        } = process;
        if !self.current.is_recorded {
            return StepResult::lost("that its step begins could not be stored");
        }
        let names = STEP_FILES.map(|(_, name)| format!("files/{name}"));
        let mut files: Vec<(&str, &[u8], u32)> = Vec::new();
        if let Some((name, text)) = &script {
            files.push((name, text.as_bytes(), 0o755));
        }
        files.extend(names.iter().map(|name| {
            let is_list = name.ends_with(ARTIFACTS_LIST);
            let text = if is_list { NO_ARTIFACTS } else { "" };
            (name.as_str(), text.as_bytes(), 0o666)
        }));
        let settings = gh_settings(&env, &directory, PROXY_SOCKET);
        if let Some((name, text)) = &settings {
            files.push((name, text.as_bytes(), 0o666));
        }
        if let Err(reason) = self.put(&directory, &files).await {
            return StepResult::lost(format!("the script could not be put into the VM: {reason}"));
        }
        let (mut argv, mut env) = (argv, env);
        let user = self.machine.user.get().filter(|_| within.is_none());
        if let Some(user) = user {
            if let Err(exit) = self.chown_to_user().await {
                return StepResult::lost(exit.reason.unwrap_or_default());
            }
            argv = user.command(argv);
            user.add_to(&mut env);
        }
        let process = JobProcess {
            argv,
            cwd,
            env,
            limit,
            step: self.current.number,
            matchers: Some(self.variables.matchers.clone()),
        };
        let machine = self.machine;
        let cancel = self.cancellation();
        tracing::info!(event = "run.executing", run = %self.request.run, vm = %machine.id, step = self.current.number, "executing command in VM");
        let start = within.unwrap_or_else(|| ProcessStart {
            env: process.env.clone(),
            cwd: process.cwd.clone(),
            container: None,
            user: user.cloned(),
        });
        let mut exit = execute(machine, process, &self.secrets, self.log, cancel).await;
        let mut result = StepResult {
            end: exit.end,
            reason: exit.reason,
            outputs: std::mem::take(&mut exit.commands.outputs),
            summary: None,
            state: std::mem::take(&mut exit.commands.state),
            absent: false,
        };
        if result.end.outcome() == Conclusion::Failure {
            self.shell.failed(start);
            self.explain_failure(&mut result).await;
            if exit.commands.wants_newer_rust {
                self.explain_old_rust().await;
            }
        }
        if result.end != StepEnd::Lost {
            self.apply_commands(exit.commands, &mut result).await;
            self.read_files(&directory, &mut result).await;
        }
        result
    }

    /// What commands in the output have set, and what they have done wrong.
    async fn apply_commands(&mut self, commands: OutputCommands, result: &mut StepResult) {
        let OutputCommands {
            env,
            path,
            wrong,
            matchers,
            ..
        } = commands;
        self.variables.matchers = matchers.unwrap_or_default();
        if let Some(wrong) = wrong {
            if result.end.outcome() == Conclusion::Success {
                result.end = StepEnd::Error;
                result.reason = Some(wrong);
            }
            return;
        }
        for (name, value) in env {
            if env_file::is_refused(&name) {
                self.log_refused("set-env", &name).await;
            } else if !env_file::is_reserved(&name) && !self.is_of_forges(&name) {
                set(&mut self.variables.env, (name, value));
            }
        }
        for directory in path {
            self.variables.path.insert(0, directory);
        }
    }

    /// An error is noted, and the step goes on, as on GitHub.
    async fn log_refused(&self, what: &str, name: &str) {
        let text = format!("{what}: {name} cannot be set for later steps");
        self.log.error(self.current.number, &text).await;
    }

    /// The variables of a process: the runner's, the job's, its owner's, its own.
    pub(super) fn process_env(
        &self,
        owner: &ProcessOwner,
        directory: &str,
        own: Vec<(String, String)>,
    ) -> BTreeMap<String, String> {
        let order = self.request;
        let job = order.plan.jobs[order.job].id();
        let mut env = self.machine_variables();
        env.extend(self.own_hosts());
        env.extend(self.variables.env.iter().cloned());
        env.extend(owner.env.iter().cloned());
        env.extend(own);
        if !self.variables.path.is_empty() {
            let path = with_path(&self.variables.path, env.get("PATH"));
            env.insert("PATH".to_owned(), path);
        }
        // What the runner says of itself stands, whatever an `env` says, as on GitHub.
        let mut default = context::default_variables(&order.event, &order.facts, job);
        self.folders.correct(&mut default);
        env.extend(default);
        env.insert("GITHUB_ACTION".to_owned(), owner.id.clone());
        if let Some(path) = &owner.action_path {
            env.insert("GITHUB_ACTION_PATH".to_owned(), path.clone());
        }
        // Empty for scripts and actions of the repository itself, as on GitHub.
        let (repository, reference) = match &owner.action {
            Some(action) => (action.repository.clone(), action.reference.clone()),
            None => Default::default(),
        };
        env.insert("GITHUB_ACTION_REPOSITORY".to_owned(), repository);
        env.insert("GITHUB_ACTION_REF".to_owned(), reference);
        for (property, name) in STEP_FILES {
            let variable = format!("GITHUB_{}", property.to_ascii_uppercase());
            env.insert(variable, format!("{directory}/files/{name}"));
        }
        env.insert("RUNNER_ARCH".to_owned(), ARCH.to_owned());
        if context::is_step_debug(&order.contexts) {
            env.insert("RUNNER_DEBUG".to_owned(), "1".to_owned());
        }
        add_proxy(order, &self.variables.env, &mut env);
        let identity = self.admission.iter();
        env.extend(identity.flat_map(|it| it.id_token_variables()));
        let tokens = self.token_variables(&env);
        // Whose checkout keeps no credentials has none for git by a token that it did not ask for.
        let is_asked = tokens.is_empty() || self.holds_token(&env);
        env.extend(tokens);
        let gh = self.gh_variables(&env, directory);
        env.extend(gh);
        if is_asked {
            let git = self.git_variables(&env);
            env.extend(git);
        }
        if order.facts.is_of_forge() {
            // As their own runners have it: scripts write to `FORGEJO_OUTPUT`.
            let again = env.iter().flat_map(|(name, value)| {
                env_file::names_of_forges(name).map(|name| (name, value.clone()))
            });
            let again: Vec<(String, String)> = again.collect();
            env.extend(again);
        }
        env
    }

    /// Whether a variable is the runner's at the forge of the run.
    fn is_of_forges(&self, name: &str) -> bool {
        self.request.facts.is_of_forge() && env_file::is_of_forges(name)
    }

    /// The job's token, which Forgejo's runner gives each step; what the workflow calls so stands.
    fn token_variables(&self, env: &BTreeMap<String, String>) -> Vec<(String, String)> {
        let is_forgejo = self.request.facts.forge == Some(Forge::Forgejo);
        let Some(token) = self.checkouts.forge_token.as_ref().filter(|_| is_forgejo) else {
            return Vec::new();
        };
        let names = context::TOKEN_VARIABLES.iter();
        let free = names.filter(|name| !env.contains_key(**name));
        free.map(|name| ((*name).to_owned(), token.clone()))
            .collect()
    }

    /// What GitHub's machines have in their environment, which any `env` may change.
    fn machine_variables(&self) -> BTreeMap<String, String> {
        let mut env = BTreeMap::from([("CI".to_owned(), "true".to_owned())]);
        env.insert("AGENT_TOOLSDIRECTORY".to_owned(), TOOL_CACHE.to_owned());
        if let Some(image) = self.request.image_os() {
            env.insert("ImageOS".to_owned(), image);
        }
        env
    }

    /// What the step wrote for later ones; a file that is wrong fails the step.
    async fn read_files(&mut self, directory: &str, result: &mut StepResult) {
        let files = match self.fetch_small(&format!("{directory}/files")).await {
            Ok(files) => files,
            Err(FetchError::TooLarge) => match self.fetch_each(directory).await {
                Ok(files) => files,
                Err(reason) => {
                    *result = StepResult::lost(unread(&reason));
                    return;
                }
            },
            Err(FetchError::Unread(reason)) => {
                *result = StepResult::lost(unread(&reason));
                return;
            }
        };
        for (name, bytes) in files {
            if let Err(error) = self.read_file(&name, &bytes, result).await
                && result.end.outcome() == Conclusion::Success
            {
                result.end = StepEnd::Error;
                result.reason = Some(error);
            }
        }
    }

    /// The files one by one, where together they are too large: of one that is, so much that
    /// whoever reads it sees it. A summary costs no step its success, and is left out.
    async fn fetch_each(&self, directory: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut all = Vec::new();
        for (_, name) in STEP_FILES {
            match self.fetch_small(&format!("{directory}/files/{name}")).await {
                Ok(files) => all.extend(files),
                Err(FetchError::TooLarge) if name == SUMMARY => {
                    let text = "GITHUB_STEP_SUMMARY is too large to be read: it is left out";
                    self.log.error(self.current.number, text).await;
                }
                Err(FetchError::TooLarge) => {
                    all.push((name.to_owned(), vec![b'.'; MAX_ENV_FILE_BYTES + 1]));
                }
                Err(FetchError::Unread(reason)) => return Err(reason),
            }
        }
        Ok(all)
    }

    async fn read_file(
        &mut self,
        name: &str,
        bytes: &[u8],
        result: &mut StepResult,
    ) -> Result<(), String> {
        let wrong = |variable: &'static str| {
            move |error: env_file::EnvFileError| format!("{variable}: {error}")
        };
        match name {
            "output" => result
                .outputs
                .extend(env_file::parse_pairs(bytes).map_err(wrong("GITHUB_OUTPUT"))?),
            "state" => result
                .state
                .extend(env_file::parse_pairs(bytes).map_err(wrong("GITHUB_STATE"))?),
            "env" => {
                let written = env_file::parse_env(bytes).map_err(wrong("GITHUB_ENV"))?;
                for name in &written.refused {
                    self.log_refused("GITHUB_ENV", name).await;
                }
                for pair in written.pairs {
                    if !self.is_of_forges(&pair.0) {
                        set(&mut self.variables.env, pair);
                    }
                }
            }
            "path" => {
                for entry in env_file::parse_path(bytes).map_err(wrong("GITHUB_PATH"))? {
                    self.variables.path.insert(0, entry);
                }
            }
            SUMMARY if !bytes.is_empty() => {
                if bytes.len() > MAX_SUMMARY_BYTES {
                    let text = format!(
                        "GITHUB_STEP_SUMMARY has more than {MAX_SUMMARY_BYTES} bytes: the rest is cut off"
                    );
                    self.log.error(self.current.number, &text).await;
                }
                result.summary = Some(env_file::parse_summary(bytes));
            }
            "artifacts" if !bytes.trim_ascii().is_empty() => {
                let text = "what GITHUB_ARTIFACTS declares is not kept: there are no attestations of artifacts here";
                self.log.info(self.current.number, text).await;
            }
            _ => {}
        }
        Ok(())
    }

    /// The small files of a directory of the VM.
    pub(super) async fn fetch_small(
        &self,
        path: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, FetchError> {
        let limit = MAX_ENV_FILE_BYTES.max(MAX_SUMMARY_BYTES);
        small_files::fetch(self.machine, path, limit, 5 * MAX_ENV_FILE_BYTES).await
    }
}

fn unread(reason: &str) -> String {
    format!("what the step wrote could not be read: {reason}")
}

/// `PATH` with the folders that steps put before it; before the image's own, where nobody has said
/// another.
pub(super) fn with_path(added: &[String], before: Option<&String>) -> String {
    format!(
        "{}:{}",
        added.join(":"),
        before.map_or(USUAL_PATH, String::as_str)
    )
}

/// The file of a step's summary.
const SUMMARY: &str = "summary";
