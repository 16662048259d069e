//! What lies in a job's workspace before its first step.

use super::native::NativeAction;
use super::types::{PlannedStep, StepKind};

/// What the workspace of a job has that checks nothing out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkspaceStart {
    /// The event's commit: the definitions of the contract have no checkout.
    #[default]
    Commit,
    /// Nothing, as on GitHub.
    Empty,
}

/// Whether the event's commit lies there from the start: where a step checks something out, as on
/// GitHub, the workspace is empty until then.
#[must_use]
pub fn begins_with_commit(steps: &[PlannedStep], otherwise: WorkspaceStart) -> bool {
    match steps.iter().position(fills) {
        None => otherwise == WorkspaceStart::Commit,
        // Nothing sees it before.
        Some(0) => is_plain(&steps[0]),
        Some(_) => false,
    }
}

/// What is said of a job that checks nothing out, where that can make a difference.
pub(crate) fn workspace_note(steps: &[PlannedStep]) -> Option<String> {
    let differs = !steps.iter().any(fills) && steps.iter().any(sees_workspace);
    differs.then(|| {
        "it checks nothing out: the commit lies in its workspace all the same (GitHub's is empty; `workspace = \"empty\"` of the runner)"
            .to_owned()
    })
}

/// Whether a step puts a repository there, which wants the workspace empty.
fn fills(step: &PlannedStep) -> bool {
    checks_out(step)
        || match &step.work {
            StepKind::Run {
                script,
                working_directory: None,
                ..
            } => clones_here(&script.source),
            _ => false,
        }
}

/// Whether a script clones into the folder that it begins in, or makes a repository of it: git
/// wants such a folder empty.
fn clones_here(script: &str) -> bool {
    let joined = script.replace("\\\n", " ");
    let joined = joined.replace("${{ ", "${{").replace(" }}", "}}");
    let parts = joined.split(['\n', ';', '|', '&']).map(str::trim);
    for part in parts.filter(|part| !part.starts_with('#')) {
        let words = part.split_whitespace();
        let words = words.map(|word| word.trim_matches(['"', '\'', '(', ')']));
        // `if ! git …`, `sudo git …`, `A=b git …`.
        let before = |word: &&str| {
            word.contains('=') || matches!(*word, "if" | "!" | "then" | "sudo" | "time" | "exec")
        };
        let words: Vec<&str> = words.skip_while(before).collect();
        match words.as_slice() {
            // What follows is somewhere else.
            ["cd" | "pushd", folder, ..] if !is_workspace(folder) => return false,
            ["git", rest @ ..] if git_fills(rest) => return true,
            ["gh", "repo", "clone", _, folder, ..] if is_workspace(folder) => return true,
            _ => {}
        }
    }
    false
}

/// Whether a command of git does that.
fn git_fills(words: &[&str]) -> bool {
    let Some(at) = words
        .iter()
        .position(|word| matches!(*word, "clone" | "init"))
    else {
        return false;
    };
    // `git -C folder clone`, `git add init`.
    let options = &words[..at];
    let is_elsewhere = |word: &&str| word.starts_with("-C") || word.starts_with("--git-dir");
    let is_option = |(index, word): (usize, &&str)| {
        word.starts_with('-') || index > 0 && options[index - 1] == "-c"
    };
    if options.iter().any(is_elsewhere) || !options.iter().enumerate().all(is_option) {
        return false;
    }
    let rest = &words[at + 1..];
    let is_bare = rest
        .iter()
        .any(|word| matches!(*word, "--bare" | "--mirror"));
    if is_bare {
        return false;
    }
    let last = rest.last().copied().unwrap_or_default();
    match words[at] {
        "clone" => is_workspace(last),
        // Without a folder it is this one; the value of `-b` is none.
        _ => {
            let mut folders = rest.iter().enumerate().filter(|(index, word)| {
                let of_option = *index > 0 && matches!(rest[index - 1], "-b" | "--initial-branch");
                !word.starts_with('-') && !of_option
            });
            folders.all(|(_, folder)| is_workspace(folder))
        }
    }
}

/// Whether a folder is the workspace, as scripts name it that begin there.
fn is_workspace(folder: &str) -> bool {
    let folder = folder.trim_end_matches('/').replace(' ', "");
    matches!(
        folder.as_str(),
        "." | "$PWD"
            | "${PWD}"
            | "$(pwd"
            | "$GITHUB_WORKSPACE"
            | "${GITHUB_WORKSPACE}"
            | "$GITEA_WORKSPACE"
            | "$FORGEJO_WORKSPACE"
            | "${{github.workspace}}"
            | "${{gitea.workspace}}"
    )
}

/// A checkout, or an action of another repository with one: an action of the repository itself can
/// only be used after one.
fn checks_out(step: &PlannedStep) -> bool {
    match &step.work {
        StepKind::Native { action, .. } => *action == NativeAction::Checkout,
        StepKind::Composite(action) => {
            action.location.stored().is_some() && action.steps.iter().any(checks_out)
        }
        _ => false,
    }
}

/// Whether files that lie there may matter to it: scripts that look for a repository, and what is
/// packed or unpacked.
fn sees_workspace(step: &PlannedStep) -> bool {
    match &step.work {
        StepKind::Run { script, .. } => {
            let apart = |c: char| c.is_whitespace() || ";|&(){}`\"'".contains(c);
            let mut lines = script.source.lines();
            lines.any(|line| line.split(apart).any(|word| word == "git"))
        }
        StepKind::Composite(action) => action.steps.iter().any(sees_workspace),
        StepKind::Native { action, .. } => !matches!(action, NativeAction::Setup(_)),
        _ => false,
    }
}

/// Whether a checkout certainly runs, alone, and fills the workspace itself.
fn is_plain(step: &PlannedStep) -> bool {
    let StepKind::Native { with, .. } = &step.work else {
        return false;
    };
    let has_path = with
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("path"));
    !has_path && step.condition.is_none() && !step.background
}

#[cfg(test)]
mod tests {
    use super::*;

    /// git found a folder that was not empty: the commit lay there.
    #[test]
    fn i17_a_script_that_clones_into_the_workspace_finds_it_empty() {
        for script in [
            "git clone https://code.example/a/b .",
            "apt-get install git && git clone --depth=1 --branch x \"https://$T@code.example/a\" .",
            "set -e\ngit -c http.extraHeader=a clone $URL $GITHUB_WORKSPACE/",
            "git clone \\\n  https://code.example/a/b \\\n  ${{ github.workspace }}",
            "if ! git clone https://code.example/a .; then exit 1; fi",
            "cd \"$GITHUB_WORKSPACE\"\ngit init",
            "git init -q -b main && git remote add origin x",
            "git init .",
            "gh repo clone a/b .",
        ] {
            assert!(clones_here(script), "{script}");
        }
        for script in [
            "git clone https://code.example/a/b",
            "git clone https://code.example/a/b c",
            "# git clone x .",
            "cd /tmp && git clone x .",
            "git -C /tmp/x init",
            "git init /tmp/x",
            "git clone --bare x .",
            "echo git init",
            "terraform init",
            "git commit -m init",
            "git submodule init",
            "gh repo clone a/b",
        ] {
            assert!(!clones_here(script), "{script}");
        }
    }
}
