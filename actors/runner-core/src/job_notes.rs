//! What differs from GitHub in what the steps of a job look at: the commit of a pull request, who
//! wrote something, and files that lie in a container alone.

use crate::context::WORKSPACE;
use crate::event::PullRequestCommit;
use crate::expr::ExprTemplate;
use crate::plan::{ForeseenJob, NativeAction, PlannedStep, PlannedWork, StepKind};

const HEAD: &str = "its scripts look at the commit before `HEAD`, or at `HEAD` as the newest one: in a run of a pull request `HEAD` is the head of the pull request here, on GitHub a merge of it into its base (there `HEAD^1` is the base, and a difference to it all of the pull request); `pull_request_commit = \"merge\"` has it so here";
const MERGED: &str = "its scripts look at the commit before `HEAD`, or at `HEAD` as the newest one: in a run of a pull request `HEAD` is a merge of it into its base here (`pull_request_commit`), at Gitea and Forgejo the head of the pull request";
const MERGE: &str = "it asks for `refs/pull/…/merge`, which GitHub makes, and Gitea and Forgejo do not: `refs/pull/…/head` is there, and with `pull_request_commit = \"merge\"` the merge of the run's own pull request";
const BOT: &str = "it looks for what `github-actions[bot]` wrote: what jobs write here is the account's whose token the runner has, so nothing is found";

/// The notes of a job.
pub(crate) fn job_notes(job: &ForeseenJob<'_>, commit: PullRequestCommit) -> Vec<String> {
    let PlannedWork::Steps(steps) = &job.job.work else {
        return Vec::new();
    };
    let mut seen = JobUses::default();
    seen.steps(steps);
    let is_forge = job.workflow.dialect.is_forge();
    let of_pull_requests = job.workflow.on.pull_request.is_some();
    // Each kind of forge has workflows written for one of both.
    let head = match (commit, is_forge) {
        (PullRequestCommit::Head, false) => HEAD,
        (PullRequestCommit::Merge, true) => MERGED,
        _ => "",
    };
    let notes = [
        (seen.head && of_pull_requests && !head.is_empty(), head),
        (
            seen.merge && is_forge && commit == PullRequestCommit::Head,
            MERGE,
        ),
        (seen.bot, BOT),
    ];
    let notes = notes.into_iter().filter(|(is_so, _)| *is_so);
    let notes = notes.map(|(_, note)| note.to_owned());
    let in_container = job.job.job.container.is_some();
    let paths = (in_container && !seen.paths.is_empty()).then(|| {
        let paths: Vec<String> = seen.paths.iter().map(|path| format!("`{path}`")).collect();
        format!(
            "caches and artifacts are made of the machine's files, those of its container outside of the workspace are not seen: {} (on GitHub they are the container's)",
            paths.join(", ")
        )
    });
    notes.chain(paths).collect()
}

#[derive(Default)]
struct JobUses {
    /// What `HEAD` is makes a difference.
    head: bool,
    merge: bool,
    bot: bool,
    /// Paths of caches and artifacts, outside of the workspace.
    paths: Vec<String>,
}

impl JobUses {
    fn steps(&mut self, steps: &[PlannedStep]) {
        for step in steps {
            match &step.work {
                StepKind::Run { script, .. } => self.script(&script.source),
                StepKind::Composite(action) => self.steps(&action.steps),
                StepKind::Node(action) => {
                    for (name, value) in &action.inputs {
                        let value = value.as_ref().map_or("", |value| &value.source);
                        let by = name.to_ascii_lowercase();
                        self.bot |= by.contains("author") && is_bot(value);
                        self.bot |= by == "script" && value.lines().any(seeks_bot);
                    }
                }
                StepKind::Native { action, with, .. } => self.native(*action, with),
                _ => {}
            }
        }
    }

    fn native(&mut self, action: NativeAction, with: &[(String, ExprTemplate)]) {
        let input = |wanted: &str| {
            let mut inputs = with.iter();
            let found = inputs.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map_or("", |(_, value)| &value.source)
        };
        match action {
            NativeAction::Checkout => self.merge |= is_merge(input("ref")),
            NativeAction::Cache
            | NativeAction::CacheRestore
            | NativeAction::CacheSave
            | NativeAction::UploadArtifact => {
                let lines = input("path").lines().map(str::trim);
                for path in lines.filter(|path| is_outside(path)) {
                    if !self.paths.iter().any(|known| known == path) {
                        self.paths.push(path.to_owned());
                    }
                }
            }
            NativeAction::DownloadArtifact | NativeAction::Setup(_) => {}
        }
    }

    fn script(&mut self, script: &str) {
        let lines = script.lines().map(str::trim_start);
        for line in lines.filter(|line| !line.starts_with('#')) {
            self.head |= looks_at_head(line);
            self.merge |= is_merge(line);
            self.bot |= seeks_bot(line);
        }
    }
}

