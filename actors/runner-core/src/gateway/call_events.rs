//! Whether an event tells of what a job's call of the forge's API has moved.

use serde::{Deserialize, Serialize};

use super::effects::{CallEffects, CallMove, CallPull};
use super::git::CAUSED_FOR_MS;
use crate::event_kind::EventKind;

/// How long events may take that could be somebody else's as well: a label, an edited title.
const REPEATABLE_FOR_MS: u64 = 10 * 60_000;

/// A call of a job, as it is noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedCall {
    /// When, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Until when its answer is waited for; nothing when it has come or was lost.
    pub until_ms: Option<u64>,
    /// What it causes, as far as that is known.
    pub effects: CallEffects,
}

/// What an event tells.
#[derive(Debug, Clone, Copy)]
pub struct CausedEvent<'a> {
    /// Which it is.
    pub kind: EventKind,
    /// `opened`, …, of pull requests.
    pub action: Option<&'a str>,
    /// Branches and tags whose moves it may tell of, by their whole names.
    pub references: &'a [String],
    /// The commit, and of a tag its own object.
    pub commits: &'a [&'a str],
    /// Where the reference was; zeros: nowhere.
    pub before: Option<&'a str>,
    /// Number of the pull request.
    pub number: Option<u64>,
    /// Its branch, where that is one of the repository itself.
    pub head_branch: Option<&'a str>,
    /// Who caused it, where it says so.
    pub actor: Option<&'a str>,
    /// When it came, in milliseconds since the epoch.
    pub at_ms: u64,
}

/// Whose the runner's token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAccount<'a> {
    /// It is not known now.
    Unknown,
    /// Of an app, which the forge names otherwise: by this login, once an event has told it.
    App(Option<&'a str>),
    /// Of this account.
    Of(&'a str),
}

/// What the calls of jobs say of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallVerdict {
    /// One of them has caused it.
    Caused,
    /// One may have caused it whose answer is still to come.
    Wait,
    /// None has.
    NotCaused,
}

/// How an event fits a call, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Nobody else can have caused it.
    Own,
    /// It is just what the call does, and what somebody else does once at most.
    Exact,
    /// It is just what the call does, and what others do as well.
    Repeatable,
    /// It may be; what would tell is not known.
    Possible,
}

impl TokenAccount<'_> {
    /// Whether the event is of this account; nothing where that is not said.
    fn caused(self, event: &CausedEvent<'_>) -> Option<bool> {
        let actor = event.actor?;
        match self {
            Self::Unknown => None,
            // Other apps are bots as well.
            Self::App(None) => (!is_bot(actor)).then_some(false),
            Self::App(Some(account)) | Self::Of(account) => {
                Some(actor.eq_ignore_ascii_case(account))
            }
        }
    }
}

fn is_bot(actor: &str) -> bool {
    actor.ends_with("[bot]")
}

/// The login of the app whose token the jobs have, where the event tells it: a push of a commit
/// that the forge has made for one of the calls.
#[must_use]
pub fn app_of_calls<'a>(calls: &[NotedCall], event: &CausedEvent<'a>) -> Option<&'a str> {
    let actor = event.actor.filter(|actor| is_bot(actor))?;
    let is_own = |call: &NotedCall| fit(call, event) == Some(Fit::Own);
    (event.kind == EventKind::Push && calls.iter().any(is_own)).then_some(actor)
}

/// Whether any of the calls may have caused the event: only then the forge is asked whose the token
/// is.
#[must_use]
pub fn concerns_calls(calls: &[NotedCall], event: &CausedEvent<'_>) -> bool {
    calls.iter().any(|call| fit(call, event).is_some())
}

/// What the calls of jobs in its repository say of an event. Somebody else's event is never taken
/// for one of a call: it names another commit, or another account.
#[must_use]
pub fn is_caused_by_call(
    calls: &[NotedCall],
    event: &CausedEvent<'_>,
    account: TokenAccount<'_>,
    now_ms: u64,
) -> CallVerdict {
    let of_account = account.caused(event);
    let mut verdict = CallVerdict::NotCaused;
    for call in calls {
        let Some(fit) = fit(call, event) else {
            continue;
        };
        if of_account == Some(false) && fit != Fit::Own {
            continue;
        }
        let age = event.at_ms.saturating_sub(call.at_ms);
        let caused = match fit {
            _ if call.until_ms.is_some_and(|until| now_ms < until) => {
                verdict = CallVerdict::Wait;
                continue;
            }
            Fit::Own => age <= CAUSED_FOR_MS,
            Fit::Exact => age <= CAUSED_FOR_MS,
            // Neither a person's label nor what was never answered swallows the events of others,
            // also while nobody says whose the token is.
            Fit::Repeatable | Fit::Possible => of_account == Some(true) && age <= REPEATABLE_FOR_MS,
        };
        if caused {
            return CallVerdict::Caused;
        }
    }
    verdict
}

fn fit(call: &NotedCall, event: &CausedEvent<'_>) -> Option<Fit> {
    // Calls are noted before they are made.
    if event.at_ms < call.at_ms {
        return None;
    }
    let mut moves = call.effects.moves.iter();
    let of_moves = moves.find_map(|one| fit_of_move(one, event));
    of_moves.or_else(|| fit_of_pull(call.effects.pull.as_ref()?, event))
}

fn is_pull(kind: EventKind) -> bool {
    matches!(kind, EventKind::PullRequest | EventKind::PullRequestTarget)
}

fn fit_of_move(one: &CallMove, event: &CausedEvent<'_>) -> Option<Fit> {
    let names = |reference: &String| match one.reference.ends_with('/') {
        true => reference.starts_with(&one.reference),
        false => *reference == one.reference,
    };
    if is_pull(event.kind) && event.action == Some("closed") {
        // With its branch a pull request is closed.
        let own = event
            .head_branch
            .map(|branch| format!("refs/heads/{branch}"));
        let closes = one.removes() && own.is_some_and(|own| names(&own));
        return closes.then_some(Fit::Repeatable);
    }
    if !event.references.iter().any(names) {
        return None;
    }
    match event.kind {
        EventKind::Create if one.makes() => Some(Fit::Possible),
        EventKind::Delete if one.removes() => Some(Fit::Possible),
        EventKind::Push | EventKind::PullRequest | EventKind::PullRequestTarget => {
            moved(one, event)
        }
        _ => None,
    }
}

fn moved(one: &CallMove, event: &CausedEvent<'_>) -> Option<Fit> {
    let differs = match (&one.old, event.before) {
        (Some(old), Some(before)) => old != before,
        _ => false,
    };
    if differs {
        return None;
    }
    let Some(new) = &one.new else {
        // A stranger's branch may have the name of one here.
        let is_here = !is_pull(event.kind) || event.head_branch.is_some();
        return is_here.then_some(Fit::Possible);
    };
    let fits = event.commits.contains(&new.as_str());
    fits.then_some(match one.is_own_commit {
        true => Fit::Own,
        false => Fit::Exact,
    })
}

fn fit_of_pull(pull: &CallPull, event: &CausedEvent<'_>) -> Option<Fit> {
    let action = event.action.filter(|_| is_pull(event.kind))?;
    if !pull.actions.iter().any(|one| one == action) {
        return None;
    }
    match pull.number {
        // It is opened once.
        Some(number) if event.number == Some(number) => Some(match action {
            "opened" => Fit::Exact,
            _ => Fit::Repeatable,
        }),
        None if action == "opened" => Some(Fit::Possible),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
