//! Source files: each begins with what it is, is short enough to be one concept, and does not hold
//! where it was compiled.

use super::finding::Finding;

/// Above this a file is refused.
const MOST_LINES: usize = 500;

/// Above this a file is pointed at.
const MANY_LINES: usize = 400;

/// A path that stays in the compiled program. Cargo takes a program for fresh after the checkout
/// has moved: it compares what lies in the package, not where the package lies.
const COMPILED_PATH: &str = concat!("env!(\"CARGO_MANIFEST", "_DIR\")");

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
    for (nth, _) in source
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains(COMPILED_PATH))
    {
        let text = "a path of the checkout it was compiled in: tests and benchmarks start in the \
                    folder of their package, so take the path from there (`std::path::absolute`)";
        findings.push(Finding::error(format!("{path}:{}", nth + 1), text));
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
    fn i14_a_program_does_not_hold_where_it_was_compiled() {
        let source = format!("//! An example.\nconst A: &str = {COMPILED_PATH};\n");
        let found = check("a.rs", &source);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].place, "a.rs:2");
        let at_run_time = "//! An example.\nfn f() { std::env::var(\"CARGO_MANIFEST_DIR\"); }\n";
        assert_eq!(check("a.rs", at_run_time), []);
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
