//! The commit of an event: fetched, its workflow files read, its tree laid out. Blocking.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use config_core::Diagnostics;
use forge_core::{CommitSha, GitRef, ObjectFormats, RepoName};
use git_engine::{Depth, EntryKind, Git, GitError, Mirror, Mirrors, Remote, RemoteError, TreeSize};
use runner_core::event::{Decision, EventContext, decide};
use runner_core::state::RunState;
use runner_core::workflow::{self, Workflow};

use crate::event::StoredEvent;
use crate::settings::RunnerSettings;

/// Folders of workflow files; the first one that exists counts.
const FOLDERS: [&str; 3] = [
    ".forgejo/workflows",
    ".gitea/workflows",
    ".github/workflows",
];
/// Workflow files of one commit that are looked at.
const MAX_FILES: usize = 200;
/// Bytes of a commit's message.
const MAX_MESSAGE: usize = 1 << 20;

/// Why the commit cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// The event's clone URL is not used.
    #[error("the repository cannot be fetched: {0}")]
    Remote(#[from] RemoteError),
    /// Its host is not public, and not the forge.
    #[error("the clone URL leads to {address}, which is neither public nor the forge's")]
    Address {
        /// Where it leads.
        address: IpAddr,
    },
    /// Its host cannot be looked up.
    #[error("the host of the clone URL cannot be looked up: {0}")]
    Lookup(String),
    /// Git said no.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The event's ids are none.
    #[error("the event names no usable {0}")]
    Id(&'static str),
    /// The forge does not say which commit a pull request proposes.
    #[error("the pull request's head is not known: {0}")]
    NoHead(String),
}

impl SourceError {
    /// How a run ends that cannot have its commit.
    pub(crate) fn state(&self) -> RunState {
        match self {
            Self::Git(error) if error.is_refusal() => RunState::Refused,
            _ => RunState::Failed,
        }
    }
}

/// A commit that was fetched.
pub(crate) struct Source {
    mirror: Mirror,
    sha: CommitSha,
    /// The commit whose workflow files count: the base's for events from elsewhere.
    definition: CommitSha,
    before: Option<CommitSha>,
    public_url: String,
    size: TreeSize,
}

/// A workflow file that was looked at.
pub(crate) struct Candidate {
    pub(crate) file: String,
    /// What the workflow calls itself; nothing where it cannot be read.
    pub(crate) name: Option<String>,
    pub(crate) outcome: Outcome,
    /// When the clock starts it: expression and time zone.
    pub(crate) schedules: Vec<(String, Option<String>)>,
}

/// What an event means for a workflow file.
pub(crate) enum Outcome {
    /// It starts it.
    Start(Box<Workflow>),
    /// It does not, and why.
    Skip(String),
    /// The file is wrong.
    Wrong(Diagnostics),
}

impl Source {
    /// Fetches the event's commit.
    pub(crate) fn fetch(
        settings: &RunnerSettings,
        mirrors: &Mirrors,
        event: &StoredEvent,
    ) -> Result<Self, SourceError> {
        let repo: RepoName = event
            .repository
            .parse()
            .map_err(|_| SourceError::Id("repository"))?;
        let id = |text: &str| CommitSha::parse(text, ObjectFormats::Sha1AndSha256);
        let sha = id(&event.sha).map_err(|_| SourceError::Id("commit"))?;
        let before = event.before.as_deref().and_then(|before| id(before).ok());
        let remote = remote(settings, &event.clone_url)?;
        let public_url = remote.url().to_string();
        let mirror = mirrors.open(&repo)?;
        let reference: Option<GitRef> = event.reference.parse().ok();
        mirror.fetch(&remote, &sha, reference.as_ref())?;
        // Before anything walks through it: a comparison names as many paths as a checkout lays out.
        let limits = &settings.checkouts.tree;
        let size = mirror.tree_size(&sha, limits)?;
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
            sha,
            definition,
            before: base,
            public_url,
            size,
        })
    }

    /// What the commit lays out.
    pub(crate) fn size(&self) -> TreeSize {
        self.size
    }

    /// All workflow files, and what the event means for each.
    pub(crate) fn candidates(
        &self,
        event: &mut EventContext,
    ) -> Result<Vec<Candidate>, SourceError> {
        if event.message.is_none() {
            // Pull requests do not bring it, and it may ask for no run.
            event.message = Some(self.mirror.message(&self.sha, MAX_MESSAGE)?);
        }
        for folder in FOLDERS {
            let entries = self.mirror.list(&self.definition, folder)?;
            let files = entries
                .into_iter()
                .filter(|entry| entry.kind == EntryKind::File);
            let files =
                files.filter(|entry| entry.path.ends_with(".yml") || entry.path.ends_with(".yaml"));
            let files: Vec<String> = files.map(|entry| entry.path).take(MAX_FILES).collect();
            if !files.is_empty() {
                return files
                    .into_iter()
                    .map(|file| self.candidate(file, event))
                    .collect();
            }
        }
        Ok(Vec::new())
    }

    fn candidate(&self, file: String, event: &mut EventContext) -> Result<Candidate, SourceError> {
        let bytes =
            self.mirror
                .read(&self.definition, &file, runner_core::limits::MAX_FILE_BYTES)?;
        let parsed = match workflow::parse(&file, &bytes) {
            Ok(parsed) => parsed.value,
            Err(diagnostics) => {
                return Ok(Candidate {
                    name: None,
                    file,
                    outcome: Outcome::Wrong(diagnostics),
                    schedules: Vec::new(),
                });
            }
        };
        let schedules = parsed.on.schedule.iter().map(|schedule| {
            let schedule = &schedule.value;
            (schedule.cron.clone(), schedule.timezone.clone())
        });
        let schedules = schedules.collect();
        let name = Some(parsed.display_name().to_owned());
        let mut decision = decide(&parsed, event);
        if decision == Decision::NeedsPaths {
            event.changed_paths = Some(self.changed(event)?);
            decision = decide(&parsed, event);
        }
        let outcome = match decision {
            Decision::Start => Outcome::Start(Box::new(parsed)),
            Decision::Skip(reason) => Outcome::Skip(reason),
            Decision::NeedsPaths => Outcome::Skip("the changed files are not known".to_owned()),
        };
        Ok(Candidate {
            name,
            file,
            outcome,
            schedules,
        })
    }

    fn changed(&self, event: &EventContext) -> Result<Vec<String>, SourceError> {
        let Some(before) = &self.before else {
            // A new branch: every file of it is new.
            return Ok(vec!["**".to_owned()]);
        };
        let names = if event.base_branch.is_some() {
            self.mirror.changed_since_fork(before, &self.sha)
        } else {
            self.mirror.changed(before, &self.sha)
        };
        Ok(names?)
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
    pub(crate) fn check_out(&self, folder: &Path) -> Result<(), SourceError> {
        // What a former attempt left.
        let _ = std::fs::remove_dir_all(folder);
        Ok(self
            .mirror
            .check_out(&self.sha, folder, Depth::Commits(1), &self.public_url)?)
    }
}

