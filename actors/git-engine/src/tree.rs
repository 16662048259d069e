//! What a commit holds, read from the object database.

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeEntryKind {
    /// A file, executable or not.
    File,
    /// A symbolic link.
    Link,
    /// A folder.
    Folder,
    /// A commit of another repository.
    Submodule,
}

impl TreeEntryKind {
    /// The kind that git writes as this mode.
    pub(crate) fn of_mode(mode: &str) -> Option<Self> {
        Some(match mode {
            "040000" => Self::Folder,
            "120000" => Self::Link,
            "160000" => Self::Submodule,
            mode if mode.starts_with("100") => Self::File,
            _ => return None,
        })
    }
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Path from the top of the repository.
    pub path: String,
    /// What it is.
    pub kind: TreeEntryKind,
    /// Bytes; 0 for what has no bytes.
    pub size: u64,
}

/// Reads `git ls-tree -z -l`: `<mode> <type> <object> <size>\t<path>\0`; paths that are not UTF-8
/// are left out.
pub(crate) fn parse(output: &[u8]) -> Result<Vec<TreeEntry>, String> {
    let lines = output
        .split(|byte| *byte == 0)
        .filter(|line| !line.is_empty());
    let texts = lines.filter_map(|line| std::str::from_utf8(line).ok());
    texts.map(entry).collect()
}

fn entry(line: &str) -> Result<TreeEntry, String> {
    let (head, path) = line.split_once('\t').ok_or("an entry without a path")?;
    let mut words = head.split_ascii_whitespace();
    let mode = words.next().ok_or("an entry without a mode")?;
    let size = words.nth(2).ok_or("an entry without a size")?;
    let kind = TreeEntryKind::of_mode(mode).ok_or_else(|| format!("mode {mode}"))?;
    Ok(TreeEntry {
        path: path.to_owned(),
        kind,
        size: size.parse().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_every_kind() {
        let output = b"100644 blob aa      12\ta b\x00100755 blob bb 3\tx\x00120000 blob cc 4\tl\x00040000 tree dd       -\td\x00160000 commit ee       -\tm\x00";
        let entries = parse(output).unwrap();
        let kinds: Vec<_> = entries
            .iter()
            .map(|e| (e.path.as_str(), e.kind, e.size))
            .collect();
        assert_eq!(
            kinds,
            [
                ("a b", TreeEntryKind::File, 12),
                ("x", TreeEntryKind::File, 3),
                ("l", TreeEntryKind::Link, 4),
                ("d", TreeEntryKind::Folder, 0),
                ("m", TreeEntryKind::Submodule, 0),
            ]
        );
        assert!(parse(b"nonsense\0").is_err());
    }
}
