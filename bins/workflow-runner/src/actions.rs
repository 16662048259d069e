//! `actions`: the operator's side of the store of actions.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use config_core::Environment;
use runner_actors::{ActionStore, ActionStoreError, RunnerSettings, label_image, label_machine};
use runner_core::actions::{
    ActionLock, ActionReference, ActionSource, LockChange, LockedAction, NoActions,
};
use runner_core::event::EventKind;
use runner_core::plan::FileLookup;
use runner_core::report::{FileReport, RunnerFacts, check_for, check_with};
use runner_core::workflow::{Dialect, Need, parse_as};

use crate::action_arguments::{
    ActionsAddOptions, ActionsCommand, ActionsExportOptions, ActionsImportOptions,
    ActionsListOptions, ActionsRemoveOptions, ActionsUpdateOptions, ActionsVendorOptions,
};
use crate::arguments::{RunnerServeOptions, exit_code, print, print_note};
use crate::repository::WorkflowDirectory;
use crate::serve;
use crate::store_options::ActionsStoreOptions;

/// Does it; the exit code says whether all of it was done.
pub(crate) fn run(command: &ActionsCommand, environment: &Environment) -> ExitCode {
    exit_code(match command {
        ActionsCommand::Add(options) => add(options, environment),
        ActionsCommand::Vendor(options) => vendor(options, environment),
        ActionsCommand::Update(options) => update(options, environment),
        ActionsCommand::List(options) => list(options, environment),
        ActionsCommand::Verify(options) => verify(options, environment),
        ActionsCommand::Export(options) => export(options, environment),
        ActionsCommand::Import(options) => import(options, environment),
        ActionsCommand::Remove(options) => remove(options, environment),
    })
}

/// The store that a runner with this configuration uses.
pub(crate) fn store(
    options: &ActionsStoreOptions,
    environment: &Environment,
) -> anyhow::Result<ActionStore> {
    let settings = settings(options, environment)?;
    Ok(ActionStore::new(&Arc::new(settings)))
}

/// The settings of a runner with this configuration. It needs no webhook secret.
pub(crate) fn settings(
    options: &ActionsStoreOptions,
    environment: &Environment,
) -> anyhow::Result<RunnerSettings> {
    let serve = RunnerServeOptions {
        config: options.config.clone(),
        data: options.data.clone(),
        ..RunnerServeOptions::default()
    };
    let environment = serve::without_webhooks(environment);
    let config = serve::read(&serve, &environment).map_err(anyhow::Error::msg)?;
    Ok(config.runner)
}

/// What `check` knows of a runner.
pub(crate) struct CheckedRunner {
    /// Actions and images that count as there.
    pub(crate) actions: Box<dyn ActionSource>,
    settings: Option<RunnerSettings>,
    /// Whether the configuration was named.
    is_named: bool,
}

impl CheckedRunner {
    /// The runner of these options. Without a configuration that can be read, and none named, one
    /// that nobody has configured.
    pub(crate) fn from_options(options: &ActionsStoreOptions) -> Result<Self, String> {
        let environment = Environment::from_os(std::env::vars_os());
        match settings(options, &environment) {
            Ok(settings) => {
                let store = ActionStore::new(&Arc::new(settings.clone()));
                Ok(Self {
                    actions: Box::new(store.stored()),
                    settings: Some(settings),
                    is_named: options.config.is_some(),
                })
            }
            Err(_) if options.config.is_none() && options.data.is_none() => Ok(Self {
                actions: Box::new(NoActions),
                settings: None,
                is_named: false,
            }),
            Err(error) => Err(daemon::error_chain(error.as_ref())),
        }
    }

    /// The events that start a file's workflow, each with the file.
    pub(crate) fn events(&self, file: &str, bytes: &[u8]) -> Vec<(String, EventKind)> {
        let forge = self.settings.as_ref().map(|settings| settings.forge);
        let forge = forge.filter(|_| self.is_named);
        let dialect = forge.map_or_else(
            || Dialect::of_file(file),
            |forge| Dialect::for_file(file, forge),
        );
        let Ok(parsed) = parse_as(file, bytes, dialect) else {
            return Vec::new();
        };
        let kinds = parsed.value.on.kinds().into_iter();
        kinds.map(|kind| (file.to_owned(), kind)).collect()
    }

