//! `cargo xtask`: start, test, benchmark, check, fuzz, document and release the project.

mod bench;
mod dist;
mod docs;
mod fuzz;
mod install;
mod install_test;
mod output;
mod prerequisites;
mod project;
mod search_prerequisites;
mod shell;
mod soak;
mod terminal;
mod test;
mod tidy;
mod up;
mod workflows;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::project::Project;

/// Start, test, benchmark, check, fuzz, document and release the project.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

/// One module per task.
#[derive(Debug, Subcommand)]
enum Task {
    /// Build the platform, start it on this machine, and show one real job of each product
    Up(up::Options),
    /// Run every check the project has; this is what CI runs
    Test(test::Options),
    /// Measure, and record the figures that the documentation shows
    Bench(bench::Options),
    /// Check the rules that no compiler checks: layers, owners, headers, links, samples
    Tidy(tidy::Options),
    /// Run the fuzz targets
    Fuzz(fuzz::Options),
    /// Kill all products at random under load, and check that nothing is lost, doubled, hanging or
    /// leaked
    Soak(soak::Options),
    /// Run all workflow files of a folder by `workflow-runner exec`, and print how each ended
    Workflows(workflows::Options),
    /// Write the generated pages anew and build the API documentation
    Docs(docs::Options),
    /// Build a release: an archive of each program, their checksums, and the installer
    Dist(dist::Options),
}

impl Task {
    fn run(&self, project: &Project) -> anyhow::Result<ExitCode> {
        match self {
            Self::Up(options) => up::run(project, options),
            Self::Test(options) => test::run(project, options),
            Self::Bench(options) => bench::run(project, options),
            Self::Tidy(options) => tidy::run(project, options),
            Self::Fuzz(options) => fuzz::run(project, options),
            Self::Soak(options) => soak::run(project, options),
            Self::Workflows(options) => workflows::run(project, options),
            Self::Docs(options) => docs::run(project, options),
            Self::Dist(options) => dist::run(project, options),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match Project::find().and_then(|project| arguments.task.run(&project)) {
        Ok(code) => code,
        Err(error) => {
            terminal::error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
