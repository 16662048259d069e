//! A matrix to its combinations (page "Running variations of jobs in a workflow").

use crate::expr::{ExprValue, Object};
use crate::limits::MAX_MATRIX;

/// A combination.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Combination {
    pub(super) values: ExprValue,
    /// ` (1, ubuntu-latest)`: what the name of its copy has of it. Values that `include` adds to a
    /// combination of the rows are not in it, as at GitHub.
    pub(super) suffix: String,
}

/// Every combination, in GitHub's order: the product of the rows without what `exclude` names, then
/// `include`. None where `exclude` takes all of them: the job then has one copy without a matrix,
/// as GitHub's own code has it (`WorkflowTemplateEvaluator.EvaluateStrategy`).
///
/// # Errors
/// When the value is no matrix, or there are too many.
pub fn combinations(matrix: &ExprValue) -> Result<Vec<ExprValue>, String> {
    let named = named_combinations(matrix)?.into_iter();
    Ok(named.map(|combination| combination.values).collect())
}

/// The same, with what their copies are called.
pub(super) fn named_combinations(matrix: &ExprValue) -> Result<Vec<Combination>, String> {
    let ExprValue::Object(matrix) = matrix else {
        return Err(format!(
            "the matrix is {}, expected an object",
            kind(matrix)
        ));
    };
    let rows: Vec<(&str, &ExprValue)> = matrix
        .iter()
        .filter(|(key, _)| !is_same_text(key, "include") && !is_same_text(key, "exclude"))
        .collect();
    let originals = product(&rows)?;
    let excluded = objects(matrix.get("exclude"), "exclude")?;
    check_excluded(&excluded, &rows)?;
    let in_product = originals.len();
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
            let own = |key: &str| original.get(key);
            let mut pairs = include.iter();
            let fits = pairs.all(|(key, value)| own(key).is_none_or(|own| includes(own, value)));
            if fits && !rows.is_empty() {
                let extra = include.iter().filter(|(key, _)| own(key).is_none());
                extra.for_each(|(key, value)| combination.set(key, value.clone()));
                found = true;
            }
        }
        if !found {
            added.push(rows_first(&include, &rows));
        }
    }
    if rows.is_empty() {
        originals.clear();
    }
    let originals = originals.into_iter().zip(&untouched);
    let originals = originals.map(|(object, rows)| Combination {
        suffix: suffix(rows),
        values: value(&object),
    });
    let added = added.iter().map(|object| Combination {
        suffix: suffix(object),
        values: value(object),
    });
    let all: Vec<Combination> = originals.chain(added).collect();
    // Of rows without values there is nothing to exclude.
    if all.is_empty() && (rows.is_empty() || in_product == 0) {
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

fn product(rows: &[(&str, &ExprValue)]) -> Result<Vec<Object>, String> {
    let mut all = vec![Object::default()];
    for (key, values) in rows {
        let ExprValue::List(values) = values else {
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

fn objects(list: Option<&ExprValue>, what: &str) -> Result<Vec<Object>, String> {
    let values = match list {
        None | Some(ExprValue::Null) => return Ok(Vec::new()),
        Some(ExprValue::List(values)) => values,
        Some(other) => {
            return Err(format!(
                "{what} of the matrix is {}, expected a list",
                kind(other)
            ));
        }
    };
    let object = |value: &ExprValue| match value {
        ExprValue::Object(object) => Ok((**object).clone()),
        other => Err(format!(
            "{what} of the matrix holds {}, expected objects",
            kind(other)
        )),
    };
    values.iter().map(object).collect()
}

/// Every key that `exclude` names is one of the rows, as GitHub wants it.
fn check_excluded(excluded: &[Object], rows: &[(&str, &ExprValue)]) -> Result<(), String> {
    for exclude in excluded {
        if exclude.is_empty() {
            return Err("exclude of the matrix holds an object without a key".to_owned());
        }
        for (key, _) in exclude.iter() {
            if !rows.iter().any(|(row, _)| is_same_text(row, key)) {
                let key = config_core::quoted(key);
                return Err(format!("the matrix has no key {key} to exclude"));
            }
        }
    }
    Ok(())
}

/// What `include` adds by itself: the keys of rows stand first.
fn rows_first(include: &Object, rows: &[(&str, &ExprValue)]) -> Object {
    let is_row = |key: &str| rows.iter().any(|(row, _)| is_same_text(row, key));
    let mut ordered = Object::default();
    for of_rows in [true, false] {
        let pairs = include.iter().filter(|(key, _)| is_row(key) == of_rows);
        pairs.for_each(|(key, value)| ordered.set(key, value.clone()));
    }
    ordered
}

fn value(object: &Object) -> ExprValue {
    ExprValue::object(object.iter().map(|(key, value)| (key, value.clone())))
}

/// Whether every key of `exclude` has its value in the combination; of objects a part is enough.
fn matches(combination: &Object, exclude: &Object) -> bool {
    exclude.iter().all(|(key, wanted)| {
        combination
            .get(key)
            .is_some_and(|value| includes(value, wanted))
    })
}

/// Whether a value of a row is one that `exclude` or `include` names; of objects a part is enough.
pub(crate) fn includes(value: &ExprValue, wanted: &ExprValue) -> bool {
    match (value, wanted) {
        (ExprValue::Object(object), ExprValue::Object(wanted)) => matches(object, wanted),
        (ExprValue::List(values), ExprValue::List(wanted)) => {
            values.len() == wanted.len()
                && values
                    .iter()
                    .zip(wanted.iter())
                    .all(|(value, wanted)| includes(value, wanted))
        }
        (value, wanted) => value.loosely_equals(wanted),
    }
}

/// The values of a combination that are not empty, as a job's name shows them.
fn suffix(combination: &Object) -> String {
    let mut texts = Vec::new();
    combination
        .iter()
        .for_each(|(_, value)| collect(value, &mut texts));
    texts.retain(|text| !text.is_empty());
    if texts.is_empty() {
        String::new()
    } else {
        format!(" ({})", texts.join(", "))
    }
}

fn collect(value: &ExprValue, texts: &mut Vec<String>) {
    match value {
        ExprValue::Object(object) => object.iter().for_each(|(_, value)| collect(value, texts)),
        ExprValue::List(values) => values.iter().for_each(|value| collect(value, texts)),
        primitive => texts.push(primitive.as_text().to_string()),
    }
}

fn is_same_text(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
}

fn kind(value: &ExprValue) -> &'static str {
    match value {
        ExprValue::Null => "empty",
        ExprValue::Bool(_) => "a boolean",
        ExprValue::Number(_) => "a number",
        ExprValue::Text(_) => "a text",
        ExprValue::List(_) => "a list",
        ExprValue::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matrices and what the names of their copies have, by GitHub's `MatrixBuilder`.
    #[test]
    fn i17_names_of_copies_have_the_values_of_their_rows() {
        for (matrix, expected) in [
            (
                r#"{"os": ["a", "b"], "include": [{"os": "a", "cc": "clang"}]}"#,
                [" (a)", " (b)"].as_slice(),
            ),
            (
                r#"{"os": ["a"], "include": [{"cc": "gcc", "os": "z"}]}"#,
                &[" (a)", " (z, gcc)"],
            ),
            (
                r#"{"x": ["", null, "y", 0, false]}"#,
                &["", "", " (y)", " (0)", " (false)"],
            ),
            (r#"{"o": [{"a": 1, "b": ["c", ""]}]}"#, &[" (1, c)"]),
            (r#"{"include": [{"a": 1, "b": 2}]}"#, &[" (1, 2)"]),
        ] {
            let value: ExprValue = serde_json::from_str(matrix).expect("JSON");
            let all = named_combinations(&value).expect("combinations");
            let suffixes: Vec<&str> = all.iter().map(|it| it.suffix.as_str()).collect();
            assert_eq!(suffixes, expected, "{matrix}");
        }
    }
}
