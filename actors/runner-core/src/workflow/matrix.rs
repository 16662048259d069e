//! `strategy.matrix` as it was written (page "Running variations of jobs in a workflow").

use config_core::quoted;

use super::reader::WorkflowReader;
use crate::expr::ExprValue;
use crate::yaml::{NodeData, YamlEntry, YamlNode};

/// What can be said of a matrix before its expressions have values.
pub(super) fn check_matrix(reader: &WorkflowReader<'_>, node: &YamlNode) {
    let NodeData::Map(entries) = &node.data else {
        match &node.data {
            NodeData::Scalar { text, .. } if text.contains("${{") => {}
            NodeData::Scalar { text, .. } if super::triggers::is_placeholder(text) => {
                let message = format!("{} is a template's placeholder, no matrix", quoted(text));
                reader.warn(node.place, message, "put a mapping there");
            }
            _ => {
                let _: Option<()> = reader.wrong_kind(node, "matrix", "a mapping or an expression");
            }
        }
        return;
    };
    for YamlEntry {
        key,
        key_place,
        value,
    } in entries
    {
        let expression =
            matches!(&value.data, NodeData::Scalar { text, .. } if text.contains("${{"));
        match &value.data {
            _ if expression || key.contains("${{") => {}
            NodeData::List(values)
                if values.is_empty() && !["include", "exclude"].contains(&key.as_str()) =>
            {
                reader.error(
                    *key_place,
                    format!("{} of the matrix has no values", quoted(key)),
                );
            }
            NodeData::List(_) => {}
            _ => reader.error(
                *key_place,
                format!(
                    "{} of the matrix is {}, expected a list",
                    quoted(key),
                    value.kind()
                ),
            ),
        }
    }
    check_exclude(reader, entries);
}

/// What `exclude` names is there: else it takes nothing away.
fn check_exclude(reader: &WorkflowReader<'_>, rows: &[YamlEntry]) {
    // Keys that only the run knows may be any.
    if rows.iter().any(|row| row.key.contains("${{")) {
        return;
    }
    let Some(exclude) = rows.iter().find(|row| row.key == "exclude") else {
        return;
    };
    let items = exclude.value.items();
    for node in &items {
        if matches!(&node.data, NodeData::Map(entries) if entries.is_empty()) {
            let help = "name what it takes away";
            reader.error_help(node.place, "a mapping without a key excludes nothing", help);
        }
    }
    for entry in items.iter().flat_map(|node| match &node.data {
        NodeData::Map(entries) => entries.as_slice(),
        _ => &[],
    }) {
        let keys = || {
            let keys = rows.iter().map(|row| row.key.as_str());
            keys.filter(|key| !["include", "exclude"].contains(key))
        };
        match rows
            .iter()
            .find(|row| row.key.eq_ignore_ascii_case(&entry.key))
        {
            Some(row) if keys().any(|key| key == row.key) => check_value(reader, row, entry),
            _ => {
                let message = format!("the matrix has no key {} to exclude", quoted(&entry.key));
                let help = reader.closest_name(&entry.key, keys()).map_or_else(
                    || "what `include` adds cannot be excluded".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                reader.error_help(entry.key_place, message, help);
            }
        }
    }
}

fn check_value(reader: &WorkflowReader<'_>, row: &YamlEntry, excluded: &YamlEntry) {
    let NodeData::List(values) = &row.value.data else {
        return;
    };
    let values: Option<Vec<ExprValue>> = values.iter().map(|node| written(node)).collect();
    let (Some(values), Some(wanted)) = (values, written(&excluded.value)) else {
        return;
    };
    if !values
        .iter()
        .any(|value| crate::plan::excludes(value, &wanted))
    {
        let message = format!(
            "no value of {} in the matrix is excluded by this",
            quoted(&row.key)
        );
        let mut shown: Vec<String> = Vec::new();
        for value in &values {
            let json = value.to_json();
            let line: Vec<&str> = json.split_whitespace().collect();
            shown.push(line.join(" "));
        }
        shown.dedup();
        let help = format!("there are: {}", shown.join(", "));
        reader.warn(excluded.value.place, message, help);
    }
}

/// A value as written; nothing when an expression gives it.
fn written(node: &YamlNode) -> Option<ExprValue> {
    match &node.data {
        NodeData::Scalar { text, .. } if text.contains("${{") => None,
        NodeData::Scalar { value, .. } => Some(value.clone()),
        NodeData::List(values) => {
            let values: Option<Vec<ExprValue>> = values.iter().map(|node| written(node)).collect();
            values.map(ExprValue::list)
        }
        NodeData::Map(entries) => {
            let entries: Option<Vec<(&str, ExprValue)>> = entries
                .iter()
                .map(|entry| Some((entry.key.as_str(), written(&entry.value)?)))
                .collect();
            entries.map(ExprValue::object)
        }
    }
}
