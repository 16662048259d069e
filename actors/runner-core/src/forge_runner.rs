//! What a runner of Gitea (`act_runner`) or Forgejo was configured with, as this one has it: its
//! labels as machines, and of everything else by line which setting it is, or that it is none.
//!
//! Read are `config.yaml` (`runner.labels`, in newer ones of Forgejo those of each connection too)
//! and the registration `.runner`, which is JSON.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use config_core::{SourceText, quoted};

use crate::container::ImageReference;
use crate::hosted_label::FULL_IMAGE;
use crate::source_location::SourceLocation;
use crate::yaml::{MergeKeys, NodeData, YamlNode, load};

/// The image of a label `docker` that names none, at Forgejo.
const DEFAULT_IMAGE: &str = "data.forgejo.org/oci/node:22-bookworm";

/// A setting of such a runner, the value that says nothing, and what it is here.
struct Setting {
    path: &'static [&'static str],
    usual: &'static [&'static str],
    here: &'static str,
}

const fn setting(
    path: &'static [&'static str],
    usual: &'static [&'static str],
    here: &'static str,
) -> Setting {
    Setting { path, usual, here }
}

/// What becomes of them, in the order of the files.
const SETTINGS: &[Setting] = &[
    setting(
        &["runner", "capacity"],
        &[],
        "it is `max_jobs` of the runner's configuration",
    ),
    setting(
        &["runner", "envs"],
        &[],
        "it is no setting here: variables of all steps stand in `/etc/environment` of the image, values of workflows in `[vars]`",
    ),
    setting(
        &["runner", "env_file"],
        &[".env"],
        "it is no setting here: variables of all steps stand in `/etc/environment` of the image, values of workflows in `[vars]`",
    ),
    setting(
        &["runner", "timeout"],
        &["3h"],
        "it is no setting here: jobs end by their `timeout-minutes`, which is 360 without one",
    ),
    setting(
        &["runner", "insecure"],
        &["false"],
        "it is no setting here: certificates are verified; a company's own CA belongs to the system's",
    ),
    setting(
        &["runner", "github_mirror"],
        &[],
        "it is `actions_url` of the runner's configuration",
    ),
    setting(
        &["runner", "post_task_script"],
        &[],
        "it is no setting here: the machine of a job is gone after it",
    ),
    setting(
        &["cache", "enabled"],
        &["true"],
        "it is no setting here: `cache-mode: none` of a workflow or job keeps it from caches",
    ),
    setting(
        &["cache", "external_server"],
        &[],
        "it is no setting here: caches are the runner's own (`cache_quota`, and `[objects]` where several runners share them)",
    ),
    setting(
        &["container", "network"],
        &[],
        "it is `network = \"user\"` and `allow` of a machine: a job reaches what they say and nothing else",
    ),
    setting(
        &["container", "network_mode"],
        &[],
        "it is `network = \"user\"` and `allow` of a machine: a job reaches what they say and nothing else",
    ),
    setting(
        &["container", "privileged"],
        &["false"],
        "it is no setting here: a job builds and runs containers in a machine of its own",
    ),
    setting(
        &["container", "options"],
        &[],
        "it is no setting here: `container.options` of a job has those of its container; `--memory` and `--cpus` are `memory` and `vcpus` of a machine",
    ),
    setting(
        &["container", "workdir_parent"],
        &[],
        "it is no setting here: the workspace is /workspace",
    ),
    setting(
        &["container", "valid_volumes"],
        &[],
        "it is no setting here: nothing of the host is in a job's machine; what its steps need belongs into the image",
    ),
    setting(
        &["container", "docker_host"],
        &["-", "automount"],
        "it is no setting here: each job has an engine of its own, at /var/run/docker.sock",
    ),
    setting(
        &["host", "workdir_parent"],
        &[],
        "it is no setting here: the workspace is /workspace",
    ),
];

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportedLabels {
    /// Rows of `workflow-runner.toml`; empty without labels that are containers.
    pub rows: String,
    /// What is no row, as `FILE:LINE: …`.
    pub notes: Vec<String>,
}

struct Import {
    file: String,
    imported: ImportedLabels,
    seen: BTreeSet<String>,
    registries: BTreeSet<String>,
}

/// Reads a `config.yaml` or a `.runner` of `act_runner` or `forgejo-runner`.
///
/// # Errors
/// Why it cannot be read, with its place, for people.
pub fn import_labels(file: &str, bytes: &[u8]) -> Result<ImportedLabels, String> {
    let text = SourceText::read(file, bytes).map_err(|wrong| wrong.to_string())?;
    let said = |place: SourceLocation, what: &str| format!("{file}:{place}: {what}");
    let document =
        load(&text, MergeKeys::Merged).map_err(|error| said(error.place, &error.message))?;
    if let Some(mistake) = document.mistakes.first() {
        return Err(said(mistake.place, &mistake.message));
    }
    let root = &document.root;
    let lists = label_lists(root);
    let is_known = !lists.is_empty() || root.entry("runner").is_some();
    if !is_known {
        let what = "it has neither `runner.labels` nor `labels`: give the config.yaml or the .runner of act_runner or forgejo-runner";
        return Err(format!("{file}: {what}"));
    }
    let mut import = Import {
        file: file.to_owned(),
        imported: ImportedLabels::default(),
        seen: BTreeSet::new(),
        registries: BTreeSet::new(),
    };
    for label in lists.into_iter().flat_map(YamlNode::items) {
        import.label(label);
    }
    if import.seen.is_empty() && import.imported.notes.is_empty() {
        let what = "it names no labels: those of the registration are in the file `.runner`";
        import.imported.notes.push(format!("{file}: {what}"));
    }
    import.settings(root);
    Ok(import.finished())
}

