//! What a command prints on standard output.

use serde::Serialize;

use crate::arguments::OutputFormat;
use crate::failure::CommandFailure;

/// Prints an answer in the format asked for.
pub(crate) fn show(
    format: OutputFormat,
    answer: &impl Serialize,
    human: impl FnOnce() -> String,
) -> Result<(), CommandFailure> {
    let text = match format {
        OutputFormat::Human => human(),
        OutputFormat::Json => serde_json::to_string_pretty(answer)
            .map_err(|error| CommandFailure::Refused(error.to_string()))?,
    };
    write(format!("{}\n", text.trim_end()).as_bytes())
}

/// Data on standard output. A reader that has left (`| head`) is no failure.
pub(crate) fn write(bytes: &[u8]) -> Result<(), CommandFailure> {
    command_line::write_data(bytes).map_err(|error| CommandFailure::Refused(error.to_string()))
}
