//! Which protocol a language-model server speaks.

use serde_json::Value;
use url::Url;

use super::error::LlmError;
use crate::http::{HttpClient, Request};

/// The most of a list of models that is read, in bytes.
const LIST_BYTES: usize = 4 << 20;

/// Which protocol a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LlmProtocol {
    /// Ollama's own.
    Ollama,
    /// OpenAI's, spoken by most others.
    OpenAi,
}

impl LlmProtocol {
    /// Which one the server at `base` speaks. It is asked, unless the address ends in a version.
    ///
    /// Ollama's list of models is at `/api/tags`. llama.cpp has one there too, but in both shapes
    /// at once; others have none. A server without either list is taken for Ollama, whose protocol
    /// is the one that is documented.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub async fn detect(http: &HttpClient, base: &Url) -> Result<Self, LlmError> {
        if ends_in_version(base.path()) {
            return Ok(Self::OpenAi);
        }
        if let Some(list) = list(http, base, "api/tags").await? {
            let ollama = list["models"].is_array() && !list["data"].is_array();
            return Ok(if ollama { Self::Ollama } else { Self::OpenAi });
        }
        let list = list(http, base, "v1/models").await?;
        Ok(match list {
            Some(list) if list["data"].is_array() => Self::OpenAi,
            _ => Self::Ollama,
        })
    }
}

/// The JSON at a path, if there is any.
async fn list(http: &HttpClient, base: &Url, path: &str) -> Result<Option<Value>, LlmError> {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url.set_query(None);
    let response = http
        .call(Request::get(url).with_max_body(LIST_BYTES))
        .await?;
    Ok(response
        .is_success()
        .then(|| response.json().ok())
        .flatten())
}

/// Whether a path ends in `/v1` or the like: only the OpenAI-style protocol has versions there.
pub(super) fn ends_in_version(path: &str) -> bool {
    let last = path.trim_end_matches('/').rsplit('/').next();
    let digits = last.unwrap_or_default().strip_prefix('v');
    digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
