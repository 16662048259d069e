//! Kinds of the values that a file gives to `matrix` and `inputs`.

use std::collections::HashMap;

use super::trigger_types::{InputKind, InputSpec};
use super::types::{Job, Workflow};
use crate::expr::{Data, ValueType};

/// Names in lower case with the kind of their values; nothing where they are of several, or where
/// only the run knows.
pub(super) type KindByName = HashMap<String, Option<ValueType>>;

/// Those of a job's matrix, what `include` adds among them.
pub(super) fn of_matrix(job: &Job) -> KindByName {
    let mut kinds = KindByName::new();
    let strategy = job.strategy.as_ref();
    let Some(Data::Map(rows)) = strategy.and_then(|strategy| strategy.matrix.as_ref()) else {
        return kinds;
    };
    for (key, values) in rows {
        match (key.as_str(), values) {
            ("include" | "exclude", _) => {}
            (key, Data::List(values)) => {
                values
                    .iter()
                    .for_each(|value| add(&mut kinds, key, kind_of(value)));
            }
            (key, _) => add(&mut kinds, key, None),
        }
    }
    let include = rows.iter().find(|(key, _)| key == "include");
    match include {
        None => kinds,
        Some((_, Data::List(values))) => {
            let kinds = values.iter().try_fold(kinds, included);
            kinds.unwrap_or_default()
        }
        // An expression may add anything.
        Some(_) => KindByName::new(),
    }
}

/// With what an element of `include` adds. A key that no row has is nothing in the other copies.
fn included(mut kinds: KindByName, value: &Data) -> Option<KindByName> {
    let Data::Map(entries) = value else {
        return None;
    };
    for (key, value) in entries {
        let known = kinds.contains_key(&key.to_ascii_lowercase());
        add(&mut kinds, key, kind_of(value).filter(|_| known));
    }
    Some(kinds)
}

/// Those of the inputs of `workflow_dispatch` and `workflow_call`.
pub(super) fn of_inputs(workflow: &Workflow) -> KindByName {
    let mut kinds = KindByName::new();
    let on = &workflow.on;
    let called = on.workflow_call.iter().flat_map(|call| &call.inputs);
    for InputSpec { name, kind, .. } in on.workflow_dispatch.iter().flatten().chain(called) {
        let kind = match kind {
            InputKind::Boolean => ValueType::Bool,
            InputKind::Number => ValueType::Number,
            InputKind::Text | InputKind::Choice(_) | InputKind::Environment => ValueType::Text,
        };
        add(&mut kinds, name, Some(kind));
    }
    kinds
}

fn add(kinds: &mut KindByName, name: &str, kind: Option<ValueType>) {
    let known = kinds.entry(name.to_ascii_lowercase()).or_insert(kind);
    if *known != kind {
        *known = None;
    }
}

fn kind_of(value: &Data) -> Option<ValueType> {
    match value {
        Data::List(_) => Some(ValueType::List),
        Data::Map(_) | Data::Computed(_) => Some(ValueType::Object),
        Data::Scalar(template) => match template.fixed() {
            Some(value) => Some(ValueType::from_value(&value)),
            None if template.is_one_expression() => {
                let mut expressions = template.expressions();
                expressions.next()?.kind(&|_, _| None)
            }
            None => Some(ValueType::Text),
        },
    }
}
