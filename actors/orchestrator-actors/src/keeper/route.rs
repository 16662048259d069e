//! Where a task goes: provider, model and command by the routing tables.

use orchestrator_core::config::{AgentCli, AgentSpec, Config, PromptBy};
use orchestrator_core::run::RunContext;

use crate::ledger;
use crate::shared::Shared;

/// What was chosen for a run.
#[derive(Debug, Default)]
pub(super) struct Routed {
    /// The provider, when a table chose it: its circuit answers for the run.
    pub(super) provider: Option<String>,
    /// The model.
    pub(super) model: Option<String>,
    /// The command, in place of the agent's own.
    pub(super) action: Option<AgentCli>,
}

/// By the routing tables, unless the agent names its model itself. A provider whose circuit is open is passed over.
pub(super) fn routed(
    shared: &Shared,
    config: &Config,
    agent: &AgentSpec,
    context: &RunContext,
) -> Routed {
    if agent.model.is_some() || !agent.cli.takes_prompt() {
        return Routed {
            model: agent.model.clone(),
            ..Routed::default()
        };
    }
    let task = format!("{}\n{}\n{}", agent.task, context.title, context.task);
    let breakers = shared.store().read_blocking(|rows| ledger::breakers(rows));
    // A store that cannot be read now: no circuit is known to be open.
    let breakers = breakers.unwrap_or_default();
    let now = shared.now();
    let usable = |provider: &str| {
        let settings = config.providers.get(provider).copied().unwrap_or_default();
        let closed = breakers
            .get(provider)
            .is_none_or(|breaker| breaker.allows(settings, now));
        closed && agent.provider.as_deref().is_none_or(|own| own == provider)
    };
    let Some((_, route)) = config.routing.route(&task, usable) else {
        return Routed::default();
    };
    let action = route.action.clone().map(|argv| AgentCli::Command {
        argv,
        prompt_by: PromptBy::Stdin,
    });
    Routed {
        provider: Some(route.provider.clone()),
        model: Some(route.model.clone()),
        action,
    }
}
