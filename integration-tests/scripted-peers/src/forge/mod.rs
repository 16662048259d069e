//! A forge in memory: the parts of Gitea's and GitHub's API the platform uses, on one port
//! (`/api/v1/…` is Gitea's, the rest GitHub's).
//!
//! As seen on a real Gitea: any state word is accepted and kept; a commit that is not there is 500;
//! statuses are appended, the latest of a context counts; lists have 50 a page and
//! `X-Total-Count`; the answer to a status says `status`, GitHub's says `state`.

mod answers;
mod api;
mod call;
mod changes;
mod comments;
mod hooks;
mod model;
mod releases;
mod shapes;

use std::sync::Arc;

use actix_web::web;

use crate::server::{Recorded, Running, start};
pub use model::{Comment, Failure, Hook, PlannedFailure, Pull, Release, Status};
use model::{ForgeState, Issue};

/// The forge. It ends when it is dropped.
pub struct ScriptedForge {
    state: Arc<ForgeState>,
    running: Running,
}

impl ScriptedForge {
    /// Starts an empty forge; needs a running actix system.
    #[must_use]
    pub fn start() -> Self {
        let state = Arc::new(ForgeState::default());
        let data = web::Data::from(state.clone());
        let running = start!(move |app: &mut web::ServiceConfig| {
            app.app_data(data.clone())
                .app_data(web::PayloadConfig::new(64 << 20))
                .default_service(web::to(api::serve));
        });
        Self { state, running }
    }

