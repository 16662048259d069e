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

use crate::arguments::{Arguments, Command, HookCommand};
use crate::label_arguments::LabelsCommand;

fn main() -> ExitCode {
    daemon::process::begin();
    let arguments = Arguments::parse();
    match arguments.command.unwrap_or(Command::Serve(arguments.serve)) {
        Command::Completions(options) => command_line::print_completions::<Arguments>(&options),
        Command::Man(options) => command_line::print_manual::<Arguments>(&options),
        Command::Check(options) => check::run(&options),
        Command::Exec(options) => exec::run(&options),
        Command::Actions(command) => {
            let environment = daemon::environment::take();
            actions::run(&command, &environment)
        }
        Command::Images(command) => {
            let environment = daemon::environment::take();
            images::run(&command, &environment)
        }
        Command::Labels(LabelsCommand::Import(options)) => labels::import(&options),
        Command::Hook(HookCommand::Add(options)) => {
            let environment = daemon::environment::take();
            hook::add(&options, &environment)
        }
        Command::Store(command) => {
            let environment = daemon::environment::take();
            serve::store_command(&command, &environment)
        }
        Command::Objects(command) => {
            let environment = daemon::environment::take();
            serve::objects_command(&command, &environment)
        }
        Command::Approve(options) => {
            let environment = daemon::environment::take();
            reviews::review(&options, "approve", &environment)
        }
        Command::Reject(options) => {
            let environment = daemon::environment::take();
            reviews::review(&options, "reject", &environment)
        }
        Command::Waiting(options) => {
            let environment = daemon::environment::take();
            reviews::waiting(&options, &environment)
        }
        Command::Shell(options) => {
            // The shell's keys come from the standard input.
            let environment = daemon::environment::as_given();
            shell::open(&options, &environment)
        }
        Command::Kept(options) => {
            let environment = daemon::environment::take();
            shell::list(&options, &environment)
        }
        Command::Release(options) => {
            let environment = daemon::environment::take();
            shell::release(&options, &environment)
        }
        Command::Rerun(options) => {
            let environment = daemon::environment::take();
            shell::rerun(&options, &environment)
        }
        Command::Hosts(command) => {
            let environment = daemon::environment::take();
            vm_hosts::run(&command, &environment)
        }
        Command::Drain(options) => {
            let environment = daemon::environment::take();
            drain::run(&options, &environment)
        }
        Command::Reload(options) => {
            let environment = daemon::environment::take();
            reload::run(&options, &environment)
        }
        Command::Tests(options) => {
            let environment = daemon::environment::take();
            tests::run(&options, &environment)
        }
        Command::Summaries(options) => {
            let environment = daemon::environment::take();
            step_summaries::run(&options, &environment)
        }
        Command::Config(options) => {
            let environment = daemon::environment::take();
            serve::settings(&options, &environment)
        }
        Command::Serve(options) => {
            let environment = daemon::environment::take();
            serve::run(&options, &environment)
        }
    }
}
