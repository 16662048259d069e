//! Which files of a workspace are reports: the usual names, and those that a project names.

use globset::{GlobBuilder, GlobMatcher};

use super::limits::{MAX_JOB_BYTES, MAX_REPORT_BYTES, MAX_REPORTS};
use crate::context::WORKSPACE;
use crate::job_folders::below_workspace;

/// What test runners call their reports unless they are told otherwise.
const USUAL: &[&str] = &[
    "**/junit*.xml",
    "**/*junit.xml",
    "**/TEST-*.xml",
    "**/test-results/**/*.xml",
    "**/test-reports/**/*.xml",
    "**/test-results*.xml",
    "**/test-report*.xml",
    "**/test_results*.xml",
    "**/pytest*.xml",
    "**/*.tap",
    "**/test2json*.json",
    "**/gotest*.json",
    "**/go-test*.json",
];
/// Folders that hold no report of a job's own.
const PASSED_OVER: &[&str] = &[
    ".git",
    "node_modules",
    ".venv",
    "site-packages",
    "incremental",
];
/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 500;
/// How many patterns there may be.
const MAX_PATTERNS: usize = 100;

/// A file that may be a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    /// From the workspace.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The project names it: what it holds is expected to be results.
    pub is_named: bool,
}

/// The patterns of one job.
#[derive(Debug, Clone)]
pub struct ReportGlobs {
    named: Vec<(String, GlobMatcher)>,
    excluded: Vec<GlobMatcher>,
    usual: Vec<GlobMatcher>,
}

/// A pattern of paths from the workspace: `*`, `?`, `[…]`, `{a,b}` within a folder, `**` over
/// folders.
///
/// # Errors
/// What is wrong with it.
pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let inside = below_workspace(pattern).unwrap_or(pattern);
    let inside = inside.strip_prefix("./").unwrap_or(inside);
    let inside = if inside.len() < pattern.len() {
        inside.trim_start_matches('/')
    } else {
        inside
    };
    if inside.is_empty() {
        return Err("the pattern is empty".to_owned());
    }
    if inside.len() > MAX_PATTERN {
        return Err(format!("the pattern has more than {MAX_PATTERN} bytes"));
    }
    if inside.starts_with(['/', '~']) || inside.split('/').any(|part| part == "..") {
        return Err("the pattern leads out of the workspace".to_owned());
    }
    let glob = GlobBuilder::new(inside).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}

impl ReportGlobs {
    /// Those that the project names (`!` takes away), and the usual ones with `find`.
    ///
    /// # Errors
    /// Which pattern is wrong, and why.
    pub fn new<'p>(
        patterns: impl IntoIterator<Item = &'p str>,
        find: bool,
    ) -> Result<Self, String> {
        let (mut named, mut excluded) = (Vec::new(), Vec::new());
        for (count, pattern) in patterns.into_iter().enumerate() {
            if count >= MAX_PATTERNS {
                return Err(format!(
                    "there are more than {MAX_PATTERNS} patterns of reports"
                ));
            }
            let wrong = |why| format!("{}: {why}", config_core::quoted(pattern));
            match pattern.strip_prefix('!') {
                Some(pattern) => excluded.push(matcher(pattern).map_err(wrong)?),
                None => named.push((pattern.to_owned(), matcher(pattern).map_err(wrong)?)),
            }
        }
        let usual = if find { USUAL } else { &[] };
        let usual = usual.iter().filter_map(|pattern| matcher(pattern).ok());
        Ok(Self {
            named,
            excluded,
            usual: usual.collect(),
        })
    }

    /// Whether no file can be one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.usual.is_empty()
    }

    /// The command that lists candidates in the machine: files that were written after `marker`
    /// was put there, as `bytes<tab>path<NUL>`. It may list more than the patterns match.
    #[must_use]
    pub fn command(&self, marker: &str) -> Vec<String> {
        let mut argv = vec!["find", "-H", WORKSPACE, "-xdev", "-type", "d", "("];
        let mut first = true;
        for folder in PASSED_OVER {
            let is_named = self.named.iter().any(|(text, _)| text.contains(folder));
            if is_named {
                continue;
            }
            if !std::mem::take(&mut first) {
                argv.push("-o");
            }
            argv.extend(["-name", folder]);
        }
        if first {
            argv.extend(["-name", "/"]);
        }
        argv.extend([")", "-prune", "-o", "-type", "f", "-newermc", marker, "("]);
        let mut argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
        let named = self.named.iter().map(|(_, glob)| glob);
        for (index, glob) in named.chain(&self.usual).enumerate() {
            if index > 0 {
                argv.push("-o".to_owned());
            }
            argv.push("-path".to_owned());
            argv.push(format!("{WORKSPACE}/{}", for_find(glob.glob().glob())));
        }
        argv.extend([")", "-printf", "%s\\t%P\\0"].map(str::to_owned));
        argv
    }

    /// The reports among what the command has listed, by path, and what is to be said of the
    /// others: too large, too many, or none for a name that a variable gives.
    #[must_use]
    pub fn select(&self, listed: &[u8]) -> (Vec<ReportFile>, Vec<String>) {
        let entries = listed.split(|byte| *byte == 0);
        let entries = entries.filter_map(|entry| {
            let (bytes, path) = std::str::from_utf8(entry).ok()?.split_once('\t')?;
            let bytes = bytes.parse().ok()?;
            self.listed(path, bytes)
        });
        let mut entries: Vec<ReportFile> = entries.collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries.dedup_by(|a, b| a.path == b.path);
        let (mut notes, mut chosen, mut total) = (Vec::new(), Vec::new(), 0);
        for entry in entries {
            let shown = config_core::quoted(&entry.path);
            if chosen.len() == MAX_REPORTS {
                notes.push(format!(
                    "there are more than {MAX_REPORTS} reports: {shown} and those after it are not read"
                ));
                break;
            }
            if entry.bytes > MAX_REPORT_BYTES {
                let why = super::limits::ReportError::TooLarge(entry.bytes);
                notes.push(format!("{shown} is not read: {why}"));
                continue;
            }
            if total + entry.bytes > MAX_JOB_BYTES {
                notes.push(format!(
                    "the reports have more than {MAX_JOB_BYTES} bytes: {shown} and those after it are not read"
                ));
                break;
            }
            total += entry.bytes;
            chosen.push(entry);
        }
        (chosen, notes)
    }

    fn listed(&self, path: &str, bytes: u64) -> Option<ReportFile> {
        let is_named = self.named.iter().any(|(_, glob)| glob.is_match(path));
        let passed_over = path.split('/').any(|part| PASSED_OVER.contains(&part));
        let is_usual = !passed_over && self.usual.iter().any(|glob| glob.is_match(path));
        let is_excluded = self.excluded.iter().any(|glob| glob.is_match(path));
        ((is_named || is_usual) && !is_excluded).then(|| ReportFile {
            path: path.to_owned(),
            bytes,
            is_named,
        })
    }
}