    /// Its address: the base of both APIs.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.running.address)
    }

    /// Requests of this method whose path ends so are answered by the test itself, on a thread of
    /// their own; the latest one counts.
    pub fn answer(
        &self,
        method: &'static str,
        path: &str,
        write: impl Fn(&serde_json::Value) -> (u16, serde_json::Value) + Send + Sync + 'static,
    ) {
        let answer = answers::WrittenAnswer::new(method, path, write);
        self.state.model.lock().answers.push(answer);
    }

    /// A user whose token this is; without any user every token is accepted, as `someone`.
    pub fn add_user(&self, login: &str, token: &str) {
        let mut model = self.state.model.lock();
        model.users.insert(token.to_owned(), login.to_owned());
    }

    /// A repository, `owner/name`.
    pub fn add_repo(&self, repo: &str) {
        self.state.model.lock().repo(repo);
    }

    /// A commit, by its 40 digits.
    pub fn add_commit(&self, repo: &str, sha: &str) {
        let mut model = self.state.model.lock();
        model.repo(repo).commits.insert(sha.to_owned());
    }

    /// A commit with a message.
    pub fn add_commit_with(&self, repo: &str, sha: &str, message: &str) {
        self.add_commit(repo, sha);
        let mut model = self.state.model.lock();
        let messages = &mut model.repo(repo).messages;
        messages.insert(sha.to_owned(), message.to_owned());
    }

    /// An issue.
    pub fn add_issue(&self, repo: &str, number: u64, title: &str) {
        let mut model = self.state.model.lock();
        let issue = Issue {
            title: title.to_owned(),
            open: true,
            body: String::new(),
            closed_at: None,
        };
        model.repo(repo).issues.insert(number, issue);
    }

    /// A pull request; its head and base become commits.
    pub fn add_pull(&self, repo: &str, pull: Pull) {
        let mut model = self.state.model.lock();
        let of = model.repo(repo);
        of.commits
            .extend([pull.head_sha.clone(), pull.base_sha.clone()]);
        of.pulls.insert(pull.number, pull);
    }

    /// Branches that were deleted by the API.
    #[must_use]
    pub fn deleted_branches(&self, repo: &str) -> Vec<String> {
        self.state.model.lock().repo(repo).deleted.clone()
    }

    /// What the API says of a pull request's labels, as their names.
    #[must_use]
    pub fn labels(&self, repo: &str, number: u64) -> Vec<String> {
        let mut model = self.state.model.lock();
        let labels = model.extra(repo, number)["labels"].clone();
        let labels = labels.as_array().cloned().unwrap_or_default();
        let names = labels.iter().filter_map(|label| label["name"].as_str());
        names.map(str::to_owned).collect()
    }

    /// Changes a pull request.
    pub fn change_pull(&self, repo: &str, number: u64, change: impl FnOnce(&mut Pull)) {
        let mut model = self.state.model.lock();
        if let Some(pull) = model.repo(repo).pulls.get_mut(&number) {
            change(pull);
            let head = pull.head_sha.clone();
            model.repo(repo).commits.insert(head);
        }
    }

    /// What a user may do: `admin`, `write`, `read`, `none`.
    pub fn set_permission(&self, repo: &str, user: &str, permission: &str) {
        let mut model = self.state.model.lock();
        let permissions = &mut model.repo(repo).permissions;
        permissions.insert(user.to_owned(), permission.to_owned());
    }

    /// A comment, as if `author` had written it; gives its id.
    pub fn add_comment(&self, repo: &str, issue: u64, author: &str, body: &str) -> u64 {
        let comment = self.state.model.lock().comment(repo, issue, author, body);
        self.state.changed.notify_waiters();
        comment.id
    }

    /// The same, written at `at` (seconds since the Unix epoch).
    pub fn add_comment_at(&self, repo: &str, issue: u64, author: &str, body: &str, at: u64) -> u64 {
        let mut model = self.state.model.lock();
        let id = model.comment(repo, issue, author, body).id;
        let written = model.repo(repo).comments.last_mut();
        let written = written.expect("it was just written");
        (written.at, written.updated) = (at, at);
        id
    }

    /// Somebody changes the text of a comment.
    pub fn edit_comment(&self, repo: &str, id: u64, body: &str) {
        let mut model = self.state.model.lock();
        let mut comments = model.repo(repo).comments.iter_mut();
        if let Some(comment) = comments.find(|comment| comment.id == id) {
            body.clone_into(&mut comment.body);
            comment.updated = model::now();
        }
    }

    /// Closes an issue at a time (seconds since the Unix epoch).
    pub fn close_issue(&self, repo: &str, number: u64, at: u64) {
        let mut model = self.state.model.lock();
        if let Some(issue) = model.repo(repo).issues.get_mut(&number) {
            (issue.open, issue.closed_at) = (false, Some(at));
        }
    }

    /// It answers as a Gitea before 1.16: the rights of a collaborator cannot be asked for.
    pub fn set_old(&self) {
        self.state.model.lock().is_old = true;
    }

    /// What the hooks of a repository send, as somebody has chosen it by hand.
    pub fn set_hook_events(&self, repo: &str, events: &[&str]) {
        for hook in &mut self.state.model.lock().repo(repo).hooks {
            hook.events = events.iter().map(|&event| event.to_owned()).collect();
        }
    }

    /// The hooks of a repository.
    #[must_use]
    pub fn hooks(&self, repo: &str) -> Vec<Hook> {
        self.state.model.lock().repo(repo).hooks.clone()
    }

    /// Plans failures of requests to come; earlier plans come first.
    pub fn plan(&self, failure: PlannedFailure) {
        self.state.model.lock().plan.push(failure);
    }

    /// Plans failures that begin after `passed` further requests of their kind.
    pub fn plan_after(&self, passed: u32, failure: PlannedFailure) {
        let free = PlannedFailure {
            times: passed,
            failure: Failure::None,
            ..failure.clone()
        };
        self.state.model.lock().plan.extend([free, failure]);
    }

    /// Forgets all planned failures.
    pub fn plan_nothing(&self) {
        self.state.model.lock().plan.clear();
    }

    /// Every request so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.state.model.lock().requests.clone()
    }

    /// The releases of a repository.
    pub fn releases(&self, repo: &str) -> Vec<Release> {
        self.state.model.lock().repo(repo).releases.clone()
    }

    /// All statuses of a commit, as they came.
    #[must_use]
    pub fn statuses(&self, repo: &str, sha: &str) -> Vec<Status> {
        let mut model = self.state.model.lock();
        let all = model.repo(repo).statuses.iter();
        all.filter(|status| status.sha == sha).cloned().collect()
    }

    /// The latest status of a commit and context.
    #[must_use]
    pub fn status(&self, repo: &str, sha: &str, context: &str) -> Option<Status> {
        let all = self.statuses(repo, sha);
        all.into_iter()
            .rev()
            .find(|status| status.context == context)
    }

    /// Removes the statuses of a commit and context, as somebody might by hand.
    pub fn remove_status(&self, repo: &str, sha: &str, context: &str) {
        let mut model = self.state.model.lock();
        let statuses = &mut model.repo(repo).statuses;
        statuses.retain(|status| status.sha != sha || status.context != context);
    }

    /// The comments of an issue or pull request, as they came.
    #[must_use]
    pub fn comments(&self, repo: &str, issue: u64) -> Vec<Comment> {
        let mut model = self.state.model.lock();
        let all = model.repo(repo).comments.iter();
        all.filter(|comment| comment.issue == issue)
            .cloned()
            .collect()
    }

    /// A pull request.
    #[must_use]
    pub fn pull(&self, repo: &str, number: u64) -> Option<Pull> {
        self.state
            .model
            .lock()
            .repo(repo)
            .pulls
            .get(&number)
            .cloned()
    }

    /// Waits until something holds; looks after every request. Put a timeout around it.
    pub async fn wait_until(&self, holds: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.state.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if holds(self) {
                return;
            }
            changed.await;
        }
    }
}
