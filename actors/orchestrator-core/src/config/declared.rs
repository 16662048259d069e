//! What the files declare, gathered before they are decoded, so that each reference can be judged
//! where it stands, whatever the order of the files.

use std::collections::{BTreeMap, BTreeSet};

use config_core::{
    ConfigInput, ConfigItem, Environment, UnknownKeys, ValueError, quoted, suggestion,
};

use super::input::{ConfigFile, ConfigFiles};

/// Names that other places may refer to, as written.
#[derive(Debug, Default)]
pub(super) struct DeclaredNames {
    /// Projects, and where each was declared first.
    pub(super) projects: BTreeMap<String, DeclaredAt>,
    /// Agents by project, and where each was declared first.
    pub(super) agents: BTreeMap<(String, String), DeclaredAt>,
    /// Repositories, and where each was named first.
    pub(super) repositories: BTreeMap<String, DeclaredAt>,
    /// Personas, and where each was declared first.
    pub(super) personas: BTreeMap<String, DeclaredAt>,
    /// Skills.
    pub(super) skills: BTreeSet<String>,
    /// Machines of agents in VMs.
    pub(super) machines: BTreeSet<String>,
    /// Whether there is a host that gives VMs.
    pub(super) has_vm_hosts: bool,
}

/// A file and the path of a value in it.
pub(super) type DeclaredAt = (String, String);

impl DeclaredNames {
    pub(super) fn gather(files: &ConfigFiles, environment: &Environment) -> Self {
        let mut declared = Self::default();
        declared.toml(&files.main, environment, None);
        declared.vms(&files.main, environment);
        for fragment in &files.fragments {
            declared.toml(fragment, environment, Some(fragment.stem()));
        }
        for persona in &files.personas {
            let mut name = persona.stem().to_owned();
            peek(persona, environment, |item| {
                if let Some(written) = item.get("name").and_then(|item| item.peek()) {
                    written.clone_into(&mut name);
                }
            });
            let place = (persona.name.clone(), String::new());
            declared.personas.entry(name).or_insert(place);
        }
        let skills = files.skills.iter().map(|file| file.stem().to_owned());
        declared.skills = skills.collect();
        declared
    }

    fn toml(&mut self, file: &ConfigFile, environment: &Environment, stem: Option<&str>) {
        peek(file, environment, |item| {
            let mut own = stem.map(str::to_owned);
            if let Some(project) = item.get("project") {
                if let Some(id) = text_of(&project, "id") {
                    own = Some(id.to_owned());
                }
                self.project(file, &project);
            }
            each(item, "projects", |project| self.project(file, project));
            each(item, "agents", |agent| {
                let project = own.clone().or_else(|| {
                    let named = text_of(agent, "project");
                    named.map(str::to_owned)
                });
                if let (Some(project), Some(name)) = (project, text_of(agent, "name")) {
                    let place = (file.name.clone(), agent.path().to_owned());
                    self.agents
                        .entry((project, name.to_owned()))
                        .or_insert(place);
                }
            });
        });
    }

    /// Machines and hosts of VMs stand in `orchestrator.toml` alone.
    fn vms(&mut self, file: &ConfigFile, environment: &Environment) {
        let names = |item: &ConfigItem<'_>, key: &str| -> Vec<String> {
            let table = item.get(key);
            let entries = table.and_then(|table| table.entries(|_, _| Some(())));
            let entries = entries.into_iter().flatten();
            entries.map(|(name, ())| name).collect()
        };
        peek(file, environment, |item| {
            self.machines.extend(names(item, "machines"));
            self.has_vm_hosts = !names(item, "vm_hosts").is_empty();
        });
    }

    fn project(&mut self, file: &ConfigFile, project: &ConfigItem<'_>) {
        let place = (file.name.clone(), project.path().to_owned());
        if let Some(id) = text_of(project, "id") {
            self.projects
                .entry(id.to_owned())
                .or_insert_with(|| place.clone());
        }
        if let Some(repository) = text_of(project, "repository") {
            let folded = repository.to_ascii_lowercase();
            self.repositories.entry(folded).or_insert(place);
        }
    }

    /// The agents of one project.
    pub(super) fn agents_of<'a>(&'a self, project: &'a str) -> impl Iterator<Item = &'a str> {
        let own = move |(of, _): &&(String, String)| of == project;
        self.agents
            .keys()
            .filter(own)
            .map(|(_, name)| name.as_str())
    }
}

/// The error for a name that nothing declares.
pub(super) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> ValueError {
    let known: Vec<&str> = known.into_iter().collect();
    let error = ValueError::new(format!("unknown {what} {}", quoted(name)));
    match suggestion(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => error.help(format!("no {what} is configured")),
        None => error.help(format!("known: {}", shortened(&known))),
    }
}

/// Not more names than a line can hold.
fn shortened(known: &[&str]) -> String {
    const MAX: usize = 8;
    let shown = known[..known.len().min(MAX)].join(", ");
    match known.len().checked_sub(MAX) {
        Some(more) if more > 0 => format!("{shown} and {more} more"),
        _ => shown,
    }
}

/// Looks at a file without reporting anything about it.
fn peek(file: &ConfigFile, environment: &Environment, mut look: impl FnMut(&ConfigItem<'_>)) {
    let input =
        ConfigInput::toml(&file.name, &file.bytes, environment).unknown_keys(UnknownKeys::Warn);
    // What is wrong with the file is reported when it is decoded.
    let _ = input.decode(|item| {
        look(item);
        Some(())
    });
}

fn text_of<'d>(item: &ConfigItem<'d>, key: &str) -> Option<&'d str> {
    item.get(key)?.peek()
}

/// Each element of a list that may be absent or something else.
fn each(item: &ConfigItem<'_>, key: &str, mut visit: impl FnMut(&ConfigItem<'_>)) {
    if let Some(list) = item.get(key) {
        let _: Option<Vec<()>> = list.list(|element| {
            visit(element);
            Some(())
        });
    }
}
