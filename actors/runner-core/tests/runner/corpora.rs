//! Collections of workflows that others keep: every file parses and plans, or says truthfully what
//! is refused.
//!
//! They are not part of this repository; a directory is named by a variable, and without it there
//! is nothing to do.

use std::path::{Path, PathBuf};

use runner_core::report::{FileStatus, check};

/// Starter workflows of code scanning with an unquoted `{{ groupId }}`: a mapping as a key, which
/// PyYAML's safe loader refuses as well.
const WRONG: [&str; 2] = ["nowsecure.yml", "nowsecure-mobile-sbom.yml"];

fn folder(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

fn every_file_is_understood(folder: &Path) {
    let mut counts = [0, 0];
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        if !path
            .extension()
            .is_some_and(|extension| extension == "yml" || extension == "yaml")
        {
            continue;
        }
        let bytes = std::fs::read(&path).expect("the file can be read");
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let report = check(&name, &bytes, &|path| std::fs::read(folder.join(path)).ok());
        if WRONG.contains(&name.as_str()) {
            let said = report.diagnostics.to_string();
            assert!(said.contains("a key is a mapping"), "{name}: {said}");
            continue;
        }
        assert_ne!(
            report.status(),
            FileStatus::Wrong,
            "{name}: {}",
            report.diagnostics
        );
        assert!(!report.jobs.is_empty(), "{name}");
        counts[usize::from(report.status() == FileStatus::Refused)] += 1;
        for refusal in &report.refused {
            assert!(refusal.place.line > 0, "{name}: {refusal}");
        }
    }
    assert!(
        counts[0] + counts[1] > 0,
        "{} holds no workflows",
        folder.display()
    );
}

#[test]
fn starter_workflows_are_understood() {
    if let Some(folder) = folder("ORRERY_STARTER_WORKFLOWS") {
        every_file_is_understood(&folder);
    }
}

#[test]
fn the_linter_s_good_examples_are_understood() {
    if let Some(folder) = folder("ORRERY_ACTIONLINT_OK") {
        every_file_is_understood(&folder);
    }
}
