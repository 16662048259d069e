//! What becomes of reviews: to which runs and environments they may be said, and when a run that
//! waits goes on.

use runner_core::protection::{APPROVAL_TIMEOUT_MS, ProtectionVerdict};
use runner_core::state::RunState;
use store::{JsonRow, ReadRows, StoreError, Table, WriteTxn};

use crate::event::StoredEvent;
use crate::messages::{ReviewError, ReviewRun};
use crate::records::{EnvironmentGate, RunRecord};
use crate::review::{self, Review, RunReviews};
use crate::rows;

/// Who was approved: `owner/repo`, a line break, the name.
const CONTRIBUTORS: Table<String, JsonRow<Review>> = Table::new("runner_contributors");

/// When a run that waits is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// It does not wait.
    None,
    /// Now.
    Now,
    /// Then, in milliseconds since the Unix epoch.
    At(u64),
}

/// Whether a run that waits is to go on, by what was said and by the clock.
pub(crate) fn next_step(
    rows: &mut impl ReadRows,
    run: &str,
    now: u64,
) -> Result<NextStep, StoreError> {
    let record = rows::run(rows, run)?;
    let Some(record) = record.filter(|record| record.state == RunState::Waiting) else {
        return Ok(NextStep::None);
    };
    let reviews = review::get(rows, run)?;
    let gates = || record.environments.iter().filter(|gate| gate.is_pending());
    let is_told = reviews.cancelled.is_some()
        || (record.awaits_approval() && reviews.run.is_some())
        || gates()
            .any(|gate| gate.review.is_none() && reviews.of_environment(&gate.name).is_some());
    if is_told {
        return Ok(NextStep::Now);
    }
    let asked = record
        .approval
        .as_ref()
        .filter(|_| record.awaits_approval());
    let expires = asked.map(|approval| approval.asked_at + APPROVAL_TIMEOUT_MS);
    let until = gates().map(|gate| gate.until).chain(expires).min();
    Ok(match until {
        Some(until) if until > now => NextStep::At(until),
        // It is started again when it has its turn in its concurrency group.
        None if record.waits_for_group() => NextStep::None,
        // Nothing that it waits for is known: it looks itself.
        Some(_) | None => NextStep::Now,
    })
}

/// Ends a run that waits; whether it does.
pub(crate) fn cancel(
    rows: &mut WriteTxn<'_>,
    run: &String,
    reason: String,
) -> Result<bool, StoreError> {
    let record = rows::run(rows, run)?;
    if record.is_none_or(|record| record.state != RunState::Waiting) {
        return Ok(false);
    }
    let mut reviews = review::get(rows, run)?;
    reviews.cancelled.get_or_insert(reason);
    review::put(rows, run, &reviews)?;
    Ok(true)
}

/// Stores a review; gives the environments it is of, none for a run as a whole.
pub(crate) fn store(
    rows: &mut WriteTxn<'_>,
    request: &ReviewRun,
    now: u64,
) -> Result<Result<Vec<String>, ReviewError>, StoreError> {
    let Some(record) = rows::run(rows, &request.run)? else {
        return Ok(Err(ReviewError::Unknown));
    };
    let mut reviews = review::get(rows, &request.run)?;
    let review = Review {
        verdict: request.verdict,
        by: request.by.clone(),
        comment: request.comment.clone(),
        at: now,
    };
    let reviewed = if record.awaits_approval() {
        if let Some(name) = request.environments.first() {
            return Ok(Err(ReviewError::Environment(name.clone())));
        }
        if reviews.run.is_some() {
            return Ok(Err(ReviewError::NotWaiting));
        }
        if review.verdict == ProtectionVerdict::Approved
            && let Some(event) = rows::event(rows, &request.run)?
        {
            record_contributors(rows, &event, &review)?;
        }
        reviews.run = Some(review);
        Vec::new()
    } else {
        let names = match reviewed_environments(&record, &reviews, &request.environments) {
            Ok(names) => names,
            Err(refused) => return Ok(Err(refused)),
        };
        let new = names.iter().map(|name| (name.clone(), review.clone()));
        reviews.environments.extend(new);
        names
    };
    review::put(rows, &request.run, &reviews)?;
    Ok(Ok(reviewed))
}

/// The environments that a review is of: those named, else all that wait for one.
fn reviewed_environments(
    record: &RunRecord,
    reviews: &RunReviews,
    named: &[String],
) -> Result<Vec<String>, ReviewError> {
    let is_open = |gate: &&EnvironmentGate| {
        let unheard = reviews.of_environment(&gate.name).is_none();
        gate.is_pending() && gate.for_approval && unheard
    };
    let open = || record.environments.iter().filter(is_open);
    if record.state.is_terminal() || open().next().is_none() {
        return Err(ReviewError::NotWaiting);
    }
    let Some(first) = named.iter().find(|name| {
        let mut open = open();
        !open.any(|gate| gate.is_of(name))
    }) else {
        let wanted =
            |gate: &&EnvironmentGate| named.is_empty() || named.iter().any(|name| gate.is_of(name));
        return Ok(open()
            .filter(wanted)
            .map(|gate| gate.name.clone())
            .collect());
    };
    Err(ReviewError::Environment(first.clone()))
}

/// Who caused a pull request from a fork: its author, and who caused the event.
pub(crate) struct Contributors {
    /// In lower case, each once.
    pub(crate) names: Vec<String>,
    /// The author caused the event.
    pub(crate) own_event: bool,
    /// What GitHub says of the author.
    pub(crate) association: Option<String>,
}

impl Contributors {
    pub(crate) fn from_event(event: &StoredEvent) -> Self {
        let payload: serde_json::Value = serde_json::from_str(&event.payload).unwrap_or_default();
        let text = |path: &str| Some(payload.pointer(path)?.as_str()?.to_owned());
        let author = text("/pull_request/user/login").unwrap_or_default();
        let (author, actor) = (author.to_lowercase(), event.actor.to_lowercase());
        let own_event = !author.is_empty() && author == actor;
        let mut names = vec![author, actor];
        names.dedup();
        names.retain(|name| !name.is_empty());
        Self {
            names,
            own_event,
            association: text("/pull_request/author_association"),
        }
    }

    /// Whether all of them were approved in this repository before.
    pub(crate) fn were_approved(
        &self,
        rows: &mut impl ReadRows,
        repository: &str,
    ) -> Result<bool, StoreError> {
        for name in &self.names {
            if rows.get(&CONTRIBUTORS, &key(repository, name))?.is_none() {
                return Ok(false);
            }
        }
        Ok(!self.names.is_empty())
    }
}

fn record_contributors(
    rows: &mut WriteTxn<'_>,
    event: &StoredEvent,
    review: &Review,
) -> Result<(), StoreError> {
    for name in Contributors::from_event(event).names {
        let key = key(&event.repository, &name);
        rows.put(&CONTRIBUTORS, &key, &JsonRow::new(review))?;
    }
    Ok(())
}

fn key(repository: &str, name: &str) -> String {
    format!("{}\n{name}", repository.to_lowercase())
}
