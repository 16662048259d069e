//! What calls of the forge's API with the tokens of jobs have moved there: noted before the forge
//! is asked, made exact by its answer, so that no event about it starts a run.

use std::ops::ControlFlow;

use runner_core::event::EventKind;
use runner_core::gateway::{CallEffects, CausedEvent, NotedCall};
use serde::{Deserialize, Serialize};
use store::{ReadRows, Row, StoreError, Table, WriteTxn};

use crate::catch_up::CATCH_UP;
use crate::event::StoredEvent;
use crate::records::RunRecord;

/// By repository, time and a number of its own.
const CALLED: Table<CallKey, CalledRow> = Table::new("runner_called");
/// The login of the app whose token the runner has, as the last event has told it.
const CALLER: Table<String, CallerRow> = Table::new("runner_caller");
const APP: &str = "app";
/// Calls in one repository that are remembered; beyond it the oldest are forgotten.
const MAX_CALLS: usize = 1_000;
/// With those that are spared because they are in flight.
const MAX_READ: usize = 2 * MAX_CALLS;
/// The same of all repositories together.
const MAX_ALL: u64 = 20_000;
/// No event of a call comes later.
const REMEMBERED_MS: u64 = 24 * 3_600_000;

/// Where a call is noted.
pub(crate) type CallKey = (String, u64, String);

#[derive(Debug, Serialize, Deserialize)]
struct CalledRow {
    call: NotedCall,
}