    /// The report of a file.
    pub(crate) fn check(&self, file: &str, bytes: &[u8], files: FileLookup<'_>) -> FileReport {
        let Some(settings) = &self.settings else {
            return check_with(file, bytes, files, &*self.actions);
        };
        let image_of = |labels: &[String]| label_image(settings, labels);
        let machine_of =
            |labels: &[String], group: Option<&str>| label_machine(settings, labels, group);
        let facts = RunnerFacts {
            workspace: settings.workspace,
            has_network: &|labels| settings.has_network(labels),
            has_user: &|labels| settings.has_user(labels),
            // As the forge below.
            image: self.is_named.then_some(&image_of),
            machine: self.is_named.then_some(&machine_of),
            // One that nobody has named is not known to be this repository's.
            forge: self.is_named.then_some(settings.forge),
            token_permissions: settings.token_permissions,
            token_at_forge: settings.token_at_forge.unwrap_or(true),
            pull_request_commit: settings.pull_request_commit,
        };
        check_for(file, bytes, files, &*self.actions, facts)
    }
}

fn add(options: &ActionsAddOptions, environment: &Environment) -> anyhow::Result<bool> {
    let store = store(&options.store, environment)?;
    let references = references(&options.actions)?;
    let from = options.from.as_deref();
    let mut all = true;
    for reference in &references {
        all &= report_change(reference, store.add(reference, from));
    }
    Ok(all)
}

fn references(names: &[String]) -> anyhow::Result<Vec<ActionReference>> {
    let parsed = names.iter().map(|name| Ok(name.parse()?));
    parsed.collect()
}

fn export(options: &ActionsExportOptions, environment: &Environment) -> anyhow::Result<bool> {
    let store = store(&options.store, environment)?;
    let count = store.export(&references(&options.actions)?, &options.to)?;
    print(&format!(
        "{count} actions are in {}\n",
        options.to.display()
    ));
    Ok(true)
}

fn import(options: &ActionsImportOptions, environment: &Environment) -> anyhow::Result<bool> {
    let store = store(&options.store, environment)?;
    let mut all = true;
    for (name, imported) in store.import(&options.from)? {
        all &= report_change(&name, imported);
    }
    Ok(all)
}

fn remove(options: &ActionsRemoveOptions, environment: &Environment) -> anyhow::Result<bool> {
    let store = store(&options.store, environment)?;
    let mut all = true;
    for reference in references(&options.actions)? {
        if store.remove(&reference)? {
            print(&format!("{reference}: removed\n"));
        } else {
            print_note(&format!("{reference} is not in the store"));
            all = false;
        }
    }
    Ok(all)
}

/// Adds what is missing, then what that uses, until nothing new is missing.
fn vendor(options: &ActionsVendorOptions, environment: &Environment) -> anyhow::Result<bool> {
    let store = store(&options.store, environment)?;
    let repositories = WorkflowDirectory::find_all(&options.path).map_err(anyhow::Error::msg)?;
    let mut tried = BTreeSet::new();
    let mut all = true;
    loop {
        let missing = missing(&repositories, &store.stored());
        let new: Vec<String> = missing.difference(&tried).cloned().collect();
        if new.is_empty() {
            return Ok(all);
        }
        for text in new {
            match text.parse::<ActionReference>() {
                Ok(reference) => {
                    let base = options.from.as_deref();
                    let base = base.map(|base| base.trim_end_matches('/'));
                    let from = base.map(|base| format!("{base}/{}", reference.repository()));
                    all &= report_change(&reference, store.add(&reference, from.as_deref()));
                }
                Err(error) => {
                    print_note(&error.to_string());
                    all = false;
                }
            }
            tried.insert(text);
        }
    }
}

