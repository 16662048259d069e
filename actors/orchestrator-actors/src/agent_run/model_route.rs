//! Where a task goes: provider, model and command by the routing tables.

use orchestrator_core::config::{AgentCli, PromptBy};
use orchestrator_core::run::RunContext;

use super::assignment::Assignment;
use crate::ledger::{self, Ledger};

/// The route of a run.
#[derive(Debug, Default)]
pub(super) struct ModelRoute {
    /// The provider, when a table chose it: its circuit answers for the run.
    pub(super) provider: Option<String>,
    /// The model.
    pub(super) model: Option<String>,
    /// The command, in place of the agent's own.
    pub(super) action: Option<AgentCli>,
}

impl Assignment<'_> {
    /// By the routing tables, unless the agent names its model itself. A provider whose circuit is
    /// open is passed over.
    pub(super) fn route(&self, ledger: &Ledger, context: &RunContext) -> ModelRoute {
        let (config, agent) = (self.config, self.agent);
        if agent.model.is_some() || !agent.cli.takes_prompt() {
            return ModelRoute {
                model: agent.model.clone(),
                ..ModelRoute::default()
            };
        }
        let task = format!("{}\n{}\n{}", agent.task, context.title, context.task);
        // A store that cannot be read now: no circuit is known to be open.
        let breakers = ledger.read_blocking(|rows| ledger::breakers(rows));
        let (breakers, now) = (breakers.unwrap_or_default(), ledger.now());
        let usable = |provider: &str| {
            let settings = config.providers.get(provider).copied().unwrap_or_default();
            let closed = breakers
                .get(provider)
                .is_none_or(|breaker| breaker.allows(settings, now));
            closed && agent.provider.as_deref().is_none_or(|own| own == provider)
        };
        let Some((_, route)) = config.routing.route(&task, usable) else {
            return ModelRoute::default();
        };
        let action = route.action.clone().map(|argv| AgentCli::Command {
            argv,
            prompt_by: PromptBy::Stdin,
        });
        ModelRoute {
            provider: Some(route.provider.clone()),
            model: Some(route.model.clone()),
            action,
        }
    }
}
