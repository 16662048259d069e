//! What a resolver is asked: a field of something, with arguments.

use std::sync::Arc;

use serde_json::Value;

use crate::ids::NodeId;
use crate::lists::PageSlice;
use crate::rest::{RestAnswer, RestFailure};
use crate::session::{QuerySession, RestResult, escaped};

/// One field that is asked for.
pub(crate) struct FieldRequest<'a> {
    pub(crate) session: &'a QuerySession,
    /// The type whose field it is.
    pub(crate) kind: &'a str,
    pub(crate) field: &'a str,
    /// What REST said of it.
    pub(crate) of: &'a Value,
    pub(crate) args: Value,
    pub(crate) counts: bool,
    pub(crate) nodes: bool,
}

impl FieldRequest<'_> {
    /// The part of a connection.
    pub(crate) fn part(&self) -> RestResult<PageSlice> {
        PageSlice::parse(&self.args, self.counts, self.nodes)
    }

    /// The words of `query`, in small letters; nothing: it is not given.
    pub(crate) fn words(&self) -> Option<String> {
        let words = self.text("query").to_lowercase();
        (!words.is_empty()).then_some(words)
    }

    /// What `orderBy` asks for: the places of one of these fields, and whether the largest comes
    /// first.
    pub(crate) fn order(
        &self,
        known: &[(&str, &'static str)],
    ) -> RestResult<Option<(&'static str, bool)>> {
        let order = &self.args["orderBy"];
        if order.is_null() {
            return Ok(None);
        }
        let found = known.iter().find(|(field, _)| order["field"] == *field);
        let (_, places) = found.ok_or_else(|| {
            let what = format!(
                "`orderBy` with the field {} of {}",
                order["field"], self.field
            );
            RestFailure::not_answered(&what)
        })?;
        Ok(Some((*places, order["direction"] == "DESC")))
    }

    /// The argument's text, or nothing.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.args[name].as_str().unwrap_or_default()
    }

    /// The id of this, by what it is called.
    pub(crate) fn id(&self, key: impl Into<String>) -> Value {
        id(self.session, self.kind, key)
    }

    /// What stands at the first of these places, split by `|`. Lists say less than the thing
    /// itself: it is read where nothing stands there.
    pub(crate) async fn value(&self, places: &str) -> RestResult<Value> {
        if let Some(found) = value_at(self.of, places) {
            return Ok(found);
        }
        let whole = fetch_whole(self.session, self.kind, self.of).await?;
        let found = whole.and_then(|whole| value_at(&whole.body, places));
        Ok(found.unwrap_or_default())
    }

    pub(crate) async fn truth(&self, places: &str) -> RestResult<Option<bool>> {
        Ok(self.value(places).await?.as_bool())
    }

    /// The number, of an issue or a pull request.
    pub(crate) fn number(&self) -> u64 {
        self.of["number"].as_u64().unwrap_or_default()
    }
}

/// The id of something in the job's repository.
pub(crate) fn id(session: &QuerySession, kind: &str, key: impl Into<String>) -> Value {
    NodeId::new(kind, &session.job.repository, key)
        .text()
        .into()
}

/// What stands at the first of these places; places that are not there are passed over.
pub(crate) fn value_at(value: &Value, places: &str) -> Option<Value> {
    let mut found = places.split('|').filter_map(|place| value.pointer(place));
    let first = found.next()?;
    // Forges leave empty what they do not have.
    let better = std::iter::once(first)
        .chain(found)
        .find(|one| !one.is_null());
    Some(better.unwrap_or(first).clone())
}

/// A thing as REST gives it when it is asked for by itself; nothing: there is no such call.
async fn fetch_whole(
    session: &QuerySession,
    kind: &str,
    of: &Value,
) -> RestResult<Option<Arc<RestAnswer>>> {
    let path = match kind {
        "PullRequest" => {
            let number = of["number"].as_u64().unwrap_or_default();
            format!("/pulls/{number}")
        }
        "Commit" => commit_path(session, of["sha"].as_str().unwrap_or_default()),
        "Repository" => match of["full_name"].as_str() {
            Some(name) if session.check_repository(name).is_ok() => String::new(),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    session.read(&path, &[]).await.map(Some)
}

fn commit_path(session: &QuerySession, name: &str) -> String {
    let folder = if session.is_github() { "" } else { "/git" };
    format!("{folder}/commits/{}", escaped(name))
}

/// A commit by its hash or name.
pub(crate) async fn commit(session: &QuerySession, name: &str) -> RestResult<Value> {
    session.body(&commit_path(session, name)).await
}
