//! The size of a terminal.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
