//! The whole platform in one process: one root supervisor, one data folder. The quick start.

mod check;
mod demo;
mod front;
mod products;
mod reread;
mod run_news;
mod servers;
mod settings;
mod startup;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use command_line::{CompletionsOptions, ManOptions};
use config_core::{Colours, Diagnostics, Environment};
use daemon::log::LogFormat;
use daemon::peers;
use daemon::settings::{ConfigOptions, ConfigText, effective, schema};

const AFTER_HELP: &str = "\
The file's tables [search], [vm_manager], [runner] and [orchestrator] say which products run; each
can be left out. The products' own variables apply here as well: see docs/CONFIG.md.

Exit codes: 0 ok, 1 the configuration is invalid or the platform cannot start, 2 wrong usage, 6 with
--check: a database, an object storage or a VM host does not answer.
Signals: SIGTERM and Ctrl-C end everything; SIGHUP reads the orchestrator's configuration and the
runner's VM hosts again, and is ignored without both.

Examples:
  platform demo
  platform --config platform.toml
  platform --check --config platform.toml";

/// The whole platform in one process: search, VM manager, workflow runner, orchestrator.
#[derive(Debug, Parser)]
#[command(
    name = "platform",
    version,
    after_help = AFTER_HELP,
    disable_help_subcommand = true,
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    /// The platform's configuration.
    #[arg(long, value_name = "FILE", required = true)]
    config: Option<PathBuf>,
    /// Check the configuration of all products, say everything that is wrong with it, and end.
    #[arg(long)]
    check: bool,
    /// With --check: ask no database, no object storage and no VM host, so that one that is away
    /// for a moment keeps nothing from starting.
    #[arg(long, requires = "check")]
    offline: bool,
    /// How the log looks; JSON lines unless said, in the data folder where a terminal shows the
    /// first screen. LOG_FORMAT says it as well.
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
    /// What to do; all products run unless said.
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the platform with settings of its own on this machine, and show one real job of each
    /// product
    #[command(
        after_help = "Examples:\n  platform demo\n  platform demo --folder ~/notes --search-only\n  platform demo --once --port 0\n  platform demo --cluster"
    )]
    Demo(demo::DemoOptions),
    /// What may be set, and what is in force.
    #[command(
        after_help = "Examples:\n  platform config --show --config platform.toml\n  platform config --schema"
    )]
    Config {
        #[command(flatten)]
        what: ConfigOptions,
        /// The platform's configuration.
        #[arg(long, value_name = "FILE", required_unless_present = "schema")]
        config: Option<PathBuf>,
    },
    /// Print completions for a shell.
    #[command(
        after_help = "Examples:\n  platform completions bash > ~/.local/share/bash-completion/completions/platform\n  platform completions zsh > ~/.zfunc/_platform"
    )]
    Completions(CompletionsOptions),
    /// Print the manual page (roff), or write one for each command.
    #[command(
        after_help = "Examples:\n  platform man | man -l -\n  platform man --out ~/.local/share/man/man1"
    )]
    Man(ManOptions),
}

/// Prints what may be set, or what is in force.
fn settings_text(
    what: ConfigOptions,
    path: &Path,
    environment: &Environment,
) -> Result<(), Diagnostics> {
    let text = if what.schema {
        schema("platform.toml", &settings::keys())
    } else {
        check::plan(path, environment)?;
        let file = ConfigText::read(Some(path), "", environment)
            .map_err(|error| check::mistake_without_place(&path.display().to_string(), error))?;
        effective(&settings::keys(), &file, &[], environment)?
    };
    // A closed terminal is no reason to fail.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(())
}

fn main() -> ExitCode {
    if let Some(ended) = search_formats_engine::serve_if_asked(std::env::args_os()) {
        return match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    daemon::process::secure();
    daemon::memory::trim_memory();
    let arguments = Arguments::parse();
    match &arguments.command {
        Some(Command::Demo(options)) => return demonstrate(options),
        Some(Command::Completions(options)) => {
            return command_line::print_completions::<Arguments>(options);
        }
        Some(Command::Man(options)) => return command_line::print_manual::<Arguments>(options),
        _ => {}
    }
    let environment = daemon::environment::take();
    let path = arguments.config.unwrap_or_default();
    if let Some(Command::Config { what, config }) = arguments.command {
        let printed = settings_text(what, &config.unwrap_or_default(), &environment);
        return printed.map_or_else(
            |wrong| {
                show(&wrong);
                ExitCode::from(1)
            },
            |()| ExitCode::SUCCESS,
        );
    }
    let plan = match check::plan(&path, &environment) {
        Ok(plan) => plan,
        Err(wrong) => {
            show(&wrong);
            return ExitCode::from(1);
        }
    };
    if arguments.check {
        if plan.has_warnings() {
            show(&plan.warnings);
        }
        let missing = plan.missing();
        if missing.has_errors() {
            show(&missing);
            return ExitCode::from(1);
        }
        let faults = plan.peer_faults(arguments.offline);
        if !faults.is_empty() {
            for fault in &faults {
                show(&check::mistake_without_place(
                    fault.setting,
                    fault.reason.clone(),
                ));
            }
            return peers::exit_code(&faults);
        }
        // A closed terminal is no reason to fail.
        let _ = std::io::stdout().write_all(plan.summary().as_bytes());
        return ExitCode::SUCCESS;
    }
    match startup::run(plan, arguments.log_format, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{}", daemon::error_chain(error.as_ref()));
            ExitCode::from(1)
        }
    }
}

fn demonstrate(options: &demo::DemoOptions) -> ExitCode {
    match demo::run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn show(found: &Diagnostics) {
    let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stderr().is_terminal();
    let colours = if plain { Colours::Off } else { Colours::On };
    let _ = writeln!(std::io::stderr(), "{}", found.render(colours).trim_end());
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    #[test]
    fn every_help_ends_with_examples_that_are_understood() {
        scripted_peers::assert_understood::<Arguments>();
    }
}
