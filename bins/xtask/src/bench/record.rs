//! Recorded runs: one JSON file each, and the sections of docs/BENCHMARKS.md made of them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// One run as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BenchRecord {
    /// The section's name, and the file's.
    pub(super) name: String,
    /// The section's heading.
    pub(super) title: String,
    /// The command, with the folder's own name instead of its path.
    pub(super) command: String,
    /// The day, in UTC.
    pub(super) date: String,
    /// One fact about the machine a line.
    pub(super) machine: Vec<String>,
    /// Load averages before the run.
    pub(super) load_before: String,
    /// Load averages after it.
    pub(super) load_after: String,
    /// What the benchmark printed.
    pub(super) output: String,
}

/// Where records are kept.
pub(super) fn folder(root: &Path) -> PathBuf {
    root.join("docs/benchmarks")
}

/// All records, by name.
///
/// # Errors
/// When one of them is not a record.
pub(crate) fn read_all(root: &Path) -> Result<Vec<BenchRecord>> {
    let Ok(entries) = std::fs::read_dir(folder(root)) else {
        return Ok(Vec::new());
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
        .collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path)?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is no record of a benchmark", path.display()))
    };
    paths.iter().map(read).collect()
}

impl BenchRecord {
    /// Writes the record into `folder`.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub(super) fn save(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.json", self.name));
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))
    }

    fn section(&self) -> String {
        let mut text = format!(
            "## {}\n\n`{}`, {}.\n\n",
            self.title, self.command, self.date
        );
        for fact in &self.machine {
            let _ = writeln!(text, "- {fact}");
        }
        let _ = writeln!(
            text,
            "- load average before: {}; after: {}",
            self.load_before, self.load_after
        );
        let _ = write!(text, "\n```text\n{}\n```\n", self.output.trim_matches('\n'));
        text
    }
}

/// The page with the section of each record put between its marks; a new one goes to the end.
pub(crate) fn page(page: &str, records: &[BenchRecord]) -> String {
    records.iter().fold(page.to_owned(), |page, record| {
        replace_section(&page, &record.name, &record.section())
    })
}

fn replace_section(page: &str, name: &str, section: &str) -> String {
    let (open, close) = (
        format!("<!-- run: {name} -->\n"),
        format!("<!-- end: {name} -->\n"),
    );
    let place = page.find(&open).and_then(|start| {
        let start = start + open.len();
        Some((start, start + page[start..].find(&close)?))
    });
    match place {
        Some((start, end)) => format!("{}{section}{}", &page[..start], &page[end..]),
        None => format!("{}\n\n{open}{section}{close}", page.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, output: &str) -> BenchRecord {
        BenchRecord {
            name: name.to_owned(),
            title: "Durable appends".to_owned(),
            command: "cargo bench -p store --bench appends".to_owned(),
            date: "2026-01-02".to_owned(),
            machine: vec!["processor: X, 2 cores".to_owned()],
            load_before: "0.1 0.2 0.3".to_owned(),
            load_after: "1.1 0.2 0.3".to_owned(),
            output: output.to_owned(),
        }
    }

    #[test]
    fn a_section_is_put_once_and_replaced_where_it_stands() {
        let once = page(
            "# Benchmarks\n\nWords.\n",
            &[record("store", "first"), record("edge", "other")],
        );
        assert!(
            once.starts_with("# Benchmarks\n\nWords.\n\n<!-- run: store -->\n## Durable appends\n"),
            "{once}"
        );
        assert!(
            once.contains("```text\nfirst\n```") && once.contains("```text\nother\n```"),
            "{once}"
        );
        let twice = page(&once, &[record("store", "second")]);
        assert_eq!(twice, once.replace("first", "second"));
        assert_eq!(
            page(&twice, &[record("store", "second")]),
            twice,
            "nothing new changes nothing"
        );
    }

    #[test]
    fn records_are_kept_and_found_again() {
        let root = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(read_all(root.path()).expect("none yet"), []);
        record("store", "1 \"a\"")
            .save(&folder(root.path()))
            .expect("it is writable");
        assert_eq!(
            read_all(root.path()).expect("one"),
            [record("store", "1 \"a\"")]
        );
        std::fs::write(folder(root.path()).join("x.json"), "{}").expect("own file");
        assert!(read_all(root.path()).is_err());
    }
}
