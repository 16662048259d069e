//! Terminals of commands: their size, and what both sides say beside the bytes.
//!
//! `GET /vms/{id}/terminal?exec=` is a WebSocket: binary messages are output of the command and
//! input for it, texts are the JSON of [`TerminalEvent`] and [`TerminalCommand`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::exec::ExecReport;
use crate::terminal_size::TerminalSize;

/// What the side of the command says beside its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TerminalEvent {
    /// So many bytes of output were not taken in time, and are gone.
    Dropped(u64),
    /// It has ended; nothing follows.
    Ended(ExecReport),
}

/// What the side of the person says beside the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TerminalCommand {
    /// The terminal has another size.
    Resize(TerminalSize),
}
