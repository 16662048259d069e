//! `strategy`: a job's copies.

use config_core::quoted;

use super::job::checked_bool;
use super::reader::Reader;
use super::slots;
use super::types::Strategy;
use crate::expr::Template;
use crate::yaml::{Entry, Node, NodeData};

/// Reads `strategy`.
pub(super) fn read(reader: &Reader<'_>, node: &Node) -> Option<Strategy> {
    let fields = reader.fields(node, "strategy", &["matrix", "fail-fast", "max-parallel"])?;
    let template = |key| {
        fields.read(reader, key, |node| {
            reader.template(node, key, slots::STRATEGY)
        })
    };
    let matrix = fields.read(reader, "matrix", |node| {
        check_matrix(reader, node);
        reader.data(node, "matrix", slots::STRATEGY)
    });
    Some(Strategy {
        matrix,
        place: fields.get("matrix").unwrap_or(node).place,
        fail_fast: checked_bool(reader, template("fail-fast"), "fail-fast"),
        max_parallel: checked_count(reader, template("max-parallel")),
    })
}

/// What can be said of a matrix before its expressions have values.
fn check_matrix(reader: &Reader<'_>, node: &Node) {
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
    for Entry {
        key,
        key_place,
        value,
    } in entries
    {
        let expression =
            matches!(&value.data, NodeData::Scalar { text, .. } if text.contains("${{"));
        match &value.data {
            _ if expression => {}
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
}

/// A template that, if it is fixed, is a whole number above 0.
fn checked_count(reader: &Reader<'_>, template: Option<Template>) -> Option<Template> {
    let template = template?;
    let is_count = |text: &str| text.parse::<u32>().is_ok_and(|count| count > 0);
    if template
        .fixed()
        .is_some_and(|value| !is_count(&value.as_text()))
    {
        let message = format!(
            "max-parallel is {}, expected a whole number above 0",
            quoted(&template.source)
        );
        reader.error(template.place, message);
    }
    Some(template)
}
