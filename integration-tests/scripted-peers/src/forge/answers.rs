//! Answers that a test writes itself: for calls that the forge's model knows nothing of.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::call::Answer;

type Write = dyn Fn(&Value) -> (u16, Value) + Send + Sync;

/// What is answered to requests of a method whose path ends so.
#[derive(Clone)]
pub(crate) struct WrittenAnswer {
    method: &'static str,
    path: String,
    write: Arc<Write>,
}

impl WrittenAnswer {
    pub(super) fn new(
        method: &'static str,
        path: &str,
        write: impl Fn(&Value) -> (u16, Value) + Send + Sync + 'static,
    ) -> Self {
        Self {
            method,
            path: path.to_owned(),
            write: Arc::new(write),
        }
    }

    pub(super) fn is_of(&self, method: &str, path: &str) -> bool {
        self.method == method && path.ends_with(&self.path)
    }

    /// Blocks as long as the test likes.
    pub(super) fn answer(&self, body: &[u8]) -> Answer {
        let body = serde_json::from_slice(body).unwrap_or_default();
        let (status, answer) = (self.write)(&body);
        Answer::new(status, answer)
    }
}

impl fmt::Debug for WrittenAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}
