//! The runner's life: store, actors, listener, end.

use std::process::ExitCode;
use std::sync::Arc;

use config_core::Environment;
use daemon::objects::{self, ConfiguredFiles};
use daemon::peers::{self, PeerFault};
use daemon::settings::{effective, schema};
use daemon::store::ConfigPathOption;
use daemon::vm_hosts;
use daemon::{first_screen, lifecycle, notify};
use runner_actors::{RunnerService, file_migration};
use runner_web::config::{RunnerConfig, keys};
use runner_web::{RunnerServer, boot};
use store::{Store, StoreOptions, StorePlace};

use crate::arguments::{
    RunnerObjectsCommand, RunnerServeOptions, RunnerStoreCommand, SettingsOptions, exit_code,
    print, print_note,
};
use crate::listening::RunnerListeners;
use crate::replica;
use crate::settings::{self, RunnerSettingsSource, file, flags};

/// Reads the configuration; with `--check` that is all, else it serves until SIGINT or SIGTERM.
pub(crate) fn run(arguments: &RunnerServeOptions, environment: &Environment) -> ExitCode {
    let settings = match RunnerSettingsSource::read(arguments, environment) {
        Ok(settings) => settings,
        Err(text) => {
            print_note(&text);
            return ExitCode::FAILURE;
        }
    };
    let config = settings.config();
    let problems = config.problems();
    if arguments.check && !problems.is_empty() {
        for problem in problems {
            print_note(&format!("error: {problem}"));
        }
        return ExitCode::FAILURE;
    }
    if arguments.check {
        if let Some(unused) = boot::unused(config) {
            print_note(&format!("warning: {unused}"));
        }
        let faults = match arguments.offline {
            true => Vec::new(),
            false => peer_faults(config),
        };
        if !faults.is_empty() {
            faults
                .iter()
                .for_each(|fault| print_note(&format!("error: {fault}")));
            return peers::exit_code(&faults);
        }
        let text = format!(
            "the configuration is valid: {} on {}, VM manager {}\n",
            config.runner.data.display(),
            config.listen,
            managers(config)
        );
        print(&text);
        return ExitCode::SUCCESS;
    }
    exit_code(serve(arguments, settings, environment).map(|()| true))
}

/// What is wrong with the database, the object storage and the VM hosts.
fn peer_faults(config: &RunnerConfig) -> Vec<PeerFault> {
    let store = peers::try_store(
        "the store (WORKFLOW_RUNNER_STORE_URL, or `url` in [store])",
        config.store.as_ref(),
        &store_options(),
    );
    let objects = peers::try_objects("[objects]", config.runner.objects.as_ref());
    let objects = objects.or_else(|| {
        let files = file_migration(&config.runner, false).filter(|_| store.is_none());
        let of_store = (config.store.as_ref(), &store_options());
        peers::try_owner("[objects]", files.as_ref(), of_store)
    });
    let hosts = vm_hosts::try_vm_hosts("[vm_hosts]", &config.runner.vm_hosts);
    store.into_iter().chain(objects).chain(hosts).collect()
}

/// Where VMs come from, for people.
fn managers(config: &RunnerConfig) -> String {
    let hosts = config.runner.vm_hosts.iter();
    let hosts: Vec<&str> = hosts.map(|host| host.url.as_str()).collect();
    hosts.join(", ")
}

pub(crate) fn read(
    arguments: &RunnerServeOptions,
    environment: &Environment,
) -> Result<RunnerConfig, String> {
    let file = file(arguments, environment)?;
    let file = Some((
        file.name.as_str(),
        file.text.as_slice(),
        file.base.as_path(),
    ));
    RunnerConfig::parse(file, &flags(arguments), environment)
        .map_err(|diagnostics| diagnostics.to_string())
}

/// For commands that take no webhooks: a secret that is nobody's stands where none is set.
pub(crate) fn without_webhooks(environment: &Environment) -> Environment {
    const NAME: &str = "FORGE_WEBHOOK_SECRET";
    let environment = environment.clone();
    if environment.text(NAME).is_some() {
        return environment;
    }
    environment.with(NAME, &uuid::Uuid::new_v4().to_string())
}

