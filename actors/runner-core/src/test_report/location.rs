//! Where a test failed: the places that a trace names, found among the files of the commit.

use std::collections::HashMap;

use super::types::TestCase;
use crate::job_folders::below_workspace;

/// Places of one trace that are looked at.
const MAX_PLACES: usize = 100;

/// The files of a commit, by name.
#[derive(Debug, Default)]
pub struct CommitFiles {
    /// Paths from the workspace, by the last part of each.
    by_name: HashMap<String, Vec<String>>,
}

impl CommitFiles {
    /// Of paths from the workspace, with `/` between.
    #[must_use]
    pub fn new(paths: impl IntoIterator<Item = String>) -> Self {
        let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
        for path in paths {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            by_name.entry(name).or_default().push(path);
        }
        Self { by_name }
    }

    /// The file that a report or a trace means. Of several that end so, the one in the folder that
    /// the test's suite names.
    fn resolve(&self, given: &str, suite: &str) -> Option<String> {
        let path = from_workspace(given);
        let name = path.rsplit('/').next()?;
        let named = self.by_name.get(name)?;
        let ends = |known: &&String| {
            let known = known.as_str();
            known == path
                || known
                    .strip_suffix(&path)
                    .is_some_and(|it| it.ends_with('/'))
        };
        let found: Vec<&String> = named.iter().filter(ends).collect();
        if let Some(exact) = found.iter().find(|known| known.as_str() == path) {
            return Some((*exact).clone());
        }
        if let [only] = found.as_slice() {
            return Some((*only).clone());
        }
        let suite = suite.replace("::", "/").replace('.', "/");
        let mut fitting = found.into_iter().filter(|known| {
            let folder = known.rsplit_once('/').map_or("", |(folder, _)| folder);
            let stem = known
                .rsplit_once('.')
                .map_or(known.as_str(), |(stem, _)| stem);
            let of_package = !folder.is_empty() && suite.ends_with(&folder.replace('.', "/"));
            of_package || (!suite.is_empty() && stem.replace('.', "/").ends_with(&suite))
        });
        let first = fitting.next()?;
        fitting.next().is_none().then(|| first.clone())
    }

    /// Sets the file and line of a test to one of the commit's files, as far as that is known. A
    /// line without its file is taken away.
    pub fn locate(&self, case: &mut TestCase) {
        let own = case.file.take();
        let own = own.and_then(|file| self.resolve(&file, &case.suite));
        let failure = case.failure.as_ref();
        let texts = failure.map(|failure| [failure.detail.as_str(), failure.message.as_str()]);
        let places = texts.into_iter().flatten().flat_map(places);
        let mut places = places.filter_map(|(file, line)| {
            let file = self.resolve(file, &case.suite)?;
            Some((file, line))
        });
        let found: Vec<(String, u32)> = places.by_ref().take(MAX_PLACES).collect();
        let in_own = found.iter().find(|(file, _)| Some(file) == own.as_ref());
        let place = in_own.or(found.first().filter(|_| own.is_none()));
        match place {
            Some((file, line)) => (case.file, case.line) = (Some(file.clone()), Some(*line)),
            None => {
                case.line = case.line.filter(|line| own.is_some() && *line > 0);
                case.file = own;
            }
        }
    }
}

fn from_workspace(path: &str) -> String {
    let path = path.replace('\\', "/");
    let path = path.strip_prefix("file://").unwrap_or(&path);
    let path = below_workspace(path)
        .and_then(|path| path.strip_prefix('/'))
        .unwrap_or(path);
    path.trim_start_matches("./").to_owned()
}

/// What looks like `path/file.ext:12` in a text, Python's `File "path", line 12`, and Perl's.
fn places(text: &str) -> impl Iterator<Item = (&str, u32)> {
    text.lines().flat_map(|line| {
        let named = python_place(line).or_else(|| perl_place(line));
        let tokens = line.split(|c: char| c.is_whitespace() || "()[]<>\"'`,;".contains(c));
        named.into_iter().chain(tokens.filter_map(token_place))
    })
}