/// What the workflows use of other repositories and the store does not have, as they write it or as
/// their lock file says.
fn missing(repositories: &[WorkflowDirectory], actions: &dyn ActionSource) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    for repository in repositories {
        for file in &repository.workflows {
            let Some(bytes) = repository.read(file) else {
                continue;
            };
            let read = |path: &str| repository.read(path);
            for refusal in check_with(file, &bytes, &read, actions).refused {
                let is_remote = matches!(refusal.need, Need::Action(_) | Need::RemoteWorkflow(_));
                let uses = refusal.feature.strip_prefix("uses: ").map(str::to_owned);
                let name = refusal.locked.or(uses);
                missing.extend(name.filter(|_| is_remote));
            }
        }
    }
    missing
}

fn update(options: &ActionsUpdateOptions, environment: &Environment) -> anyhow::Result<bool> {
    let store = store(&options.store, environment)?;
    let lock = store.lock()?;
    let mut all = true;
    for (reference, url) in chosen(&store, &lock, &options.actions)? {
        all &= report_change(&reference, store.add(&reference, Some(&url)));
    }
    Ok(all)
}

/// The entries that are named, all without any names, each with where it was fetched from.
fn chosen(
    store: &ActionStore,
    lock: &ActionLock,
    names: &[String],
) -> anyhow::Result<Vec<(ActionReference, String)>> {
    if names.is_empty() {
        let all = lock.entries();
        let all = all.map(|(key, action)| Ok((key.parse()?, action.url.clone())));
        return all.collect();
    }
    let chosen = names.iter().map(|name| {
        let reference: ActionReference = name.parse()?;
        let known = lock.get(&store.name_in(lock, &reference));
        let known = known.with_context(|| format!("{reference} is not in the store"))?;
        Ok((reference, known.url.clone()))
    });
    chosen.collect()
}

/// Prints what was done with one; whether it is in the store as it should be.
fn report_change(
    reference: &dyn Display,
    done: Result<(LockedAction, LockChange), ActionStoreError>,
) -> bool {
    match done {
        Ok((action, change)) => {
            let change = match change {
                LockChange::Added => "added".to_owned(),
                LockChange::Moved(from) => format!("moved from {from}"),
                LockChange::Same => "unchanged".to_owned(),
            };
            print(&format!("{reference}: {change}, {}\n", action.commit));
            true
        }
        Err(error) => {
            print_note(&format!("{reference}: {error}"));
            false
        }
    }
}

fn list(options: &ActionsListOptions, environment: &Environment) -> anyhow::Result<bool> {
    let lock = store(&options.store, environment)?.lock()?;
    if options.json {
        print(&lock.to_text());
        return Ok(true);
    }
    let mut text = String::new();
    for (name, action) in lock.entries() {
        let private = if action.private { "  private" } else { "" };
        let _ = writeln!(text, "{name}  {}  {}{private}", action.commit, action.url);
    }
    if text.is_empty() {
        text.push_str("the store holds no actions\n");
    }
    print(&text);
    Ok(true)
}

fn verify(options: &ActionsStoreOptions, environment: &Environment) -> anyhow::Result<bool> {
    let verified = store(options, environment)?.verify()?.into_iter();
    let named = verified.map(|action| {
        let name = format!("{} ({})", action.name, action.commit);
        (name, action.fault)
    });
    Ok(report_verified("actions", named))
}

/// Says what of a store is not as it is locked; whether all is.
pub(crate) fn report_verified(
    what: &str,
    verified: impl Iterator<Item = (String, Option<impl std::fmt::Display>)>,
) -> bool {
    let (mut count, mut faults) = (0, 0);
    for (name, fault) in verified {
        count += 1;
        if let Some(fault) = fault {
            faults += 1;
            print_note(&format!("{name}: {fault}"));
        }
    }
    let good = count - faults;
    print(&format!("{count} {what}: {good} as locked, {faults} not\n"));
    faults == 0
}
