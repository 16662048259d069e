//! What one document may have of the memory: what REST answers is kept until it is answered, and
//! lists within lists multiply what is handed out of it without another call.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;

use crate::rest::RestFailure;

/// Items of lists that are handed out, and those that are looked through for them.
const MAX_ITEMS: usize = 20_000;
/// Fields that are answered, those of each item.
const MAX_ANSWERED: usize = 200_000;
/// Bytes of a document's REST answers, and bytes that are handed out of them.
pub const MAX_BYTES: usize = 64 << 20;
/// How each failure of these begins, and that of whoever counts beside it.
const TOO_MUCH: &str = "the document needs more than";
/// What a value takes besides its text.
const VALUE_BYTES: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct QueryBudget {
    items: AtomicUsize,
    looked_through: AtomicUsize,
    answered: AtomicUsize,
    handed_out: AtomicUsize,
    kept: AtomicUsize,
    reported: AtomicBool,
}

impl QueryBudget {
    /// Counts what a field says, of which as many fields are asked for.
    pub(crate) fn count_fields(&self, value: &Value, fields: usize) -> Result<(), RestFailure> {
        let items = match value {
            Value::Array(items) => {
                spent(&self.items, items.len(), MAX_ITEMS, "items of lists")?;
                items.len()
            }
            _ => 1,
        };
        let fields = items.saturating_mul(fields);
        spent(&self.answered, fields, MAX_ANSWERED, "fields of items")?;
        self.copy(value)
    }

    /// Counts a copy of what was read.
    pub(crate) fn copy(&self, value: &Value) -> Result<(), RestFailure> {
        spent(&self.handed_out, size(value), MAX_BYTES, "bytes")
    }

    /// Counts items that are looked through.
    pub(crate) fn count_items(&self, items: usize) -> Result<(), RestFailure> {
        let what = "items that are looked through";
        spent(&self.looked_through, items, MAX_ITEMS, what)
    }

    /// Counts an answer of REST.
    pub(crate) fn count_answer(&self, answer: &Value) -> Result<(), RestFailure> {
        spent(&self.kept, size(answer), MAX_BYTES, "bytes of REST answers")
    }

    /// Whether it is the first time that a failure is told of: the same of each field helps nobody.
    pub(crate) fn is_news(&self, failure: &RestFailure) -> bool {
        let is_own = failure.status == 413 && failure.message.starts_with(TOO_MUCH);
        !is_own || !self.reported.swap(true, Ordering::Relaxed)
    }
}

fn spent(counter: &AtomicUsize, by: usize, limit: usize, what: &str) -> Result<(), RestFailure> {
    let before = counter.fetch_add(by, Ordering::Relaxed);
    if before.saturating_add(by) <= limit {
        return Ok(());
    }
    // What is too much is not handed out, so it counts no further: nothing runs over.
    counter.store(limit, Ordering::Relaxed);
    Err(RestFailure::new(
        413,
        format!("{TOO_MUCH} {limit} {what}: ask for less at once"),
    ))
}

fn size(value: &Value) -> usize {
    let inner: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(all) => all.iter().map(size).sum(),
        Value::Object(all) => all.iter().map(|(name, one)| name.len() + size(one)).sum(),
        _ => 0,
    };
    VALUE_BYTES + inner
}
