//! Manual pages and completions, as the programs themselves print them.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::{shell, terminal};

/// Shells, and where each looks for a program's completions below `share`.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/{}"),
    ("zsh", "zsh/vendor-completions/_{}"),
    ("fish", "fish/vendor_completions.d/{}.fish"),
];

/// The manual pages of a program and its commands, by their file names; none of one that prints
/// none.
///
/// # Errors
/// When it cannot be started, or prints what is no manual page.
pub(super) fn pages(built: &Path, program: &str) -> Result<Vec<(String, String)>> {
    let folder = std::env::temp_dir().join(format!("orrery-man-{}-{program}", std::process::id()));
    let place = folder.display().to_string();
    // `build-dispatch` takes a program's name for a command, and has a flag.
    let printed = printed(built, &[&["--man"], &["man", "--out", &place]])?;
    let mut pages = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            pages.push((name.into_owned(), fs::read_to_string(&path)?));
        }
        fs::remove_dir_all(&folder)?;
    } else if let Some(text) = printed {
        pages.push((format!("{program}.1"), text));
    }
    pages.sort();
    for (name, text) in &pages {
        ensure!(
            text.contains(".TH "),
            "{name} of `{program}` is no manual page"
        );
    }
    Ok(pages)
}

/// The completions of a program, by their places below `share`; none of one that prints none.
///
/// # Errors
/// When it cannot be started, or prints nothing.
pub(super) fn completions(built: &Path, program: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (shell, place) in SHELLS {
        let ways: [&[&str]; 2] = [&["--completions", shell], &["completions", shell]];
        let Some(text) = printed(built, &ways)? else {
            continue;
        };
        ensure!(
            text.contains(program),
            "`{program} completions {shell}` names no program"
        );
        found.push((place.replace("{}", program), text));
    }
    Ok(found)
}

/// What the program prints in the first of these ways that it knows. One that knows none is named:
/// a release should have all.
fn printed(built: &Path, ways: &[&[&str]]) -> Result<Option<String>> {
    let mut reason = String::new();
    for arguments in ways {
        let mut command = shell::command(&built.to_string_lossy(), Path::new("/"));
        let finished = shell::quiet(command.args(*arguments))?;
        if finished.status.success() {
            return Ok(Some(finished.out));
        }
        let line = finished.err.lines().next().unwrap_or_default();
        reason = format!("without `{}`: {line}", shell::display(&command));
    }
    terminal::line(&reason);
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn program(folder: &Path, script: &str) -> std::path::PathBuf {
        let path = folder.join("x");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
        path
    }

    #[test]
    fn pages_come_by_a_flag_or_into_a_folder_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = |script: &str| -> Vec<String> {
            let pages = pages(&program(folder.path(), script), "x").expect("it runs");
            pages.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("[ \"$1\" = --man ] && echo .TH x"), ["x.1"]);
        let many = "[ \"$1 $2\" = 'man --out' ] || exit 2; mkdir \"$3\"; echo .TH x > \"$3/x.1\"; echo .TH y > \"$3/x-y.1\"";
        assert_eq!(names(many), ["x-y.1", "x.1"]);
        assert_eq!(names("exit 2"), [""; 0]);
        assert!(
            pages(&program(folder.path(), "echo hello"), "x").is_err(),
            "no page"
        );
    }
}
