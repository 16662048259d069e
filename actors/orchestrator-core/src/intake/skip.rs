//! `[skip ci]`: words in the message of a head commit that keep a pull request from being checked.

/// What GitHub knows for `push` and `pull_request`.
/// <https://docs.github.com/en/actions/managing-workflow-runs/skipping-workflow-runs>
const MARKS: [&str; 5] = [
    "[skip ci]",
    "[ci skip]",
    "[no ci]",
    "[skip actions]",
    "[actions skip]",
];

/// Whether a commit's message says that it is not to be checked.
pub fn is_skipped(message: &str) -> bool {
    MARKS.iter().any(|mark| message.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v4_a_message_says_skip_by_the_words_of_github() {
        for message in ["x [skip ci]", "x\n\n[actions skip] y", "[no ci]"] {
            assert!(is_skipped(message), "{message}");
        }
        for message in ["skip ci", "[skip-ci]", "", "[SKIP CI"] {
            assert!(!is_skipped(message), "{message}");
        }
    }
}
