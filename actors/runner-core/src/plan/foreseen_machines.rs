//! The machines that a job names whatever its inputs and the jobs before it come to: labels that
//! are written out, and those that the constant values of its matrix give.

use super::expand::{group, labels};
use super::foreseen_inputs::{Confidence, KnownInputs};
use super::matrix::{combinations, includes};
use crate::expr::{Chain, ContextName, Contexts, Data, Expr, ExprScope, ExprValue, Object};
use crate::workflow::{Job, JobWork};

/// Stands for a value that is not known; no file has such a text.
const UNKNOWN: &str = "\u{0}unknown";

/// What a machine of a job is asked for by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForeseenMachine {
    pub(crate) labels: Vec<String>,
    pub(crate) group: Option<String>,
    /// Whether it is asked for whatever the inputs are.
    pub(crate) is_sure: bool,
}

/// The machines that are known, each once, and whether these are all. Where nothing is sure, what
/// is likely.
pub(super) fn machines_named(
    job: &Job,
    inputs: &KnownInputs,
    contexts: &Contexts,
) -> (Vec<ForeseenMachine>, bool) {
    let sure = ValueSources::new(&inputs.sure_ones(), contexts, Confidence::Sure).machines(job);
    if !sure.0.is_empty() {
        return sure;
    }
    ValueSources::new(inputs, contexts, Confidence::Likely).machines(job)
}

/// What values are taken from.
struct ValueSources<'i> {
    inputs: &'i KnownInputs,
    contexts: Contexts,
    least: Confidence,
}

/// A matrix with what is not known of it marked.
#[derive(Default)]
struct PartialMatrix {
    combinations: Vec<ExprValue>,
    rows: Vec<String>,
    /// What `include` adds is not known, or not all of it.
    includes_more: bool,
    /// Parts of what `exclude` names: what has them may be left out.
    may_leave_out: Vec<ExprValue>,
}

impl<'i> ValueSources<'i> {
    fn new(inputs: &'i KnownInputs, contexts: &Contexts, least: Confidence) -> Self {
        let contexts = contexts.clone().with(ContextName::Inputs, inputs.values());
        Self {
            inputs,
            contexts,
            least,
        }
    }

    fn machines(&self, job: &Job) -> (Vec<ForeseenMachine>, bool) {
        let JobWork::Steps { runs_on, .. } = &job.work else {
            return (Vec::new(), true);
        };
        let strategy = job.strategy.as_ref();
        let matrix = strategy.and_then(|strategy| strategy.matrix.as_ref());
        let mut of_matrix = false;
        runs_on.expressions(&mut |expr| of_matrix |= expr.refers_to(ContextName::Matrix));
        let partial = match matrix.filter(|_| of_matrix) {
            Some(matrix) => self.partial(matrix),
            None => PartialMatrix {
                combinations: vec![ExprValue::object::<&str, ExprValue>([])],
                ..PartialMatrix::default()
            },
        };
        let mut machines: Vec<ForeseenMachine> = Vec::new();
        let mut is_complete = !partial.combinations.is_empty() && !partial.includes_more;
        if partial.combinations.is_empty() {
            machines.extend(self.written(runs_on));
        }
        for combination in &partial.combinations {
            let mut machine = self.machine(runs_on, combination, &partial);
            if machine.is_none() {
                is_complete = false;
                machine = self.written(runs_on);
            }
            machines.extend(machine.filter(|machine| !machines.contains(machine)));
        }
        (machines, is_complete)
    }

    /// Of a list the labels that are written out, whatever the others are.
    fn written(&self, runs_on: &Data) -> Option<ForeseenMachine> {
        let Data::List(values) = runs_on else {
            return None;
        };
        let fixed = values.iter().filter_map(|value| match value {
            Data::Scalar(template) => Some(template.fixed()?.as_text().to_string()),
            _ => None,
        });
        let labels: Vec<String> = fixed.collect();
        (!labels.is_empty()).then(|| ForeseenMachine {
            labels,
            group: None,
            is_sure: self.least == Confidence::Sure,
        })
    }

    /// What a combination asks for, where nothing in it is unknown.
    fn machine(
        &self,
        runs_on: &Data,
        combination: &ExprValue,
        partial: &PartialMatrix,
    ) -> Option<ForeseenMachine> {
        let mut left_out = partial.may_leave_out.iter();
        if left_out.any(|part| includes(combination, part)) {
            return None;
        }
        let mut known = true;
        runs_on.expressions(&mut |expr| {
            known &= self.is_known(expr, &[ContextName::Matrix]);
            expr.chains(&mut |chain| {
                known &=
                    chain.context != ContextName::Matrix || is_there(chain, combination, partial);
            });
        });
        if !known {
            return None;
        }
        let contexts = self.contexts.clone();
        let contexts = contexts.with(ContextName::Matrix, combination.clone());
        let value = runs_on.value(&ExprScope::new(&contexts)).ok()?;
        let group = group(&value);
        Some(ForeseenMachine {
            labels: labels(&value)
                .ok()
                .or_else(|| group.is_some().then(Vec::new))?,
            group,
            is_sure: self.least == Confidence::Sure,
        })
    }

