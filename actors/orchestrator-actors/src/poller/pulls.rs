//! Pull requests that were opened, pushed to or closed while no webhook arrived.

use forge_core::{
    ForgeEvent, IssueState, PullRequest, PullRequestAction, PullRequestBase, PullRequestEvent,
    PullRequestHead,
};
use http_clients::forge::ForgePull;
use orchestrator_core::config::Project;
use orchestrator_core::run::Subject;

use super::project_poll::{PollError, ProjectPoll, repository};
use crate::ledger;

impl ProjectPoll<'_> {
    /// Pull requests that are open now; at the very first poll they are only remembered. Open runs
    /// of others end.
    pub(super) async fn pulls(&self, project: &Project, first: bool) -> Result<(), PollError> {
        let asked_at = self.ledger.now();
        let open = self.client.open_pulls(&project.repository).await?;
        if first {
            let heads: Vec<_> = open
                .items
                .iter()
                .map(|pull| (pull.number, pull.head_sha.clone()))
                .collect();
            let repository = project.repository.clone();
            self.ledger
                .write(move |txn| ledger::record_heads(txn, &repository, &heads))
                .await?;
            return Ok(());
        }
        let numbers: Vec<_> = open.items.iter().map(|pull| pull.number).collect();
        let complete = !open.more;
        for pull in open.items {
            let event = pull_event(project, pull, PullRequestAction::Opened);
            self.admit(event, asked_at).await?;
        }
        if complete {
            self.closed(project, &numbers).await?;
        }
        Ok(())
    }

    async fn closed(
        &self,
        project: &Project,
        open: &[forge_core::PullRequestNumber],
    ) -> Result<(), PollError> {
        let runs = self.ledger.read(|rows| ledger::open_runs(rows)).await?;
        let mut closed: Vec<_> = runs
            .into_iter()
            .filter(|run| run.repository == project.repository)
            .filter_map(|run| match run.subject {
                Subject::PullRequest { number, .. } if !open.contains(&number) => Some(number),
                _ => None,
            })
            .collect();
        closed.sort();
        closed.dedup();
        for number in closed {
            let asked_at = self.ledger.now();
            let pull = self.client.pull(&project.repository, number).await?;
            if !pull.is_open {
                let event = pull_event(project, pull, PullRequestAction::Closed);
                self.admit(event, asked_at).await?;
            }
        }
        Ok(())
    }
}

fn pull_event(project: &Project, pull: ForgePull, action: PullRequestAction) -> ForgeEvent {
    let state = if pull.is_open {
        IssueState::Open
    } else {
        IssueState::Closed
    };
    let branch = pull.head_branch.parse().ok();
    let head = branch.map(|branch| PullRequestHead {
        branch,
        sha: pull.head_sha,
        repository: pull.head_repo,
        clone_url: None,
    });
    ForgeEvent::PullRequest(Box::new(PullRequestEvent {
        action,
        number: pull.number,
        pull_request: PullRequest {
            title: Some(pull.title),
            body: Some(pull.body),
            html_url: Some(pull.html_url),
            state: Some(state),
            draft: pull.is_draft,
            merged: pull.is_merged,
            author: pull.author,
            head,
            base: Some(PullRequestBase {
                branch: pull.base_branch,
                sha: Some(pull.base_sha),
            }),
        },
        repository: repository(project),
        sender: None,
        became_ready: false,
    }))
}
