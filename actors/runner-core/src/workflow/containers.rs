//! `container` and `services` of a job, as they are written: values with expressions.

use super::availability::{CONTAINER, CONTAINER_VALUES};
use super::fields::MappingFields;
use super::reader::WorkflowReader;
use crate::container::request::{COMMAND_KEY, CONTAINER_KEYS, SERVICE_KEYS};
use crate::container::{options, ports};
use crate::expr::{Data, ExprTemplate};
use crate::source_location::{Located, SourceLocation};
use crate::yaml::{NodeData, YamlNode};

/// The container of a job, as messages call it.
const JOB: &str = "a container";

/// What becomes of a job's container without an image.
const NO_IMAGE: &str = "it has the container of its label (`machines.<label>.container`), else none: \
     then its volumes and options do nothing";

/// An image, or a mapping with one.
pub(super) fn container(
    reader: &WorkflowReader<'_>,
    fields: MappingFields<'_>,
) -> Option<Located<Data>> {
    fields.read(reader, "container", |node| {
        check(reader, node, JOB, &CONTAINER_KEYS);
        let data = data(reader, node, "container")?;
        Some(Located::new(data, place(fields, "container", node)))
    })
}

/// Containers by name, or an expression that gives them.
pub(super) fn services(
    reader: &WorkflowReader<'_>,
    fields: MappingFields<'_>,
) -> Option<Located<Data>> {
    fields.read(reader, "services", |node| {
        if let NodeData::Map(entries) = &node.data {
            let keys = reader.with_own(
                &[&CONTAINER_KEYS[..], &SERVICE_KEYS].concat(),
                &[COMMAND_KEY],
            );
            for entry in entries {
                reader.at_key(&entry.key, || {
                    check(reader, &entry.value, "a service", &keys);
                    check_image(reader, &entry.value);
                });
            }
        } else if fixed(node).is_some_and(|text| !text.is_empty()) {
            return reader.wrong_kind(node, "services", "a mapping of names to containers");
        }
        let data = all(reader, node)?;
        Some(Located::new(data, place(fields, "services", node)))
    })
}

/// The containers by their names.
fn all(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<Data> {
    match &node.data {
        NodeData::Map(entries) if entries.iter().all(|entry| !is_computed(&entry.key)) => {
            let each = entries.iter().map(|entry| {
                let data = data(reader, &entry.value, "services")?;
                Some((entry.key.clone(), data))
            });
            each.collect::<Option<Vec<_>>>().map(Data::Map)
        }
        _ => reader.data(node, "services", CONTAINER),
    }
}

/// A container; its variables and credentials know more than the rest of it.
fn data(reader: &WorkflowReader<'_>, node: &YamlNode, what: &str) -> Option<Data> {
    match &node.data {
        NodeData::Map(entries) if entries.iter().all(|entry| !is_computed(&entry.key)) => {
            let each = entries.iter().map(|entry| {
                let known = match entry.key.as_str() {
                    "env" | "credentials" => CONTAINER_VALUES,
                    _ => CONTAINER,
                };
                Some((entry.key.clone(), reader.data(&entry.value, what, known)?))
            });
            each.collect::<Option<Vec<_>>>().map(Data::Map)
        }
        _ => reader.data(node, what, CONTAINER),
    }
}

fn is_computed(key: &str) -> bool {
    key.contains("${{")
}

/// Where the key is: refusals name it.
fn place(fields: MappingFields<'_>, key: &str, node: &YamlNode) -> SourceLocation {
    fields
        .entry(key)
        .map_or(node.place, |entry| entry.key_place)
}

/// What can be wrong before expressions are evaluated.
fn check(reader: &WorkflowReader<'_>, node: &YamlNode, what: &str, keys: &[&str]) {
    if !matches!(node.data, NodeData::Map(_)) {
        return;
    }
    let Some(fields) = reader.fields(node, what, keys) else {
        return;
    };
    if fields.get("image").is_none() {
        let message = format!("{what} has no `image`");
        let help = "for example `image: postgres:16`";
        match what {
            // Their runners take the image of the job's label.
            JOB => reader.strict(node.place, message, help, NO_IMAGE),
            _ => reader.error_help(node.place, message, help),
        }
    }
    if let Some(node) = fields.get("options")
        && let Some(text) = fixed(node)
        && let Err(wrong) = options::parse(&text)
    {
        reader.error(node.place, wrong);
    }
    check_shapes(reader, fields);
    let ports = fields.get("ports").map(YamlNode::items).unwrap_or_default();
    for port in ports {
        if let Some(text) = fixed(port)
            && let Err(wrong) = ports::parse(&text)
        {
            reader.error(port.place, wrong);
        }
    }
}

/// Lists that are none, mappings that are none: GitHub takes no such file.
fn check_shapes(reader: &WorkflowReader<'_>, fields: MappingFields<'_>) {
    for key in ["ports", "volumes"] {
        let Some(node) = fields.get(key) else {
            continue;
        };
        let is_other = match &node.data {
            NodeData::List(items) => {
                let other = |item: &&std::sync::Arc<YamlNode>| {
                    !matches!(item.data, NodeData::Scalar { .. }) || item.is_null()
                };
                if let Some(item) = items.iter().find(other) {
                    reader.wrong_kind::<()>(item, &format!("an entry of {key}"), "a text");
                }
                false
            }
            NodeData::Map(_) => true,
            NodeData::Scalar { .. } => !node.is_null() && fixed(node).is_some(),
        };
        if is_other {
            reader.wrong_kind::<()>(node, key, "a list");
        }
    }
    for key in ["env", "credentials"] {
        let Some(node) = fields.get(key) else {
            continue;
        };
        let is_list = matches!(node.data, NodeData::List(_));
        if is_list || (!node.is_null() && fixed(node).is_some()) {
            reader.wrong_kind::<()>(node, key, "a mapping");
        }
    }
    let credentials = fields.get("credentials");
    if let Some(node) = credentials.filter(|node| matches!(node.data, NodeData::Map(_))) {
        let known = ["username", "password"];
        let Some(given) = reader.fields(node, "credentials", &known) else {
            return;
        };
        if let Some(absent) = known.into_iter().find(|key| given.get(key).is_none()) {
            let help = "a job with such a container fails: no registry takes one without the other";
            reader.warn(
                node.place,
                format!("`credentials` have no `{absent}`"),
                help,
            );
        }
    }
}

/// A service without an image, which a job's container may be.
fn check_image(reader: &WorkflowReader<'_>, node: &YamlNode) {
    let image = match &node.data {
        NodeData::Map(_) => node.entry("image").map(|entry| &*entry.value),
        _ => Some(node),
    };
    if let Some(image) = image
        && let Some(text) = fixed(image)
        && text.trim_start_matches("docker://").trim().is_empty()
    {
        reader.error_help(
            image.place,
            "the image of a service is empty",
            "for example `image: postgres:16`",
        );
    }
}

/// The text of a scalar without expressions.
fn fixed(node: &YamlNode) -> Option<String> {
    let NodeData::Scalar { text, .. } = &node.data else {
        return None;
    };
    let template = ExprTemplate::parse(text, node.place).ok()?;
    template.fixed().map(|value| value.as_text().to_string())
}
