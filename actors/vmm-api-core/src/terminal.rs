//! Terminals of commands: their size, and what both sides say beside the bytes.
//!
//! `GET /vms/{id}/terminal?exec=` is a WebSocket: binary messages are output of the command and
//! input for it, texts are the JSON of [`TerminalEvent`] and [`TerminalCommand`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ExecReport;

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TerminalSize {
    /// Columns, 1 to 1000.
    pub columns: u16,
    /// Rows, 1 to 1000.
    pub rows: u16,
}

impl TerminalSize {
    /// What terminals have had since there were terminals.
    pub const USUAL: Self = Self {
        columns: 80,
        rows: 24,
    };
    /// Most columns, and most rows.
    pub const MOST: u16 = 1000;

    /// Whether a program can be told of it.
    #[must_use]
    pub fn is_valid(self) -> bool {
        let range = 1..=Self::MOST;
        range.contains(&self.columns) && range.contains(&self.rows)
    }
}

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
