//! The VM manager: virtual machines for jobs, over HTTP.

mod agent;
mod arguments;
mod image;
mod serve;

use std::process::ExitCode;

use clap::Parser;
use config_core::Environment;
use vm_actors::wall;
use vm_core::token::{Claims, Scope};
use vm_web::boot::{self, Folders};
use vm_web::config::ManagerConfig;

use crate::arguments::{Arguments, Command, Common, ConfigError, TokenArguments, print, say};

/// Exit code when the configuration is wrong or what was asked for failed.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    program::process::begin();
    let arguments = Arguments::parse();
    let serves = matches!(arguments.command, None | Some(Command::Serve));
    let environment = if serves {
        program::environment::take()
    } else {
        // It ends soon, and starts programs that know no other place for what they need.
        Environment::from_os(std::env::vars_os())
    };
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
            say(&program::in_words(error.as_ref()));
            ExitCode::from(FAILED)
        }
    }
}

/// Says whether a manager with this configuration can have VMs; nothing is made or started.
fn check(common: &Common, config: &ManagerConfig) -> ExitCode {
    let agent = agent::find(common, config).ok();
    let missing = boot::missing(config, agent.as_deref());
    if missing.has_errors() {
        return ConfigError::Wrong(missing).report();
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
    let folders = Folders::open(&config.data.value)?;
    match command.unwrap_or(Command::Serve) {
        Command::Serve => serve::run(common, config, &folders, environment),
        Command::Token(wanted) => token(&wanted, &folders),
        Command::Image(command) => {
            edge_web::logging::init("warn", environment.text("RUST_LOG"));
            program::data::tighten(&config.data.value);
            program::process::make_files_of_a_system();
            image::run(command, common, config, &folders)
        }
    }
}

/// Prints a token, and nothing else, on standard output.
fn token(wanted: &TokenArguments, folders: &Folders) -> anyhow::Result<()> {
    let key = folders.token_key()?;
    let scope = Scope::from(wanted.scope);
    let claims = Claims::new(&wanted.subject, &[scope], wall(), wanted.lifetime);
    print(&key.sign(&claims));
    Ok(())
}
