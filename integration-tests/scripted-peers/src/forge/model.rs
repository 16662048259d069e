//! What the forge holds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::answers::WrittenAnswer;
use crate::server::Recorded;

/// The model, and who waits for a change of it.
#[derive(Default)]
pub(crate) struct ForgeState {
    pub(crate) model: Mutex<Model>,
    pub(crate) changed: Notify,
}

/// A commit status as it was posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Grows.
    pub id: u64,
    /// The commit.
    pub sha: String,
    /// The context.
    pub context: String,
    /// The state word, whatever it is.
    pub state: String,
    /// The description.
    pub description: String,
    /// The address.
    pub target_url: String,
    /// Whose token posted it.
    pub creator: String,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Its id.
    pub id: u64,
    /// Where it stands.
    pub issue: u64,
    /// Who wrote it.
    pub author: String,
    /// Its text.
    pub body: String,
    /// When, in seconds since the Unix epoch.
    pub at: u64,
    /// When it was changed last.
    pub updated: u64,
}

/// A release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Its id.
    pub id: u64,
    /// Its tag.
    pub tag: String,
    /// Names of its files, and what they hold.
    pub assets: Vec<(String, Vec<u8>)>,
}

/// A hook of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Its id.
    pub id: u64,
    /// Where deliveries go.
    pub url: String,
    /// What they are signed with.
    pub secret: String,
    /// `json` or `form`.
    pub content_type: String,
    /// Its events.
    pub events: Vec<String>,
    /// It delivers.
    pub active: bool,
    /// How often it was tried.
    pub tests: u32,
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Who opened it.
    pub author: String,
    /// Where its branch is, `owner/name`; `None`: in the repository itself.
    pub head_repo: Option<String>,
    /// Its branch.
    pub head_branch: String,
    /// The proposed commit.
    pub head_sha: String,
    /// The branch it is for.
    pub base_branch: String,
    /// That branch's commit.
    pub base_sha: String,
    /// It is open.
    pub open: bool,
    /// It was merged: it cannot be opened again.
    pub merged: bool,
}

impl Pull {
    /// An open pull request of `author` for `main`, from a branch of the same repository.
    #[must_use]
    pub fn new(number: u64, author: &str, head_sha: &str, base_sha: &str) -> Self {
        Self {
            number,
            title: format!("change {number}"),
            author: author.to_owned(),
            head_repo: None,
            head_branch: format!("change-{number}"),
            head_sha: head_sha.to_owned(),
            base_branch: "main".to_owned(),
            base_sha: base_sha.to_owned(),
            open: true,
            merged: false,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Issue {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) open: bool,
    pub(crate) closed_at: Option<u64>,
}

/// How a request fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Not at all: it is done and answered.
    None,
    /// This status, with `Retry-After` seconds; nothing is done.
    Status(u16, Option<u64>),
    /// No answer for so long, then the connection is as good as gone; nothing is done.
    Hang(Duration),
    /// It is done, and answered with this status nevertheless.
    DoneBut(u16),
    /// It is done, and then there is no answer for so long.
    DoneThenHang(Duration),
    /// It is done, and the answer is cut short.
    DoneThenCut,
    /// Nothing for so long, then it is done and answered: a forge that was stopped and goes on.
    DoneAfter(Duration),
}

/// Failures of requests to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFailure {
    /// Of this method; `None`: of any.
    pub method: Option<&'static str>,
    /// Whose path holds this.
    pub path: String,
    /// So many of them.
    pub times: u32,
    /// How.
    pub failure: Failure,
}

impl PlannedFailure {
    /// The next `times` requests of this method whose path holds `path` fail so.
    #[must_use]
    pub fn new(method: &'static str, path: &str, times: u32, failure: Failure) -> Self {
        Self {
            method: Some(method),
            path: path.to_owned(),
            times,
            failure,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Repo {
    pub(crate) commits: BTreeSet<String>,
    /// Of commits that have one.
    pub(crate) messages: BTreeMap<String, String>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) issues: BTreeMap<u64, Issue>,
    pub(crate) pulls: BTreeMap<u64, Pull>,
    pub(crate) permissions: BTreeMap<String, String>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) releases: Vec<Release>,
    pub(crate) labels: Vec<Value>,
    /// Of pull requests, by their numbers.
    pub(crate) reviews: Vec<(u64, Value)>,
    /// What an issue or a pull request has beside: labels, assignees, a pull request's text.
    extra: BTreeMap<u64, Value>,
    /// Branches that were deleted.
    pub(crate) deleted: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Model {
    repos: BTreeMap<String, Repo>,
    /// Token to login.
    pub(crate) users: BTreeMap<String, String>,
    pub(crate) plan: Vec<PlannedFailure>,
    pub(crate) requests: Vec<Recorded>,
    pub(crate) answers: Vec<WrittenAnswer>,
    /// It knows only the calls of Gitea before 1.16.
    pub(crate) is_old: bool,
    last_id: u64,
}

/// Seconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

impl Model {
    /// A repository, made if it is not there.
    pub(crate) fn repo(&mut self, name: &str) -> &mut Repo {
        self.repos.entry(name.to_ascii_lowercase()).or_default()
    }

    pub(crate) fn known_repo(&mut self, name: &str) -> Option<&mut Repo> {
        self.repos.get_mut(&name.to_ascii_lowercase())
    }

    pub(crate) fn repo_names(&self) -> Vec<String> {
        self.repos.keys().cloned().collect()
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn comment(&mut self, repo: &str, issue: u64, author: &str, body: &str) -> Comment {
        let at = now();
        let comment = Comment {
            id: self.next_id(),
            issue,
            author: author.to_owned(),
            body: body.to_owned(),
            at,
            updated: at,
        };
        self.repo(repo).comments.push(comment.clone());
        comment
    }

    /// What this issue or pull request has beside.
    pub(crate) fn extra(&mut self, repo: &str, number: u64) -> &mut Value {
        let extra = &mut self.repo(repo).extra;
        extra.entry(number).or_insert_with(|| json!({}))
    }

    /// Adds it to an answer about one, or a list of them.
    pub(crate) fn complete(&mut self, repo: &str, answer: &mut Value) {
        let of = self.repo(repo);
        let many = match answer {
            Value::Array(many) => many.as_mut_slice(),
            one => std::slice::from_mut(one),
        };
        for one in many {
            let number = one["number"].as_u64();
            let extra = number.and_then(|number| of.extra.get(&number));
            for (name, value) in extra.and_then(Value::as_object).into_iter().flatten() {
                one[name] = value.clone();
            }
        }
    }

    /// Takes a planned failure for a request.
    pub(crate) fn planned(&mut self, method: &str, path: &str) -> Option<Failure> {
        let fits = |plan: &PlannedFailure| {
            plan.times > 0 && plan.method.is_none_or(|of| of == method) && path.contains(&plan.path)
        };
        let plan = self.plan.iter_mut().find(|plan| fits(plan))?;
        plan.times -= 1;
        Some(plan.failure.clone())
    }
}
