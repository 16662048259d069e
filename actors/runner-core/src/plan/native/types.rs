//! What a native action is.

use serde::Serialize;

/// An action the runner does itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeAction {
    /// `actions/checkout`: the host puts the commit's tree into the workspace.
    Checkout,
    /// `actions/cache`: restored before, saved after the job.
    Cache,
    /// `actions/cache/restore`
    CacheRestore,
    /// `actions/cache/save`
    CacheSave,
    /// `actions/upload-artifact`
    UploadArtifact,
    /// `actions/download-artifact`
    DownloadArtifact,
    /// `setup-…`: the release that is wanted, of those in the image.
    Setup(SetupTool),
}

/// A tool that `setup-…` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SetupTool {
    /// The command whose presence is checked.
    pub command: &'static str,
    /// The argument that makes it print its version.
    pub version_argument: &'static str,
    /// The input that names the version wanted.
    pub version_input: &'static str,
    /// The input that names a file with it; empty: there is none.
    pub version_file_input: &'static str,
    /// Whether the version stands behind the action's name, `…@1.75`.
    pub named_by_reference: bool,
}

/// A release of a tool that a step wants of the machine's image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedSetup {
    /// The action, as it is written.
    pub uses: String,
    /// The tool's program.
    pub command: &'static str,
    /// What of the step means another release tomorrow.
    pub newest: Option<String>,
    /// The action's original is in the store.
    pub is_stored: bool,
}
