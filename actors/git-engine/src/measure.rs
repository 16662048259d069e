//! How large a commit would be when it is laid out, counted from the object store: no entry is made
//! for it.
//!
//! A folder is an object, and may be named many times: twelve names in each of seven such objects
//! are 12^7 entries, and seven objects. Each object is read once and counted once; its counts are
//! added wherever it is named, with numbers that end at their largest instead of beginning anew.

use std::collections::HashMap;

use forge_core::CommitSha;

use crate::command::GitInvocation;
use crate::error::GitError;
use crate::mirror::Mirror;

/// The most that a commit may lay out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeLimits {
    /// Files, links, folders and submodules.
    pub entries: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Folders in one another.
    pub depth: u64,
}

/// What a commit lays out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeSize {
    /// Files, links, folders and submodules.
    pub entries: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of all their paths.
    pub paths: u64,
    /// Folders in one another; 1 where there are none.
    pub depth: u64,
}

/// Bytes of all folder objects that are read: four million plain entries.
const MAX_OBJECT_BYTES: usize = 128 << 20;
/// Bytes of paths for each entry that is allowed.
const PATH_BYTES: u64 = 512;

/// A folder object.
#[derive(Debug, Default)]
struct TreeObject {
    entries: u64,
    /// Bytes of the names of what is no folder.
    names: u64,
    /// Indexes of files, one for each name.
    files: Vec<usize>,
    /// Indexes of folders, and the bytes of each one's name.
    folders: Vec<(usize, u64)>,
}

/// All objects that were met.
#[derive(Debug, Default)]
struct Objects {
    folders: Vec<TreeObject>,
    files: usize,
    known_folders: HashMap<String, usize>,
    known_files: HashMap<String, usize>,
    /// Files in the order they were met.
    file_names: Vec<String>,
    /// Entries that were read: at most as many as would be laid out.
    read: u64,
}

impl Mirror {
    /// What the commit lays out, as far as that is within `limits`.
    ///
    /// # Errors
    /// [`GitError::TooMuch`] when it is not; when the commit or a part of it is not here.
    pub fn tree_size(&self, commit: &CommitSha, limits: &TreeLimits) -> Result<TreeSize, GitError> {
        tree_size(&|what| self.call(what), commit, limits)
    }
}

/// What a commit of the repository in which `call` calls git lays out, as far as that is within
/// `limits`.
///
/// # Errors
/// [`GitError::TooMuch`] when it is not; when the commit or a part of it is not here.
pub fn tree_size(
    call: &dyn Fn(&str) -> GitInvocation,
    commit: &CommitSha,
    limits: &TreeLimits,
) -> Result<TreeSize, GitError> {
    let objects = read_objects(call, commit, limits)?;
    let sizes = file_sizes(call, &objects)?;
    let size = objects.sum(&sizes, limits)?;
    let checks = [
        ("lays out too many entries", size.entries, limits.entries),
        ("holds too many bytes", size.bytes, limits.bytes),
        (
            "has paths of too many bytes",
            size.paths,
            limits.entries.saturating_mul(PATH_BYTES),
        ),
    ];
    for (what, found, limit) in checks {
        if found > limit {
            return Err(GitError::TooMuch { what, found, limit });
        }
    }
    Ok(size)
}

/// Reads every folder object once, level by level.
fn read_objects(
    call: &dyn Fn(&str) -> GitInvocation,
    commit: &CommitSha,
    limits: &TreeLimits,
) -> Result<Objects, GitError> {
    let raw = commit.as_str().len() / 2;
    let mut objects = Objects::default();
    let mut level = vec![format!("{}^{{tree}}", commit.as_str())];
    objects.folders.push(TreeObject::default());
    let mut first = 0;
    let mut left = MAX_OBJECT_BYTES;
    let mut depth = 0;
    while !level.is_empty() {
        depth += 1;
        if depth > limits.depth {
            return Err(too_deep(limits));
        }
        let call = call("cat-file").arg("--batch").at_most(left);
        let output = match call.input(lines(&level)).output() {
            Err(GitError::TooLarge { .. }) => {
                return Err(GitError::TooMuch {
                    what: "has folders of too many bytes",
                    found: u64::MAX,
                    limit: MAX_OBJECT_BYTES as u64,
                });
            }
            output => output?,
        };
        left = left.saturating_sub(output.len());
        let next = objects.folders.len();
        let mut rest = output.as_slice();
        for (at, name) in (first..).zip(&level) {
            let body = body(&mut rest).ok_or_else(|| missing(name))?;
            objects.read_tree_object(at, body, raw, limits)?;
        }
        first = next;
        level = objects.known_in_order(next);
    }
    Ok(objects)
}

fn file_sizes(
    call: &dyn Fn(&str) -> GitInvocation,
    objects: &Objects,
) -> Result<Vec<u64>, GitError> {
    if objects.file_names.is_empty() {
        return Ok(Vec::new());
    }
    let call = call("cat-file")
        .arg("--batch-check=%(objectsize)")
        .at_most(64 << 20);
    let output = call.input(lines(&objects.file_names)).text()?;
    let sizes = output.lines().zip(&objects.file_names);
    let sizes: Vec<u64> = sizes
        .map(|(size, name)| size.parse().map_err(|_| missing(name)))
        .collect::<Result<_, _>>()?;
    if sizes.len() == objects.files {
        Ok(sizes)
    } else {
        Err(missing("some of its files"))
    }
}

