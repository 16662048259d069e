//! The variables of a workflow and a job in the `if` of the job, where Gitea and Forgejo have them.

use std::sync::Arc;

use crate::expr::{ContextName, Contexts, DataKey, ExprScope, ExprValue, Object};
use crate::workflow::Env;

/// Contexts with these variables in `env`, as far as they have values: later ones win.
pub(super) fn with_variables(contexts: &Contexts, all: [&Env; 2]) -> Contexts {
    let mut found = contexts.clone();
    for env in all {
        let scope = ExprScope::new(&found);
        let mut variables = match found.get(ContextName::Env) {
            ExprValue::Object(known) => (**known).clone(),
            _ => Object::default(),
        };
        match env {
            Env::Map(entries) => {
                for (name, value) in entries {
                    let DataKey::Text(name) = name else { continue };
                    if let (Ok(name), Ok(value)) = (name.text(&scope), value.text(&scope)) {
                        variables.set(&name, ExprValue::text(&value));
                    }
                }
            }
            Env::Expr(template) => {
                if let Ok(ExprValue::Object(object)) = template.value(&scope) {
                    for (name, value) in object.iter() {
                        variables.set(name, ExprValue::Text(value.as_text()));
                    }
                }
            }
        }
        found.set(ContextName::Env, ExprValue::Object(Arc::new(variables)));
    }
    found
}