/// Whether a path is the container's own.
fn is_outside(path: &str) -> bool {
    let within = [WORKSPACE, "/github/", "/__w/"];
    path.starts_with('/') && !within.iter().any(|top| path.starts_with(top))
}

fn is_merge(text: &str) -> bool {
    let parts = text.split("refs/pull/").skip(1);
    let mut ends =
        parts.filter_map(|rest| rest.split([' ', '"', '\'', ':']).find(|it| !it.is_empty()));
    // The number may be an expression with blanks in it.
    ends.any(|end| end.ends_with("/merge"))
        || text.contains("refs/pull/${{") && text.contains("}}/merge")
}

/// Whether a line names the commit before `HEAD`, or takes `HEAD` for the newest one.
fn looks_at_head(line: &str) -> bool {
    let apart = |c: char| c.is_whitespace() || ";|&(){}`\"'[]".contains(c);
    let words: Vec<&str> = line.split(apart).filter(|word| !word.is_empty()).collect();
    let Some(git) = words.iter().position(|word| *word == "git") else {
        // An input or variable of something else: `from: HEAD~1`.
        return words.iter().any(|word| is_before_head(word));
    };
    let rest = &words[git + 1..];
    let is_newest = match rest {
        ["log", rest @ ..] => {
            let is_one = rest.iter().any(|word| matches!(*word, "-1" | "-n1"));
            is_one && rest.iter().all(|word| word.starts_with(['-', '%']))
        }
        _ => false,
    };
    is_newest || rest.iter().any(|word| is_before_head(word))
}

/// `HEAD^`, `HEAD~1`, `HEAD^2`, `HEAD^..HEAD`.
fn is_before_head(word: &str) -> bool {
    word.match_indices("HEAD").any(|(at, _)| {
        let before = word[..at].chars().next_back();
        let after = word[at + 4..].chars().next();
        let is_own = !before.is_some_and(|c| c.is_ascii_alphanumeric() || "_/-".contains(c));
        is_own && matches!(after, Some('^' | '~'))
    })
}

fn is_bot(text: &str) -> bool {
    text.contains("github-actions[bot]") || text.contains("app/github-actions")
}

/// Whether a line looks for what GitHub's own account wrote.
fn seeks_bot(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let by_gh = line.contains("gh ")
        && words.any(|word| {
            matches!(word, "-A" | "--author")
                || word.starts_with("--author=")
                || word.contains("author:")
        });
    is_bot(line) && (by_gh || line.contains("login"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(script: &str) -> Vec<&'static str> {
        let mut seen = JobUses::default();
        seen.script(script);
        let all = [
            (seen.head, "head"),
            (seen.merge, "merge"),
            (seen.bot, "bot"),
        ];
        let all = all.into_iter().filter(|(is_so, _)| *is_so);
        all.map(|(_, name)| name).collect()
    }

    #[test]
    fn i17_what_differs_in_pull_requests_is_found_in_scripts() {
        for (script, expected) in [
            ("git diff --name-only HEAD^", &["head"][..]),
            ("git diff HEAD^1 HEAD; make", &["head"]),
            ("files=$(git diff --name-only HEAD~1...HEAD)", &["head"]),
            ("git rev-parse HEAD^2", &["head"]),
            ("mvn test -Dfrom[HEAD~1]", &["head"]),
            ("git log -1 --format=%s", &["head"]),
            ("git log -1 origin/main", &[]),
            ("git diff origin/main...HEAD", &[]),
            ("git diff ORIG_HEAD^", &[]),
            ("# git diff HEAD^", &[]),
            ("git fetch origin refs/pull/7/merge", &["merge"]),
            (
                "git fetch origin +refs/pull/${{ github.event.number }}/merge:x",
                &["merge"],
            ),
            ("git fetch origin refs/pull/7/head", &[]),
            ("gh issue list -A 'github-actions[bot]'", &["bot"]),
            ("gh pr list --author app/github-actions", &["bot"]),
            ("x.user.login === 'github-actions[bot]'", &["bot"]),
            ("git commit --author='github-actions[bot] <a@b>' -m x", &[]),
            ("git config user.name 'github-actions[bot]'", &[]),
        ] {
            assert_eq!(found(script), expected, "{script}");
        }
    }

    #[test]
    fn i17_paths_of_a_container_alone_are_told_apart() {
        for (path, expected) in [
            ("/usr/local/cargo/registry", true),
            ("/tmp/x", true),
            ("~/.cache", false),
            ("target", false),
            ("/workspace/target", false),
            ("/__w/a/b", false),
            ("/github/home/x", false),
        ] {
            assert_eq!(is_outside(path), expected, "{path}");
        }
    }
}
