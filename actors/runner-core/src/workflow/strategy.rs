//! `strategy`: a job's copies.

use config_core::quoted;

use super::job::checked_bool;
use super::matrix::check_matrix;
use super::reader::Reader;
use super::slots;
use super::types::Strategy;
use crate::expr::Template;
use crate::yaml::Node;

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
