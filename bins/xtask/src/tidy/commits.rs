//! Subjects of commits that are not in the upstream branch yet; those there stay as they are.

use super::finding::Finding;
use crate::project::ProjectCheckout;
use crate::shell;

/// The longest subject, in characters.
const MAX_SUBJECT: usize = 72;

/// Where commits are taken to be published, the first that there is.
const UPSTREAM: [&str; 3] = ["@{upstream}", "origin/HEAD", "main"];

/// Checks the commits of the checkout; nothing where git knows of no other branch.
pub(super) fn check(project: &ProjectCheckout) -> Vec<Finding> {
    UPSTREAM
        .iter()
        .find_map(|upstream| log_since(project, upstream))
        .map_or_else(Vec::new, |log| check_log(&log))
}

/// One line a commit since `upstream`: its short id and its subject. `None` where there is no such
/// branch.
fn log_since(project: &ProjectCheckout, upstream: &str) -> Option<String> {
    let mut git = shell::command("git", &project.root);
    let range = format!("{upstream}..HEAD");
    git.args(["log", "--no-merges", "--format=%h %s", &range, "--"]);
    let log = shell::quiet(&mut git).ok()?;
    log.status.success().then_some(log.out)
}

fn check_log(log: &str) -> Vec<Finding> {
    let commits = log.lines().filter_map(|line| line.split_once(' '));
    commits
        .filter_map(|(id, subject)| Some(Finding::error(format!("commit {id}"), fault(subject)?)))
        .collect()
}

/// What is wrong with a subject.
fn fault(subject: &str) -> Option<String> {
    let length = subject.chars().count();
    let first = subject.split([' ', ':']).next().unwrap_or_default();
    if length > MAX_SUBJECT {
        let text = format!("its subject has {length} characters: {MAX_SUBJECT} at most");
        return Some(text);
    }
    first
        .eq_ignore_ascii_case("wip")
        .then(|| "it is unfinished by its own subject: say what it does".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_long_and_unfinished_subjects_are_refused() {
        let fits = "é".repeat(MAX_SUBJECT);
        let log = format!(
            "a1 {fits}\nb2 {fits}x\nc3 WIP\nd4 wip: search\ne5 Wipe what a run left\nf6 Add a page\n"
        );
        let found: Vec<String> = check_log(&log)
            .iter()
            .map(|one| format!("{} {}", one.place, one.text))
            .collect();
        assert_eq!(
            found,
            [
                "commit b2 its subject has 73 characters: 72 at most",
                "commit c3 it is unfinished by its own subject: say what it does",
                "commit d4 it is unfinished by its own subject: say what it does",
            ]
        );
        assert_eq!(check_log(""), []);
    }
}
