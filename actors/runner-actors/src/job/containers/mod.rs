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

use std::collections::BTreeMap;

use runner_core::container::engine;
use runner_core::context::WORKSPACE;
use runner_core::plan::{DockerAction, PlannedStep, StepKind};

use super::container_state::engine_command;
use super::execute::ProcessExit;
use super::frame::{Frame, StepResult};
use super::process::with_path;
use super::step_runner::StepRunner;

impl StepRunner<'_> {
    /// A command of the engine; its output is in the log.
    async fn engine<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) -> ProcessExit {
        self.command(engine_command(words)).await
    }

    /// What the services printed, at the end of the job as GitHub shows it. Its machine ends them.
    pub(super) async fn show_services(&mut self, frame: &Frame) {
        if self.containers.services.is_empty() {
            return;
        }
        self.current.number += 1;
        let record = self.start_step("Logs of services").await;
        let services = self.containers.services.iter();
        let services: Vec<_> = services
            .map(|service| (service.name.clone(), service.member.clone()))
            .collect();
        for (name, member) in services {
            let text = format!("service {name}:");
            self.log.info(self.current.number, &text).await;
            self.show_logs(&member).await;
        }
        let result = StepResult::success(Vec::new());
        self.end_step(record, result, frame, frame.failed).await;
    }

    /// A command that looks at what steps see and may write where the runner does: by root, in the
    /// job's container where there is one.
    pub(super) async fn command_in_job(&mut self, argv: Vec<String>) -> ProcessExit {
        let Some(job) = &self.containers.job else {
            return self.command(argv).await;
        };
        let env = job.env.iter().map(|(name, value)| (&**name, &**value));
        let words = engine::exec((&job.id, None), WORKSPACE, env, &argv, false);
        let mut argv = engine_command(["run"]);
        argv.extend(words);
        self.command(argv).await
    }

    /// A command that sees and does what a step would that has these variables beside the job's: in
    /// the job's container where there is one, with the folders that steps put before `PATH`.
    pub(super) async fn command_as_step(
        &mut self,
        argv: Vec<String>,
        own: &[(String, String)],
    ) -> ProcessExit {
        let mut env = self.containers.command_env();
        let variables: BTreeMap<String, String> =
            self.variables.env.iter().chain(own).cloned().collect();
        let start = self
            .containers
            .start_of(&variables, WORKSPACE, &self.variables.path);
        env.extend(variables);
        if !self.variables.path.is_empty() {
            let path = with_path(&self.variables.path, env.get("PATH"));
            env.insert("PATH".to_owned(), path);
        }
        match &start.container {
            Some(container) => {
                let argv = container.command(&start.env, &start.cwd, &argv, false);
                self.command(argv).await
            }
            None => {
                let Some(user) = self.machine.user.get() else {
                    return self.command_with(argv, env).await;
                };
                if let Err(exit) = self.chown_to_user().await {
                    return exit;
                }
                user.add_to(&mut env);
                self.command_with(user.command(argv), env).await
            }
        }
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
