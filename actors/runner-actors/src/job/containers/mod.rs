//! The containers of a job: its services, the one that its steps run in, steps that are containers.
//!
//! ```text
//! job ─▶ images into the machine ─▶ engine ─▶ services, healthy ─▶ the job's container ─▶ steps
//!                                     └── one network: names, and ports of the machine
//! ```
//!
//! podman and crun of the machine's image carry it out, in a user namespace of their own.

mod health;
mod start;
mod step;

pub(super) use step::DockerStageKind;

use std::collections::BTreeMap;

use runner_core::container::engine::{self, Inspected, Member, NETWORK_NAME};
use runner_core::container::ports::PortMapping;
use runner_core::context::{OWN_DIRECTORY, WORKSPACE};
use runner_core::expr::Value;
use runner_core::plan::{DockerAction, PlannedStep, StepKind};

use super::execute::ProcessExit;
use super::frame::StepProcess;
use super::step_runner::StepRunner;

/// What carries out the engine's commands.
const ENGINE: &str = include_str!("engine.sh");
/// The home folder of containers, in the machine.
const HOME: &str = "/var/lib/orrery-home";
/// Where containers have it, as on GitHub.
const CONTAINER_HOME: &str = "/github/home";
/// Where containers have the event's payload, as on GitHub.
const CONTAINER_WORKFLOW: &str = "/github/workflow";
/// Exit code of the engine where the machine cannot have containers.
const UNABLE: i32 = 69;

/// The engine's script in the machine.
fn engine_path() -> String {
    format!("{OWN_DIRECTORY}/containers/engine.sh")
}

/// A command of the engine.
fn engine_command<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut argv = vec!["sh".to_owned(), engine_path()];
    argv.extend(words.into_iter().map(str::to_owned));
    argv
}

/// The containers that run for a job.
#[derive(Default)]
pub(crate) struct JobContainers {
    /// Whether the engine runs.
    ready: bool,
    /// The one that steps run in.
    job: Option<Inspected>,
    services: Vec<RunningService>,
    /// Services that are not ready yet.
    watched: Vec<health::WatchedService>,
    /// Everything in the job's network.
    members: Vec<Member>,
    /// How many steps were containers so far.
    steps: usize,
    /// Images built of Dockerfiles, by the step's slot.
    built: BTreeMap<usize, String>,
}

/// A service that runs.
struct RunningService {
    name: String,
    member: Member,
    id: String,
    ports: Vec<PortMapping>,
}

impl JobContainers {
    /// `job.container` and `job.services`, as far as there are any.
    pub(super) fn contexts(&self) -> Vec<(&'static str, Value)> {
        let text = |text: &str| Value::text(text);
        let mut contexts = Vec::new();
        if let Some(job) = &self.job {
            let fields = [("id", text(&job.id)), ("network", text(NETWORK_NAME))];
            contexts.push(("container", Value::object(fields)));
        }
        if !self.services.is_empty() {
            let services = self.services.iter().map(|service| {
                let port =
                    |port: &PortMapping| (port.container.to_string(), text(&port.host.to_string()));
                let ports = Value::object(service.ports.iter().map(port));
                let fields = [
                    ("id", text(&service.id)),
                    ("network", text(NETWORK_NAME)),
                    ("ports", ports),
                ];
                (service.name.clone(), Value::object(fields))
            });
            contexts.push(("services", Value::object(services)));
        }
        contexts
    }

    /// Variables of a command that the runner itself runs for a step: the home folder of a job in
    /// a container is that of the container.
    pub(super) fn command_env(&self) -> BTreeMap<String, String> {
        let home = self
            .job
            .iter()
            .map(|_| ("HOME".to_owned(), HOME.to_owned()));
        home.collect()
    }

    /// A process of a step, in the job's container where there is one. `path` are the folders that
    /// steps put before `PATH`.
    pub(super) fn place(&self, process: StepProcess, path: &[String]) -> StepProcess {
        let Some(job) = &self.job else {
            return process;
        };
        let mut env: BTreeMap<&str, &str> = BTreeMap::new();
        env.extend(job.env.iter().map(|(name, value)| (&**name, &**value)));
        let image_path = env.get("PATH").copied().unwrap_or_default();
        let full_path = path.iter().map(String::as_str).chain([image_path]);
        let full_path = full_path.collect::<Vec<_>>().join(":");
        env.insert("HOME", CONTAINER_HOME);
        let own = process.env.iter().filter(|(name, _)| *name != "PATH");
        env.extend(own.map(|(name, value)| (&**name, &**value)));
        env.insert("PATH", &full_path);
        let words = engine::exec(&job.id, &process.cwd, env.into_iter(), &process.argv);
        let mut argv = engine_command(["run"]);
        argv.extend(words);
        let unsecure = "ACTIONS_ALLOW_UNSECURE_COMMANDS";
        let kept = process.env.iter().filter(|(name, _)| *name == unsecure);
        StepProcess {
            argv,
            cwd: WORKSPACE.to_owned(),
            env: kept
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            directory: process.directory,
            script: process.script,
            limit: process.limit,
        }
    }
}

impl StepRunner<'_> {
    /// A command of the engine; its output is in the log.
    async fn engine<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) -> ProcessExit {
        self.command(engine_command(words)).await
    }

    /// A command that looks at what steps see: in the job's container where there is one.
    pub(super) async fn command_in_job(&mut self, argv: Vec<String>) -> ProcessExit {
        let Some(job) = &self.containers.job else {
            return self.command(argv).await;
        };
        let env = job.env.iter().map(|(name, value)| (&**name, &**value));
        let words = engine::exec(&job.id, WORKSPACE, env, &argv);
        let mut argv = engine_command(["run"]);
        argv.extend(words);
        self.command(argv).await
    }
}

/// The steps that are containers, those of composite actions included.
fn docker_actions<'a>(steps: &'a [PlannedStep], found: &mut Vec<&'a DockerAction>) {
    for step in steps {
        match &step.work {
            StepKind::Docker(action) => found.push(action),
            StepKind::Composite(action) => docker_actions(&action.steps, found),
            _ => {}
        }
    }
}
