//! Whether a query asks for files of one kind by a word that says so: tests of something, or what
//! has changed in it.

use crate::file_roles::FileRole;

/// Words for tests.
const TESTS: [&str; 4] = ["test", "tests", "spec", "specs"];

/// What kinds of tests are called.
const KINDS_OF_TESTS: [&str; 6] = [
    "e2e",
    "integration",
    "regression",
    "smoke",
    "system",
    "unit",
];

/// Behind such a word stands what the tests are of.
const OF: [&str; 3] = ["about", "for", "of"];

/// Words that stand in sentences, which speak of tests and mean something else.
const IN_SENTENCES: [&str; 24] = [
    "a", "an", "and", "are", "as", "by", "can", "do", "does", "from", "how", "i", "in", "is", "it",
    "my", "on", "that", "the", "this", "to", "we", "what", "with",
];

/// Words of a query that ends in one for tests.
const MAX_WORDS: usize = 5;

/// Words that only lists of changes are called by.
const CHANGELOGS: [&str; 3] = ["changelog", "changelogs", "relnotes"];

/// Words that lists of changes are called by, and other things too, where they do not come first.
const FIRST: [&str; 2] = ["changes", "news"];

/// Words with `notes` or `history` behind them.
const OF_VERSIONS: [&str; 4] = ["release", "releases", "version", "versions"];

/// What happens to what a list of changes speaks of.
const OF_CHANGES: [&str; 12] = [
    "added",
    "changed",
    "deprecated",
    "dropped",
    "fixed",
    "improved",
    "introduced",
    "released",
    "removed",
    "renamed",
    "replaced",
    "supported",
];

/// The role of the files that a query asks for, by its folded words, stop words included.
pub(super) fn wanted_role(line: &[String]) -> Option<FileRole> {
    let words: Vec<&str> = line.iter().map(String::as_str).collect();
    if words.len() < 2 {
        return None;
    }
    if is_about_changes(&words) {
        return Some(FileRole::History);
    }
    is_about_tests(&words).then_some(FileRole::Test)
}

fn is_about_tests(words: &[&str]) -> bool {
    let is_test = |word: &&str| TESTS.contains(word);
    let is_sentence = words.iter().any(|word| IN_SENTENCES.contains(word));
    let begin = match words {
        [kind, rest @ ..] if KINDS_OF_TESTS.contains(kind) => rest,
        _ => words,
    };
    // `tests for …`, `unit tests of …`.
    if let [first, of, _, ..] = begin
        && is_test(first)
        && OF.contains(of)
    {
        return true;
    }
    if is_sentence || words.len() > MAX_WORDS {
        return false;
    }
    let is_plural = |word: &&str| is_test(word) && word.ends_with('s');
    words.last().is_some_and(is_test) || begin.first().is_some_and(is_plural)
}

/// Whether a word is a version: `2.0`, `v3`, `1_95`.
fn is_version(word: &&str) -> bool {
    let number = word.strip_prefix('v').unwrap_or(word);
    number.starts_with(|c: char| c.is_ascii_digit())
}

fn is_about_changes(words: &[&str]) -> bool {
    let is_sentence = words.iter().any(|word| IN_SENTENCES.contains(word));
    let beside = |pair: &[&str]| {
        let [first, second] = pair else { return false };
        OF_VERSIONS.contains(first) && matches!(*second, "notes" | "history")
            || matches!((*first, *second), ("what's" | "whats", "new"))
    };
    let happened_in = |pair: &[&str]| match pair {
        [happened, "since"] => OF_CHANGES.contains(happened),
        [happened, "in"] => OF_CHANGES.contains(happened) && words.iter().any(is_version),
        _ => false,
    };
    match words {
        // `when was retry_for added`.
        ["when", "was" | "were", .., last] if OF_CHANGES.contains(last) => return true,
        // `what was removed in 2.0`.
        ["what" | "which", ..] if words.windows(2).any(happened_in) => return true,
        [first, ..] if FIRST.contains(first) && !is_sentence => return true,
        _ => {}
    }
    words.iter().any(|word| CHANGELOGS.contains(word)) || words.windows(2).any(beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_who_asks_for_tests_or_changes_says_so() {
        for (line, expected) in [
            ("trie router test", Some(FileRole::Test)),
            ("unit tests for the trie router", Some(FileRole::Test)),
            ("tests for cron parsing", Some(FileRole::Test)),
            ("retry tests", Some(FileRole::Test)),
            ("trace task tests", Some(FileRole::Test)),
            ("tests retry", Some(FileRole::Test)),
            ("changelog retry", Some(FileRole::History)),
            ("when was retry_for added", Some(FileRole::History)),
            ("changelog ltrimstr", Some(FileRole::History)),
            ("celery changelog redis", Some(FileRole::History)),
            ("news valgrind", Some(FileRole::History)),
            ("release notes of the parser", Some(FileRole::History)),
            ("test", None),
            ("changelog", None),
            ("simulate a request in a unit test", None),
            ("how do i run the tests", None),
            ("test the parser", None),
            ("test retry", None),
            ("file changes", None),
            ("git history search", None),
            ("watch changes of a folder", None),
            ("when is a file removed", None),
            ("release a lock", None),
            ("what was removed in 2.0", Some(FileRole::History)),
            (
                "what changed since the last release",
                Some(FileRole::History),
            ),
            ("what is removed in the last step", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(wanted_role(&words), expected, "{line}");
        }
    }
}
