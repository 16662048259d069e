//! The VM manager: virtual machines for jobs, over HTTP.

mod agent;
mod arguments;
mod image;
mod serve;
mod shared_images;

use std::process::ExitCode;

use clap::Parser;
use command_line::{print, print_note};
use config_core::Environment;
use daemon::peers;
use daemon::settings::{ConfigOptions, schema};
use vm_actors::wall;
use vm_core::UnixMs;
use vm_core::token::{Claims, TokenScope};
use vm_web::boot::{self, DataDirectory};
use vm_web::config::{ManagerConfig, keys};

use crate::arguments::{Arguments, Command, Common, ConfigError, FAILED, TokenArguments};

fn main() -> ExitCode {
    daemon::process::secure();
    let arguments = Arguments::parse();
    match &arguments.command {
        Some(Command::Completions(options)) => {
            return command_line::print_completions::<Arguments>(options);
        }
        Some(Command::Man(options)) => return command_line::print_manual::<Arguments>(options),
        _ => {}
    }
    let serves = matches!(arguments.command, None | Some(Command::Serve));
    let environment = if serves {
        daemon::environment::take()
    } else {
        // It ends soon, and starts programs that know no other place for what they need.
        Environment::from_os(std::env::vars_os())
    };
    if let Some(Command::Config(options)) = &arguments.command {
        return settings(*options, &arguments.common, &environment);
    }
    let config = match arguments.common.config(&environment) {
        Ok(config) => config,
        Err(error) => return error.report(),
    };
    if arguments.common.check {
        return check(&arguments.common, &config);
    }
    match run(arguments.command, &arguments.common, &config, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_note(&daemon::error_chain(error.as_ref()));
            ExitCode::from(FAILED)
        }
    }
}

/// Prints what may be set, or what is in force.
fn settings(options: ConfigOptions, common: &Common, environment: &Environment) -> ExitCode {
    let text = if options.schema {
        Ok(schema("vm-manager.toml", &keys()))
    } else {
        common.settings(environment)
    };
    match text {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => error.report(),
    }
}

/// Says whether a manager with this configuration can have VMs; nothing is made or started.
fn check(common: &Common, config: &ManagerConfig) -> ExitCode {
    let agent = agent::find(common, config).ok();
    let missing = boot::missing(config, agent.as_deref());
    if missing.has_errors() {
        return ConfigError::Wrong(missing).report();
    }
    let objects = config.objects.as_ref().filter(|_| !common.offline);
    if let Some(fault) = peers::try_objects("[objects]", objects) {
        print_note(&fault.to_string());
        return peers::exit_code(&[fault]);
    }
    print(&format!(
        "the configuration is valid: {} on {}, data in {}",
        config.driver,
        config.listen.value,
        config.data.value.display()
    ));
    ExitCode::SUCCESS
}

fn run(
    command: Option<Command>,
    common: &Common,
    config: &ManagerConfig,
    environment: &Environment,
) -> anyhow::Result<()> {
    let directory = DataDirectory::open(&config.data.value)?;
    match command.unwrap_or(Command::Serve) {
        // Answered before anything is opened.
        Command::Config(_) | Command::Completions(_) | Command::Man(_) => Ok(()),
        Command::Serve => serve::run(common, config, &directory, environment),
        Command::Token(wanted) => token(&wanted, &directory),
        Command::Image(command) => {
            edge_web::logging::init("warn", environment.text("RUST_LOG"));
            daemon::data::tighten(&config.data.value);
            daemon::process::make_files_of_a_system();
            image::run(command, common, (config, environment), &directory)
        }
    }
}

/// Prints a token, and nothing else, on standard output; when it ends, on standard error.
fn token(wanted: &TokenArguments, directory: &DataDirectory) -> anyhow::Result<()> {
    let key = directory.token_key()?;
    let scope = TokenScope::from(wanted.scope);
    let claims = Claims::new(&wanted.subject, &[scope], wall(), wanted.lifetime);
    print(&key.sign(&claims));
    let end = UnixMs(claims.exp.saturating_mul(1000));
    print_note(&format!(
        "the token ends {end}: whoever uses it needs another one by then"
    ));
    Ok(())
}
