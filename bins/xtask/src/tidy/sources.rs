//! Source files: each begins with what it is, and is short enough to be one concept.

use super::finding::Finding;

/// Above this a file is refused.
const MOST_LINES: usize = 500;

/// Above this a file is pointed at.
const MANY_LINES: usize = 400;

/// Checks one Rust source file.
pub(super) fn check(path: &str, source: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let first = source.lines().next().unwrap_or_default();
    if first.trim_start_matches("//!").trim().is_empty() || !first.starts_with("//! ") {
        findings.push(Finding::error(
            format!("{path}:1"),
            "begin with a `//!` line that says what the file is",
        ));
    }
    let lines = source.lines().count();
    if lines > MOST_LINES {
        let text = format!("{lines} lines, {MOST_LINES} at most: split it by concept");
        findings.push(Finding::error(path, text));
    } else if lines > MANY_LINES {
        findings.push(Finding::warning(
            path,
            format!("{lines} lines: one concept still?"),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(lines: usize) -> String {
        format!("//! An example.\n{}", "x\n".repeat(lines - 1))
    }

    #[test]
    fn a_file_says_what_it_is() {
        assert_eq!(check("a.rs", "//! An example.\nfn main() {}\n"), []);
        for source in [
            "",
            "fn main() {}\n",
            "// An example.\n",
            "//!\n",
            "/// An example.\nfn f() {}\n",
        ] {
            assert_eq!(check("a.rs", source).len(), 1, "{source:?}");
        }
    }

    #[test]
    fn a_long_file_is_shown_and_a_longer_one_refused() {
        assert_eq!(check("a.rs", &long(MANY_LINES)), []);
        assert_eq!(
            check("a.rs", &long(MOST_LINES)),
            [Finding::warning("a.rs", "500 lines: one concept still?")]
        );
        let expected = "501 lines, 500 at most: split it by concept";
        assert_eq!(
            check("a.rs", &long(MOST_LINES + 1)),
            [Finding::error("a.rs", expected)]
        );
    }
}
