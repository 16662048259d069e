//! What a check is given: the files as bytes, and what only the host can tell.

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

/// One file, read by the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFile {
    /// What messages call it; for example `conf.d/main.toml`.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl ConfigFile {
    /// A file.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            bytes: bytes.into(),
        }
    }

    /// The file name without folder and extension; of `skills/x/SKILL.md` the folder's name.
    pub(crate) fn stem(&self) -> &str {
        let path = Path::new(&self.name);
        let of_folder = path
            .file_name()
            .is_some_and(|name| name == "SKILL.md")
            .then(|| path.parent())
            .flatten();
        let stem = of_folder.map_or_else(|| path.file_stem(), Path::file_name);
        stem.and_then(|stem| stem.to_str()).unwrap_or_default()
    }
}

/// All files of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFiles {
    /// The folder of `orchestrator.toml`, absolute.
    pub folder: PathBuf,
    /// `orchestrator.toml`.
    pub main: ConfigFile,
    /// `conf.d/*.toml`, by name.
    pub fragments: Vec<ConfigFile>,
    /// `agent_tokens.json`.
    pub agent_tokens: Option<ConfigFile>,
    /// `persona_roles_config.json`.
    pub persona_roles: Option<ConfigFile>,
    /// Persona files (`*.toml`).
    pub personas: Vec<ConfigFile>,
    /// Skill files (`<name>/SKILL.md`).
    pub skills: Vec<ConfigFile>,
    /// Routing tables (`*.md`).
    pub routing: Vec<ConfigFile>,
    /// What went wrong while reading, and what is odd about the files themselves.
    pub problems: Vec<FileProblem>,
}

/// What only the reader of a file can know about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// The file.
    pub name: String,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Whether the configuration can be used all the same (unless it is strict).
    pub warning: bool,
    /// It is one where the file holds secrets as they are, not names of variables.
    pub of_secrets: bool,
}

/// What kind of folder a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    /// The work tree of a git repository.
    Git,
    /// Any other folder.
    Plain,
    /// None that can be read.
    Missing,
}

/// What only the host can tell.
pub trait ConfigHost {
    /// Whether `program` (a name on `PATH` or an absolute path) can be started.
    fn has_program(&self, program: &str) -> bool;
    /// What stands at `path`.
    fn folder(&self, path: &Path) -> Folder;
    /// The time zone of that IANA name.
    fn time_zone(&self, name: &str) -> Option<TimeZone>;
    /// The address of `origin` in the repository at `path`, as it is written there.
    fn origin(&self, path: &Path) -> Option<String> {
        let _ = path;
        None
    }
}

/// A host on which everything exists: for parsing a configuration made for another machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnyHost;

impl ConfigHost for AnyHost {
    fn has_program(&self, _: &str) -> bool {
        true
    }

    fn folder(&self, _: &Path) -> Folder {
        Folder::Git
    }

    fn time_zone(&self, name: &str) -> Option<TimeZone> {
        TimeZone::get(name).ok()
    }
}
