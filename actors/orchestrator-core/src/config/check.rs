//! The whole check: all files together, all mistakes in one pass.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use config_core::{
    ConfigInput, ConfigItem, DecodeResult, Diagnostic, Diagnostics, Environment, Secret,
    SecretPlace, Severity, UnknownKeys, ValueError,
};
use forge_core::{AgentName, ProjectId};

use super::agent::{AgentSpec, WorktreeMode};
use super::declared::{DeclaredNames, unknown};
use super::decode_top::{places, top};
use super::decoder::{DecodeContext, FileParts, fragment};
use super::input::{ConfigFile, ConfigFiles, ConfigHost};
use super::model::{Config, Directories, Project};
use super::persona::Persona;
use super::routing::{RoutingTable, RoutingTables};
use super::secrets::book;
use super::top_keys::{TopLevel, is_loopback};
use super::{persona, routing, skill};

/// A configuration that can be used, and what is odd about it.
#[derive(Debug, Clone)]
pub struct CheckedConfig {
    /// The configuration.
    pub config: Config,
    /// Warnings only.
    pub warnings: Diagnostics,
}

/// Where the files stand that `orchestrator.toml` names, so that they can be read. What is wrong
/// with it is left to [`check`]; a folder that is named wrongly has its default place.
pub fn locate(main: &ConfigFile, folder: &Path, environment: &Environment) -> Directories {
    let mut found = None;
    let input = ConfigInput::toml(&main.name, &main.bytes, environment)
        .base(folder)
        .unknown_keys(UnknownKeys::Warn);
    let _ = input.decode(|item| {
        found = Some(places(item));
        Some(())
    });
    found.unwrap_or_else(|| Directories::defaults_for(folder))
}

/// Checks all files together. [`UnknownKeys::Warn`] is the lenient mode: the same function, but
/// keys that nobody knows are warnings.
///
/// # Errors
/// Every mistake of every file: `orchestrator.toml` first, then the others by name.
pub fn check(
    files: &ConfigFiles,
    environment: &Environment,
    host: &dyn ConfigHost,
    unknown_keys: UnknownKeys,
) -> Result<CheckedConfig, Diagnostics> {
    let declared = DeclaredNames::gather(files, environment);
    let mut checker = Checker {
        files,
        environment,
        host,
        unknown_keys,
        declared: &declared,
        found: Diagnostics::default(),
        missing_programs: RefCell::default(),
    };
    checker.problems(false);
    let main = checker.main();
    let parts = checker.fragments();
    let personas = checker.personas();
    let skills = checker.skills();
    let tables = checker.routing();
    let tokens = checker.tokens();
    let roles = checker.roles();
    let built = main.and_then(|(top, own)| {
        checker.warnings(&top, &tables);
        build(top, own, parts)
    });
    match built {
        Some(mut config) if !checker.found.has_errors() => {
            config.personas = personas;
            config.skills = skills;
            config.routing = RoutingTables::new(tables);
            config.agent_tokens = tokens;
            config.search_roles = roles;
            checker.late_warnings(&config);
            if config.strict && !checker.found.is_empty() {
                return Err(checker.found.into_iter().map(as_error).collect());
            }
            Ok(CheckedConfig {
                config,
                warnings: checker.found,
            })
        }
        _ => Err(checker.found),
    }
}

/// With `strict = true` what is odd is wrong.
fn as_error(mut diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.severity = Severity::Error;
    diagnostic
}

/// Whether a file holds secrets as they are: one that names variables can be read by all.
fn holds_secrets(file: &ConfigFile, secrets: &[SecretPlace]) -> bool {
    let texts = secrets
        .iter()
        .filter_map(|one| file.bytes.get(one.range.clone()));
    let mut texts = texts.map(String::from_utf8_lossy);
    texts.any(|text| !text.is_empty() && !text.contains("${"))
}

/// A mistake of a file that is all secrets: its place, but not its line.
fn without_line(found: Diagnostic) -> Diagnostic {
    let error = ValueError {
        message: found.message,
        help: found.help,
    };
    let mut shown = Diagnostic::for_setting(&found.file, error);
    (shown.line, shown.col) = (found.line, found.col);
    shown.key_path = found.key_path;
    shown.severity = found.severity;
    shown
}

