//! The outbox's decisions: what replaces what, and what follows a failure. Pure.

use std::time::Duration;

use forge_core::{CommitState, CommitStatus, RunId};
use http_clients::forge::{ForgeError, ForgeRefusal};
use http_clients::http::RetryPolicy;

/// The delays of what may pass by itself.
const TRANSIENT: RetryPolicy = RetryPolicy {
    attempts: u32::MAX,
    first: Duration::from_secs(1),
    longest: Duration::from_secs(300),
};
/// The delays of a token that is refused: somebody may repair it.
const TOKEN: RetryPolicy = RetryPolicy {
    attempts: u32::MAX,
    first: Duration::from_secs(30),
    longest: Duration::from_secs(900),
};
/// The longest delay that a forge may ask for.
const MAX_REQUESTED_DELAY: Duration = Duration::from_secs(3600);
/// What may pass is tried for so long, a refused token for so long.
const RETRY_WINDOW: Duration = Duration::from_secs(7 * 24 * 3600);
const TOKEN_RETRY_WINDOW: Duration = Duration::from_secs(24 * 3600);

/// What became of a beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusAdmission {
    /// It will be posted.
    Enqueued,
    /// The same owner has begun already; nothing was changed.
    Already,
}

/// What became of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateOutcome {
    /// It will be posted.
    Enqueued,
    /// It says what is said already.
    Unchanged,
    /// The owner has settled it already: one terminal state is all.
    Settled,
    /// Another owner has taken its place since.
    NotCurrent,
    /// Nobody has begun such a status.
    Unknown,
}

/// What follows a beginning by `owner`, where `current` is.
pub(crate) fn admit_status(current: Option<&RunId>, owner: &RunId) -> StatusAdmission {
    match current {
        Some(current) if current == owner => StatusAdmission::Already,
        _ => StatusAdmission::Enqueued,
    }
}

/// What follows an update by `owner`, where `current` is.
pub(crate) fn update(
    current: Option<(&RunId, &CommitStatus)>,
    owner: &RunId,
    new: &CommitStatus,
) -> UpdateOutcome {
    match current {
        None => UpdateOutcome::Unknown,
        Some((current, _)) if current != owner => UpdateOutcome::NotCurrent,
        Some((_, status)) if status == new => UpdateOutcome::Unchanged,
        Some((_, status)) if status.state != CommitState::Pending => UpdateOutcome::Settled,
        Some(_) => UpdateOutcome::Enqueued,
    }
}

/// The forge must have been looked at so often without finding a comment, before it is sent again.
pub(crate) const LOOKS_BEFORE_RESEND: u32 = 2;
/// A comment that was sent more than once is searched for doubles so often.
pub(crate) const DUPLICATE_CHECKS: u32 = 2;

/// What is known of a comment whose attempts may have reached the forge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommentDelivery {
    /// The outcome of an attempt is not known.
    pub uncertain: bool,
    /// How often it was sent.
    pub sent: u32,
    /// How often in a row the forge did not have it, since then.
    pub looks: u32,
    /// The id of the one that stays, once the forge has it.
    pub taken: Option<u64>,
}

/// What is to be done about a comment that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentStep {
    /// Send it.
    Send,
    /// Look whether the forge has it. If not: look again later, or send it.
    Look {
        /// The forge was looked at often enough.
        then_send: bool,
    },
    /// Look whether the forge has a second one, and remove it.
    Check,
}

/// The next step.
#[must_use]
pub fn step(delivery: CommentDelivery) -> CommentStep {
    match delivery {
        CommentDelivery { taken: Some(_), .. } => CommentStep::Check,
        CommentDelivery {
            uncertain: true,
            looks,
            ..
        } => CommentStep::Look {
            then_send: looks + 1 >= LOOKS_BEFORE_RESEND,
        },
        _ => CommentStep::Send,
    }
}

/// How long to wait for the check number `done` (from 0) of a comment that the forge has; `None`:
/// that was all.
pub(crate) fn next_check(sent: u32, done: u32, settle: Duration) -> Option<Duration> {
    // The one attempt is the one comment.
    (sent > 1 && done < DUPLICATE_CHECKS)
        .then(|| settle.saturating_mul(if done == 0 { 1 } else { 10 }))
}

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostRetryDecision {
    /// Another attempt after this delay.
    Again(Duration),
    /// No further attempt by itself.
    Park,
}

