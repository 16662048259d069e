//! The configuration as an operator sees and changes it: prompts, checks, reloads.

use std::collections::BTreeSet;

use actix::{Context, Handler};
use config_core::{Diagnostic, UnknownKeys, ValueError};
use forge_actors::messages::RetryParked;
use orchestrator_core::admin::{CheckView, PromptView};
use orchestrator_core::config::{CheckedConfig, Config, check};
use orchestrator_core::prompt::compose;
use orchestrator_core::run::RunContext;
use store::StoreError;

use super::{OperatorApi, Reply};
use crate::ledger::{self, Ledger};
use crate::load::{SystemHost, as_values, check_view, load};
use crate::messages::{CheckConfig, GetPrompt, OperatorError, ReloadConfig, Tick};

impl Handler<GetPrompt> for OperatorApi {
    type Result = Reply<PromptView>;

    fn handle(&mut self, request: GetPrompt, _: &mut Context<Self>) -> Self::Result {
        let view = prompt_view(&self.ledger, &request);
        Box::pin(async move { view })
    }
}

/// The prompt of an agent for a run that nothing triggers.
fn prompt_view(ledger: &Ledger, request: &GetPrompt) -> Result<PromptView, OperatorError> {
    let config = ledger.config();
    let found = config.agents.iter().find(|((project, name), _)| {
        project.as_str() == request.project && name.as_str() == request.agent
    });
    let none = || {
        OperatorError::NotFound(format!(
            "there is no agent {}/{}",
            request.project, request.agent
        ))
    };
    let ((project, _), agent) = found.ok_or_else(none)?;
    let project = config.projects.get(project).ok_or_else(none)?;
    let (own, quarantined) = (BTreeSet::new(), BTreeSet::new());
    let intake = orchestrator_core::intake::IntakeContext {
        config: &config,
        own_logins: &own,
        now: ledger.now(),
        quarantined: &quarantined,
        usage: &|_| orchestrator_core::health::AgentUsage::default(),
        recent: &|_, _| 0,
        queued: 0,
        new_id: &ledger::new_run_id,
    };
    let new = orchestrator_core::intake::scheduled(agent, project, ledger.now(), &intake);
    let context = RunContext::default();
    let nonce = "<made for each run>";
    let prompt = compose(&config, agent, project, &new.run, &context, nonce);
    Ok(PromptView {
        project: request.project.clone(),
        agent: request.agent.clone(),
        persona: prompt.persona,
        skills: prompt.skills,
        model: agent.model.clone(),
        prompt: prompt.text,
    })
}

impl OperatorApi {
    /// Reads and checks the files, on a thread that may block.
    async fn check_files(&self) -> Result<CheckedConfig, CheckView> {
        let (path, environment) = (self.config_path.clone(), self.environment.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let files = load(&path, &environment).map_err(|error| error.to_string())?;
            let host = SystemHost::new(&environment);
            Ok(check(&files, &environment, &host, UnknownKeys::Refuse))
        });
        let invalid = |diagnostics| CheckView {
            valid: false,
            diagnostics,
            routes: Vec::new(),
        };
        let failed =
            |text: String| vec![serde_json::json!({ "severity": "error", "message": text })];
        match reading.await {
            Ok(Ok(Ok(checked))) => Ok(checked),
            Ok(Ok(Err(errors))) => Err(invalid(as_values(&errors))),
            Ok(Err(text)) => Err(invalid(failed(text))),
            Err(error) => Err(invalid(failed(error.to_string()))),
        }
    }
}

impl OperatorApi {
    /// Agents that begin from now on have VMs of the hosts that are listed now.
    async fn renew_hosts(&self, config: &Config) -> Result<(), StoreError> {
        let (hosts, listed) = (self.vm_hosts.clone(), config.vm_hosts.clone());
        let renewed = tokio::task::spawn_blocking(move || hosts.renew(&listed).map(drop));
        // The thread is never cancelled.
        renewed.await.unwrap_or(Ok(()))
    }
}

impl Handler<CheckConfig> for OperatorApi {
    type Result = Reply<CheckView>;

    fn handle(&mut self, CheckConfig: CheckConfig, _: &mut Context<Self>) -> Self::Result {
        let api = self.clone();
        Box::pin(async move {
            Ok(match api.check_files().await {
                Ok(checked) => check_view(&checked),
                Err(view) => view,
            })
        })
    }
}

/// The warning about a key that a process reads once.
fn at_the_next_start(key: &str) -> Diagnostic {
    let error = ValueError::new(format!(
        "`{key}` was changed: it takes effect at the next start"
    ));
    let error =
        error.help("restart the orchestrator when it suits; everything else is in force now");
    Diagnostic::for_setting("orchestrator.toml", error).into_warning()
}

impl Handler<ReloadConfig> for OperatorApi {
    type Result = Reply<CheckView>;

    fn handle(&mut self, ReloadConfig: ReloadConfig, _: &mut Context<Self>) -> Self::Result {
        let api = self.clone();
        Box::pin(async move {
            let mut checked = match api.check_files().await {
                Ok(checked) => checked,
                Err(view) => return Ok(view),
            };
            let fixed = checked.config.keep_fixed(&api.ledger.config());
            checked
                .warnings
                .extend(fixed.into_iter().map(at_the_next_start));
            let view = check_view(&checked);
            api.renew_hosts(&checked.config).await?;
            api.config
                .replace(checked.config, &checked.warnings, api.ledger.now());
            api.ledger.write(ledger::clear_config_errors).await?;
            let _ = api.notifier.outbox.tell(RetryParked);
            // What was repaired takes effect now, whatever `wake_on_dispatch` says: an operator
            // waits for it.
            let _ = api.dispatcher.tell(Tick);
            Ok(view)
        })
    }
}
