//! A matrix to its combinations (page "Running variations of jobs in a workflow").

use crate::expr::{Object, Value};
use crate::limits::MAX_MATRIX;

/// Every combination, in GitHub's order: the product of the rows without what `exclude` names, then
/// `include`.
///
/// # Errors
/// When the value is no matrix, or there are too many.
pub fn combinations(matrix: &Value) -> Result<Vec<Value>, String> {
    let Value::Object(matrix) = matrix else {
        return Err(format!(
            "the matrix is {}, expected an object",
            kind(matrix)
        ));
    };
    let rows: Vec<(&str, &Value)> = matrix
        .iter()
        .filter(|(key, _)| !same(key, "include") && !same(key, "exclude"))
        .collect();
    let originals = product(&rows)?;
    let excluded = objects(matrix.get("exclude"), "exclude")?;
    check_excluded(&excluded, &rows)?;
    let mut originals: Vec<Object> = originals
        .into_iter()
        .filter(|combination| !excluded.iter().any(|exclude| matches(combination, exclude)))
        .collect();
    // What `include` may not overwrite: the values of the product itself.
    let untouched = originals.clone();
    let mut added = Vec::new();
    for include in objects(matrix.get("include"), "include")? {
        let mut found = false;
        for (combination, original) in originals.iter_mut().zip(&untouched) {
            // It is added to every combination whose own values it does not change.
            let fits = include
                .iter()
                .all(|(key, value)| original.get(key).is_none_or(|own| own == value));
            if fits && !rows.is_empty() {
                include
                    .iter()
                    .for_each(|(key, value)| combination.set(key, value.clone()));
                found = true;
            }
        }
        if !found {
            added.push(include);
        }
    }
    if rows.is_empty() {
        originals.clear();
    }
    let all: Vec<Value> = originals
        .into_iter()
        .chain(added)
        .map(|object| Value::object(object.iter().map(|(key, value)| (key, value.clone()))))
        .collect();
    if all.is_empty() {
        return Err("the matrix has no combinations".to_owned());
    }
    if all.len() > MAX_MATRIX {
        return Err(format!(
            "the matrix has {} combinations, {MAX_MATRIX} at most",
            all.len()
        ));
    }
    Ok(all)
}

fn product(rows: &[(&str, &Value)]) -> Result<Vec<Object>, String> {
    let mut all = vec![Object::default()];
    for (key, values) in rows {
        let Value::List(values) = values else {
            return Err(format!(
                "{} of the matrix is {}, expected a list",
                config_core::quoted(key),
                kind(values)
            ));
        };
        // Some may be excluded again, but not without bound.
        if all.len().saturating_mul(values.len()) > MAX_MATRIX * 16 {
            return Err(format!(
                "the matrix has more than {MAX_MATRIX} combinations"
            ));
        }
        all = all
            .iter()
            .flat_map(|combination| {
                values.iter().map(|value| {
                    let mut combination = combination.clone();
                    combination.set(key, value.clone());
                    combination
                })
            })
            .collect();
    }
    Ok(all)
}

fn objects(list: Option<&Value>, what: &str) -> Result<Vec<Object>, String> {
    let values = match list {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::List(values)) => values,
        Some(other) => {
            return Err(format!(
                "{what} of the matrix is {}, expected a list",
                kind(other)
            ));
        }
    };
    let object = |value: &Value| match value {
        Value::Object(object) => Ok((**object).clone()),
        other => Err(format!(
            "{what} of the matrix holds {}, expected objects",
            kind(other)
        )),
    };
    values.iter().map(object).collect()
}

/// Every key that `exclude` names is one of the rows, as GitHub wants it.
fn check_excluded(excluded: &[Object], rows: &[(&str, &Value)]) -> Result<(), String> {
    for exclude in excluded {
        if exclude.is_empty() {
            return Err("exclude of the matrix holds an object without a key".to_owned());
        }
        for (key, _) in exclude.iter() {
            if !rows.iter().any(|(row, _)| same(row, key)) {
                let key = config_core::quoted(key);
                return Err(format!("the matrix has no key {key} to exclude"));
            }
        }
    }
    Ok(())
}

/// Whether every key of `exclude` has its value in the combination; of objects a part is enough.
fn matches(combination: &Object, exclude: &Object) -> bool {
    exclude.iter().all(|(key, wanted)| {
        combination
            .get(key)
            .is_some_and(|value| includes(value, wanted))
    })
}

/// Whether a value of a row is one that `exclude` names; of objects a part is enough.
pub(crate) fn includes(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(object), Value::Object(wanted)) => matches(object, wanted),
        (Value::List(values), Value::List(wanted)) => {
            values.len() == wanted.len()
                && values
                    .iter()
                    .zip(wanted.iter())
                    .all(|(value, wanted)| includes(value, wanted))
        }
        (value, wanted) => value.loosely_equals(wanted),
    }
}

/// ` (1, ubuntu-latest)`: the values of a combination, as a job's name shows them.
pub(super) fn suffix(combination: &Value) -> String {
    let mut texts = Vec::new();
    collect(combination, &mut texts);
    if texts.is_empty() {
        String::new()
    } else {
        format!(" ({})", texts.join(", "))
    }
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(_, value)| collect(value, texts)),
        Value::List(values) => values.iter().for_each(|value| collect(value, texts)),
        primitive => texts.push(primitive.as_text().to_string()),
    }
}

fn same(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Text(_) => "a text",
        Value::List(_) => "a list",
        Value::Object(_) => "an object",
    }
}
