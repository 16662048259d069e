//! `check`: reads and plans workflows offline.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use config_core::Colours;
use runner_core::report::{FileReport, FileStatus};

use crate::actions::CheckedRunner;
use crate::arguments::{CheckOptions, OutputFormat, print, print_note};
use crate::repository::WorkflowDirectory;

/// Checks, prints, and ends with 0 (everything would run), 1 (a file is wrong) or 3 (something is
/// refused).
pub(crate) fn run(options: &CheckOptions) -> ExitCode {
    let runner = match CheckedRunner::from_options(&options.store) {
        Ok(runner) => runner,
        Err(error) => {
            print_note(&error);
            return ExitCode::from(1);
        }
    };
    if options.summary {
        return crate::summary::run(&options.path, options.format(), &runner);
    }
    let repository = match WorkflowDirectory::open(&options.path) {
        Ok(repository) => repository,
        Err(error) => {
            print_note(&error);
            return ExitCode::from(1);
        }
    };
    let mut reports = Vec::new();
    let mut wanted = Vec::new();
    for file in &repository.workflows {
        match repository.read(file) {
            Some(bytes) => {
                let read = |path: &str| repository.read(path);
                reports.push(runner.check(file, &bytes, &read));
                wanted.extend(runner.events(file, &bytes));
            }
            None => {
                print_note(&format!("{file} cannot be read (or is larger than 1 MiB)"));
                return ExitCode::from(1);
            }
        }
    }
    match options.format() {
        OutputFormat::Json => print(&format!("{}\n", json(&reports))),
        OutputFormat::Human => print(&human(&reports)),
    }
    if let Some(name) = &options.hook {
        match crate::hook::missing(name, options.store.config.as_deref(), &wanted) {
            Ok(missing) => missing.iter().for_each(|text| print_note(text)),
            Err(error) => {
                print_note(&format!("{name}: {}", daemon::error_chain(error.as_ref())));
                return ExitCode::from(1);
            }
        }
    }
    let worst = reports.iter().map(FileReport::status).max();
    ExitCode::from(match worst {
        None | Some(FileStatus::Good) => 0,
        Some(FileStatus::Wrong) => 1,
        Some(FileStatus::Refused) => 3,
    })
}

fn json(reports: &[FileReport]) -> String {
    serde_json::to_string_pretty(reports).expect("reports hold nothing that is no JSON")
}

fn human(reports: &[FileReport]) -> String {
    let terminal = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let colours = if terminal { Colours::On } else { Colours::Off };
    let mut text: String = reports
        .iter()
        .map(|report| format!("{}\n", report.render(colours)))
        .collect();
    let count = |standing| {
        reports
            .iter()
            .filter(|report| report.status() == standing)
            .count()
    };
    text += &format!(
        "{} files: {} would run, {} have something refused, {} are wrong\n",
        reports.len(),
        count(FileStatus::Good),
        count(FileStatus::Refused),
        count(FileStatus::Wrong)
    );
    text
}
