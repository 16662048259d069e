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
    pub(super) fn parse(query: Option<&str>) -> Self {
        let query = query.unwrap_or_default().as_bytes();
        Self(url::form_urlencoded::parse(query).into_owned().collect())
    }

    pub(super) fn get(&self, wanted: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        let pair = pairs.find(|(name, _)| name == wanted);
        pair.map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<usize> {
        let number: Option<usize> = self.get(name)?.parse().ok();
        number.filter(|number| *number > 0)
    }

    /// Where the page that is asked for begins (`page`, from 1), and how many entries it has
    /// (`per_page`, which is called `limit` where the forge calls it so).
    pub(super) fn bounds(&self) -> (usize, usize) {
        let size = self.number("per_page").or_else(|| self.number("limit"));
        let size = size.unwrap_or(USUAL_PAGE).min(MAX_PAGE);
        let page = self.number("page").unwrap_or(1);
        ((page - 1).saturating_mul(size), size)
    }

    /// The entries of that page.
    pub(super) fn page<'a, T>(&self, all: &'a [T]) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let (from, size) = self.bounds();
        all.iter().skip(from).take(size)
    }

    /// The header by which clients find the other pages of a list at `url` of so many entries.
    pub(super) fn link(&self, url: &str, total: usize) -> Option<(&'static str, String)> {
        let (from, size) = self.bounds();
        let (page, last) = (from / size + 1, total.div_ceil(size).max(1));
        let at = |page: usize| {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            let kept = self.0.iter();
            let kept = kept.filter(|(name, _)| !["page", "per_page", "limit"].contains(&&**name));
            query.extend_pairs(kept);
            query.append_pair("per_page", &size.to_string());
            query.append_pair("page", &page.to_string());
            format!("{url}?{}", query.finish())
        };
        let wanted = [
            (page > 1).then(|| (page.min(last + 1) - 1, "prev")),
            (page < last).then_some((page + 1, "next")),
            (page < last).then_some((last, "last")),
            (page > 1).then_some((1, "first")),
        ];
        let links = wanted.into_iter().flatten();
        let links: Vec<String> = links
            .map(|(page, rel)| format!("<{}>; rel=\"{rel}\"", at(page)))
            .collect();
        (!links.is_empty()).then(|| ("link", links.join(", ")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_pages_are_bounded_and_say_where_the_others_are() {
        let of = |query: &str| ListQuery::parse(Some(query));
        for (query, bounds) in [
            ("", (0, 30)),
            ("per_page=2&page=3", (4, 2)),
            ("limit=2&page=3", (4, 2)),
            ("per_page=0&page=0", (0, 30)),
            ("per_page=-1&page=x", (0, 30)),
            ("per_page=99999999", (0, 100)),
            ("per_page=100&page=18446744073709551615", (usize::MAX, 100)),
            ("per_page=99999999999999999999999", (0, 30)),
        ] {
            assert_eq!(of(query).bounds(), bounds, "{query}");
        }
        let link = |query: &str| of(query).link("http://x/runs", 5).map(|(_, text)| text);
        assert_eq!(link("per_page=5"), None);
        assert_eq!(
            link("per_page=2&branch=a%26b&page=1").unwrap(),
            "<http://x/runs?branch=a%26b&per_page=2&page=2>; rel=\"next\", \
             <http://x/runs?branch=a%26b&per_page=2&page=3>; rel=\"last\""
        );
        assert_eq!(
            link("limit=2&page=3").unwrap(),
            "<http://x/runs?per_page=2&page=2>; rel=\"prev\", \
             <http://x/runs?per_page=2&page=1>; rel=\"first\""
        );
        // Beyond the end the last page is the one before.
        let beyond = link("per_page=2&page=99").unwrap();
        assert!(
            beyond.starts_with("<http://x/runs?per_page=2&page=3>"),
            "{beyond}"
        );
    }
}
