//! Answers of other servers: what to ask, and what they said, as items.
//!
//! Each module makes the path and query of a request ([`RemoteRequest`]) and reads the answer's
//! body. No answer is trusted: a missing field costs its item, another shape is an error that names
//! the server.

mod atomic;
mod communities;
mod elastic;
mod forges;
mod html;
mod mcp;
mod todo_services;

pub use atomic::{atomic_search, atomic_search_ask};
pub use communities::{
    discourse, discourse_ask, hacker_news, hacker_news_ask, query_rs, query_rs_ask, stack_exchange,
    stack_exchange_ask,
};
pub use elastic::{elastic, elastic_ask};
pub use forges::{
    ForgeApiKind, ForgeSearch, forge_issues, forge_issues_ask, forge_issues_questions,
    forge_issues_together,
};
pub use html::text as html_text;
pub use mcp::{
    McpContent, mcp_resource_text, mcp_resources, mcp_search_arguments, mcp_search_tool,
    mcp_tool_result,
};
pub use todo_services::{clickup, clickup_ask, vikunja, vikunja_ask};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::item::{ParsedItems, SourceDataError};

/// A request to a server whose base URL is configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteRequest {
    /// Path behind the base URL, beginning with `/`.
    pub path: String,
    /// Query pairs, not yet encoded.
    pub query: Vec<(&'static str, String)>,
    /// A JSON body: then it is a POST.
    pub body: Option<String>,
}

impl RemoteRequest {
    fn get(path: impl Into<String>, query: Vec<(&'static str, String)>) -> Self {
        Self {
            path: path.into(),
            query,
            body: None,
        }
    }

    /// The URL to ask: `base` without its last slash, the path, the query encoded.
    ///
    /// # Errors
    /// When `base` is no URL.
    pub fn url(&self, base: &str) -> Result<url::Url, url::ParseError> {
        let mut url = url::Url::parse(&format!("{}{}", base.trim_end_matches('/'), self.path))?;
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }
}

/// JSON, or whose answer was none.
fn json(what: &'static str, body: &str) -> Result<Value, SourceDataError> {
    serde_json::from_str(body).map_err(|error| SourceDataError::Shape {
        what,
        reason: error.to_string(),
    })
}

/// The list below `field` of an object, or the answer itself when `field` is empty.
fn list(what: &'static str, value: Value, field: &str) -> Result<Vec<Value>, SourceDataError> {
    let list = if field.is_empty() {
        value
    } else {
        match value {
            Value::Object(mut object) => object.remove(field).unwrap_or(Value::Null),
            _ => Value::Null,
        }
    };
    match list {
        Value::Array(list) => Ok(list),
        _ => Err(SourceDataError::Shape {
            what,
            reason: if field.is_empty() {
                "no list".to_owned()
            } else {
                format!("no list `{field}`")
            },
        }),
    }
}

/// Each entry read by `item`; entries that cannot be read are counted.
fn parse_entries<T: DeserializeOwned>(
    entries: Vec<Value>,
    item: impl Fn(T) -> Option<crate::SourceItem>,
) -> ParsedItems {
    let mut parsed = ParsedItems::default();
    for entry in entries {
        match serde_json::from_value(entry).map(&item) {
            Ok(Some(item)) => parsed.items.push(item),
            Ok(None) => {}
            Err(error) => parsed.skipped.add(error.to_string()),
        }
    }
    parsed
}
