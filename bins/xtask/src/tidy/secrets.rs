//! What must not be in a public file: folders of the machine it was written on.

use super::finding::Finding;

/// Folders that exist on somebody's machine only. Put together here, so that this file passes.
const FOLDERS: [&str; 5] = [
    concat!("/", "work/"),
    concat!("/", "root/"),
    concat!("/", "farm/"),
    concat!("/tmp/", "bash_jobs"),
    concat!("/home/", "runner/"),
];

/// Checks one text file; also that a lock file names no download addresses of its own.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = || format!("{path}:{}", number + 1);
        for folder in FOLDERS.iter().filter(|folder| names(line, folder)) {
            findings.push(Finding::error(
                place(),
                format!("{folder} is a folder of one machine"),
            ));
        }
        if path.ends_with("package-lock.json") && line.contains("\"resolved\": \"http") {
            findings.push(Finding::error(
                place(),
                "a download address: write the lock file with --omit-lockfile-registry-resolved",
            ));
        }
        if path.ends_with("Cargo.lock") && foreign_source(line) {
            findings.push(Finding::error(
                place(),
                "a crate from elsewhere than the public package registry",
            ));
        }
    }
    findings
}

/// Whether `folder` begins a path here, rather than standing inside a longer one.
fn names(line: &str, folder: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || "_-~.}*".contains(c);
    line.match_indices(folder)
        .any(|(at, _)| !line[..at].ends_with(inside))
}

fn foreign_source(line: &str) -> bool {
    let source = line.strip_prefix("source = \"");
    source.is_some_and(|source| !source.starts_with("registry+https://github.com/rust-lang/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_one_machine_are_found() {
        for folder in FOLDERS {
            let folder = folder.trim_end_matches('/');
            let text = format!("fine\nsee {folder}/x and\n");
            assert_eq!(check("README.md", &text).len(), 1, "{folder}");
        }
        let longer = concat!("~/", "work/notes, docs/", "work/x and /", "workspace");
        assert_eq!(check("README.md", longer), []);
    }

    #[test]
    fn lock_files_name_the_public_registry_only() {
        let public = "source = \"registry+https://github.com/rust-lang/x\"";
        assert_eq!(check("Cargo.lock", public), []);
        assert_eq!(
            check("Cargo.lock", "source = \"git+https://example.org/x\"").len(),
            1
        );
        assert_eq!(
            check(
                "web/ui/package-lock.json",
                "  \"resolved\": \"https://example.org/x\","
            )
            .len(),
            1
        );
    }
}