/// How the store is opened, by whatever program.
fn store_options() -> StoreOptions {
    boot::store_options("workflow-runner")
}

/// Checks, moves, saves or restores the store.
pub(crate) fn store_command(command: &RunnerStoreCommand, environment: &Environment) -> ExitCode {
    let configured = |of: &ConfigPathOption| Ok(store_place(&read_file(of, environment)?));
    daemon::store::run(
        command.task(),
        &store_options(),
        configured,
        (print, print_note),
    )
}

/// Brings files in object storage elsewhere.
pub(crate) fn objects_command(
    command: &RunnerObjectsCommand,
    environment: &Environment,
) -> ExitCode {
    let configured = |of: &ConfigPathOption, leave_damaged: bool| {
        let config = read_file(of, environment)?;
        Ok(ConfiguredFiles {
            store: store_place(&config),
            options: store_options(),
            migration: file_migration(&config.runner, leave_damaged),
        })
    };
    objects::run(command.task(), environment, configured, (print, print_note))
}

fn read_file(of: &ConfigPathOption, environment: &Environment) -> Result<RunnerConfig, String> {
    let arguments = RunnerServeOptions {
        config: of.config.clone(),
        ..RunnerServeOptions::default()
    };
    read(&arguments, &without_webhooks(environment))
}

fn store_place(config: &RunnerConfig) -> StorePlace {
    match &config.store {
        Some(url) => StorePlace::Postgres(url.clone()),
        None => StorePlace::Directory(config.runner.data.clone()),
    }
}

/// Prints what may be set, or what is in force.
pub(crate) fn settings(options: &SettingsOptions, environment: &Environment) -> ExitCode {
    let text = if options.what.schema {
        Ok(schema("workflow-runner.toml", &keys()))
    } else {
        in_force(&options.serve, environment)
    };
    match text {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            print_note(&wrong);
            ExitCode::FAILURE
        }
    }
}

fn in_force(arguments: &RunnerServeOptions, environment: &Environment) -> Result<String, String> {
    read(arguments, environment)?;
    let (file, flags) = (file(arguments, environment)?, flags(arguments));
    effective(&keys(), &file, &flags.values(), environment).map_err(|wrong| wrong.to_string())
}

fn serve(
    arguments: &RunnerServeOptions,
    settings: RunnerSettingsSource,
    environment: &Environment,
) -> anyhow::Result<()> {
    let config = settings.config().clone();
    let log_output = daemon::log::output(arguments.log_format, environment)?;
    let serve = daemon::limits::serve_options(environment)?;
    let (data, level) = (&config.runner.data, config.log_level);
    first_screen::start_log("workflow-runner", data, level, log_output, environment);
    daemon::limits::warn_of_few_files();
    daemon::data::tighten(&config.runner.data);
    if let Some(url) = config.store.clone().filter(|_| config.replica.stands_by) {
        return replica::serve(settings, &url, &store_options(), serve);
    }
    let store = Store::open_in(&config.runner.data, config.store.as_ref(), &store_options())?;
    let RunnerListeners {
        listener,
        services,
        bound,
        options,
    } = RunnerListeners::open(&config, serve)?;
    let rows = [
        ("page", format!("http://{bound}/")),
        ("webhook", format!("http://{bound}/webhook")),
        ("VMs from", managers(&config)),
        ("data", first_screen::path(data)),
    ];
    let service = RunnerService::new(config.runner, store.clone())?;
    let service = service.reading(Arc::new(settings).source());
    lifecycle::run(async move {
        let server = RunnerServer::prepare(service, options)
            .start()
            .services_on(services);
        let reloader = server.settings();
        lifecycle::on_hangup(move || settings::reload(reloader.clone()))?;
        let answers = notify::supervisor_answers(&server.actors());
        let stopped = lifecycle::announce("workflow runner", bound, answers)?;
        first_screen::show("workflow-runner", env!("CARGO_PKG_VERSION"), &rows);
        first_screen::line(
            "ready",
            "`workflow-runner hook add` connects a repository. Ctrl-C ends it.",
        );
        let stopped = daemon::store::stop_or_taken_over(stopped, &store);
        server.serve(listener, stopped).await?;
        daemon::store::close(&store)
    })
}