impl Objects {
    /// Takes a folder object apart: `<mode> <name>\0<id>`, again and again.
    fn read_tree_object(
        &mut self,
        at: usize,
        mut body: &[u8],
        raw: usize,
        limits: &TreeLimits,
    ) -> Result<(), GitError> {
        let mut folder = TreeObject::default();
        while !body.is_empty() {
            let (mode, name, id, rest) = entry(body, raw).ok_or_else(|| GitError::Unexpected {
                what: "cat-file".to_owned(),
                reason: "a folder object that is none".to_owned(),
            })?;
            body = rest;
            self.read += 1;
            if self.read > limits.entries {
                return Err(GitError::TooMuch {
                    what: "lays out too many entries",
                    found: self.read,
                    limit: limits.entries,
                });
            }
            folder.entries += 1;
            let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
            match mode {
                b"40000" | b"040000" => {
                    let next = self.folders.len();
                    let index = *self.known_folders.entry(id).or_insert(next);
                    if index == next {
                        self.folders.push(TreeObject::default());
                    }
                    folder.folders.push((index, name.len() as u64));
                }
                mode => {
                    folder.names += name.len() as u64;
                    // A submodule is an entry without bytes.
                    if mode != b"160000" {
                        let next = self.files;
                        let index = *self.known_files.entry(id.clone()).or_insert(next);
                        if index == next {
                            self.files += 1;
                            self.file_names.push(id);
                        }
                        folder.files.push(index);
                    }
                }
            }
        }
        self.folders[at] = folder;
        Ok(())
    }

    /// Ids of the folders from this index on.
    fn known_in_order(&self, from: usize) -> Vec<String> {
        let mut found: Vec<(usize, &String)> = self
            .known_folders
            .iter()
            .filter(|(_, at)| **at >= from)
            .map(|(id, at)| (*at, id))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, id)| id.clone()).collect()
    }

    /// Counts each folder once, those it holds before it.
    fn sum(&self, sizes: &[u64], limits: &TreeLimits) -> Result<TreeSize, GitError> {
        let mut done: Vec<Option<TreeSize>> = vec![None; self.folders.len()];
        let mut open = vec![(0, 0)];
        while let Some((at, next)) = open.pop() {
            let folder = &self.folders[at];
            if let Some((child, _)) = folder.folders.get(next) {
                open.push((at, next + 1));
                if done[*child].is_none() {
                    open.push((*child, 0));
                }
                if open.len() as u64 > limits.depth {
                    return Err(too_deep(limits));
                }
            } else {
                done[at] = Some(folder.sum(sizes, &done));
            }
        }
        let size = done[0].unwrap_or_default();
        if size.depth > limits.depth {
            return Err(too_deep(limits));
        }
        Ok(size)
    }
}

impl TreeObject {
    fn sum(&self, sizes: &[u64], done: &[Option<TreeSize>]) -> TreeSize {
        let mut size = TreeSize {
            entries: self.entries,
            bytes: 0,
            paths: self.names,
            depth: 1,
        };
        for file in &self.files {
            size.bytes = size.bytes.saturating_add(sizes[*file]);
        }
        for (child, name) in &self.folders {
            let inner = done[*child].unwrap_or_default();
            size.entries = size.entries.saturating_add(inner.entries);
            size.bytes = size.bytes.saturating_add(inner.bytes);
            // The folder's own path, and its name and a slash in front of each one in it.
            let prefixes = inner.entries.saturating_mul(name + 1).saturating_add(*name);
            size.paths = size
                .paths
                .saturating_add(inner.paths)
                .saturating_add(prefixes);
            size.depth = size.depth.max(inner.depth.saturating_add(1));
        }
        size
    }
}

fn too_deep(limits: &TreeLimits) -> GitError {
    GitError::TooMuch {
        what: "has too many folders in one another",
        found: limits.depth.saturating_add(1),
        limit: limits.depth,
    }
}

fn missing(name: &str) -> GitError {
    GitError::Unexpected {
        what: "cat-file".to_owned(),
        reason: format!("{name} is not here"),
    }
}

fn lines(names: &[String]) -> Vec<u8> {
    let mut text = names.join("\n");
    text.push('\n');
    text.into_bytes()
}

/// One object of `cat-file --batch`: `<id> tree <size>\n<body>\n`.
fn body<'o>(rest: &mut &'o [u8]) -> Option<&'o [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&rest[..end]).ok()?;
    let mut words = head.split(' ');
    let (kind, size) = (words.nth(1)?, words.next()?);
    if kind != "tree" {
        return None;
    }
    let size: usize = size.parse().ok()?;
    let from = end + 1;
    let body = rest.get(from..from.checked_add(size)?)?;
    *rest = rest.get(from + size + 1..)?;
    Some(body)
}

type Entry<'b> = (&'b [u8], &'b [u8], &'b [u8], &'b [u8]);

/// Mode, name and id of the first entry, and what follows it.
fn entry(body: &[u8], raw: usize) -> Option<Entry<'_>> {
    let blank = body.iter().position(|byte| *byte == b' ')?;
    let zero = blank + body[blank..].iter().position(|byte| *byte == 0)?;
    let id = body.get(zero + 1..zero + 1 + raw)?;
    Some((
        &body[..blank],
        &body[blank + 1..zero],
        id,
        &body[zero + 1 + raw..],
    ))
}