/// The pattern as `find -path` takes it: its `*` goes over folders, so it finds at least as much.
fn for_find(glob: &str) -> String {
    let mut wide = String::new();
    let mut braces = 0_usize;
    for character in glob.replace("**/", "*").chars() {
        match character {
            '{' => {
                braces += 1;
                wide.push('*');
            }
            '}' => braces = braces.saturating_sub(1),
            _ if braces > 0 => {}
            // Sets are written differently in both.
            '[' | ']' | '!' | '\\' => wide.push('*'),
            _ => wide.push(character),
        }
    }
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(patterns: &[&str], find: bool, paths: &[&str]) -> Vec<String> {
        let globs = ReportGlobs::new(patterns.iter().copied(), find).unwrap();
        let listed: String = paths.iter().map(|path| format!("7\t{path}\0")).collect();
        let (chosen, notes) = globs.select(listed.as_bytes());
        assert!(notes.is_empty(), "{notes:?}");
        let shown = chosen.into_iter();
        shown
            .map(|one| format!("{}{}", one.path, if one.is_named { " named" } else { "" }))
            .collect()
    }

    #[test]
    fn i17_the_usual_reports_are_found_and_named_ones_too() {
        let paths = [
            "junit.xml",
            "a/b/junit-3.xml",
            "target/nextest/ci/junit.xml",
            "m/target/surefire-reports/TEST-a.B.xml",
            "build/test-results/test/binary/x.xml",
            "node_modules/x/junit.xml",
            "out/results.tap",
            "data/other.xml",
            "out/r{1}.xml",
        ];
        assert_eq!(
            chosen(&[], true, &paths),
            [
                "a/b/junit-3.xml",
                "build/test-results/test/binary/x.xml",
                "junit.xml",
                "m/target/surefire-reports/TEST-a.B.xml",
                "out/results.tap",
                "target/nextest/ci/junit.xml"
            ]
        );
        assert_eq!(
            chosen(&["data/*.xml", "!**/*.tap", "./out/**"], false, &paths),
            ["data/other.xml named", "out/r{1}.xml named"]
        );
        assert_eq!(
            chosen(&["/workspace/junit.xml"], false, &paths),
            ["junit.xml named"]
        );
        for wrong in ["/etc/*", "~/x", "a/../../b", "", "[", "!"] {
            assert!(ReportGlobs::new([wrong], true).is_err(), "{wrong}");
        }
    }

    #[test]
    fn i17_reports_are_bounded_in_number_and_size() {
        let globs = ReportGlobs::new([], true).unwrap();
        let large = format!("{}\tjunit.xml\0", 100 << 20);
        let (chosen, notes) = globs.select(large.as_bytes());
        assert!(
            chosen.is_empty() && notes[0].contains("104857600 bytes"),
            "{notes:?}"
        );
        let many: String = (0..600).map(|n| format!("1\ta/{n}.tap\0")).collect();
        let (chosen, notes) = globs.select(many.as_bytes());
        assert_eq!((chosen.len(), notes.len()), (MAX_REPORTS, 1));
        let heavy: String = (0..9).map(|n| format!("{}\t{n}.tap\0", 10 << 20)).collect();
        let (chosen, notes) = globs.select(heavy.as_bytes());
        assert_eq!((chosen.len(), notes.len()), (6, 1));
        assert!(globs.select(b"x\0\xff\t\0\t\0-1\ta.tap\0").0.is_empty());
    }

    #[test]
    fn what_find_lists_is_at_least_what_the_patterns_match() {
        for (glob, expected) in [
            ("**/junit*.xml", "*junit*.xml"),
            ("a/{b,c}/[!x].xml", "a/*/**x*.xml"),
            ("out/**", "out/**"),
        ] {
            assert_eq!(for_find(glob), expected);
        }
        let command = ReportGlobs::new(["node_modules/a.xml"], false).unwrap();
        let command = command.command("/m").join(" ");
        assert!(command.contains("-newermc /m ( -path /workspace/node_modules/a.xml )"));
        assert!(!command.contains("-name node_modules"), "{command}");
    }
}
