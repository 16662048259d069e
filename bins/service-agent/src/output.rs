//! How answers are printed.

use std::io;

use serde::Serialize;
use service_agent::{CommandResult, Failure};

use crate::arguments::Format;
use crate::human;

/// How answers are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) format: Format,
    pub(crate) colours: bool,
}

/// Prints an answer in the format asked for.
pub(crate) fn show(
    output: Output,
    answer: &impl Serialize,
    human: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let text = match output.format {
        Format::Human => human(),
        Format::Json => serde_json::to_string_pretty(answer)
            .map_err(|error| Failure::Other(error.to_string()))?,
    };
    write(&text).map(drop)
}

/// Prints. A reader that has left (`| head`) is no failure.
pub(crate) fn write(text: &str) -> Result<CommandResult, Failure> {
    match human::print(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Other(error.to_string()))
        }
        _ => Ok(CommandResult::Found),
    }
}
