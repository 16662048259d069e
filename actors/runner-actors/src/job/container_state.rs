//! The containers of a job as data: what runs, what expressions see of it, and how a process of a
//! step gets into the job's own.

use std::collections::BTreeMap;

use runner_core::container::engine::{self, ContainerState, JobContainer, NETWORK_NAME};
use runner_core::container::health::{HealthCheck, HealthWatch};
use runner_core::container::ports::PortMapping;
use runner_core::context::{OWN_DIRECTORY, WORKSPACE};
use runner_core::expr::ExprValue;
use tokio::time::Instant;

use super::frame::{ProcessStart, StepContainer, StepProcess};

/// The home folder of containers, in the machine.
pub(super) const HOME: &str = "/var/lib/orrery-home";
/// Where containers have it, as on GitHub.
pub(super) const CONTAINER_HOME: &str = "/github/home";
/// Where containers have the event's payload, as on GitHub.
pub(super) const CONTAINER_WORKFLOW: &str = "/github/workflow";
/// Exit code of the engine where the machine cannot have containers.
pub(super) const UNABLE: i32 = 69;

/// The engine's script in the machine.
fn engine_path() -> String {
    format!("{OWN_DIRECTORY}/containers/engine.sh")
}

/// A command of the engine.
pub(super) fn engine_command<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut argv = vec!["sh".to_owned(), engine_path()];
    argv.extend(words.into_iter().map(str::to_owned));
    argv
}

/// The containers that run for a job.
#[derive(Clone, Default)]
pub(crate) struct JobContainers {
    /// Whether the engine runs.
    pub(super) ready: bool,
    /// The one that steps run in.
    pub(super) job: Option<ContainerState>,
    /// How programs in that one find whom they trust.
    pub(super) trust: Vec<(String, String)>,
    /// The machine has certificates of the system, which those of actions get.
    pub(super) has_bundle: bool,
    pub(super) services: Vec<RunningService>,
    /// Services that are not ready yet.
    pub(super) watched: Vec<WatchedService>,
    /// Everything in the job's network.
    pub(super) members: Vec<JobContainer>,
    /// Images built of Dockerfiles, by the step's slot.
    pub(super) built: BTreeMap<usize, String>,
}

/// A service that runs.
#[derive(Clone)]
pub(super) struct RunningService {
    pub(super) name: String,
    pub(super) member: JobContainer,
    pub(super) id: String,
    pub(super) ports: Vec<PortMapping>,
}

