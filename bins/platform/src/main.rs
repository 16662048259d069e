//! The whole platform in one process: one root supervisor, one data folder. The quick start.

mod check;
mod life;
mod products;
mod run_news;
mod settings;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use config_core::{Colours, Diagnostics};
use program::log::LogFormat;

const AFTER_HELP: &str = "\
The file's tables [search], [vm_manager], [runner] and [orchestrator] say which products run; each
can be left out. The products' own variables apply here as well: see docs/CONFIG.md.

Exit codes: 0 ok, 1 the configuration is invalid or the platform cannot start, 2 wrong usage.
Signals: SIGTERM and Ctrl-C end everything; SIGHUP reads the orchestrator's configuration again,
and is ignored without one.";

/// The whole platform in one process: search, VM manager, workflow runner, orchestrator.
#[derive(Debug, Parser)]
#[command(name = "platform", version, after_help = AFTER_HELP)]
struct Arguments {
    /// The platform's configuration.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Check the configuration of all products, say everything that is wrong with it, and end.
    #[arg(long)]
    check: bool,
    /// How the log looks; text on a terminal and JSON elsewhere unless said. LOG_FORMAT says it as well.
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

fn main() -> ExitCode {
    if let Some(ended) = search_formats_engine::serve_if_asked(std::env::args_os()) {
        return match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    program::process::begin();
    program::memory::give_freed_memory_back();
    let arguments = Arguments::parse();
    let environment = program::environment::take();
    let plan = match check::plan(&arguments.config, &environment) {
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
        // A closed terminal is no reason to fail.
        let _ = std::io::stdout().write_all(plan.summary().as_bytes());
        return ExitCode::SUCCESS;
    }
    match life::run(plan, arguments.log_format, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{}", program::in_words(error.as_ref()));
            ExitCode::from(1)
        }
    }
}

fn show(found: &Diagnostics) {
    let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stderr().is_terminal();
    let colours = if plain { Colours::Off } else { Colours::On };
    let _ = writeln!(std::io::stderr(), "{}", found.render(colours).trim_end());
}
