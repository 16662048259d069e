//! The role file written on the first start.

use std::path::Path;

use serde_json::json;

/// The text of a role file whose one role searches `folder`, with the contract's defaults
/// (`ServiceGraph`, `spacelab`).
///
/// A path that is not Unicode cannot be written into a JSON file; its bytes are replaced.
pub fn default_role_file(folder: &Path) -> String {
    // `${` of a folder's name is not a variable.
    let location = folder.to_string_lossy().replace('$', "$$");
    let name = folder
        .file_name()
        .map(|name| name.to_string_lossy().replace('$', "$$"));
    let haystack = json!({
        "name": name.as_deref().map_or("Files", |name| if name.trim().is_empty() { "Files" } else { name.trim() }),
        "service": "LocalFiles",
        "location": location,
        "extra_parameters": {},
    });
    let role = json!({
        "name": "Default",
        "relevance_function": "ServiceGraph",
        "theme": "spacelab",
        "haystacks": [haystack],
    });
    let text = serde_json::to_string_pretty(&role);
    text.expect("a JSON value of strings can be written") + "\n"
}
