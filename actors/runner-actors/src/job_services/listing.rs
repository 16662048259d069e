//! What answers of the runner's own to REST calls have in common: where they are, pages, times.

use bytes::Bytes;
use serde_json::Value;

use super::gateway_request::GatewayAnswer;

/// Entries of one page, unless the query says otherwise; and the most.
const USUAL_PAGE: usize = 30;
const MAX_PAGE: usize = 100;

/// The part of a path behind `repos/OWNER/NAME/actions`.
pub(super) fn below_actions(path: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["repos", _, _, "actions", rest @ ..] => Some(rest.to_vec()),
        _ => None,
    }
}

/// What a query says; of equal names the first counts.
#[derive(Debug, Default)]
pub(super) struct ListQuery(Vec<(String, String)>);

impl ListQuery {
    pub(super) fn of(query: Option<&str>) -> Self {
        let query = query.unwrap_or_default().as_bytes();
        Self(url::form_urlencoded::parse(query).into_owned().collect())
    }

    pub(super) fn get(&self, wanted: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        let pair = pairs.find(|(name, _)| name == wanted);
        pair.map(|(_, value)| value.as_str())
    }

    /// The entries of the page that is asked for (`page`, from 1; `per_page`).
    pub(super) fn page<'a, T>(&self, all: &'a [T]) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let number = |name| self.get(name).and_then(|value| value.parse::<usize>().ok());
        let number = |name, usual| number(name).filter(|number| *number > 0).unwrap_or(usual);
        let size = number("per_page", USUAL_PAGE).min(MAX_PAGE);
        let from = (number("page", 1) - 1).saturating_mul(size);
        all.iter().skip(from).take(size)
    }
}

pub(super) fn empty(status: u16, headers: Vec<(&'static str, String)>) -> GatewayAnswer {
    GatewayAnswer {
        status,
        headers,
        body: Bytes::new(),
    }
}

pub(super) fn json_answer(value: &Value) -> GatewayAnswer {
    GatewayAnswer {
        status: 200,
        headers: vec![("content-type", "application/json; charset=utf-8".to_owned())],
        body: value.to_string().into(),
    }
}

/// A time as the API writes it, of milliseconds since the Unix epoch.
pub(super) fn timestamp(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_millisecond(at);
    at.map_or_else(|_| String::new(), |at| at.to_string())
}
