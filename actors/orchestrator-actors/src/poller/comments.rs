//! Comments that were written while no webhook arrived.
//!
//! ```text
//! cursor ─▶ page ─▶ admit ─▶ cursor := written at ─▶ page ─▶ …   a crash in between reads its page again
//! ```
//! A forge gives the comments that were changed since a time, in the order in which they were
//! written. So whatever was not read yet was written after the last that was, and the cursor is the
//! time of that one, by the forge's clock. Each page is asked for from there: page numbers would
//! pass over comments when one before them is deleted meanwhile.

use std::collections::BTreeSet;

use forge_core::mention::{self, ScanLimits};
use forge_core::{
    Comment, CommentAction, CommentId, ForgeEvent, Issue, IssueCommentEvent, IssueState,
};
use http_clients::forge::ForgeComment;
use jiff::Timestamp;
use orchestrator_core::Millis;
use orchestrator_core::config::Project;

use super::project_poll::{PollError, ProjectPoll, SeenComments, repository};
use crate::ledger;

/// Comments are read again for this long before the cursor: a forge's clock may be set back.
const OVERLAP: Millis = 60_000;
/// Where nobody writes, the cursor follows our clock so far behind: a forge's clock may be slow.
const LAG: Millis = 24 * 3600 * 1000;

impl ProjectPoll<'_> {
    /// Admits everything that was written since the cursor.
    pub(super) async fn comments(
        &self,
        project: &Project,
        cursor: Millis,
        seen_before: &mut SeenComments,
    ) -> Result<(), PollError> {
        let began = self.ledger.now();
        let floor = time_of(cursor.saturating_sub(OVERLAP));
        let (mut since, mut page) = (floor, 1);
        let (mut seen, mut in_order) = (BTreeSet::new(), true);
        loop {
            let found = self
                .client
                .comments_since(&project.repository, since, page)
                .await?;
            in_order &= found.items.is_sorted_by_key(|comment| comment.created_at);
            let last = found.items.iter().map(|comment| comment.created_at).max();
            // Comments that are older were seen as they were; a change starts nothing.
            let new = found
                .items
                .into_iter()
                .filter(|comment| comment.created_at >= floor);
            let new: Vec<ForgeComment> = new.filter(|new| seen.insert(new.id)).collect();
            let fresh = new
                .into_iter()
                .filter(|new| !seen_before.0.contains(&new.id));
            self.admit_all(project, fresh.collect()).await?;
            if let Some(last) = last.filter(|_| in_order || !found.more) {
                self.advance(project, millis_of(last).min(began)).await?;
            }
            if !found.more {
                break;
            }
            match last {
                Some(last) if in_order && last.as_second() > since.as_second() => {
                    (since, page) = (last, 1);
                }
                _ => page += 1,
            }
        }
        seen_before.0 = seen;
        self.advance(project, began.saturating_sub(LAG)).await
    }

    async fn admit_all(
        &self,
        project: &Project,
        comments: Vec<ForgeComment>,
    ) -> Result<(), PollError> {
        let one = ScanLimits {
            mentions: 1,
            ..ScanLimits::default()
        };
        let asks = |comment: &ForgeComment| !mention::scan(&comment.body, one).found.is_empty();
        let (asking, silent): (Vec<_>, Vec<_>) = comments.into_iter().partition(asks);
        if !silent.is_empty() {
            // Seen as they are: a mention that is put in later starts nothing, as with a webhook.
            let name = project.repository.clone();
            let deliveries = self.ledger.deliveries().clone();
            let ids: Vec<CommentId> = silent.iter().map(|comment| comment.id).collect();
            let marked = self
                .ledger
                .write(move |txn| ledger::mark_comments_seen(txn, &deliveries, &name, &ids));
            marked.await?;
        }
        for comment in asking {
            let asked_at = self.ledger.now();
            if let Some(issue) = self.issue_of(project, &comment).await?
                && let Some(event) = comment_event(project, comment, issue)
            {
                self.admit(event, asked_at).await?;
            }
        }
        Ok(())
    }

    /// The issue of a comment, as it was when that was written, like in a webhook.
    async fn issue_of(
        &self,
        project: &Project,
        comment: &ForgeComment,
    ) -> Result<Option<Issue>, PollError> {
        let Some(number) = comment.issue else {
            tracing::warn!(
                event = "forge.comment_skipped", project = %project.id, comment = comment.id.get(),
                "the forge does not say where a comment stands"
            );
            return Ok(None);
        };
        let found = match self.client.issue(&project.repository, number).await {
            Ok(found) => Some(found),
            Err(error) if error.is_temporary() => return Err(error.into()),
            // The mention counts all the same; only the issue's text is missing in its prompt.
            Err(error) => {
                tracing::warn!(
                    event = "forge.issue_unknown", project = %project.id, issue = %number, error = %error,
                    "the forge does not tell of the issue of a comment"
                );
                None
            }
        };
        let state = found.as_ref().map(|issue| {
            let closed_later = issue
                .closed_at
                .is_some_and(|closed_at| comment.created_at <= closed_at);
            if issue.is_open || closed_later {
                IssueState::Open
            } else {
                IssueState::Closed
            }
        });
        let (title, body, html_url) = match found {
            Some(found) => (Some(found.title), Some(found.body), Some(found.html_url)),
            None => (None, None, None),
        };
        Ok(Some(Issue {
            number,
            title,
            body,
            state,
            html_url,
            is_pull_request: comment.is_pull,
        }))
    }
}

fn time_of(at: Millis) -> Timestamp {
    let millis = i64::try_from(at).unwrap_or(i64::MAX);
    let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
    // Forges are asked by the second.
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

fn millis_of(time: Timestamp) -> Millis {
    Millis::try_from(time.as_millisecond()).unwrap_or_default()
}

/// The event that a webhook would have delivered. `None`: the author's account is gone.
fn comment_event(project: &Project, comment: ForgeComment, issue: Issue) -> Option<ForgeEvent> {
    Some(ForgeEvent::IssueComment(Box::new(IssueCommentEvent {
        action: CommentAction::Created,
        issue,
        comment: Comment {
            id: comment.id,
            body: comment.body,
            author: comment.author?,
            created_at: Some(comment.created_at.to_string()),
            html_url: comment.html_url,
            author_association: comment.author_association,
        },
        repository: repository(project),
        sender: None,
        by_hand: false,
    })))
}
