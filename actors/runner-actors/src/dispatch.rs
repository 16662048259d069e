//! A run that somebody starts by hand: at the newest commit that the branch has now, as the
//! repository itself says.

use std::time::Duration;

use forge_core::{CommitSha, Forge};
use git_engine::{GitError, Mirror, Remote};
use runner_core::context::check_dispatch_inputs;
use runner_core::event::EventKind;
use runner_core::workflow::{InputKind, InputSpec};
use serde::Serialize;
use store::{Store, StoreError};
use utoipa::ToSchema;

use crate::event::StoredEvent;
use crate::job_services::WorkflowFile;
use crate::known_repository::KnownRepository;
use crate::messages::{DispatchFailure, DispatchWorkflow};
use crate::repositories::{Repositories, SourceError};
use crate::rows;
use crate::source::{FetchedCommit, ReadWorkflow};

/// Longest wait for the repository's answer: whoever asks waits too.
const GIT_TIMEOUT: Duration = Duration::from_secs(8);

/// The event of a dispatch, at the branch's head or the tag's commit, and the file of the workflow,
/// which takes these inputs.
pub(crate) async fn event_at_head(
    store: &Store,
    repositories: Repositories,
    request: &DispatchWorkflow,
) -> Result<Result<(StoredEvent, String), DispatchFailure>, StoreError> {
    let repository = request.repository.clone();
    let known = store.read(move |rows| rows::load_repository(rows, &repository));
    let Some(known) = known.await? else {
        return Ok(Err(DispatchFailure::Repository));
    };
    let (branch, workflow) = (request.branch.clone(), request.workflow.clone());
    let inputs = request.inputs.clone();
    let found = tokio::task::spawn_blocking(move || {
        let event = at_head(&repositories, &known, branch)?;
        let file = started_file(&repositories, &event, &workflow, &inputs)?;
        Ok((event, file))
    });
    let found = found
        .await
        .unwrap_or_else(|error| Err(DispatchFailure::Unreachable(error.to_string())));
    let dispatched = |event: StoredEvent| event.dispatched(&request.actor, request.inputs.clone());
    Ok(found.map(|(event, file)| (dispatched(event), file)))
}

/// The file that is meant, where its workflow may be started with these inputs. One that cannot be
/// read is: its run says why.
fn started_file(
    repositories: &Repositories,
    event: &StoredEvent,
    workflow: &str,
    inputs: &[(String, String)],
) -> Result<String, DispatchFailure> {
    let unreachable = |error: SourceError| DispatchFailure::Unreachable(error.to_string());
    let source = FetchedCommit::fetch(repositories, event).map_err(unreachable)?;
    let read = source.workflows().map_err(unreachable)?;
    let is_meant = |file: &str| {
        let name = file.rsplit('/').next();
        file == workflow || name == Some(workflow)
    };
    let mut read = read.into_iter();
    let Some((file, parsed)) = read.find(|(file, _)| is_meant(file)) else {
        return Err(DispatchFailure::Workflow(config_core::quoted(workflow)));
    };
    if let Ok(parsed) = parsed {
        let Some(specs) = &parsed.on.workflow_dispatch else {
            let text = format!("{file} does not say `workflow_dispatch`");
            return Err(DispatchFailure::Inputs(text));
        };
        check_dispatch_inputs(specs, inputs).map_err(DispatchFailure::Inputs)?;
    }
    Ok(file)
}

/// A repository that has pushed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SeenRepository {
    /// `owner/repo`.
    pub repository: String,
    /// Its page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its default branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<String>,
    /// Branches that were pushed, the last one first.
    pub branches: Vec<String>,
}

impl SeenRepository {
    pub(crate) fn from_known(known: &KnownRepository) -> Self {
        let branches = known.heads.iter().rev();
        Self {
            repository: known.repository.clone(),
            url: known.html_url.clone(),
            default_branch: known.default_branch.clone(),
            branches: branches.map(|(branch, _)| branch.clone()).collect(),
        }
    }
}

/// What somebody may start on a branch.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct StartableWorkflows {
    /// The branch.
    pub branch: String,
    /// Its newest commit.
    pub sha: String,
    /// The workflows that say `workflow_dispatch`.
    pub workflows: Vec<StartableWorkflow>,
    /// Workflow files that cannot be read, and why.
    pub wrong: Vec<String>,
}

/// A workflow that says `workflow_dispatch`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct StartableWorkflow {
    /// Its file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// What it asks for.
    pub inputs: Vec<DispatchInput>,
}

/// An input of a workflow that somebody starts.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DispatchInput {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `string`, `boolean`, `number`, `choice`, `environment`.
    pub kind: &'static str,
    /// Whether it must be given.
    pub required: bool,
    /// Its value when it is not given, where that needs no expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Of a choice: what may be chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl DispatchInput {
    fn from_spec(input: &InputSpec) -> Self {
        let (kind, options) = match &input.kind {
            InputKind::Text => ("string", Vec::new()),
            InputKind::Boolean => ("boolean", Vec::new()),
            InputKind::Number => ("number", Vec::new()),
            InputKind::Choice(options) => ("choice", options.clone()),
            InputKind::Environment => ("environment", Vec::new()),
        };
        let default = input.default.as_ref().and_then(|default| default.fixed());
        Self {
            name: input.name.clone(),
            description: input.description.clone(),
            kind,
            required: input.required,
            default: default.map(|default| default.as_text().to_string()),
            options,
        }
    }
}

