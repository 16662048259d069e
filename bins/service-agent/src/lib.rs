//! What the search server's two terminal clients share: finding a server or starting a private one,
//! asking it, and what goes wrong on the way.
//!
//! ```text
//! TargetArguments ─find─▶ Target::Server ─────────────────┐
//!                         Target::Here ─▶ private server ─┴─ Client ─HTTP─▶ /api/…, /mcp
//! ```
//!
//! A private server is the search server itself, in this process, on a loopback port of its own
//! with a token that nobody else knows: whatever works against a server works without one.

pub mod bridge;
pub mod client;
pub mod configuration;
pub mod failure;
pub mod in_process;
pub mod place;
mod private;

pub use client::{ChatStreamItem, Client};
pub use failure::{ClientFailure, CommandResult};
pub use place::{OpenTarget, SearchTarget, TargetArguments};

/// The argument with which a program starts itself to read documents that could do harm.
pub const READ_DOCUMENTS: &str = "__read-documents";

/// The first steps of a client: what it writes is its user's alone, and no other process of that
/// user can read the tokens in its memory and environment.
pub fn secure_process() {
    command_line::harden_process();
}

/// Whether this process was started to read documents; if so it has done that, and ends with this
/// code.
#[must_use]
pub fn was_reader() -> Option<std::process::ExitCode> {
    let first = std::env::args_os().nth(1)?;
    (first == READ_DOCUMENTS).then(|| match search_formats_engine::serve() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(_) => std::process::ExitCode::FAILURE,
    })
}

/// Runs what deals with interruptions itself, on a runtime of its own.
///
/// # Errors
/// The command's own.
pub fn run_to_end<T>(
    command: impl Future<Output = Result<T, ClientFailure>>,
) -> Result<T, ClientFailure> {
    actix_rt::System::new().block_on(command)
}

/// Runs a command on a runtime of its own until it ends, or a person interrupts it.
///
/// # Errors
/// The command's own, or [`ClientFailure::Interrupted`].
pub fn run<T>(command: impl Future<Output = Result<T, ClientFailure>>) -> Result<T, ClientFailure> {
    actix_rt::System::new().block_on(async move {
        tokio::select! {
            // First, so that it listens before the command does anything.
            biased;
            _ = tokio::signal::ctrl_c() => Err(ClientFailure::Interrupted),
            done = command => done,
        }
    })
}
