//! What a command prints on standard output.

use serde::Serialize;

use crate::arguments::Format;
use crate::failure::Failure;

/// Prints an answer in the format asked for.
pub(crate) fn show(
    format: Format,
    answer: &impl Serialize,
    human: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let text = match format {
        Format::Human => human(),
        Format::Json => serde_json::to_string_pretty(answer)
            .map_err(|error| Failure::Refused(error.to_string()))?,
    };
    write(format!("{}\n", text.trim_end()).as_bytes())
}

/// Data on standard output. A reader that has left (`| head`) is no failure.
pub(crate) fn write(bytes: &[u8]) -> Result<(), Failure> {
    command_line::write_data(bytes).map_err(|error| Failure::Refused(error.to_string()))
}