fn python_place(line: &str) -> Option<(&str, u32)> {
    let rest = line.trim_start().strip_prefix("File \"")?;
    let (file, rest) = rest.split_once("\", line ")?;
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    Some((file, rest[..digits].parse().ok()?))
}

/// `at t/a.t line 3.`
fn perl_place(line: &str) -> Option<(&str, u32)> {
    let (file, rest) = line
        .trim_start()
        .strip_prefix("at ")?
        .split_once(" line ")?;
    Some((file, rest.trim_end_matches('.').parse().ok()?))
}

fn token_place(token: &str) -> Option<(&str, u32)> {
    let mut from = 0;
    // The first colon with digits behind it: `C:\a.rs:1:2` and `http://host:80/a` are no such.
    while let Some(at) = token[from..].find(':').map(|at| from + at) {
        let rest = &token[at + 1..];
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let file = &token[..at];
        let named = file.rsplit('/').next().is_some_and(|name| {
            name.rsplit_once('.').is_some_and(|(stem, kind)| {
                !stem.is_empty() && !kind.is_empty() && kind.chars().all(char::is_alphanumeric)
            })
        });
        if digits > 0 && named {
            return rest[..digits].parse().ok().map(|line| (file, line));
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::types::{TestFailure, TestOutcome};
    use super::*;

    fn located(file: Option<&str>, line: Option<u32>, suite: &str, trace: &str) -> String {
        let paths = [
            "src/lib.rs",
            "tests/test_a.py",
            "pkg/a/a_test.go",
            "pkg/b/a_test.go",
            "src/test/java/com/acme/FooTest.java",
            "other/java/com/acme2/FooTest.java",
            "src/sum.test.js",
        ];
        let files = CommitFiles::new(paths.map(str::to_owned));
        let mut case = TestCase::new(suite, "t", TestOutcome::Failed);
        (case.file, case.line) = (file.map(str::to_owned), line);
        case.failure = Some(TestFailure {
            detail: trace.to_owned(),
            ..TestFailure::default()
        });
        files.locate(&mut case);
        let line = case
            .line
            .map_or_else(String::new, |line| format!(":{line}"));
        case.file.unwrap_or_default() + &line
    }

    #[test]
    fn i17_a_trace_leads_to_a_file_of_the_commit() {
        for (file, line, suite, trace, expected) in [
            (
                None,
                None,
                "",
                "thread 't' panicked at src/lib.rs:12:5:\nno",
                "src/lib.rs:12",
            ),
            (
                Some("tests/test_a.py"),
                Some(3),
                "",
                "tests/test_a.py:5: AssertionError",
                "tests/test_a.py:5",
            ),
            (
                Some("tests/test_a.py"),
                Some(3),
                "",
                "/usr/lib/python3/x.py:5: Error",
                "tests/test_a.py:3",
            ),
            (
                None,
                None,
                "",
                "  File \"/workspace/tests/test_a.py\", line 9, in f",
                "tests/test_a.py:9",
            ),
            (
                Some("a_test.go"),
                Some(7),
                "example.org/m/pkg/b",
                "",
                "pkg/b/a_test.go:7",
            ),
            (Some("a_test.go"), Some(7), "example.org/m/pkg/c", "", ""),
            (
                None,
                None,
                "com.acme.FooTest",
                "at com.acme.FooTest.bar(FooTest.java:33)",
                "src/test/java/com/acme/FooTest.java:33",
            ),
            (
                None,
                None,
                "",
                "at Object.<anonymous> (/workspace/src/sum.test.js:5:10)",
                "src/sum.test.js:5",
            ),
            (
                None,
                None,
                "",
                "at file:///workspace/src/sum.test.js:6:1",
                "src/sum.test.js:6",
            ),
            (
                None,
                None,
                "",
                "http://host:80/src/lib.rs, C:\\lib.rs:1",
                "",
            ),
            (Some("/etc/passwd"), Some(1), "", "../../etc/passwd:1", ""),
        ] {
            assert_eq!(located(file, line, suite, trace), expected, "{trace}");
        }
    }
}
