//! What the inputs of `setup-…` steps say.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use runner_core::setup::VersionRequirement;

use super::execute::ProcessExit;
use super::native_input::NativeStep;

/// A version that a step wants.
pub(super) struct WantedVersion {
    /// As it is written; empty: any.
    pub(super) text: String,
    pub(super) requirement: VersionRequirement,
}

/// The archive that a step names.
pub(super) fn jdk_file(step: NativeStep<'_>) -> Option<&str> {
    let file = step.input_of(&["jdk-file", "jdkFile"]);
    (!file.is_empty()).then_some(file)
}

/// The text that a command has given in base64; nothing where it has given none.
pub(super) fn decoded_text(exit: &ProcessExit) -> Option<String> {
    let (_, text) = exit.commands.outputs.first()?;
    let bytes = STANDARD.decode(text).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
