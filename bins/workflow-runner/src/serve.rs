//! The runner's life: store, actors, listener, end.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use config_core::Environment;
use edge_web::BodyLimits;
use program::life;
use runner_actors::RunnerService;
use runner_web::config::{Flags, RunnerConfig};
use runner_web::{RunnerServer, ServerOptions, boot};
use store::{Options, Store};

use crate::arguments::{ServeOptions as Arguments, print, say};

/// Reads the configuration; with `--check` that is all, else it serves until SIGINT or SIGTERM.
pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> ExitCode {
    let config = match read(arguments, environment) {
        Ok(config) => config,
        Err(text) => {
            say(&text);
            return ExitCode::FAILURE;
        }
    };
    let problems = config.problems();
    if arguments.check && !problems.is_empty() {
        for problem in problems {
            say(&format!("error: {problem}"));
        }
        return ExitCode::FAILURE;
    }
    if arguments.check {
        let text = format!(
            "the configuration is valid: {} on {}, VM manager {}\n",
            config.runner.data.display(),
            config.listen,
            config.runner.vmm_url
        );
        print(&text);
        return ExitCode::SUCCESS;
    }
    match serve(arguments, config, environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&program::in_words(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn read(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<RunnerConfig, String> {
    let variable = environment.text("WORKFLOW_RUNNER_CONFIG");
    let path = arguments
        .config
        .clone()
        .or_else(|| variable.map(PathBuf::from));
    let flags = Flags {
        listen: arguments.listen.clone(),
        data: arguments.data.clone(),
    };
    let parsed = match &path {
        None => RunnerConfig::parse(None, &flags, environment),
        Some(path) => {
            let text = std::fs::read(path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            let base = std::path::absolute(path).ok();
            let base = base
                .as_deref()
                .and_then(Path::parent)
                .unwrap_or(Path::new("/"));
            RunnerConfig::parse(
                Some((&path.display().to_string(), &text, base)),
                &flags,
                environment,
            )
        }
    };
    parsed.map_err(|diagnostics| diagnostics.to_string())
}

fn serve(
    arguments: &Arguments,
    config: RunnerConfig,
    environment: &Environment,
) -> anyhow::Result<()> {
    let look = program::log::look(arguments.log_format, environment)?;
    let serve = program::limits::serve_options(environment)?;
    program::log::init(config.log_level, look, environment);
    program::limits::warn_of_few_files();
    program::data::tighten(&config.runner.data);
    let store = Store::open(&config.runner.data, &Options::new("workflow-runner"))?;
    let listener = edge_web::bind(config.listen, "PORT and HOST, or --listen")?;
    let bound = listener.local_addr()?;
    boot::warn(&config);
    let token = boot::token(&config, bound, || uuid::Uuid::new_v4().to_string());
    let service = RunnerService::new(config.runner, store.clone())?;
    let options = ServerOptions {
        secrets: config.secrets,
        body: BodyLimits::default(),
        hosts: config.hosts,
        token,
        serve,
    };
    life::run(async move {
        let server = RunnerServer::start(service, options);
        let stopped = life::listening("workflow runner", bound, &server.actors())?;
        server.serve(listener, stopped).await?;
        store.close();
        Ok(())
    })
}
