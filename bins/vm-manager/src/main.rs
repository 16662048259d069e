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
use vm_web::boot::Folders;
use vm_web::config::ManagerConfig;

use crate::arguments::{Arguments, Command, Common, TokenArguments, print, say};

/// Exit code when the configuration is wrong or what was asked for failed.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let environment = Environment::from_os(std::env::vars_os());
    let config = match arguments.common.config(&environment) {
        Ok(config) => config,
        Err(error) => return error.report(),
    };
    if arguments.common.check {
        print(&format!(
            "the configuration is valid: {} on {}, data in {}",
            config.driver,
            config.listen.value,
            config.data.value.display()
        ));
        return ExitCode::SUCCESS;
    }
    match run(arguments.command, &arguments.common, &config, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&program::in_words(error.as_ref()));
            ExitCode::from(FAILED)
        }
    }
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
        Command::Image(command) => image::run(command, common, config, &folders),
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
