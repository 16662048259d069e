//! What can go wrong with a language-model server.

use std::time::Duration;

use serde_json::Value;

use crate::http::{HttpError, Response};

/// Most bytes of a server's words that are repeated.
const MAX_DETAIL_CHARS: usize = 300;

/// Why there is no answer of a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The server cannot be reached, or broke off.
    #[error("the language-model server is not reachable: {0}")]
    Unreachable(String),
    /// It did not answer in time, or was silent in the middle of an answer.
    #[error("the language-model server is too slow: {0}")]
    TimedOut(String),
    /// The key is missing or wrong (401).
    #[error("the language-model server refuses the key: {0}")]
    Unauthorised(String),
    /// The account has no credit (402).
    #[error("the language-model server wants payment: {0}")]
    Payment(String),
    /// A moderation refuses the question (403).
    #[error("the language-model server's moderation refuses: {0}")]
    Moderation(String),
    /// There is no such model (404).
    #[error("the language-model server has no such model: {0}")]
    ModelNotFound(String),
    /// Too many questions (429).
    #[error("the language-model server asks to wait: {reason}")]
    RateLimited {
        /// What it says.
        reason: String,
        /// How long.
        after: Option<Duration>,
    },
    /// It says the question is wrong (400, 413, 422).
    #[error("the language-model server refuses the question: {0}")]
    Refused(String),
    /// It failed itself (5xx, or an error in the middle of an answer).
    #[error("the language-model server failed: {0}")]
    Failed(String),
    /// The answer is not one of a language-model server.
    #[error("the language-model server's answer is unreadable: {0}")]
    BadReply(String),
    /// The answer is larger than is taken.
    #[error("the language-model server's answer is too large: {0}")]
    TooLarge(String),
}

impl LlmError {
    /// Whether asking again can help.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_) | Self::TimedOut(_) | Self::RateLimited { .. } | Self::Failed(_)
        )
    }

    /// A stable word for logs and metrics.
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::TimedOut(_) => "timed_out",
            Self::Unauthorised(_) => "unauthorised",
            Self::Payment(_) => "payment",
            Self::Moderation(_) => "moderation",
            Self::ModelNotFound(_) => "model_not_found",
            Self::RateLimited { .. } => "rate_limited",
            Self::Refused(_) => "refused",
            Self::Failed(_) => "failed",
            Self::BadReply(_) => "bad_reply",
            Self::TooLarge(_) => "too_large",
        }
    }
}

impl From<HttpError> for LlmError {
    fn from(error: HttpError) -> Self {
        let reason = error.to_string();
        match error {
            HttpError::Unavailable { .. }
            | HttpError::Refused { .. }
            | HttpError::BadRequest { .. }
            | HttpError::Redirected { .. } => Self::Unreachable(reason),
            HttpError::TimedOut { .. } => Self::TimedOut(reason),
            HttpError::TooLarge { .. } => Self::TooLarge(reason),
            HttpError::BadBody { .. } => Self::BadReply(reason),
            HttpError::Status {
                status,
                retry_after,
                ..
            } => error_from_status(status, retry_after, reason),
        }
    }
}

pub(super) fn error_from_status(status: u16, after: Option<Duration>, reason: String) -> LlmError {
    match status {
        401 => LlmError::Unauthorised(reason),
        402 => LlmError::Payment(reason),
        403 => LlmError::Moderation(reason),
        404 => LlmError::ModelNotFound(reason),
        408 => LlmError::TimedOut(reason),
        429 => LlmError::RateLimited { reason, after },
        400..=499 => LlmError::Refused(reason),
        500..=599 => LlmError::Failed(reason),
        _ => LlmError::BadReply(reason),
    }
}

/// An answer of status 2xx; of others the server's own words are what is shown.
pub(super) fn checked(response: Response) -> Result<Response, LlmError> {
    if response.is_success() {
        return Ok(response);
    }
    let detail_of_answer = response
        .json::<Value>()
        .ok()
        .as_ref()
        .and_then(detail_of_answer);
    let status = response.status;
    match (response.into_error(), detail_of_answer) {
        (HttpError::Status { retry_after, .. }, Some(detail_of_answer)) => {
            Err(error_from_status(status, retry_after, detail_of_answer))
        }
        (error, _) => Err(error.into()),
    }
}

/// What `{"error": "…"}` or `{"error": {"message": "…"}}` says.
pub(super) fn detail_of_answer(body: &Value) -> Option<String> {
    let error = body.get("error")?;
    let text = error
        .as_str()
        .or_else(|| error.get("message")?.as_str())
        .map_or_else(|| error.to_string(), str::to_owned);
    let end = text.floor_char_boundary(MAX_DETAIL_CHARS);
    Some(text[..end].to_owned())
}

/// The error in the middle of an answer whose status was 200.
pub(super) fn in_stream(body: &Value) -> Option<LlmError> {
    let reason = detail_of_answer(body)?;
    let code = body["error"]["code"].as_u64();
    let status = code.and_then(|code| u16::try_from(code).ok());
    Some(match status.filter(|status| (400..600).contains(status)) {
        Some(status) => error_from_status(status, None, reason),
        None => LlmError::Failed(reason),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r09_statuses_have_classes() {
        let table = [
            (400, "refused"),
            (401, "unauthorised"),
            (402, "payment"),
            (403, "moderation"),
            (404, "model_not_found"),
            (408, "timed_out"),
            (413, "refused"),
            (422, "refused"),
            (429, "rate_limited"),
            (500, "failed"),
            (503, "failed"),
            (302, "bad_reply"),
        ];
        for (status, class) in table {
            assert_eq!(
                error_from_status(status, None, String::new()).class(),
                class,
                "{status}"
            );
        }
    }

    #[test]
    fn the_servers_words_are_found() {
        assert_eq!(
            detail_of_answer(&json!({"error": "no such model"})).unwrap(),
            "no such model"
        );
        let openai = json!({"error": {"code": 503, "message": "loading", "type": "x"}});
        assert_eq!(detail_of_answer(&openai).unwrap(), "loading");
        assert_eq!(in_stream(&openai), Some(LlmError::Failed("loading".into())));
        let limited = json!({"error": {"code": 429, "message": "slow down"}});
        assert_eq!(in_stream(&limited).unwrap().class(), "rate_limited");
        let word = json!({"error": {"code": "oops", "message": "x"}});
        assert_eq!(in_stream(&word).unwrap().class(), "failed");
        assert_eq!(in_stream(&json!({"choices": []})), None);
        assert_eq!(
            detail_of_answer(&json!({"error": "ä".repeat(1000)}))
                .unwrap()
                .len(),
            300
        );
    }
}