/// What somebody may start on a branch, as its newest commit says.
pub(crate) async fn startable(
    store: &Store,
    repositories: Repositories,
    repository: &str,
    branch: Option<String>,
) -> Result<Result<StartableWorkflows, DispatchFailure>, StoreError> {
    let found = at_newest(store, repositories, repository, branch, |event, read| {
        let branch = event.reference.strip_prefix("refs/heads/");
        let mut found = StartableWorkflows {
            branch: branch.unwrap_or(&event.reference).to_owned(),
            sha: event.sha.clone(),
            workflows: Vec::new(),
            wrong: Vec::new(),
        };
        for (file, workflow) in read {
            match workflow {
                Ok(workflow) => {
                    let Some(inputs) = &workflow.on.workflow_dispatch else {
                        continue;
                    };
                    found.workflows.push(StartableWorkflow {
                        name: workflow.display_name().to_owned(),
                        inputs: inputs.iter().map(DispatchInput::from_spec).collect(),
                        file,
                    });
                }
                Err(wrong) => found.wrong.push(wrong.to_string()),
            }
        }
        found
    });
    found.await
}

/// All workflows of the default branch, as its newest commit has them.
pub(crate) async fn workflows(
    store: &Store,
    repositories: Repositories,
    repository: &str,
) -> Result<Result<Vec<WorkflowFile>, DispatchFailure>, StoreError> {
    let default = repositories.forge();
    let found = at_newest(store, repositories, repository, None, move |event, read| {
        let page = |file: &str| {
            let branch = event.reference.strip_prefix("refs/heads/")?;
            let middle = match event.forge(default) {
                Forge::GitHub => "blob",
                Forge::Gitea | Forge::Forgejo => "src/branch",
            };
            let base = event.html_url.as_deref()?.trim_end_matches('/');
            Some(format!("{base}/{middle}/{branch}/{file}"))
        };
        let files = read.into_iter().map(|(file, workflow)| WorkflowFile {
            // One that cannot be read is called by its file.
            name: workflow.map_or_else(|_| file.clone(), |it| it.display_name().to_owned()),
            page: page(&file),
            file,
        });
        files.collect()
    });
    found.await
}

/// What the workflow files of a branch's newest commit say.
async fn at_newest<T: Send + 'static>(
    store: &Store,
    repositories: Repositories,
    repository: &str,
    branch: Option<String>,
    work: impl FnOnce(&StoredEvent, Vec<ReadWorkflow>) -> T + Send + 'static,
) -> Result<Result<T, DispatchFailure>, StoreError> {
    let repository = repository.to_owned();
    let known = store.read(move |rows| rows::load_repository(rows, &repository));
    let Some(known) = known.await? else {
        return Ok(Err(DispatchFailure::Repository));
    };
    let found = tokio::task::spawn_blocking(move || {
        let event = at_head(&repositories, &known, branch)?;
        let unreachable = |error: SourceError| DispatchFailure::Unreachable(error.to_string());
        let source = FetchedCommit::fetch(&repositories, &event).map_err(unreachable)?;
        let read = source.workflows().map_err(unreachable)?;
        Ok(work(&event, read))
    });
    let found = found.await;
    Ok(found.unwrap_or_else(|error| Err(DispatchFailure::Unreachable(error.to_string()))))
}

fn at_head(
    repositories: &Repositories,
    known: &KnownRepository,
    branch: Option<String>,
) -> Result<StoredEvent, DispatchFailure> {
    let unreachable = |error: String| DispatchFailure::Unreachable(error);
    let repo = known
        .repository
        .parse()
        .map_err(|_| DispatchFailure::Repository)?;
    let remote = repositories.remote(&known.clone_url, &known.repository);
    let remote = remote.map_err(|error| unreachable(error.to_string()))?;
    let mirror = repositories.mirror(&repo);
    let mirror = mirror.map_err(|error| unreachable(error.to_string()))?;
    let (reference, head) = match branch.or_else(|| known.default_branch.clone()) {
        Some(name) => named(&mirror, &remote, &name)?,
        None => match mirror.remote_default(&remote, GIT_TIMEOUT) {
            Ok(Some((branch, head))) => (format!("refs/heads/{branch}"), head),
            Ok(None) => return Err(DispatchFailure::Branch),
            Err(error) => return Err(unreachable(error.to_string())),
        },
    };
    Ok(known.event_at_reference(EventKind::WorkflowDispatch, &reference, head.as_str()))
}

/// A branch, else a tag, by its name or its whole name, and its commit.
fn named(
    mirror: &Mirror,
    remote: &Remote,
    name: &str,
) -> Result<(String, CommitSha), DispatchFailure> {
    let unreachable = |error: GitError| DispatchFailure::Unreachable(error.to_string());
    let tag = name.strip_prefix("refs/tags/");
    if tag.is_none() {
        let branch = format!(
            "refs/heads/{}",
            name.strip_prefix("refs/heads/").unwrap_or(name)
        );
        let head = mirror.remote_ref(remote, &branch, GIT_TIMEOUT);
        if let Some(head) = head.map_err(unreachable)? {
            return Ok((branch, head));
        }
        if name.starts_with("refs/") {
            return Err(DispatchFailure::Branch);
        }
    }
    // Through an annotated tag to its commit.
    let found = mirror.remote_commit(remote, tag.unwrap_or(name), GIT_TIMEOUT);
    let found = found.map_err(unreachable)?;
    let found = found.and_then(|(commit, reference)| {
        let tag = reference.filter(|reference| reference.tag().is_some())?;
        Some((tag.to_string(), commit))
    });
    found.ok_or(DispatchFailure::Branch)
}
