//! How answers are printed.

use serde::Serialize;
use service_agent::{CommandResult, Failure};

use crate::arguments::Format;

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
    let text = format!("{}\n", text.trim_end());
    match command_line::write_data(text.as_bytes()) {
        Ok(()) => Ok(CommandResult::Found),
        Err(error) => Err(Failure::Other(error.to_string())),
    }
}