/// Puts the parts together. Names that are used twice were reported before.
fn build(top: TopLevel, own: FileParts, parts: Vec<FileParts>) -> Option<Config> {
    let mut projects: BTreeMap<ProjectId, Project> = BTreeMap::new();
    let mut agents: BTreeMap<(ProjectId, AgentName), AgentSpec> = BTreeMap::new();
    for part in std::iter::once(own).chain(parts) {
        projects.extend(part.projects.into_iter().map(|p| (p.id.clone(), p)));
        let keyed = |agent: AgentSpec| ((agent.project.clone(), agent.name.clone()), agent);
        agents.extend(part.agents.into_iter().map(keyed));
    }
    let of_dispatch = top.pr_dispatch.as_ref().map(|pr| pr.project.clone());
    let main_project = top.main_project.or(of_dispatch);
    let main_project = main_project.or_else(|| projects.keys().next().cloned())?;
    let webhook = top.webhook?;
    Some(Config {
        secrets: book(&webhook, &projects)
            .expect("secrets that are empty were refused where they stand"),
        tick_interval: top.tick_interval,
        wake_on_dispatch: top.wake_on_dispatch,
        main_project,
        strict: top.strict,
        listeners: top.listeners,
        store: top.store,
        objects: top.shared,
        directories: top.directories,
        forge: top.forge,
        webhook,
        mentions: top.mentions,
        pr_dispatch: top.pr_dispatch,
        projects,
        agents,
        providers: top.providers,
        agent_tokens: BTreeMap::new(),
        own_logins: top.own_logins,
        max_queued: top.max_queued,
        max_running: top.max_running,
        quarantine_after: top.quarantine_after,
        personas: BTreeMap::new(),
        skills: BTreeMap::new(),
        routing: RoutingTables::default(),
        search_roles: BTreeMap::new(),
        vm_hosts: top
            .vm_hosts
            .into_iter()
            .filter_map(|(name, host)| host.with_name(name))
            .collect(),
        machines: top.machines.into_iter().collect(),
        vm_wait: top.vm_wait,
        shutdown: top.shutdown,
        retention: top.retention,
        search_url: top.search_url,
        public_url: top.public_url,
    })
}

struct Checker<'c> {
    files: &'c ConfigFiles,
    environment: &'c Environment,
    host: &'c dyn ConfigHost,
    unknown_keys: UnknownKeys,
    declared: &'c DeclaredNames,
    found: Diagnostics,
    missing_programs: RefCell<Vec<(String, String)>>,
}