    fn is_known(&self, expr: &Expr, others: &[ContextName]) -> bool {
        let sureness = self.inputs.sureness(expr, others);
        sureness.is_some_and(|sureness| sureness >= self.least)
    }

    fn partial(&self, matrix: &Data) -> PartialMatrix {
        let mut partial = PartialMatrix::default();
        let ExprValue::Object(matrix) = self.value(matrix) else {
            return partial;
        };
        let mut known = Object::default();
        for (key, value) in matrix.iter() {
            if key.eq_ignore_ascii_case("include") {
                let (kept, is_all) = objects(value);
                partial.includes_more = !is_all;
                known.set(key, ExprValue::list(kept));
            } else if !key.eq_ignore_ascii_case("exclude") {
                partial.rows.push(key.to_owned());
                let value = match value {
                    ExprValue::List(_) => value.clone(),
                    _ => ExprValue::list(vec![value.clone()]),
                };
                known.set(key, value);
            }
        }
        let exclude = matrix.get("exclude").cloned().unwrap_or(ExprValue::Null);
        let (exclude, is_all) = objects(&exclude);
        if !is_all {
            // Nobody knows what is left.
            return PartialMatrix::default();
        }
        let mut excluded = Vec::new();
        for entry in exclude {
            match self.known_part(&entry, &known) {
                Some(part) => partial.may_leave_out.push(part),
                None => excluded.push(entry),
            }
        }
        if !excluded.is_empty() {
            known.set("exclude", ExprValue::list(excluded));
        }
        let matrix = ExprValue::Object(std::sync::Arc::new(known));
        partial.combinations = combinations(&matrix).unwrap_or_default();
        partial
    }

    /// What an entry of `exclude` names that is known, where it names something that is not.
    fn known_part(&self, entry: &ExprValue, rows: &Object) -> Option<ExprValue> {
        let ExprValue::Object(entry) = entry else {
            return None;
        };
        let is_open = |key: &str, value: &ExprValue| {
            has_unknown(value) || rows.get(key).is_none_or(has_unknown)
        };
        let mut pairs = entry.iter();
        pairs.any(|(key, value)| is_open(key, value)).then(|| {
            let known = entry.iter().filter(|(key, value)| !is_open(key, value));
            ExprValue::object(known.map(|(key, value)| (key, value.clone())))
        })
    }

    /// A value with [`UNKNOWN`] in place of what is not known.
    fn value(&self, data: &Data) -> ExprValue {
        let unknown = || ExprValue::text(UNKNOWN);
        match data {
            Data::Scalar(template) => {
                let mut expressions = template.expressions();
                match expressions.all(|expr| self.is_known(expr, &[])) {
                    true => template
                        .value(&ExprScope::new(&self.contexts))
                        .unwrap_or_else(|_| unknown()),
                    false => unknown(),
                }
            }
            Data::List(values) => {
                let mut all = Vec::new();
                for value in values {
                    match (value, self.value(value)) {
                        (Data::Scalar(template), ExprValue::List(more))
                            if template.is_one_expression() =>
                        {
                            all.extend(more.iter().cloned());
                        }
                        (_, value) => all.push(value),
                    }
                }
                ExprValue::list(all)
            }
            Data::Map(entries) => {
                let mut object = Object::default();
                for (key, value) in entries {
                    object.set(key, self.value(value));
                }
                ExprValue::Object(std::sync::Arc::new(object))
            }
            Data::Computed(_) => unknown(),
        }
    }
}

/// The objects of a list, and whether all of it is known to be such.
fn objects(value: &ExprValue) -> (Vec<ExprValue>, bool) {
    match value {
        ExprValue::Null => (Vec::new(), true),
        ExprValue::List(values) => {
            let is_object = |value: &&ExprValue| matches!(value, ExprValue::Object(_));
            let kept: Vec<ExprValue> = values.iter().filter(is_object).cloned().collect();
            let is_all = kept.len() == values.len();
            (kept, is_all)
        }
        _ => (Vec::new(), false),
    }
}

fn has_unknown(value: &ExprValue) -> bool {
    match value {
        ExprValue::Text(text) => &**text == UNKNOWN,
        ExprValue::List(values) => values.iter().any(has_unknown),
        ExprValue::Object(object) => object.iter().any(|(_, value)| has_unknown(value)),
        _ => false,
    }
}

/// Whether what a chain names of the matrix is known.
fn is_there(chain: &Chain<'_>, combination: &ExprValue, partial: &PartialMatrix) -> bool {
    let is_row = |name: &str| {
        partial
            .rows
            .iter()
            .any(|row| row.eq_ignore_ascii_case(name))
    };
    if partial.includes_more && !chain.name(0).is_some_and(is_row) {
        return false;
    }
    let mut value = combination;
    for name in &chain.names {
        if matches!(value, ExprValue::Text(text) if &**text == UNKNOWN) {
            return false;
        }
        match name.and_then(|name| value.get(name)) {
            Some(inner) => value = inner,
            // Nothing is there, or all of it counts.
            None => return name.is_some() || !has_unknown(value),
        }
    }
    !has_unknown(value)
}
