//! The bulk interface of Elasticsearch, which OpenSearch and Quickwit have too: what is sent, and
//! what the answer says of each document.

use serde::Deserialize;
use serde_json::{Value, json};

/// The longest `_id`, in bytes.
const MAX_ID_BYTES: usize = 512;

/// A document to be put or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkItem {
    /// Its id here.
    pub id: String,
    /// Which version of it is put; none where it is removed.
    pub version: Option<String>,
    /// Its lines.
    pub lines: String,
}

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemOutcome {
    /// It is as it should be.
    Done,
    /// It is to be sent again: the server has too much to do.
    Again,
    /// It was refused, for this reason.
    Refused(String),
}

/// An answer that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer to _bulk cannot be read: {0}")]
pub struct BulkAnswerError(String);

/// The index as documents need it: texts are searched, addresses are taken whole.
#[must_use]
pub fn mapping() -> Value {
    let keyword = json!({"type": "keyword"});
    json!({"mappings": {"properties": {
        "title": {"type": "text"},
        "body": {"type": "text"},
        "url": keyword,
        "path": keyword,
        "source": keyword,
        "service": keyword,
        "tags": keyword,
        "modified": {"type": "date"},
        "id": keyword,
    }}})
}

impl BulkItem {
    /// Puts a document, in place of a former version. `name` is its id there, see [`remote_id`].
    #[must_use]
    pub fn put(id: &str, name: &str, version: &str, document: &Value) -> Self {
        Self {
            id: id.to_owned(),
            version: Some(version.to_owned()),
            lines: format!("{}\n{document}\n", json!({"index": {"_id": name}})),
        }
    }

    /// Removes one.
    #[must_use]
    pub fn remove(id: &str, name: &str) -> Self {
        Self {
            id: id.to_owned(),
            version: None,
            lines: format!("{}\n", json!({"delete": {"_id": name}})),
        }
    }
}

/// The id of a document there: the same one each time. `digest` makes a short one of a long one.
#[must_use]
pub fn remote_id(id: &str, digest: impl FnOnce(&str) -> String) -> String {
    if id.len() <= MAX_ID_BYTES {
        id.to_owned()
    } else {
        digest(id)
    }
}

#[derive(Deserialize)]
struct Answer {
    items: Vec<serde_json::Map<String, Value>>,
}

/// What became of each of `count` items, in their order.
///
/// # Errors
/// The answer is not about so many.
pub fn outcomes(body: &[u8], count: usize) -> Result<Vec<ItemOutcome>, BulkAnswerError> {
    let answer: Answer =
        serde_json::from_slice(body).map_err(|error| BulkAnswerError(error.to_string()))?;
    if answer.items.len() != count {
        let found = answer.items.len();
        return Err(BulkAnswerError(format!(
            "{count} documents were sent, it is about {found}"
        )));
    }
    answer.items.iter().map(outcome).collect()
}

fn outcome(item: &serde_json::Map<String, Value>) -> Result<ItemOutcome, BulkAnswerError> {
    let (action, result) = item
        .iter()
        .next()
        .ok_or_else(|| BulkAnswerError("an item is empty".to_owned()))?;
    let status = result["status"]
        .as_u64()
        .ok_or_else(|| BulkAnswerError("an item has no status".to_owned()))?;
    Ok(match status {
        200..300 => ItemOutcome::Done,
        // What is to be removed is not there.
        404 if action == "delete" && result.get("error").is_none() => ItemOutcome::Done,
        429 | 503 => ItemOutcome::Again,
        _ => {
            let reason = result.pointer("/error/reason").and_then(Value::as_str);
            let reason = reason.map_or_else(|| result["error"].to_string(), str::to_owned);
            ItemOutcome::Refused(format!("{status}: {reason}"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_each_document_has_its_own_outcome() {
        let body = json!({"errors": true, "items": [
            {"index": {"status": 201}},
            {"index": {"status": 429, "error": {"reason": "queue is full"}}},
            {"index": {"status": 400, "error": {"type": "x", "reason": "no such date"}}},
            {"delete": {"status": 404, "result": "not_found"}},
        ]});
        let body = body.to_string();
        assert_eq!(
            outcomes(body.as_bytes(), 4),
            Ok(vec![
                ItemOutcome::Done,
                ItemOutcome::Again,
                ItemOutcome::Refused("400: no such date".to_owned()),
                ItemOutcome::Done,
            ])
        );
        assert!(outcomes(body.as_bytes(), 3).is_err(), "another number");
        assert!(outcomes(b"<html>", 1).is_err());
    }

    #[test]
    fn i18_lines_are_those_of_the_interface() {
        let put = BulkItem::put("a", "a", "1", &json!({"title": "x\ny"}));
        assert_eq!(
            put.lines,
            "{\"index\":{\"_id\":\"a\"}}\n{\"title\":\"x\\ny\"}\n"
        );
        assert_eq!(
            BulkItem::remove("a", "a").lines,
            "{\"delete\":{\"_id\":\"a\"}}\n"
        );
        let long = "x".repeat(600);
        assert_eq!(remote_id(&long, |_| "short".to_owned()), "short");
        assert_eq!(remote_id("a", |_| "short".to_owned()), "a");
    }
}
