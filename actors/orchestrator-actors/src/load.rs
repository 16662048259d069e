//! Reading the files of a configuration, and what only this host can tell about it. Blocks.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use config_core::{Diagnostics, Environment, MAX_FILE_BYTES};
use jiff::tz::TimeZone;
use orchestrator_core::admin::CheckView;
use orchestrator_core::config::{
    CheckedConfig, ConfigFile, ConfigFiles, ConfigHost, FileProblem, Folder, locate, routes,
};
use orchestrator_engine::process::Sandbox;
use orchestrator_engine::scenario;

use crate::host::DEFAULT_PATH;

/// Most files of one kind.
const MAX_FILES: usize = 500;

/// The main file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {reason}", path.display())]
pub struct ConfigLoadError {
    /// Which file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Reads `orchestrator.toml` and everything beside it that it names.
///
/// # Errors
/// When the main file cannot be read; what is wrong with others is part of the result.
pub fn load(path: &Path, environment: &Environment) -> Result<ConfigFiles, ConfigLoadError> {
    let error = |reason: String| ConfigLoadError {
        path: path.to_owned(),
        reason,
    };
    let path = fs::canonicalize(path).map_err(|why| error(why.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut loader = Loader {
        folder: folder.clone(),
        problems: Vec::new(),
    };
    let bytes = read(&path).map_err(|why| error(why.0))?;
    loader.check_exposure(&path, true);
    let main = ConfigFile::new(name, bytes);
    let places = locate(&main, &folder, environment);
    let fragments = loader.folder_of(&folder.join("conf.d"), "toml");
    loader.scenarios(&places.scenarios, environment);
    Ok(ConfigFiles {
        main,
        fragments,
        agent_tokens: loader.secret_file(&places.agent_tokens),
        persona_roles: loader.optional(&places.persona_roles),
        personas: loader.folder_of(&places.personas, "toml"),
        skills: loader.skills(&places.skills),
        routing: loader.folder_of(&places.routing, "md"),
        folder,
        problems: loader.problems,
    })
}

struct Loader {
    folder: PathBuf,
    problems: Vec<FileProblem>,
}

/// Why a file is not read, and what to do.
type Refusal = (String, &'static str);

impl Loader {
    fn display_path(&self, path: &Path) -> String {
        path.strip_prefix(&self.folder)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    fn problem(&mut self, path: &Path, (message, help): Refusal, warning: bool) {
        let name = self.display_path(path);
        self.problems.push(FileProblem {
            name,
            message,
            help: help.to_owned(),
            warning,
            of_secrets: false,
        });
    }

    fn file(&mut self, path: &Path) -> Option<ConfigFile> {
        match read_within(path) {
            Ok(bytes) => Some(ConfigFile::new(self.display_path(path), bytes)),
            Err(refusal) => {
                self.problem(path, refusal, false);
                None
            }
        }
    }

    fn optional(&mut self, path: &Path) -> Option<ConfigFile> {
        path.symlink_metadata().is_ok().then(|| self.file(path))?
    }

    fn secret_file(&mut self, path: &Path) -> Option<ConfigFile> {
        let file = self.optional(path)?;
        self.check_exposure(path, false);
        Some(file)
    }

    /// A file with secrets that others can read is worth a warning, and stops a strict start. With
    /// `may_name_variables` it is one only where it holds them as they are.
    fn check_exposure(&mut self, path: &Path, may_name_variables: bool) {
        let Ok(data) = fs::metadata(path) else { return };
        let mode = data.permissions().mode();
        if mode & 0o077 == 0 {
            return;
        }
        let mode = mode & 0o777;
        let help = match may_name_variables {
            true => "let its user have it with mode 600, or write `${NAME}` for its secrets",
            false => "let its user have it with mode 600: it holds secrets",
        };
        self.problems.push(FileProblem {
            name: self.display_path(path),
            message: format!("other users of this machine can read the file (mode {mode:03o})"),
            help: help.to_owned(),
            warning: true,
            of_secrets: may_name_variables,
        });
    }

    fn entries(&mut self, folder: &Path) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(folder) else {
            return Vec::new();
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| {
            let name = path.file_name().unwrap_or_default();
            !name.as_encoded_bytes().starts_with(b".")
        });
        paths.sort();
        if paths.len() > MAX_FILES {
            let message = format!("the folder has more than {MAX_FILES} entries");
            self.problem(folder, (message, "is it the right folder?"), false);
            paths.truncate(MAX_FILES);
        }
        paths
    }

    fn folder_of(&mut self, folder: &Path, extension: &str) -> Vec<ConfigFile> {
        let paths = self.entries(folder);
        let wanted = paths
            .iter()
            .filter(|path| path.extension().is_some_and(|found| found == extension));
        wanted.filter_map(|path| self.file(path)).collect()
    }

    /// What is wrong with the scenarios of the browser agent, which are read again by each of its
    /// runs.
    fn scenarios(&mut self, folder: &Path, environment: &Environment) {
        for file in self.folder_of(folder, "toml") {
            let Err(wrong) = scenario::parse(&file.name, &file.bytes, environment) else {
                continue;
            };
            for one in wrong.iter() {
                let help = one.help.clone().unwrap_or_default();
                let message = match (one.line, one.col) {
                    (Some(line), Some(col)) => format!("{line}:{col}: {}", one.message),
                    _ => one.message.clone(),
                };
                self.problems.push(FileProblem {
                    name: file.name.clone(),
                    message,
                    help,
                    warning: false,
                    of_secrets: false,
                });
            }
        }
    }

    fn skills(&mut self, folder: &Path) -> Vec<ConfigFile> {
        let paths = self.entries(folder);
        let files = paths.iter().map(|path| path.join("SKILL.md"));
        files.filter_map(|path| self.optional(&path)).collect()
    }
}

/// A regular file that is where it says it is.
fn read_within(path: &Path) -> Result<Vec<u8>, Refusal> {
    let parent = path
        .parent()
        .and_then(|parent| fs::canonicalize(parent).ok());
    let real = fs::canonicalize(path).map_err(|error| (error.to_string(), "make it readable"))?;
    if !parent.is_some_and(|parent| real.starts_with(parent)) {
        let message = "the file is a symbolic link that leads out of its folder".to_owned();
        return Err((message, "replace it by the file itself"));
    }
    read(&real)
}

fn read(path: &Path) -> Result<Vec<u8>, Refusal> {
    let text = |error: std::io::Error| (error.to_string(), "make it readable");
    let data = fs::metadata(path).map_err(text)?;
    if !data.is_file() {
        return Err(("this is no regular file".to_owned(), "remove it"));
    }
    if data.size() > MAX_FILE_BYTES as u64 {
        let message = format!(
            "the file has {} bytes, more than {MAX_FILE_BYTES}",
            data.size()
        );
        return Err((message, "is it the right file?"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(text)?;
    file.take(MAX_FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(text)?;
    Ok(bytes)
}

/// This machine, with the `PATH` of the environment.
#[derive(Debug, Clone)]
pub struct SystemHost {
    path: Vec<PathBuf>,
}

impl SystemHost {
    /// Looks for programs in the `PATH` of `environment`.
    pub fn new(environment: &Environment) -> Self {
        let path = environment.text("PATH").unwrap_or_default();
        Self {
            path: std::env::split_paths(path).collect(),
        }
    }
}

impl ConfigHost for SystemHost {
    fn has_program(&self, program: &str) -> bool {
        let runnable = |path: &Path| {
            fs::metadata(path)
                .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        };
        if program.contains('/') {
            return runnable(Path::new(program));
        }
        self.path
            .iter()
            .any(|folder| runnable(&folder.join(program)))
    }

    fn folder(&self, path: &Path) -> Folder {
        if !path.is_dir() {
            return Folder::Missing;
        }
        let git = path.join(".git").exists() || path.join("objects").is_dir();
        if git { Folder::Git } else { Folder::Plain }
    }

    fn time_zone(&self, name: &str) -> Option<TimeZone> {
        TimeZone::get(name).ok()
    }

    fn origin(&self, path: &Path) -> Option<String> {
        let places = [path.join(".git").join("config"), path.join("config")];
        let text = places.iter().find_map(|file| read(file).ok())?;
        origin_in(&String::from_utf8_lossy(&text))
    }
}

/// The last `url` of `[remote "origin"]` in a git configuration.
fn origin_in(text: &str) -> Option<String> {
    let (mut inside, mut found) = (false, None);
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.eq_ignore_ascii_case("[remote \"origin\"]");
        } else if inside
            && let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("url")
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    found
}

/// How far agents can be kept apart on this host, in one line.
pub fn isolation_here(environment: &Environment) -> String {
    let path = environment.text("PATH").unwrap_or(DEFAULT_PATH);
    let sandbox = Sandbox::detect(path);
    match sandbox.shortfall() {
        None => format!("isolation of agents on this host: {}", sandbox.level()),
        Some(why) => format!(
            "isolation of agents on this host: {}; {why}",
            sandbox.level()
        ),
    }
}

/// Diagnostics as the JSON of `--check --format json`.
pub fn as_values(diagnostics: &Diagnostics) -> Vec<serde_json::Value> {
    let value = |diagnostic| serde_json::to_value(diagnostic).unwrap_or_default();
    diagnostics.iter().map(value).collect()
}

/// The answer about a valid configuration.
pub fn check_view(checked: &CheckedConfig) -> CheckView {
    CheckView {
        valid: true,
        diagnostics: as_values(&checked.warnings),
        routes: routes(&checked.config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v2_origin_is_found_in_a_git_configuration() {
        let text = "[core]\n\tbare = false\n[remote \"other\"]\n\turl = https://o.example/x\n[remote \"origin\"]\n\
            \turl = https://ada:token@g.example/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n";
        let origin = origin_in(text);
        assert_eq!(origin.as_deref(), Some("https://ada:token@g.example/x.git"));
        assert_eq!(origin_in("[core]\nurl = x\n"), None);
    }
}