/// The lists of labels: of the configuration, of its connections, of the registration.
fn label_lists(root: &YamlNode) -> Vec<&YamlNode> {
    let runner = node_at(root, &["runner", "labels"]);
    let connections = node_at(root, &["server", "connections"]);
    let of_connections = connections.map(|it| match &it.data {
        NodeData::Map(entries) => entries.iter().map(|entry| &*entry.value).collect(),
        _ => it.items(),
    });
    let of_connections = of_connections.into_iter().flatten();
    let of_connections = of_connections.filter_map(|one| node_at(one, &["labels"]));
    let all = runner.into_iter().chain(of_connections);
    all.chain(node_at(root, &["labels"])).collect()
}

fn node_at<'n>(node: &'n YamlNode, path: &[&str]) -> Option<&'n YamlNode> {
    path.iter()
        .try_fold(node, |node, key| Some(&*node.entry(key)?.value))
}

impl Import {
    fn add_note(&mut self, place: SourceLocation, what: &str) {
        let line = place.line;
        let note = format!("{}:{line}: {what}", self.file);
        self.imported.notes.push(note);
    }

    /// One `name:docker://image`.
    fn label(&mut self, node: &YamlNode) {
        let NodeData::Scalar { text, .. } = &node.data else {
            return self.add_note(node.place, "a label is a text");
        };
        let (name, kind, argument) = parts(text);
        let shown = quoted(text);
        match kind {
            "docker" => self.container(node.place, name, argument),
            "host" => self.add_note(
                node.place,
                &format!(
                    "{shown} ran steps on the machine of the runner itself, which no job does here: give [machines.{}] an `image` that has its programs",
                    toml_key(name)
                ),
            ),
            _ => self.add_note(
                node.place,
                &format!(
                    "{shown} is a system container of LXC: give [machines.{}] an `image` in its place, which is a whole machine",
                    toml_key(name)
                ),
            ),
        }
    }

    fn container(&mut self, place: SourceLocation, name: &str, argument: &str) {
        let image = argument.strip_prefix("//").unwrap_or(argument);
        // Forgejo knows options behind the name of an image.
        let (image, options) = image.split_once('?').unwrap_or((image, ""));
        let image = match image {
            "" => DEFAULT_IMAGE,
            image => image,
        };
        if !options.is_empty() {
            let what = format!(
                "the options {} of {} are none here",
                quoted(options),
                quoted(name)
            );
            self.add_note(place, &what);
        }
        let reference = match image.parse::<ImageReference>() {
            Ok(reference) => reference,
            Err(error) => return self.add_note(place, &error.to_string()),
        };
        let is_label = |c: char| !c.is_whitespace() && !c.is_control() && c != ',';
        if name.is_empty() || name.len() > 100 || !name.chars().all(is_label) {
            let what = format!("{} is no label here", quoted(name));
            return self.add_note(place, &what);
        }
        if !self.seen.insert(name.to_lowercase()) {
            let what = format!("{} stands there twice: the first counts", quoted(name));
            return self.add_note(place, &what);
        }
        self.registries.insert(reference.registry().to_owned());
        let _ = write!(
            self.imported.rows,
            "[machines.{}]\nimage = \"{FULL_IMAGE}\"\ncontainer = {}\n\n",
            toml_key(name),
            toml_text(image)
        );
    }

    /// Everything else that says something.
    fn settings(&mut self, root: &YamlNode) {
        for setting in SETTINGS {
            let Some(parent) = node_at(root, &setting.path[..setting.path.len() - 1]) else {
                continue;
            };
            let key = setting.path[setting.path.len() - 1];
            let Some(entry) = parent.entry(key) else {
                continue;
            };
            let value = match &entry.value.data {
                NodeData::Scalar { text, .. } => text.as_str(),
                NodeData::List(values) if values.is_empty() => "",
                NodeData::Map(entries) if entries.is_empty() => "",
                _ => "…",
            };
            let says_nothing = value.is_empty() || entry.value.is_null();
            if !says_nothing && !setting.usual.contains(&value) {
                let path = setting.path.join(".");
                let what = format!("`{path}`: {}", setting.here);
                self.add_note(entry.key_place, &what);
            }
        }
    }

    /// With what its images come from before them.
    fn finished(self) -> ImportedLabels {
        let mut imported = self.imported;
        if !imported.rows.is_empty() {
            let registries: Vec<String> = self.registries.iter().map(|it| toml_text(it)).collect();
            imported.rows = format!(
                "# Images come from the store of images (`workflow-runner images add`), or from\n# registries that are listed, above all tables:\n# image_registries = [{}]\n\n{}",
                registries.join(", "),
                imported.rows.trim_end()
            );
            imported.rows.push('\n');
        }
        imported
    }
}

