//! The language model's reading of a workflow, held against the file (`USE_LLM_PARSER`).

use http_clients::http::{HttpClient, HttpOptions};
use http_clients::llm::{AnswerFormat, ChatRequest, ChatRole, LlmClient, LlmMessage};
use runner_core::model::{JobNotes, ModelPlan, prompt, schema};
use runner_core::workflow::Workflow;

use crate::settings::ModelServer;

/// Why the workflow is not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ModelFailure {
    /// Parsing fails, as the contract says: no other parser is used in silence.
    #[error("the language model cannot be asked: {0}")]
    Unreachable(String),
    /// It answered, but no plan.
    #[error("{0}")]
    Unusable(String),
    /// It says something else than the file.
    #[error("refused: {0}")]
    Differs(String),
}

/// Asks the model for the plan of a file and compares.
pub(crate) async fn check(
    server: &ModelServer,
    workflow: &Workflow,
    text: &str,
) -> Result<Vec<JobNotes>, ModelFailure> {
    let http = HttpClient::new(HttpOptions {
        deadline: std::time::Duration::from_secs(120),
        ..HttpOptions::default()
    });
    let client = LlmClient::new(
        http,
        server.protocol,
        server.base.clone(),
        server.key.clone(),
    );
    let [system, user] = prompt(&workflow.file, text);
    let request = ChatRequest {
        model: server.model.clone(),
        messages: vec![
            LlmMessage::new(ChatRole::System, system),
            LlmMessage::new(ChatRole::User, user),
        ],
        format: AnswerFormat::Schema {
            name: "workflow_plan".to_owned(),
            schema: schema(),
        },
        temperature: Some(0.0),
        ..ChatRequest::default()
    };
    let reply = client
        .chat(&request)
        .await
        .map_err(|error| ModelFailure::Unreachable(error.to_string()))?;
    let plan = ModelPlan::parse(&reply.content)
        .map_err(|error| ModelFailure::Unusable(error.to_string()))?;
    plan.compare(workflow)
        .map_err(|error| ModelFailure::Differs(error.to_string()))
}

/// What the model says of a job, for the run's log.
pub(crate) fn log_lines(job: &JobNotes) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, step) in (1..).zip(&job.steps) {
        if let Some(text) = &step.explanation {
            lines.push(format!("the model on step {number} of {}: {text}", job.id));
        }
        if !step.commands.is_empty() {
            let commands = step.commands.join("; ");
            lines.push(format!(
                "the model suggests for step {number} of {} (never run): {commands}",
                job.id
            ));
        }
    }
    lines
}