impl Row for CalledRow {
    const SCHEMA: u16 = 1;
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CallerRow {
    login: String,
}

impl Row for CallerRow {
    const SCHEMA: u16 = 1;
}

/// The login of the app whose token the runner has; nothing until an event has told it.
pub(crate) fn app(rows: &mut impl ReadRows) -> Result<Option<String>, StoreError> {
    let row = rows.get(&CALLER, &APP.to_owned())?;
    Ok(row.map(|row| row.login))
}

/// Remembers the login of the app whose token the runner has.
pub(crate) fn record_app(rows: &mut WriteTxn<'_>, login: &str) -> Result<(), StoreError> {
    let login = login.to_owned();
    rows.put(&CALLER, &APP.to_owned(), &CallerRow { login })
}

/// Notes a call that is about to be made.
pub(crate) fn record_call(
    rows: &mut WriteTxn<'_>,
    repository: &str,
    call: NotedCall,
) -> Result<CallKey, StoreError> {
    forget_old(rows, repository, call.at_ms)?;
    let number = uuid::Uuid::new_v4().simple().to_string();
    let key = (repository.to_lowercase(), call.at_ms, number);
    rows.put(&CALLED, &key, &CalledRow { call })?;
    Ok(key)
}

/// Notes what the answer says; nothing: the forge has done nothing.
pub(crate) fn settle(
    rows: &mut WriteTxn<'_>,
    key: &CallKey,
    effects: Option<CallEffects>,
) -> Result<(), StoreError> {
    let Some(effects) = effects else {
        return rows.delete(&CALLED, key).map(drop);
    };
    let call = NotedCall {
        at_ms: key.1,
        until_ms: None,
        effects,
    };
    rows.put(&CALLED, key, &CalledRow { call })
}

/// The calls of a repository.
pub(crate) fn list_calls(
    rows: &mut impl ReadRows,
    repository: &str,
) -> Result<Vec<NotedCall>, StoreError> {
    let repository = repository.to_lowercase();
    let calls = rows.below(&CALLED, &repository, None, MAX_READ)?;
    Ok(calls.into_iter().map(|(_, row)| row.call).collect())
}

/// What is too old to matter, and what is too much.
fn forget_old(rows: &mut WriteTxn<'_>, repository: &str, now_ms: u64) -> Result<(), StoreError> {
    let repository = repository.to_lowercase();
    let own = rows.below(&CALLED, &repository, None, MAX_READ)?;
    let mut excess = (own.len() + 1).saturating_sub(MAX_CALLS);
    for (key, row) in &own {
        let is_old = now_ms.saturating_sub(key.1) > REMEMBERED_MS;
        if excess == 0 && !is_old {
            break;
        }
        // Its answer is still to come: without the note its event would start a run.
        if is_in_flight(row, now_ms) {
            continue;
        }
        excess = excess.saturating_sub(1);
        rows.delete(&CALLED, key)?;
    }
    if rows.len(&CALLED)? < MAX_ALL {
        return Ok(());
    }
    let mut all = Vec::new();
    rows.for_each(&CALLED, .., |key, row| {
        all.extend((!is_in_flight(&row, now_ms)).then_some(key));
        ControlFlow::Continue(())
    })?;
    all.sort_unstable_by_key(|key| key.1);
    for key in all.iter().take(all.len() / 2) {
        rows.delete(&CALLED, key)?;
    }
    Ok(())
}

fn is_in_flight(row: &CalledRow, now_ms: u64) -> bool {
    row.call.until_ms.is_some_and(|until| now_ms < until)
}

/// An event as the calls are compared with it.
pub(crate) struct NotedEvent {
    pub(crate) kind: EventKind,
    action: Option<String>,
    pub(crate) references: Vec<String>,
    commit: String,
    /// Of a tag its own object.
    after: Option<String>,
    pub(crate) before: Option<String>,
    number: Option<u64>,
    head_branch: Option<String>,
    actor: Option<String>,
    at_ms: u64,
}

impl NotedEvent {
    /// The event of a run; nothing where no call of a job causes such events.
    pub(crate) fn from_event(event: &StoredEvent, record: &RunRecord) -> Option<Self> {
        let kind = event.kind();
        let is_pull = matches!(kind, EventKind::PullRequest | EventKind::PullRequestTarget);
        let moves = matches!(
            kind,
            EventKind::Push | EventKind::Create | EventKind::Delete
        );
        if !is_pull && !moves {
            return None;
        }
        let payload: serde_json::Value = serde_json::from_str(&event.payload).unwrap_or_default();
        let is_push = kind == EventKind::Push;
        let text = |name: &str| payload[name].as_str().map(str::to_owned);
        // Who compares heads saw the last of several pushes, and nobody who pushed.
        let is_webhook = record.delivery != CATCH_UP;
        // The commit of the event itself is the base's where the base's workflow is run.
        let head = payload.pointer("/pull_request/head").filter(|_| is_pull);
        let head = head.cloned().unwrap_or_default();
        let in_head = |path: &str| Some(head.pointer(path)?.as_str()?.to_owned());
        let is_own = in_head("/repo/full_name")
            .is_some_and(|name| name.eq_ignore_ascii_case(&event.repository));
        Some(Self {
            kind,
            action: event.action().map(str::to_owned),
            references: event.moved_references(),
            commit: in_head("/sha").unwrap_or_else(|| event.sha.clone()),
            after: text("after").filter(|_| is_push),
            before: text("before").filter(|_| is_push && is_webhook),
            number: event.number,
            head_branch: in_head("/ref").filter(|_| is_own),
            actor: Some(event.actor.clone()).filter(|actor| is_webhook && !actor.is_empty()),
            at_ms: record.created_at,
        })
    }

    /// The commit, and of a tag its own object.
    pub(crate) fn commits(&self) -> Vec<&str> {
        let both = [Some(&self.commit), self.after.as_ref()];
        both.into_iter().flatten().map(String::as_str).collect()
    }

