//! The workflow runner's program.

mod action_arguments;
mod actions;
mod arguments;
mod check;
mod drain;
mod exec;
mod hook;
mod image_arguments;
mod images;
mod label_arguments;
mod labels;
mod listening;
mod reload;
mod replica;
mod repository;
mod review_options;
mod reviews;
mod runner_api;
mod runner_options;
mod serve;
mod settings;
mod shell;
mod shell_options;
mod step_summaries;
mod store_options;
mod summaries_options;
mod summary;
mod tests;
mod vm_host_options;
mod vm_hosts;

use std::process::ExitCode;

use clap::Parser;
use daemon::environment::{as_given, take};

use crate::arguments::{Arguments, Command, RunnerHookCommand};
use crate::label_arguments::LabelsCommand;

fn main() -> ExitCode {
    daemon::process::secure();
    let arguments = Arguments::parse();
    match arguments.command.unwrap_or(Command::Serve(arguments.serve)) {
        Command::Completions(options) => command_line::print_completions::<Arguments>(&options),
        Command::Man(options) => command_line::print_manual::<Arguments>(&options),
        Command::Check(options) => check::run(&options),
        Command::Exec(options) => exec::run(&options),
        Command::Actions(command) => actions::run(&command, &take()),
        Command::Images(command) => images::run(&command, &take()),
        Command::Labels(LabelsCommand::Import(options)) => labels::import(&options),
        Command::Hook(RunnerHookCommand::Add(options)) => hook::add(&options, &take()),
        Command::Store(command) => serve::store_command(&command, &take()),
        Command::Objects(command) => serve::objects_command(&command, &take()),
        Command::Approve(options) => reviews::review(&options, "approve", &take()),
        Command::Reject(options) => reviews::review(&options, "reject", &take()),
        Command::Waiting(options) => reviews::waiting(&options, &take()),
        Command::Shell(options) => {
            // The shell's keys come from the standard input.
            shell::open(&options, &as_given())
        }
        Command::Kept(options) => shell::list(&options, &take()),
        Command::Release(options) => shell::release(&options, &take()),
        Command::Rerun(options) => shell::rerun(&options, &take()),
        Command::Hosts(command) => vm_hosts::run(&command, &take()),
        Command::Drain(options) => drain::run(&options, &take()),
        Command::Reload(options) => reload::run(&options, &take()),
        Command::Tests(options) => tests::run(&options, &take()),
        Command::Summaries(options) => step_summaries::run(&options, &take()),
        Command::Config(options) => serve::settings(&options, &take()),
        Command::Serve(options) => serve::run(&options, &take()),
    }
}
