//! Contexts of narrower scopes over those of the run.

use std::sync::Arc;

use runner_core::expr::{Context, Contexts, Object, Value};

/// Values of a narrower scope over those of a context.
pub(super) fn overlay<'a>(
    contexts: &mut Contexts,
    context: Context,
    values: impl Iterator<Item = (&'a str, &'a str)>,
) {
    let wide = match contexts.get(context) {
        Value::Object(known) => known
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
        object.set(name, Value::text(value));
    }
    contexts.set(context, Value::Object(Arc::new(object)));
}
