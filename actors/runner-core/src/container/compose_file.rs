//! Which images a compose file names, as far as they are known before it is used.

use config_core::SourceText;

use super::dockerfile::{base_images, substitute};
use crate::yaml::{self, MergeKeys, NodeData, YamlNode};

/// The images of the services, and those that Dockerfiles of services build on; names that the
/// file gives to what it builds are none. `read` gives the files beside it.
#[must_use]
pub fn images(bytes: &[u8], read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<String> {
    // Merge keys are no part of YAML 1.2: what they bring is looked at as an entry.
    let text = String::from_utf8_lossy(bytes).replace("<<:", "x-merged:");
    let Ok(source) = SourceText::read("compose.yaml", text.as_bytes()) else {
        return Vec::new();
    };
    let Ok(document) = yaml::load(&source, MergeKeys::Refused) else {
        return Vec::new();
    };
    let Some(services) = document.root.entry("services") else {
        return Vec::new();
    };
    let NodeData::Map(services) = &services.value.data else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for service in services {
        let names = match build_of(&service.value) {
            Some(path) => read(&path).map_or_else(Vec::new, |file| {
                base_images(&String::from_utf8_lossy(&file))
            }),
            None => text_of(&service.value, "image").into_iter().collect(),
        };
        for name in names {
            if !name.is_empty() && !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

/// The Dockerfile of a service that is built.
fn build_of(service: &YamlNode) -> Option<String> {
    let build = &service.entry("build")?.value;
    let (context, file) = match &build.data {
        NodeData::Map(_) => (text_of(build, "context"), text_of(build, "dockerfile")),
        _ => (Some(value_of(build)?), None),
    };
    let context = context.unwrap_or_default();
    let file = file.unwrap_or_else(|| "Dockerfile".to_owned());
    Some(format!("{context}/{file}"))
}

/// A value of a service, of its own or of what is merged into it; variables have their defaults.
fn text_of(node: &YamlNode, key: &str) -> Option<String> {
    if let Some(entry) = node.entry(key) {
        return value_of(&entry.value);
    }
    let merged = &node.entry("x-merged")?.value;
    let merged = match &merged.data {
        NodeData::List(list) => list.iter().map(|node| &**node).collect(),
        _ => vec![&**merged],
    };
    merged.into_iter().find_map(|node| text_of(node, key))
}

fn value_of(node: &YamlNode) -> Option<String> {
    Some(substitute(node.text()?, &Default::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_compose_file_names_its_images() {
        const FILE: &str = r#"
x-app: &app
  image: "acme/app:${TAG:-1}"
services:
  db: {image: 'postgres:16'}
  web:
    image: mine:1
    build: {context: ./web, dockerfile: Dockerfile.dev}
  api: {build: api}
  worker:
    <<: *app
    command: run
  none: {image: $IMAGE}
"#;
        let read = |path: &str| match path {
            "./web/Dockerfile.dev" => Some(b"FROM node:22\n".to_vec()),
            "api/Dockerfile" => {
                Some(b"FROM golang:1 AS b\nFROM scratch\nCOPY --from=b / /\n".to_vec())
            }
            _ => None,
        };
        assert_eq!(
            images(FILE.as_bytes(), &read),
            ["postgres:16", "node:22", "golang:1", "acme/app:1"]
        );
        for wrong in ["services: [", "services: []", "version: '3'", ""] {
            assert!(images(wrong.as_bytes(), &read).is_empty(), "{wrong}");
        }
    }
}
