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

use crate::project::ProjectCheckout;

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
    Up(up::UpOptions),
    /// Run every check the project has; this is what CI runs
    Test(test::TestOptions),
    /// Measure, and record the figures that the documentation shows
    Bench(bench::BenchOptions),
    /// Check the rules that no compiler checks: layers, owners, headers, links, samples
    Tidy(tidy::TidyOptions),
    /// Run the fuzz targets
    Fuzz(fuzz::FuzzOptions),
    /// Kill all products at random under load, and check that nothing is lost, doubled, hanging or
    /// leaked
    Soak(soak::SoakOptions),
    /// Run all workflow files of a folder by `workflow-runner exec`, and print how each ended
    Workflows(workflows::WorkflowsOptions),
    /// Write the generated pages anew and build the API documentation
    Docs(docs::DocsOptions),
    /// Build a release: an archive of each program, their checksums, and the installer
    Dist(dist::DistOptions),
}

impl Task {
    fn run(&self, project: &ProjectCheckout) -> anyhow::Result<ExitCode> {
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
    match ProjectCheckout::find().and_then(|project| arguments.task.run(&project)) {
        Ok(code) => code,
        Err(error) => {
            terminal::error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
