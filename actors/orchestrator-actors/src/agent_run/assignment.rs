//! What a run is about: its agent and project.

use orchestrator_core::config::{AgentSpec, Config, Project};
use orchestrator_core::run::Run;

use super::prepare_error::RunPrepareError;

/// A run with its agent and project, by the configuration in force when it starts.
pub(super) struct Assignment<'a> {
    pub(super) config: &'a Config,
    pub(super) agent: &'a AgentSpec,
    pub(super) project: &'a Project,
    pub(super) run: &'a Run,
}

impl<'a> Assignment<'a> {
    /// Looks agent and project up.
    pub(super) fn find(config: &'a Config, run: &'a Run) -> Result<Self, RunPrepareError> {
        let agent = config
            .agent(&run.home, &run.agent)
            .ok_or("the agent is not in the configuration any more")?;
        let project = config
            .projects
            .get(&run.project)
            .ok_or("the project is not in the configuration any more")?;
        Ok(Self {
            config,
            agent,
            project,
            run,
        })
    }
}
