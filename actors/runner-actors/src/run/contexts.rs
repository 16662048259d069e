//! Contexts of narrower scopes over those of the run.

use std::sync::Arc;

use runner_core::expr::{ContextName, Contexts, ExprValue, Object};

/// Values of a narrower scope over those of a context.
pub(super) fn overlay<'a>(
    contexts: &mut Contexts,
    context: ContextName,
    values: impl Iterator<Item = (&'a str, &'a str)>,
) {
    let wide = match contexts.get(context) {
        ExprValue::Object(known) => known
            .iter()
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect(),
        _ => Vec::new(),
    };
    let mut object = Object::default();
    let narrow: Vec<(&str, &str)> = values.collect();
    for (name, value) in wide {
        if !narrow
            .iter()
            .any(|(own, _)| own.eq_ignore_ascii_case(&name))
        {
            object.set(&name, value);
        }
    }
    for (name, value) in narrow {
        object.set(name, ExprValue::text(value));
    }
    contexts.set(context, ExprValue::Object(Arc::new(object)));
}
