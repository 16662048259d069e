//! Where things are in an agent's VM, and the scripts that bring the repository in and the commits
//! out. Nothing of an event is ever in a text that a shell reads.

use std::path::{Path, PathBuf};

/// Where the agent works.
pub(super) const WORKSPACE: &str = "/workspace";
/// What the orchestrator puts in.
pub(super) const IN: &str = "/tmp/.orch/in";
/// What it takes out: commits and reports.
pub(super) const OUT: &str = "/tmp/.orch/out";

/// The repository of the run: a bundle with every reference of the clone.
pub(super) const REPOSITORY: &str = "repository.bundle";
/// The configuration of the clone: origin without a secret, the committer.
pub(super) const CONFIG: &str = "git.config";
/// The branch of the run.
pub(super) const BRANCH: &str = "branch";
/// What the agent reads on standard input.
pub(super) const INPUT: &str = "input";
/// The composed prompt.
pub(super) const PROMPT: &str = "prompt.md";
/// What the agent committed.
pub(super) const COMMITS: &str = "commits.bundle";
/// Where the agent leaves reports.
pub(super) const REPORTS: &str = "reports";

/// The path of something that was put in.
pub(super) fn put(name: &str) -> PathBuf {
    Path::new(IN).join(name)
}

/// Where reports of the run go.
pub(super) fn reports() -> PathBuf {
    Path::new(OUT).join(REPORTS)
}

/// Makes the repository, where there is one. Arguments: the folder of what was put in, of what is
/// taken out, and the workspace.
pub(super) const UNPACK: &str = r#"set -eu
mkdir -p "$2/reports" "$3"
[ -f "$1/repository.bundle" ] || exit 0
command -v git >/dev/null || { echo "its image has no git, which agents with a worktree need" >&2; exit 1; }
cd "$3"
git init --quiet .
# Its object format is that of the bundle.
cp "$1/git.config" .git/config
git fetch --quiet --update-head-ok "$1/repository.bundle" "+refs/*:refs/*"
git checkout --quiet --force "$(cat "$1/branch")" --
"#;

/// Bundles what the agent committed; nothing where it has not. The same arguments.
pub(super) const PACK: &str = r#"set -eu
[ -f "$1/repository.bundle" ] || exit 0
cd "$3"
known=$(git bundle list-heads "$1/repository.bundle" | cut -d ' ' -f 1 | sort -u)
new=$(git rev-list --count HEAD --branches --not $known)
[ "$new" -eq 0 ] || git bundle create --quiet "$2/commits.bundle" HEAD --branches --not $known
"#;

/// Runs the agent: its arguments follow, standard input is the file of the first one.
pub(super) const LAUNCH: &str = r#"exec "$@" < "$0""#;

/// One of the scripts with its arguments.
pub(super) fn script(text: &str) -> Vec<String> {
    let words = ["/bin/sh", "-c", text, "sh", IN, OUT, WORKSPACE];
    words.map(str::to_owned).to_vec()
}

/// The agent's own process, which reads `input` or nothing.
pub(super) fn launch(has_input: bool, program: &str, arguments: &[String]) -> Vec<String> {
    let input = match has_input {
        true => put(INPUT).display().to_string(),
        false => "/dev/null".to_owned(),
    };
    let fixed = ["/bin/sh".to_owned(), "-c".to_owned(), LAUNCH.to_owned()];
    let program = [input, program.to_owned()];
    fixed
        .into_iter()
        .chain(program)
        .chain(arguments.iter().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_nothing_of_an_agent_s_arguments_is_read_by_the_shell() {
        let hostile = "$(touch /tmp/owned); `id` \"'".to_owned();
        let argv = launch(false, "/bin/echo", std::slice::from_ref(&hostile));
        let output = std::process::Command::new(&argv[0])
            .args(&argv[1..])
            .output()
            .expect("sh runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), hostile + "\n");
    }
}
