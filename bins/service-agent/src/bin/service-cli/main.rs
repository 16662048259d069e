//! The search server's client for scripts: every command prints one JSON document, also when it
//! fails, and ends with an exit code that says how it went.

mod arguments;
mod commands;
mod output;
mod words;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use serde_json::json;
use service_agent::ClientFailure;

use arguments::Arguments;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = service_agent::was_reader() {
        return code;
    }
    service_agent::secure_process();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let environment = config_core::Environment::from_os(std::env::vars_os());
    match commands::run(&arguments, &environment) {
        Ok(done) => {
            print(&done.text);
            ExitCode::from(done.outcome.code())
        }
        Err(failure) => failed(&failure),
    }
}

fn failed(failure: &ClientFailure) -> ExitCode {
    error(failure.kind(), &failure.to_string());
    ExitCode::from(failure.code())
}

/// Help is asked for by people, and is text.
fn usage(problem: &clap::Error) -> ExitCode {
    let asked = matches!(
        problem.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if asked {
        print(&problem.render().to_string());
        return ExitCode::SUCCESS;
    }
    error("usage", problem.render().to_string().trim_end());
    ExitCode::from(2)
}

fn error(kind: &str, detail: &str) {
    let document = json!({"status": "error", "error": {"kind": kind, "detail": detail}});
    print(&format!("{document:#}"));
}

/// A reader that has left is no failure: it has what it wanted.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}
