//! Haystacks: the sources a role searches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use config_core::{ByteSize, Secret};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use url::Url;

use super::enumerations::Service;
use super::filter::FileFilter;
use super::source_location::{CommunitySite, Mcp, Tasks};

/// One source of a role.
///
/// Serialised, it has the shape of the role file with secrets as `***`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Haystack {
    /// The display name: unique in its role, never empty.
    pub name: String,
    /// The location as the file has it, variables put in.
    pub location: String,
    /// What is read there.
    pub source: Source,
}

/// What a haystack reads, by service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Files of a folder.
    LocalFiles(LocalFiles),
    /// An Atomic Data server.
    AtomicData {
        /// The server's address.
        server: Url,
        /// The secret of the agent to sign in as.
        agent_secret: Option<Secret<String>>,
    },
    /// Community posts and language documentation.
    CommunityDocs(CommunitySite),
    /// Tasks and issues.
    TaskTracker {
        /// The tracker.
        tasks: Tasks,
        /// The token its API wants.
        api_token: Option<Secret<String>>,
    },
    /// A folder of linked notes (Logseq, Obsidian).
    NotesGraph {
        /// The folder; a relative one is meant from the role file's folder.
        folder: PathBuf,
    },
    /// A server of the Model Context Protocol.
    Mcp {
        /// How it is reached.
        server: Mcp,
        /// The bearer token it wants.
        api_token: Option<Secret<String>>,
        /// The tool that searches; found by its name when absent.
        tool: Option<String>,
        /// Further arguments of the tool; `{query}` stands for the words.
        arguments: Vec<(String, String)>,
    },
    /// An index of an Elasticsearch-compatible engine.
    Elastic {
        /// The server's address, and last the name of the index.
        index: Url,
        /// The fields searched, the first is the title; all when empty.
        fields: Vec<String>,
        /// The API key it wants, or a whole `Authorization` value.
        api_token: Option<Secret<String>>,
    },
    /// The files of a git repository at a branch, tag or commit.
    GitRepository(GitRevision),
}

/// Which files of a repository are searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRevision {
    /// The repository, with a work tree or without; a relative one is meant from the role file's
    /// folder.
    pub folder: PathBuf,
    /// The branch, tag or commit as git understands it.
    pub revision: String,
    /// The files meant (`glob`).
    pub filter: FileFilter,
    /// Larger files are skipped and reported.
    pub max_file_size: ByteSize,
    /// Which hidden files are searched: all of a commit, unless said.
    pub hidden: HiddenFiles,
}

impl GitRevision {
    /// What is searched where no `revision` is given: the branch that is checked out, and of a
    /// bare repository its main one.
    pub const DEFAULT_REVISION: &str = "HEAD";

    /// All files of the repository at its `HEAD`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            revision: Self::DEFAULT_REVISION.to_owned(),
            filter: FileFilter::default(),
            max_file_size: LocalFiles::DEFAULT_MAX_FILE_SIZE,
            hidden: HiddenFiles::Tracked,
        }
    }
}

/// Which files of a folder are searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFiles {
    /// The folder; a relative one is meant from the role file's folder.
    pub folder: PathBuf,
    /// The files meant (`glob`).
    pub filter: FileFilter,
    /// Larger files are skipped and reported.
    pub max_file_size: ByteSize,
    /// Whether `.gitignore` files hide files; on by default.
    pub respect_gitignore: bool,
    /// Which hidden files are searched.
    pub hidden: HiddenFiles,
}

/// Which files are searched that are hidden: whose own name, or that of a folder they lie in,
/// begins with a dot. What is git's own (`.git`) and what is secret by its name never is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HiddenFiles {
    /// Those that git tracks.
    #[default]
    Tracked,
    /// All.
    All,
    /// None.
    None,
}

impl HiddenFiles {
    /// What the parameter `hidden` means.
    pub(super) fn from_parameter(hidden: Option<bool>) -> Self {
        match hidden {
            None => Self::Tracked,
            Some(true) => Self::All,
            Some(false) => Self::None,
        }
    }

    /// The parameter that means this; none for the default.
    fn parameter(self) -> Option<bool> {
        match self {
            Self::Tracked => None,
            Self::All => Some(true),
            Self::None => Some(false),
        }
    }
}

impl LocalFiles {
    /// 10 MB: larger texts are logs and data, and cost more than they give.
    pub const DEFAULT_MAX_FILE_SIZE: ByteSize = ByteSize::new(10_000_000);

    /// All files of `folder`, with the defaults.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            filter: FileFilter::default(),
            max_file_size: Self::DEFAULT_MAX_FILE_SIZE,
            respect_gitignore: true,
            hidden: HiddenFiles::Tracked,
        }
    }
}

