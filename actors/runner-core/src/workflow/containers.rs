//! `container` and `services` of a job, as they are written: values with expressions.

use super::availability::CONTAINER;
use super::fields::Fields;
use super::reader::Reader;
use crate::container::request::{CONTAINER_KEYS, SERVICE_KEYS};
use crate::container::{options, ports};
use crate::expr::{Data, Template};
use crate::source_location::{Located, SourceLocation};
use crate::yaml::{Node, NodeData};

/// An image, or a mapping with one.
pub(super) fn container(reader: &Reader<'_>, fields: Fields<'_>) -> Option<Located<Data>> {
    fields.read(reader, "container", |node| {
        check(reader, node, "a container", &CONTAINER_KEYS);
        let data = reader.data(node, "container", CONTAINER)?;
        Some(Located::new(data, place(fields, "container", node)))
    })
}

/// Containers by name, or an expression that gives them.
pub(super) fn services(reader: &Reader<'_>, fields: Fields<'_>) -> Option<Located<Data>> {
    fields.read(reader, "services", |node| {
        if let NodeData::Map(entries) = &node.data {
            let keys = [&CONTAINER_KEYS[..], &SERVICE_KEYS].concat();
            for entry in entries {
                reader.within(&entry.key, || {
                    check(reader, &entry.value, "a service", &keys);
                });
            }
        }
        let data = reader.data(node, "services", CONTAINER)?;
        Some(Located::new(data, place(fields, "services", node)))
    })
}

/// Where the key is: refusals name it.
fn place(fields: Fields<'_>, key: &str, node: &Node) -> SourceLocation {
    fields
        .entry(key)
        .map_or(node.place, |entry| entry.key_place)
}

/// What can be wrong before expressions are evaluated.
fn check(reader: &Reader<'_>, node: &Node, what: &str, keys: &[&str]) {
    if !matches!(node.data, NodeData::Map(_)) {
        return;
    }
    let Some(fields) = reader.fields(node, what, keys) else {
        return;
    };
    if fields.get("image").is_none() {
        let message = format!("{what} has no `image`");
        reader.error_help(node.place, message, "for example `image: postgres:16`");
    }
    if let Some(node) = fields.get("options")
        && let Some(text) = fixed(node)
        && let Err(wrong) = options::parse(&text)
    {
        reader.error(node.place, wrong);
    }
    let ports = fields.get("ports").map(Node::items).unwrap_or_default();
    for port in ports {
        if let Some(text) = fixed(port)
            && let Err(wrong) = ports::parse(&text)
        {
            reader.error(port.place, wrong);
        }
    }
}

/// The text of a scalar without expressions.
fn fixed(node: &Node) -> Option<String> {
    let NodeData::Scalar { text, .. } = &node.data else {
        return None;
    };
    let template = Template::parse(text, node.place).ok()?;
    template.fixed().map(|value| value.as_text().to_string())
}
