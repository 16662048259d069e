//! How answers are printed.

use serde::Serialize;
use service_agent::{ClientFailure, CommandResult};

use crate::arguments::OutputFormat;

/// How answers are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) format: OutputFormat,
    pub(crate) colours: bool,
}

/// Prints an answer in the format asked for.
pub(crate) fn show(
    output: Output,
    answer: &impl Serialize,
    human: impl FnOnce() -> String,
) -> Result<(), ClientFailure> {
    let text = match output.format {
        OutputFormat::Human => human(),
        OutputFormat::Json => serde_json::to_string_pretty(answer)
            .map_err(|error| ClientFailure::Other(error.to_string()))?,
    };
    write(&text).map(drop)
}

/// Prints. A reader that has left (`| head`) is no failure.
pub(crate) fn write(text: &str) -> Result<CommandResult, ClientFailure> {
    let text = format!("{}\n", text.trim_end());
    match command_line::write_data(text.as_bytes()) {
        Ok(()) => Ok(CommandResult::Found),
        Err(error) => Err(ClientFailure::Other(error.to_string())),
    }
}
