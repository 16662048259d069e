//! What a role file lets the server read, start and call, and what of it the API may add.
//!
//! The operator's file reaches whatever it names. A text that came over the API reaches what the
//! file in force reaches already, and what lies below the roots that the file names in
//! `allowed_roots`.

use std::path::{Path, PathBuf};

use config_core::{ConfigItem, ObjectFields, parse_http_url};
use serde::Serialize;
use url::Url;

use super::haystack::{Haystack, Source};
use super::model::Role;
use super::source_location::{CommunitySite, FolderOrUrl, Mcp, Tasks};

/// Below what the API may add sources. Nothing where it is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct AllowedRoots {
    /// Folders whose files and folders may be searched, or read as tasks, thesaurus or
    /// model.
    pub files: Vec<PathBuf>,
    /// Folders whose programs may be started, with any arguments.
    pub programs: Vec<PathBuf>,
    /// Servers that may be asked: scheme, host and port count.
    pub servers: Vec<Url>,
}

impl AllowedRoots {
    /// The keys of `allowed_roots`.
    const KEYS: [&'static str; 3] = ["files", "programs", "servers"];

    /// Whether the API may add nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn resolve(&mut self, folder: &Path) {
        for path in self.files.iter_mut().chain(&mut self.programs) {
            *path = folder.join(&*path);
        }
    }

    /// Whether a server may be asked.
    pub fn allows_server(&self, url: &Url) -> bool {
        let mut allowed = self.servers.iter();
        allowed.any(|allowed| allowed.origin() == url.origin())
    }

    pub(super) fn decode(
        item: &ConfigItem<'_>,
        folder: impl Fn(&ConfigItem<'_>) -> Option<PathBuf>,
    ) -> Option<Self> {
        let read = |fields: &ObjectFields<'_>| {
            let files = fields.optional("files", |item| item.list(&folder));
            let programs = fields.optional("programs", |item| item.list(&folder));
            let url = |item: &ConfigItem<'_>| item.parsed(parse_http_url);
            let servers = fields.optional("servers", |item| item.list(url));
            Some(Self {
                files: files.unwrap_or_default(),
                programs: programs.unwrap_or_default(),
                servers: servers.unwrap_or_default(),
            })
        };
        item.fields("allowed_roots", &Self::KEYS, read)
    }
}

/// One thing outside the file that it makes the server use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalResource {
    /// Where it stands, for people: `role R, haystack H`.
    pub place: String,
    /// What it is.
    pub target: ReachTarget,
    /// The other parameters of its haystack: they say what is read there.
    parameters: String,
}

/// What a role file makes the server use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReachTarget {
    /// A file or folder that is read.
    File(PathBuf),
    /// A program that is started: its name or path, and the location as it is written.
    Program {
        /// The first word of the command.
        program: String,
        /// The whole location.
        location: String,
    },
    /// A server that is asked.
    Server(Url),
}

impl ExternalResource {
    /// Whether both use the same thing in the same way.
    pub fn is_same(&self, other: &Self) -> bool {
        self.target == other.target && self.parameters == other.parameters
    }

    /// All of a role.
    pub(super) fn from_role(role: &Role) -> Vec<Self> {
        let of_haystack = |haystack: &Haystack| {
            let target = haystack_target(haystack)?;
            Some(Self {
                place: format!("role `{}`, haystack `{}`", role.name, haystack.name),
                target,
                parameters: haystack.parameters_text(),
            })
        };
        let extra = &role.extra;
        let file = |path: &Option<PathBuf>| path.clone().map(ReachTarget::File);
        let server = |url: &Option<Url>| url.clone().map(ReachTarget::Server);
        let extras = [
            ("thesaurus", file(&extra.thesaurus)),
            ("embedding_model", file(&extra.embedding_model)),
            ("localllm_base_url", server(&extra.localllm_base_url)),
            ("embedding_server_url", server(&extra.embedding_server_url)),
            ("rerank_model", file(&extra.rerank_model)),
            ("rerank_server_url", server(&extra.rerank_server_url)),
        ];
        let of_extra = extras.into_iter().filter_map(|(key, target)| {
            Some(Self {
                place: format!("role `{}`, `extra.{key}`", role.name),
                target: target?,
                parameters: key.to_owned(),
            })
        });
        let haystacks = role.haystacks.iter().filter_map(of_haystack);
        haystacks.chain(of_extra).collect()
    }
}

/// Nothing for the services whose address is part of the program.
fn haystack_target(haystack: &Haystack) -> Option<ReachTarget> {
    let file = |path: &PathBuf| Some(ReachTarget::File(path.clone()));
    let server = |url: &Url| Some(ReachTarget::Server(url.clone()));
    let program = |program: &str| {
        Some(ReachTarget::Program {
            program: program.to_owned(),
            location: haystack.location.clone(),
        })
    };
    match &haystack.source {
        Source::LocalFiles(files) => file(&files.folder),
        Source::NotesGraph { folder } => file(folder),
        Source::GitRepository(git) => file(&git.folder),
        Source::AtomicData { server: url, .. } | Source::Elastic { index: url, .. } => server(url),
        Source::CommunityDocs(community) => match community {
            CommunitySite::DevDocs(FolderOrUrl::Folder(path))
            | CommunitySite::Rustdoc(FolderOrUrl::Folder(path))
            | CommunitySite::Sphinx(FolderOrUrl::Folder(path)) => file(path),
            CommunitySite::Discourse(url)
            | CommunitySite::DevDocs(FolderOrUrl::Url(url))
            | CommunitySite::Rustdoc(FolderOrUrl::Url(url))
            | CommunitySite::Sphinx(FolderOrUrl::Url(url)) => server(url),
            CommunitySite::HackerNews(url) if haystack.location != "hackernews" => server(url),
            CommunitySite::HackerNews(_)
            | CommunitySite::StackExchange(_)
            | CommunitySite::QueryRs => None,
        },
        Source::TaskTracker { tasks, .. } => match tasks {
            Tasks::Taskwarrior => program("task"),
            Tasks::TodoTxt(path) | Tasks::Beads(path) => file(path),
            Tasks::Gitea(url) | Tasks::Forgejo(url) | Tasks::Vikunja(url) => server(url),
            Tasks::GitHub(_) | Tasks::ClickUp(_) => None,
        },
        Source::Mcp { server: mcp, .. } => match mcp {
            Mcp::Stdio { command, .. } => program(command),
            Mcp::Http(url) => server(url),
        },
    }
}
