//! Which server, and the limit of its messages.

use config_core::Secret;
use search_core::role::Mcp;

/// Largest message in bytes.
pub(crate) const MAX_MESSAGE_BYTES: usize = 8 << 20;

/// Which server, and how it is searched.
#[derive(Debug, Clone)]
pub struct McpEndpoint {
    /// How it is reached.
    pub server: Mcp,
    /// The bearer token it wants.
    pub api_token: Option<Secret<String>>,
    /// The tool that searches; found by its name and arguments when absent.
    pub tool: Option<String>,
    /// Further arguments of the tool; `{query}` in one of them is where the words go.
    pub arguments: Vec<(String, String)>,
}