    /// What is compared.
    pub(crate) fn compared<T>(&self, ask: impl FnOnce(&CausedEvent<'_>) -> T) -> T {
        let commits = self.commits();
        ask(&CausedEvent {
            kind: self.kind,
            action: self.action.as_deref(),
            references: &self.references,
            commits: &commits,
            before: self.before.as_deref(),
            number: self.number,
            head_branch: self.head_branch.as_deref(),
            actor: self.actor.as_deref(),
            at_ms: self.at_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use runner_core::gateway::CausingCall;
    use store::{Store, StoreOptions};

    use super::*;

    fn call(at_ms: u64) -> NotedCall {
        let path = "/repos/Acme/Rocket/contents/a";
        let causing = CausingCall::parse("PUT", path, b"{}").unwrap();
        NotedCall {
            at_ms,
            until_ms: Some(at_ms + 60_000),
            effects: causing.effects,
        }
    }

    #[test]
    fn i17_a_target_s_event_is_compared_by_the_pull_request_s_own_head() {
        let (head, base) = ("a".repeat(40), "b".repeat(40));
        let repository = "acme/rocket".parse().unwrap();
        let reference = "refs/heads/main".parse().unwrap();
        let kind = EventKind::PullRequestTarget;
        let event = StoredEvent::local(kind, &repository, &reference, &base, "", None);
        let payload = |of: &str| {
            serde_json::json!({
                "action": "synchronize", "after": head, "sender": {"login": "ada"},
                "pull_request": {"head": {"ref": "x", "sha": head, "repo": {"full_name": of}}},
            })
        };
        for (of, own) in [("Acme/Rocket", Some("x")), ("eve/rocket", None)] {
            let event = event.clone().with_payload(&payload(of));
            let record = RunRecord::received(&event, "d-1".to_owned());
            let noted = NotedEvent::from_event(&event, &record).unwrap();
            assert_eq!(noted.commits(), [&head]);
            assert_eq!(noted.references, ["refs/heads/x"]);
            assert_eq!(noted.head_branch.as_deref(), own);
            assert_eq!(noted.actor.as_deref(), Some("ada"));
        }
    }

    #[test]
    fn i17_calls_are_noted_settled_and_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &StoreOptions::new("test")).unwrap();
        let record = |at_ms: u64| {
            let noted =
                store.write_blocking(move |rows| record_call(rows, "Acme/Rocket", call(at_ms)));
            noted.unwrap()
        };
        let all = || {
            store
                .read_blocking(|rows| list_calls(rows, "acme/rocket"))
                .unwrap()
        };
        let (first, second) = (record(1_000), record(1_000));
        assert_eq!(all(), [call(1_000), call(1_000)]);
        let effects = call(0).effects;
        let answered = effects.clone();
        let settled = store.write_blocking(move |rows| {
            settle(rows, &first, Some(answered))?;
            settle(rows, &second, None)
        });
        settled.unwrap();
        let expected = NotedCall {
            at_ms: 1_000,
            until_ms: None,
            effects,
        };
        assert_eq!(all(), [expected]);
        let other = store.read_blocking(|rows| list_calls(rows, "acme/rocket-docs"));
        assert_eq!(other.unwrap(), []);
        // A day later nothing of it matters.
        record(1_001 + REMEMBERED_MS);
        assert_eq!(all(), [call(1_001 + REMEMBERED_MS)]);
        store
            .write_blocking(|rows| {
                for at in 0..2_000 {
                    let mut noted = call(2 * REMEMBERED_MS + at);
                    // The first ones and one of them all are in flight.
                    noted.until_ms = noted.until_ms.filter(|_| at < 3 || at == 500);
                    record_call(rows, "acme/rocket", noted)?;
                }
                Ok::<_, StoreError>(())
            })
            .unwrap();
        let all = all();
        assert_eq!(all.len(), MAX_CALLS);
        assert_eq!(all.last().unwrap().at_ms, 2 * REMEMBERED_MS + 1_999);
        let in_flight = all.iter().filter(|call| call.until_ms.is_some());
        let at: Vec<u64> = in_flight
            .map(|call| call.at_ms - 2 * REMEMBERED_MS)
            .collect();
        assert_eq!(at, [0, 1, 2, 500]);
    }

    #[test]
    fn i17_the_app_of_the_token_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &StoreOptions::new("test")).unwrap();
        assert_eq!(store.read_blocking(|rows| app(rows)).unwrap(), None);
        for login in ["our[bot]", "new[bot]"] {
            store
                .write_blocking(move |rows| record_app(rows, login))
                .unwrap();
            let told = store.read_blocking(|rows| app(rows)).unwrap();
            assert_eq!(told.as_deref(), Some(login));
        }
    }
}
