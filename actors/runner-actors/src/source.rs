//! The commit of an event: fetched, its workflow files read, its tree laid out. Blocking.

use std::path::Path;
use std::time::Duration;

use config_core::{Diagnostics, quoted};
use forge_core::{CommitSha, Forge, GitRef, ObjectFormats, RepoName};
use git_engine::{Depth, Fetch, Merge, Mirror, Remote, TreeEntryKind, TreeLimits, TreeSize};
use runner_core::event::{
    EventContext, EventKind, PullRequestCommit, RunCommit, StartDecision, decide,
};
use runner_core::state::RunProgress;
use runner_core::workflow::{
    self, Dialect, EventTrigger, ParsedFile, WORKFLOW_DIRECTORIES, Workflow,
};

use crate::event::StoredEvent;
use crate::repositories::{Repositories, SourceError};

/// A workflow file's path, and what it says or what is wrong with it.
pub(crate) type ReadWorkflow = (String, Result<Workflow, Diagnostics>);

/// Workflow files of one commit that are looked at.
const MAX_FILES: usize = 200;
/// Bytes of a commit's message.
const MAX_MESSAGE: usize = 1 << 20;

/// Longest time to ask the repository where a branch is.
const ASK_TIMEOUT: Duration = Duration::from_secs(60);

/// A commit that was fetched.
pub(crate) struct FetchedCommit {
    mirror: Mirror,
    remote: Remote,
    limits: TreeLimits,
    default_branch: Option<String>,
    /// What is laid out.
    sha: CommitSha,
    /// The event's commit: the same, but where a merge of it is run.
    head: CommitSha,
    reference: Option<GitRef>,
    merged: Option<MergedPull>,
    /// The commit whose workflow files count: the base's for events from elsewhere.
    definition: CommitSha,
    before: Option<CommitSha>,
    public_url: String,
    size: TreeSize,
    /// The kind of forge it is of: files are read by its grammar.
    forge: Forge,
}

/// A workflow file that was looked at.
pub(crate) struct WorkflowCandidate {
    pub(crate) file: String,
    /// What the workflow calls itself; nothing where it cannot be read.
    pub(crate) name: Option<String>,
    pub(crate) matched: WorkflowMatch,
    /// When the clock starts it: expression and time zone.
    pub(crate) schedules: Vec<(String, Option<String>)>,
    /// The names of the workflows whose runs start it.
    pub(crate) follows: Vec<String>,
    /// What else starts it: [`StoredEvent::trigger`].
    pub(crate) started_by: Vec<String>,
}

/// What an event means for a workflow file.
pub(crate) enum WorkflowMatch {
    /// It starts it.
    Start(Box<Workflow>),
    /// It does not, and why.
    Skip(String),
    /// The file is wrong.
    Invalid(Diagnostics),
}

/// A pull request that was merged for its run.
struct MergedPull {
    onto: CommitSha,
    branch: String,
    merge: Merge,
}

impl MergedPull {
    /// The merge of the event's commit, where it is of a pull request and that is to be run.
    fn find(
        repositories: &Repositories,
        event: &StoredEvent,
        (mirror, remote): (&Mirror, &Remote),
        head: &CommitSha,
    ) -> Result<Option<Self>, SourceError> {
        let is_pull = event.kind().commit() == RunCommit::PullHead;
        let is_wanted = repositories.pull_request_commit() == PullRequestCommit::Merge;
        let Some(branch) = event.base_branch().filter(|_| is_pull && is_wanted) else {
            return Ok(None);
        };
        let reference = format!("refs/heads/{branch}");
        let onto = match &event.merged_onto {
            Some(onto) => CommitSha::parse(onto, ObjectFormats::Sha1AndSha256).ok(),
            None => mirror.remote_ref(remote, &reference, ASK_TIMEOUT)?,
        };
        // A branch that is gone is merged into no more.
        let Some(onto) = onto else {
            return Ok(None);
        };
        mirror.fetch(remote, &onto, reference.parse().ok().as_ref())?;
        mirror.tree_size(&onto, repositories.tree_limits())?;
        Ok(Some(Self {
            merge: mirror.merge(&onto, head)?,
            branch: branch.to_owned(),
            onto,
        }))
    }
}

