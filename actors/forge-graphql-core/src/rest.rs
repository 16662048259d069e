//! The REST API that everything is answered from: a trait, because who may call what is decided
//! elsewhere.

use futures_util::future::LocalBoxFuture;
use serde_json::Value;

/// A call below the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestCall {
    /// The method's word.
    pub method: &'static str,
    /// The path below the API, with a slash in front.
    pub path: String,
    /// The query, without its question mark.
    pub query: Option<String>,
    /// The body.
    pub body: Option<Value>,
}

/// What the forge answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RestAnswer {
    /// The body; null: none.
    pub body: Value,
    /// How many there are of what is listed, where the forge says so.
    pub total: Option<u64>,
    /// Another page follows.
    pub next: bool,
    /// The number of the last page, where the forge says so.
    pub last: Option<u64>,
}

impl RestAnswer {
    /// An answer by its body and the headers `Link` and `X-Total-Count`.
    #[must_use]
    pub fn new(body: Value, link: Option<&str>, total: Option<&str>) -> Self {
        let page = |relation: &str| {
            let wanted = format!("rel=\"{relation}\"");
            let part = link?.split(',').find(|part| part.contains(&wanted))?;
            let (_, address) = part.split_once('<')?;
            let (address, _) = address.split_once('>')?;
            let (_, query) = address.split_once('?')?;
            let mut pairs = url::form_urlencoded::parse(query.as_bytes());
            let (_, page) = pairs.find(|(name, _)| name == "page")?;
            page.parse::<u64>().ok()
        };
        Self {
            body,
            total: total.and_then(|total| total.trim().parse().ok()),
            next: page("next").is_some(),
            last: page("last"),
        }
    }
}

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RestFailure {
    /// The status code.
    pub status: u16,
    /// What is said.
    pub message: String,
}

impl RestFailure {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, message)
    }

    /// What REST has no way for.
    pub(crate) fn not_answered(what: &str) -> Self {
        let message =
            format!("{what} is not answered here: GraphQL is made of REST calls, which have none");
        Self::new(501, message)
    }

    /// GitHub's word for it.
    pub(crate) fn kind(&self) -> &'static str {
        match self.status {
            401 | 403 => "FORBIDDEN",
            404 | 410 => "NOT_FOUND",
            400 | 405 | 409 | 422 => "UNPROCESSABLE",
            413 => "RESOURCE_LIMITS_EXCEEDED",
            429 => "RATE_LIMITED",
            501 => "NOT_ANSWERED",
            _ => "INTERNAL",
        }
    }
}

/// Whose token the calls are made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// Its account.
    pub login: String,
    /// The account's number, where it is known.
    pub id: Option<u64>,
    /// The job may push.
    pub writes: bool,
}

/// Makes calls, as far as a job may.
pub trait Rest {
    /// Makes one.
    fn call(&self, call: RestCall) -> LocalBoxFuture<'_, Result<RestAnswer, RestFailure>>;

    /// Says whose token it is.
    fn viewer(&self) -> LocalBoxFuture<'_, Result<Viewer, RestFailure>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_pages_are_read_from_headers() {
        let link = "<https://x/repositories/4/issues?per_page=1&page=2>; rel=\"next\", <https://x/repositories/4/issues?per_page=1&page=9>; rel=\"last\"";
        let answer = RestAnswer::new(Value::Null, Some(link), None);
        assert_eq!((answer.next, answer.last), (true, Some(9)));
        let answer = RestAnswer::new(Value::Null, None, Some("7"));
        assert_eq!((answer.next, answer.total), (false, Some(7)));
        let odd = RestAnswer::new(Value::Null, Some("<x; rel=\"next\""), Some("many"));
        assert_eq!(odd, RestAnswer::default());
    }
}