/// What follows attempt number `attempt` (from 1) of something that has waited for `age`; `chance`
/// from 0 to 1 spreads the delays.
#[must_use]
pub fn after_failure(
    error: &ForgeError,
    attempt: u32,
    age: Duration,
    chance: f64,
) -> PostRetryDecision {
    let (policy, patience) = match error {
        ForgeError::Permanent {
            kind: ForgeRefusal::Unauthorised | ForgeRefusal::Forbidden,
            ..
        } => (TOKEN, TOKEN_RETRY_WINDOW),
        ForgeError::Permanent { .. } => return PostRetryDecision::Park,
        ForgeError::Transient { .. } | ForgeError::RateLimited { .. } => (TRANSIENT, RETRY_WINDOW),
    };
    if age >= patience {
        return PostRetryDecision::Park;
    }
    let own = policy.delay(attempt, chance);
    let requested = error
        .retry_after()
        .unwrap_or_default()
        .min(MAX_REQUESTED_DELAY);
    PostRetryDecision::Again(own.max(requested))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str) -> RunId {
        id.parse().unwrap()
    }

    fn status(state: CommitState, description: &str) -> CommitStatus {
        CommitStatus {
            context: "orch/build".parse().unwrap(),
            state,
            description: description.into(),
            target_url: None,
        }
    }

    #[test]
    fn an_owner_begins_once_and_replaces_others() {
        assert_eq!(admit_status(None, &run("a")), StatusAdmission::Enqueued);
        assert_eq!(
            admit_status(Some(&run("a")), &run("a")),
            StatusAdmission::Already
        );
        assert_eq!(
            admit_status(Some(&run("a")), &run("b")),
            StatusAdmission::Enqueued
        );
    }

    #[test]
    fn o16_only_the_current_owner_settles_and_only_once() {
        use CommitState::{Error, Failure, Pending, Success};
        let pending = status(Pending, "queued");
        let success = status(Success, "");
        let table = [
            (None, "a", &success, UpdateOutcome::Unknown),
            (
                Some(("b", &pending)),
                "a",
                &success,
                UpdateOutcome::NotCurrent,
            ),
            (
                Some(("a", &pending)),
                "a",
                &success,
                UpdateOutcome::Enqueued,
            ),
            (
                Some(("a", &pending)),
                "a",
                &status(Failure, ""),
                UpdateOutcome::Enqueued,
            ),
            (
                Some(("a", &pending)),
                "a",
                &status(Pending, "running"),
                UpdateOutcome::Enqueued,
            ),
            (
                Some(("a", &pending)),
                "a",
                &pending,
                UpdateOutcome::Unchanged,
            ),
            (
                Some(("a", &success)),
                "a",
                &success,
                UpdateOutcome::Unchanged,
            ),
            (Some(("a", &success)), "a", &pending, UpdateOutcome::Settled),
            (
                Some(("a", &success)),
                "a",
                &status(Error, ""),
                UpdateOutcome::Settled,
            ),
        ];
        for (current, owner, new, expected) in table {
            let current = current.map(|(owner, status)| (run(owner), status));
            let current = current.as_ref().map(|(owner, status)| (owner, *status));
            let found = update(current, &run(owner), new);
            assert_eq!(found, expected, "{current:?} {owner} {new:?}");
        }
    }

    #[test]
    fn u6_what_may_have_arrived_is_looked_for_twice_before_it_is_sent_again() {
        let delivery = |uncertain, looks, taken| CommentDelivery {
            uncertain,
            sent: 1,
            looks,
            taken,
        };
        let look = |then_send| CommentStep::Look { then_send };
        let table = [
            (delivery(false, 0, None), CommentStep::Send),
            (delivery(true, 0, None), look(false)),
            (delivery(true, 1, None), look(true)),
            (delivery(true, 0, Some(7)), CommentStep::Check),
            (delivery(false, 0, Some(7)), CommentStep::Check),
        ];
        for (delivery, expected) in table {
            assert_eq!(step(delivery), expected, "{delivery:?}");
        }
        let settle = Duration::from_secs(30);
        assert_eq!(next_check(1, 0, settle), None);
        assert_eq!(next_check(2, 0, settle), Some(settle));
        assert_eq!(next_check(2, 1, settle), Some(settle * 10));
        assert_eq!(next_check(2, 2, settle), None);
    }

    #[test]
    fn o20_failures_are_repeated_by_their_class() {
        let transient = |after: Option<u64>| ForgeError::Transient {
            reason: "x".into(),
            after: after.map(Duration::from_secs),
            sent: true,
        };
        let limited = |after: u64| ForgeError::RateLimited {
            reason: "x".into(),
            after: Some(Duration::from_secs(after)),
        };
        let refused = |kind| ForgeError::Permanent {
            kind,
            reason: "x".into(),
        };
        let again = |seconds| PostRetryDecision::Again(Duration::from_secs(seconds));
        let day = 24 * 3600;
        let table = [
            (transient(None), 1, 0, again(1)),
            (transient(None), 4, 0, again(8)),
            (transient(None), 50, day, again(300)),
            (transient(None), 50, 7 * day, PostRetryDecision::Park),
            (transient(Some(20)), 1, 0, again(20)),
            (limited(1800), 1, 0, again(1800)),
            (limited(10 * day), 1, 0, again(3600)),
            (refused(ForgeRefusal::Unauthorised), 1, 0, again(30)),
            (refused(ForgeRefusal::Forbidden), 9, 0, again(900)),
            (
                refused(ForgeRefusal::Unauthorised),
                9,
                day,
                PostRetryDecision::Park,
            ),
            (
                refused(ForgeRefusal::NotFound),
                1,
                0,
                PostRetryDecision::Park,
            ),
            (
                refused(ForgeRefusal::Unprocessable),
                1,
                0,
                PostRetryDecision::Park,
            ),
            (
                refused(ForgeRefusal::BadReply),
                1,
                0,
                PostRetryDecision::Park,
            ),
            (
                refused(ForgeRefusal::Address),
                1,
                0,
                PostRetryDecision::Park,
            ),
            (
                refused(ForgeRefusal::Other(400)),
                1,
                0,
                PostRetryDecision::Park,
            ),
        ];
        for (error, attempt, age, expected) in table {
            let next = after_failure(&error, attempt, Duration::from_secs(age), 1.0);
            assert_eq!(next, expected, "{error:?} attempt {attempt} age {age}");
        }
    }
}
