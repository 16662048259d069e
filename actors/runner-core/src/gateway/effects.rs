//! What a call of the forge's API moves there, and what its answer adds to that: events about it
//! start nothing.

use forge_core::HeadOrigin;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::path::{decoded, parts};
use super::refusal::CallRefusal;

const BRANCHES: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";
const ZEROS: &str = "0000000000000000000000000000000000000000";
/// Longest name that is noted: what a job names may have the size of a body.
const MAX_NAME: usize = 512;

/// What a call may cause at the forge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEffects {
    /// Branches and tags that it moves.
    pub moves: Vec<CallMove>,
    /// The pull request that it makes or changes.
    pub pull: Option<CallPull>,
}

/// A branch or tag that a call moves, as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallMove {
    /// The whole name; with a slash at its end: any below it.
    pub reference: String,
    /// Where it was; zeros: it is made.
    pub old: Option<String>,
    /// Where it is; zeros: it is removed.
    pub new: Option<String>,
    /// The forge makes the commit for this call: nobody else can have it.
    pub is_own_commit: bool,
}

/// A pull request that a call makes or changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallPull {
    /// Its number; of one that is made, when the forge has answered.
    pub number: Option<u64>,
    /// Actions of the events that this causes.
    pub actions: Vec<String>,
}

/// When a pull request is to be asked for: what a call does is not in its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullQuestion {
    /// Before the call: where its head is.
    Before(u64),
    /// After it: what it was merged into, and as what.
    After(u64),
}

/// A call that causes events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CausingCall {
    /// What is known before it is made.
    pub effects: CallEffects,
    /// What else must be asked.
    pub question: Option<PullQuestion>,
    /// Where the answer has the new commit of the first move.
    commit_at: Option<&'static str>,
    /// Where the answer has the tag's name.
    tag_at: Option<&'static str>,
    /// A merge removes the head's branch.
    removes_head: bool,
}

impl CallMove {
    fn new(reference: String, old: Option<&str>, new: Option<&str>) -> Self {
        Self {
            reference: bounded(reference),
            old: old.and_then(whole_id),
            new: new.and_then(whole_id),
            is_own_commit: false,
        }
    }

    /// It makes the reference.
    #[must_use]
    pub fn makes(&self) -> bool {
        self.old.as_deref() == Some(ZEROS)
    }

    /// It removes the reference.
    #[must_use]
    pub fn removes(&self) -> bool {
        self.new.as_deref() == Some(ZEROS)
    }
}

impl CausingCall {
    /// What a call causes that is passed on; `path` as it stands in the request line. `None`:
    /// nothing that could start a run.
    #[must_use]
    pub fn parse(method: &str, path: &str, body: &[u8]) -> Option<Self> {
        if matches!(method, "GET" | "HEAD") {
            return None;
        }
        let parts = parts(path).ok()?;
        let ["repos", _, _, rest @ ..] = parts.as_slice() else {
            return None;
        };
        let rest: Vec<String> = rest.iter().map(|part| decoded(part)).collect();
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        match rest.as_slice() {
            ["pulls" | "issues", ..] => of_pull(method, &rest, &body),
            _ => of_reference(method, &rest, &body),
        }
    }

    fn moving(one: CallMove, commit_at: Option<&'static str>) -> Self {
        Self {
            effects: CallEffects {
                moves: vec![one],
                pull: None,
            },
            question: None,
            commit_at,
            tag_at: None,
            removes_head: false,
        }
    }

    fn changing(number: Option<u64>, actions: &[&str]) -> Option<Self> {
        let actions = actions.iter().map(|action| (*action).to_owned()).collect();
        Some(Self {
            effects: CallEffects {
                moves: Vec::new(),
                pull: Some(CallPull { number, actions }),
            },
            question: None,
            commit_at: None,
            tag_at: None,
            removes_head: false,
        })
    }

    /// With what is known of a pull request before it is brought up to date with its base.
    pub fn with_head(&mut self, pull: &Value, repository: &str) {
        let text = |path: &str| pull.pointer(path).and_then(Value::as_str);
        let (Some(branch), Some(sha)) = (text("/head/ref"), text("/head/sha")) else {
            return;
        };
        // A fork's branch moves elsewhere, and no push of it is heard of here.
        let origin = HeadOrigin::of_head(branch, text("/head/repo/full_name"), repository);
        self.effects.moves = match origin == HeadOrigin::SameRepository {
            true => vec![CallMove::new(
                format!("{BRANCHES}{branch}"),
                Some(sha),
                None,
            )],
            false => Vec::new(),
        };
    }

