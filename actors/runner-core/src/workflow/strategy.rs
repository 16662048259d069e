//! `strategy`: a job's copies.

use super::availability;
use super::checks::{checked_bool, checked_count};
use super::matrix::check_matrix;
use super::reader::WorkflowReader;
use super::types::Strategy;
use crate::expr::Data;
use crate::yaml::{NodeData, YamlNode};

/// Reads `strategy`: a mapping, or one expression that gives it.
pub(super) fn read(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<Strategy> {
    if matches!(&node.data, NodeData::Scalar { text, .. } if text.contains("${{")) {
        return of_expression(reader, node);
    }
    let fields = reader.fields(node, "strategy", &["matrix", "fail-fast", "max-parallel"])?;
    let template = |key| {
        fields.read(reader, key, |node| {
            reader.template(node, key, availability::STRATEGY)
        })
    };
    let matrix = fields.read(reader, "matrix", |node| {
        check_matrix(reader, node);
        reader.data(node, "matrix", availability::STRATEGY)
    });
    Some(Strategy {
        matrix,
        place: fields.get("matrix").unwrap_or(node).place,
        is_computed: false,
        fail_fast: checked_bool(reader, template("fail-fast"), "fail-fast"),
        max_parallel: checked_count(reader, template("max-parallel")),
    })
}

fn of_expression(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<Strategy> {
    let whole = reader.template(node, "strategy", availability::STRATEGY)?;
    if !whole.is_one_expression() {
        return reader.wrong_kind(node, "strategy", "a mapping or one expression");
    }
    Some(Strategy {
        matrix: whole.entry("matrix").map(Data::Scalar),
        place: node.place,
        is_computed: true,
        fail_fast: whole.entry("fail-fast"),
        max_parallel: whole.entry("max-parallel"),
    })
}
