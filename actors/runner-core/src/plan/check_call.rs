//! What the caller of a workflow gives, compared with what that takes.

use super::input::PlanError;
use super::workflow_inputs::typed;
use crate::expr::ExprTemplate;
use crate::source_location::SourceLocation;
use crate::workflow::{CallSecrets, Workflow};

/// Whether the caller gives what the called workflow takes (page "Reuse workflows").
pub(super) fn check_call(
    called: &Workflow,
    with: &[(String, ExprTemplate)],
    secrets: &CallSecrets,
    file: &str,
    place: SourceLocation,
) -> Result<(), PlanError> {
    let call = called.on.workflow_call.clone().unwrap_or_default();
    let quoted = config_core::quoted;
    let wrong = |message: String| {
        Err(PlanError::Workflow {
            file: file.into(),
            place,
            message,
        })
    };
    for (name, value) in with {
        let mut inputs = call.inputs.iter();
        let Some(input) = inputs.find(|input| input.name.eq_ignore_ascii_case(name)) else {
            return wrong(format!("{} has no input {}", called.file, quoted(name)));
        };
        if let Some(Err(error)) = value
            .fixed()
            .map(|value| typed(Some(value), &input.kind, &input.name))
        {
            return wrong(format!("{}: {error}", called.file));
        }
    }
    let given = |name: &str| with.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let missing = call
        .inputs
        .iter()
        .find(|input| input.required && input.default.is_none() && !given(&input.name));
    if let Some(input) = missing {
        let name = quoted(&input.name);
        return wrong(format!("the input {name} of {} is missing", called.file));
    }
    let CallSecrets::Only(secrets) = secrets else {
        return Ok(());
    };
    let declared = |name: &str| {
        let mut secrets = call.secrets.iter();
        secrets.any(|secret| secret.name.eq_ignore_ascii_case(name))
    };
    if let Some((name, _)) = secrets.iter().find(|(name, _)| !declared(name)) {
        return wrong(format!("{} takes no secret {}", called.file, quoted(name)));
    }
    let given = |name: &str| {
        secrets
            .iter()
            .any(|(key, _)| key.eq_ignore_ascii_case(name))
    };
    let missing = call
        .secrets
        .iter()
        .find(|secret| secret.required && !given(&secret.name));
    match missing {
        Some(secret) => {
            let name = quoted(&secret.name);
            wrong(format!("the secret {name} of {} is missing", called.file))
        }
        None => Ok(()),
    }
}