impl Checker<'_> {
    /// Keeps what a file gave: its value, or its mistakes.
    fn keep<T>(&mut self, decoded: Result<DecodeResult<T>, Diagnostics>) -> Option<T> {
        match decoded {
            Ok(DecodeResult {
                value, warnings, ..
            }) => {
                self.found.extend(warnings);
                Some(value)
            }
            Err(wrong) => {
                self.found.extend(wrong);
                None
            }
        }
    }

    /// What the reader of the files has noticed; what is about secrets only where there are any.
    fn problems(&mut self, of_secrets: bool) {
        let all = self.files.problems.iter();
        for problem in all.filter(|one| one.of_secrets == of_secrets) {
            let error = ValueError::new(problem.message.clone()).help(problem.help.clone());
            let diagnostic = Diagnostic::for_setting(&problem.name, error);
            self.found.push(match problem.warning {
                true => diagnostic.into_warning(),
                false => diagnostic,
            });
        }
    }

    fn context<'a>(&'a self, file: &'a str) -> DecodeContext<'a> {
        DecodeContext {
            file,
            folder: &self.files.folder,
            environment: self.environment,
            declared: self.declared,
            host: self.host,
            missing_programs: &self.missing_programs,
        }
    }

    fn main(&mut self) -> Option<(TopLevel, FileParts)> {
        let file = &self.files.main;
        let input = ConfigInput::toml(&file.name, &file.bytes, self.environment);
        let decoded = input
            .base(&self.files.folder)
            .unknown_keys(self.unknown_keys)
            .decode(|item| top(item, &self.context(&file.name)));
        let holds_secrets = match &decoded {
            Ok(decoded) => holds_secrets(file, &decoded.secrets),
            Err(_) => true,
        };
        if holds_secrets {
            self.problems(true);
        }
        self.keep(decoded)
    }

    fn fragments(&mut self) -> Vec<FileParts> {
        let mut parts = Vec::new();
        for file in &self.files.fragments {
            let input = ConfigInput::toml(&file.name, &file.bytes, self.environment);
            let decoded = input
                .base(&self.files.folder)
                .unknown_keys(self.unknown_keys)
                .decode(|item| fragment(item, file, &self.context(&file.name)));
            parts.extend(self.keep(decoded));
        }
        parts
    }

    fn personas(&mut self) -> BTreeMap<String, Persona> {
        let mut personas = BTreeMap::new();
        for file in &self.files.personas {
            let decoded = persona::parse(file, self.declared, self.environment, self.unknown_keys);
            if let Some(persona) = self.keep(decoded) {
                personas.insert(persona.name.clone(), persona);
            }
        }
        personas
    }

    fn skills(&mut self) -> BTreeMap<String, String> {
        let mut skills = BTreeMap::new();
        for file in &self.files.skills {
            match skill::parse(file) {
                Ok(text) => {
                    skills.insert(file.stem().to_owned(), text);
                }
                Err(wrong) => self.found.extend(wrong),
            }
        }
        skills
    }

    fn routing(&mut self) -> Vec<RoutingTable> {
        let mut tables = Vec::new();
        for file in &self.files.routing {
            match routing::parse(file) {
                Ok(table) => tables.push(table),
                Err(wrong) => self.found.extend(wrong),
            }
        }
        tables
    }

    /// `agent_tokens.json`: tokens by agent name.
    fn tokens(&mut self) -> BTreeMap<AgentName, Secret<String>> {
        let Some(file) = &self.files.agent_tokens else {
            return BTreeMap::new();
        };
        let declared = self.declared;
        let known = || declared.agents.keys().map(|(_, name)| name.as_str());
        let input = ConfigInput::json(&file.name, &file.bytes, self.environment);
        let decoded = input.decode(|item| {
            let entries = item.entries(|name, item| {
                let token = item.secret();
                if !known().any(|known| known == name) {
                    item.error(unknown("agent", name, known()));
                    return None;
                }
                Some((name.parse::<AgentName>().ok()?, token?))
            })?;
            Some(entries.into_iter().map(|(_, entry)| entry).collect())
        });
        let decoded = decoded.map_err(|wrong| wrong.into_iter().map(without_line).collect());
        self.keep(decoded).unwrap_or_default()
    }

    /// `persona_roles_config.json`: search roles by persona.
    fn roles(&mut self) -> BTreeMap<String, String> {
        let Some(file) = &self.files.persona_roles else {
            return BTreeMap::new();
        };
        let declared = self.declared;
        let known = || declared.personas.keys().map(String::as_str);
        let input = ConfigInput::json(&file.name, &file.bytes, self.environment);
        let decoded = input.decode(|item: &ConfigItem<'_>| {
            let entries = item.entries(|name, item| {
                let role = item.string();
                if !known().any(|known| known == name) {
                    item.error(unknown("persona", name, known()));
                    return None;
                }
                role
            })?;
            Some(entries.into_iter().collect())
        });
        self.keep(decoded).unwrap_or_default()
    }

    fn warn(&mut self, file: &str, message: String, help: &str) {
        let error = ValueError::new(message).help(help);
        let diagnostic = Diagnostic::for_setting(file, error).into_warning();
        self.found.push(diagnostic);
    }

    fn warnings(&mut self, top: &TopLevel, tables: &[RoutingTable]) {
        let main = self.files.main.name.clone();
        if top.mentions.is_none() {
            let message = "there is no `[mentions]`: every webhook is dropped".to_owned();
            self.warn(
                &main,
                message,
                "add a line `[mentions]` to have comments and pull requests start agents",
            );
        }
        if top.forge.is_none() {
            let message = "there is no `[forge]`: no status and no comment is posted".to_owned();
            self.warn(
                &main,
                message,
                "add `[forge]` with `kind`, `url` and `token`",
            );
        }
        let plain = top.forge.as_ref().filter(|forge| {
            forge.url.scheme() == "http" && !forge.allow_http && !is_loopback(forge.url.authority())
        });
        if let Some(forge) = plain {
            let message = format!("tokens go to {} without encryption", forge.url);
            self.warn(
                &main,
                message,
                "use https, or say `allow_http = true` in `[forge]` where the network is trusted",
            );
        }
        let missing = std::mem::take(&mut *self.missing_programs.borrow_mut());
        for (agent, program) in missing {
            let message =
                format!("agent `{agent}`: its program `{program}` cannot be started here");
            self.warn(&main, message, "install it, or name its path as `program`");
        }
        if !tables.is_empty() && tables.iter().all(|table| table.priority == 0) {
            let message = "all routing tables have priority 0".to_owned();
            self.warn(
                &main,
                message,
                "give the more important ones a larger number",
            );
        }
    }

    fn late_warnings(&mut self, config: &Config) {
        let main = self.files.main.name.clone();
        if config.agents.is_empty() {
            let help = "add `[[agents]]` to a file of `conf.d`";
            self.warn(&main, "there is no agent".to_owned(), help);
        }
        self.ssh_warnings(config);
        for agent in config.agents.values() {
            if agent.isolation == super::AgentIsolation::None {
                let message = format!(
                    "agent `{}` runs without a wall: it reads every secret of the orchestrator's user",
                    agent.name
                );
                self.warn(
                    &main,
                    message,
                    "leave `isolation` out, unless nobody else can make it do something",
                );
            }
        }
        self.vm_warnings(config);
        let off = config.pr_dispatch.iter().flat_map(|pr| {
            let agent = |entry: &super::PrAgent| config.agent(&pr.project, &entry.agent);
            let disabled = move |entry: &&super::PrAgent| agent(entry).is_some_and(|a| !a.enabled);
            pr.agents.iter().filter(disabled)
        });
        let off: Vec<String> = off.map(|entry| entry.agent.to_string()).collect();
        for agent in off {
            let message = format!("`[pr_dispatch]` names `{agent}`, which is disabled");
            self.warn(
                &main,
                message,
                "its status will be `error` on every pull request",
            );
        }
    }

    /// Agents in VMs that would not find what their authors expect.
    fn vm_warnings(&mut self, config: &Config) {
        let main = self.files.main.name.clone();
        let in_vms = config.agents.values().filter(|agent| {
            agent.isolation == super::AgentIsolation::Vm && agent.worktree == WorktreeMode::None
        });
        for agent in in_vms {
            let message = format!(
                "agent `{}` works in an empty folder: its VM sees nothing of the project's",
                agent.name
            );
            let help = "give it `worktree = \"base\"` or `worktree = \"head\"`";
            self.warn(&main, message, help);
        }
    }

    /// Origins that the orchestrator's git, which speaks https alone, cannot fetch from.
    fn ssh_warnings(&mut self, config: &Config) {
        if config.forge.is_some() {
            return;
        }
        let main = self.files.main.name.clone();
        for project in config.projects.values() {
            let origin = self.host.origin(&project.working_dir);
            if !origin.is_some_and(|origin| is_ssh(&origin)) {
                continue;
            }
            let message = format!(
                "project `{}`: its `origin` is reached by ssh, which the orchestrator does not use: nothing is fetched, and what the checkout has is worked on",
                project.id
            );
            let help = "add `[forge]`: with it everything is fetched by https, with its token";
            self.warn(&main, message, help);
        }
    }
}

/// `ssh://host/path`, or `user@host:path` as ssh takes it.
fn is_ssh(origin: &str) -> bool {
    match origin.split_once("://") {
        Some((scheme, _)) => scheme == "ssh" || scheme.ends_with("+ssh"),
        None => origin
            .split_once(':')
            .is_some_and(|(host, _)| host.len() > 1 && !host.contains('/')),
    }
}
