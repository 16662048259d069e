//! `--check`: reads everything the daemon would read, and says all that is wrong at once.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use config_core::{Colours, Diagnostics, Environment, UnknownKeys};
use orchestrator_actors::desk::{as_values, check_view};
use orchestrator_actors::load::{SystemHost, isolation_here, load};
use orchestrator_core::admin::CheckView;
use orchestrator_core::config::{Checked, check, routes, table};

use crate::FAILED;
use crate::arguments::{Arguments, Format, complain, print, say};

/// The checked configuration, or the exit code after what is wrong with it was said.
pub(crate) fn read(arguments: &Arguments, environment: &Environment) -> Result<Checked, ExitCode> {
    let files = load(&arguments.config, environment).map_err(|error| {
        say(&error.to_string());
        ExitCode::from(FAILED)
    })?;
    let host = SystemHost::new(environment);
    check(&files, environment, &host, UnknownKeys::Refuse).map_err(|wrong| {
        if arguments.check && arguments.format == Format::Json {
            let view = CheckView {
                valid: false,
                diagnostics: as_values(&wrong),
                routes: Vec::new(),
            };
            print_json(&view);
        } else {
            show(&wrong);
            let errors = wrong
                .iter()
                .filter(|one| one.severity == config_core::Severity::Error);
            say(&format!("{} errors in the configuration", errors.count()));
        }
        ExitCode::from(FAILED)
    })
}

/// What a right configuration looks like.
pub(crate) fn report(
    arguments: &Arguments,
    checked: &Checked,
    environment: &Environment,
) -> ExitCode {
    if arguments.format == Format::Json {
        print_json(&check_view(checked));
    } else {
        show(&checked.warnings);
        let rows = routes(&checked.config);
        let projects = checked.config.projects.len();
        print(&table(&rows));
        print(&format!(
            "{} agents in {projects} projects; the configuration is valid\n",
            rows.len()
        ));
        say(&isolation_here(environment));
    }
    ExitCode::SUCCESS
}

fn print_json(view: &CheckView) {
    let text = serde_json::to_string_pretty(view).expect("texts and numbers always serialise");
    print(&(text + "\n"));
}

fn show(diagnostics: &Diagnostics) {
    let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stderr().is_terminal();
    let colours = if plain { Colours::Off } else { Colours::On };
    if !diagnostics.is_empty() {
        complain(&diagnostics.render(colours));
    }
}
