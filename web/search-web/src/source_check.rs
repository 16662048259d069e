//! What the start or the first search of a source would refuse: folders, files and programs that
//! are not there.

use std::path::{Path, PathBuf};

use config_core::{
    Diagnostic, Diagnostics, Environment, Severity, SourceText, TextPlace, ValueError,
};
use search_actors::source_git;
use search_core::role::{
    CommunitySite, FolderOrUrl, Haystack, Mcp, RoleDocument, RoleFile, Source, Tasks,
};
use search_engine::devdocs::DevDocs;
use search_engine::revision::{Revision, RevisionError};
use search_engine::tasks;
use search_engine::walk::RootDirectory;

/// Where programs are looked for when `PATH` is not set.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Opens what each source names, and says what cannot be used with its place in the file.
///
/// `roles` are those of `document`, with absolute paths; `name` is what messages call the file.
#[must_use]
pub fn check_sources(
    name: &str,
    document: &RoleDocument,
    roles: &RoleFile,
    environment: &Environment,
) -> Diagnostics {
    let places = document.texts();
    let text = SourceText::read(name, document.text().as_bytes());
    let mut found = Diagnostics::default();
    for (role_index, role) in roles.roles().iter().enumerate() {
        for (index, haystack) in role.haystacks.iter().enumerate() {
            let Err(reason) = check(haystack, environment) else {
                continue;
            };
            let severity = severity_of(haystack);
            let below = format!("haystacks[{index}].location");
            let path = [format!("roles[{role_index}].{below}"), below];
            let place: Option<&TextPlace> = places.iter().find(|one| path.contains(&one.key_path));
            found.push(match (&text, place) {
                (Ok(text), Some(place)) => {
                    let range = place.range.clone();
                    text.diagnostic(severity, range, &reason, None, &place.key_path)
                }
                _ => {
                    let place = format!("role `{}`, haystack `{}`", role.name, haystack.name);
                    let found = Diagnostic::for_setting(&place, ValueError::new(reason));
                    match severity {
                        Severity::Warning => found.into_warning(),
                        Severity::Error => found,
                    }
                }
            });
        }
    }
    found
}

/// A folder of files that is not there yet is waited for by the server: it may be mounted later.
fn severity_of(haystack: &Haystack) -> Severity {
    let is_git = matches!(haystack.source, Source::GitRepository(_));
    match haystack.indexed_files() {
        Some(files) if !is_git && !files.folder.exists() => Severity::Warning,
        _ => Severity::Error,
    }
}

fn check(haystack: &Haystack, environment: &Environment) -> Result<(), String> {
    if let Source::GitRepository(git) = &haystack.source {
        let opened = Revision::open(&source_git(), &git.folder, &git.revision);
        let files = opened.map_err(Into::into).and_then(|opened| opened.files());
        return files
            .map(drop)
            .map_err(|error: RevisionError| error.to_string());
    }
    if let Some(files) = haystack.indexed_files() {
        let opened = RootDirectory::open(&files.folder);
        return opened.map(drop).map_err(|error| error.to_string());
    }
    match &haystack.source {
        Source::CommunityDocs(CommunitySite::DevDocs(FolderOrUrl::Folder(folder))) => {
            dev_docs(folder)
        }
        Source::TaskTracker { tasks, .. } => match tasks {
            Tasks::TodoTxt(path) => file(tasks::todo_txt(path)),
            Tasks::Beads(path) => file(tasks::beads(path)),
            Tasks::Taskwarrior => program("task", environment),
            _ => Ok(()),
        },
        Source::Mcp {
            server: Mcp::Stdio { command, .. },
            ..
        } => program(command, environment),
        _ => Ok(()),
    }
}

fn file<T>(read: Result<T, tasks::TasksError>) -> Result<(), String> {
    read.map(drop)
        .map_err(|error| format!("{error}; correct `location`, or make the file"))
}

fn dev_docs(folder: &Path) -> Result<(), String> {
    if !folder.is_dir() {
        return Err(format!(
            "folder {} does not exist: download the documentation there (`index.json` and `db.json`) or correct `location`",
            folder.display()
        ));
    }
    let read = DevDocs::new(folder.to_owned()).find("", 0);
    read.map(drop).map_err(|error| {
        format!("{error}; a DevDocs documentation is `index.json` and `db.json` in one folder")
    })
}

fn program(name: &str, environment: &Environment) -> Result<(), String> {
    if name.contains('/') {
        let path = PathBuf::from(name);
        return match is_program(&path) {
            true => Ok(()),
            false => Err(format!(
                "program `{name}` does not exist or cannot be started: install it or correct `location`"
            )),
        };
    }
    let folders = environment.text("PATH").unwrap_or(USUAL_PATH);
    let mut places = std::env::split_paths(folders).map(|folder| folder.join(name));
    if places.any(|place| is_program(&place)) {
        return Ok(());
    }
    Err(format!(
        "program `{name}` is in no folder of PATH: install it, or write its whole path"
    ))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let data = std::fs::metadata(path);
    data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_a_repository_or_a_name_that_is_not_there_is_told() {
        let home = tempfile::tempdir().expect("a folder");
        let told = |folder: &Path, revision: &str| {
            let role = serde_json::json!({"name": "R", "haystacks": [{
                "name": "H", "service": "GitRepository", "location": folder,
                "extra_parameters": {"revision": revision}}]});
            let environment = Environment::default();
            let roles = search_core::role::parse("roles.json", &role.to_string(), &environment);
            let roles = roles.expect("a valid file");
            check(&roles.default_role().haystacks[0], &environment).expect_err("it is refused")
        };
        let missing = told(&home.path().join("none"), "main");
        assert!(missing.contains("does not exist"), "{missing}");
        let plain = told(home.path(), "main");
        assert!(plain.contains("is no git repository"), "{plain}");
        let made = std::process::Command::new("git")
            .args(["init", "--quiet", "--bare"])
            .arg(home.path())
            .status();
        assert!(made.expect("git is installed").success());
        let unknown = told(home.path(), "v1.0.0");
        assert!(
            unknown.contains("no branch, tag or commit `v1.0.0`"),
            "{unknown}"
        );
    }
}
