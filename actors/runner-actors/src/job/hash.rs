//! `hashFiles`: a hash of the files that patterns match, of what is checked out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use runner_core::glob::GlobPattern;
use runner_core::job_folders::below_workspace;
use sha2::{Digest, Sha256};

/// A folder of the workspace, and where its files lie on the host.
pub(super) type CheckedOut = (PathBuf, PathBuf);

/// `hashFiles`: over the checked out files on the host, in the order of their paths. The hash of
/// the files' hashes (SHA-256), as GitHub's runner does.
pub(super) fn hash_files(roots: &[CheckedOut], patterns: &[String]) -> Result<String, String> {
    let patterns = Patterns::parse(patterns)?;
    let mut files: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for (folder, root) in roots {
        let mut found = Vec::new();
        collect_files(root, Path::new(""), &mut found).map_err(|error| error.to_string())?;
        // What was there before has made room.
        files.retain(|path, _| !path.starts_with(folder));
        files.extend(
            found
                .into_iter()
                .map(|path| (folder.join(&path), root.join(path))),
        );
    }
    let mut digests = BTreeMap::new();
    for (file, place) in files {
        if patterns.select(&file) {
            let bytes = std::fs::read(place);
            let bytes = bytes.map_err(|error| format!("{}: {error}", file.display()))?;
            digests.insert(file, Sha256::digest(&bytes).to_vec());
        }
    }
    Ok(hash_of(digests.values().map(Vec::as_slice)))
}

/// The hash of the files' hashes; nothing without a file.
pub(super) fn hash_of<'a>(digests: impl Iterator<Item = &'a [u8]>) -> String {
    let mut all = Sha256::new();
    let mut any = false;
    for digest in digests {
        all.update(digest);
        any = true;
    }
    let hash = all.finalize();
    if any {
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    } else {
        String::new()
    }
}

/// What may stand before the patterns of `hashFiles`: links to folders are followed, in the
/// machine, whose files those are.
const FOLLOW: &str = "--follow-symbolic-links";

/// The patterns of one `hashFiles`.
pub(super) struct Patterns(Vec<(bool, GlobPattern)>);

/// The lines of the patterns, and whether the option stands before them.
///
/// # Errors
/// When another option does.
pub(super) fn pattern_lines(patterns: &[String]) -> Result<(bool, Vec<&str>), String> {
    let option = patterns.first().filter(|first| first.starts_with("--"));
    if let Some(other) = option.filter(|option| !option.eq_ignore_ascii_case(FOLLOW)) {
        return Err(format!("{other} is no option: there is `{FOLLOW}` alone"));
    }
    let patterns = &patterns[usize::from(option.is_some())..];
    let lines = patterns.iter().flat_map(|pattern| pattern.lines());
    let lines = lines.map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok((option.is_some(), lines.collect()))
}

impl Patterns {
    pub(super) fn parse(patterns: &[String]) -> Result<Self, String> {
        let (_, lines) = pattern_lines(patterns)?;
        let parsed = lines.into_iter().map(|pattern| {
            let (negated, text) = pattern
                .strip_prefix('!')
                .map_or((false, pattern), |text| (true, text));
            GlobPattern::of_files(&relative(text)).map(|pattern| (negated, pattern))
        });
        parsed.collect::<Result<_, _>>().map(Self)
    }

    /// Whether a file is hashed: it, or a folder that it is in, matches, and the last pattern that
    /// does decides.
    pub(super) fn select(&self, file: &Path) -> bool {
        let places = file.ancestors().map(Path::to_string_lossy);
        let places: Vec<_> = places.filter(|place| !place.is_empty()).collect();
        let mut patterns = self.0.iter().rev();
        let decided = patterns.find(|(_, pattern)| places.iter().any(|it| pattern.matches(it)));
        decided.is_some_and(|(negated, _)| !negated)
    }
}

/// A pattern from the workspace on. The workspace itself is all below it, as any folder is.
pub(super) fn relative(pattern: &str) -> String {
    let own = below_workspace(pattern).unwrap_or(pattern);
    let parts = own.split('/').filter(|part| !matches!(*part, "" | "."));
    let parts: Vec<&str> = parts.collect();
    match &parts[..] {
        [] => "**".to_owned(),
        parts => parts.join("/"),
    }
}

