//! One request and one answer, before and after HTTP.

use bytes::Bytes;
use serde_json::{Value, json};

/// Items a page.
const PAGE: usize = 50;

/// An answer before it is HTTP.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
    pub(super) total: Option<usize>,
}

impl Answer {
    pub(super) fn ok(body: Value) -> Self {
        Self::new(200, body)
    }

    pub(super) fn new(status: u16, body: Value) -> Self {
        Self {
            status,
            body,
            total: None,
        }
    }

    pub(super) fn refused(status: u16, message: &str) -> Self {
        Self::new(status, json!({"message": message}))
    }
}

/// One request, with what is needed to answer it.
pub(super) struct Call<'a> {
    pub(super) method: &'a str,
    pub(super) segments: Vec<&'a str>,
    pub(super) query: Vec<(String, String)>,
    pub(super) body: Value,
    /// The body as it came.
    pub(super) raw: Bytes,
    pub(super) login: String,
    /// Gitea's API was asked, not GitHub's.
    pub(super) gitea: bool,
    /// The forge's own address.
    pub(super) base: String,
}

impl Call<'_> {
    pub(super) fn method(&self) -> &str {
        self.method
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name)?;
        Some(&found.1)
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.body[name].as_str().unwrap_or_default().to_owned()
    }
}

/// One page of a list.
pub(super) fn page(call: &Call<'_>, items: Vec<Value>) -> Answer {
    let number = |name: &str| {
        call.parameter(name)
            .and_then(|text| text.parse::<usize>().ok())
    };
    let size = number(if call.gitea { "limit" } else { "per_page" });
    let size = size.unwrap_or(30).clamp(1, PAGE);
    let page = number("page").unwrap_or(1).max(1);
    let total = items.len();
    let items: Vec<Value> = items
        .into_iter()
        .skip((page - 1) * size)
        .take(size)
        .collect();
    Answer {
        total: Some(total),
        ..Answer::ok(items.into())
    }
}