impl Haystack {
    /// The kind of the haystack.
    pub fn service(&self) -> Service {
        match self.source {
            Source::LocalFiles(_) => Service::LocalFiles,
            Source::AtomicData { .. } => Service::AtomicData,
            Source::CommunityDocs(_) => Service::CommunityDocs,
            Source::TaskTracker { .. } => Service::TaskTracker,
            Source::NotesGraph { .. } => Service::NotesGraph,
            Source::Mcp { .. } => Service::Mcp,
            Source::Elastic { .. } => Service::Elastic,
            Source::GitRepository(_) => Service::GitRepository,
        }
    }

    /// The parameters as one line of JSON, secrets left out and defaults too: equal parameters
    /// have equal texts, today and after a restart.
    pub fn parameters_text(&self) -> String {
        let text = serde_json::to_string(&ExtraParameters(&self.source));
        text.expect("a map of strings and booleans can be written")
    }

    /// Makes relative paths absolute: they are meant from `base`, the role file's folder.
    pub(super) fn resolve(&mut self, base: &Path) {
        let path = match &mut self.source {
            Source::LocalFiles(files) => Some(&mut files.folder),
            Source::GitRepository(git) => Some(&mut git.folder),
            Source::NotesGraph { folder } => Some(folder),
            Source::CommunityDocs(community) => community.path_mut(),
            Source::TaskTracker {
                tasks: Tasks::TodoTxt(path) | Tasks::Beads(path),
                ..
            } => Some(path),
            _ => None,
        };
        if let Some(path) = path {
            *path = base.join(&*path);
        }
    }

    /// The branch, tag or commit of a `GitRepository` haystack.
    pub fn revision(&self) -> Option<&str> {
        match &self.source {
            Source::GitRepository(git) => Some(&git.revision),
            _ => None,
        }
    }

    /// The files of a `LocalFiles` haystack.
    pub fn local_files(&self) -> Option<&LocalFiles> {
        match &self.source {
            Source::LocalFiles(files) => Some(files),
            _ => None,
        }
    }
}

impl Serialize for Haystack {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("service", &self.service())?;
        map.serialize_entry("location", &self.location)?;
        map.serialize_entry("extra_parameters", &ExtraParameters(&self.source))?;
        map.end()
    }
}

/// The `extra_parameters` of a source: those that differ from their default.
struct ExtraParameters<'a>(&'a Source);

impl Serialize for ExtraParameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            Source::LocalFiles(files) => {
                let default = LocalFiles::new("");
                if files.filter != default.filter {
                    map.serialize_entry("glob", files.filter.as_str())?;
                }
                if files.max_file_size != default.max_file_size {
                    map.serialize_entry("max_file_size", &files.max_file_size)?;
                }
                if !files.respect_gitignore {
                    map.serialize_entry("respect_gitignore", &false)?;
                }
                if let Some(hidden) = files.hidden.parameter() {
                    map.serialize_entry("hidden", &hidden)?;
                }
            }
            Source::GitRepository(git) => {
                let default = GitRevision::new("");
                if git.revision != default.revision {
                    map.serialize_entry("revision", &git.revision)?;
                }
                if git.filter != default.filter {
                    map.serialize_entry("glob", git.filter.as_str())?;
                }
                if git.max_file_size != default.max_file_size {
                    map.serialize_entry("max_file_size", &git.max_file_size)?;
                }
                if let Some(hidden) = git.hidden.parameter() {
                    map.serialize_entry("hidden", &hidden)?;
                }
            }
            Source::AtomicData {
                agent_secret: Some(secret),
                ..
            } => {
                map.serialize_entry("agent_secret", secret)?;
            }
            Source::TaskTracker {
                api_token: Some(token),
                ..
            } => {
                map.serialize_entry("api_token", token)?;
            }
            Source::Mcp {
                api_token,
                tool,
                arguments,
                ..
            } => {
                if let Some(token) = api_token {
                    map.serialize_entry("api_token", token)?;
                }
                if let Some(tool) = tool {
                    map.serialize_entry("tool", tool)?;
                }
                if !arguments.is_empty() {
                    let arguments: BTreeMap<_, _> =
                        arguments.iter().map(|(name, text)| (name, text)).collect();
                    map.serialize_entry("arguments", &arguments)?;
                }
            }
            Source::Elastic {
                fields, api_token, ..
            } => {
                if let Some(token) = api_token {
                    map.serialize_entry("api_token", token)?;
                }
                if !fields.is_empty() {
                    map.serialize_entry("fields", fields)?;
                }
            }
            _ => {}
        }
        map.end()
    }
}