impl FetchedCommit {
    /// Fetches the event's commit.
    pub(crate) fn fetch(
        repositories: &Repositories,
        event: &StoredEvent,
    ) -> Result<Self, SourceError> {
        let repo: RepoName = event
            .repository
            .parse()
            .map_err(|_| SourceError::Id("repository"))?;
        let id = |text: &str| CommitSha::parse(text, ObjectFormats::Sha1AndSha256);
        let sha = id(&event.sha).map_err(|_| SourceError::Id("commit"))?;
        let before = event.before.as_deref().and_then(|before| id(before).ok());
        let remote = repositories.remote(&event.clone_url, &event.repository)?;
        let public_url = remote.url().to_string();
        let mirror = repositories.mirror(&repo)?;
        let reference: Option<GitRef> = event.reference.parse().ok();
        mirror.fetch(&remote, &sha, reference.as_ref())?;
        if let Some(tag) = reference.as_ref().and_then(GitRef::tag) {
            // One that is gone by now is no more than a name of the commit.
            let _ = mirror.fetch_tag(&remote, tag);
        }
        // Before anything walks through it: a comparison names as many paths as a checkout lays
        // out.
        let limits = repositories.tree_limits();
        let mut size = mirror.tree_size(&sha, limits)?;
        let head = sha.clone();
        let merged = MergedPull::find(repositories, event, (&mirror, &remote), &head)?;
        let (mut sha, mut reference) = (sha, reference);
        if let Some(Merge::Commit(commit)) = merged.as_ref().map(|merged| &merged.merge) {
            size = mirror.tree_size(commit, limits)?;
            sha = commit.clone();
            reference = event
                .context()
                .merged_as(sha.as_str())
                .reference
                .parse()
                .ok();
        }
        let fetched = before.filter(|base| mirror.fetch(&remote, base, None).is_ok());
        let measured = fetched.map(|base| mirror.tree_size(&base, limits).map(|_| base));
        let base = match (measured, event.untrusted) {
            // Without the base's files nothing of a stranger's is run.
            (None, true) => return Err(SourceError::Id("base commit")),
            (Some(Err(error)), true) => return Err(error.into()),
            (base, _) => base.and_then(Result::ok),
        };
        let definition = match &base {
            Some(base) if event.untrusted => base.clone(),
            _ => sha.clone(),
        };
        Ok(Self {
            mirror,
            remote,
            limits: *limits,
            default_branch: event.default_branch.clone(),
            sha,
            head,
            reference,
            merged,
            definition,
            before: base,
            public_url,
            size,
            forge: event.forge(repositories.forge()),
        })
    }

    /// The event as its run sees it.
    pub(crate) fn context(&self, event: &StoredEvent) -> EventContext {
        match &self.merged {
            Some(MergedPull {
                merge: Merge::Commit(commit),
                ..
            }) => event.context().merged_as(commit.as_str()),
            _ => event.context(),
        }
    }

    /// The commit that the event's was merged onto.
    pub(crate) fn merged_onto(&self) -> Option<&CommitSha> {
        self.merged.as_ref().map(|merged| &merged.onto)
    }

    /// Why nothing of a pull request is run, where it cannot be merged.
    pub(crate) fn conflict(&self) -> Option<String> {
        let merged = self.merged.as_ref()?;
        let Merge::Conflict(files) = &merged.merge else {
            return None;
        };
        let named: Vec<String> = files.iter().take(5).map(|file| quoted(file)).collect();
        let more = match files.len().checked_sub(named.len()) {
            Some(more @ 1..) => format!(" and {more} more"),
            _ => String::new(),
        };
        Some(format!(
            "the pull request conflicts with {} in {}{more}: nothing of it is run before that is resolved, as on GitHub",
            merged.branch,
            named.join(", ")
        ))
    }

