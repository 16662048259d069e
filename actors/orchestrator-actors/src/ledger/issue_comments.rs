//! Comments of the orchestrator itself on an issue: refusals, and runs that a restart ended.
//!
//! They hold no mention and nothing of the comment that they answer, and they carry the marker of a
//! run, so that they cannot start anything.

use forge_actors::outbox::{self, NewComment};
use forge_core::{IssueCommentEvent, IssueNumber, Marker, RepoName};
use orchestrator_core::config::OnRestart;
use orchestrator_core::intake::Rejection;
use orchestrator_core::run::{Reason, Run, RunTrigger};
use store::StoreError;

use super::ids::new_run_id;
use super::txn::{LedgerTxn, OWN_ACCOUNT};

/// Answers a comment whose mention was refused.
pub(super) fn answer_comment(
    txn: &mut LedgerTxn<'_, '_>,
    comment: &IssueCommentEvent,
    rejection: &Rejection,
) -> Result<(), StoreError> {
    if comment.by_hand {
        return Ok(());
    }
    let before = Marker::find(&comment.comment.body).map_or(0, |marker| marker.depth);
    let run = rejection.run.as_ref().map(|run| run.id.clone());
    let marker = Marker {
        run: run.unwrap_or_else(new_run_id),
        depth: before.saturating_add(1),
    };
    let place = (&comment.repository.name, comment.issue.number);
    answer(txn, place, &rejection.agent, rejection.reason, &marker)
}

/// Answers the mention behind a run that was queued, and is refused now.
pub(super) fn answer_run(
    txn: &mut LedgerTxn<'_, '_>,
    run: &Run,
    reason: Reason,
) -> Result<(), StoreError> {
    let Some(issue) = run.issue().filter(|_| run.trigger == RunTrigger::Mention) else {
        return Ok(());
    };
    let marker = Marker {
        run: run.id.clone(),
        depth: run.depth,
    };
    let place = (&run.repository, issue);
    answer(txn, place, run.agent.as_str(), reason, &marker)
}

/// Once for each issue and reason.
fn answer(
    txn: &mut LedgerTxn<'_, '_>,
    (repository, issue): (&RepoName, IssueNumber),
    agent: &str,
    reason: Reason,
    marker: &Marker,
) -> Result<(), StoreError> {
    // Without `[mentions]` nothing is posted, as without a forge or in a repository that is not
    // ours.
    let mentions = txn.config.mentions.as_ref();
    let wanted = mentions.is_some_and(|mentions| mentions.answer_refusals)
        && txn.config.forge.is_some()
        && txn.config.project_of(repository).is_some();
    if !wanted {
        return Ok(());
    }
    let name = repository.as_str().to_ascii_lowercase();
    let text = format!(
        "`{agent}` was not started: {} (`{reason}`)",
        reason.detail()
    );
    let comment = NewComment {
        key: format!("refused:{name}#{issue}:{reason}"),
        account: OWN_ACCOUNT.to_owned(),
        repo: repository.clone(),
        issue,
        body: marker.attach(&text),
    };
    outbox::comment(txn.rows, &comment, txn.now).map(|_| ())
}

/// The comment on a mention whose run a restart has ended; `None` where it is queued again.
pub(super) fn restart_note(txn: &LedgerTxn<'_, '_>, run: &Run) -> Option<String> {
    let agent = txn.config.agent(&run.home, &run.agent)?;
    if !agent.comment || agent.on_restart == OnRestart::Requeue || run.ending.is_some() {
        return None;
    }
    let kept = run.worktree.as_ref().map(|worktree| {
        format!(
            " What it has committed is on the branch `{}`.",
            worktree.branch
        )
    });
    Some(format!(
        "**{}** ended: {} (run `{}`)\n\nThe orchestrator was restarted while it ran.{} To have it done, mention the agent \
         again, or run `orchctl retry {}`.",
        run.agent,
        Reason::OrchestratorRestart,
        run.id,
        kept.unwrap_or_default(),
        run.id
    ))
}
