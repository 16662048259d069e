//! Manual pages and completions, as the programs themselves print them.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::{shell, terminal};

/// Shells, and where each looks for a program's completions below `share`.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/{}"),
    ("zsh", "zsh/vendor-completions/_{}"),
    ("fish", "fish/vendor_completions.d/{}.fish"),
];

/// The manual pages of a program, by their file names; none of one that prints none.
///
/// # Errors
/// When it cannot be started, or prints what is no manual page.
pub(super) fn pages(built: &Path, program: &str) -> Result<Vec<(String, String)>> {
    let Some(text) = printed(built, &["man"])? else {
        return Ok(Vec::new());
    };
    ensure!(
        text.contains(".TH "),
        "`{program} man` printed no manual page"
    );
    Ok(vec![(format!("{program}.1"), text)])
}

/// The completions of a program, by their places below `share`; none of one that prints none.
///
/// # Errors
/// When it cannot be started, or prints nothing.
pub(super) fn completions(built: &Path, program: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (shell, place) in SHELLS {
        let Some(text) = printed(built, &["completions", shell])? else {
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

/// What the program prints, where it knows the command. One that does not is named: a release
/// should have all.
fn printed(built: &Path, arguments: &[&str]) -> Result<Option<String>> {
    let mut command = shell::command(&built.to_string_lossy(), Path::new("/"));
    let finished = shell::quiet(command.args(arguments))?;
    if !finished.status.success() {
        let line = finished.err.lines().next().unwrap_or_default().to_owned();
        terminal::line(&format!("without `{}`: {line}", shell::shown(&command)));
        return Ok(None);
    }
    Ok(Some(finished.out))
}