/// Name, kind and argument, as both runners take them apart; another kind belongs to the name, as
/// `act_runner` has it.
fn parts(label: &str) -> (&str, &str, &str) {
    let mut parts = label.splitn(3, ':');
    let name = parts.next().unwrap_or_default();
    match (parts.next(), parts.next().unwrap_or_default()) {
        (Some(kind @ ("docker" | "host" | "lxc")), argument) => (name, kind, argument),
        (None, _) => (name, "host", ""),
        (Some(_), _) => (label, "host", ""),
    }
}

/// A key of a table as TOML writes it.
fn toml_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(is_bare) {
        return name.to_owned();
    }
    toml_text(name)
}

fn toml_text(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "log:\n  level: info\nrunner:\n  file: .runner\n  capacity: 2\n  envs:\n    A: b\n  env_file: .env\n  timeout: 3h\n  labels:\n    - \"ubuntu-latest:docker://docker.gitea.com/runner-images:ubuntu-latest\"\n    - ubuntu-22.04:docker://node:20-bookworm\n    - self-hosted:host\n    - macos-arm64\n    - jammy:lxc://ubuntu:jammy\n    - docker:docker\n    - pool:e57e18d4\ncontainer:\n  network: host\n  privileged: false\n  options: --add-host=git:10.0.0.1\n  valid_volumes: ['**']\n  docker_host: \"-\"\n";

    fn import(file: &str, text: &str) -> ImportedLabels {
        import_labels(file, text.as_bytes()).expect(text)
    }

    #[test]
    fn i17_labels_of_the_runners_of_forges_become_machines() {
        let found = import("config.yaml", CONFIG);
        let expected = "# image_registries = [\"data.forgejo.org\", \"docker.gitea.com\", \"docker.io\"]\n\n[machines.ubuntu-latest]\nimage = \"full\"\ncontainer = \"docker.gitea.com/runner-images:ubuntu-latest\"\n\n[machines.\"ubuntu-22.04\"]\nimage = \"full\"\ncontainer = \"node:20-bookworm\"\n\n[machines.docker]\nimage = \"full\"\ncontainer = \"data.forgejo.org/oci/node:22-bookworm\"\n";
        assert!(found.rows.ends_with(expected), "{}", found.rows);
        let lines = [
            (13, "`self-hosted:host` ran steps on the machine"),
            (14, "[machines.macos-arm64]"),
            (15, "LXC"),
            (17, "[machines.\"pool:e57e18d4\"]"),
            (5, "`runner.capacity`: it is `max_jobs`"),
            (6, "`runner.envs`"),
            (19, "`container.network`: it is `network = \"user\"`"),
            (21, "`container.options`"),
            (22, "`container.valid_volumes`"),
        ];
        let notes = found.notes.join("\n");
        assert_eq!(found.notes.len(), lines.len(), "{notes}");
        for ((line, part), note) in lines.iter().zip(&found.notes) {
            let start = format!("config.yaml:{line}: ");
            assert!(note.starts_with(&start) && note.contains(part), "{note}");
        }
    }

    #[test]
    fn i17_the_registration_of_such_a_runner_has_its_labels() {
        let registration = "{\n  \"WARNING\": \"This file is automatically generated\",\n  \"id\": 1,\n  \"uuid\": \"u\",\n  \"name\": \"n\",\n  \"token\": \"geheim\",\n  \"address\": \"https://git.example\",\n  \"labels\": [\n    \"docker:docker://node:22\",\n    \"docker:docker://node:20\"\n  ]\n}\n";
        let found = import(".runner", registration);
        assert!(found.rows.contains("[machines.docker]\n"), "{}", found.rows);
        assert!(found.rows.contains("container = \"node:22\"\n"));
        assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
        assert!(found.notes[0].starts_with(".runner:10: "));
        assert!(!format!("{found:?}").contains("geheim"));
        let connections = "server:\n  connections:\n    a:\n      url: https://git.example\n      labels: ['a:docker://node:22']\n    b: {labels: ['b:docker://node:22']}\n";
        let found = import("config.yaml", connections);
        assert_eq!(found.rows.matches("[machines.").count(), 2);
    }

    #[test]
    fn i17_what_is_no_configuration_of_such_a_runner_is_said() {
        for (text, why) in [
            ("a: [", "config.yaml:"),
            ("jobs: {}", "neither"),
            ("[]", "neither"),
        ] {
            let error = import_labels("config.yaml", text.as_bytes()).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
        let empty = import("config.yaml", "runner: {labels: []}\n");
        assert_eq!(empty.rows, "");
        assert!(empty.notes[0].contains("`.runner`"), "{:?}", empty.notes);
        // An image and a label that are none.
        let odd = import(
            "config.yaml",
            "labels: ['a:docker://A B', 'a b:docker://node']\n",
        );
        assert_eq!((odd.rows.as_str(), odd.notes.len()), ("", 2));
    }
}
