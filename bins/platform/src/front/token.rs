//! The platform's token: the one that people sign in with at the front door.

use std::path::Path;

use anyhow::Context as _;
use config_core::Secret;
use search_web::boot::private_token;

/// The file in the data folder.
const FILE: &str = "platform-token";

/// The token that is set, or the one of the data folder, which is made at the first start and said
/// once in the log: where it is, not what it is.
pub(crate) fn platform_token(
    set: Option<&Secret<String>>,
    data: &Path,
) -> anyhow::Result<Secret<String>> {
    if let Some(token) = set {
        return Ok(token.clone());
    }
    std::fs::create_dir_all(data).with_context(|| format!("data_dir: {}", data.display()))?;
    let path = data.join(FILE);
    let (token, is_new) =
        private_token(&path).with_context(|| format!("the token in {}", path.display()))?;
    if is_new {
        tracing::info!(
            event = "platform.token_made",
            path = %path.display(),
            "people sign in at the front door with the token in this file; PLATFORM_TOKEN sets another"
        );
    }
    Ok(Secret::new(token))
}