/// Mirrors of the settings.
pub(crate) fn mirrors(settings: &RunnerSettings) -> Mirrors {
    let (program, path) = &settings.git;
    let limits = &settings.checkouts;
    let git = Git::new(program, path)
        .timeout(limits.time)
        .memory(limits.memory)
        // A pack and a file of a checkout alike.
        .largest_file(limits.fetch_bytes.max(limits.tree.bytes));
    Mirrors::new(git, PathBuf::from(&settings.repositories))
}

/// A repository's remote, with its address checked and what is needed to get in. Blocks for the lookup of its name.
pub(crate) fn remote(settings: &RunnerSettings, clone_url: &str) -> Result<Remote, SourceError> {
    let remote = Remote::parse(clone_url, settings.transports)?;
    let is_forge = settings
        .forge_url
        .as_ref()
        .is_some_and(|forge| forge.origin() == remote.url().origin());
    let mut remote = remote;
    let target = remote
        .host_and_port()
        .map(|(host, port)| (host.to_owned(), port));
    if let (Some((host, port)), false) = (target, is_forge) {
        let name = host.trim_matches(['[', ']']).to_owned();
        let addresses = (name.as_str(), port)
            .to_socket_addrs()
            .map_err(|error| SourceError::Lookup(error.to_string()))?;
        let addresses: Vec<IpAddr> = addresses.map(|address| address.ip()).collect();
        if let Some(address) = addresses
            .iter()
            .find(|address| !settings.addresses.allows(&name, **address, port))
        {
            return Err(SourceError::Address { address: *address });
        }
        // git connects to exactly these.
        remote = remote.pinned(addresses);
    }
    // The token goes to the forge it is for, and nowhere else.
    match (&settings.forge_token, is_forge) {
        (Some(token), true) => Ok(remote.with_token("oauth2", token.clone())),
        _ => Ok(remote),
    }
}
