//! `[skip ci]`: words in the message of a commit that keep automation from it.

/// What GitHub knows for `push` and `pull_request`, in lower case.
const MARKS: [&str; 5] = [
    "[skip ci]",
    "[ci skip]",
    "[no ci]",
    "[skip actions]",
    "[actions skip]",
];

/// A trailer says the same.
const TRAILER: &str = "skip-checks: true";

/// The mark in a commit's message that asks for no automation, if there is one: one of the words
/// anywhere, or a trailer in the last of several paragraphs.
///
/// Source: <https://docs.github.com/en/actions/how-tos/manage-workflow-runs/skip-workflow-runs>.
#[must_use]
pub fn skip_mark(message: &str) -> Option<&'static str> {
    let message = message.to_ascii_lowercase();
    let mark = MARKS.into_iter().find(|mark| message.contains(mark));
    mark.or_else(|| {
        let (_, last) = message.trim_end().rsplit_once("\n\n")?;
        let is_trailer = |line: &str| {
            line.split_once(':')
                .is_some_and(|(key, value)| key.trim() == "skip-checks" && value.trim() == "true")
        };
        last.lines().any(is_trailer).then_some(TRAILER)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v4_a_message_says_skip_by_the_words_of_github() {
        let table = [
            ("x [skip ci]", Some("[skip ci]")),
            ("x\n\n[Actions Skip] y", Some("[actions skip]")),
            ("[no ci]", Some("[no ci]")),
            ("x\n\nSkip-Checks: true\n", Some(TRAILER)),
            (
                "x\n\nwhy\n\nskip-checks:true\nco-authored-by: y",
                Some(TRAILER),
            ),
            ("skip-checks: true", None),
            ("x\n\nskip-checks: true\n\nnot at the end", None),
            ("skip ci", None),
            ("[skip-ci]", None),
            ("[SKIP CI", None),
            ("", None),
        ];
        for (message, expected) in table {
            assert_eq!(skip_mark(message), expected, "{message}");
        }
    }
}
