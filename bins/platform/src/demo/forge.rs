//! A forge on the loopback address that the sample's statuses and comments go to. Whoever tries the
//! platform has none yet that sends webhooks to this machine.

use std::sync::mpsc;

use anyhow::{Context, Result};
use scripted_peers::{Pull, ScriptedForge};

/// The repository, as the orchestrator's quick start calls it.
pub(super) const REPOSITORY: &str = "acme/main";
/// Who works in it.
pub(super) const PERSON: &str = "ada";
/// The issue that the sample's mention is written in.
pub(super) const ISSUE: u64 = 1;
/// The sample's pull request.
pub(super) const PULL: u64 = 2;

/// The forge; its thread ends with this process.
pub(super) struct DemoForge {
    forge: ScriptedForge,
    /// Dropped last, which ends the thread's wait.
    _running: tokio::sync::oneshot::Sender<()>,
}

impl DemoForge {
    /// Starts it, with the sample's repository; this token is the platform's.
    ///
    /// # Errors
    /// When its thread cannot be made.
    pub(super) fn start(token: &str) -> Result<Self> {
        let (give, started) = mpsc::channel();
        let (running, ended) = tokio::sync::oneshot::channel::<()>();
        std::thread::Builder::new()
            .name("forge".to_owned())
            .spawn(move || {
                actix_rt::System::new().block_on(async move {
                    if give.send(ScriptedForge::start()).is_ok() {
                        // It ends without a word when this process does.
                        let _ = ended.await;
                    }
                });
            })?;
        let forge = started.recv().context("the sample's forge did not start")?;
        forge.add_user("orrery", token);
        forge.add_repo(REPOSITORY);
        forge.set_permission(REPOSITORY, PERSON, "write");
        forge.add_issue(REPOSITORY, ISSUE, "Say hello");
        Ok(Self {
            forge,
            _running: running,
        })
    }

    /// Its address.
    pub(super) fn url(&self) -> String {
        self.forge.url()
    }

    /// A commit that statuses can be set on.
    pub(super) fn add_commit(&self, sha: &str) {
        self.forge.add_commit(REPOSITORY, sha);
    }

    /// Opens the pull request.
    pub(super) fn open_pull(&self, head: &str, base: &str) {
        self.forge
            .add_pull(REPOSITORY, Pull::new(PULL, PERSON, head, base));
    }

    /// A further issue.
    pub(super) fn add_issue(&self, issue: u64) {
        self.forge.add_issue(REPOSITORY, issue, "Say hello again");
    }

    /// A comment of the sample's person; gives its id.
    pub(super) fn comment(&self, issue: u64, body: &str) -> u64 {
        self.forge.add_comment(REPOSITORY, issue, PERSON, body)
    }

    /// What the platform has commented.
    pub(super) fn answers(&self, issue: u64) -> Vec<String> {
        let comments = self.forge.comments(REPOSITORY, issue).into_iter();
        comments
            .filter(|comment| comment.author != PERSON)
            .map(|comment| comment.body)
            .collect()
    }

    /// The latest status of every context of a commit: context, state, description.
    pub(super) fn statuses(&self, sha: &str) -> Vec<[String; 3]> {
        let mut latest = std::collections::BTreeMap::new();
        for status in self.forge.statuses(REPOSITORY, sha) {
            latest.insert(status.context, (status.state, status.description));
        }
        latest
            .into_iter()
            .map(|(context, (state, description))| [context, state, description])
            .collect()
    }
}