    /// What the commit lays out.
    pub(crate) fn size(&self) -> TreeSize {
        self.size
    }

    /// All workflow files, and what the event means for each.
    pub(crate) fn candidates(
        &self,
        event: &mut EventContext,
    ) -> Result<Vec<WorkflowCandidate>, SourceError> {
        if event.message.is_none() {
            // Pull requests do not bring it, and it may ask for no run.
            event.message = Some(self.mirror.message(&self.head, MAX_MESSAGE)?);
        }
        let files = self.workflow_files()?.into_iter();
        files.map(|file| self.candidate(file, event)).collect()
    }

    /// The paths of the workflow files.
    fn workflow_files(&self) -> Result<Vec<String>, SourceError> {
        for directory in WORKFLOW_DIRECTORIES {
            // Gitea and Forgejo read subfolders too, GitHub does not.
            let is_deep = Dialect::for_file(directory, self.forge).is_forge();
            let entries = match is_deep {
                true => self.mirror.list_below(&self.definition, directory)?,
                false => self.mirror.list(&self.definition, directory)?,
            };
            let files = entries
                .into_iter()
                .filter(|entry| entry.kind == TreeEntryKind::File);
            let files =
                files.filter(|entry| entry.path.ends_with(".yml") || entry.path.ends_with(".yaml"));
            let files: Vec<String> = files.map(|entry| entry.path).take(MAX_FILES).collect();
            if !files.is_empty() {
                return Ok(files);
            }
        }
        Ok(Vec::new())
    }

    /// All workflow files as they are read.
    pub(crate) fn workflows(&self) -> Result<Vec<ReadWorkflow>, SourceError> {
        let read = |file: String| {
            let most = runner_core::limits::MAX_FILE_BYTES;
            let bytes = self.mirror.read(&self.definition, &file, most)?;
            let parsed = self.parse(&file, &bytes).map(|parsed| parsed.value);
            Ok((file, parsed))
        };
        self.workflow_files()?.into_iter().map(read).collect()
    }

    fn parse(&self, file: &str, bytes: &[u8]) -> Result<ParsedFile<Workflow>, Diagnostics> {
        workflow::parse_as(file, bytes, Dialect::for_file(file, self.forge))
    }

    fn candidate(
        &self,
        file: String,
        event: &mut EventContext,
    ) -> Result<WorkflowCandidate, SourceError> {
        let bytes =
            self.mirror
                .read(&self.definition, &file, runner_core::limits::MAX_FILE_BYTES)?;
        let parsed = match self.parse(&file, &bytes) {
            Ok(parsed) => parsed.value,
            Err(diagnostics) => {
                return Ok(WorkflowCandidate {
                    name: None,
                    file,
                    matched: WorkflowMatch::Invalid(diagnostics),
                    schedules: Vec::new(),
                    follows: Vec::new(),
                    started_by: Vec::new(),
                });
            }
        };
        let schedules = parsed.on.schedule.iter().map(|schedule| {
            let schedule = &schedule.value;
            (schedule.cron.clone(), schedule.timezone.clone())
        });
        let schedules = schedules.collect();
        let follows = parsed.on.event(EventKind::WorkflowRun);
        let follows = follows.map(|trigger| trigger.workflows.clone());
        let others = parsed.on.events.iter();
        let others = others.flat_map(triggers);
        let of_pulls = parsed.on.pull_request.iter().flat_map(|it| &it.types);
        let of_pulls = of_pulls.map(|action| format!("pull_request.{action}"));
        let started_by = others.chain(of_pulls).collect();
        let name = Some(parsed.display_name().to_owned());
        let mut decision = decide(&parsed, event);
        if decision == StartDecision::NeedsPaths {
            event.changed_paths = Some(self.changed(event)?);
            decision = decide(&parsed, event);
        }
        let matched = match decision {
            StartDecision::Start => WorkflowMatch::Start(Box::new(parsed)),
            StartDecision::Skip(reason) => WorkflowMatch::Skip(reason),
            StartDecision::NeedsPaths => {
                WorkflowMatch::Skip("the changed files are not known".to_owned())
            }
        };
        Ok(WorkflowCandidate {
            name,
            file,
            matched,
            schedules,
            follows: follows.unwrap_or_default(),
            started_by,
        })
    }