    /// What it has caused, as its answer says; `None`: nothing. `merged` is the pull request after
    /// a merge.
    #[must_use]
    pub fn answered(
        mut self,
        status: u16,
        answer: &Value,
        merged: Option<&Value>,
    ) -> Option<CallEffects> {
        // Of what failed at the forge nobody knows how far it came.
        if status >= 500 {
            return Some(self.effects);
        }
        if !(200..300).contains(&status) {
            return None;
        }
        let is_draft = self.tag_at.is_some() && answer["draft"] == true;
        let is_merge = self.effects.pull.is_some();
        if is_draft || status == 204 && self.commit_at == Some("/sha") && !is_merge {
            return None;
        }
        let text = |path: &str| answer.pointer(path)?.as_str();
        let commit = self.commit_at.and_then(text).and_then(whole_id);
        for one in &mut self.effects.moves {
            one.new = one.new.take().or_else(|| commit.clone());
        }
        let tag = self.tag_at.and_then(text).filter(|tag| !tag.is_empty());
        if let (Some(one), Some(tag)) = (self.effects.moves.first_mut(), tag) {
            one.reference = bounded(format!("{TAGS}{tag}"));
        }
        if let Some(pull) = &mut self.effects.pull {
            pull.number = pull.number.or_else(|| answer["number"].as_u64());
        }
        match merged {
            // Only asked for: the forge merges it when its checks have passed.
            Some(merged) if merged["merged"] == false && answer["merged"] != true => None,
            Some(merged) => Some(self.merged(merged)),
            None => Some(self.effects),
        }
    }

    fn merged(mut self, pull: &Value) -> CallEffects {
        let text = |path: &str| pull.pointer(path).and_then(Value::as_str);
        if let Some(one) = self.effects.moves.first_mut() {
            if let Some(base) = text("/base/ref") {
                one.reference = bounded(format!("{BRANCHES}{base}"));
            }
            let commit = text("/merge_commit_sha").and_then(whole_id);
            one.new = one.new.take().or(commit);
        }
        if let Some(head) = text("/head/ref").filter(|_| self.removes_head) {
            let gone = CallMove::new(format!("{BRANCHES}{head}"), None, Some(ZEROS));
            self.effects.moves.push(gone);
        }
        self.effects
    }
}

/// A name as it is noted; what is too long: any.
fn bounded(reference: String) -> String {
    let any = if reference.starts_with(TAGS) {
        TAGS
    } else {
        BRANCHES
    };
    match reference.len() > MAX_NAME {
        true => any.to_owned(),
        false => reference,
    }
}

/// A whole id as events have it; nothing where it is none.
fn whole_id(text: &str) -> Option<String> {
    let is_whole = matches!(text.len(), 40 | 64) && text.bytes().all(|one| one.is_ascii_hexdigit());
    is_whole.then(|| text.to_ascii_lowercase())
}

/// A field as Gitea and Forgejo find it: its name in any case.
fn value_of<'a>(body: &'a Value, name: &str) -> Option<&'a Value> {
    let mut fields = body.as_object()?.iter();
    let found = fields.find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value)
}

fn field<'a>(body: &'a Value, name: &str) -> Option<&'a str> {
    let text = value_of(body, name)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

fn branch(name: Option<&str>) -> String {
    format!("{BRANCHES}{}", name.unwrap_or_default())
}

fn of_reference(method: &str, rest: &[&str], body: &Value) -> Option<CausingCall> {
    let moving = |one, commit_at| Some(CausingCall::moving(one, commit_at));
    let gone = |reference: String| moving(CallMove::new(reference, None, Some(ZEROS)), None);
    let commit = |name: &str| field(body, name);
    match (method, rest) {
        (_, ["contents", ..]) | ("POST", ["diffpatch"]) => {
            let made = commit("new_branch");
            let name = branch(made.or(commit("branch")));
            let mut one = CallMove::new(name, made.map(|_| ZEROS), None);
            one.is_own_commit = true;
            // GitHub makes no branch here, and reads no other spelling of a name.
            let exact = body["branch"].as_str();
            let other = CallMove::new(branch(exact), None, None);
            let is_other = other.reference != one.reference;
            let mut call = CausingCall::moving(one, Some("/commit/sha"));
            call.effects.moves.extend(is_other.then_some(other));
            Some(call)
        }
        ("POST", ["merges"]) => {
            let mut one = CallMove::new(branch(commit("base")), None, None);
            one.is_own_commit = true;
            moving(one, Some("/sha"))
        }
        ("POST", ["merge-upstream"]) => {
            moving(CallMove::new(branch(commit("branch")), None, None), None)
        }
        ("POST", ["git", "refs"]) => {
            let name = commit("ref").unwrap_or_default().to_owned();
            let new = commit("sha").filter(|_| !name.starts_with(TAGS));
            moving(CallMove::new(name, Some(ZEROS), new), None)
        }
        ("PATCH", ["git", "refs", name @ ..]) => {
            let name = format!("refs/{}", name.join("/"));
            // An event of a tag may name the tag's own object, or its commit.
            let new = commit("sha").filter(|_| !name.starts_with(TAGS));
            moving(CallMove::new(name, None, new), None)
        }
        ("DELETE", ["git", "refs", name @ ..]) => gone(format!("refs/{}", name.join("/"))),
        ("POST", ["branches"]) => {
            let made = CallMove::new(branch(commit("new_branch_name")), Some(ZEROS), None);
            moving(made, Some("/commit/id"))
        }
        ("POST", ["branches", name @ .., "rename"]) => renamed(&name.join("/"), commit("new_name")),
        ("PUT", ["branches", name @ ..]) => {
            let name = branch(Some(&name.join("/")));
            moving(CallMove::new(name, None, commit("new_commit_id")), None)
        }
        ("DELETE", ["branches", name @ ..]) => gone(branch(Some(&name.join("/")))),
        ("POST", ["tags"]) => {
            let name = format!("{TAGS}{}", commit("tag_name").unwrap_or_default());
            moving(CallMove::new(name, Some(ZEROS), None), None)
        }
        ("DELETE", ["tags", name @ ..]) => gone(format!("{TAGS}{}", name.join("/"))),
        // A release makes its tag where there is none.
        ("POST", ["releases"]) | ("PATCH", ["releases", _]) => {
            let name = format!("{TAGS}{}", commit("tag_name").unwrap_or_default());
            let mut call = CausingCall::moving(CallMove::new(name, Some(ZEROS), None), None);
            call.tag_at = Some("/tag_name");
            Some(call)
        }
        _ => None,
    }
}

