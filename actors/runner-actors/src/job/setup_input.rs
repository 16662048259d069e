//! What the inputs of `setup-…` steps say.

use runner_core::setup::VersionRequirement;

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