    fn changed(&self, event: &EventContext) -> Result<Vec<String>, SourceError> {
        let Some(before) = &self.before else {
            return self.changed_since_default(event);
        };
        let names = if event.base_branch.is_some() {
            self.mirror.changed_since_fork(before, &self.head)
        } else {
            self.mirror.changed(before, &self.sha)
        };
        Ok(names?)
    }

    /// The files that are changed where nothing is known of before: a new branch, a push over a
    /// commit that the forge has dropped, or one that no webhook told of. It is compared with the
    /// default branch, as forges do; on that one, and with another history, every file is new.
    fn changed_since_default(&self, event: &EventContext) -> Result<Vec<String>, SourceError> {
        let own = event.reference.strip_prefix("refs/heads/");
        let base = event.base_branch.as_ref();
        let branch = base.or(self.default_branch.as_ref());
        let (name, head) = match branch {
            Some(name) if Some(name.as_str()) == own => (name.clone(), None),
            Some(name) => {
                let reference = format!("refs/heads/{name}");
                let head = self
                    .mirror
                    .remote_ref(&self.remote, &reference, ASK_TIMEOUT)?;
                (name.clone(), head)
            }
            None => match self.mirror.remote_default(&self.remote, ASK_TIMEOUT)? {
                Some((name, head)) => (name, Some(head)),
                None => (String::new(), None),
            },
        };
        let head = head.filter(|_| own != Some(&*name));
        if let Some(head) = head {
            self.mirror.fetch(&self.remote, &head, None)?;
            self.mirror.tree_size(&head, &self.limits)?;
            if let Ok(names) = self.mirror.changed_since_fork(&head, &self.head) {
                return Ok(names);
            }
        }
        Ok(self.mirror.paths(&self.sha)?)
    }

    /// A file of the commit whose definitions count.
    pub(crate) fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.mirror
            .read(
                &self.definition,
                path.trim_start_matches("./"),
                runner_core::limits::MAX_FILE_BYTES,
            )
            .ok()
    }

    /// Lays the commit's tree out.
    pub(crate) fn check_out(&self, directory: &Path) -> Result<(), SourceError> {
        // What a previous attempt left.
        let _ = std::fs::remove_dir_all(directory);
        let tree = self.mirror.work_tree(directory, &self.public_url)?;
        let reference = self.reference.as_ref();
        let wanted = Fetch {
            commit: &self.sha,
            reference,
            depth: Depth::Commits(1),
            tags: false,
        };
        tree.fetch_from_mirror(&self.mirror, &wanted)?;
        Ok(tree.check_out(&self.sha, reference, None)?)
    }
}

/// What an event trigger waits for: of runs that are followed by how far they have come.
fn triggers(trigger: &EventTrigger) -> Vec<String> {
    let kind = trigger.kind.as_str();
    if trigger.kind != EventKind::WorkflowRun {
        return vec![kind.to_owned()];
    }
    let types = trigger.types.as_slice();
    let is_named = |action: &str| types.iter().any(|it| it.eq_ignore_ascii_case(action));
    let actions = RunProgress::ALL.map(RunProgress::as_str).into_iter();
    let actions = actions.filter(|action| types.is_empty() || is_named(action));
    let mut triggers: Vec<String> = actions.map(|action| format!("{kind}.{action}")).collect();
    triggers.push(kind.to_owned());
    triggers
}