fn renamed(from: &str, to: Option<&str>) -> Option<CausingCall> {
    let made = CallMove::new(branch(to), Some(ZEROS), None);
    let mut call = CausingCall::moving(made, Some("/commit/sha"));
    let gone = CallMove::new(branch(Some(from)), None, Some(ZEROS));
    call.effects.moves.push(gone);
    Some(call)
}

/// Fields of an issue or pull request, and what the forge says when they change.
const FIELDS: [(&[&str], &[&str]); 5] = [
    (&["state"], &["closed", "reopened"]),
    (&["labels"], &["labeled", "unlabeled"]),
    (&["assignee", "assignees"], &["assigned", "unassigned"]),
    (&["milestone"], &["milestoned", "demilestoned"]),
    (&["draft"], &["converted_to_draft", "ready_for_review"]),
];

/// Where Gitea and Forgejo take labels and the like together with a new pull request.
const MADE: [&str; 6] = [
    "opened",
    "labeled",
    "assigned",
    "milestoned",
    "review_requested",
    "edited",
];

fn of_pull(method: &str, rest: &[&str], body: &Value) -> Option<CausingCall> {
    if (method, rest) == ("POST", &["pulls"]) {
        return CausingCall::changing(None, &MADE);
    }
    let number = rest.get(1)?.parse().ok()?;
    let changing = |actions: &[&str]| CausingCall::changing(Some(number), actions);
    match (method, rest[0], rest.get(2).copied().unwrap_or_default()) {
        ("PATCH", _, "") => {
            let given = |names: &&[&str]| names.iter().any(|name| value_of(body, name).is_some());
            let changed = FIELDS.iter().filter(|(names, _)| given(names));
            let changed = changed.flat_map(|(_, actions)| actions.iter().copied());
            // Title, text, base and whatever else there is.
            let actions: Vec<&str> = changed.chain(["edited"]).collect();
            changing(&actions)
        }
        ("PUT" | "POST", "pulls", "merge") => {
            let mut call = changing(&["closed"])?;
            call.effects.moves = vec![CallMove {
                is_own_commit: true,
                ..CallMove::new(BRANCHES.to_owned(), None, None)
            }];
            call.commit_at = Some("/sha");
            call.question = Some(PullQuestion::After(number));
            let removes = value_of(body, "delete_branch_after_merge");
            call.removes_head = removes == Some(&Value::Bool(true));
            Some(call)
        }
        ("PUT" | "POST", "pulls", "update-branch" | "update") => {
            let mut call = changing(&["synchronize", "synchronized"])?;
            call.effects.moves = vec![CallMove::new(BRANCHES.to_owned(), None, None)];
            call.question = Some(PullQuestion::Before(number));
            Some(call)
        }
        (_, "pulls", "requested_reviewers") => {
            changing(&["review_requested", "review_request_removed"])
        }
        (_, "issues", "labels") => changing(&["labeled", "unlabeled"]),
        (_, "issues", "assignees") => changing(&["assigned", "unassigned"]),
        (_, "issues", "lock") => changing(&["locked", "unlocked"]),
        _ => None,
    }
}

/// The path of a pull request beside the one of a call.
///
/// # Errors
/// The call is of no repository.
pub fn pull_path(path: &str, number: u64) -> Result<String, CallRefusal> {
    let parts = parts(path)?;
    match parts.as_slice() {
        ["repos", owner, name, ..] => Ok(format!("/repos/{owner}/{name}/pulls/{number}")),
        _ => Err(CallRefusal("the call is of no repository".to_owned())),
    }
}

#[cfg(test)]
mod tests;