/// Files below a directory, relative to it, and links to files of it; `.git` is left out.
fn collect_files(root: &Path, directory: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(root.join(directory))? {
        let entry = entry?;
        let path = directory.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() && entry.file_name() != ".git" {
            collect_files(root, &path, files)?;
        } else if kind.is_file() || (kind.is_symlink() && stays_below(root, &path)) {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a link leads to a file of the same checkout: the host's own files are nobody's to hash.
fn stays_below(root: &Path, path: &Path) -> bool {
    let target = root.join(path).canonicalize();
    match (root.canonicalize(), target) {
        (Ok(root), Ok(target)) => target.starts_with(root) && target.is_file(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use runner_core::context::WORKSPACE;

    use super::*;

    #[test]
    fn i17_files_are_hashed_by_pattern() {
        let root = tempfile::TempDir::new().unwrap();
        std::fs::create_dir_all(root.path().join("a/.git")).unwrap();
        std::fs::write(root.path().join("a/x.lock"), "1").unwrap();
        std::fs::write(root.path().join("a/.git/y.lock"), "2").unwrap();
        std::fs::write(root.path().join("z.lock"), "3").unwrap();
        let hash = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|p| (*p).to_owned()).collect();
            let roots = [(PathBuf::new(), root.path().to_owned())];
            hash_files(&roots, &patterns).unwrap()
        };
        let both = hash(&["**/*.lock"]);
        assert_eq!(both.len(), 64);
        assert_ne!(both, hash(&["**/*.lock", "!z.lock"]));
        assert_eq!(hash(&["*.none"]), "");
        // A folder stands for all below it, the workspace too, however it is written.
        for all in [".", "./", "././.", "/", WORKSPACE, &format!("{WORKSPACE}/")] {
            assert_eq!(hash(&[all]), hash(&["**"]), "{all}");
            assert_eq!(hash(&[all, "!z.lock"]), hash(&["a"]), "{all}");
        }
        assert_eq!(hash(&["a/./x.lock"]), hash(&["a/x.lock"]));
        // The toolkit's patterns are no filters of events.
        assert_eq!(hash(&["# all of them\n?.lock"]), hash(&["z.lock"]));
        assert_eq!(hash(&["[!a].lock", "z.loc+"]), hash(&["z.lock"]));
        // A link is the file that it leads to, but for those that lead away.
        std::os::unix::fs::symlink("a/x.lock", root.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", root.path().join("away")).unwrap();
        assert_eq!(hash(&["link"]), hash(&["a/x.lock"]));
        assert_eq!(hash(&["away"]), "");
        // sha256(sha256("1")): computed beside with sha256sum.
        let one = hash(&["a/*.lock"]);
        let expected: String = Sha256::digest(Sha256::digest(b"1"))
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(one, expected);
    }

    #[test]
    fn i17_the_option_of_hash_files_is_no_pattern() {
        let lines = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|it| (*it).to_owned()).collect();
            let read = pattern_lines(&patterns);
            read.map(|(follows, lines)| (follows, lines.join(" ")))
        };
        let found = |follows, lines: &str| Ok((follows, lines.to_owned()));
        assert_eq!(lines(&["a\n# b\n\n c "]), found(false, "a c"));
        assert_eq!(lines(&[FOLLOW, "a"]), found(true, "a"));
        assert_eq!(lines(&["--Follow-Symbolic-Links", "a"]), found(true, "a"));
        assert_eq!(lines(&["a", "--b"]), found(false, "a --b"));
        let other = lines(&["--other", "a"]).unwrap_err();
        assert!(
            other.contains("--other") && other.contains(FOLLOW),
            "{other}"
        );
    }

    #[test]
    fn i17_what_is_checked_out_last_is_hashed() {
        let root = tempfile::TempDir::new().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("event/a.lock", "1");
        write("event/lib/b.lock", "2");
        write("other/b.lock", "3");
        let at = |name: &str| root.path().join(name);
        let hash =
            |roots: &[CheckedOut], pattern: &str| hash_files(roots, &[pattern.to_owned()]).unwrap();
        let event = (PathBuf::new(), at("event"));
        let both = [event.clone(), ("lib".into(), at("other"))];
        assert_eq!(
            hash(&both, "a.lock"),
            hash(std::slice::from_ref(&event), "a.lock")
        );
        let other = [(PathBuf::new(), at("other"))];
        assert_eq!(hash(&both, "lib/b.lock"), hash(&other, "b.lock"));
        assert_ne!(hash(&both, "lib/b.lock"), hash(&[event], "lib/b.lock"));
    }
}
