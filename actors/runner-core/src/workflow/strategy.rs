//! `strategy`: a job's copies.

use super::availability;
use super::checks::{checked_bool, checked_count};
use super::matrix::check_matrix;
use super::reader::Reader;
use super::types::Strategy;
use crate::yaml::Node;

/// Reads `strategy`.
pub(super) fn read(reader: &Reader<'_>, node: &Node) -> Option<Strategy> {
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
        fail_fast: checked_bool(reader, template("fail-fast"), "fail-fast"),
        max_parallel: checked_count(reader, template("max-parallel")),
    })
}