impl JobContainers {
    /// `job.container` and `job.services`, as far as there are any.
    pub(super) fn contexts(&self) -> Vec<(&'static str, ExprValue)> {
        let text = |text: &str| ExprValue::text(text);
        let mut contexts = Vec::new();
        if let Some(job) = &self.job {
            let fields = [("id", text(&job.id)), ("network", text(NETWORK_NAME))];
            contexts.push(("container", ExprValue::object(fields)));
        }
        if !self.services.is_empty() {
            let services = self.services.iter().map(|service| {
                let port =
                    |port: &PortMapping| (port.container.to_string(), text(&port.host.to_string()));
                let ports = ExprValue::object(service.ports.iter().map(port));
                let fields = [
                    ("id", text(&service.id)),
                    ("network", text(NETWORK_NAME)),
                    ("ports", ports),
                ];
                (service.name.clone(), ExprValue::object(fields))
            });
            contexts.push(("services", ExprValue::object(services)));
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

    /// Where a process of a step begins: in the job's container where there is one. `env` are its
    /// variables in the machine, `path` the folders that steps put before `PATH`.
    pub(super) fn start_of(
        &self,
        env: &BTreeMap<String, String>,
        cwd: &str,
        path: &[String],
    ) -> ProcessStart {
        let cwd = cwd.to_owned();
        let Some(job) = &self.job else {
            return ProcessStart {
                env: env.clone(),
                cwd,
                ..ProcessStart::default()
            };
        };
        let mut within: BTreeMap<String, String> = job.env.iter().cloned().collect();
        let image_path = within.remove("PATH").unwrap_or_default();
        within.extend(self.trust.iter().cloned());
        within.insert("HOME".to_owned(), CONTAINER_HOME.to_owned());
        within.extend(env.clone());
        // A `PATH` of the workflow's own counts until a step puts something before it, as on
        // GitHub.
        if !path.is_empty() || !env.contains_key("PATH") {
            let full_path = path.iter().chain([&image_path]);
            let full_path = full_path.map(String::as_str).collect::<Vec<_>>().join(":");
            within.insert("PATH".to_owned(), full_path);
        }
        ProcessStart {
            env: within,
            cwd,
            container: Some(StepContainer {
                id: job.id.clone(),
                user: job.user.clone(),
            }),
            user: None,
        }
    }

    /// A process of a step, in the job's container where there is one. `path` are the folders that
    /// steps put before `PATH`.
    pub(super) fn place(&self, process: StepProcess, path: &[String]) -> StepProcess {
        let start = self.start_of(&process.env, &process.cwd, path);
        let Some(container) = &start.container else {
            return process;
        };
        let argv = container.command(&start.env, &start.cwd, &process.argv, false);
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
            within: Some(start),
        }
    }
}

impl StepContainer {
    /// A command in it, as the machine starts it; with a terminal of its own, or without.
    pub(crate) fn command(
        &self,
        env: &BTreeMap<String, String>,
        cwd: &str,
        argv: &[String],
        terminal: bool,
    ) -> Vec<String> {
        let env = env.iter().map(|(name, value)| (&**name, &**value));
        let place = (&*self.id, Some(&*self.user));
        let words = engine::exec(place, cwd, env, argv, terminal);
        let mut argv = engine_command(["run"]);
        argv.extend(words);
        argv
    }
}

/// A service that is not ready yet.
#[derive(Clone)]
pub(super) struct WatchedService {
    pub(super) found: ContainerState,
    /// What its health check runs.
    pub(super) argv: Vec<String>,
    pub(super) watch: HealthWatch,
    pub(super) since: Instant,
}

impl WatchedService {
    /// Nothing where the service has no health check: it is ready when it runs.
    pub(super) fn new(found: ContainerState) -> Option<Self> {
        let check = found.health.as_deref()?;
        let argv = HealthCheck::argv(check)?;
        let watch = HealthWatch::new(HealthCheck::of_inspect(check)?);
        Some(Self {
            found,
            argv,
            watch,
            since: Instant::now(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_shell_begins_in_the_jobs_container_with_what_its_steps_have() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            let owned = pairs
                .iter()
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            owned.collect()
        };
        let job = ContainerState {
            id: "abc".to_owned(),
            env: pairs(&[("PATH", "/usr/bin"), ("HOME", "/root"), ("OWN", "image")]),
            user: "1:2".to_owned(),
            health: None,
            running: true,
            exit_code: 0,
        };
        let containers = JobContainers {
            job: Some(job),
            ..JobContainers::default()
        };
        let env = pairs(&[("PATH", "/machine"), ("OWN", "step"), ("CI", "true")]);
        let env: BTreeMap<String, String> = env.into_iter().collect();
        let start = containers.start_of(&env, "/workspace/web", &["/added".to_owned()]);
        let container = start.container.expect("steps are in one");
        let words = container.command(&start.env, &start.cwd, &["sh".to_owned()], true);
        let expected = "run crun exec --tty --user=1:2 --cwd=/workspace/web --env=CI=true --env=HOME=/github/home --env=OWN=step --env=PATH=/added:/usr/bin abc sh";
        assert_eq!(words[2..].join(" "), expected);
        let own = containers.start_of(&env, "/", &[]);
        assert_eq!(own.env["PATH"], "/machine", "nothing was put before it");
        let none = JobContainers::default().start_of(&env, "/", &[]);
        assert_eq!((none.env, none.container), (env, None));
    }
}
