//! Commands in a VM.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::terminal_size::TerminalSize;

/// `PATH` of a command unless the image or the request says otherwise. Folders that a request puts
/// before exactly this are put before what the image has in its place.
pub const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Body of `POST /vms/{id}/exec`: exactly one of `script` and `argv`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = StartExec)]
#[serde(deny_unknown_fields)]
pub struct NewExec {
    /// A script, run by `shell`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// A program and its arguments; no shell reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// `bash` (`bash --noprofile --norc -e -o pipefail`), `sh` (`sh -e`), `python`, or a command of
    /// words with `{0}` for the script's file; `bash` unless given. Only with `script`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Where it starts; `/workspace` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Added to the guest's own small environment and the image's `/etc/environment`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// After this long its process group gets SIGINT, 7.5 seconds later SIGTERM, and is killed
    /// after 10; unlimited, but for the lease, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// It runs on a terminal of this size: one stream of output, and input by
    /// `GET /vms/{id}/terminal?exec=`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalSize>,
}

/// Answer of `POST /vms/{id}/exec`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecStarted {
    /// Its id, unique within the VM.
    pub exec_id: String,
}

/// The state of something in a VM, as the API shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecState {
    /// It has not ended.
    Running,
    /// It ended by itself, with an exit code or by a signal.
    Exited,
    /// It was killed for running too long.
    TimedOut,
    /// It was killed because somebody asked.
    Killed,
    /// Nobody can say how it ended.
    Lost,
    /// It could not be started; the reason says why, and the VM takes other work.
    NotStarted,
}

/// The state of something in a VM: the answer of `GET /vms/{id}/exec/{eid}`, and the last line of
/// a followed one. Without that line the connection broke: nothing is known, least of all success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Exec)]
pub struct ExecReport {
    /// Where it is.
    pub state: ExecState,
    /// The exit code, where there is one; never made up.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// The signal, where one ended it.
    #[serde(default)]
    pub signal: Option<i32>,
    /// What is known of something lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Bytes of output that were dropped because the log has a limit.
    #[serde(default)]
    pub dropped_bytes: u64,
}

impl ExecReport {
    /// Whether it ran to its end and says it succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.state == ExecState::Exited && self.exit_code == Some(0) && self.signal.is_none()
    }
}

/// Where output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[schema(as = Stream)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}
